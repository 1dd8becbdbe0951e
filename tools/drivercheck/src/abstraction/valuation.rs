//! Three-valued valuations of predicates, and their abstract post-image under single operations.
//!
//! Each predicate is true, false or unknown. An assignment that leaves a predicate open splits: one valuation for each
//! outcome.

use crate::expr::{self, Expr, Var};
use crate::hash::{HashMap, HashSet};
use crate::program::Op;
use crate::solver::{Solver, SolverError};

/// By predicate: 0 unknown, 1 false, 2 true.
pub type Valuation = Vec<u8>;

/// Above this number of valuations, an operation leaves open predicates unknown.
const MAX_SPLIT: usize = 64;

/// The predicates of a valuation, in order.
pub struct Scope<'a> {
    pub predicates: &'a [Expr],
}

impl Scope<'_> {
    fn mentioning(&self, var: Var) -> impl Iterator<Item = usize> + '_ {
        (0..self.predicates.len()).filter(move |index| self.predicates[*index].mentions(var))
    }

    /// The post-image of a valuation; empty if the operation is infeasible.
    pub fn step(&self, solver: &mut Solver, valuation: Valuation, op: &Op) -> Result<Vec<Valuation>, SolverError> {
        match op {
            Op::Havoc(var) => {
                let mut after = valuation;
                self.mentioning(*var).for_each(|index| after[index] = 0);
                Ok(vec![after])
            }
            Op::Assume(condition) => Ok(self.assume(solver, valuation, *condition, true)?.into_iter().collect()),
            Op::Assign(var, value) => self.assign(solver, valuation, *var, *value),
            _ => Ok(vec![valuation]),
        }
    }

    fn assign(
        &self,
        solver: &mut Solver,
        before: Valuation,
        var: Var,
        value: Expr,
    ) -> Result<Vec<Valuation>, SolverError> {
        let touched: Vec<usize> = self.mentioning(var).collect();
        if touched.is_empty() {
            return Ok(vec![before]);
        }
        // Pairs of what is known before and after; the first is refined where a predicate's outcome is split.
        let mut all = vec![(before.clone(), before)];
        for (_, after) in &mut all {
            touched.iter().for_each(|index| after[*index] = 0);
        }
        for index in touched {
            let was = self.predicates[index].replace(&|own| (own == var).then_some(value));
            let mut next = Vec::new();
            for (before, mut after) in all {
                match self.decide(solver, &before, was)? {
                    Some(known) => {
                        after[index] = 1 + u8::from(known);
                        next.push((before, after));
                    }
                    None if next.len() >= MAX_SPLIT => next.push((before, after)),
                    None => {
                        for outcome in [false, true] {
                            if let Some(refined) = self.assume(solver, before.clone(), was, outcome)? {
                                let mut after = after.clone();
                                for (slot, value) in after.iter_mut().enumerate() {
                                    if !self.predicates[slot].mentions(var) {
                                        *value = refined[slot];
                                    }
                                }
                                after[index] = 1 + u8::from(outcome);
                                next.push((refined, after));
                            }
                        }
                    }
                }
            }
            all = next;
        }
        let mut result: Vec<Valuation> = all.into_iter().map(|(_, after)| after).collect();
        result.sort_unstable();
        result.dedup();
        Ok(result)
    }

    /// The valuation refined by a condition's value; none if that is impossible.
    fn assume(
        &self,
        solver: &mut Solver,
        mut valuation: Valuation,
        condition: Expr,
        outcome: bool,
    ) -> Result<Option<Valuation>, SolverError> {
        match self.decide(solver, &valuation, condition)? {
            Some(known) if known == outcome => return Ok(Some(valuation)),
            Some(_) => return Ok(None),
            None => {}
        }
        let condition = if outcome { condition } else { expr::not(condition) };
        for index in self.near(&valuation, condition) {
            if valuation[index] != 0 {
                continue;
            }
            let mut known = self.literals(&valuation, self.predicates[index]);
            if !known.iter().any(|(one, _)| *one == condition) {
                known.push((condition, true));
            }
            if let Some(value) = ask(solver, self.predicates[index], known)? {
                valuation[index] = 1 + u8::from(value);
            }
        }
        Ok(Some(valuation))
    }

    /// Predicates that share variables with a condition, directly or through what is known.
    fn near(&self, valuation: &Valuation, condition: Expr) -> Vec<usize> {
        let mut vars: HashSet<Var> = condition.vars().iter().copied().collect();
        let mut found: Vec<usize> = Vec::new();
        loop {
            let before = found.len();
            for (index, predicate) in self.predicates.iter().enumerate() {
                if !found.contains(&index) && predicate.vars().iter().any(|var| vars.contains(var)) {
                    found.push(index);
                    if valuation[index] != 0 {
                        vars.extend(predicate.vars().iter());
                    }
                }
            }
            if found.len() == before {
                return found;
            }
        }
    }

    /// The known literals that share variables with an expression.
    fn literals(&self, valuation: &Valuation, about: Expr) -> Vec<(Expr, bool)> {
        let near = self.near(valuation, about);
        let mut known: Vec<(Expr, bool)> = near
            .into_iter()
            .filter(|index| valuation[*index] != 0)
            .map(|index| (self.predicates[index], valuation[index] == 2))
            .collect();
        known.sort_unstable();
        known
    }

    /// Whether a truth value follows from what is known.
    fn decide(&self, solver: &mut Solver, valuation: &Valuation, condition: Expr) -> Result<Option<bool>, SolverError> {
        if let Some(value) = condition.value() {
            return Ok(Some(value == 1));
        }
        let known = self.literals(valuation, condition);
        ask(solver, condition, known)
    }
}

fn ask(solver: &mut Solver, condition: Expr, known: Vec<(Expr, bool)>) -> Result<Option<bool>, SolverError> {
    if known.is_empty() {
        return Ok(None);
    }
    for (predicate, value) in &known {
        if *predicate == condition {
            return Ok(Some(*value));
        }
        if *predicate == expr::not(condition) {
            return Ok(Some(!*value));
        }
    }
    let question = (condition, known);
    if let Some(answer) = solver.known.get(&question) {
        return Ok(*answer);
    }
    let (condition, known) = &question;
    let hold: Vec<Expr> = known.iter().map(|(one, value)| if *value { *one } else { expr::not(*one) }).collect();
    let mut can = |last: Expr| -> Result<bool, SolverError> {
        let mut all = hold.clone();
        all.push(last);
        solver.can(&all)
    };
    let answer = match simple(&hold, *condition) {
        Some(answer) => Some(answer),
        None if !can(*condition)? => Some(false),
        None if !can(expr::not(*condition))? => Some(true),
        None => None,
    };
    solver.known.insert(question, answer);
    Ok(answer)
}

/// Follows from `variable == constant` alone, without asking the solver.
fn simple(known: &[Expr], condition: Expr) -> Option<bool> {
    let mut fixed: HashMap<Var, Expr> = HashMap::default();
    for one in known {
        if let expr::Node::Compare(expr::Compare::Eq, a, b) = one.node() {
            if let (expr::Node::Var { var, .. }, Some(_)) = (a.node(), b.value()) {
                fixed.insert(var, b);
            }
        }
    }
    let rest = condition.replace(&|var| fixed.get(&var).copied());
    rest.value().map(|value| value == 1)
}
