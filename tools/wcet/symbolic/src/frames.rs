//! Which registers point to the stack, and where: a forward analysis of the expanded graph.
//!
//! Each register, at each node, is a number, the entry's stack pointer plus a number, surely not computed from the
//! stack pointer, or anything. Memory is two facts: whether an address on the stack was ever stored on the stack, and
//! whether it was ever stored elsewhere. With this, stores on paths that are not looked at have known places.
//!
//! Assumptions: when the region is entered, nothing but the stack pointer points to the stack below it; and no pointer
//! is put together from single bytes of vector registers.

use std::collections::{BTreeMap, BTreeSet};

use wcet_binary::lift::evaluate;
use wcet_binary::lift::il::{Binary, Expression, Instruction, Op, Operand, Register, Unary, Value};
use wcet_binary::lift::Registers;
use wcet_binary::load::Program;
use wcet_flow::context::{EdgeId, EdgeKind, Expanded, NodeId};
use wcet_flow::forward;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Known {
    Number(u64),
    /// Offset from the entry's stack pointer.
    Slot(i64),
    /// Not computed from the stack pointer.
    Plain,
    Anything,
}

impl Known {
    fn join(self, other: Known) -> Known {
        match (self, other) {
            _ if self == other => self,
            (Known::Number(_) | Known::Plain, Known::Number(_) | Known::Plain) => Known::Plain,
            _ => Known::Anything,
        }
    }

    fn is_plain(self) -> bool {
        matches!(self, Known::Number(_) | Known::Plain)
    }
}

/// Whether memory may hold addresses on the stack.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Held {
    on_stack: bool,
    elsewhere: bool,
}

#[derive(Debug, Clone)]
pub struct Frames {
    /// Registers before the nodes that are reached.
    nodes: BTreeMap<NodeId, Vec<Known>>,
    held: Held,
}

impl Frames {
    /// `switches` are functions after whose return no register but the stack pointer is known.
    pub fn of(program: &Program, graph: &Expanded<'_>, switches: &BTreeSet<u64>) -> Frames {
        let table = Registers::of(program.architecture);
        let mut held = Held::default();
        loop {
            let before = held;
            let nodes = propagate(program, table, graph, switches, &mut held);
            if held == before {
                return Frames { nodes, held };
            }
        }
    }

    /// What a register holds before a node.
    pub fn register(&self, node: NodeId, register: Register) -> Known {
        let known = self.nodes.get(&node).and_then(|registers| registers.get(usize::from(register.0)));
        known.copied().unwrap_or(Known::Anything)
    }

    /// Whether no address on the stack is ever stored to memory.
    pub fn no_escape(&self) -> bool {
        self.held == Held::default()
    }
}

fn propagate(
    program: &Program,
    table: Registers,
    graph: &Expanded<'_>,
    switches: &BTreeSet<u64>,
    held: &mut Held,
) -> BTreeMap<NodeId, Vec<Known>> {
    let stack = table.stack_pointer();
    let start = |register: Register| if register == stack { Known::Slot(0) } else { Known::Plain };
    let transfer = |node: NodeId, before: &Vec<Known>| {
        let mut out: [Option<Vec<Known>>; 2] = [None, None];
        let along = |edge: &EdgeId| {
            let edge = graph.edges[*edge];
            let met = edge.kind != EdgeKind::Next;
            let after = out[usize::from(met)].get_or_insert_with(|| {
                let mut walk = Walk { program, table, registers: before.clone(), temporaries: Vec::new(), held };
                graph.instructions(node).iter().for_each(|instruction| walk.execute(instruction, met));
                walk.registers
            });
            let mut after = after.clone();
            let left = graph.contexts[graph.nodes[node].context].function;
            if edge.kind == EdgeKind::Return && switches.contains(&left) {
                for register in table.all().filter(|register| *register != stack) {
                    after[usize::from(register.0)] = Known::Anything;
                }
            }
            (edge.to, after)
        };
        graph.successors(node).iter().map(along).collect()
    };
    let join = |known: &mut Vec<Known>, other: &Vec<Known>| {
        let mut changed = false;
        for (mine, theirs) in known.iter_mut().zip(other) {
            let joined = mine.join(*theirs);
            changed |= joined != *mine;
            *mine = joined;
        }
        changed
    };
    forward((graph.entry, table.all().map(start).collect()), transfer, join)
}

struct Walk<'a> {
    program: &'a Program,
    table: Registers,
    registers: Vec<Known>,
    temporaries: Vec<Known>,
    held: &'a mut Held,
}

impl Walk<'_> {
    fn execute(&mut self, instruction: &Instruction, met: bool) {
        let condition = instruction.flow.condition();
        self.temporaries.clear();
        for op in &instruction.ops {
            match *op {
                Op::Set { to, from } => {
                    let from = match from {
                        Expression::Select { when, then, otherwise } if condition == Some(when) => {
                            Expression::Copy(if met { then } else { otherwise })
                        }
                        _ => from,
                    };
                    let known = self.expression(from, to.size);
                    match to.operand {
                        Operand::Register(register) => self.registers[usize::from(register.0)] = known,
                        Operand::Temporary(number) => {
                            let index = usize::from(number);
                            if self.temporaries.len() <= index {
                                self.temporaries.resize(index + 1, Known::Anything);
                            }
                            self.temporaries[index] = known;
                        }
                        Operand::Constant(_) => {}
                    }
                }
                Op::Store { address, from, .. } => {
                    if !self.value(from).is_plain() {
                        match self.value(address) {
                            Known::Slot(_) => self.held.on_stack = true,
                            Known::Number(_) | Known::Plain => self.held.elsewhere = true,
                            Known::Anything => *self.held = Held { on_stack: true, elsewhere: true },
                        }
                    }
                }
                Op::ClobberMemory => {}
            }
        }
    }

    fn value(&self, value: Value) -> Known {
        match value.operand {
            Operand::Constant(number) => Known::Number(number),
            Operand::Register(register) => self.registers[usize::from(register.0)],
            Operand::Temporary(number) => self.temporaries.get(usize::from(number)).copied().unwrap_or(Known::Anything),
        }
    }

    fn expression(&self, expression: Expression, size: u8) -> Known {
        let pointer = self.table.value(self.table.stack_pointer()).size;
        let both = |a: Value, b: Value| match self.value(a).is_plain() && self.value(b).is_plain() {
            true => Known::Plain,
            false => Known::Anything,
        };
        match expression {
            Expression::Copy(value) => self.value(value),
            Expression::Unary(Unary::BoolNot | Unary::CountOnes | Unary::LeadingZeros, _) => Known::Plain,
            Expression::Unary(operation, a) => match (operation, self.value(a)) {
                (_, Known::Number(number)) if size <= 8 => evaluate::unary(operation, number.into(), a.size, size)
                    .map_or(Known::Plain, |x| Known::Number(x as u64)),
                (_, known) if known.is_plain() => Known::Plain,
                _ => Known::Anything,
            },
            Expression::Binary(operation, a, b) => {
                let sign = |number: u64| evaluate::signed(number.into(), pointer) as i64;
                match (operation, self.value(a), self.value(b)) {
                    (_, Known::Number(x), Known::Number(y)) if size <= 8 => {
                        let number = evaluate::binary(operation, x.into(), y.into(), a.size);
                        number.map_or(Known::Plain, |x| Known::Number(x as u64))
                    }
                    (Binary::Add, Known::Slot(slot), Known::Number(y)) if size == pointer => {
                        Known::Slot(slot.wrapping_add(sign(y)))
                    }
                    (Binary::Add, Known::Number(x), Known::Slot(slot)) if size == pointer => {
                        Known::Slot(slot.wrapping_add(sign(x)))
                    }
                    (Binary::Subtract, Known::Slot(slot), Known::Number(y)) if size == pointer => {
                        Known::Slot(slot.wrapping_sub(sign(y)))
                    }
                    _ if size == 1 && a.size != 1 => Known::Plain,
                    // The distance of two places on the stack is just a number.
                    (Binary::Subtract, Known::Slot(_), Known::Slot(_)) => Known::Plain,
                    _ => both(a, b),
                }
            }
            Expression::Extract { from, .. } => both(from, from),
            Expression::Insert { into, from, .. } => both(into, from),
            Expression::Concat { high, low } => both(high, low),
            Expression::Select { then, otherwise, .. } => self.value(then).join(self.value(otherwise)),
            Expression::Load { address, .. } => {
                let at = self.value(address);
                if let Known::Number(at) = at {
                    if let Some(number) = self.program.constant(at, size) {
                        return Known::Number(number);
                    }
                }
                let holds = match at {
                    Known::Slot(_) => self.held.on_stack,
                    Known::Number(_) | Known::Plain => self.held.elsewhere,
                    Known::Anything => self.held.on_stack || self.held.elsewhere,
                };
                if holds {
                    Known::Anything
                } else {
                    Known::Plain
                }
            }
            // Bytes are flags: pointers do not go through vector registers byte by byte.
            Expression::Float(..) => Known::Plain,
            Expression::Unknown if size == 1 => Known::Plain,
            Expression::Unknown => Known::Anything,
        }
    }
}
