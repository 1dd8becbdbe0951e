//! Terms as sums: how far apart two addresses are, whatever the leaves are.

use std::rc::Rc;

use crate::term::{Operation, Shape, Sum, Term, Terms};
use crate::value::mask;

impl Terms {
    /// `a - b` if that is a number, whatever the leaves are.
    pub fn difference(&mut self, a: Term, b: Term) -> Option<u128> {
        let width = self.width(a);
        if width > 128 {
            return (a == b).then_some(0);
        }
        let (x, y) = (self.sum(a), self.sum(b));
        (x.parts == y.parts).then(|| x.number.wrapping_sub(y.number) & mask(width))
    }

    /// The term as a sum.
    pub(crate) fn sum(&mut self, term: Term) -> Rc<Sum> {
        if let Some(known) = self.sums.get(&term) {
            return known.clone();
        }
        let width = self.width(term);
        let found = match self.shape(term) {
            Shape::Number(number) => Sum { parts: vec![], number },
            Shape::Binary(Operation::Add, a, b) => {
                let (x, y) = (self.sum(a), self.sum(b));
                add(&x, &y, 1, width)
            }
            Shape::Binary(Operation::Subtract, a, b) => {
                let (x, y) = (self.sum(a), self.sum(b));
                add(&x, &y, mask(width), width)
            }
            Shape::Binary(Operation::Multiply, a, b) if self.as_number(b).is_some() => {
                let (x, factor) = (self.sum(a), self.as_number(b).unwrap_or(1));
                add(&Sum::default(), &x, factor, width)
            }
            Shape::Binary(Operation::ShiftLeft, a, b) if self.as_number(b).is_some_and(|by| by < 128) => {
                let (x, by) = (self.sum(a), self.as_number(b).unwrap_or(0));
                add(&Sum::default(), &x, 1 << by, width)
            }
            _ => Sum { parts: vec![(term, 1)], number: 0 },
        };
        let found = Rc::new(if found.parts.len() > 16 { Sum { parts: vec![(term, 1)], number: 0 } } else { found });
        self.sums.insert(term, found.clone());
        found
    }
}

/// `a + factor * b`.
fn add(a: &Sum, b: &Sum, factor: u128, width: u16) -> Sum {
    let mut parts: std::collections::BTreeMap<Term, u128> = a.parts.iter().copied().collect();
    for (term, times) in &b.parts {
        let entry = parts.entry(*term).or_insert(0);
        *entry = entry.wrapping_add(times.wrapping_mul(factor)) & mask(width);
    }
    let number = a.number.wrapping_add(b.number.wrapping_mul(factor)) & mask(width);
    Sum { parts: parts.into_iter().filter(|(_, times)| *times != 0).collect(), number }
}
