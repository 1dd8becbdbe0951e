//! Why guest files or media could not be made, each with its remedy.

use std::path::PathBuf;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{program} cannot be started: {error}")]
    Missing { program: &'static str, error: std::io::Error },
    #[error("{command} failed: {complaint}")]
    Command { command: String, complaint: String },
    #[error("apt knows no package {package}")]
    UnknownPackage { package: String },
    #[error("{path} is not what apt says {package} is: SHA-256 {found}, not {expected}", path = path.display())]
    WrongPackage { path: PathBuf, package: String, found: String, expected: String },
    #[error("the package {package} holds no {member}")]
    Incomplete { package: String, member: &'static str },
    #[error("{path} is damaged: {flaw}", path = path.display())]
    Damaged { path: PathBuf, flaw: String },
    #[error("only root can make {what}: packages run programs of theirs in the new tree, and files get other owners")]
    NeedsRoot { what: &'static str },
    #[error("mmdebstrap could not install Debian into a folder: {complaint}")]
    Debian { complaint: String },
    #[error("{path} cannot be read: {error}", path = path.display())]
    Read { path: PathBuf, error: std::io::Error },
    #[error("{path} cannot be written: {error}", path = path.display())]
    Write { path: PathBuf, error: std::io::Error },
}

impl Error {
    /// How to mend it.
    pub fn remedy(&self) -> String {
        match self {
            Error::Missing { .. } => "run ./ashlar doctor".into(),
            Error::Command { command, .. } if command.starts_with("grub-mkrescue") => {
                "check that the folder can be written and has space for the image; run ./ashlar doctor".into()
            }
            Error::Command { .. } => {
                "run `apt-get update` as root and check the network and /etc/apt/sources.list".into()
            }
            Error::UnknownPackage { .. } => {
                "run `apt-get update` as root; Debian 12's main archive and its security archive must be listed".into()
            }
            Error::WrongPackage { path, .. } | Error::Damaged { path, .. } => {
                format!("remove it, and it is made anew: rm '{}'", path.display())
            }
            Error::NeedsRoot { .. } => {
                "run it once as root, or copy build/guest/debian.img from a tree where that was done".into()
            }
            Error::Debian { .. } => {
                "check the network; in a container that may not mount file systems it cannot be done".into()
            }
            Error::Incomplete { .. } => "the package has changed its layout; tools/image must follow".into(),
            Error::Read { .. } | Error::Write { .. } => "check permissions and free space".into(),
        }
    }
}
