//! Values of terms in a model.

use std::collections::HashMap;

use super::{below, mask, Binary, Node, Term};

/// Values of variables and of products that may be any number, and of elements of arrays; everything else is 0.
#[derive(Debug, Clone, Default)]
pub struct Model {
    pub variables: HashMap<Term, u128>,
    pub elements: HashMap<(Term, u128), u128>,
}

impl Model {
    pub fn value(&self, term: Term) -> u128 {
        let mut known: HashMap<Term, u128> = HashMap::new();
        for part in below(&[term]) {
            let value = self.one(part, &known);
            known.insert(part, value);
        }
        known.get(&term).copied().unwrap_or(0)
    }

    pub fn holds(&self, term: Term) -> bool {
        self.value(term) == 1
    }

    fn one(&self, term: Term, known: &HashMap<Term, u128>) -> u128 {
        let width = term.width();
        if let Some(value) = self.variables.get(&term) {
            return *value;
        }
        let at = |term: Term| known.get(&term).copied().unwrap_or(0);
        let signed = |term: Term| {
            let unused = 128 - term.width();
            ((at(term) << unused) as i128) >> unused
        };
        let value = match term.node() {
            Node::Constant(value) => value,
            Node::Variable(_) => 0,
            Node::Sum(terms, rest) => {
                terms.iter().fold(rest, |sum, (term, times)| sum.wrapping_add(at(*term).wrapping_mul(*times)))
            }
            Node::Binary(operation, a, b) => {
                let (x, y) = (at(a), at(b));
                let shift = u32::try_from(y).unwrap_or(u32::MAX);
                match operation {
                    Binary::Multiply => x.wrapping_mul(y),
                    Binary::Divide => x.checked_div(y).unwrap_or(u128::MAX),
                    Binary::Remainder => x.checked_rem(y).unwrap_or(x),
                    Binary::And => x & y,
                    Binary::Or => x | y,
                    Binary::Xor => x ^ y,
                    Binary::ShiftLeft if shift >= width => 0,
                    Binary::ShiftLeft => x << shift,
                    Binary::ShiftRight if shift >= width => 0,
                    Binary::ShiftRight => x >> shift,
                    Binary::ShiftRightSigned => (signed(a) >> shift.min(width - 1)) as u128,
                    Binary::Equal => u128::from(x == y),
                    Binary::Less => u128::from(x < y),
                    Binary::LessSigned => u128::from(signed(a) < signed(b)),
                }
            }
            Node::If(c, a, b) => at(if at(c) == 1 { a } else { b }),
            Node::Extract(low, a) => at(a) >> low,
            Node::ZeroExtend(a) => at(a),
            Node::SignExtend(a) => signed(a) as u128,
            Node::LeadingZeros(a) => u128::from(at(a).leading_zeros() - (128 - width)),
            // Only elements of arrays have values.
            Node::Array(_) | Node::Store(..) => 0,
            Node::Read(array, index) => self.element(array, at(index), &at),
        };
        value & mask(width)
    }

    fn element(&self, array: Term, index: u128, at: &dyn Fn(Term) -> u128) -> u128 {
        let mut from = array;
        while let Node::Store(below, other, value) = from.node() {
            if at(other) == index {
                return at(value);
            }
            from = below;
        }
        self.elements.get(&(from, index)).copied().unwrap_or(0)
    }
}
