//! The part of a program that says whether a claim holds: what is computed from other variables than the claim's, and conditions on
//! them, are left out. So it has all runs of the program and more: what is proved of it holds, what is found in it need not.

use crate::expr::Var;
use crate::hash::{HashMap, HashSet};
use crate::program::{Edge, Op, Program};
use crate::transform::decisions;
use std::collections::BTreeSet;

/// The part for the claims of the program; none if it leaves nothing out.
pub fn slice(program: &Program) -> Option<Program> {
    let vars = relevant(program);
    let is_kept = |op: &Op| match op {
        Op::Assign(var, _) | Op::Havoc(var) => vars.contains(var),
        Op::Assume(condition) => condition.vars().iter().all(|var| vars.contains(var)),
        _ => true,
    };
    let mut made = Program { is_part: true, ..program.clone() };
    made.edges.iter_mut().for_each(|edge| edge.steps.retain(|step| is_kept(&step.op)));
    let count = |program: &Program| program.edges.iter().map(|edge| edge.steps.len()).sum::<usize>();
    if count(&made) == count(program) {
        return None;
    }
    loop {
        made.tidy();
        let before = (made.nodes, made.edges.len());
        merge(&mut made);
        without_twins(&mut made.edges);
        if (made.nodes, made.edges.len()) == before {
            return Some(made);
        }
    }
}

/// Makes one node of those from which the same can be done: the coarsest classes in which all nodes of a class have edges with the same
/// operations to the same classes.
fn merge(program: &mut Program) {
    let out = program.leaving();
    let mut numbers: HashMap<Vec<Op>, usize> = HashMap::default();
    let doing: Vec<usize> = (program.edges.iter())
        .map(|edge| {
            let next = numbers.len();
            *numbers.entry(ops(edge)).or_insert(next)
        })
        .collect();
    let mut class = vec![0; program.nodes];
    let mut count = 1;
    loop {
        let mut classes: HashMap<(usize, BTreeSet<(usize, usize)>), usize> = HashMap::default();
        let mut finer = vec![0; program.nodes];
        for node in 0..program.nodes {
            let edges = out[node].iter().map(|edge| (doing[*edge], class[program.edges[*edge].to]));
            let next = classes.len();
            finer[node] = *classes.entry((class[node], edges.collect())).or_insert(next);
        }
        class = finer;
        if classes.len() == count {
            break;
        }
        count = classes.len();
    }
    let mut first = vec![usize::MAX; count];
    (0..program.nodes).rev().for_each(|node| first[class[node]] = node);
    program.entry = first[class[program.entry]];
    for edge in &mut program.edges {
        (edge.from, edge.to) = (first[class[edge.from]], first[class[edge.to]]);
    }
}

fn ops(edge: &Edge) -> Vec<Op> {
    edge.steps.iter().map(|step| step.op.clone()).collect()
}

/// Variables that the claims speak of, with all that these are computed from, and what is computed from them.
fn relevant(program: &Program) -> HashSet<Var> {
    let mut vars: HashSet<Var> = program.hints.iter().flat_map(|hint| hint.vars().to_vec()).collect();
    vars.extend(program.followed);
    // By these the graph is copied: they cost little, and say where the program goes.
    vars.extend((0..program.vars.len() as Var).filter(|var| program.vars[*var as usize].is_mailbox));
    vars.extend(decisions(program));
    let fails = |edge: &&Edge| edge.steps.iter().any(|step| matches!(step.op, Op::Fail(..)));
    for step in program.edges.iter().filter(fails).flat_map(|edge| &edge.steps) {
        if let Op::Assume(condition) | Op::Show(condition) = &step.op {
            vars.extend(condition.vars().iter());
        }
    }
    loop {
        let before = vars.len();
        for step in program.edges.iter().flat_map(|edge| &edge.steps) {
            match &step.op {
                Op::Assign(var, value) if vars.contains(var) => vars.extend(value.vars().iter()),
                // What is computed from these alone says something about them: a copy, how far a counter has to go.
                Op::Assign(var, value)
                    if !value.vars().is_empty() && value.vars().iter().all(|one| vars.contains(one)) =>
                {
                    vars.insert(*var);
                }
                _ => {}
            }
        }
        if vars.len() == before {
            return vars;
        }
    }
}

/// Of edges that do the same between the same nodes, one is enough.
fn without_twins(edges: &mut Vec<Edge>) {
    let mut seen = HashSet::default();
    edges.retain(|edge| {
        let ops = ops(edge);
        // A node's way to itself without a step is a run without end, which no claim is about.
        (edge.from != edge.to || !ops.is_empty()) && seen.insert((edge.from, edge.to, ops))
    });
}

#[cfg(test)]
mod tests {
    use super::slice;
    use crate::expr::{not, var};
    use crate::program::{Claim, Op, Program, Wrong};
    use crate::testing::{is, plus, program};

    /// The claim fails where `x` is 1, behind a choice by `y`.
    fn two_ways(first: Op) -> Program {
        let (x, y) = (var(0, 8), var(1, 8));
        let fail = [Op::Assume(is(x, 1)), Op::Fail(Claim::Requests(0, 0), Wrong::Open)];
        program(
            &[8, 8, 8],
            &[
                (0, 1, &[first, Op::Assign(2, plus(y, 1)), Op::Havoc(1)]),
                (1, 2, &[Op::Assume(is(y, 3)), Op::Assign(1, plus(y, 1))]),
                (1, 2, &[Op::Assume(not(is(y, 3)))]),
                (2, 3, &fail),
            ],
        )
    }

    #[test]
    fn what_the_claim_does_not_speak_of_is_left_out() {
        // Where the claim's variable is computed from the other, the other says something about the claim, too.
        assert!(slice(&two_ways(Op::Assign(0, plus(var(1, 8), 3)))).is_none());
        let part = slice(&two_ways(Op::Havoc(0))).expect("something is left out");
        let ops: Vec<&Op> = part.edges.iter().flat_map(|edge| &edge.steps).map(|step| &step.op).collect();
        assert!(matches!(ops.as_slice(), [Op::Havoc(0), Op::Assume(_), Op::Fail(..)]), "{ops:?}");
        assert!(part.is_part);
    }
}
