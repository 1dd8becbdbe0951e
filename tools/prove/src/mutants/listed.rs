//! Mutants that a list of the tree names, each with what it says instead: of the assumptions about scheduler, hardware and locks,
//! and of the definitions below the main theorems. Each must break a proof, or the list says why it breaks none.

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
use std::collections::BTreeMap;

/// Weaker or different assumptions.
pub const ASSUMPTIONS: &str = "proof/assumption-mutants.toml";
/// Definitions that say less, or something else.
pub const DEFINITIONS: &str = "proof/definition-mutants.toml";

#[derive(Debug, Deserialize)]
struct List {
    mutant: Vec<Mutant>,
}

#[derive(Debug, Deserialize)]
struct Mutant {
    /// What is said instead.
    name: String,
    #[serde(flatten)]
    edit: Edit,
    /// Why it breaks no proof.
    survives: Option<String>,
}

/// What came of the mutants of a list.
pub struct Campaign {
    list: &'static str,
    pub trials: Trials,
    /// Of known survivors: name to reason.
    reasons: BTreeMap<String, String>,
    /// What the list gets wrong.
    bad: Vec<Finding>,
}

/// Tries `most` entries of the list from the `seed`-th on, of these those of the shard. An entry whose text is no longer there
/// is a finding.
pub fn campaign(
    project: &Project,
    copy: &Copy,
    list: &'static str,
    most: usize,
    (seed, shard): (u64, Shard),
    progress: &dyn Progress,
) -> Result<Campaign, Error> {
    let mutants = parse(list, &read(&project.root().join(list))?)?;
    let (mut all, bad) = wrongs(list, &mutants, |file| text_of(copy, file))?;
    let start = (seed as usize).saturating_sub(1).checked_rem(all.len()).unwrap_or(0);
    all.rotate_left(start);
    all.truncate(most);
    let all: Vec<Wrong> =
        all.into_iter().enumerate().filter(|(place, _)| shard.has(*place)).map(|(_, one)| one).collect();
    let trials = trials(&project.build().join("mutants"), copy, &all, usize::MAX, progress)?;
    Ok(Campaign { list, trials, reasons: reasons(mutants), bad })
}

fn parse(list: &'static str, text: &str) -> Result<List, Error> {
    toml::from_str(text).map_err(|error| Error::BadFile {
        file: list,
        message: error.to_string(),
        form: "give name, file, replace, by of each [[mutant]], and survives of one that breaks no proof",
    })
}

fn reasons(list: List) -> BTreeMap<String, String> {
    list.mutant.into_iter().filter_map(|mutant| Some((mutant.name, mutant.survives?))).collect()
}

/// The changed files, and what the list gets wrong.
fn wrongs(
    list: &str,
    mutants: &List,
    text_of: impl Fn(&str) -> Result<String, Error>,
) -> Result<(Vec<Wrong>, Vec<Finding>), Error> {
    let (mut all, mut findings) = (Vec::new(), Vec::new());
    for Mutant { name, edit, .. } in &mutants.mutant {
        let Some(file) = edit.file.strip_prefix("proof/") else {
            findings.push(Finding::at("mutant", list, None, format!("{name}: {} is not below proof/", edit.file)));
            continue;
        };
        let text = text_of(file)?;
        match edit.apply(&text) {
            Ok(changed) => {
                let line = line_at(&text, text.find(&edit.replace).unwrap_or(0));
                all.push(Wrong { file: file.to_string(), line, text: changed, description: name.clone() });
            }
            Err(why) => findings.push(Finding::at("mutant", list, None, format!("{name}: {why}"))),
        }
    }
    Ok((all, findings))
}

impl Campaign {
    /// Those that break no proof without a reason, those that are not valid Coq, and what the list gets wrong.
    pub fn findings(&self) -> Vec<Finding> {
        let what = if self.list == ASSUMPTIONS { "assumption" } else { "definition" };
        let finding = |(wrong, fate): &(Wrong, Fate)| {
            let text = format!("{what} mutant {}: {}", wrong.description, self.fault(wrong, fate)?);
            Some(Finding::at("mutant", &format!("proof/{}", wrong.file), Some(wrong.line), text))
        };
        self.bad.iter().cloned().chain(self.trials.tried.iter().filter_map(finding)).collect()
    }

    /// What is wrong with this fate, if anything.
    pub fn fault(&self, wrong: &Wrong, fate: &Fate) -> Option<String> {
        let known = self.reasons.contains_key(&wrong.description);
        match fate {
            Fate::Survived if !known => Some("breaks no proof".into()),
            Fate::Killed(refused) if known => {
                Some(format!("is listed as a survivor, and breaks proof/{}", refused.file))
            }
            Fate::Discarded(complaint) => Some(format!("is not valid Coq: {complaint}")),
            Fate::Survived | Fate::Killed(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, reasons, wrongs, Campaign, ASSUMPTIONS, DEFINITIONS};
    use crate::coq::compile::Refused;
    use crate::mutants::trials::{Fate, Trials};
    use crate::sources::closure;
    use crate::sources::tree::{read, Tree};
    use project::Project;
    use std::path::Path;

    #[test]
    fn the_lists_of_the_tree_fit_its_proofs() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for (list, least) in [(ASSUMPTIONS, 12), (DEFINITIONS, 30)] {
            let mutants = parse(list, &read(&root.join(list)).unwrap()).unwrap();
            let (all, bad) = wrongs(list, &mutants, |file| read(&root.join("proof").join(file))).unwrap();
            assert_eq!(bad, []);
            assert!(all.len() >= least, "{list}");
        }
    }

    /// Whether or not it breaks a proof, the page of the book shows it.
    #[test]
    fn each_mutant_of_a_definition_is_another_page() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let (tree, _) = Tree::read(&Project::at(&root)).unwrap();
        let committed = read(&root.join(closure::FILE)).unwrap();
        let mutants = parse(DEFINITIONS, &read(&root.join(DEFINITIONS)).unwrap()).unwrap();
        let (all, _) = wrongs(DEFINITIONS, &mutants, |file| tree.text(file)).unwrap();
        for wrong in all {
            let found = closure::changed(&closure::with(&tree, &wrong.file, &wrong.text).unwrap(), &committed);
            let place = format!("proof/{}:", wrong.file);
            let shown = |text: &String| text.starts_with(&place) && text.contains("which has changed");
            assert!(found.iter().map(ToString::to_string).any(|text| shown(&text)), "{}", wrong.description);
        }
    }

    #[test]
    fn a_text_that_is_gone_is_a_finding() {
        let entry = |replace: &str| {
            format!("[[mutant]]\nname = \"n\"\nfile = \"proof/a.v\"\nreplace = \"{replace}\"\nby = \"z\"\n")
        };
        let list = |replace: &str| parse(DEFINITIONS, &entry(replace)).unwrap();
        let found = |replace: &str| wrongs(DEFINITIONS, &list(replace), |_| Ok("x\ny y\n".into())).unwrap();
        let (all, bad) = found("x");
        assert_eq!((all.len(), all[0].line, all[0].text.as_str(), bad.len()), (1, 1, "z\ny y\n", 0));
        assert_eq!((found("y").1.len(), found("w").1.len()), (1, 1));
        let text = found("w").1[0].to_string();
        assert_eq!(text, format!("{DEFINITIONS}: n: proof/a.v: `w` stands there 0 times, not once"));
    }

    #[test]
    fn a_survivor_needs_a_reason_and_a_reason_a_survivor() {
        let entry = "[[mutant]]\nname = \"n\"\nfile = \"proof/a.v\"\nreplace = \"x\"\nby = \"z\"\n";
        let refused = Refused { file: "p.v".into(), line: Some(3), message: "Error".into() };
        let fates = [Fate::Survived, Fate::Discarded("Syntax error".into()), Fate::Killed(refused)];
        let faults = |text: &str| -> Vec<bool> {
            let list = parse(DEFINITIONS, text).unwrap();
            let (all, bad) = wrongs(DEFINITIONS, &list, |_| Ok("x\n".into())).unwrap();
            let tried = fates.iter().map(|fate| (all[0].clone(), fate.clone())).collect();
            let campaign = Campaign { list: DEFINITIONS, trials: Trials { tried }, reasons: reasons(list), bad };
            campaign.trials.tried.iter().map(|(wrong, fate)| campaign.fault(wrong, fate).is_some()).collect()
        };
        assert_eq!(faults(entry), [true, true, false]);
        assert_eq!(faults(&format!("{entry}survives = \"why\"\n")), [false, true, true]);
    }
}
