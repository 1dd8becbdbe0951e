//! Tests that run on this machine without an emulator.

use super::Outcome;
use crate::output::Output;
use project::Project;
use std::process::Command;

/// Lines shown of a test that failed.
const LAST_LINES: usize = 60;

/// A command that succeeds if the test passes.
#[derive(Debug)]
pub struct HostTest {
    pub name: &'static str,
    pub about: &'static str,
    program: &'static str,
    arguments: &'static [&'static str],
    folder: &'static str,
}

/// Every such test.
pub fn all() -> Vec<HostTest> {
    vec![
        HostTest {
            name: "tools",
            about: "unit and integration tests of the tools",
            program: "cargo",
            arguments: &["test", "--quiet", "--release", "--locked", "--workspace", "--no-fail-fast"],
            folder: "tools",
        },
        HostTest {
            name: "kernel-unit",
            about: "hosted unit and property tests of the layers",
            program: "make",
            arguments: &["--no-print-directory", "test"],
            folder: "kernel",
        },
        HostTest {
            name: "kernel-unit-address",
            about: "the same under AddressSanitizer",
            program: "make",
            arguments: &["--no-print-directory", "test", "SAN=address"],
            folder: "kernel",
        },
        HostTest {
            name: "kernel-unit-thread",
            about: "the same under ThreadSanitizer",
            program: "make",
            arguments: &["--no-print-directory", "test", "SAN=thread"],
            folder: "kernel",
        },
        HostTest {
            name: "timing-kernel",
            about: "everything of the kernel has a bound, and the page of the documentation gives those of this kernel",
            program: "sh",
            arguments: &[
                "-c",
                "make --no-print-directory -C ../kernel && \
                 \"${ASHLAR_CARGO:-cargo}\" test --quiet --release --locked --package wcet-cli --test suite -- --ignored whole_kernel",
            ],
            folder: "tools",
        },
        HostTest {
            name: "user-unit",
            about: "hosted unit tests of the user library and the monitor's devices",
            program: "make",
            arguments: &["--no-print-directory", "test"],
            folder: "user",
        },
    ]
}

impl HostTest {
    pub fn run(&self, project: &Project, output: &Output) -> Outcome {
        output.detail(&format!("+ cd {} && {} {}", self.folder, self.program, self.arguments.join(" ")));
        // The entry may have found a cargo outside PATH; it says which.
        let cargo = std::env::var_os("ASHLAR_CARGO").filter(|_| self.program == "cargo");
        let mut command = Command::new(cargo.unwrap_or_else(|| self.program.into()));
        command.args(self.arguments).current_dir(project.root().join(self.folder));
        // A failed assertion says where it stands; what called it is noise here.
        command.env("RUST_BACKTRACE", "0");
        let done = match command.output() {
            Ok(done) => done,
            Err(error) => return Outcome::Failed(format!("{} cannot be started: {error}", self.program)),
        };
        if done.status.success() {
            return Outcome::Passed;
        }
        let text = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
        let lines: Vec<&str> = text.lines().collect();
        let last = &lines[lines.len().saturating_sub(LAST_LINES)..];
        Outcome::Failed(format!("{}\n{}", done.status, last.join("\n")))
    }
}
