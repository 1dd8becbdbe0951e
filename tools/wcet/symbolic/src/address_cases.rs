//! Addresses with few possible values, as case distinctions.
//!
//! An index that was made from constants, by selections and simple operations, has few values. A load or store there is
//! one at each of them, under the condition that it is the one; so every access has a place that is known.

use std::rc::Rc;

use crate::memory::Memory;
use crate::term::{Operation, Shape, Term, Terms};
use crate::value::{mask, operate, signed};

/// Values of a term that are worth being told apart.
const VALUES: usize = 48;

impl Memory<'_> {
    /// The addresses that `address` may be where `under` holds, each with the condition that it is that one. Conditions
    /// exclude one another, and one of them holds.
    pub(crate) fn choose(&self, terms: &mut Terms, address: Term, under: Term) -> Vec<(Term, Term)> {
        if self.choices == 0 || terms.as_number(address).is_some() {
            return vec![(Terms::TRUE, address)];
        }
        let sum = terms.sum(address);
        let width = terms.width(address);
        let mut base = terms.number(0, width);
        let mut found = vec![(Terms::TRUE, sum.number)];
        for (part, times) in &sum.parts {
            let values = terms.choices(*part).filter(|values| values.len() * found.len() <= 4 * self.choices);
            let Some(values) = values else {
                let factor = terms.number(*times, width);
                let product = terms.binary(Operation::Multiply, *part, factor);
                base = terms.binary(Operation::Add, base, product);
                continue;
            };
            let mut more = Vec::new();
            for value in values.iter() {
                let here = terms.number(*value, width);
                let here = terms.equal(*part, here);
                for (when, number) in &found {
                    let when = terms.both(*when, here);
                    if terms.both(under, when) != Terms::FALSE {
                        more.push((when, number.wrapping_add(value.wrapping_mul(*times)) & mask(width)));
                    }
                }
            }
            found = more;
        }
        if found.len() > self.choices || found.len() == 1 && found[0].0 == Terms::TRUE {
            return vec![(Terms::TRUE, address)];
        }
        let place = |(when, number): (Term, u128)| {
            let number = terms.number(number, width);
            (when, terms.binary(Operation::Add, base, number))
        };
        found.into_iter().map(place).collect()
    }
}

impl Terms {
    /// All values that a term may have, ascending, if they are few and that is simple to see.
    pub(crate) fn choices(&mut self, root: Term) -> Option<Rc<Vec<u128>>> {
        let mut open = vec![root];
        while let Some(term) = open.last().copied() {
            if self.choices.contains_key(&term) {
                open.pop();
                continue;
            }
            let rest: Vec<Term> = self.decisive(term);
            let rest: Vec<Term> = rest.into_iter().filter(|part| !self.choices.contains_key(part)).collect();
            if rest.is_empty() {
                let found = self.values_of(term).map(|mut values| {
                    values.sort_unstable();
                    values.dedup();
                    values
                });
                let found = found.filter(|values| values.len() <= VALUES).map(Rc::new);
                self.choices.insert(term, found);
                open.pop();
            } else {
                open.extend(rest);
            }
        }
        self.choices.get(&root).cloned().flatten()
    }

    /// The parts that a term's values are made of.
    fn decisive(&self, term: Term) -> Vec<Term> {
        match self.shape(term) {
            _ if self.width(term) == 0 || self.width(term) > 128 => Vec::new(),
            Shape::Select(_, a, b) => vec![a, b],
            Shape::Extract(a, _) if self.width(a) > 128 => Vec::new(),
            Shape::Leaf(_) | Shape::Number(_) => Vec::new(),
            shape => shape.parts(),
        }
    }

    fn values_of(&self, term: Term) -> Option<Vec<u128>> {
        let width = self.width(term);
        let of = |part: Term| self.choices.get(&part).cloned().flatten();
        let each = |part: Term, change: &dyn Fn(u128) -> u128| -> Option<Vec<u128>> {
            Some(of(part)?.iter().map(|value| change(*value) & mask(width)).collect())
        };
        let pairs = |a: Term, b: Term, change: &dyn Fn(u128, u128) -> Option<u128>| -> Option<Vec<u128>> {
            let (a, b) = (of(a)?, of(b)?);
            a.iter().flat_map(|x| b.iter().map(|y| change(*x, *y))).collect()
        };
        match self.shape(term) {
            _ if width == 0 || width > 128 => None,
            Shape::Number(number) => Some(vec![number]),
            Shape::Select(_, a, b) => Some(of(a)?.iter().chain(of(b)?.iter()).copied().collect()),
            Shape::Binary(operation, a, b) => pairs(a, b, &|x, y| operate(operation, x, y, width))
                .or_else(|| of(b).filter(|b| b.len() == 1).and_then(|b| limited(operation, b[0], width))),
            Shape::Complement(a) => each(a, &|x| !x),
            Shape::Extend(a) => each(a, &|x| x),
            Shape::ExtendSigned(a) => each(a, &|x| signed(x, self.width(a)) as u128),
            Shape::Extract(a, low) => each(a, &|x| x >> low).or_else(|| (width <= 4).then(|| below(1 << width))),
            Shape::Concat(a, b) => pairs(a, b, &|x, y| Some(x << self.width(b) | y)),
            Shape::Leaf(_) if width <= 4 => Some(below(1 << width)),
            _ => None,
        }
    }
}

/// The results of an operation with this second operand, whatever the first is.
fn limited(operation: Operation, number: u128, width: u16) -> Option<Vec<u128>> {
    match operation {
        Operation::And if number.count_ones() <= 4 => {
            // The subsets of its bits.
            let mut found = vec![0];
            let mut subset = number;
            while subset != 0 {
                found.push(subset);
                subset = (subset - 1) & number;
            }
            Some(found)
        }
        Operation::Remainder if (1..=16).contains(&number) => Some(below(number)),
        Operation::ShiftRight if number < u128::from(width) && u128::from(width) - number <= 4 => {
            Some(below(1 << (u128::from(width) - number)))
        }
        _ => None,
    }
}

fn below(number: u128) -> Vec<u128> {
    (0..number).collect()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::term::Origin;
    use testing::Random;

    const OPERATIONS: [Operation; 13] = [
        Operation::Add,
        Operation::Subtract,
        Operation::Multiply,
        Operation::Divide,
        Operation::DivideSigned,
        Operation::Remainder,
        Operation::RemainderSigned,
        Operation::And,
        Operation::Or,
        Operation::Xor,
        Operation::ShiftLeft,
        Operation::ShiftRight,
        Operation::ShiftRightSigned,
    ];

    /// A term of 8 bits over truth values, numbers and leaves.
    pub(crate) fn grow(terms: &mut Terms, random: &mut Random, leaves: &[Term], depth: usize) -> Term {
        if depth == 0 {
            return match random.below(4) {
                0 => leaves[random.below(3)],
                _ => terms.number(random.below(12) as u128, 8),
            };
        }
        let mut part = |terms: &mut Terms| grow(terms, random, leaves, depth - 1);
        let (a, b) = (part(terms), part(terms));
        match random.below(8) {
            0 => terms.complement(a),
            1 => {
                let half = terms.extract(a, random.below(5) as u16, 4);
                terms.extend(half, 8)
            }
            2 => {
                let half = terms.extract(a, random.below(5) as u16, 4);
                terms.extend_signed(half, 8)
            }
            3 => {
                let (high, low) = (terms.extract(a, 0, 4), terms.extract(b, 4, 4));
                terms.concat(high, low)
            }
            4 | 5 => terms.select(leaves[3 + random.below(3)], a, b),
            _ => {
                let operation = OPERATIONS[random.below(OPERATIONS.len())];
                terms.binary(operation, a, b)
            }
        }
    }

    #[test]
    fn every_value_is_among_the_choices() {
        let mut random = Random(0x1357_9bdf_0246_8ace);
        let (mut told, mut several) = (0, 0);
        for _ in 0..1500 {
            let mut terms = Terms::new();
            let leaves: Vec<Term> =
                [8, 8, 4, 0, 0, 0].into_iter().map(|width| terms.leaf(width, Origin::Unknown)).collect();
            let narrow = terms.extend(leaves[2], 8);
            let leaves = [leaves[0], leaves[1], narrow, leaves[3], leaves[4], leaves[5]];
            let term = grow(&mut terms, &mut random, &leaves, 3);
            let Some(choices) = terms.choices(term) else { continue };
            told += 1;
            several += usize::from(choices.len() > 1);
            for _ in 0..40 {
                let seed = random.below(usize::MAX) as u64;
                let leaf = |number: u32| u128::from(seed >> (9 * number) & 0xff);
                let value = terms.value(term, &leaf).unwrap();
                assert!(choices.contains(&value), "{value} is not among {choices:?}");
            }
        }
        assert!(told > 200 && several > 60, "{told} {several}");
    }

    #[test]
    fn narrow_divisions_and_products_have_the_same_values() {
        let mut random = Random(0x0fed_cba9_8765_4321);
        for round in 0..4000 {
            let mut terms = Terms::new();
            let widths = [1 + random.below(12) as u16, 1 + random.below(12) as u16];
            let leaves = widths.map(|width| terms.leaf(width, Origin::Unknown));
            let [a, b] = leaves.map(|leaf| terms.extend(leaf, 16));
            let mask = terms.number(random.below(1 << 16) as u128, 16);
            let a = if round % 3 == 0 { terms.binary(Operation::And, a, mask) } else { a };
            let operation = [Operation::Divide, Operation::Remainder, Operation::Multiply][round % 3];
            let term = terms.binary(operation, a, b);
            let seed = random.below(usize::MAX) as u64;
            let leaf = |number: u32| u128::from(seed >> (12 * number) & 0xfff);
            let (x, y) = (terms.value(a, &leaf).unwrap(), terms.value(b, &leaf).unwrap());
            if let Some(expected) = operate(operation, x, y, 16) {
                assert_eq!(terms.value(term, &leaf), Some(expected), "{operation:?} {x} {y}");
            }
        }
    }
}
