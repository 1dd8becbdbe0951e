//! What operations make of terms.

use std::rc::Rc;

use wcet_binary::lift::evaluate::mask;
use wcet_binary::lift::il::{Binary, Unary};

use crate::set::Set;
use crate::state::{is_comparison, State, World};
use crate::term::{fold, Origin, Root, Term};
use crate::transfer;

impl State {
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
        // What was cut to its low half and extended again, as a spilled counter is, is what it was.
        if let (Unary::ZeroExtend, Origin::Extract(whole, 0)) = (operation, a.origin()) {
            if whole.size == size && self.numbers(whole).unsigned().1 <= mask(a.size) {
                return whole.clone();
            }
        }
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
}
