//! What a run leaves behind: frames in order of time, thinned out evenly where there would be too many of them.
//! [`crate::formats`] turns them into files' bytes.
//!
//! ```
//! use linkwork::{Mechanism, PlacedShape, Recorder, Solid, State, StepConfig, Workspace, measure::Meter, step};
//! let mut m = Mechanism::new();
//! m.add_solid(Solid::new("stone").with_shape(PlacedShape::sphere(0.1), 1.0))?;
//! let (mut s, mut w, mut meter) = (State::new(&m), Workspace::new(), Meter::default());
//! let mut recorder = Recorder::new(100);
//! recorder.record(&m, &s, meter.sample(&m, &s));
//! for _ in 0..1000 {
//!     step(&m, &mut s, &mut w, &StepConfig::default());
//!     recorder.record(&m, &s, meter.sample(&m, &s));
//! }
//! assert_eq!(recorder.stride(), 16);
//! let frames = recorder.finish();
//! assert!(frames.len() <= 101 && frames[0].time == 0.0 && frames[frames.len() - 1].time == s.time);
//! # Ok::<(), linkwork::ModelError>(())
//! ```

use crate::math::{Pose, Vector};
use crate::measure::{Energy, Momentum};
use crate::mechanism::Mechanism;
use crate::rows::Gaps;
use crate::soft::Torn;
use crate::solid::SolidId;
use crate::state::State;

/// What there is to measure about a state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sample {
    /// Largest gaps of what is rigid.
    pub gaps: Gaps,
    /// Energies.
    pub energy: Energy,
    /// Momenta.
    pub momentum: Momentum,
}

/// One moment of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Seconds since the start.
    pub time: f64,
    /// Of each solid's origin.
    pub poses: Vec<Pose>,
    /// Of each solid's centre of mass.
    pub velocities: Vec<Vector>,
    /// Angular velocity of each solid, world axes.
    pub spins: Vec<Vector>,
    /// What is torn of soft bodies.
    pub torn: Vec<Torn>,
    /// What was measured.
    pub sample: Sample,
}

impl Frame {
    /// A state as a frame.
    pub fn new(m: &Mechanism, s: &State, sample: Sample) -> Self {
        let mut frame = Self::default();
        frame.take(m, s, sample);
        frame
    }

    fn take(&mut self, m: &Mechanism, s: &State, sample: Sample) {
        self.time = s.time;
        self.poses.clear();
        self.poses.extend((0..m.solids().len()).map(|i| s.pose(m, SolidId(i as u32))));
        self.velocities.clone_from(&s.velocities);
        self.spins.clear();
        self.spins.extend(s.spins.iter());
        self.torn.clone_from(&s.torn);
        self.sample = sample;
    }

    /// Bytes that a frame of this mechanism takes, about.
    pub fn bytes(m: &Mechanism) -> usize {
        m.solids().len() * (size_of::<Pose>() + 2 * size_of::<Vector>()) + size_of::<Self>()
    }
}

/// Collects frames. When there are as many as it may keep, every second one goes, and from then on only every second one
/// is kept: a run of any length has evenly spaced frames. The first and the last one always stay.
#[derive(Clone, Debug)]
pub struct Recorder {
    most: usize,
    stride: usize,
    seen: usize,
    frames: Vec<Frame>,
    /// The last one seen, unless it is in `frames`.
    last: Frame,
    pending: bool,
}

impl Recorder {
    /// Keeps at most so many frames (and at least two), and the last one.
    pub fn new(most: usize) -> Self {
        Self {
            most: most.max(2),
            stride: 1,
            seen: 0,
            frames: Vec::new(),
            last: Frame::default(),
            pending: false,
        }
    }

    /// Keeps as many frames of this mechanism as fit into so many bytes, about.
    pub fn within(m: &Mechanism, bytes: usize) -> Self {
        Self::new(bytes / Frame::bytes(m))
    }

    /// Takes the next state. One that is not finite is not taken.
    pub fn record(&mut self, m: &Mechanism, s: &State, sample: Sample) {
        if !s.is_finite() {
            return;
        }
        let number = self.seen;
        self.seen += 1;
        if self.frames.len() == self.most && number.is_multiple_of(self.stride) {
            let mut odd = false;
            self.frames.retain(|_| {
                odd = !odd;
                odd
            });
            self.stride *= 2;
        }
        self.pending = !number.is_multiple_of(self.stride);
        if self.pending {
            self.last.take(m, s, sample);
        } else {
            self.frames.push(Frame::new(m, s, sample));
        }
    }

    /// Every how-many-th state is kept.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The frames, the last one included.
    pub fn finish(mut self) -> Vec<Frame> {
        if self.pending {
            self.frames.push(self.last);
        }
        self.frames
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_runs_are_thinned_evenly_and_keep_both_ends() {
        let m = Mechanism::new();
        for (most, states) in [(2, 1), (2, 2), (2, 9), (5, 5), (5, 6), (8, 1000), (8, 1025), (100, 99)] {
            let mut recorder = Recorder::new(most);
            for i in 0..states {
                let s = State { time: i as f64, ..State::new(&m) };
                recorder.record(&m, &s, Sample::default());
            }
            let stride = recorder.stride() as f64;
            let frames = recorder.finish();
            assert!(frames.len() <= most + 1 && frames.len() > most.min(states) / 2, "{}", frames.len());
            assert_eq!((frames[0].time, frames[frames.len() - 1].time), (0.0, (states - 1) as f64));
            for (k, f) in frames[..frames.len() - 1].iter().enumerate() {
                assert_eq!(f.time, k as f64 * stride);
            }
        }
    }

    #[test]
    fn nothing_is_kept_that_is_not_finite() {
        let m = Mechanism::new();
        let mut recorder = Recorder::new(9);
        recorder.record(&m, &State::new(&m), Sample::default());
        let mut s = State::new(&m);
        s.velocities[0].x = f64::NAN;
        recorder.record(&m, &s, Sample::default());
        assert_eq!(recorder.finish().len(), 1);
    }
}
