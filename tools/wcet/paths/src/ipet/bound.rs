//! From an expanded graph to a bound: costs once, then solving as often as constraints change.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Instant;

use wcet_binary::load::Program;
use wcet_flow::context::{EdgeId, Expanded, LoopId, NodeId};
use wcet_hardware::machine::Machine;
use wcet_hardware::pipeline::{Costs, PipelineError};

use crate::ipet::access::Targets;
use crate::ipet::charge::{charges, Charges};
use crate::ipet::dual::solve_with;
use crate::ipet::error::{Error, Problem as Fault};
use crate::ipet::live::{error, Live};
use crate::ipet::longest_path::Shape;
use crate::ipet::model::Model;
use crate::ipet::problem::{Charge, Conflict, Counts, Limit, Loop, Problem};

/// What is known of the walks beyond the bounds of loops. Edges and loops are those of the expanded graph.
#[derive(Debug, Clone, Default)]
pub struct Constraints {
    /// Edges that are never taken.
    pub dead: BTreeSet<EdgeId>,
    /// Edges that are not all taken: in one iteration of the loop, from its header until it is back there or has left,
    /// or in the whole walk.
    pub conflicts: Vec<Conflict>,
    pub limits: Vec<Limit>,
    pub totals: Vec<Total>,
    /// Cycles that are paid elsewhere each time an edge is taken: the bound is that of the rest, so that it and the credits
    /// of a walk's edges together are a bound of the walk. One that does not cover an edge's cycles leaves the rest in.
    pub credits: BTreeMap<EdgeId, u64>,
}

/// A loop inside another executes its header at most so often for each entry of the outer one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Total {
    pub inner: LoopId,
    pub outer: LoopId,
    pub headers: u64,
}

#[derive(Debug, Clone, Default)]
pub struct Options {
    /// When to stop with what is certain by then. Costs are not interrupted, and one bound is always found.
    pub deadline: Option<Instant>,
}

/// A bound, and the walk that reaches it.
#[derive(Debug, Clone)]
pub struct Bound {
    /// No execution takes longer.
    pub wcet_cycles: u64,
    /// What the walk costs; less than the bound if the search was stopped or the constraints leave a gap.
    pub path_cycles: u64,
    /// Whether `path_cycles` is the bound, so that no better bound exists for these costs and constraints.
    pub exact: bool,
    /// Whether the walk respects all constraints.
    pub feasible: bool,
    /// The nodes of the walk, each before those that come after it, loops aside.
    pub path: Vec<Visit>,
    /// How often each edge is taken.
    pub edges: BTreeMap<EdgeId, u64>,
    /// First misses that the walk pays, in cycles, by the loop for whose entries; none for those of the whole.
    pub first_misses: BTreeMap<Option<LoopId>, u64>,
    /// Blocks and edges that were considered.
    pub blocks: usize,
    walk: Walker,
}

/// A node of the worst path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    pub node: NodeId,
    pub count: u64,
    /// All its executions together, without first misses.
    pub cycles: u64,
}

/// What the walk is made from, on demand.
#[derive(Debug, Clone)]
struct Walker {
    problem: Problem,
    counts: Counts,
    edges: Vec<EdgeId>,
}

impl Bound {
    /// The edges of the worst path in an order in which they can be taken, if there are at most `most`.
    pub fn walk(&self, most: u64) -> Option<Vec<EdgeId>> {
        let walk = crate::ipet::euler_path::walk(&self.walk.problem, &self.walk.counts, most)?;
        Some(walk.into_iter().map(|edge| self.walk.edges[edge]).collect())
    }
}

/// A graph with its costs, to be solved under any constraints.
pub struct Prepared<'e, 'g> {
    pub(crate) expanded: &'e Expanded<'g>,
    pub model: Model,
    pub costs: Costs,
    pub(crate) live: Live,
    pub(crate) problem: Problem,
    /// Also right with more constraints: they only take walks away.
    charges: Charges,
    shape: Rc<Shape>,
}

impl<'e, 'g> Prepared<'e, 'g> {
    /// Computes costs. Every loop that can take another iteration needs a bound; `dead` edges are left out.
    pub fn new(
        program: &Program,
        expanded: &'e Expanded<'g>,
        machine: &Machine,
        bounds: &BTreeMap<LoopId, u64>,
        targets: &dyn Targets,
        dead: &BTreeSet<EdgeId>,
    ) -> Result<Prepared<'e, 'g>, Vec<Error>> {
        let live = Live::new(expanded, dead, bounds)?;
        let unbounded = live.loops.iter().filter(|number| !bounds.contains_key(number));
        let mut errors: Vec<Error> = unbounded
            .map(|number| {
                let one = &expanded.loops[*number];
                error(expanded, one.header, Fault::Unbounded { chain: expanded.chain(one.context).join(" > ") })
            })
            .collect();
        let model = match Model::new(expanded, program.architecture, machine, targets, &live, bounds) {
            Ok(model) => model,
            Err(more) => {
                errors.extend(more);
                return Err(errors);
            }
        };
        if !errors.is_empty() {
            return Err(errors);
        }
        let costs = wcet_hardware::pipeline::analyse(&model.program, machine)
            .map_err(|errors| errors.into_iter().map(|error| machine_error(program, error)).collect::<Vec<_>>())?;
        let problem = problem(expanded, &model, &costs, &live, bounds);
        let charges = charges(&problem);
        let shape = Rc::new(Shape::new(&problem));
        Ok(Prepared { expanded, model, costs, live, problem, charges, shape })
    }

    /// The bound under constraints. Dead edges that were not left out before are only not taken.
    pub fn bound(&self, constraints: &Constraints, options: &Options) -> Result<Bound, Vec<Error>> {
        let mut problem = self.problem.clone();
        self.constrain(&mut problem, constraints).map_err(|error| vec![error])?;
        let none = || {
            let why = if self.problem.exits.is_empty() {
                "nothing that is reached returns, leaves or stops; state where the region ends: --stop ADDRESS"
            } else {
                "constraints contradict each other, or calls are cut at the stated depth of recursion"
            };
            vec![error(self.expanded, self.expanded.entry, Fault::NoEnd(why))]
        };
        let solution = solve_with(&problem, &self.charges, &self.shape, options.deadline).ok_or_else(none)?;
        let overflow = |_| vec![error(self.expanded, self.expanded.entry, Fault::Overflow)];
        let wcet_cycles = u64::try_from(solution.bound).map_err(overflow)?;
        let feasible = solution.walk.is_some();
        let counts = solution.walk.map_or(solution.relaxed, |(_, counts)| counts);
        let path_cycles = u64::try_from(self.charges.cost(&problem, &counts)).map_err(overflow)?;
        Ok(self.report(problem, counts, wcet_cycles, path_cycles, feasible))
    }

    /// The most times that any walk executes certain nodes, all of them together.
    pub fn executions(
        &self,
        constraints: &Constraints,
        wanted: impl Fn(NodeId) -> bool,
    ) -> Result<Option<u64>, Vec<Error>> {
        self.heaviest(constraints, |node| u64::from(wanted(node)))
    }

    /// The most that nodes weigh on any walk, each as often as it is executed.
    pub fn heaviest(
        &self,
        constraints: &Constraints,
        weight: impl Fn(NodeId) -> u64,
    ) -> Result<Option<u64>, Vec<Error>> {
        let mut problem = self.problem.clone();
        self.constrain(&mut problem, constraints).map_err(|error| vec![error])?;
        let counts = |block: usize| weight(self.model.nodes[block]);
        problem.start = counts(0);
        problem.costs = problem.edges.iter().map(|(_, to)| counts(*to)).collect();
        problem.charges.clear();
        let solution = solve_with(&problem, &charges(&problem), &self.shape, None);
        Ok(solution.and_then(|solution| u64::try_from(solution.bound).ok()))
    }

    fn report(&self, problem: Problem, counts: Counts, wcet_cycles: u64, path_cycles: u64, feasible: bool) -> Bound {
        let mut cycles: BTreeMap<usize, (u64, u64)> = BTreeMap::from([(0, (1, problem.start))]);
        for (edge, count) in &counts {
            let one = cycles.entry(problem.edges[*edge].1).or_default();
            one.0 += count;
            one.1 = one.1.saturating_add(count.saturating_mul(problem.costs[*edge]));
        }
        let path = cycles
            .iter()
            .map(|(block, (count, cycles))| Visit { node: self.model.nodes[*block], count: *count, cycles: *cycles })
            .collect();
        let mut first_misses: BTreeMap<Option<LoopId>, u64> = BTreeMap::new();
        for (charge, times) in problem.charges.iter().zip(self.charges.due(&problem, &counts)) {
            let scope = charge.scope.map(|scope| self.live.loops[scope]);
            let paid = first_misses.entry(scope).or_default();
            *paid = paid.saturating_add(times.saturating_mul(charge.cycles));
        }
        first_misses.retain(|_, cycles| *cycles > 0);
        let edges = counts.iter().map(|(edge, count)| (self.model.edges[*edge], *count)).collect();
        let exact = feasible && path_cycles == wcet_cycles;
        let blocks = self.model.nodes.len();
        let walk = Walker { problem, counts, edges: self.model.edges.clone() };
        Bound { wcet_cycles, path_cycles, exact, feasible, path, edges, first_misses, blocks, walk }
    }

    /// Adds constraints to the problem, in its numbers.
    fn constrain(&self, problem: &mut Problem, constraints: &Constraints) -> Result<(), Error> {
        let edge_of: BTreeMap<EdgeId, usize> =
            self.model.edges.iter().enumerate().map(|(number, edge)| (*edge, number)).collect();
        let loop_of: BTreeMap<LoopId, usize> =
            self.live.loops.iter().enumerate().map(|(number, one)| (*one, number)).collect();
        let missing = |what: &str, number: usize| Error {
            address: 0,
            place: String::new(),
            problem: Fault::Constraint(format!("{what} {number}")),
        };
        let check = |edge: &EdgeId| {
            if *edge < self.expanded.edges.len() {
                Ok(())
            } else {
                Err(missing("edge", *edge))
            }
        };
        let check_loop = |number: &LoopId| {
            if *number < self.expanded.loops.len() {
                Ok(())
            } else {
                Err(missing("loop", *number))
            }
        };
        let credits = constraints.credits.iter().filter_map(|(edge, credit)| Some((*edge_of.get(edge)?, *credit)));
        problem.credits.extend(credits);
        problem.dead.extend(constraints.dead.iter().filter_map(|edge| edge_of.get(edge)));
        for conflict in &constraints.conflicts {
            conflict.edges.iter().try_for_each(check)?;
            conflict.scope.iter().try_for_each(check_loop)?;
            // One that cannot be taken keeps the others apart from it.
            let edges: Option<Vec<usize>> = conflict.edges.iter().map(|edge| edge_of.get(edge).copied()).collect();
            let Some(edges) = edges else { continue };
            // What is outside a loop is not taken in its iterations.
            let inside = |edge: &EdgeId| {
                conflict.scope.is_none_or(|scope| self.expanded.inside(self.expanded.edges[*edge].from, scope))
            };
            if !conflict.edges.iter().all(inside) {
                continue;
            }
            // A loop that takes no other iteration has one in each iteration of the loop around it.
            let scope = conflict.scope.and_then(|scope| {
                std::iter::successors(Some(scope), |one| self.expanded.loops[*one].parent)
                    .find_map(|one| loop_of.get(&one).copied())
            });
            match edges[..] {
                [] => {}
                [edge] => {
                    problem.dead.insert(edge);
                }
                _ => problem.conflicts.push(Conflict { scope, edges }),
            }
        }
        for limit in &constraints.limits {
            limit.terms.keys().try_for_each(check)?;
            let alive = limit.terms.iter().filter_map(|(edge, factor)| Some((*edge_of.get(edge)?, *factor)));
            problem.limits.push(Limit { terms: alive.collect(), at_most: limit.at_most });
        }
        for total in &constraints.totals {
            [total.inner, total.outer].iter().try_for_each(check_loop)?;
            let (inner, outer) = (&self.expanded.loops[total.inner], &self.expanded.loops[total.outer]);
            let headers = i64::try_from(total.headers).unwrap_or(i64::MAX);
            let mut limit = Limit { terms: BTreeMap::new(), at_most: 0 };
            let starts = |header: NodeId| i64::from(header == self.expanded.entry);
            limit.at_most = headers.saturating_mul(starts(outer.header)) - starts(inner.header);
            for (edges, factor) in [(&inner.entries, 1), (&inner.back, 1), (&outer.entries, -headers)] {
                for edge in edges.iter().filter_map(|edge| edge_of.get(edge)) {
                    *limit.terms.entry(*edge).or_default() += factor;
                }
            }
            problem.limits.push(limit);
        }
        Ok(())
    }
}

/// Everything at once: the bound of an expanded graph on a machine.
pub fn bound(
    program: &Program,
    expanded: &Expanded<'_>,
    machine: &Machine,
    bounds: &BTreeMap<LoopId, u64>,
    targets: &dyn Targets,
    constraints: &Constraints,
    options: &Options,
) -> Result<Bound, Vec<Error>> {
    Prepared::new(program, expanded, machine, bounds, targets, &constraints.dead)?.bound(constraints, options)
}

fn problem(
    expanded: &Expanded<'_>,
    model: &Model,
    costs: &Costs,
    live: &Live,
    bounds: &BTreeMap<LoopId, u64>,
) -> Problem {
    let number_of: BTreeMap<LoopId, usize> =
        live.loops.iter().enumerate().map(|(number, one)| (*one, number)).collect();
    let block = |node: &NodeId| model.blocks.get(node).copied();
    let loops = live.loops.iter().map(|number| {
        let one = &expanded.loops[*number];
        let parents = std::iter::successors(one.parent, |outer| expanded.loops[*outer].parent);
        Loop {
            header: model.blocks[&one.header],
            nodes: one.nodes.iter().filter_map(block).collect(),
            parent: parents.filter_map(|outer| number_of.get(&outer).copied()).next(),
            bound: bounds[number],
        }
    });
    let charges = costs.firsts.iter().map(|first| Charge {
        scope: model.scopes[first.scope].map(|scope| number_of[&scope]),
        cycles: first.cycles,
        nodes: first.blocks.clone(),
    });
    Problem {
        nodes: model.nodes.len(),
        edges: model.program.edges.iter().map(|edge| (edge.from, edge.to)).collect(),
        exits: expanded.exits.iter().filter_map(block).collect(),
        loops: loops.collect(),
        start: costs.entry,
        costs: costs.edges.clone(),
        charges: charges.collect(),
        ..Problem::default()
    }
}

pub(super) fn machine_error(program: &Program, error: PipelineError) -> Error {
    let address = match &error {
        PipelineError::NoClass { address, .. } => *address,
        _ => 0,
    };
    let place = if address == 0 { String::new() } else { program.describe(address) };
    Error { address, place, problem: Fault::Machine(error.to_string()) }
}
