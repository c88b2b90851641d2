//! The words of the language: which blocks there are and which clauses each has.
//!
//! One table serves the parser (what is a clause, what is a missing `end`), the hints and the reference.

use super::limits;
use std::cell::Cell;

/// A clause word and how the clause is written.
#[derive(Debug, PartialEq, Eq)]
pub struct ClauseWords {
    /// `mass`, `hinge`, …
    pub word: &'static str,
    /// The whole clause, capitals standing for values, brackets for what may be left out.
    pub usage: &'static str,
    /// Whether a block may have several.
    pub many: bool,
}

/// A block keyword and its clauses.
#[derive(Debug, PartialEq, Eq)]
pub struct BlockWords {
    /// `solid`, `joint`, …
    pub keyword: &'static str,
    /// Empty for blocks whose clauses are bare names (`ignore a b;`).
    pub clauses: &'static [ClauseWords],
}

impl BlockWords {
    /// Whether its clauses are lists of names without a leading word.
    pub fn is_bare(&self) -> bool {
        self.clauses.is_empty()
    }

    /// Whether the word starts a clause of this block.
    pub fn has(&self, word: &str) -> bool {
        self.is_bare() || self.index(word).is_some()
    }

    /// The clause's place in the table.
    pub fn index(&self, word: &str) -> Option<usize> {
        self.clauses.iter().position(|c| c.word == word)
    }

    /// Its clause words.
    pub fn words(&self) -> impl Iterator<Item = &'static str> {
        self.clauses.iter().map(|c| c.word)
    }
}

/// Every kind of joint, with the names of Faure 1998, Table 1.
pub const JOINT_KINDS: &[&str] = &[
    "ball",
    "pin",
    "cylindrical",
    "slider",
    "point-on-line",
    "point-on-plane",
    "planar",
    "cardan",
    "weld",
    "screw",
    "distance",
    "lock",
    "universal",
    "prismatic",
    "ball-socket",
    "smooth-contact",
];

/// Stepping methods a scene may ask for.
pub const METHODS: &[&str] =
    &["displacement", "variational", "relaxation", "baumgarte", "post-stabilization", "implicit", "reduced"];

/// Linear solvers a scene may ask for.
pub const SOLVERS: &[&str] =
    &["auto", "full-dense", "full-iterative", "structured-dense", "structured-iterative", "sparse-direct"];

const fn once(word: &'static str, usage: &'static str) -> ClauseWords {
    ClauseWords { word, usage, many: false }
}

const fn many(word: &'static str, usage: &'static str) -> ClauseWords {
    ClauseWords { word, usage, many: true }
}

const fn block_words(keyword: &'static str, clauses: &'static [ClauseWords]) -> BlockWords {
    BlockWords { keyword, clauses }
}

const AT: ClauseWords = once("at", "at X Y Z");
const TURN: ClauseWords = once("turn", "turn X Y Z ANGLE");
const ORIENTATION: ClauseWords = once("orientation", "orientation W X Y Z");
const VELOCITY: ClauseWords = once("velocity", "velocity X Y Z");
const POINT_VELOCITY: ClauseWords = once("velocity", "velocity X Y Z [at X Y Z]");
const KERNEL: ClauseWords = once("kernel", "kernel dynamic | fixed | trajectory NAME");
const MASS: ClauseWords = once("mass", "mass M");
const MATERIAL: ClauseWords = once("material", "material NAME");
const COLLIDE: ClauseWords = once("collide", "collide all | none | with NAME …");
const MOBILITY: ClauseWords = once("mobility", "mobility MOVE ROTATE");
const COLOR: ClauseWords = once("color", "color R G B");
const OBJECT1: ClauseWords = once("object1", "object1 NAME");
const OBJECT2: ClauseWords = once("object2", "object2 NAME");
const HINGE: ClauseWords = once("hinge", "hinge X1 Y1 Z1 X2 Y2 Z2");
const DURING: ClauseWords = once("during", "during FROM TO");
const RANK: ClauseWords = once("rank", "rank 1 | 2");
const WEIGHT: ClauseWords = once("weight", "weight W");
const COMPLIANCE: ClauseWords = once("compliance", "compliance C");
const DAMPING: ClauseWords = once("damping", "damping D");
const STIFFNESS: ClauseWords = once("stiffness", "stiffness K");
const ALPHA: ClauseWords = once("alpha", "alpha A");
const MU: ClauseWords = once("mu", "mu M");
const SPIN: ClauseWords = once("spin", "spin X Y Z");
const STRETCH: ClauseWords = once("stretch", "stretch STIFFNESS [DAMPING]");
const LIMIT_STRAIN: ClauseWords = once("limit-strain", "limit-strain RATIO");
const TEAR: ClauseWords = once("tear", "tear RATIO");
const THICKNESS: ClauseWords = once("thickness", "thickness LENGTH");

/// Every block of the language.
pub const BLOCKS: &[BlockWords] = &[
    block_words(
        "scene",
        &[
            once("title", "title \"TEXT\""),
            once("up", "up y | z"),
            once("gravity", "gravity X Y Z"),
            once("wind", "wind X Y Z [density D]"),
        ],
    ),
    block_words(
        "settings",
        &[
            once("method", "method NAME"),
            once("solver", "solver NAME"),
            once("step", "step SECONDS"),
            once("tolerance", "tolerance E"),
            once("iterations", "iterations N"),
            once("solver-iterations", "solver-iterations N"),
            once("budget", "budget TIME"),
            once("on-miss", "on-miss warn | stop"),
            once("max-rotation", "max-rotation ANGLE"),
            once("integrator", "integrator euler | semi-implicit | rk4"),
            once("alpha", "alpha A"),
            once("beta", "beta B"),
            once("project-velocities", "project-velocities"),
            once("squared-distances", "squared-distances"),
        ],
    ),
    block_words(
        "material",
        &[
            once("friction", "friction F"),
            once("restitution", "restitution R"),
            once("rolling", "rolling LEVER"),
            once("spinning", "spinning LEVER"),
            STIFFNESS,
            DAMPING,
        ],
    ),
    block_words(
        "solid",
        &[
            KERNEL,
            many(
                "shape",
                "shape sphere R | box X Y Z | cylinder R L [axis X Y Z] | capsule R L [axis X Y Z] | capsule R from X Y Z to X Y Z | plate T X Y X Y X Y … | plane X Y Z | mesh \"FILE\", each with [at X Y Z] [turn X Y Z ANGLE]",
            ),
            MASS,
            once("density", "density D"),
            once("inertia", "inertia IXX IYY IZZ [IXY IXZ IYZ]"),
            once("center", "center X Y Z"),
            AT,
            TURN,
            ORIENTATION,
            POINT_VELOCITY,
            SPIN,
            MATERIAL,
            COLLIDE,
            MOBILITY,
            COLOR,
        ],
    ),
    block_words(
        "particle",
        &[
            once("kernel", "kernel dynamic | fixed | trajectory NAME"),
            MASS,
            AT,
            VELOCITY,
            MATERIAL,
            COLLIDE,
            MOBILITY,
            COLOR,
        ],
    ),
    block_words(
        "constraint",
        &[
            OBJECT1,
            OBJECT2,
            HINGE,
            once("axial", "axial X Y Z [min A] [max B]"),
            once("planar", "planar X Y Z [min A] [max B]"),
            once("angle", "angle X1 Y1 Z1 X2 Y2 Z2 [min A] [max B]"),
            once("twist", "twist X1 Y1 Z1 X2 Y2 Z2 [min A] [max B]"),
            once("curve", "curve X Y Z X Y Z … [closed]"),
            once("sphere", "sphere R"),
            once("within", "within R"),
            DURING,
            RANK,
            WEIGHT,
            COMPLIANCE,
            DAMPING,
            ALPHA,
            MU,
        ],
    ),
    block_words(
        "joint",
        &[
            once("ball", "ball"),
            once("pin", "pin"),
            once("cylindrical", "cylindrical"),
            once("slider", "slider"),
            once("point-on-line", "point-on-line"),
            once("point-on-plane", "point-on-plane"),
            once("planar", "planar"),
            once("cardan", "cardan"),
            once("weld", "weld"),
            once("screw", "screw PITCH"),
            once("distance", "distance LENGTH"),
            once("lock", "lock [t1] [t2] [t3] [r1] [r2] [r3]"),
            once("universal", "universal"),
            once("prismatic", "prismatic"),
            once("ball-socket", "ball-socket"),
            once("smooth-contact", "smooth-contact"),
            OBJECT1,
            OBJECT2,
            once("frame1", "frame1 X Y Z [axis X Y Z [up X Y Z]]"),
            once("frame2", "frame2 X Y Z [axis X Y Z [up X Y Z]]"),
            once("at", "at X Y Z [axis X Y Z [up X Y Z]]"),
            many("limit", "limit DIRECTION MIN MAX [restitution RATIO]"),
            many(
                "drive",
                "drive DIRECTION speed V [max-force F] | drive DIRECTION to P [stiffness K] [damping D] [max-force F]",
            ),
            DURING,
            RANK,
            WEIGHT,
            COMPLIANCE,
            DAMPING,
            ALPHA,
            MU,
        ],
    ),
    block_words(
        "force",
        &[
            once("object", "object NAME"),
            AT,
            once("value", "value X Y Z"),
            once("torque", "torque X Y Z"),
            once("frame", "frame world | solid"),
            DURING,
        ],
    ),
    block_words("spring", &[OBJECT1, OBJECT2, HINGE, once("length", "length L"), STIFFNESS, DAMPING, DURING]),
    block_words(
        "trajectory",
        &[many("key", "key TIME at X Y Z [turn X Y Z ANGLE | orientation W X Y Z]"), once("loop", "loop")],
    ),
    block_words("ignore", &[]),
    block_words(
        "cloth",
        &[
            once("grid", "grid NX NY spacing S"),
            once("mesh", "mesh \"FILE\""),
            AT,
            TURN,
            ORIENTATION,
            VELOCITY,
            SPIN,
            MASS,
            STRETCH,
            once("shear", "shear STIFFNESS [DAMPING]"),
            once("bend", "bend STIFFNESS [DAMPING]"),
            LIMIT_STRAIN,
            TEAR,
            THICKNESS,
            many("pin", "pin I J [to NAME X Y Z]"),
            MATERIAL,
            COLLIDE,
            COLOR,
        ],
    ),
    block_words(
        "tetra",
        &[
            once("grid", "grid NX NY NZ spacing S [round]"),
            once("mesh", "mesh \"FILE\""),
            AT,
            TURN,
            ORIENTATION,
            VELOCITY,
            SPIN,
            MASS,
            STRETCH,
            LIMIT_STRAIN,
            TEAR,
            THICKNESS,
            many("pin", "pin I J K [to NAME X Y Z]"),
            MATERIAL,
            COLLIDE,
            COLOR,
        ],
    ),
    block_words("skin", &[once("over", "over NAME …"), once("radius", "radius R …"), COLOR]),
    block_words("watch", &[]),
];

/// The block of a keyword.
pub fn block(keyword: &str) -> Option<&'static BlockWords> {
    BLOCKS.iter().find(|b| b.keyword == keyword)
}

/// Finds the known word nearest to a mistyped one, under a budget for the whole file.
#[derive(Debug)]
pub struct Nearest {
    left: Cell<usize>,
}

impl Default for Nearest {
    fn default() -> Self {
        Nearest { left: Cell::new(limits::HINT_COMPARISONS) }
    }
}

impl Nearest {
    /// The candidate with the fewest edits, if they are few for a word of this length; the first of equals.
    pub fn find<'c>(&self, word: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
        const LONGEST: usize = 64;
        if word.len() > LONGEST {
            return None;
        }
        let word = word.to_lowercase();
        // One or two letters are near to everything.
        let allowed = (word.chars().count() / 3).min(3);
        if allowed == 0 {
            return None;
        }
        let mut best: Option<(usize, &str)> = None;
        for candidate in candidates {
            if self.left.get() == 0 {
                break;
            }
            self.left.set(self.left.get() - 1);
            if candidate.len().abs_diff(word.len()) > 2 * allowed || candidate.len() > LONGEST {
                continue;
            }
            let distance = strsim::osa_distance(&word, &candidate.to_lowercase());
            if distance <= allowed && best.is_none_or(|(least, _)| distance < least) {
                best = Some((distance, candidate));
            }
        }
        best.map(|(_, candidate)| candidate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_joint_kind_is_a_clause_of_joint() {
        let joint = block("joint").unwrap();
        assert!(JOINT_KINDS.iter().all(|kind| joint.has(kind)));
    }

    #[test]
    fn nearest_word_tolerates_typos_but_not_other_words() {
        let near = Nearest::default();
        assert_eq!(near.find("Soild", ["solid", "settings"]), Some("solid"));
        assert_eq!(near.find("frictoin", ["friction", "restitution"]), Some("friction"));
        assert_eq!(near.find("banana", ["solid", "joint"]), None);
    }

    #[test]
    fn the_hint_budget_ends() {
        let near = Nearest { left: Cell::new(2) };
        assert_eq!(near.find("abc", ["xyz", "uvw", "abd"]), None);
    }
}
