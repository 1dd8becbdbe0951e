//! All minimal unsatisfiable subsets of conditions, as MARCO finds them: a map of the subsets not yet known to be
//! satisfiable or not gives a seed, which is grown until nothing can be added, or shrunk until nothing can be taken away.

use wcet_symbolic::{Answer, Solver, SolverError, Term, Terms};

/// Choices that are tried for one seed; where more are needed, no more subsets are looked for.
const CHOICES: u32 = 10_000;

/// The minimal unsatisfiable subsets, by positions, at most `most`, and fewer where the next is hard to look for; what the solver cannot
/// decide counts as satisfiable.
pub fn minimal_subsets(
    terms: &Terms,
    solver: &mut Solver,
    conditions: &[Term],
    most: usize,
    stop: &dyn Fn() -> bool,
) -> Result<Vec<Vec<usize>>, SolverError> {
    let mut map = Map { size: conditions.len(), clauses: Vec::new() };
    let mut found: Vec<Vec<usize>> = Vec::new();
    while found.len() < most && !stop() {
        let Some(seed) = map.seed() else { break };
        match check(terms, solver, conditions, &seed)? {
            Some(core) => {
                let subset = shrink(terms, solver, conditions, core)?;
                map.clauses.push(subset.iter().map(|index| (*index, false)).collect());
                found.push(subset);
            }
            None => {
                let grown = grow(terms, solver, conditions, &found, seed)?;
                let outside = (0..conditions.len()).filter(|index| !grown.contains(index));
                map.clauses.push(outside.map(|index| (index, true)).collect());
            }
        }
    }
    Ok(found)
}

/// An unsatisfiable part of the subset; none if it may be satisfiable.
fn check(
    terms: &Terms,
    solver: &mut Solver,
    conditions: &[Term],
    subset: &[usize],
) -> Result<Option<Vec<usize>>, SolverError> {
    let chosen: Vec<Term> = subset.iter().map(|index| conditions[*index]).collect();
    Ok(match solver.check(terms, &chosen)? {
        Answer::Unsatisfiable(core) => Some(core.into_iter().map(|index| subset[index]).collect()),
        Answer::Satisfiable | Answer::Undecided => None,
    })
}

/// A minimal part of an unsatisfiable subset.
pub fn shrink(
    terms: &Terms,
    solver: &mut Solver,
    conditions: &[Term],
    mut subset: Vec<usize>,
) -> Result<Vec<usize>, SolverError> {
    let mut needed = 0;
    while needed < subset.len() {
        let mut rest = subset.clone();
        rest.remove(needed);
        match check(terms, solver, conditions, &rest)? {
            // What was found to be needed by larger subsets is needed by smaller ones.
            Some(core) => subset = core,
            None => needed += 1,
        }
    }
    Ok(subset)
}

/// A satisfiable subset to which nothing can be added.
fn grow(
    terms: &Terms,
    solver: &mut Solver,
    conditions: &[Term],
    found: &[Vec<usize>],
    mut seed: Vec<usize>,
) -> Result<Vec<usize>, SolverError> {
    for index in 0..conditions.len() {
        if seed.contains(&index) {
            continue;
        }
        seed.push(index);
        let known = found.iter().any(|subset| subset.iter().all(|index| seed.contains(index)));
        if known || check(terms, solver, conditions, &seed)?.is_some() {
            seed.pop();
        }
    }
    Ok(seed)
}

/// Which subsets are still open, as clauses: of some elements, one is in the subset, or is not.
struct Map {
    size: usize,
    clauses: Vec<Vec<(usize, bool)>>,
}

impl Map {
    /// An open subset, as large as is easily found; none if that takes too long.
    fn seed(&self) -> Option<Vec<usize>> {
        let (mut chosen, mut left) = (vec![None; self.size], CHOICES);
        self.complete(&mut chosen, 0, &mut left)
            .then(|| (0..self.size).filter(|index| chosen[*index] == Some(true)).collect())
    }

    /// Chooses the rest from `from` on, if that takes no more than `left` choices.
    fn complete(&self, chosen: &mut Vec<Option<bool>>, from: usize, left: &mut u32) -> bool {
        if *left == 0 {
            return false;
        }
        *left -= 1;
        let before = chosen.clone();
        if !self.propagate(chosen) {
            *chosen = before;
            return false;
        }
        let Some(next) = (from..self.size).find(|index| chosen[*index].is_none()) else { return true };
        let kept = chosen.clone();
        for value in [true, false] {
            chosen[next] = Some(value);
            if self.complete(chosen, next + 1, left) {
                return true;
            }
            chosen.clone_from(&kept);
        }
        *chosen = before;
        false
    }

    /// Chooses what is left no choice; false if a clause cannot hold.
    fn propagate(&self, chosen: &mut [Option<bool>]) -> bool {
        loop {
            let mut changed = false;
            for clause in &self.clauses {
                if clause.iter().any(|(index, value)| chosen[*index] == Some(*value)) {
                    continue;
                }
                let mut open = clause.iter().filter(|(index, _)| chosen[*index].is_none());
                match (open.next(), open.next()) {
                    (None, _) => return false,
                    (Some((index, value)), None) => {
                        chosen[*index] = Some(*value);
                        changed = true;
                    }
                    _ => {}
                }
            }
            if !changed {
                return true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wcet_symbolic::Origin;

    /// Among x = 0, x = 1, y = 0, y = 1 and x = y, all conflicts.
    #[test]
    fn all_minimal_subsets_are_found() {
        let mut terms = Terms::new();
        let (x, y) = (terms.leaf(8, Origin::Open), terms.leaf(8, Origin::Open));
        let (zero, one) = (terms.number(0, 8), terms.number(1, 8));
        let conditions: Vec<Term> =
            [(x, zero), (x, one), (y, zero), (y, one), (x, y)].map(|(a, b)| terms.equal(a, b)).to_vec();
        let mut solver = Solver::start().unwrap();
        let mut found = minimal_subsets(&terms, &mut solver, &conditions, 100, &|| false).unwrap();
        found.iter_mut().for_each(|subset| subset.sort());
        found.sort();
        assert_eq!(found, [vec![0, 1], vec![0, 3, 4], vec![1, 2, 4], vec![2, 3]]);
    }

    /// Pigeons: four numbers below three are not all different; no smaller part of that is contradictory.
    #[test]
    fn a_large_subset_is_minimal() {
        let mut terms = Terms::new();
        let pigeons: Vec<Term> = (0..4).map(|_| terms.leaf(8, Origin::Open)).collect();
        let three = terms.number(3, 8);
        let mut conditions: Vec<Term> = pigeons.iter().map(|pigeon| terms.less(*pigeon, three)).collect();
        for a in 0..4 {
            for b in 0..a {
                let equal = terms.equal(pigeons[a], pigeons[b]);
                conditions.push(terms.not(equal));
            }
        }
        let mut solver = Solver::start().unwrap();
        let found = minimal_subsets(&terms, &mut solver, &conditions, 100, &|| false).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].len(), conditions.len());
    }

    /// Twelve pigeons, each in one of eleven holes, and no two in one: there is no seed, and to see that would take for ever.
    #[test]
    fn a_search_that_takes_too_long_ends() {
        const HOLES: usize = 11;
        let mut clauses: Vec<Vec<(usize, bool)>> = Vec::new();
        for pigeon in 0..=HOLES {
            clauses.push((0..HOLES).map(|hole| (pigeon * HOLES + hole, true)).collect());
            for hole in 0..HOLES {
                clauses.extend(
                    (0..pigeon).map(|other| vec![(pigeon * HOLES + hole, false), (other * HOLES + hole, false)]),
                );
            }
        }
        let map = Map { size: (HOLES + 1) * HOLES, clauses };
        assert_eq!(map.seed(), None);
    }
}
