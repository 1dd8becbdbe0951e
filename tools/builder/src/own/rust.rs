//! Programs in Rust: cargo builds each crate with the flags and the link line of user/Makefile.

use super::compilers::Compilers;
use super::{built, modified, unwritable, Broken, Fault};
use output::Failure;
use serde::Deserialize;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use system::ProjectCode;

/// The crate that every program uses, and where a project finds it: a link, so that editors and cargo find it too.
const CRATE: &str = "ashlar";
const LINK: &str = ".ashlar/rust";
/// The last part of it.
pub(super) const LINK_NAME: &str = "rust";
/// Between two flags in CARGO_ENCODED_RUSTFLAGS.
const SEPARATOR: &str = "\u{1f}";

/// What `cargo metadata` says of a crate and of all that it depends on.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    #[serde(default)]
    kind: Vec<String>,
}

/// A line that `cargo build` prints.
#[derive(Deserialize)]
struct Line {
    /// Of the compiler.
    message: Option<Message>,
    /// The target that was made, and the file if it is a program.
    target: Option<Target>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Message {
    message: String,
    level: String,
    code: Option<MessageCode>,
    #[serde(default)]
    children: Vec<Note>,
    rendered: Option<String>,
}

#[derive(Deserialize)]
struct MessageCode {
    code: String,
}

#[derive(Deserialize)]
struct Note {
    message: String,
}

/// Makes the project's link to the crate of the tree at `root`, or mends it.
pub(super) fn link_crate(own: &Path, root: &Path) -> Result<(), Failure> {
    let (place, target) = (own.join(LINK), root.join("user/rust"));
    if std::fs::read_link(&place).is_ok_and(|old| old == target) {
        return Ok(());
    }
    // Made beside its place and renamed: commands may run side by side.
    let new = place.with_extension(std::process::id().to_string());
    let folder = place.parent().unwrap_or(own);
    let made = std::fs::create_dir_all(folder)
        .and_then(|()| std::os::unix::fs::symlink(&target, &new))
        .and_then(|()| std::fs::rename(&new, &place));
    made.map_err(|error| {
        // The error of the renaming is the one to tell.
        let _ = std::fs::remove_file(&new);
        let message = format!("{} cannot be made a link to {}: {error}", place.display(), target.display());
        Failure::unable(message, "check permissions; remove what stands there if it is no link")
    })
}

impl Compilers<'_> {
    /// Has cargo build the crate in `folder`, and takes its program.
    pub(super) fn rust(&self, name: &str, folder: &Path) -> Result<(), Fault> {
        let manifest = self.own.join(folder).join("Cargo.toml");
        let metadata = self.metadata(&manifest)?;
        let binary = binary(&metadata, &manifest, name).map_err(Fault::Broken)?;
        self.has_this_crate(&metadata, folder).map_err(Fault::Broken)?;
        let made = self.folder.join("rust");
        let (target, flags) = self.rust.split_first().ok_or_else(|| {
            Fault::Unable(Failure::unable("user/Makefile does not say how Rust is compiled", "restore the file"))
        })?;
        self.forget_old(&made.join(target).join("release"), &binary)?;
        let script = format!("-T{}", self.user.join("libc/link.ld").display());
        let linked = std::iter::once(script).chain(self.library.iter().map(|file| file.display().to_string()));
        let flags: Vec<String> = flags.iter().cloned().chain(linked.map(|word| format!("-Clink-arg={word}"))).collect();
        let mut command = cargo();
        command.args(["build", "--quiet", "--release", "--message-format=json", "--target", target]);
        command.arg("--target-dir").arg(&made).arg("--manifest-path").arg(&manifest).args(["--bin", &binary]);
        // As C programs have: symbols for the debugger.
        command.env("CARGO_ENCODED_RUSTFLAGS", flags.join(SEPARATOR)).env("CARGO_PROFILE_RELEASE_DEBUG", "true");
        let done = self.cargo(command)?;
        let lines: Vec<Line> =
            String::from_utf8_lossy(&done.stdout).lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let messages: Vec<&Message> = lines.iter().filter_map(|line| line.message.as_ref()).collect();
        if !done.status.success() {
            let errors: Vec<&Message> = messages.into_iter().filter(|message| message.level == "error").collect();
            return Err(Fault::Broken(broken(name, &errors, &String::from_utf8_lossy(&done.stderr))));
        }
        let warnings: String = messages.iter().filter_map(|message| message.rendered.as_deref()).collect();
        if !warnings.is_empty() {
            self.output.note(warnings.trim_end());
        }
        let is_it = |line: &&Line| line.target.as_ref().is_some_and(|target| target.name == binary);
        let executable = lines.iter().filter(is_it).find_map(|line| line.executable.as_ref()).ok_or_else(|| {
            Fault::Unable(Failure::unable(
                format!("cargo has not said where it has put `{binary}`"),
                "run ./ashlar doctor",
            ))
        })?;
        self.take(executable, name)
    }

    fn metadata(&self, manifest: &Path) -> Result<Metadata, Fault> {
        let mut command = cargo();
        command.args(["metadata", "--format-version", "1", "--manifest-path"]).arg(manifest);
        let done = self.cargo(command)?;
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        if !done.status.success() {
            // Cargo names a dependency that it does not find so: `ashlar`, `ashlar = "^2"`.
            let is_crate = said.contains(&format!("`{CRATE}`")) || said.contains(&format!("`{CRATE} ="));
            return Err(match is_crate {
                true => {
                    Fault::Broken(self.other_crate("cargo does not find the crate `ashlar` that it wants".into(), said))
                }
                false => Broken::refused(said),
            });
        }
        serde_json::from_slice(&done.stdout).map_err(|error| {
            let message = format!("`cargo metadata` of {} cannot be read: {error}", manifest.display());
            Fault::Unable(Failure::unable(message, "run ./ashlar doctor"))
        })
    }

    /// That the crate depends on this tree's `ashlar`, and on no other.
    fn has_this_crate(&self, metadata: &Metadata, folder: &Path) -> Result<(), Broken> {
        let mine = self.user.join("rust/Cargo.toml");
        let mine = mine.canonicalize().unwrap_or(mine);
        let is_mine = |package: &&Package| package.manifest_path.canonicalize().is_ok_and(|path| path == mine);
        let mut used = metadata.packages.iter().filter(|package| package.name == CRATE).peekable();
        if used.peek().is_none() {
            let what = format!("{} does not depend on the crate `ashlar`", folder.join("Cargo.toml").display());
            return Err(self.other_crate(what, String::new()));
        }
        match used.find(|package| !is_mine(package)) {
            None => Ok(()),
            Some(other) => {
                let place = other.manifest_path.parent().unwrap_or(&other.manifest_path);
                let what = format!("it uses the crate `ashlar` {} of {}", other.version, place.display());
                Err(self.other_crate(what, String::new()))
            }
        }
    }

    fn other_crate(&self, what: String, said: String) -> Broken {
        let remedy = format!(
            "write `ashlar = {{ path = \"PATH/{LINK}\" }}`, with the path from the crate to the project's folder"
        );
        Broken { code: ProjectCode::OtherCrate, what, remedy, said }
    }

    /// Removes the program that cargo has made, if what it is linked with has changed: cargo does not know of it.
    fn forget_old(&self, made: &Path, binary: &str) -> Result<(), Fault> {
        let script = self.user.join("libc/link.ld");
        let newest = self.library.iter().chain([&script]).filter_map(|file| modified(file)).max();
        let old = modified(&made.join(binary));
        let Ok(entries) = made.join("deps").read_dir() else { return Ok(()) };
        if old > newest {
            return Ok(());
        }
        let stem = format!("{}-", binary.replace('-', "_"));
        for entry in entries.filter_map(Result::ok) {
            if entry.file_name().to_string_lossy().starts_with(&stem) {
                std::fs::remove_file(entry.path()).map_err(|error| unwritable(&entry.path(), &error))?;
            }
        }
        Ok(())
    }

    /// Copies a program to its place if it has changed.
    fn take(&self, executable: &Path, name: &str) -> Result<(), Fault> {
        let elf = self.folder.join(format!("{name}.elf"));
        if built(&elf) > modified(executable) {
            return Ok(());
        }
        // A copy that is cut short leaves no half of a program.
        let half = elf.with_extension("elf.new");
        let copied = std::fs::copy(executable, &half).and_then(|_| std::fs::rename(&half, &elf));
        copied.map_err(|error| unwritable(&elf, &error))
    }

    fn cargo(&self, mut command: Command) -> Result<Output, Fault> {
        self.output.detail(&format!("+ {command:?}"));
        command.current_dir(self.own).output().map_err(|error| {
            let remedy = match error.kind() {
                ErrorKind::NotFound => {
                    "programs in Rust need Rust 1.85 or newer: install Debian's cargo-web, or rustup"
                }
                _ => "run ./ashlar doctor",
            };
            Fault::Unable(Failure::unable(format!("cargo cannot be started: {error}"), remedy))
        })
    }
}

/// The cargo that the entry has found.
fn cargo() -> Command {
    Command::new(std::env::var_os("ASHLAR_CARGO").unwrap_or_else(|| "cargo".into()))
}

/// The one program of the crate, or the one with this name.
fn binary(metadata: &Metadata, manifest: &Path, name: &str) -> Result<String, Broken> {
    let wanted = manifest.canonicalize().unwrap_or(manifest.to_path_buf());
    let is_it = |package: &&Package| package.manifest_path.canonicalize().is_ok_and(|path| path == wanted);
    let no_program = |what: String, remedy: &str| {
        Err(Broken { code: ProjectCode::NoProgram, what, remedy: remedy.into(), said: String::new() })
    };
    let Some(package) = metadata.packages.iter().find(is_it) else {
        let what = "its Cargo.toml is that of a workspace alone".to_string();
        return no_program(what, "name the folder of one of its packages as `crate`");
    };
    let is_binary = |target: &&Target| target.kind.iter().any(|kind| kind == "bin");
    let names: Vec<&str> = package.targets.iter().filter(is_binary).map(|target| target.name.as_str()).collect();
    match &names[..] {
        [] => no_program("its crate has no program".into(), "write src/main.rs, which says `ashlar::entry!(main);`"),
        [only] => Ok(only.to_string()),
        several if several.contains(&name) => Ok(name.to_string()),
        several => {
            let what = format!("its crate has several programs, {}, and none is called so", several.join(", "));
            no_program(what, "give the program in ashlar.toml the name of one of them")
        }
    }
}

/// What is wrong with a program that cargo could not build.
fn broken(name: &str, errors: &[&Message], cargo: &str) -> Broken {
    let said: String = errors.iter().map(|error| shown(error)).collect();
    let of_linker = |text: &str| errors.iter().any(|error| error.code.is_none() && all_of(error).contains(text));
    let has_two_cores = |error: &&&Message| {
        error.code.as_ref().is_some_and(|code| code.code == "E0152") && error.message.contains("panic_impl")
    };
    // With std in it, its own panic handler is there too, or its calls to the C library of another system are undefined.
    if let Some(error) = errors.iter().find(has_two_cores) {
        let through = between(&all_of(error), "`std` (which `", "` depends on)");
        return match through {
            Some(through) if through != name => Broken {
                code: ProjectCode::NeedsStd,
                what: format!("`{through}` needs std, which programs do not have"),
                remedy: "use it with `default-features = false`, or another crate that is `no_std`".into(),
                said,
            },
            _ => needs_std(said),
        };
    }
    if of_linker("libstd-") {
        // The hundreds of names that are missing say nothing more.
        return needs_std(String::new());
    }
    // Where the program has no `main` the library's takes its place, that of C drivers, which asks for a driver's functions.
    if of_linker("driver_main.c") {
        return Broken {
            code: ProjectCode::NoProgram,
            what: "it names no function to start with".into(),
            remedy: "write `ashlar::entry!(main);` in src/main.rs".into(),
            said: String::new(),
        };
    }
    let said = if said.is_empty() { cargo.to_string() } else { said };
    Broken { code: ProjectCode::NotBuilt, what: String::new(), remedy: String::new(), said }
}

fn needs_std(said: String) -> Broken {
    Broken {
        code: ProjectCode::NeedsStd,
        what: "it needs std, which programs do not have".into(),
        remedy: "write `#![no_std]` and `#![no_main]` at the top of src/main.rs, `#![no_std]` at that of src/lib.rs"
            .into(),
        said,
    }
}

/// A message and its notes.
fn all_of(message: &Message) -> String {
    message.children.iter().fold(message.message.clone(), |text, note| text + "\n" + &note.message)
}

/// A message for people. Of the linker without its command line, which is pages long.
fn shown(message: &Message) -> String {
    match &message.rendered {
        Some(rendered) if message.code.is_some() || !message.message.starts_with("linking with") => rendered.clone(),
        _ => {
            message
                .children
                .iter()
                .filter(|note| note.message.starts_with("ld: "))
                .fold(message.message.clone(), |text, note| text + "\n" + note.message.trim_end())
                + "\n"
        }
    }
}

fn between(text: &str, before: &str, behind: &str) -> Option<String> {
    Some(text.split_once(before)?.1.split_once(behind)?.0.to_string())
}
