//! The worst path taken apart: how each scope is passed, from the counts of edges.
//!
//! The counts of a scope's edges are a flow from its header to its ends, inner loops being single places. The flow is
//! split into routes, the heaviest edges first.

use std::collections::{BTreeMap, HashMap};

use wcet_flow::context::{EdgeId, Expanded, LoopId};
use wcet_symbolic::scope::{exits, header, part, Part, Scope};

/// One way through a scope.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Route {
    pub scope: Scope,
    /// Parts in order, with the edge by which each is left; none at the region's end.
    pub steps: Vec<(Part, Option<EdgeId>)>,
    /// How often it is taken.
    pub count: u64,
}

/// The routes of all scopes that the counts mention, outer scopes before those inside them.
pub fn routes(graph: &Expanded<'_>, counts: &BTreeMap<EdgeId, u64>) -> Vec<Route> {
    let mut found = scope_routes(graph, counts, None);
    // Outer loops come before those inside them.
    for one in 0..graph.loops.len() {
        let entered = graph.loops[one].entries.iter().any(|edge| counts.get(edge).is_some_and(|count| *count > 0));
        if entered || graph.loops[one].header == graph.entry {
            found.extend(scope_routes(graph, counts, Some(one)));
        }
    }
    found
}

fn scope_routes(graph: &Expanded<'_>, counts: &BTreeMap<EdgeId, u64>, scope: Scope) -> Vec<Route> {
    let head = header(graph, scope);
    let Some(start) = part(graph, scope, head) else { return Vec::new() };
    let mut left: HashMap<EdgeId, u64> = HashMap::new();
    let mut found = Vec::new();
    // Every route uses up one edge at least.
    for _ in 0..=counts.len() {
        let mut steps = Vec::new();
        let mut here = start;
        loop {
            let ways = exits(graph, here);
            let rest = |edge: &EdgeId| left.get(edge).or_else(|| counts.get(edge)).copied().unwrap_or(0);
            let best =
                ways.iter().copied().filter(|edge| rest(edge) > 0).max_by_key(|edge| (rest(edge), usize::MAX - *edge));
            steps.push((here, best));
            let Some(edge) = best else { break };
            let to = graph.edges[edge].to;
            if to == head {
                break;
            }
            match part(graph, scope, to) {
                Some(next) => here = next,
                None => break,
            }
        }
        let edges: Vec<EdgeId> = steps.iter().filter_map(|(_, edge)| *edge).collect();
        let rest = |edge: &EdgeId| left.get(edge).or_else(|| counts.get(edge)).copied().unwrap_or(0);
        let count = edges.iter().map(rest).min().unwrap_or(0);
        if count == 0 {
            break;
        }
        let after: Vec<(EdgeId, u64)> = edges.iter().map(|edge| (*edge, rest(edge) - count)).collect();
        left.extend(after);
        found.push(Route { scope, steps, count });
    }
    found
}

/// Of the routes, the heaviest of a scope that passes a loop.
pub fn passing(routes: &[Route], scope: Scope, one: LoopId) -> Option<&Route> {
    let through = |route: &&Route| route.scope == scope && route.steps.iter().any(|(part, _)| *part == Part::Loop(one));
    routes.iter().filter(through).max_by_key(|route| route.count)
}
