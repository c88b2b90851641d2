//! Contact forces of a run: per pair of solids what `--json` sums up, and the table of `--contacts`.

use linkwork::contact::{ContactEventKind, ContactEvents};
use linkwork::{Mechanism, SolidId, State, Vector, Workspace};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Pairs that the report lists.
const SHOWN: usize = 20;

/// The first line of the table.
pub const HEADER: &str = "time,solid1,solid2,event,points,gap,fx,fy,fz,jx,jy,jz\n";

/// What pairs did so far.
#[derive(Default)]
pub struct PairLog {
    pairs: BTreeMap<[SolidId; 2], PairTotals>,
    /// For a table: who touches whom, and which solids are wanted (all without a list).
    table: Option<(ContactEvents, Option<Vec<SolidId>>)>,
    /// Rows that nobody has taken yet.
    rows: String,
}

struct PairTotals {
    /// End of the step in which they met first.
    since: f64,
    /// Largest impulse of a step by its length, newtons.
    force_max: f64,
}

impl PairLog {
    /// With rows of pairs that have one of these solids.
    pub fn with_table(watch: Option<Vec<SolidId>>) -> Self {
        Self { table: Some((ContactEvents::new(), watch)), ..Self::default() }
    }

    /// Looks at a step of length `dt` that was just taken.
    pub fn after_step(&mut self, m: &Mechanism, w: &Workspace, s: &State, dt: f64) {
        let gave = w.contact_impulses();
        for (solids, impulse) in &gave {
            let seen = self.pairs.entry(*solids).or_insert(PairTotals { since: s.time, force_max: 0.0 });
            seen.force_max = seen.force_max.max(impulse.length() / dt);
        }
        let Some((events, watch)) = &mut self.table else { return };
        events.after_step(w, s);
        let wanted =
            |solids: &[SolidId; 2]| watch.as_ref().is_none_or(|w| solids.iter().any(|s| w.contains(s)));
        let now = w.contact_pairs(s);
        let mut all: Vec<[SolidId; 2]> = now.iter().map(|p| p.solids).collect();
        all.extend(events.events().iter().map(|e| e.solids));
        all.sort_unstable();
        all.dedup();
        for solids in all.into_iter().filter(wanted) {
            let told = |kind| events.events().iter().any(|e| e.solids == solids && e.kind == kind);
            let event = match (told(ContactEventKind::Begin), told(ContactEventKind::End)) {
                (true, true) => "begin end",
                (true, false) => "begin",
                (false, true) => "end",
                (false, false) => "",
            };
            let pair = now.iter().find(|p| p.solids == solids);
            let impulse = gave.iter().find(|g| g.0 == solids).map(|g| g.1);
            // What sleeps pushes as it did.
            let impulse = impulse.or(pair.map(|p| p.force * dt)).unwrap_or(Vector::ZERO);
            let force = pair.map_or(Vector::ZERO, |p| p.force);
            let [a, b] = solids.map(|id| linkwork::formats::csv::quoted(&m.solid(id).name));
            let _ = write!(self.rows, "{:?},{a},{b},{event},{},", s.time, pair.map_or(0, |p| p.points));
            if let Some(pair) = pair {
                let _ = write!(self.rows, "{:?}", pair.gap);
            }
            for x in force.to_array().into_iter().chain(impulse.to_array()) {
                let _ = write!(self.rows, ",{x:?}");
            }
            self.rows.push('\n');
        }
    }

    /// Rows since the last time.
    pub fn take_rows(&mut self) -> String {
        std::mem::take(&mut self.rows)
    }

    /// The pairs with the largest forces, those of the state that a run ended with included.
    pub fn json(&self, m: &Mechanism, w: &Workspace, s: &State) -> Vec<Value> {
        let end = w.contact_pairs(s);
        let mut order: Vec<_> = self.pairs.iter().collect();
        order.sort_by(|a, b| b.1.force_max.total_cmp(&a.1.force_max));
        let one = |(solids, t): &(&[SolidId; 2], &PairTotals)| {
            let now = end.iter().find(|p| p.solids == **solids);
            json!({
                "solids": solids.map(|id| m.solid(id).name.clone()),
                "since": t.since,
                "force_max": t.force_max,
                "force_end": now.map_or(Vector::ZERO, |p| p.force).to_array(),
                "points_end": now.map_or(0, |p| p.points),
                "gap_end": now.map(|p| p.gap),
            })
        };
        order.iter().take(SHOWN).map(one).collect()
    }
}
