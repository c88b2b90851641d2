//! What the simulation's thread and the sockets share: requests one way, frames and events the other. Whatever a client
//! does or fails to do, the simulation never waits.

use axum::body::Bytes;
use linkwork::session::Command;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use tokio::sync::{broadcast, oneshot, watch};

/// Version of the messages; the page says which one it speaks.
pub const PROTOCOL: u32 = 1;
/// Requests that may wait for the simulation, and how large they may be together.
pub const QUEUE: usize = 4096;
const QUEUE_BYTES: usize = 32 << 20;
/// Events that a slow client may be behind before it misses some.
const EVENTS: usize = 64;

/// One method to compare with.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rival {
    /// By name.
    pub method: String,
    /// By name.
    pub solver: String,
}

/// What clients ask of the simulation.
#[derive(Debug)]
pub enum Work {
    /// A command of the session.
    Do(Box<Command>),
    /// Another scene: an id of the gallery.
    Open(String),
    /// A text that the page brings: new, or from a file of the browser's machine.
    OpenText {
        /// What it is called.
        name: String,
        /// The scene.
        text: String,
    },
    /// Freedoms, and constraints that depend on each other, as things stand.
    Diagnose,
    /// Where a point of a solid can get to.
    Reach {
        /// Place in the mechanism.
        solid: u32,
        /// In the solid's frame.
        point: [f64; 3],
    },
    /// The text into its file.
    Save {
        /// Even if the file holds something that the session has not read.
        force: bool,
    },
    /// Forks of the session under other methods; none ends it.
    Compare(Vec<Rival>),
    /// The scene as a `.glb`.
    Glb,
    /// The log.
    Log,
    /// A client left; its hands may hold something.
    Leave,
}

/// The answer: a value or bytes.
#[derive(Debug)]
pub enum Answer {
    /// For the page.
    Value(Value),
    /// A file.
    Bytes(Vec<u8>),
}

/// Why not.
#[derive(Debug)]
pub struct Refusal {
    /// One sentence.
    pub message: String,
    /// About a text: where.
    pub diagnostics: Vec<Value>,
    /// For the page, where it can do something about it: `file-changed` can be saved by force.
    pub reason: Option<&'static str>,
}

impl Refusal {
    /// A sentence.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), diagnostics: Vec::new(), reason: None }
    }
}

/// A request and where its answer goes.
pub struct Request {
    /// What.
    pub work: Work,
    /// To whom; nobody listens to drags.
    pub reply: Option<oneshot::Sender<Result<Answer, Refusal>>>,
    /// Whose it is, for what ends with a window.
    pub client: Option<u32>,
    /// Size of the message.
    pub bytes: usize,
}

/// A request in the queue.
pub struct Queued {
    /// Itself.
    pub request: Request,
    /// Its share of the queue, given back when it is done.
    _weight: Weight,
}

struct Weight {
    waiting: Arc<AtomicUsize>,
    bytes: usize,
}

impl Weight {
    /// `None` if there is no room. A message of any size that is let in finds room in an empty queue.
    fn take(waiting: &Arc<AtomicUsize>, bytes: usize) -> Option<Self> {
        let before = waiting.fetch_add(bytes, Ordering::Relaxed);
        // From here on it is given back, taken or not.
        let weight = Self { waiting: waiting.clone(), bytes };
        (before.saturating_add(bytes) <= QUEUE_BYTES).then_some(weight)
    }
}

impl Drop for Weight {
    fn drop(&mut self) {
        self.waiting.fetch_sub(self.bytes, Ordering::Relaxed);
    }
}

/// The sockets' side.
pub struct Hub {
    /// The newest frame. A client that is slow sees fewer of them.
    pub frames: watch::Sender<Bytes>,
    /// The scene, the settings and the state of the file, each the newest only.
    pub scene: watch::Sender<Arc<str>>,
    /// See `scene`.
    pub settings: watch::Sender<Arc<str>>,
    /// See `scene`.
    pub file: watch::Sender<Arc<str>>,
    /// The table of a comparison.
    pub table: watch::Sender<Arc<str>>,
    /// Where a scene that was just opened will go.
    pub sweep: watch::Sender<Arc<str>>,
    /// A reach is being searched.
    pub searching: AtomicBool,
    /// Everything that happens once.
    pub events: broadcast::Sender<Arc<str>>,
    inbox: SyncSender<Queued>,
    waiting: Arc<AtomicUsize>,
    over: AtomicBool,
}

impl Hub {
    /// A hub that sends its requests there.
    pub fn new(inbox: SyncSender<Queued>) -> Self {
        let text = || watch::Sender::new(Arc::from(""));
        Self {
            frames: watch::Sender::new(Bytes::new()),
            scene: text(),
            settings: text(),
            file: text(),
            table: text(),
            sweep: text(),
            searching: AtomicBool::new(false),
            events: broadcast::Sender::new(EVENTS),
            inbox,
            waiting: Arc::default(),
            over: AtomicBool::new(false),
        }
    }

    /// Queues a request without waiting; a full queue refuses.
    pub fn send(&self, request: Request) -> Result<(), Refusal> {
        let full = || Refusal::new("too many requests are waiting; this one was dropped");
        let weight = Weight::take(&self.waiting, request.bytes).ok_or_else(full)?;
        self.inbox.try_send(Queued { request, _weight: weight }).map_err(|e| match e {
            TrySendError::Full(_) => full(),
            TrySendError::Disconnected(_) => {
                self.over.store(true, Ordering::Relaxed);
                Refusal::new("the simulation has ended")
            }
        })
    }

    /// A request found nobody to give it to.
    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Queues work and waits for its answer.
    pub async fn ask(&self, work: Work) -> Result<Answer, Refusal> {
        let (reply, answer) = oneshot::channel();
        self.send(Request { work, reply: Some(reply), client: None, bytes: 0 })?;
        answer.await.map_err(|_| Refusal::new("the simulation has ended"))?
    }
}

/// A message to the page: the value with the version put in.
pub fn message(mut value: Value) -> Arc<str> {
    value["v"] = json!(PROTOCOL);
    Arc::from(value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::sync_channel;

    #[test]
    fn the_queue_is_bounded_in_number_and_size() {
        let (sender, inbox) = sync_channel(QUEUE);
        let hub = Hub::new(sender);
        let send = |bytes| hub.send(Request { work: Work::Leave, reply: None, client: None, bytes });
        let large = QUEUE_BYTES / 4;
        assert_eq!((0..10).filter(|_| send(large).is_ok()).count(), 4);
        assert!(send(1).is_err() && send(0).is_ok());
        // What is taken out makes room, once it is done.
        let one = inbox.recv().expect("a request");
        assert!(send(large).is_err());
        drop(one);
        assert!(send(large).is_ok() && send(large).is_err());
        while inbox.try_recv().is_ok() {}
        assert_eq!((0..2 * QUEUE).filter(|_| send(1).is_ok()).count(), QUEUE);
        drop(inbox);
        assert!(send(1).is_err() && hub.is_over());
    }
}
