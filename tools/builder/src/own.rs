//! A project of the user's own: where its descriptions are, and how its programs are compiled.

use crate::make;
use crate::KernelOptions;
use output::{Failure, Output};
use project::{Project, PROJECT_FILE};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use system::{Made, OwnProgram, ProjectFile};

/// What runs where neither a system nor a project is named.
const DEFAULT_SYSTEM: &str = "three-linux";

/// The description that `argument` means, with the user's project that it belongs to: the one around the description, or
/// around the current folder where a system is named or nothing is given. A folder means the project around it.
pub fn find_system(argument: Option<&str>, project: &Project) -> Result<(Project, PathBuf), Failure> {
    let Some(argument) = argument else { return default_system(project.clone()) };
    let path = Path::new(argument);
    if path.is_dir() && (argument.contains('/') || argument.starts_with('.')) {
        let around = project.around(&path.canonicalize().unwrap_or(path.to_path_buf()))?;
        if around.own().is_none() {
            let message = format!("{argument} is not in a project: there is no {PROJECT_FILE} in it or around it");
            return Err(Failure::unable(message, "name a description or a project; `ashlar new` makes one"));
        }
        return default_system(around);
    }
    let description = project.description(argument)?;
    let folder = description.parent().unwrap_or(Path::new(""));
    Ok((project.around(folder)?, description))
}

fn default_system(project: Project) -> Result<(Project, PathBuf), Failure> {
    let Some(own) = project.own() else {
        let description = project.description(DEFAULT_SYSTEM)?;
        return Ok((project, description));
    };
    let file = read(own, &crate::programs(&project, &KernelOptions::default()))?;
    let name = match (file.system, &project.known_systems()[..]) {
        (Some(name), _) => name,
        (None, [only]) => only.clone(),
        (None, []) => {
            let message = format!("the project {} has no description", own.display());
            return Err(Failure::unable(message, "write systems/NAME.toml in it"));
        }
        (None, several) => {
            let message = format!("the project {} has several systems", own.display());
            let remedy = format!("name one of {}, or give `system` in {PROJECT_FILE}", several.join(", "));
            return Err(Failure::unable(message, remedy));
        }
    };
    let description = project.description(&name)?;
    Ok((project, description))
}

fn read(own: &Path, taken: &BTreeMap<String, PathBuf>) -> Result<ProjectFile, Failure> {
    Ok(ProjectFile::read(&own.join(PROJECT_FILE), taken)?)
}

/// The programs of the user's project, if there is one; `taken` are those of Ashlar.
pub(crate) fn programs(project: &Project, taken: &BTreeMap<String, PathBuf>) -> Result<Vec<OwnProgram>, Failure> {
    project.own().map_or(Ok(Vec::new()), |own| Ok(read(own, taken)?.programs))
}

/// The ELF file of a program.
pub(crate) fn elf(program: &OwnProgram, project: &Project, options: &KernelOptions) -> PathBuf {
    match &program.made {
        Made::Elf(path) => project.own().unwrap_or(project.root()).join(path),
        Made::C { .. } => folder(project, options).join(format!("{}.elf", program.name)),
    }
}

fn folder(project: &Project, options: &KernelOptions) -> PathBuf {
    project.out().join(if options.debug { "programs-debug" } else { "programs" })
}

/// Compiles those of `programs` that are named in `used`. One that cannot be built is told with its compiler's messages
/// once the others are built.
pub(crate) fn build(
    programs: &[OwnProgram],
    used: &[String],
    options: &KernelOptions,
    project: &Project,
    output: &Output,
) -> Result<(), Failure> {
    let Some(own) = project.own() else { return Ok(()) };
    let used: Vec<&OwnProgram> = programs.iter().filter(|program| used.contains(&program.name)).collect();
    if !used.iter().any(|program| matches!(program.made, Made::C { .. })) {
        return Ok(());
    }
    let compiler = Compiler::of(options, project, own, output)?;
    let mut broken = Vec::new();
    for program in used {
        match compiler.program(program) {
            Ok(()) => {}
            Err(Fault::Complaint(text)) => {
                broken.push(format!("the program `{}` cannot be built:\n{text}", program.name))
            }
            Err(Fault::Unable(failure)) => return Err(failure),
        }
    }
    if broken.is_empty() {
        Ok(())
    } else {
        Err(Failure::Finding(broken.join("\n")))
    }
}

/// Why a program was not built.
enum Fault {
    /// What the compiler says of the program.
    Complaint(String),
    Unable(Failure),
}

/// How programs are compiled and linked, as user/Makefile says.
struct Compiler<'a> {
    /// The project's folder; the compiler runs there, so that its messages name files as the user does.
    own: &'a Path,
    folder: PathBuf,
    compile: Vec<String>,
    link: Vec<String>,
    /// What every program is linked with.
    library: Vec<PathBuf>,
    output: &'a Output,
}

impl<'a> Compiler<'a> {
    fn of(
        options: &KernelOptions,
        project: &Project,
        own: &'a Path,
        output: &'a Output,
    ) -> Result<Compiler<'a>, Failure> {
        let user = project.root().join("user");
        let debug = format!("DEBUG={}", u8::from(options.debug));
        let said = make::capture(project, "user", &["-s", "program-compiler", &debug], output)?;
        let mut lines = said.lines().map(|line| line.split_whitespace().map(|word| absolute(word, &user)).collect());
        let (Some(compile), Some(link)) = (lines.next(), lines.next()) else {
            return Err(Failure::unable("user/Makefile does not say how programs are compiled", "restore the file"));
        };
        let made = project.build().join(if options.debug { "user-debug/obj" } else { "user/obj" });
        let library = ["libc/crt0.S.o", "libashlar.a"].map(|file| made.join(file)).to_vec();
        Ok(Compiler { own, folder: folder(project, options), compile, link, library, output })
    }

    /// Compiles what has changed of a program, and links it.
    fn program(&self, program: &OwnProgram) -> Result<(), Fault> {
        let Made::C { sources, include, flags } = &program.made else { return Ok(()) };
        let (mut objects, mut complaints) = (Vec::new(), String::new());
        for source in sources {
            let object = self.folder.join(&program.name).join(source).with_extension("c.o");
            match self.object(source, &object, include, flags) {
                Ok(()) => objects.push(object),
                Err(Fault::Complaint(text)) => complaints += &text,
                Err(unable) => return Err(unable),
            }
        }
        if !complaints.is_empty() {
            return Err(Fault::Complaint(complaints));
        }
        let elf = self.folder.join(format!("{}.elf", program.name));
        let newest = objects.iter().chain(&self.library).map(|file| modified(file)).max().flatten();
        let list = elf.with_extension("list");
        let listed = objects.iter().map(|object| format!("{}\n", object.display())).collect::<String>();
        if newest.is_some() && modified(&elf) > newest && std::fs::read_to_string(&list).is_ok_and(|old| old == listed)
        {
            return Ok(());
        }
        let mut command = self.command(&self.link);
        command.arg("-o").arg(&elf).args(&objects).args(&self.library);
        self.run(command)?;
        std::fs::write(&list, listed).map_err(|error| unwritable(&list, &error))
    }

    /// Compiles one file, unless its object is newer than all that it was made of and was made by the same command.
    fn object(&self, source: &Path, object: &Path, include: &[PathBuf], flags: &[String]) -> Result<(), Fault> {
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
        let (Some(made), Ok(rule)) = (modified(object), std::fs::read_to_string(depends)) else { return false };
        let files = files_of(&rule);
        !files.is_empty() && files.iter().all(|file| modified(&self.own.join(file)).is_some_and(|time| time < made))
    }

    fn command(&self, words: &[String]) -> Command {
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(self.own);
        command
    }

    /// What the compiler has to say of what it has done.
    fn run(&self, mut command: Command) -> Result<String, Fault> {
        self.output.detail(&format!("+ {command:?}"));
        let done = command.output().map_err(|error| {
            Fault::Unable(Failure::unable(format!("the compiler cannot be started: {error}"), "run ./ashlar doctor"))
        })?;
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        match done.status.success() {
            true => Ok(said),
            false if said.is_empty() => Err(Fault::Complaint(format!("the compiler ended with {}\n", done.status))),
            false => Err(Fault::Complaint(said)),
        }
    }
}

fn unwritable(path: &Path, error: &std::io::Error) -> Fault {
    let message = format!("{} cannot be written: {error}", path.display());
    Fault::Unable(Failure::unable(message, "check permissions and free space"))
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().and_then(|about| about.modified()).ok()
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
    use super::{absolute, files_of};
    use std::path::{Path, PathBuf};

    #[test]
    fn the_files_of_a_rule_are_found_whatever_their_names() {
        let rule = "build/a.o: src/a.c /my\\ tree/env.h \\\n src/c\\#.h src/$$.h\n";
        assert_eq!(files_of(rule), ["src/a.c", "/my tree/env.h", "src/c#.h", "src/$.h"].map(PathBuf::from));
        assert!(files_of("").is_empty());
    }

    #[test]
    fn folders_of_the_tree_are_named_from_its_root() {
        let user = Path::new("/tree/user");
        assert_eq!(absolute("-I../kernel", user), "-I/tree/user/../kernel");
        assert_eq!(absolute("-Wl,-T,libc/link.ld", user), "-Wl,-T,/tree/user/libc/link.ld");
        assert_eq!(absolute("-O2", user), "-O2");
    }
}
