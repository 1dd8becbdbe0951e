//! Mutants of the C, each of which must break a proof.
//!
//! `c2coq mutate` makes them. `proof/survivors.toml` (description = "why it is equivalent") lists equivalent mutants.

mod excerpt;
pub mod trial;
pub mod verdicts;

use crate::coq::compile::{jobs, make_folder};
use crate::error::Error;
use crate::finding::Finding;
use crate::mutants::code::trial::Trials;
use crate::mutants::code::verdicts::Verdict;
use crate::progress::Progress;
use crate::sources::certified::Layer;
use crate::sources::generated::c2coq;
use crate::sources::tree::read;
use campaign::{item_seed, Record, Shard};
use project::Project;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::Instant;

pub const SURVIVORS: &str = "proof/survivors.toml";

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

/// Every mutant tried, and what came of it.
#[derive(Debug, Default)]
pub struct Campaign {
    pub tried: Vec<(Mutant, Verdict)>,
    /// Mutants of functions without a theorem: nothing could kill them.
    pub uncertified: usize,
}

/// Rewritings that change nothing a program does.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Benign {
    /// No proof needed a change.
    pub survived: usize,
    /// Of these, the terms are the same, so that no proof could break.
    pub same_terms: usize,
    pub broken: usize,
}

pub fn survives(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Holds | Verdict::SameTerms)
}

impl Campaign {
    fn count(&self, is: impl Fn(&Mutant, &Verdict) -> bool) -> usize {
        self.tried.iter().filter(|(mutant, verdict)| is(mutant, verdict)).count()
    }

    pub fn killed(&self) -> usize {
        self.count(|mutant, verdict| !mutant.benign && !survives(verdict))
    }

    pub fn survived(&self) -> usize {
        self.count(|mutant, verdict| !mutant.benign && survives(verdict))
    }

    /// Those that broke a proof, in the order in which they were tried.
    pub fn broken(&self) -> Vec<&Mutant> {
        let killed = |(mutant, verdict): &&(Mutant, Verdict)| !mutant.benign && matches!(verdict, Verdict::Breaks(_));
        self.tried.iter().filter(killed).map(|(mutant, _)| mutant).collect()
    }

    pub fn benign(&self) -> Benign {
        Benign {
            survived: self.count(|mutant, verdict| mutant.benign && survives(verdict)),
            same_terms: self.count(|mutant, verdict| mutant.benign && *verdict == Verdict::SameTerms),
            broken: self.count(|mutant, verdict| mutant.benign && !survives(verdict)),
        }
    }

    /// Survivors without a reason, mutants that are no code, and, if all mutants were tried, reasons without a survivor.
    pub fn findings(&self, reasons: &BTreeMap<String, String>, all: bool) -> Vec<Finding> {
        let finding = |(mutant, verdict): &(Mutant, Verdict)| {
            let text = fault(mutant, verdict, reasons)?;
            let text = format!("mutant {}: {} {text}", mutant.number, mutant.description());
            Some(Finding::at("mutant", &mutant.file, Some(mutant.line), text))
        };
        let mut findings: Vec<Finding> = self.tried.iter().filter_map(finding).collect();
        for reason in reasons.keys().filter(|_| all) {
            if !self.tried.iter().any(|(mutant, _)| mutant.description() == *reason) {
                findings.push(Finding::at("mutant", SURVIVORS, None, format!("there is no such mutant: {reason}")));
            }
        }
        findings
    }

    /// Every mutant with its verdict.
    pub fn record(&self, reasons: &BTreeMap<String, String>, seed: u64, shard: Shard) -> Record {
        let mut record = Record::new("prove-mutants", seed, shard);
        for (mutant, verdict) in &self.tried {
            let word = match verdict {
                Verdict::Breaks(_) if mutant.benign => "benign-broken",
                Verdict::Breaks(_) => "killed",
                Verdict::Holds if mutant.benign => "benign",
                Verdict::Holds => "survived",
                Verdict::SameTerms => "same-terms",
                Verdict::NoCode(_) => "no-code",
            };
            let item = record.push(mutant.description(), word, fault(mutant, verdict, reasons).is_none());
            item.detail.insert("place".into(), format!("{}:{}", mutant.file, mutant.line).into());
        }
        record
    }
}

/// What is wrong with this verdict, if anything.
fn fault(mutant: &Mutant, verdict: &Verdict, reasons: &BTreeMap<String, String>) -> Option<String> {
    let known = reasons.contains_key(&mutant.description());
    match verdict {
        Verdict::Holds | Verdict::SameTerms if !mutant.benign && !known => Some("breaks no proof".into()),
        Verdict::Breaks(place) if known => Some(format!("is listed as a survivor, and breaks {place}")),
        Verdict::NoCode(complaint) => Some(format!("is no code: {complaint}")),
        _ => None,
    }
}

/// Known survivors: description to reason.
pub fn reasons(project: &Project) -> Result<BTreeMap<String, String>, Error> {
    let path = project.root().join(SURVIVORS);
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    toml::from_str(&read(&path)?).map_err(|error| Error::BadFile {
        file: SURVIVORS,
        message: error.to_string(),
        form: "description = \"why it is equivalent\"",
    })
}

/// Which mutants to try.
#[derive(Debug, Clone, Copy)]
pub struct Choice<'a> {
    /// So many, spread over the layers, no known survivors; otherwise all.
    pub sample: Option<usize>,
    /// Those of this layer; otherwise of every layer.
    pub layer: Option<&'a str>,
    pub seed: u64,
    pub shard: Shard,
}

/// A mutant and the theorem of its function.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certified {
    pub mutant: Mutant,
    pub theorem: String,
}

/// The mutants of certified functions, and how many others there are.
fn certified(project: &Project, layers: &[Layer]) -> Result<(Vec<Certified>, usize), Error> {
    let theorem = |mutant: &Mutant| {
        let layer = layers.iter().find(|layer| layer.name == mutant.layer)?;
        layer.functions.iter().find(|function| function.name == mutant.function)?.theorem.clone()
    };
    let all = list(project)?;
    let total = all.len();
    let found: Vec<Certified> =
        all.into_iter().filter_map(|mutant| Some(Certified { theorem: theorem(&mutant)?, mutant })).collect();
    let uncertified = total - found.len();
    Ok((found, uncertified))
}

/// Tries the chosen mutants: every one with its function's theorem; then those that it takes, and for which no reason is
/// known, with all proofs.
pub fn campaign(
    trials: &Trials<'_>,
    layers: &[Layer],
    choice: &Choice<'_>,
    reasons: &BTreeMap<String, String>,
    progress: &dyn Progress,
) -> Result<Campaign, Error> {
    let (mutants, uncertified) = certified(trials.project, layers)?;
    let chosen = choose(mutants, choice, reasons);
    let root = trials.project.build().join("mutants-c");
    let batches = batches(&chosen, &|one| trials.near_known(&one.mutant, &one.theorem).is_some());
    let batch = |batch: &Vec<Certified>, folder: &Path| {
        let mutants: Vec<&Mutant> = batch.iter().map(|one| &one.mutant).collect();
        trials.near_all(&mutants, batch.first().map_or("", |one| &one.theorem), folder)?;
        for one in batch {
            if let Some(verdict) = trials.near_known(&one.mutant, &one.theorem) {
                progress.note(&line(&one.mutant, &verdict));
            }
        }
        Ok(())
    };
    each(&batches, &root, &batch)?;
    let near = |one: &Certified, folder: &Path| {
        let known = trials.near_known(&one.mutant, &one.theorem);
        Ok((trials.near(&one.mutant, &one.theorem, folder)?, known.is_some()))
    };
    let mut tried = ask(&chosen, &root, &near, progress)?;
    let open = |(one, verdict): &(&Certified, &Verdict)| {
        **verdict == Verdict::Holds && !one.mutant.benign && !reasons.contains_key(&one.mutant.description())
    };
    let left: Vec<Certified> = chosen.iter().zip(&tried).filter(open).map(|(one, _)| one.clone()).collect();
    if !left.is_empty() {
        progress.note(&format!("{} survived so far; now with all proofs", left.len()));
    }
    let far = |one: &Certified, folder: &Path| {
        let known = trials.far_known(&one.mutant);
        Ok((trials.far(&one.mutant, folder)?, known.is_some()))
    };
    for (one, verdict) in left.iter().zip(ask(&left, &root, &far, progress)?) {
        if let Some(at) = chosen.iter().position(|other| other == one) {
            tried[at] = verdict;
        }
    }
    Ok(Campaign { tried: chosen.into_iter().map(|one| one.mutant).zip(tried).collect(), uncertified })
}

/// Every mutant of a certified function with what is known of it, now or from earlier runs.
pub fn known(
    trials: &Trials<'_>,
    layers: &[Layer],
    reasons: &BTreeMap<String, String>,
) -> Result<Vec<(Mutant, Option<Verdict>)>, Error> {
    let (mutants, _) = certified(trials.project, layers)?;
    let known = |Certified { mutant, theorem }: Certified| {
        let enough = mutant.benign || reasons.contains_key(&mutant.description());
        let verdict = match trials.near_known(&mutant, &theorem) {
            Some(Verdict::Holds) if !enough => trials.far_known(&mutant),
            near => near,
        };
        (mutant, verdict)
    };
    Ok(mutants.into_iter().map(known).collect())
}

/// Most mutants in one run of Coq.
const BATCH: usize = 25;

/// Mutants that one run of Coq can take together: of one function, not yet known, and not too many.
fn batches(chosen: &[Certified], known: &dyn Fn(&Certified) -> bool) -> Vec<Vec<Certified>> {
    let mut batches: Vec<Vec<Certified>> = Vec::new();
    for one in chosen.iter().filter(|one| !known(one)) {
        let function = |one: &Certified| (one.mutant.code.clone(), one.mutant.function.clone());
        let fits = |batch: &&mut Vec<Certified>| batch.len() < BATCH && function(&batch[0]) == function(one);
        match batches.iter_mut().find(fits) {
            Some(batch) => batch.push(one.clone()),
            None => batches.push(vec![one.clone()]),
        }
    }
    batches
}

/// A verdict, and whether it was known before.
type Asked = Result<(Verdict, bool), Error>;

/// Asks about each mutant.
fn ask(
    chosen: &[Certified],
    root: &Path,
    ask: &(dyn Fn(&Certified, &Path) -> Asked + Sync),
    progress: &dyn Progress,
) -> Result<Vec<Verdict>, Error> {
    let done = AtomicUsize::new(0);
    each(chosen, root, &|one: &Certified, folder: &Path| {
        let started = Instant::now();
        let (verdict, known) = ask(one, folder)?;
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        if !known {
            let seconds = started.elapsed().as_secs_f64();
            progress.step(count, chosen.len(), &format!("{} {seconds:.1} s", line(&one.mutant, &verdict)));
        }
        Ok(verdict)
    })
}

/// Does something with each, several at a time, each worker with a folder of its own; the results are in the same order.
fn each<T: Sync, R: Send>(
    all: &[T],
    root: &Path,
    act: &(dyn Fn(&T, &Path) -> Result<R, Error> + Sync),
) -> Result<Vec<R>, Error> {
    let (queue, results) = (Mutex::new(all.iter().enumerate()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        let (queue, results) = (&queue, &results);
        let worker = move |slot: usize| {
            let folder = root.join(slot.to_string());
            make_folder(&folder)?;
            loop {
                let next = queue.lock().ok().and_then(|mut queue| queue.next());
                let Some((index, one)) = next else { return Ok(()) };
                let result = act(one, &folder)?;
                if let Ok(mut results) = results.lock() {
                    results.push((index, result));
                }
            }
        };
        let workers: Vec<_> = (0..jobs()).map(|slot| scope.spawn(move || worker(slot))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Err(Error::Worker)))
    })?;
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

fn line(mutant: &Mutant, verdict: &Verdict) -> String {
    let what = if mutant.benign { "benign rewriting" } else { "mutant" };
    let end = match verdict {
        Verdict::Breaks(place) => format!("breaks {place}"),
        Verdict::Holds => "SURVIVED".to_string(),
        Verdict::SameTerms => "has the same terms".to_string(),
        Verdict::NoCode(_) => "IS NO CODE".to_string(),
    };
    format!("{what} {} {} {end}", mutant.number, mutant.description())
}

/// Every mutant that `c2coq` knows.
fn list(project: &Project) -> Result<Vec<Mutant>, Error> {
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

/// The mutants to try, in their order.
fn choose(mut mutants: Vec<Certified>, choice: &Choice<'_>, reasons: &BTreeMap<String, String>) -> Vec<Certified> {
    mutants.retain(|one| choice.layer.is_none_or(|layer| layer == one.mutant.layer));
    if let Some(count) = choice.sample {
        let mut by_layer: BTreeMap<String, Vec<Certified>> = BTreeMap::new();
        mutants.retain(|one| !one.mutant.benign && !reasons.contains_key(&one.mutant.description()));
        for one in mutants {
            by_layer.entry(one.mutant.layer.clone()).or_default().push(one);
        }
        for one in by_layer.values_mut() {
            one.sort_by_key(|one| item_seed(choice.seed, one.mutant.number as u64));
        }
        // One of each layer, then a second of each, and so on.
        let mut rounds: Vec<(usize, Certified)> =
            by_layer.into_values().flat_map(|one| one.into_iter().enumerate()).collect();
        rounds.sort_by_key(|(round, _)| *round);
        mutants = rounds.into_iter().map(|(_, one)| one).take(count).collect();
    }
    mutants.into_iter().enumerate().filter(|(place, _)| choice.shard.has(*place)).map(|(_, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::{batches, choose, Benign, Campaign, Certified, Choice, Mutant, Verdict};
    use campaign::Shard;
    use std::collections::BTreeMap;

    fn mutant(number: usize, layer: &str) -> Mutant {
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

    fn many() -> Vec<Certified> {
        let mutants = (0..60).map(|number| mutant(number, ["a", "b", "c"][number / 20]));
        mutants.map(|mutant| Certified { mutant, theorem: "Ashlar.P.t".into() }).collect()
    }

    fn choice(sample: Option<usize>, seed: u64, index: usize, count: usize) -> Choice<'static> {
        Choice { sample, layer: None, seed, shard: Shard { index, count } }
    }

    fn numbers(mutants: Vec<Certified>) -> Vec<usize> {
        mutants.into_iter().map(|one| one.mutant.number).collect()
    }

    #[test]
    fn a_sample_is_spread_over_the_layers_and_repeats() {
        let none = BTreeMap::new();
        let sample = choose(many(), &choice(Some(9), 1, 1, 1), &none);
        for layer in ["a", "b", "c"] {
            assert_eq!(sample.iter().filter(|one| one.mutant.layer == layer).count(), 3);
        }
        assert_eq!(choose(many(), &choice(Some(9), 1, 1, 1), &none), sample);
        assert_ne!(choose(many(), &choice(Some(9), 2, 1, 1), &none), sample);
    }

    #[test]
    fn the_mutants_of_one_layer() {
        let none = BTreeMap::new();
        let of_b = |sample| choose(many(), &Choice { layer: Some("b"), ..choice(sample, 1, 1, 1) }, &none);
        assert_eq!(numbers(of_b(None)), (20..40).collect::<Vec<_>>());
        assert_eq!(of_b(Some(5)).len(), 5);
        // The first of a sample over all layers come first.
        let all = choose(many(), &choice(Some(60), 1, 1, 1), &none);
        assert_eq!(of_b(Some(60)), all.into_iter().filter(|one| one.mutant.layer == "b").collect::<Vec<_>>());
    }

    #[test]
    fn a_sample_has_no_benign_and_no_known_survivors() {
        let mut mutants = many();
        mutants[0].mutant.benign = true;
        let reasons = BTreeMap::from([(mutants[1].mutant.description(), "why".to_string())]);
        let chosen = numbers(choose(mutants, &choice(Some(60), 1, 1, 1), &reasons));
        assert_eq!(chosen.len(), 58);
        assert!(!chosen.contains(&0) && !chosen.contains(&1));
    }

    #[test]
    fn shards_share_all() {
        let none = BTreeMap::new();
        let mut all: Vec<usize> =
            (1..=4).flat_map(|index| numbers(choose(many(), &choice(None, 1, index, 4), &none))).collect();
        all.sort_unstable();
        assert_eq!(all, (0..60).collect::<Vec<_>>());
    }

    #[test]
    fn survivors_need_a_reason() {
        let tried = vec![(mutant(1, "a"), Verdict::Holds), (mutant(2, "a"), Verdict::Breaks("proof/P.v:3".into()))];
        let campaign = Campaign { tried, uncertified: 0 };
        assert_eq!((campaign.killed(), campaign.survived(), campaign.benign()), (1, 1, Benign::default()));
        assert_eq!(campaign.findings(&BTreeMap::new(), true).len(), 1);
        let reason = |number| (mutant(number, "a").description(), "why".to_string());
        assert!(campaign.findings(&BTreeMap::from([reason(1)]), true).is_empty());
        // One that is killed, and one that does not exist, must not be listed.
        assert_eq!(campaign.findings(&BTreeMap::from([reason(1), reason(2), reason(3)]), true).len(), 2);
        assert_eq!(campaign.findings(&BTreeMap::from([reason(1), reason(3)]), false).len(), 0);
    }

    #[test]
    fn a_record_names_every_mutant_and_the_faults() {
        let verdicts = [Verdict::Holds, Verdict::Breaks("proof/P.v:3".into()), Verdict::NoCode("x".into())];
        let tried = verdicts.into_iter().enumerate().map(|(number, verdict)| (mutant(number, "a"), verdict)).collect();
        let record = Campaign { tried, uncertified: 0 }.record(&BTreeMap::new(), 7, Shard { index: 2, count: 3 });
        assert_eq!(
            (record.campaign.as_str(), record.seed, record.shard.to_string()),
            ("prove-mutants", 7, "2/3".into())
        );
        let items: Vec<(&str, bool)> = record.items.iter().map(|item| (item.verdict.as_str(), item.good)).collect();
        assert_eq!(items, [("survived", false), ("killed", true), ("no-code", false)]);
        assert_eq!(record.items[0].id, mutant(0, "a").description());
        assert_eq!(record.items[0].detail["place"], "f.c:3");
    }

    #[test]
    fn benign_rewritings_are_no_findings() {
        let mut one = mutant(1, "a");
        one.benign = true;
        let verdicts = [Verdict::Holds, Verdict::SameTerms, Verdict::NoCode("x".into())];
        let tried = verdicts.into_iter().map(|verdict| (one.clone(), verdict)).collect();
        let campaign = Campaign { tried, uncertified: 0 };
        assert_eq!(campaign.benign(), Benign { survived: 2, same_terms: 1, broken: 1 });
        assert_eq!(campaign.findings(&BTreeMap::new(), true).len(), 1);
    }

    #[test]
    fn a_batch_is_of_one_function_and_of_what_is_open() {
        let sizes = |known: usize| -> Vec<usize> {
            batches(&many(), &|one| one.mutant.number < known).iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(0), [20, 20, 20]);
        assert_eq!(sizes(35), [5, 20]);
        let one_function = vec![many().remove(0); 60];
        assert_eq!(batches(&one_function, &|_| false).iter().map(Vec::len).collect::<Vec<_>>(), [25, 25, 10]);
    }
}
