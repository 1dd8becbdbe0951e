//! The source tree of Ashlar: the names of its folders and files, and copies of parts of it. Beside the tree there may be a
//! project of the user's own: a folder anywhere with a file `ashlar.toml`.
//!
//! In the place of the source tree there may be a distribution, which `ashlar dist` has made of one: the same names of
//! folders, with the kernels and programs finished and without the sources of kernel, proofs and tools.

pub mod copies;

use std::path::{Path, PathBuf};

/// Folders of system descriptions: the examples, then those of the tests and of the benchmarks. No name is in two.
const SYSTEMS: [&str; 3] = ["systems", "tests/cases/systems", "bench/systems"];

/// The file that makes a folder a project of the user's own.
pub const PROJECT_FILE: &str = "ashlar.toml";
/// The file that only the root of Ashlar's own tree has.
const TREE_FILE: &str = "kernel/layers.order";
/// The file that only the root of a distribution has.
pub const DISTRIBUTION_FILE: &str = "distribution.toml";

/// Why the tree or something in it was not found.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the current folder cannot be read: {0}")]
    NoCurrentFolder(#[from] std::io::Error),
    #[error("this is not a source tree of Ashlar")]
    NotATree,
    #[error("there is no system called {name}")]
    UnknownSystem { name: String, known: Vec<String> },
    #[error("the project {} has no system called {name}", .folder.display())]
    UnknownOwnSystem { name: String, folder: PathBuf, known: Vec<String> },
}

impl Error {
    /// What the user can do about it; empty if nothing is known.
    pub fn remedy(&self) -> String {
        match self {
            Error::NoCurrentFolder(_) => String::new(),
            Error::NotATree => "run ./ashlar of the tree".into(),
            Error::UnknownOwnSystem { known, .. } if known.is_empty() => {
                "describe a system in systems/NAME.toml".into()
            }
            Error::UnknownSystem { known, .. } | Error::UnknownOwnSystem { known, .. } => {
                format!("name a file that ends in .toml, or one of systems/: {}", known.join(", "))
            }
        }
    }
}

#[derive(Debug, Clone)]
pub struct Project {
    root: PathBuf,
    /// Of the user's own project, if there is one.
    own: Option<PathBuf>,
}

impl Project {
    /// A tree whose root is known.
    pub fn at(root: &Path) -> Project {
        Project { root: root.to_path_buf(), own: None }
    }

    /// The tree named by `ASHLAR_ROOT` (the entry script sets it), else the one around the current folder; with the user's
    /// own project around the current folder, if there is one.
    pub fn find() -> Result<Project, Error> {
        let here = std::env::current_dir()?;
        let named = std::env::var_os("ASHLAR_ROOT").map(PathBuf::from);
        let around = || here.ancestors().find(|folder| is_root(folder)).map(Path::to_path_buf);
        let root = named.or_else(around).ok_or(Error::NotATree)?;
        Ok(Project { root, own: own_around(&here) })
    }

    /// The same tree, with the user's project around `folder`, or none.
    pub fn around(&self, folder: &Path) -> Result<Project, Error> {
        let folder = std::env::current_dir()?.join(folder);
        Ok(Project { root: self.root.clone(), own: own_around(&folder) })
    }

    /// The folder of the user's own project.
    pub fn own(&self) -> Option<&Path> {
        self.own.as_deref()
    }

    /// Whether this is a distribution: nothing of Ashlar itself can be built there.
    pub fn is_distribution(&self) -> bool {
        self.root.join(DISTRIBUTION_FILE).exists()
    }

    /// Where that goes which is made for one system or test: a folder of the user's own project, else of the tree.
    pub fn out(&self) -> PathBuf {
        self.own.as_ref().map_or_else(|| self.build(), |own| own.join("build"))
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn build(&self) -> PathBuf {
        self.root.join("build")
    }

    pub fn proof(&self) -> PathBuf {
        self.root.join("proof")
    }

    /// A program of the tools that stands beside this one.
    pub fn tool(name: &str) -> PathBuf {
        std::env::current_exe().ok().and_then(|here| Some(here.parent()?.join(name))).unwrap_or_else(|| name.into())
    }

    pub fn machines(&self) -> PathBuf {
        self.root.join("machines")
    }

    /// Guest kernel and ramdisk, as fetched. A distribution may stand where its user cannot write.
    pub fn guest(&self) -> PathBuf {
        if self.is_distribution() { self.out() } else { self.build() }.join("guest")
    }

    /// What is built for the system called `name`.
    pub fn system_folder(&self, name: &str) -> PathBuf {
        self.out().join("systems").join(name)
    }

    /// The kernel that the Makefile builds in the folder `configuration`.
    pub fn kernel(&self, configuration: &str) -> PathBuf {
        self.build().join("kernel").join(configuration).join("ashlar.elf")
    }

    /// `argument` as a description's path: a path if it looks like one, else a name in `systems` of the user's own project, or
    /// without such a project in one of `SYSTEMS`.
    pub fn description(&self, argument: &str) -> Result<PathBuf, Error> {
        let path = Path::new(argument);
        if argument.contains('/') || argument.ends_with(".toml") {
            return Ok(path.to_path_buf());
        }
        if let Some(own) = &self.own {
            let path = own.join(SYSTEMS[0]).join(format!("{argument}.toml"));
            let unknown =
                || Error::UnknownOwnSystem { name: argument.into(), folder: own.clone(), known: self.known_systems() };
            return if path.exists() { Ok(path) } else { Err(unknown()) };
        }
        let named = |folder| self.root.join(folder).join(format!("{argument}.toml"));
        if let Some(path) = SYSTEMS.iter().map(named).find(|path| path.exists()) {
            return Ok(path);
        }
        Err(Error::UnknownSystem { name: argument.to_string(), known: self.known_systems() })
    }

    /// Names of the systems of the user's own project, else of the examples.
    pub fn known_systems(&self) -> Vec<String> {
        stems(&self.own.as_ref().unwrap_or(&self.root).join(SYSTEMS[0]), "toml")
    }

    /// A path as people like to read it: relative to the current folder if it lies there.
    pub fn shown(&self, path: &Path) -> String {
        let here = std::env::current_dir().unwrap_or_default();
        path.strip_prefix(here).unwrap_or(path).display().to_string()
    }
}

/// Whether the folder is the root of Ashlar's tree or of a distribution.
fn is_root(folder: &Path) -> bool {
    [TREE_FILE, DISTRIBUTION_FILE].iter().any(|file| folder.join(file).exists())
}

/// The innermost project of the user around `folder`. What lies around Ashlar's own tree does not count inside the tree.
fn own_around(folder: &Path) -> Option<PathBuf> {
    let is_end = |folder: &&Path| folder.join(PROJECT_FILE).exists() || is_root(folder);
    let found = folder.ancestors().find(is_end)?;
    found.join(PROJECT_FILE).exists().then(|| found.to_path_buf())
}

/// Sorted stems of the files in `folder` with this extension; none if the folder cannot be read.
pub fn stems(folder: &Path, extension: &str) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut stems: Vec<String> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.extension().is_some_and(|found| found == extension))
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    stems.sort();
    stems
}

/// Sorted names of the folders in `folder`; none if it cannot be read.
pub fn folders(folder: &Path) -> Vec<String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[cfg(test)]
mod tests {
    use super::{stems, Project, SYSTEMS};
    use std::path::{Path, PathBuf};

    fn tree() -> Project {
        Project::at(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.."))
    }

    #[test]
    fn a_name_is_a_system_of_one_folder() {
        let names: Vec<String> = SYSTEMS.iter().flat_map(|folder| stems(&tree().root.join(folder), "toml")).collect();
        let mut once = names.clone();
        once.sort();
        once.dedup();
        assert_eq!(once.len(), names.len(), "{names:?}");
        assert!(names.len() > SYSTEMS.len(), "{names:?}");
        for name in names {
            assert!(tree().description(&name).unwrap().exists(), "{name}");
        }
    }

    #[test]
    fn paths_are_taken_as_they_are_and_unknown_names_are_told_the_examples() {
        assert_eq!(tree().description("here/mine.toml").unwrap(), Path::new("here/mine.toml"));
        assert_eq!(tree().description("mine.toml").unwrap(), Path::new("mine.toml"));
        let remedy = tree().description("mine").unwrap_err().remedy();
        assert!(remedy.contains("three-linux") && !remedy.contains("bench-ipc"), "{remedy}");
    }

    /// The manifests below `tools`.
    fn manifests(folder: &Path) -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let inside = |path: PathBuf| match path.file_name().and_then(|name| name.to_str()) {
            Some("Cargo.toml") => vec![path],
            Some("target" | "src" | "tests") | None => Vec::new(),
            _ if path.is_dir() => manifests(&path),
            _ => Vec::new(),
        };
        entries.flat_map(inside).collect()
    }

    fn has_tests(path: &Path) -> bool {
        match path.is_dir() {
            true => std::fs::read_dir(path).unwrap().any(|entry| has_tests(&entry.unwrap().path())),
            false => std::fs::read_to_string(path).unwrap_or_default().contains("#[test]"),
        }
    }

    #[test]
    fn a_target_that_is_not_built_for_tests_has_none() {
        let mut without = 0;
        for manifest in manifests(&tree().root.join("tools")) {
            let folder = manifest.parent().unwrap();
            let table: toml::Table = toml::from_str(&std::fs::read_to_string(&manifest).unwrap()).unwrap();
            let is_left_out =
                |target: &toml::Value| target.get("test").is_some_and(|test| test.as_bool() == Some(false));
            let library = table.get("lib").filter(|target| is_left_out(target)).map(|_| folder.join("src"));
            let programs = table.get("bin").and_then(|all| all.as_array()).into_iter().flatten();
            let programs = programs.filter(|target| is_left_out(target));
            let paths = programs.filter_map(|target| Some(folder.join(target.get("path")?.as_str()?)));
            for path in library.into_iter().chain(paths) {
                assert!(
                    !has_tests(&path),
                    "{} has tests, and {} says `test = false`",
                    path.display(),
                    manifest.display()
                );
                without += 1;
            }
        }
        assert!(without > 0);
    }
}
