//! Loop bounds by exact unrolling: the least number of times that the header can execute for each entry of the loop.
//!
//! The execution starts where the loop is entered, in any state that is possible there; if that does not give a bound,
//! further back, so that what was decided before the loop counts. The guard of the header's n-th execution is a formula;
//! if it cannot be satisfied the header executes fewer times. Questions are asked at powers of two, then in between.

use std::collections::BTreeMap;
use std::time::Instant;

use wcet_flow::context::{LoopId, NodeId};

use crate::region::{Point, Region, Setting, TooLarge};
use crate::scope::{header, part, Part, Scope};
use crate::solver::{Answer, Solver, SolverError};
use crate::term::{Origin, Shape, Term, Terms};

/// A bound that was proven.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checked {
    /// The largest number of times that the header executes for each entry of the loop.
    pub bound: u64,
    /// Whether some execution from the start that was taken reaches it.
    pub reached: bool,
    pub evidence: String,
}

/// How much to try.
#[derive(Debug, Clone)]
pub struct Effort {
    pub iterations: u64,
    /// Iterations of which it is not certain that they happen.
    pub undecided: u64,
    pub terms: usize,
    /// What a question may cost, in the solver's own steps; and all of them together.
    pub steps: u64,
    pub all_steps: u64,
    /// Inner loops with at most this bound are executed iteration by iteration.
    pub inner: u64,
    /// When to be content with the best bound found by then.
    pub deadline: Option<Instant>,
}

impl Default for Effort {
    fn default() -> Effort {
        Effort {
            iterations: 5_000,
            undecided: 1_030,
            terms: 400_000,
            steps: 4_000_000,
            all_steps: 60_000_000,
            inner: 40,
            deadline: None,
        }
    }
}

impl Effort {
    /// What shows a bound that the surroundings of the loop give.
    pub fn little() -> Effort {
        let default = Effort::default();
        Effort { iterations: 1_100, undecided: 66, terms: 60_000, steps: 1_000_000, all_steps: 10_000_000, ..default }
    }

    /// What shows that one iteration makes a measure smaller: there may be an inner loop in it, but it is one.
    pub fn of_one_iteration() -> Effort {
        Effort { steps: 4_000_000, all_steps: 20_000_000, ..Effort::little() }
    }
}

/// The least bound, or the reason why none was found. `known` gives bounds of other loops, which must be right.
pub fn least_bound(
    setting: &Setting<'_, '_>,
    one: LoopId,
    known: &dyn Fn(LoopId) -> Option<u64>,
    effort: &Effort,
) -> Result<Result<Checked, String>, SolverError> {
    let starts = starts(setting, one);
    let mut best: Option<Checked> = None;
    let mut reason = String::new();
    let mut spent = 0;
    for (index, start) in starts.iter().enumerate() {
        for inner in inner_loops(setting, one, known, effort) {
            if effort.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(best.ok_or_else(|| "no time was left".to_string()));
            }
            if spent > effort.all_steps {
                return Ok(best.ok_or(reason));
            }
            let mut region = Region::new(setting, *start == setting.graph.entry);
            region.budget = effort.terms;
            region.unroll = inner;
            let mut limits = effort.clone();
            if index + 1 < starts.len() {
                limits.undecided = limits.undecided.min(NEAR);
            }
            if let Some(best) = &best {
                limits.iterations = limits.iterations.min(best.bound);
            }
            limits.all_steps -= spent;
            let mut search = Search::new(region, one, &limits)?;
            let found = search.run(*start)?;
            spent = spent.saturating_add(search.solver.spent());
            match found {
                Ok((mut found, certain)) => {
                    found.evidence = format!("{}, from any state at {}", found.evidence, setting.graph.place(*start));
                    if best.as_ref().is_none_or(|best| found.bound < best.bound || found.reached && !best.reached) {
                        best = Some(found);
                    }
                    if certain {
                        return Ok(best.ok_or(reason));
                    }
                }
                Err(why) => reason = why,
            }
        }
    }
    Ok(best.ok_or(reason))
}

/// Iterations after which a start near the loop is given up, as what is known further back may be needed.
const NEAR: u64 = 130;

/// Which inner loops to execute iteration by iteration: none, then those with small bounds.
fn inner_loops(
    setting: &Setting<'_, '_>,
    one: LoopId,
    known: &dyn Fn(LoopId) -> Option<u64>,
    effort: &Effort,
) -> Vec<BTreeMap<LoopId, u64>> {
    let graph = setting.graph;
    let inside = |id: LoopId| id != one && graph.inside(graph.loops[id].header, one);
    let inner = (0..graph.loops.len()).filter(|id| inside(*id));
    let inner: BTreeMap<LoopId, u64> =
        inner.filter_map(|id| Some((id, known(id).filter(|bound| *bound <= effort.inner)?))).collect();
    let mut ways = vec![BTreeMap::new()];
    if !inner.is_empty() {
        ways.push(inner);
    }
    ways
}

/// Where to start: nodes that every path to the loop passes, the nearest first.
fn starts(setting: &Setting<'_, '_>, one: LoopId) -> Vec<NodeId> {
    let graph = setting.graph;
    let mut found = Vec::new();
    let (mut context, mut inside) = (Some(graph.loops[one].context), graph.loops[one].parent);
    // Entries of the functions around it, and headers of the loops around it, from the inside out.
    loop {
        let entry = context.and_then(|context| graph.node(context, 0));
        match (entry, inside) {
            (Some(entry), _) if graph.innermost(entry) == inside => {
                found.push(entry);
                context = context.and_then(|context| graph.contexts[context].caller).map(|(caller, _)| caller);
            }
            (_, Some(around)) => {
                found.push(graph.loops[around].header);
                inside = graph.loops[around].parent;
            }
            (Some(_), None) => {
                context = context.and_then(|context| graph.contexts[context].caller).map(|(caller, _)| caller);
            }
            (None, None) => break,
        }
    }
    found.dedup();
    found.retain(|start| dominates(graph, *start, graph.loops[one].header));
    // The furthest is the region's entry.
    if found.len() > 6 {
        found.drain(5..found.len() - 1);
    }
    found
}

/// Whether every path to `node` passes `start`.
fn dominates(graph: &wcet_flow::context::Expanded<'_>, start: NodeId, node: NodeId) -> bool {
    let mut seen = vec![false; graph.nodes.len()];
    let mut open = vec![graph.entry];
    while let Some(next) = open.pop() {
        if next == start || std::mem::replace(&mut seen[next], true) {
            continue;
        }
        if next == node {
            return false;
        }
        open.extend(graph.successors(next).iter().map(|edge| graph.edges[*edge].to));
    }
    true
}

struct Search<'e, 'a, 'g> {
    region: Region<'a, 'g>,
    solver: Solver,
    one: LoopId,
    effort: &'e Effort,
}

impl<'e, 'a, 'g> Search<'e, 'a, 'g> {
    fn new(region: Region<'a, 'g>, one: LoopId, effort: &'e Effort) -> Result<Search<'e, 'a, 'g>, SolverError> {
        let mut solver = Solver::start()?;
        solver.limit(effort.steps)?;
        solver.until(effort.deadline);
        Ok(Search { region, solver, one, effort })
    }

    /// The bound, and whether every execution that enters the loop reaches it.
    fn run(&mut self, start: NodeId) -> Result<Result<(Checked, bool), String>, SolverError> {
        let arrival = match arrive(&mut self.region, self.one, start) {
            Ok(Some(arrival)) => arrival,
            Ok(None) => return Ok(Ok((checked(0, false, "model-checked: no path reaches the loop"), true))),
            Err(TooLarge) => return Ok(Err("the way to the loop is too large to be checked".to_string())),
        };
        for fact in self.region.facts.clone() {
            self.solver.assert(&self.region.executor.terms, fact)?;
        }
        let header = self.region.setting.graph.loops[self.one].header;
        // guards[n]: the header executes at least n + 1 times.
        let mut guards = vec![arrival.guard];
        let entered = arrival.guard;
        let mut next = arrival;
        let (mut possible, mut undecided) = (0, 0);
        loop {
            let count = guards.len();
            if next.guard == Terms::FALSE || (count.is_power_of_two() && !self.possible(next.guard)?) {
                break;
            }
            if count.is_power_of_two() {
                possible = count;
            }
            undecided += u64::from(next.guard != entered);
            if count as u64 > self.effort.iterations || undecided > self.effort.undecided {
                return Ok(Err(format!("its header may execute more than {count} times")));
            }
            if self.effort.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(Err(format!("no time was left after {count} iterations")));
            }
            if self.is_spent() {
                return Ok(Err(format!("no effort is left after {count} iterations")));
            }
            let outcome = match self.region.pass(Some(self.one), header, next, &|_| true, None) {
                Ok(outcome) => outcome,
                Err(TooLarge) => return Ok(Err(format!("its formula is too large after {count} iterations"))),
            };
            let back = outcome.back.into_iter().map(|(_, point)| point).collect();
            match self.region.merge(back) {
                Some(point) => next = point,
                None => next = Point { guard: Terms::FALSE, registers: Vec::new() },
            }
            guards.push(next.guard);
        }
        // The header may execute `low` times, and not `high` times.
        let (mut low, mut high) = (possible, guards.len());
        while high - low > 1 {
            // What is not asked may be possible.
            if self.is_spent() {
                low = high - 1;
                break;
            }
            let middle = low + (high - low) / 2;
            if self.possible(guards[middle - 1])? {
                low = middle;
            } else {
                high = middle;
            }
        }
        let last = low.checked_sub(1).map(|at| guards[at]);
        Ok(Ok((self.found(low as u64, last)?, last.is_none_or(|last| last == entered))))
    }

    fn is_spent(&self) -> bool {
        self.solver.spent() > self.effort.all_steps
    }

    /// Whether the guard can hold; also where that is not decided.
    fn possible(&mut self, guard: Term) -> Result<bool, SolverError> {
        if guard == Terms::TRUE {
            return Ok(true);
        }
        let terms = &mut self.region.executor.terms;
        let cone: std::collections::HashSet<Term> = terms.cone(&[guard]).into_iter().collect();
        for fact in self.region.executor.memory.consistency(terms, &|leaf| cone.contains(&leaf)) {
            self.solver.assert(terms, fact)?;
        }
        Ok(!matches!(self.solver.check(terms, &[guard])?, Answer::Unsatisfiable(_)))
    }

    fn found(&mut self, bound: u64, last: Option<Term>) -> Result<Checked, SolverError> {
        let Some(last) = last else {
            return Ok(checked(0, false, "model-checked: no execution reaches the loop"));
        };
        let terms = &self.region.executor.terms;
        let satisfiable = last == Terms::TRUE || self.solver.check(terms, &[last])? == Answer::Satisfiable;
        let reached = satisfiable && is_exact(terms, last);
        let more = bound + 1;
        let evidence = format!("model-checked: a path with {more} iterations is unsatisfiable");
        let evidence = match (satisfiable, reached) {
            (_, true) => format!("{evidence}, with {bound} satisfiable"),
            (true, false) => {
                format!("{evidence}, with {bound} satisfiable where memory or inner loops are not followed")
            }
            _ => format!("{evidence}, with {bound} undecided"),
        };
        Ok(Checked { bound, reached, evidence })
    }
}

fn checked(bound: u64, reached: bool, evidence: &str) -> Checked {
    Checked { bound, reached, evidence: evidence.to_string() }
}

/// Whether a satisfying assignment is a real execution: no leaf stands for code that was not followed.
pub fn is_exact(terms: &Terms, root: Term) -> bool {
    terms.cone(&[root]).into_iter().all(|term| match terms.shape(term) {
        Shape::Leaf(leaf) => {
            matches!(terms.origin(leaf), Origin::Register(_) | Origin::Start(_) | Origin::Memory(_) | Origin::Open)
        }
        _ => true,
    })
}

/// The state in which the loop is entered, if the execution starts before a node that dominates it.
pub(crate) fn arrive(region: &mut Region<'_, '_>, one: LoopId, start: NodeId) -> Result<Option<Point>, TooLarge> {
    let graph = region.setting.graph;
    let target = &graph.loops[one];
    if target.header == start {
        return Ok(Some(region.start(start)));
    }
    // The scopes between the start and the loop, from the outside in.
    let outer: Scope = match graph.loops.iter().position(|around| around.header == start) {
        Some(around) if graph.inside(target.header, around) => Some(around),
        _ => graph.innermost(start),
    };
    let mut loops = vec![one];
    let mut around = target.parent;
    while around != outer {
        let Some(inner) = around else { break };
        loops.push(inner);
        around = graph.loops[inner].parent;
    }
    loops.reverse();
    let (mut scope, mut from) = (outer, start);
    let mut point = region.start(start);
    for (index, stop) in loops.iter().enumerate() {
        if graph.loops[*stop].header == from && index == 0 {
            // The region's entry is the loop's header.
        } else {
            let reaching = reaching(region, scope, *stop);
            let outcome = region.pass(scope, from, point, &|node| reaching.contains(&node), Some(*stop))?;
            match region.merge(outcome.stopped.into_iter().map(|(_, point)| point).collect()) {
                Some(merged) => point = merged,
                None => return Ok(None),
            }
        }
        if *stop != one {
            point = region.any_iteration(*stop, point);
            from = header(graph, Some(*stop));
            scope = Some(*stop);
        }
    }
    Ok(Some(point))
}

/// Nodes of a scope from which a loop in it can be entered.
fn reaching(region: &Region<'_, '_>, scope: Scope, one: LoopId) -> std::collections::HashSet<NodeId> {
    let graph = region.setting.graph;
    let begin = header(graph, scope);
    let mut found = std::collections::HashSet::new();
    let mut open: Vec<NodeId> = graph.loops[one].entries.iter().map(|edge| graph.edges[*edge].from).collect();
    while let Some(node) = open.pop() {
        if !matches!(part(graph, scope, node), Some(found) if found != Part::Loop(one)) || !found.insert(node) {
            continue;
        }
        if node != begin {
            open.extend(graph.predecessors(node).iter().map(|edge| graph.edges[*edge].from));
        }
    }
    found
}
