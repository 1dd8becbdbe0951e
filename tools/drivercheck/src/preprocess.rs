//! A driver's text as the build compiles it: the compiler, flags and directory that user/Makefile gives.

use crate::driver::DriverError;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The compiler of drivers, and what it is given besides the file.
pub struct Build {
    command: Vec<String>,
    directory: PathBuf,
    /// Further arguments for a driver's own files.
    flags: Vec<String>,
    /// Directories whose headers belong to the framework or the compiler.
    pub framework: Vec<String>,
}

impl Build {
    /// Asks the build. `generated` holds the protocols' headers.
    pub fn of(root: &Path, generated: &Path) -> Result<Build, DriverError> {
        let failed = |error| DriverError::File(root.to_path_buf(), error);
        let directory = root.join("user").canonicalize().map_err(failed)?;
        let generated = generated.canonicalize().map_err(failed)?.display().to_string();
        let mut make = Command::new("make");
        make.args(["-s", "--no-print-directory", "DEBUG=0", "driver-compiler", "-C"]).arg(&directory);
        let output = make.env_remove("MAKEFLAGS").output().map_err(DriverError::Compiler)?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut command: Vec<String> = text.split_whitespace().map(str::to_string).collect();
        if !output.status.success() || command.is_empty() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            return Err(DriverError::Preprocess(format!("`make -C user driver-compiler` fails:\n{said}")));
        }
        // Before the build's own copies, which may be older than the protocols.
        let place = command.iter().position(|flag| flag.ends_with("/protocols")).unwrap_or(command.len());
        command.insert(place, format!("-I{generated}"));
        let directories = command.iter().filter_map(|flag| flag.strip_prefix("-I"));
        let mut framework: Vec<String> = directories.filter(|one| *one != "drivers").map(str::to_string).collect();
        let own = Command::new(&command[0]).arg("-print-file-name=include").output().map_err(DriverError::Compiler)?;
        framework.push(String::from_utf8_lossy(&own.stdout).trim().to_string());
        Ok(Build { command, directory, flags: Vec::new(), framework })
    }

    /// The same for a driver whose files have further flags.
    pub fn with_flags(self, flags: &[String]) -> Build {
        Build { flags: flags.to_vec(), ..self }
    }

    /// The file as the compiler names it when it builds the image.
    pub fn name(&self, file: &Path) -> PathBuf {
        let full = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
        full.strip_prefix(&self.directory).map(Path::to_path_buf).unwrap_or(full)
    }

    /// Where a file is that a line marker names.
    pub fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// The preprocessed text of a file.
    pub fn preprocess(&self, file: &Path, include: &[PathBuf]) -> Result<String, DriverError> {
        let file = self.name(file);
        let flags: Vec<&str> = self.flags.iter().map(String::as_str).collect();
        let text = self.run(&file, include, &flags)?;
        // Debug images define one macro more; it must not change what was checked.
        let own = |text: &str| self.own_lines(text);
        let debug: Vec<&str> = flags.iter().copied().chain(["-DASHLAR_MONITOR"]).collect();
        if own(&text) != own(&self.run(&file, include, &debug)?) {
            let file = file.display();
            return Err(DriverError::Preprocess(format!(
                "{file}: the text of debug images differs: leave ASHLAR_MONITOR to the framework"
            )));
        }
        Ok(text)
    }

    /// The framework's own text, from which the primitives are known.
    pub fn framework_text(&self) -> Result<String, DriverError> {
        let probe = PathBuf::from("-");
        self.run(&probe, &[], &["-include", "ashlar/driver.h", "-x", "c"])
    }

    /// The preprocessed text of a file, without markers of lines.
    pub fn expand(&self, file: &Path) -> Result<String, DriverError> {
        self.run(&file.canonicalize().unwrap_or_else(|_| file.to_path_buf()), &[], &["-P"])
    }

    fn run(&self, file: &Path, include: &[PathBuf], more: &[&str]) -> Result<String, DriverError> {
        let (compiler, flags) = self.command.split_first().ok_or_else(|| DriverError::Preprocess(String::new()))?;
        let mut command = Command::new(compiler);
        command.current_dir(&self.directory).args(flags).arg("-E").args(more);
        for directory in include {
            command.arg("-I").arg(directory.canonicalize().unwrap_or_else(|_| directory.clone()));
        }
        command.stdin(std::process::Stdio::null());
        let output = command.arg(file).output().map_err(DriverError::Compiler)?;
        if !output.status.success() {
            return Err(DriverError::Preprocess(String::from_utf8_lossy(&output.stderr).into_owned()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Whether a header belongs to the framework or the compiler, not to the driver.
    pub fn is_framework(&self, file: &str) -> bool {
        is_inside(&self.framework, file)
    }

    fn own_lines(&self, text: &str) -> String {
        let mut is_own = true;
        let mut all = String::new();
        for line in text.lines() {
            match crate::source_map::marker(line) {
                Some((_, file)) => is_own = !self.is_framework(&file),
                None if is_own && !line.trim().is_empty() => {
                    all.push_str(line);
                    all.push('\n');
                }
                None => {}
            }
        }
        all
    }
}

/// Whether a file stands in one of the directories. `<built-in>` and its like belong to the compiler.
pub fn is_inside(directories: &[String], file: &str) -> bool {
    file.starts_with('<')
        || directories
            .iter()
            .any(|directory| file.strip_prefix(directory.as_str()).is_some_and(|rest| rest.starts_with('/')))
}
