//! Registers as the emulator prints them, and the addresses that an instruction accesses with them.

use std::collections::BTreeMap;

use wcet_binary::lift::evaluate::{binary, mask, unary};
use wcet_binary::lift::il::{Access, AddressForm, Expression, Op, Operand, Register, Value};
use wcet_binary::lift::{Instruction, Registers};
use wcet_binary::load::Architecture;

/// What the registers hold before an instruction.
#[derive(Debug, Clone, Default)]
pub(crate) struct State {
    registers: BTreeMap<Register, u64>,
}

/// Flags by their bit in the register that the emulator prints.
const FLAGS_X86: &[(&str, u32)] = &[("CF", 0), ("PF", 2), ("AF", 4), ("ZF", 6), ("SF", 7), ("DF", 10), ("OF", 11)];
const FLAGS_ARM: &[(&str, u32)] = &[("OV", 28), ("CY", 29), ("ZR", 30), ("NG", 31)];

impl State {
    /// Takes in a line such as `R00=00000000 R01=40800ab0`, `R8 =0000000000000000 R9 =0000000000000000` or
    /// ` x4/tp   0000000000000000 x5/t0   0000000000012fb0`.
    pub fn read(&mut self, line: &str, architecture: Architecture) {
        let table = Registers::of(architecture);
        if architecture.is_riscv() {
            let words: Vec<&str> = line.split_whitespace().collect();
            for pair in words.windows(2) {
                let register = pair[0].split_once('/').and_then(|(_, name)| table.named(name));
                let number = u64::from_str_radix(pair[1], 16).ok();
                self.registers.extend(register.zip(number));
            }
            return;
        }
        let mut name = "";
        for part in line.split('=') {
            let mut words = part.split_whitespace();
            let first = words.next().unwrap_or_default();
            if let Ok(number) = u64::from_str_radix(first, 16) {
                self.set(name, number, table, architecture);
            }
            name = words.next_back().unwrap_or(first);
        }
    }

    fn set(&mut self, name: &str, number: u64, table: Registers, architecture: Architecture) {
        let (flags, status) = match architecture {
            Architecture::Arm => (FLAGS_ARM, "PSR"),
            _ => (FLAGS_X86, "RFL"),
        };
        if name == status {
            for (flag, bit) in flags {
                let register = table.named(flag);
                self.registers.extend(register.map(|register| (register, number >> bit & 1)));
            }
            return;
        }
        let register = match architecture {
            Architecture::Arm => {
                let index = name.strip_prefix('R').and_then(|index| index.parse::<usize>().ok());
                index.filter(|index| *index < 15).and_then(|index| table.all().nth(index))
            }
            _ => table.named(name),
        };
        self.registers.extend(register.map(|register| (register, number)));
    }

    /// First addresses of the instruction's accesses, those that do not happen left out.
    pub fn accesses<'i>(&self, instruction: &'i Instruction, architecture: Architecture) -> Vec<(&'i Access, u64)> {
        let run = self.run(instruction);
        let mut found = Vec::new();
        for (index, access) in instruction.accesses.iter().enumerate() {
            if access.conditional && !run.happens {
                continue;
            }
            let address = match access.address {
                AddressForm::Known { base, index, displacement, segment } => {
                    let of = |register: Register| self.registers.get(&register).copied().unwrap_or(0);
                    let index = index.map_or(0, |(register, shift)| of(register) << shift);
                    let sum = base.map_or(0, of).wrapping_add(index).wrapping_add(displacement as u64);
                    Some(sum.wrapping_add(segment.map_or(0, of)))
                }
                AddressForm::Any => run.addresses.get(index).copied().flatten(),
            };
            let whole = mask(architecture.pointer_size()) as u64;
            found.extend(address.map(|address| (access, address & whole)));
        }
        found
    }

    /// Whether an instruction that may do nothing does something.
    pub fn happens(&self, instruction: &Instruction) -> bool {
        self.run(instruction).happens
    }

    /// Executes the operations, as far as they depend on registers alone.
    fn run(&self, instruction: &Instruction) -> Run {
        let mut temporaries: BTreeMap<u16, u128> = BTreeMap::new();
        let mut registers: BTreeMap<Register, Option<u128>> =
            self.registers.iter().map(|(register, number)| (*register, Some(u128::from(*number)))).collect();
        let mut run = Run { addresses: Vec::new(), happens: true };
        let condition = instruction.flow.condition();
        for op in &instruction.ops {
            let get = |value: Value| match value.operand {
                Operand::Register(register) => registers.get(&register).copied().flatten(),
                Operand::Temporary(number) => temporaries.get(&number).copied(),
                Operand::Constant(number) => Some(u128::from(number)),
            };
            let when = match *op {
                Op::Store { when, .. } | Op::Set { from: Expression::Load { when, .. }, .. } => when,
                Op::Set { from: Expression::Select { when, .. }, .. } if Some(when) == condition => Some(when),
                Op::Set { .. } | Op::ClobberMemory => None,
            };
            if when.is_some_and(|when| get(when) == Some(0)) {
                run.happens = false;
            }
            match *op {
                Op::Set { to, from } => {
                    if let Expression::Load { address, .. } = from {
                        run.addresses.push(get(address).map(|address| address as u64));
                    }
                    let number = expression(from, to.size, get);
                    match to.operand {
                        Operand::Register(register) => drop(registers.insert(register, number)),
                        Operand::Temporary(key) => temporaries.extend(number.map(|number| (key, number))),
                        Operand::Constant(_) => {}
                    }
                }
                Op::Store { address, .. } => run.addresses.push(get(address).map(|address| address as u64)),
                Op::ClobberMemory => {}
            }
        }
        run
    }
}

struct Run {
    /// Addresses of loads and stores, in order.
    addresses: Vec<Option<u64>>,
    happens: bool,
}

fn expression(from: Expression, size: u8, get: impl Fn(Value) -> Option<u128>) -> Option<u128> {
    match from {
        Expression::Copy(value) => get(value),
        Expression::Unary(operation, a) => unary(operation, get(a)?, a.size, size),
        Expression::Binary(operation, a, b) => binary(operation, get(a)?, get(b)?, a.size),
        Expression::Extract { from, at } => Some(get(from)? >> (8 * at) & mask(size)),
        Expression::Insert { into, from, at } => {
            Some(get(into)? & !(mask(from.size) << (8 * at)) | get(from)? << (8 * at))
        }
        Expression::Concat { high, low } => Some(get(high)? << (8 * low.size) | get(low)?),
        Expression::Select { when, then, otherwise } => get(if get(when)? == 0 { otherwise } else { then }),
        Expression::Load { .. } | Expression::Float(..) | Expression::Unknown => None,
    }
}
