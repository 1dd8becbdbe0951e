//! Output, as text or JSON: results on standard output, progress and failures on standard error.

use crate::cli::Format;
use crate::failure::Failure;
use crate::results::{CommandError, CommandFailed};
use serde_json::{json, Value};
use std::cell::Cell;
use std::fmt::Display;
use std::io::{ErrorKind, Write};

pub struct Output {
    format: Format,
    verbose: u8,
    quiet: bool,
}

impl Output {
    pub fn new(format: Format, verbose: u8, quiet: bool) -> Output {
        Output { format, verbose, quiet }
    }

    /// The same without progress, for work inside a step that shows its own.
    pub fn only_failures(&self) -> Output {
        Output { format: self.format, verbose: self.verbose, quiet: self.verbose == 0 }
    }

    pub fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    pub fn is_quiet(&self) -> bool {
        self.quiet
    }

    pub fn is_verbose(&self) -> bool {
        self.verbose > 0
    }

    /// A line about what is going on, for people.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }

    /// A line that only `-v` shows, such as a command that is about to run.
    pub fn detail(&self, text: &str) {
        if self.is_verbose() {
            eprintln!("{text}");
        }
    }

    /// Counted progress over `total` steps.
    pub fn progress(&self, total: usize) -> Progress<'_> {
        Progress { output: self, total, done: Cell::new(0) }
    }

    /// A result for people; nothing if a program reads.
    pub fn human(&self, text: &str) {
        if !self.is_json() {
            print_line(text);
        }
    }

    /// The one result for a program; nothing if people read.
    pub fn json(&self, value: &Value) {
        if self.is_json() {
            print_line(value);
        }
    }

    /// The end of a verb that did not succeed.
    pub fn failure(&self, failure: &Failure) {
        match failure {
            Failure::Passed(_) => {}
            Failure::Finding(text) if text.is_empty() => {}
            Failure::Finding(text) => {
                eprintln!("ashlar: {text}");
            }
            Failure::Faults(report) => {
                // Faults are what was asked for, so they are a result.
                self.json(&report.to_json());
                if !self.is_json() {
                    print_line(report.render(diagnostics::Style::stdout()).trim_end());
                }
            }
            Failure::Unable { message, remedy } => {
                let error = CommandError { message: message.clone(), remedy: remedy.clone() };
                self.json(&json!(CommandFailed { error }));
                eprintln!("ashlar: {message}");
                if !remedy.is_empty() {
                    eprintln!("  help: {remedy}");
                }
            }
        }
    }
}

/// A line on standard output. When its reader has gone, as `head` does once it has enough, there is nothing left to do.
fn print_line(line: impl Display) {
    if writeln!(std::io::stdout(), "{line}").is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        std::process::exit(0);
    }
}

/// Steps of a long verb: `[3/7] text` on standard error.
pub struct Progress<'a> {
    output: &'a Output,
    total: usize,
    done: Cell<usize>,
}

impl Progress<'_> {
    /// Begins the next step.
    pub fn step(&self, text: &str) {
        self.done.set(self.done.get() + 1);
        self.output.note(&format!("[{}/{}] {text}", self.done.get(), self.total));
    }
}
