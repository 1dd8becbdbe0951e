//! Paths through summarised loops, made whole: a path of the program itself, with values.
//!
//! Ways to go round the path's loops are tried, the plainest first. Where one ends nowhere, or the solver finds a
//! contradiction, loops that have to do with it are gone round once more, or otherwise, and so on, within bounds.

use crate::counterexample::concretize::{Maker, Stuck, Way, Whole};
use crate::counterexample::feasibility::{self, Feasible, Values};
use crate::loops::exits::Path;
use crate::rules::safety::Context;
use crate::solver::{Solver, SolverError};
use std::cmp::Reverse;
use std::collections::{BTreeSet, HashSet};

/// Ways that are tried to go round loops.
const ATTEMPTS: usize = 120;
/// Rounds of a loop besides those that are needed.
const MOST_MORE: usize = 20;
/// And if without them the path cannot go on.
const FEW_MORE: usize = 3;

pub enum Search<'a> {
    Found(Box<Found<'a>>),
    /// None was found; the summaries of these loops, by their heads, may be too coarse.
    Nothing(BTreeSet<usize>),
}

pub struct Found<'a> {
    pub whole: Whole<'a>,
    pub values: Values,
    /// The step from which the run repeats, if it was to.
    pub first: Option<usize>,
}

/// What is to be tried, after what was found of the way before it.
#[derive(Default)]
struct Try {
    ways: Vec<Way>,
    /// How far that has come, if it has not come to the end.
    progress: usize,
    /// Contradictions that were found so far, as edges of the path: with each further one, one was overcome.
    cores: BTreeSet<Vec<usize>>,
}

/// Makes a path of the summarised program whole; of its last edge, the first `last` steps. With `turn`, the run is to repeat
/// for ever from that edge on.
pub fn find<'a>(
    context: &Context<'a>,
    solver: &mut Solver,
    edges: &[usize],
    last: usize,
    turn: Option<usize>,
) -> Result<Search<'a>, SolverError> {
    let mut blame = BTreeSet::new();
    let mut queue = vec![Try::default()];
    let mut tried: HashSet<Vec<Way>> = HashSet::new();
    let mut maker = Maker::new(context, Path { program: context.program, edges, last });
    loop {
        // What has come farthest, then what is simplest, then what was thought of first.
        let cost = |one: &Try| one.ways.iter().map(Way::cost).sum::<usize>();
        let rank = |one: &Try| (Reverse(one.progress), Reverse(one.cores.len()), cost(one));
        let Some(next) = (0..queue.len()).min_by_key(|index| (rank(&queue[*index]), *index)) else { break };
        let Try { ways, mut cores, .. } = queue.remove(next);
        if tried.len() >= ATTEMPTS || context.is_late(solver) {
            break;
        }
        if !tried.insert(ways.clone()) {
            continue;
        }
        let (bearing, progress) = match maker.make(solver, &ways)? {
            Ok(()) => {
                let first = turn.map(|edge| edge.checked_sub(1).map_or(maker.run.start(), |edge| maker.before[edge]));
                let steps = maker.run.steps.clone();
                let matter = first.map(|first| feasibility::relevant(&steps[first.steps..])).unwrap_or_default();
                match maker.check(solver, first.map(|first| (first, &matter)))? {
                    Feasible::Yes(values) => {
                        let first = first.map(|first| first.steps);
                        let whole = maker.whole();
                        return Ok(Search::Found(Box::new(Found { whole, values, first })));
                    }
                    Feasible::Unknown => continue,
                    Feasible::No(core) => {
                        let repeats = first.map(|first| (first.steps, &matter));
                        let edge = |step: &usize| maker.before.partition_point(|mark| mark.steps <= *step);
                        let mut edges: Vec<usize> = core.iter().map(edge).collect();
                        edges.sort_unstable();
                        cores.insert(edges);
                        (maker.bearing(&steps, &core, repeats), usize::MAX)
                    }
                }
            }
            Err(Stuck(steps, from)) => {
                let core: Vec<usize> = (from..steps.len()).collect();
                (maker.bearing(&steps, &core, None), maker.before.len())
            }
        };
        for index in bearing.into_iter().rev() {
            let passed = &maker.loops[index];
            if ways.is_empty() {
                blame.insert(passed.head);
            }
            let own = ways.get(index).copied().unwrap_or_default();
            let has_choice = maker.rounds(passed.head, own).has_choice(context.base);
            // As the path leaves it is what was done already, unless it was left otherwise.
            let exit = if own.exit == 0 && !passed.is_other { 2 } else { own.exit + 1 };
            let most = if progress == usize::MAX { MOST_MORE } else { FEW_MORE };
            let others = [
                (!own.is_careful, Way { is_careful: true, ..own }),
                (exit <= passed.exits, Way { exit, ..own }),
                (own.is_careful && !own.is_flipped && has_choice, Way { is_flipped: true, ..own }),
                (own.more < most, Way { more: own.more + 1, ..own }),
            ];
            for (_, other) in others.into_iter().filter(|(is_new, _)| *is_new) {
                let mut ways = ways.clone();
                ways.resize(ways.len().max(index + 1), Way::default());
                ways[index] = other;
                if other.is_careful != own.is_careful {
                    maker.spread(&mut ways, passed.head, other);
                }
                queue.push(Try { ways, progress, cores: cores.clone() });
            }
        }
    }
    Ok(Search::Nothing(blame))
}
