//! `new driver`: adds a driver to the project around the current folder, with all that it needs to be checked and to run: a
//! protocol, a client, a machine with the device, a system and a test.

use super::File;
use crate::results::NewResult;
use output::{Failure, Output};
use project::{Project, PROJECT_FILE};
use protocol::resolve::MAX_NUMBER;
use std::collections::BTreeMap;
use std::io::{Error, ErrorKind, Write};
use std::path::{Path, PathBuf};
use system::ProjectFile;

/// The files of a driver; `{name}` stands for its name, `{number}` for that of its protocol; in C, which braces would make unreadable for
/// its tools, `skeleton` and `SKELETON` for the name.
const FILES: [File; 7] = [
    ("protocols/{name}.proto", include_str!("../../../template/driver/protocol.proto")),
    ("src/{name}/{name}.c", include_str!("../../../template/driver/driver.c")),
    ("src/{name}/registers.h", include_str!("../../../template/driver/registers.h")),
    ("src/{name}_client/{name}_client.c", include_str!("../../../template/driver/client.c")),
    ("machines/q35-{name}.toml", include_str!("../../../template/driver/machine.toml")),
    ("systems/{name}.toml", include_str!("../../../template/driver/system.toml")),
    ("tests/{name}.toml", include_str!("../../../template/driver/test.toml")),
];
/// What is added to `ashlar.toml`.
const PROGRAMS: &str = include_str!("../../../template/driver/ashlar.toml");

/// The longest name: twice with a `-` between, that of a link has 31 characters.
const LONGEST: usize = 15;
/// The console that every system has.
const KERNEL: &str = "kernel";

pub fn new(name: &str, output: &Output) -> Result<(), Failure> {
    let is_fit = system::is_name(name) && !name.contains('-') && name.len() <= LONGEST;
    if !is_fit {
        return Err(Failure::unable(
            format!("`{name}` cannot be the name of a driver"),
            format!("use small letters, digits and `_`, beginning with a letter, at most {LONGEST}"),
        ));
    }
    let project = Project::find()?;
    let Some(own) = project.own() else {
        let message = format!("there is no project around this folder: no {PROJECT_FILE} in it or above");
        return Err(Failure::unable(message, "make one by `ashlar new PROJECT`, go there, and try again"));
    };
    is_free(name, own, &project)?;
    let number = number(own, &project)?.to_string();
    let fill = |text: &str| {
        let text = text.replace("{name}", name).replace("{number}", &number);
        text.replace("skeleton", name).replace("SKELETON", &name.to_uppercase())
    };
    let files: Vec<(PathBuf, String)> = FILES.iter().map(|(path, text)| (fill(path).into(), fill(text))).collect();
    let mut made = Vec::new();
    let done = files.iter().try_for_each(|(path, text)| write(own, path, text, &mut made));
    done.and_then(|()| add_programs(own, &fill(PROGRAMS))).map_err(|error| {
        remove(&made);
        let message = format!("the driver {name} cannot be made in {}: {error}", own.display());
        Failure::unable(message, "check permissions and free space")
    })?;
    let mut files: Vec<PathBuf> = files.into_iter().map(|(path, _)| path).collect();
    output.human(&format!("made the driver {name} in {}", own.display()));
    files.iter().for_each(|file| output.human(&format!("  {}", file.display())));
    output.human(&format!("added the programs {name} and {name}_client to {PROJECT_FILE}"));
    output.human(&format!("next: ashlar drivers verify && ashlar run {name}"));
    files.push(PROJECT_FILE.into());
    output.json(&NewResult { name: name.to_string(), folder: own.to_path_buf(), files });
    Ok(())
}

/// Nothing has the name of anything that a driver called `name` brings.
fn is_free(name: &str, own: &Path, project: &Project) -> Result<(), Failure> {
    let taken = |what: String| Err(Failure::unable(what, "choose another name"));
    let is_in = |text: &str| text.lines().any(|line| line.trim_end().ends_with(&format!(".{name}]")));
    if name == KERNEL || FILES.iter().any(|(_, text)| is_in(text)) {
        return taken(format!("a driver cannot be called `{name}`: its system has something else of that name"));
    }
    let file = ProjectFile::read(&own.join(PROJECT_FILE), &BTreeMap::new())?;
    let ashlar = system::programs(&project.root().join("user"), Path::new(""));
    for program in [name.to_string(), format!("{name}_client")] {
        if ashlar.contains_key(&program) {
            return taken(format!("`{program}` is a program of Ashlar"));
        }
        if file.programs.iter().any(|known| known.name == program) {
            return taken(format!("the project has a program `{program}` already"));
        }
    }
    if project.root().join(format!("protocols/{name}.proto")).is_file() {
        return taken(format!("`{name}` is a protocol of Ashlar"));
    }
    for (path, _) in FILES {
        let path = path.replace("{name}", name);
        if own.join(&path).symlink_metadata().is_ok() {
            return taken(format!("the project has a file {path} already"));
        }
    }
    Ok(())
}

/// A number for the protocol that no other one has, of Ashlar or of the project; if all are taken, one that none of Ashlar has: the
/// protocols of one driver must differ, and a driver of the project speaks Ashlar's too.
fn number(own: &Path, project: &Project) -> Result<u8, Failure> {
    let tree = project.root().join("protocols");
    let mut of_tree = Vec::new();
    for name in project::stems(&tree, "proto") {
        of_tree.push(protocol::load(&tree.join(format!("{name}.proto")))?.protocol.number);
    }
    let of_own: Vec<u8> =
        protocol::load_own(&own.join("protocols"), &tree)?.iter().map(|checked| checked.protocol.number).collect();
    let free = |number: &u8| !of_tree.contains(number);
    let numbers = || (1..=MAX_NUMBER).rev().filter(free);
    numbers().find(|number| !of_own.contains(number)).or_else(|| numbers().next()).ok_or_else(|| {
        Failure::unable("no number is left for another protocol", "remove a protocol of the tree that nothing uses")
    })
}

/// Writes a file that is not there, and notes in `made` what was made on the way.
fn write(own: &Path, path: &Path, text: &str, made: &mut Vec<PathBuf>) -> Result<(), Error> {
    let path = own.join(path);
    let folders: Vec<&Path> = path.ancestors().skip(1).take_while(|folder| !folder.exists()).collect();
    for folder in folders.into_iter().rev() {
        std::fs::create_dir(folder)?;
        made.push(folder.to_path_buf());
    }
    let mut file = std::fs::File::create_new(&path)?;
    made.push(path);
    file.write_all(text.as_bytes())
}

fn remove(made: &[PathBuf]) {
    // What cannot be removed cannot have been written either; the error says why.
    for path in made.iter().rev() {
        let _ = if path.is_dir() { std::fs::remove_dir(path) } else { std::fs::remove_file(path) };
    }
}

/// Adds tables to `ashlar.toml`, as the last step: what is not in it the build does not look at.
fn add_programs(own: &Path, tables: &str) -> Result<(), Error> {
    let path = own.join(PROJECT_FILE);
    let mut text = std::fs::read_to_string(&path)?;
    if !text.ends_with('\n') {
        text.push('\n');
    }
    text.push_str(tables);
    // Beside its place, as its paths are relative; renamed if it is good.
    let new = own.join(format!(".{PROJECT_FILE}.new-{}", std::process::id()));
    let written = std::fs::write(&new, text).and_then(|()| match ProjectFile::read(&new, &BTreeMap::new()) {
        Ok(_) => std::fs::rename(&new, &path),
        Err(report) => {
            Err(Error::new(ErrorKind::InvalidData, format!("{PROJECT_FILE} takes no further table:\n{report}")))
        }
    });
    written.inspect_err(|_| {
        let _ = std::fs::remove_file(&new);
    })
}

#[cfg(test)]
mod tests {
    use super::FILES;

    #[test]
    fn every_word_in_braces_is_filled_in_here_or_by_the_emulator() {
        let known = ["name", "number", "cpus", "memory", "serial", "kernel", "image"];
        // In C, braces have other uses.
        for (path, text) in FILES.into_iter().filter(|(path, _)| !path.ends_with(".c")) {
            let words = text.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
            for (word, _) in words {
                assert!(known.contains(&word), "{path}: {word}");
            }
        }
    }
}
