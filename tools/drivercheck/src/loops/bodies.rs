//! The paths through a loop's body, from its head back to it, as conditions and updates. An inner loop leaves arbitrary
//! values in the variables that it changes.

use crate::expr::{self, Expr, Var};
use crate::hash::{HashMap, HashSet};
use crate::loops::ranking::Loop;
use crate::program::{Edge, Op, Program, Step};

/// Paths through a loop; a loop with more is not analysed.
pub(super) const MAX_PATHS: usize = 400;

/// What an iteration does: conditions, and the variables' values after it, over those before.
pub type Iteration = (Vec<Expr>, Vec<(Var, Expr)>);

struct Walk<'a> {
    program: &'a Program,
    out: Vec<Vec<usize>>,
    head: usize,
    inner: &'a [Loop],
    nodes: &'a HashSet<usize>,
    made: Vec<Iteration>,
    /// Nodes between the head and here.
    trail: Vec<usize>,
}

/// What is known on a path.
#[derive(Clone, PartialEq)]
pub(super) struct Now {
    values: HashMap<Var, Expr>,
    conditions: Vec<Expr>,
    fresh: Var,
}

impl Now {
    pub(super) fn at_head(program: &Program) -> Now {
        Now { values: HashMap::default(), conditions: Vec::new(), fresh: program.vars.len() as Var }
    }

    pub(super) fn iteration(self) -> Iteration {
        let mut values: Vec<(Var, Expr)> = self.values.into_iter().collect();
        values.sort_unstable();
        (self.conditions, values)
    }
}

/// All paths from a loop's head back to it; none if there are too many.
pub fn iterations(program: &Program, one: &Loop) -> Option<Vec<Iteration>> {
    let mut walk = Walk {
        program,
        out: program.leaving(),
        head: one.head,
        inner: &one.inner,
        nodes: &one.nodes,
        made: Vec::new(),
        trail: Vec::new(),
    };
    walk.from(one.head, Now::at_head(program))?;
    let mut made = walk.made;
    made.sort_unstable();
    made.dedup();
    Some(made)
}

impl Walk<'_> {
    fn from(&mut self, node: usize, now: Now) -> Option<()> {
        if let Some(inner) = self.inner.iter().find(|inner| inner.nodes.contains(&node)) {
            // The inner loop ran any number of times, and may be left from any of its nodes.
            let mut after = now;
            let is_inside = |edge: &&Edge| inner.nodes.contains(&edge.from) && inner.nodes.contains(&edge.to);
            for edge in self.program.edges.iter().filter(is_inside) {
                for step in &edge.steps {
                    if let Op::Assign(var, _) | Op::Havoc(var) = &step.op {
                        open(self.program, &mut after, *var);
                    }
                }
            }
            let mut sources: Vec<usize> = inner.nodes.iter().copied().collect();
            sources.sort_unstable();
            for source in sources {
                for edge in self.out[source].clone() {
                    if !inner.nodes.contains(&self.program.edges[edge].to) {
                        self.along(edge, after.clone())?;
                    }
                }
            }
            return Some(());
        }
        // An irreducible cycle, entered in several places: not analysed.
        if self.trail.contains(&node) {
            return None;
        }
        self.trail.push(node);
        self.out[node].clone().into_iter().try_for_each(|edge| self.along(edge, now.clone()))?;
        self.trail.pop();
        Some(())
    }

    fn along(&mut self, edge: usize, mut now: Now) -> Option<()> {
        let edge = &self.program.edges[edge];
        if !self.nodes.contains(&edge.to) {
            return Some(());
        }
        for step in &edge.steps {
            if !apply(self.program, &mut now, step) {
                return Some(());
            }
        }
        if edge.to != self.head {
            return self.from(edge.to, now);
        }
        if self.made.len() >= MAX_PATHS {
            return None;
        }
        self.made.push(now.iteration());
        Some(())
    }
}

pub(super) fn open(program: &Program, now: &mut Now, var: Var) {
    now.values.insert(var, expr::var(now.fresh, program.vars[var as usize].bits));
    now.fresh += 1;
}

/// False if the step cannot happen.
pub(super) fn apply(program: &Program, now: &mut Now, step: &Step) -> bool {
    match &step.op {
        Op::Assign(var, value) => {
            let value = value.replace(&|one| now.values.get(&one).copied());
            now.values.insert(*var, value);
        }
        Op::Havoc(var) => open(program, now, *var),
        Op::Assume(condition) => {
            let condition = condition.replace(&|one| now.values.get(&one).copied());
            if condition.is_false() {
                return false;
            }
            if !condition.is_true() {
                now.conditions.push(condition);
            }
        }
        _ => {}
    }
    true
}
