//! Summaries of terminating loops without messages.
//!
//! At its head the loop's changed variables get arbitrary values; the last, partial iteration follows with its conditions:
//! `while (polls < n && busy)` becomes "some `polls` and `busy`, not both `polls < n` and `busy`". The summary
//! over-approximates the loop, so a counterexample is concretised before it counts.

use crate::expr::{self, Expr, Var};
use crate::hash::{HashMap, HashSet};
use crate::loops::ranking::Loop;
use crate::program::{Message, Op, Program, Step};
use std::collections::BTreeSet;

/// A program with summaries, and what concretising its paths needs.
pub struct Summarised {
    pub program: Program,
    /// Heads of summarised loops, and the nodes of each.
    pub heads: HashMap<usize, HashSet<usize>>,
}

/// Summarises the outermost terminating loops without messages, with their inner loops. Idle messages, which never change
/// the protocol's state, do not count. Loops whose heads are in `kept` stay. Those in `split` get separate edges for zero
/// iterations and for at least one.
pub fn summarise(
    program: &Program,
    loops: &[Loop],
    is_idle: &dyn Fn(Message) -> bool,
    kept: &BTreeSet<usize>,
    split: &BTreeSet<usize>,
) -> Summarised {
    let live = program.live();
    let mut made = program.clone();
    for (index, edge) in made.edges.iter_mut().enumerate() {
        edge.origin = (index, 0);
    }
    let mut heads = HashMap::default();
    // The end of an iteration that was not the last: the summary stands for it, but its idle messages are checked.
    let sink = made.nodes;
    made.nodes += 1;
    let mut work: Vec<&Loop> = loops.iter().collect();
    while let Some(one) = work.pop() {
        if !is_silent(program, one, is_idle) || !all_end(one) || kept.contains(&one.head) {
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
            let entry = entry(program, one);
            let mut without = Vec::new();
            for edge in made.edges.iter_mut().filter(|edge| edge.to == one.head) {
                if one.nodes.contains(&edge.from) {
                    edge.to = sink;
                    continue;
                }
                let place = edge.steps.last().map(|step| step.place.clone()).unwrap_or_default();
                if split.contains(&one.head) {
                    without.push(edge.clone());
                    edge.steps.push(Step { op: Op::Assume(entry), place: place.clone() });
                }
                edge.steps.extend(changed.iter().map(|var| Step { op: Op::Havoc(*var), place: place.clone() }));
            }
            made.edges.extend(without);
            heads.insert(one.head, one.nodes.clone());
        }
    }
    Summarised { program: made, heads }
}

/// The condition at a loop's head for an iteration to begin.
fn entry(program: &Program, one: &Loop) -> Expr {
    let asked = |edge: usize| {
        let conditions = program.edges[edge].steps.iter().map_while(|step| match step.op {
            Op::Assume(condition) => Some(condition),
            _ => None,
        });
        conditions.fold(expr::truth(true), expr::and)
    };
    let begins = inside(program, one).filter(|edge| program.edges[*edge].from == one.head);
    begins.map(asked).fold(expr::truth(false), expr::or)
}

fn inside<'a>(program: &'a Program, one: &'a Loop) -> impl Iterator<Item = usize> + 'a {
    let is_inside = |edge: &crate::program::Edge| one.nodes.contains(&edge.from) && one.nodes.contains(&edge.to);
    (0..program.edges.len()).filter(move |edge| is_inside(&program.edges[*edge]))
}

fn is_silent(program: &Program, one: &Loop, is_idle: &dyn Fn(Message) -> bool) -> bool {
    let is_message = |step: &Step| match step.op {
        Op::Assign(..) | Op::Havoc(_) | Op::Assume(_) | Op::Show(_) => false,
        // The last iteration sends it, too; sending it earlier makes no difference.
        Op::Emit(message) => !is_idle(message),
        _ => true,
    };
    !inside(program, one).any(|edge| program.edges[edge].steps.iter().any(is_message))
}

fn all_end(one: &Loop) -> bool {
    one.ends && one.inner.iter().all(all_end)
}
