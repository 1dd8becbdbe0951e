//! Drivers of a user's project: those programs in C of its `ashlar.toml` whose text has the table `driver_protocols`.

use crate::driver::{Driver, DriverError, Source};
use crate::Fault;
use project::PROJECT_FILE;
use std::collections::BTreeMap;
use std::path::Path;
use system::{Assets, Made, ProjectFile};

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

/// Refuses a driver that says it has I/O ports which some description of the project does not give it, or where one cannot be
/// read.
pub fn check_ports(own: &Path, root: &Path, driver: &Driver) -> Result<(), DriverError> {
    let Some(said) = driver.model()?.ports else { return Ok(()) };
    let assets = Assets { machines: root.join("machines"), ..Assets::default() };
    let (count, device) = (said.count, &said.device);
    let (mut faults, mut unread) = (Vec::new(), Vec::new());
    let systems = own.join("systems");
    for name in project::stems(&systems, "toml") {
        let processes = match system::ports(&systems.join(format!("{name}.toml")), &assets, &driver.name) {
            Ok(processes) => processes,
            Err(report) => {
                unread.push(report.to_string());
                continue;
            }
        };
        for process in processes {
            let who = format!("process {} of systems/{name}.toml", process.process);
            let message = match process.devices.iter().find(|(name, _)| name == device) {
                Some((_, given)) if count <= *given => continue,
                Some((_, given)) => format!(
                    "the driver says it has {count} ports of device {device}, but {who} is given {given}: \
                     use no more, or give it more in the machine's file"
                ),
                None => format!(
                    "the driver says it has ports of device {device}, but {who} is given none: add the device to its `devices`"
                ),
            };
            faults.push(Fault { place: said.place.clone(), message });
        }
    }
    if !unread.is_empty() {
        Err(DriverError::Descriptions(driver.name.clone(), unread))
    } else if !faults.is_empty() {
        Err(DriverError::Faults(faults))
    } else {
        Ok(())
    }
}
