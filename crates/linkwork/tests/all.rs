//! All tests of this crate that can share a program: one to link instead of 41, which takes a tenth of the time and of the
//! disk. `cargo test -p linkwork --test all NAME::` runs one file of them.

mod classics;
mod cloth;
mod common;
mod contact;
mod contact_coats;
mod contact_fast;
mod contact_heaps;
mod contact_hostile;
mod contact_readouts;
mod contact_turning;
mod dependent_rows;
mod findings_motion;
mod findings_words;
mod gallery_contact;
mod gallery_minute;
#[path = "common/ground.rs"]
mod ground;
mod invariance;
mod ladders;
mod layers;
mod limits;
mod motion;
mod motion_features;
mod motion_long;
mod motion_orders;
mod motion_robust;
mod mutants;
mod particles;
mod reference;
mod scatter;
mod scene_malformed;
mod scene_meaning;
mod scene_reference;
mod scene_syntax;
mod scenes;
mod session_cloth;
mod session_contact;
mod session_guard;
mod session_hands;
mod session_monkey;
mod session_promises;
mod session_speed;
mod skins;
mod snapshots;
mod tidy;
