//! What `check` and `assemble` both tell: counts, gaps, and which constraints depend on or contradict each other.

use crate::scene::{Lines, Loaded};
use crate::simulate::Totals;
use crate::terminal::Paint;
use linkwork::diagnose::{Dependency, Diagnosis, diagnose};
use linkwork::graph::Graph;
use linkwork::rows::{Gaps, Rows};
use linkwork::{AssembleConfig, JointId, Mechanism, Outcome, Pose, State, assemble};
use serde_json::{Value, json};
use std::fmt::Write;

/// `1 joint`, `3 joints`.
pub fn count(n: usize, what: &str) -> String {
    if n == 1 {
        return format!("1 {what}");
    }
    match what.strip_suffix('y') {
        Some(stem) => format!("{n} {stem}ies"),
        None => format!("{n} {what}s"),
    }
}

/// A number for people: two or three digits that matter.
pub fn figure(x: f64) -> String {
    match x.abs() {
        0.0 => "0".to_owned(),
        a if (1e-3..1e4).contains(&a) => {
            let text = format!("{x:.*}", (2 - a.log10().floor() as i32).clamp(0, 5) as usize);
            if text.contains('.') {
                text.trim_end_matches('0').trim_end_matches('.').to_owned()
            } else {
                text
            }
        }
        _ => format!("{x:.1e}"),
    }
}

/// A large number for people: `13 k`, `2.4 M`.
pub fn magnitude(x: f64) -> String {
    let units = [(1e12, " T"), (1e9, " G"), (1e6, " M"), (1e3, " k")];
    // Sums of nothing are minus zero.
    let x = x + 0.0;
    match units.iter().find(|u| x >= u.0) {
        Some((size, unit)) if x / size < 9.95 => format!("{:.1}{unit}", x / size),
        Some((size, unit)) => format!("{:.0}{unit}", x / size),
        None => format!("{x:.0}"),
    }
}

/// A time for people.
pub fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.0} µs", s * 1e6),
        s if s < 1.0 => format!("{} ms", figure(s * 1e3)),
        s => format!("{} s", figure(s)),
    }
}

/// Distance and angle; one that is nothing but rounding next to the other is left out.
pub fn gaps(g: Gaps) -> String {
    let rounding = (1e-9 * g.worst()).max(1e-14);
    let (position, angle) = (format!("{} m", figure(g.position)), format!("{} rad", figure(g.angle)));
    match (g.position < rounding, g.angle < rounding) {
        (_, true) => position,
        (true, false) => angle,
        (false, false) => format!("{position}, {angle}"),
    }
}

/// The largest gaps of all joints at a pose.
pub fn gaps_at(m: &Mechanism, state: &State) -> Gaps {
    let graph = Graph::new(m);
    let mut rows = Rows::default();
    rows.fill(m, state, state.time, (0..m.joints().len() as u32).map(JointId), |j| graph.default_rank(j));
    rows.gaps()
}

/// The `constraints` object of the contract.
pub fn constraints(graph: &Graph) -> Value {
    json!({ "total": graph.acyclic + graph.loops, "acyclic": graph.acyclic, "loop": graph.loops })
}

/// `20 scalar (15 acyclic, 5 loop)`, with `what` in place of `scalar`.
pub fn constraints_text(graph: &Graph, what: &str) -> String {
    let total = graph.acyclic + graph.loops;
    match graph.loops {
        0 => format!("{total} {what}"),
        loops => format!("{total} {what} ({} acyclic, {loops} loop)", graph.acyclic),
    }
}

/// Examines a mechanism at a pose. Rank decisions need more digits than an assembly's tolerance may ask for, so a
/// copy of an assembled pose is closed to rounding first; where that fails the pose is taken as it is.
pub fn examine(
    m: &Mechanism,
    state: &State,
    outcome: Outcome,
    tolerance: f64,
    most_rows: usize,
) -> Diagnosis {
    let mut pose = state.clone();
    let rows = m.scalar_constraints();
    if outcome == Outcome::Ok && rows <= most_rows {
        let config = AssembleConfig { tolerance: 1e-11, iterations: Some(10), ..AssembleConfig::default() };
        if !(assemble(m, &mut pose, &config).gaps.worst() <= tolerance) {
            pose = state.clone();
        }
    }
    diagnose(m, &pose, most_rows, tolerance)
}

/// How many freedoms there are, where they were counted: large islands are left to `check`.
pub fn freedoms(diagnosis: &Diagnosis) -> Option<usize> {
    diagnosis.islands.iter().all(|i| i.examined).then_some(diagnosis.freedoms)
}

/// The same in words.
pub fn freedoms_text(freedoms: Option<usize>) -> String {
    freedoms.map_or_else(|| "freedoms not counted (`check` does)".into(), |n| count(n, "freedom"))
}

/// Dependencies as JSON.
pub fn dependencies(found: &[&Dependency], lines: &Lines) -> Value {
    let joint = |j: JointId| json!({ "joint": lines.name(j), "line": lines.joint(j) });
    found
        .iter()
        .map(|d| {
            json!({
                "joint": lines.name(d.joint),
                "line": lines.joint(d.joint),
                "rows": d.rows,
                "with": d.with.iter().map(|j| joint(*j)).collect::<Vec<_>>(),
            })
        })
        .collect()
}

/// Entries of a list in JSON, unless all of them are asked for.
const LISTED: usize = 200;

/// A list for JSON, cut where it would be very long.
pub fn cut<T>(all: &[T], full: bool, one: impl Fn(usize, &T) -> Value) -> Vec<Value> {
    let most = if full { all.len() } else { LISTED };
    all.iter().enumerate().take(most).map(|(i, x)| one(i, x)).collect()
}

/// How many entries [`cut`] leaves out of so many.
pub fn left_out(len: usize, full: bool) -> usize {
    if full { 0 } else { len.saturating_sub(LISTED) }
}

/// Where a solid is: its origin, and its orientation as w x y z, as in scenes.
pub fn pose(name: &str, pose: Pose) -> Value {
    let q = pose.rotation;
    json!({ "solid": name, "at": pose.translation.to_array(), "orientation": [q.w, q.x, q.y, q.z] })
}

/// Lines of a list before it is cut.
const SHOWN: usize = 12;

/// Dependencies as a table, a line each: name, `said`, and the others involved.
pub fn dependencies_text(found: &[&Dependency], lines: &Lines, paint: Paint, said: &str) -> String {
    let names: Vec<String> = found.iter().take(SHOWN).map(|d| lines.name(d.joint)).collect();
    let places: Vec<String> = found.iter().take(SHOWN).map(|d| lines.place(d.joint)).collect();
    let (wide, far) = (width(&names), width(&places));
    let mut out = String::new();
    for ((d, name), place) in found.iter().zip(&names).zip(&places) {
        let others: Vec<String> = d.with.iter().take(3).map(|j| lines.short(*j)).collect();
        let more = if d.with.len() > 3 { ", …" } else { "" };
        let others =
            if others.is_empty() { String::new() } else { format!(" {said} {}{more}", others.join(", ")) };
        let rows = count(d.rows, "row");
        let _ = writeln!(out, "    {}  {}  {rows:<6}{others}", pad(name, wide), paint.dim(pad(place, far)),);
    }
    out.push_str(&rest(found.len(), SHOWN));
    out
}

/// `    and 3 more` for lists cut at `shown`.
pub fn rest(len: usize, shown: usize) -> String {
    if len > shown {
        format!("    and {} more (all of them with --json)\n", len - shown)
    } else {
        String::new()
    }
}

/// The widest of these, in characters.
pub fn width(texts: &[String]) -> usize {
    texts.iter().map(|t| t.chars().count()).max().unwrap_or(0)
}

/// Filled up with blanks: unlike `{:<n}`, before colours go around it.
pub fn pad(text: &str, wide: usize) -> String {
    format!("{text}{}", " ".repeat(wide.saturating_sub(text.chars().count())))
}

/// First line of a report: the title and where it comes from.
pub fn heading(loaded: &Loaded, paint: Paint) -> String {
    format!("{}  {}\n", paint.bold(loaded.title()), paint.dim(&loaded.name))
}

/// A number for reading: three digits after the first, without a power of ten while that is short.
pub fn plain(x: f64) -> String {
    let x = x + 0.0;
    if x == 0.0 || (1e-3..1e6).contains(&x.abs()) {
        let text = format!("{x:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        format!("{x:.3e}")
    }
}

/// Soft bodies that lie in each other, in themselves or in solids, in words.
pub fn tangled(m: &linkwork::Mechanism, s: &linkwork::State) -> Vec<String> {
    use linkwork::soft::TangledWith;
    let tell = |t: &linkwork::soft::Tangle| {
        let (name, n) = (&m.softs()[t.body].name, t.count);
        let at = format!("at {:.3} {:.3} {:.3}", t.at.x, t.at.y, t.at.z);
        match t.with {
            TangledWith::Soft(k) if k == t.body => {
                format!(
                    "`{name}` starts tangled with itself: {n} of its edges go through its faces, one {at}"
                )
            }
            TangledWith::Soft(k) => {
                let other = &m.softs()[k].name;
                format!("`{name}` and `{other}` start tangled: {n} edges go through faces, one {at}")
            }
            TangledWith::Solid(id) => {
                let solid = &m.solid(id).name;
                let (vertices, come) =
                    if n == 1 { ("vertex", "it comes") } else { ("vertices", "they come") };
                format!("`{name}` starts in `{solid}`: {n} {vertices}, one {at}; {come} out within a second")
            }
        }
    };
    linkwork::soft::tangles(m, s).iter().map(tell).collect()
}

/// What steps did to soft bodies, for the record of a run.
pub fn soft_json(soft: &linkwork::step::SoftReport) -> Value {
    json!({
        "springs": soft.springs, "limited_max": soft.limited, "gave_way_max": soft.gave_way, "excess_max": soft.excess,
        "strain_max": soft.strain, "contacts_max": soft.contacts, "penetration_max": soft.penetration,
        "tangled_max": soft.tangled, "stopped": soft.stopped, "torn": soft.torn, "rounds_max": soft.rounds,
        "factors_max": soft.factors, "unsolved": soft.unsolved, "held_back": soft.held_back,
    })
}

/// What went wrong with soft bodies, and what to do about it: limits gave way, or they were held back for long.
pub fn soft_words(t: &Totals, loaded: &Loaded, s: &State) -> String {
    let m = loaded.mechanism();
    if t.gave_way == 0 {
        return format!(
            "Soft bodies were held back in {} in a row, since no good places were found: they stand still where\n  \
             they should move. Shorten --step, make cloth heavier, or what lies on it lighter.",
            count(t.held_long as usize, "step")
        );
    }
    let over = |soft: &&linkwork::SoftBody| {
        soft.mesh.springs.iter().any(|k| {
            let [a, b] = k.ends.map(|v| s.centers[soft.vertex(v).index()]);
            k.longest.is_finite() && a.distance(b) > k.longest + 1e-3 * k.length
        })
    };
    let names: Vec<String> = m.softs().iter().filter(over).map(|s| format!("`{}`", s.name)).collect();
    let of = if names.is_empty() { String::new() } else { format!(" of {}", names.join(", ")) };
    format!(
        "Limits of soft bodies gave way in {}: springs{of} were up to {} of their length beyond `limit-strain`.\n  \
         What holds or loads them asks for more: bring pins nearer, take a lighter load, or raise the limit.",
        count(t.gave_way as usize, "step"),
        figure(t.soft.excess)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_true() {
        for (x, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (0.25, "0.25"),
            (0.001234, "0.00123"),
            (123.4, "123"),
            (9999.0, "9999"),
            (2.34e-9, "2.3e-9"),
            (1e5, "1.0e5"),
            (100.0, "100"),
        ] {
            assert_eq!(figure(x), text);
        }
        assert_eq!(figure(f64::NAN), "NaN");
        assert_eq!(
            (magnitude(12.0), magnitude(1340.0), magnitude(2.5e7)),
            ("12".into(), "1.3 k".into(), "25 M".into())
        );
        assert_eq!(
            (count(1, "joint"), count(2, "joint"), count(3, "body")),
            ("1 joint".into(), "2 joints".into(), "3 bodies".into())
        );
    }
}
