//! Names for unknown addresses: sums of symbols.
//!
//! An address is written as a number plus multiples of *atoms*: symbols of which it is not known how they were computed from
//! others, or operations other than sums of such sums. Equal sums of the same atoms are the same number, wherever and however
//! they are computed, as long as the atoms' symbols stand for the same values.
//!
//! A symbol stands for one value in an execution, except that where a loop is described by an invariant its symbols are others
//! in each iteration. All of those were made after the loop was first looked at, so their numbers are larger than those of all
//! symbols that there were: [`Name::newest`] against [`crate::Values::born`] says which names a loop changes.

use std::collections::HashMap;
use std::rc::Rc;

use wcet_binary::lift::evaluate::mask;
use wcet_binary::lift::il::{AddressForm, Binary, Unary};

use crate::state::{State, World};
use crate::term::{Origin, Quick, Root, Term};

/// An address: the sum of this number, and `offset`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name {
    pub sum: u32,
    pub offset: u64,
    /// The largest number of a symbol in the sum.
    pub newest: u64,
    /// The sum without the offset is a multiple of `modulus`, a power of two, plus `rest`.
    pub modulus: u64,
    pub rest: u64,
}

impl Name {
    /// What is known of its place in lines of so many bytes: of the sum, what that is known to be a multiple of, a line at most,
    /// apart from a rest; and so many of these behind it. A line holds each of them whole, so equal ones are in one line.
    pub fn part(&self, line: u64) -> (u32, u64, i64) {
        let part = self.modulus.min(line).max(1);
        let offset = (self.offset as i64).wrapping_add((self.rest % part) as i64);
        (self.sum, part, offset.div_euclid(part as i64))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Atom {
    Symbol(u64),
    Unary(u8, u8, u32, u64),
    Binary(u8, u8, (u32, u64), (u32, u64)),
    Extract(u8, u8, u32, u64),
    Concat(u8, (u32, u64), (u32, u64)),
}

/// Atoms by number, ascending, with their factors.
type Sum = Vec<(u32, u64)>;

#[derive(Debug, Clone, Copy)]
struct Known {
    newest: u64,
    modulus: u64,
    rest: u64,
}

#[derive(Debug, Default)]
pub(crate) struct Naming {
    atoms: HashMap<Atom, u32>,
    of_atoms: Vec<Known>,
    sums: HashMap<Sum, u32>,
    of_sums: Vec<Known>,
    /// Of symbols that were looked at.
    seen: HashMap<u64, u32, Quick>,
    taken_apart: HashMap<u64, (Rc<Sum>, u64), Quick>,
}

const WHOLE: u64 = 1 << 63;

impl Naming {
    /// The name of an access's address, if its numbers are not known.
    pub fn name(&mut self, form: &AddressForm, state: &State, world: &World<'_>) -> Option<Name> {
        let AddressForm::Known { base, index, displacement, segment } = form else { return None };
        let (mut sum, mut offset) = (Sum::new(), *displacement as u64);
        let registers = [base.map(|register| (register, 0)), *index, segment.map(|register| (register, 0))];
        for (register, shift) in registers.into_iter().flatten() {
            let term = &state.registers[usize::from(register.0)];
            if term.size != world.pointer || matches!(&term.symbol, Some(symbol) if symbol.root == Root::Stack) {
                return None;
            }
            let (other, plus) = self.linear(term, world.pointer);
            let factor = 1u64.checked_shl(shift.into())?;
            offset = offset.wrapping_add(plus.wrapping_mul(factor));
            add(&mut sum, &other, factor);
        }
        if sum.is_empty() {
            return None;
        }
        let sum = self.sum(sum);
        let Known { newest, modulus, rest } = self.of_sums[sum as usize];
        let offset = offset & mask(world.pointer) as u64;
        Some(Name { sum, offset, newest, modulus, rest })
    }

    /// A term as multiples of atoms plus a number. Only of a pointer's size is that exact.
    fn linear(&mut self, term: &Term, pointer: u8) -> (Rc<Sum>, u64) {
        let Some(symbol) = &term.symbol else { return (Rc::default(), term.offset as u64) };
        if let Some((sum, offset)) = self.taken_apart.get(&symbol.number) {
            return (Rc::clone(sum), offset.wrapping_add(term.offset as u64));
        }
        let (sum, offset) = self.symbol(term, symbol.number, pointer);
        let sum = Rc::new(sum);
        self.taken_apart.insert(symbol.number, (Rc::clone(&sum), offset));
        (sum, offset.wrapping_add(term.offset as u64))
    }

    /// The same of a term's symbol.
    fn symbol(&mut self, term: &Term, number: u64, pointer: u8) -> (Sum, u64) {
        let Some(symbol) = &term.symbol else { return (Sum::new(), 0) };
        let mut sum = Sum::new();
        let mut offset = 0u64;
        let of = |naming: &mut Naming, term: &Term, factor: u64, sum: &mut Sum, offset: &mut u64| {
            let (other, plus) = naming.linear(term, pointer);
            add(sum, &other, factor);
            *offset = offset.wrapping_add(plus.wrapping_mul(factor));
        };
        let number_of = |term: &Term| term.as_constant().map(|number| number as u64);
        match &symbol.origin {
            Origin::Binary(Binary::Add, a, b) if sized(pointer, symbol.size, a, b) => {
                of(self, a, 1, &mut sum, &mut offset);
                of(self, b, 1, &mut sum, &mut offset);
            }
            Origin::Binary(Binary::Subtract, a, b) if sized(pointer, symbol.size, a, b) => {
                of(self, a, 1, &mut sum, &mut offset);
                of(self, b, u64::MAX, &mut sum, &mut offset);
            }
            Origin::Binary(Binary::Multiply, a, b)
                if sized(pointer, symbol.size, a, b) && (number_of(a).is_some() || number_of(b).is_some()) =>
            {
                let (factor, other) = match (number_of(a), number_of(b)) {
                    (_, Some(factor)) => (factor, a),
                    (factor, None) => (factor.unwrap_or(0), b),
                };
                of(self, other, factor, &mut sum, &mut offset);
            }
            Origin::Binary(Binary::ShiftLeft, a, b)
                if symbol.size == pointer && a.size == pointer && number_of(b).is_some_and(|by| by < 64) =>
            {
                of(self, a, 1 << number_of(b).unwrap_or(0), &mut sum, &mut offset);
            }
            _ => {
                let atom = self.atom(term, number, pointer);
                add(&mut sum, &[(atom, 1)], 1);
            }
        }
        (sum, offset)
    }

    /// A sum's number and what is added to it, for operands of atoms. Sums of smaller numbers wrap around at their size: they
    /// are not taken apart.
    fn operand(&mut self, term: &Term, pointer: u8) -> (u32, u64) {
        match &term.symbol {
            None => (self.sum(Sum::new()), term.offset as u64),
            Some(symbol) if symbol.size == pointer => {
                let (sum, offset) = self.linear(term, pointer);
                (self.sum(Sum::clone(&sum)), offset)
            }
            Some(symbol) => {
                let atom = self.atom(term, symbol.number, pointer);
                (self.sum(vec![(atom, 1)]), term.offset as u64)
            }
        }
    }

    /// The atom of a term's symbol: by how it was computed, if that is all that makes it.
    fn atom(&mut self, term: &Term, number: u64, pointer: u8) -> u32 {
        let Some(symbol) = &term.symbol else { return self.intern(Atom::Symbol(number), number, 1, 0) };
        if let Some(atom) = self.seen.get(&number) {
            return *atom;
        }
        let size = symbol.size;
        let small = |term: &Term| term.size <= 8;
        let atom = match &symbol.origin {
            Origin::Unary(operation, a) if small(a) && size <= 8 => {
                let (sum, offset) = self.operand(a, pointer);
                let kind = match operation {
                    Unary::ZeroExtend => 0,
                    Unary::SignExtend => 1,
                    Unary::Not => 2,
                    Unary::Negate => 3,
                    _ => 4,
                };
                let known = self.of_sums[sum as usize].newest;
                (kind < 4).then_some((Atom::Unary(kind, size | a.size << 4, sum, offset), known))
            }
            Origin::Binary(operation, a, b) if small(a) && small(b) && size <= 8 => {
                let kind = match operation {
                    Binary::Add => 0,
                    Binary::Subtract => 1,
                    Binary::Multiply => 2,
                    Binary::And => 3,
                    Binary::Or => 4,
                    Binary::Xor => 5,
                    Binary::ShiftLeft => 6,
                    Binary::ShiftRight => 7,
                    Binary::ShiftRightSigned => 8,
                    _ => 9,
                };
                let (a_sum, b_sum) = (self.operand(a, pointer), self.operand(b, pointer));
                let newest = self.of_sums[a_sum.0 as usize].newest.max(self.of_sums[b_sum.0 as usize].newest);
                let sizes = size | a.size << 4;
                (kind < 9 && a.size == b.size).then_some((Atom::Binary(kind, sizes, a_sum, b_sum), newest))
            }
            Origin::Extract(a, at) if small(a) && size <= 8 => {
                let (sum, offset) = self.operand(a, pointer);
                let newest = self.of_sums[sum as usize].newest;
                Some((Atom::Extract(size | a.size << 4, *at, sum, offset), newest))
            }
            Origin::Concat(high, low) if small(high) && small(low) && size <= 8 => {
                let (a, b) = (self.operand(high, pointer), self.operand(low, pointer));
                let newest = self.of_sums[a.0 as usize].newest.max(self.of_sums[b.0 as usize].newest);
                Some((Atom::Concat(size | low.size << 4, a, b), newest))
            }
            _ => None,
        };
        let number = match atom {
            // What else is known of the symbol's values may be due to the branches before it: others may be made likewise.
            Some((atom, newest)) => {
                let (modulus, rest) = self.multiples(&symbol.origin, size, pointer);
                self.intern(atom, newest, modulus, rest)
            }
            None => {
                let (modulus, rest) = match symbol.root {
                    Root::Zero if size == pointer => (lowest(symbol.set.stride as u64), symbol.set.low as u64),
                    _ => (1, 0),
                };
                self.intern(Atom::Symbol(number), number, modulus, rest & (modulus - 1))
            }
        };
        self.seen.insert(symbol.number, number);
        number
    }

    /// A power of two, of which every result of an operation is a multiple, and a rest: by the operation and what is known so
    /// of its operands. Results of fewer bits than numbers have wrap around at a multiple of it.
    fn multiples(&mut self, origin: &Origin, size: u8, pointer: u8) -> (u64, u64) {
        let most = |modulus: u64, bytes: u8| if bytes < 8 { modulus.min(1 << (8 * bytes)) } else { modulus };
        let (modulus, rest) = match origin {
            Origin::Unary(Unary::ZeroExtend | Unary::SignExtend, a) => {
                let (modulus, rest) = self.multiples_of(a, pointer);
                (most(modulus, a.size), rest)
            }
            Origin::Unary(Unary::Negate, a) => {
                let (modulus, rest) = self.multiples_of(a, pointer);
                (modulus, rest.wrapping_neg())
            }
            Origin::Binary(operation, a, b) => {
                let ((of_a, rest_a), (of_b, rest_b)) = (self.multiples_of(a, pointer), self.multiples_of(b, pointer));
                let constant = |term: &Term| term.as_constant().map(|number| number as u64);
                match (operation, constant(a), constant(b)) {
                    (Binary::Add, ..) => (of_a.min(of_b), rest_a.wrapping_add(rest_b)),
                    (Binary::Subtract, ..) => (of_a.min(of_b), rest_a.wrapping_sub(rest_b)),
                    (Binary::Multiply, _, Some(factor)) => (times(of_a, factor), rest_a.wrapping_mul(factor)),
                    (Binary::Multiply, Some(factor), _) => (times(of_b, factor), rest_b.wrapping_mul(factor)),
                    (Binary::ShiftLeft, _, Some(by)) if by < 64 => (times(of_a, 1 << by), rest_a.wrapping_mul(1 << by)),
                    (Binary::And, _, Some(ones)) | (Binary::And, Some(ones), _) => (lowest(ones), 0),
                    _ => (1, 0),
                }
            }
            Origin::Extract(a, 0) => self.multiples_of(a, pointer),
            _ => (1, 0),
        };
        let modulus = most(modulus, size);
        (modulus, rest & (modulus - 1))
    }

    /// The same of an operand.
    fn multiples_of(&mut self, term: &Term, pointer: u8) -> (u64, u64) {
        if term.size > 8 {
            return (1, 0);
        }
        let (sum, offset) = self.operand(term, pointer);
        let Known { modulus, rest, .. } = self.of_sums[sum as usize];
        (modulus, rest.wrapping_add(offset) & (modulus - 1))
    }

    fn intern(&mut self, atom: Atom, newest: u64, modulus: u64, rest: u64) -> u32 {
        let next = self.of_atoms.len() as u32;
        let number = *self.atoms.entry(atom).or_insert(next);
        if number == next {
            self.of_atoms.push(Known { newest, modulus, rest });
        }
        number
    }

    fn sum(&mut self, sum: Sum) -> u32 {
        if let Some(number) = self.sums.get(&sum) {
            return *number;
        }
        let mut known = Known { newest: 0, modulus: WHOLE, rest: 0 };
        for (atom, factor) in &sum {
            let of = self.of_atoms[*atom as usize];
            let even = factor & factor.wrapping_neg();
            known.modulus = known.modulus.min(times(of.modulus, even));
            known.rest = known.rest.wrapping_add(of.rest.wrapping_mul(*factor)) & (known.modulus - 1);
            known.newest = known.newest.max(of.newest);
        }
        let number = self.of_sums.len() as u32;
        self.of_sums.push(known);
        self.sums.insert(sum, number);
        number
    }
}

/// Its lowest bit that is set.
fn lowest(number: u64) -> u64 {
    if number == 0 {
        WHOLE
    } else {
        number & number.wrapping_neg()
    }
}

/// Multiples of `modulus`, so many times, are multiples of this.
fn times(modulus: u64, factor: u64) -> u64 {
    let product = modulus.saturating_mul(lowest(factor));
    if product.is_power_of_two() {
        product
    } else {
        WHOLE
    }
}

fn sized(pointer: u8, size: u8, a: &Term, b: &Term) -> bool {
    size == pointer && a.size == pointer && b.size == pointer
}

/// Adds a sum so many times.
fn add(to: &mut Sum, other: &[(u32, u64)], factor: u64) {
    for (atom, times) in other {
        let more = times.wrapping_mul(factor);
        match to.binary_search_by_key(atom, |(atom, _)| *atom) {
            Ok(place) => {
                to[place].1 = to[place].1.wrapping_add(more);
                if to[place].1 == 0 {
                    to.remove(place);
                }
            }
            Err(place) if more != 0 => to.insert(place, (*atom, more)),
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests;
