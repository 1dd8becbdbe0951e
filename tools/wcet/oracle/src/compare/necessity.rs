//! Whether each set of edges that was excluded matters: the bound without it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{Duration, Instant};

use crate::measure::subject::{with, Subject};
use crate::measure::Error;
use serde::{Deserialize, Serialize};
use wcet_flow::context::{Expanded, LoopId, NodeId};
use wcet_hardware::cache::Target as Place;
use wcet_hardware::machine::Machine;
use wcet_paths::infeasible::{describe, refine, Options, Refined};
use wcet_paths::ipet::{Constraints, Prepared, Targets, Total};
use wcet_symbolic::{Frames, Setting, Sharing};
use wcet_values::Values;

/// A set that was excluded.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Set {
    pub text: String,
    /// Edges in it.
    pub edges: usize,
    /// The bound with all other sets, but not this one.
    pub without: u64,
}

/// A program's bounds with and without sets.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Necessity {
    pub with_none: u64,
    pub with_all: u64,
    pub sets: Vec<Set>,
}

/// Analyses a compiled program of which inference bounds all loops. None if it does not.
pub fn necessity(file: &Path, machine: &Machine, timeout: Duration) -> Result<Option<Necessity>, Error> {
    with(file, |subject| {
        let Subject { program, expanded, .. } = subject;
        let values = wcet_values::analyse(program, expanded, &wcet_values::Options::default());
        let found = wcet_paths::loop_bounds::infer(program, expanded, &values);
        let bounds: BTreeMap<LoopId, u64> = found.iter().filter_map(|one| Some((one.loop_id, one.bound?))).collect();
        if bounds.len() < found.len() {
            return Ok(None);
        }
        let place = Known { expanded, values: &values };
        let prepared = Prepared::new(program, expanded, machine, &bounds, &place, values.dead())
            .map_err(|errors| Error::Setup(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))?;
        let total = |one: &wcet_paths::loop_bounds::LoopBound| {
            let (outer, headers) = one.total?;
            Some(Total { inner: one.loop_id, outer, headers })
        };
        let base = Constraints {
            dead: values.dead().clone(),
            totals: found.iter().filter_map(total).collect(),
            ..Constraints::default()
        };
        let switches = BTreeSet::new();
        let frames = Frames::of(program, expanded, &switches);
        let setting = Setting {
            program,
            graph: expanded,
            frames: &frames,
            values: Some(&values),
            sharing: Sharing::Exclusive,
            switches: &switches,
        };
        let options = Options { deadline: Some(Instant::now() + timeout), ..Options::default() };
        let refined = refine(&setting, &prepared, base.clone(), &bounds, &options)
            .map_err(|error| Error::Setup(error.to_string()))?;
        let sets = (0..refined.conflicts.len())
            .map(|left_out| without(expanded, &prepared, &base, &bounds, &refined, left_out))
            .collect::<Result<_, _>>()?;
        let with_none = refined.history.first().copied().unwrap_or(refined.bound.wcet_cycles);
        Ok(Some(Necessity { with_none, with_all: refined.bound.wcet_cycles, sets }))
    })
}

/// Where accesses go, as the whole analysis takes it.
struct Known<'e, 'g> {
    expanded: &'e Expanded<'g>,
    values: &'e Values,
}

impl Known<'_, '_> {
    /// The number of an access among all of its node.
    fn number(&self, node: NodeId, instruction: usize, access: usize) -> usize {
        let before = self.expanded.block(node).instructions[..instruction].iter();
        before.map(|one| one.accesses.len()).sum::<usize>() + access
    }
}

impl Targets for Known<'_, '_> {
    fn target(&self, node: NodeId, instruction: usize, access: usize) -> Place {
        let number = self.number(node, instruction, access);
        self.values.targets(node).get(number).copied().unwrap_or(Place::Anywhere)
    }

    fn aligned(&self, node: NodeId, instruction: usize, access: usize) -> bool {
        self.values.aligned(node).get(self.number(node, instruction, access)).copied().unwrap_or(false)
    }
}

fn without(
    expanded: &Expanded<'_>,
    prepared: &Prepared<'_, '_>,
    base: &Constraints,
    bounds: &BTreeMap<LoopId, u64>,
    refined: &Refined,
    left_out: usize,
) -> Result<Set, Error> {
    let mut constraints = base.clone();
    for (number, conflict) in refined.conflicts.iter().enumerate() {
        let form = conflict.form(expanded, &|one| bounds.get(&one).copied());
        if let (Some(form), true) = (form, number != left_out) {
            form.add_to(&mut constraints);
        }
    }
    let bound = prepared
        .bound(&constraints, &wcet_paths::ipet::Options { deadline: None })
        .map_err(|errors| Error::Setup(errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")))?;
    let conflict = &refined.conflicts[left_out];
    Ok(Set { text: describe(expanded, conflict), edges: conflict.edges.len(), without: bound.wcet_cycles })
}
