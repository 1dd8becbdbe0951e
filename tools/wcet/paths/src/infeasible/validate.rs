//! Whether what people state is so. A claim that is not proven is not used: it fails the run, with a counterexample
//! where there is one.
//!
//! Each invocation of the function is executed on terms, in each calling context, from any state that is possible there:
//! loops that contain one of the places iteration by iteration, as often as their bounds say, other loops replaced by
//! what they may change. The guards of the places then say whether, or how often, they are executed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::ipet::{Conflict as Together, Constraints, Limit};
use wcet_flow::context::{ContextId, EdgeId, LoopId, NodeId};
use wcet_symbolic::{is_exact, Answer, Origin, Region, Setting, Shape, Solver, SolverError, Term, Terms};

use crate::infeasible::search::prepare;
use crate::infeasible::stated::{Claim, Stated};

/// A run that a claim forbids.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Run {
    /// The chain of calls that leads to the invocation.
    pub chain: Vec<String>,
    /// Registers at its start that matter, by name.
    pub registers: Vec<(String, u128)>,
    /// Memory at its start that matters: address, bytes, value.
    pub memory: Vec<(u128, u16, u128)>,
    /// The edges that it takes.
    pub path: Vec<EdgeId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    Proven,
    Refuted(Run),
    /// Not proven; why.
    Open(String),
}

/// What may be spent on a claim; what is not decided with it is open.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// The solver's own steps, for each question.
    pub steps: u64,
    pub deadline: Option<Instant>,
}

/// Checks a claim in all contexts.
pub fn validate(
    setting: &Setting<'_, '_>,
    stated: &Stated,
    bounds: &BTreeMap<LoopId, u64>,
    effort: Effort,
) -> Result<Verdict, SolverError> {
    for start in starts(setting, &stated.claim) {
        // Other loops matter rarely; they are followed where it is not decided without.
        let mut verdict = check(setting, &stated.claim, start, bounds, 0, effort)?;
        if matches!(verdict, Verdict::Open(_)) {
            verdict = check(setting, &stated.claim, start, bounds, FOLLOWED, effort)?;
        }
        if verdict != Verdict::Proven {
            return Ok(verdict);
        }
    }
    Ok(Verdict::Proven)
}

/// Bounds up to which loops are followed that do not contain one of the places.
const FOLLOWED: u64 = 40;

/// The contexts in which a claim is about something; none stands for the whole region.
fn starts(setting: &Setting<'_, '_>, claim: &Claim) -> Vec<Option<ContextId>> {
    let graph = setting.graph;
    match claim {
        Claim::Executes { .. } => vec![None],
        Claim::Conflicts { function, a, b } | Claim::Consistent { function, a, b } => {
            let contexts = (0..graph.contexts.len()).filter(|context| graph.contexts[*context].function == *function);
            let concerned = |context: &ContextId| {
                [a, b].into_iter().any(|place| !places(setting, Some(*context), *place).is_empty())
            };
            contexts.filter(concerned).map(Some).collect()
        }
    }
}

/// Nodes, of a context and what it calls, that execute an instruction.
fn places(setting: &Setting<'_, '_>, context: Option<ContextId>, place: u64) -> Vec<NodeId> {
    let graph = setting.graph;
    let inside = |node: &NodeId| within(setting, graph.nodes[*node].context, context);
    let there = |node: &NodeId| graph.instructions(*node).iter().any(|one| one.address == place);
    graph.order().filter(there).filter(inside).collect()
}

/// Whether a context is an outer one, or in a chain of calls from it.
fn within(setting: &Setting<'_, '_>, inner: ContextId, outer: Option<ContextId>) -> bool {
    let Some(outer) = outer else { return true };
    let contexts = &setting.graph.contexts;
    std::iter::successors(Some(inner), |one| contexts[*one].caller.map(|(caller, _)| caller)).any(|one| one == outer)
}

fn check(
    setting: &Setting<'_, '_>,
    claim: &Claim,
    context: Option<ContextId>,
    bounds: &BTreeMap<LoopId, u64>,
    followed: u64,
    effort: Effort,
) -> Result<Verdict, SolverError> {
    let graph = setting.graph;
    let from = match context {
        Some(context) => graph.node(context, 0),
        None => Some(graph.entry),
    };
    let Some(from) = from else {
        return Ok(Verdict::Open("the region begins in the middle of an invocation".to_string()));
    };
    let (a, b) = match claim {
        Claim::Conflicts { a, b, .. } | Claim::Consistent { a, b, .. } => {
            (places(setting, context, *a), places(setting, context, *b))
        }
        Claim::Executes { place, .. } => (places(setting, context, *place), Vec::new()),
    };
    let mut region = Region::new(setting, from == graph.entry);
    for node in a.iter().chain(&b) {
        for one in graph.around(*node).filter(|one| within(setting, graph.loops[*one].context, context)) {
            let Some(bound) = bounds.get(&one) else {
                return Ok(Verdict::Open(format!("the loop at {} has no bound", graph.place(graph.loops[one].header))));
            };
            region.unroll.insert(one, *bound);
        }
    }
    for (one, bound) in bounds {
        let inside = graph.loops.get(*one).is_some_and(|found| within(setting, found.context, context));
        if *bound <= followed && inside {
            region.unroll.insert(*one, *bound);
        }
    }
    // Loops of the invocation itself are entered in it; those around it are not.
    let scope = graph.around(from).find(|one| !within(setting, graph.loops[*one].context, context));
    let point = region.start(from);
    let keep = |node: NodeId| within(setting, graph.nodes[node].context, context);
    if region.pass(scope, from, point, &keep, None).is_err() {
        return Ok(Verdict::Open("its formula is too large".to_string()));
    }
    let guards = |nodes: &[NodeId]| -> Vec<Term> {
        nodes.iter().flat_map(|node| region.executed.get(node).cloned().unwrap_or_default()).collect()
    };
    let (of_a, of_b) = (guards(&a), guards(&b));
    let terms = &mut region.executor.terms;
    let against = match claim {
        Claim::Conflicts { .. } => {
            let any = |terms: &mut Terms, guards: &[Term]| {
                guards.iter().fold(Terms::FALSE, |all, guard| terms.either(all, *guard))
            };
            let (some_a, some_b) = (any(terms, &of_a), any(terms, &of_b));
            terms.both(some_a, some_b)
        }
        Claim::Consistent { .. } => {
            let (count_a, count_b) = (count(terms, &of_a), count(terms, &of_b));
            let equal = terms.equal(count_a, count_b);
            terms.not(equal)
        }
        Claim::Executes { at_most, .. } => {
            let (count, most) = (count(terms, &of_a), terms.number(u128::from(*at_most), 32));
            terms.less(most, count)
        }
    };
    decide(region, against, context, effort)
}

/// How many of the guards hold.
fn count(terms: &mut Terms, guards: &[Term]) -> Term {
    let zero = terms.number(0, 32);
    guards.iter().fold(zero, |sum, guard| {
        let bit = terms.bit(*guard, 32);
        terms.binary(wcet_symbolic::Operation::Add, sum, bit)
    })
}

/// Whether what speaks against a claim can be.
fn decide(
    mut region: Region<'_, '_>,
    against: Term,
    context: Option<ContextId>,
    effort: Effort,
) -> Result<Verdict, SolverError> {
    if against == Terms::FALSE {
        return Ok(Verdict::Proven);
    }
    let mut solver = Solver::start()?;
    solver.limit(effort.steps)?;
    solver.until(effort.deadline);
    prepare(&mut region, &mut solver, &[against])?;
    match solver.check(&region.executor.terms, &[against])? {
        Answer::Unsatisfiable(_) => return Ok(Verdict::Proven),
        Answer::Undecided => return Ok(Verdict::Open("the solver does not decide it within its limit".to_string())),
        Answer::Satisfiable => {}
    }
    // A run is shown only if everything on it was followed.
    let guards: Vec<Term> = region.trace.iter().map(|(_, guard)| *guard).collect();
    let mut solver = Solver::start()?;
    solver.limit(effort.steps)?;
    solver.until(effort.deadline);
    let all: Vec<Term> = guards.iter().copied().chain([against]).collect();
    prepare(&mut region, &mut solver, &all)?;
    let terms = &region.executor.terms;
    for guard in &guards {
        solver.mention(terms, *guard)?;
    }
    let satisfiable = solver.check(terms, &[against])? == Answer::Satisfiable;
    if !satisfiable || !is_exact(terms, against) {
        let why = "an execution against it is possible for all that is known; code or memory on it was not followed";
        return Ok(Verdict::Open(why.to_string()));
    }
    let model = solver.model(terms, &all)?;
    Ok(Verdict::Refuted(run(&region, &model, against, context)))
}

fn run(region: &Region<'_, '_>, model: &BTreeMap<u32, u128>, against: Term, context: Option<ContextId>) -> Run {
    let terms = &region.executor.terms;
    let leaf = |number: u32| model.get(&number).copied().unwrap_or(0);
    let holds = |guard: Term| terms.value(guard, &leaf) == Some(1);
    let path: Vec<EdgeId> = region.trace.iter().filter(|(_, guard)| holds(*guard)).map(|(edge, _)| *edge).collect();
    let mut found = Run { path, ..Run::default() };
    let chain = context.map(|context| region.setting.graph.chain(context)).unwrap_or_default();
    found.chain = chain.into_iter().map(str::to_string).collect();
    let mut memory = BTreeSet::new();
    for term in terms.cone(&[against]) {
        let Shape::Leaf(number) = terms.shape(term) else { continue };
        match terms.origin(number) {
            Origin::Register(register) | Origin::Start(register) => {
                found.registers.push((region.executor.table.name(register).to_string(), leaf(number)));
            }
            Origin::Memory(address) => {
                let address = terms.value(address, &leaf).unwrap_or(0);
                memory.insert((address, terms.width(term) / 8, leaf(number)));
            }
            _ => {}
        }
    }
    found.memory = memory.into_iter().collect();
    found
}

/// Adds what a proven claim says to the constraints of the path search.
pub fn apply(setting: &Setting<'_, '_>, claim: &Claim, constraints: &mut Constraints) {
    let graph = setting.graph;
    // Executions of nodes, as edges to them; and whether the region's entry is one of them.
    let into = |nodes: &[NodeId]| -> Vec<EdgeId> {
        nodes.iter().flat_map(|node| graph.predecessors(*node).iter().copied()).collect()
    };
    let begins = |nodes: &[NodeId]| i64::from(nodes.contains(&graph.entry));
    let mut limit = |plus: &[NodeId], minus: &[NodeId], at_most: i64| {
        let mut terms: BTreeMap<EdgeId, i64> = BTreeMap::new();
        into(plus).into_iter().for_each(|edge| *terms.entry(edge).or_default() += 1);
        into(minus).into_iter().for_each(|edge| *terms.entry(edge).or_default() -= 1);
        terms.retain(|_, factor| *factor != 0);
        constraints.limits.push(Limit { terms, at_most: at_most - begins(plus) + begins(minus) });
    };
    for context in starts(setting, claim) {
        match claim {
            Claim::Executes { place, at_most } => {
                limit(&places(setting, context, *place), &[], i64::try_from(*at_most).unwrap_or(i64::MAX));
            }
            Claim::Consistent { a, b, .. } => {
                let (a, b) = (places(setting, context, *a), places(setting, context, *b));
                limit(&a, &b, 0);
                limit(&b, &a, 0);
            }
            Claim::Conflicts { .. } => {}
        }
    }
    let Claim::Conflicts { a, b, .. } = claim else { return };
    for context in starts(setting, claim) {
        let Some(from) = context.and_then(|context| graph.node(context, 0)) else { continue };
        // The invocation happens at most once in an iteration of the loop around it.
        let scope = graph.around(from).find(|one| !within(setting, graph.loops[*one].context, context));
        let (a, b) = (places(setting, context, *a), places(setting, context, *b));
        for one in into(&a) {
            for other in into(&b) {
                constraints.conflicts.push(Together { scope, edges: vec![one, other] });
            }
        }
        if begins(&a) + begins(&b) > 0 {
            let rest = if begins(&a) > 0 { into(&b) } else { into(&a) };
            constraints.dead.extend(rest);
        }
    }
}
