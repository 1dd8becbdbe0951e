//! Changes that must break a proof: of the C, of the specifications, of the assumptions, of the definitions.

mod changes;
pub mod code;
pub mod gallina;
pub mod listed;
pub mod specifications;
pub mod trials;

use crate::error::Error;
use crate::sources::tree::read;
use project::Project;
use std::collections::BTreeMap;

/// Known survivors in `file`: description to reason. Without the file there are none.
fn reasons(project: &Project, file: &'static str, form: &'static str) -> Result<BTreeMap<String, String>, Error> {
    let path = project.root().join(file);
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    toml::from_str(&read(&path)?).map_err(|error| Error::BadFile { file, message: error.to_string(), form })
}
