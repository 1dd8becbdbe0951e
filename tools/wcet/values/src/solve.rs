//! How often a comparison can hold whose operands change by numbers.

use wcet_binary::lift::evaluate::mask;
use wcet_binary::lift::il::Binary;

use crate::execute::{Engine, Watched};
use crate::set::Set;
use crate::state::State;
use crate::term::{shifted, Origin, Root, Term};
use crate::transfer;
use crate::values::Step;
use crate::variable::{between, Variable};

/// How often the header executes at most, if the loop goes on only where the comparison of a counter with a limit that
/// stays holds. `swapped`: the limit is on the left.
pub(crate) fn solve(
    engine: &Engine<'_>,
    exit: &Watched,
    variable: &Variable,
    counter: &Term,
    operation: Binary,
    limit: &Term,
    swapped: bool,
) -> Option<u64> {
    let size = counter.size;
    if size > 8 {
        return None;
    }
    if variable.step == Step::ClearLowest {
        // Each iteration leaves a bit less; the loop goes on while some are left.
        let whole = *counter == variable.header || *counter == variable.back;
        let some = operation == Binary::NotEqual && limit.as_constant() == Some(0) && whole;
        let bits = (128 - variable.first.1.unsigned().1.leading_zeros()).min(8 * u32::from(size));
        let bits = if variable.first.0 == Root::Zero { bits } else { 8 * u32::from(size) };
        let after = u64::from(*counter != variable.back);
        return some.then(|| (u64::from(bits) + after).max(1));
    }
    let (least, most) = match variable.step {
        Step::Add(step) if step != 0 => (step, step),
        Step::Between(low, high) if low > 0 || high < 0 => (low, high),
        _ => return None,
    };
    if let Some(most) = apart(&exit.state, variable, (least, most), counter, operation, limit, swapped) {
        return Some(most);
    }
    // The counter where it is compared, in the first iteration.
    let (root, first) = (variable.first.0, shifted(&variable.first.1, counter.offset));
    let (limit_root, limit) = if root == Root::Zero {
        (Root::Zero, exit.state.numbers(limit))
    } else {
        exit.state.address(limit, engine.world.pointer)
    };
    if root != limit_root || limit.size != first.size {
        return None;
    }
    let (top, half) = (mask(size), (mask(size) >> 1) as i128);
    let up = least > 0;
    // The least distance that one iteration covers.
    let stride = if up { least.unsigned_abs() } else { most.unsigned_abs() };
    let longest = if up { most.unsigned_abs() } else { least.unsigned_abs() };
    let count = |distance: u128| u64::try_from(distance.div_ceil(stride.into()) + 1).ok();
    match (operation, swapped) {
        (Binary::NotEqual, _) => {
            if stride != longest {
                return None;
            }
            let (from, to) = if up { (&first, &limit) } else { (&limit, &first) };
            let distance = transfer::binary(Binary::Subtract, to, from, size);
            let step = u128::from(stride);
            let divides = distance.low % step == 0 && distance.stride % step == 0;
            if !distance.is_straight() || !divides {
                return None;
            }
            count(distance.high)
        }
        // Pointers into one object: it does not wrap around.
        (Binary::Less | Binary::LessEqual, _) if root != Root::Zero => {
            let inclusive = i128::from(operation == Binary::LessEqual);
            if up == swapped {
                return None;
            }
            let distance = if up { limit.signed().1 - first.signed().0 } else { first.signed().1 - limit.signed().0 };
            count((distance + inclusive).max(0) as u128)
        }
        (Binary::Less | Binary::LessEqual, false) if up => {
            let last = limit.unsigned().1.checked_sub(u128::from(operation == Binary::Less));
            let Some(last) = last else { return Some(1) };
            let begin = if first.is_straight() { first.low } else { return None };
            // One step beyond the last value must not wrap around.
            if last + u128::from(longest) > top {
                return None;
            }
            count((last + 1).saturating_sub(begin))
        }
        (Binary::Less | Binary::LessEqual, true) if !up => {
            // limit < counter
            let last = limit.unsigned().0 + u128::from(operation == Binary::Less);
            let begin = if first.is_straight() { first.high } else { return None };
            if last < u128::from(longest) {
                return None;
            }
            count((begin + 1).saturating_sub(last))
        }
        (Binary::LessSigned | Binary::LessEqualSigned, false) if up => {
            let last = limit.signed().1 - i128::from(operation == Binary::LessSigned);
            let begin = first.signed().0;
            if last + i128::from(longest) > half {
                return None;
            }
            count((last + 1 - begin).max(0) as u128)
        }
        (Binary::LessSigned | Binary::LessEqualSigned, true) if !up => {
            let last = limit.signed().0 + i128::from(operation == Binary::LessSigned);
            let begin = first.signed().1;
            if last - i128::from(longest) < -half - 1 {
                return None;
            }
            count((begin + 1 - last).max(0) as u128)
        }
        _ => None,
    }
}

/// The last iteration up to which a counter has not wrapped around, whether or not it was compared: a comparison that does
/// not hold any more does not hold again until then.
pub(crate) fn lasting(variable: &Variable, counter: &Term, operation: Binary, swapped: bool) -> u64 {
    let steps = between(variable.step).filter(|_| counter.size <= 8 && variable.first.0 == Root::Zero);
    let Some((least, most)) = steps else { return 0 };
    let first = shifted(&variable.first.1, counter.offset.wrapping_sub(variable.header.offset));
    let half = (mask(counter.size) >> 1) as i128;
    let room = match operation {
        Binary::Less | Binary::LessEqual if !first.is_straight() => return 0,
        Binary::Less | Binary::LessEqual if !swapped && least > 0 => mask(counter.size) - first.high,
        Binary::Less | Binary::LessEqual if swapped && most < 0 => first.low,
        Binary::LessSigned | Binary::LessEqualSigned if !swapped && least > 0 => (half - first.signed().1) as u128,
        Binary::LessSigned | Binary::LessEqualSigned if swapped && most < 0 => (first.signed().0 + half + 1) as u128,
        _ => return 0,
    };
    let longest = if least > 0 { most.unsigned_abs() } else { least.unsigned_abs() };
    u64::try_from(room / u128::from(longest)).unwrap_or(u64::MAX).saturating_add(1)
}

/// The same where the limit is computed from what the counter is at first: their distance may be known where they are not.
fn apart(
    state: &State,
    variable: &Variable,
    (least, most): (i64, i64),
    counter: &Term,
    operation: Binary,
    limit: &Term,
    swapped: bool,
) -> Option<u64> {
    let (size, up) = (counter.size, least > 0);
    let first = variable.start.plus(counter.offset.wrapping_sub(variable.header.offset));
    if limit.size != size || first.size != size || first.number().is_none() {
        return None;
    }
    let distance = if up { difference(state, limit, &first)? } else { difference(state, &first, limit)? };
    let (stride, longest) =
        (least.unsigned_abs().min(most.unsigned_abs()), least.unsigned_abs().max(most.unsigned_abs()));
    let step = u128::from(stride);
    let count = |distance: u128| u64::try_from(distance.div_ceil(step) + 1).ok();
    match operation {
        Binary::NotEqual => {
            let divides = distance.low % step == 0 && distance.stride % step == 0;
            (stride == longest && distance.is_straight() && divides).then(|| count(distance.high))?
        }
        // Numbers in order, if neither wraps around.
        Binary::Less | Binary::LessEqual if up != swapped => {
            let ((root, first), (other, limit)) = (state.range(&first), state.range(limit));
            let (low, high) = distance.signed();
            let inclusive = i128::from(operation == Binary::LessEqual);
            let room = if up { mask(size) - limit.unsigned().1 } else { limit.unsigned().0 };
            let straight = first.is_straight() && limit.is_straight() && root == Root::Zero && other == Root::Zero;
            (straight && low >= 0 && room > u128::from(longest)).then(|| count((high + inclusive) as u128))?
        }
        _ => None,
    }
}

/// What one term is more than another, where both are computed from the same.
fn difference(state: &State, a: &Term, b: &Term) -> Option<Set> {
    let offset = a.offset.wrapping_sub(b.offset) & mask(a.size);
    if a.number() == b.number() {
        return Some(Set::single(offset, a.size));
    }
    let sum = |term: &Term| match term.symbol.as_ref().map(|symbol| &symbol.origin) {
        Some(Origin::Binary(Binary::Add, x, y)) if x.size == term.size => Some((x.clone(), y.clone())),
        _ => None,
    };
    let (bare_a, bare_b) = (a.plus(a.offset.wrapping_neg()), b.plus(b.offset.wrapping_neg()));
    let plain = |term: &Term| match state.range(term) {
        (Root::Zero, set) => Some(set),
        _ => None,
    };
    if let Some((x, y)) = sum(&bare_a) {
        for (base, rest) in [(&x, &y), (&y, &x)] {
            if base.number().is_some() && base.number() == b.number() {
                return Some(shifted(&plain(rest)?, base.offset.wrapping_add(offset)));
            }
        }
        if let Some((z, w)) = sum(&bare_b) {
            for (base, rest) in [(&x, &y), (&y, &x)] {
                for (other, less) in [(&z, &w), (&w, &z)] {
                    if base.number().is_some() && base.number() == other.number() {
                        let apart = transfer::binary(Binary::Subtract, &plain(rest)?, &plain(less)?, a.size);
                        return Some(shifted(&apart, base.offset.wrapping_sub(other.offset).wrapping_add(offset)));
                    }
                }
            }
        }
    }
    if let Some((z, w)) = sum(&bare_b) {
        for (base, less) in [(&z, &w), (&w, &z)] {
            if base.number().is_some() && base.number() == a.number() {
                let more = transfer::unary(wcet_binary::lift::il::Unary::Negate, &plain(less)?, a.size);
                return Some(shifted(&more, offset.wrapping_sub(base.offset)));
            }
        }
    }
    None
}

/// How often the header executes at most, if the loop goes on only where one variable is below another, and they come
/// closer in each iteration.
pub(crate) fn closing(
    (low, low_term): (&Variable, &Term),
    (high, high_term): (&Variable, &Term),
    operation: Binary,
) -> Option<u64> {
    let size = low_term.size;
    if size > 8 || high_term.size != size || low.first.0 != Root::Zero || high.first.0 != Root::Zero {
        return None;
    }
    let ((up, most_up), (most_down, down)) = (between(low.step)?, between(high.step)?);
    // By how much they come closer at least.
    let closer = u128::try_from(i128::from(up) - i128::from(down)).ok().filter(|closer| *closer > 0)?;
    if up < 0 || down > 0 {
        return None;
    }
    let place =
        |variable: &Variable, term: &Term| shifted(&variable.first.1, term.offset.wrapping_sub(variable.header.offset));
    let (first, last) = (place(low, low_term), place(high, high_term));
    let top = (mask(size) >> 1) as i128;
    let (least, most, bottom, top) = match operation {
        Binary::LessSigned | Binary::LessEqualSigned => (first.signed().0, last.signed().1, -top - 1, top),
        Binary::Less | Binary::LessEqual if first.is_straight() && last.is_straight() => {
            (first.low as i128, last.high as i128, 0, mask(size) as i128)
        }
        _ => return None,
    };
    let inclusive = i128::from(matches!(operation, Binary::LessEqual | Binary::LessEqualSigned));
    // As long as they are in order, each is on its side of the other's ends; one step beyond must not wrap around.
    let apart = 1 - inclusive;
    if most - apart + i128::from(most_up) > top || least + apart + i128::from(most_down) < bottom {
        return None;
    }
    let distance = (most - least + inclusive).max(0) as u128;
    u64::try_from(distance.div_ceil(closer) + 1).ok()
}
