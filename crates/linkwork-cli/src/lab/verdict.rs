//! The verdict: computed from what was measured and from the thresholds in the data, never typed in.
//!
//! An experiment is run in several *cases*: lengths, methods, rates. Each case has named quantities, and the claim is a
//! list of checks on them. It is `reproduced` if every check holds in every case, `reproduced only when …` if it does in
//! some, and the words after that are made from the cases; otherwise it is `not reproduced`.

use crate::failure::Failure;
use serde::Deserialize;

/// One setting and what was measured in it.
#[derive(Clone, Debug, Default)]
pub struct Case {
    /// What it shares with others: the form of a constraint, a pose. May be empty.
    pub group: String,
    /// Its name.
    pub label: String,
    /// Where the cases differ in a number: that number.
    pub value: Option<f64>,
    /// What was measured.
    pub quantities: Vec<(String, f64)>,
}

impl Case {
    /// Named by words.
    pub fn new(group: impl Into<String>, label: impl Into<String>) -> Self {
        Self { group: group.into(), label: label.into(), ..Self::default() }
    }

    /// Named by a number.
    pub fn of(group: impl Into<String>, value: f64) -> Self {
        Self { group: group.into(), label: number(value), value: Some(value), quantities: Vec::new() }
    }

    /// Adds a quantity.
    pub fn add(&mut self, name: impl Into<String>, x: f64) {
        self.quantities.push((name.into(), x));
    }

    /// A quantity by its name.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.quantities.iter().find(|q| q.0 == name).map(|q| q.1)
    }

    /// Group and label.
    pub fn name(&self) -> String {
        match self.group.as_str() {
            "" => self.label.clone(),
            group => format!("{group}, {}", self.label),
        }
    }
}

/// When a claim counts as reproduced.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rules {
    /// Opens the condition: `the links are` in `reproduced only when the links are 30 to 200 m`.
    pub when: String,
    /// Unit of the cases' numbers.
    #[serde(default)]
    pub unit: String,
    /// All of them have to hold.
    pub check: Vec<Check>,
}

/// One condition on one quantity.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Check {
    /// What it means, in words.
    pub says: String,
    /// What is measured.
    pub quantity: String,
    /// It may not be larger.
    pub at_most: Option<Bound>,
    /// It may not be smaller.
    pub at_least: Option<Bound>,
    /// Multiplies the bound, where that is a quantity.
    #[serde(default = "one")]
    pub times: f64,
}

fn one() -> f64 {
    1.0
}

/// A number, or another quantity of the same case.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Bound {
    /// As it is.
    Number(f64),
    /// By name.
    Quantity(String),
}

/// The verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// In every case.
    Reproduced,
    /// In some cases; tells in which.
    OnlyWhen(String),
    /// In no case.
    NotReproduced,
    /// No case could be run within the time limit.
    Undecided,
}

impl Verdict {
    /// In words.
    pub fn words(&self) -> String {
        match self {
            Verdict::OnlyWhen(condition) => format!("reproduced only when {condition}"),
            other => other.short().to_owned(),
        }
    }

    /// One of the fixed words that scripts can rely on.
    pub fn short(&self) -> &'static str {
        match self {
            Verdict::Reproduced => "reproduced",
            Verdict::OnlyWhen(_) => "reproduced only when",
            Verdict::NotReproduced => "not reproduced",
            Verdict::Undecided => "undecided",
        }
    }
}

/// How one check came out in one case.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The quantity.
    pub measured: f64,
    /// What it was held against.
    pub bound: f64,
    /// Whether it holds.
    pub holds: bool,
}

/// A verdict with its grounds.
#[derive(Clone, Debug)]
pub struct Judged {
    /// The whole.
    pub verdict: Verdict,
    /// Per case and check.
    pub answers: Vec<Vec<Answer>>,
    /// Per check: where it holds.
    pub parts: Vec<Verdict>,
}

impl Judged {
    /// Does the whole claim hold in this case?
    pub fn holds(&self, case: usize) -> bool {
        self.answers[case].iter().all(|a| a.holds)
    }
}

/// Holds the cases against the rules.
pub fn judge(id: &str, rules: &Rules, cases: &[Case]) -> Result<Judged, Failure> {
    let bad = |message: String| Failure::input("", format!("experiment `{id}`: {message}"));
    if rules.check.is_empty() {
        return Err(bad("its verdict has no `check`".to_owned()));
    }
    let get = |case: &Case, name: &str| {
        case.get(name).ok_or_else(|| {
            let known: Vec<&str> = case.quantities.iter().map(|q| q.0.as_str()).collect();
            bad(format!(
                "no quantity `{name}` was measured in case `{}`; there are: {}",
                case.name(),
                known.join(", ")
            ))
        })
    };
    let mut answers = Vec::new();
    for case in cases {
        let mut line = Vec::new();
        for check in &rules.check {
            let bound = |b: &Bound| match b {
                Bound::Number(x) => Ok(x * check.times),
                Bound::Quantity(name) => get(case, name).map(|x| x * check.times),
            };
            let measured = get(case, &check.quantity)?;
            // Written so that what is not a number never holds.
            line.push(match (&check.at_most, &check.at_least) {
                (Some(most), None) => {
                    let bound = bound(most)?;
                    Answer { measured, bound, holds: measured <= bound }
                }
                (None, Some(least)) => {
                    let bound = bound(least)?;
                    Answer { measured, bound, holds: measured >= bound }
                }
                _ => return Err(bad(format!("`{}` needs either at-most or at-least", check.says))),
            });
        }
        answers.push(line);
    }
    let part = |k: usize| -> Vec<bool> { answers.iter().map(|a: &Vec<Answer>| a[k].holds).collect() };
    let parts = (0..rules.check.len()).map(|k| verdict(rules, cases, &part(k))).collect();
    let all: Vec<bool> = answers.iter().map(|a| a.iter().all(|x| x.holds)).collect();
    Ok(Judged { verdict: verdict(rules, cases, &all), answers, parts })
}

/// Of a group that holds as a whole.
const ANYTHING: &str = "anything";

/// From where it holds to words.
fn verdict(rules: &Rules, cases: &[Case], holds: &[bool]) -> Verdict {
    match holds.iter().filter(|h| **h).count() {
        _ if cases.is_empty() => Verdict::Undecided,
        0 => Verdict::NotReproduced,
        n if n == cases.len() => Verdict::Reproduced,
        _ => Verdict::OnlyWhen(condition(rules, cases, holds)),
    }
}

fn condition(rules: &Rules, cases: &[Case], holds: &[bool]) -> String {
    let mut groups: Vec<&str> = Vec::new();
    for c in cases {
        if !groups.contains(&c.group.as_str()) {
            groups.push(&c.group);
        }
    }
    let told: Vec<(&str, Option<String>)> = groups
        .iter()
        .map(|g| {
            let of: Vec<(&Case, bool)> =
                cases.iter().zip(holds).filter(|(c, _)| c.group == *g).map(|(c, h)| (c, *h)).collect();
            (*g, stretch(&of, &rules.unit))
        })
        .collect();
    let first = &told[0].1;
    if told.iter().all(|t| t.1 == *first) {
        return format!("{} {}", rules.when, first.as_deref().unwrap_or(ANYTHING));
    }
    // Groups of which the same can be said are named together.
    let mut parts: Vec<(String, Vec<&str>)> = Vec::new();
    for (group, text) in told {
        let Some(text) = text else { continue };
        match parts.iter_mut().find(|p| p.0 == text) {
            Some(part) => part.1.push(group),
            None => parts.push((text, vec![group])),
        }
    }
    let said = parts.into_iter().map(|(text, groups)| match text.as_str() {
        ANYTHING => groups.join(" / "),
        _ => format!("{} {text} ({})", rules.when, groups.join(" / ")),
    });
    said.collect::<Vec<_>>().join("; ")
}

/// The cases of one group in which something holds: a range where they are numbers in a row, else a list.
fn stretch(of: &[(&Case, bool)], unit: &str) -> Option<String> {
    if of.iter().all(|(_, h)| *h) {
        return Some(ANYTHING.to_owned());
    }
    let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
    let mut sorted: Vec<(f64, bool)> = of.iter().filter_map(|(c, h)| c.value.map(|v| (v, *h))).collect();
    if sorted.len() == of.len() {
        sorted.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut runs: Vec<(f64, f64)> = Vec::new();
        let mut open = false;
        for (value, holds) in sorted {
            match runs.last_mut() {
                Some(run) if holds && open => run.1 = value,
                _ if holds => runs.push((value, value)),
                _ => {}
            }
            open = holds;
        }
        let run = |(a, b): &(f64, f64)| match a == b {
            true => format!("{}{unit}", number(*a)),
            false => format!("{} to {}{unit}", number(*a), number(*b)),
        };
        return (!runs.is_empty()).then(|| or(runs.iter().map(run).collect()));
    }
    let labels: Vec<String> =
        of.iter().filter(|(_, h)| *h).map(|(c, _)| format!("{}{unit}", c.label)).collect();
    (!labels.is_empty()).then(|| or(labels))
}

fn or(mut items: Vec<String>) -> String {
    let last = items.pop().unwrap_or_default();
    if items.is_empty() { last } else { format!("{} or {last}", items.join(", ")) }
}

/// A number as people write it.
pub fn number(x: f64) -> String {
    if x == 0.0 || (1e-4..1e6).contains(&x.abs()) {
        format!("{}", (x * 1e6).round() / 1e6)
    } else {
        format!("{x:e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(most: f64) -> Rules {
        let text = format!(
            "when = \"the links are\"\nunit = \"m\"\n[[check]]\nsays = \"small\"\nquantity = \"error\"\n\
             at-most = {most}\n[[check]]\nsays = \"below the other\"\nquantity = \"error\"\nat-most = \"other\"\n\
             times = 2\n"
        );
        toml::from_str(&text).unwrap()
    }

    fn cases() -> Vec<Case> {
        [(1.0, 0.5), (10.0, 0.1), (30.0, 0.05), (100.0, 0.2)]
            .map(|(length, error)| {
                let mut c = Case::of("", length);
                c.add("error", error);
                c.add("other", 1.0);
                c
            })
            .to_vec()
    }

    fn words(most: f64, cases: &[Case]) -> String {
        judge("x", &rules(most), cases).ok().unwrap().verdict.words()
    }

    #[test]
    fn the_threshold_decides() {
        assert_eq!(words(1.0, &cases()), "reproduced");
        assert_eq!(words(0.1, &cases()), "reproduced only when the links are 10 to 30 m");
        assert_eq!(words(0.3, &cases()), "reproduced only when the links are 10 to 100 m");
        assert_eq!(words(0.01, &cases()), "not reproduced");
        assert_eq!(words(1.0, &[]), "undecided");
    }

    #[test]
    fn what_is_not_a_number_does_not_hold_and_quantities_bound_each_other() {
        let mut all = cases();
        all[1].quantities[0].1 = f64::NAN;
        assert_eq!(words(1.0, &all), "reproduced only when the links are 1 m or 30 to 100 m");
        // Twice 0.02 is less than 0.05.
        all[2].quantities[1].1 = 0.02;
        assert_eq!(words(1.0, &all), "reproduced only when the links are 1 m or 100 m");
        all[2].quantities.clear();
        assert!(judge("x", &rules(1.0), &all).is_err());
    }

    #[test]
    fn groups_are_told_apart_only_where_they_differ() {
        let group = |g: &str, flip: f64| -> Vec<Case> {
            let mut all = cases();
            for c in &mut all {
                c.group = g.to_owned();
                c.quantities[0].1 *= flip;
            }
            all
        };
        let same = [group("a", 1.0), group("b", 1.0)].concat();
        assert_eq!(words(0.1, &same), "reproduced only when the links are 10 to 30 m");
        let differ = [group("a", 1.0), group("b", 0.1), group("c", 10.0), group("d", 1.0)].concat();
        assert_eq!(words(0.1, &differ), "reproduced only when the links are 10 to 30 m (a / d); b");
    }
}
