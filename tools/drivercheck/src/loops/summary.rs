//! Loops without messages, summarised; and paths through them made whole again.
//!
//! What a message-free loop that ends does to a check is little, but a checker that unrolls it needs a round for each
//! iteration. So its head gets any values for the variables that the loop changes, and what follows is the last, partial
//! iteration, with its conditions: `while (polls < n && busy)` becomes "some `polls` and `busy`, not both `polls < n` and
//! `busy`". The summary allows more than the loop. So a counterexample is made whole before it counts: iterations are put
//! in, with the numbers as they are, until the path can go on as the counterexample does.

use crate::expr::{self, Expr, Var};
use crate::loops::ranking::Loop;
use crate::program::{Message, Op, Program, Step};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A program with summaries, and what is needed to make its paths whole.
pub struct Summarised {
    pub program: Program,
    /// Heads of summarised loops, and the nodes of each.
    pub heads: HashMap<usize, HashSet<usize>>,
}

/// Summarises the outermost loops that end and have no message, with all that is inside them. Messages that leave the
/// protocol's state alone wherever they are enabled are idle, and do not count. Loops whose heads are `kept` stay. Of those
/// that are `split`, no round at all is told from some: the first needs what it takes to enter the loop.
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
    let mut heads = HashMap::new();
    // Where an iteration ends that was not the last: the summary stands for it, but its messages are to be seen.
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

/// What must hold at a loop's head for a round to begin.
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
