//! What a register or a piece of memory holds: a symbol plus a number, or just a number.
//!
//! A symbol is a value that arose once in an execution. Two places that hold the same symbol hold the same value, so
//! what a branch tells of one holds for the other, and where a symbol was computed from others it tells of them too.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

use wcet_binary::lift::evaluate::{self, mask};
use wcet_binary::lift::il::{Binary, Unary};

use crate::compare::opposite;
use crate::set::Set;
use crate::transfer;

/// How a symbol was computed. `Opaque`: not known, or no longer of interest.
#[derive(Debug, Clone)]
pub(crate) enum Origin {
    Opaque,
    Unary(Unary, Term),
    Binary(Binary, Term, Term),
    Extract(Term, u8),
    Concat(Term, Term),
    Select(Term, Term, Term),
}

/// What the numbers of a set are counted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Root {
    Zero,
    Stack,
    /// The symbol of this number.
    Symbol(u64),
}

#[derive(Debug)]
pub(crate) struct Symbol {
    pub number: u64,
    pub size: u8,
    pub root: Root,
    /// Every value that it may have, less the root's.
    pub set: Set,
    pub origin: Origin,
    depth: u16,
}

#[derive(Debug, Clone)]
pub(crate) struct Term {
    pub symbol: Option<Rc<Symbol>>,
    pub offset: u128,
    pub size: u8,
}

/// Origins of origins are followed this far.
const DEEPEST: u16 = 12;

/// Operation, number of the symbol, what is added to it, and the result's size.
type Key = (u8, u64, u128, u8);

/// Makes symbols.
#[derive(Debug, Default)]
pub(crate) struct Symbols {
    next: Cell<u64>,
    made: RefCell<Remembered<Key>>,
    compared: RefCell<Remembered<Comparison>>,
}

/// Terms by how they were made. One that is still in use anywhere is never made a second time: what holds the same would not
/// be known to be the same any more.
#[derive(Debug)]
struct Remembered<K> {
    terms: HashMap<K, Term, Quick>,
    /// How many there may be before unused ones are dropped.
    room: usize,
}

impl<K> Default for Remembered<K> {
    fn default() -> Remembered<K> {
        Remembered { terms: HashMap::default(), room: REMEMBERED }
    }
}

impl<K: std::hash::Hash + Eq> Remembered<K> {
    fn insert(&mut self, key: K, term: Term) {
        if self.terms.len() >= self.room {
            self.terms.retain(|_, term| term.symbol.as_ref().is_some_and(|symbol| Rc::strong_count(symbol) > 1));
            self.room = REMEMBERED.max(2 * self.terms.len());
        }
        self.terms.insert(key, term);
    }
}

/// Hashes keys of a few numbers, none of which an adversary chooses.
#[derive(Debug, Default)]
pub(crate) struct Mix(u64);

pub(crate) type Quick = BuildHasherDefault<Mix>;

impl Hasher for Mix {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let number = part.iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
            self.write_u64(number);
        }
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u64(number.into());
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = (self.0.rotate_left(5) ^ number).wrapping_mul(0x517c_c1b7_2722_0a95);
    }

    fn write_u128(&mut self, number: u128) {
        self.write_u64(number as u64);
        self.write_u64((number >> 64) as u64);
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }
}

/// A comparison of two symbols and what is added to them.
type Comparison = (Binary, (Option<u64>, u128), (Option<u64>, u128));

/// Terms that are kept even if they are unused.
const REMEMBERED: usize = 4096;

impl PartialEq for Term {
    fn eq(&self, other: &Term) -> bool {
        self.size == other.size && self.offset == other.offset && self.number() == other.number()
    }
}

impl Term {
    pub fn constant(number: u128, size: u8) -> Term {
        Term { symbol: None, offset: if size <= 16 { number & mask(size) } else { number }, size }
    }

    pub fn as_constant(&self) -> Option<u128> {
        self.symbol.is_none().then_some(self.offset)
    }

    /// The symbol's number.
    pub fn number(&self) -> Option<u64> {
        self.symbol.as_ref().map(|symbol| symbol.number)
    }

    pub fn plus(&self, number: u128) -> Term {
        let offset = self.offset.wrapping_add(number) & mask(self.size);
        Term { symbol: self.symbol.clone(), offset, size: self.size }
    }

    /// Every value that it may have, whatever branches told.
    pub fn widest(&self) -> Set {
        match &self.symbol {
            None => Set::single(self.offset, self.size),
            Some(symbol) if symbol.root == Root::Zero && symbol.size <= 16 => shifted(&symbol.set, self.offset),
            Some(_) => Set::full(self.size),
        }
    }

    /// How it was computed, if it is just a symbol.
    pub fn origin(&self) -> &Origin {
        match &self.symbol {
            Some(symbol) if self.offset == 0 => &symbol.origin,
            _ => &Origin::Opaque,
        }
    }

    fn depth(&self) -> u16 {
        self.symbol.as_ref().map_or(0, |symbol| symbol.depth)
    }

    /// The comparison, if that is how it was computed.
    fn comparison(&self) -> Option<(Binary, &Term, &Term)> {
        match self.origin() {
            Origin::Binary(operation, a, b) if self.size == 1 => Some((*operation, a, b)),
            _ => None,
        }
    }

    fn is_truth(&self) -> bool {
        match &self.symbol {
            None => self.offset <= 1,
            Some(symbol) => {
                self.offset == 0 && symbol.size == 1 && symbol.root == Root::Zero && symbol.set.unsigned().1 <= 1
            }
        }
    }

    /// Whether it is `a - b`.
    fn is_difference(&self, a: &Term, b: &Term) -> bool {
        if let Some(number) = b.as_constant() {
            return *self == a.plus(number.wrapping_neg());
        }
        matches!(self.origin(), Origin::Binary(Binary::Subtract, x, y) if x == a && y == b)
    }

    /// Whether it says that `a == b` (or not, by `operation`).
    fn is_equality(&self, operation: Binary, a: &Term, b: &Term) -> bool {
        let Some((found, x, y)) = self.comparison() else { return false };
        let same = |x: &Term, y: &Term| x == a && y == b || x == b && y == a;
        found == operation && (same(x, y) || y.as_constant() == Some(0) && x.is_difference(a, b))
    }
}

impl Symbols {
    /// The number that no symbol has yet, nor any smaller one will get.
    pub fn count(&self) -> u64 {
        self.next.get()
    }

    pub fn make(&self, root: Root, set: Set, origin: Origin) -> Term {
        if let (Root::Zero, Some(number)) = (root, set.as_single()) {
            return Term::constant(number, set.size);
        }
        let depth = 1 + match &origin {
            Origin::Opaque => 0,
            Origin::Unary(_, a) | Origin::Extract(a, _) => a.depth(),
            Origin::Binary(_, a, b) | Origin::Concat(a, b) => a.depth().max(b.depth()),
            Origin::Select(a, b, c) => a.depth().max(b.depth()).max(c.depth()),
        };
        let (origin, depth) = if depth > DEEPEST { (Origin::Opaque, 1) } else { (origin, depth) };
        let number = self.next.get();
        self.next.set(number + 1);
        let size = set.size;
        Term { symbol: Some(Rc::new(Symbol { number, size, root, set, origin, depth })), offset: 0, size }
    }

    /// The same symbol for the same part of the same term, at every use. So its set must not depend on what branches
    /// told.
    pub fn same(&self, (kind, of, size): (u8, &Term, u8), make: impl FnOnce() -> (Set, Origin)) -> Term {
        let key = (kind, of.number().unwrap_or(u64::MAX), of.offset, size);
        if let Some(found) = self.made.borrow().terms.get(&key) {
            return found.clone();
        }
        let (set, origin) = make();
        let term = self.make(Root::Zero, set, origin);
        self.made.borrow_mut().insert(key, term.clone());
        term
    }

    pub fn unknown(&self, size: u8) -> Term {
        self.make(Root::Zero, Set::full(size), Origin::Opaque)
    }

    /// The same symbol for the same comparison, so that what a branch told is still known when it comes again.
    pub fn comparison(&self, operation: Binary, a: &Term, b: &Term) -> Term {
        let key = (operation, (a.number(), a.offset), (b.number(), b.offset));
        if let Some(found) = self.compared.borrow().terms.get(&key) {
            return found.clone();
        }
        let term = self.make(Root::Zero, Set::range(0, 1, 1), Origin::Binary(operation, a.clone(), b.clone()));
        self.compared.borrow_mut().insert(key, term.clone());
        term
    }

    pub fn not(&self, a: &Term) -> Term {
        if let Some(number) = a.as_constant() {
            return Term::constant(u128::from(number == 0), 1);
        }
        match a.origin() {
            Origin::Unary(Unary::BoolNot, inner) if inner.is_truth() => return inner.clone(),
            Origin::Binary(operation, x, y) if a.size == 1 => {
                if let Some((operation, x, y)) = opposite(*operation, x, y) {
                    return self.comparison(operation, x, y);
                }
            }
            _ => {}
        }
        self.make(Root::Zero, Set::range(0, 1, 1), Origin::Unary(Unary::BoolNot, a.clone()))
    }

    /// Comparisons as a programmer writes them, from what processors make of them. None if this is no such pattern.
    pub fn simplify(&self, operation: Binary, a: &Term, b: &Term) -> Option<Term> {
        let compare = |operation, x: &Term, y: &Term| Some(self.comparison(operation, x, y));
        match operation {
            Binary::Equal | Binary::NotEqual | Binary::Xor if a.is_truth() && b.is_truth() => {
                let (truth, other) = match (a.as_constant(), b.as_constant()) {
                    (Some(number), _) => (Some(number), b),
                    (_, number) => (number, a),
                };
                if let Some(number) = truth {
                    let keep = (operation == Binary::Equal) == (number == 1);
                    return Some(if keep { other.clone() } else { self.not(other) });
                }
                // The sign of the difference, corrected by the overflow.
                for (sign, overflow) in [(a, b), (b, a)] {
                    let (Some((Binary::LessSigned, d, zero)), Some((Binary::BorrowSigned, x, y))) =
                        (sign.comparison(), overflow.comparison())
                    else {
                        continue;
                    };
                    if zero.as_constant() == Some(0) && d.is_difference(x, y) {
                        return match operation {
                            Binary::Equal => compare(Binary::LessEqualSigned, y, x),
                            _ => compare(Binary::LessSigned, x, y),
                        };
                    }
                }
                None
            }
            Binary::Equal | Binary::NotEqual if b.as_constant() == Some(0) => match a.origin() {
                Origin::Binary(Binary::Subtract, x, y) => compare(operation, x, y),
                Origin::Unary(Unary::ZeroExtend, truth) if truth.is_truth() => {
                    Some(if operation == Binary::NotEqual { truth.clone() } else { self.not(truth) })
                }
                _ => None,
            },
            Binary::Or if a.is_truth() && b.is_truth() => {
                for (less, equal) in [(a, b), (b, a)] {
                    let Some((found, x, y)) = less.comparison() else { continue };
                    let joined = match found {
                        Binary::Less => Binary::LessEqual,
                        Binary::LessSigned => Binary::LessEqualSigned,
                        _ => continue,
                    };
                    if equal.is_equality(Binary::Equal, x, y) {
                        return compare(joined, x, y);
                    }
                }
                None
            }
            Binary::And if a.is_truth() && b.is_truth() => {
                for (at_most, unequal) in [(a, b), (b, a)] {
                    let Some((found, x, y)) = at_most.comparison() else { continue };
                    let met = match found {
                        Binary::LessEqual => Binary::Less,
                        Binary::LessEqualSigned => Binary::LessSigned,
                        _ => continue,
                    };
                    if unequal.is_equality(Binary::NotEqual, x, y) {
                        return compare(met, x, y);
                    }
                }
                None
            }
            _ => None,
        }
    }

    /// The sum or difference, where it is a symbol plus a number.
    pub fn linear(&self, operation: Binary, a: &Term, b: &Term) -> Option<Term> {
        match (operation, a.as_constant(), b.as_constant()) {
            (Binary::Add, _, Some(number)) => Some(a.plus(number)),
            (Binary::Add, Some(number), _) => Some(b.plus(number)),
            (Binary::Subtract, _, Some(number)) => Some(a.plus(number.wrapping_neg())),
            (Binary::Subtract, ..) if a.number() == b.number() => {
                Some(Term::constant(a.offset.wrapping_sub(b.offset), a.size))
            }
            _ => None,
        }
    }
}

/// The result of known numbers.
pub(crate) fn fold(operation: Binary, a: &Term, b: &Term, size: u8) -> Option<Term> {
    let number = evaluate::binary(operation, a.as_constant()?, b.as_constant()?, a.size)?;
    Some(Term::constant(number, size))
}

/// What adding a number to all members gives.
pub(crate) fn shifted(set: &Set, offset: u128) -> Set {
    transfer::binary(Binary::Add, set, &Set::single(offset, set.size), set.size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_use_is_made_once_and_what_is_not_goes() {
        let symbols = Symbols::default();
        let whole = symbols.unknown(8);
        let low = |of: &Term| symbols.same((2, of, 4), || (Set::full(4), Origin::Extract(of.clone(), 0)));
        let kept = low(&whole);
        for _ in 0..3 * REMEMBERED {
            low(&symbols.unknown(8));
        }
        assert_eq!(low(&whole), kept);
        assert!(symbols.made.borrow().terms.len() <= REMEMBERED);
    }
}
