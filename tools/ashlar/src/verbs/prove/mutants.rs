//! Wrong variants of the C, each of which must break a proof.
//!
//! Knows: which mutants are tried in which order, how one is tried, and which survivors are known with a reason
//! (`proof/survivors.toml`: description = "why it is equivalent"). `c2coq mutate` makes them.

use super::build::{jobs, make_folder, Copy};
use super::certified::Layer;
use super::finding::Finding;
use super::fresh::c2coq;
use super::links::Links;
use super::tree::read;
use crate::cli::Shard;
use crate::failure::Failure;
use crate::output::Output;
use crate::project::Project;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

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

/// What became of a mutant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// The first file that no longer compiles, and where.
    Killed(String),
    Survived,
    /// The mutated code is none.
    Malformed(String),
}

/// Every mutant tried, and its fate.
#[derive(Debug, Default)]
pub struct Campaign {
    pub tried: Vec<(Mutant, Fate)>,
    /// Mutants of functions without a theorem: nothing could kill them.
    pub uncertified: usize,
}

impl Campaign {
    fn count(&self, benign: bool, survived: bool) -> usize {
        let is = |(mutant, fate): &&(Mutant, Fate)| mutant.benign == benign && (*fate == Fate::Survived) == survived;
        self.tried.iter().filter(is).count()
    }

    pub fn killed(&self) -> usize {
        self.count(false, false)
    }

    pub fn survived(&self) -> usize {
        self.count(false, true)
    }

    /// Those that broke a proof, in the order in which they were tried.
    pub fn broken(&self) -> Vec<&Mutant> {
        let killed = |(mutant, fate): &(Mutant, Fate)| !mutant.benign && matches!(fate, Fate::Killed(_));
        self.tried.iter().filter(|one| killed(one)).map(|(mutant, _)| mutant).collect()
    }

    /// Harmless rewritings that the proofs took, of those tried.
    pub fn benign(&self) -> (usize, usize) {
        (self.count(true, true), self.count(true, true) + self.count(true, false))
    }

    /// Survivors without a reason, mutants that are no code, and, if all mutants were tried, reasons without a survivor.
    pub fn findings(&self, reasons: &BTreeMap<String, String>, all: bool) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (mutant, fate) in &self.tried {
            let known = reasons.contains_key(&mutant.description());
            let text = match fate {
                Fate::Survived if !mutant.benign && !known => "breaks no proof".to_string(),
                Fate::Killed(place) if known => format!("is listed as a survivor, and breaks {place}"),
                Fate::Malformed(complaint) => format!("is no code: {complaint}"),
                _ => continue,
            };
            let text = format!("mutant {}: {} {text}", mutant.number, mutant.description());
            findings.push(Finding::at("mutant", &mutant.file, Some(mutant.line), text));
        }
        for reason in reasons.keys().filter(|_| all) {
            if !self.tried.iter().any(|(mutant, _)| mutant.description() == *reason) {
                findings.push(Finding::at("mutant", SURVIVORS, None, format!("there is no such mutant: {reason}")));
            }
        }
        findings
    }
}

/// Known survivors: description to reason.
pub fn reasons(project: &Project) -> Result<BTreeMap<String, String>, Failure> {
    let path = project.root().join(SURVIVORS);
    if !path.exists() {
        return Ok(BTreeMap::new());
    }
    toml::from_str(&read(&path)?)
        .map_err(|error| Failure::unable(format!("{SURVIVORS}: {error}"), "description = \"why it is equivalent\""))
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

/// Tries the chosen mutants of certified functions.
pub fn campaign(
    project: &Project,
    copy: &Copy,
    layers: &[Layer],
    choice: &Choice<'_>,
    reasons: &BTreeMap<String, String>,
    output: &Output,
) -> Result<Campaign, Failure> {
    let all = list(project)?;
    let certified: BTreeSet<(&str, &str)> = layers
        .iter()
        .flat_map(|layer| layer.functions.iter().map(move |function| (layer, function)))
        .filter(|(_, function)| function.theorem.is_some())
        .map(|(layer, function)| (layer.name.as_str(), function.name.as_str()))
        .collect();
    let total = all.len();
    let mutants: Vec<Mutant> =
        all.into_iter().filter(|one| certified.contains(&(one.layer.as_str(), one.function.as_str()))).collect();
    let uncertified = total - mutants.len();
    let chosen = choose(mutants, choice, reasons);
    let (queue, tried) = (Mutex::new(chosen.iter().enumerate()), Mutex::new(Vec::new()));
    let root = project.build().join("mutants");
    std::thread::scope(|scope| {
        let worker = |slot: usize| {
            let links = Links::make(copy, &root.join(slot.to_string()))?;
            loop {
                let next = queue.lock().ok().and_then(|mut queue| queue.next());
                let Some((index, mutant)) = next else { return Ok(()) };
                let started = Instant::now();
                let fate = attempt(project, &links, mutant)?;
                let seconds = started.elapsed().as_secs_f64();
                output.note(&format!("[{}/{}] {} {seconds:.1} s", index + 1, chosen.len(), line(mutant, &fate)));
                if let Ok(mut tried) = tried.lock() {
                    tried.push((index, mutant.clone(), fate));
                }
            }
        };
        let workers: Vec<_> = (0..jobs()).map(|slot| scope.spawn(move || worker(slot))).collect();
        workers.into_iter().try_for_each(|worker| {
            worker.join().unwrap_or_else(|_| Err(Failure::unable("trying mutants failed", "run with -v")))
        })
    })?;
    let mut tried = tried.into_inner().unwrap_or_default();
    tried.sort_by_key(|(index, _, _)| *index);
    Ok(Campaign { tried: tried.into_iter().map(|(_, mutant, fate)| (mutant, fate)).collect(), uncertified })
}

fn line(mutant: &Mutant, fate: &Fate) -> String {
    let what = if mutant.benign { "benign rewriting" } else { "mutant" };
    let end = match fate {
        Fate::Killed(place) => format!("breaks {place}"),
        Fate::Survived => "SURVIVED".to_string(),
        Fate::Malformed(_) => "IS NO CODE".to_string(),
    };
    format!("{what} {} {} {end}", mutant.number, mutant.description())
}

/// Every mutant that `c2coq` knows.
fn list(project: &Project) -> Result<Vec<Mutant>, Failure> {
    let done = c2coq(project, &["mutate", "--list", "--format", "json"])?;
    let complaint = String::from_utf8_lossy(&done.stderr).into_owned();
    if !done.status.success() {
        return Err(Failure::unable(format!("c2coq could not list mutants: {}", complaint.trim()), "build the tools"));
    }
    let mut mutants: Vec<Mutant> = serde_json::from_slice(&done.stdout)
        .map_err(|error| Failure::unable(format!("c2coq's list of mutants: {error}"), "build the tools"))?;
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for mutant in &mut mutants {
        let count = seen.entry(mutant.description()).or_default();
        mutant.namesakes = *count;
        *count += 1;
    }
    Ok(mutants)
}

/// The mutants to try, in their order.
fn choose(mut mutants: Vec<Mutant>, choice: &Choice<'_>, reasons: &BTreeMap<String, String>) -> Vec<Mutant> {
    mutants.retain(|mutant| choice.layer.is_none_or(|layer| layer == mutant.layer));
    if let Some(count) = choice.sample {
        let mut by_layer: BTreeMap<String, Vec<Mutant>> = BTreeMap::new();
        mutants.retain(|mutant| !mutant.benign && !reasons.contains_key(&mutant.description()));
        for mutant in mutants {
            by_layer.entry(mutant.layer.clone()).or_default().push(mutant);
        }
        for one in by_layer.values_mut() {
            one.sort_by_key(|mutant| scattered(mutant.number as u64, choice.seed));
        }
        // One of each layer, then a second of each, and so on.
        let mut rounds: Vec<(usize, Mutant)> =
            by_layer.into_values().flat_map(|one| one.into_iter().enumerate()).collect();
        rounds.sort_by_key(|(round, _)| *round);
        mutants = rounds.into_iter().map(|(_, mutant)| mutant).take(count).collect();
    }
    let Shard { index, count } = choice.shard;
    mutants.into_iter().enumerate().filter(|(place, _)| place % count == index - 1).map(|(_, one)| one).collect()
}

/// A number that looks random, for an order that a seed changes (splitmix).
fn scattered(number: u64, seed: u64) -> u64 {
    let mut z = (number ^ seed.rotate_left(32)).wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Tries one mutant in a folder of links and puts the folder right again.
fn attempt(project: &Project, links: &Links, mutant: &Mutant) -> Result<Fate, Failure> {
    let out = links.copy.folder.join(".mutant");
    make_folder(&out)?;
    let (number, shown) = (mutant.number.to_string(), out.display().to_string());
    let done = c2coq(project, &["mutate", "--number", &number, "--out", &shown])?;
    if !done.status.success() {
        return Ok(Fate::Malformed(String::from_utf8_lossy(&done.stderr).trim().to_string()));
    }
    let changed = links.replace(&mutant.code, &read(&out.join("Code.v"))?)?;
    let fate = fate(links, &changed);
    links.restore(&changed)?;
    fate
}

/// Compiles the mutated code and what depends on it, up to the first that is refused.
fn fate(links: &Links, changed: &[String]) -> Result<Fate, Failure> {
    for (index, file) in changed.iter().enumerate() {
        match links.copy.compile(file, LIMIT)? {
            Ok(_) => {}
            Err(refused) if index == 0 => return Ok(Fate::Malformed(refused.message)),
            Err(refused) => {
                let place = refused.line.map_or(String::new(), |line| format!(":{line}"));
                return Ok(Fate::Killed(format!("proof/{file}{place}")));
            }
        }
    }
    Ok(Fate::Survived)
}

/// A proof that takes longer than any file may has not been found.
const LIMIT: Duration = Duration::from_secs(120);

#[cfg(test)]
mod tests {
    use super::{choose, Campaign, Choice, Fate, Mutant};
    use crate::cli::Shard;
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

    fn many() -> Vec<Mutant> {
        (0..60).map(|number| mutant(number, ["a", "b", "c"][number / 20])).collect()
    }

    fn choice(sample: Option<usize>, seed: u64, index: usize, count: usize) -> Choice<'static> {
        Choice { sample, layer: None, seed, shard: Shard { index, count } }
    }

    fn numbers(mutants: Vec<Mutant>) -> Vec<usize> {
        mutants.into_iter().map(|mutant| mutant.number).collect()
    }

    #[test]
    fn a_sample_is_spread_over_the_layers_and_repeats() {
        let none = BTreeMap::new();
        let sample = choose(many(), &choice(Some(9), 1, 1, 1), &none);
        for layer in ["a", "b", "c"] {
            assert_eq!(sample.iter().filter(|mutant| mutant.layer == layer).count(), 3);
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
        assert_eq!(of_b(Some(60)), all.into_iter().filter(|mutant| mutant.layer == "b").collect::<Vec<_>>());
    }

    #[test]
    fn a_sample_has_no_benign_and_no_known_survivors() {
        let mut mutants = many();
        mutants[0].benign = true;
        let reasons = BTreeMap::from([(mutants[1].description(), "why".to_string())]);
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
        let tried = vec![(mutant(1, "a"), Fate::Survived), (mutant(2, "a"), Fate::Killed("proof/P.v:3".into()))];
        let campaign = Campaign { tried, uncertified: 0 };
        assert_eq!((campaign.killed(), campaign.survived(), campaign.benign()), (1, 1, (0, 0)));
        assert_eq!(campaign.findings(&BTreeMap::new(), true).len(), 1);
        let reason = |number| (mutant(number, "a").description(), "why".to_string());
        assert!(campaign.findings(&BTreeMap::from([reason(1)]), true).is_empty());
        // One that is killed, and one that does not exist, must not be listed.
        assert_eq!(campaign.findings(&BTreeMap::from([reason(1), reason(2), reason(3)]), true).len(), 2);
        assert_eq!(campaign.findings(&BTreeMap::from([reason(1), reason(3)]), false).len(), 0);
    }

    #[test]
    fn benign_rewritings_are_no_findings() {
        let mut one = mutant(1, "a");
        one.benign = true;
        let campaign =
            Campaign { tried: vec![(one.clone(), Fate::Survived), (one, Fate::Malformed("x".into()))], uncertified: 0 };
        assert_eq!(campaign.benign(), (1, 2));
        assert_eq!(campaign.findings(&BTreeMap::new(), true).len(), 1);
    }
}
