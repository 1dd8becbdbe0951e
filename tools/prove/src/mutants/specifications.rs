//! Mutants of the specifications: one place of a layer's `Spec.v` is changed.
//!
//! `proof/spec-survivors.toml` (description = "why nothing depends on it") lists those that may survive.

use crate::coq::compile::Copy;
use crate::error::Error;
use crate::finding::Finding;
use crate::mutants::changes::changes;
use crate::mutants::code::Choice;
use crate::mutants::trials::{line_at, text_of, trials, Fate, Trials, Wrong};
use crate::progress::Progress;
use project::Project;
use std::collections::BTreeMap;

pub const SURVIVORS: &str = "proof/spec-survivors.toml";
/// Specifications that are not called `Spec.v`.
const OTHERS: &[&str] = &[
    "layers/frame/FrameMemory.v",
    "layers/sched/budget/BudgetSpec.v",
    "layers/sched/event/EventSpec.v",
    "layers/sched/pick/SchedulerSpec.v",
];

/// The layer whose specification the file is.
pub fn layer(file: &str) -> Option<&str> {
    let (layer, name) = file.strip_prefix("layers/")?.split_once('/')?;
    (name == "Spec.v" || OTHERS.contains(&file)).then_some(layer)
}

/// Known survivors: description to reason.
pub fn reasons(project: &Project) -> Result<BTreeMap<String, String>, Error> {
    super::reasons(project, SURVIVORS, "description = \"why it survives\"")
}

/// Tries the chosen changes; of a sample, so many that are Coq.
pub fn campaign(
    project: &Project,
    copy: &Copy,
    choice: &Choice<'_>,
    reasons: &BTreeMap<String, String>,
    progress: &dyn Progress,
) -> Result<Trials, Error> {
    let mut all = Vec::new();
    for file in copy.files.iter().filter(|file| layer(file).is_some()) {
        all.extend(wrongs(file, &text_of(copy, file)?));
    }
    let chosen = choose(all, choice, reasons);
    if chosen.is_empty() {
        return Err(Error::NoSpecification);
    }
    trials(&project.build().join("mutants"), copy, &chosen, choice.sample.unwrap_or(usize::MAX), progress)
}

/// Every change of one file.
fn wrongs(file: &str, text: &str) -> Vec<Wrong> {
    let stem = file.trim_start_matches("layers/").trim_end_matches(".v");
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let wrong = |change: crate::mutants::changes::Change| {
        let mut description =
            format!("{stem} {}: {}: {} => {}", change.definition, change.kind, change.before, change.after);
        let count = seen.entry(description.clone()).or_default();
        *count += 1;
        if *count > 1 {
            description += &format!(" #{count}");
        }
        let (line, changed) = (line_at(text, change.place.start), change.apply(text));
        Wrong { file: file.to_string(), line, text: changed, description }
    };
    changes(text).into_iter().map(wrong).collect()
}

/// The changes to try, in their order: a sample takes one of each file, then a second of each, and so on.
fn choose(mut all: Vec<Wrong>, choice: &Choice<'_>, reasons: &BTreeMap<String, String>) -> Vec<Wrong> {
    all.retain(|wrong| choice.layer.is_none_or(|name| layer(&wrong.file) == Some(name)));
    if choice.sample.is_some() {
        all.retain(|wrong| !reasons.contains_key(&wrong.description));
        all.sort_by_key(|wrong| scattered(&wrong.description, choice.seed));
        let mut rounds: BTreeMap<String, usize> = BTreeMap::new();
        let mut ranked: Vec<(usize, Wrong)> = Vec::new();
        for wrong in all {
            let round = rounds.entry(wrong.file.clone()).or_default();
            ranked.push((*round, wrong));
            *round += 1;
        }
        ranked.sort_by_key(|(round, wrong)| (*round, scattered(&wrong.file, choice.seed)));
        all = ranked.into_iter().map(|(_, wrong)| wrong).collect();
    }
    all.into_iter().enumerate().filter(|(place, _)| choice.shard.has(*place)).map(|(_, one)| one).collect()
}

/// A number that looks random, for an order that a seed changes (FNV-1a).
fn scattered(text: &str, seed: u64) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(start, mix);
    (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

/// Survivors without a reason, reasons for what breaks a proof, and, if all were tried, for what does not exist.
pub fn findings(trials: &Trials, reasons: &BTreeMap<String, String>, all: bool) -> Vec<Finding> {
    let finding = |(wrong, fate): &(Wrong, Fate)| {
        let text = fault(wrong, fate, reasons)?;
        let text = format!("specification mutant {}: {text}", wrong.description);
        Some(Finding::at("mutant", &format!("proof/{}", wrong.file), Some(wrong.line), text))
    };
    let mut findings: Vec<Finding> = trials.tried.iter().filter_map(finding).collect();
    let exists = |reason: &String| trials.tried.iter().any(|(wrong, _)| wrong.description == *reason);
    for reason in reasons.keys().filter(|reason| all && !exists(reason)) {
        findings.push(Finding::at("mutant", SURVIVORS, None, format!("there is no such mutant: {reason}")));
    }
    findings
}

/// What is wrong with this fate, if anything.
pub fn fault(wrong: &Wrong, fate: &Fate, reasons: &BTreeMap<String, String>) -> Option<String> {
    let known = reasons.contains_key(&wrong.description);
    match fate {
        Fate::Survived if !known => Some("breaks no proof".into()),
        Fate::Killed(refused) if known => Some(format!("is listed as a survivor, and breaks proof/{}", refused.file)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{choose, findings, layer, wrongs};
    use crate::coq::compile::Refused;
    use crate::mutants::code::Choice;
    use crate::mutants::trials::{Fate, Trials, Wrong};
    use campaign::Shard;
    use std::collections::BTreeMap;

    fn all() -> Vec<Wrong> {
        let text = "Definition f (a b : Z) :=\n  a + b <? 3 * a.\nDefinition g (a b : Z) := a + b.\n";
        ["layers/a/Spec.v", "layers/frame/FrameMemory.v"].into_iter().flat_map(|file| wrongs(file, text)).collect()
    }

    fn choice(sample: Option<usize>, layer: Option<&str>, seed: u64) -> Choice<'_> {
        Choice { sample, layer, seed, shard: Shard { index: 1, count: 1 } }
    }

    #[test]
    fn descriptions_are_their_own() {
        let all = all();
        let names: std::collections::BTreeSet<&String> = all.iter().map(|wrong| &wrong.description).collect();
        assert_eq!(names.len(), all.len());
        assert!(names.contains(&"a/Spec f: comparison: a + b <? 3 * a => a + b <=? 3 * a".to_string()));
        assert_eq!(all[0].line, 2);
    }

    #[test]
    fn only_specifications_are_changed() {
        assert_eq!(layer("layers/queue/Spec.v"), Some("queue"));
        assert_eq!(layer("layers/frame/FrameMemory.v"), Some("frame"));
        assert_eq!(layer("layers/queue/Proof.v"), None);
        assert_eq!(layer("calculus/Spec.v"), None);
    }

    #[test]
    fn a_sample_is_spread_over_the_files_and_repeats() {
        let none = BTreeMap::new();
        let sample = choose(all(), &choice(Some(4), None, 1), &none);
        assert_eq!(sample.len(), all().len(), "more may be needed: not all are Coq");
        assert_ne!(sample[0].file, sample[1].file);
        assert_eq!(choose(all(), &choice(Some(4), None, 1), &none), sample);
        assert_ne!(choose(all(), &choice(Some(4), None, 2), &none), sample);
        assert!(choose(all(), &choice(None, Some("a"), 1), &none).iter().all(|wrong| wrong.file == "layers/a/Spec.v"));
        let known = BTreeMap::from([(sample[0].description.clone(), "why".to_string())]);
        assert!(!choose(all(), &choice(Some(4), None, 1), &known).contains(&sample[0]));
    }

    #[test]
    fn survivors_need_a_reason() {
        let all = all();
        let refused = Refused { file: "P.v".into(), line: Some(3), message: "Error".into() };
        let fates = [Fate::Survived, Fate::Killed(refused), Fate::Discarded("no".into())];
        let trials = Trials { tried: all.iter().cloned().zip(fates).collect() };
        assert_eq!((trials.killed().len(), trials.survived(), trials.discarded()), (1, 1, 1));
        let reason = |at: usize| (all[at].description.clone(), "why".to_string());
        assert_eq!(findings(&trials, &BTreeMap::new(), true).len(), 1);
        assert!(findings(&trials, &BTreeMap::from([reason(0)]), true).is_empty());
        assert_eq!(findings(&trials, &BTreeMap::from([reason(0), reason(1), reason(4)]), true).len(), 2);
        assert_eq!(findings(&trials, &BTreeMap::from([reason(0), reason(4)]), false).len(), 0);
    }
}
