//! Assignments of leaves, and what terms are under them: a question whose answer is known from one is not asked.

use std::collections::BTreeMap;

use crate::enumeration::{trial, Trial};
use crate::term::{Shape, Term, Terms};
use crate::value::mask;

/// Values of leaves, and of the terms made of them as far as they were needed. Terms of more than 128 bits count as 0,
/// so what a model says of a term made of one shows nothing.
#[derive(Debug, Clone)]
pub(crate) struct Model {
    /// Leaves beyond these have values that are drawn.
    leaves: BTreeMap<u32, u128>,
    seed: u64,
    values: Vec<u128>,
}

impl Model {
    pub fn new(leaves: BTreeMap<u32, u128>, seed: u64) -> Model {
        Model { leaves, seed, values: Vec::new() }
    }

    /// Whether a truth value holds.
    pub fn holds(&mut self, terms: &Terms, term: Term) -> bool {
        for index in self.values.len()..=term.index() {
            let part = Term(index as u32);
            let value = if terms.width(part) > 128 {
                0
            } else {
                let of = |part: Term| self.values[part.index()];
                terms.value_over(part, &of, &|leaf| self.leaf(leaf))
            };
            self.values.push(value);
        }
        self.values[term.index()] == 1
    }

    fn leaf(&self, number: u32) -> u128 {
        match (self.leaves.get(&number), self.seed) {
            (Some(value), _) => *value,
            (None, 0) => 0,
            // Small numbers tell more about programs than large ones.
            (None, seed) => {
                let drawn = mix(seed ^ u64::from(number).wrapping_mul(0x9e37_79b9_7f4a_7c15));
                u128::from(mix(drawn)) & mask([64, 16, 8, 5, 3, 2][drawn as usize % 6])
            }
        }
    }
}

/// Assignments that were found before, and what few bits decide: they answer a question that is then not asked.
pub(crate) struct Witnesses {
    /// What holds of every execution; an assignment in which it does not hold is none.
    pub facts: Vec<Term>,
    models: Vec<Model>,
    most: usize,
    /// Terms that may still be computed for trials.
    trials: usize,
}

impl Witnesses {
    /// Remembers so many assignments, at first drawn ones.
    pub fn new(facts: Vec<Term>, most: usize, trials: usize) -> Witnesses {
        let models = (0..most as u64).map(|seed| Model::new(BTreeMap::new(), seed)).collect();
        Witnesses { facts, models, most, trials }
    }

    /// Whether a guard can hold, if that is known without the solver.
    pub fn answer(&mut self, terms: &Terms, guard: Term) -> Option<bool> {
        if self.shows(terms, guard) {
            return Some(true);
        }
        match trial(terms, guard, &mut self.trials)? {
            Trial::Never => Some(false),
            Trial::Holds(leaves) => {
                self.remember(leaves);
                self.shows(terms, guard).then_some(true)
            }
        }
    }

    pub fn remember(&mut self, leaves: BTreeMap<u32, u128>) {
        self.models.truncate(self.most - 1);
        self.models.insert(0, Model::new(leaves, 0));
    }

    /// Whether one of the assignments shows that the guard can hold. Those that contradict a fact are dropped.
    fn shows(&mut self, terms: &Terms, guard: Term) -> bool {
        let facts = &self.facts;
        self.models.retain_mut(|model| facts.iter().all(|fact| model.holds(terms, *fact)));
        let found = self.models.iter_mut().position(|model| model.holds(terms, guard));
        if let Some(found) = found {
            let model = self.models.remove(found);
            self.models.insert(0, model);
        }
        found.is_some()
    }
}

/// The numbers of the leaves that a term is made of.
pub(crate) fn leaves(terms: &Terms, roots: &[Term]) -> Vec<Term> {
    terms.cone(roots).into_iter().filter(|term| matches!(terms.shape(*term), Shape::Leaf(_))).collect()
}

fn mix(number: u64) -> u64 {
    let number = (number ^ number >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
    let number = (number ^ number >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    number ^ number >> 33
}
