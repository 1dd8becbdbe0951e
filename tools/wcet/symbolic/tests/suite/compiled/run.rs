//! Executes programs on numbers along their expanded graphs, written apart from the analysis.

use std::collections::BTreeMap;

use wcet_binary::lift::evaluate::{binary, mask, unary};
use wcet_binary::lift::il::{Expression, Flow, Instruction, Op, Operand, Target, Value};
use wcet_binary::lift::Registers;
use wcet_binary::load::{Architecture, Program};
use wcet_flow::context::{EdgeId, EdgeKind, Expanded, NodeId};

pub struct Machine<'p> {
    program: &'p Program,
    registers: Vec<u128>,
    memory: BTreeMap<u64, u8>,
    temporaries: BTreeMap<u16, u128>,
}

/// The edges that the program takes with these arguments, in order. Panics if it does not end.
pub fn run(program: &Program, graph: &Expanded<'_>, arguments: &[u64], memory: &[(u64, u32)]) -> Vec<EdgeId> {
    let taken = begin(program, graph, arguments, memory, 1_000_000);
    assert!(taken.len() < 1_000_000, "it does not end");
    taken
}

/// The same, of the first so many.
pub fn begin(
    program: &Program,
    graph: &Expanded<'_>,
    arguments: &[u64],
    memory: &[(u64, u32)],
    most: usize,
) -> Vec<EdgeId> {
    let table = Registers::of(program.architecture);
    let mut machine = Machine {
        program,
        registers: vec![0; table.all().count()],
        memory: BTreeMap::new(),
        temporaries: BTreeMap::new(),
    };
    let names = match program.architecture {
        Architecture::X86_64 => ["RDI", "RSI", "RDX", "RCX"],
        Architecture::Arm => ["r0", "r1", "r2", "r3"],
        Architecture::RiscV64 | Architecture::RiscV32 => ["a0", "a1", "a2", "a3"],
    };
    for (name, number) in names.iter().zip(arguments) {
        machine.registers[usize::from(table.named(name).unwrap().0)] = u128::from(*number);
    }
    for (at, number) in memory {
        machine.store(*at, u128::from(*number), 4);
    }
    machine.registers[usize::from(table.stack_pointer().0)] = 0x7fff_0000;
    let (mut node, mut taken) = (graph.entry, Vec::new());
    while let Some(edge) = machine.step(graph, node).filter(|_| taken.len() < most) {
        taken.push(edge);
        node = graph.edges[edge].to;
    }
    taken
}

impl Machine<'_> {
    fn step(&mut self, graph: &Expanded<'_>, node: NodeId) -> Option<EdgeId> {
        for instruction in graph.instructions(node) {
            self.execute(instruction);
        }
        let last = graph.instructions(node).last().unwrap();
        let met = last.flow.condition().map(|when| self.value(when) != 0);
        let to = match last.flow {
            Flow::Jump { to: Target::Indirect(to), .. } | Flow::Call { to: Target::Indirect(to), .. } => Some(to),
            _ => None,
        };
        let to = to.map(|to| self.value(to) as u64);
        let fits = |edge: &&EdgeId| {
            let edge = graph.edges[**edge];
            match edge.kind {
                EdgeKind::Next => met != Some(true),
                EdgeKind::Taken | EdgeKind::Return => met != Some(false),
                EdgeKind::Case | EdgeKind::Call => {
                    met != Some(false) && to.is_none_or(|to| graph.block(edge.to).start() == to)
                }
            }
        };
        let fitting: Vec<EdgeId> = graph.successors(node).iter().filter(fits).copied().collect();
        assert!(fitting.len() <= 1, "several ways on from {}", graph.place(node));
        fitting.first().copied()
    }

    fn execute(&mut self, instruction: &Instruction) {
        self.temporaries.clear();
        for op in &instruction.ops {
            match *op {
                Op::Set { to, from } => {
                    let number = self.expression(from, to.size) & mask(to.size);
                    match to.operand {
                        Operand::Register(register) => self.registers[usize::from(register.0)] = number,
                        Operand::Temporary(key) => drop(self.temporaries.insert(key, number)),
                        Operand::Constant(_) => {}
                    }
                }
                Op::Store { address, from, when } => {
                    if when.is_none_or(|when| self.value(when) != 0) {
                        let (address, number) = (self.value(address) as u64, self.value(from));
                        self.store(address, number, from.size);
                    }
                }
                Op::ClobberMemory => {}
            }
        }
    }

    fn store(&mut self, address: u64, number: u128, size: u8) {
        for index in 0..u64::from(size.min(16)) {
            self.memory.insert(address.wrapping_add(index), (number >> (8 * index)) as u8);
        }
    }

    fn byte(&self, address: u64) -> u8 {
        let known = self.memory.get(&address).copied();
        known.or_else(|| self.program.constant(address, 1).map(|byte| byte as u8)).unwrap_or(0)
    }

    fn value(&self, value: Value) -> u128 {
        match value.operand {
            Operand::Register(register) => self.registers[usize::from(register.0)],
            Operand::Temporary(key) => self.temporaries.get(&key).copied().unwrap_or(0),
            Operand::Constant(number) => u128::from(number),
        }
    }

    fn expression(&self, expression: Expression, size: u8) -> u128 {
        match expression {
            Expression::Copy(a) => self.value(a),
            Expression::Unary(operation, a) => unary(operation, self.value(a), a.size, size).unwrap_or(0),
            Expression::Binary(operation, a, b) => binary(operation, self.value(a), self.value(b), a.size).unwrap_or(0),
            Expression::Extract { from, at } => self.value(from) >> (8 * u32::from(at)),
            Expression::Insert { into, from, at } => {
                self.value(into) & !(mask(from.size) << (8 * at)) | self.value(from) << (8 * at)
            }
            Expression::Concat { high, low } => self.value(high) << (8 * low.size) | self.value(low),
            Expression::Select { when, then, otherwise } => {
                self.value(if self.value(when) != 0 { then } else { otherwise })
            }
            Expression::Load { address, .. } => {
                let address = self.value(address) as u64;
                let bytes = (0..u64::from(size.min(16))).rev();
                bytes.fold(0, |number, index| number << 8 | u128::from(self.byte(address.wrapping_add(index))))
            }
            Expression::Float(..) | Expression::Unknown => 0,
        }
    }
}
