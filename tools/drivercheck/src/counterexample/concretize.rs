//! Concretises an abstract path: unrolls the summarised loops on it, by one plan for each loop.
//!
//! At the head of a summarised loop, iterations are inserted until no known condition contradicts the rest of the path.

use crate::counterexample::execution::{Mark, Run};
use crate::counterexample::feasibility::{self, Feasible};
use crate::counterexample::relevance::Relevance;
use crate::counterexample::unroll::{Repeat, Unroller, MOST_STEPS};
use crate::expr::{self, Var};
use crate::hash::HashSet;
use crate::loops::exits::{Exit, Path};
use crate::program::Step;
use crate::rules::safety::Context;
use crate::solver::{Solver, SolverError};
use std::ops::Range;

/// Iterations of a loop in which the solver is asked at each branch.
const MOST_ASKED: usize = 200;
/// Iterations that are inserted one by one before acceleration is tried.
const PLAIN: usize = 40;

#[derive(Default)]
pub struct ConcretePath<'a> {
    pub steps: Vec<&'a Step>,
    /// Steps of the inserted iterations.
    pub iterations: Vec<Range<usize>>,
    /// Iterations that stand for many equal ones.
    pub repeats: Vec<Repeat>,
}

/// How a loop on the path is unrolled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct LoopPlan {
    /// Iterations beyond those that are needed.
    pub more: usize,
    /// Which exit to take: 1 the path's own, from 2 on others to the same place; 0: the first that is possible.
    pub exit: usize,
    /// The solver is asked at every branch.
    pub asks_solver: bool,
    pub is_reversed: bool,
}

impl LoopPlan {
    pub fn cost(&self) -> usize {
        self.more + self.exit + usize::from(self.is_reversed)
    }
}

/// A loop on the path.
pub struct LoopVisit {
    pub head: usize,
    /// The edge of the path that leads to it, and the moment.
    at: usize,
    mark: Mark,
    /// Steps of its iterations.
    iterations: Range<usize>,
    repeats: usize,
    /// The number of its exits, and whether another than the path's own was taken.
    pub exits: usize,
    pub is_other: bool,
    /// It could not go on, so that more iterations are of no use.
    pub is_exhausted: bool,
}

/// The run built so far; the next plan reuses the part that both plans share.
pub struct Concretizer<'a, 'b> {
    context: &'b Context<'a>,
    path: Path<'b>,
    pub run: Run<'a>,
    plans: Vec<LoopPlan>,
    pub loops: Vec<LoopVisit>,
    repeats: Vec<Repeat>,
    /// Moments before each edge's end.
    pub before: Vec<Mark>,
    relevance: Relevance,
}

/// A run that cannot continue: its steps and those of the next piece, and where that piece begins.
pub struct Stuck<'a>(pub Vec<&'a Step>, pub usize);

impl<'a, 'b> Concretizer<'a, 'b> {
    pub fn new(context: &'b Context<'a>, path: Path<'b>) -> Self {
        Concretizer {
            context,
            path,
            run: Run::new(context.base),
            plans: Vec::new(),
            loops: Vec::new(),
            repeats: Vec::new(),
            before: Vec::new(),
            relevance: Relevance::default(),
        }
    }

    /// Sets `asks_solver` for every visit of a loop on the path.
    pub fn spread(&self, plans: &mut Vec<LoopPlan>, head: usize, plan: LoopPlan) {
        for index in (0..self.loops.len()).filter(|index| self.loops[*index].head == head) {
            plans.resize(plans.len().max(index + 1), LoopPlan::default());
            plans[index].asks_solver = plan.asks_solver;
        }
    }

    pub fn unroller(&self, head: usize, plan: LoopPlan) -> Unroller<'a> {
        let summarised = self.context.summarised;
        let nodes = &summarised.heads[&head];
        Unroller { summarised, head, nodes, asks_solver: plan.asks_solver, is_reversed: plan.is_reversed }
    }

    /// Builds the run for these plans; the prefix shared with the previous plans is kept.
    pub fn make(&mut self, solver: &mut Solver, plans: &[LoopPlan]) -> Result<Result<(), Stuck<'a>>, SolverError> {
        let plan = |plans: &[LoopPlan], index: usize| plans.get(index).copied().unwrap_or_default();
        let same = (0..self.loops.len()).take_while(|index| plan(plans, *index) == plan(&self.plans, *index)).count();
        self.plans = plans.to_vec();
        let (mut at, mut is_in_loop) = (0, false);
        match self.loops.get(same) {
            Some(visit) => {
                (at, is_in_loop) = (visit.at, true);
                self.run.undo(visit.mark);
                self.repeats.truncate(visit.repeats);
                self.loops.truncate(same);
                self.before.truncate(at + 1);
            }
            None => {
                self.run.undo(self.run.start());
                self.repeats.clear();
                self.loops.clear();
                self.before.clear();
            }
        }
        let mut exit: Option<Exit> = None;
        while at < self.path.edges.len() {
            if !std::mem::take(&mut is_in_loop) {
                let Exit { pieces, end } =
                    exit.take().unwrap_or_else(|| Exit { pieces: vec![self.path.piece(at)], end: at + 1 });
                if !pieces.into_iter().all(|(edge, steps)| self.run.along(edge, steps)) {
                    return Ok(Err(self.stuck(at..end)));
                }
                self.before.resize(end, self.run.mark());
                at = end - 1;
            }
            let head = self.path.target(at);
            if self.context.summarised.heads.contains_key(&head) {
                let plan = plan(plans, self.loops.len());
                match self.unroll(solver, at, head, plan)? {
                    Ok(other) => exit = other,
                    Err(stuck) => return Ok(Err(stuck)),
                }
            }
            at += 1;
        }
        Ok(Ok(()))
    }

    /// Unrolls a loop until the path can continue: by its own exit, or by another to the same place, which is returned.
    fn unroll(
        &mut self,
        solver: &mut Solver,
        at: usize,
        head: usize,
        plan: LoopPlan,
    ) -> Result<Result<Option<Exit>, Stuck<'a>>, SolverError> {
        let exits = self.path.exits(self.context.summarised, self.context.base, at, head);
        let is_meant = |index: usize| plan.exit == 0 || plan.exit == index + 1;
        let unroller = self.unroller(head, plan);
        let start = self.run.mark();
        let (mut left, mut count, mut is_exhausted) = (plan.more, 0, false);
        self.run.is_shown = false;
        let taken = loop {
            let mark = self.run.mark();
            let mut fits = None;
            for (index, exit) in exits.iter().enumerate().filter(|(index, _)| is_meant(*index)) {
                let is_open = exit.pieces.iter().all(|(edge, steps)| self.run.along(*edge, steps.clone()))
                    && (!plan.asks_solver || self.run.is_possible(solver, mark)?);
                self.run.undo(mark);
                if is_open {
                    fits = Some(index);
                    break;
                }
            }
            if fits.is_some() && left == 0 {
                break fits;
            }
            left = left.saturating_sub(usize::from(fits.is_some()));
            count += 1;
            if count == PLAIN && fits.is_none() {
                let mut is_accelerated = false;
                for (_, exit) in exits.iter().enumerate().filter(|(index, _)| is_meant(*index)) {
                    let leave = |run: &mut Run| exit.pieces.iter().all(|(edge, steps)| run.along(*edge, steps.clone()));
                    if let Some(repeat) = unroller.accelerate(&mut self.run, solver, &leave)? {
                        self.repeats.push(repeat);
                        is_accelerated = true;
                        break;
                    }
                    self.run.undo(mark);
                }
                if is_accelerated {
                    continue;
                }
            }
            let is_much = self.run.steps.len() > MOST_STEPS || (plan.asks_solver && count > MOST_ASKED);
            if is_much || unroller.iterate(&mut self.run, solver)?.is_none() {
                is_exhausted = true;
                self.run.undo(mark);
                break None;
            }
        };
        self.run.is_shown = true;
        let repeats = self.repeats.iter().filter(|repeat| repeat.steps.start < start.steps).count();
        let iterations = start.steps..self.run.steps.len();
        let is_other = taken.is_some_and(|index| index > 0);
        self.loops.push(LoopVisit {
            head,
            at,
            mark: start,
            iterations,
            repeats,
            exits: exits.len(),
            is_other,
            is_exhausted,
        });
        let end = exits.first().map_or(at + 1, |exit| exit.end);
        Ok(match taken {
            Some(0) => Ok(None),
            Some(index) => Ok(exits.into_iter().nth(index)),
            None => Err(self.stuck(at + 1..end)),
        })
    }

    fn stuck(&self, pieces: Range<usize>) -> Stuck<'a> {
        let mut steps = self.run.steps.clone();
        for at in pieces {
            let (edge, range) = self.path.piece(at);
            let all = &self.run.base.edges[edge].steps;
            steps.extend(&all[range.start.min(all.len())..range.end.min(all.len())]);
        }
        Stuck(steps, self.run.steps.len())
    }

    /// Whether the run can happen, with which values. If it is to repeat from a moment on, these variables are to be the
    /// same there and at its end.
    pub fn check(&self, solver: &mut Solver, repeats: Option<(Mark, &HashSet<Var>)>) -> Result<Feasible, SolverError> {
        let mut all = self.run.conditions.clone();
        for (mark, var) in repeats.iter().flat_map(|(mark, vars)| vars.iter().map(|var| (*mark, *var))) {
            let same = expr::equal(self.run.value_at(mark, var), self.run.value_of(var));
            if same.is_false() {
                return Ok(Feasible::No(vec![Vec::new()]));
            }
            if !same.is_true() {
                all.push((same, usize::MAX));
            }
        }
        feasibility::solve(solver, self.run.base, all, &self.run.read)
    }

    /// The edges of the path to which steps of the run belong.
    pub fn edges(&self, steps: &[usize]) -> Vec<usize> {
        let edge = |step: &usize| self.before.partition_point(|mark| mark.steps <= *step);
        let mut edges: Vec<usize> = steps.iter().map(edge).collect();
        edges.sort_unstable();
        edges
    }

    pub fn relevant_loops(
        &mut self,
        steps: &[&Step],
        core: &[usize],
        repeats: Option<(usize, &HashSet<Var>)>,
    ) -> Vec<usize> {
        let loops: Vec<_> = self.loops.iter().map(|visit| (visit.head, visit.iterations.clone())).collect();
        self.relevance.relevant_loops(self.context, &loops, steps, core, repeats)
    }

    pub fn concrete(&self) -> ConcretePath<'a> {
        let iterations =
            self.loops.iter().map(|visit| visit.iterations.clone()).filter(|iterations| !iterations.is_empty());
        ConcretePath { steps: self.run.steps.clone(), iterations: iterations.collect(), repeats: self.repeats.clone() }
    }
}
