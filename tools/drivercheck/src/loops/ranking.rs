//! Termination of loops by lexicographic ranking functions.
//!
//! Candidates come from the comparisons in the loop. For each path through the body the solver decides whether a candidate
//! increases, stays or decreases. Bit-vectors are unsigned, hence well-founded.

use crate::expr::{self, Expr, Node, Var};
use crate::graph;
use crate::hash::{HashMap, HashSet};
use crate::loops::bodies::{iterations, Iteration};
use crate::loops::slices;
use crate::program::Program;
use crate::solver::{Answer, Solver, SolverError};

pub struct Loop {
    pub head: usize,
    pub nodes: HashSet<usize>,
    pub inner: Vec<Loop>,
    /// It terminates, if its inner loops do.
    pub ends: bool,
}

/// Cached answers, by the paths of a loop.
pub type Known = HashMap<Vec<Iteration>, bool>;

/// The loops of a program, and which of them end.
pub fn analyse(program: &Program, solver: &mut Solver, known: &mut Known) -> Result<Vec<Loop>, SolverError> {
    let mut all = loops(program, &(0..program.nodes).collect());
    for one in &mut all {
        visit(program, solver, one, known)?;
    }
    Ok(all)
}

/// A loop whose head a run passes finitely often before it leaves the loop or stays in an inner one.
pub struct Ending {
    pub head: usize,
    pub nodes: HashSet<usize>,
}

/// The loops that terminate if their inner loops do.
pub fn ending(loops: &[Loop]) -> Vec<Ending> {
    let own = loops.iter().filter(|one| one.ends).map(|one| Ending { head: one.head, nodes: one.nodes.clone() });
    own.chain(loops.iter().flat_map(|one| ending(&one.inner))).collect()
}

fn visit(program: &Program, solver: &mut Solver, one: &mut Loop, known: &mut Known) -> Result<(), SolverError> {
    let mut ends_with = |iterations: Vec<Iteration>| -> Result<bool, SolverError> {
        if let Some(answer) = known.get(&iterations) {
            return Ok(*answer);
        }
        let answer = ends(solver, program, &iterations)?;
        known.insert(iterations, answer);
        Ok(answer)
    };
    match iterations(program, one) {
        Some(iterations) => one.ends = ends_with(iterations)?,
        None => {
            for vars in slices::of(program, one) {
                let Some(iterations) = slices::iterations(program, one, &vars) else { continue };
                if ends_with(iterations)? {
                    one.ends = true;
                    break;
                }
            }
        }
    }
    one.inner.iter_mut().try_for_each(|inner| visit(program, solver, inner, known))
}

/// The natural loops among some nodes, nested. An irreducible cycle is no loop, but may contain loops.
fn loops(program: &Program, among: &HashSet<usize>) -> Vec<Loop> {
    let mut next = vec![Vec::new(); program.nodes];
    for edge in program.edges.iter().filter(|edge| among.contains(&edge.from) && among.contains(&edge.to)) {
        next[edge.from].push(edge.to);
    }
    let mut found = Vec::new();
    for component in graph::cycles(&next, &|node| among.contains(&node)) {
        let nodes: HashSet<usize> = component.into_iter().collect();
        let entries: HashSet<usize> = program
            .edges
            .iter()
            .filter(|edge| nodes.contains(&edge.to) && !nodes.contains(&edge.from))
            .map(|edge| edge.to)
            .collect();
        let rest: HashSet<usize> = nodes.difference(&entries).copied().collect();
        if rest.len() == nodes.len() {
            continue;
        }
        let inner = loops(program, &rest);
        match entries.iter().next() {
            Some(head) if entries.len() == 1 => found.push(Loop { head: *head, nodes, inner, ends: false }),
            _ => found.extend(inner),
        }
    }
    found
}

/// A feasible iteration, with some models of it.
struct Possible<'a> {
    conditions: &'a [Expr],
    after: HashMap<Var, Expr>,
    examples: Vec<HashMap<Var, u64>>,
}

/// Whether no sequence of these iterations goes on for ever.
fn ends(solver: &mut Solver, program: &Program, iterations: &[Iteration]) -> Result<bool, SolverError> {
    let mut left: Vec<Possible> = Vec::new();
    for (conditions, after) in iterations {
        let examples = match solver.check(conditions, true, false)? {
            Answer::Unsat(_) => continue,
            Answer::Sat(example) => vec![example],
            Answer::Unknown => Vec::new(),
        };
        left.push(Possible { conditions, after: after.iter().copied().collect(), examples });
    }
    let candidates = candidates(program, iterations);
    while !left.is_empty() {
        let mut is_better = false;
        for rank in &candidates {
            let mut stay = HashSet::default();
            let mut grows = false;
            for (index, one) in left.iter_mut().enumerate() {
                let after = rank.replace(&|var| one.after.get(&var).copied());
                let falls = expr::compare(expr::Compare::ULt, after, *rank);
                if one.asks_for(solver, falls)? {
                    continue;
                }
                let not_more = expr::not(expr::compare(expr::Compare::ULt, *rank, after));
                if !one.asks_for(solver, not_more)? {
                    grows = true;
                    break;
                }
                stay.insert(index);
            }
            if !grows && stay.len() < left.len() {
                let mut index = 0..;
                left.retain(|_| index.next().is_some_and(|index| stay.contains(&index)));
                is_better = true;
                break;
            }
        }
        if !is_better {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Possible<'_> {
    /// Whether a condition holds in every such iteration. Counterexamples are kept.
    fn asks_for(&mut self, solver: &mut Solver, what: Expr) -> Result<bool, SolverError> {
        if what.is_true() {
            return Ok(true);
        }
        let fails = |example: &HashMap<Var, u64>| what.evaluate(&|var| example.get(&var).copied().unwrap_or(0)) == 0;
        if what.is_false() || self.examples.iter().any(fails) {
            return Ok(false);
        }
        let mut all = self.conditions.to_vec();
        all.push(expr::not(what));
        Ok(match solver.check(&all, true, false)? {
            Answer::Unsat(_) => true,
            Answer::Sat(example) => {
                self.examples.push(example);
                false
            }
            Answer::Unknown => false,
        })
    }
}

/// Candidate rankings: the sides of comparisons, and their differences.
fn candidates(program: &Program, iterations: &[Iteration]) -> Vec<Expr> {
    let mut found: Vec<Expr> = Vec::new();
    let mut add = |one: Expr| {
        // Over the variables as they are at the head.
        let at_head = one.vars().iter().all(|var| (*var as usize) < program.vars.len());
        if at_head && one.value().is_none() && !found.contains(&one) {
            found.push(one);
        }
    };
    for (conditions, _) in iterations {
        let mut atoms = Vec::new();
        conditions.iter().for_each(|condition| condition.atoms(&mut atoms));
        for atom in atoms {
            if let Node::Compare(_, a, b) = atom.node() {
                let less = |a: Expr, b: Expr| expr::binary(expr::Op::Sub, a, b);
                let one_more = |value: Expr| expr::binary(expr::Op::Add, value, expr::constant(1, value.bits()));
                add(less(b, a));
                add(less(a, b));
                // Where the bound is counted, too.
                add(less(one_more(b), a));
                add(less(one_more(a), b));
                add(a);
                add(b);
            } else {
                add(atom);
            }
        }
    }
    found
}
