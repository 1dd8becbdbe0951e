//! Tests that run on this machine without an emulator, gates among them: `tests/host/NAME.toml`.
//!
//! ```toml
//! about = "one line for people"
//! command = "make -C kernel test"   # of the shell, in the root of the tree; $CARGO is the cargo to be used
//! probe = "clang-format --version"  # the test is skipped where this fails ...
//! package = "clang-format"          # ... because of this package
//! remedy = "run `clang-format -i`"  # what to do where the test fails, for gates
//! needs = { seconds = 60 }          # see `needs`
//! ```

use super::log::Log;
use super::needs::Needs;
use super::Outcome;
use output::{Failure, Output};
use project::Project;
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

/// Lines shown of each stream of a test that failed.
const LAST_LINES: usize = 60;
/// No host test takes so long, on a slow machine either.
const TIMEOUT_SECONDS: &str = "7200";

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostTest {
    pub about: String,
    command: String,
    probe: Option<String>,
    package: Option<String>,
    remedy: Option<String>,
    #[serde(default)]
    pub needs: Needs,
}

impl HostTest {
    pub fn read(path: &Path) -> Result<HostTest, Failure> {
        let fault =
            |text: String| Failure::unable(format!("{}: {text}", path.display()), "see tools/cases/src/host.rs");
        let text = std::fs::read_to_string(path).map_err(|error| fault(error.to_string()))?;
        let test: HostTest = toml::from_str(&text).map_err(|error| fault(error.to_string()))?;
        if test.probe.is_some() != test.package.is_some() {
            return Err(fault("give both probe and package, or neither".into()));
        }
        Ok(test)
    }

    pub fn run(&self, name: &str, project: &Project, output: &Output) -> Outcome {
        if let (Some(probe), Some(package)) = (&self.probe, &self.package) {
            if !shell(probe, project).output().is_ok_and(|done| done.status.success()) {
                return Outcome::Skipped(format!("`{probe}` fails: install {package}"));
            }
        }
        output.detail(&format!("+ {}", self.command.trim()));
        let done = match shell(&self.command, project).output() {
            Ok(done) => done,
            Err(error) => return Outcome::Failed(format!("the shell cannot be started: {error}")),
        };
        if done.status.success() {
            return Outcome::Passed;
        }
        let mut log = Log::new(name, project);
        log.part("", &done.stdout, LAST_LINES);
        log.part("", &done.stderr, LAST_LINES);
        let remedy = self.remedy.iter().map(|remedy| format!("\nmend: {remedy}")).collect::<String>();
        Outcome::Failed(format!("{}{}{remedy}", done.status, log.finish()))
    }
}

/// A shell command in the root of the tree.
fn shell(command: &str, project: &Project) -> Command {
    let mut shell = Command::new("timeout");
    shell.args([TIMEOUT_SECONDS, "sh", "-c", command]).current_dir(project.root());
    // The entry may have found a cargo outside PATH; it says which.
    shell.env("CARGO", std::env::var_os("ASHLAR_CARGO").unwrap_or_else(|| "cargo".into()));
    // A failed assertion says where it stands; what called it is noise here.
    shell.env("RUST_BACKTRACE", "0");
    shell
}

#[cfg(test)]
mod tests {
    use super::HostTest;
    use std::path::Path;

    #[test]
    fn every_host_test_of_the_tree_can_be_read() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/host");
        for name in project::stems(&folder, "toml") {
            HostTest::read(&folder.join(format!("{name}.toml"))).unwrap();
        }
    }
}
