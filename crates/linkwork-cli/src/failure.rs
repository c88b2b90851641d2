//! Why a command ends without a result, and the exit codes that scripts rely on.

use crate::terminal;
use linkwork::scene::{Record, Severity, codes};
use serde_json::json;

/// All went well.
pub const OK: u8 = 0;
/// Something failed on the way, or the constraints cannot be met.
pub const FAILED: u8 = 1;
/// The input was bad: options, files, scenes. The same code that wrong options get.
pub const BAD_INPUT: u8 = 2;

/// The end of a command that has nothing to show for it.
pub enum Failure {
    /// Whoever read our output stopped reading (`| head`): that is no mistake, and nothing is left to say.
    ReaderGone,
    /// One sentence, the exit code, and the file it is about.
    Told {
        /// Exit code.
        code: u8,
        /// What went wrong, and what to do about it.
        message: String,
        /// The file, or empty.
        file: String,
    },
    /// A scene with errors. They have been shown; here they are as records.
    Scene {
        /// The file as the user named it.
        file: String,
        /// Errors and warnings.
        diagnostics: Vec<Record>,
    },
}

impl Failure {
    /// A file that cannot be used as input.
    pub fn input(file: impl Into<String>, message: impl Into<String>) -> Self {
        Failure::Told { code: BAD_INPUT, message: message.into(), file: file.into() }
    }

    /// Work that failed for reasons outside of the input.
    pub fn failed(message: impl Into<String>) -> Self {
        Failure::Told { code: FAILED, message: message.into(), file: String::new() }
    }

    /// Tells the user (and, with `--json`, the script) and gives the exit code.
    pub fn report(self, json: bool) -> u8 {
        let (code, file, diagnostics) = match self {
            Failure::ReaderGone => return OK,
            Failure::Told { code, message, file } => {
                terminal::error(&message);
                (code, file.clone(), vec![record(message, file)])
            }
            Failure::Scene { file, diagnostics } => (BAD_INPUT, file, diagnostics),
        };
        if json {
            let object = json!({ "scene": file, "outcome": "error", "diagnostics": diagnostics });
            // There is nobody left to tell when this fails.
            let _ = terminal::print_json(&object);
        }
        code
    }
}

/// A complaint about a file as a whole, in the shape of the complaints about its text.
fn record(message: String, file: String) -> Record {
    Record {
        code: codes::NO_FILE.id,
        severity: Severity::Error,
        message,
        file,
        line: 1,
        column: 1,
        end_line: 1,
        end_column: 1,
        source: String::new(),
        hint: None,
        related: Vec::new(),
    }
}
