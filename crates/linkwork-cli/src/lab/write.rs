//! What the laboratory shows: the list, the table, the page, JSON and Markdown. Words come from the data, numbers from the run.

use super::Done;
use super::data::Experiment;
use super::verdict::{Answer, Bound, Check, Verdict};
use crate::plot::{Page, Table, escape};
use crate::report::{self, count, figure, pad, width};
use crate::terminal::Paint;
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::Path;

/// The experiments there are.
pub fn list(all: &[Experiment], paint: Paint) -> String {
    let ids: Vec<String> = all.iter().map(|e| e.id.clone()).collect();
    let wide = width(&ids);
    let mut out = String::new();
    let mut paper = "";
    for e in all {
        if e.paper != paper {
            let _ = writeln!(out, "{}{}", if paper.is_empty() { "" } else { "\n" }, paint.bold(&e.paper));
            paper = &e.paper;
        }
        let _ = writeln!(out, "  {}  {}", pad(&e.id, wide), paint.dim(format!("{}: {}", e.figure, e.title)));
    }
    let _ = writeln!(out, "\nRun one: linkwork lab {}    All of them: linkwork lab all", all[0].id);
    out
}

/// The same for scripts.
pub fn list_json(all: &[Experiment]) -> Value {
    let one = |e: &Experiment| json!({ "id": e.id, "paper": e.paper, "figure": e.figure, "title": e.title, "claim": e.claim });
    json!({ "experiments": all.iter().map(one).collect::<Vec<_>>() })
}

/// How many came out how.
fn tally(done: &[Done]) -> String {
    let parts: Vec<String> = ["reproduced", "reproduced only when", "not reproduced", "undecided"]
        .into_iter()
        .filter_map(|word| {
            let n = done.iter().filter(|d| d.judged.verdict.short() == word).count();
            let word = if word == "reproduced only when" { "reproduced only under conditions" } else { word };
            (n > 0).then(|| format!("{n} {word}"))
        })
        .collect();
    format!("{}: {}", count(done.len(), "claim"), parts.join(", "))
}

/// The table on the terminal.
pub fn text(done: &[Done], page: Option<&Path>, paint: Paint) -> String {
    let ids: Vec<String> = done.iter().map(|d| d.experiment.id.clone()).collect();
    let wide = width(&ids);
    let mut out = String::new();
    for d in done {
        let words = d.judged.verdict.words();
        let told = match &d.judged.verdict {
            Verdict::Reproduced => paint.good(&words),
            Verdict::OnlyWhen(_) => paint.odd(&words),
            Verdict::NotReproduced => paint.bad(&words),
            Verdict::Undecided => paint.dim(&words),
        };
        let _ =
            writeln!(out, "{}  {told}  {}", pad(&d.experiment.id, wide), paint.dim(report::time(d.seconds)));
        if done.len() == 1 {
            let _ = writeln!(out, "\n  {}\n", d.experiment.claim);
        }
        for (check, part) in d.experiment.verdict.check.iter().zip(&d.judged.parts) {
            let _ = writeln!(
                out,
                "{}  {}",
                " ".repeat(wide),
                paint.dim(format!("{}: {}", check.says, grounds(part)))
            );
        }
        if done.len() == 1 {
            out.push('\n');
            out.push_str(&columns(&verdict_table(d), paint));
        }
    }
    let _ = writeln!(out, "\n{}", tally(done));
    if let Some(page) = page {
        let _ = writeln!(out, "{} {}", paint.dim("wrote"), page.display());
    }
    out
}

/// A table as aligned text.
fn columns(t: &Table, paint: Paint) -> String {
    let mut lines = vec![t.columns.clone()];
    lines.extend(t.rows.iter().cloned());
    let wide: Vec<usize> = (0..t.columns.len())
        .map(|k| lines.iter().filter_map(|l| l.get(k)).map(|c| c.chars().count()).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    for (n, line) in lines.iter().enumerate() {
        let cells: Vec<String> = line.iter().zip(&wide).map(|(c, w)| pad(c, *w)).collect();
        let line = cells.join("  ");
        let line = line.trim_end();
        let _ = writeln!(out, "  {}", if n == 0 { paint.dim(line) } else { line.to_owned() });
    }
    out
}

/// Where one check holds.
fn grounds(part: &Verdict) -> String {
    match part {
        Verdict::Reproduced => "in every case".into(),
        Verdict::OnlyWhen(condition) => format!("only when {condition}"),
        Verdict::NotReproduced => "in no case".into(),
        Verdict::Undecided => "not tried".into(),
    }
}

/// The bound of a check in words.
fn bound(check: &Check) -> String {
    let (word, bound) = match (&check.at_most, &check.at_least) {
        (Some(b), _) => ("≤", b),
        (None, Some(b)) => ("≥", b),
        (None, None) => return String::new(),
    };
    match bound {
        Bound::Number(x) => format!("{word} {}", super::verdict::number(x * check.times)),
        Bound::Quantity(name) if check.times == 1.0 => format!("{word} {name}"),
        Bound::Quantity(name) => format!("{word} {} × {name}", super::verdict::number(check.times)),
    }
}

fn cell(a: &Answer) -> String {
    let measured = if a.measured == f64::INFINITY { "∞".into() } else { figure(a.measured) };
    format!("{measured} {}", if a.holds { "✓" } else { "✗" })
}

/// Cases down, checks across.
fn verdict_table(d: &Done) -> Table {
    let rules = &d.experiment.verdict;
    let mut columns = vec!["case".to_owned()];
    columns.extend(rules.check.iter().map(|c| format!("{} {}", c.quantity, bound(c))));
    columns.push("all".into());
    let unit = if rules.unit.is_empty() { String::new() } else { format!(" {}", rules.unit) };
    let rows = d
        .found
        .cases
        .iter()
        .enumerate()
        .map(|(k, case)| {
            let mut row = vec![format!("{}{}", case.name(), if case.value.is_some() { &unit } else { "" })];
            row.extend(d.judged.answers[k].iter().map(cell));
            row.push(if d.judged.holds(k) { "holds" } else { "fails" }.into());
            row
        })
        .collect();
    Table { columns, rows }
}

fn class(v: &Verdict) -> &'static str {
    match v {
        Verdict::Reproduced => "good",
        Verdict::OnlyWhen(_) => "partly",
        Verdict::NotReproduced => "bad",
        Verdict::Undecided => "open",
    }
}

fn badge(v: &Verdict) -> String {
    format!("<span class=\"badge {}\">{}</span>", class(v), escape(v.short().trim_end_matches(" when")))
}

/// Text with `words` in backticks, as HTML.
fn words(text: &str) -> String {
    let mut out = String::new();
    for (k, part) in escape(text).split('`').enumerate() {
        let _ = if k % 2 == 1 { write!(out, "<code>{part}</code>") } else { write!(out, "{part}") };
    }
    out
}

/// The report.
pub fn page(done: &[Done], full: bool) -> String {
    let below = format!(
        "{} · {} · linkwork {}{}",
        tally(done),
        report::time(done.iter().map(|d| d.seconds).sum()),
        env!("CARGO_PKG_VERSION"),
        if full { " · full parameters" } else { "" }
    );
    let mut page = Page::new("The laboratory: four papers' experiments, run again", &below);
    page.text(
        "Every verdict below is computed: an experiment is run in several cases, each gives quantities, and the claim is a \
         list of thresholds on them. It is reproduced when all hold in every case, only under conditions when they hold in \
         some, and not reproduced otherwise. The claims are told in our words.",
    );
    let mut rows = String::new();
    for d in done {
        let e = &d.experiment;
        let condition = match &d.judged.verdict {
            Verdict::OnlyWhen(c) => format!("when {c}"),
            _ => String::new(),
        };
        let _ = writeln!(
            rows,
            "<tr><td><a href=\"#{}\">{}</a></td><td>{}</td><td>{}</td><td>{} {}</td></tr>",
            escape(&e.id),
            escape(&e.id),
            escape(&e.figure),
            escape(&e.title),
            badge(&d.judged.verdict),
            escape(&condition)
        );
    }
    page.html(&format!(
        "<div class=\"wide wrap\"><table>\n<thead><tr><th scope=\"col\">experiment</th><th scope=\"col\">where</th>\
         <th scope=\"col\">what</th><th scope=\"col\">verdict</th></tr></thead>\n<tbody>\n{rows}</tbody></table></div>\n"
    ));
    for d in done {
        one(&mut page, d);
    }
    page.write()
}

fn one(page: &mut Page, d: &Done) {
    let e = &d.experiment;
    page.html("<section>\n");
    page.part(&e.id, &e.title);
    page.html(&format!(
        "<p class=\"below\">{}, {} · {} · {}</p>\n",
        escape(&e.paper),
        escape(&e.figure),
        escape(&e.id),
        escape(&report::time(d.seconds))
    ));
    let mut parts = String::new();
    for (check, part) in e.verdict.check.iter().zip(&d.judged.parts) {
        let _ = write!(
            parts,
            "<li><span class=\"{}\">{}</span>: {}</li>",
            class(part),
            escape(&check.says),
            escape(&grounds(part))
        );
    }
    let remarks = if e.remarks.is_empty() {
        String::new()
    } else {
        format!("<div class=\"card\"><h3>What we chose</h3>{}</div>\n", words(&e.remarks))
    };
    page.html(&format!(
        "<div class=\"cards\">\n<div class=\"card\"><h3>The paper claims</h3>{}</div>\n\
         <div class=\"card\"><h3>Its figure shows</h3>{}</div>\n\
         <div class=\"card\"><h3>This run</h3><strong class=\"{}\">{}</strong><ul>{parts}</ul></div>\n{remarks}</div>\n",
        words(&e.claim),
        words(&e.shows),
        class(&d.judged.verdict),
        escape(&d.judged.verdict.words()),
    ));
    for note in &d.found.notes {
        page.html(&format!("<p class=\"above\">{}</p>\n", words(note)));
    }
    page.charts(&d.found.charts);
    page.html("<p class=\"above\">The cases and the thresholds:</p>\n");
    page.table(&verdict_table(d));
    for (above, table) in &d.found.tables {
        page.html(&format!("<p class=\"above\">{}</p>\n", words(above)));
        page.table(table);
    }
    page.html("</section>\n");
}

/// For scripts.
pub fn json(done: &[Done], full: bool, page: Option<&Path>) -> Value {
    let one = |d: &Done| {
        let e = &d.experiment;
        let cases: Vec<Value> = d
            .found
            .cases
            .iter()
            .enumerate()
            .map(|(k, case)| {
                let quantities: serde_json::Map<String, Value> =
                    case.quantities.iter().map(|(n, x)| (n.clone(), json!(x))).collect();
                let checks: Vec<Value> = e
                    .verdict
                    .check
                    .iter()
                    .zip(&d.judged.answers[k])
                    .map(|(c, a)| {
                        let which = if c.at_most.is_some() { "at_most" } else { "at_least" };
                        json!({ "says": c.says, "quantity": c.quantity, "measured": a.measured, which: a.bound, "holds": a.holds })
                    })
                    .collect();
                json!({
                    "group": case.group, "label": case.label, "value": case.value, "holds": d.judged.holds(k),
                    "quantities": quantities, "checks": checks,
                })
            })
            .collect();
        let tables: Vec<Value> = d
            .found
            .tables
            .iter()
            .map(|(above, t)| json!({ "about": above, "columns": t.columns, "rows": t.rows }))
            .collect();
        json!({
            "id": e.id, "paper": e.paper, "figure": e.figure, "title": e.title, "claim": e.claim,
            "verdict": d.judged.verdict.short(), "words": d.judged.verdict.words(),
            "when": if let Verdict::OnlyWhen(c) = &d.judged.verdict { Some(c) } else { None },
            "seconds": d.seconds, "cases": cases, "tables": tables, "notes": d.found.notes,
        })
    };
    json!({
        "full": full,
        "experiments": done.iter().map(one).collect::<Vec<_>>(),
        "report": page.map(|p| p.display().to_string()),
    })
}

/// For the documentation.
pub fn markdown(done: &[Done], full: bool) -> String {
    let mut out = String::from(
        "# The laboratory\n\n<!-- Written by `linkwork lab all --markdown`: edit lab/*.toml or the code, not this page. -->\n\n\
         `linkwork lab all` runs the experiments of four papers again and says of each claim whether it holds. An experiment\n\
         is data in `lab/`: the claim in our words, parameters, and thresholds on what is measured. The verdicts are computed\n\
         from the run, and so is every figure on this page. `linkwork lab all -o DIR` also writes the plots, as one HTML file.\n\n",
    );
    let _ = writeln!(out, "{}{}.\n", tally(done), if full { " (full parameters)" } else { "" });
    out.push_str("| experiment | where | verdict |\n|---|---|---|\n");
    for d in done {
        let e = &d.experiment;
        let _ = writeln!(
            out,
            "| [{0}](#{0}) | {1}, {2} | {3} |",
            e.id,
            plain(&e.paper),
            plain(&e.figure),
            plain(&d.judged.verdict.words())
        );
    }
    let mut seen: Vec<(&str, &Table)> = Vec::new();
    for d in done {
        let e = &d.experiment;
        let _ = write!(
            out,
            "\n## {}\n\n{} ({}, {}).\n\n**Claim.** {}\n\n**Verdict: {}.**\n\n",
            e.id,
            e.title,
            e.paper,
            e.figure,
            e.claim,
            d.judged.verdict.words()
        );
        for (check, part) in e.verdict.check.iter().zip(&d.judged.parts) {
            let _ = writeln!(
                out,
                "- {} ({} {}): {}",
                check.says,
                plain(&check.quantity),
                plain(&bound(check)),
                grounds(part)
            );
        }
        if !e.remarks.is_empty() {
            let _ = write!(out, "\n{}\n", e.remarks);
        }
        for note in &d.found.notes {
            let _ = write!(out, "\n{note}\n");
        }
        for (above, table) in &d.found.tables {
            // Some figures are of one run: its numbers stand once.
            match seen.iter().find(|(_, t)| *t == table) {
                Some((id, _)) => {
                    let _ = write!(out, "\nThe numbers are those of the table under [{id}](#{id}).\n");
                }
                None => {
                    seen.push((&e.id, table));
                    let _ = write!(out, "\n{above}\n\n{}", table_markdown(table));
                }
            }
        }
    }
    out
}

fn plain(text: &str) -> String {
    text.replace('|', "\\|")
}

fn table_markdown(t: &Table) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|c| plain(c)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let mut out = line(&t.columns);
    let _ = writeln!(out, "|{}", "---|".repeat(t.columns.len()));
    t.rows.iter().for_each(|r| out.push_str(&line(r)));
    out
}
