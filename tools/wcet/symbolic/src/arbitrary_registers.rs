//! What registers may hold before a node, whichever path led to it.

use wcet_binary::lift::il::Register;
use wcet_flow::context::NodeId;
use wcet_values::{Base, Range};

use crate::frames::Known as Held;
use crate::region::{Point, Region};
use crate::term::{Operation, Origin, Term, Terms};

impl Region<'_, '_> {
    /// The execution begins before a node, in any state that is possible there.
    pub fn start(&mut self, node: NodeId) -> Point {
        let registers = self.executor.table.all().collect::<Vec<_>>();
        let registers: Vec<Term> = registers.into_iter().map(|register| self.at_start(node, register)).collect();
        for register in self.executor.table.all().collect::<Vec<_>>() {
            let known = self.known_of(node, register, registers[usize::from(register.0)]);
            self.facts.extend(known);
        }
        Point { guard: Terms::TRUE, registers }
    }

    fn at_start(&mut self, node: NodeId, register: Register) -> Term {
        let found = self.unknown(node, register);
        match self.setting.frames.register(node, register) {
            _ if !self.executor.terms.is_unknown(found) => found,
            Held::Plain | Held::Number(_) => self.executor.unknown(register, Origin::Register(register)),
            Held::Slot(_) | Held::Anything => self.executor.unknown(register, Origin::Start(register)),
        }
    }

    /// What a register holds before a node, knowing nothing of how it was reached.
    pub fn unknown(&mut self, node: NodeId, register: Register) -> Term {
        let width = 8 * u16::from(self.executor.table.value(register).size);
        let stack = self.executor.memory.stack;
        match self.setting.frames.register(node, register) {
            Held::Number(number) => self.executor.terms.number(number.into(), width),
            Held::Slot(slot) => self.slot(stack, slot),
            _ if node == self.graph().entry => self.executor.start[usize::from(register.0)],
            Held::Plain => self.executor.unknown(register, Origin::Plain),
            Held::Anything => match self.range(node, register) {
                Some(Range { base: Base::Stack, low, high, .. }) if low == high => self.slot(stack, low as i64),
                _ => self.executor.unknown(register, Origin::Unknown),
            },
        }
    }

    fn slot(&mut self, stack: Term, slot: i64) -> Term {
        let width = self.executor.terms.width(stack);
        let offset = self.executor.terms.number(slot as i128 as u128, width);
        self.executor.terms.binary(Operation::Add, stack, offset)
    }

    fn range(&self, node: NodeId, register: Register) -> Option<Range> {
        self.setting.values?.register(node, register)
    }

    /// What a register's value before a node is known to satisfy.
    pub fn known_of(&mut self, node: NodeId, register: Register, term: Term) -> Vec<Term> {
        let mut found = Vec::new();
        let Some(range) = self.range(node, register) else { return found };
        let terms = &mut self.executor.terms;
        let width = terms.width(term);
        if width != 8 * u16::from(range.size) {
            return found;
        }
        let base = match range.base {
            Base::Zero => terms.number(0, width),
            Base::Stack if term != self.executor.memory.stack => self.executor.memory.stack,
            _ => return found,
        };
        let low = terms.number(range.low.into(), width);
        let base = terms.binary(Operation::Add, base, low);
        let above = terms.binary(Operation::Subtract, term, base);
        let most = u128::from(range.high).wrapping_sub(range.low.into());
        let most = terms.number(most, width);
        let beyond = terms.less(most, above);
        found.push(terms.not(beyond));
        if range.stride > 1 && range.stride.is_power_of_two() {
            let bits = terms.number(u128::from(range.stride) - 1, width);
            let rest = terms.binary(Operation::And, above, bits);
            let set = terms.is_set(rest);
            found.push(terms.not(set));
        }
        found.retain(|fact| *fact != Terms::TRUE);
        found
    }
}
