//! Files out of Debian packages, which are downloaded but never installed. apt checks the archive's signatures; the package's
//! hash is compared once more with what apt lists, because the file may be an old one.

use crate::{sha256, Error};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// One version of one package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub architecture: String,
    pub sha256: String,
}

impl Package {
    /// What apt would install for `name`.
    pub fn find(name: &str) -> Result<Package, Error> {
        let unknown = || Error::UnknownPackage { package: name.to_string() };
        let text = run("apt-cache", &["show", "--no-all-versions", name], None).map_err(|error| match error {
            Error::Command { .. } => unknown(),
            other => other,
        })?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let field =
            |key: &str| text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": ")).map(String::from);
        let version = field("Version").ok_or_else(unknown)?;
        let sha256 = field("SHA256").ok_or_else(unknown)?;
        let architecture = field("Architecture").ok_or_else(unknown)?;
        Ok(Package { name: name.to_string(), version, architecture, sha256 })
    }

    /// The first package that the metapackage `name` depends on and whose name begins with `prefix`.
    pub fn find_dependency(name: &str, prefix: &str) -> Result<Package, Error> {
        let text = run("apt-cache", &["depends", "--important", name], None)?;
        let text = String::from_utf8_lossy(&text).into_owned();
        let names = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
        let found = names.map(str::trim).find(|name| name.starts_with(prefix));
        Package::find(found.ok_or_else(|| Error::UnknownPackage { package: format!("{prefix}*, needed by {name}") })?)
    }

    /// Downloads the package into `folder` unless it lies there, and checks its hash.
    pub fn download(&self, folder: &Path) -> Result<PathBuf, Error> {
        let path = folder.join(self.file_name());
        if !path.exists() {
            let wanted = format!("{}={}", self.name, self.version);
            // Without the setting apt warns as root that its own user may not write here.
            run("apt-get", &["-o", "APT::Sandbox::User=root", "-q", "download", &wanted], Some(folder))?;
        }
        let bytes = std::fs::read(&path).map_err(|error| Error::Read { path: path.clone(), error })?;
        let found = sha256::hex(&bytes);
        if found == self.sha256 {
            return Ok(path);
        }
        Err(Error::WrongPackage { path, package: self.name.clone(), found, expected: self.sha256.clone() })
    }

    fn file_name(&self) -> String {
        // apt writes the epoch's colon as %3a.
        format!("{}_{}_{}.deb", self.name, self.version.replace(':', "%3a"), self.architecture)
    }
}

/// The first file of the package at `path` whose name begins with `prefix`, such as `./boot/vmlinuz-`.
pub fn member(path: &Path, prefix: &'static str) -> Result<Vec<u8>, Error> {
    let deb = path.display().to_string();
    let list = run("dpkg-deb", &["--fsys-tarfile", &deb], None)?;
    crate::archive::tar::find(&list, prefix).ok_or(Error::Incomplete { package: deb, member: prefix })
}

/// Unpacks the files of the package at `path` that match one of `patterns` into `folder`, without their paths. A package
/// may be too large to be held in memory.
pub fn unpack(path: &Path, patterns: &[String], folder: &Path) -> Result<(), Error> {
    let missing = |program| move |error| Error::Missing { program, error };
    let mut list = Command::new("dpkg-deb")
        .arg("--fsys-tarfile")
        .arg(path)
        .stdout(Stdio::piped())
        .spawn()
        .map_err(missing("dpkg-deb"))?;
    let input = list.stdout.take().map_or_else(Stdio::null, Stdio::from);
    let mut tar = Command::new("tar");
    tar.args(["-x", "--wildcards", "--transform=s,.*/,,", "-C"]).arg(folder).args(patterns).stdin(input);
    let done = tar.output().map_err(missing("tar"))?;
    let listed = list.wait().map_err(missing("dpkg-deb"))?;
    if done.status.success() && listed.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&done.stderr).trim().to_string();
    Err(Error::Command { command: format!("unpacking {}", path.display()), complaint })
}

/// Runs a command and gives what it prints.
pub fn run(program: &'static str, arguments: &[&str], folder: Option<&Path>) -> Result<Vec<u8>, Error> {
    let mut command = Command::new(program);
    command.args(arguments).env("LC_ALL", "C");
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    let done = command.output().map_err(|error| Error::Missing { program, error })?;
    if done.status.success() {
        return Ok(done.stdout);
    }
    let stderr = String::from_utf8_lossy(&done.stderr);
    let complaint = stderr.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("no message");
    Err(Error::Command { command: format!("{program} {}", arguments.join(" ")), complaint: complaint.to_string() })
}
