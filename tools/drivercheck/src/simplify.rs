//! A smaller program with the same runs, for checks whose abstraction is about values.
//!
//! Variables that hold a copy of others are replaced by what they hold, and what is read nowhere is not computed. A node
//! with one way in is joined with each way out, so that an edge is a whole path between places where paths meet: what the
//! abstraction forgets at nodes it need not find again.

use crate::abstraction::block::Block;
use crate::expr::{self, Compare, Expr, Node, Op as Operation, Var};
use crate::hash::HashSet;
use crate::program::{Edge, Op, Program, Step};
use crate::solver::{Solver, SolverError};
use crate::transform::decide;
use std::collections::{BTreeMap, BTreeSet};

/// Parts of an expression that is put in place of a variable, at most.
const MAX_SIZE: usize = 24;
/// ... of a part of a variable that may be the cookie.
const MAX_PART: usize = 4;
/// By how many edges a node is worth to be rid of.
const MORE: usize = 2;
/// How many times the steps there may be when edges are joined.
const GROWTH: usize = 8;
const GROWTH_LEAST: usize = 5_000;

/// What variables hold, in terms of others.
type Known = BTreeMap<Var, Expr>;

pub fn simplify(program: &Program, solver: &mut Solver) -> Result<Program, SolverError> {
    let mut made = without_copies(&decide(program));
    without_dead(&mut made);
    for more in [0, MORE] {
        loop {
            made.tidy();
            join(&mut made, more);
            if !without_impossible(&mut made, solver)? {
                break;
            }
        }
    }
    made.tidy();
    made.is_joined = true;
    let more = cookies(&made);
    made.hints.extend(more);
    Ok(made)
}

/// Removes what cannot be reached on an edge because of its own conditions. Returns whether there was any.
fn without_impossible(program: &mut Program, solver: &mut Solver) -> Result<bool, SolverError> {
    let mut kept = Vec::new();
    let mut is_less = false;
    let is_last: Vec<bool> = program.leaving().iter().map(Vec::is_empty).collect();
    let sink = program.nodes;
    program.nodes += 1;
    for mut edge in program.edges.drain(..) {
        if let Some(reached) = Block::new(&program.vars, &edge.steps, solver)?.ends() {
            let is_seen = |step: &Step| !matches!(step.op, Op::Assign(..) | Op::Havoc(_) | Op::Assume(_) | Op::Show(_));
            let has_message = edge.steps[..reached].iter().any(is_seen);
            is_less |= !has_message || reached < edge.steps.len() || !is_last[edge.to];
            if !has_message {
                continue;
            }
            edge.steps.truncate(reached);
            edge.to = sink;
        }
        kept.push(edge);
    }
    program.edges = kept;
    Ok(is_less)
}

/// Whether a value is the cookie that is followed: a predicate for each by which a bit of a set is chosen, or that is
/// compared with the cookie.
fn cookies(program: &Program) -> Vec<Expr> {
    let Some(cookie) = program.followed else { return Vec::new() };
    let mut found: BTreeSet<Expr> = BTreeSet::new();
    let mut seen = HashSet::default();
    for step in program.edges.iter().flat_map(|edge| &edge.steps) {
        if let Op::Assign(_, value) | Op::Assume(value) = step.op {
            chosen(value, cookie, &mut seen, &mut found);
        }
    }
    let bits = program.vars[cookie as usize].bits;
    let own = |value: &Expr| !value.mentions(cookie) && value.bits() <= bits;
    let is = |value: &Expr| expr::equal(expr::zero_extend(*value, bits), expr::var(cookie, bits));
    found.iter().filter(|value| own(value)).map(is).collect()
}

fn chosen(value: Expr, cookie: Var, seen: &mut HashSet<Expr>, found: &mut BTreeSet<Expr>) {
    if !seen.insert(value) {
        return;
    }
    // A variable, or a part of one such as an identifier's lower bits.
    let mut one = |value: Expr| {
        let mut value = value;
        while let Node::Zero(inner, _) | Node::Cut(inner, _) = value.node() {
            value = inner;
        }
        if value.vars().len() == 1 && size(value) <= MAX_PART {
            found.insert(value);
        }
    };
    match value.node() {
        Node::Const { .. } | Node::Var { .. } => return,
        Node::Binary(Operation::Shl | Operation::LShr, _, by) => one(by),
        Node::Compare(Compare::Eq, a, b) if a.mentions(cookie) => one(b),
        Node::Compare(Compare::Eq, a, b) if b.mentions(cookie) => one(a),
        _ => {}
    }
    match value.node() {
        Node::Const { .. } | Node::Var { .. } => {}
        Node::Not(a) | Node::Zero(a, _) | Node::Sign(a, _) | Node::Cut(a, _) => chosen(a, cookie, seen, found),
        Node::Binary(_, a, b) | Node::Compare(_, a, b) => {
            chosen(a, cookie, seen, found);
            chosen(b, cookie, seen, found);
        }
        Node::Choose(c, a, b) => [c, a, b].into_iter().for_each(|one| chosen(one, cookie, seen, found)),
    }
}

fn size(of: Expr) -> usize {
    match of.node() {
        Node::Const { .. } | Node::Var { .. } => 1,
        Node::Not(a) | Node::Zero(a, _) | Node::Sign(a, _) | Node::Cut(a, _) => 1 + size(a),
        Node::Binary(_, a, b) | Node::Compare(_, a, b) => 1 + size(a) + size(b),
        Node::Choose(c, a, b) => 1 + size(c) + size(a) + size(b),
    }
}

/// What is known behind an operation; the operation with what is known before it put in.
fn pass(op: &Op, known: &mut Known) -> Op {
    match op {
        Op::Assign(var, value) => {
            let made = put(*value, known);
            forget(known, *var);
            // As it is written: what its variables hold may be known here and not where paths meet.
            if !value.mentions(*var) && size(*value) <= MAX_SIZE {
                known.insert(*var, *value);
            }
            Op::Assign(*var, made)
        }
        Op::Havoc(var) => {
            forget(known, *var);
            op.clone()
        }
        Op::Assume(condition) => Op::Assume(put(*condition, known)),
        Op::Show(value) => Op::Show(put(*value, known)),
        other => other.clone(),
    }
}

/// What is known put in, and what is known of that.
fn put(value: Expr, known: &Known) -> Expr {
    let mut value = value;
    while value.vars().iter().any(|var| known.contains_key(var)) {
        let more = value.replace(&|var| known.get(&var).copied());
        if size(more) > MAX_SIZE {
            break;
        }
        value = more;
    }
    value
}

fn forget(known: &mut Known, var: Var) {
    known.remove(&var);
    known.retain(|_, value| !value.mentions(var));
}

fn without_copies(program: &Program) -> Program {
    let out = program.leaving();
    let mut at: Vec<Option<Known>> = vec![None; program.nodes];
    at[program.entry] = Some(Known::new());
    let mut work = vec![program.entry];
    while let Some(node) = work.pop() {
        let Some(before) = at[node].clone() else { continue };
        for edge in out[node].iter().map(|edge| &program.edges[*edge]) {
            let mut known = before.clone();
            for step in &edge.steps {
                pass(&step.op, &mut known);
            }
            let next = match &at[edge.to] {
                None => known,
                Some(other) => {
                    known.retain(|var, value| other.get(var) == Some(value));
                    known
                }
            };
            if at[edge.to].as_ref() != Some(&next) {
                at[edge.to] = Some(next);
                work.push(edge.to);
            }
        }
    }
    let mut made = program.clone();
    for edge in &mut made.edges {
        let mut known = at[edge.from].clone().unwrap_or_default();
        for step in &mut edge.steps {
            step.op = pass(&step.op, &mut known);
        }
        edge.steps.retain(|step| !matches!(step.op, Op::Assume(condition) if condition.is_true()));
    }
    made.edges.retain(|edge| !edge.steps.iter().any(|step| is_impossible(&step.op)));
    made
}

fn is_impossible(op: &Op) -> bool {
    matches!(op, Op::Assume(condition) if condition.is_false())
}

/// Removes operations on variables that are not read any more.
fn without_dead(program: &mut Program) {
    let live = program.live();
    for edge in &mut program.edges {
        let mut now: HashSet<Var> = live[edge.to].clone();
        let mut kept: Vec<Step> = Vec::new();
        for step in edge.steps.drain(..).rev() {
            let is_read = match &step.op {
                Op::Assign(var, _) | Op::Havoc(var) => now.contains(var),
                _ => true,
            };
            if is_read {
                crate::program::before(&step.op, &mut now);
                kept.push(step);
            }
        }
        kept.reverse();
        edge.steps = kept;
    }
}

/// Joins edges at nodes, each edge into one with each edge out of it, where this makes at most so many edges more.
fn join(program: &mut Program, more: usize) {
    let mut edges: Vec<Option<Edge>> = program.edges.drain(..).map(Some).collect();
    let mut steps: usize = edges.iter().flatten().map(|edge| edge.steps.len()).sum();
    let most = GROWTH * steps + GROWTH_LEAST;
    let (mut into, mut out) = (vec![BTreeSet::new(); program.nodes], vec![BTreeSet::new(); program.nodes]);
    for (index, edge) in edges.iter().flatten().enumerate() {
        into[edge.to].insert(index);
        out[edge.from].insert(index);
    }
    let mut work: BTreeSet<usize> = (0..program.nodes).filter(|node| *node != program.entry).collect();
    while let Some(node) = work.pop_first() {
        let (before, behind) = (into[node].len(), out[node].len());
        let is_loop = into[node].intersection(&out[node]).next().is_some();
        if is_loop || before == 0 || behind == 0 || before * behind > before + behind + more || steps > most {
            continue;
        }
        let (firsts, seconds) = (std::mem::take(&mut into[node]), std::mem::take(&mut out[node]));
        let take = |all: &BTreeSet<usize>, edges: &mut Vec<Option<Edge>>| -> Vec<(usize, Edge)> {
            all.iter().filter_map(|index| Some((*index, edges[*index].take()?))).collect()
        };
        let (firsts, seconds) = (take(&firsts, &mut edges), take(&seconds, &mut edges));
        for (index, first) in &firsts {
            steps -= first.steps.len();
            out[first.from].remove(index);
        }
        for (index, second) in &seconds {
            steps -= second.steps.len();
            into[second.to].remove(index);
        }
        for (_, first) in &firsts {
            for (_, second) in &seconds {
                let own: Vec<Step> = first.steps.iter().chain(&second.steps).cloned().collect();
                steps += own.len();
                out[first.from].insert(edges.len());
                into[second.to].insert(edges.len());
                edges.push(Some(Edge { from: first.from, to: second.to, steps: own, origin: first.origin }));
            }
        }
        // Their neighbours have fewer edges now, or more.
        let near = firsts.iter().map(|(_, edge)| edge.from).chain(seconds.iter().map(|(_, edge)| edge.to));
        work.extend(near.filter(|near| *near != program.entry && *near != node));
    }
    program.edges = edges.into_iter().flatten().collect();
}

#[cfg(test)]
mod tests {
    use super::simplify;
    use crate::expr::{constant, equal, not, var};
    use crate::program::{Message, Op, Program};
    use crate::solver::Solver;
    use crate::testing::{after, is, less, plus, program, valuations};
    use std::collections::BTreeSet;

    const WIDTHS: [u32; 4] = [2, 2, 1, 2];

    /// The messages that a run sends, with what a variable holds then, over all runs.
    fn sent(program: &Program) -> BTreeSet<(Message, u64)> {
        let mut seen: BTreeSet<(usize, Vec<u64>)> =
            valuations(&WIDTHS).into_iter().map(|one| (program.entry, one)).collect();
        let mut work: Vec<_> = seen.iter().cloned().collect();
        let mut found = BTreeSet::new();
        while let Some((node, values)) = work.pop() {
            for edge in program.edges.iter().filter(|edge| edge.from == node) {
                let mut all = vec![values.clone()];
                for step in &edge.steps {
                    if let Op::Emit(message) = step.op {
                        found.extend(all.iter().map(|values| (message, values[1])));
                    }
                    all = all.iter().flat_map(|values| after(&WIDTHS, values, &step.op)).collect();
                }
                work.extend(all.into_iter().map(|one| (edge.to, one)).filter(|one| seen.insert(one.clone())));
            }
        }
        found
    }

    #[test]
    fn the_same_is_sent() {
        let (x, y, flag, copy) = (var(0, 2), var(1, 2), var(2, 1), var(3, 2));
        let show = |message: usize| [Op::Emit((0, message)), Op::Assume(less(y, constant(3, 2)))];
        let before = program(
            &WIDTHS,
            &[
                (0, 1, &[Op::Assign(0, constant(0, 2)), Op::Havoc(1), Op::Assign(2, constant(0, 1))]),
                // Copies that hold on some ways only, and one of what changes meanwhile.
                (1, 2, &[Op::Assume(less(x, y)), Op::Assign(3, x), Op::Assign(0, plus(x, 1))]),
                (1, 2, &[Op::Assume(not(less(x, y))), Op::Assign(3, y), Op::Assign(2, constant(1, 1))]),
                (2, 3, &[Op::Assume(equal(copy, x)), Op::Emit((0, 1))]),
                (2, 3, &[Op::Assume(not(equal(copy, x)))]),
                (3, 1, &[Op::Assume(not(flag)), Op::Assume(is(y, 2))]),
                (3, 4, &[Op::Assume(flag), show(2)[0].clone(), show(2)[1].clone()]),
                // Impossible, in conditions of one way.
                (4, 5, &[Op::Assume(is(y, 3)), Op::Emit((0, 3))]),
                (4, 5, &[Op::Assign(3, plus(y, 1)), Op::Assume(is(copy, 1)), Op::Emit((0, 4))]),
            ],
        );
        let mut solver = Solver::new().expect("z3 is installed");
        let made = simplify(&before, &mut solver).expect("z3 answers");
        let expected = sent(&before);
        assert_eq!(sent(&made), expected);
        assert!(expected.contains(&((0, 4), 0)) && !expected.iter().any(|one| one.0 == (0, 3)), "{expected:?}");
        assert!(made.nodes < before.nodes, "{} nodes", made.nodes);
    }
}
