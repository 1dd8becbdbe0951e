//! `doctor`: what this machine lacks, and the one command that installs it.

use crate::results::{DoctorFinding, DoctorResult};
use output::{Failure, Output};
use project::Project;
use std::path::Path;
use std::process::Command;

/// The program or file that shows that a package is installed, and what needs it. For other packages dpkg is asked.
const PROBES: &[(&str, &str, &str)] = &[
    ("binutils", "ld", "build"),
    ("ca-certificates", "/etc/ssl/certs/ca-certificates.crt", "guest files"),
    ("cpio", "cpio", "test"),
    ("gcc", "gcc", "build"),
    ("grub-common", "grub-mkrescue", "image"),
    ("grub-efi-amd64-bin", "/usr/lib/grub/x86_64-efi", "image"),
    ("grub-pc-bin", "/usr/lib/grub/i386-pc", "image"),
    ("libc6-dev", "/usr/include/stdint.h", "build"),
    ("make", "make", "build"),
    ("mtools", "mformat", "image"),
    ("ovmf", "/usr/share/OVMF/OVMF_CODE.fd", "test of UEFI start"),
    ("qemu-system-x86", "qemu-system-x86_64", "run"),
    ("xorriso", "xorriso", "image"),
    ("coq", "coqc", "prove"),
    ("libcoq-stdpp", "/usr/lib/ocaml/coq/user-contrib/stdpp", "prove"),
    ("ocaml-nox", "ocamlopt", "prove, test of specifications"),
    ("ocaml-findlib", "ocamlfind", "prove, test of specifications"),
    ("libzarith-ocaml-dev", "/usr/lib/ocaml/zarith", "prove, test of specifications"),
    ("patch", "patch", "drivers seeded"),
    ("gcc-arm-linux-gnueabi", "arm-linux-gnueabi-gcc", "test of timing"),
    ("gcc-riscv64-unknown-elf", "riscv64-unknown-elf-gcc", "test of timing"),
    ("qemu-user", "qemu-arm", "test of timing"),
    ("g++", "g++", "timing"),
    ("z3", "z3", "timing, drivers"),
    ("graphviz", "dot", "pictures"),
];

pub fn doctor(project: &Project, output: &Output) -> Result<(), Failure> {
    let packages = packages(project)?;
    let missing: Vec<&str> = packages.iter().map(String::as_str).filter(|name| !is_installed(name)).collect();
    let mut findings: Vec<DoctorFinding> = packages
        .iter()
        .map(|name| {
            let needed_for = PROBES.iter().find(|(package, ..)| package == name).map_or("test", |probe| probe.2);
            let fault = missing.contains(&name.as_str()).then(|| "not installed".to_string());
            finding(&format!("package {name}"), fault, "see below", needed_for)
        })
        .collect();
    findings.extend([compiler(), emulator(), memory()]);
    // In a distribution nothing of Ashlar is built.
    if !project.is_distribution() {
        findings.extend([rust(), writable(project)]);
    }
    let faults = findings.iter().filter(|finding| !finding.ok).count();
    // Where only root's password is known, as on a fresh Debian, there is none.
    let sudo = if in_path("sudo") { "sudo " } else { "" };
    let install = (!missing.is_empty()).then(|| {
        format!("{sudo}apt-get update && {sudo}apt-get install --no-install-recommends {}", missing.join(" "))
    });
    for finding in &findings {
        match (&finding.fault, &finding.remedy) {
            (Some(fault), Some(remedy)) => {
                output.human(&format!("MISSING  {}: {fault} (needed for: {})", finding.name, finding.needed_for));
                if remedy != "see below" {
                    output.human(&format!("         {remedy}"));
                }
            }
            _ => output.human(&format!("ok       {}", finding.name)),
        }
    }
    if let Some(install) = &install {
        output.human(&format!("\ninstall what is missing, as root:\n    {install}"));
    }
    output.json(&DoctorResult { faults, install, findings });
    match faults {
        0 => Ok(()),
        1 => Err(Failure::Finding("1 thing is missing".into())),
        count => Err(Failure::Finding(format!("{count} things are missing"))),
    }
}

/// The packages that the entry installs, in the order of its list.
fn packages(project: &Project) -> Result<Vec<String>, Failure> {
    let path = project.root().join("tools/packages.txt");
    let text = diagnostics::input_file::text(&path)
        .map_err(|error| Failure::unable(format!("{} cannot be read: {error}", path.display()), error.remedy()))?;
    Ok(listed(&text))
}

fn listed(text: &str) -> Vec<String> {
    let names = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    names.filter(|name| !name.is_empty()).map(String::from).collect()
}

fn is_installed(package: &str) -> bool {
    match PROBES.iter().find(|(name, ..)| *name == package) {
        Some((_, probe, _)) if probe.starts_with('/') => Path::new(probe).exists(),
        Some((_, probe, _)) => in_path(probe),
        None => {
            let asked = Command::new("dpkg-query").args(["-W", "-f", "${db:Status-Status}", package]).output();
            asked.is_ok_and(|answer| answer.stdout == b"installed")
        }
    }
}

fn in_path(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}

fn finding(name: &str, fault: Option<String>, remedy: &str, needed_for: &str) -> DoctorFinding {
    DoctorFinding {
        name: name.into(),
        ok: fault.is_none(),
        remedy: fault.as_ref().map(|_| remedy.to_string()),
        fault,
        needed_for: needed_for.into(),
    }
}

/// First line that a program prints.
fn first_line(program: &str, argument: &str) -> Option<String> {
    let output = Command::new(program).arg(argument).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next()?.to_string())
}

fn compiler() -> DoctorFinding {
    let version = first_line("gcc", "-dumpversion");
    let major: Option<u32> = version.as_deref().and_then(|text| text.split('.').next()?.parse().ok());
    let fault = match major {
        Some(major) if major >= 12 => None,
        Some(major) => Some(format!("version {major} is older than 12")),
        None => Some("it does not say its version".to_string()),
    };
    finding("gcc 12 or later", fault, "install a newer gcc", "build")
}

fn rust() -> DoctorFinding {
    let cargo = std::env::var("ASHLAR_CARGO").unwrap_or_else(|_| "cargo".into());
    let version = first_line(&cargo, "--version");
    let minor = version.as_deref().and_then(minor);
    let fault = match minor {
        Some(minor) if minor >= LEAST_RUST => None,
        Some(minor) => Some(format!("version 1.{minor} is older")),
        None => Some("there is no cargo".to_string()),
    };
    let remedy = "sudo apt-get install cargo-web rustc-web, or https://rustup.rs";
    finding(&format!("Rust 1.{LEAST_RUST} or later"), fault, remedy, "timing, drivers, test")
}

/// The same as rust-version in tools/Cargo.toml.
const LEAST_RUST: u32 = 85;

/// Minor version of Rust 1.x.
fn minor(version: &str) -> Option<u32> {
    version.strip_prefix("cargo 1.")?.split('.').next()?.parse().ok()
}

fn emulator() -> DoctorFinding {
    let text = Command::new("qemu-system-x86_64").args(["-cpu", "help"]).output().ok();
    let knows = text.is_some_and(|output| String::from_utf8_lossy(&output.stdout).contains("EPYC"));
    let fault = (!knows).then(|| "the emulator offers no EPYC processor".to_string());
    finding("qemu with AMD virtualization", fault, "install qemu-system-x86 7.2 or later", "run with guests")
}

fn memory() -> DoctorFinding {
    const NEEDED_KIB: u64 = 3 << 20;
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available: Option<u64> =
        text.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse().ok());
    let fault = match available {
        Some(kib) if kib < NEEDED_KIB => Some(format!("{} MiB are free", kib >> 10)),
        _ => None,
    };
    finding("3 GiB of free memory", fault, "end other programs", "run with guests")
}

fn writable(project: &Project) -> DoctorFinding {
    let folder = project.build();
    let probe = folder.join(format!(".doctor{}", std::process::id()));
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&probe, b""));
    // It exists only if it was written just now.
    let _ = std::fs::remove_file(&probe);
    let fault = written.err().map(|error| error.to_string());
    let remedy = format!("sudo chown -R \"$USER\" '{}'", folder.display());
    finding("a writable build folder", fault, &remedy, "everything")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_is_of_a_listed_package() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../packages.txt");
        let listed = listed(&std::fs::read_to_string(path).unwrap());
        assert!(listed.len() > 20, "{listed:?}");
        for (package, ..) in PROBES {
            assert!(listed.iter().any(|name| name == package), "{package} is not in packages.txt");
        }
    }

    #[test]
    fn versions_of_rust_are_read() {
        assert_eq!(minor("cargo 1.85.0 (d73d2caf9 2024-12-31)"), Some(85));
        assert_eq!(minor("cargo 2.0.0"), None);
        let manifest = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.toml")).unwrap();
        assert!(manifest.contains(&format!("rust-version = \"1.{LEAST_RUST}\"")));
    }
}
