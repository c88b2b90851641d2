//! One window: reads its messages within bounds, sends it the newest of everything. A window that cannot keep up sees
//! fewer frames; one that sends nonsense is told so.

use super::flight::Flight;
use super::http::Site;
use super::hub::{Answer, PROTOCOL, Refusal, Request, Rival, Work, message};
use super::{describe, gallery, meshes};
use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use linkwork::scene::load;
use linkwork::session::{Command, Complaint};
use linkwork::solve::SolverKind;
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::time::MissedTickBehavior;

/// Messages a second that a window may send for long, and at once. Four pointers at 120 Hz fit.
const RATE: f64 = 600.0;
const BURST: f64 = 1200.0;
/// Answers that may wait for a window to read them.
const ANSWERS: usize = 512;
/// Checks of a text that may run for one window at once: the newest matter, and each takes a core.
const CHECKS: usize = 2;
/// Largest message from a page: a scene's text. Up to the second one it is refused in words; beyond, the window is closed.
const MESSAGE_BYTES: usize = 8 << 20;
pub const MOST_BYTES: usize = 32 << 20;
/// How long a window that is closed for its messages has to hear why.
const PARTING: Duration = Duration::from_secs(2);

/// The number of a message, whatever else is in it.
#[derive(Deserialize)]
struct Numbered {
    #[serde(default)]
    id: Option<u64>,
}

/// A message from the page.
#[derive(Deserialize)]
struct Incoming {
    v: u32,
    #[serde(default)]
    id: Option<u64>,
    #[serde(default)]
    command: Option<Command>,
    #[serde(default)]
    ask: Option<Question>,
}

/// What is not a command of the session.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
enum Question {
    Open {
        scene: String,
    },
    OpenText {
        name: String,
        text: String,
    },
    Diagnose {},
    Reach {
        solid: u32,
        point: [f64; 3],
    },
    Check {
        text: String,
    },
    Save {
        #[serde(default)]
        force: bool,
    },
    Compare {
        entries: Vec<Rival>,
    },
}

/// So many messages now, and so many more a second.
struct Allowance {
    left: f64,
    at: Instant,
    warned: bool,
}

impl Allowance {
    fn take(&mut self) -> bool {
        let now = Instant::now();
        self.left = (self.left + RATE * now.duration_since(self.at).as_secs_f64()).min(BURST);
        self.at = now;
        if self.left >= 1.0 {
            self.left -= 1.0;
            self.warned = false;
            true
        } else {
            false
        }
    }
}

/// The way to the window.
struct Line {
    socket: WebSocket,
    flight: Flight,
}

impl Line {
    async fn text(&mut self, text: Arc<str>) -> Result<(), ()> {
        self.deliver(Message::Text(text.as_ref().into()), text.len()).await
    }

    /// Sends, and now and then asks whether it arrives.
    async fn deliver(&mut self, message: Message, bytes: usize) -> Result<(), ()> {
        self.put(message, bytes).await?;
        self.flight.sent(bytes);
        match self.flight.ping_due() {
            Some(payload) => self.ping(payload).await,
            None => Ok(()),
        }
    }

    async fn ping(&mut self, payload: [u8; 8]) -> Result<(), ()> {
        self.put(Message::Ping(payload.to_vec().into()), 0).await
    }

    async fn put(&mut self, message: Message, bytes: usize) -> Result<(), ()> {
        match tokio::time::timeout(self.flight.patience(bytes), self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(()),
        }
    }

    /// What came cannot be read, or is far too large: says so and goes. Whoever is still sending hears it only if the
    /// connection stays for a while.
    async fn part(&mut self) -> Result<(), ()> {
        let reason = "this message is too large or unreadable".into();
        if self.put(Message::Close(Some(CloseFrame { code: close_code::SIZE, reason })), 0).await.is_ok() {
            tokio::time::sleep(PARTING).await;
        }
        Err(())
    }

    /// From time to time: is anybody there?
    async fn beat(&mut self) -> Result<(), ()> {
        if self.flight.is_lost() {
            return Err(());
        }
        if self.flight.is_asked() {
            return Ok(());
        }
        let payload = self.flight.ping();
        self.ping(payload).await
    }
}

/// Serves a window until it goes.
pub async fn serve(socket: WebSocket, site: &Arc<Site>) {
    let client = site.next.fetch_add(1, Ordering::Relaxed);
    let hub = &site.hub;
    let mut frames = hub.frames.subscribe();
    let mut texts = [&hub.scene, &hub.settings, &hub.file, &hub.table, &hub.sweep].map(|s| s.subscribe());
    let mut events = hub.events.subscribe();
    let (answers, mut answered) = mpsc::channel::<Arc<str>>(ANSWERS);
    let mut grabbed = false;
    let mut allowance = Allowance { left: BURST, at: Instant::now(), warned: false };
    let checks = Arc::new(tokio::sync::Semaphore::new(CHECKS));
    let mut line = Line { socket, flight: Flight::new(site.bounds.silence) };
    let mut beat = tokio::time::interval(site.bounds.beat);
    beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    if line.text(hello(client, site.home.as_deref())).await.is_err() {
        return;
    }
    for text in &mut texts {
        let now = text.borrow_and_update().clone();
        if line.text(now).await.is_err() {
            return;
        }
    }
    let [scene, settings, file, table, sweep] = &mut texts;
    loop {
        // Text before frames: a frame of a scene that the page does not know yet is wasted.
        let sent = tokio::select! {
            biased;
            // First, so that no flood of other things hides that nobody listens.
            _ = beat.tick() => line.beat().await,
            Ok(()) = scene.changed() => { let t = scene.borrow_and_update().clone(); line.text(t).await }
            Ok(()) = settings.changed() => { let t = settings.borrow_and_update().clone(); line.text(t).await }
            Ok(()) = file.changed() => { let t = file.borrow_and_update().clone(); line.text(t).await }
            Ok(()) = table.changed() => { let t = table.borrow_and_update().clone(); line.text(t).await }
            Ok(()) = sweep.changed() => { let t = sweep.borrow_and_update().clone(); line.text(t).await }
            Some(answer) = answered.recv() => line.text(answer).await,
            event = events.recv() => match event {
                Ok(text) => line.text(text).await,
                Err(broadcast::error::RecvError::Lagged(_)) => Ok(()),
                Err(broadcast::error::RecvError::Closed) => Err(()),
            },
            incoming = line.socket.recv() => match incoming {
                Some(Ok(Message::Pong(payload))) => { line.flight.answered(&payload); Ok(()) }
                Some(Ok(Message::Text(text))) if text.len() > MESSAGE_BYTES => {
                    line.flight.heard();
                    let id = serde_json::from_str::<Numbered>(&text).ok().and_then(|n| n.id);
                    let words = format!("a message of more than {} MiB is too large", MESSAGE_BYTES >> 20);
                    complain(&answers, id, Refusal::new(words));
                    Ok(())
                }
                Some(Ok(Message::Text(text))) => {
                    line.flight.heard();
                    if allowance.take() {
                        grabbed |= receive(text.as_str(), client, site, &answers, &checks);
                    } else if !allowance.warned {
                        allowance.warned = true;
                        complain(&answers, None, Refusal::new("too many messages: some are dropped"));
                    }
                    Ok(())
                }
                Some(Ok(Message::Binary(_))) => {
                    if allowance.take() {
                        complain(&answers, None, Refusal::new("messages are text"));
                    }
                    Ok(())
                }
                Some(Err(_)) => line.part().await,
                Some(Ok(Message::Close(_))) | None => Err(()),
                Some(Ok(_)) => Ok(()),
            },
            Ok(()) = frames.changed(), if line.flight.has_room() => {
                let bytes = frames.borrow_and_update().clone();
                let length = bytes.len();
                if length == 0 { Ok(()) } else { line.deliver(Message::Binary(bytes), length).await }
            }
            else => Err(()),
        };
        if sent.is_err() {
            break;
        }
    }
    // A full queue must not leave a solid hanging in the air.
    while grabbed && !hub.is_over() {
        if hub.send(Request { work: Work::Leave, reply: None, client: Some(client), bytes: 0 }).is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

fn hello(client: u32, home: Option<&str>) -> Arc<str> {
    let mut gallery = gallery::items();
    if let Some(name) = home {
        gallery.insert(0, gallery::own(name));
    }
    message(json!({
        "event": "hello",
        "protocol": PROTOCOL,
        "version": env!("CARGO_PKG_VERSION"),
        "client": client,
        "methods": linkwork::Method::ALL.map(linkwork::Method::name),
        "solvers": SolverKind::ALL.map(SolverKind::name),
        "gallery": gallery,
    }))
}

/// An answer for the window; one that does not read its answers does without.
fn tell(answers: &mpsc::Sender<Arc<str>>, value: Value) {
    let _ = answers.try_send(message(value));
}

fn complain(answers: &mpsc::Sender<Arc<str>>, id: Option<u64>, why: Refusal) {
    tell(
        answers,
        json!({
            "event": "error",
            "id": id,
            "message": why.message,
            "diagnostics": why.diagnostics,
            "reason": why.reason,
        }),
    );
}

/// Passes a message on; tells whether a hand may hold something by it.
fn receive(
    text: &str,
    client: u32,
    site: &Arc<Site>,
    answers: &mpsc::Sender<Arc<str>>,
    checks: &Arc<tokio::sync::Semaphore>,
) -> bool {
    let refuse = |id: Option<u64>, why: Refusal| {
        complain(answers, id, why);
        false
    };
    let incoming: Incoming = match serde_json::from_str(text) {
        Ok(incoming) => incoming,
        Err(e) => {
            // The number of the request may be readable even where the rest is not.
            let id = serde_json::from_str::<Value>(text).ok().and_then(|v| v["id"].as_u64());
            return refuse(id, Refusal::new(format!("invalid message: {e}")));
        }
    };
    let id = incoming.id;
    if incoming.v != PROTOCOL {
        let words = format!("the page speaks version {}, linkwork {PROTOCOL}: reload the page", incoming.v);
        return refuse(id, Refusal::new(words));
    }
    let work = match (incoming.command, incoming.ask) {
        (Some(command), None) => Work::Do(Box::new(command)),
        (None, Some(Question::Check { text })) => {
            check(text, id, site.clone(), answers.clone(), checks);
            return false;
        }
        (None, Some(Question::Open { scene })) => Work::Open(scene),
        (None, Some(Question::OpenText { name, text })) => Work::OpenText { name, text },
        (None, Some(Question::Diagnose {})) => Work::Diagnose,
        (None, Some(Question::Reach { solid, point })) => Work::Reach { solid, point },
        (None, Some(Question::Save { force })) => Work::Save { force },
        (None, Some(Question::Compare { entries })) => Work::Compare(entries),
        _ => return refuse(id, Refusal::new("a message holds either a `command` or an `ask`")),
    };
    let grabs = matches!(&work, Work::Do(command) if matches!(**command, Command::Grab { .. }));
    let (reply, answer) = oneshot::channel();
    let request =
        Request { work, reply: id.is_some().then_some(reply), client: Some(client), bytes: text.len() };
    if let Err(why) = site.hub.send(request) {
        return refuse(id, why);
    }
    let Some(id) = id else { return grabs };
    let answers = answers.clone();
    tokio::spawn(async move {
        match answer.await {
            Ok(Ok(Answer::Value(result))) => {
                tell(&answers, json!({ "event": "done", "id": id, "result": result }))
            }
            Ok(Ok(Answer::Bytes(_))) => tell(&answers, json!({ "event": "done", "id": id })),
            Ok(Err(why)) => complain(&answers, Some(id), why),
            Err(_) => complain(&answers, Some(id), Refusal::new("the simulation has ended")),
        }
    });
    grabs
}

/// Complaints about a text that is being typed. Not the simulation's business, so it does not disturb it.
fn check(
    text: String,
    id: Option<u64>,
    site: Arc<Site>,
    answers: mpsc::Sender<Arc<str>>,
    checks: &Arc<tokio::sync::Semaphore>,
) {
    let Ok(permit) = checks.clone().try_acquire_owned() else {
        return complain(&answers, id, Refusal::new("the last text is still being checked"));
    };
    tokio::task::spawn_blocking(move || {
        let folder = site.folder.clone();
        let mut mesh = |name: &str| match &folder {
            Some(folder) => meshes::read_granted(folder, name, &site.granted),
            None => Err("this scene has no folder to look in".to_owned()),
        };
        let (_, report) = load(&text, &mut mesh);
        let list = describe::complaints(&Complaint::list(&report, &text), &text);
        tell(&answers, json!({ "event": "done", "id": id, "result": { "diagnostics": list } }));
        drop(permit);
    });
}
