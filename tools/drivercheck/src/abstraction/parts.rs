//! The parts of an edge, of which no two have a variable in common. What an edge makes of a valuation it makes of each part
//! by itself: so a part's post-image is computed once for what is known of its own predicates, whatever else is known.

use crate::abstraction::valuation::{Scope, Valuation};
use crate::expr::{Expr, Var};
use crate::hash::HashMap;
use crate::program::{Op, Step};
use crate::solver::{Solver, SolverError};
use std::sync::Arc;

/// What a part leaves of a valuation of its predicates.
#[derive(Debug, Clone)]
enum Passed {
    /// The operation with this number is impossible.
    Stuck(usize),
    /// In ascending order.
    To(Arc<[Valuation]>),
}

/// Post-images by operations and predicates, in order: edges, and checks, have many parts in common.
#[derive(Default)]
pub struct Known {
    numbers: HashMap<(Vec<Op>, Vec<Expr>), usize>,
    images: Vec<HashMap<Valuation, Passed>>,
}

impl Known {
    fn number(&mut self, ops: Vec<Op>, predicates: Vec<Expr>) -> usize {
        *self.numbers.entry((ops, predicates)).or_insert_with(|| {
            self.images.push(HashMap::default());
            self.images.len() - 1
        })
    }
}

struct Part {
    /// Variables of its operations and predicates, in ascending order.
    vars: Vec<Var>,
    /// Numbers of the steps that are its operations.
    steps: Vec<usize>,
    /// Numbers of its predicates among those of the edge.
    predicates: Vec<usize>,
    /// Its number among those whose post-images are known, once it was asked for.
    number: Option<usize>,
}

impl Part {
    fn shares(&self, vars: &[Var]) -> bool {
        vars.iter().any(|var| self.vars.binary_search(var).is_ok())
    }
}

/// An edge that is taken apart.
#[derive(Default)]
pub struct Parts {
    all: Vec<Part>,
    count: usize,
}

/// What an edge leaves of a valuation.
pub struct Image {
    /// Steps of the edge that can be reached.
    pub reached: usize,
    /// In ascending order.
    pub after: Vec<Valuation>,
}

impl Parts {
    pub fn new(steps: &[Step]) -> Parts {
        let mut parts = Parts { all: Vec::new(), count: steps.len() };
        for (index, step) in steps.iter().enumerate() {
            let mut vars: Vec<Var> = match &step.op {
                Op::Assign(var, value) => [&[*var], &*value.vars()].concat(),
                Op::Havoc(var) => vec![*var],
                Op::Assume(condition) => condition.vars().to_vec(),
                _ => continue,
            };
            vars.sort_unstable();
            vars.dedup();
            parts.join(vars, vec![index], Vec::new());
        }
        parts
    }

    /// A predicate more, with its number, which is above that of all others.
    pub fn add(&mut self, predicate: usize, vars: &[Var]) {
        self.join(vars.to_vec(), Vec::new(), vec![predicate]);
    }

    /// Puts what shares variables with this into one part with it.
    fn join(&mut self, vars: Vec<Var>, steps: Vec<usize>, predicates: Vec<usize>) {
        let mut made = Part { vars, steps, predicates, number: None };
        let mut index = 0;
        while index < self.all.len() {
            if !self.all[index].shares(&made.vars) {
                index += 1;
                continue;
            }
            // What is in it shares no variable with the parts that were passed by, so those need no second look.
            let part = self.all.swap_remove(index);
            made.vars.extend(part.vars);
            made.steps.extend(part.steps);
            made.predicates.extend(part.predicates);
            made.vars.sort_unstable();
            made.vars.dedup();
        }
        made.steps.sort_unstable();
        made.predicates.sort_unstable();
        self.all.push(made);
    }

    /// The post-image of a valuation of the edge's predicates.
    pub fn post(
        &mut self,
        solver: &mut Solver,
        steps: &[Step],
        predicates: &dyn Fn(usize) -> Expr,
        before: Valuation,
    ) -> Result<Image, SolverError> {
        let mut image = Image { reached: self.count, after: vec![before] };
        let mut is_possible = true;
        for part in self.all.iter_mut().filter(|part| !part.steps.is_empty()) {
            let own: Valuation = part.predicates.iter().map(|index| image.after[0][*index]).collect();
            match part.post(solver, steps, predicates, own)? {
                Passed::Stuck(number) => {
                    is_possible = false;
                    image.reached = image.reached.min(part.steps[number] + 1);
                }
                Passed::To(all) => multiply(&mut image.after, &part.predicates, &all),
            }
        }
        if !is_possible {
            image.after.clear();
        }
        image.after.sort_unstable();
        Ok(image)
    }
}

/// Each valuation with each of these of a part's predicates.
fn multiply(all: &mut Vec<Valuation>, predicates: &[usize], by: &[Valuation]) {
    let set = |valuation: &mut Valuation, part: &Valuation| {
        std::iter::zip(predicates, part).for_each(|(index, value)| valuation[*index] = *value);
    };
    let Some((first, others)) = by.split_first() else { return all.clear() };
    let count = all.len();
    for other in others {
        for index in 0..count {
            let mut valuation = all[index].clone();
            set(&mut valuation, other);
            all.push(valuation);
        }
    }
    all[..count].iter_mut().for_each(|valuation| set(valuation, first));
}

impl Part {
    fn post(
        &mut self,
        solver: &mut Solver,
        steps: &[Step],
        predicates: &dyn Fn(usize) -> Expr,
        before: Valuation,
    ) -> Result<Passed, SolverError> {
        let number = match self.number {
            Some(number) => number,
            None => {
                let ops = self.steps.iter().map(|index| steps[*index].op.clone()).collect();
                let own = self.predicates.iter().map(|index| predicates(*index)).collect();
                *self.number.insert(solver.parts.number(ops, own))
            }
        };
        if let Some(known) = solver.parts.images[number].get(&before) {
            return Ok(known.clone());
        }
        let own: Vec<Expr> = self.predicates.iter().map(|index| predicates(*index)).collect();
        let scope = Scope { predicates: &own };
        let mut now = vec![before.clone()];
        let mut stuck = None;
        for (number, index) in self.steps.iter().enumerate() {
            let mut next = Vec::new();
            for valuation in now {
                next.extend(scope.step(solver, valuation, &steps[*index].op)?);
            }
            next.sort_unstable();
            next.dedup();
            now = next;
            if now.is_empty() {
                stuck = Some(number);
                break;
            }
        }
        let passed = stuck.map_or_else(|| Passed::To(now.into()), Passed::Stuck);
        solver.parts.images[number].insert(before, passed.clone());
        Ok(passed)
    }
}
