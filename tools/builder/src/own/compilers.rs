//! How programs are compiled and linked, as user/Makefile says.

use super::{folder, Broken, Fault};
use crate::make;
use crate::KernelOptions;
use output::{Failure, Output};
use project::Project;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compilers of a project's programs.
pub(super) struct Compilers<'a> {
    /// The project's folder; the compilers run there, so that their messages name files as the user does.
    pub(super) own: &'a Path,
    /// Where what they make goes.
    pub(super) folder: PathBuf,
    /// The command that compiles C, and the one that links it.
    pub(super) compile: Vec<String>,
    pub(super) link: Vec<String>,
    /// The target for which Rust is compiled, and the flags of its compiler.
    pub(super) rust: Vec<String>,
    /// What every program is linked with.
    pub(super) library: Vec<PathBuf>,
    /// The folder `user` of Ashlar's tree.
    pub(super) user: PathBuf,
    pub(super) output: &'a Output,
}

impl<'a> Compilers<'a> {
    pub(super) fn of(
        options: &KernelOptions,
        project: &Project,
        own: &'a Path,
        output: &'a Output,
    ) -> Result<Compilers<'a>, Failure> {
        let user = project.root().join("user");
        let debug = format!("DEBUG={}", u8::from(options.debug));
        let said = make::capture(project, "user", &["-s", "program-compiler", &debug], output)?;
        let mut lines = said.lines().map(|line| line.split_whitespace().map(|word| absolute(word, &user)).collect());
        let (Some(compile), Some(link), Some(rust)) = (lines.next(), lines.next(), lines.next()) else {
            return Err(Failure::unable("user/Makefile does not say how programs are compiled", "restore the file"));
        };
        let made = project.build().join(if options.debug { "user-debug/obj" } else { "user/obj" });
        let library = ["libc/crt0.S.o", "libashlar.a"].map(|file| made.join(file)).to_vec();
        Ok(Compilers { own, folder: folder(project, options), compile, link, rust, library, user, output })
    }

    pub(super) fn command(&self, words: &[String]) -> Command {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(self.own);
        command
    }

    /// What a compiler of C has to say of what it has done.
    pub(super) fn run(&self, mut command: Command) -> Result<String, Fault> {
        self.output.detail(&format!("+ {command:?}"));
        let done = command.output().map_err(|error| {
            Fault::Unable(Failure::unable(format!("the compiler cannot be started: {error}"), "run ./ashlar doctor"))
        })?;
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        match done.status.success() {
            true => Ok(said),
            false if said.is_empty() => Err(Broken::refused(format!("the compiler ended with {}\n", done.status))),
            false => Err(Broken::refused(said)),
        }
    }
}

/// A word of the command line that user/Makefile runs in `user`, for another folder.
fn absolute(word: &str, user: &Path) -> String {
    for option in ["-I", "-Wl,-T,"] {
        if let Some(path) = word.strip_prefix(option) {
            return format!("{option}{}", user.join(path).display());
        }
    }
    word.to_string()
}

#[cfg(test)]
mod tests {
    use super::absolute;
    use std::path::Path;

    #[test]
    fn folders_of_the_tree_are_named_from_its_root() {
        let user = Path::new("/tree/user");
        assert_eq!(absolute("-I../kernel", user), "-I/tree/user/../kernel");
        assert_eq!(absolute("-Wl,-T,libc/link.ld", user), "-Wl,-T,/tree/user/libc/link.ld");
        assert_eq!(absolute("-O2", user), "-O2");
    }
}
