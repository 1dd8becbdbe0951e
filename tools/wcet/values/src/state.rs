//! What holds at a point of an execution: the terms in registers and memory, and what is known of their symbols.

use std::rc::Rc;

use wcet_binary::lift::evaluate::mask;
use wcet_binary::lift::il::Binary;
use wcet_binary::load::Program;

use crate::memory::Memory;
use crate::set::Set;
use crate::term::{shifted, Origin, Root, Symbols, Term};
use crate::transfer;
use crate::{Leads, Own, Shared};

/// Origins are looked through this far for what branches told of their operands.
const FORWARD: u8 = 2;

#[derive(Debug, Clone)]
pub(crate) struct State {
    pub registers: Vec<Term>,
    pub memory: Memory,
    /// What branches told of symbols, by their number; sorted.
    pub known: Rc<Vec<(u64, Set)>>,
    /// How much may be known before what is no longer needed is dropped.
    pub crowd: usize,
    /// An address on the stack may be where it is not seen.
    pub escaped: bool,
}

/// What does not change during an analysis.
pub(crate) struct World<'a> {
    pub program: &'a Program,
    pub symbols: Symbols,
    pub pointer: u8,
    pub shared: &'a Shared,
    /// The address of an object of its own, and what is known of that.
    pub own: Option<(Term, &'a Own)>,
    /// The address of an object to which that one leads, at the entry.
    pub leads: Option<(Term, Leads)>,
}

impl State {
    pub fn known(&self, number: u64) -> Option<&Set> {
        let index = self.known.binary_search_by_key(&number, |(other, _)| *other).ok()?;
        Some(&self.known[index].1)
    }

    pub fn learn(&mut self, number: u64, set: Set) {
        let known = Rc::make_mut(&mut self.known);
        match known.binary_search_by_key(&number, |(other, _)| *other) {
            Ok(index) => known[index].1 = set,
            Err(index) => known.insert(index, (number, set)),
        }
    }

    /// Every value of a term, less its root's.
    pub fn range(&self, term: &Term) -> (Root, Set) {
        self.range_from(term, FORWARD)
    }

    fn range_from(&self, term: &Term, depth: u8) -> (Root, Set) {
        let Some(symbol) = &term.symbol else { return (Root::Zero, Set::single(term.offset, term.size)) };
        if symbol.size > 16 {
            return (Root::Zero, Set::full(term.size));
        }
        let mut set = self.known(symbol.number).copied().unwrap_or(symbol.set);
        if depth > 0 && symbol.root == Root::Zero && set.stride != 0 && self.knows_operands(&symbol.origin, depth) {
            let get = |term: &Term| self.numbers_from(term, depth - 1);
            let again = match &symbol.origin {
                Origin::Unary(operation, a) => Some(transfer::unary(*operation, &get(a), symbol.size)),
                Origin::Binary(Binary::Equal | Binary::NotEqual, ..) if symbol.size == 1 => None,
                Origin::Binary(operation, a, b) => Some(transfer::binary(*operation, &get(a), &get(b), symbol.size)),
                Origin::Extract(a, at) => Some(transfer::extract(&get(a), *at, symbol.size)),
                Origin::Concat(high, low) => Some(transfer::concat(&get(high), &get(low))),
                Origin::Select(..) | Origin::Opaque => None,
            };
            // Where they have nothing in common this point is not reached, which a branch finds out.
            set = again.and_then(|again| again.meet(&set)).unwrap_or(set);
        }
        (symbol.root, if term.offset == 0 { set } else { shifted(&set, term.offset) })
    }

    /// Whether a branch told something of what a symbol was computed from.
    fn knows_operands(&self, origin: &Origin, depth: u8) -> bool {
        if self.known.is_empty() {
            return false;
        }
        let knows = |term: &Term| {
            let Some(symbol) = &term.symbol else { return false };
            self.known(symbol.number).is_some() || depth > 1 && self.knows_operands(&symbol.origin, depth - 1)
        };
        match origin {
            Origin::Opaque | Origin::Select(..) => false,
            Origin::Unary(_, a) | Origin::Extract(a, _) => knows(a),
            Origin::Binary(_, a, b) | Origin::Concat(a, b) => knows(a) || knows(b),
        }
    }

    /// Every value of a term as a plain number.
    pub fn numbers(&self, term: &Term) -> Set {
        self.numbers_from(term, FORWARD)
    }

    fn numbers_from(&self, term: &Term, depth: u8) -> Set {
        match self.range_from(term, depth) {
            (Root::Zero, set) => set,
            (Root::Symbol(number), set) => match self.known(number) {
                Some(base) if base.size == set.size => transfer::binary(Binary::Add, base, &set, set.size),
                _ => Set::full(term.size),
            },
            (Root::Stack, _) => Set::full(term.size),
        }
    }

    /// Whether a condition may be true, or false.
    pub fn may_be(&self, condition: &Term, truth: bool) -> bool {
        let set = self.numbers(condition);
        if truth {
            set.as_single() != Some(0)
        } else {
            set.contains(0)
        }
    }

    /// Every value of an address, less its root's: a number that may be almost any is a base of its own.
    pub fn address(&self, term: &Term, pointer: u8) -> (Root, Set) {
        let (root, set) = self.range(term);
        match &term.symbol {
            Some(symbol) if root == Root::Zero && term.size == pointer && set.span() >= mask(pointer) >> 1 => {
                (Root::Symbol(symbol.number), Set::single(term.offset, term.size))
            }
            _ => (root, set),
        }
    }

    /// Notes that a term is used in a way that hides what it is.
    pub fn hide(&mut self, term: &Term) {
        self.escaped |= term.symbol.as_ref().is_some_and(|symbol| symbol.root == Root::Stack);
    }
}

/// Whether it is an address of the stack.
pub(crate) fn is_of_stack(term: &Term) -> bool {
    matches!(&term.symbol, Some(symbol) if symbol.root == Root::Stack)
}

pub(crate) fn is_comparison(operation: Binary) -> bool {
    use Binary::*;
    matches!(
        operation,
        Equal | NotEqual | Less | LessEqual | LessSigned | LessEqualSigned | Carry | CarrySigned | BorrowSigned
    )
}
