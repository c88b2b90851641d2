//! Pose frames: what the page draws, sixty times a second, as bytes. `web/src/protocol.ts` reads them.

use linkwork::formats::{Gap, open_gaps};
use linkwork::session::{Event, GripMode, Limit, Session, TickReport};
use linkwork::{Pose, SolidId};

/// `LWF1`, little endian.
const MAGIC: u32 = u32::from_le_bytes(*b"LWF1");
/// Most open joints in a frame; the widest ones come first.
const MOST_GAPS: usize = 128;
/// Gaps below this are not drawn whatever the tolerance: nobody could see them.
const LEAST_GAP: f64 = 1e-7;
/// Most joint forces in a frame; the strongest ones.
const MOST_FORCES: usize = 128;
/// Most points of contact in a frame; those that push hardest.
const MOST_CONTACTS: usize = 128;
/// Where the tick's number stands.
const TICK: std::ops::Range<usize> = 4..8;

/// Writes the frame of a session as it stands, and of those it is compared with.
pub fn encode(
    out: &mut Vec<u8>,
    tick: u32,
    revision: u32,
    session: &Session,
    report: &TickReport,
    ghosts: &[&Session],
) {
    let settings = session.settings();
    let mut gaps = open_gaps(session.mechanism(), session.state(), settings.tolerance.max(LEAST_GAP));
    gaps.sort_by(|a, b| b.length().total_cmp(&a.length()));
    gaps.truncate(MOST_GAPS);
    let mut forces = session.joint_forces();
    forces.retain(|(_, f)| f.is_finite());
    forces.sort_by(|a, b| b.1.length_squared().total_cmp(&a.1.length_squared()));
    forces.truncate(MOST_FORCES);
    let mut contacts = session.contact_points(MOST_CONTACTS);
    contacts.retain(|c| c.point.is_finite() && c.force.is_finite());
    let solids = session.mechanism().solid_count();
    let asleep = asleep(session);
    let hash = session.hash();
    out.clear();
    for word in [
        MAGIC,
        tick,
        revision,
        flags(session, report),
        solids as u32,
        report.grabs.len() as u32,
        gaps.len() as u32,
        ghosts.len() as u32,
        hash as u32,
        (hash >> 32) as u32,
        forces.len() as u32,
        asleep.len() as u32,
    ] {
        out.extend(word.to_le_bytes());
    }
    out.extend(report.time.to_le_bytes());
    let softs = session.mechanism().softs();
    stats(out, report, contacts.len(), softs.len());
    for soft in softs {
        for word in [soft.first.0, soft.vertices() as u32] {
            out.extend(word.to_le_bytes());
        }
    }
    poses(out, session);
    grips(out, report);
    for Gap { joint, from, to } in &gaps {
        numbers(out, [f64::from(joint.0)]);
        numbers(out, from.to_array());
        numbers(out, to.to_array());
    }
    for (joint, force) in &forces {
        numbers(out, [f64::from(joint.0)]);
        numbers(out, force.to_array());
    }
    ghosts.iter().for_each(|g| poses(out, g));
    for c in &contacts {
        numbers(out, c.solids.map(|s| f64::from(s.0)));
        numbers(out, c.point.to_array());
        numbers(out, c.normal.to_array());
        numbers(out, c.force.to_array());
        numbers(out, [c.friction, f64::from(u8::from(c.slides()))]);
    }
    asleep.iter().for_each(|word| out.extend(word.to_le_bytes()));
}

/// What holds of the whole frame, a bit each.
fn flags(session: &Session, report: &TickReport) -> u32 {
    let settings = session.settings();
    let missed = !(report.gaps.position.max(report.gaps.angle) <= settings.tolerance);
    u32::from(settings.running)
        | u32::from(settings.mode == linkwork::session::Mode::Kinematic) << 1
        | u32::from(missed) << 2
        | u32::from(report.rejected.is_some()) << 3
        | u32::from(report.timeline.scrubbed) << 4
        | u32::from(report.receipt.rough) << 5
        | u32::from(report.receipt.least) << 6
}

fn grips(out: &mut Vec<u8>, report: &TickReport) {
    for g in &report.grabs {
        let mode = match g.mode {
            GripMode::Pin => 0.0,
            GripMode::PinPose => 1.0,
            GripMode::Pull => 2.0,
        };
        numbers(out, [f64::from(g.hand), f64::from(g.solid)]);
        numbers(out, g.point);
        numbers(out, g.target);
        numbers(out, [g.gap.position]);
        numbers(out, g.force);
        numbers(out, [f64::from(u8::from(g.met)), mode, g.gap.angle, g.most_force.unwrap_or(-1.0)]);
    }
}

/// A bit for every solid that sleeps, the world left out; nothing at all where none does.
fn asleep(session: &Session) -> Vec<u32> {
    let sleeping = session.asleep();
    let mut bits =
        vec![0; if sleeping.is_empty() { 0 } else { session.mechanism().solid_count().div_ceil(32) }];
    for solid in sleeping {
        let i = solid.index() - 1;
        bits[i / 32] |= 1 << (i % 32);
    }
    bits
}

/// The numbers about the whole. Their order is that of `decodeFrame` in the page.
fn stats(out: &mut Vec<u8>, r: &TickReport, contacts: usize, softs: usize) {
    let limit = match r.receipt.limit {
        Limit::Idle => 0.0,
        Limit::Tolerance => 1.0,
        Limit::Iterations => 2.0,
        Limit::Budget => 3.0,
        Limit::Rejected => 4.0,
    };
    let worst = r.worst.as_ref().map_or(-1.0, |w| f64::from(w.joint));
    numbers(out, [r.gaps.position, r.gaps.angle, worst]);
    numbers(out, [r.energy.kinetic, r.energy.potential, r.energy.spring]);
    numbers(out, r.momentum.linear);
    numbers(out, r.momentum.angular);
    numbers(out, [r.iterations, r.solver_iterations, r.steps].map(f64::from));
    numbers(out, [r.receipt.used_ms, r.receipt.allowed_ms.unwrap_or(-1.0), limit]);
    numbers(out, [f64::from(u8::from(r.receipt.coarse)), f64::from(r.receipt.iterations)]);
    numbers(out, [r.receipt.tolerance, f64::from(r.receipt.due), r.receipt.dropped]);
    numbers(out, [r.timeline.first, r.timeline.last, r.timeline.shown].map(|n| n as f64));
    numbers(out, [r.timeline.from, r.timeline.to]);
    numbers(out, [r.islands.count, r.islands.asleep].map(f64::from));
    let size = |e: &Event| e.impulse.iter().map(|x| x * x).sum::<f64>().sqrt();
    let blow = r.contacts.events.iter().filter(|e| e.begin).map(size).fold(0.0, f64::max);
    numbers(out, [contacts as f64, f64::from(r.contacts.points), blow, softs as f64]);
}

/// Solids by place and turn; then the vertices of soft bodies, which have no turn: sheets have thousands of them.
fn poses(out: &mut Vec<u8>, session: &Session) {
    let m = session.mechanism();
    for i in (1..m.solids().len() as u32).map(SolidId).filter(|i| m.soft_of(*i).is_none()) {
        numbers(out, pose(session.pose(i)));
    }
    for i in m.softs().iter().flat_map(|soft| soft.range()) {
        numbers(out, session.pose(SolidId(i as u32)).translation.to_array());
    }
}

/// A pose the page's way: x y z, then the quaternion x y z w.
pub fn pose(p: Pose) -> [f64; 7] {
    let (t, q) = (p.translation, p.rotation);
    [t.x, t.y, t.z, q.x, q.y, q.z, q.w]
}

fn numbers<const N: usize>(out: &mut Vec<u8>, values: [f64; N]) {
    for v in values {
        out.extend((v as f32).to_le_bytes());
    }
}

/// Events for the page, those with the largest impulses, in order.
pub fn strongest(events: &[Event]) -> Vec<Event> {
    const MOST: usize = 10;
    let size = |k: &usize| events[*k].impulse.iter().map(|x| x * x).sum::<f64>();
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by(|a, b| size(b).total_cmp(&size(a)));
    order.truncate(MOST);
    order.sort_unstable();
    order.into_iter().map(|k| events[k]).collect()
}

/// Says whether two frames show the same: everything but the number of the tick.
pub fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len()
        && a.len() > TICK.end
        && a[..TICK.start] == b[..TICK.start]
        && a[TICK.end..] == b[TICK.end..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_holds_what_its_header_says() {
        let text = "scene gravity 0 0 0; end solid a: mass 1; at 1 2 3; end solid b: mass 2; at 4 5 6; end
            joint far: distance 1; object1 a; object2 b; end";
        let mut s = Session::open(text, &mut |_| Err("none".into())).expect("a scene");
        let grab = r#"{"do":"grab","hand":5,"solid":"b","point":[0,0,0],"mode":"pull"}"#;
        s.apply(serde_json::from_str(grab).expect("a command")).expect("it can be held");
        let report = s.look();
        let mut bytes = Vec::new();
        encode(&mut bytes, 7, 3, &s, &report, &[&s]);
        let word = |i: usize| u32::from_le_bytes([0, 1, 2, 3].map(|k| bytes[4 * i + k]));
        assert_eq!(&bytes[..4], b"LWF1");
        assert_eq!([1, 2, 4, 5, 7].map(word), [7, 3, 2, 1, 1]);
        assert_eq!(u64::from(word(8)) | u64::from(word(9)) << 32, s.hash());
        let gaps = word(6) as usize;
        assert_eq!(word(10), 0, "nothing has moved yet");
        assert_eq!(bytes.len(), 56 + 4 * (34 + 2 * 7 + 16 + 7 * gaps + 2 * 7));
        let float = |i: usize| f32::from_le_bytes([0, 1, 2, 3].map(|k| bytes[56 + 4 * i + k]));
        let p = s.pose(SolidId(2));
        assert_eq!(float(34 + 7), p.translation.x as f32);
        assert_eq!(float(34 + 13), p.rotation.w as f32);
        assert_eq!([34 + 14, 34 + 15, 34 + 14 + 13].map(float), [5.0, 2.0, 2.0]);
        let mut other = bytes.clone();
        other[TICK.start] ^= 1;
        assert!(same(&bytes, &other));
        other[64] ^= 1;
        assert!(!same(&bytes, &other));
    }

    /// A box that lies: its points, with the floor first, normals up and forces that carry it.
    #[test]
    fn a_frame_holds_what_touches() {
        let text = "scene gravity 0 -10 0; end solid floor: kernel fixed; shape plane 0 1 0; end
            solid box: shape box 1 1 1; mass 2; at 0 0.5 0; end";
        let mut s = Session::open(text, &mut |_| Err("none".into())).expect("a scene");
        s.apply(linkwork::session::Command::Step { count: 5 }).expect("steps");
        let report = s.look();
        let mut bytes = Vec::new();
        encode(&mut bytes, 7, 3, &s, &report, &[]);
        let float = |i: usize| f32::from_le_bytes([0, 1, 2, 3].map(|k| bytes[56 + 4 * i + k]));
        assert_eq!([30, 31].map(float), [4.0, 4.0]);
        let at = 34 + 2 * 7;
        assert_eq!(bytes.len(), 56 + 4 * (at + 4 * 13));
        let mut sum = 0.0;
        for k in 0..4 {
            let c = at + 13 * k;
            assert_eq!([c, c + 1, c + 6, c + 11, c + 12].map(float), [1.0, 2.0, 1.0, 0.5, 0.0]);
            sum += float(c + 9);
        }
        assert!((sum - 20.0).abs() < 1e-3, "{sum}");
    }

    /// A vertex takes three numbers, wherever its body stands among the solids.
    #[test]
    fn vertices_have_no_turn() {
        let text = "solid a: mass 1; at 1 2 3; end
            cloth s: grid 3 2 spacing 0.5; mass 1; stretch 9; at 0 5 0; end
            solid b: mass 2; at 4 5 6; end tetra t: grid 2 2 2 spacing 1; mass 1; stretch 9; end";
        let mut s = Session::open(text, &mut |_| Err("none".into())).expect("a scene");
        let report = s.look();
        let mut bytes = Vec::new();
        encode(&mut bytes, 7, 3, &s, &report, &[&s]);
        let word = |i: usize| u32::from_le_bytes([0, 1, 2, 3].map(|k| bytes[4 * i + k]));
        let float = |i: usize| f32::from_bits(word(14 + i));
        let first = |name: &str| s.mechanism().find(name).map(|id| id.0);
        assert_eq!((word(4), float(33)), (2 + 6 + 8, 2.0));
        let softs = 14 + 34;
        assert_eq!(
            [0, 1, 2, 3].map(|i| word(softs + i)).map(Some),
            [first("s.0.0"), Some(6), first("t.0.0.0"), Some(8)]
        );
        let at = 34 + 4;
        assert_eq!([0, 1, 2, 6, 7].map(|i| float(at + i)), [1.0, 2.0, 3.0, 1.0, 4.0]);
        // The fifth vertex of the sheet is the second of its second row.
        assert_eq!([12, 13, 14].map(|i| float(at + 14 + i)), [0.5, 5.5, 0.0]);
        assert_eq!(bytes.len(), 56 + 4 * (at + 2 * (14 + 3 * 14)));
    }
}
