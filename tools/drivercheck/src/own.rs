//! Drivers of a user's project: those programs in C of its `ashlar.toml` whose text has the table `driver_protocols`.

use crate::driver::Source;
use project::PROJECT_FILE;
use std::collections::BTreeMap;
use std::path::Path;
use system::{Made, ProjectFile};

/// Each driver's name and its files, in the order of `ashlar.toml`. `root` is the root of Ashlar's sources; headers are written to
/// `scratch`. The error is text for the user.
pub fn drivers(own: &Path, root: &Path, scratch: &Path) -> Result<Vec<(String, Source)>, String> {
    // Names that are taken are for the build to report.
    let file = ProjectFile::read(&own.join(PROJECT_FILE), &BTreeMap::new()).map_err(|report| report.to_string())?;
    let mut all = Vec::new();
    for program in file.programs {
        let Made::C { sources, include, flags } = program.made else { continue };
        let mut files: Vec<_> = sources.iter().map(|path| own.join(path)).collect();
        let is_driver = |path: &std::path::PathBuf| {
            std::fs::read_to_string(path).is_ok_and(|text| text.contains("driver_protocols"))
        };
        // The first file gives the driver its name.
        let stem = Some(std::ffi::OsStr::new(&program.name));
        files.sort_by_key(|path| (path.file_stem() != stem, path.clone()));
        if !files.iter().any(is_driver) {
            continue;
        }
        let source = Source {
            root: root.to_path_buf(),
            name: Some(program.name.clone()),
            files,
            protocol_dir: root.join("protocols"),
            project: Some(own.to_path_buf()),
            include: include.iter().map(|folder| own.join(folder)).collect(),
            flags,
            scratch: scratch.to_path_buf(),
            ..Source::default()
        };
        all.push((program.name, source));
    }
    Ok(all)
}
