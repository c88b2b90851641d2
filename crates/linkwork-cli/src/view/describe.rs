//! The scene as the page needs it: shapes, colours, joints, and where each stands in the text.

use super::frame::pose;
use linkwork::formats::{Figure, SoftPart};
use linkwork::graph::Graph;
use linkwork::scene::{LineIndex, Up};
use linkwork::session::{Complaint, Session};
use linkwork::skin::Surface;
use linkwork::{
    Direction, Drive, DriveAim, Joint, JointId, Kernel, Mask, Mechanism, PlacedShape, Range, Rank, Rotation,
    Shape, SoftBody, SoftSpring, Solid, SolidId, Spring, Vector,
};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// Endless planes are drawn this many times as large as the mechanism.
const PLANE: f64 = 12.0;

/// What the page is told of a scene. `name` identifies it, `file` is where it can be saved.
pub fn scene(session: &Session, revision: u32, name: &str, file: Option<&str>, notes: &[String]) -> Value {
    let (m, s) = (session.mechanism(), session.scene());
    let skins: Vec<Surface> = s.surfaces().into_iter().flatten().collect();
    let figure = Figure::with_skins(m, session.state(), &skins);
    let lines = LineIndex::new(session.text());
    let graph = Graph::new(m);
    let line_of = |id: SolidId| match id {
        SolidId::WORLD => 0,
        id => lines.place(s.sources.solid(id).start as usize).0,
    };
    // Vertices are told of with their bodies: the page knows what they are called.
    let mut solids: Vec<Map<String, Value>> = m
        .solids()
        .iter()
        .enumerate()
        .map(|(i, solid)| match SolidId(i as u32) {
            id if m.soft_of(id).is_some() => Map::new(),
            id => describe_solid(m, solid, line_of(id)),
        })
        .collect();
    for part in &figure.parts {
        let solid = &mut solids[part.solid.index()];
        if !part.wire {
            solid.insert("color".into(), json!(part.color));
        }
        if let Some(Value::Array(shapes)) = solid.get_mut("shapes") {
            for (placed, covered) in part.shapes.iter().zip(&part.covered) {
                let mut shape = describe_shape(placed, part.wire, figure.radius);
                if *covered {
                    shape["covered"] = json!(true);
                }
                shapes.push(shape);
            }
        }
    }
    solids.retain(|s| !s.is_empty());
    let softs: Vec<Value> = m
        .softs()
        .iter()
        .zip(&figure.softs)
        .map(|(soft, part)| describe_soft(m, soft, part, line_of(soft.first)))
        .collect();
    let joints: Vec<Value> = (0..m.joints().len() as u32)
        .map(JointId)
        .map(|id| {
            let line = lines.place(s.sources.joint(id).start as usize).0;
            describe_joint(m, &graph, id, line)
        })
        .collect();
    json!({
        "event": "scene",
        "revision": revision,
        "title": s.title.clone().unwrap_or_else(|| stem(name)),
        "name": name,
        "file": file,
        "up": if s.up == Up::Z { "z" } else { "y" },
        "text": session.text(),
        "center": figure.center.to_array(),
        "radius": figure.radius,
        "solids": solids,
        "softs": softs,
        "wind": s.mechanism.air().map(|a| a.wind.to_array()),
        "joints": joints,
        "springs": m.springs().iter().map(describe_spring).collect::<Vec<_>>(),
        "skins": skins.iter().map(describe_skin).collect::<Vec<_>>(),
        "diagnostics": complaints(session.warnings(), session.text()),
        "notes": notes,
    })
}

fn describe_solid(m: &Mechanism, solid: &Solid, line: usize) -> Map<String, Value> {
    let kind = match solid.kernel {
        Kernel::Dynamic if solid.is_fixed() => "fixed",
        Kernel::Dynamic => "dynamic",
        Kernel::Fixed => "fixed",
        Kernel::Scripted(_) => "scripted",
    };
    let value = json!({
        "name": solid.name,
        "kind": kind,
        "particle": solid.particle,
        "color": [0.62, 0.63, 0.65],
        "mass": solid.mass.mass,
        "center": solid.mass.center.to_array(),
        "line": line,
        "shapes": [],
    });
    let Value::Object(mut map) = value else { return Map::new() };
    if let Some(coat) = solid.material.and_then(|id| m.materials().get(id.0 as usize)?.stiffness) {
        map.insert("coat".into(), json!(coat));
    }
    map
}

fn describe_shape(placed: &PlacedShape, wire: bool, radius: f64) -> Value {
    let mut value = match &placed.shape {
        Shape::Sphere(r) => json!({ "type": "sphere", "radius": r }),
        Shape::Box(size) => json!({ "type": "box", "size": size.to_array() }),
        Shape::Cylinder { radius, length } => {
            json!({ "type": "cylinder", "radius": radius, "length": length })
        }
        Shape::Capsule { radius, length } => json!({ "type": "capsule", "radius": radius, "length": length }),
        Shape::Plane => json!({ "type": "plane", "length": PLANE * radius }),
        Shape::Mesh(mesh) => json!({
            "type": "mesh",
            "positions": mesh.vertices.iter().flat_map(|v| v.to_array()).collect::<Vec<_>>(),
            "indices": mesh.triangles.iter().flatten().collect::<Vec<_>>(),
        }),
    };
    value["pose"] = json!(pose(placed.pose));
    if wire {
        value["wire"] = json!(true);
    }
    value
}

/// A skin: corners at rest, what each ring of them moves with, and where that is at rest. 32 bits are enough to draw.
fn describe_skin(skin: &Surface) -> Value {
    let flat =
        |list: &[Vector]| -> Vec<f32> { list.iter().flat_map(|v| v.to_array()).map(|x| x as f32).collect() };
    let rings: Vec<Value> = skin
        .rings
        .iter()
        .map(|r| {
            json!({
                "center": r.center.to_array().map(|x| x as f32),
                "radius": r.radius as f32,
                "bones": r.bones,
                "weights": r.weights.map(|w| w as f32),
                "solid": r.solid.0,
            })
        })
        .collect();
    let turn = |r: Rotation| r.to_array();
    let bones: Vec<Value> = skin
        .bones
        .iter()
        .map(|b| {
            json!({
                "solids": b.solids.map(|id| id.0),
                "points": b.points.map(|p| p.to_array()),
                "turns": b.turns.map(turn),
                "share": b.share,
                "rest": pose(b.rest),
            })
        })
        .collect();
    json!({
        "name": skin.name,
        "color": skin.color,
        "around": skin.around,
        "positions": flat(&skin.positions),
        "normals": flat(&skin.normals),
        "indices": skin.triangles.iter().flatten().collect::<Vec<_>>(),
        "rings": rings,
        "bones": bones,
    })
}

/// A soft body: what it is made of, by numbers of its vertices. Springs with a limit (all, where none has one) come by
/// their kinds, which are few in a grid: length at rest, strain at the limit, ends.
fn describe_soft(m: &Mechanism, soft: &SoftBody, part: &SoftPart, line: usize) -> Value {
    let mesh = &soft.mesh;
    let mut kinds: BTreeMap<[u32; 2], Vec<u32>> = BTreeMap::new();
    let limited = mesh.springs.iter().any(|s| s.longest.is_finite());
    let told = |s: &&SoftSpring| s.length > 0.0 && (s.longest.is_finite() || !limited);
    for spring in mesh.springs.iter().filter(told) {
        let kind = [spring.length, spring.longest / spring.length - 1.0].map(|x| (x as f32).to_bits());
        kinds.entry(kind).or_default().extend(spring.ends);
    }
    let springs: Vec<Value> = kinds
        .into_iter()
        .map(|([length, limit], ends)| {
            json!({ "length": f32::from_bits(length), "limit": f32::from_bits(limit), "ends": ends })
        })
        .collect();
    let held: Vec<u32> =
        (0..soft.vertices() as u32).filter(|k| m.solid(soft.vertex(*k)).is_fixed()).collect();
    let kind = match (mesh.is_rope(), mesh.tetrahedra.is_empty()) {
        (true, true) => "rope",
        (false, true) => "cloth",
        _ => "tetra",
    };
    json!({
        "name": soft.name,
        "kind": kind,
        "first": soft.first.0,
        "sides": mesh.sides,
        "mass": mesh.masses.iter().sum::<f64>(),
        "fixed": held,
        "color": part.color,
        "thickness": mesh.thickness,
        "radius": part.radius,
        "triangles": mesh.triangles.iter().flatten().collect::<Vec<_>>(),
        "springs": springs,
        "gaps": mesh.gaps(),
        "line": line,
    })
}

fn describe_joint(m: &Mechanism, graph: &Graph, id: JointId, line: usize) -> Value {
    let joint = m.joint(id);
    let rank = joint.rank.unwrap_or_else(|| graph.default_rank(id));
    let end = |x: f64| if x.is_finite() { json!(x) } else { Value::Null };
    let range = |word: &str, r: Range| json!({ "direction": word, "min": end(r.min), "max": end(r.max) });
    let limits: Vec<Value> = joint.limits.iter().map(|l| range(l.direction.word(), l.range)).collect();
    json!({
        "name": m.joint_name(id),
        "kind": kind(joint),
        "solids": joint.frames.map(|f| f.solid.0),
        "frames": joint.frames.map(|f| pose(f.pose)),
        "rank": if rank == Rank::Primary { 1 } else { 2 },
        "loop": graph.closes_loop(id),
        "line": line,
        "enabled": joint.enabled,
        "motor": !joint.drives.is_empty(),
        "drives": joint.drives.iter().map(describe_drive).collect::<Vec<_>>(),
        "limits": limits,
    })
}

/// A spring: what it pulls at, and where on it.
fn describe_spring(spring: &Spring) -> Value {
    json!({
        "name": spring.name,
        "solids": spring.solids.map(|id| id.0),
        "points": spring.points.map(|p| p.to_array()),
        "length": spring.length,
        "during": spring.during.map(|d| [d.from, d.to]),
    })
}

/// A motor: what it keeps or goes to, and how strong it is.
fn describe_drive(drive: &Drive) -> Value {
    let most = if drive.max_force.is_finite() { json!(drive.max_force) } else { Value::Null };
    let mut value = match drive.aim {
        DriveAim::Speed(speed) => json!({ "speed": speed }),
        DriveAim::To { target, stiffness, damping } => {
            json!({ "to": target, "stiffness": stiffness, "damping": damping })
        }
    };
    value["direction"] = json!(drive.direction.word());
    value["most"] = most;
    value
}

/// What a joint is called by what it locks.
fn kind(joint: &Joint) -> &'static str {
    use Direction::*;
    let point = Mask::POINT.0;
    let known = [
        (point, "ball"),
        (Mask::of(&[T1, T2, T3, R2, R3]).0, "pin"),
        (Mask::of(&[T2, T3, R2, R3]).0, "cylindrical"),
        (Mask::of(&[T2, T3, R1, R2, R3]).0, "slider"),
        (Mask::of(&[T2, T3]).0, "point on line"),
        (Mask::of(&[T1]).0, "point on plane"),
        (Mask::of(&[T1, R2, R3]).0, "planar"),
        (Mask::ALL.0, "weld"),
    ];
    match joint {
        Joint { screw: Some(_), .. } => "screw",
        Joint { hooke: true, .. } => "cardan",
        Joint { distance: Some(_), lock, .. } if lock.is_empty() => "distance",
        Joint { lock, .. } if lock.is_empty() => {
            if joint.regions.is_empty() {
                "angle"
            } else {
                "point in region"
            }
        }
        Joint { lock, .. } => known.iter().find(|k| k.0 == lock.0).map_or("lock", |k| k.1),
    }
}

/// A file without folders and ending.
fn stem(name: &str) -> String {
    std::path::Path::new(name)
        .file_stem()
        .map_or_else(|| name.to_owned(), |n| n.to_string_lossy().into_owned())
}

/// Complaints as the page's editor wants them, with the place of their end.
pub fn complaints(list: &[Complaint], text: &str) -> Vec<Value> {
    let lines = LineIndex::new(text);
    list.iter()
        .map(|c| {
            let (end_line, end_column) = lines.place(c.span[1].min(text.len()));
            json!({
                "code": c.code,
                "severity": if c.is_error { "error" } else { "warning" },
                "message": c.message,
                "hint": c.hint,
                "line": c.line,
                "column": c.column,
                "end_line": end_line,
                "end_column": end_column,
            })
        })
        .collect()
}

/// It moves by itself: motors, scripts, or a push at the start.
pub fn is_driven(m: &Mechanism) -> bool {
    let moving =
        |s: &Solid| s.velocity.length() + s.spin.length() > 0.0 || matches!(s.kernel, Kernel::Scripted(_));
    m.joints().iter().any(|j| !j.drives.is_empty()) || m.solids().iter().any(moving)
}

/// A soft body that is held somewhere: by a vertex that does not move, or by a solid that it is pinned to.
fn is_hung(m: &Mechanism, body: usize) -> bool {
    let pinned = |j: &Joint| j.frames.iter().any(|f| m.soft_of(f.solid) == Some(body));
    let soft = &m.softs()[body];
    (0..soft.vertices() as u32).any(|k| m.solid(soft.vertex(k)).is_fixed()) || m.joints().iter().any(pinned)
}

/// Something holds every island that can fall, so that running it does not empty the view.
pub fn stays(m: &Mechanism) -> bool {
    if m.gravity.length() == 0.0 {
        return true;
    }
    let graph = Graph::new(m);
    let held = |joints: &[JointId]| {
        joints.iter().any(|j| m.joint(*j).frames.iter().any(|f| m.solid(f.solid).is_fixed()))
    };
    let hung: Vec<bool> = (0..m.softs().len()).map(|k| is_hung(m, k)).collect();
    let hangs = |id: &SolidId| m.soft_of(*id).is_some_and(|k| hung[k]);
    graph.unheld.iter().all(hangs) && graph.islands.iter().all(|i| held(&i.joints))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_told_everything_it_draws() {
        let text = super::super::gallery::text("slider-crank").expect("a scene");
        let s = Session::open(&text, &mut |_| Err("none".into())).expect("it is sound");
        let v = scene(&s, 4, "slider-crank", None, &[]);
        assert_eq!(v["revision"], 4);
        let (solids, joints) = (v["solids"].as_array().unwrap(), v["joints"].as_array().unwrap());
        assert_eq!(solids.len(), s.mechanism().solids().len());
        assert_eq!(joints.len(), s.mechanism().joints().len());
        let line = solids[1]["line"].as_u64().unwrap() as usize;
        let name = solids[1]["name"].as_str().unwrap();
        assert!(text.lines().nth(line - 1).unwrap().contains(name), "{name} at {line}");
        assert!(!solids[1]["shapes"].as_array().unwrap().is_empty());
        let kinds: Vec<&str> = joints.iter().map(|j| j["kind"].as_str().unwrap()).collect();
        assert!(kinds.contains(&"pin") && kinds.contains(&"slider"), "{kinds:?}");
        assert!(joints.iter().any(|j| j["loop"] == true && j["rank"] == 2));
    }

    #[test]
    fn skins_come_with_their_bones_and_hide_what_is_beneath() {
        let text = super::super::gallery::text("otary").expect("a scene");
        let s = Session::open(&text, &mut |_| Err("none".into())).expect("it is sound");
        let v = scene(&s, 1, "otary", None, &[]);
        let skin = &v["skins"][0];
        let count = |name: &str| skin[name].as_array().map_or(0, Vec::len);
        assert_eq!((count("bones"), skin["name"].as_str()), (3 + 2 * 3, Some("seal")));
        assert_eq!(count("positions"), count("normals"));
        assert_eq!(
            count("positions") / 3,
            2 + (count("rings") - 2) * skin["around"].as_u64().unwrap() as usize
        );
        let body = v["solids"].as_array().unwrap().iter().find(|s| s["name"] == "body").unwrap();
        let covered: Vec<bool> =
            body["shapes"].as_array().unwrap().iter().map(|s| s["covered"] == true).collect();
        assert_eq!(covered, [true, false, false], "the flippers stick out");
    }

    /// Sixteen numbers a vertex would be megabytes: a sheet is told of by its grid, triangles and kinds of springs.
    #[test]
    fn a_sheet_is_told_in_one_piece() {
        let open = |text: &str| Session::open(text, &mut |_| Err("none".into())).expect("sound");
        let text = "solid a: mass 1; end
            cloth s: grid 4 3 spacing 0.1; mass 1; stretch 9; shear 4; bend 1; limit-strain 5 %; pin 0 0; color 1 0 0; end
            solid b: mass 1; end cloth r: grid 5 1 spacing 0.1; mass 1; stretch 9; end
            tetra t: grid 2 2 2 spacing 0.1; mass 3; stretch 9; end";
        let v = scene(&open(text), 1, "x", None, &[]);
        let names: Vec<&str> =
            v["solids"].as_array().unwrap().iter().map(|s| s["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["world", "a", "b"]);
        let kinds: Vec<&str> = (0..3).map(|k| v["softs"][k]["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds, ["cloth", "rope", "tetra"]);
        let s = &v["softs"][0];
        let count = |v: &Value| v.as_array().map_or(0, Vec::len);
        assert_eq!((count(&s["triangles"]), &s["fixed"], &s["line"]), (3 * 12, &json!([0]), &json!(2)));
        assert_eq!(s["color"], json!([1.0, 0.0, 0.0]));
        // Along the lines and across the cells; bending has no limit.
        let ends: Vec<usize> = (0..2).map(|k| count(&s["springs"][k]["ends"])).collect();
        assert_eq!((count(&s["springs"]), ends), (2, vec![2 * 17, 2 * 12]));
        assert!((s["springs"][0]["limit"].as_f64().unwrap() - 0.05).abs() < 1e-6);
        let t = &v["softs"][2];
        assert_eq!((count(&t["triangles"]), &t["springs"][0]["limit"]), (3 * 12, &Value::Null));
        let big = "cloth s: grid 64 64 spacing 0.01; mass 1; stretch 9; shear 4; limit-strain 5 %; end";
        let size = scene(&open(big), 1, "x", None, &[]).to_string().len();
        assert!(size < 400_000, "{size} bytes for 4096 vertices");
    }

    #[test]
    fn what_would_fall_out_of_view_is_known() {
        let open = |text: &str| Session::open(text, &mut |_| Err("none".into())).expect("sound");
        let falling = open("solid a: mass 1; end");
        assert!(!stays(falling.mechanism()));
        let held = open("solid a: mass 1; end joint ball; object2 a; end");
        assert!(stays(held.mechanism()) && !is_driven(held.mechanism()));
        let text = super::super::gallery::text("fourbar").expect("a scene");
        assert!(is_driven(open(&text).mechanism()), "it has a motor");
        assert!(stays(open("scene gravity 0 0 0; end solid a: mass 1; end").mechanism()));
        let sheet = |pin: &str| open(&format!("cloth s: grid 3 3 spacing 1; mass 1; stretch 9; {pin} end"));
        assert!(!stays(sheet("").mechanism()) && stays(sheet("pin 0 0;").mechanism()));
    }
}
