//! What is on its way to a window. Buffers along the way hold megabytes, so a send that succeeds says nothing about the
//! window; it says so itself, by answering pings. Frames wait while many are on their way: a slow window is not further
//! behind than that, and its answers come in time. One that does not answer at all is gone.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Frames are left out while more than this is on its way.
const MOST_BYTES: u64 = 256 << 10;
const MOST_MESSAGES: u64 = 32;
/// How much is sent before the next ping at the latest.
const PING_BYTES: u64 = MOST_BYTES / 4;
const PING_MESSAGES: u64 = MOST_MESSAGES / 4;
/// A window that takes fewer bytes a second is not waited for.
const SLOWEST: u64 = 64 << 10;

/// Sums since the beginning.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    bytes: u64,
    messages: u64,
}

/// The way to one window.
#[derive(Debug)]
pub struct Flight {
    sent: Sum,
    arrived: Sum,
    /// Pings without an answer yet: number, and what was sent before.
    pings: VecDeque<(u64, Sum)>,
    next: u64,
    /// When the window last gave a sign of life.
    heard: Instant,
    silence: Duration,
}

impl Flight {
    /// Nothing is on its way. A window is gone after this silence.
    pub fn new(silence: Duration) -> Self {
        Self {
            sent: Sum::default(),
            arrived: Sum::default(),
            pings: VecDeque::new(),
            next: 0,
            heard: Instant::now(),
            silence,
        }
    }

    /// Something was sent.
    pub fn sent(&mut self, bytes: usize) {
        self.sent.bytes += bytes as u64;
        self.sent.messages += 1;
    }

    /// The window said something.
    pub fn heard(&mut self) {
        self.heard = Instant::now();
    }

    /// The window answered a ping: what was sent before it has arrived.
    pub fn answered(&mut self, payload: &[u8]) {
        self.heard();
        let Some(number) = payload.try_into().ok().map(u64::from_le_bytes) else { return };
        if number >= self.next {
            // Never asked: it tells nothing.
            return;
        }
        while let Some((_, sum)) = self.pings.pop_front_if(|(ping, _)| *ping <= number) {
            self.arrived = sum;
        }
    }

    /// Another frame may go.
    pub fn has_room(&self) -> bool {
        self.sent.bytes - self.arrived.bytes <= MOST_BYTES
            && self.sent.messages - self.arrived.messages < MOST_MESSAGES
    }

    /// The payload of a ping that is due because of what was sent since the last one.
    pub fn ping_due(&mut self) -> Option<[u8; 8]> {
        let last = self.pings.back().map_or(self.arrived, |(_, sum)| *sum);
        let due =
            self.sent.bytes - last.bytes >= PING_BYTES || self.sent.messages - last.messages >= PING_MESSAGES;
        due.then(|| self.ping())
    }

    /// Another ping.
    pub fn ping(&mut self) -> [u8; 8] {
        let number = self.next;
        self.next += 1;
        self.pings.push_back((number, self.sent));
        number.to_le_bytes()
    }

    /// Some ping has no answer yet.
    pub fn is_asked(&self) -> bool {
        !self.pings.is_empty()
    }

    /// Asked, and silent for longer than what is on its way explains.
    pub fn is_lost(&self) -> bool {
        self.is_asked() && self.heard.elapsed() > self.patience(0)
    }

    /// How long a window may take for what is on its way and this many bytes more.
    pub fn patience(&self, more: usize) -> Duration {
        let bytes = self.sent.bytes - self.arrived.bytes + more as u64;
        self.silence + Duration::from_millis(1000 * bytes / SLOWEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_wait_for_answers_and_so_does_the_end() {
        let mut flight = Flight::new(Duration::ZERO);
        assert!(flight.has_room() && flight.ping_due().is_none() && !flight.is_lost());
        let mut pings = Vec::new();
        while flight.has_room() {
            flight.sent(100);
            pings.extend(flight.ping_due());
        }
        assert_eq!(flight.sent.messages, MOST_MESSAGES);
        assert_eq!(pings.len(), 4);
        // What was never asked is no answer, nor is anything else.
        flight.answered(&99u64.to_le_bytes());
        flight.answered(b"hello");
        assert!(!flight.has_room());
        flight.answered(&pings[1]);
        assert!(flight.has_room() && flight.is_asked());
        flight.answered(&pings[3]);
        assert!(!flight.is_asked() && !flight.is_lost());
        // Much on its way takes a while; nothing takes none.
        flight.sent(10 << 20);
        assert!(!flight.has_room());
        assert!(flight.ping_due().is_some() && !flight.is_lost());
        assert!(flight.patience(0) > Duration::from_secs(100));
        let number = (flight.next - 1).to_le_bytes();
        flight.answered(&number);
        flight.ping();
        std::thread::sleep(Duration::from_millis(5));
        assert!(flight.is_lost());
    }
}
