//! Mutants as `c2coq mutate` lists them.

use crate::error::Error;
use crate::sources::generated::c2coq;
use project::Project;
use serde::Deserialize;
use std::collections::BTreeMap;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Mutant {
    pub number: usize,
    pub layer: String,
    /// The file of terms it takes the place of, below `proof/`.
    pub code: String,
    pub function: String,
    pub file: String,
    pub line: usize,
    pub kind: String,
    pub before: String,
    pub after: String,
    pub benign: bool,
    /// How many mutants with the same words come before it.
    #[serde(skip)]
    pub namesakes: usize,
}

impl Mutant {
    /// What it is, in words that stay when lines move.
    pub fn description(&self) -> String {
        let again = if self.namesakes > 0 { format!(" #{}", self.namesakes + 1) } else { String::new() };
        let Mutant { layer, function, kind, before, after, .. } = self;
        format!("{layer} {function}: {kind}: {before} -> {after}{again}")
    }
}

/// Every mutant that `c2coq` knows.
pub fn list(project: &Project) -> Result<Vec<Mutant>, Error> {
    let done = c2coq(project, &["mutate", "--list", "--format", "json"])?;
    let complaint = String::from_utf8_lossy(&done.stderr).into_owned();
    if !done.status.success() {
        return Err(Error::Translator { message: format!("could not list mutants: {}", complaint.trim()) });
    }
    let mut mutants: Vec<Mutant> = serde_json::from_slice(&done.stdout).map_err(|error| Error::Translator {
        message: format!("gave a list of mutants that cannot be read: {error}"),
    })?;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for mutant in &mut mutants {
        let count = seen.entry(mutant.description()).or_default();
        mutant.namesakes = *count;
        *count += 1;
    }
    Ok(mutants)
}

/// A comparison in a file of the layer, for tests.
#[cfg(test)]
pub fn mutant(number: usize, layer: &str) -> Mutant {
    Mutant {
        number,
        layer: layer.into(),
        code: format!("layers/{layer}/Code.v"),
        function: "f".into(),
        file: "f.c".into(),
        line: 3,
        kind: "comparison".into(),
        before: format!("a < {number}"),
        after: format!("a <= {number}"),
        benign: false,
        namesakes: 0,
    }
}
