//! What holds at a point of an execution: the terms in registers and memory, and what is known of their symbols.

use std::rc::Rc;

use timing_lift::evaluate::mask;
use timing_lift::il::{Binary, Unary};
use timing_load::Program;

use crate::memory::{position, positions, Found, Memory};
use crate::set::Set;
use crate::term::{fold, shifted, Origin, Root, Symbols, Term};
use crate::transfer;

/// Values at more addresses than these are not looked at one by one.
const MOST: u128 = 2048;
/// Origins are looked through this far for what branches told of their operands.
const FORWARD: u8 = 2;

#[derive(Debug, Clone)]
pub(crate) struct State {
    pub registers: Vec<Term>,
    pub memory: Memory,
    /// What branches told of symbols, by their number; sorted.
    pub known: Rc<Vec<(u64, Set)>>,
    /// How much may be known before it is looked through for what no one needs.
    pub crowd: usize,
    /// An address on the stack may be where it is not seen.
    pub escaped: bool,
}

/// What does not change during an analysis.
pub(crate) struct World<'a> {
    pub program: &'a Program,
    pub symbols: Symbols,
    pub pointer: u8,
    /// Memory that others may change: from the first address to the second.
    pub shared: &'a [(u64, u64)],
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

    /// The same, of an address: a number that may be almost any is a base of its own.
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

    pub fn unary(&mut self, world: &World<'_>, operation: Unary, a: &Term, size: u8) -> Term {
        if operation == Unary::BoolNot {
            return world.symbols.not(a);
        }
        if size > 16 || a.size > 16 {
            self.hide(a);
            return world.symbols.unknown(size);
        }
        if size == a.size && matches!(operation, Unary::ZeroExtend | Unary::SignExtend) {
            return a.clone();
        }
        self.hide(a);
        if matches!(operation, Unary::ZeroExtend | Unary::SignExtend) && a.symbol.is_some() {
            let kind = if operation == Unary::ZeroExtend { 0 } else { 1 };
            return world.symbols.same((kind, a, size), || {
                let set = transfer::unary(operation, &a.widest(), size);
                (set, Origin::Unary(operation, a.clone()))
            });
        }
        let set = transfer::unary(operation, &self.numbers(a), size);
        world.symbols.make(Root::Zero, set, Origin::Unary(operation, a.clone()))
    }

    pub fn binary(&mut self, world: &World<'_>, operation: Binary, a: &Term, b: &Term, size: u8) -> Term {
        if size > 16 || a.size > 16 || b.size > 16 {
            self.hide(a);
            self.hide(b);
            return world.symbols.unknown(size);
        }
        if let Some(term) = fold(operation, a, b, size).or_else(|| world.symbols.linear(operation, a, b)) {
            return term;
        }
        if let Some(term) = world.symbols.simplify(operation, a, b) {
            return self.settle(world, term);
        }
        if size == 1 && is_comparison(operation) {
            let term = world.symbols.comparison(operation, a, b);
            return self.settle(world, term);
        }
        if a == b {
            match operation {
                Binary::Xor => return Term::constant(0, size),
                Binary::And | Binary::Or => return a.clone(),
                _ => {}
            }
        }
        for (x, y) in [(a, b), (b, a)] {
            match (operation, y.as_constant()) {
                (Binary::Or | Binary::Xor, Some(0)) => return x.clone(),
                (Binary::And, Some(number)) if number == mask(size) => return x.clone(),
                (Binary::Multiply, Some(1)) => return x.clone(),
                _ => {}
            }
        }
        if b.as_constant() == Some(0)
            && matches!(operation, Binary::ShiftLeft | Binary::ShiftRight | Binary::ShiftRightSigned)
        {
            return a.clone();
        }
        let (root, set) = self.combine(world, operation, a, b, size);
        if root == Root::Zero {
            self.hide(a);
            self.hide(b);
        }
        world.symbols.make(root, set, Origin::Binary(operation, a.clone(), b.clone()))
    }

    /// Root and set of a result that is no comparison.
    fn combine(&self, world: &World<'_>, operation: Binary, a: &Term, b: &Term, size: u8) -> (Root, Set) {
        let plain = || transfer::binary(operation, &self.numbers(a), &self.numbers(b), size);
        if size != world.pointer {
            return (Root::Zero, plain());
        }
        let ((root_a, set_a), (root_b, set_b)) = (self.address(a, world.pointer), self.address(b, world.pointer));
        match operation {
            Binary::Add if root_a != Root::Zero && root_b == Root::Zero => {
                (root_a, transfer::binary(operation, &set_a, &set_b, size))
            }
            Binary::Add if root_b != Root::Zero && root_a == Root::Zero => {
                (root_b, transfer::binary(operation, &set_a, &set_b, size))
            }
            Binary::Subtract if root_a != Root::Zero && root_b == Root::Zero => {
                (root_a, transfer::binary(operation, &set_a, &set_b, size))
            }
            Binary::Subtract if root_a != Root::Zero && root_a == root_b => {
                (Root::Zero, transfer::binary(operation, &set_a, &set_b, size))
            }
            // Aligned down.
            Binary::And if root_a != Root::Zero => match b.as_constant() {
                Some(ones) if (!ones & mask(size)) & (!ones & mask(size)).wrapping_add(1) == 0 => {
                    let less = Set::range(0, !ones & mask(size), size);
                    (root_a, transfer::binary(Binary::Subtract, &set_a, &less, size))
                }
                _ => (Root::Zero, plain()),
            },
            _ => (Root::Zero, plain()),
        }
    }

    /// Two terms that compare like these, where one is computed from the other: the base that both share is gone.
    pub fn without_base(&self, operation: Binary, a: &Term, b: &Term) -> Option<(Term, Term)> {
        let size = a.size;
        let apart = |whole: &Term| {
            let symbol = whole.symbol.as_ref()?;
            match &symbol.origin {
                Origin::Binary(Binary::Add, x, y) if x.size == size => Some((x.clone(), y.clone(), whole.offset)),
                _ => None,
            }
        };
        let less = |whole: &Term, part: &Term| {
            let (x, y, offset) = apart(whole)?;
            for (base, rest) in [(&x, &y), (&y, &x)] {
                if base.number().is_some() && base.number() == part.number() {
                    let left = Term::constant(part.offset.wrapping_sub(base.offset).wrapping_sub(offset), size);
                    return Some((rest.clone(), left, base.plus(offset)));
                }
            }
            None
        };
        let equality = matches!(operation, Binary::Equal | Binary::NotEqual);
        let straight = |base: &Term, rest: &Term, left: &Term| {
            // As unsigned numbers, if nothing wraps around.
            let more = self.numbers(rest).unsigned().1.max(self.numbers(left).unsigned().1);
            let most = self.numbers(base).unsigned().1.checked_add(more);
            matches!(operation, Binary::Less | Binary::LessEqual) && most.is_some_and(|most| most <= mask(size))
        };
        if let Some((rest, left, base)) = less(b, a) {
            return (equality || straight(&base, &rest, &left)).then_some((left, rest));
        }
        if let Some((rest, left, base)) = less(a, b) {
            return (equality || straight(&base, &rest, &left)).then_some((rest, left));
        }
        None
    }

    /// Whether a comparison surely holds, or surely does not.
    pub fn compare(&self, world: &World<'_>, operation: Binary, a: &Term, b: &Term) -> Option<bool> {
        if let Some((a, b)) = self.without_base(operation, a, b) {
            if let Some(truth) = transfer::truth(operation, &self.numbers(&a), &self.numbers(&b)) {
                return Some(truth);
            }
        }
        let sets = (self.numbers(a), self.numbers(b));
        if let Some(truth) = transfer::truth(operation, &sets.0, &sets.1) {
            return Some(truth);
        }
        if a == b {
            match operation {
                Binary::Equal | Binary::LessEqual | Binary::LessEqualSigned => return Some(true),
                Binary::NotEqual | Binary::Less | Binary::LessSigned => return Some(false),
                _ => {}
            }
        }
        if a.number().is_some() && a.number() == b.number() && a.offset != b.offset {
            match operation {
                Binary::Equal => return Some(false),
                Binary::NotEqual => return Some(true),
                _ => {}
            }
        }
        if a.size != world.pointer {
            return None;
        }
        let ((root_a, set_a), (root_b, set_b)) = (self.address(a, world.pointer), self.address(b, world.pointer));
        if root_a != root_b || root_a == Root::Zero {
            return None;
        }
        match operation {
            Binary::Equal | Binary::NotEqual => transfer::truth(operation, &set_a, &set_b),
            // The stack does not wrap around.
            Binary::Less if root_a == Root::Stack => transfer::truth(Binary::LessSigned, &set_a, &set_b),
            Binary::LessEqual if root_a == Root::Stack => transfer::truth(Binary::LessEqualSigned, &set_a, &set_b),
            _ => None,
        }
    }

    /// The truth of a comparison that came out of a pattern.
    fn settle(&self, world: &World<'_>, term: Term) -> Term {
        let Origin::Binary(operation, a, b) = term.origin() else { return term };
        if !is_comparison(*operation) {
            return term;
        }
        match self.compare(world, *operation, a, b) {
            Some(truth) => Term::constant(u128::from(truth), 1),
            None if self.known(term.number().unwrap_or(u64::MAX)).is_some_and(|set| set.stride == 0) => {
                Term::constant(self.numbers(&term).low, 1)
            }
            None => term,
        }
    }

    /// One of two values, by a truth.
    pub fn select(&mut self, world: &World<'_>, when: &Term, then: &Term, otherwise: &Term) -> Term {
        if let Some(number) = self.numbers(when).as_single() {
            return if number != 0 { then.clone() } else { otherwise.clone() };
        }
        if then == otherwise {
            return then.clone();
        }
        if then.size == 1 {
            match (then.as_constant(), otherwise.as_constant()) {
                (Some(1), Some(0)) => return when.clone(),
                (Some(0), Some(1)) => return world.symbols.not(when),
                _ => {}
            }
        }
        let before = Rc::clone(&self.known);
        let can = self.assume(world, when, true);
        let (root, set) = self.range(then);
        self.known = Rc::clone(&before);
        if !can {
            return otherwise.clone();
        }
        let can = self.assume(world, when, false);
        let (other_root, other) = self.range(otherwise);
        self.known = before;
        if !can {
            return then.clone();
        }
        let origin = Origin::Select(when.clone(), then.clone(), otherwise.clone());
        if root == other_root && set.size <= 16 {
            return world.symbols.make(root, set.join(&other), origin);
        }
        self.hide(then);
        self.hide(otherwise);
        world.symbols.make(Root::Zero, Set::full(then.size), origin)
    }

    pub fn extract(&mut self, world: &World<'_>, from: &Term, at: u8, size: u8) -> Term {
        if at == 0 && size == from.size {
            return from.clone();
        }
        if from.size > 16 || size > 16 {
            self.hide(from);
            return world.symbols.unknown(size);
        }
        match from.origin() {
            Origin::Unary(Unary::ZeroExtend | Unary::SignExtend, inner) if at == 0 && inner.size == size => {
                return inner.clone();
            }
            Origin::Concat(_, low) if at == 0 && low.size == size => return low.clone(),
            Origin::Concat(high, low) if at == low.size && high.size == size => return high.clone(),
            _ => {}
        }
        // The low bytes of a sum are the sum of the low bytes.
        if at == 0 && from.offset != 0 {
            if let Some(symbol) = &from.symbol {
                let base = Term { symbol: Some(Rc::clone(symbol)), offset: 0, size: from.size };
                return self.extract(world, &base, 0, size).plus(from.offset);
            }
        }
        self.hide(from);
        if from.symbol.is_none() {
            return Term::constant(from.offset >> (8 * u32::from(at)), size);
        }
        world.symbols.same((2 + at, from, size), || {
            (transfer::extract(&from.widest(), at, size), Origin::Extract(from.clone(), at))
        })
    }

    pub fn concat(&mut self, world: &World<'_>, high: &Term, low: &Term) -> Term {
        let size = high.size.saturating_add(low.size);
        if size > 16 {
            self.hide(high);
            self.hide(low);
            return world.symbols.unknown(size);
        }
        if high.as_constant() == Some(0) {
            return self.unary(world, Unary::ZeroExtend, low, size);
        }
        if let (Origin::Extract(x, at), Origin::Extract(y, 0)) = (high.origin(), low.origin()) {
            if x == y && *at == low.size && x.size == size {
                return x.clone();
            }
        }
        self.hide(high);
        self.hide(low);
        let set = transfer::concat(&self.numbers(high), &self.numbers(low));
        world.symbols.make(Root::Zero, set, Origin::Concat(high.clone(), low.clone()))
    }

    /// What memory holds at an address.
    pub fn load(&mut self, world: &World<'_>, address: &Term, size: u8) -> Term {
        let (root, set) = self.address(address, world.pointer);
        if size > 16 {
            return world.symbols.unknown(size);
        }
        let Some(offset) = set.as_single() else { return self.load_somewhere(world, address, size) };
        let at = position(root, offset, world.pointer);
        if root == Root::Zero {
            if let Some(number) = world.program.constant(at, size) {
                return Term::constant(number.into(), size);
            }
        }
        if world.may_be_shared(root, at, u64::from(size), &self.numbers(address)) {
            return world.symbols.unknown(size);
        }
        match self.memory.read(root, at, size, world.program) {
            Found::Term(term) => term,
            Found::Part(term, from) => self.extract(world, &term, from, size),
            Found::Unknown => {
                // Whoever reads again, reads the same.
                let term = world.symbols.unknown(size);
                if size <= 8 {
                    self.memory.write(root, at, size, Some(&term), world.program);
                }
                term
            }
        }
    }

    fn load_somewhere(&mut self, world: &World<'_>, address: &Term, size: u8) -> Term {
        let ((root, set), numbers) = (self.address(address, world.pointer), self.numbers(address));
        let unknown = |state: &mut State| {
            state.escaped |= root == Root::Stack;
            world.symbols.unknown(size)
        };
        if set.others() >= MOST {
            return unknown(self);
        }
        let mut all: Option<(Root, Set)> = None;
        for index in 0..=set.others() {
            let at = position(root, set.low.wrapping_add(index * set.stride) & mask(set.size), world.pointer);
            let constant = if root == Root::Zero { world.program.constant(at, size) } else { None };
            let found = match constant {
                Some(number) => (Root::Zero, Set::single(number.into(), size)),
                None if world.may_be_shared(root, at, u64::from(size), &numbers) => return unknown(self),
                None => match self.memory.read(root, at, size, world.program) {
                    Found::Term(term) => self.range(&term),
                    _ => return unknown(self),
                },
            };
            all = match all {
                None => Some(found),
                Some((root, set)) if root == found.0 => Some((root, set.join(&found.1))),
                Some(_) => return unknown(self),
            };
            if all.is_some_and(|(root, set)| root == Root::Zero && set.is_full()) {
                break;
            }
        }
        match all {
            Some((root, set)) => world.symbols.make(root, set, Origin::Opaque),
            None => unknown(self),
        }
    }

    pub fn store(&mut self, world: &World<'_>, address: &Term, term: &Term, sure: bool) {
        let (root, set) = self.address(address, world.pointer);
        let size = term.size;
        self.aliases(world, root, &set, address);
        let single = set.as_single();
        let offset = single.map(|offset| position(root, offset, world.pointer) & 7);
        let whole = offset.is_some_and(|offset| offset + u64::from(size) <= 8);
        if !(root == Root::Stack && whole && sure) {
            // An address of the stack that is kept elsewhere may be found by anyone.
            self.hide(term);
        }
        match single {
            Some(offset) if sure => {
                let at = position(root, offset, world.pointer);
                let trackable = size <= 16 && !world.may_be_shared(root, at, size.into(), &self.numbers(address));
                self.memory.write(root, at, size, trackable.then_some(term), world.program);
            }
            _ => {
                let Some((low, high)) = positions(root, &set) else { return self.forget(root) };
                let stride = set.stride as u64;
                let mut memory = std::mem::take(&mut self.memory);
                let mut lost = false;
                let mut merge = |old: &Term, exact: bool| {
                    if old == term && exact {
                        return Some(old.clone());
                    }
                    let ((root, a), (other, b)) = (self.range(old), self.range(term));
                    if !exact {
                        lost |= root == Root::Stack;
                        return None;
                    }
                    let joined = a.join(&b);
                    if root != other || root == Root::Zero && joined.is_full() {
                        lost |= root == Root::Stack;
                        return None;
                    }
                    Some(world.symbols.make(root, joined, Origin::Opaque))
                };
                let done = memory.write_somewhere(root, (low, high, stride), size, world.program, &mut merge);
                self.memory = memory;
                self.escaped |= lost;
                if !done {
                    self.forget(root);
                }
            }
        }
    }

    /// Everything at a root may have changed.
    fn forget(&mut self, root: Root) {
        match root {
            Root::Zero => self.memory.forget_absolute(),
            Root::Stack => {
                self.memory.stack = Default::default();
                self.escaped = true;
            }
            Root::Symbol(number) => self.memory.others.retain(|(other, _)| *other != number),
        }
    }

    /// A store at a root changes what other roots may reach too.
    fn aliases(&mut self, world: &World<'_>, root: Root, set: &Set, address: &Term) {
        match root {
            Root::Zero => {
                self.memory.forget_others(None);
                // Not in any one object: it may be anywhere.
                if set.others() > 0 && !world.is_mapped(set) {
                    self.forget_stack_of_others();
                }
            }
            Root::Stack => {
                if self.escaped || set.signed().1 >= 0 {
                    self.memory.forget_others(None);
                }
            }
            Root::Symbol(number) => {
                self.memory.forget_others(Some(number));
                let bounds = self.numbers(address);
                let reach = bounds.unsigned();
                let elsewhere = bounds.is_straight()
                    && world.program.segments().iter().filter(|one| one.permissions.write).all(|one| {
                        u128::from(one.address) > reach.1 + 64 || u128::from(one.address + one.size) <= reach.0
                    });
                if !elsewhere {
                    self.memory.forget_absolute();
                }
                self.forget_stack_of_others();
            }
        }
    }

    /// What a pointer leads to may have changed: on the stack what the callers put there, which is theirs; all, if an
    /// address of the region's own part is where it is not seen.
    fn forget_stack_of_others(&mut self) {
        if self.escaped {
            self.memory.stack = Default::default();
            return;
        }
        let mut lost = false;
        let mut own = |key: u64, slot: &crate::memory::Slot| {
            if key < 1 << 60 {
                return crate::tree::Kept::Same;
            }
            lost |= slot.iter().any(|cell| is_of_stack(&cell.term));
            crate::tree::Kept::Gone
        };
        self.memory.stack = self.memory.stack.filter(&mut own);
        self.escaped |= lost;
    }

    /// Any writable memory may have changed, except what is the region's own.
    pub fn clobber(&mut self) {
        self.memory.forget_absolute();
        self.memory.forget_others(None);
        if self.escaped {
            self.memory.stack = Default::default();
        }
    }
}

impl World<'_> {
    pub fn is_shared(&self, at: u64, size: u64) -> bool {
        self.shared.iter().any(|(first, last)| at <= *last && at.saturating_add(size) > *first)
    }

    /// The same of an address at a root, of which these are the numbers it may be.
    pub fn may_be_shared(&self, root: Root, at: u64, size: u64, numbers: &Set) -> bool {
        match root {
            Root::Zero => self.is_shared(at, size),
            Root::Stack => false,
            Root::Symbol(_) => {
                let (low, high) = numbers.unsigned();
                let meets =
                    |(first, last): &(u64, u64)| low <= (*last).into() && high + u128::from(size) > (*first).into();
                self.shared.iter().any(meets)
            }
        }
    }

    /// Whether all addresses of a set are in one segment.
    fn is_mapped(&self, set: &Set) -> bool {
        let (low, high) = set.unsigned();
        self.program
            .segments()
            .iter()
            .any(|one| u128::from(one.address) <= low && high < u128::from(one.address) + u128::from(one.size))
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
