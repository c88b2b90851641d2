//! The simulation's thread: sixty ticks a second in real time, commands as they come, frames out. All the thinking is the
//! session's; this only forwards.

use super::hub::{Answer, Hub, Queued, Refusal, Request, Rival, Work, message};
use super::inbox::Backlog;
use super::meshes::read_granted;
use super::watch::{News, Unsaved, Watch, read_text};
use super::{describe, foresee, frame, gallery};
use crate::files;
use axum::body::Bytes;
use linkwork::record::Frame;
use linkwork::scene::Report;
use linkwork::session::{Applied, Command, Complaint, Past, Session, SessionError, TickReport};
use linkwork::skin::Surface;
use serde_json::{Value, json};
use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// Time between ticks.
pub const TICK: Duration = Duration::from_nanos(16_666_667);
/// How long new commands may keep a tick waiting.
const LISTEN: Duration = Duration::from_millis(8);
/// How often the file is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Ticks between frames while nothing changes: new clients and clocks need some.
const IDLE_TICKS: u32 = 12;
/// Ticks between tables of a comparison.
const TABLE_TICKS: u32 = 15;
/// A rip that runs on is shown no more often than this: the page builds its bodies anew.
const TEAR_TICKS: u32 = 4;
/// The recorded motion: half a minute, and no more memory than this.
const RECORDED_FRAMES: usize = 1800;
const RECORDED_BYTES: usize = 64 << 20;
/// Milliseconds of work per tick at the start: the rest of the frame is for everything else.
const BUDGET_MS: f64 = 12.0;
/// Most methods besides the session's own.
const MOST_RIVALS: usize = 3;
/// What the session and its rivals are called.
const LABELS: [&str; 4] = ["A", "B", "C", "D"];

/// Where the scene came from.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file that is watched.
    File(PathBuf),
    /// One of the gallery, or standard input.
    Named(String),
}

impl Source {
    fn name(&self) -> String {
        match self {
            Source::File(path) => path.display().to_string(),
            Source::Named(name) => name.clone(),
        }
    }

    fn watch(&self, session: &Session) -> Option<Watch> {
        let Source::File(path) = self else { return None };
        Some(Watch::new(path.clone(), session.text().to_owned()))
    }

    /// Mesh files lie beside the scene. A page may not reach beyond that folder, but for what was granted.
    fn mesh(&self, name: &str, granted: &[String]) -> Result<Vec<u8>, String> {
        let Source::File(path) = self else { return Err("this scene has no folder to look in".into()) };
        read_granted(&files::parent(path), name, granted)
    }
}

/// The motion of the last while, for the 3D file. Time is that of the clock on the wall, pauses left out, since in
/// kinematic mode there is no other.
#[derive(Default)]
struct Recording {
    frames: VecDeque<Frame>,
    clock: f64,
}

impl Recording {
    fn take(&mut self, session: &Session, elapsed: f64) {
        let m = session.mechanism();
        self.clock += elapsed.clamp(1e-3, 0.1);
        let mut frame = Frame::new(m, session.state(), Default::default());
        frame.time = self.clock;
        self.frames.push_back(frame);
        let most = (RECORDED_BYTES / Frame::bytes(m).max(1)).clamp(2, RECORDED_FRAMES);
        while self.frames.len() > most {
            self.frames.pop_front();
        }
    }
}

/// A fork of the session under another method.
struct Ghost {
    session: Session,
    report: TickReport,
    /// Milliseconds and iterations of the last tick that had something to do: the others would only show zeros.
    worked: (f64, u32),
}

impl Ghost {
    fn note(&mut self, report: TickReport) {
        self.worked = work_of(&report).unwrap_or(self.worked);
        self.report = report;
    }
}

/// What a tick took, if it did anything.
fn work_of(report: &TickReport) -> Option<(f64, u32)> {
    (report.steps > 0).then_some((report.receipt.used_ms, report.iterations))
}

/// All that the thread owns.
pub struct Driver {
    session: Session,
    source: Source,
    /// The file given on the command line, to come back to.
    home: Option<PathBuf>,
    /// Mesh files that it named when it was opened, wherever they are.
    granted: Arc<[String]>,
    watch: Option<Watch>,
    /// The text of a scene without a file as it was opened.
    opened: String,
    /// Clients were told that the file is fine.
    file_ok: bool,
    /// Which client a hand belongs to: the one whose grab was accepted.
    owners: BTreeMap<u32, u32>,
    ghosts: Vec<Ghost>,
    backlog: Backlog,
    /// As in [`Ghost`].
    worked: (f64, u32),
    recording: Recording,
    hub: Arc<Hub>,
    tick: u32,
    revision: u32,
    /// What clients were told last.
    enabled: Vec<bool>,
    /// What was torn of soft bodies when the page was told of them.
    torn: Vec<linkwork::Torn>,
    settings: String,
    frame: Vec<u8>,
    quiet: u32,
    started: Instant,
}

impl Driver {
    /// A session on its way.
    pub fn new(mut session: Session, source: Source, hub: Arc<Hub>) -> Self {
        start(&mut session);
        let granted = session.files().map(|(name, _)| name.to_owned()).collect();
        let home = match &source {
            Source::File(path) => Some(path.clone()),
            Source::Named(_) => None,
        };
        let mut driver = Self {
            watch: source.watch(&session),
            opened: session.text().to_owned(),
            session,
            file_ok: true,
            source,
            home,
            granted,
            owners: BTreeMap::new(),
            ghosts: Vec::new(),
            backlog: Backlog::default(),
            worked: (0.0, 0),
            recording: Recording::default(),
            hub,
            tick: 0,
            revision: 0,
            enabled: Vec::new(),
            torn: Vec::new(),
            settings: String::new(),
            frame: Vec::new(),
            quiet: 0,
            started: Instant::now(),
        };
        driver.tell_scene();
        driver.tell_settings();
        driver.tell_file(true, "", Vec::new());
        foresee::sweep(&driver.session, driver.revision, &driver.hub);
        driver.hub.table.send_replace(message(json!({ "event": "compare", "rows": [] })));
        driver
    }

    /// Until the last client and the server are gone.
    pub fn run(mut self, inbox: &Receiver<Queued>) {
        let mut next = Instant::now();
        let mut last = next;
        let mut looked = next;
        loop {
            // Commands act as they come; a flood of them must not keep the clock from ticking.
            loop {
                match inbox.recv_timeout(next.saturating_duration_since(Instant::now())) {
                    Ok(queued) => self.backlog.push(queued),
                    Err(RecvTimeoutError::Timeout) => break,
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                let start = Instant::now();
                if !self.listen(inbox, &|| start.elapsed() >= LISTEN) {
                    return;
                }
                if Instant::now() >= next {
                    break;
                }
            }
            let now = Instant::now();
            if now.duration_since(looked) >= LOOK {
                looked = now;
                self.look_at_file();
            }
            // Nobody looks: nothing runs away meanwhile.
            if self.hub.frames.receiver_count() > 0 {
                self.advance(now.duration_since(last).as_secs_f64());
            }
            last = now;
            next += TICK;
            let now = Instant::now();
            if next < now {
                // Too late for some ticks: they are left out, not made up for.
                next = now;
            }
        }
    }

    /// Answers what has come so far: all of it before the tick after the next, however slow ticks are, and of each hand's
    /// drags the newest. False if nobody can ask any more.
    fn listen(&mut self, inbox: &Receiver<Queued>, time_is_up: &dyn Fn() -> bool) -> bool {
        let open = self.backlog.fill(inbox);
        while let Some(queued) = self.backlog.next(time_is_up) {
            self.answer(queued.request);
        }
        open
    }

    fn advance(&mut self, elapsed: f64) {
        let started = self.started;
        let clock = move || started.elapsed().as_secs_f64();
        let report = if self.ghosts.is_empty() {
            self.session.tick(elapsed, &clock)
        } else {
            // Side by side, so that comparing costs no more time than the slowest needs.
            let session = &mut self.session;
            let ghosts = &mut self.ghosts;
            std::thread::scope(|scope| {
                for ghost in ghosts.iter_mut() {
                    scope.spawn(move || {
                        let report = ghost.session.tick(elapsed, &clock);
                        ghost.note(report);
                    });
                }
                session.tick(elapsed, &clock)
            })
        };
        self.worked = work_of(&report).unwrap_or(self.worked);
        self.tick = self.tick.wrapping_add(1);
        self.publish(&report, elapsed);
        if self.tick.is_multiple_of(TEAR_TICKS) && self.session.mechanism().torn() != self.torn {
            self.tell_scene();
        }
        if !report.contacts.events.is_empty() {
            let told = json!({ "event": "contacts", "events": frame::strongest(&report.contacts.events) });
            let _ = self.hub.events.send(message(told));
        }
        if !self.ghosts.is_empty() && self.tick.is_multiple_of(TABLE_TICKS) {
            self.tell_table(&report);
        }
        self.tell_settings();
    }

    fn publish(&mut self, report: &TickReport, elapsed: f64) {
        let ghosts: Vec<&Session> = self.ghosts.iter().map(|g| &g.session).collect();
        let mut bytes = Vec::with_capacity(self.frame.len());
        frame::encode(&mut bytes, self.tick, self.revision, &self.session, report, &ghosts);
        self.quiet = if frame::same(&bytes, &self.frame) { self.quiet + 1 } else { 0 };
        if self.quiet == 0 {
            self.recording.take(&self.session, elapsed);
        }
        if self.quiet.is_multiple_of(IDLE_TICKS) {
            self.hub.frames.send_replace(Bytes::from(bytes.clone()));
        }
        self.frame = bytes;
    }

    fn answer(&mut self, request: Request) {
        let result = match request.work {
            Work::Do(command) => self.act(*command, request.client),
            Work::Open(id) => self.open(&id),
            Work::OpenText { name, text } => self.show(text, Source::Named(name)),
            Work::Diagnose => return foresee::examine(&self.session, request.reply),
            Work::Reach { solid, point } => {
                return foresee::reach(&self.session, solid, point, &self.hub, request.reply);
            }
            Work::Save { force } => self.save(force),
            Work::Compare(rivals) => self.compare(&rivals),
            Work::Glb => Ok(Answer::Bytes(self.glb())),
            Work::Log => serde_json::to_vec(&self.session.log())
                .map(Answer::Bytes)
                .map_err(|e| Refusal::new(e.to_string())),
            Work::Leave => {
                let held = self.owners.iter().filter(|(_, owner)| Some(**owner) == request.client);
                let hands: Vec<u32> = held.map(|(hand, _)| *hand).collect();
                for hand in hands {
                    // The session may have let go by itself.
                    let _ = self.act(Command::Release { hand }, None);
                    self.owners.remove(&hand);
                }
                Ok(Answer::Value(Value::Null))
            }
        };
        if let Some(reply) = request.reply {
            // The client may be gone.
            let _ = reply.send(result);
        }
    }

    /// A client's command. A hand is the client's once it holds something: what was refused is not let go of when the
    /// client leaves, since it may be in another one's hand.
    fn act(&mut self, command: Command, client: Option<u32>) -> Result<Answer, Refusal> {
        let (taken, freed) = match &command {
            Command::Grab { hand, .. } => (Some(*hand), None),
            Command::Release { hand } | Command::Cancel { hand } => (None, Some(*hand)),
            _ => (None, None),
        };
        let done = self.apply(command)?;
        if let (Some(hand), Some(client)) = (taken, client) {
            self.owners.insert(hand, client);
        }
        if let Some(hand) = freed {
            self.owners.remove(&hand);
        }
        Ok(done)
    }

    fn apply(&mut self, command: Command) -> Result<Answer, Refusal> {
        let source = self.source.clone();
        let shown = self.session.timeline().shown;
        let shared = (!self.ghosts.is_empty()).then(|| command.clone());
        let granted = self.granted.clone();
        let applied = self.session.apply_with(command, &mut |name| source.mesh(name, &granted));
        match applied {
            Ok(applied) => {
                if let Some(command) = shared {
                    self.share(&command, shown);
                }
                Ok(Answer::Value(self.took_effect(&applied)))
            }
            Err(SessionError::Text { diagnostics }) => {
                let why = SessionError::Text { diagnostics: diagnostics.clone() };
                // Places are counted by the complaints themselves; the text they are about is the client's.
                Err(Refusal {
                    diagnostics: diagnostics.iter().map(place).collect(),
                    ..Refusal::new(why.to_string())
                })
            }
            Err(why) => Err(Refusal::new(why.to_string())),
        }
    }

    /// Forks get the same hands and the same clock, once the session itself has done what was asked. What changes the
    /// past or the scene ends a comparison. `shown` is the snapshot that was shown before.
    fn share(&mut self, command: &Command, shown: u64) {
        match command {
            Command::Method { .. } | Command::Solver { .. } => {}
            Command::SetText { .. }
            | Command::Amend { .. }
            | Command::AddConstraint { .. }
            | Command::DeleteConstraint { .. }
            | Command::Undo
            | Command::Redo
            | Command::Reset => self.end_comparison(),
            Command::Scrub { .. } | Command::Step { count: ..0 } => self.look_back(command, shown),
            _ => {
                for ghost in &mut self.ghosts {
                    let _ = ghost.session.apply(command.clone());
                }
            }
        }
    }

    /// Forks go as far through their past as the session went through its own, and are then at the same time. Their past
    /// begins with the comparison: before that there is nothing to compare.
    fn look_back(&mut self, command: &Command, shown: u64) {
        let by = self.session.timeline().shown.wrapping_sub(shown);
        let now = self.session.state().time;
        // By number, since there may be no time (kinematic); by time where steps were left out for want of it.
        let place = |g: &Ghost| {
            let past = g.session.timeline();
            let to = past.shown.wrapping_add(by);
            if (past.first..=past.last).contains(&to) {
                Some(Past::Index(to))
            } else {
                (now > past.from).then_some(Past::Time(now))
            }
        };
        let places: Option<Vec<Past>> = self.ghosts.iter().map(place).collect();
        let Some(places) = places else {
            self.end_comparison();
            let words = "The comparison has ended: it began after this moment.";
            let _ = self.hub.events.send(message(json!({ "event": "note", "message": words })));
            return;
        };
        for (ghost, to) in self.ghosts.iter_mut().zip(places) {
            if by == 0 && matches!(command, Command::Step { .. }) {
                // There is no further back. It pauses.
                let _ = ghost.session.apply(Command::Step { count: 0 });
                continue;
            }
            let _ = ghost.session.apply(Command::Scrub { to });
            let apart = (ghost.session.state().time - now).abs();
            if apart > 0.5 * ghost.session.settings().step {
                let _ = ghost.session.apply(Command::Scrub { to: Past::Time(now) });
            }
        }
    }

    fn took_effect(&mut self, applied: &Applied) -> Value {
        let enabled: Vec<bool> = self.session.mechanism().joints().iter().map(|j| j.enabled).collect();
        if applied.reloaded {
            // Frames of the old scene have other solids.
            self.recording = Recording::default();
        }
        if applied.reloaded || enabled != self.enabled {
            self.tell_scene();
        }
        for hand in &applied.released {
            self.owners.remove(hand);
        }
        if !applied.released.is_empty() {
            let _ = self.hub.events.send(message(json!({ "event": "released", "hands": applied.released })));
        }
        for warning in applied.warnings.iter().filter(|w| w.code.is_empty()) {
            let _ = self.hub.events.send(message(json!({ "event": "note", "message": warning.message })));
        }
        self.tell_settings();
        // The hash of this very moment: later frames may have moved on.
        json!({ "hash": applied.hash, "joint": applied.joint, "released": applied.released })
    }

    fn open(&mut self, id: &str) -> Result<Answer, Refusal> {
        let (text, source) = match (&self.home, id) {
            (Some(path), "") => {
                let text = read_text(path).map_err(Refusal::new)?;
                (text, Source::File(path.clone()))
            }
            _ => {
                let text = gallery::text(id)
                    .ok_or_else(|| Refusal::new(format!("there is no scene `{id}` in the gallery")))?;
                (text, Source::Named(id.to_owned()))
            }
        };
        self.show(text, source)
    }

    /// Another scene.
    fn show(&mut self, text: String, source: Source) -> Result<Answer, Refusal> {
        let mut session = Session::open(&text, &mut |name| source.mesh(name, &self.granted))
            .map_err(|r| refuse(&r, &text))?;
        start(&mut session);
        self.end_comparison();
        self.session = session;
        self.owners.clear();
        self.recording = Recording::default();
        self.watch = source.watch(&self.session);
        self.opened = self.session.text().to_owned();
        self.source = source;
        self.tell_file(true, "", Vec::new());
        // Before the scene, so that whoever has its first frame knows that there is more to come.
        foresee::sweep(&self.session, self.revision + 1, &self.hub);
        self.tell_scene();
        self.tell_settings();
        Ok(Answer::Value(Value::Null))
    }

    fn save(&mut self, force: bool) -> Result<Answer, Refusal> {
        let Some(watch) = &mut self.watch else {
            return Err(Refusal::new("this scene has no file; download its text instead"));
        };
        match watch.save(self.session.text(), force) {
            Ok(()) => {
                self.tell_file(true, "", Vec::new());
                self.tell_settings();
                Ok(Answer::Value(Value::Null))
            }
            Err(Unsaved::Failed(words)) => Err(Refusal::new(words)),
            Err(Unsaved::Changed(words)) => {
                Err(Refusal { reason: Some("file-changed"), ..Refusal::new(words) })
            }
        }
    }

    fn compare(&mut self, rivals: &[Rival]) -> Result<Answer, Refusal> {
        if rivals.len() > MOST_RIVALS {
            return Err(Refusal::new(format!(
                "no more than {MOST_RIVALS} methods besides the session's own"
            )));
        }
        let mut ghosts = Vec::new();
        for rival in rivals {
            let mut session = self.session.fork();
            let settings = [
                Command::Method { name: rival.method.clone() },
                Command::Solver { name: rival.solver.clone() },
            ];
            for command in settings {
                session.apply(command).map_err(|e| Refusal::new(e.to_string()))?;
            }
            let report = session.look();
            ghosts.push(Ghost { session, report, worked: (0.0, 0) });
        }
        // Only now: a refusal changes nothing, a comparison that runs included.
        self.end_comparison();
        self.ghosts = ghosts;
        if !self.ghosts.is_empty() {
            let report = self.session.look();
            self.tell_table(&report);
        }
        Ok(Answer::Value(Value::Null))
    }

    fn end_comparison(&mut self) {
        if !self.ghosts.is_empty() {
            self.ghosts.clear();
            self.hub.table.send_replace(message(json!({ "event": "compare", "rows": [] })));
        }
    }

    fn glb(&mut self) -> Vec<u8> {
        let skins: Vec<Surface> = self.session.scene().surfaces().into_iter().flatten().collect();
        let frames = self.recording.frames.make_contiguous();
        let (bytes, cut) = linkwork::formats::animated_glb_told(self.session.mechanism(), frames, &skins);
        for words in cut {
            // Nobody may listen.
            let _ = self.hub.events.send(message(json!({ "event": "note", "message": words })));
        }
        bytes
    }

    /// The file or a mesh file beside it changed: what they say becomes the session's, unless there are errors; then they
    /// are shown and the old scene goes on.
    fn look_at_file(&mut self) {
        let Some(watch) = &mut self.watch else { return };
        let moved = watch.look_beside(self.session.files());
        if moved && !self.file_ok {
            // A text may have failed because of what was beside it.
            watch.look_closer();
        }
        let (name, news, stale) = (watch.name(), watch.look(), watch.is_stale());
        match news {
            Some(News::Gone) => {
                self.tell_file(
                    false,
                    &format!("{name} is gone; still running the last good version"),
                    Vec::new(),
                );
            }
            Some(News::Unreadable(why)) => self.tell_file(false, &why, Vec::new()),
            Some(News::Text(text)) => {
                // Where nothing is on show yet, a text with errors is handed out to be mended.
                let mend = self.session.text().is_empty();
                let good = self.reload(&name, text.clone());
                if let Some(watch) = self.watch.as_mut().filter(|_| good || mend) {
                    watch.take(text);
                    self.tell_settings();
                }
            }
            // Edits of the text stay.
            Some(News::Same { .. }) if stale => {
                self.reload("a mesh file", self.session.text().to_owned());
            }
            None if moved && stale => {
                self.reload("a mesh file", self.session.text().to_owned());
            }
            Some(News::Same { back: true }) => self.tell_file(true, &format!("{name} is back"), Vec::new()),
            Some(News::Same { back: false }) if !self.file_ok => self.tell_file(true, "", Vec::new()),
            Some(News::Same { back: false }) | None => {}
        }
    }

    /// Makes a text the scene's, with mesh files as they are now.
    fn reload(&mut self, what: &str, text: String) -> bool {
        let mend = self.session.text().is_empty().then(|| text.clone());
        match self.apply(Command::SetText { text }) {
            Ok(_) => {
                if let Some(watch) = &mut self.watch {
                    watch.refreshed();
                }
                self.tell_file(true, &format!("Reloaded {what}"), Vec::new());
                true
            }
            Err(why) => {
                let then = if mend.is_some() {
                    "fix them here or in your editor"
                } else {
                    "still running the last good version"
                };
                self.tell_text(false, &format!("{what} has errors; {then}"), why.diagnostics, mend);
                false
            }
        }
    }

    fn tell_file(&mut self, ok: bool, words: &str, diagnostics: Vec<Value>) {
        self.tell_text(ok, words, diagnostics, None);
    }

    /// With the text itself where nothing else is on show.
    fn tell_text(&mut self, ok: bool, words: &str, diagnostics: Vec<Value>, text: Option<String>) {
        self.file_ok = ok;
        let told =
            json!({ "event": "file", "ok": ok, "message": words, "diagnostics": diagnostics, "text": text });
        self.hub.file.send_replace(message(told));
    }

    fn tell_scene(&mut self) {
        self.revision += 1;
        self.enabled = self.session.mechanism().joints().iter().map(|j| j.enabled).collect();
        self.torn = self.session.mechanism().torn().to_vec();
        let file = match &self.source {
            Source::File(path) => Some(path.display().to_string()),
            Source::Named(_) => None,
        };
        let scene = describe::scene(&self.session, self.revision, &self.source.name(), file.as_deref(), &[]);
        self.hub.scene.send_replace(message(scene));
    }

    fn tell_settings(&mut self) {
        let Ok(mut value) = serde_json::to_value(self.session.settings()) else { return };
        let (undo, redo) = self.session.edit_counts();
        value["event"] = json!("settings");
        value["undo"] = json!(undo);
        value["redo"] = json!(redo);
        // There are edits that would be lost with the scene.
        let kept = self.watch.as_ref().map_or(self.opened.as_str(), Watch::taken);
        value["unsaved"] = json!(kept != self.session.text());
        let text = value.to_string();
        if text != self.settings {
            self.settings = text;
            self.hub.settings.send_replace(message(value));
        }
    }

    fn tell_table(&self, report: &TickReport) {
        let row = |k: usize, s: &Session, r: &TickReport, (ms, iterations): (f64, u32)| {
            let apart =
                s.poses().zip(self.session.poses()).map(|(a, b)| (a.translation - b.translation).length());
            json!({
                "label": LABELS[k.min(3)],
                "method": s.settings().method,
                "solver": s.settings().solver,
                "gap": r.gaps.position,
                "energy": r.energy.total,
                "drift": apart.fold(0.0, f64::max),
                "ms": ms,
                "iterations": iterations,
            })
        };
        let mut rows = vec![row(0, &self.session, report, self.worked)];
        let ghosts = self.ghosts.iter().enumerate();
        rows.extend(ghosts.map(|(k, g)| row(k + 1, &g.session, &g.report, g.worked)));
        self.hub.table.send_replace(message(json!({ "event": "compare", "rows": rows })));
    }
}

/// How a scene begins: within the frame's time unless it says otherwise, and running where a motor or a script moves it,
/// or what is soft follows hands in time only, and nothing would fall out of view. All else waits for a hand or the space key.
fn start(session: &mut Session) {
    // Nothing can refuse these.
    if session.settings().budget_ms.is_none() {
        let _ = session.apply(Command::Budget { ms: Some(BUDGET_MS) });
    }
    let m = session.mechanism();
    if (describe::is_driven(m) || !m.softs().is_empty()) && describe::stays(m) {
        let _ = session.apply(Command::Run { on: true });
    }
}

fn refuse(report: &Report, text: &str) -> Refusal {
    let list = Complaint::list(report, text);
    Refusal { diagnostics: describe::complaints(&list, text), ..Refusal::new("the scene has errors") }
}

/// A complaint about a text that is not at hand: it ends where it begins.
fn place(c: &Complaint) -> Value {
    let value = describe::complaints(std::slice::from_ref(c), "");
    let mut value = value.into_iter().next().unwrap_or(Value::Null);
    value["end_line"] = json!(c.line);
    value["end_column"] = json!(c.column + c.span[1].saturating_sub(c.span[0]));
    value
}

#[cfg(test)]
#[path = "tests_compare.rs"]
mod tests;

#[cfg(test)]
#[path = "tests_slow.rs"]
mod tests_slow;
