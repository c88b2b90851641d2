//! Scenes by the metre: text in the scene language for mechanisms of any size.
//!
//! Text, not mechanisms: what `linkwork generate` prints can be read, edited, kept and sent to others. Every scene opens
//! with a comment that says what it shows and how it was made.

mod characters;

pub use characters::characters;

use std::f64::consts::PI;
use std::fmt::Write;

/// Larger scenes are refused: a slip of the keyboard must not fill the memory.
pub const MOST_SOLIDS: usize = 200_000;

/// A kind of scene [`generate`] knows.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The word on the command line.
    pub name: &'static str,
    /// What each size means.
    pub sizes: &'static [&'static str],
    /// One line for the help.
    pub about: &'static str,
}

/// Every kind of scene, in the order of the help.
pub const KINDS: &[Kind] = &[
    Kind {
        name: "ladder",
        sizes: &["BARS", "PATTERNS"],
        about: "two strings of bars with rungs (Faure 1999)",
    },
    Kind { name: "chain", sizes: &["N"], about: "a hanging chain of bars" },
    Kind { name: "ring", sizes: &["N"], about: "a closed ring of bars" },
    Kind { name: "net", sizes: &["NX", "NY"], about: "a triangulated mesh of bars" },
    Kind { name: "characters", sizes: &["N"], about: "acrobats bound by hands and feet" },
    Kind { name: "seaweed", sizes: &["N"], about: "plants that sway (Faure 1999)" },
    Kind { name: "scissor", sizes: &["STAGES"], about: "a scissor lift" },
    Kind { name: "cloth", sizes: &["NX", "NY"], about: "a flag on a pole" },
];

/// The scene of this kind. `heavy` matters to the ladder only. Fails, saying why, for unknown kinds and unusable sizes.
pub fn generate(kind: &str, sizes: &[usize], heavy: f64) -> Result<String, String> {
    let Some(known) = KINDS.iter().find(|k| k.name == kind) else {
        let names: Vec<&str> = KINDS.iter().map(|k| k.name).collect();
        return Err(format!("no scene is called `{kind}`; there are: {}", names.join(", ")));
    };
    if sizes.len() != known.sizes.len() {
        return Err(format!("`{kind}` needs {}, {} given", known.sizes.join(" and "), sizes.len()));
    }
    match (kind, sizes) {
        ("ladder", [bars, patterns]) => ladder(*bars, *patterns, heavy),
        ("chain", [n]) => chain(*n),
        ("ring", [n]) => ring(*n),
        ("net", [nx, ny]) => net(*nx, *ny),
        ("characters", [n]) => characters(*n),
        ("seaweed", [n]) => seaweed(*n),
        ("scissor", [stages]) => scissor(*stages),
        ("cloth", [nx, ny]) => cloth(*nx, *ny),
        _ => Err(format!("`{kind}` cannot be made")),
    }
}

/// Faure's ladder (1999, Figure 3): per pattern `bars` bars on each of two strings along +x, 1 apart in z, and a rung
/// across at its end. Cylinders of length 1, radius 0.05, mass 1; `heavy` multiplies the second string's mass.
///
/// The joints come in the order that makes a breadth-first forest hold bar to bar and each rung by its first end, so
/// that each rung's second end closes a loop: `3 n (2p + 1)` acyclic rows and `3 n` loop rows.
pub fn ladder(bars: usize, patterns: usize, heavy: f64) -> Result<String, String> {
    at_least(&[("bars", bars, 1), ("patterns", patterns, 1)])?;
    let solids = bars.checked_mul(2).and_then(|b| (b + 1).checked_mul(patterns));
    limit(solids)?;
    if !(heavy.is_finite() && heavy > 0.0) {
        return Err(format!("the factor {heavy} is not a positive number"));
    }
    let option = if heavy == 1.0 { String::new() } else { format!(" --heavy {heavy}") };
    let mut t = header(
        &format!("Ladder, {bars} bars per pattern, {patterns} patterns"),
        "Faure 1999, Figure 3: two strings of bars pinned on the left, joined by rungs.\n   Every rung closes a loop. \
         Gravity acts across the ladder, so it swings down.",
        &format!("ladder {bars} {patterns}{option}"),
        "",
    );
    let length = bars * patterns;
    for (string, z, mass, color) in [("a", 0, 1.0, ".30 .50 .68"), ("b", 1, heavy, ".86 .55 .38")] {
        for i in 0..length {
            let _ = writeln!(
                t,
                "solid {string}{}: shape cylinder 0.05 1 axis 1 0 0; mass {mass}; at {}.5 0 {z}; color {color}; end",
                i + 1,
                i
            );
        }
    }
    for p in 1..=patterns {
        let _ = writeln!(
            t,
            "solid rung{p}: shape cylinder 0.05 1 axis 0 0 1; mass 1; at {} 0 0.5; color .55 .64 .40; end",
            p * bars
        );
    }
    t.push('\n');
    for (string, z) in [("a", 0), ("b", 1)] {
        let _ = writeln!(
            t,
            "joint {string}0: ball; object2 {string}1; frame1 0 0 {z}; frame2 -0.5 0 0; end /* to the fixed point */"
        );
        for i in 1..length {
            ball(
                &mut t,
                &format!("{string}{i}"),
                [0.5, 0.0, 0.0],
                &format!("{string}{}", i + 1),
                [-0.5, 0.0, 0.0],
            );
        }
    }
    for p in 1..=patterns {
        ball(&mut t, &format!("a{}", p * bars), [0.5, 0.0, 0.0], &format!("rung{p}"), [0.0, 0.0, -0.5]);
    }
    t.push_str("\n/* the loops */\n");
    for p in 1..=patterns {
        ball(&mut t, &format!("b{}", p * bars), [0.5, 0.0, 0.0], &format!("rung{p}"), [0.0, 0.0, 0.5]);
    }
    Ok(t)
}

/// `n` bars of length 1 from a fixed point along +x, joined by balls.
pub fn chain(n: usize) -> Result<String, String> {
    at_least(&[("bars", n, 1)])?;
    limit(Some(n))?;
    let mut t = header(
        &format!("Chain of {n}"),
        "A chain of bars from a fixed point, held out straight: let go and it swings down.",
        &format!("chain {n}"),
        "",
    );
    for i in 1..=n {
        let _ = writeln!(t, "solid b{i}: shape capsule 0.05 0.9 axis 1 0 0; mass 1; at {}.5 0 0; end", i - 1);
    }
    t.push_str("\njoint anchor: ball; object2 b1; frame1 0 0 0; frame2 -0.5 0 0; end\n");
    for i in 1..n {
        ball(&mut t, &format!("b{i}"), [0.5, 0.0, 0.0], &format!("b{}", i + 1), [-0.5, 0.0, 0.0]);
    }
    Ok(t)
}

/// `n` bars of length 1 in a regular polygon, closed by balls; it floats freely.
pub fn ring(n: usize) -> Result<String, String> {
    at_least(&[("bars", n, 3)])?;
    limit(Some(n))?;
    let mut t = header(
        &format!("Ring of {n}"),
        "A ring of bars, joined by balls and closed. It floats: nothing holds it to the world.",
        &format!("ring {n}"),
        " gravity 0 0 0;",
    );
    let step = 2.0 * PI / n as f64;
    let apothem = 0.5 / libm::tan(0.5 * step);
    for i in 0..n {
        let a = step * i as f64;
        let (x, y) = (apothem * libm::sin(a), -apothem * libm::cos(a));
        let _ = writeln!(
            t,
            "solid b{}: shape capsule 0.05 0.9 axis 1 0 0; mass 1; at {} {} 0; turn 0 0 1 {} deg; end",
            i + 1,
            precise(x),
            precise(y),
            precise(a * 180.0 / PI)
        );
    }
    t.push('\n');
    for i in 0..n {
        ball(
            &mut t,
            &format!("b{}", i + 1),
            [0.5, 0.0, 0.0],
            &format!("b{}", (i + 1) % n + 1),
            [-0.5, 0.0, 0.0],
        );
    }
    Ok(t)
}

/// A triangulated mesh of bars on `nx` by `ny` vertices: edges along x, along z, and one diagonal in every cell. Where
/// `k` bars meet, `k - 1` balls hold them together. 5 x 5 is Figure 5 of Faure 1998, 11 x 11 Figure 6 of Faure 1999.
pub fn net(nx: usize, ny: usize) -> Result<String, String> {
    at_least(&[("vertices along x", nx, 2), ("vertices along z", ny, 2)])?;
    limit(nx.checked_mul(ny).and_then(|v| v.checked_mul(3)))?;
    let mut t = header(
        &format!("Net of {nx} by {ny} vertices"),
        "A triangulated mesh of bars (Faure 1998, Figure 5; Faure 1999, Figure 6): flat, it bends\n   like a sheet that \
         cannot stretch. Where k bars meet, k - 1 balls hold them together.\n\n   Try: scatter it and assemble; \
         `kernel fixed;` in one bar and drag another.",
        &format!("net {nx} {ny}"),
        " gravity 0 0 0;",
    );
    // meeting[v]: the ends (bar, local x of the end) at each vertex, in the order of the bars.
    let mut meeting: Vec<Vec<(String, f64)>> = vec![Vec::new(); nx * ny];
    let mut bar = |t: &mut String, kind: &str, [i, j]: [usize; 2], [k, l]: [usize; 2]| {
        let name = format!("{kind}{i}-{j}");
        let half = 0.5 * if kind == "d" { std::f64::consts::SQRT_2 } else { 1.0 };
        let turn = match kind {
            "h" => "",
            "v" => " turn 0 1 0 -90 deg;",
            _ => " turn 0 1 0 -45 deg;",
        };
        let color = if kind == "d" { ".78 .70 .52" } else { ".32 .52 .66" };
        let _ = writeln!(
            t,
            "solid {name}: shape capsule 0.04 {} axis 1 0 0; mass 1; at {} 0 {};{turn} color {color}; end",
            precise(2.0 * half - 0.08),
            0.5 * (i + k) as f64,
            0.5 * (j + l) as f64
        );
        meeting[j * nx + i].push((name.clone(), -half));
        meeting[l * nx + k].push((name, half));
    };
    for j in 0..ny {
        for i in 0..nx {
            if i + 1 < nx {
                bar(&mut t, "h", [i, j], [i + 1, j]);
            }
            if j + 1 < ny {
                bar(&mut t, "v", [i, j], [i, j + 1]);
            }
            if i + 1 < nx && j + 1 < ny {
                bar(&mut t, "d", [i, j], [i + 1, j + 1]);
            }
        }
    }
    t.push('\n');
    for ends in &meeting {
        let Some(((first, x), others)) = ends.split_first() else { continue };
        for (other, y) in others {
            ball(&mut t, first, [*x, 0.0, 0.0], other, [*y, 0.0, 0.0]);
        }
    }
    Ok(t)
}

/// `n` plants of 36 solids: a stem of twelve with two leaves at every joint (Faure 1999, Figure 4: acyclic).
pub fn seaweed(n: usize) -> Result<String, String> {
    at_least(&[("plants", n, 1)])?;
    limit(n.checked_mul(36))?;
    let mut t = header(
        &format!("Seaweed, {n} plant{}", if n == 1 { "" } else { "s" }),
        "Faure 1999, Figure 4: plants of 36 solids without any loop, each rooted in the sea floor.\n   Two of them have \
         216 scalar constraints. The water carries them: gravity points up, weakly.",
        &format!("seaweed {n}"),
        " gravity 0 0.5 0;",
    );
    t.push_str("solid floor: kernel fixed; shape plane 0 1 0; color .80 .74 .60; end\n\n");
    let columns = (1..).find(|c| c * c >= n).unwrap_or(1);
    for p in 0..n {
        let (x0, z0) = (1.6 * (p % columns) as f64, 1.6 * (p / columns) as f64);
        let name = |part: &str, i: usize| format!("p{}-{part}{i}", p + 1);
        let mut at = [x0, 0.0, z0];
        for i in 0..12 {
            // A slow bend, different for each plant.
            let lean = 0.22 * libm::sin(0.55 * i as f64 + 1.9 * p as f64);
            let step = [0.3 * libm::sin(lean), 0.3 * libm::cos(lean), 0.03 * libm::cos(0.8 * i as f64)];
            let thick = 0.032 - 0.0016 * i as f64;
            let stem = name("stem", i + 1);
            limb(&mut t, &stem, at, step, thick, 0.10, ".24 .46 .30");
            let top = [0, 1, 2].map(|k| at[k] + step[k]);
            let below = if i == 0 { String::new() } else { format!("object1 {}; ", name("stem", i)) };
            let _ = writeln!(t, "joint ball; {below}object2 {stem}; at {}; end", triple(at));
            for (side, leaf) in [(1.0, "left"), (-1.0, "right")] {
                let a = 2.4 * i as f64 + if side > 0.0 { 0.0 } else { PI };
                let reach = 0.42 - 0.02 * i as f64;
                let out = [reach * libm::cos(a), 0.55 * reach, reach * libm::sin(a)];
                let leaf = name(leaf, i + 1);
                limb(&mut t, &leaf, top, out, 0.6 * thick + 0.008, 0.03, ".42 .66 .36");
                let _ = writeln!(t, "joint ball; object1 {stem}; object2 {leaf}; at {}; end", triple(top));
            }
            at = top;
        }
        t.push('\n');
    }
    Ok(t)
}

/// A scissor lift of `stages` crossed pairs of bars between a sliding foot and a platform.
pub fn scissor(stages: usize) -> Result<String, String> {
    at_least(&[("stages", stages, 1)])?;
    limit(stages.checked_mul(2))?;
    let mut t = header(
        &format!("Scissor lift, {stages} stages"),
        "Crossed bars on pins. The left foot stands on a pin, the right one slides: pull it in and the\n   platform \
         rises. One freedom, whatever the number of stages; each stage closes a loop that repeats\n   rotations already \
         locked, so `check` reports redundant constraints. A spring pulls the foot in, and\n   the platform bounces on \
         it.\n\n   Try: `drive t1 speed -0.1` in `joint slide` instead of the spring; more stages.",
        &format!("scissor {stages}"),
        "",
    );
    let (w, h) = (1.2, 0.7);
    let bar = |t: &mut String, name: &str, from: [f64; 3], step: [f64; 3], color: &str| {
        limb(t, name, from, step, 0.045, 2.0, color);
    };
    let pin = |t: &mut String, a: &str, b: &str, [x, y]: [f64; 2]| {
        let object1 = if a.is_empty() { String::new() } else { format!("object1 {a}; ") };
        let _ = writeln!(t, "joint pin; {object1}object2 {b}; at {} {} 0 axis 0 0 1; end", num(x), num(y));
    };
    for i in 0..stages {
        let y = h * i as f64;
        bar(&mut t, &format!("rise{}", i + 1), [0.0, y, 0.06], [w, h, 0.0], ".90 .62 .22");
        bar(&mut t, &format!("fall{}", i + 1), [w, y, -0.06], [-w, h, 0.0], ".28 .48 .66");
    }
    let top = h * stages as f64;
    let _ = writeln!(
        t,
        "solid platform: shape box 1.6 0.1 0.5; mass 10; at 0.6 {} 0; color .60 .62 .66; end\n\
         solid foot: shape box 0.16 0.09 0.3; mass 1; at {w} 0 0; color .45 .47 .52; end\n\
         solid shoe: shape box 0.16 0.09 0.3; mass 1; at {w} {} 0; color .45 .47 .52; end\n",
        num(top + 0.12),
        num(top)
    );
    pin(&mut t, "", "rise1", [0.0, 0.0]);
    pin(&mut t, "foot", "fall1", [w, 0.0]);
    let _ = writeln!(t, "joint slide: slider; object2 foot; at {w} 0 0 axis 1 0 0; limit t1 -1 0.1; end");
    for i in 1..=stages {
        let y = h * (i - 1) as f64;
        pin(&mut t, &format!("rise{i}"), &format!("fall{i}"), [0.5 * w, y + 0.5 * h]);
        if i < stages {
            pin(&mut t, &format!("fall{i}"), &format!("rise{}", i + 1), [0.0, y + h]);
            pin(&mut t, &format!("rise{i}"), &format!("fall{}", i + 1), [w, y + h]);
        }
    }
    pin(&mut t, &format!("fall{stages}"), "platform", [0.0, top]);
    pin(&mut t, &format!("rise{stages}"), "shoe", [w, top]);
    let _ = writeln!(
        t,
        "joint slide-top: slider; object1 platform; object2 shoe; at {w} {} 0 axis 1 0 0; end\n",
        num(top)
    );
    // Platform and shoe at the top, a pair of bars in the middle of each stage: in balance where the foot is at 1.1.
    let load = (11 * stages + 2 * stages * stages) as f64;
    let _ = writeln!(
        t,
        "spring pull: object2 foot; hinge 0 0 0  0 0 0; length 0.99; stiffness {}; end",
        num(118.0 * load)
    );
    Ok(t)
}

/// A flag of `nx` by `ny` particles on a pole.
pub fn cloth(nx: usize, ny: usize) -> Result<String, String> {
    at_least(&[("particles across", nx, 2), ("particles down", ny, 2)])?;
    limit(nx.checked_mul(ny))?;
    let mut t = header(
        &format!("Flag of {nx} by {ny}"),
        "A cloth held by two corners of a pole, and a ball beside it.",
        &format!("cloth {nx} {ny}"),
        "",
    );
    let spacing = 1.2 / (nx - 1).max(ny - 1) as f64;
    let _ = writeln!(
        t,
        "solid pole: kernel fixed; shape cylinder 0.03 2.6 axis 0 1 0 at 0 1.3 0; end\n\
         solid ball: shape sphere 0.15; mass 1; at 0.6 1.2 0.8; velocity 0 0 -2; end\n\n\
         cloth flag:\n  grid {nx} {ny} spacing {}; at 0.03 2.5 0; turn 1 0 0 90 deg; mass 0.2;\n  \
         stretch 300 0.5; shear 100 0.2; bend 0.5 0.01; limit-strain 10 %; thickness 0.005;\n  \
         pin 0 0 to pole 0.03 2.5 0; pin 0 {} to pole 0.03 {} 0; collide all;\nend",
        precise(spacing),
        ny - 1,
        precise(2.5 - spacing * (ny - 1) as f64)
    );
    Ok(t)
}

/// A limb: a capsule from its origin along `step`, placed without turning it. Scenes stay readable that way: joints can
/// be given in world coordinates and the bones are the vectors one sees.
fn limb(t: &mut String, name: &str, at: [f64; 3], step: [f64; 3], radius: f64, mass: f64, color: &str) {
    let _ = writeln!(
        t,
        "solid {name}: shape capsule {} from 0 0 0 to {}; mass {}; at {}; color {color}; end",
        num(radius),
        triple(step),
        num(mass),
        triple(at)
    );
}

fn ball(t: &mut String, a: &str, p: [f64; 3], b: &str, q: [f64; 3]) {
    let _ =
        writeln!(t, "joint ball; object1 {a}; object2 {b}; frame1 {}; frame2 {}; end", exact(p), exact(q));
}

/// The comment and the `scene` block; `clauses` are further clauses of the latter.
fn header(title: &str, about: &str, command: &str, clauses: &str) -> String {
    format!(
        "/* {title}\n\n   {about}\n\n   linkwork generate {command} */\n\nscene title \"{title}\";{clauses} end\n\n"
    )
}

fn at_least(sizes: &[(&str, usize, usize)]) -> Result<(), String> {
    match sizes.iter().find(|(_, size, least)| size < least) {
        Some((what, size, least)) => Err(format!("{size} {what} are too few: at least {least}")),
        None => Ok(()),
    }
}

/// `None` stands for a number that does not even fit.
fn limit(solids: Option<usize>) -> Result<(), String> {
    match solids {
        Some(n) if n <= MOST_SOLIDS => Ok(()),
        Some(n) => Err(format!("{n} solids are beyond the limit of {MOST_SOLIDS}")),
        None => Err(format!("that many solids are beyond the limit of {MOST_SOLIDS}")),
    }
}

/// A tenth of a millimetre, for what only places a solid.
fn num(x: f64) -> f64 {
    (x * 1e4).round() / 1e4 + 0.0
}

/// Enough digits for a scene that is meant to be assembled as it stands.
fn precise(x: f64) -> f64 {
    (x * 1e12).round() / 1e12 + 0.0
}

fn triple(p: [f64; 3]) -> String {
    let [x, y, z] = p.map(num);
    format!("{x} {y} {z}")
}

fn exact(p: [f64; 3]) -> String {
    let [x, y, z] = p.map(precise);
    format!("{x} {y} {z}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(text: &str) -> (usize, usize) {
        (text.matches("\nsolid ").count(), text.matches("\njoint ").count())
    }

    #[test]
    fn sizes_are_those_of_the_papers() {
        assert_eq!(counts(&ladder(6, 96, 1.0).unwrap()), (1248, 1344));
        assert_eq!(counts(&ladder(1, 1, 3.0).unwrap()), (3, 4));
        assert_eq!(counts(&net(5, 5).unwrap()), (56, 87));
        assert_eq!(counts(&net(11, 11).unwrap()), (320, 519));
        assert_eq!(counts(&seaweed(2).unwrap()), (72 + 1, 72));
        assert_eq!(counts(&chain(10).unwrap()), (10, 10));
        assert_eq!(counts(&ring(6).unwrap()), (6, 6));
        assert!(ladder(1, 1, 3.0).unwrap().contains("solid b1: shape cylinder 0.05 1 axis 1 0 0; mass 3;"));
    }

    #[test]
    fn unusable_sizes_are_refused_at_once() {
        let huge = usize::MAX;
        for (kind, sizes) in [
            ("ladder", vec![huge, huge]),
            ("ladder", vec![1, 100_000]),
            ("chain", vec![huge]),
            ("ring", vec![2]),
            ("net", vec![huge, 2]),
            ("net", vec![1, 5]),
            ("characters", vec![huge]),
            ("characters", vec![0]),
            ("seaweed", vec![huge / 36 + 1]),
            ("scissor", vec![0]),
            ("cloth", vec![huge, huge]),
            ("cloth", vec![1, 1]),
            ("chain", vec![]),
            ("dragon", vec![1]),
        ] {
            let e = generate(kind, &sizes, 1.0).expect_err(kind);
            assert!(!e.is_empty() && e.len() < 200, "{e}");
        }
        assert!(ladder(1, 1, f64::NAN).is_err());
    }

    #[test]
    fn every_kind_can_be_made() {
        for kind in KINDS {
            let text = generate(kind.name, &vec![4; kind.sizes.len()], 1.0).unwrap();
            assert!(text.starts_with("/*") && text.contains(&format!("linkwork generate {}", kind.name)));
        }
    }
}
