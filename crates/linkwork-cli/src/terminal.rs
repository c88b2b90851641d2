//! The terminal as a user sees it: colours only where they can be seen, pipes that may close, progress on long work.

use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use linkwork::step::assemble::Progress;
use std::cell::{Cell, RefCell};
use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::time::{Duration, Instant};

/// Colours, or none.
#[derive(Clone, Copy)]
pub struct Paint(bool);

impl Paint {
    /// For standard output.
    pub fn stdout() -> Self {
        Paint(std::io::stdout().is_terminal() && wanted())
    }
    /// For standard error.
    pub fn stderr() -> Self {
        Paint(std::io::stderr().is_terminal() && wanted())
    }
    /// Whether there are colours.
    pub fn is_on(self) -> bool {
        self.0
    }
    /// Headings and the word that matters.
    pub fn bold(self, text: impl Display) -> String {
        self.wrap("1", text)
    }
    /// What only helps to find one's way.
    pub fn dim(self, text: impl Display) -> String {
        self.wrap("2", text)
    }
    /// All is well.
    pub fn good(self, text: impl Display) -> String {
        self.wrap("1;32", text)
    }
    /// Worth a look.
    pub fn odd(self, text: impl Display) -> String {
        self.wrap("1;33", text)
    }
    /// Wrong.
    pub fn bad(self, text: impl Display) -> String {
        self.wrap("1;31", text)
    }
    fn wrap(self, code: &str, text: impl Display) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }
}

/// `NO_COLOR` (any value but the empty one) and terminals that cannot are respected.
fn wanted() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|v| !v.is_empty());
    !set("NO_COLOR") && std::env::var_os("TERM").is_none_or(|t| t != "dumb")
}

/// Writes to standard output. A closed pipe is not an error: the reader has seen enough.
pub fn print(bytes: impl AsRef<[u8]>) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(bytes.as_ref()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == ErrorKind::BrokenPipe => Err(Failure::ReaderGone),
        Err(e) => Err(Failure::failed(format!("cannot write to standard output: {e}"))),
    }
}

/// One JSON object and a line end.
pub fn print_json(value: &serde_json::Value) -> Result<(), Failure> {
    print(format!("{value}\n"))
}

/// Writes to standard error; nobody is left to tell when that fails.
pub fn tell(text: impl Display) {
    let _ = write!(std::io::stderr().lock(), "{text}");
}

/// `error: …`
pub fn error(message: &str) {
    tell(format_args!("{}: {message}\n", Paint::stderr().bad("error")));
}

/// `note: …`
pub fn note(message: &str) {
    tell(format_args!("{}: {message}\n", Paint::stderr().bold("note")));
}

/// Measures the time, says when the budget is gone, and shows progress once the work takes long enough to wonder.
pub struct Watch {
    start: Instant,
    budget: Option<Duration>,
    bar: Option<RefCell<Bar>>,
    /// Where there is no bar: not a word so far.
    silent: Cell<bool>,
}

struct Bar {
    line: ProgressBar,
    shown: bool,
    text: String,
}

/// Work that ends sooner needs no progress.
const WORTH_SHOWING: Duration = Duration::from_millis(500);
/// Where nobody sees a bar, longer work is told once.
const WORTH_TELLING: Duration = Duration::from_secs(2);

impl Watch {
    /// Starts now.
    pub fn start(budget: Option<Duration>) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            RefCell::new(Bar { line: ProgressBar::hidden(), shown: false, text: "first solve".into() })
        });
        Self { start: Instant::now(), budget, bar, silent: Cell::new(true) }
    }

    /// Since the start.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Whether the budget is used up, or somebody wants it to end.
    pub fn out_of_time(&self) -> bool {
        self.refresh(None);
        crate::interrupt::asked() || self.budget.is_some_and(|b| self.start.elapsed() >= b)
    }

    /// Takes note of how far the work has come.
    pub fn progress(&self, p: &Progress) {
        let island =
            if p.islands > 1 { format!("island {}/{}  ", p.island, p.islands) } else { String::new() };
        self.refresh(Some(format!("{island}iteration {}  largest gap {:.1e}", p.iterations, p.gap)));
    }

    fn refresh(&self, text: Option<String>) {
        let Some(bar) = &self.bar else {
            if let Some(text) = text
                && self.start.elapsed() >= WORTH_TELLING
                && self.silent.replace(false)
            {
                note(&format!("still assembling: {text}; --budget-ms would limit it"));
            }
            return;
        };
        let mut bar = bar.borrow_mut();
        if let Some(text) = text {
            bar.text = text;
        }
        if self.start.elapsed() < WORTH_SHOWING {
            return;
        }
        if !bar.shown {
            let line = ProgressBar::new_spinner();
            if let Ok(style) = ProgressStyle::with_template("{spinner} assembling  {msg}  {elapsed}") {
                line.set_style(style);
            }
            line.enable_steady_tick(Duration::from_millis(100));
            (bar.line, bar.shown) = (line, true);
        }
        bar.line.set_message(bar.text.clone());
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.borrow().line.finish_and_clear();
        }
    }
}

/// How far a simulation has come: a bar with simulated time, speed and the largest gap.
pub struct RunBar {
    start: Instant,
    drawn: Instant,
    line: Option<ProgressBar>,
    wanted: bool,
    what: String,
    steps: u64,
}

impl RunBar {
    /// Of so many steps. `what` says what is going on.
    pub fn start(what: impl Into<String>, steps: u64) -> Self {
        let now = Instant::now();
        let wanted = std::io::stderr().is_terminal();
        Self { start: now, drawn: now, line: None, wanted, what: what.into(), steps }
    }

    /// Steps taken, seconds simulated since the start of the run, and the gap now.
    pub fn at(&mut self, done: u64, simulated: f64, gap: f64) {
        let wait = if self.line.is_some() { Duration::from_millis(100) } else { WORTH_SHOWING };
        if !self.wanted || self.drawn.elapsed() < wait {
            return;
        }
        self.drawn = Instant::now();
        let (steps, what) = (self.steps, &self.what);
        let line = self.line.get_or_insert_with(|| {
            let line = ProgressBar::new(steps);
            let look = "{prefix}  {wide_bar:.cyan/dim} {percent:>3} %  {msg}";
            if let Ok(style) = ProgressStyle::with_template(look) {
                line.set_style(style);
            }
            line.set_prefix(what.clone());
            line
        });
        let elapsed = self.start.elapsed().as_secs_f64();
        let speed = simulated / elapsed;
        let left = elapsed * (self.steps.saturating_sub(done) as f64) / done.max(1) as f64;
        line.set_position(done);
        line.set_message(format!("{simulated:.2} s  {speed:.1}x real time  gap {gap:.1e}  {left:.0} s left"));
    }
}

impl Drop for RunBar {
    fn drop(&mut self) {
        if let Some(line) = &self.line {
            line.finish_and_clear();
        }
    }
}
