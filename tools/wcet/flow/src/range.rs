//! Which numbers a term may be, by its form and by the conditions on a path; and from that, where a jump may go.

use std::collections::BTreeSet;

use wcet_binary::lift::il::{Binary, Unary};
use wcet_binary::load::Program;

use crate::evaluate::mask;
use crate::term::{Number, Term};

/// More targets than this are not enumerated.
const LIMIT: u64 = 4096;

/// A condition of a path, and whether it holds.
pub(crate) type Condition = (Number, bool);

/// Numbers from the first to the second, both included.
type Range = (u64, u64);

/// Every value that `target` may have where the conditions hold; None if they cannot be enumerated.
pub(crate) fn values(target: &Number, conditions: &[Condition], program: &Program) -> Option<BTreeSet<u64>> {
    let refuted = |(condition, truth): &Condition| condition.as_constant().is_some_and(|value| (value != 0) != *truth);
    if conditions.iter().any(refuted) {
        return Some(BTreeSet::new());
    }
    if let Some(number) = target.as_constant() {
        return Some(BTreeSet::from([number]));
    }
    if let Term::Select(when, then, otherwise) = &*target.term {
        let side = |value: &Number, truth| {
            let conditions: Vec<Condition> = conditions.iter().cloned().chain([(when.clone(), truth)]).collect();
            values(value, &conditions, program)
        };
        if let (Some(a), Some(b)) = (side(then, true), side(otherwise, false)) {
            return Some(a.union(&b).copied().collect());
        }
    }
    let mut variables = Vec::new();
    collect(target, &mut variables);
    let mut ranges: Vec<(Number, Range)> = variables
        .into_iter()
        .filter(|variable| determines(variable, target))
        .map(|variable| {
            let start = meet(natural(&variable), distance(&variable, conditions));
            let range = conditions
                .iter()
                .fold(start, |range, (condition, truth)| meet(range, refine(condition, *truth, &variable)));
            (variable, range)
        })
        // What a table holds is asked for by the index: all numbers of a byte are more than it holds.
        .filter(|(variable, range)| *range != natural(variable) || !reads_table(variable, program))
        .collect();
    ranges.sort_by_key(|(_, (low, high))| high.wrapping_sub(*low));
    ranges.iter().find_map(|(variable, range)| enumerate(target, variable, *range, conditions, program))
}

fn enumerate(
    target: &Number,
    variable: &Number,
    (low, high): Range,
    conditions: &[Condition],
    program: &Program,
) -> Option<BTreeSet<u64>> {
    if low > high {
        return Some(BTreeSet::new());
    }
    if high - low >= LIMIT {
        return None;
    }
    let mut found = BTreeSet::new();
    for number in low..=high {
        let refuted = |(condition, truth): &Condition| {
            condition.evaluate(variable, number, program).is_some_and(|value| (value != 0) != *truth)
        };
        if !conditions.iter().any(refuted) {
            found.insert(target.evaluate(variable, number, program)?);
        }
    }
    Some(found)
}

fn collect(number: &Number, into: &mut Vec<Number>) {
    if number.as_constant().is_some() || into.contains(number) {
        return;
    }
    into.push(number.clone());
    number.parts().into_iter().for_each(|part| collect(part, into));
}

/// Whether `target` depends on nothing but `variable`.
fn determines(variable: &Number, target: &Number) -> bool {
    if target == variable {
        return true;
    }
    !matches!(*target.term, Term::Leaf(_)) && target.parts().into_iter().all(|part| determines(variable, part))
}

/// Whether a part of it is read from memory that does not change, from a place that depends on an index.
fn reads_table(number: &Number, program: &Program) -> bool {
    let in_table = |address: &Number| {
        let (base, added) = without_constant(address);
        base != address && program.constant(added, 1).is_some()
    };
    matches!(&*number.term, Term::Load(address, _) if in_table(address))
        || number.parts().into_iter().any(|part| reads_table(part, program))
}

fn meet(a: Range, b: Range) -> Range {
    (a.0.max(b.0), a.1.min(b.1))
}

fn hull(a: Range, b: Range) -> Range {
    match (a.0 > a.1, b.0 > b.1) {
        (true, _) => b,
        (_, true) => a,
        _ => (a.0.min(b.0), a.1.max(b.1)),
    }
}

/// The range that follows from the form alone.
fn natural(number: &Number) -> Range {
    let whole = (0, mask(number.size));
    match &*number.term {
        Term::Constant(value) => (*value, *value),
        _ if number.is_truth() => (0, 1),
        Term::Unary(Unary::ZeroExtend, inner) => natural(inner),
        Term::Binary(Binary::And, a, b) => (0, natural(a).1.min(natural(b).1)),
        Term::Binary(Binary::ShiftRight, a, b) => match b.as_constant() {
            Some(amount) if amount < 64 => (0, natural(a).1 >> amount),
            _ => whole,
        },
        Term::Binary(Binary::Remainder, _, b) => match b.as_constant() {
            Some(divisor) if divisor > 0 => (0, divisor - 1),
            _ => whole,
        },
        Term::Select(_, a, b) => hull(natural(a), natural(b)),
        _ => whole,
    }
}

/// The same where `conditions` hold, also through sums and products with constants: how far an address reaches.
pub(crate) fn reach(number: &Number, conditions: &[Condition]) -> Range {
    let whole = (0, mask(number.size));
    let top = whole.1;
    let fits = |range: Range| if range.0 <= range.1 && range.1 <= top { range } else { whole };
    let by_form = match &*number.term {
        Term::Unary(Unary::ZeroExtend, inner) => reach(inner, conditions),
        Term::Unary(Unary::SignExtend, inner) => {
            let range = reach(inner, conditions);
            if range.1 <= mask(inner.size) >> 1 {
                range
            } else {
                whole
            }
        }
        Term::Extract(from, 0) => fits(reach(from, conditions)),
        Term::Select(_, a, b) => hull(reach(a, conditions), reach(b, conditions)),
        Term::Binary(Binary::Add, a, b) => sum(reach(a, conditions), reach(b, conditions), top).unwrap_or(whole),
        Term::Binary(operation @ (Binary::Multiply | Binary::ShiftLeft), a, b) => {
            let factor = match (operation, b.as_constant()) {
                (Binary::Multiply, factor) => factor,
                (_, Some(amount)) if amount < 64 => Some(1 << amount),
                _ => None,
            };
            let scaled = factor.and_then(|factor| {
                let (low, high) = reach(a, conditions);
                Some((low.checked_mul(factor)?, high.checked_mul(factor)?))
            });
            scaled.map_or(whole, fits)
        }
        _ => whole,
    };
    let start = meet(natural(number), by_form);
    conditions.iter().fold(start, |range, (condition, truth)| meet(range, refine(condition, *truth, number)))
}

/// The range of a sum of at most `top`, or None where it may wrap around for some of the numbers only.
fn sum(a: Range, b: Range, top: u64) -> Option<Range> {
    let (low, high) = (u128::from(a.0) + u128::from(b.0), u128::from(a.1) + u128::from(b.1));
    let size = u128::from(top) + 1;
    if a.0 > a.1 || b.0 > b.1 || low / size != high / size {
        return None;
    }
    Some(((low % size) as u64, (high % size) as u64))
}

/// The range of a difference of two numbers' leading zeros, of which conditions say that the second is not below the
/// first: how far a division routine has to shift.
fn distance(variable: &Number, conditions: &[Condition]) -> Range {
    let whole = (0, u64::MAX);
    let Term::Binary(Binary::Subtract, more, less) = &*variable.term else { return whole };
    let (Term::Unary(Unary::LeadingZeros, low), Term::Unary(Unary::LeadingZeros, high)) = (&*more.term, &*less.term)
    else {
        return whole;
    };
    if !conditions.iter().any(|(condition, truth)| ordered(condition, *truth, low, high)) {
        return whole;
    }
    let known = |number: &Number| {
        conditions
            .iter()
            .fold(natural(number), |range, (condition, truth)| meet(range, refine(condition, *truth, number)))
    };
    let bits = 8 * u64::from(low.size);
    (0, if known(low).0 > 0 { bits - 1 } else { bits })
}

/// Whether `low` is at most `high`, as unsigned numbers, because `condition` is true, or false.
fn ordered(condition: &Number, truth: bool, low: &Number, high: &Number) -> bool {
    match &*condition.term {
        Term::Unary(Unary::BoolNot, inner) if inner.is_truth() => ordered(inner, !truth, low, high),
        Term::Binary(operation @ (Binary::And | Binary::Or), a, b)
            if condition.is_truth() && (*operation == Binary::And) == truth =>
        {
            ordered(a, truth, low, high) || ordered(b, truth, low, high)
        }
        Term::Binary(Binary::Less | Binary::LessEqual, a, b) if truth => (a, b) == (low, high),
        Term::Binary(Binary::Less | Binary::LessEqual, a, b) => (a, b) == (high, low),
        _ => false,
    }
}

/// The range of `variable` that follows from `condition` being true or false. Whole where nothing follows.
fn refine(condition: &Number, truth: bool, variable: &Number) -> Range {
    let whole = (0, u64::MAX);
    match &*condition.term {
        Term::Unary(Unary::BoolNot, inner) if inner.is_truth() => refine(inner, !truth, variable),
        Term::Binary(operation @ (Binary::And | Binary::Or), a, b) if condition.is_truth() => {
            let (a, b) = (refine(a, truth, variable), refine(b, truth, variable));
            if (*operation == Binary::And) == truth {
                meet(a, b)
            } else {
                hull(a, b)
            }
        }
        Term::Binary(operation, a, b) => {
            let (range, side) = match (a.as_constant(), b.as_constant()) {
                (None, Some(number)) => (compared(*operation, truth, number, false, a.size), a),
                (Some(number), None) => (compared(*operation, truth, number, true, b.size), b),
                _ => return whole,
            };
            range.map_or(whole, |range| shifted(side, range, variable).unwrap_or(whole))
        }
        _ => whole,
    }
}

/// The range of x from `x operation number`, or from `number operation x` if `swapped`.
fn compared(operation: Binary, truth: bool, number: u64, swapped: bool, size: u8) -> Option<Range> {
    const NONE: Range = (1, 0);
    let top = mask(size);
    let below = |limit: u64| limit.checked_sub(1).map_or(NONE, |last| (0, last));
    let above = |limit: u64| if limit >= top { NONE } else { (limit + 1, top) };
    Some(match (operation, swapped, truth) {
        (Binary::Equal, _, true) | (Binary::NotEqual, _, false) => (number, number),
        (Binary::Less, false, true) | (Binary::LessEqual, true, false) => below(number),
        (Binary::Less, true, false) | (Binary::LessEqual, false, true) => (0, number),
        (Binary::Less, false, false) | (Binary::LessEqual, true, true) => (number, top),
        (Binary::Less, true, true) | (Binary::LessEqual, false, false) => above(number),
        (Binary::Equal, _, false) | (Binary::NotEqual, _, true) if number == 0 => above(0),
        _ => return None,
    })
}

/// The range of `variable` where `side` has `range`: if they are the same, differ by a constant or an
/// extension, or make it with a mask.
fn shifted(side: &Number, range: Range, variable: &Number) -> Option<Range> {
    if side == variable {
        return Some(range);
    }
    match &*side.term {
        Term::Unary(Unary::ZeroExtend, inner) if inner == variable => return Some(range),
        // Neither has a bit less than both together.
        Term::Binary(Binary::And, a, b) if a == variable || b == variable => return Some((range.0, u64::MAX)),
        _ => {}
    }
    // Both are made of the same number: a comparison for equality with a constant may have taken that away from it.
    let ((base, added), (other, more)) = (without_constant(side), without_constant(variable));
    if base != other || side.size != variable.size || range.0 > range.1 {
        return None;
    }
    let moved = |number: u64| number.wrapping_sub(added).wrapping_add(more) & mask(side.size);
    let (low, high) = (moved(range.0), moved(range.1));
    (low <= high).then_some((low, high))
}

/// A number as another one and a constant that is added to it.
fn without_constant(number: &Number) -> (&Number, u64) {
    if let Term::Binary(Binary::Add, base, added) = &*number.term {
        if let Some(added) = added.as_constant() {
            return (base, added);
        }
    }
    (number, 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(base: &Number, number: u64) -> Number {
        Number::binary(Binary::Add, base.clone(), Number::constant(number, base.size), base.size)
    }

    #[test]
    fn a_sum_has_the_range_of_another_sum_of_the_same() {
        let (leaf, other) = (Number::new(Term::Leaf(1), 4), Number::new(Term::Leaf(2), 4));
        let (after, compared) = (sum(&leaf, 2), sum(&leaf, 0xffff_ffed));
        assert_eq!(shifted(&compared, (0, 5), &after), Some((0x15, 0x1a)));
        assert_eq!(shifted(&compared, (0, 5), &leaf), Some((0x13, 0x18)));
        assert_eq!(shifted(&leaf, (0, 5), &after), Some((2, 7)));
        assert_eq!(shifted(&compared, (0, 5), &sum(&other, 2)), None, "another number");
        assert_eq!(shifted(&after, (1, 3), &leaf), None, "it goes through 0");
        assert_eq!(shifted(&after, (3, 1), &leaf), None, "there is none");
    }

    /// What is not in the range is no value, for all numbers of a byte.
    #[test]
    fn no_value_is_outside_the_range() {
        let leaf = Number::new(Term::Leaf(1), 1);
        for (added, more) in [(0, 1), (1, 0), (2, 237), (237, 2), (255, 255), (128, 127), (0, 0)] {
            let (side, variable) = (sum(&leaf, added), sum(&leaf, more));
            for low in 0..=255 {
                for high in low..=255 {
                    let Some(found) = shifted(&side, (low, high), &variable) else { continue };
                    for value in low..=high {
                        let here = (value + 512 - added + more) % 256;
                        assert!(found.0 <= here && here <= found.1, "{added} {more} {low} {high} {value}: {found:?}");
                    }
                }
            }
        }
    }
}
