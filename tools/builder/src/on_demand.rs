//! Tools that are built when they are first asked for: most users never need them, and they take minutes to build.
//!
//! A stamp says when the sources were last looked at. As long as nothing under `tools/` is newer, cargo is not called.

use output::{without_bar, Failure, Output};
use project::Project;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// A program of the workspace that the entry does not build.
#[derive(Debug, Clone, Copy)]
pub struct OnDemand {
    pub program: &'static str,
    /// What it is, for messages.
    pub what: &'static str,
    /// How long the first build takes.
    pub takes: &'static str,
}

pub const ANALYSER: OnDemand =
    OnDemand { program: "wcet", what: "the timing analyser", takes: "three to five minutes on two cores" };
pub const COMPARISON: OnDemand = OnDemand {
    program: "wcet-compare",
    what: "the comparison of bounds with measurements",
    takes: "three to five minutes on two cores",
};
pub const FOREIGN: OnDemand = OnDemand {
    program: "wcet-foreign",
    what: "the analysis of kernels of others",
    takes: "three to five minutes on two cores",
};
pub const SUITES: OnDemand = OnDemand {
    program: "wcet-suites",
    what: "the analysis of suites of others",
    takes: "three to five minutes on two cores",
};
pub const DRIVER_CHECKER: OnDemand =
    OnDemand { program: "drivercheck", what: "the driver checker", takes: "about a minute on two cores" };
pub const VALIDATOR: OnDemand = OnDemand {
    program: "validate",
    what: "the validator of machine code",
    takes: "three to five minutes on two cores",
};

impl OnDemand {
    /// The path of the program, which is built if it is missing or if a source has changed.
    pub fn ready(&self, project: &Project, output: &Output) -> Result<PathBuf, Failure> {
        if project.is_distribution() {
            return Err(Failure::unable(
                format!("a distribution does not have {}", self.what),
                "use Ashlar's source tree, where it is built when it is first asked for",
            ));
        }
        let program = Project::tool(self.program);
        let stamp = project.build().join(format!("tools/{}.stamp", self.program));
        // An installed tool has its programs beside it and no sources to build them from.
        let Some(target) = target().filter(|_| !is_up_to_date(&program, &stamp, &project.root().join("tools"))) else {
            return Ok(program);
        };
        let begun = SystemTime::now();
        self.build(&program, &target, project, output)?;
        set_stamp(&stamp, begun)
            .map_err(|error| Failure::unable(format!("{}: {error}", stamp.display()), "is the disk full?"))?;
        Ok(program)
    }

    fn build(&self, program: &Path, target: &Path, project: &Project, output: &Output) -> Result<(), Failure> {
        let cargo = std::env::var_os("ASHLAR_CARGO").map_or_else(|| PathBuf::from("cargo"), PathBuf::from);
        let mut command = Command::new(cargo);
        // With features as the whole workspace has them: else cargo compiles libraries once more that the tests or the entry
        // have compiled already.
        command.args(["build", "--release", "--locked", "--workspace", "--bin", self.program]);
        command.arg("--target-dir").arg(target);
        // A copy of the tree may share this folder by a link: to cargo the same package at another path is another.
        let manifest = project.root().join("tools/Cargo.toml");
        command.arg("--manifest-path").arg(manifest.canonicalize().unwrap_or(manifest));
        let is_first = !program.is_file();
        if is_first {
            output.note(&format!("building {}, once: {}", self.what, self.takes));
        } else {
            output.note(&format!("building {} again: sources have changed", self.what));
        }
        if output.is_quiet() || !is_first && !output.is_verbose() {
            command.arg("--quiet");
        }
        output.detail(&format!("+ {command:?}"));
        let status = match without_bar(|| command.status()) {
            Ok(status) => status,
            Err(error) => {
                return Err(Failure::unable(format!("cargo cannot be started: {error}"), "run ./ashlar doctor"))
            }
        };
        if status.success() {
            return Ok(());
        }
        let remedy = "cargo's errors are above; run ./ashlar doctor";
        Err(Failure::unable(format!("{} could not be built", self.what), remedy))
    }
}

/// The folder of what cargo has built, if this program stands in one.
fn target() -> Option<PathBuf> {
    let here = std::env::current_exe().ok()?;
    let folder = here.parent()?;
    (folder.file_name()? == "release").then(|| folder.parent().map(Path::to_path_buf)).flatten()
}

/// Whether there is a program, and nothing that it is made of is newer than the stamp.
fn is_up_to_date(program: &Path, stamp: &Path, sources: &Path) -> bool {
    let modified = |path: &Path| path.metadata().and_then(|about| about.modified()).ok();
    program.is_file() && modified(stamp).is_some_and(|built| !has_newer(sources, built, true))
}

/// Whether something in the folder changed after a time. Folders count: a file may have been removed from one. What cargo
/// writes, `target` in the topmost folder, does not.
fn has_newer(folder: &Path, time: SystemTime, is_top: bool) -> bool {
    let Ok(entries) = folder.read_dir() else { return true };
    entries.filter_map(Result::ok).filter(|entry| !is_top || entry.file_name() != "target").any(|entry| {
        let is_newer = entry.metadata().and_then(|about| about.modified()).map_or(true, |changed| changed > time);
        is_newer || entry.file_type().is_ok_and(|kind| kind.is_dir()) && has_newer(&entry.path(), time, false)
    })
}

fn set_stamp(stamp: &Path, time: SystemTime) -> std::io::Result<()> {
    if let Some(folder) = stamp.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::File::create(stamp)?.set_modified(time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use testing::Folder;

    /// A tree with one source, a program, and a stamp of `age` seconds ago; all else is older.
    fn tree() -> (Folder, PathBuf, PathBuf, PathBuf) {
        let root = Folder::new("on-demand");
        let (sources, stamp) = (root.join("tools"), root.join("build/tools/x.stamp"));
        root.write("tools/x/src/main.rs", "");
        let program = root.write("tools/target/x", "");
        set_stamp(&stamp, SystemTime::now() + Duration::from_secs(1)).unwrap();
        (root, program, stamp, sources)
    }

    #[test]
    fn cargo_is_called_only_if_something_changed() {
        let (_root, program, stamp, sources) = tree();
        assert!(is_up_to_date(&program, &stamp, &sources));
        let later = SystemTime::now() + Duration::from_secs(10);
        let touch = |path: &Path, time| std::fs::File::open(path).unwrap().set_modified(time).unwrap();
        touch(&sources.join("target"), later);
        assert!(is_up_to_date(&program, &stamp, &sources), "what cargo writes does not count");
        touch(&sources.join("x/src/main.rs"), later);
        assert!(!is_up_to_date(&program, &stamp, &sources), "a source is newer");
        touch(&sources.join("x/src/main.rs"), SystemTime::now());
        touch(&sources.join("x/src"), later);
        assert!(!is_up_to_date(&program, &stamp, &sources), "a file may have been removed");
        touch(&sources.join("x/src"), SystemTime::now());
        std::fs::remove_file(&program).unwrap();
        assert!(!is_up_to_date(&program, &stamp, &sources), "there is no program");
    }

    #[test]
    fn without_a_stamp_cargo_decides() {
        let (_root, program, stamp, sources) = tree();
        std::fs::remove_file(&stamp).unwrap();
        assert!(!is_up_to_date(&program, &stamp, &sources));
    }
}
