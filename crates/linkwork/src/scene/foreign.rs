//! Words of other programs, and the answer that a newcomer needs.

/// What others call it, the block it would be written in (none: a block itself), and what it is called here.
const WORDS: &[(&str, &str, &str)] = &[
    ("revolute", "joint", "it is called `pin` here"),
    (
        "hinge",
        "joint",
        "a joint that turns about one axis is called `pin` here; `hinge` is a clause of `constraint`",
    ),
    ("rotary", "joint", "it is called `pin` here"),
    ("continuous", "joint", "it is called `pin` here; without a `limit` it turns freely"),
    ("spherical", "joint", "it is called `ball` here"),
    ("ball-joint", "joint", "it is called `ball` here"),
    ("point-to-point", "joint", "it is called `ball` here"),
    ("fixed", "joint", "it is called `weld` here"),
    ("rigid", "joint", "it is called `weld` here"),
    ("hooke", "joint", "it is called `cardan` here"),
    ("u-joint", "joint", "it is called `cardan` here"),
    ("helical", "joint", "it is called `screw` here"),
    ("linear", "joint", "it is called `slider` here"),
    ("plane", "joint", "it is called `planar` here"),
    ("rod", "joint", "it is called `distance` here"),
    ("rope", "joint", "a rope is `distance` with a `limit`, or a row of short solids"),
    ("motor", "joint", "a motor is a clause of its joint: `drive r1 speed 2`"),
    ("parent", "joint", "it is called `object1` here"),
    ("child", "joint", "it is called `object2` here"),
    ("axis", "joint", "the axis comes after the point: `at X Y Z axis X Y Z`"),
    ("position", "solid", "it is called `at` here"),
    ("pos", "solid", "it is called `at` here"),
    ("origin", "solid", "it is called `at` here"),
    ("rotation", "solid", "it is called `turn X Y Z ANGLE` here, or `orientation` for a quaternion"),
    ("rotate", "solid", "it is called `turn X Y Z ANGLE` here"),
    ("euler", "solid", "write `turn X Y Z ANGLE`, about one axis, or `orientation` for a quaternion"),
    ("quat", "solid", "it is called `orientation W X Y Z` here"),
    ("quaternion", "solid", "it is called `orientation W X Y Z` here"),
    ("geom", "solid", "it is called `shape` here"),
    ("geometry", "solid", "it is called `shape` here"),
    ("angular-velocity", "solid", "it is called `spin` here"),
    ("fixed", "solid", "write `kernel fixed`"),
    ("static", "solid", "write `kernel fixed`"),
    ("body", "", "it is called `solid` here"),
    ("link", "", "it is called `solid` here"),
    ("part", "", "it is called `solid` here"),
    ("rigidbody", "", "it is called `solid` here"),
    (
        "ground",
        "",
        "the ground is `solid floor: kernel fixed; shape plane 0 1 0; end`; joints without `object1` are attached to the world",
    ),
    ("motor", "", "a motor is a clause of its joint: `drive r1 speed 2`"),
    ("actuator", "", "a motor is a clause of its joint: `drive r1 speed 2`"),
    ("gravity", "", "gravity is a clause of `scene`: `scene gravity 0 -9.81 0; end`"),
    ("cuboid", "shape", "it is called `box` here"),
    ("cube", "shape", "it is called `box` here, with three sizes"),
    ("ball", "shape", "it is called `sphere` here"),
    ("disc", "shape", "it is called `cylinder` here"),
    ("disk", "shape", "it is called `cylinder` here"),
    ("rod", "shape", "it is called `capsule` here, or `cylinder` with flat ends"),
    ("polygon", "shape", "it is called `plate` here"),
    ("halfspace", "shape", "it is called `plane` here"),
];

/// What a word of another program is called here, in this block (`""` for a block, `shape` for shapes).
pub fn answer(word: &str, block: &str) -> Option<&'static str> {
    let word = word.to_ascii_lowercase().replace('_', "-");
    WORDS.iter().find(|(known, home, _)| *known == word && *home == block).map(|(.., answer)| *answer)
}

/// Units that scenes do not have: how many of ours one is, and what ours are.
const UNITS: &[(&str, f64, &str)] = &[
    ("mm", 1e-3, "lengths are in metres"),
    ("cm", 1e-2, "lengths are in metres"),
    ("dm", 1e-1, "lengths are in metres"),
    ("m", 1.0, "lengths are in metres"),
    ("km", 1e3, "lengths are in metres"),
    ("in", 0.0254, "lengths are in metres"),
    ("inch", 0.0254, "lengths are in metres"),
    ("ft", 0.3048, "lengths are in metres"),
    ("g", 1e-3, "masses are in kilograms"),
    ("kg", 1.0, "masses are in kilograms"),
    ("t", 1e3, "masses are in kilograms"),
    ("s", 1.0, "times are in seconds, or in `ms`"),
    ("sec", 1.0, "times are in seconds, or in `ms`"),
    ("rad", 1.0, "angles are in radians, or in `deg`"),
    ("degrees", 0.0, "angles are in radians, or in `deg`"),
    ("degree", 0.0, "angles are in radians, or in `deg`"),
    ("rpm", std::f64::consts::PI / 30.0, "angular speeds are in radians per second"),
    ("n", 1.0, "forces are in newtons"),
    ("kn", 1e3, "forces are in newtons"),
    ("nm", 1.0, "torques are in newton metres"),
];

/// What to write instead of a number with such a unit.
pub fn unit(number: Option<f64>, word: &str) -> Option<String> {
    let lower = word.to_ascii_lowercase();
    let (_, factor, ours) = UNITS.iter().find(|(known, ..)| *known == lower)?;
    let number = number.filter(|_| *factor > 0.0);
    Some(match number {
        // To nine digits: 500 times a thousandth is a half.
        Some(x) => {
            let said = format!("{:.9}", x * factor);
            let said = said.trim_end_matches('0').trim_end_matches('.');
            format!("{ours}: write {said}, without a unit")
        }
        None => (*ours).to_owned(),
    })
}
