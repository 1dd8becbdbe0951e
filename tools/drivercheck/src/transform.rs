//! The control-flow transformation: branches on the result of an AWAIT are decided at the AWAIT.
//!
//! Behind an AWAIT the program usually tests its result more than once. The part of the graph in which the result is live
//! is copied for each mailbox, with the result as a constant, and infeasible branches are removed.

use crate::expr::{self, Expr, Node, Var};
use crate::hash::{HashMap, HashSet};
use crate::program::{Edge, Op, Program, Step};
use std::collections::BTreeMap;

/// Known values of the variables that hold mailboxes.
type Known = BTreeMap<Var, u64>;

/// How many times the nodes [`decide`] makes, at most.
const GROWTH: usize = 8;
const GROWTH_LEAST: usize = 1_000;

pub fn transform(program: &Program) -> Program {
    let mailboxes = mailboxes(program);
    copied(program, &mailboxes, usize::MAX).unwrap_or_else(|| program.clone())
}

/// The same for variables that only say where the program goes: flags, results of functions, states that are local.
pub fn decide(program: &Program) -> Program {
    let limit = GROWTH * program.nodes + GROWTH_LEAST;
    copied(program, &decisions(program), limit).unwrap_or_else(|| program.clone())
}

/// The graph copied for known values of these variables; none if it has more nodes than that.
fn copied(program: &Program, mailboxes: &HashSet<Var>, limit: usize) -> Option<Program> {
    let live = program.live();
    let out = program.leaving();
    let mut made = Program { edges: Vec::new(), nodes: 0, ..program.clone() };
    let mut copies: HashMap<(usize, Known), usize> = HashMap::default();
    let mut work = vec![(program.entry, Known::new())];
    copies.insert((program.entry, Known::new()), 0);
    made.entry = 0;
    made.nodes = 1;
    while let Some((node, known)) = work.pop() {
        let from = copies[&(node, known.clone())];
        for &edge in &out[node] {
            let Some((steps, mut after)) = specialise(&program.edges[edge].steps, &known, mailboxes) else { continue };
            let target = program.edges[edge].to;
            if made.nodes > limit {
                return None;
            }
            after.retain(|var, _| live[target].contains(var));
            let to = *copies.entry((target, after.clone())).or_insert_with(|| {
                work.push((target, after));
                made.nodes += 1;
                made.nodes - 1
            });
            made.edges.push(Edge { from, to, steps, ..Edge::default() });
        }
    }
    made.tidy();
    Some(made)
}

/// A value that is one of finitely many if that of its variable is: no step of a counter.
fn is_copy(value: Expr) -> bool {
    match value.node() {
        Node::Const { .. } | Node::Var { .. } | Node::Compare(..) => true,
        Node::Zero(inner, _) | Node::Sign(inner, _) | Node::Cut(inner, _) | Node::Not(inner) => is_copy(inner),
        Node::Binary(_, a, b) => value.bits() == 1 && is_copy(a) && is_copy(b),
        Node::Choose(c, a, b) => is_copy(c) && is_copy(a) && is_copy(b),
    }
}

/// Variables whose every value is a constant or a copy of another such variable. Objects of static duration are none: they
/// keep their values too long.
pub fn decisions(program: &Program) -> HashSet<Var> {
    let steps = || program.edges.iter().flat_map(|edge| &edge.steps);
    let assigned = steps().filter_map(|step| match step.op {
        Op::Assign(var, _) => Some(var),
        _ => None,
    });
    let mut found: HashSet<Var> = assigned.filter(|var| !program.lasting.contains(var)).collect();
    loop {
        let before = found.len();
        for step in steps() {
            if let Op::Assign(var, value) = &step.op {
                if !is_copy(*value) || !value.vars().iter().all(|one| found.contains(one)) {
                    found.remove(var);
                }
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// Variables that hold what an AWAIT returned, or a copy of it, and are not computed otherwise.
fn mailboxes(program: &Program) -> HashSet<Var> {
    let steps = || program.edges.iter().flat_map(|edge| &edge.steps);
    let mut found: HashSet<Var> =
        (0..program.vars.len() as Var).filter(|var| program.vars[*var as usize].is_mailbox).collect();
    loop {
        let before = found.len();
        for step in steps() {
            if let Op::Assign(var, value) = &step.op {
                if !value.vars().is_empty() && value.vars().iter().all(|one| found.contains(one)) {
                    found.insert(*var);
                }
            }
        }
        if found.len() == before {
            return found;
        }
    }
}

/// The steps with what is known put in; nothing if they cannot happen.
fn specialise(steps: &[Step], known: &Known, mailboxes: &HashSet<Var>) -> Option<(Vec<Step>, Known)> {
    let mut known = known.clone();
    let mut made = Vec::new();
    for step in steps {
        let put = |value: Expr| {
            value.replace(&|var| known.get(&var).map(|number| expr::constant(*number, value.width_of(var))))
        };
        let op = match &step.op {
            Op::Assign(var, value) => {
                let value = put(*value);
                match value.value() {
                    Some(number) if mailboxes.contains(var) => known.insert(*var, number),
                    _ => known.remove(var),
                };
                Op::Assign(*var, value)
            }
            Op::Havoc(var) => {
                known.remove(var);
                step.op.clone()
            }
            Op::Assume(condition) => {
                let condition = put(*condition);
                if condition.is_false() {
                    return None;
                }
                if condition.is_true() {
                    continue;
                }
                Op::Assume(condition)
            }
            Op::Show(value) => Op::Show(put(*value)),
            other => other.clone(),
        };
        made.push(Step { op, place: step.place.clone() });
    }
    Some((made, known))
}
