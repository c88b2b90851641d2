//! Real time: how many steps are due.

/// Turns elapsed seconds into whole steps. What cannot be caught up is dropped, so that a slow machine runs slowly
/// instead of falling further and further behind.
///
/// ```
/// use linkwork::step::Pace;
/// let mut pace = Pace::new(0.01, 5);
/// assert_eq!(pace.due(0.025), 2);
/// assert_eq!(pace.due(0.005), 1);
/// assert_eq!(pace.due(10.0), 5); // clamped: the rest is gone
/// assert_eq!(pace.due(0.0), 0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pace {
    step: f64,
    most: usize,
    backlog: f64,
    /// Seconds that were dropped so far.
    pub dropped: f64,
}

impl Pace {
    /// Steps of this length, at most so many at a time.
    pub fn new(step: f64, most: usize) -> Self {
        Self { step, most, backlog: 0.0, dropped: 0.0 }
    }

    /// Steps due after so many more seconds.
    pub fn due(&mut self, elapsed: f64) -> usize {
        if elapsed.is_finite() && elapsed > 0.0 {
            self.backlog += elapsed;
        }
        // A hair of slack, so that sums of equal times do not lose a step to rounding.
        let due = (self.backlog / self.step + 1e-9).floor().max(0.0);
        let taken = due.min(self.most as f64);
        self.dropped += (due - taken) * self.step;
        self.backlog = (self.backlog - due * self.step).max(0.0);
        taken as usize
    }
}
