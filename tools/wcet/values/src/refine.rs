//! What a branch tells: of the values compared, and of those from which they were computed.

use std::rc::Rc;

use wcet_binary::lift::evaluate::mask;
use wcet_binary::lift::il::{Binary, Register, Unary};

use crate::compare::opposite;
use crate::set::Set;
use crate::state::{State, World};
use crate::term::{shifted, Origin, Root, Term};
use crate::transfer;

/// How far back through origins.
const BACK: u8 = 6;

impl State {
    /// Takes `condition` to be true, or false. False if it cannot be.
    pub fn assume(&mut self, world: &World<'_>, condition: &Term, truth: bool) -> bool {
        self.assume_from(world, condition, truth, BACK)
    }

    /// Takes a register to be in a range. False if it cannot be.
    pub fn given(&mut self, world: &World<'_>, register: Register, (low, high): (u64, u64)) -> bool {
        let term = self.registers[usize::from(register.0)].clone();
        let set = Set::range(low.into(), high.into(), term.size);
        if self.range(&term).0 == Root::Zero {
            return self.narrow(world, &term, &set, BACK);
        }
        self.registers[usize::from(register.0)] = world.symbols.make(Root::Zero, set, Origin::Opaque);
        true
    }

    fn assume_from(&mut self, world: &World<'_>, condition: &Term, truth: bool, depth: u8) -> bool {
        if let Some(number) = condition.as_constant() {
            return (number != 0) == truth;
        }
        let set = self.numbers(condition);
        if set.as_single().is_some_and(|number| (number != 0) != truth) || truth && set.as_single() == Some(0) {
            return false;
        }
        if depth == 0 {
            return true;
        }
        let holds = match condition.origin().clone() {
            Origin::Unary(Unary::BoolNot, inner) => self.assume_from(world, &inner, !truth, depth - 1),
            Origin::Unary(Unary::ZeroExtend, inner) => self.assume_from(world, &inner, truth, depth - 1),
            Origin::Binary(operation @ (Binary::And | Binary::Or), a, b) if condition.size == 1 && is_flag(&a, &b) => {
                if (operation == Binary::And) == truth {
                    self.assume_from(world, &a, truth, depth - 1) && self.assume_from(world, &b, truth, depth - 1)
                } else {
                    // One of them decides.
                    let before = Rc::clone(&self.known);
                    let a_can = self.assume_from(world, &a, truth, depth - 1);
                    let with_a = std::mem::replace(&mut self.known, Rc::clone(&before));
                    let b_can = self.assume_from(world, &b, truth, depth - 1);
                    match (a_can, b_can) {
                        (true, false) => self.known = with_a,
                        (false, true) => {}
                        _ => self.known = before,
                    }
                    a_can || b_can
                }
            }
            Origin::Binary(operation, a, b) if condition.size == 1 && crate::state::is_comparison(operation) => {
                self.compared(world, operation, &a, &b, truth, depth)
            }
            Origin::Select(when, then, otherwise) => {
                match (self.may_be(&then, truth), self.may_be(&otherwise, truth)) {
                    (false, false) => false,
                    (true, false) => self.assume_from(world, &when, true, depth - 1),
                    (false, true) => self.assume_from(world, &when, false, depth - 1),
                    (true, true) => true,
                }
            }
            _ => true,
        };
        if holds && condition.size <= 8 {
            if let Some(symbol) = &condition.symbol {
                let set = self.numbers(condition);
                let left = if truth { set.without(0) } else { set.meet(&Set::single(0, condition.size)) };
                match left {
                    Some(left) if symbol.root == Root::Zero => {
                        let left = shifted(&left, condition.offset.wrapping_neg());
                        self.learn(symbol.number, left);
                    }
                    Some(_) => {}
                    None => return false,
                }
            }
        }
        holds
    }

    fn compared(&mut self, world: &World<'_>, operation: Binary, a: &Term, b: &Term, truth: bool, depth: u8) -> bool {
        if self.compare(world, operation, a, b) == Some(!truth) {
            return false;
        }
        let holds = if truth { Some((operation, a, b)) } else { opposite(operation, a, b) };
        let Some((operation, a, b)) = holds else { return true };
        if let Some((a, b)) = self.without_base(operation, a, b) {
            if let Some((left_a, left_b)) = transfer::refine(operation, &self.numbers(&a), &self.numbers(&b)) {
                if !self.restrict(world, &a, &left_a, depth) || !self.restrict(world, &b, &left_b, depth) {
                    return false;
                }
            } else {
                return false;
            }
        }
        let ((root_a, set_a), (root_b, set_b)) = (self.range(a), self.range(b));
        if root_a != Root::Zero || root_b != Root::Zero {
            // Offsets from one base; without wrapping around only of the stack.
            let operation = match operation {
                Binary::Equal | Binary::NotEqual if root_a == root_b => operation,
                Binary::Less if root_a == Root::Stack && root_a == root_b => Binary::LessSigned,
                Binary::LessEqual if root_a == Root::Stack && root_a == root_b => Binary::LessEqualSigned,
                _ => return true,
            };
            let Some((left_a, left_b)) = transfer::refine(operation, &set_a, &set_b) else { return false };
            return self.narrow(world, a, &left_a, depth) && self.narrow(world, b, &left_b, depth);
        }
        let Some((left_a, left_b)) = transfer::refine(operation, &set_a, &set_b) else { return false };
        (left_a == set_a || self.narrow(world, a, &left_a, depth))
            && (left_b == set_b || self.narrow(world, b, &left_b, depth))
    }

    /// Takes a term to be in `set`, counted from its root. False if it cannot be.
    fn narrow(&mut self, world: &World<'_>, term: &Term, set: &Set, depth: u8) -> bool {
        let Some(symbol) = term.symbol.clone() else { return set.contains(term.offset) };
        let set = shifted(set, term.offset.wrapping_neg());
        let now = self.known(symbol.number).copied().unwrap_or(symbol.set);
        let Some(left) = now.meet(&set) else { return false };
        if left != now {
            self.learn(symbol.number, left);
        }
        if depth == 0 || symbol.root != Root::Zero {
            return true;
        }
        self.narrow_operands(world, &symbol.origin, &left, depth - 1)
    }

    fn narrow_operands(&mut self, world: &World<'_>, origin: &Origin, set: &Set, depth: u8) -> bool {
        let size = set.size;
        let (least, most) = set.unsigned();
        match origin {
            Origin::Unary(Unary::ZeroExtend, a) => {
                let most = most.min(mask(a.size));
                least <= most && self.restrict(world, a, &Set::new(least, most, stride(set), a.size), depth)
            }
            Origin::Unary(Unary::SignExtend, a) => {
                let (low, high) = set.signed();
                let half = (mask(a.size) >> 1) as i128;
                let (low, high) = (low.max(-half - 1), high.min(half));
                low <= high && self.restrict(world, a, &Set::range(low as u128, high as u128, a.size), depth)
            }
            Origin::Unary(Unary::Negate, a) => {
                self.restrict(world, a, &transfer::unary(Unary::Negate, set, size), depth)
            }
            Origin::Unary(Unary::Not, a) => self.restrict(world, a, &transfer::unary(Unary::Not, set, size), depth),
            Origin::Extract(a, 0) if a.size <= 8 => {
                let whole = self.numbers(a);
                if whole.unsigned().1 <= mask(size) {
                    self.restrict(world, a, &Set::new(least, most, stride(set), a.size), depth)
                } else {
                    let half = (mask(size) >> 1) as i128;
                    let (low, high) = whole.signed();
                    let wide = transfer::unary(Unary::SignExtend, set, a.size);
                    low < -half - 1 || high > half || self.restrict(world, a, &wide, depth)
                }
            }
            Origin::Binary(Binary::Add, a, b) => {
                let (of_a, of_b) = (self.numbers(a), self.numbers(b));
                self.restrict(world, a, &transfer::binary(Binary::Subtract, set, &of_b, size), depth)
                    && self.restrict(world, b, &transfer::binary(Binary::Subtract, set, &of_a, size), depth)
            }
            Origin::Binary(Binary::Subtract, a, b) => {
                let (of_a, of_b) = (self.numbers(a), self.numbers(b));
                self.restrict(world, a, &transfer::binary(Binary::Add, set, &of_b, size), depth)
                    && self.restrict(world, b, &transfer::binary(Binary::Subtract, &of_a, set, size), depth)
            }
            Origin::Binary(operation @ (Binary::Multiply | Binary::ShiftLeft), a, b) => {
                let factor = match (operation, b.as_constant()) {
                    (Binary::Multiply, Some(number)) if number > 0 => number,
                    (Binary::ShiftLeft, Some(number)) if number < 64 => 1 << number,
                    _ => return true,
                };
                let whole = self.numbers(a).unsigned().1;
                if whole.checked_mul(factor).is_none_or(|product| product > mask(size)) {
                    return true;
                }
                let (least, most) = (least.div_ceil(factor), most / factor);
                least <= most && self.restrict(world, a, &Set::range(least, most, size), depth)
            }
            Origin::Binary(operation @ (Binary::ShiftRight | Binary::Divide), a, b) => {
                let divisor = match (operation, b.as_constant()) {
                    (Binary::Divide, Some(number)) if number > 0 => number,
                    (Binary::ShiftRight, Some(number)) if number < 8 * u128::from(size) => 1 << number,
                    _ => return true,
                };
                let top = mask(size);
                let least = least.saturating_mul(divisor);
                let most = most.saturating_mul(divisor).saturating_add(divisor - 1).min(top);
                least <= most && self.restrict(world, a, &Set::range(least, most, size), depth)
            }
            Origin::Binary(Binary::And, a, b) => {
                let above = Set::range(least, mask(size), size);
                self.restrict(world, a, &above, depth) && self.restrict(world, b, &above, depth)
            }
            Origin::Binary(Binary::Or, a, b) => {
                let below = Set::range(0, most, size);
                self.restrict(world, a, &below, depth) && self.restrict(world, b, &below, depth)
            }
            Origin::Concat(high, low) if size <= 16 => {
                let bits = 8 * u32::from(low.size);
                let part = Set::range(least >> bits, most >> bits, high.size);
                let rest = least >> bits != most >> bits
                    || self.restrict(
                        world,
                        low,
                        &Set::range(least & mask(low.size), most & mask(low.size), low.size),
                        depth,
                    );
                rest && self.restrict(world, high, &part, depth)
            }
            Origin::Select(when, then, otherwise) => {
                let can = |state: &State, term: &Term| state.numbers(term).meet(set).is_some();
                match (can(self, then), can(self, otherwise)) {
                    (false, false) => false,
                    (true, false) => {
                        self.assume_from(world, when, true, depth) && self.restrict(world, then, set, depth)
                    }
                    (false, true) => {
                        self.assume_from(world, when, false, depth) && self.restrict(world, otherwise, set, depth)
                    }
                    (true, true) => true,
                }
            }
            Origin::Binary(operation, a, b) if size == 1 && crate::state::is_comparison(*operation) => {
                match set.as_single() {
                    Some(truth) => self.compared(world, *operation, a, b, truth != 0, depth),
                    None => true,
                }
            }
            _ => true,
        }
    }

    /// Takes a plain number to be in `set`.
    fn restrict(&mut self, world: &World<'_>, term: &Term, set: &Set, depth: u8) -> bool {
        let (root, now) = self.range(term);
        if root != Root::Zero || now.size != set.size || now.size > 8 {
            return true;
        }
        match now.meet(set) {
            None => false,
            Some(left) if left == now => true,
            Some(left) => self.narrow(world, term, &left, depth),
        }
    }
}

fn is_flag(a: &Term, b: &Term) -> bool {
    let small = |term: &Term| match &term.symbol {
        None => term.offset <= 1,
        Some(symbol) => term.offset == 0 && symbol.size == 1 && symbol.set.unsigned().1 <= 1,
    };
    small(a) && small(b)
}

fn stride(set: &Set) -> u128 {
    if set.is_straight() && set.stride != 0 {
        set.stride
    } else {
        1
    }
}
