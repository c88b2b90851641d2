//! Why a command ends without a result, and the exit codes that scripts rely on.

use crate::terminal;
use linkwork::scene::{Record, codes};
use serde_json::{Value, json};

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
                (code, file.clone(), json!([record(&message, &file)]))
            }
            Failure::Scene { file, diagnostics } => (BAD_INPUT, file, json!(diagnostics)),
        };
        if json {
            let scene = if file.is_empty() { Value::Null } else { json!(file) };
            let object = json!({ "scene": scene, "outcome": "error", "diagnostics": diagnostics });
            // There is nobody left to tell when this fails.
            let _ = terminal::print_json(&object);
        }
        code
    }
}

/// A complaint about a file as a whole, or about none, in the shape of the complaints about a scene's text.
fn record(message: &str, file: &str) -> Value {
    let (code, file) =
        if file.is_empty() { (Value::Null, Value::Null) } else { (json!(codes::NO_FILE.id), json!(file)) };
    json!({ "code": code, "severity": "error", "message": message, "file": file, "line": null, "column": null })
}
