//! Instructions on terms: the meaning of each operation of the language, as `wcet_binary::lift::evaluate` gives it on numbers.

use wcet_binary::lift::il::{Binary, Expression, Flow, Instruction, Op, Operand, Target, Unary, Value};
use wcet_binary::lift::Registers;
use wcet_binary::load::Program;

use crate::memory::{Memory, Pointers, Sharing, Touched, Version};
use crate::term::{Operation, Origin, Term, Terms};

/// Registers and memory between two instructions.
#[derive(Debug, Clone, PartialEq)]
pub struct State {
    pub registers: Vec<Term>,
    pub memory: Version,
}

/// How control leaves an instruction.
#[derive(Debug, Clone, Copy, Default)]
pub struct Leave {
    /// A truth value: control does not simply go on. None: the instruction has no choice.
    pub when: Option<Term>,
    /// Where an indirect jump, call or return goes.
    pub to: Option<Term>,
}

#[derive(Debug)]
pub struct Executor<'p> {
    pub terms: Terms,
    pub memory: Memory<'p>,
    pub table: Registers,
    /// What the registers hold at the start.
    pub start: Vec<Term>,
    temporaries: Vec<Option<Term>>,
}

impl<'p> Executor<'p> {
    pub fn new(program: &'p Program, sharing: Sharing, pointers: Pointers) -> Executor<'p> {
        let table = Registers::of(program.architecture);
        let mut terms = Terms::new();
        let mut start = Vec::new();
        for register in table.all() {
            let value = table.value(register);
            let origin = Origin::Register(register);
            start.push(if table.is_flag(register) {
                let set = terms.leaf(0, origin);
                terms.bit(set, 8)
            } else {
                terms.leaf(8 * u16::from(value.size), origin)
            });
        }
        let stack = start[usize::from(table.stack_pointer().0)];
        let memory = Memory::new(program, stack, sharing, pointers);
        Executor { terms, memory, table, start, temporaries: Vec::new() }
    }

    /// The state at the start: nothing is known.
    pub fn state(&self) -> State {
        State { registers: self.start.clone(), memory: Memory::START }
    }

    /// A register's value that is not known.
    pub fn unknown(&mut self, register: wcet_binary::lift::il::Register, origin: Origin) -> Term {
        let width = 8 * u16::from(self.table.value(register).size);
        if self.table.is_flag(register) {
            let set = self.terms.leaf(0, origin);
            self.terms.bit(set, width)
        } else {
            self.terms.leaf(width, origin)
        }
    }

    /// Executes an instruction. `met` decides its own condition, where it has one; `under` holds whenever it is
    /// executed.
    pub fn execute(&mut self, state: &mut State, instruction: &Instruction, met: Option<bool>, under: Term) -> Leave {
        let condition = instruction.flow.condition();
        self.temporaries.clear();
        for op in &instruction.ops {
            match *op {
                Op::Set { to, from } => {
                    let from = decided(from, condition, met);
                    let value = self.expression(state, from, to.size, under);
                    match to.operand {
                        Operand::Register(register) => state.registers[usize::from(register.0)] = value,
                        Operand::Temporary(number) => {
                            let index = usize::from(number);
                            if self.temporaries.len() <= index {
                                self.temporaries.resize(index + 1, None);
                            }
                            self.temporaries[index] = Some(value);
                        }
                        Operand::Constant(_) => {}
                    }
                }
                Op::Store { address, from, when } => {
                    let when = match when {
                        None => Terms::TRUE,
                        Some(when) if condition == Some(when) && met.is_some() => Terms::truth(met == Some(true)),
                        Some(when) => self.holds(state, when),
                    };
                    let when = self.terms.both(under, when);
                    let (address, from) = (self.value(state, address), self.value(state, from));
                    for (chosen, address) in self.memory.choose(&mut self.terms, address, when) {
                        let when = self.terms.both(when, chosen);
                        state.memory = self.memory.store(state.memory, address, from, when);
                    }
                }
                Op::ClobberMemory => state.memory = self.memory.changed(state.memory, Touched::anything(), under),
            }
        }
        self.leave(state, instruction)
    }

    fn leave(&mut self, state: &State, instruction: &Instruction) -> Leave {
        let when = instruction.flow.condition().map(|when| self.holds(state, when));
        let to = match instruction.flow {
            Flow::Jump { to: Target::Indirect(to), .. } | Flow::Call { to: Target::Indirect(to), .. } => Some(to),
            Flow::Return { to, .. } => Some(to),
            _ => None,
        };
        Leave { when, to: to.map(|to| self.value(state, to)) }
    }

    fn holds(&mut self, state: &State, when: Value) -> Term {
        let byte = self.value(state, when);
        self.terms.is_set(byte)
    }

    fn value(&mut self, state: &State, value: Value) -> Term {
        let width = 8 * u16::from(value.size);
        match value.operand {
            Operand::Register(register) => state.registers[usize::from(register.0)],
            Operand::Temporary(number) => match self.temporaries.get(usize::from(number)).copied().flatten() {
                Some(found) => found,
                None => self.terms.leaf(width, Origin::Open),
            },
            Operand::Constant(number) if width <= 128 => self.terms.number(number.into(), width),
            Operand::Constant(number) => {
                let low = self.terms.number(number.into(), 64);
                self.terms.extend(low, width)
            }
        }
    }

    fn expression(&mut self, state: &State, expression: Expression, size: u8, under: Term) -> Term {
        let width = 8 * u16::from(size);
        match expression {
            Expression::Copy(value) => self.value(state, value),
            Expression::Unary(operation, a) => {
                let a = self.value(state, a);
                self.unary(operation, a, width)
            }
            Expression::Binary(operation, a, b) => {
                let (a, b) = (self.value(state, a), self.value(state, b));
                self.binary(operation, a, b, width, under)
            }
            Expression::Extract { from, at } => {
                let from = self.value(state, from);
                self.terms.extract(from, 8 * u16::from(at), width)
            }
            Expression::Insert { into, from, at } => {
                let (into, part) = (self.value(state, into), self.value(state, from));
                let (low, high) = (8 * u16::from(at), 8 * u16::from(at + from.size));
                let mut value = part;
                if low > 0 {
                    let below = self.terms.extract(into, 0, low);
                    value = self.terms.concat(value, below);
                }
                if high < width {
                    let above = self.terms.extract(into, high, width - high);
                    value = self.terms.concat(above, value);
                }
                value
            }
            Expression::Concat { high, low } => {
                let (high, low) = (self.value(state, high), self.value(state, low));
                self.terms.concat(high, low)
            }
            Expression::Select { when, then, otherwise } => {
                let when = self.holds(state, when);
                let (then, otherwise) = (self.value(state, then), self.value(state, otherwise));
                self.terms.select(when, then, otherwise)
            }
            Expression::Load { address, when } => {
                let address = self.value(state, address);
                let value = self.memory.load(&mut self.terms, state.memory, address, size, under);
                match when {
                    None => value,
                    Some(when) => {
                        let when = self.holds(state, when);
                        let any = self.terms.leaf(width, Origin::Open);
                        self.terms.select(when, value, any)
                    }
                }
            }
            Expression::Float(..) | Expression::Unknown => self.terms.leaf(width, Origin::Open),
        }
    }

    fn unary(&mut self, operation: Unary, a: Term, width: u16) -> Term {
        let terms = &mut self.terms;
        let from = terms.width(a);
        match operation {
            Unary::Not => terms.complement(a),
            Unary::ZeroExtend => terms.extend(a, width),
            Unary::SignExtend => terms.extend_signed(a, width),
            _ if from > 128 => terms.leaf(width, Origin::Open),
            Unary::Negate => {
                let zero = terms.number(0, from);
                terms.binary(Operation::Subtract, zero, a)
            }
            Unary::BoolNot => {
                let set = terms.is_set(a);
                let clear = terms.not(set);
                terms.bit(clear, width)
            }
            Unary::CountOnes => {
                let mut sum = terms.number(0, width);
                for bit in 0..from {
                    let one = terms.extract(a, bit, 1);
                    let one = terms.extend(one, width);
                    sum = terms.binary(Operation::Add, sum, one);
                }
                sum
            }
            Unary::LeadingZeros => {
                let mut found = terms.number(from.into(), width);
                for bit in 0..from {
                    let one = terms.extract(a, bit, 1);
                    let set = terms.is_set(one);
                    let zeros = terms.number((from - 1 - bit).into(), width);
                    found = terms.select(set, zeros, found);
                }
                found
            }
        }
    }

    fn binary(&mut self, operation: Binary, a: Term, b: Term, size: u16, under: Term) -> Term {
        let terms = &mut self.terms;
        let width = terms.width(a);
        if width > 128 || terms.width(b) > 128 {
            return match operation {
                Binary::Equal | Binary::NotEqual if a == b => {
                    terms.number(u128::from(operation == Binary::Equal), size)
                }
                _ => terms.leaf(size, Origin::Open),
            };
        }
        let truth = match operation {
            Binary::Add => return terms.binary(Operation::Add, a, b),
            Binary::Subtract => return terms.binary(Operation::Subtract, a, b),
            Binary::Multiply => return terms.binary(Operation::Multiply, a, b),
            Binary::And => return terms.binary(Operation::And, a, b),
            Binary::Or => return terms.binary(Operation::Or, a, b),
            Binary::Xor => return terms.binary(Operation::Xor, a, b),
            Binary::Divide => return self.divide(Operation::Divide, a, b, under),
            Binary::DivideSigned => return self.divide(Operation::DivideSigned, a, b, under),
            Binary::Remainder => return self.divide(Operation::Remainder, a, b, under),
            Binary::RemainderSigned => return self.divide(Operation::RemainderSigned, a, b, under),
            Binary::ShiftLeft => return self.shift(Operation::ShiftLeft, a, b),
            Binary::ShiftRight => return self.shift(Operation::ShiftRight, a, b),
            Binary::ShiftRightSigned => return self.shift(Operation::ShiftRightSigned, a, b),
            Binary::Equal => terms.equal(a, b),
            Binary::NotEqual => {
                let equal = terms.equal(a, b);
                terms.not(equal)
            }
            Binary::Less => terms.less(a, b),
            Binary::LessEqual => {
                let greater = terms.less(b, a);
                terms.not(greater)
            }
            Binary::LessSigned => terms.less_signed(a, b),
            Binary::LessEqualSigned => {
                let greater = terms.less_signed(b, a);
                terms.not(greater)
            }
            Binary::Carry => {
                let sum = terms.binary(Operation::Add, a, b);
                terms.less(sum, a)
            }
            Binary::CarrySigned | Binary::BorrowSigned => {
                let result = match operation {
                    Binary::CarrySigned => terms.binary(Operation::Add, a, b),
                    _ => terms.binary(Operation::Subtract, a, b),
                };
                let (x, y) = (terms.extract(a, width - 1, 1), terms.extract(b, width - 1, 1));
                let z = terms.extract(result, width - 1, 1);
                let same = terms.equal(x, y);
                let could = if operation == Binary::CarrySigned { same } else { terms.not(same) };
                let kept = terms.equal(x, z);
                let lost = terms.not(kept);
                terms.both(could, lost)
            }
        };
        terms.bit(truth, size)
    }

    /// Division by 0 gives any value.
    fn divide(&mut self, operation: Operation, a: Term, b: Term, under: Term) -> Term {
        let terms = &mut self.terms;
        let width = terms.width(a);
        let set = terms.is_set(b);
        // Where the divisor was looked at before, only results matter.
        let set = terms.given(set, under);
        let any = match set {
            Terms::TRUE => a,
            _ => terms.leaf(width, Origin::Open),
        };
        if set == Terms::FALSE {
            return any;
        }
        let result = terms.binary(operation, a, b);
        terms.select(set, result, any)
    }

    fn shift(&mut self, operation: Operation, a: Term, by: Term) -> Term {
        let terms = &mut self.terms;
        let (width, amount) = (terms.width(a), terms.width(by));
        if amount <= width {
            let by = terms.extend(by, width);
            return terms.binary(operation, a, by);
        }
        // Too large an amount must not lose its upper bits.
        let most = terms.number(width.into(), amount);
        let far = terms.less(most, by);
        let by = terms.select(far, most, by);
        let wide = match operation {
            Operation::ShiftRightSigned => terms.extend_signed(a, amount),
            _ => terms.extend(a, amount),
        };
        let shifted = terms.binary(operation, wide, by);
        terms.extract(shifted, 0, width)
    }
}

/// A selection by the instruction's own condition, decided.
fn decided(from: Expression, condition: Option<Value>, met: Option<bool>) -> Expression {
    match (from, met) {
        (Expression::Select { when, then, otherwise }, Some(met)) if condition == Some(when) => {
            Expression::Copy(if met { then } else { otherwise })
        }
        _ => from,
    }
}
