//! What is packed: of the tree what programs, descriptions and people use; of what is built there the finished parts.

use super::{files_in, hash, run, unwritable, write};
use builder::KernelOptions;
use output::Failure;
use project::Project;
use std::path::Path;
use std::process::Command;

/// Folders of the tree that are packed whole, but for their tests.
const FOLDERS: [&str; 12] = [
    "machines",
    "protocols",
    "systems",
    "user/apps",
    "user/drivers",
    "user/include",
    "user/libc",
    "user/net",
    "user/runtime",
    "user/rust",
    "user/services",
    "user/vmm",
];
/// Files of the tree besides. The header of the kernel's primitives has the numbers by which traces are read.
const FILES: [&str; 9] = [
    "LICENSE",
    "LICENSE-APACHE",
    "LICENSE-MIT",
    "CHANGELOG.md",
    "kernel/abi.h",
    "kernel/config.h",
    "kernel/syscall_numbers.h",
    "kernel/arch/arch.h",
    "user/Makefile",
];
/// What every program is linked with.
const LIBRARY: [&str; 2] = ["libc/crt0.S.o", "libashlar.a"];

/// Copies it all into `folder`.
pub(super) fn copy(project: &Project, folder: &Path, kernels: &[KernelOptions]) -> Result<(), Failure> {
    let root = project.root();
    for below in FOLDERS {
        copy_folder(&root.join(below), &folder.join(below), &["tests", "target"])?;
    }
    copy_folder(&root.join("gallery"), &folder.join("gallery"), &["build", "target", ".ashlar"])?;
    copy_folder(&project.build().join("book"), &folder.join("book"), &[])?;
    for file in FILES {
        copy_file(&root.join(file), &folder.join(file))?;
    }
    for kernel in kernels {
        for file in ["ashlar.elf", "ashlar.debug"] {
            let below = Path::new("build/kernel").join(kernel.configuration()).join(file);
            copy_file(&root.join(&below), &folder.join(&below))?;
        }
    }
    // The programs that have sources in the archive: not those of tests and benchmarks.
    for out in ["build/user", "build/user-debug"] {
        for (_, elf) in system::programs(&folder.join("user"), Path::new(out)) {
            copy_file(&root.join(&elf), &folder.join(&elf))?;
        }
        for file in LIBRARY {
            let below = Path::new(out).join("obj").join(file);
            copy_file(&root.join(&below), &folder.join(&below))?;
        }
    }
    let unit = Path::new("build").join(builder::UNIT_LIBRARY);
    copy_file(&root.join(&unit), &folder.join(&unit))?;
    for file in files_in(&project.build().join("protocols"))? {
        if let Some(name) = file.file_name().filter(|_| file.extension().is_some_and(|end| end == "h")) {
            copy_file(&file, &folder.join("build/protocols").join(name))?;
        }
    }
    for (path, text) in [
        ("ashlar", include_str!("../../../template/distribution/ashlar")),
        ("tools/packages.txt", include_str!("../../../template/distribution/packages.txt")),
    ] {
        write(&folder.join(path), text)?;
    }
    let tool = std::env::current_exe().unwrap_or_else(|_| Project::tool("ashlar"));
    let bin = folder.join("bin");
    std::fs::create_dir_all(&bin).map_err(|error| unwritable(&bin, &error))?;
    run(Command::new("strip").arg("-o").arg(bin.join("ashlar")).arg(&tool))?;
    run(Command::new("chmod").arg("755").arg(folder.join("ashlar")))
}

/// Copies a folder without what stands in those that are called as one of `left`.
fn copy_folder(from: &Path, to: &Path, left: &[&str]) -> Result<(), Failure> {
    for file in files_in(from)? {
        let below = file.strip_prefix(from).unwrap_or(&file);
        let is_left = below.components().any(|part| left.iter().any(|name| part.as_os_str() == *name));
        if !is_left {
            copy_file(&file, &to.join(below))?;
        }
    }
    Ok(())
}

pub(super) fn copy_file(from: &Path, to: &Path) -> Result<(), Failure> {
    let folder = to.parent().map_or(Ok(()), std::fs::create_dir_all);
    folder.and_then(|()| std::fs::copy(from, to).map(|_| ())).map_err(|error| {
        let message = format!("{} cannot be copied to {}: {error}", from.display(), to.display());
        Failure::unable(message, "check permissions and free space")
    })
}

/// The file that makes a folder a distribution.
pub(super) fn description(project: &Project, version: &str, kernels: &[KernelOptions]) -> String {
    let commit = Command::new("git").args(["describe", "--always", "--dirty"]).current_dir(project.root()).output();
    let commit = commit.ok().filter(|done| done.status.success()).map(|done| done.stdout);
    let commit = commit.map_or("unknown".into(), |text| String::from_utf8_lossy(&text).trim().to_string());
    let kernels: Vec<String> = kernels.iter().map(|kernel| format!("    \"{}\",\n", kernel.configuration())).collect();
    format!(
        "# Made by `ashlar dist`: Ashlar without the sources of its kernel, proofs and tools.\n\
         version = \"{version}\"\ncommit = \"{commit}\"\nkernels = [\n{}]\n",
        kernels.concat()
    )
}

/// Writes SHA256SUMS, which `sha256sum --check` reads.
pub(super) fn write_checksums(folder: &Path) -> Result<(), Failure> {
    let mut lines = String::new();
    for file in files_in(folder)? {
        let below = file.strip_prefix(folder).unwrap_or(&file);
        lines += &format!("{}  {}\n", hash(&file)?, below.display());
    }
    write(&folder.join("SHA256SUMS"), &lines)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_distribution_needs_no_package_that_the_tree_does_not() {
        let names = |text: &'static str| {
            text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).collect::<Vec<_>>()
        };
        let tree = names(include_str!("../../../../packages.txt"));
        let own = names(include_str!("../../../template/distribution/packages.txt"));
        assert!(own.contains(&"gcc") && own.len() < tree.len());
        for package in own {
            assert!(tree.contains(&package), "{package}");
        }
    }
}
