//! The constants from which addresses are computed, function by function: a constant, or one plus an unknown number.
//!
//! A forward analysis over registers and slots of the stack, in any state and for any caller. It tells of an address that it is
//! a constant plus what is not known, wherever the function is entered or goes on: behind a switch of stacks as well, where the
//! values of a region begin with nothing.
//!
//! Assumption: what is not known, such as a parameter or what memory holds, is a number like 0, from which an address is
//! computed by adding constants and by multiplying: it is no address of what is looked for. Slots of the stack change only by
//! stores through the stack pointer and in functions that are given an address of the stack.

use std::collections::{BTreeMap, BTreeSet};

use wcet_binary::lift::il::{AddressForm, Binary, Expression, Op, Operand, Register, Unary, Value};
use wcet_binary::lift::{Instruction, Registers};
use wcet_flow::{forward, Block, Function, Graph};

use crate::base_address::Form;

#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    registers: Vec<Form>,
    slots: BTreeMap<i64, (u8, Form)>,
}

type Temporaries = BTreeMap<u16, Form>;

impl State {
    fn join(&mut self, other: &State) -> bool {
        let before = self.clone();
        for (mine, theirs) in self.registers.iter_mut().zip(&other.registers) {
            *mine = mine.join(theirs);
        }
        self.slots = std::mem::take(&mut self.slots)
            .into_iter()
            .filter_map(|(at, (size, form))| {
                let (other, theirs) = other.slots.get(&at)?;
                (*other == size).then(|| (at, (size, form.join(theirs))))
            })
            .collect();
        *self != before
    }

    fn value(&self, value: Value, temporaries: &Temporaries) -> Form {
        match value.operand {
            Operand::Register(register) => self.registers[usize::from(register.0)].clone().cut(value.size),
            Operand::Temporary(number) => temporaries.get(&number).cloned().unwrap_or(Form::Any).cut(value.size),
            Operand::Constant(number) => Form::number(number),
        }
    }

    fn expression(&self, from: Expression, size: u8, temporaries: &Temporaries) -> Form {
        if size > 8 {
            return Form::Any;
        }
        let value = |value: Value| self.value(value, temporaries);
        let form = match from {
            Expression::Copy(from)
            | Expression::Unary(Unary::ZeroExtend, from)
            | Expression::Extract { from, at: 0 } => value(from),
            // Writing four bytes of a register of eight is such an insertion, and then an extension of what was inserted.
            Expression::Insert { from, at: 0, .. } => Form::Low(Box::new(value(from)), from.size),
            Expression::Unary(Unary::SignExtend, from) => {
                let sign = 1u64 << (u32::from(from.size.clamp(1, 8)) * 8 - 1);
                value(from).each(|number| (number ^ sign).wrapping_sub(sign))
            }
            Expression::Binary(Binary::Add, a, b) => value(a).plus(&value(b)),
            Expression::Binary(Binary::Subtract, a, b) => match value(b).exact() {
                Some(number) => value(a).plus(&Form::number(number.wrapping_neg())),
                None => Form::unknown(),
            },
            Expression::Binary(Binary::Multiply, a, b) => match (value(a).exact(), value(b).exact()) {
                (_, Some(factor)) => value(a).times(factor),
                (Some(factor), None) => value(b).times(factor),
                (None, None) => Form::unknown(),
            },
            Expression::Binary(Binary::And, a, b) => match (value(a).exact(), value(b).exact()) {
                (Some(a), Some(b)) => Form::number(a & b),
                _ => Form::unknown(),
            },
            Expression::Binary(Binary::ShiftLeft, a, b) => match value(b).exact() {
                Some(by) if by < 64 => value(a).times(1 << by),
                _ => Form::unknown(),
            },
            Expression::Select { then, otherwise, .. } => value(then).join(&value(otherwise)),
            Expression::Load { address, when: None } => match value(address) {
                Form::Stack(at) => match self.slots.get(&at) {
                    Some((bytes, form)) if *bytes == size => form.clone(),
                    _ => Form::unknown(),
                },
                _ => Form::unknown(),
            },
            _ => Form::unknown(),
        };
        form.cut(size)
    }

    fn execute(&mut self, instruction: &Instruction) {
        let mut temporaries = Temporaries::new();
        for op in &instruction.ops {
            match *op {
                Op::Set { to, from } => {
                    let form = self.expression(from, to.size, &temporaries);
                    match to.operand {
                        Operand::Register(register) => self.registers[usize::from(register.0)] = form,
                        Operand::Temporary(number) => drop(temporaries.insert(number, form)),
                        Operand::Constant(_) => {}
                    }
                }
                Op::Store { address, from, when } => {
                    let Form::Stack(at) = self.value(address, &temporaries) else { continue };
                    let end = at + i64::from(from.size);
                    self.slots.retain(|slot, (size, _)| *slot >= end || slot + i64::from(*size) <= at);
                    if when.is_none() {
                        self.slots.insert(at, (from.size, self.value(from, &temporaries)));
                    }
                }
                Op::ClobberMemory => {}
            }
        }
    }

    /// A function's beginning.
    fn at_entry(registers: Registers) -> State {
        let mut first = State { registers: registers.all().map(Form::Initial).collect(), slots: BTreeMap::new() };
        first.registers[usize::from(registers.stack_pointer().0)] = Form::Stack(0);
        first
    }

    /// One instruction of a block; the last one may call.
    fn step(&mut self, kept: &Kept, block: &Block, number: usize, stack: Register) {
        if number + 1 == block.instructions.len() && !block.calls.is_empty() {
            self.call(kept, &block.calls, stack);
        } else {
            self.execute(&block.instructions[number]);
        }
    }

    /// What a call leaves: registers that all callees give back, and slots that they are not told of.
    fn call(&mut self, kept: &Kept, callees: &BTreeSet<u64>, stack: Register) {
        let mut told = false;
        for number in 0..self.registers.len() {
            if number == usize::from(stack.0) {
                continue;
            }
            told |= matches!(self.registers[number], Form::Stack(_));
            if callees.is_empty() || !callees.iter().all(|callee| kept.of(*callee, number)) {
                self.registers[number] = Form::unknown();
            }
        }
        if told {
            self.slots.clear();
        }
    }

    fn address(&self, form: &AddressForm) -> Form {
        let AddressForm::Known { base, index, displacement, segment: None } = form else { return Form::Any };
        let of = |register: Register| self.registers[usize::from(register.0)].clone();
        let base = base.map_or(Form::number(0), of);
        let index = index.map_or(Form::number(0), |(register, by)| of(register).times(1 << by));
        base.plus(&index).plus(&Form::number(*displacement as u64))
    }
}

/// Registers that functions give back as they found them, by function and number of the register.
struct Kept(BTreeMap<u64, Vec<bool>>);

impl Kept {
    fn of(&self, function: u64, register: usize) -> bool {
        self.0.get(&function).and_then(|all| all.get(register)) == Some(&true)
    }

    /// Those that control flow shows; and with a switch of stacks what it puts on the stack first and takes from there at last:
    /// its callers find that when it returns.
    fn new(graph: &Graph, registers: Registers, switch: u64) -> Kept {
        let functions = graph.functions.iter();
        let mut kept = Kept(functions.map(|(address, one)| (*address, one.preserved.clone())).collect());
        let count = registers.all().count();
        if let Some(function) = graph.functions.get(&switch) {
            let mut all = vec![false; count];
            saved(function, registers.stack_pointer()).into_iter().for_each(|one| all[usize::from(one.0)] = true);
            kept.0.insert(switch, all);
        }
        let above = callers(graph, switch);
        loop {
            let mut changed = false;
            for function in above.iter().filter_map(|address| graph.functions.get(address)) {
                let (_, found) = follow(&kept, function, registers);
                let known = kept.0.entry(function.entry).or_default();
                known.resize(count, false);
                for (known, found) in known.iter_mut().zip(found) {
                    changed |= found && !*known;
                    *known |= found;
                }
            }
            if !changed {
                return kept;
            }
        }
    }
}

/// Functions that call another, directly or not.
fn callers(graph: &Graph, function: u64) -> BTreeSet<u64> {
    let mut found = BTreeSet::new();
    let mut open = vec![function];
    while let Some(one) = open.pop() {
        let calls = graph.functions.keys().copied().filter(|caller| graph.callees(*caller).contains(&one));
        open.extend(calls.filter(|caller| *caller != function && found.insert(*caller)).collect::<Vec<_>>());
    }
    found
}

/// Registers that a function pushes, if it pops the same in reverse order and there is no other way through it.
fn saved(function: &Function, stack: Register) -> Vec<Register> {
    let (mut pushed, mut popped) = (Vec::new(), Vec::new());
    for instruction in function.blocks.iter().flat_map(|block| &block.instructions) {
        let mut copies: BTreeMap<u16, Register> = BTreeMap::new();
        for op in &instruction.ops {
            let (to, from) = match *op {
                Op::Set { to, from } => (to.operand, Some(from)),
                Op::Store { from, .. } => (from.operand, None),
                Op::ClobberMemory => continue,
            };
            match (to, from, instruction.mnemonic.as_str()) {
                (Operand::Temporary(number), Some(Expression::Copy(value)), _) => {
                    if let Operand::Register(register) = value.operand {
                        copies.insert(number, register);
                    }
                }
                (Operand::Register(register), None, "push") => pushed.push(register),
                (Operand::Temporary(number), None, "push") => pushed.extend(copies.get(&number)),
                (Operand::Register(register), Some(_), "pop") if register != stack => popped.insert(0, register),
                _ => {}
            }
        }
    }
    if pushed == popped {
        pushed
    } else {
        Vec::new()
    }
}

/// Forms of addresses that functions write, by instruction and number of the access.
pub(crate) fn written(graph: &Graph, registers: Registers, switch: u64) -> BTreeMap<(u64, usize), Form> {
    let kept = Kept::new(graph, registers, switch);
    graph.functions.values().flat_map(|function| follow(&kept, function, registers).0).collect()
}

/// What a register holds before each of certain instructions that are executed, by their addresses. Behind one of which `ends`
/// says so nothing is executed.
pub(crate) fn held(
    graph: &Graph,
    registers: Registers,
    register: Register,
    wanted: impl Fn(&Instruction) -> bool,
    ends: impl Fn(&Form) -> bool,
) -> BTreeMap<u64, Form> {
    let kept = Kept::new(graph, registers, 0);
    let stack = registers.stack_pointer();
    let mut found: BTreeMap<u64, Form> = BTreeMap::new();
    for function in graph.functions.values() {
        // Whether control comes to the end of the block.
        let execute = |block: &Block, state: &mut State, look: &mut dyn FnMut(u64, &Form)| {
            for (number, instruction) in block.instructions.iter().enumerate() {
                if wanted(instruction) {
                    let form = &state.registers[usize::from(register.0)];
                    look(instruction.address, form);
                    if ends(form) {
                        return false;
                    }
                }
                state.step(&kept, block, number, stack);
            }
            true
        };
        let transfer = |index: usize, before: &State| {
            let (block, mut state) = (&function.blocks[index], before.clone());
            let goes_on = execute(block, &mut state, &mut |_, _| {});
            block.edges.iter().filter(|_| goes_on).map(|edge| (edge.to, state.clone())).collect()
        };
        for (index, mut state) in forward((0, State::at_entry(registers)), transfer, State::join) {
            execute(&function.blocks[index], &mut state, &mut |address, form| {
                let joined = found.get(&address).map_or_else(|| form.clone(), |known| known.join(form));
                found.insert(address, joined);
            });
        }
    }
    found
}

/// Forms of addresses that a function writes, where several blocks may stand for one instruction; and registers that it gives
/// back.
fn follow(kept: &Kept, function: &Function, registers: Registers) -> (BTreeMap<(u64, usize), Form>, Vec<bool>) {
    let stack = registers.stack_pointer();
    let transfer = |index: usize, before: &State| {
        let (block, mut state) = (&function.blocks[index], before.clone());
        through(kept, block, &mut state, stack, |_, _, _| {});
        block.edges.iter().map(|edge| (edge.to, state.clone())).collect()
    };
    let before = forward((0, State::at_entry(registers)), transfer, State::join);
    let mut found: BTreeMap<(u64, usize), Form> = BTreeMap::new();
    let mut given: Vec<bool> = vec![function.returns; registers.all().count()];
    for (index, mut state) in before {
        let block = &function.blocks[index];
        through(kept, block, &mut state, stack, |address, access, form| {
            let joined = found.get(&(address, access)).map_or_else(|| form.clone(), |known| known.join(&form));
            found.insert((address, access), joined);
        });
        if block.returns || !block.tail_calls.is_empty() {
            for (register, given) in registers.all().zip(&mut given) {
                let number = usize::from(register.0);
                *given &= state.registers[number] == Form::Initial(register)
                    && block.tail_calls.iter().all(|callee| kept.of(*callee, number));
            }
        }
    }
    (found, given)
}

/// Executes a block; `writes` is called with each address that it writes.
fn through(kept: &Kept, block: &Block, state: &mut State, stack: Register, mut writes: impl FnMut(u64, usize, Form)) {
    for (number, instruction) in block.instructions.iter().enumerate() {
        for (access, one) in instruction.accesses.iter().enumerate().filter(|(_, one)| one.write) {
            writes(instruction.address, access, state.address(&one.address));
        }
        state.step(kept, block, number, stack);
    }
}

#[cfg(test)]
mod tests {
    use wcet_binary::lift::Lifter;
    use wcet_binary::load::{Architecture, Program};

    use super::*;

    /// What is known of addresses that code writes, by their instruction's distance from the beginning.
    fn forms(code: &[u8]) -> BTreeMap<u64, Option<BTreeSet<(u64, bool)>>> {
        let program = Program::from_code(Architecture::X86_64, 0x1000, code);
        let lifter = Lifter::new(&program).expect("x86");
        let graph = wcet_flow::analyse(&lifter, &[0x1000], &wcet_flow::Options::default()).expect("control flow");
        let found = written(&graph, lifter.registers(), 0);
        found.into_iter().map(|((address, _), form)| (address - 0x1000, form.constants())).collect()
    }

    #[test]
    fn a_constant_is_found_in_a_scaled_sum() {
        // lea edi,[rcx+0x179]; lea eax,[rdi+rdi]; shl rax,6; add rax,0xffffffff80e7d800; lock xadd [rax],rsi; ret
        let mut code =
            vec![0x8d, 0xb9, 0x79, 1, 0, 0, 0x8d, 0x04, 0x3f, 0x48, 0xc1, 0xe0, 6, 0x48, 0x05, 0, 0xd8, 0xe7];
        code.extend([0x80, 0xf0, 0x48, 0x0f, 0xc1, 0x30, 0xc3]);
        let address = 0xffff_ffff_80e7_d800 + 128 * 0x179;
        assert_eq!(forms(&code)[&19], Some(BTreeSet::from([(address, true)])));
    }
    #[test]
    fn what_a_switch_of_stacks_pushes_and_pops_is_kept() {
        // push rbp; mov rsp,[rdi]; pop rbp; ret
        let program = Program::from_code(Architecture::X86_64, 0x1000, &[0x55, 0x48, 0x8b, 0x27, 0x5d, 0xc3]);
        let lifter = Lifter::new(&program).expect("x86");
        let switches = BTreeMap::from([(0x1000, BTreeSet::new())]);
        let options = wcet_flow::Options { switches, ..wcet_flow::Options::default() };
        let graph = wcet_flow::analyse(&lifter, &[0x1000], &options).expect("control flow");
        let kept = Kept::new(&graph, lifter.registers(), 0x1000);
        let all = lifter.registers().all().filter(|one| kept.of(0x1000, usize::from(one.0)));
        assert_eq!(all.map(|one| lifter.registers().name(one)).collect::<Vec<_>>(), ["RBP"]);
        assert!(!graph.functions[&0x1000].preserved.contains(&true));
    }
}
