//! Running tests side by side as the schedule has it.

use super::needs::Capacity;
use super::schedule::Schedule;
use super::{Outcome, Test};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// What happens to a test.
#[derive(Debug)]
pub enum Event {
    Began,
    Ended(Outcome, Duration),
}

/// Runs every test by `run`, each on a thread of its own; `report` is called on this thread, so that reports never mix.
pub fn run_all(
    tests: &[Test],
    capacity: Capacity,
    run: impl Fn(&Test) -> Outcome + Sync,
    mut report: impl FnMut(&Test, Event),
) {
    let mut schedule = Schedule::new(tests.iter().map(Test::needs), capacity);
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        while !schedule.is_done() {
            while let Some(number) = schedule.begin() {
                let (sender, run, test) = (sender.clone(), &run, &tests[number]);
                report(test, Event::Began);
                scope.spawn(move || {
                    let started = Instant::now();
                    let outcome = catch_unwind(AssertUnwindSafe(|| run(test)))
                        .unwrap_or_else(|_| Outcome::Failed("the test's own code panicked; see above".into()));
                    // The receiver lives as long as this scope.
                    let _ = sender.send((number, outcome, started.elapsed()));
                });
            }
            // A sender lives here, so that this fails only if there is none; then nothing can be waited for either.
            let Ok((number, outcome, time)) = receiver.recv() else { return };
            schedule.end(number);
            report(&tests[number], Event::Ended(outcome, time));
        }
    });
}
