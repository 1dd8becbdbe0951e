//! The abstract post-image of an edge of the program.
//!
//! A node keeps only predicates on live variables. The post-image depends on no protocol state, so it is computed once for
//! each valuation and cached until a predicate is added that matters on the edge.

use crate::abstraction::block::Block;
use crate::abstraction::parts::Parts;
use crate::abstraction::valuation::Valuation;
use crate::expr::{Expr, Var};
use crate::hash::{HashMap, HashSet};
use crate::program::{Op, Program};
use crate::solver::{Solver, SolverError};
use std::rc::Rc;

/// A valuation of the predicates of a node, by number; those of other nodes have other numbers.
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
    /// Of any other program, once it was asked for.
    parts: Option<Parts>,
    slots: Slots,
    /// Its place among the edges that leave its node.
    place: usize,
    /// How many predicates were added that matter on it: post-images that were computed with fewer are void.
    version: usize,
}

/// Where the predicates of its ends are among those of the edge, as of a version.
#[derive(Default)]
struct Slots {
    version: Option<usize>,
    before: Vec<Option<usize>>,
    behind: Vec<Option<usize>>,
}

/// A valuation at a node.
struct Numbered {
    valuation: Rc<[u8]>,
    /// By place of the edge: its post-image, with the edge's version then.
    posts: Vec<Option<(usize, Rc<Post>)>>,
}

#[derive(Default)]
pub struct Abstraction {
    pub predicates: Vec<Expr>,
    live: Vec<HashSet<Var>>,
    /// By node: predicates that are kept.
    at: Vec<Vec<usize>>,
    edges: Vec<Edge>,
    is_joined: bool,
    /// By node: how many edges leave it, and the numbers of its valuations.
    leaving: Vec<usize>,
    numbers: Vec<HashMap<Rc<[u8]>, Known>>,
    all: Vec<Numbered>,
}

impl Abstraction {
    pub fn new(program: &Program) -> Self {
        let live = program.live();
        let mut leaving = vec![0; program.nodes];
        let edge = |edge: &crate::program::Edge| {
            let mut vars = live[edge.from].clone();
            vars.extend(edge.steps.iter().filter_map(|step| match step.op {
                Op::Assign(var, _) | Op::Havoc(var) => Some(var),
                _ => None,
            }));
            leaving[edge.from] += 1;
            Edge { vars, place: leaving[edge.from] - 1, ..Edge::default() }
        };
        let edges = program.edges.iter().map(edge).collect();
        Abstraction {
            edges,
            is_joined: program.is_joined,
            at: vec![Vec::new(); program.nodes],
            leaving,
            numbers: vec![HashMap::default(); program.nodes],
            live,
            ..Abstraction::default()
        }
    }

    /// Whether adding it would change nothing.
    fn has(&self, predicate: Expr) -> bool {
        predicate.value().is_some()
            || self.predicates.contains(&predicate)
            || self.predicates.contains(&crate::expr::not(predicate))
    }

    /// Whether a predicate is new; if `is_wanted`, it is added.
    pub fn offer(&mut self, predicate: Expr, is_wanted: bool) -> bool {
        if is_wanted {
            self.add(predicate)
        } else {
            !self.has(predicate)
        }
    }

    /// Adds a predicate; false if it is known already.
    pub fn add(&mut self, predicate: Expr) -> bool {
        if self.has(predicate) {
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
                if let Some(parts) = &mut edge.parts {
                    parts.add(edge.predicates.len(), &vars);
                }
                edge.predicates.push(index);
                edge.version += 1;
            }
        }
        true
    }

    /// The valuation in which every predicate is unknown.
    pub fn nothing(&mut self, node: usize) -> Known {
        let none = vec![0; self.at[node].len()];
        self.number(node, none)
    }

    fn number(&mut self, node: usize, valuation: Valuation) -> Known {
        if let Some(known) = self.numbers[node].get(&*valuation) {
            return *known;
        }
        let valuation: Rc<[u8]> = valuation.into();
        let fresh = self.all.len() as Known;
        self.all.push(Numbered { valuation: valuation.clone(), posts: vec![None; self.leaving[node]] });
        self.numbers[node].insert(valuation, fresh);
        fresh
    }

    fn keep(&mut self, edge: usize, known: Known, post: Post) -> Rc<Post> {
        let (post, Edge { place, version, .. }) = (Rc::new(post), &self.edges[edge]);
        self.all[known as usize].posts[*place] = Some((*version, post.clone()));
        post
    }

    /// The abstract post-image.
    pub fn post(
        &mut self,
        solver: &mut Solver,
        program: &Program,
        edge: usize,
        known: Known,
    ) -> Result<Rc<Post>, SolverError> {
        let Edge { place, version, .. } = &self.edges[edge];
        if let Some((_, post)) = self.all[known as usize].posts[*place].as_ref().filter(|(then, _)| then == version) {
            return Ok(post.clone());
        }
        if self.is_joined {
            return self.post_joined(solver, program, edge, known);
        }
        let own = &program.edges[edge];
        let mut parts = self.edges[edge].parts.take().unwrap_or_else(|| {
            let mut parts = Parts::new(&own.steps);
            for (slot, index) in self.edges[edge].predicates.iter().enumerate() {
                parts.add(slot, &self.predicates[*index].vars());
            }
            parts
        });
        let mut slots = std::mem::take(&mut self.edges[edge].slots);
        let Edge { predicates: numbers, version, .. } = &self.edges[edge];
        if slots.version != Some(*version) {
            // Every predicate kept at either end is relevant on the edge: a variable live behind it is live before it or
            // set on it.
            let places = |node: usize| self.at[node].iter().map(|index| numbers.binary_search(index).ok()).collect();
            slots = Slots { version: Some(*version), before: places(own.from), behind: places(own.to) };
        }
        let mut first = vec![0; numbers.len()];
        for (slot, value) in std::iter::zip(&slots.before, self.all[known as usize].valuation.iter()) {
            if let Some(slot) = slot {
                first[*slot] = *value;
            }
        }
        let predicate = |slot: usize| self.predicates[numbers[slot]];
        let image = parts.post(solver, &own.steps, &predicate, first)?;
        let mut after: Vec<Known> = Vec::new();
        for valuation in image.after {
            let number =
                self.number(own.to, slots.behind.iter().map(|slot| slot.map_or(0, |slot| valuation[slot])).collect());
            if !after.contains(&number) {
                after.push(number);
            }
        }
        (self.edges[edge].parts, self.edges[edge].slots) = (Some(parts), slots);
        Ok(self.keep(edge, known, Post { reached: image.reached, after }))
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
        let before: Vec<(Expr, u8)> = std::iter::zip(&self.at[own.from], self.all[known as usize].valuation.iter())
            .map(|(index, value)| (self.predicates[*index], *value))
            .collect();
        let behind: Vec<Expr> = self.at[own.to].iter().map(|index| self.predicates[*index]).collect();
        let passed = block.post(solver, &before, &behind)?;
        let after = passed.after.into_iter().map(|valuation| self.number(own.to, valuation)).collect();
        self.edges[edge].block = Some(block);
        Ok(self.keep(edge, known, Post { reached: passed.reached, after }))
    }
}
