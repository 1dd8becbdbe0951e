//! The search for a concrete counterexample: a path of the program itself, with values, for an abstract path.
//!
//! Plans to unroll the path's loops are tried, the simplest first. Where a plan fails, or the solver finds a contradiction,
//! the loops that influence it get one more iteration or another plan, within bounds.

use crate::counterexample::concretize::{ConcretePath, Concretizer, LoopPlan, Stuck};
use crate::counterexample::feasibility::{self, Feasible, Values};
use crate::hash::HashSet;
use crate::loops::exits::Path;
use crate::rules::safety::Context;
use crate::solver::{Solver, SolverError};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Plans that are tried.
const ATTEMPTS: usize = 120;
/// Iterations of a loop beyond those that are needed.
const MOST_MORE: usize = 20;
/// The same where the path could not be continued.
const FEW_MORE: usize = 3;

pub enum Search<'a> {
    Found(Box<Found<'a>>),
    /// None was found; the summaries of the loops with these heads may be too coarse.
    Nothing(BTreeSet<usize>),
}

pub struct Found<'a> {
    pub path: ConcretePath<'a>,
    pub values: Values,
    /// The first step of the repeated part, for a run without end.
    pub first: Option<usize>,
    /// It rests on the value of something that the model does not follow.
    pub is_doubtful: bool,
}

/// Plans to try, with what is known from the attempts that led to them.
#[derive(Default)]
struct Candidate {
    plans: Vec<LoopPlan>,
    /// Edges of the path that the previous attempt reached; the greatest number if it reached the end.
    progress: usize,
    /// Contradictions found so far, as edges of the path: each further one means that one was resolved.
    cores: BTreeSet<Vec<usize>>,
    /// All of them are: the previous attempt came farther than any before, and can happen up to there.
    is_possible: bool,
}

/// Searches for a concrete run along a path of the summarised program, up to the first `last` steps of its last edge. With
/// `turn`, the run must repeat for ever from that edge on.
pub fn find<'a>(
    context: &Context<'a>,
    solver: &mut Solver,
    edges: &[usize],
    last: usize,
    turn: Option<usize>,
) -> Result<Search<'a>, SolverError> {
    let mut coarse = BTreeSet::new();
    let mut queue = vec![Candidate::default()];
    let mut farthest = 0;
    let mut tried: HashSet<Vec<LoopPlan>> = HashSet::default();
    let mut concretizer = Concretizer::new(context, Path { program: context.program, edges, last });
    loop {
        // The farthest first, then the simplest, then the oldest.
        let cost = |one: &Candidate| one.plans.iter().map(LoopPlan::cost).sum::<usize>();
        let resolved = |one: &Candidate| one.cores.len() + usize::from(one.is_possible);
        let rank = |one: &Candidate| (Reverse(one.progress), Reverse(resolved(one)), cost(one));
        let Some(next) = (0..queue.len()).min_by_key(|index| (rank(&queue[*index]), *index)) else { break };
        let Candidate { plans, mut cores, .. } = queue.remove(next);
        if tried.len() >= ATTEMPTS || context.is_late(solver) {
            break;
        }
        if !tried.insert(plans.clone()) {
            continue;
        }
        let mut is_possible = false;
        let made = concretizer.make(solver, &plans)?;
        let reached = concretizer.before.len();
        farthest = farthest.max(reached);
        let (relevant_loops, progress) = match made {
            Ok(()) => {
                let first = turn
                    .map(|edge| edge.checked_sub(1).map_or(concretizer.run.start(), |edge| concretizer.before[edge]));
                let steps = concretizer.run.steps.clone();
                let matter = first.map(|first| feasibility::relevant(&steps[first.steps..])).unwrap_or_default();
                match concretizer.check(solver, first.map(|first| (first, &matter)))? {
                    Feasible::Yes(values) => {
                        let first = first.map(|first| first.steps);
                        let path = concretizer.concrete();
                        let is_doubtful = concretizer.run.rests_on_guess();
                        return Ok(Search::Found(Box::new(Found { path, values, first, is_doubtful })));
                    }
                    Feasible::Unknown => continue,
                    Feasible::No(all) => {
                        let core = all.concat();
                        cores.insert(concretizer.edges(&core));
                        let repeats = first.map(|first| (first.steps, &matter));
                        (concretizer.relevant_loops(&steps, &core, repeats), usize::MAX)
                    }
                }
            }
            Err(Stuck(steps, from)) => {
                // Where the solver was asked, the run up to there may be impossible already, by what a loop before did.
                let asked = plans.iter().any(|plan| plan.asks_solver);
                match if asked { concretizer.check(solver, None)? } else { Feasible::Unknown } {
                    Feasible::No(all) => {
                        let core = all.concat();
                        cores.insert(concretizer.edges(&core));
                        (concretizer.relevant_loops(&steps, &core, None), usize::MAX)
                    }
                    answer => {
                        is_possible = reached == farthest && matches!(answer, Feasible::Yes(_));
                        let progress = if is_possible { usize::MAX } else { reached };
                        let core: Vec<usize> = (from..steps.len()).collect();
                        (concretizer.relevant_loops(&steps, &core, None), progress)
                    }
                }
            }
        };
        for index in relevant_loops.into_iter().rev() {
            let visit = &concretizer.loops[index];
            if plans.is_empty() {
                coarse.insert(visit.head);
            }
            let own = plans.get(index).copied().unwrap_or_default();
            let has_choice = concretizer.unroller(visit.head, own).has_choice(context.base);
            // The path's own exit was already tried, unless another was taken.
            let exit = if own.exit == 0 && !visit.is_other { 2 } else { own.exit + 1 };
            let most = if progress == usize::MAX { MOST_MORE } else { FEW_MORE };
            let others = [
                (!own.asks_solver, LoopPlan { asks_solver: true, ..own }),
                (exit <= visit.exits, LoopPlan { exit, ..own }),
                (own.asks_solver && !own.is_reversed && has_choice, LoopPlan { is_reversed: true, ..own }),
                (own.more < most && !visit.is_exhausted, LoopPlan { more: own.more + 1, ..own }),
            ];
            for (_, other) in others.into_iter().filter(|(is_new, _)| *is_new) {
                let mut plans = plans.clone();
                plans.resize(plans.len().max(index + 1), LoopPlan::default());
                plans[index] = other;
                if other.asks_solver != own.asks_solver {
                    concretizer.spread(&mut plans, visit.head, other);
                }
                // What the loops behind it need was found behind another run: they may need less now.
                let mut anew = plans.clone();
                for plan in &mut anew[index + 1..] {
                    *plan = LoopPlan { asks_solver: plan.asks_solver, ..LoopPlan::default() };
                }
                let is_other = anew != plans;
                for plans in is_other.then_some(anew).into_iter().chain([plans]) {
                    queue.push(Candidate { plans, progress, cores: cores.clone(), is_possible });
                }
            }
        }
    }
    Ok(Search::Nothing(coarse))
}
