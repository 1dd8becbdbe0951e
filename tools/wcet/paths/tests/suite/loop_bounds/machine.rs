//! Executes instructions operation by operation. What is not known of memory is drawn when it is first read.

use std::collections::BTreeMap;

use wcet_binary::lift::evaluate::{binary, mask, unary};
use wcet_binary::lift::il::{Expression, Flow, Instruction, Op, Operand, Target as Goal, Value};
use wcet_binary::load::Program;
use wcet_flow::context::{EdgeKind, Expanded, NodeId};

/// Numbers that look random and are the same each time.
pub fn random(state: &mut u64) -> u64 {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    state.wrapping_mul(0x2545_f491_4f6c_dd1d)
}

/// The stack pointer at the entry.
pub const STACK: u64 = 0x7000_0000;

pub struct Machine<'a> {
    pub program: &'a Program,
    pub registers: Vec<u128>,
    pub temporaries: BTreeMap<u16, u128>,
    pub memory: BTreeMap<u64, u8>,
    pub seed: u64,
}

impl Machine<'_> {
    fn byte(&mut self, at: u64) -> u8 {
        if let Some(byte) = self.memory.get(&at) {
            return *byte;
        }
        let byte = match self.program.constant(at, 1) {
            Some(byte) => byte as u8,
            None => random(&mut self.seed) as u8 >> (random(&mut self.seed) % 8),
        };
        self.memory.insert(at, byte);
        byte
    }

    fn load(&mut self, at: u64, size: u8) -> u128 {
        (0..u64::from(size)).rev().fold(0, |number, index| number << 8 | u128::from(self.byte(at.wrapping_add(index))))
    }

    fn value(&self, value: Value) -> u128 {
        mask(value.size)
            & match value.operand {
                Operand::Register(register) => self.registers[usize::from(register.0)],
                Operand::Temporary(number) => self.temporaries.get(&number).copied().unwrap_or(0),
                Operand::Constant(number) => number.into(),
            }
    }

    fn expression(&mut self, expression: &Expression, size: u8) -> u128 {
        let anything = u128::from(random(&mut self.seed));
        let number = match *expression {
            Expression::Copy(a) => self.value(a),
            Expression::Unary(operation, a) => unary(operation, self.value(a), a.size, size).unwrap_or(anything),
            Expression::Binary(operation, a, b) => {
                binary(operation, self.value(a), self.value(b), a.size).unwrap_or(anything)
            }
            Expression::Extract { from, at } => self.value(from) >> (8 * u32::from(at)),
            Expression::Insert { into, from, at } => {
                let hole = mask(from.size) << (8 * u32::from(at));
                self.value(into) & !hole | self.value(from) << (8 * u32::from(at))
            }
            Expression::Concat { high, low } => self.value(high) << (8 * u32::from(low.size)) | self.value(low),
            Expression::Select { when, then, otherwise } => {
                self.value(if self.value(when) != 0 { then } else { otherwise })
            }
            Expression::Load { address, when } => match when {
                Some(when) if self.value(when) == 0 => anything,
                _ => self.load(self.value(address) as u64, size),
            },
            Expression::Float(..) | Expression::Unknown => anything,
        };
        if size >= 16 {
            number
        } else {
            number & mask(size)
        }
    }

    pub fn execute(&mut self, instruction: &Instruction) {
        self.temporaries.clear();
        for op in &instruction.ops {
            match op {
                Op::Set { to, from } => {
                    let number = self.expression(from, to.size);
                    match to.operand {
                        Operand::Register(register) => self.registers[usize::from(register.0)] = number,
                        Operand::Temporary(index) => {
                            self.temporaries.insert(index, number);
                        }
                        Operand::Constant(_) => {}
                    }
                }
                Op::Store { address, from, when } => {
                    if when.is_none_or(|when| self.value(when) != 0) {
                        let (at, number) = (self.value(*address) as u64, self.value(*from));
                        for index in 0..u64::from(from.size) {
                            self.memory.insert(at.wrapping_add(index), (number >> (8 * index)) as u8);
                        }
                    }
                }
                Op::ClobberMemory => self.memory.clear(),
            }
        }
    }

    /// The edge by which control goes on.
    pub fn next(&self, expanded: &Expanded<'_>, node: NodeId) -> Option<usize> {
        let last = expanded.block(node).last();
        let holds = last.flow.condition().is_none_or(|when| self.value(when) != 0);
        let goal = match last.flow {
            Flow::Jump { to: Goal::Indirect(to), .. } | Flow::Call { to: Goal::Indirect(to), .. } => Some(to),
            Flow::Return { to, .. } => Some(to),
            _ => None,
        };
        let goal = goal.map(|to| self.value(to) as u64);
        expanded.successors(node).iter().copied().find(|edge| {
            let one = expanded.edges[*edge];
            let start = expanded.block(one.to).start();
            let way = last.flow.condition().is_none() || (one.kind == EdgeKind::Next) != holds;
            way && (one.kind == EdgeKind::Next || goal.is_none_or(|goal| goal == start))
        })
    }
}
