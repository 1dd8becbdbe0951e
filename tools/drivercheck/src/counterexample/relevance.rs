//! Which loops on a run influence conditions that contradict each other: backward slicing from an unsatisfiable core.

use crate::expr::Var;
use crate::hash::{HashMap, HashSet};
use crate::program::{Op, Step};
use crate::rules::safety::Context;
use std::ops::Range;

#[derive(Default)]
pub struct Relevance {
    /// By head: the variables that the loop may change.
    changes: HashMap<usize, HashSet<Var>>,
}

impl Relevance {
    /// Numbers of the loops that influence the conditions of the core, or, of a run that repeats from a step on, the
    /// variables that must be equal there. Each loop is given by its head and the steps of its iterations.
    pub fn relevant_loops(
        &mut self,
        context: &Context,
        loops: &[(usize, Range<usize>)],
        steps: &[&Step],
        core: &[usize],
        repeats: Option<(usize, &HashSet<Var>)>,
    ) -> Vec<usize> {
        let core: HashSet<usize> = core.iter().copied().collect();
        let mut live: HashSet<Var> = repeats.map(|(_, vars)| vars.clone()).unwrap_or_default();
        let mut found = Vec::new();
        let mut next = loops.len();
        for (index, step) in steps.iter().enumerate().rev() {
            while next > 0 && loops[next - 1].1.end > index {
                next -= 1;
                let (head, iterations) = loops[next].clone();
                let changes = self.changes(context, head);
                if !changes.is_disjoint(&live) || iterations.into_iter().any(|step| core.contains(&step)) {
                    found.push(next);
                }
            }
            match &step.op {
                Op::Assign(var, value) if live.remove(var) => live.extend(value.vars().iter()),
                Op::Havoc(var) => {
                    live.remove(var);
                }
                Op::Assume(condition) if core.contains(&index) => live.extend(condition.vars().iter()),
                _ => {}
            }
            if let Some((_, vars)) = repeats.filter(|(first, _)| *first == index) {
                live.extend(vars);
            }
        }
        found.reverse();
        found
    }

    fn changes(&mut self, context: &Context, head: usize) -> &HashSet<Var> {
        self.changes.entry(head).or_insert_with(|| {
            let nodes = &context.summarised.heads[&head];
            let is_inside = |edge: &&crate::program::Edge| nodes.contains(&edge.from) && nodes.contains(&edge.to);
            let inside = context.base.edges.iter().filter(is_inside);
            let changed = inside.flat_map(|edge| &edge.steps).filter_map(|step| match step.op {
                Op::Assign(var, _) | Op::Havoc(var) => Some(var),
                _ => None,
            });
            changed.collect()
        })
    }
}
