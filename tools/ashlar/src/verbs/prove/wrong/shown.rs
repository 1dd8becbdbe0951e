//! Wrong specifications that are run: extracted, they must answer otherwise than the C that is as it was.

use super::specs::layer;
use super::Wrong;
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use crate::verbs::prove::build::Copy;
use crate::verbs::prove::conform;
use crate::verbs::prove::links::Links;
use std::path::Path;

/// Those run, at most.
const MOST: usize = 20;

/// How many were run, and what became of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shown {
    /// As programs that are not the original's.
    pub run: usize,
    pub wrong: usize,
    /// The program is the original's: they say what is valid in proofs only, or how cells represent a state.
    pub same: usize,
}

/// Runs wrong specifications against the C; [`conform::conform`] has made the original's programs.
pub fn show_wrong(
    project: &Project,
    copy: &Copy,
    wrongs: &[&Wrong],
    seed: u64,
    output: &Output,
) -> Result<Shown, Failure> {
    let layers = conform::layers(project);
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
    let progress = output.progress(wrongs.len());
    let work = project.build().join("planted");
    let links = Links::make(copy, &work.join("proof"))?;
    let mut shown = Shown::default();
    for (layer, wrong) in wrongs {
        let changed = links.replace(&wrong.file, &wrong.text)?;
        let compiled = links.copy.compile(&wrong.file, super::LIMIT)?.is_ok();
        let program = conform::specification(project, &links.copy, layer, &work.join(layer));
        links.restore(&changed)?;
        let (program, extracted) = (program?, format!("{layer}_spec.ml"));
        let end = if !compiled || same(&program, &project.build().join("conform").join(layer), &extracted) {
            shown.same += 1;
            "is the same program"
        } else {
            shown.run += 1;
            // A program that breaks off is wrong too.
            let wrong = match conform::differ(&program, &conform::driver(project.root(), layer), seed) {
                Ok(wrong) => wrong,
                Err(Failure::Finding(_)) => true,
                Err(failure) => return Err(failure),
            };
            shown.wrong += usize::from(wrong);
            if wrong {
                "answers otherwise than the C"
            } else {
                "is not seen"
            }
        };
        progress.step(&format!("{} {end}", wrong.description));
    }
    Ok(shown)
}

/// Whether both programs were extracted as the same text.
fn same(program: &Path, real: &Path, extracted: &str) -> bool {
    let text = |folder: &Path| std::fs::read(folder.join(extracted)).ok();
    program.parent().and_then(text).is_some_and(|one| Some(one) == text(real))
}
