//! Processor time of a check: of its thread and its solver. Unlike wall-clock time it does not depend on other load.

use crate::solver::Solver;
use std::time::{Duration, Instant};

/// Moments of the thread and of the solver.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    start: Instant,
    thread: Duration,
    solver: Duration,
}

impl Clock {
    pub fn start(solver: &Solver) -> Self {
        Clock { start: Instant::now(), thread: thread(), solver: process(solver.process()) }
    }

    /// Whether more was spent. Two processes take no more than twice the time on the wall, which is quicker to ask for.
    pub fn is_over(&self, limit: Duration, solver: &Solver) -> bool {
        self.start.elapsed() * 2 > limit && self.spent(solver) > limit
    }

    /// Since the start.
    pub fn spent(&self, solver: &Solver) -> Duration {
        thread().saturating_sub(self.thread) + process(solver.process()).saturating_sub(self.solver)
    }
}

fn thread() -> Duration {
    scheduled("/proc/thread-self/schedstat")
}

/// Of a process with one thread.
fn process(number: u32) -> Duration {
    scheduled(&format!("/proc/{number}/schedstat"))
}

/// The first number of the file: nanoseconds on a processor.
fn scheduled(path: &str) -> Duration {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let nanoseconds = text.split_whitespace().next().and_then(|word| word.parse().ok());
    Duration::from_nanos(nanoseconds.unwrap_or(0))
}

/// Of this process, all its threads and all children that have ended, in steps of 10 ms.
pub fn everything() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Behind the name, which may hold anything but ends with the last bracket: times are the 12th to the 15th word.
    let words = text.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(4);
    let ticks: u64 = words.filter_map(|word| word.parse::<u64>().ok()).sum();
    // The kernel shows hundredths of seconds to programs, whatever it counts in.
    Duration::from_millis(ticks * 10)
}
