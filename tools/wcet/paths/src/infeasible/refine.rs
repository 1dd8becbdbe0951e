//! The loop around everything: worst path, its conflicts, worst path again, until it is possible or time is up.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Instant;

use crate::ipet::{Bound, Constraints, Prepared};
use wcet_flow::context::{Expanded, LoopId};
use wcet_symbolic::scope::Scope;
use wcet_symbolic::{KnownEffects, Region, Setting, SolverError};

use crate::infeasible::conflict::{Conflict, Form};
use crate::infeasible::path_conditions::{follow, Maps};
use crate::infeasible::path_routes::{passing, routes, Route};
use crate::infeasible::search::{search, Finding};

/// How far to go.
#[derive(Debug, Clone)]
pub struct Options {
    /// When to stop with the bound found by then.
    pub deadline: Option<Instant>,
    /// Worst paths to look at.
    pub rounds: usize,
    /// What a question may cost, in the solver's own steps.
    pub steps: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options { deadline: None, rounds: 400, steps: 3_000_000 }
    }
}

/// Why the search ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Nothing that is known speaks against the worst path.
    Possible,
    /// The worst path could not be decided.
    Undecided,
    /// The time, or the rounds, were over.
    Stopped,
}

/// A bound with the conflicts that it respects.
#[derive(Debug)]
pub struct Refined {
    pub bound: Bound,
    pub conflicts: Vec<Conflict>,
    pub constraints: Constraints,
    /// The bound of each round.
    pub history: Vec<u64>,
    pub end: End,
}

#[derive(Debug, thiserror::Error)]
pub enum RefineError {
    #[error(transparent)]
    Solver(#[from] SolverError),
    #[error("the path search fails")]
    Search(Vec<crate::ipet::Error>),
}

/// Finds the bound under all conflicts that the worst paths show. Every bound on the way holds; only the last is
/// returned. `bounds` are those of loops.
pub fn refine(
    setting: &Setting<'_, '_>,
    prepared: &Prepared<'_, '_>,
    mut constraints: Constraints,
    bounds: &BTreeMap<LoopId, u64>,
    options: &Options,
) -> Result<Refined, RefineError> {
    let solve_options = crate::ipet::Options { deadline: options.deadline };
    let solve = |constraints: &Constraints| prepared.bound(constraints, &solve_options).map_err(RefineError::Search);
    let mut bound = solve(&constraints)?;
    let mut history = vec![bound.wcet_cycles];
    let mut conflicts = Vec::new();
    let mut explorer = Explorer::new(setting, &constraints.dead.clone());
    let end = loop {
        if options.deadline.is_some_and(|deadline| Instant::now() >= deadline) || history.len() > options.rounds {
            break End::Stopped;
        }
        let (found, undecided) = explorer.conflicts(&bound, options)?;
        let mut added = false;
        for conflict in found {
            let Some(form) = conflict.form(setting.graph, &|one| bounds.get(&one).copied()) else { continue };
            if form.add_to(&mut constraints) {
                added = true;
                conflicts.push(conflict);
            }
        }
        if !added {
            break if undecided { End::Undecided } else { End::Possible };
        }
        bound = solve(&constraints)?;
        history.push(bound.wcet_cycles);
    };
    Ok(Refined { bound, conflicts, constraints, history, end })
}

/// Looks at worst paths, and remembers what is known of their routes.
pub struct Explorer<'a, 'g> {
    setting: &'a Setting<'a, 'g>,
    maps: Maps,
    /// Routes, with the ways to them, of which the outcome is known.
    possible: HashSet<Vec<wcet_flow::context::EdgeId>>,
    effects: KnownEffects,
}

impl<'a, 'g> Explorer<'a, 'g> {
    /// `dead` edges are taken as such where ways meet: they must surely never be taken.
    pub fn new(setting: &'a Setting<'a, 'g>, dead: &BTreeSet<wcet_flow::context::EdgeId>) -> Explorer<'a, 'g> {
        Explorer { setting, maps: Maps::new(dead.clone()), possible: HashSet::new(), effects: KnownEffects::default() }
    }

    /// The conflicts of a worst path, and whether something could not be decided.
    pub fn conflicts(&mut self, bound: &Bound, options: &Options) -> Result<(Vec<Conflict>, bool), SolverError> {
        let graph = self.setting.graph;
        let all = routes(graph, &bound.edges);
        let (mut found, mut undecided) = (Vec::new(), false);
        let mut refuted: HashSet<Scope> = HashSet::new();
        for route in &all {
            if options.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                break;
            }
            let Some(way) = way(graph, &all, route) else { continue };
            // A way that cannot be taken shows nothing about what comes behind it.
            if way[..way.len() - 1].iter().any(|outer| refuted.contains(&outer.scope)) {
                continue;
            }
            let key: Vec<usize> =
                way.iter().flat_map(|route| route.steps.iter().filter_map(|(_, edge)| *edge)).collect();
            if self.possible.contains(&key) {
                continue;
            }
            let mut region = Region::new(self.setting, true);
            region.give_effects(std::mem::take(&mut self.effects));
            let steps = follow(&mut region, &way, &mut self.maps);
            let own = steps.iter().position(|step| step.scope == route.scope).unwrap_or(steps.len());
            let outcome = search(&mut region, &steps, own, options.steps, options.deadline);
            self.effects = region.take_effects();
            match outcome? {
                Finding::Possible => drop(self.possible.insert(key)),
                Finding::Undecided => undecided = true,
                Finding::Conflicts(subsets) => {
                    refuted.insert(route.scope);
                    for subset in subsets {
                        let steps: Vec<_> = subset.iter().map(|position| &steps[*position]).collect();
                        found.push(Conflict::of(graph, &steps));
                    }
                }
            }
        }
        Ok((found, undecided))
    }
}

/// The routes to a route, and itself: of each scope around it the heaviest that passes it.
fn way<'r>(graph: &Expanded<'_>, all: &'r [Route], route: &'r Route) -> Option<Vec<&'r Route>> {
    let mut way = vec![route];
    let mut scope = route.scope;
    while let Some(one) = scope {
        scope = graph.loops[one].parent;
        way.push(passing(all, scope, one)?);
    }
    way.reverse();
    Some(way)
}

/// The conflicts in sentences, for the report.
pub fn describe(graph: &Expanded<'_>, conflict: &Conflict) -> String {
    let place = |edge: &wcet_flow::context::EdgeId| {
        let edge = graph.edges[*edge];
        format!("{} to {}", graph.place(edge.from), graph.place(edge.to))
    };
    let edges: Vec<String> = conflict.edges.iter().map(|(edge, _)| place(edge)).collect();
    match (edges.as_slice(), conflict.scope) {
        ([edge], _) => format!("{edge} is never taken"),
        (_, None) => format!("not all are taken: {}", edges.join(", ")),
        (_, Some(one)) => {
            let header = graph.place(graph.loops[one].header);
            format!("in an iteration of the loop at {header} not all are taken: {}", edges.join(", "))
        }
    }
}

/// The form of each conflict, for who solves by other means.
pub fn forms(graph: &Expanded<'_>, conflicts: &[Conflict], bounds: &BTreeMap<LoopId, u64>) -> Vec<Form> {
    conflicts.iter().filter_map(|conflict| conflict.form(graph, &|one| bounds.get(&one).copied())).collect()
}
