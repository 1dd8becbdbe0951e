//! Conflicts of one route: the whole of it first; if it cannot be taken, windows over it that grow.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use wcet_symbolic::{Answer, Region, Shape, Solver, SolverError, Term, Terms};

use crate::infeasible::path_conditions::Step;
use crate::infeasible::subsets::{minimal_subsets, shrink};

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
    solver.until(deadline);
    prepare(region, &mut solver, &conditions)?;
    let stop = || deadline.is_some_and(|deadline| Instant::now() >= deadline);
    let mut windows = Windows { terms: &region.executor.terms, solver, conditions: &conditions, stop: &stop };
    let (mut found, mut undecided) = (Vec::new(), false);
    // Only conditions that are connected by leaves can be in conflict.
    for part in components(windows.terms, &conditions, region.executor.memory.stack) {
        // What only concerns the way to the route is found with the route that it is part of.
        if !part.iter().any(|index| chosen[*index] >= own) {
            continue;
        }
        if stop() {
            undecided = true;
            break;
        }
        windows.solver.limit(limit)?;
        let core = match windows.ask(&part)? {
            Answer::Satisfiable => continue,
            Answer::Undecided => None,
            Answer::Unsatisfiable(core) => Some(core.into_iter().map(|index| part[index]).collect()),
        };
        undecided |= core.is_none();
        windows.solver.limit(limit / 8)?;
        let is_own = |subset: &[usize]| subset.iter().any(|index| chosen[*index] >= own);
        found.extend(windows.conflicts(&part, core, &is_own)?);
    }
    if found.is_empty() {
        return Ok(if undecided { Finding::Undecided } else { Finding::Possible });
    }
    let place = |subset: Vec<usize>| subset.into_iter().map(|index| chosen[index]).collect();
    let mut found: Vec<Vec<usize>> = found.into_iter().map(place).collect();
    found.sort_by_key(|subset| (subset.len(), subset.clone()));
    Ok(Finding::Conflicts(found))
}

struct Windows<'w> {
    terms: &'w Terms,
    solver: Solver,
    conditions: &'w [Term],
    stop: &'w dyn Fn() -> bool,
}

impl Windows<'_> {
    fn ask(&mut self, subset: &[usize]) -> Result<Answer, SolverError> {
        let inside: Vec<Term> = subset.iter().map(|index| self.conditions[*index]).collect();
        self.solver.check(self.terms, &inside)
    }

    /// The conflicts in the smallest windows over conditions that have any. If none was decided to be one, that of the
    /// whole is, where it is known.
    fn conflicts(
        &mut self,
        part: &[usize],
        core: Option<Vec<usize>>,
        is_own: &dyn Fn(&[usize]) -> bool,
    ) -> Result<Vec<Vec<usize>>, SolverError> {
        // Where nothing is known of the whole, only small parts of it are looked at.
        let largest = if core.is_some() { part.len() } else { part.len().min(4 * FIRST) };
        let mut size = FIRST;
        while !(self.stop)() {
            let mut found: HashSet<Vec<usize>> = HashSet::new();
            for begin in (0..part.len()).step_by((size / 2).max(1)) {
                let window = &part[begin..(begin + size).min(part.len())];
                if is_own(window) && !(self.stop)() && matches!(self.ask(window)?, Answer::Unsatisfiable(_)) {
                    let inside: Vec<Term> = window.iter().map(|index| self.conditions[*index]).collect();
                    for subset in minimal_subsets(self.terms, &mut self.solver, &inside, MOST, self.stop)? {
                        let mut subset: Vec<usize> = subset.into_iter().map(|index| window[index]).collect();
                        subset.sort_unstable();
                        found.insert(subset);
                    }
                }
                if begin + size >= part.len() {
                    break;
                }
            }
            found.retain(|subset| is_own(subset));
            if !found.is_empty() {
                return Ok(found.into_iter().collect());
            }
            if size >= largest {
                break;
            }
            size *= 2;
        }
        let Some(core) = core else { return Ok(Vec::new()) };
        let mut core = shrink(self.terms, &mut self.solver, self.conditions, core)?;
        core.sort_unstable();
        Ok(if is_own(&core) { vec![core] } else { Vec::new() })
    }
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

/// The conditions, apart where they have no leaf in common but the stack pointer.
fn components(terms: &Terms, conditions: &[Term], stack: Term) -> Vec<Vec<usize>> {
    let leaves: Vec<HashSet<Term>> = conditions
        .iter()
        .map(|condition| {
            let cone = terms.cone(&[*condition]).into_iter();
            cone.filter(|term| *term != stack && matches!(terms.shape(*term), Shape::Leaf(_))).collect()
        })
        .collect();
    let mut by_leaf: HashMap<Term, Vec<usize>> = HashMap::new();
    for (index, leaves) in leaves.iter().enumerate() {
        leaves.iter().for_each(|leaf| by_leaf.entry(*leaf).or_default().push(index));
    }
    let mut seen = vec![false; conditions.len()];
    let mut found = Vec::new();
    for start in 0..conditions.len() {
        let (mut part, mut open) = (Vec::new(), vec![start]);
        while let Some(index) = open.pop() {
            if !std::mem::replace(&mut seen[index], true) {
                part.push(index);
                // Each leaf is followed once.
                open.extend(leaves[index].iter().flat_map(|leaf| by_leaf.remove(leaf).unwrap_or_default()));
            }
        }
        if !part.is_empty() {
            part.sort_unstable();
            found.push(part);
        }
    }
    found
}
