//! The table of every error (`E…`) and lint (`L…`) of the scene language.
//!
//! The hundreds tell the pass: `E0` characters, `E1` blocks and clauses, `E2` names, `E3` arguments,
//! `E4` values and files. A code is never reused for another meaning.

use super::Severity;

/// One row of the table: the code and what it means in a few words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Code {
    /// `E101`, `L003`, …
    pub id: &'static str,
    /// What it means, independent of the case at hand.
    pub meaning: &'static str,
}

impl Code {
    /// Lints warn; everything else is an error.
    pub fn severity(&self) -> Severity {
        if self.id.starts_with('L') { Severity::Warning } else { Severity::Error }
    }
}

macro_rules! codes {
    ($($name:ident $id:literal $meaning:literal)*) => {
        $(#[doc = concat!("`", $id, "`: ", $meaning)] pub const $name: Code = Code { id: $id, meaning: $meaning };)*
        /// All codes, in order.
        pub const ALL: &[Code] = &[$($name),*];
    };
}

codes! {
    NOT_TEXT "E001" "the file is not UTF-8 text"
    TOO_BIG "E002" "the text is larger than the language allows"
    BAD_CHARACTER "E003" "a character that has no place in a scene"
    UNCLOSED_COMMENT "E004" "a `/*` without its `*/`"
    UNCLOSED_STRING "E005" "a `\"` without a closing `\"` on the same line"
    BAD_NUMBER "E006" "something that starts like a number but is not one"
    NOT_FINITE "E007" "a number that is infinite, not a number, or too large to store"
    DIVIDED_BY_ZERO "E008" "a fraction with a zero denominator"
    UNKNOWN_UNIT "E009" "a unit that is not `deg`, `ms` or `%`"
    TOO_MANY "E010" "more blocks, names or cells than the language allows"

    UNKNOWN_BLOCK "E101" "a block keyword that does not exist"
    OUTSIDE_BLOCK "E102" "text that belongs to no block"
    MISSING_END "E103" "a block without its `end`"
    UNKNOWN_CLAUSE "E104" "a clause that this block does not have"
    EXPECTED_CLAUSE "E105" "something else where a clause should start"
    EMPTY_CLAUSE "E106" "a `;` that ends nothing"
    BAD_LABEL "E107" "a label that is missing, reserved or too long"
    MISPLACED_COLON "E108" "a `:` that follows no label"

    UNKNOWN_NAME "E201" "a name that nothing in the file declares"
    DUPLICATE_NAME "E202" "a name declared twice"
    NEEDLESS_LABEL "E203" "a label on a block that takes none, or several where one is allowed"
    SELF_JOINT "E204" "a joint, constraint or pair of a solid with itself"
    WRONG_KIND_OF_NAME "E205" "a name of the wrong kind of thing"

    DUPLICATE_CLAUSE "E301" "a clause given twice where one is allowed"
    MISSING_CLAUSE "E302" "a required clause that is missing"
    WRONG_COUNT "E303" "too few or too many arguments"
    WRONG_KIND "E304" "an argument of the wrong kind"
    UNKNOWN_WORD "E305" "a word that is not one of the choices here"
    EXCLUSIVE "E306" "clauses or words that exclude each other"
    WRONG_UNIT "E307" "a unit that does not fit the quantity"

    NOT_POSITIVE "E401" "a value that must be greater than zero and is not"
    OUT_OF_RANGE "E402" "a value outside its allowed interval"
    ZERO_VECTOR "E403" "an axis, normal or quaternion of length zero"
    BAD_INERTIA "E404" "an inertia that no solid can have"
    BAD_SHAPE "E405" "a shape without extent"
    BAD_RANGE "E406" "a range that is empty or reversed"
    UNORDERED_KEYS "E407" "trajectory keys whose times do not increase"
    ABSURD_SIZE "E408" "a magnitude that no simulation can handle"
    NOT_WHOLE "E409" "a fraction where a whole number is needed"
    NO_FILE "E410" "a file that cannot be read"
    BAD_FILE "E411" "a file whose content is broken"
    BAD_AXES "E412" "axes that are parallel where they must not be"
    NO_MASS "E413" "a solid that can move but has no mass"
    REFUSED "E414" "a solid or joint that the model rejects"

    WIDE_ANGLE "L001" "an angle range that reaches beyond pi and therefore limits nothing"
    HELD_BY_NOTHING "L002" "a dynamic solid without any joint, constraint or spring, in a scene that has some"
    BOTH_FIXED "L003" "a constraint between two solids that cannot move"
    NO_ROW "L004" "a joint or constraint that locks nothing"
    BALL_INERTIA "L005" "an inertia that was not given and defaults to that of a small ball"
    TWIST_WITHOUT_ANGLE "L006" "a `twist` without an `angle` that sets its axis"
    UNUSED "L007" "a material or trajectory that nothing uses"
    LOOKS_LIKE_DEGREES "L008" "an angle above a full turn without `deg`"
    UNDECLARED_OBJECTS "L009" "a file of constraints only: its objects are made up"
    IGNORED_CLAUSE "L010" "a clause that has no effect here"
    NOT_UNIT "L011" "a quaternion that is far from unit length"
    ZERO_MASS "L012" "a mass of zero on a solid that cannot move"
    NOTHING "L013" "a scene without any solid"
    NO_ORIENTATION "L014" "a rotation required of a particle, which has none"
    SINKS_IN "L015" "a coat so soft that a solid sinks in by more than its size under its own weight"
    NEVER_ROLLS "L016" "a resistance whose lever arm is longer than the solid, which therefore never rolls or spins"
    BETWEEN_STEPS "L017" "a `during` that falls between two steps, so that it is never active"
    NEVER_TEARS "L018" "a `tear` beyond what `limit-strain` allows, so that nothing tears"
    UNIVERSAL "L019" "`universal`, which is a ball joint here and a cardan joint elsewhere"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_ordered_within_their_letter() {
        for pair in ALL.windows(2) {
            assert!(pair[0].id < pair[1].id, "{} before {}", pair[0].id, pair[1].id);
        }
    }
}
