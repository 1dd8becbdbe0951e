//! Conflicts of one route: the whole of it first; if it cannot be taken, windows over it that grow.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use timing_smt::{Region, Shape, Solver, SolverError, Term, Terms};

use crate::subsets::{minimal_subsets, shrink};
use crate::trail::Step;

/// What was found out about a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// Its conditions hold together, for all that is known.
    Possible,
    /// Not decided within the limits: as if it was possible.
    Undecided,
    /// Positions of steps that cannot be taken together: all minimal sets in the smallest window that has any.
    Conflicts(Vec<Vec<usize>>),
}

/// Minimal subsets of one window.
const MOST: usize = 24;
/// Conditions in the first windows.
const FIRST: usize = 6;

/// `own` is the position of the first step of the route itself; what comes before is the way to it.
pub fn search(
    region: &mut Region<'_, '_>,
    steps: &[Step],
    own: usize,
    limit: u64,
    deadline: Option<Instant>,
) -> Result<Finding, SolverError> {
    // Steps that share a condition stand for each other; the last of them, as it is the nearest to its scope.
    let mut positions: BTreeMap<Term, usize> = BTreeMap::new();
    for (position, step) in steps.iter().enumerate().filter(|(_, step)| step.condition != Terms::TRUE) {
        positions.insert(step.condition, position);
    }
    let mut chosen: Vec<usize> = positions.into_values().collect();
    chosen.sort_unstable();
    if let Some(never) = chosen.iter().find(|position| steps[**position].condition == Terms::FALSE) {
        return Ok(Finding::Conflicts(vec![vec![*never]]));
    }
    let conditions: Vec<Term> = chosen.iter().map(|position| steps[*position].condition).collect();
    let mut solver = Solver::start()?;
    solver.limit(limit)?;
    prepare(region, &mut solver, &conditions)?;
    let terms = &region.executor.terms;
    let core = match solver.check(terms, &conditions)? {
        timing_smt::Answer::Satisfiable => return Ok(Finding::Possible),
        timing_smt::Answer::Undecided => Vec::new(),
        timing_smt::Answer::Unsatisfiable(core) => shrink(terms, &mut solver, &conditions, core)?,
    };
    let stop = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    // Only what shares leaves with the core can be in conflict with any of it.
    let related: Vec<usize> =
        if core.is_empty() { (0..conditions.len()).collect() } else { related(terms, &conditions, &core) };
    let mut size = FIRST;
    loop {
        let mut found: HashSet<Vec<usize>> = HashSet::new();
        let mut begin = 0;
        loop {
            let window = &related[begin..(begin + size).min(related.len())];
            let has_own = window.iter().any(|index| chosen[*index] >= own);
            let inside: Vec<Term> = window.iter().map(|index| conditions[*index]).collect();
            if has_own && !stop() && matches!(solver.check(terms, &inside)?, timing_smt::Answer::Unsatisfiable(_)) {
                for subset in minimal_subsets(terms, &mut solver, &inside, MOST, &stop)? {
                    let mut subset: Vec<usize> = subset.into_iter().map(|index| chosen[window[index]]).collect();
                    subset.sort_unstable();
                    found.insert(subset);
                }
            }
            if begin + size >= related.len() {
                break;
            }
            begin += (size / 2).max(1);
        }
        // What only concerns the way to the route is found with the route that it is part of.
        found.retain(|subset| subset.iter().any(|position| *position >= own));
        if !found.is_empty() {
            let mut found: Vec<Vec<usize>> = found.into_iter().collect();
            found.sort_by_key(|subset| (subset.len(), subset.clone()));
            return Ok(Finding::Conflicts(found));
        }
        if stop() {
            break;
        }
        if size >= related.len() {
            break;
        }
        size *= 2;
    }
    let mut core: Vec<usize> = core.into_iter().map(|index| chosen[index]).collect();
    core.sort_unstable();
    Ok(match core.last() {
        Some(last) if *last >= own => Finding::Conflicts(vec![core]),
        _ => Finding::Undecided,
    })
}

/// Tells the solver what holds whatever path is taken.
pub fn prepare(region: &mut Region<'_, '_>, solver: &mut Solver, conditions: &[Term]) -> Result<(), SolverError> {
    let cone: HashSet<Term> = region.executor.terms.cone(conditions).into_iter().collect();
    let terms = &mut region.executor.terms;
    for fact in region.executor.memory.consistency(terms, &|leaf| cone.contains(&leaf)) {
        solver.assert(terms, fact)?;
    }
    for fact in &region.facts {
        let about = terms
            .cone(&[*fact])
            .into_iter()
            .any(|term| matches!(terms.shape(term), Shape::Leaf(_)) && cone.contains(&term));
        if about {
            solver.assert(terms, *fact)?;
        }
    }
    Ok(())
}

/// The conditions that are connected with one of the core by leaves, or by memory cells.
fn related(terms: &Terms, conditions: &[Term], core: &[usize]) -> Vec<usize> {
    let leaves: Vec<HashSet<Term>> = conditions
        .iter()
        .map(|condition| {
            let cone = terms.cone(&[*condition]).into_iter();
            cone.filter(|term| matches!(terms.shape(*term), Shape::Leaf(_))).collect()
        })
        .collect();
    let mut by_leaf: HashMap<Term, Vec<usize>> = HashMap::new();
    for (index, leaves) in leaves.iter().enumerate() {
        leaves.iter().for_each(|leaf| by_leaf.entry(*leaf).or_default().push(index));
    }
    let mut found: HashSet<usize> = HashSet::new();
    let mut open = core.to_vec();
    while let Some(index) = open.pop() {
        if found.insert(index) {
            for leaf in &leaves[index] {
                // Each leaf is followed once.
                open.extend(by_leaf.remove(leaf).unwrap_or_default());
            }
        }
    }
    let mut found: Vec<usize> = found.into_iter().collect();
    found.sort_unstable();
    found
}
