//! The abstract post-image of a whole edge at once: its conditions and assignments in terms of the values before it.

use crate::abstraction::valuation::Valuation;
use crate::expr::{self, Expr, Var};
use crate::hash::{HashMap, HashSet};
use crate::program::{Op, Step, Variable};
use crate::solver::{Solver, SolverError};

/// Above this number of valuations, an edge leaves open predicates unknown.
const MAX_SPLIT: usize = 256;

/// An edge in terms of the values before it.
pub struct Block {
    /// Conditions, each with the number of the step behind it.
    conditions: Vec<(Expr, usize)>,
    /// Values behind the edge.
    after: HashMap<Var, Expr>,
    /// Steps that can be reached whatever holds before the edge.
    reachable: usize,
    is_possible: bool,
}

/// What an edge leaves of a valuation.
pub struct Passed {
    /// Steps of the edge that can be reached.
    pub reached: usize,
    pub after: Vec<Valuation>,
}

impl Block {
    pub fn new(vars: &[Variable], steps: &[Step], solver: &mut Solver) -> Result<Block, SolverError> {
        let mut after: HashMap<Var, Expr> = HashMap::default();
        let mut conditions: Vec<(Expr, usize)> = Vec::new();
        let mut fresh = vars.len() as Var;
        let mut block =
            Block { conditions: Vec::new(), after: HashMap::default(), reachable: steps.len(), is_possible: true };
        for (index, step) in steps.iter().enumerate() {
            match &step.op {
                Op::Assign(var, value) => {
                    let value = value.replace(&|one| after.get(&one).copied());
                    after.insert(*var, value);
                }
                Op::Havoc(var) => {
                    after.insert(*var, expr::var(fresh, vars[*var as usize].bits));
                    fresh += 1;
                }
                Op::Assume(condition) => {
                    let value = condition.replace(&|one| after.get(&one).copied());
                    if !value.is_true() && !conditions.iter().any(|(known, _)| *known == value) {
                        conditions.push((value, index + 1));
                    }
                }
                _ => {}
            }
        }
        // The edge's own conditions may contradict each other.
        let all: Vec<Expr> = conditions.iter().map(|(condition, _)| *condition).collect();
        if !solver.can(&all)? {
            block.is_possible = false;
            for count in 1..=all.len() {
                if !solver.can(&all[..count])? {
                    block.reachable = conditions[count - 1].1;
                    conditions.truncate(count);
                    break;
                }
            }
        }
        (block.conditions, block.after) = (conditions, after);
        Ok(block)
    }

    /// If no run gets to the end: how many steps one may take.
    pub fn ends(&self) -> Option<usize> {
        (!self.is_possible).then_some(self.reachable)
    }

    /// The post-image of a valuation of predicates before the edge, for predicates behind it.
    pub fn post(&self, solver: &mut Solver, before: &[(Expr, u8)], behind: &[Expr]) -> Result<Passed, SolverError> {
        let mut known: Vec<Expr> = before
            .iter()
            .filter(|(_, value)| *value != 0)
            .map(|(predicate, value)| if *value == 2 { *predicate } else { expr::not(*predicate) })
            .collect();
        let base = known.len();
        for (condition, _) in &self.conditions {
            if !known.contains(condition) {
                known.push(*condition);
            }
        }
        if !self.is_possible || !consistent(solver, &known, base)? {
            // Up to which condition can it be followed?
            let mut now: Vec<Expr> = known[..base].to_vec();
            for (condition, reached) in &self.conditions {
                now.push(*condition);
                if !consistent(solver, &now, now.len() - 1)? {
                    return Ok(Passed { reached: *reached, after: Vec::new() });
                }
            }
            return Ok(Passed { reached: self.reachable, after: Vec::new() });
        }
        let values: HashMap<Expr, u8> = before.iter().copied().collect();
        let mut all: Vec<(Vec<Expr>, Valuation)> = vec![(known, Vec::with_capacity(behind.len()))];
        for predicate in behind {
            let was = predicate.replace(&|var| self.after.get(&var).copied());
            let is_touched = was != *predicate;
            let mut next = Vec::new();
            let count = all.len();
            for (index, (known, mut after)) in all.into_iter().enumerate() {
                if let Some(value) = was.value() {
                    after.push(1 + value as u8);
                    next.push((known, after));
                    continue;
                }
                if let (false, Some(value)) = (is_touched, values.get(predicate).filter(|value| **value != 0)) {
                    after.push(*value);
                    next.push((known, after));
                    continue;
                }
                match decide(solver, &known, was)? {
                    Some(value) => {
                        after.push(1 + u8::from(value));
                        next.push((known, after));
                    }
                    None if !is_touched || next.len() + (count - index) >= MAX_SPLIT => {
                        after.push(0);
                        next.push((known, after));
                    }
                    None => {
                        for outcome in [false, true] {
                            let mut known = known.clone();
                            known.push(if outcome { was } else { expr::not(was) });
                            let mut after = after.clone();
                            after.push(1 + u8::from(outcome));
                            next.push((known, after));
                        }
                    }
                }
            }
            all = next;
        }
        let mut after: Vec<Valuation> = all.into_iter().map(|(_, after)| after).collect();
        after.sort_unstable();
        after.dedup();
        Ok(Passed { reached: self.reachable, after })
    }
}

/// Whether conditions can hold together, of which the first `base` are known to.
fn consistent(solver: &mut Solver, all: &[Expr], base: usize) -> Result<bool, SolverError> {
    let mut vars: HashSet<Var> = HashSet::default();
    all[base..].iter().for_each(|one| vars.extend(one.vars().iter()));
    if all[base..].is_empty() {
        return Ok(true);
    }
    solver.can(&near(all, vars))
}

/// Conditions that share variables with some, directly or through others.
fn near(all: &[Expr], mut vars: HashSet<Var>) -> Vec<Expr> {
    let mut left: Vec<Expr> = all.to_vec();
    let mut found = Vec::new();
    loop {
        let before = found.len();
        left.retain(|one| {
            let is_near = one.vars().is_empty() || one.vars().iter().any(|var| vars.contains(var));
            if is_near {
                vars.extend(one.vars().iter());
                found.push(*one);
            }
            !is_near
        });
        if found.len() == before {
            return found;
        }
    }
}

fn decide(solver: &mut Solver, known: &[Expr], what: Expr) -> Result<Option<bool>, SolverError> {
    let opposite = expr::not(what);
    if known.contains(&what) {
        return Ok(Some(true));
    }
    if known.contains(&opposite) {
        return Ok(Some(false));
    }
    let mut near = near(known, what.vars().iter().copied().collect());
    near.push(what);
    if !solver.can(&near)? {
        return Ok(Some(false));
    }
    near.pop();
    near.push(opposite);
    Ok(if solver.can(&near)? { None } else { Some(true) })
}
