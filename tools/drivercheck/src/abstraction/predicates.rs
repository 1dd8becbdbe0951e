//! The abstract post-image of an edge of the program.
//!
//! A node keeps only predicates on live variables. The post-image depends on no protocol state, so it is computed once for
//! each valuation and cached until a predicate is added that matters on the edge.

use crate::abstraction::block::Block;
use crate::abstraction::valuation::{Scope, Valuation};
use crate::expr::{Expr, Var};
use crate::hash::{HashMap, HashSet};
use crate::program::{Op, Program};
use crate::solver::{Solver, SolverError};
use std::rc::Rc;

/// A valuation of the predicates of a node, by number.
pub type Known = u32;

/// The abstract post-image of a valuation under an edge.
pub struct Post {
    /// Steps of the edge that can be reached.
    pub reached: usize,
    pub after: Vec<Known>,
}

#[derive(Default)]
struct Edge {
    /// Variables that are live somewhere on the edge.
    vars: HashSet<Var>,
    /// Predicates on them.
    predicates: Vec<usize>,
    /// Of a program whose edges are whole paths, once it was asked for.
    block: Option<Block>,
    done: HashMap<Known, Rc<Post>>,
}

#[derive(Default)]
pub struct Abstraction {
    pub predicates: Vec<Expr>,
    live: Vec<HashSet<Var>>,
    /// By node: predicates that are kept.
    at: Vec<Vec<usize>>,
    edges: Vec<Edge>,
    is_joined: bool,
    numbers: HashMap<Rc<[u8]>, Known>,
    valuations: Vec<Rc<[u8]>>,
}

impl Abstraction {
    pub fn new(program: &Program) -> Self {
        let live = program.live();
        let edge = |edge: &crate::program::Edge| {
            let mut vars = live[edge.from].clone();
            vars.extend(edge.steps.iter().filter_map(|step| match step.op {
                Op::Assign(var, _) | Op::Havoc(var) => Some(var),
                _ => None,
            }));
            Edge { vars, ..Edge::default() }
        };
        let edges = program.edges.iter().map(edge).collect();
        Abstraction {
            edges,
            is_joined: program.is_joined,
            at: vec![Vec::new(); program.nodes],
            live,
            ..Abstraction::default()
        }
    }

    /// Adds a predicate; false if it is known already.
    pub fn add(&mut self, predicate: Expr) -> bool {
        if predicate.value().is_some() {
            return false;
        }
        if self.predicates.contains(&predicate) || self.predicates.contains(&crate::expr::not(predicate)) {
            return false;
        }
        let vars = predicate.vars();
        // What is kept at no node changes nothing where edges are looked at as a whole.
        let is_kept = |live: &HashSet<Var>| vars.iter().all(|var| live.contains(var));
        if self.is_joined && !self.live.iter().any(is_kept) {
            return false;
        }
        let index = self.predicates.len();
        self.predicates.push(predicate);
        for (at, live) in std::iter::zip(&mut self.at, &self.live) {
            if vars.iter().all(|var| live.contains(var)) {
                at.push(index);
            }
        }
        for edge in &mut self.edges {
            if vars.iter().all(|var| edge.vars.contains(var)) {
                edge.predicates.push(index);
                edge.done.clear();
            }
        }
        true
    }

    /// The valuation in which every predicate is unknown.
    pub fn nothing(&mut self, node: usize) -> Known {
        let none = vec![0; self.at[node].len()];
        self.number(none)
    }

    fn number(&mut self, valuation: Valuation) -> Known {
        let valuation: Rc<[u8]> = valuation.into();
        if let Some(known) = self.numbers.get(&valuation) {
            return *known;
        }
        let fresh = self.valuations.len() as Known;
        self.valuations.push(valuation.clone());
        self.numbers.insert(valuation, fresh);
        fresh
    }

    /// The abstract post-image.
    pub fn post(
        &mut self,
        solver: &mut Solver,
        program: &Program,
        edge: usize,
        known: Known,
    ) -> Result<Rc<Post>, SolverError> {
        if let Some(post) = self.edges[edge].done.get(&known) {
            return Ok(post.clone());
        }
        if self.is_joined {
            return self.post_joined(solver, program, edge, known);
        }
        let own = &program.edges[edge];
        let numbers = self.edges[edge].predicates.clone();
        let predicates: Vec<Expr> = numbers.iter().map(|index| self.predicates[*index]).collect();
        // Every predicate kept at either end is relevant on the edge: a variable live behind it is live before it or set on it.
        let slot = |index: &usize| numbers.binary_search(index).ok();
        let mut first = vec![0; numbers.len()];
        for (index, value) in std::iter::zip(&self.at[own.from], self.valuations[known as usize].iter()) {
            if let Some(slot) = slot(index) {
                first[slot] = *value;
            }
        }
        let scope = Scope { predicates: &predicates };
        let (mut now, mut reached) = (vec![first], 0);
        for step in &own.steps {
            reached += 1;
            let mut next = Vec::new();
            for valuation in now {
                next.extend(scope.step(solver, valuation, &step.op)?);
            }
            next.sort_unstable();
            next.dedup();
            now = next;
            if now.is_empty() {
                break;
            }
        }
        let kept: Vec<Option<usize>> = self.at[own.to].iter().map(slot).collect();
        let mut after: Vec<Known> = Vec::new();
        for valuation in now {
            let number = self.number(kept.iter().map(|slot| slot.map_or(0, |slot| valuation[slot])).collect());
            if !after.contains(&number) {
                after.push(number);
            }
        }
        let post = Rc::new(Post { reached, after });
        self.edges[edge].done.insert(known, post.clone());
        Ok(post)
    }

    fn post_joined(
        &mut self,
        solver: &mut Solver,
        program: &Program,
        edge: usize,
        known: Known,
    ) -> Result<Rc<Post>, SolverError> {
        let own = &program.edges[edge];
        let block = match self.edges[edge].block.take() {
            Some(block) => block,
            None => Block::new(&program.vars, &own.steps, solver)?,
        };
        let before: Vec<(Expr, u8)> = std::iter::zip(&self.at[own.from], self.valuations[known as usize].iter())
            .map(|(index, value)| (self.predicates[*index], *value))
            .collect();
        let behind: Vec<Expr> = self.at[own.to].iter().map(|index| self.predicates[*index]).collect();
        let passed = block.post(solver, &before, &behind)?;
        let after = passed.after.into_iter().map(|valuation| self.number(valuation)).collect();
        let post = Rc::new(Post { reached: passed.reached, after });
        self.edges[edge].block = Some(block);
        self.edges[edge].done.insert(known, post.clone());
        Ok(post)
    }
}
