//! `linkwork lab`: the list, verdicts that follow the thresholds, reports, and data that cannot be used.

use crate::common::{folder, linkwork, root, text};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// The cheapest experiment, with something replaced.
fn changed(folder: &Path, id: &str, from: &str, to: &str) {
    let data = fs::read_to_string(root().join(format!("lab/{id}.toml"))).unwrap();
    assert!(data.contains(from), "{from}");
    fs::write(folder.join(format!("{id}.toml")), data.replace(from, to)).unwrap();
}

fn verdict(folder: &Path, id: &str) -> Value {
    let run = linkwork(&["lab", id, "--data", text(folder), "--json"]);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run.json()["experiments"][0].clone()
}

#[test]
fn without_an_experiment_it_lists_what_there_is() {
    let run = linkwork(&["lab"]);
    assert_eq!(run.code, 0);
    let listed = linkwork(&["lab", "--json"]).json();
    let ids: Vec<&str> =
        listed["experiments"].as_array().unwrap().iter().map(|e| e["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), 17);
    for id in &ids {
        assert!(run.stdout.contains(id), "{id}");
    }
    // The repository's data are what is built in.
    let same = linkwork(&["lab", "--json", "--data", "lab"]).json();
    assert_eq!(same, listed);
    // And the page of the documentation is about all of them, with the claims as they are.
    let page = fs::read_to_string(root().join("docs/laboratory.md")).unwrap();
    for e in listed["experiments"].as_array().unwrap() {
        assert!(page.contains(&format!("\n## {}\n", e["id"].as_str().unwrap())), "{}", e["id"]);
        assert!(page.contains(e["claim"].as_str().unwrap()), "run `make lab`: {}", e["id"]);
    }
}

#[test]
fn the_verdict_follows_the_run_and_the_threshold() {
    let folder = folder("lab-verdict");
    let id = "faure-1998-figure-2";
    changed(&folder, id, "at-most = 8", "at-most = 8");
    let plain = verdict(&folder, id);
    assert_eq!((&plain["verdict"], &plain["when"]), (&"reproduced".into(), &Value::Null));
    assert!(plain["cases"].as_array().unwrap().iter().all(|c| c["holds"] == true));
    // Fewer iterations than some starts need: only the others are left, and they are named.
    changed(&folder, id, "at-most = 8", "at-most = 4");
    let some = verdict(&folder, id);
    assert_eq!(some["verdict"], "reproduced only when");
    assert!(
        some["words"].as_str().unwrap().starts_with("reproduced only when the bar is turned by -40"),
        "{some}"
    );
    // Fewer than any needs.
    changed(&folder, id, "at-most = 8", "at-most = 1");
    assert_eq!(verdict(&folder, id)["verdict"], "not reproduced");
    // The run decides as well: with three iterations nothing closes.
    changed(&folder, id, "iterations = 25", "iterations = 2");
    assert_eq!(verdict(&folder, id)["verdict"], "not reproduced");
}

#[test]
fn momentum_of_the_schemes_of_1994() {
    let run = linkwork(&["lab", "gascuel-1994-momentum", "--json"]);
    let one = &run.json()["experiments"][0];
    assert_eq!(one["when"], "the method is relaxation first");
    for case in one["cases"].as_array().unwrap() {
        assert!(case["quantities"]["linear momentum"].as_f64().unwrap() < 1e-10);
        let angular = case["quantities"]["angular momentum"].as_f64().unwrap();
        assert_eq!(angular < 1e-10, case["label"] == "relaxation first", "{case}");
    }
}

#[test]
fn the_report_is_one_file_with_plots_and_the_same_words() {
    let folder = folder("lab-report");
    let run = linkwork(&["lab", "faure-1998-conservation", "-o", text(&folder)]);
    assert_eq!(run.code, 0);
    assert!(run.stdout.contains("not reproduced") && run.stdout.contains("report.html"), "{}", run.stdout);
    let page = fs::read_to_string(folder.join("report.html")).unwrap();
    for part in
        ["not reproduced", "<svg", "The paper claims", "Its figure shows", "id=\"faure-1998-conservation\""]
    {
        assert!(page.contains(part), "{part}");
    }
    for outside in ["http://", "https://", "<script"] {
        assert!(!page.contains(outside), "{outside}");
    }
    let markdown = linkwork(&["lab", "faure-1998-conservation", "--markdown"]);
    assert!(markdown.stdout.contains("**Verdict: not reproduced.**"), "{}", markdown.stdout);
    assert!(markdown.stdout.contains("| method | body |"));
}

#[test]
fn bad_data_is_told_and_ends_with_2() {
    assert_eq!(linkwork(&["lab", "nonsense"]).code, 2);
    assert_eq!(linkwork(&["lab", "all", "--data", "no-such-folder"]).code, 2);
    let folder = folder("lab-bad");
    let run = linkwork(&["lab", "--data", text(&folder)]);
    assert!(run.code == 2 && run.stderr.contains("no experiments"), "{}", run.stderr);
    let id = "faure-1998-figure-2";
    for (from, to, said) in [
        ("kind = \"convergence\"", "kind = \"magic\"", "there is no kind `magic`"),
        ("turned = \"bar\"", "turned = \"baar\"", "there is no solid `baar`"),
        ("solver = \"full-dense\"", "solver = \"sorcery\"", "there is no solver `sorcery`"),
        ("quantity = \"iterations\"", "quantity = \"luck\"", "no quantity `luck`"),
        ("scene = \"figure2\"", "scene = \"figure22\"", "there is no scene `figure22`"),
        ("closed = 1e-6", "closet = 1e-6", "closet"),
        ("limit = 20", "limit = -1", "limit"),
        ("at-most = 8", "", "either at-most or at-least"),
        ("order = 2", "order = two", "order = two"),
    ] {
        changed(&folder, id, from, to);
        let run = linkwork(&["lab", id, "--data", text(&folder), "--json"]);
        assert!(run.code == 2 && run.stderr.contains(said), "{said}: {} {}", run.code, run.stderr);
        assert_eq!(run.json()["outcome"], "error");
    }
}

#[test]
fn a_time_limit_leaves_the_rest_undecided() {
    let folder = folder("lab-limit");
    changed(&folder, "faure-1999-pendulum", "limit = 60", "limit = 0.001");
    let one = verdict(&folder, "faure-1999-pendulum");
    assert_eq!(one["verdict"], "undecided");
    assert!(one["notes"].to_string().contains("time limit"), "{one}");
}
