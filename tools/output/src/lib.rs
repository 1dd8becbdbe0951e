//! Output, as text or JSON: results on standard output, progress and failures on standard error.

mod failure;
mod folder;
pub mod table;

use clap::ValueEnum;
pub use failure::{CommandError, CommandFailed, Failure};
pub use folder::OwnFolder;
use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use serde_json::json;
use std::cell::Cell;
use std::fmt::Display;
use std::io::{ErrorKind, IsTerminal, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often the bar's clock is drawn.
const TICK: Duration = Duration::from_millis(500);

/// The bar below the last line of a terminal, while steps are counted. Whatever prints a line hides it meanwhile.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Human,
    Json,
}

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
            complain(text);
        }
    }

    /// A line that only `-v` shows, such as a command that is about to run.
    pub fn detail(&self, text: &str) {
        if self.is_verbose() {
            complain(text);
        }
    }

    /// A step of a long verb: `[3/7] text`. On a terminal a bar below says how many of the steps are done.
    pub fn step(&self, text: &str, number: usize, done: usize, total: usize) {
        self.note(&format!("[{number}/{total}] {text}"));
        if self.quiet || self.is_verbose() || !has_bar() {
            return;
        }
        let mut shown = bar();
        let bar = shown.get_or_insert_with(new_bar);
        bar.set_length(total as u64);
        bar.set_position(done as u64);
    }

    /// Takes the bar away.
    pub fn end_steps(&self) {
        if let Some(bar) = bar().take() {
            bar.finish_and_clear();
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
    pub fn json(&self, result: &impl Serialize) {
        if self.is_json() {
            print_line(json!(result));
        }
    }

    /// The end of a verb that did not succeed.
    pub fn failure(&self, failure: &Failure) {
        match failure {
            Failure::Passed(_) => {}
            Failure::Finding(text) if text.is_empty() => {}
            Failure::Finding(text) => complain(format!("ashlar: {text}")),
            Failure::Faults(report) => {
                // Faults are what was asked for, so they are a result.
                self.json(&report.to_json());
                if !self.is_json() {
                    print_line(report.render(diagnostics::Style::stdout()).trim_end());
                }
            }
            Failure::Unable { message, remedy } => {
                let remedy = remedy.replace("./ashlar", entry());
                let error = CommandError { message: message.clone(), remedy: remedy.clone() };
                self.json(&CommandFailed { error });
                eprintln!("ashlar: {message}");
                if !remedy.is_empty() {
                    eprintln!("  help: {remedy}");
                }
            }
        }
    }
}

/// What a user types to run this tool: the entry of the tree's root where it stands in the current folder, elsewhere the name.
pub fn entry() -> &'static str {
    if Path::new("ashlar").is_file() {
        "./ashlar"
    } else {
        "ashlar"
    }
}

/// What a shell says of a program that ended because the reader of its output has gone. Not 0: the rest may have said that something is wrong.
pub const READER_GONE: u8 = 128 + 13;

/// A line on standard output. When its reader has gone, as `head` does once it has enough, there is nothing left to do.
pub fn print_line(line: impl Display) {
    let written = without_bar(|| writeln!(std::io::stdout(), "{line}"));
    if written.is_err_and(|error| error.kind() == ErrorKind::BrokenPipe) {
        std::process::exit(READER_GONE.into());
    }
}

/// Steps of a long verb, counted.
pub struct Progress<'a> {
    output: &'a Output,
    total: usize,
    done: Cell<usize>,
}

impl Progress<'_> {
    /// Begins the next step.
    pub fn step(&self, text: &str) {
        let done = self.done.replace(self.done.get() + 1);
        self.output.step(text, done + 1, done, self.total);
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        // Within a step that shows its own, there is nothing to take away.
        if !self.output.quiet {
            self.output.end_steps();
        }
    }
}

fn bar() -> MutexGuard<'static, Option<ProgressBar>> {
    BAR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether standard error is a terminal on which a line can be drawn again.
fn has_bar() -> bool {
    std::io::stderr().is_terminal() && std::env::var_os("TERM").is_some_and(|name| name != "dumb")
}

/// Without colours, so that `NO_COLOR` changes nothing.
fn new_bar() -> ProgressBar {
    let bar = ProgressBar::new(0);
    if let Ok(style) = ProgressStyle::with_template("[{bar:30}] {pos} of {len} done, {elapsed}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar.enable_steady_tick(TICK);
    bar
}

/// Lets others print, with the bar out of their way.
pub fn without_bar<T>(print: impl FnOnce() -> T) -> T {
    let shown = bar().clone();
    match shown {
        Some(bar) => bar.suspend(print),
        None => print(),
    }
}

/// A line on standard error.
pub fn complain(line: impl Display) {
    without_bar(|| eprintln!("{line}"));
}
