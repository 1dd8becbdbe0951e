//! Formulas that few bits decide, evaluated for every assignment of these bits.
//!
//! A formula may be large though little of what it is made of matters: of an argument that is masked, the bits of the mask.
//! Where these are few, computing the formula for each of their values is less work than a search, and always ends with an
//! answer. What other leaves hold stays open: what depends on one has no value, so an answer holds whatever they are.

use std::cell::Cell;
use std::collections::BTreeMap;

use crate::term::{Operation, Shape, Term, Terms};
use crate::value::mask;

/// Terms of a question that is worth a trial; and how many are computed for it at most, over all assignments.
const TERMS: usize = 100_000;
const WORK: usize = 40_000_000;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Trial {
    /// Whatever the leaves are.
    Never,
    /// With these leaves, whatever the others are.
    Holds(BTreeMap<u32, u128>),
}

/// Whether a truth value can hold; none if it takes more than trying few bits. What is computed is taken from `work`.
pub(crate) fn trial(terms: &Terms, root: Term, work: &mut usize) -> Option<Trial> {
    let cone = small_cone(terms, root)?;
    let most = ((*work).min(WORK) / cone.len()).checked_ilog2()?;
    let mut bits = Vec::new();
    for (leaf, matter) in mattering(terms, &cone, most) {
        bits.extend((0..128u16).filter(|bit| matter >> bit & 1 == 1).map(|bit| (leaf, bit)));
    }
    let mut values: Vec<Option<u128>> = vec![None; root.index() + 1];
    for number in 0..1u64 << bits.len() {
        let mut leaves: BTreeMap<u32, u128> = bits.iter().map(|(leaf, _)| (*leaf, 0)).collect();
        for (index, (leaf, bit)) in bits.iter().enumerate() {
            *leaves.entry(*leaf).or_default() |= u128::from(number >> index & 1) << bit;
        }
        *work = work.saturating_sub(cone.len());
        for term in &cone {
            values[term.index()] = compute(terms, *term, &values, &leaves);
        }
        match values[root.index()] {
            None => return None,
            Some(0) => {}
            Some(_) => return Some(Trial::Holds(leaves)),
        }
    }
    Some(Trial::Never)
}

/// All terms of which one is made, parts first, if they are not too many.
fn small_cone(terms: &Terms, root: Term) -> Option<Vec<Term>> {
    let mut seen = vec![false; root.index() + 1];
    let (mut open, mut found) = (vec![root], Vec::new());
    while let Some(term) = open.pop() {
        if !std::mem::replace(&mut seen[term.index()], true) {
            found.push(term);
            open.extend(terms.shape(term).parts());
        }
        if found.len() > TERMS {
            return None;
        }
    }
    found.sort_unstable();
    Some(found)
}

/// A term's value from those of its parts, if these are enough for one.
fn compute(terms: &Terms, term: Term, values: &[Option<u128>], leaves: &BTreeMap<u32, u128>) -> Option<u128> {
    if terms.width(term) > 128 {
        return None;
    }
    let value = |part: Term| values[part.index()];
    match terms.shape(term) {
        Shape::Leaf(leaf) => return leaves.get(&leaf).copied(),
        Shape::Both(a, b) if value(a) == Some(0) || value(b) == Some(0) => return Some(0),
        Shape::Either(a, b) if value(a) == Some(1) || value(b) == Some(1) => return Some(1),
        Shape::Select(when, a, b) => {
            return match value(when) {
                Some(holds) => value(if holds == 1 { a } else { b }),
                None => value(a).filter(|_| value(a) == value(b)),
            };
        }
        _ => {}
    }
    let open = Cell::new(false);
    let of = |part: Term| {
        value(part).unwrap_or_else(|| {
            open.set(true);
            0
        })
    };
    let found = terms.value_over(term, &of, &|_| 0);
    (!open.get()).then_some(found)
}

/// Leaves with the bits that matter, those with the fewest first, and together at most so many.
fn mattering(terms: &Terms, cone: &[Term], most: u32) -> Vec<(u32, u128)> {
    let mut matter: BTreeMap<Term, u128> = BTreeMap::new();
    let Some(root) = cone.last() else { return Vec::new() };
    matter.insert(*root, u128::MAX);
    let mut leaves = Vec::new();
    for term in cone.iter().rev() {
        let bits = matter.remove(term).unwrap_or(0) & mask(terms.width(*term).max(1));
        match terms.shape(*term) {
            Shape::Leaf(leaf) if terms.width(*term) <= 128 => leaves.push((bits.count_ones(), leaf, bits)),
            shape => {
                for (part, needed) in shape.parts().into_iter().zip(passed(terms, *term, bits)) {
                    *matter.entry(part).or_insert(0) |= needed;
                }
            }
        }
    }
    leaves.sort_unstable();
    let mut room = most;
    let fits = |(count, ..): &(u32, u32, u128)| {
        let rest = room.checked_sub(*count);
        room = rest.unwrap_or(room);
        rest.is_some()
    };
    leaves.into_iter().take_while(fits).map(|(_, leaf, bits)| (leaf, bits)).collect()
}

/// Which bits of its parts, in their order, these bits of a term depend on; perhaps too many.
fn passed(terms: &Terms, term: Term, bits: u128) -> [u128; 3] {
    let all = u128::MAX;
    // A carry goes up only.
    let up_to = all.checked_shr(bits.leading_zeros()).unwrap_or(0);
    let number = |part: Term| terms.as_number(part);
    match terms.shape(term) {
        _ if bits == 0 => [0; 3],
        _ if terms.width(term) > 128 => [all; 3],
        Shape::Select(..) => [all, bits, bits],
        Shape::Complement(_) | Shape::Extend(_) => [bits; 3],
        Shape::ExtendSigned(part) => {
            let upper = bits & !mask(terms.width(part)) != 0;
            [bits | if upper { 1 << (terms.width(part) - 1) } else { 0 }; 3]
        }
        Shape::Extract(part, _) if terms.width(part) > 128 => [all; 3],
        Shape::Extract(_, low) => [bits << low; 3],
        Shape::Concat(_, low) => [bits >> terms.width(low), bits, 0],
        Shape::Binary(operation, a, b) => match (operation, number(a), number(b)) {
            (Operation::And, Some(ones), _) | (Operation::And, _, Some(ones)) => [bits & ones; 3],
            (Operation::Or, Some(ones), _) | (Operation::Or, _, Some(ones)) => [bits & !ones; 3],
            (Operation::And | Operation::Or | Operation::Xor, ..) => [bits; 3],
            (Operation::Add | Operation::Subtract | Operation::Multiply, ..) => [up_to; 3],
            (Operation::ShiftLeft, _, Some(by)) if by < 128 => [bits >> by, all, 0],
            (Operation::ShiftRight, _, Some(by)) if by < 128 => [bits << by, all, 0],
            _ => [all; 3],
        },
        _ => [all; 3],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::address_cases::tests::grow;
    use crate::term::Origin;
    use testing::Random;

    fn tried(terms: &Terms, root: Term) -> Option<Trial> {
        trial(terms, root, &mut 1_000_000)
    }

    fn masked(terms: &mut Terms, ones: u128) -> (Term, Term) {
        let leaf = terms.leaf(32, Origin::Unknown);
        let ones = terms.number(ones, 32);
        (leaf, terms.binary(Operation::And, leaf, ones))
    }

    #[test]
    fn bits_under_a_mask_decide() {
        let mut terms = Terms::new();
        let ((_, a), (_, b)) = (masked(&mut terms, 31), masked(&mut terms, 6 << 8));
        let sum = terms.binary(Operation::Add, a, b);
        let (reached, beyond) = (terms.number(0x61f, 32), terms.number(0x620, 32));
        let (reached, beyond) = (terms.equal(sum, reached), terms.equal(sum, beyond));
        assert_eq!(tried(&terms, reached), Some(Trial::Holds(BTreeMap::from([(0, 31), (1, 6 << 8)]))));
        assert_eq!(tried(&terms, beyond), Some(Trial::Never));
    }

    #[test]
    fn what_depends_on_too_many_bits_is_left_open() {
        let mut terms = Terms::new();
        let ((_, few), many) = (masked(&mut terms, 3), terms.leaf(64, Origin::Unknown));
        let narrow = terms.extract(many, 0, 32);
        let same = terms.equal(few, narrow);
        assert_eq!(tried(&terms, same), None);
        // Where nothing that is left open matters there is an answer.
        let four = terms.number(4, 32);
        let large = terms.equal(few, four);
        let both = terms.both(same, large);
        assert_eq!(tried(&terms, both), Some(Trial::Never));
    }

    #[test]
    fn carries_and_signs_are_passed_on() {
        let mut terms = Terms::new();
        let leaf = terms.leaf(4, Origin::Unknown);
        let wide = terms.extend_signed(leaf, 16);
        let one = terms.number(1, 16);
        let more = terms.binary(Operation::Add, wide, one);
        let top = terms.extract(more, 15, 1);
        let set = terms.is_set(top);
        let low = terms.extract(more, 0, 3);
        let one = terms.number(1, 3);
        let wrapped = terms.equal(low, one);
        let both = terms.both(set, wrapped);
        // One more than eight below zero is 0xfff9.
        assert_eq!(tried(&terms, both), Some(Trial::Holds(BTreeMap::from([(0, 8)]))));
    }

    #[test]
    fn answers_are_those_of_values() {
        let mut random = Random(0x2468_ace0_1357_9bdf);
        let (mut never, mut holds) = (0, 0);
        for _ in 0..3000 {
            let mut terms = Terms::new();
            let leaves: Vec<Term> =
                [8, 8, 4, 0, 0, 0].into_iter().map(|width| terms.leaf(width, Origin::Unknown)).collect();
            let narrow = terms.extend(leaves[2], 8);
            let leaves = [leaves[0], leaves[1], narrow, leaves[3], leaves[4], leaves[5]];
            let term = grow(&mut terms, &mut random, &leaves, 4);
            let number = terms.number(random.below(256) as u128, 8);
            let root = terms.equal(term, number);
            let answer = trial(&terms, root, &mut 20_000);
            never += usize::from(answer == Some(Trial::Never));
            for _ in 0..100 {
                let seed = random.below(usize::MAX) as u64;
                let drawn = |number: u32| u128::from(seed >> (9 * number) & 0xff);
                match &answer {
                    None => {}
                    Some(Trial::Never) => assert_eq!(terms.value(root, &drawn), Some(0)),
                    Some(Trial::Holds(found)) => {
                        let leaf = |number: u32| found.get(&number).copied().unwrap_or_else(|| drawn(number));
                        assert_eq!(terms.value(root, &leaf), Some(1));
                        holds += 1;
                    }
                }
            }
        }
        assert!(never > 200 && holds > 200, "{never} {holds}");
    }
}
