//! Which mutants are tried, in which order, and which of them together.

use super::mutant::{list, Mutant};
use crate::error::Error;
use crate::sources::certified::Layer;
use campaign::{item_seed, Shard};
use project::Project;
use std::collections::BTreeMap;

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
pub fn certified(project: &Project, layers: &[Layer]) -> Result<(Vec<Certified>, usize), Error> {
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

/// The mutants to try, in their order.
pub fn choose(mut mutants: Vec<Certified>, choice: &Choice<'_>, reasons: &BTreeMap<String, String>) -> Vec<Certified> {
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

/// Most mutants in one run of Coq.
const BATCH: usize = 25;

/// Mutants that one run of Coq can take together: of one function, not yet known, and not too many.
pub fn batches(chosen: &[Certified], known: &dyn Fn(&Certified) -> bool) -> Vec<Vec<Certified>> {
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

#[cfg(test)]
mod tests {
    use super::super::mutant::mutant;
    use super::{batches, choose, Certified, Choice};
    use campaign::Shard;
    use std::collections::BTreeMap;

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
