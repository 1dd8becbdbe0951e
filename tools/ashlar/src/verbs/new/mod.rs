//! `new`: makes a project of the user's own, from the files in `template`; `driver` adds a driver to one.

mod driver;

use crate::cli::{Language, NewOptions, NewPart};
use crate::results::NewResult;
use output::{Failure, Output};
use project::Project;
use std::io::Error;
use std::path::{Path, PathBuf};

/// Where a file goes, and its text; `{name}` stands for the project's name.
type File = (&'static str, &'static str);

/// The files of every project.
const FILES: [File; 6] = [
    ("systems/{name}.toml", include_str!("../../../template/systems/system.toml")),
    ("tests/starts.toml", include_str!("../../../template/tests/starts.toml")),
    (".taplo.toml", include_str!("../../../template/taplo.toml")),
    (".gitignore", include_str!("../../../template/gitignore")),
    (".github/workflows/test.yml", include_str!("../../../template/github/test.yml")),
    ("README.md", include_str!("../../../template/README.md")),
];
const IN_C: [File; 6] = [
    ("ashlar.toml", include_str!("../../../template/c/ashlar.toml")),
    ("src/sensor/main.c", include_str!("../../../template/c/main.c")),
    ("src/sensor/mean.c", include_str!("../../../template/c/mean.c")),
    ("src/sensor/mean.h", include_str!("../../../template/c/mean.h")),
    ("tests/mean.c", include_str!("../../../template/c/test_mean.c")),
    ("tests/prints.c", include_str!("../../../template/c/test_prints.c")),
];
const IN_RUST: [File; 5] = [
    ("ashlar.toml", include_str!("../../../template/rust/ashlar.toml")),
    ("Cargo.toml", include_str!("../../../template/rust/workspace.toml")),
    ("src/sensor/Cargo.toml", include_str!("../../../template/rust/package.toml")),
    ("src/sensor/src/main.rs", include_str!("../../../template/rust/main.rs")),
    ("src/sensor/src/lib.rs", include_str!("../../../template/rust/lib.rs")),
];

pub fn new(options: &NewOptions, output: &Output) -> Result<(), Failure> {
    match (&options.part, &options.directory) {
        (Some(NewPart::Driver(driver)), _) => driver::new(&driver.name, output),
        (None, Some(folder)) => project(folder, options.language, output),
        // The parser asks for one of them.
        (None, None) => Ok(()),
    }
}

fn project(folder: &Path, language: Language, output: &Output) -> Result<(), Failure> {
    let name = name_of(folder)?;
    is_free(folder)?;
    // A crate has a link into the tree.
    let tree = (language == Language::Rust).then(Project::find).transpose()?;
    // Made beside its place and renamed, so that nothing half-done is left.
    let unfinished = folder.with_file_name(format!(".{name}.new-{}", std::process::id()));
    let made =
        write(&unfinished, name, language).and_then(|files| std::fs::rename(&unfinished, folder).map(|()| files));
    let files = made.map_err(|error| {
        // What cannot be written cannot always be removed either; the error says why.
        let _ = std::fs::remove_dir_all(&unfinished);
        Failure::unable(
            format!("{} cannot be made: {error}", folder.display()),
            "name a folder in one that exists and can be written",
        )
    })?;
    if let Some(tree) = tree {
        builder::link_crate(folder, &tree)?;
    }
    output.human(&format!("made the project {name} in {}", folder.display()));
    files.iter().for_each(|file| output.human(&format!("  {}", file.display())));
    output.human(&format!("next: cd {} && ashlar run", emulator::quoted(&folder.display().to_string())));
    output.json(&NewResult { name: name.to_string(), folder: folder.to_path_buf(), files });
    Ok(())
}

/// The last part of the path, if a system can be called so.
fn name_of(folder: &Path) -> Result<&str, Failure> {
    let last = folder.file_name().map(|name| name.to_string_lossy());
    match folder.file_name().and_then(|name| name.to_str()) {
        Some(name) if system::is_name(name) => Ok(name),
        _ => {
            let shown = last.map_or_else(|| folder.display().to_string(), |name| name.into_owned());
            Err(Failure::unable(
                format!("`{shown}` cannot be the name of a project"),
                "use small letters, digits, `_` and `-`, beginning with a letter, at most 31",
            ))
        }
    }
}

/// Nothing is there, or an empty folder.
fn is_free(folder: &Path) -> Result<(), Failure> {
    let taken = |what: &str| {
        Err(Failure::unable(format!("{} {what}", folder.display()), "name a folder that is empty or not there yet"))
    };
    match std::fs::symlink_metadata(folder) {
        Err(_) => Ok(()),
        Ok(about) if about.is_dir() => match std::fs::read_dir(folder).map(|mut entries| entries.next().is_none()) {
            Ok(true) => Ok(()),
            Ok(false) => taken("is not empty"),
            Err(error) => taken(&format!("cannot be read: {error}")),
        },
        Ok(_) => taken("is there already and is not a folder"),
    }
}

/// Writes every file of a project, and gives their paths in it.
fn write(folder: &Path, name: &str, language: Language) -> Result<Vec<PathBuf>, Error> {
    std::fs::create_dir(folder)?;
    let own = match language {
        Language::C => &IN_C[..],
        Language::Rust => &IN_RUST,
    };
    let texts = own
        .iter()
        .copied()
        .chain(FILES)
        .map(|(path, text)| (path.replace("{name}", name), text.replace("{name}", name)));
    let schemas = [("system", system::description_schema()), ("project", system::project_schema())]
        .map(|(kind, schema)| (format!(".ashlar/{kind}.schema.json"), format!("{schema:#}\n")));
    let mut files = Vec::new();
    for (path, text) in texts.chain(schemas) {
        let file = folder.join(&path);
        file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(file, text)?;
        files.push(PathBuf::from(path));
    }
    Ok(files)
}
