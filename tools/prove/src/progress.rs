//! Progress of a long run.

use std::cell::Cell;

/// Where lines about the course of a run go.
pub trait Progress: Sync {
    fn note(&self, text: &str);

    /// One of `total` steps.
    fn step(&self, done: usize, total: usize, text: &str) {
        self.note(&format!("[{done}/{total}] {text}"));
    }
}

/// No progress output.
pub struct Silent;

impl Progress for Silent {
    fn note(&self, _text: &str) {}
}

/// Steps that are counted one after the other.
pub struct Steps<'a> {
    progress: &'a dyn Progress,
    total: usize,
    done: Cell<usize>,
}

impl Steps<'_> {
    pub fn new(progress: &dyn Progress, total: usize) -> Steps<'_> {
        Steps { progress, total, done: Cell::new(0) }
    }

    pub fn next(&self, text: &str) {
        self.done.set(self.done.get() + 1);
        self.progress.step(self.done.get(), self.total, text);
    }
}
