//! The benchmarks behind `docs/benchmarks.md`. Each prints its tables and writes them to `out/bench/NAME.json`.

mod allocation;
mod assembly;
mod busy;
mod caches;
mod cloth;
#[cfg(feature = "peers")]
mod contact;
mod deadline;
mod growth;
mod islands;
mod machine;
mod net;
#[cfg(feature = "peers")]
mod peers;
mod scenes;
mod solvers;
mod steps;
mod table;

use std::process::ExitCode;

/// A name on the command line and what it measures.
type Benchmark = (&'static str, fn() -> Vec<table::Table>);

const ALL: &[Benchmark] = &[
    ("assembly", assembly::run),
    ("solvers", solvers::run),
    ("growth", growth::run),
    ("deadline", deadline::run),
    ("steps", steps::run),
    ("caches", caches::run),
    ("islands", islands::run),
    ("net", net::run),
    ("cloth", cloth::run),
    #[cfg(feature = "peers")]
    ("contact", contact::run),
    #[cfg(feature = "peers")]
    ("peers", peers::run),
];

fn main() -> ExitCode {
    let mut names: Vec<String> = std::env::args().skip(1).collect();
    // Tables go into the document as well.
    let document = names.iter().any(|n| n == "--docs").then_some("docs/benchmarks.md");
    names.retain(|n| n != "--docs");
    if names.is_empty() {
        names.push("all".into());
    }
    let known = |n: &String| n == "all" || ALL.iter().any(|b| b.0 == n);
    if !names.iter().all(known) {
        let list: Vec<&str> = ALL.iter().map(|b| b.0).collect();
        eprintln!("usage: linkwork-bench [--docs] [all | {}]...", list.join(" | "));
        return ExitCode::from(2);
    }
    // Every figure is of one core, unless its table says otherwise: whoever asks for threads gets the one that asks.
    if let Err(e) = rayon::ThreadPoolBuilder::new().num_threads(1).build_global() {
        eprintln!("{e}");
        return ExitCode::FAILURE;
    }
    let machine = machine::describe();
    println!("machine: {machine}");
    for (name, run) in ALL.iter().filter(|b| names.iter().any(|n| n == "all" || n == b.0)) {
        println!("\n# {name}");
        if let Err(e) = table::publish(name, &machine, &run(), document) {
            eprintln!("{name}: {e}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
