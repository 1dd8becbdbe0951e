//! Loop iterations on a run of the program: one at a time, or very many at once where all are alike (acceleration).
//!
//! A loop that polls a register up to a million times does the same each time: a counter changes by a constant, the
//! register is read anew, nothing else changes. Once some iterations have shown that, the solver computes how many are
//! needed and whether all of them are feasible. The run holds one of them, with their number.

use crate::counterexample::execution::{Mark, Run};
use crate::expr::{self, Expr, Var};
use crate::hash::{HashMap, HashSet};
use crate::loops::summary::Summarised;
use crate::program::Program;
use crate::solver::{Answer, Solver, SolverError};
use std::ops::Range;

/// Steps of a run, without those that stand for others.
pub const MOST_STEPS: usize = 500_000;

/// Iterations that one may stand for: each has to be replayed.
const MOST_TIMES: u64 = 100_000_000;

/// Steps of the run that are repeated `times` more times.
#[derive(Debug, Clone)]
pub struct Repeat {
    pub steps: Range<usize>,
    pub times: u64,
}

/// The edges of one iteration of a loop.
type Iteration = Vec<usize>;

pub struct Unroller<'a> {
    pub summarised: &'a Summarised,
    pub head: usize,
    pub nodes: &'a HashSet<usize>,
    /// The solver is asked whether a branch can be taken.
    pub asks_solver: bool,
    /// Where several branches inside the loop are possible, the last is taken, not the first.
    pub is_reversed: bool,
}

impl Unroller<'_> {
    /// One iteration, from the loop's head back to it. Inner loops are left as soon as possible.
    pub fn iterate(&self, run: &mut Run, solver: &mut Solver) -> Result<Option<Iteration>, SolverError> {
        let mut node = self.head;
        let mut iteration = Vec::new();
        loop {
            let choices = self.choices(run, node);
            let is_open = self.asks_solver && choices.len() > 1;
            let mut taken = None;
            for edge in choices {
                let mark = run.mark();
                if !run.along(edge, 0..usize::MAX) {
                    continue;
                }
                if !is_open || run.is_possible(solver, mark)? {
                    taken = Some(edge);
                    break;
                }
                run.undo(mark);
            }
            let Some(edge) = taken else { return Ok(None) };
            iteration.push(edge);
            node = run.base.edges[edge].to;
            if node == self.head {
                return Ok(Some(iteration));
            }
            if run.steps.len() > MOST_STEPS {
                return Ok(None);
            }
        }
    }

    fn choices(&self, run: &Run, node: usize) -> Vec<usize> {
        let to = |edge: usize| run.base.edges[edge].to;
        let mut all: Vec<usize> =
            run.out[node].iter().copied().filter(|edge| self.nodes.contains(&to(*edge))).collect();
        if self.is_reversed {
            all.reverse();
        }
        if all.len() > 1 {
            let inner =
                || self.summarised.heads.iter().filter(|(head, nodes)| **head != self.head && nodes.contains(&node));
            let stays =
                |edge: &usize| inner().any(|(_, nodes)| !nodes.contains(&self.head) && nodes.contains(&to(*edge)));
            all.sort_by_key(stays);
        }
        all
    }

    /// Whether some node inside the loop has several successors inside it.
    pub fn has_choice(&self, base: &Program) -> bool {
        let mut seen = HashSet::default();
        let inside = |edge: &&crate::program::Edge| self.nodes.contains(&edge.from) && self.nodes.contains(&edge.to);
        base.edges.iter().filter(inside).any(|edge| !seen.insert(edge.from))
    }

    /// Repeats an iteration until `exit` can follow, if each iteration is like the one before: the first stands for all but
    /// the last. None if that fails; the caller then undoes the run.
    pub fn accelerate(
        &self,
        run: &mut Run,
        solver: &mut Solver,
        exit: &dyn Fn(&mut Run) -> bool,
    ) -> Result<Option<Repeat>, SolverError> {
        let start = run.mark();
        let Some(iteration) = self.iterate(run, solver)? else { return Ok(None) };
        let first = run.mark();
        if self.iterate(run, solver)?.as_ref() != Some(&iteration) {
            return Ok(None);
        }
        let Some(counters) = counters(run, start, first) else { return Ok(None) };
        // No condition relates values read in different iterations, so all iterations may read the same values.
        let is_apart = |(condition, _): &(Expr, usize)| {
            let vars = condition.vars();
            !vars.iter().any(|var| *var >= first.fresh)
                || !vars.iter().any(|var| (start.fresh..first.fresh).contains(var))
        };
        if !run.conditions[first.conditions..].iter().all(is_apart) {
            return Ok(None);
        }
        // Once more with arbitrary counters: the conditions of an iteration, and of leaving the loop.
        run.undo(first);
        let begin: Vec<(Var, Expr, Expr)> =
            counters.iter().map(|(var, step)| (*var, run.value_of(*var), *step)).collect();
        let open: Vec<Expr> = begin.iter().map(|(_, value, _)| run.open(value.bits())).collect();
        for ((var, ..), value) in begin.iter().zip(&open) {
            run.set(*var, *value);
        }
        let before = run.mark();
        if !iteration.iter().all(|edge| run.along(*edge, 0..usize::MAX)) {
            return Ok(None);
        }
        let is_counter = |var: &Var| (first.fresh..before.fresh).contains(var);
        let goes_on = run.changed(before).into_iter().all(|var| {
            let value = run.value_of(var);
            match begin.iter().zip(&open).find(|((own, ..), _)| *own == var) {
                Some(((_, _, step), was)) => value == expr::binary(expr::Op::Add, *was, *step),
                None => !value.vars().iter().any(is_counter),
            }
        });
        let behind = run.conditions.len();
        if !goes_on || !exit(run) {
            return Ok(None);
        }
        let k = run.open(64);
        let bound = expr::compare(expr::Compare::ULt, k, expr::constant(MOST_TIMES, 64));
        let at = |var: Var| {
            let index = open.iter().position(|one| one.mentions(var))?;
            Some(after(begin[index].1, k, begin[index].2))
        };
        let about = |range: &[(Expr, usize)]| -> Vec<Expr> {
            let all = range.iter().filter(|(condition, _)| condition.vars().iter().any(is_counter));
            all.map(|(condition, _)| condition.replace(&at)).collect()
        };
        let iterations = about(&run.conditions[before.conditions..behind]);
        let mut asked = about(&run.conditions[before.conditions..]);
        asked.push(bound);
        if !iterations.iter().all(|condition| condition.vars().iter().all(|var| k.mentions(*var))) {
            return Ok(None);
        }
        let Some(times) = how_often(solver, k, iterations, asked)? else { return Ok(None) };
        run.undo(first);
        for (var, value, step) in &begin {
            run.set(*var, after(*value, expr::constant(times, 64), *step));
        }
        let is_accelerated = iteration.iter().all(|edge| run.along(*edge, 0..usize::MAX));
        Ok(is_accelerated.then_some(Repeat { steps: start.steps..first.steps, times }))
    }
}

/// A number of iterations after which the conditions hold, while the loop continues in all before.
fn how_often(
    solver: &mut Solver,
    k: Expr,
    iterations: Vec<Expr>,
    mut asked: Vec<Expr>,
) -> Result<Option<u64>, SolverError> {
    let stops = iterations.into_iter().fold(expr::truth(false), |all, one| expr::or(all, expr::not(one)));
    let of = |model: &HashMap<Var, u64>| k.evaluate(&|var| model.get(&var).copied().unwrap_or(0));
    loop {
        let Answer::Sat(model) = solver.check(&asked, true, false)? else { return Ok(None) };
        let times = of(&model);
        let earlier = expr::compare(expr::Compare::ULt, k, expr::constant(times, 64));
        match solver.check(&[earlier, stops], true, false)? {
            Answer::Unsat(_) => return Ok(Some(times)),
            Answer::Sat(model) => asked.push(expr::compare(expr::Compare::ULt, k, expr::constant(of(&model), 64))),
            Answer::Unknown => return Ok(None),
        }
    }
}

/// A counter after some iterations.
fn after(value: Expr, iterations: Expr, step: Expr) -> Expr {
    let iterations = expr::cut(iterations, value.bits());
    if expr::negate(step).value() == Some(1) {
        return expr::binary(expr::Op::Sub, value, iterations);
    }
    expr::binary(expr::Op::Add, value, expr::binary(expr::Op::Mul, iterations, step))
}

/// The variables that two iterations change by the same constant, with that constant, if every other changed variable was
/// equal before each or read in the iteration before. The run ends with the second iteration.
fn counters(run: &Run, start: Mark, first: Mark) -> Option<Vec<(Var, Expr)>> {
    let fresh = first.fresh - start.fresh;
    let base = start.fresh.checked_sub(fresh)?;
    // Values read at the same place of different iterations are made equal.
    let shape = |value: Expr, base: Var| {
        let moved = |var: Var| var.checked_sub(base).map(|place| expr::var(Var::MAX / 2 + place, value.width_of(var)));
        value.replace(&moved)
    };
    let mut found = Vec::new();
    for var in run.changed(start) {
        let values = [run.value_at(start, var), run.value_at(first, var), run.value_of(var)];
        match values.map(Expr::value) {
            [Some(a), Some(b), Some(c)] if b.wrapping_sub(a) == c.wrapping_sub(b) => {
                if a != b {
                    found.push((var, expr::binary(expr::Op::Sub, values[1], values[0])));
                }
            }
            _ => {
                let [a, b, c] = [(values[0], base), (values[1], start.fresh), (values[2], first.fresh)];
                if shape(a.0, a.1) != shape(b.0, b.1) || shape(b.0, b.1) != shape(c.0, c.1) {
                    return None;
                }
            }
        }
    }
    Some(found)
}
