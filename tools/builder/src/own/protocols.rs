//! Protocols of the user's project, `protocols/NAME.proto`: headers for its drivers and their clients, and the tables of the run-time
//! monitor, which every program can be linked with; for programs in Rust a crate.

use super::compilers::Compilers;
use super::{modified, unwritable, Fault};
use output::Failure;
use project::Project;
use protocol::{generate, Checked};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of protocols, in a project and in Ashlar's tree.
const PROTOCOLS: &str = "protocols";
/// The crate of a project's protocols.
const CRATE: &str = ".ashlar/protocols";

/// The protocols of the project in `own`, or every fault of them.
pub(super) fn load(own: &Path, project: &Project) -> Result<Vec<Checked>, Failure> {
    Ok(protocol::load_own(&own.join(PROTOCOLS), &project.root().join(PROTOCOLS))?)
}

/// Writes the crate `protocols` of the project's programs in Rust, with its dependency `ashlar` in the folder beside it. Editors and
/// cargo find it there too, so it is made where the project is only checked.
pub(super) fn write_crate(own: &Path, all: &[Checked], ashlar: &str) -> Result<(), Failure> {
    let place = own.join(CRATE);
    if all.is_empty() && !place.exists() {
        return Ok(());
    }
    let files = generate::rust::own_crate(all, ashlar);
    for file in &files {
        write(&place.join(&file.name), &file.text).map_err(Fault::failure)?;
    }
    let is_one = |path: &Path| files.iter().any(|file| place.join(&file.name) == path);
    for entry in std::fs::read_dir(place.join("src")).into_iter().flatten().filter_map(Result::ok) {
        if !is_one(&entry.path()) {
            std::fs::remove_file(entry.path()).map_err(|error| unwritable(&entry.path(), &error).failure())?;
        }
    }
    Ok(())
}

impl Compilers<'_> {
    /// Writes the headers, and adds the tables to what programs are linked with.
    pub(super) fn protocols(&mut self, all: &[Checked]) -> Result<(), Fault> {
        let folder = Path::new("build").join(PROTOCOLS);
        let place = self.own.join(&folder);
        forget(&place, all)?;
        if all.is_empty() {
            return Ok(());
        }
        self.compile.push(format!("-I{}", place.display()));
        let mut objects = Vec::new();
        for checked in all {
            let name = &checked.protocol.name;
            let banner = format!("Generated from {PROTOCOLS}/{name}.proto; changes here are lost.");
            write(&place.join(header(name)), &generate::header::header(&checked.protocol, &banner))?;
            let tables = tables(name);
            write(&place.join(&tables), &generate::monitor::tables(checked, &banner))?;
            let object = self.folder.join(PROTOCOLS).join(format!("{tables}.o"));
            self.object(&folder.join(&tables), &object, &[], &[])?;
            objects.push(object);
        }
        let archive = self.folder.join("libprotocols.a");
        let newest = objects.iter().map(|object| modified(object)).max().flatten();
        if newest >= modified(&archive) || !has_these(&archive, &objects) {
            let _ = std::fs::remove_file(&archive);
            let mut command = Command::new("ar");
            command.current_dir(self.own).arg("rcs").arg(&archive).args(&objects);
            self.run(command)?;
        }
        // Before the library, whose `main` of drivers leads to the tables.
        self.library.insert(0, archive);
        Ok(())
    }
}

fn header(protocol: &str) -> String {
    format!("{protocol}_protocol.h")
}

fn tables(protocol: &str) -> String {
    format!("{protocol}_monitor.c")
}

/// Removes what was written for protocols that are gone, which programs would go on to include.
fn forget(place: &Path, all: &[Checked]) -> Result<(), Fault> {
    let written = |checked: &Checked| [header(&checked.protocol.name), tables(&checked.protocol.name)];
    let kept: Vec<String> = all.iter().flat_map(written).collect();
    for entry in std::fs::read_dir(place).into_iter().flatten().filter_map(Result::ok) {
        if !kept.iter().any(|name| entry.file_name() == name.as_str()) {
            std::fs::remove_file(entry.path()).map_err(|error| unwritable(&entry.path(), &error))?;
        }
    }
    Ok(())
}

/// Whether the archive was made of these objects and no others: a protocol may be gone.
fn has_these(archive: &Path, objects: &[PathBuf]) -> bool {
    let Ok(done) = Command::new("ar").arg("t").arg(archive).output() else { return false };
    let named = String::from_utf8_lossy(&done.stdout).lines().map(PathBuf::from).collect::<Vec<_>>();
    let names = objects.iter().filter_map(|object| object.file_name().map(PathBuf::from)).collect::<Vec<_>>();
    named == names
}

/// Leaves a file alone that holds the text already. Others are written beside their place and renamed: commands may run side by side.
fn write(path: &Path, text: &str) -> Result<(), Fault> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    let new = path.with_extension(std::process::id().to_string());
    let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
    let done = folder.and_then(|()| std::fs::write(&new, text)).and_then(|()| std::fs::rename(&new, path));
    done.map_err(|error| unwritable(path, &error))
}
