//! Running the Makefiles.

use output::{Failure, Output};
use project::Project;
use std::process::Command;

/// Runs make in `folder` of the tree with `arguments` (targets and variables). Its output shows only with `-v` or if
/// it fails.
pub fn make(project: &Project, folder: &str, arguments: &[&str], output: &Output) -> Result<(), Failure> {
    capture(project, folder, arguments, output).map(|_| ())
}

/// Like `make`, and gives what it printed.
pub fn capture(project: &Project, folder: &str, arguments: &[&str], output: &Output) -> Result<String, Failure> {
    let path = project.root().join(folder);
    let jobs = std::thread::available_parallelism().map_or(1, |count| count.get());
    let mut command = Command::new("make");
    command.arg("--no-print-directory").arg(format!("-j{jobs}")).arg("-C").arg(&path).args(arguments);
    let shown = format!("make -C {folder} {}", arguments.join(" "));
    output.detail(&format!("+ {shown}"));
    let done = command
        .output()
        .map_err(|error| Failure::unable(format!("make cannot be started: {error}"), "run ./ashlar doctor"))?;
    let text = String::from_utf8_lossy(&done.stdout).into_owned();
    let complaints = String::from_utf8_lossy(&done.stderr);
    if output.is_verbose() {
        eprint!("{text}{complaints}");
    }
    if done.status.success() {
        Ok(text)
    } else {
        Err(Failure::Finding(format!("`{}` failed:\n{text}{}", shown.trim_end(), complaints.trim_end())))
    }
}
