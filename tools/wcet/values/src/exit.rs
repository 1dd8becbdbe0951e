//! How often the loop goes on at one of its exits: what the comparisons there say of the loop's variables.

use std::collections::HashSet;

use wcet_binary::lift::evaluate::mask;
use wcet_binary::lift::il::Binary;

use crate::execute::{Engine, Watched};
use crate::geometric::outlasts;
use crate::loop_invariants::{depends, is_same, is_the_same_always};
use crate::necessary_comparisons::{needs, peel, MOST_NESTED};
use crate::set::Set;
use crate::solve::{closing, lasting, solve};
use crate::state::State;
use crate::term::{Root, Term};
use crate::values::Step;
use crate::variable::Variable;

/// An exit that is passed in each iteration lets the header execute so often at most. An exit that is passed now and then
/// still ends the loop in iteration `lasts`, or in one before from `most` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    pub most: u64,
    pub lasts: u64,
}

pub(crate) type Failure = (String, Option<String>);

/// How often the header executes at most, if the loop goes on only where the condition is `stays`: one limit at least.
/// `ends` are the states at the header and behind an iteration.
pub(crate) fn bound(
    engine: &Engine<'_>,
    exit: &Watched,
    stays: bool,
    ends: (&State, &State),
    variables: &[Variable],
    phis: &HashSet<u64>,
) -> Result<Vec<Limit>, Failure> {
    let place = engine.expanded.place(engine.expanded.edges[exit.edge].from);
    let mut needed = Vec::new();
    needs(&exit.state, &exit.condition, stays, MOST_NESTED, &mut needed);
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

/// Whether the term is what is left of a variable of which the lowest bit is cleared.
fn cleared(variable: &Variable, term: &Term) -> bool {
    variable.step == Step::ClearLowest && *term == variable.back
}
