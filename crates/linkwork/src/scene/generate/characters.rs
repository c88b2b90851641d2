//! Acrobats: articulated characters of different sizes in a pyramid, bound by hands and feet.
//!
//! The scene of Faure 1998, Figure 3 (758 scalar constraints, closed in six iterations). Each character is whole where
//! it stands; only the bindings between characters are open, by a modest distance, and assembly has to close them.

use super::{at_least, header, limb, limit, num, triple};
use std::fmt::Write;

type Point = [f64; 3];

/// Solids of one character.
const SOLIDS: usize = 19;
/// Distance between neighbours of a row, as a share of a body of height 1.75.
const SPACING: f64 = 1.0;
/// How far each row floats above the hands that will carry it.
const LIFT: f64 = 0.12;

/// `n` acrobats in a pyramid: the largest complete rows first, each row one shorter than the one below. Every foot of an
/// upper row is bound to a hand of the row below, neighbours of the lowest row stand foot to foot, and the first one's
/// outer foot stands on the ground.
///
/// A character has 19 solids and 71 scalar constraints (balls at hips, shoulders and spine; pins with limits at elbows,
/// knees and toes; cardans at wrists, ankles and head). Ten have 16 bindings and so 10 * 71 + 16 * 3 = 758 constraints.
pub fn characters(n: usize) -> Result<String, String> {
    at_least(&[("characters", n, 1)])?;
    limit(n.checked_mul(SOLIDS))?;
    let mut t = header(
        &format!("Acrobats: {n} characters bound by hands and feet"),
        "Faure 1998, Figure 3: characters of different sizes to be bound by hands and feet. Each is whole\n   as it \
         stands, but the upper feet are not yet attached to the hands that will carry them. Ten\n   characters have 758 \
         scalar constraints, as in the paper; assembling them takes at most six iterations.\n\n   Try: assemble it with \
         `-o acrobats.svg`; move a `joint hold…` to another hand; make one heavier.",
        &format!("characters {n}"),
        "",
    );
    let widest = (1..).find(|k: &usize| k * (k + 1) / 2 >= n).unwrap_or(1);
    let mut rows: Vec<Vec<Character>> = Vec::new();
    let mut made = 0;
    while made < n {
        let row = rows.len();
        let count = (widest - row).min(n - made);
        let below = rows.last();
        let mut line = Vec::new();
        for i in 0..count {
            let x = SPACING * (i as f64 + 0.5 * row as f64);
            let floor = below.map_or(0.0, |b| 0.5 * (b[i].palm(1) + b[i + 1].palm(0)) + LIFT);
            made += 1;
            line.push(Character::new(made, x, floor, row == 0));
        }
        rows.push(line);
    }
    for c in rows.iter().flatten() {
        c.write(&mut t);
    }
    t.push_str("/* the bindings */\n");
    bind(&mut t, &rows);
    Ok(t)
}

/// Sides as seen on the page: the first is at smaller x.
const SIDES: [(&str, f64); 2] = [("right", -1.0), ("left", 1.0)];

fn bind(t: &mut String, rows: &[Vec<Character>]) {
    if let Some(first) = rows.first().and_then(|r| r.first()) {
        let foot = [first.feet[0][0] - 0.05, 0.0, 0.04];
        let _ = writeln!(
            t,
            "joint ground: ball; object2 {}; frame1 {}; frame2 {}; end",
            first.part("right-foot"),
            triple(foot),
            triple([0.0, -first.feet[0][1], 0.0])
        );
    }
    if let Some(lowest) = rows.first() {
        for pair in lowest.windows(2) {
            hold(t, &pair[0], "left-foot", [0.05, -0.04, 0.0], &pair[1], "right-foot", [-0.05, -0.04, 0.0]);
        }
    }
    for pair in rows.windows(2) {
        for (i, upper) in pair[1].iter().enumerate() {
            let palm = |c: &Character| [0.0, 0.09 * c.size, 0.0];
            let sole = [0.0, -0.05 * upper.size, 0.0];
            hold(t, &pair[0][i], "left-hand", palm(&pair[0][i]), upper, "right-foot", sole);
            hold(t, &pair[0][i + 1], "right-hand", palm(&pair[0][i + 1]), upper, "left-foot", sole);
        }
    }
}

fn hold(t: &mut String, a: &Character, part_a: &str, p: Point, b: &Character, part_b: &str, q: Point) {
    let _ = writeln!(
        t,
        "joint hold-{}-{}-{part_b}: ball; object1 {}; object2 {}; frame1 {}; frame2 {}; end",
        a.name,
        b.name,
        a.part(part_a),
        b.part(part_b),
        triple(p),
        triple(q)
    );
}

/// One character: where it stands and where its hands and feet are.
struct Character {
    name: String,
    size: f64,
    color: String,
    pelvis: Point,
    /// Wrists and ankles, right side first.
    hands: [Point; 2],
    feet: [Point; 2],
}

impl Character {
    fn new(number: usize, x: f64, floor: f64, straddles: bool) -> Self {
        // Sizes and small differences of pose that look drawn by lot and are the same in every run.
        let lot = |k: usize| ((number * 37 + k * 61) % 101) as f64 / 100.0 - 0.5;
        let size = if straddles { 1.04 + 0.16 * lot(1) } else { 0.86 + 0.22 * lot(2) };
        let color = COLORS[number % COLORS.len()].to_owned();
        let z = 0.08 * lot(3);
        let stance = if straddles { 0.46 } else { 0.20 };
        let leg = 0.84 * size;
        let hip = floor + 0.07 * size + (leg * leg - (stance - 0.09) * (stance - 0.09)).sqrt();
        let pelvis = [x, hip, z];
        let feet = SIDES.map(|(_, s)| [x + s * stance, floor + 0.07 * size, z + 0.03 * lot(4)]);
        let hands = SIDES.map(|(_, s)| {
            [x + s * 0.29, hip + (0.52 + 0.47 + 0.02 * lot(5)) * size, z + 0.04 + 0.06 * lot(6)]
        });
        Self { name: format!("c{number}"), size, color, pelvis, hands, feet }
    }

    /// Height of a palm.
    fn palm(&self, side: usize) -> f64 {
        self.hands[side][1] + 0.09 * self.size
    }

    fn part(&self, part: &str) -> String {
        format!("{}-{part}", self.name)
    }

    fn write(&self, t: &mut String) {
        let (s, p) = (self.size, self.pelvis);
        let up = |y: f64| [p[0], p[1] + y * s, p[2]];
        let _ = writeln!(t, "/* {}: {} m tall */", self.name, num(1.75 * s));
        let skin = ".93 .76 .62";
        let spine =
            [("pelvis", 0.0, 0.10, 0.125), ("abdomen", 0.12, 0.12, 0.115), ("chest", 0.26, 0.20, 0.14)];
        for (part, from, length, radius) in spine {
            limb(t, &self.part(part), up(from), [0.0, length * s, 0.0], radius * s, 10.0 * s, &self.color);
        }
        limb(t, &self.part("neck"), up(0.56), [0.0, 0.07 * s, 0.0], 0.05 * s, 1.0 * s, skin);
        let _ = writeln!(
            t,
            "solid {}: shape sphere {}; mass {}; at {}; color {skin}; end",
            self.part("head"),
            num(0.125 * s),
            num(4.5 * s),
            triple(up(0.77))
        );
        self.joint(t, "waist", "ball", ["pelvis", "abdomen"], up(0.11), None);
        self.joint(t, "back", "ball", ["abdomen", "chest"], up(0.25), None);
        self.joint(t, "nape", "ball", ["chest", "neck"], up(0.56), None);
        self.joint(t, "nod", "cardan", ["neck", "head"], up(0.65), Some("axis 0 1 0"));
        for (i, (side, sign)) in SIDES.into_iter().enumerate() {
            self.arm(t, side, sign, self.hands[i]);
            self.leg(t, side, sign, self.feet[i]);
        }
        t.push('\n');
    }

    fn arm(&self, t: &mut String, side: &str, sign: f64, wrist: Point) {
        let (s, p) = (self.size, self.pelvis);
        let shoulder = [p[0] + sign * 0.19 * s, p[1] + 0.48 * s, p[2]];
        let elbow = bend(shoulder, wrist, 0.30 * s, 0.27 * s, [sign, 0.0, -0.3]);
        let name = |part: &str| format!("{side}-{part}");
        let [upper, lower, hand] = [name("arm"), name("forearm"), name("hand")];
        limb(t, &self.part(&upper), shoulder, minus(elbow, shoulder), 0.052 * s, 2.2 * s, &self.color);
        limb(t, &self.part(&lower), elbow, minus(wrist, elbow), 0.043 * s, 1.4 * s, ".93 .76 .62");
        limb(t, &self.part(&hand), wrist, [0.0, 0.09 * s, 0.0], 0.042 * s, 0.5 * s, ".93 .76 .62");
        self.joint(t, &name("shoulder"), "ball", ["chest", &upper], shoulder, None);
        self.hinge(t, &name("elbow"), [&upper, &lower], [shoulder, elbow, wrist], 150.0);
        self.joint(t, &name("wrist"), "cardan", [&lower, &hand], wrist, Some("axis 0 1 0"));
    }

    fn leg(&self, t: &mut String, side: &str, sign: f64, ankle: Point) {
        let (s, p) = (self.size, self.pelvis);
        let hip = [p[0] + sign * 0.09 * s, p[1], p[2]];
        let knee = bend(hip, ankle, 0.43 * s, 0.42 * s, [0.15 * sign, 0.0, 1.0]);
        let name = |part: &str| format!("{side}-{part}");
        let [upper, lower, foot, toes] = [name("thigh"), name("shin"), name("foot"), name("toes")];
        limb(t, &self.part(&upper), hip, minus(knee, hip), 0.078 * s, 8.0 * s, ".27 .31 .40");
        limb(t, &self.part(&lower), knee, minus(ankle, knee), 0.056 * s, 3.5 * s, ".27 .31 .40");
        let ball = [ankle[0], ankle[1] - 0.02 * s, ankle[2] + 0.13 * s];
        limb(t, &self.part(&foot), ankle, minus(ball, ankle), 0.045 * s, 0.9 * s, ".22 .23 .27");
        limb(t, &self.part(&toes), ball, [0.0, 0.0, 0.06 * s], 0.036 * s, 0.2 * s, ".22 .23 .27");
        self.joint(t, &name("hip"), "ball", ["pelvis", &upper], hip, None);
        self.hinge(t, &name("knee"), [&upper, &lower], [hip, knee, ankle], 150.0);
        self.joint(t, &name("ankle"), "cardan", [&lower, &foot], ankle, Some("axis 0 1 0"));
        let limits = Some("axis 1 0 0; limit r1 -40 deg 60 deg");
        self.joint(t, &name("toe"), "pin", [&foot, &toes], ball, limits);
    }

    fn joint(
        &self,
        t: &mut String,
        name: &str,
        kind: &str,
        [a, b]: [&str; 2],
        at: Point,
        more: Option<&str>,
    ) {
        let (a, b, more) = (self.part(a), self.part(b), more.map(|m| format!(" {m}")).unwrap_or_default());
        let _ = writeln!(
            t,
            "joint {}-{name}: {kind}; object1 {a}; object2 {b}; at {}{more}; end",
            self.name,
            triple(at)
        );
    }

    /// A pin across the plane of the limb that may stretch straight and fold by `most` degrees.
    fn hinge(&self, t: &mut String, name: &str, parts: [&str; 2], [a, b, c]: [Point; 3], most: f64) {
        let (u, v) = (minus(b, a), minus(c, b));
        let axis = cross(u, v);
        let length = |w: Point| dot(w, w).sqrt();
        let folded = libm::atan2(length(axis), dot(u, v)).to_degrees();
        let unit = axis.map(|x| x / length(axis).max(1e-9));
        // Angles count from the pose in this file, where the limb is already folded a little.
        let more = format!(
            "axis {}; limit r1 {} deg {} deg",
            triple(unit),
            (-folded).round(),
            (most - folded).round()
        );
        self.joint(t, name, "pin", parts, b, Some(&more));
    }
}

/// Shirts.
const COLORS: [&str; 5] = [".80 .36 .30", ".24 .47 .62", ".90 .66 .26", ".36 .58 .44", ".58 .42 .62"];

/// The middle joint of a limb of two bones `l1`, `l2` from `a` to `c`, bent towards `pole`. A limb that cannot reach is
/// stretched almost straight: its bones then differ a little from what was asked, which no one sees.
fn bend(a: Point, c: Point, l1: f64, l2: f64, pole: Point) -> Point {
    let d = minus(c, a);
    let reach = dot(d, d).sqrt().max(1e-9);
    let u = d.map(|x| x / reach);
    let along = (0.5 * (reach + (l1 * l1 - l2 * l2) / reach)).clamp(0.2 * reach, 0.8 * reach);
    let height = (l1 * l1 - along * along).max(0.0).sqrt().max(0.05 * reach);
    let across = minus(pole, u.map(|x| x * dot(pole, u)));
    let size = dot(across, across).sqrt().max(1e-9);
    [0, 1, 2].map(|k| a[k] + u[k] * along + across[k] / size * height)
}

fn minus(a: Point, b: Point) -> Point {
    [0, 1, 2].map(|k| a[k] - b[k])
}

fn dot(a: Point, b: Point) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Point, b: Point) -> Point {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 3 for a ball, 4 for a cardan, 5 for a pin.
    fn constraints(text: &str) -> usize {
        let count = |kind: &str| text.matches(&format!(": {kind};")).count();
        3 * count("ball") + 4 * count("cardan") + 5 * count("pin")
    }

    #[test]
    fn ten_have_as_many_constraints_as_the_paper() {
        let text = characters(10).unwrap();
        assert_eq!(text.matches("\nsolid ").count(), 190);
        assert_eq!(constraints(&text), 758);
        assert_eq!(constraints(&characters(1).unwrap()), 71 + 3);
    }

    #[test]
    fn bones_keep_their_length_when_they_reach() {
        let k = bend([0.0; 3], [0.0, 0.7, 0.0], 0.4, 0.35, [0.0, 0.0, 1.0]);
        assert!((dot(k, k).sqrt() - 0.4).abs() < 1e-12);
        let rest = minus([0.0, 0.7, 0.0], k);
        assert!((dot(rest, rest).sqrt() - 0.35).abs() < 1e-12 && k[2] > 0.0);
    }
}
