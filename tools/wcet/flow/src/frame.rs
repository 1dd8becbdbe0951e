//! Where a function keeps its stack pointer, its return address and the registers it must give back.
//!
//! A forward analysis: each register, and each slot of the stack, is a constant, a register's value at the function's
//! entry plus a number, the return address, or unknown.
//!
//! Assumption: a store whose address is not the stack pointer plus a number changes neither a return address nor a
//! saved register. [`crate::Graph::assumptions`] says so.

use std::collections::BTreeMap;

use wcet_binary::lift::il::{Binary, Expression, Instruction, Op, Operand, Register, Value};
use wcet_binary::lift::Registers;
use wcet_binary::load::{Architecture, Program};

use crate::evaluate;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Known {
    Unknown,
    Constant(u64),
    /// What the register held at the function's entry, plus a number.
    Initial(Register, i64),
    ReturnAddress,
    /// What the caller has in its part of the stack.
    OfCaller,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Frame {
    registers: Vec<Known>,
    /// Slots by their offset from the stack pointer at the entry: size and what they hold.
    slots: BTreeMap<i64, (u8, Known)>,
}

/// What a caller finds after a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Summary {
    /// What the stack pointer has gained since the function's first instruction; None: not known.
    pub popped: Option<i64>,
    /// Registers that hold what they held at the entry.
    pub preserved: Vec<bool>,
}

impl Summary {
    /// What is left when a function that switched stacks comes back: the stack.
    pub fn of_switch(architecture: Architecture) -> Summary {
        Summary {
            popped: Some(architecture.popped_by_return().into()),
            preserved: vec![false; Registers::of(architecture).all().count()],
        }
    }

    pub fn join(&mut self, other: &Summary) {
        if self.popped != other.popped {
            self.popped = None;
        }
        self.preserved.iter_mut().zip(&other.preserved).for_each(|(mine, theirs)| *mine &= *theirs);
    }
}

/// The values of an instruction's temporaries.
type Temporaries = BTreeMap<u16, Known>;

/// A selection by the instruction's own condition, decided.
pub(crate) fn decided(from: Expression, condition: Option<Value>, met: bool) -> Expression {
    match from {
        Expression::Select { when, then, otherwise } if condition == Some(when) => {
            Expression::Copy(if met { then } else { otherwise })
        }
        _ => from,
    }
}

impl Frame {
    /// The state in which a function is entered.
    pub fn entry(architecture: Architecture) -> Frame {
        let table = Registers::of(architecture);
        let mut registers: Vec<Known> = table.all().map(|register| Known::Initial(register, 0)).collect();
        let mut slots = BTreeMap::new();
        match table.link() {
            Some(link) => registers[usize::from(link.0)] = Known::ReturnAddress,
            None => {
                slots.insert(0, (architecture.pointer_size(), Known::ReturnAddress));
            }
        }
        Frame { registers, slots }
    }

    pub fn register(&self, register: Register) -> Known {
        self.registers[usize::from(register.0)]
    }

    /// What holds in both; tells whether that is less than what held here.
    pub fn join(&mut self, other: &Frame) -> bool {
        let before = self.clone();
        for (mine, theirs) in self.registers.iter_mut().zip(&other.registers) {
            if mine != theirs {
                *mine = Known::Unknown;
            }
        }
        self.slots.retain(|at, slot| other.slots.get(at) == Some(slot));
        *self != before
    }

    /// Executes the instruction's operations, where its condition is met or not. Gives what the temporaries hold.
    pub fn execute(&mut self, instruction: &Instruction, met: bool, program: &Program) -> Temporaries {
        let condition = instruction.flow.condition();
        let mut temporaries = Temporaries::new();
        let stack = Registers::of(program.architecture).stack_pointer();
        for op in &instruction.ops {
            match *op {
                Op::Set { to, from } => {
                    let from = decided(from, condition, met);
                    let known = self.expression(from, to.size, &temporaries, program, stack);
                    match to.operand {
                        Operand::Register(register) => self.registers[usize::from(register.0)] = known,
                        Operand::Temporary(number) => {
                            temporaries.insert(number, known);
                        }
                        Operand::Constant(_) => {}
                    }
                }
                Op::Store { when: Some(when), .. } if condition == Some(when) && !met => {}
                Op::Store { address, from, when } => {
                    let value = if when.is_some() && when != condition {
                        Known::Unknown
                    } else {
                        self.value(from, &temporaries)
                    };
                    match self.value(address, &temporaries) {
                        Known::Initial(base, offset) if base == stack => self.store(offset, from.size, value),
                        _ => self.clobber(program.architecture),
                    }
                }
                Op::ClobberMemory => self.clobber(program.architecture),
            }
        }
        temporaries
    }

    pub fn value(&self, value: Value, temporaries: &Temporaries) -> Known {
        match value.operand {
            Operand::Register(register) => self.register(register),
            Operand::Temporary(number) => temporaries.get(&number).copied().unwrap_or(Known::Unknown),
            Operand::Constant(number) => Known::Constant(number),
        }
    }

    /// The state after a call that came back: `self` is the state at the callee's entry.
    pub fn after_call(&mut self, callee: &Summary, architecture: Architecture) {
        let stack = Registers::of(architecture).stack_pointer();
        let sp = match (self.register(stack), callee.popped) {
            (Known::Initial(base, offset), Some(popped)) => Known::Initial(base, offset.wrapping_add(popped)),
            _ => Known::Unknown,
        };
        for (mine, preserved) in self.registers.iter_mut().zip(&callee.preserved) {
            if !preserved {
                *mine = Known::Unknown;
            }
        }
        self.registers[usize::from(stack.0)] = sp;
        self.clobber(architecture);
        match sp {
            Known::Initial(base, offset) if base == stack => self.slots.retain(|at, _| *at >= offset),
            _ => self.slots.clear(),
        }
    }

    /// Whether the stack pointer and the return address are as the function found them.
    pub fn is_at_entry(&self, architecture: Architecture) -> bool {
        let table = Registers::of(architecture);
        let stack = table.stack_pointer();
        let address = match table.link() {
            Some(link) => self.register(link),
            None => self.slots.get(&0).map_or(Known::Unknown, |(_, value)| *value),
        };
        self.register(stack) == Known::Initial(stack, 0) && address == Known::ReturnAddress
    }

    /// Whether the function has removed more of the stack than its return address: what was its caller's.
    pub fn has_popped_more(&self, architecture: Architecture) -> bool {
        let popped = self.summary(architecture).popped;
        popped.is_some_and(|popped| popped > architecture.popped_by_return().into())
    }

    /// What a caller of this function may rely on if it returns in this state.
    pub fn summary(&self, architecture: Architecture) -> Summary {
        let table = Registers::of(architecture);
        let stack = table.stack_pointer();
        let popped = match self.register(stack) {
            Known::Initial(base, offset) if base == stack => Some(offset),
            _ => None,
        };
        let kept = |register| self.register(register) == Known::Initial(register, 0);
        Summary { popped, preserved: table.all().map(kept).collect() }
    }

    fn store(&mut self, at: i64, size: u8, value: Known) {
        let end = at.saturating_add(i64::from(size));
        self.slots.retain(|slot, (width, _)| *slot >= end || slot.saturating_add(i64::from(*width)) <= at);
        if value != Known::Unknown {
            self.slots.insert(at, (size, value));
        }
    }

    /// A store somewhere else: saved registers and return addresses stay, by assumption.
    fn clobber(&mut self, architecture: Architecture) {
        let table = Registers::of(architecture);
        self.slots.retain(|_, (_, value)| match value {
            Known::ReturnAddress => true,
            // A copy of an argument in the frame may be a variable.
            Known::Initial(register, 0) => !table.is_argument(*register),
            _ => false,
        });
    }

    fn expression(
        &self,
        expression: Expression,
        size: u8,
        temporaries: &Temporaries,
        program: &Program,
        stack: Register,
    ) -> Known {
        let get = |value| self.value(value, temporaries);
        let constant = |number: Option<u64>| number.map_or(Known::Unknown, Known::Constant);
        match expression {
            Expression::Copy(value) => get(value),
            Expression::Unary(operation, a) => match get(a) {
                Known::Constant(number) => constant(evaluate::unary(operation, number, a.size, size)),
                _ => Known::Unknown,
            },
            Expression::Binary(operation, a, b) => match (operation, get(a), get(b)) {
                (_, Known::Constant(x), Known::Constant(y)) => constant(evaluate::binary(operation, x, y, a.size)),
                (Binary::Add, Known::Initial(base, offset), Known::Constant(number))
                | (Binary::Add, Known::Constant(number), Known::Initial(base, offset)) => {
                    Known::Initial(base, offset.wrapping_add(evaluate::signed(number, size)))
                }
                (Binary::Subtract, Known::Initial(base, offset), Known::Constant(number)) => {
                    Known::Initial(base, offset.wrapping_sub(evaluate::signed(number, size)))
                }
                _ => Known::Unknown,
            },
            Expression::Extract { from, at } => match get(from) {
                Known::Constant(number) if at < 8 && from.size <= 8 => {
                    Known::Constant(number >> (8 * at) & evaluate::mask(size))
                }
                _ => Known::Unknown,
            },
            Expression::Select { when, then, otherwise } => match (get(when), get(then), get(otherwise)) {
                (Known::Constant(0), _, value) | (Known::Constant(_), value, _) => value,
                (_, a, b) if a == b => a,
                _ => Known::Unknown,
            },
            Expression::Load { address, .. } => match get(address) {
                Known::Constant(address) => constant(program.constant(address, size)),
                Known::Initial(base, offset) if base == stack => match self.slots.get(&offset) {
                    Some((width, value)) if *width == size => *value,
                    None if offset >= program.architecture.popped_by_return().into() => Known::OfCaller,
                    _ => Known::Unknown,
                },
                _ => Known::Unknown,
            },
            Expression::Insert { .. } | Expression::Concat { .. } | Expression::Float(..) | Expression::Unknown => {
                Known::Unknown
            }
        }
    }
}
