//! Runs mutants of a specification: extracted, they must give other results than the unchanged C.

use crate::coq::compile::Copy;
use crate::coq::overlay::Links;
use crate::error::Error;
use crate::mutants::specifications::layer;
use crate::mutants::trials::Wrong;
use crate::progress::{Progress, Steps};
use campaign::Shard;
use project::Project;
use schemars::JsonSchema;
use serde::Serialize;
use std::path::Path;

/// Those run, at most.
const MOST: usize = 20;

/// How many were run, and what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Shown {
    /// As programs that are not the original's.
    pub run: usize,
    pub wrong: usize,
    /// No other program: they say what is valid in proofs only, or how cells represent a state, or break a proof in their own file.
    pub same: usize,
}

/// Runs wrong specifications against the C; [`super::conform`] has made the original's programs.
pub fn show_wrong(
    project: &Project,
    copy: &Copy,
    wrongs: &[&Wrong],
    seed: u64,
    shard: Shard,
    progress: &dyn Progress,
) -> Result<Shown, Error> {
    let layers = super::layers(project, shard);
    let wrongs: Vec<(&str, &Wrong)> = wrongs
        .iter()
        .filter(|wrong| wrong.file.ends_with("/Spec.v"))
        .filter_map(|wrong| Some((layer(&wrong.file)?, *wrong)))
        .filter(|(layer, _)| layers.iter().any(|one| one == layer))
        .take(MOST)
        .collect();
    if wrongs.is_empty() {
        return Ok(Shown::default());
    }
    let steps = Steps::new(progress, wrongs.len());
    let work = project.build().join("planted");
    let links = Links::make(copy, &work.join("proof"))?;
    let mut shown = Shown::default();
    for (layer, wrong) in wrongs {
        let changed = links.replace(&wrong.file, &wrong.text)?;
        // Nothing can be extracted where a proof in the same file is broken.
        let compiled = links.copy.compile(&wrong.file, crate::mutants::trials::LIMIT)?.is_ok();
        let program = compiled.then(|| super::specification(project, &links.copy, layer, &work.join(layer)));
        links.restore(&changed)?;
        let (program, extracted) = (program.transpose()?, format!("{layer}_spec.ml"));
        let program = program.filter(|one| !same(one, &project.build().join("conform").join(layer), &extracted));
        let end = if let Some(program) = program {
            shown.run += 1;
            // A program that breaks off is wrong too.
            let wrong = match super::differ(&program, &super::driver(project.root(), layer), seed) {
                Ok(wrong) => wrong,
                Err(Error::Refused { .. }) => true,
                Err(failure) => return Err(failure),
            };
            shown.wrong += usize::from(wrong);
            if wrong {
                "differs from the C"
            } else {
                "is not detected"
            }
        } else {
            shown.same += 1;
            "gives no other program"
        };
        steps.next(&format!("{} {end}", wrong.description));
    }
    Ok(shown)
}

/// Whether both programs were extracted as the same text.
fn same(program: &Path, real: &Path, extracted: &str) -> bool {
    let text = |folder: &Path| std::fs::read(folder.join(extracted)).ok();
    program.parent().and_then(text).is_some_and(|one| Some(one) == text(real))
}
