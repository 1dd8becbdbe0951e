//! Loops without messages, summarised; and paths through them made whole again.
//!
//! What a message-free loop that ends does to a check is little, but a checker that unrolls it needs a round for each
//! iteration. So its head gets any values for the variables that the loop changes, and what follows is the last, partial
//! iteration, with its conditions: `while (polls < n && busy)` becomes "some `polls` and `busy`, not both `polls < n` and
//! `busy`". The summary allows more than the loop. So a counterexample is made whole before it counts: iterations are put
//! in, with the numbers as they are, until the path can go on as the counterexample does.

use crate::expr::{self, Expr, Var};
use crate::program::{Message, Op, Program, Step};
use crate::terminate::Loop;
use std::collections::{HashMap, HashSet};

/// Steps of a whole path; a polling loop with a bound of a hundred thousand fits.
const MOST_STEPS: usize = 1_500_000;

/// A program with summaries, and what is needed to make its paths whole.
pub struct Summarised {
    pub program: Program,
    /// Heads of summarised loops, and the nodes of each.
    heads: HashMap<usize, HashSet<usize>>,
}

/// Summarises the outermost loops that end and have no message, with all that is inside them. Messages that leave the
/// protocol's state alone wherever they are enabled are idle, and do not count.
pub fn summarise(program: &Program, loops: &[Loop], is_idle: &dyn Fn(Message) -> bool) -> Summarised {
    let live = program.live();
    let mut made = program.clone();
    for (index, edge) in made.edges.iter_mut().enumerate() {
        edge.origin = (index, 0);
    }
    let mut heads = HashMap::new();
    let mut dropped = vec![false; made.edges.len()];
    let mut work: Vec<&Loop> = loops.iter().collect();
    while let Some(one) = work.pop() {
        if !is_silent(program, one, is_idle) || !all_end(one) {
            work.extend(&one.inner);
            continue;
        }
        let mut nest = vec![one];
        while let Some(one) = nest.pop() {
            nest.extend(&one.inner);
            let changed: HashSet<Var> = inside(program, one)
                .flat_map(|edge| &program.edges[edge].steps)
                .filter_map(|step| match step.op {
                    Op::Assign(var, _) | Op::Havoc(var) if live[one.head].contains(&var) => Some(var),
                    _ => None,
                })
                .collect();
            let mut changed: Vec<Var> = changed.into_iter().collect();
            changed.sort_unstable();
            for (index, edge) in made.edges.iter_mut().enumerate().filter(|(_, edge)| edge.to == one.head) {
                if one.nodes.contains(&edge.from) {
                    dropped[index] = true;
                    continue;
                }
                let place = edge.steps.last().map(|step| step.place.clone()).unwrap_or_default();
                edge.steps.extend(changed.iter().map(|var| Step { op: Op::Havoc(*var), place: place.clone() }));
            }
            heads.insert(one.head, one.nodes.clone());
        }
    }
    let mut index = 0;
    made.edges.retain(|_| {
        index += 1;
        !dropped[index - 1]
    });
    Summarised { program: made, heads }
}

fn inside<'a>(program: &'a Program, one: &'a Loop) -> impl Iterator<Item = usize> + 'a {
    let is_inside = |edge: &crate::program::Edge| one.nodes.contains(&edge.from) && one.nodes.contains(&edge.to);
    (0..program.edges.len()).filter(move |edge| is_inside(&program.edges[*edge]))
}

fn is_silent(program: &Program, one: &Loop, is_idle: &dyn Fn(Message) -> bool) -> bool {
    let is_message = |step: &Step| match step.op {
        Op::Assign(..) | Op::Havoc(_) | Op::Assume(_) => false,
        // The last iteration sends it, too, and that it was sent before makes no difference.
        Op::Emit(message) => !is_idle(message),
        Op::Await(_) | Op::Receive(_) | Op::Return => true,
    };
    !inside(program, one).any(|edge| program.edges[edge].steps.iter().any(is_message))
}

fn all_end(one: &Loop) -> bool {
    one.ends && one.inner.iter().all(all_end)
}

/// A whole path: its steps, and how many there are before each edge of the path it was made from.
pub struct Whole<'a> {
    pub steps: Vec<&'a Step>,
    pub before: Vec<usize>,
}

struct Run<'a> {
    base: &'a Program,
    out: Vec<Vec<usize>>,
    values: HashMap<Var, Expr>,
    fresh: Var,
    steps: Vec<&'a Step>,
}

impl<'a> Run<'a> {
    /// Goes along an edge, if nothing known speaks against it; otherwise changes nothing.
    fn along(&mut self, edge: usize, from: usize, to: usize) -> bool {
        let saved = (self.steps.len(), self.fresh);
        let mut old: Vec<(Var, Option<Expr>)> = Vec::new();
        let base = self.base;
        let all = &base.edges[edge].steps;
        for step in &all[from..to.min(all.len())] {
            let set = match &step.op {
                Op::Assign(var, value) => {
                    Some((*var, value.replace(&|one| self.values.get(&one).copied())))
                }
                Op::Havoc(var) => {
                    self.fresh += 1;
                    Some((*var, expr::var(self.fresh, base.vars[*var as usize].bits)))
                }
                Op::Assume(condition) => {
                    if condition.replace(&|one| self.values.get(&one).copied()).is_false() {
                        self.steps.truncate(saved.0);
                        self.fresh = saved.1;
                        for (var, value) in old.into_iter().rev() {
                            match value {
                                Some(value) => self.values.insert(var, value),
                                None => self.values.remove(&var),
                            };
                        }
                        return false;
                    }
                    None
                }
                _ => None,
            };
            if let Some((var, value)) = set {
                old.push((var, self.values.insert(var, value)));
            }
            self.steps.push(step);
        }
        true
    }

    /// Goes once round a loop, from its head back to it, by whatever branches are open.
    fn round(&mut self, head: usize, nodes: &HashSet<usize>) -> bool {
        let mut node = head;
        loop {
            let choices: Vec<usize> = self.out[node]
                .iter()
                .copied()
                .filter(|edge| nodes.contains(&self.base.edges[*edge].to))
                .collect();
            let Some(edge) = choices.into_iter().find(|edge| self.along(*edge, 0, usize::MAX)) else { return false };
            node = self.base.edges[edge].to;
            if node == head {
                return true;
            }
            if self.steps.len() > MOST_STEPS {
                return false;
            }
        }
    }
}

/// Makes a path of the summarised program whole; of its last edge, the first `last` steps. None if no way was found.
pub fn whole<'a>(
    summarised: &Summarised,
    base: &'a Program,
    program: &Program,
    path: &[usize],
    last: usize,
) -> Option<Whole<'a>> {
    let mut run =
        Run { base, out: base.leaving(), values: HashMap::new(), fresh: base.vars.len() as Var, steps: Vec::new() };
    let mut before = Vec::new();
    let mut at = 0;
    // Loops whose head was reached and that can still be gone round before the path goes on: position, node.
    while at < path.len() {
        let edge = &program.edges[path[at]];
        let (origin, offset) = edge.origin;
        let count = if at + 1 == path.len() { last.min(edge.steps.len()) } else { edge.steps.len() };
        let size = base.edges[origin].steps.len();
        let ok = run.along(origin, offset, (offset + count).min(size));
        if !ok {
            return None;
        }
        before.push(run.steps.len());
        at += 1;
        let Some(nodes) = summarised.heads.get(&edge.to) else { continue };
        // The rest of the path inside the loop, up to the next head.
        let mut end = at;
        while end < path.len() {
            let to = program.edges[path[end]].to;
            end += 1;
            if !nodes.contains(&to) || summarised.heads.contains_key(&to) {
                break;
            }
        }
        loop {
            let saved = (run.values.clone(), run.fresh, run.steps.len());
            let fits = path[at..end].iter().enumerate().all(|(index, one)| {
                let edge = &program.edges[*one];
                let is_last = at + index + 1 == path.len();
                let count = if is_last { last.min(edge.steps.len()) } else { edge.steps.len() };
                run.along(edge.origin.0, edge.origin.1, edge.origin.1 + count)
            });
            (run.values, run.fresh) = (saved.0, saved.1);
            run.steps.truncate(saved.2);
            if fits {
                break;
            }
            if run.steps.len() > MOST_STEPS || !run.round(edge.to, nodes) {
                return None;
            }
        }
    }
    Some(Whole { steps: run.steps, before })
}
