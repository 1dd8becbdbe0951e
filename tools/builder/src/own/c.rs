//! Programs in C: each file is compiled if it or what it includes has changed, and the program is linked.

use super::compilers::Compilers;
use super::{built, modified, unwritable, Broken, Fault};
use std::path::{Path, PathBuf};

impl Compilers<'_> {
    /// Compiles what has changed of a program, and links it.
    pub(super) fn c(
        &self,
        name: &str,
        sources: &[PathBuf],
        include: &[PathBuf],
        flags: &[String],
    ) -> Result<(), Fault> {
        let (mut objects, mut complaints) = (Vec::new(), String::new());
        for source in sources {
            let object = self.folder.join(name).join(source).with_extension("c.o");
            match self.object(source, &object, include, flags) {
                Ok(()) => objects.push(object),
                Err(Fault::Broken(broken)) => complaints += &broken.said,
                Err(unable) => return Err(unable),
            }
        }
        if !complaints.is_empty() {
            return Err(Broken::refused(complaints));
        }
        let elf = self.folder.join(format!("{name}.elf"));
        let newest = objects.iter().chain(&self.library).map(|file| modified(file)).max().flatten();
        let list = elf.with_extension("list");
        let listed = objects.iter().map(|object| format!("{}\n", object.display())).collect::<String>();
        if newest.is_some() && built(&elf) > newest && std::fs::read_to_string(&list).is_ok_and(|old| old == listed) {
            return Ok(());
        }
        forget(&list)?;
        let mut command = self.command(&self.link);
        command.arg("-o").arg(&elf).args(&objects).args(&self.library);
        self.run(command).map_err(without_start)?;
        std::fs::write(&list, listed).map_err(|error| unwritable(&list, &error))
    }

    /// Compiles one file, unless its object is newer than all that it was made of and was made by the same command.
    pub(super) fn object(
        &self,
        source: &Path,
        object: &Path,
        include: &[PathBuf],
        flags: &[String],
    ) -> Result<(), Fault> {
        let depends = object.with_extension("d");
        let said = object.with_extension("command");
        let mut command = self.command(&self.compile);
        command.args(flags).args(include.iter().map(|folder| format!("-I{}", folder.display())));
        command.args(["-MMD", "-MF"]).arg(&depends).arg("-c").arg(source).arg("-o").arg(object);
        let text = format!("{command:?}");
        let is_same = std::fs::read_to_string(&said).is_ok_and(|old| old == text);
        if is_same && self.is_newer(object, &depends) {
            return Ok(());
        }
        let folder = object.parent().unwrap_or(&self.folder);
        std::fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
        forget(&said)?;
        let warnings = self.run(command)?;
        if warnings.is_empty() {
            std::fs::write(&said, text).map_err(|error| unwritable(&said, &error))
        } else {
            // Not taken for finished: the warnings are shown again by the next build.
            self.output.note(warnings.trim_end());
            Ok(())
        }
    }

    /// Whether the object is newer than every file in the rule that the compiler has written.
    fn is_newer(&self, object: &Path, depends: &Path) -> bool {
        let (Some(made), Ok(rule)) = (built(object), std::fs::read_to_string(depends)) else { return false };
        let files = files_of(&rule);
        !files.is_empty() && files.iter().all(|file| modified(&self.own.join(file)).is_some_and(|time| time < made))
    }
}

/// Removes what says that a file is finished, before it is made anew: a compiler that is killed leaves half of one.
fn forget(mark: &Path) -> Result<(), Fault> {
    match std::fs::remove_file(mark) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(unwritable(mark, &error)),
        _ => Ok(()),
    }
}

/// What the linker says of a program that has no function to start with: in place of `main` it takes that of drivers, which misses
/// what a driver has.
fn without_start(fault: Fault) -> Fault {
    let misses = |broken: &Broken, name: &str| broken.said.contains(&format!("undefined reference to `{name}'"));
    match fault {
        Fault::Broken(broken) if misses(&broken, "driver") && misses(&broken, "driver_protocols") => {
            Fault::Broken(Broken {
                what: "none of its files has the function `main`".into(),
                remedy:
                    "write `int main(void)`; a driver has `void driver(void)` and the table `driver_protocols` instead"
                        .into(),
                said: String::new(),
                ..broken
            })
        }
        other => other,
    }
}

/// The files behind the colon of a rule of make: spaces in names are escaped by `\`, `$` by `$`, lines end with `\`.
fn files_of(rule: &str) -> Vec<PathBuf> {
    let Some((_, behind)) = rule.split_once(": ") else { return Vec::new() };
    let mut files = vec![String::new()];
    let mut characters =
        behind.replace("\\\n", " ").replace("$$", "$").chars().collect::<Vec<_>>().into_iter().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' if characters.peek().is_some_and(|next| " #".contains(*next)) => {
                files.last_mut().into_iter().for_each(|file| file.extend(characters.next()));
            }
            ' ' | '\n' => files.push(String::new()),
            other => files.last_mut().into_iter().for_each(|file| file.push(other)),
        }
    }
    files.into_iter().filter(|file| !file.is_empty()).map(PathBuf::from).collect()
}

#[cfg(test)]
mod tests {
    use super::files_of;
    use std::path::PathBuf;

    #[test]
    fn the_files_of_a_rule_are_found_whatever_their_names() {
        let rule = "build/a.o: src/a.c /my\\ tree/env.h \\\n src/c\\#.h src/$$.h\n";
        assert_eq!(files_of(rule), ["src/a.c", "/my tree/env.h", "src/c#.h", "src/$.h"].map(PathBuf::from));
        assert!(files_of("").is_empty());
    }
}
