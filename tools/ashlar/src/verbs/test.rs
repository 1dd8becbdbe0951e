//! `test`: runs the tests and counts them.

use crate::cases::{self, Outcome, Test};
use crate::cli::TestOptions;
use crate::failure::Failure;
use crate::output::Output;
use project::Project;
use serde_json::json;
use std::time::Instant;

#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: Vec<String>,
    skipped: usize,
}

pub fn test(options: &TestOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let tests = chosen(cases::all(project)?, options.filter.as_deref());
    if options.list {
        tests.iter().for_each(|test| output.human(&format!("{:28} {}", test.name, test.about)));
        let list: Vec<_> = tests.iter().map(|test| json!({ "name": test.name, "about": test.about })).collect();
        output.json(&json!({ "tests": list }));
        return Ok(());
    }
    if tests.is_empty() {
        return Err(Failure::unable("no test has such a name", "`ashlar test --list` names them all"));
    }
    let mut tally = Tally::default();
    let progress = output.progress(tests.len());
    for test in &tests {
        progress.step(&test.name);
        let started = Instant::now();
        let outcome = test.run(project, output, options.show);
        tally.count(test, outcome, started.elapsed().as_secs_f64(), output);
    }
    tally.report(output)
}

/// Tests whose name contains `filter`; only the one that has it as its whole name, if there is one.
fn chosen(tests: Vec<Test>, filter: Option<&str>) -> Vec<Test> {
    let Some(filter) = filter else { return tests };
    let exact = tests.iter().any(|test| test.name == filter);
    tests.into_iter().filter(|test| if exact { test.name == filter } else { test.name.contains(filter) }).collect()
}

impl Tally {
    fn count(&mut self, test: &Test, outcome: Outcome, seconds: f64, output: &Output) {
        match outcome {
            Outcome::Passed => {
                self.passed += 1;
                output.human(&format!("ok    {} ({seconds:.1} s)", test.name));
            }
            Outcome::Skipped(why) => {
                self.skipped += 1;
                output.human(&format!("skip  {}: {why}", test.name));
            }
            Outcome::Failed(why) => {
                self.failed.push(test.name.clone());
                output.human(&format!("FAIL  {} ({seconds:.1} s)", test.name));
                eprintln!(
                    "{}: {}\n{why}\n--- again alone:  ./ashlar test {} --show\n",
                    test.name, test.about, test.name
                );
            }
        }
    }

    fn report(self, output: &Output) -> Result<(), Failure> {
        let failed = self.failed.len();
        output.json(&json!({ "passed": self.passed, "failed": failed, "skipped": self.skipped }));
        output.human(&format!("{} passed, {failed} failed, {} skipped", self.passed, self.skipped));
        if failed == 0 {
            return Ok(());
        }
        Err(Failure::Finding(format!("failed: {}", self.failed.join(", "))))
    }
}
