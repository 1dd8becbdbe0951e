//! Which programs the source tree holds, by the rule of `user/Makefile`: each C file of `apps`, `tests`, `bench` and of
//! the folders in `services`, each folder of `drivers`, `vmm`, and each crate of `apps`, `tests` and `bench`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Each program's name with the ELF file in `out` that the Makefile in `user` makes of it.
pub fn programs(user: &Path, out: &Path) -> BTreeMap<String, PathBuf> {
    let rooms: Vec<PathBuf> = ["apps", "tests", "bench"].iter().flat_map(|room| entries(&user.join(room))).collect();
    let crates: Vec<PathBuf> = rooms.iter().filter(|path| path.join("Cargo.toml").is_file()).cloned().collect();
    let mut files = rooms;
    files.extend(entries(&user.join("services")).iter().flat_map(|service| entries(service)));
    files.retain(|path| path.extension().is_some_and(|extension| extension == "c"));
    let mut folders = entries(&user.join("drivers"));
    folders.push(user.join("vmm"));
    folders.retain(|path| path.is_dir());
    let names = files.iter().chain(&folders).chain(&crates).filter_map(|path| path.file_stem());
    names.map(|name| name.to_string_lossy().into_owned()).map(|name| (name.clone(), out.join(name + ".elf"))).collect()
}

/// What a folder holds; nothing if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| Some(entry.ok()?.path())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_in_whichever_room_it_stands() {
        let user = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../user");
        let found = programs(&user, Path::new("out"));
        for name in ["hello", "intruder", "bench_ipc", "pci_bus", "ahci", "vmm", "bench_echo_rust"] {
            assert_eq!(found.get(name), Some(&Path::new("out").join(format!("{name}.elf"))), "{name}");
        }
        for header_or_library in ["random", "tcp", "string", "domain", "tests"] {
            assert!(!found.contains_key(header_or_library), "{header_or_library}");
        }
    }
}
