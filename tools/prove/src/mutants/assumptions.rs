//! Mutants of the assumptions: `proof/assumption-mutants.toml` lists weaker or different assumptions about scheduler, hardware
//! and locks. Each must break a proof.

use crate::coq::compile::Copy;
use crate::error::Error;
use crate::finding::Finding;
use crate::mutants::trials::{line_at, text_of, trials, Fate, Trials, Wrong};
use crate::progress::Progress;
use crate::sources::tree::read;
use campaign::Shard;
use project::copies::Edit;
use project::Project;
use serde::Deserialize;

pub const LIST: &str = "proof/assumption-mutants.toml";

#[derive(Debug, Deserialize)]
struct List {
    mutant: Vec<Mutant>,
}

#[derive(Debug, Deserialize)]
struct Mutant {
    /// What is assumed instead.
    name: String,
    #[serde(flatten)]
    edit: Edit,
}

/// Tries `most` entries of the list from the `seed`-th on, of these those of the shard. An entry whose text is no longer there
/// is a finding.
pub fn campaign(
    project: &Project,
    copy: &Copy,
    most: usize,
    seed: u64,
    shard: Shard,
    progress: &dyn Progress,
) -> Result<(Trials, Vec<Finding>), Error> {
    let (mut all, findings) = wrongs(&parse(&read(&project.root().join(LIST))?)?, |file| text_of(copy, file))?;
    let start = (seed as usize).saturating_sub(1).checked_rem(all.len()).unwrap_or(0);
    all.rotate_left(start);
    all.truncate(most);
    let all: Vec<Wrong> =
        all.into_iter().enumerate().filter(|(place, _)| shard.has(*place)).map(|(_, one)| one).collect();
    let trials = trials(&project.build().join("mutants"), copy, &all, usize::MAX, progress)?;
    Ok((trials, findings))
}

fn parse(text: &str) -> Result<List, Error> {
    toml::from_str(text).map_err(|error| Error::BadFile {
        file: LIST,
        message: error.to_string(),
        form: "give name, file, replace, by of each [[mutant]]",
    })
}

/// The changed files, and what the list gets wrong.
fn wrongs(list: &List, text_of: impl Fn(&str) -> Result<String, Error>) -> Result<(Vec<Wrong>, Vec<Finding>), Error> {
    let (mut all, mut findings) = (Vec::new(), Vec::new());
    for Mutant { name, edit } in &list.mutant {
        let Some(file) = edit.file.strip_prefix("proof/") else {
            findings.push(Finding::at("mutant", LIST, None, format!("{name}: {} is not below proof/", edit.file)));
            continue;
        };
        let text = text_of(file)?;
        match edit.apply(&text) {
            Ok(changed) => {
                let line = line_at(&text, text.find(&edit.replace).unwrap_or(0));
                all.push(Wrong { file: file.to_string(), line, text: changed, description: name.clone() });
            }
            Err(why) => findings.push(Finding::at("mutant", LIST, None, format!("{name}: {why}"))),
        }
    }
    Ok((all, findings))
}

/// Those that break no proof, and those that are not valid Coq.
pub fn findings(trials: &Trials) -> Vec<Finding> {
    let finding = |(wrong, fate): &(Wrong, Fate)| {
        let text = format!("assumption mutant {}: {}", wrong.description, fault(fate)?);
        Some(Finding::at("mutant", &format!("proof/{}", wrong.file), Some(wrong.line), text))
    };
    trials.tried.iter().filter_map(finding).collect()
}

/// What is wrong with this fate, if anything.
pub fn fault(fate: &Fate) -> Option<String> {
    match fate {
        Fate::Survived => Some("breaks no proof".into()),
        Fate::Discarded(complaint) => Some(format!("is not valid Coq: {complaint}")),
        Fate::Killed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{findings, parse, wrongs, LIST};
    use crate::mutants::trials::{Fate, Trials};
    use crate::sources::tree::read;
    use std::path::Path;

    #[test]
    fn the_list_of_the_tree_fits_its_proofs() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let list = parse(&read(&root.join(LIST)).unwrap()).unwrap();
        let (all, bad) = wrongs(&list, |file| read(&root.join("proof").join(file))).unwrap();
        assert_eq!(bad, []);
        assert!(all.len() >= 12);
    }

    #[test]
    fn a_text_that_is_gone_is_a_finding() {
        let entry = |replace: &str| {
            format!("[[mutant]]\nname = \"n\"\nfile = \"proof/a.v\"\nreplace = \"{replace}\"\nby = \"z\"\n")
        };
        let found = |replace: &str| wrongs(&parse(&entry(replace)).unwrap(), |_| Ok("x\ny y\n".into())).unwrap();
        let (all, bad) = found("x");
        assert_eq!((all.len(), all[0].line, all[0].text.as_str(), bad.len()), (1, 1, "z\ny y\n", 0));
        assert_eq!((found("y").1.len(), found("w").1.len()), (1, 1));
        assert_eq!(found("w").1[0].to_string(), format!("{LIST}: n: proof/a.v: `w` stands there 0 times, not once"));
        let fates = [Fate::Survived, Fate::Discarded("Syntax error".into())];
        let tried: Vec<_> = fates.into_iter().map(|fate| (all[0].clone(), fate)).collect();
        assert_eq!(findings(&Trials { tried }).len(), 2);
    }
}
