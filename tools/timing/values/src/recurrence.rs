//! How a loop's variables change from one iteration to the next, and how often the loop can run for that.
//!
//! At the header some symbols stand for another value in each iteration. What the back edge brings for such a symbol,
//! written in terms of the header's symbols, is its recurrence: `P + 4`, `P >> 1`, `P & (P - 1)` (`variable.rs`). Each
//! comparison that must hold for the loop to go on, of a linear variable with something that stays the same or comes
//! closer (`solve.rs`), or of what an operation soon takes to an end (`geometric.rs`), gives a limit for the exit where it
//! is made. An exit that every iteration passes gives a bound; so do several, one of which every iteration passes, in the
//! iteration from which on none of them lets anyone by. The smallest counts.

use std::collections::{BTreeSet, HashSet};

use timing_context::{EdgeKind, LoopId, NodeId};
use timing_lift::evaluate::{mask, signed};
use timing_lift::il::{Binary, Unary};

use crate::execute::{Engine, Watched};
use crate::geometric::outlasts;
use crate::record;
use crate::set::Set;
use crate::solve::{closing, lasting, solve};
use crate::state::{is_comparison, State};
use crate::term::{Origin, Root, Term};
use crate::values::{Counter, Run, Step};
use crate::variable::{variables, Variable};

/// Bounds from here on only tell how wide a register is.
const HOPELESS: u128 = 1 << 31;
/// Conditions are taken apart this far.
const APART: u8 = 6;

/// A bound on the iterations of a loop from an invariant: `header` is the state at the header, `back` at the back edge.
pub(crate) fn infer(
    engine: &Engine<'_>,
    one: LoopId,
    entry: &State,
    header: &State,
    phis: &HashSet<u64>,
    back: Option<&State>,
    watched: &[Watched],
) -> Run {
    let mut run = Run::default();
    let Some(back) = back else {
        run.most = Some(1);
        return run;
    };
    let variables = variables(engine, entry, header, phis, back);
    run.counters = variables
        .iter()
        .map(|one| Counter {
            place: one.place.clone(),
            first: record::range(one.first.0, &one.first.1),
            all: {
                let (root, set) = header.range(&one.header);
                record::range(root, &set)
            },
            step: one.step,
        })
        .collect();
    let mut reasons = Vec::new();
    let mut passed = Vec::new();
    for exit in watched {
        let from = engine.expanded.edges[exit.edge].from;
        // Once an iteration only: not inside an inner loop.
        if engine.expanded.innermost(from) != Some(one) {
            continue;
        }
        // Where the branch leads back, the loop is left if it is not taken.
        let leaves = !engine.expanded.inside(engine.expanded.edges[exit.edge].to, one);
        let stays = if leaves { !exit.truth } else { exit.truth };
        // Only if no way on is open to the other truth.
        let ways = engine.expanded.successors(from).iter().map(|edge| engine.expanded.edges[*edge]);
        let mut inside = ways.filter(|way| engine.expanded.inside(way.to, one));
        if inside.any(|way| (way.kind != EdgeKind::Next) != stays) {
            continue;
        }
        let always = are_passed_always(engine, one, &[from]);
        match bound(engine, exit, stays, (header, back), &variables, phis) {
            Ok(limits) => {
                let most = limits.iter().map(|limit| limit.most).min();
                if most.is_some_and(|most| u128::from(most) >= HOPELESS) {
                    reasons.push(("the counter may run through all its values".to_string(), None));
                    continue;
                }
                if let Some(most) = most.filter(|_| always) {
                    run.most = Some(run.most.map_or(most, |known| known.min(most)));
                }
                passed.push((exit.edge, leaves, limits));
            }
            Err(reason) if always => reasons.push(reason),
            Err(_) => {}
        }
    }
    // Or each iteration passes one exit or another, and none of them can be passed by any more from some iteration on.
    let every: BTreeSet<u64> = passed.iter().flat_map(|(.., limits)| limits).map(|limit| limit.most).collect();
    for last in every.into_iter().filter(|last| run.most.is_none_or(|most| *last < most)) {
        let holds = |limit: &Limit| limit.most <= last && last <= limit.lasts;
        let closed = passed.iter().filter(|(.., limits)| limits.iter().any(holds));
        let nodes: Vec<NodeId> = closed.map(|(edge, ..)| engine.expanded.edges[*edge].from).collect();
        if are_passed_always(engine, one, &nodes) {
            run.most = Some(last);
            break;
        }
    }
    if let Some(most) = run.most {
        let leave =
            passed.iter().filter(|(_, leaves, limits)| *leaves && limits.iter().any(|limit| limit.most <= most));
        run.exits.extend(leave.map(|(edge, ..)| (*edge, 1, most)));
    }
    if run.most.is_none() {
        let exits = engine.expanded.loops[one].nodes.iter().flat_map(|node| engine.expanded.successors(*node));
        let leaves = exits.into_iter().any(|edge| !engine.expanded.inside(engine.expanded.edges[*edge].to, one));
        let leaves = leaves || engine.shapes[one].ends;
        let (reason, least) = reasons.into_iter().next().unwrap_or_else(|| {
            let reason = if leaves {
                "no exit that every iteration passes depends on a counter"
            } else {
                "nothing leads out of it"
            };
            (reason.to_string(), None)
        });
        run.reason = Some(reason);
        run.least = least;
    }
    run
}

/// Whether every iteration that comes back to the header passes one of these nodes.
fn are_passed_always(engine: &Engine<'_>, one: LoopId, nodes: &[NodeId]) -> bool {
    let header = engine.expanded.loops[one].header;
    if nodes.contains(&header) {
        return true;
    }
    let mut seen = HashSet::from([header]);
    let mut open = vec![header];
    while let Some(at) = open.pop() {
        for edge in engine.expanded.successors(at) {
            let to = engine.expanded.edges[*edge].to;
            if to == header {
                return false;
            }
            if !nodes.contains(&to) && engine.expanded.inside(to, one) && seen.insert(to) {
                open.push(to);
            }
        }
    }
    true
}

/// An exit that is passed in each iteration lets the header execute so often at most. An exit that is passed now and then
/// still lets no one pass by in iteration `lasts`, or in one before from `most` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limit {
    most: u64,
    lasts: u64,
}

type Failure = (String, Option<String>);

/// How often the header executes at most, if the loop goes on only where the condition is `stays`: one limit at least.
/// `ends` are the states at the header and behind an iteration.
fn bound(
    engine: &Engine<'_>,
    exit: &Watched,
    stays: bool,
    ends: (&State, &State),
    variables: &[Variable],
    phis: &HashSet<u64>,
) -> Result<Vec<Limit>, Failure> {
    let place = engine.expanded.place(engine.expanded.edges[exit.edge].from);
    let mut needed = Vec::new();
    needs(&exit.state, &exit.condition, stays, APART, &mut needed);
    // Each of them must hold for the loop to go on.
    let mut limits = Vec::new();
    let mut failure = None;
    for (operation, a, b) in needed {
        match compared(engine, exit, (operation, &a, &b), ends, variables, phis, &place) {
            Ok(found) => limits.extend(found),
            Err(reason) => failure = failure.or(Some(reason)),
        }
    }
    let compares_nothing = || (format!("the exit at {place} does not compare two values"), None);
    if limits.is_empty() {
        return Err(failure.unwrap_or_else(compares_nothing));
    }
    Ok(limits)
}

/// The comparisons all of which hold where a condition is `truth`.
fn needs(state: &State, condition: &Term, truth: bool, depth: u8, found: &mut Vec<(Binary, Term, Term)>) {
    if depth == 0 {
        return;
    }
    let mut more = |term: &Term, truth: bool| needs(state, term, truth, depth - 1, found);
    match condition.origin() {
        Origin::Unary(Unary::BoolNot, inner) => more(inner, !truth),
        Origin::Unary(Unary::ZeroExtend, inner) if inner.size == 1 => more(inner, truth),
        Origin::Binary(Binary::And, a, b) if truth && condition.size == 1 && are_flags(a, b) => {
            more(a, true);
            more(b, true);
        }
        Origin::Binary(Binary::Or, a, b) if !truth && condition.size == 1 && are_flags(a, b) => {
            more(a, false);
            more(b, false);
        }
        Origin::Select(when, then, otherwise) => {
            let can = |term: &Term| {
                let set = state.numbers(term);
                if truth {
                    set.as_single() != Some(0)
                } else {
                    set.contains(0)
                }
            };
            if !can(otherwise) {
                more(when, true);
                more(then, truth);
            } else if !can(then) {
                more(when, false);
                more(otherwise, truth);
            }
        }
        Origin::Binary(operation, a, b) if condition.size == 1 && is_comparison(*operation) => {
            let (operation, a, b) = match (*operation, truth) {
                (operation, true) => (operation, a, b),
                (Binary::Equal, _) => (Binary::NotEqual, a, b),
                (Binary::NotEqual, _) => (Binary::Equal, a, b),
                (Binary::Less, _) => (Binary::LessEqual, b, a),
                (Binary::LessEqual, _) => (Binary::Less, b, a),
                (Binary::LessSigned, _) => (Binary::LessEqualSigned, b, a),
                (Binary::LessEqualSigned, _) => (Binary::LessSigned, b, a),
                _ => return,
            };
            found.push((operation, a.clone(), b.clone()));
        }
        _ => {}
    }
}

/// Whether both are 0 or 1.
fn are_flags(a: &Term, b: &Term) -> bool {
    [a, b].into_iter().all(|term| term.size == 1 && term.widest().unsigned().1 <= 1)
}

/// How often the header executes at most, if the loop goes on only where a comparison holds.
fn compared(
    engine: &Engine<'_>,
    exit: &Watched,
    (operation, a, b): (Binary, &Term, &Term),
    ends: (&State, &State),
    variables: &[Variable],
    phis: &HashSet<u64>,
    place: &str,
) -> Result<Vec<Limit>, Failure> {
    let fail = |what: &str| (format!("the exit at {place} {what}"), None);
    let mut failure = None;
    let mut found: Vec<Limit> = Vec::new();
    let whole = [(operation, a.clone(), b.clone(), false), (operation, b.clone(), a.clone(), true)];
    // What is left without extensions may be a variable where the whole is not, and the other way about.
    let peeled = whole.clone().map(|(operation, counter, limit, swapped)| {
        let (counter, limit, operation) = peel(&counter, &limit, &exit.state, operation);
        (operation, counter, limit, swapped)
    });
    for (operation, counter, limit, swapped) in peeled.into_iter().chain(whole) {
        let of = |term: &Term| variables.iter().find(|one| is_same(&one.header, term) || cleared(one, term));
        let Some(variable) = of(&counter) else { continue };
        if let Some(other) = of(&limit).filter(|_| !swapped) {
            if let Some(most) = closing((variable, &counter), (other, &limit), operation) {
                found.push(Limit { most, lasts: 0 });
                continue;
            }
        }
        let moves = depends(&limit, phis, 8) || operation == Binary::NotEqual && !is_the_same_always(&limit, phis, 8);
        if moves {
            failure = Some(fail(&format!("compares {} with something that changes too", variable.place)));
            continue;
        }
        match solve(engine, exit, variable, &counter, operation, &limit, swapped) {
            Some(most) => found.push(Limit { most, lasts: lasting(variable, &counter, operation, swapped) }),
            None => failure = Some(unsolved(place, variable, &exit.state, &limit)),
        }
    }
    // Whatever it is that each iteration makes of a variable.
    if found.is_empty() {
        let outlasts = |one| outlasts(one, (operation, a, b), &exit.state, ends);
        found.extend(variables.iter().filter_map(outlasts).map(|most| Limit { most, lasts: 0 }));
    }
    if found.is_empty() {
        return Err(failure.unwrap_or_else(|| {
            let least = format!("how often the exit at {place} is passed by");
            (format!("the exit at {place} depends on a value that changes irregularly"), Some(least))
        }));
    }
    Ok(found)
}

/// Whether two terms are the same part of the same symbol, or the same symbol, whatever is added.
fn is_same(a: &Term, b: &Term) -> bool {
    if a.size != b.size || a.number().is_none() {
        return false;
    }
    let part = |term: &Term| match term.symbol.as_ref().map(|symbol| &symbol.origin) {
        Some(Origin::Extract(whole, 0)) if whole.offset == 0 => whole.number(),
        _ => None,
    };
    a.number() == b.number() || part(a).is_some() && part(a) == part(b)
}

/// Why a comparison gives no bound, and what would help.
fn unsolved(place: &str, variable: &Variable, state: &State, limit: &Term) -> Failure {
    let name = &variable.place;
    let describe = |(root, set): (Root, Set)| match root {
        _ if set.span() >= mask(set.size) >> 1 => "may be anything".to_string(),
        Root::Zero if set.as_single().is_some() => format!("is {:#x}", set.low),
        Root::Zero => format!("is from {:#x} to {:#x}", set.low, set.high),
        Root::Stack => "is an address on the stack".to_string(),
        Root::Symbol(_) => "may be anything".to_string(),
    };
    let (begin, end) = (describe(variable.first), describe(state.range(limit)));
    let step = match variable.step {
        Step::Add(step) => format!("changes by {step}"),
        Step::Between(low, high) => format!("changes by {low} to {high}"),
        _ => "changes irregularly".to_string(),
    };
    let reason =
        format!("the exit at {place} compares {name}, which at first {begin} and {step}, with a value that {end}");
    let least = match (begin.ends_with("anything"), end.ends_with("anything")) {
        (_, true) => format!("the largest value with which {name} is compared at {place}"),
        (true, _) => format!("the values of {name} at the entry of the loop"),
        _ => format!("how often the exit at {place} is passed by"),
    };
    (reason, Some(least))
}

/// Whether a term has one value as long as the loop runs.
fn is_the_same_always(term: &Term, phis: &HashSet<u64>, depth: u8) -> bool {
    let Some(symbol) = &term.symbol else { return true };
    if phis.iter().all(|phi| symbol.number < *phi) {
        return true;
    }
    if depth == 0 || phis.contains(&symbol.number) {
        return false;
    }
    let same = |term: &Term| is_the_same_always(term, phis, depth - 1);
    match &symbol.origin {
        Origin::Opaque => false,
        Origin::Unary(_, a) | Origin::Extract(a, _) => same(a),
        Origin::Binary(_, a, b) | Origin::Concat(a, b) => same(a) && same(b),
        Origin::Select(a, b, c) => same(a) && same(b) && same(c),
    }
}

/// Whether the term is what is left of a variable of which the lowest bit is cleared.
fn cleared(variable: &Variable, term: &Term) -> bool {
    variable.step == Step::ClearLowest && *term == variable.back
}

/// Both sides without what keeps their order, extensions for instance, and how these then compare.
fn peel(counter: &Term, limit: &Term, state: &State, operation: Binary) -> (Term, Term, Binary) {
    let (mut counter, mut limit, mut operation) = (counter.clone(), limit.clone(), operation);
    loop {
        let Some(number) = limit.as_constant() else { return (counter, limit, operation) };
        let next = match counter.origin() {
            Origin::Unary(Unary::ZeroExtend, inner) if number <= mask(inner.size) => {
                // What is extended so is not negative, whatever the half's upper bit says.
                operation = match operation {
                    Binary::LessSigned => Binary::Less,
                    Binary::LessEqualSigned => Binary::LessEqual,
                    other => other,
                };
                (inner.clone(), Term::constant(number, inner.size))
            }
            Origin::Unary(Unary::SignExtend, inner)
                if !matches!(operation, Binary::Less | Binary::LessEqual)
                    && signed(number & mask(inner.size), inner.size) == signed(number, counter.size) =>
            {
                (inner.clone(), Term::constant(number, inner.size))
            }
            Origin::Extract(inner, 0)
                if matches!(operation, Binary::Equal | Binary::NotEqual | Binary::Less | Binary::LessEqual)
                    && state.numbers(inner).unsigned().1 <= mask(counter.size) =>
            {
                (inner.clone(), Term::constant(number, inner.size))
            }
            _ => return (counter, limit, operation),
        };
        (counter, limit) = next;
    }
}

/// Whether a term is made of symbols that change.
fn depends(term: &Term, phis: &HashSet<u64>, depth: u8) -> bool {
    let Some(symbol) = &term.symbol else { return false };
    if phis.contains(&symbol.number) {
        return true;
    }
    if phis.iter().all(|phi| symbol.number < *phi) {
        // Older than the loop.
        return false;
    }
    match &symbol.origin {
        // Made in the loop from nothing known: it may be another value each time, which its set covers.
        Origin::Opaque => false,
        _ if depth == 0 => true,
        Origin::Unary(_, a) | Origin::Extract(a, _) => depends(a, phis, depth - 1),
        Origin::Binary(_, a, b) | Origin::Concat(a, b) => depends(a, phis, depth - 1) || depends(b, phis, depth - 1),
        Origin::Select(a, b, c) => [a, b, c].into_iter().any(|one| depends(one, phis, depth - 1)),
    }
}
