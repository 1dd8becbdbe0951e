//! A project of the user's own: its file `ashlar.toml` says which programs it has and of what they are made.

use crate::read::{read, TableData};
use crate::schema::project::TABLES;
use diagnostics::{input_file, Diagnostic, Report, Source, Span, Spanned};
use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The version of the form of the file.
const VERSION: u64 = 1;
/// The file that makes a folder a crate.
const MANIFEST: &str = "Cargo.toml";
/// Folders in `sources` whose files are not the program's.
const TESTS: &str = "tests";

diagnostics::codes! {
    /// A kind of fault in `ashlar.toml`; what it shares with descriptions has their codes.
    pub enum ProjectCode;
    Version "ASH-U001" "a project of another version"
        "`version` in `[project]` says which form `ashlar.toml` has. This Ashlar reads version 1 and cannot know what another \
         version means. Use the Ashlar that the project was made for, or write the file in the form of this one: \
         `ashlar new` makes an example."
    Outside "ASH-U002" "a path that leaves the project"
        "Paths in `ashlar.toml` are relative to its folder and stay inside it, so that the project can be moved and copied \
         as a whole, and what is built has one place in its `build`. Copy the file into the project, or put a symbolic \
         link to it there."
    NoFile "ASH-U003" "a file of a program that is not there"
        "`sources` names C files, or folders with at least one C file, `include` folders, `crate` a folder with a \
         `Cargo.toml`, and `elf` a file. What is named here is not there or is of another kind."
    NotMade "ASH-U004" "a program made of nothing, or of two things"
        "A program is compiled from its `sources`, is a Rust `crate`, or is a finished file, `elf`. Give one of the three; \
         `include` and `flags` are for `sources` alone."
    Flag "ASH-U005" "a flag that a program may not have"
        "The kernel relies on how programs are compiled and linked: without vector registers and red zone, static, at \
         fixed addresses. So only flags that leave this alone are taken: `-D`, `-U`, `-O`, `-std=` and warnings."
    NameTaken "ASH-U006" "a program with the name of another"
        "Ashlar has a program of this name, and a description could mean either. Choose another name."
    NoProgram "ASH-U007" "a crate without a program"
        "A program in Rust is a binary of its package, `src/main.rs` or a table `[[bin]]`, that names the function to start \
         with by `ashlar::entry!(main)`. If the package has several binaries, one must have the program's name in \
         `ashlar.toml`. `ashlar new NAME --language rust` makes an example."
    OtherCrate "ASH-U008" "a crate without the `ashlar` of this Ashlar"
        "The crate `ashlar` and the kernel belong together: numbers and layouts may differ from version to version. A program \
         uses the one of the Ashlar that builds it, by `ashlar = { path = \"PATH/.ashlar/rust\" }` in its `Cargo.toml`, \
         where PATH leads from its folder to the project's. A crate of this name from elsewhere is another one."
    NeedsStd "ASH-U009" "a crate that needs std"
        "Programs have Rust's `core` and no `std`, which needs an operating system of another kind. Write `#![no_std]` and \
         `#![no_main]` at the top of `src/main.rs` and `#![no_std]` at that of `src/lib.rs`. A dependency may need std too: \
         many do not with `default-features = false`."
    NotBuilt "ASH-U010" "a program that cannot be built"
        "The compiler, the linker or cargo refuses the program; what it has said stands below. The other programs of the \
         system have been built."
}

/// Codes of faults in a project's file.
pub const PROJECT_CODES: diagnostics::Table =
    diagnostics::Table { subject: "Projects", codes: ProjectCode::TABLE, details: None };

/// What `ashlar.toml` says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ProjectFile {
    /// The system that is meant where none is named.
    pub system: Option<String>,
    pub programs: Vec<OwnProgram>,
}

/// A program of the project.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnProgram {
    pub name: String,
    pub made: Made,
}

/// What a program is made of. Paths are relative to the project's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Made {
    C {
        sources: Vec<PathBuf>,
        include: Vec<PathBuf>,
        flags: Vec<String>,
    },
    /// The folder of a Rust crate.
    Crate(PathBuf),
    Elf(PathBuf),
}

impl ProjectFile {
    /// Reads the file at `path`, or gives every fault in it. No program may have a name that is `taken`.
    pub fn read(path: &Path, taken: &BTreeMap<String, PathBuf>) -> Result<ProjectFile, Report> {
        let mut report = Report::default();
        let text = match input_file::text(path) {
            Ok(text) => text,
            Err(error) => {
                let message = format!("{} cannot be read: {error}", path.display());
                report.push(Diagnostic::new(crate::Code::Unreadable, message, error.remedy()));
                return Err(report);
            }
        };
        let source = Arc::new(Source::new(path, text));
        let document = read(&source, TABLES, &mut report);
        let folder = path.parent().unwrap_or(Path::new(""));
        let project = document.tables_of("project").next();
        let mut reader = Reader { source: &source, folder, report: &mut report };
        if let Some(version) = project.and_then(|table| table.number("version")) {
            reader.version(version);
        }
        let mut programs = Vec::new();
        for table in document.tables_of("program") {
            if taken.contains_key(&table.name.value) {
                let message = format!("`{}` is a program of Ashlar", table.name.value);
                reader.fault(ProjectCode::NameTaken, message, "choose another name", &table.name.span, "this name");
            }
            if let Some(made) = reader.program(table) {
                programs.push(OwnProgram { name: table.name.value.clone(), made });
            }
        }
        let system = project.and_then(|table| table.text("system")).map(|name| name.value.clone());
        report.sort();
        if report.is_clean() {
            Ok(ProjectFile { system, programs })
        } else {
            Err(report)
        }
    }
}

struct Reader<'a> {
    source: &'a Arc<Source>,
    folder: &'a Path,
    report: &'a mut Report,
}

impl Reader<'_> {
    fn fault(&mut self, code: ProjectCode, message: String, remedy: &str, span: &Span, label: &str) {
        self.report.push(Diagnostic::new(code, message, remedy).at(self.source, span, label));
    }

    fn version(&mut self, version: &Spanned<u64>) {
        if version.value != VERSION {
            let message = format!("the project has version {}, and this Ashlar reads version {VERSION}", version.value);
            let remedy = "use the Ashlar that it was made for, or write it in the form of version 1";
            self.fault(ProjectCode::Version, message, remedy, &version.span, "this version");
        }
    }

    /// What a program is made of, if that is clear.
    fn program(&mut self, table: &TableData) -> Option<Made> {
        let for_sources = ["include", "flags"].iter().any(|key| table.has(key));
        let is_one = match ["sources", "crate", "elf"].map(|key| table.has(key)) {
            [true, false, false] => true,
            [false, true, false] | [false, false, true] => !for_sources,
            _ => false,
        };
        if !is_one {
            let message = format!("the program `{}` needs `sources`, or `crate` or `elf` alone", table.name.value);
            let remedy = "give `sources = [\"src/NAME\"]`, or without `sources`, `include` and `flags` \
                          `crate = \"src/NAME\"` or `elf = \"FILE\"`";
            self.fault(ProjectCode::NotMade, message, remedy, &table.name.span, "this program");
            return None;
        }
        if let Some(folder) = table.text("crate") {
            let path = self.inside_or_root(folder)?;
            if !self.folder.join(&path).join(MANIFEST).is_file() {
                self.missing(folder, "has no Cargo.toml", "name the folder of a Rust crate, relative to ashlar.toml");
            }
            return Some(Made::Crate(path));
        }
        if let Some(elf) = table.text("elf") {
            let path = self.inside(elf)?;
            if !self.folder.join(&path).is_file() {
                self.missing(elf, "is not a file", "build it, or correct the path");
            }
            return Some(Made::Elf(path));
        }
        let mut sources: Vec<PathBuf> = table.names("sources").iter().flat_map(|name| self.sources(name)).collect();
        sources.sort();
        sources.dedup();
        if table.names("sources").is_empty() && table.has("sources") {
            let message = format!("the program `{}` has no source", table.name.value);
            self.fault(ProjectCode::NotMade, message, "name its C files or folders", &table.name.span, "this program");
        }
        let include = table.names("include").iter().filter_map(|name| self.include(name)).collect();
        table.names("flags").iter().for_each(|flag| self.flag(flag));
        let flags = table.names("flags").iter().map(|flag| flag.value.clone()).collect();
        Some(Made::C { sources, include, flags })
    }

    /// The path that is named, if it stays inside the project.
    fn inside(&mut self, name: &Spanned<String>) -> Option<PathBuf> {
        let path = Path::new(&name.value);
        let stays = |part: Component| matches!(part, Component::Normal(_) | Component::CurDir);
        if !name.value.is_empty() && path.components().all(stays) {
            return Some(path.components().filter(|part| matches!(part, Component::Normal(_))).collect());
        }
        let message = format!("`{}` is no path inside the project", name.value);
        self.fault(
            ProjectCode::Outside,
            message,
            "give a path relative to ashlar.toml, without `..`",
            &name.span,
            "this path",
        );
        None
    }

    fn missing(&mut self, name: &Spanned<String>, what: &str, remedy: &str) {
        let message = format!("`{}` {what}", name.value);
        self.fault(ProjectCode::NoFile, message, remedy, &name.span, "named here");
    }

    /// The C files that one entry of `sources` stands for.
    fn sources(&mut self, name: &Spanned<String>) -> Vec<PathBuf> {
        let Some(path) = self.inside(name) else { return Vec::new() };
        let there = self.folder.join(&path);
        if there.is_dir() {
            let mut found = Vec::new();
            c_files(self.folder, &path, &mut found);
            if found.is_empty() {
                self.missing(name, "holds no C file", "put a file NAME.c there, or correct the path");
            }
            return found;
        }
        let is_c = path.extension().is_some_and(|extension| extension == "c");
        match (is_c, there.is_file()) {
            (true, true) => return vec![path],
            (false, true) => self.missing(name, "is not a C file", "name a file that ends in .c"),
            (_, false) => self.missing(name, "does not exist", "correct the path, which is relative to ashlar.toml"),
        }
        Vec::new()
    }

    fn include(&mut self, name: &Spanned<String>) -> Option<PathBuf> {
        let path = self.inside_or_root(name)?;
        if !self.folder.join(&path).is_dir() {
            self.missing(name, "is not a folder", "name a folder with headers");
        }
        Some(path)
    }

    /// As `inside`; the project's folder itself is written `.`.
    fn inside_or_root(&mut self, name: &Spanned<String>) -> Option<PathBuf> {
        let path = self.inside(name)?;
        Some(if path.as_os_str().is_empty() { PathBuf::from(".") } else { path })
    }

    fn flag(&mut self, flag: &Spanned<String>) {
        if !is_safe(&flag.value) {
            let message = format!("`{}` is not a flag that a program may have", flag.value);
            let remedy = "allowed are -DNAME, -DNAME=VALUE, -UNAME, -O0 to -O3, -Os, -Og, -std=NAME and -WNAME";
            self.fault(ProjectCode::Flag, message, remedy, &flag.span, "this flag");
        }
    }
}

/// Whether a flag leaves alone what the kernel relies on. A comma would hand it to the assembler or linker.
fn is_safe(flag: &str) -> bool {
    let word = |text: &str, more: &str| {
        !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || more.contains(c))
    };
    let Some((kind, rest)) = flag.strip_prefix('-').and_then(|rest| rest.split_at_checked(1)) else { return false };
    match kind {
        "D" => word(rest.split('=').next().unwrap_or(""), "") && !rest.contains(['\n', '\0']),
        "U" => word(rest, ""),
        "O" => ["0", "1", "2", "3", "s", "g"].contains(&rest),
        "W" => word(rest, "-=+"),
        _ => flag.strip_prefix("-std=").is_some_and(|name| word(name, "")),
    }
}

/// The C files in `place`, relative to `root`. Links to folders are not followed: they may lead in a circle.
fn c_files(root: &Path, place: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(root.join(place)) else { return };
    for entry in entries.filter_map(Result::ok) {
        let path = place.join(entry.file_name());
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if !is_hidden && entry.file_name() != TESTS {
                c_files(root, &path, found);
            }
        } else if !is_hidden && path.extension().is_some_and(|extension| extension == "c") {
            found.push(path);
        }
    }
}
