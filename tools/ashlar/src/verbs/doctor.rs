//! `doctor`: what this machine lacks, and the command that mends it.

use crate::failure::Failure;
use crate::output::Output;
use project::Project;
use serde_json::json;
use std::process::Command;

/// One thing looked at.
#[derive(Debug)]
struct Finding {
    name: &'static str,
    /// What is wrong; none if it is well.
    fault: Option<String>,
    /// The command that mends it.
    remedy: String,
    /// What cannot be done without it.
    needed_for: &'static str,
}

/// Programs and files that must be there: what to look for, its package, what needs it.
const NEEDS: &[(&str, &str, &str)] = &[
    ("gcc", "gcc", "build"),
    ("make", "make", "build"),
    ("ld", "binutils", "build"),
    ("/usr/include/stdint.h", "libc6-dev", "build"),
    ("qemu-system-x86_64", "qemu-system-x86", "run"),
    ("dpkg-deb", "dpkg", "guest files"),
    ("apt-get", "apt", "guest files"),
    ("cpio", "cpio", "test"),
    ("grub-mkrescue", "grub-common", "image"),
    ("xorriso", "xorriso", "image"),
    ("mformat", "mtools", "image"),
    ("/usr/lib/grub/i386-pc", "grub-pc-bin", "image"),
    ("/usr/lib/grub/x86_64-efi", "grub-efi-amd64-bin", "image"),
    ("/usr/share/OVMF/OVMF_CODE.fd", "ovmf", "test of UEFI start"),
    ("coqc", "coq", "prove"),
    ("/usr/lib/ocaml/coq/user-contrib/stdpp", "libcoq-stdpp", "prove"),
    ("ocamlopt", "ocaml-nox", "test of specifications"),
    ("ocamlfind", "ocaml-findlib", "test of specifications"),
    ("/usr/lib/ocaml/zarith", "libzarith-ocaml-dev", "test of specifications"),
];

pub fn doctor(project: &Project, output: &Output) -> Result<(), Failure> {
    let mut findings: Vec<Finding> = NEEDS.iter().map(installed).collect();
    findings.push(compiler());
    findings.push(emulator());
    findings.push(memory());
    findings.push(writable(project));
    let faults = findings.iter().filter(|finding| finding.fault.is_some()).count();
    for finding in &findings {
        match &finding.fault {
            None => output.human(&format!("ok       {}", finding.name)),
            Some(fault) => {
                output.human(&format!("MISSING  {}: {fault} (needed for: {})", finding.name, finding.needed_for));
                output.human(&format!("         {}", finding.remedy));
            }
        }
    }
    let list: Vec<_> = findings.iter().map(|finding| json!({
        "name": finding.name, "ok": finding.fault.is_none(), "fault": finding.fault, "needed_for": finding.needed_for,
        "remedy": finding.fault.as_ref().map(|_| &finding.remedy),
    })).collect();
    output.json(&json!({ "faults": faults, "findings": list }));
    match faults {
        0 => Ok(()),
        1 => Err(Failure::Finding("1 thing is missing".into())),
        count => Err(Failure::Finding(format!("{count} things are missing"))),
    }
}

fn installed(&(name, package, needed_for): &(&'static str, &str, &'static str)) -> Finding {
    let there = if name.starts_with('/') { std::path::Path::new(name).exists() } else { in_path(name) };
    let fault = (!there).then(|| "not found".to_string());
    Finding { name, fault, remedy: format!("sudo apt-get install {package}"), needed_for }
}

fn in_path(program: &str) -> bool {
    let paths = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&paths).any(|folder| folder.join(program).is_file())
}

/// First line that a program prints.
fn first_line(program: &str, argument: &str) -> Option<String> {
    let output = Command::new(program).arg(argument).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).lines().next()?.to_string())
}

fn compiler() -> Finding {
    let version = first_line("gcc", "-dumpversion");
    let major: Option<u32> = version.as_deref().and_then(|text| text.split('.').next()?.parse().ok());
    let fault = match major {
        Some(major) if major >= 12 => None,
        Some(major) => Some(format!("version {major} is older than 12")),
        None => Some("does not say its version".to_string()),
    };
    Finding { name: "gcc 12 or later", fault, remedy: "sudo apt-get install gcc".into(), needed_for: "build" }
}

fn emulator() -> Finding {
    let text = Command::new("qemu-system-x86_64").args(["-cpu", "help"]).output().ok();
    let knows = text.is_some_and(|output| String::from_utf8_lossy(&output.stdout).contains("EPYC"));
    let fault = (!knows).then(|| "the emulator offers no EPYC processor".to_string());
    let remedy = "sudo apt-get install qemu-system-x86".into();
    Finding { name: "qemu with AMD virtualization", fault, remedy, needed_for: "run with guests" }
}

fn memory() -> Finding {
    const NEEDED_KIB: u64 = 3 << 20;
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available: Option<u64> =
        text.lines().find_map(|line| line.strip_prefix("MemAvailable:")?.split_whitespace().next()?.parse().ok());
    let fault = match available {
        Some(kib) if kib < NEEDED_KIB => Some(format!("{} MiB are free", kib >> 10)),
        _ => None,
    };
    Finding { name: "3 GiB of free memory", fault, remedy: "end other programs".into(), needed_for: "run with guests" }
}

fn writable(project: &Project) -> Finding {
    let folder = project.build();
    let probe = folder.join(format!(".doctor{}", std::process::id()));
    let written = std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&probe, b""));
    // It exists only if it was written just now.
    let _ = std::fs::remove_file(&probe);
    let fault = written.err().map(|error| error.to_string());
    let remedy = format!("sudo chown -R \"$USER\" '{}'", folder.display());
    Finding { name: "a writable build folder", fault, remedy, needed_for: "everything" }
}
