//! The terminal as a user sees it: colours only where they can be seen, pipes that may close, progress on long work.

use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressStyle};
use linkwork::step::assemble::Progress;
use std::cell::RefCell;
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
}

struct Bar {
    line: ProgressBar,
    shown: bool,
    text: String,
}

/// Work that ends sooner needs no progress.
const WORTH_SHOWING: Duration = Duration::from_millis(500);

impl Watch {
    /// Starts now.
    pub fn start(budget: Option<Duration>) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            RefCell::new(Bar { line: ProgressBar::hidden(), shown: false, text: "first solve".into() })
        });
        Self { start: Instant::now(), budget, bar }
    }

    /// Since the start.
    pub fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    /// Whether the budget is used up.
    pub fn out_of_time(&self) -> bool {
        self.refresh(None);
        self.budget.is_some_and(|b| self.start.elapsed() >= b)
    }

    /// Takes note of how far the work has come.
    pub fn progress(&self, p: &Progress) {
        let island =
            if p.islands > 1 { format!("island {}/{}  ", p.island, p.islands) } else { String::new() };
        self.refresh(Some(format!("{island}iteration {}  largest gap {:.1e}", p.iterations, p.gap)));
    }

    fn refresh(&self, text: Option<String>) {
        let Some(bar) = &self.bar else { return };
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
