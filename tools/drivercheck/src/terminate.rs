//! Loops that end by themselves: a lexicographic ranking on their variables decreases with each iteration.
//!
//! Each loop is taken with what is inside it: paths from its head back to its head, where an inner loop may leave the
//! variables it changes with any values. For each path the solver is asked whether a candidate grows, stays or falls; the
//! candidates come from the conditions in the loop. Numbers are unsigned, so what falls with every iteration comes to an
//! end.

use crate::expr::{self, Expr, Node, Var};
use crate::graph;
use crate::program::{Edge, Op, Program, Step};
use crate::solver::{Answer, Solver, SolverError};
use std::collections::{HashMap, HashSet};

/// Paths through a loop; with more, it is not tried.
const MAX_PATHS: usize = 400;

pub struct Loop {
    pub head: usize,
    pub nodes: HashSet<usize>,
    pub inner: Vec<Loop>,
    /// It is left after some number of iterations, if what is inside it ends.
    pub ends: bool,
}

/// Answers for loops that were asked about before.
pub type Known = HashMap<Vec<Iteration>, bool>;

/// What an iteration does: conditions, and the variables' values after it, over those before.
pub type Iteration = (Vec<Expr>, Vec<(Var, Expr)>);

/// The loops of a program, and which of them end.
pub fn analyse(program: &Program, solver: &mut Solver, known: &mut Known) -> Result<Vec<Loop>, SolverError> {
    let mut all = loops(program, &(0..program.nodes).collect());
    for one in &mut all {
        visit(program, solver, one, known)?;
    }
    Ok(all)
}

/// A loop whose head a run passes only so often before it leaves the loop, or stays in a loop inside it.
pub struct Ending {
    pub head: usize,
    pub nodes: HashSet<usize>,
}

/// The loops that end, if what is inside them ends.
pub fn ending(loops: &[Loop]) -> Vec<Ending> {
    let own = loops.iter().filter(|one| one.ends).map(|one| Ending { head: one.head, nodes: one.nodes.clone() });
    own.chain(loops.iter().flat_map(|one| ending(&one.inner))).collect()
}

fn visit(program: &Program, solver: &mut Solver, one: &mut Loop, known: &mut Known) -> Result<(), SolverError> {
    if let Some(iterations) = iterations(program, one) {
        one.ends = match known.get(&iterations) {
            Some(answer) => *answer,
            None => {
                let answer = ends(solver, program, &iterations)?;
                known.insert(iterations, answer);
                answer
            }
        };
    }
    one.inner.iter_mut().try_for_each(|inner| visit(program, solver, inner, known))
}

/// The loops among some nodes, with those inside them. A cycle that is entered in several places is no loop, but what is
/// inside it may be.
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

#[derive(Clone)]
struct Now {
    values: HashMap<Var, Expr>,
    conditions: Vec<Expr>,
    fresh: Var,
}

/// All ways from a loop's head back to it, or none if there are too many.
fn iterations(program: &Program, one: &Loop) -> Option<Vec<Iteration>> {
    let mut walk = Walk {
        program,
        out: program.leaving(),
        head: one.head,
        inner: &one.inner,
        nodes: &one.nodes,
        made: Vec::new(),
        trail: Vec::new(),
    };
    let now = Now { values: HashMap::new(), conditions: Vec::new(), fresh: program.vars.len() as Var };
    walk.from(one.head, now)?;
    let mut made = walk.made;
    made.sort_unstable();
    made.dedup();
    Some(made)
}

impl Walk<'_> {
    fn from(&mut self, node: usize, now: Now) -> Option<()> {
        if let Some(inner) = self.inner.iter().find(|inner| inner.nodes.contains(&node)) {
            // The inner loop ran some number of times, and is left from any of its nodes.
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
        // A cycle that is no loop, as it is entered in several places: nothing is said of what it does.
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
        let mut values: Vec<(Var, Expr)> = now.values.into_iter().collect();
        values.sort_unstable();
        self.made.push((now.conditions, values));
        Some(())
    }
}

fn open(program: &Program, now: &mut Now, var: Var) {
    now.values.insert(var, expr::var(now.fresh, program.vars[var as usize].bits));
    now.fresh += 1;
}

/// False if the step cannot happen.
fn apply(program: &Program, now: &mut Now, step: &Step) -> bool {
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

/// An iteration that can happen, with some values with which it does.
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
            let mut stay = HashSet::new();
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
    /// Whether something holds in every such iteration. What does not is remembered.
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

/// Expressions that may fall: the sides of comparisons, and the differences between them.
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
                add(expr::binary(expr::Op::Sub, b, a));
                add(expr::binary(expr::Op::Sub, a, b));
                add(a);
                add(b);
            } else {
                add(atom);
            }
        }
    }
    found
}
