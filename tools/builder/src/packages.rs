//! Packages of Debian that only some runs need, such as those of another emulator.

use output::{Failure, Output};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

/// Held while packages are looked for and installed: cases of tests that run side by side may want the same ones.
static INSTALLING: Mutex<()> = Mutex::new(());
/// Another process may be installing something: seconds until it is not waited for any more.
const LOCK_TIMEOUT: &str = "DPkg::Lock::Timeout=600";

/// Installs those of `names` that are missing if root asks; otherwise says how.
pub fn need(names: &[String], output: &Output) -> Result<(), Failure> {
    let _one_at_a_time = INSTALLING.lock().unwrap_or_else(PoisonError::into_inner);
    let missing: Vec<&str> = names.iter().map(String::as_str).filter(|name| !is_installed(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let list = missing.join(" ");
    if !rustix::process::geteuid().is_root() {
        let remedy = format!("as root: apt-get update && apt-get install --no-install-recommends {list}");
        return Err(Failure::unable(format!("packages are missing: {list}"), remedy));
    }
    output.note(&format!("installing packages: {list}"));
    // A fresh machine has no package lists yet, and stale ones name versions that are gone: update, then once more.
    let installed = install(&missing).or_else(|_| apt_get(&["update"]).and_then(|()| install(&missing)));
    installed
        .map_err(|said| Failure::unable(format!("apt-get could not install {list}: {said}"), "install them by hand"))
}

fn is_installed(package: &str) -> bool {
    let asked = Command::new("dpkg-query").args(["-W", "-f", "${db:Status-Status}", package]).output();
    asked.is_ok_and(|answer| answer.stdout == b"installed")
}

fn install(packages: &[&str]) -> Result<(), String> {
    apt_get(&[&["install", "-y", "--no-install-recommends"], packages].concat())
}

/// The error is the last line that it said.
fn apt_get(arguments: &[&str]) -> Result<(), String> {
    let ran = Command::new("apt-get")
        .args(["-o", LOCK_TIMEOUT])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive")
        .output();
    match ran {
        Ok(ran) if ran.status.success() => Ok(()),
        Ok(ran) => Err(String::from_utf8_lossy(&ran.stderr).trim().lines().last().unwrap_or_default().to_string()),
        Err(error) => Err(error.to_string()),
    }
}
