//! A state as bytes, and back: what is restored has the same future, bit for bit.
//!
//! ```text
//!     8 bytes   "LWSTATE\n"
//!     4         version of the layout
//!     8         fingerprint of the mechanism
//!     8         length of the content
//!     8         hash of all of the above and of the content
//!     content   State, by postcard
//! ```
//! Numbers are little-endian, the hash is 64-bit FNV-1a: it finds damage, not forgery, so lengths and numbers are
//! checked against the mechanism too.
//!
//! ```
//! use linkwork::{Mechanism, Solid, State, formats::snapshot};
//! let mut m = Mechanism::new();
//! m.add_solid(Solid::new("stone"))?;
//! let state = State::new(&m);
//! let bytes = snapshot::save(&m, &state);
//! assert_eq!(snapshot::restore(&m, &bytes), Ok(state));
//! assert_eq!(snapshot::restore(&m, &bytes[..50]), Err(snapshot::Error::Truncated));
//! # Ok::<(), linkwork::ModelError>(())
//! ```

use crate::mechanism::Mechanism;
use crate::state::State;
use std::fmt::{self, Write};

const MAGIC: &[u8; 8] = b"LWSTATE\n";
/// Goes up whenever the fields of [`State`] change.
const VERSION: u32 = 5;
const HEADER: usize = 36;

/// Why bytes are not a state of this mechanism.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// It does not begin like a snapshot.
    NotASnapshot,
    /// Another version of this program made it.
    Version(u32),
    /// The end is missing.
    Truncated,
    /// Some byte is not what it was.
    Damaged,
    /// It is a state of another mechanism.
    OtherMechanism,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Error::NotASnapshot => f.write_str("it is not a snapshot"),
            Error::Version(v) => write!(
                f,
                "it is a snapshot of layout {v}, made by another version of Linkwork; this one reads layout {VERSION}"
            ),
            Error::Truncated => f.write_str("it is cut off: the end of the snapshot is missing"),
            Error::Damaged => f.write_str("it is damaged: its content does not fit its check sum"),
            Error::OtherMechanism => f.write_str(
                "it is a snapshot of another mechanism: solids, joints, forces and gravity must be the same",
            ),
        }
    }
}
impl std::error::Error for Error {}

/// The state as bytes.
pub fn save(m: &Mechanism, s: &State) -> Vec<u8> {
    // Lists of numbers always serialise.
    let content = postcard::to_allocvec(s).unwrap_or_default();
    let mut bytes = Vec::with_capacity(HEADER + content.len());
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(&VERSION.to_le_bytes());
    bytes.extend_from_slice(&fingerprint(m).to_le_bytes());
    bytes.extend_from_slice(&(content.len() as u64).to_le_bytes());
    let hash = checksum(&bytes, &content);
    bytes.extend_from_slice(&hash.to_le_bytes());
    bytes.extend_from_slice(&content);
    bytes
}

/// The state that [`save`] was given, if these are its bytes and the mechanism is the same.
pub fn restore(m: &Mechanism, bytes: &[u8]) -> Result<State, Error> {
    if !bytes.starts_with(MAGIC) {
        // A file that ends within the first word is more likely cut off than something else.
        let cut = !bytes.is_empty() && MAGIC.starts_with(bytes);
        return Err(if cut { Error::Truncated } else { Error::NotASnapshot });
    }
    let version = u32::from_le_bytes(word(bytes, 8)?);
    if version != VERSION {
        return Err(Error::Version(version));
    }
    let made_of = u64::from_le_bytes(word(bytes, 12)?);
    let length = u64::from_le_bytes(word(bytes, 20)?);
    let hash = u64::from_le_bytes(word(bytes, 28)?);
    let content = &bytes[HEADER..];
    if (content.len() as u64) < length {
        return Err(Error::Truncated);
    }
    if content.len() as u64 > length || checksum(&bytes[..HEADER - 8], content) != hash {
        return Err(Error::Damaged);
    }
    if made_of != fingerprint(m) {
        return Err(Error::OtherMechanism);
    }
    let (state, rest) = postcard::take_from_bytes::<State>(content).map_err(|_| Error::Damaged)?;
    if rest.is_empty() && is_sound(m, &state) { Ok(state) } else { Err(Error::Damaged) }
}

/// Lengths fit the mechanism and every number can be computed with.
fn is_sound(m: &Mechanism, s: &State) -> bool {
    let n = m.solids().len();
    [s.centers.len(), s.rotations.len(), s.velocities.len(), s.spins.len()] == [n; 4]
        && s.has_places(&m.places())
        && s.angles.len() == m.counter_count()
        && s.is_finite()
        && s.rotations.values().iter().all(|q| (q.length() - 1.0).abs() < 1e-6)
        && s.angles.iter().all(|x| x.is_finite())
        && s.torn.is_sorted_by(|a, b| a < b)
        && s.torn.iter().all(|[body, k]| {
            let soft = m.softs().get(*body as usize);
            soft.is_some_and(|b| (*k as usize) < b.mesh.springs.len() + b.vertices())
        })
        && s.memory.islands.iter().all(|i| i.is_sound() && (i.solid as usize) < n)
        && s.memory.islands.is_sorted_by(|a, b| a.solid < b.solid)
}

fn word<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], Error> {
    let piece = bytes.get(at..at + N).ok_or(Error::Truncated)?;
    piece.try_into().map_err(|_| Error::Truncated)
}

/// A number that differs between mechanisms that move differently: of everything in solids, joints, forces, springs,
/// trajectories and gravity, except for where solids start and what they look like.
///
/// It is taken of their debug text, which names every field and prints numbers to the last bit. So nothing that is added
/// to a joint can be forgotten here.
pub fn fingerprint(m: &Mechanism) -> u64 {
    if !m.torn().is_empty() {
        let mut whole = m.clone();
        whole.wear(&[]);
        return fingerprint(&whole);
    }
    let mut hash = Fnv::default();
    for s in m.solids() {
        // Destructured, so that a new field has to be sorted into one list or the other.
        let crate::solid::Solid {
            name,
            kernel,
            particle,
            mass,
            mobility,
            shapes,
            material,
            collide,
            pose: _,
            velocity: _,
            spin: _,
            color: _,
        } = s;
        let what = (name, kernel, particle, mass, mobility, material, collide);
        let _ = write!(hash, "{what:?}");
        for shape in shapes {
            let _ = match &shape.shape {
                crate::shape::Shape::Mesh(mesh) => {
                    write!(hash, "{:?} {} {}", shape.pose, mesh.vertices.len(), mesh.triangles.len())
                }
                other => write!(hash, "{:?} {other:?}", shape.pose),
            };
        }
    }
    let rest = (m.joints(), &m.materials, &m.trajectories, &m.forces, &m.springs, m.gravity, &m.ignores);
    let _ = write!(hash, "{rest:?}");
    if let Some(air) = m.air() {
        let _ = write!(hash, "{air:?}");
    }
    for soft in m.softs() {
        let _ = write!(hash, "{:?} {:?} {:?}", soft.first, soft.mesh.springs, soft.mesh.thickness);
    }
    hash.0
}

fn checksum(header: &[u8], content: &[u8]) -> u64 {
    let mut hash = Fnv::default();
    hash.eat(header);
    hash.eat(content);
    hash.0
}

struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn eat(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}

impl fmt::Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.eat(text.as_bytes());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::{Pose, Vector};
    use crate::{Frame, Joint, JointId, Method, PlacedShape, Solid, SolidId, StepConfig, Workspace, step};

    /// A double pendulum with a spring, out of its rest.
    fn swing() -> Mechanism {
        let mut m = Mechanism::new();
        let bar = PlacedShape::capsule_between(0.05, Vector::ZERO, Vector::X);
        let a = m.add_solid(Solid::new("a").with_shape(bar.clone(), 1.0)).unwrap();
        let b = m.add_solid(Solid::new("b").with_shape(bar, 2.0).at(1.0, 0.0, 0.0)).unwrap();
        let at = |s, x| Frame::axis(s, Vector::X * x, Vector::Z);
        m.add_joint(Joint::pin(at(SolidId::WORLD, 0.0), at(a, 0.0))).unwrap();
        m.add_joint(Joint::pin(at(a, 1.0), at(b, 0.0))).unwrap();
        m
    }

    fn run(m: &Mechanism, s: &mut State, method: Method, steps: usize) {
        let mut w = Workspace::new();
        let c = StepConfig { method, ..Default::default() };
        for _ in 0..steps {
            let report = step(m, s, &mut w, &c);
            assert_eq!(report.rejected, None, "{method:?}");
        }
    }

    #[test]
    fn the_future_is_the_same_to_the_bit() {
        let m = swing();
        for method in Method::ALL {
            let mut whole = State::new(&m);
            run(&m, &mut whole, method, 100);
            let mut half = State::new(&m);
            run(&m, &mut half, method, 41);
            let mut restored = restore(&m, &save(&m, &half)).unwrap();
            assert_eq!((&restored, restored.hash()), (&half, half.hash()));
            run(&m, &mut restored, method, 59);
            assert_eq!(restored.hash(), whole.hash(), "{method:?}");
        }
    }

    #[test]
    fn damage_is_found_wherever_it_is() {
        let m = swing();
        let mut s = State::new(&m);
        run(&m, &mut s, Method::default(), 3);
        let bytes = save(&m, &s);
        for length in 1..bytes.len() {
            assert_eq!(restore(&m, &bytes[..length]), Err(Error::Truncated), "{length}");
        }
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 0x10;
            assert!(restore(&m, &bad).is_err(), "byte {at}");
        }
        let longer = [&bytes[..], b"x"].concat();
        assert_eq!(restore(&m, &longer), Err(Error::Damaged));
        assert_eq!(restore(&m, b""), Err(Error::NotASnapshot));
        assert_eq!(restore(&m, b"solid a: mass 1; end"), Err(Error::NotASnapshot));
        let mut later = bytes.clone();
        later[8] = 9;
        assert_eq!(restore(&m, &later), Err(Error::Version(9)));
    }

    /// A valid check sum does not make numbers usable.
    #[test]
    fn states_that_do_not_fit_are_refused() {
        let m = swing();
        let good = State::new(&m);
        let spoil: [&dyn Fn(&mut State); 6] = [
            &|s| s.centers.truncate(1),
            &|s| s.angles.push(0.0),
            &|s| s.velocities[1].x = f64::INFINITY,
            &|s| s.rotations[1].w += 1.0,
            &|s| s.memory.own_mut().forces = vec![0.0],
            &|s| s.memory.own_mut().substep = f64::NAN,
        ];
        for spoil in spoil {
            let mut s = good.clone();
            spoil(&mut s);
            assert_eq!(restore(&m, &save(&m, &s)), Err(Error::Damaged));
        }
    }

    #[test]
    fn another_mechanism_is_told_from_another_start() {
        let m = swing();
        let bytes = save(&m, &State::new(&m));
        let mut moved = swing();
        moved.alter_solid(SolidId(1), |s| {
            s.pose = Pose::translation(1.0, 2.0, 3.0);
            s.color = Some([1.0, 0.0, 0.0]);
        });
        assert_eq!(restore(&moved, &bytes), Ok(State::new(&m)));
        let changes: [&dyn Fn(&mut Mechanism); 4] = [
            &|m| m.alter_solid(SolidId(1), |s| s.mass.mass += 1e-15),
            &|m| m.alter_joint(JointId(1), |j| j.frames[0].pose.translation.y = 1e-12),
            &|m| m.gravity.x = -0.1,
            &|m| drop(m.add_solid(Solid::new("c"))),
        ];
        for change in changes {
            let mut other = swing();
            change(&mut other);
            assert_eq!(restore(&other, &bytes), Err(Error::OtherMechanism));
        }
    }
}
