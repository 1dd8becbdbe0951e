//! A path through summarised loops, made whole in one way.
//!
//! At the head of a summarised loop, rounds are put in with the numbers as they are, until nothing known speaks against
//! going on as the path does.

use crate::counterexample::execution::{Mark, Run};
use crate::counterexample::feasibility::{self, Feasible};
use crate::counterexample::relevance::Blame;
use crate::counterexample::unroll::{Repeat, Rounds, MOST_STEPS};
use crate::expr::{self, Var};
use crate::loops::exits::{Exit, Path};
use crate::program::Step;
use crate::rules::safety::Context;
use crate::solver::{Solver, SolverError};
use std::collections::HashSet;
use std::ops::Range;

/// Rounds of a loop in which the solver is asked at each branch.
const MOST_CAREFUL: usize = 200;
/// Rounds of a loop that are gone one by one before it is tried to go many at once.
const PLAIN: usize = 40;

#[derive(Default)]
pub struct Whole<'a> {
    pub steps: Vec<&'a Step>,
    /// Steps of rounds that were put in.
    pub rounds: Vec<Range<usize>>,
    /// Those that stand for more of their like.
    pub repeats: Vec<Repeat>,
}

/// How a loop on the path is gone round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Way {
    /// Rounds besides those that are needed.
    pub more: usize,
    /// It is left only so: 1 as the path leaves it, from 2 on as others do that come to the same place; 0: as it comes.
    pub exit: usize,
    /// The solver is asked at every branch.
    pub is_careful: bool,
    pub is_flipped: bool,
}

impl Way {
    pub fn cost(&self) -> usize {
        self.more + self.exit + usize::from(self.is_flipped)
    }
}

/// A loop on the path.
pub struct Passed {
    pub head: usize,
    /// The edge of the path that leads to it, and the moment.
    at: usize,
    mark: Mark,
    /// Steps of its rounds.
    rounds: Range<usize>,
    repeats: usize,
    /// How many ways there are to leave it, and whether it was left otherwise than the path does.
    pub exits: usize,
    pub is_other: bool,
}

/// What was made of a path so far, of which the next way keeps what it has in common with this one.
pub struct Maker<'a, 'b> {
    context: &'b Context<'a>,
    path: Path<'b>,
    pub run: Run<'a>,
    ways: Vec<Way>,
    pub loops: Vec<Passed>,
    repeats: Vec<Repeat>,
    /// Moments before each edge's end.
    pub before: Vec<Mark>,
    blame: Blame,
}

/// Where a run cannot go on: its steps, and those of a piece that does not follow.
pub struct Stuck<'a>(pub Vec<&'a Step>, pub usize);

impl<'a, 'b> Maker<'a, 'b> {
    pub fn new(context: &'b Context<'a>, path: Path<'b>) -> Self {
        Maker {
            context,
            path,
            run: Run::new(context.base),
            ways: Vec::new(),
            loops: Vec::new(),
            repeats: Vec::new(),
            before: Vec::new(),
            blame: Blame::default(),
        }
    }

    /// Care is taken everywhere that the path passes a loop.
    pub fn spread(&self, ways: &mut Vec<Way>, head: usize, way: Way) {
        for index in (0..self.loops.len()).filter(|index| self.loops[*index].head == head) {
            ways.resize(ways.len().max(index + 1), Way::default());
            ways[index].is_careful = way.is_careful;
        }
    }

    pub fn rounds(&self, head: usize, way: Way) -> Rounds<'a> {
        let summarised = self.context.summarised;
        let nodes = &summarised.heads[&head];
        Rounds { summarised, head, nodes, is_careful: way.is_careful, is_flipped: way.is_flipped }
    }

    /// Makes the path whole in one way; what the way before has in common with it stays.
    pub fn make(&mut self, solver: &mut Solver, ways: &[Way]) -> Result<Result<(), Stuck<'a>>, SolverError> {
        let way = |ways: &[Way], index: usize| ways.get(index).copied().unwrap_or_default();
        let same = (0..self.loops.len()).take_while(|index| way(ways, *index) == way(&self.ways, *index)).count();
        self.ways = ways.to_vec();
        let (mut at, mut is_in_loop) = (0, false);
        match self.loops.get(same) {
            Some(passed) => {
                (at, is_in_loop) = (passed.at, true);
                self.run.undo(passed.mark);
                self.repeats.truncate(passed.repeats);
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
                let way = way(ways, self.loops.len());
                match self.go_round(solver, at, head, way)? {
                    Ok(other) => exit = other,
                    Err(stuck) => return Ok(Err(stuck)),
                }
            }
            at += 1;
        }
        Ok(Ok(()))
    }

    /// Goes round a loop until the path can go on, as it does or by another way to the same place, which is returned.
    fn go_round(
        &mut self,
        solver: &mut Solver,
        at: usize,
        head: usize,
        way: Way,
    ) -> Result<Result<Option<Exit>, Stuck<'a>>, SolverError> {
        let exits = self.path.exits(self.context.summarised, self.context.base, at, head);
        let is_meant = |index: usize| way.exit == 0 || way.exit == index + 1;
        let rounds = self.rounds(head, way);
        let start = self.run.mark();
        let (mut left, mut count) = (way.more, 0);
        self.run.is_shown = false;
        let taken = loop {
            let mark = self.run.mark();
            let mut fits = None;
            for (index, exit) in exits.iter().enumerate().filter(|(index, _)| is_meant(*index)) {
                let is_open = exit.pieces.iter().all(|(edge, steps)| self.run.along(*edge, steps.clone()))
                    && (!way.is_careful || self.run.is_possible(solver, mark)?);
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
                let mut is_gone = false;
                for (_, exit) in exits.iter().enumerate().filter(|(index, _)| is_meant(*index)) {
                    let leave = |run: &mut Run| exit.pieces.iter().all(|(edge, steps)| run.along(*edge, steps.clone()));
                    if let Some(repeat) = rounds.go_often(&mut self.run, solver, &leave)? {
                        self.repeats.push(repeat);
                        is_gone = true;
                        break;
                    }
                    self.run.undo(mark);
                }
                if is_gone {
                    continue;
                }
            }
            let is_much = self.run.steps.len() > MOST_STEPS || (way.is_careful && count > MOST_CAREFUL);
            if is_much || rounds.go(&mut self.run, solver)?.is_none() {
                self.run.undo(mark);
                break None;
            }
        };
        self.run.is_shown = true;
        let repeats = self.repeats.iter().filter(|repeat| repeat.steps.start < start.steps).count();
        let rounds = start.steps..self.run.steps.len();
        let is_other = taken.is_some_and(|index| index > 0);
        self.loops.push(Passed { head, at, mark: start, rounds, repeats, exits: exits.len(), is_other });
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
                return Ok(Feasible::No(Vec::new()));
            }
            if !same.is_true() {
                all.push((same, usize::MAX));
            }
        }
        feasibility::solve(solver, self.run.base, all, &self.run.read)
    }

    pub fn bearing(&mut self, steps: &[&Step], core: &[usize], repeats: Option<(usize, &HashSet<Var>)>) -> Vec<usize> {
        let loops: Vec<_> = self.loops.iter().map(|passed| (passed.head, passed.rounds.clone())).collect();
        self.blame.bearing(self.context, &loops, steps, core, repeats)
    }

    pub fn whole(&self) -> Whole<'a> {
        let rounds = self.loops.iter().map(|passed| passed.rounds.clone()).filter(|rounds| !rounds.is_empty());
        Whole { steps: self.run.steps.clone(), rounds: rounds.collect(), repeats: self.repeats.clone() }
    }
}
