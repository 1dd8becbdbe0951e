//! Variables that an operation takes to an end in few iterations: halved, divided, multiplied, shifted out.
//!
//! The values that a variable has in iteration 1, 2, 3, and so on, are followed as sets through what an iteration makes
//! of it, as long as the loop can go on for them.

use wcet_binary::lift::il::Binary;

use crate::set::Set;
use crate::state::State;
use crate::term::{shifted, Origin, Root, Term};
use crate::transfer;
use crate::variable::Variable;

/// Iterations that are followed.
const LONGEST: u64 = 160;
/// Origins are followed this far.
const DEEP: u8 = 10;

/// How often the header executes at most, if the loop goes on only where a comparison holds. `ends` are the states at
/// the header and behind an iteration.
pub(crate) fn outlasts(
    variable: &Variable,
    (operation, a, b): (Binary, &Term, &Term),
    exit: &State,
    (header, back): (&State, &State),
) -> Option<u64> {
    let number = variable.header.number()?;
    let plain = variable.header.offset == 0 && header.range(&variable.header).0 == Root::Zero;
    if !plain || variable.header.size > 8 || !(is_made_of(a, number, DEEP) || is_made_of(b, number, DEEP)) {
        return None;
    }
    let always = header.numbers(&variable.header);
    let first = match variable.first {
        (Root::Zero, set) => set,
        _ => Set::full(variable.header.size),
    };
    let mut now = first.meet(&always)?;
    for iteration in 1..LONGEST {
        let (left, right) = (image(exit, a, number, &now, DEEP), image(exit, b, number, &now, DEEP));
        let Some((left, right)) = transfer::refine(operation, &left, &right) else { return Some(iteration) };
        // What the comparison told of the variable, or already of the next value.
        let mut next = None;
        for (term, set) in [(a, left), (b, right)] {
            if term.number() == Some(number) && term.size == now.size {
                match now.meet(&shifted(&set, term.offset.wrapping_neg())) {
                    Some(left) => now = left,
                    None => return Some(iteration),
                }
            } else if term.number().is_some() && term.number() == variable.back.number() && term.size == now.size {
                next = Some(shifted(&set, variable.back.offset.wrapping_sub(term.offset)));
            }
        }
        let made = image(back, &variable.back, number, &now, DEEP);
        let made = match next {
            Some(next) => made.meet(&next),
            None => Some(made),
        };
        // Nothing comes back to the header.
        let Some(made) = made.and_then(|made| made.meet(&always)) else { return Some(iteration) };
        if made.includes(&now) {
            return None;
        }
        now = made;
    }
    None
}

/// Whether a term is computed from the symbol of this number.
fn is_made_of(term: &Term, number: u64, depth: u8) -> bool {
    let Some(symbol) = &term.symbol else { return false };
    if symbol.number == number {
        return true;
    }
    if depth == 0 {
        return false;
    }
    let made = |term: &Term| is_made_of(term, number, depth - 1);
    match &symbol.origin {
        Origin::Opaque => false,
        Origin::Unary(_, a) | Origin::Extract(a, _) => made(a),
        Origin::Binary(_, a, b) | Origin::Concat(a, b) => made(a) || made(b),
        Origin::Select(when, a, b) => made(when) || made(a) || made(b),
    }
}

/// The values of a term where the symbol of this number has these.
fn image(state: &State, term: &Term, number: u64, values: &Set, depth: u8) -> Set {
    let all = state.numbers(term);
    let Some(symbol) = &term.symbol else { return all };
    if symbol.number == number {
        let here = shifted(values, term.offset);
        return here.meet(&all).unwrap_or(here);
    }
    if depth == 0 || symbol.size > 16 || symbol.root != Root::Zero {
        return all;
    }
    let get = |term: &Term| image(state, term, number, values, depth - 1);
    let made = match &symbol.origin {
        Origin::Opaque => return all,
        Origin::Unary(operation, a) => transfer::unary(*operation, &get(a), symbol.size),
        Origin::Binary(operation, a, b) => transfer::binary(*operation, &get(a), &get(b), symbol.size),
        Origin::Extract(a, at) => transfer::extract(&get(a), *at, symbol.size),
        Origin::Concat(high, low) => transfer::concat(&get(high), &get(low)),
        Origin::Select(when, then, otherwise) => {
            let truth = get(when);
            match truth.as_single() {
                Some(0) => get(otherwise),
                Some(_) => get(then),
                None => get(then).join(&get(otherwise)),
            }
        }
    };
    let made = shifted(&made, term.offset);
    // Where they have nothing in common this is not reached.
    made.meet(&all).unwrap_or(made)
}
