//! Symbolic execution of a path: a list of instructions, each the successor of the one before.

use std::collections::BTreeSet;
use std::rc::Rc;

use wcet_binary::lift::il::{Binary, Expression, Flow, Instruction, Op, Operand, Register, Target, Unary, Value};
use wcet_binary::lift::Registers;
use wcet_binary::load::Program;

use crate::frame::{decided, Frame, Known, Summary};
use crate::iterations::Iterations;
use crate::range::{self, Condition};
use crate::shared::Shared;
use crate::term::{Number, Read, Term};

/// A register whose term is larger is forgotten: a leaf takes its place.
const HEAVIEST: u32 = 500;

/// How a path goes on after an instruction.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    /// To this address.
    To(u64),
    /// Into the function that it calls.
    Enter,
    /// To the next instruction, after a call that came back.
    Back(Summary),
}

pub(crate) struct Path<'p> {
    program: &'p Program,
    shared: &'p Shared,
    registers: Vec<Number>,
    temporaries: Vec<Option<Number>>,
    /// Stores in order: address and value; None where any memory may have changed.
    stores: Vec<Option<(Number, Number)>>,
    pub conditions: Vec<Condition>,
    /// Memory that is read, and memory that is read again without a store in between, with the instructions that do.
    loads: Vec<(Number, u64)>,
    rereads: Vec<(Number, u64)>,
    /// The instruction that is executed.
    now: u64,
    leaves: u32,
    /// Leaves that are addresses on the stack.
    of_stack: BTreeSet<u32>,
}

impl<'p> Path<'p> {
    /// A path that starts where `known` holds.
    pub fn new(program: &'p Program, shared: &'p Shared, known: Option<&Frame>) -> Path<'p> {
        let table = Registers::of(program.architecture);
        let mut path = Path {
            program,
            shared,
            registers: Vec::new(),
            temporaries: Vec::new(),
            stores: Vec::new(),
            conditions: Vec::new(),
            loads: Vec::new(),
            rereads: Vec::new(),
            now: 0,
            leaves: 0,
            of_stack: BTreeSet::new(),
        };
        for register in table.all() {
            let value = path.first(known.map(|frame| frame.register(register)), register);
            path.registers.push(value);
        }
        path
    }

    /// What a register holds where no more than this is known.
    fn first(&mut self, known: Option<Known>, register: Register) -> Number {
        let table = Registers::of(self.program.architecture);
        let (stack, size) = (table.stack_pointer(), table.value(register).size);
        match known {
            Some(Known::Constant(number)) => Number::constant(number, size),
            Some(Known::Initial(initial, _)) if initial == stack => self.leaf_of_stack(size),
            _ if register == stack => self.leaf_of_stack(size),
            _ => self.leaf(size),
        }
    }

    fn leaf(&mut self, size: u8) -> Number {
        self.leaves += 1;
        Number::new(Term::Leaf(self.leaves), size)
    }

    fn leaf_of_stack(&mut self, size: u8) -> Number {
        let leaf = self.leaf(size);
        self.of_stack.insert(self.leaves);
        leaf
    }

    /// Executes an instruction and goes on to the next of the path.
    pub fn step(&mut self, instruction: &Rc<Instruction>, step: &Step) {
        let met = !matches!(step, Step::To(address) if *address == instruction.next());
        self.execute(instruction, met);
        match step {
            Step::To(address) => self.went(instruction, *address),
            Step::Enter => {}
            Step::Back(summary) => self.came_back(summary),
        }
    }

    /// Any number of iterations of a loop, at its header.
    pub fn iterates(&mut self, iterations: &Iterations) {
        for register in Registers::of(self.program.architecture).all() {
            let index = usize::from(register.0);
            if !iterations.unchanged[index] {
                self.registers[index] = self.first(Some(iterations.frame.register(register)), register);
            }
        }
        self.stores.push(None);
    }

    /// The target of the jump or call that ends the path, with the state there; what its own condition says is added.
    pub fn target(&mut self, instruction: &Rc<Instruction>) -> Option<Number> {
        self.execute(instruction, true);
        let (target, when) = match instruction.flow {
            Flow::Jump { to: Target::Indirect(to), when } | Flow::Call { to: Target::Indirect(to), when } => (to, when),
            Flow::Return { to, when } => (to, when),
            _ => return None,
        };
        if let Some(when) = when {
            let when = self.value(when);
            self.conditions.push((when, true));
        }
        Some(self.value(instruction.arrival.unwrap_or(target)))
    }

    /// What follows from the path's going to `address`.
    fn went(&mut self, instruction: &Instruction, address: u64) {
        let next = instruction.next();
        let (when, taken) = match instruction.flow {
            Flow::Jump { to: Target::Direct(to), when: Some(when) }
            | Flow::Call { to: Target::Direct(to), when: Some(when) }
                if to != next =>
            {
                (when, to)
            }
            Flow::Repeat { when } => (when, instruction.address),
            Flow::Return { when: Some(when), .. }
            | Flow::Jump { when: Some(when), .. }
            | Flow::Call { when: Some(when), .. }
                if address == next =>
            {
                (when, next.wrapping_add(1))
            }
            _ => return,
        };
        let when = self.value(when);
        self.conditions.push((when, address == taken));
    }

    fn came_back(&mut self, summary: &Summary) {
        let table = Registers::of(self.program.architecture);
        let stack = table.stack_pointer();
        for register in table.all() {
            let index = usize::from(register.0);
            let size = table.value(register).size;
            if register == stack {
                self.registers[index] = match summary.popped {
                    Some(popped) => {
                        let popped = Number::constant(popped as u64, size);
                        Number::binary(Binary::Add, self.registers[index].clone(), popped, size)
                    }
                    None => self.leaf_of_stack(size),
                };
            } else if !summary.preserved[index] {
                self.registers[index] = self.leaf(size);
            }
        }
        self.stores.push(None);
    }

    fn execute(&mut self, instruction: &Instruction, met: bool) {
        let condition = instruction.flow.condition();
        self.now = instruction.address;
        self.temporaries.clear();
        for op in &instruction.ops {
            match *op {
                Op::Set { to, from } => {
                    let value = self.expression(decided(from, condition, met), to.size);
                    match to.operand {
                        Operand::Register(register) => {
                            let light = value.weight <= HEAVIEST;
                            self.registers[usize::from(register.0)] = if light { value } else { self.leaf(to.size) };
                        }
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
                Op::Store { when: Some(when), .. } if condition == Some(when) && !met => {}
                Op::Store { address, from, when } => {
                    let address = self.value(address);
                    let value =
                        if when.is_some() && when != condition { self.leaf(from.size) } else { self.value(from) };
                    self.stores.push(Some((address, value)));
                }
                Op::ClobberMemory => self.stores.push(None),
            }
        }
    }

    fn value(&mut self, value: Value) -> Number {
        match value.operand {
            Operand::Register(register) => self.registers[usize::from(register.0)].clone(),
            Operand::Constant(number) => Number::constant(number, value.size),
            Operand::Temporary(number) => match self.temporaries.get(usize::from(number)).cloned().flatten() {
                Some(found) => found,
                None => self.leaf(value.size),
            },
        }
    }

    fn expression(&mut self, expression: Expression, size: u8) -> Number {
        match expression {
            Expression::Copy(value) => self.value(value),
            Expression::Unary(operation, a) => Number::unary(operation, self.value(a), size),
            Expression::Binary(operation, a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                Number::binary(operation, a, b, size)
            }
            Expression::Extract { from, at } => Number::extract(self.value(from), at, size),
            Expression::Insert { into, from, at } => {
                let (into, from) = (self.value(into), self.value(from));
                if size > 8 {
                    return self.leaf(size);
                }
                let hole = crate::evaluate::mask(from.size) << (8 * at);
                let kept = Number::binary(Binary::And, into, Number::constant(!hole, size), size);
                let wide = Number::unary(Unary::ZeroExtend, from, size);
                let moved = Number::binary(Binary::ShiftLeft, wide, Number::constant(8 * u64::from(at), size), size);
                Number::binary(Binary::Or, kept, moved, size)
            }
            Expression::Concat { .. } | Expression::Float(..) | Expression::Unknown => self.leaf(size),
            Expression::Select { when, then, otherwise } => {
                let (when, then, otherwise) = (self.value(when), self.value(then), self.value(otherwise));
                Number::select(when, then, otherwise)
            }
            Expression::Load { address, .. } => {
                let address = self.value(address);
                self.load(address, size)
            }
        }
    }

    fn load(&mut self, address: Number, size: u8) -> Number {
        if let Some(number) = address.as_constant().and_then(|at| self.program.constant(at, size)) {
            return Number::constant(number, size);
        }
        if self.may_be_shared(&address, size) {
            // Not the same as any other read, nor as what was stored; what never changes may still be looked up.
            self.leaves += 1;
            return Number::new(Term::Load(address, Read::Fresh(self.leaves)), size);
        }
        let mut stores = 0;
        for (index, store) in self.stores.iter().enumerate().rev() {
            match store {
                Some((at, value)) if *at == address && value.size == size => return value.clone(),
                Some((at, value)) if disjoint(at, value.size, &address, size) => {}
                _ => {
                    stores = index + 1;
                    break;
                }
            }
        }
        let load = Number::new(Term::Load(address, Read::After(stores)), size);
        let known = self.loads.iter().find(|(known, _)| *known == load);
        if let Some(first) = known.cloned() {
            self.rereads.extend([first, (load.clone(), self.now)]);
        } else {
            self.loads.push((load.clone(), self.now));
        }
        load
    }

    /// Whether others may write there.
    fn may_be_shared(&self, address: &Number, size: u8) -> bool {
        if self.shared.places.is_empty() || self.is_of_stack(address) {
            return false;
        }
        let (low, high) = range::reach(address, &self.conditions);
        let is_known = high.wrapping_sub(low) < crate::evaluate::mask(address.size) >> 1;
        let last = high.saturating_add(u64::from(size.max(1)) - 1);
        low <= high && self.shared.meets(low, last) && (self.shared.unknown || is_known)
    }

    fn is_of_stack(&self, address: &Number) -> bool {
        match &*address.term {
            Term::Leaf(leaf) => self.of_stack.contains(leaf),
            Term::Load(..) => false,
            _ => address.parts().into_iter().any(|part| self.is_of_stack(part)),
        }
    }

    /// The instructions that read memory twice of which `number` is made, where it is taken to be the same.
    pub fn rereads(&self, number: &Number) -> BTreeSet<u64> {
        let here = self.rereads.iter().filter(|(load, _)| load == number).map(|(_, at)| *at);
        let parts = number.parts().into_iter().flat_map(|part| self.rereads(part));
        here.chain(parts).collect()
    }
}

/// Whether two ranges of memory surely do not overlap: the same base, and far enough apart.
fn disjoint(a: &Number, a_size: u8, b: &Number, b_size: u8) -> bool {
    fn split(number: &Number) -> (Option<&Number>, u64) {
        match &*number.term {
            Term::Constant(constant) => (None, *constant),
            Term::Binary(Binary::Add, base, offset) => match offset.as_constant() {
                Some(constant) => (Some(base), constant),
                None => (Some(number), 0),
            },
            _ => (Some(number), 0),
        }
    }
    let ((a_base, a_at), (b_base, b_at)) = (split(a), split(b));
    let mask = crate::evaluate::mask(a.size);
    a_base == b_base
        && b_at.wrapping_sub(a_at) & mask >= u64::from(a_size)
        && a_at.wrapping_sub(b_at) & mask >= u64::from(b_size)
}
