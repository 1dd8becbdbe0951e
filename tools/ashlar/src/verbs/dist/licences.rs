//! The licences of the crates that the packed tool is linked with: the texts that their packages hold, and a page that lists
//! them.

use super::{files_in, write};
use output::Failure;
use project::Project;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Beginnings of the names of files that hold a licence or a notice that goes with it, in small letters.
const TEXTS: [&str; 6] = ["copying", "copyright", "licence", "license", "notice", "unlicense"];
/// What a crate without a text must offer: the text of this one is in the distribution, and it asks for no more.
const OWN_TEXT: &str = "Apache-2.0";

/// What `cargo metadata` prints, as far as it is used here.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    /// None for a crate of this tree.
    source: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    /// None for what is linked, else "dev" or "build".
    kind: Option<String>,
}

/// Writes the folder `licences` of the distribution in `folder`.
pub(super) fn copy(project: &Project, folder: &Path) -> Result<(), Failure> {
    let metadata = metadata(&project.root().join("tools"))?;
    let folder = folder.join("licences");
    let mut page = String::from(
        "# Licences of the tool\n\nMade by `ashlar dist`. `bin/ashlar` is linked with these crates and with the standard library of \
         Rust (MIT OR Apache-2.0, copyright of the Rust project's contributors). A crate's folder has the texts that its \
         package holds. Of a crate without one, Apache-2.0 is chosen, whose text is in LICENSE-APACHE.\n\n\
         | crate | licence | texts |\n| --- | --- | --- |\n",
    );
    for package in linked(&metadata, "ashlar") {
        let licence = package.license.as_deref().unwrap_or_default();
        let name = format!("{}-{}", package.name, package.version);
        let texts = texts(package)?;
        if texts.is_empty() && !licence.contains(OWN_TEXT) {
            let message = format!("the package of the crate {name} has no text of its licence, {licence}");
            return Err(Failure::unable(message, "use another version, or another crate"));
        }
        for text in &texts {
            let to = folder.join(&name).join(text.file_name().unwrap_or_default());
            super::contents::copy_file(text, &to)?;
        }
        page += &format!("| {name} | {licence} | {} |\n", texts.len());
    }
    write(&folder.join("README.md"), &page)
}

/// The packages from elsewhere that `root` is linked with, by name.
fn linked<'a>(metadata: &'a Metadata, root: &str) -> Vec<&'a Package> {
    let packages: BTreeMap<&str, &Package> = metadata.packages.iter().map(|one| (one.id.as_str(), one)).collect();
    let nodes: BTreeMap<&str, &Node> = metadata.resolve.nodes.iter().map(|node| (node.id.as_str(), node)).collect();
    let is_root = |package: &&Package| package.source.is_none() && package.name == root;
    let mut left: Vec<&str> = metadata.packages.iter().filter(is_root).map(|package| package.id.as_str()).collect();
    let mut seen = BTreeSet::new();
    while let Some(id) = left.pop() {
        if seen.insert(id) {
            let dependencies = nodes.get(id).iter().flat_map(|node| &node.deps).collect::<Vec<_>>();
            let is_linked = |one: &&&Dependency| one.dep_kinds.iter().any(|kind| kind.kind.is_none());
            left.extend(dependencies.iter().filter(is_linked).map(|one| one.pkg.as_str()));
        }
    }
    let mut all: Vec<&Package> = seen.iter().filter_map(|id| packages.get(id).copied()).collect();
    all.retain(|package| package.source.is_some());
    all.sort_by_key(|package| (&package.name, &package.version));
    all
}

/// The files of the package, at its top, with a licence or a notice.
fn texts(package: &Package) -> Result<Vec<PathBuf>, Failure> {
    let folder = package.manifest_path.parent().unwrap_or(Path::new(""));
    let is_text = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        path.parent() == Some(folder) && TEXTS.iter().any(|text| name.starts_with(text))
    };
    let mut files = files_in(folder)?;
    files.retain(is_text);
    Ok(files)
}

fn metadata(tools: &Path) -> Result<Metadata, Failure> {
    let mut cargo = Command::new(std::env::var_os("ASHLAR_CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["metadata", "--locked", "--offline", "--format-version", "1"]);
    cargo.args(["--filter-platform", "x86_64-unknown-linux-gnu"]).current_dir(tools);
    let told = |what: String| Failure::unable(format!("cargo does not list the crates: {what}"), "run ./ashlar doctor");
    let done = cargo.output().map_err(|error| told(error.to_string()))?;
    if !done.status.success() {
        return Err(told(String::from_utf8_lossy(&done.stderr).trim().to_string()));
    }
    serde_json::from_slice(&done.stdout).map_err(|error| told(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree `ashlar` that is linked with `a`, built with `b` and tested with `c`; `a` is linked with `d`.
    const METADATA: &str = r#"{
        "packages": [
            {"id": "t", "name": "ashlar", "version": "1", "license": "MIT", "source": null, "manifest_path": "/t/Cargo.toml"},
            {"id": "a", "name": "a", "version": "1", "license": "MIT", "source": "x", "manifest_path": "/a/Cargo.toml"},
            {"id": "b", "name": "b", "version": "1", "license": "MIT", "source": "x", "manifest_path": "/b/Cargo.toml"},
            {"id": "c", "name": "c", "version": "1", "license": "MIT", "source": "x", "manifest_path": "/c/Cargo.toml"},
            {"id": "d", "name": "d", "version": "2", "license": null, "source": "x", "manifest_path": "/d/Cargo.toml"}],
        "resolve": {"nodes": [
            {"id": "t", "deps": [{"pkg": "a", "dep_kinds": [{"kind": null}]}, {"pkg": "b", "dep_kinds": [{"kind": "build"}]},
                {"pkg": "c", "dep_kinds": [{"kind": "dev"}]}]},
            {"id": "a", "deps": [{"pkg": "d", "dep_kinds": [{"kind": "build"}, {"kind": null}]}]},
            {"id": "b", "deps": []}, {"id": "c", "deps": []}, {"id": "d", "deps": [{"pkg": "a", "dep_kinds": [{"kind": null}]}]}]}}"#;

    #[test]
    fn only_what_is_linked_is_listed() {
        let metadata: Metadata = serde_json::from_str(METADATA).expect("it is as cargo prints it");
        let names: Vec<&str> = linked(&metadata, "ashlar").iter().map(|package| package.name.as_str()).collect();
        assert_eq!(names, ["a", "d"]);
    }
}
