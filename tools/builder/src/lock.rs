//! One build at a time: commands, and tests of one command, may run side by side in a tree.

use output::Failure;
use project::Project;
use std::fs::File;

/// Other builds of the tree wait until this is dropped.
#[derive(Debug)]
pub struct BuildLock(#[allow(dead_code)] File);

impl BuildLock {
    /// Waits until nothing else builds in the tree. With a distribution, where only projects are built: in the project.
    pub fn take(project: &Project) -> Result<BuildLock, Failure> {
        let folder = if project.is_distribution() { project.out() } else { project.build() };
        let path = folder.join("lock");
        let fault = |error: std::io::Error| {
            Failure::unable(format!("{} cannot be locked: {error}", path.display()), "check permissions and free space")
        };
        std::fs::create_dir_all(&folder).map_err(fault)?;
        let file = File::create(&path).map_err(fault)?;
        rustix::fs::flock(&file, rustix::fs::FlockOperation::LockExclusive).map_err(|error| fault(error.into()))?;
        Ok(BuildLock(file))
    }
}
