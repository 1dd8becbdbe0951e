//! Executes lifted instructions on numbers, and holds what comes out against what another has computed.

mod campaign;

pub use campaign::{After, Campaign, Place};

use std::cell::RefCell;
use std::collections::BTreeMap;

use wcet_binary::lift::evaluate::{binary, float, mask, unary};
use wcet_binary::lift::il::{Expression, Flow, Instruction, Op, Operand, Target, Value};

/// More rounds of one instruction than any test makes.
const MOST: usize = 100;

/// Registers by their number, memory by address. What is unknown is absent.
#[derive(Debug, Clone, Default)]
pub struct State {
    pub registers: BTreeMap<u8, u128>,
    pub memory: BTreeMap<u64, u8>,
    /// Where the last instruction leaves to if it does, as far as that is known.
    pub target: Option<u64>,
    /// Memory that was read or written: first address, size, and whether it was written.
    pub touched: RefCell<Vec<(u64, u8, bool)>>,
}

impl State {
    /// Executes the operations, again and again where they say so. An address or a condition that is unknown is an error. The
    /// condition under which control goes elsewhere, if there is one and it is known.
    pub fn execute(&mut self, instruction: &Instruction) -> Result<Option<u128>, String> {
        for _ in 0..MOST {
            let condition = self.once(instruction)?;
            if !matches!(instruction.flow, Flow::Repeat { .. }) || condition == Some(0) {
                return Ok(condition);
            }
            condition.ok_or("it is not known whether it is repeated")?;
        }
        Err(format!("repeated more than {MOST} times"))
    }

    fn once(&mut self, instruction: &Instruction) -> Result<Option<u128>, String> {
        let mut temporaries = BTreeMap::new();
        for op in &instruction.ops {
            match *op {
                Op::Set { to, from } => {
                    let number = self.expression(from, to.size, &temporaries)?;
                    if number.is_some_and(|number| number > mask(to.size)) {
                        return Err(format!("{op:?} gives {number:?}"));
                    }
                    let (map, key): (&mut BTreeMap<_, u128>, u16) = match to.operand {
                        Operand::Register(register) => {
                            match number {
                                Some(number) => self.registers.insert(register.0, number),
                                None => self.registers.remove(&register.0),
                            };
                            continue;
                        }
                        Operand::Temporary(key) => (&mut temporaries, key),
                        Operand::Constant(_) => return Err("a constant is written".to_string()),
                    };
                    if map.contains_key(&key) {
                        return Err(format!("t{key} is written twice"));
                    }
                    number.map(|number| map.insert(key, number));
                }
                Op::Store { address, from, when } => {
                    let when = when.map_or(Some(1), |when| self.value(when, &temporaries));
                    let address = self.value(address, &temporaries).ok_or("an unknown address")? as u64;
                    self.touched.borrow_mut().push((address, from.size, true));
                    let number = self.value(from, &temporaries);
                    for index in 0..u64::from(from.size) {
                        let byte = number.map(|number| (number >> (8 * index)) as u8);
                        match (when, byte) {
                            (Some(0), _) => {}
                            (Some(_), Some(byte)) => drop(self.memory.insert(address.wrapping_add(index), byte)),
                            _ => drop(self.memory.remove(&address.wrapping_add(index))),
                        }
                    }
                }
                Op::ClobberMemory => self.memory.clear(),
            }
        }
        self.target = match instruction.flow {
            Flow::Jump { to, .. } | Flow::Call { to, .. } => match to {
                Target::Direct(to) => Some(to),
                Target::Indirect(to) => self.value(to, &temporaries).map(|to| to as u64),
            },
            Flow::Return { to, .. } => self.value(to, &temporaries).map(|to| to as u64),
            _ => None,
        };
        Ok(instruction.flow.condition().and_then(|when| self.value(when, &temporaries)))
    }

    fn value(&self, value: Value, temporaries: &BTreeMap<u16, u128>) -> Option<u128> {
        match value.operand {
            Operand::Register(register) => self.registers.get(&register.0).copied(),
            Operand::Temporary(number) => temporaries.get(&number).copied(),
            Operand::Constant(number) => Some(u128::from(number)),
        }
    }

    fn expression(
        &self,
        expression: Expression,
        size: u8,
        temporaries: &BTreeMap<u16, u128>,
    ) -> Result<Option<u128>, String> {
        let get = |value| self.value(value, temporaries);
        Ok(match expression {
            Expression::Copy(value) => get(value),
            Expression::Unary(operation, a) => get(a).and_then(|x| unary(operation, x, a.size, size)),
            Expression::Binary(operation, a, b) => match (get(a), get(b)) {
                (Some(x), Some(y)) => binary(operation, x, y, a.size),
                _ => None,
            },
            Expression::Float(operation, a, b) => match (get(a), get(b)) {
                (Some(x), Some(y)) => float(operation, x, y, a.size, size),
                _ => None,
            },
            Expression::Extract { from, at } => get(from).map(|number| number >> (8 * at) & mask(size)),
            Expression::Insert { into, from, at } => match (get(into), get(from)) {
                (Some(old), Some(part)) => Some(old & !(mask(from.size) << (8 * at)) | part << (8 * at)),
                _ => None,
            },
            Expression::Concat { high, low } => match (get(high), get(low)) {
                (Some(high), Some(part)) => Some(high << (8 * low.size) | part),
                _ => None,
            },
            Expression::Select { when, then, otherwise } => match get(when) {
                Some(0) => get(otherwise),
                Some(_) => get(then),
                None => get(then).filter(|number| get(otherwise) == Some(*number)),
            },
            Expression::Load { address, when } => {
                if when.is_some_and(|when| get(when) == Some(0)) {
                    return Ok(None);
                }
                let address = get(address).ok_or("an unknown address")? as u64;
                self.touched.borrow_mut().push((address, size, false));
                let bytes = (0..u64::from(size)).rev().map(|index| self.memory.get(&address.wrapping_add(index)));
                bytes.into_iter().try_fold(0_u128, |number, byte| Some(number << 8 | u128::from(*byte?)))
            }
            Expression::Unknown => None,
        })
    }
}
