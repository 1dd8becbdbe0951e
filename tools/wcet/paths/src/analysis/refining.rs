//! Paths that no run takes: the worst path is looked at, what contradicts itself on it is excluded, and the worst path
//! is searched again, until nothing speaks against it or time is up.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::infeasible::{Conflict, Explorer, Options};
use crate::ipet::{Bound, Constraints, Prepared};
use crate::loop_bounds::LoopBound;
use wcet_binary::load::Lines;
use wcet_flow::context::{EdgeId, Expanded, LoopId};
use wcet_report::{Branch, Infeasible, Refinement};
use wcet_symbolic::{Setting, SolverError};

use crate::analysis::faults::hex;

/// The last bound, and how it was reached.
pub struct Refined {
    /// None if the first one could not be improved.
    pub bound: Option<Bound>,
    pub found: Vec<Infeasible>,
    pub steps: Vec<Refinement>,
    /// Nothing that is known speaks against the worst path.
    pub possible: bool,
    /// Those given, and what was found.
    pub constraints: Constraints,
}

/// What time the refinement has, and when the analysis began.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    pub began: Instant,
    pub deadline: Option<Instant>,
}

impl Clock {
    fn is_over(self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    fn elapsed(self) -> Duration {
        self.began.elapsed()
    }
}

/// Improves on `first`, the bound under `constraints`. A search that fails on the way leaves the bound before it.
pub fn refine(
    setting: &Setting<'_, '_>,
    prepared: &Prepared<'_, '_>,
    lines: &Lines,
    mut constraints: Constraints,
    bounds: &[LoopBound],
    first: &Bound,
    clock: Clock,
) -> Result<Refined, SolverError> {
    let of_loops: BTreeMap<LoopId, u64> =
        bounds.iter().filter_map(|found| Some((found.loop_id, found.bound?))).collect();
    let options = Options { deadline: clock.deadline, ..Options::default() };
    let mut explorer = Explorer::new(setting, &constraints.dead.clone());
    let mut refined = Refined {
        bound: None,
        found: Vec::new(),
        steps: Vec::new(),
        possible: false,
        constraints: Constraints::default(),
    };
    for _ in 0..options.rounds {
        if clock.is_over() {
            break;
        }
        let looked = explorer.conflicts(refined.bound.as_ref().unwrap_or(first), &options);
        let (conflicts, undecided) = match looked {
            Ok(found) => found,
            // It is for the user to install; one that dies costs what it would have found.
            Err(missing @ SolverError::Start(_)) => return Err(missing),
            Err(_) => break,
        };
        let mut new = Vec::new();
        for conflict in conflicts {
            let form = conflict.form(setting.graph, &|one| of_loops.get(&one).copied());
            if form.is_some_and(|form| form.add_to(&mut constraints)) {
                new.push(conflict);
            }
        }
        if new.is_empty() {
            refined.possible = !undecided && !clock.is_over();
            break;
        }
        let search = crate::ipet::Options { deadline: clock.deadline };
        let Ok(bound) = prepared.bound(&constraints, &search) else { break };
        let wcet_cycles = bound.wcet_cycles;
        refined.found.extend(new.iter().map(|conflict| infeasible(setting.graph, conflict, lines, wcet_cycles)));
        let (seconds, infeasible) = (clock.elapsed().as_secs_f64(), refined.found.len());
        refined.steps.push(Refinement { seconds, wcet_cycles, infeasible });
        refined.bound = Some(bound);
    }
    refined.constraints = constraints;
    Ok(refined)
}

fn infeasible(graph: &Expanded<'_>, conflict: &Conflict, lines: &Lines, wcet_cycles: u64) -> Infeasible {
    let edges: BTreeSet<EdgeId> = conflict.edges.iter().map(|(edge, _)| *edge).collect();
    Infeasible {
        edges: edges.into_iter().map(|edge| branch(graph, edge, lines)).collect(),
        scope: match conflict.scope {
            None => "the whole".to_string(),
            Some(one) => format!("an iteration of the loop at {}", graph.place(graph.loops[one].header)),
        },
        wcet_cycles: Some(wcet_cycles),
    }
}

fn branch(graph: &Expanded<'_>, edge: EdgeId, lines: &Lines) -> Branch {
    let edge = &graph.edges[edge];
    let decides = graph.block(edge.from).last().address;
    let context = graph.nodes[edge.from].context;
    Branch {
        function: graph.function(context).name.clone(),
        from: hex(decides),
        to: hex(graph.block(edge.to).start()),
        source: lines.place(decides).map(|place| place.to_string()),
        calls: graph.chain(context).iter().map(ToString::to_string).collect(),
    }
}
