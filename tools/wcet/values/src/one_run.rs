//! The one run of a region that works on nothing but what it has inside: executed, not approximated.
//!
//! Where memory is as the file has it and nothing is read from elsewhere, all that decides a branch is often known. Then every
//! execution is the same, and executing it once tells how often each loop runs and which edges are ever taken, also where that
//! follows no rule: a generator of numbers, a compressor, a sort.
//!
//! # Why it is sound
//! A number is known only if it follows from constants and from the file; what registers hold at the entry is not known, the stack
//! pointer only relative to itself. The execution is given up at the first branch, store or target that depends on anything
//! else, at an instruction with effects outside the language, and after a number of instructions; nothing is said then. It rests on what
//! the analysis of values assumes anyway: the stack is not among what the file loads, and does not wrap around; and on what it
//! needs besides ([`OneRun::assumptions`]): where it computes with floating-point numbers in vector registers, how the processor rounds;
//! where it compares an address of the stack with 0, that it is another number.

use std::collections::HashMap;
use std::rc::Rc;

use wcet_binary::lift::evaluate::mask;
use wcet_binary::lift::il::{
    AddressForm, Binary, Expression, Flow, Instruction, Kind, Op, Operand, Register, Target, Unary, Value,
};
use wcet_binary::lift::{Lifter, Registers};
use wcet_binary::load::Program;
use wcet_flow::context::{EdgeId, EdgeKind, Expanded, LoopId, Merged, NodeId};
use wcet_flow::Block;

use crate::dead_operations::{prepare, Prepared, Step};
use crate::known::Known;
use crate::known_memory::{KnownMemory, Space};
use crate::one_run_accesses::{self, Accessed};
use crate::Options;

/// What the one run does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneRun {
    /// For each edge, how often it is taken.
    pub times: Vec<u64>,
    /// For each loop, the most executions of its header for one entry of it; 0: never entered.
    pub most: Vec<u64>,
    /// The same for one entry of the loop around it.
    pub totals: Vec<u64>,
    /// What is taken for granted besides, in sentences for the report.
    pub assumptions: Vec<&'static str>,
    /// Where accesses go, for each node: those of its instructions, one after the other.
    pub(crate) accesses: Vec<Vec<Accessed>>,
}

impl OneRun {
    pub fn takes(&self, edge: EdgeId) -> bool {
        self.times[edge] > 0
    }

    /// The same run in a graph with one copy of each function. Nothing is said there of loops.
    pub fn merged(&self, merged: &Merged<'_>) -> OneRun {
        let mut run = OneRun {
            times: vec![0; merged.graph.edges.len()],
            most: Vec::new(),
            totals: Vec::new(),
            assumptions: self.assumptions.clone(),
            accesses: one_run_accesses::none(&merged.graph),
        };
        for (edge, times) in merged.edges.iter().zip(&self.times) {
            run.times[*edge] += times;
        }
        for (node, accesses) in merged.nodes.iter().zip(&self.accesses) {
            run.accesses[*node].iter_mut().zip(accesses).for_each(|(all, one)| all.or(*one));
        }
        run
    }
}

/// Why the run was left: what is not known, and at which instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Left {
    pub address: u64,
    pub why: &'static str,
}

type Followed<T> = Result<T, &'static str>;

/// The run of the region, if there is but one and it has at most so many instructions.
pub fn one_run(
    program: &Program,
    expanded: &Expanded<'_>,
    options: &Options,
    instructions: u64,
) -> Result<OneRun, Left> {
    let more = options.own.is_some() || options.shared.unknown || options.stack_rest.is_some();
    let places = options.given.len() + options.fresh.len() + options.switches.len() + expanded.stops.len();
    if !options.memory_as_loaded || more || places > 0 {
        return Err(Left { address: expanded.block(expanded.entry).start(), why: "what memory holds is not known" });
    }
    let table = Registers::with_vectors(program.architecture);
    let pointer = program.architecture.pointer_size();
    let at_entry = |register| match options.registers.get(&register) {
        _ if register == table.stack_pointer() => match options.stack_pointer {
            Some((low, high)) if low == high => Known::number(low.into(), pointer),
            Some(_) => Known::NOTHING,
            None => Known::Stack(0),
        },
        Some((low, high)) if low == high => Known::number((*low).into(), table.value(register).size),
        None if table.name(register) == CONTROL => Known::Bits { number: ROUNDING, bits: ROUNDED },
        _ => Known::NOTHING,
    };
    let code = code(program, expanded, options);
    let machine = Machine {
        pointer,
        control: table.named(CONTROL).map(|register| usize::from(register.0)),
        registers: table.all().map(at_entry).collect(),
        temporaries: Vec::new(),
        alike: Vec::new(),
        memory: KnownMemory::new(program, &options.shared, pointer),
        not_null: false,
    };
    let mut run = follow(expanded, &code, machine, instructions)?;
    let mut operations = code.iter().flat_map(|block| &block.steps).flat_map(|step| &step.ops);
    let computes = |op: &Op| matches!(op, Op::Set { from: Expression::Float(..), .. });
    run.assumptions.extend(operations.any(computes).then_some(AS_RESET));
    Ok(run)
}

/// x86-64's word that says how floating-point numbers are rounded, and which exceptions they raise.
const CONTROL: &str = "MXCSR";
/// What it holds behind a reset but for flags that are set by results, which are not among these bits: to nearest, subnormal numbers
/// as they are, no exceptions (Intel's manual, volume 1, 10.2.3).
const ROUNDING: u128 = 0x1f80;
const ROUNDED: u128 = 0xffc0;
const AS_RESET: &str =
    "at the entry MXCSR holds what a reset leaves there: floating-point numbers are rounded to nearest";

/// What a test of a pointer into the stack rests on: where the stack is, is not known.
const NOT_NULL: &str = "the stack does not hold the address 0, with which one of its addresses is compared";

/// For each node what is executed. Where vector registers are computed on, instructions are lifted anew, and all operations stay.
fn code(program: &Program, expanded: &Expanded<'_>, options: &Options) -> Vec<Rc<Prepared>> {
    let (architecture, registers) = (program.architecture, Registers::of(program.architecture));
    let uses = |one: &Rc<Instruction>| Lifter::uses_vectors(architecture, one);
    let blocks: HashMap<(u64, u64), &Block> =
        expanded.order().map(|node| (place(expanded.block(node)), expanded.block(node))).collect();
    let lifter = match blocks.values().any(|block| block.instructions.iter().any(uses)) {
        true => Lifter::with_vectors(program).ok(),
        false => None,
    };
    let Some(lifter) = lifter else { return prepare(expanded, &options.blocks, registers, architecture) };
    let all: Vec<Op> = lifter
        .registers()
        .vectors()
        .map(|one| Op::Set { to: lifter.registers().value(one), from: Expression::Unknown })
        .collect();
    let unknown = |one: &Instruction| Instruction { ops: [one.ops.as_slice(), &all].concat(), ..one.clone() };
    let step = |one: &Rc<Instruction>| match one.kind != Kind::Ordinary || uses(one) {
        true => Rc::new(lifter.lift(one.address).unwrap_or_else(|_| unknown(one))),
        false => Rc::clone(one),
    };
    let whole = |block: &Block| Rc::new(Prepared::whole(block.instructions.iter().map(step)));
    let made: HashMap<(u64, u64), Rc<Prepared>> = blocks.iter().map(|(place, block)| (*place, whole(block))).collect();
    expanded.order().map(|node| Rc::clone(&made[&place(expanded.block(node))])).collect()
}

fn place(block: &Block) -> (u64, u64) {
    (block.start(), block.last().address)
}

/// Executes node after node.
fn follow(
    expanded: &Expanded<'_>,
    code: &[Rc<Prepared>],
    mut machine: Machine<'_>,
    instructions: u64,
) -> Result<OneRun, Left> {
    let mut counted = Counted::new(expanded);
    let mut accesses = one_run_accesses::none(expanded);
    let mut is_exit = vec![false; expanded.nodes.len()];
    expanded.exits.iter().for_each(|node| is_exit[*node] = true);
    let (mut node, mut left) = (expanded.entry, instructions);
    loop {
        let steps = &code[node].steps;
        let last = steps.last().map_or(expanded.block(node).last(), |step| &step.instruction);
        let at_end = |why| Left { address: last.address, why };
        left = left.checked_sub(steps.len() as u64).ok_or(at_end("no effort is left"))?;
        let mut seen = accesses[node].iter_mut();
        for (step, instruction) in steps.iter().zip(&expanded.block(node).instructions) {
            for access in &instruction.accesses {
                let seen = seen.next().expect("one for each access");
                seen.add(access, |form| machine.address(form));
            }
            machine.execute(step).map_err(|why| Left { address: step.instruction.address, why })?;
        }
        match machine.way(expanded, node, last).map_err(at_end)? {
            Some(edge) => {
                counted.along(edge);
                node = expanded.edges[edge].to;
            }
            None if is_exit[node] => {
                let assumptions = machine.not_null.then_some(NOT_NULL).into_iter().collect();
                return Ok(counted.run(accesses, assumptions));
            }
            None => return Err(at_end("a call is deeper than stated")),
        }
    }
}

struct Machine<'p> {
    pointer: u8,
    registers: Vec<Known>,
    /// Which of them is [`CONTROL`].
    control: Option<usize>,
    temporaries: Vec<Known>,
    /// What temporaries are of the registers as they are: two of one kind are equal, whatever they are.
    alike: Vec<(u16, Expression)>,
    memory: KnownMemory<'p>,
    /// Whether an address of the stack was compared with 0.
    not_null: bool,
}

impl Machine<'_> {
    fn execute(&mut self, step: &Step) -> Followed<()> {
        if step.instruction.kind == Kind::Wait {
            return Err("it waits");
        }
        self.temporaries.clear();
        self.alike.clear();
        for op in &step.ops {
            match *op {
                Op::Set { to, from } => {
                    let result = self.expression(from, to.size);
                    match to.operand {
                        Operand::Register(register) => {
                            self.registers[usize::from(register.0)] = result;
                            self.alike.clear();
                        }
                        Operand::Temporary(number) => {
                            let index = usize::from(number);
                            if self.temporaries.len() <= index {
                                self.temporaries.resize(index + 1, Known::NOTHING);
                            }
                            self.temporaries[index] = result;
                            if matches!(from, Expression::Copy(_) | Expression::Extract { .. }) {
                                self.alike.push((number, from));
                            }
                        }
                        Operand::Constant(_) => {}
                    }
                }
                Op::Store { address, from, when } => {
                    if !self.holds(when)? {
                        continue;
                    }
                    let (space, place) = self.place(address).ok_or("it is not known where it stores")?;
                    let value = self.value(from);
                    if !self.memory.store(space, place, from.size, value) {
                        return Err("it stores to memory that the file does not have");
                    }
                }
                Op::ClobberMemory => return Err("it may change any memory"),
            }
        }
        Ok(())
    }

    /// The edge that is taken behind a node; none if the region ends.
    fn way(&self, expanded: &Expanded<'_>, node: NodeId, last: &Instruction) -> Followed<Option<EdgeId>> {
        let (target, when) = match last.flow {
            Flow::Jump { to: Target::Direct(to), when } => (None, when.filter(|_| to != last.next())),
            Flow::Call { to: Target::Direct(_), when } => (None, when),
            Flow::Jump { to: Target::Indirect(to), when } | Flow::Call { to: Target::Indirect(to), when } => {
                (Some(to), when)
            }
            Flow::Return { to, when } => (Some(to), when),
            Flow::Repeat { when } => (None, Some(when)),
            Flow::Next | Flow::Leave | Flow::Trap => (None, None),
        };
        let goes = self.holds(when)?;
        let mut found = None;
        for &edge in expanded.successors(node) {
            let one = expanded.edges[edge];
            if when.is_some() && goes == (one.kind == EdgeKind::Next) {
                continue;
            }
            if let (Some(target), EdgeKind::Case | EdgeKind::Call) = (target, one.kind) {
                let known = self.value(target).whole(target.size).ok_or("its target is not known")?;
                if known != u128::from(expanded.block(one.to).start()) {
                    continue;
                }
            }
            if found.replace(edge).is_some() {
                return Err("it goes several ways");
            }
        }
        Ok(found)
    }

    fn holds(&self, when: Option<Value>) -> Followed<bool> {
        let Some(when) = when else { return Ok(true) };
        self.value(when).is_zero(when.size).map(|zero| !zero).ok_or("its condition is not known")
    }

    fn place(&self, address: Value) -> Option<(Space, u64)> {
        self.at(self.value(address), address.size)
    }

    fn at(&self, address: Known, size: u8) -> Option<(Space, u64)> {
        match address {
            Known::Stack(offset) => Some((Space::Stack, offset as u64)),
            other => Some((Space::Absolute, (other.whole(size)? & mask(self.pointer)) as u64)),
        }
    }

    /// The address of an access of the instruction that comes next.
    fn address(&self, form: &AddressForm) -> Option<(Space, u64)> {
        let AddressForm::Known { base, index, displacement, segment } = form else { return None };
        let size = self.pointer;
        let register = |register: Register| self.registers[usize::from(register.0)];
        let binary = |operation, a: Known, b: Known| a.binary(operation, b, [size; 3], size);
        let scaled = |(index, shift): (Register, u8)| match shift {
            0 => register(index),
            _ => binary(Binary::ShiftLeft, register(index), Known::number(shift.into(), size)),
        };
        let parts = [base.map(register), index.map(scaled), segment.map(register)].into_iter().flatten();
        let displacement = Known::number(*displacement as u128 & mask(size), size);
        self.at(parts.fold(displacement, |sum, part| binary(Binary::Add, sum, part)), size)
    }

    fn value(&self, value: Value) -> Known {
        match value.operand {
            Operand::Register(register) => self.registers[usize::from(register.0)],
            Operand::Constant(number) => Known::number(number.into(), value.size),
            Operand::Temporary(number) => self.temporaries.get(usize::from(number)).copied().unwrap_or(Known::NOTHING),
        }
    }

    fn expression(&mut self, expression: Expression, size: u8) -> Known {
        match expression {
            Expression::Copy(value) => self.value(value),
            Expression::Unary(operation, a) => self.value(a).unary(operation, a.size, size),
            Expression::Binary(Binary::Xor | Binary::Subtract, a, b) if self.equal(a, b) => Known::number(0, size),
            Expression::Binary(operation @ (Binary::Equal | Binary::NotEqual), a, b) if self.tests_for_null(a, b) => {
                self.not_null = true;
                Known::number((operation == Binary::NotEqual).into(), size)
            }
            Expression::Binary(operation, a, b) => {
                self.value(a).binary(operation, self.value(b), [a.size, b.size, size], self.pointer)
            }
            Expression::Extract { from, at } => self.value(from).extract(at, from.size, size),
            Expression::Insert { into, from, at } => self.value(into).insert(self.value(from), at, from.size, size),
            Expression::Concat { high, low } => {
                let low_half = self.value(low).unary(Unary::ZeroExtend, low.size, size);
                low_half.insert(self.value(high), low.size, high.size, size)
            }
            Expression::Select { when, then, otherwise } => match self.holds(Some(when)) {
                Ok(true) => self.value(then),
                Ok(false) => self.value(otherwise),
                Err(_) => self.value(then).or(self.value(otherwise)),
            },
            Expression::Load { address, when } => match (self.holds(when), self.place(address)) {
                (Ok(true), Some((space, place))) => self.memory.load(space, place, size),
                _ => Known::NOTHING,
            },
            Expression::Float(operation, a, b) if self.rounds() => {
                self.value(a).float(operation, self.value(b), a.size, size)
            }
            Expression::Float(..) | Expression::Unknown => Known::NOTHING,
        }
    }

    /// Whether floating-point numbers are rounded as behind a reset.
    fn rounds(&self) -> bool {
        let control = self.control.map(|control| self.registers[control].bits());
        control.is_some_and(|(number, bits)| bits & ROUNDED == ROUNDED && number & ROUNDED == ROUNDING)
    }

    /// Whether one is an address of the stack, and the other 0.
    fn tests_for_null(&self, a: Value, b: Value) -> bool {
        let whole = a.size == self.pointer && b.size == self.pointer;
        let (a, b) = (self.value(a), self.value(b));
        let is_null = |known: Known| known.whole(self.pointer) == Some(0);
        whole && (matches!(a, Known::Stack(_)) && is_null(b) || matches!(b, Known::Stack(_)) && is_null(a))
    }

    /// Whether two values are equal for what they are, known or not.
    fn equal(&self, a: Value, b: Value) -> bool {
        let source = |value: Value| {
            let Operand::Temporary(number) = value.operand else { return None };
            self.alike.iter().find(|(one, _)| *one == number).map(|(_, source)| source)
        };
        a == b || a.size == b.size && source(a).is_some() && source(a) == source(b)
    }
}

/// Counts of loops.
struct Counted {
    times: Vec<u64>,
    most: Vec<u64>,
    totals: Vec<u64>,
    /// For each edge the loops to whose headers it leads, and whether as a back edge.
    heads: HashMap<EdgeId, Vec<(LoopId, bool)>>,
    inside: Vec<Vec<LoopId>>,
    running: Vec<u64>,
    total: Vec<u64>,
}

impl Counted {
    fn new(expanded: &Expanded<'_>) -> Counted {
        let count = expanded.loops.len();
        let mut heads: HashMap<EdgeId, Vec<(LoopId, bool)>> = HashMap::new();
        let mut inside = vec![Vec::new(); count];
        let (mut running, mut total) = (vec![0; count], vec![0; count]);
        let (mut most, mut totals) = (vec![0; count], vec![0; count]);
        for (number, one) in expanded.loops.iter().enumerate() {
            one.entries.iter().for_each(|edge| heads.entry(*edge).or_default().push((number, false)));
            one.back.iter().for_each(|edge| heads.entry(*edge).or_default().push((number, true)));
            if let Some(parent) = one.parent {
                inside[parent].push(number);
            }
            if one.header == expanded.entry {
                (running[number], total[number], most[number], totals[number]) = (1, 1, 1, 1);
            }
        }
        Counted { times: vec![0; expanded.edges.len()], most, totals, heads, inside, running, total }
    }

    fn run(self, accesses: Vec<Vec<Accessed>>, assumptions: Vec<&'static str>) -> OneRun {
        OneRun { times: self.times, most: self.most, totals: self.totals, assumptions, accesses }
    }

    fn along(&mut self, edge: EdgeId) {
        self.times[edge] += 1;
        for &(number, back) in self.heads.get(&edge).map_or(&[][..], Vec::as_slice) {
            self.running[number] = if back { self.running[number] + 1 } else { 1 };
            self.total[number] += 1;
            self.most[number] = self.most[number].max(self.running[number]);
            self.totals[number] = self.totals[number].max(self.total[number]);
            if !back {
                self.inside[number].iter().for_each(|inner| self.total[*inner] = 0);
            }
        }
    }
}
