//! `test`: runs the tests side by side and counts them.

mod junit;

use crate::cli::TestOptions;
use crate::results::{Listed, TestOutcome, TestResult};
use builder::Builds;
use cases::{self, Capacity, Event, Outcome, Test};
use output::{complain, entry, Failure, Output};
use project::Project;
use std::path::Path;
use std::time::Instant;

/// Tests named at the end as the slowest.
const SLOWEST: usize = 5;
/// Lines said again, at the end of a run of many tests, of each that failed.
const LAST_LINES: usize = 12;

#[derive(Debug)]
struct Failed {
    name: String,
    why: String,
}

#[derive(Debug, Default)]
struct Tally {
    passed: usize,
    failed: Vec<Failed>,
    skipped: usize,
    times: Vec<(f64, String)>,
    results: Vec<TestOutcome>,
}

pub fn test(options: &TestOptions, project: &Project, output: &Output) -> Result<(), Failure> {
    let tests = chosen(cases::all(project, options.emulator)?, options.filter.as_deref());
    if options.list {
        tests.iter().for_each(|test| output.human(&format!("{:28} {}", test.name, test.about)));
        let listed = |test: &Test| Listed { name: test.name.clone(), about: test.about.clone() };
        output.json(&TestResult::List { tests: tests.iter().map(listed).collect() });
        return Ok(());
    }
    if tests.is_empty() && options.filter.is_none() {
        return Err(Failure::unable("there are no tests", "write tests/NAME.toml or tests/NAME.c in the project"));
    }
    if tests.is_empty() {
        return Err(Failure::unable("no test has such a name", "`ashlar test --list` names them all"));
    }
    let started = Instant::now();
    let mut tally = Tally::default();
    let progress = output.progress(tests.len());
    let builds = Builds::new(project);
    // The consoles of two tests would be interleaved.
    let capacity = Capacity::of_this_machine(if options.show { Some(1) } else { options.cores });
    let run = |test: &Test| test.run(&builds, output, options.show);
    cases::run_all(&tests, capacity, run, |test, event| match event {
        Event::Began => progress.step(&test.name),
        Event::Ended(outcome, time) => tally.count(test, outcome, time.as_secs_f64(), output),
    });
    let seconds = started.elapsed().as_secs_f64();
    if let Some(file) = &options.junit {
        write_junit(file, &tally.results, seconds)?;
    }
    tally.report(seconds, output)
}

/// Writes the results as JUnit XML, and makes the folder that the file goes to.
fn write_junit(file: &Path, results: &[TestOutcome], seconds: f64) -> Result<(), Failure> {
    let folder = file.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| std::fs::write(file, junit::xml(results, seconds))).map_err(|error| {
        Failure::unable(
            format!("{} cannot be written: {error}", file.display()),
            "check the folder and its permissions",
        )
    })
}

/// Tests whose name contains `filter`; only the one that has it as its whole name, if there is one.
fn chosen(tests: Vec<Test>, filter: Option<&str>) -> Vec<Test> {
    let Some(filter) = filter else { return tests };
    let exact = tests.iter().any(|test| test.name == filter);
    tests.into_iter().filter(|test| if exact { test.name == filter } else { test.name.contains(filter) }).collect()
}

impl Tally {
    fn count(&mut self, test: &Test, outcome: Outcome, seconds: f64, output: &Output) {
        self.times.push((seconds, test.name.clone()));
        let (word, why) = match outcome {
            Outcome::Passed => {
                self.passed += 1;
                output.human(&format!("ok    {} ({seconds:.1} s)", test.name));
                ("passed", None)
            }
            Outcome::Skipped(why) => {
                self.skipped += 1;
                output.human(&format!("skip  {}: {why}", test.name));
                ("skipped", Some(why))
            }
            Outcome::Failed(why) => {
                self.failed.push(Failed { name: test.name.clone(), why: why.clone() });
                output.human(&format!("FAIL  {} ({seconds:.1} s)", test.name));
                complain(format!(
                    "{}: {}\n{why}\n--- again alone:  {} test {} --show\n",
                    test.name,
                    test.about,
                    entry(),
                    test.name
                ));
                ("failed", Some(why))
            }
        };
        self.results.push(TestOutcome { name: test.name.clone(), outcome: word, seconds, why });
    }

    fn report(mut self, seconds: f64, output: &Output) -> Result<(), Failure> {
        let failed = self.failed.len();
        let (passed, skipped) = (self.passed, self.skipped);
        output.json(&TestResult::Run { passed, failed, skipped, seconds, tests: self.results });
        if self.times.len() > 1 {
            self.failed.iter().for_each(|failed| complain(failed.in_short()));
            self.times.sort_by(|a, b| b.0.total_cmp(&a.0));
            let slowest: Vec<String> =
                self.times.iter().take(SLOWEST).map(|(time, name)| format!("{name} {time:.0} s")).collect();
            output.human(&format!("slowest of {seconds:.0} s: {}", slowest.join(", ")));
        }
        output.human(&format!("{passed} passed, {failed} failed, {skipped} skipped"));
        if failed == 0 {
            return Ok(());
        }
        let names: Vec<&str> = self.failed.iter().map(|failed| failed.name.as_str()).collect();
        Err(Failure::Finding(format!("failed: {}", names.join(", "))))
    }
}

impl Failed {
    /// The last lines of what was said: in a run of hundreds of tests the whole stands far above.
    fn in_short(&self) -> String {
        let lines: Vec<&str> = self.why.lines().collect();
        format!("{} failed:\n{}\n", self.name, lines[lines.len().saturating_sub(LAST_LINES)..].join("\n"))
    }
}
