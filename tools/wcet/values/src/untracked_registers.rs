//! Values that are moved to untracked registers, such as vector registers. What is read from those may be anything; for it to
//! include addresses of the stack, such addresses count as escaped when they are moved there.

use wcet_binary::lift::il::{AddressForm, Flow, Instruction, Op, Operand};
use wcet_binary::load::Architecture;

use crate::memory::{position, positions};
use crate::state::{is_of_stack, State, World};
use crate::term::Root;

/// What an instruction may take away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Carried {
    /// What it reads from memory.
    Memory,
    /// The register of this number.
    Register(usize),
    /// Any register, and what it reads from memory.
    Anything,
}

pub(crate) fn carried(instruction: &Instruction, architecture: Architecture) -> Option<Carried> {
    let pointer = u32::from(architecture.pointer_size());
    match architecture {
        Architecture::Arm => instruction.mnemonic.starts_with('v').then_some(Carried::Anything),
        Architecture::RiscV64 | Architecture::RiscV32 => riscv(instruction, pointer),
        Architecture::X86_64 => {
            if let Some(register) = to_vector(&instruction.bytes) {
                return Some(register);
            }
            // What is read goes nowhere that is seen.
            let seen = |op: &Op| match op {
                Op::Set { to, .. } => matches!(to.operand, Operand::Register(_)),
                Op::Store { .. } | Op::ClobberMemory => true,
            };
            let reads = instruction.accesses.iter().any(|access| access.read && access.size >= pointer);
            let nowhere = reads && instruction.flow == Flow::Next && !instruction.ops.iter().any(seen);
            nowhere.then_some(Carried::Memory)
        }
    }
}

/// RISC-V code that loads a register for floating point, moves or converts to one, or writes a control register.
fn riscv(instruction: &Instruction, pointer: u32) -> Option<Carried> {
    let word = wcet_binary::lift::riscv::word(&instruction.bytes, pointer == 8)?;
    let from = (word >> 15 & 31) as usize;
    let register = from.checked_sub(1).map(Carried::Register);
    match (word & 0x7f, word >> 27, word >> 12 & 7) {
        (0x07, ..) if instruction.accesses.iter().any(|access| access.size >= pointer) => Some(Carried::Memory),
        (0x53, 0x1a | 0x1e, _) | (0x73, _, 1..=3) => register,
        _ => None,
    }
}

/// Whether x86-64 code moves 8 bytes of a general register to a vector register: `movq`, `pinsrq`, and their forms with
/// three operands.
fn to_vector(bytes: &[u8]) -> Option<Carried> {
    let prefixes =
        bytes.iter().take_while(|byte| matches!(byte, 0x66 | 0xf2 | 0xf3 | 0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65));
    let bytes = &bytes[prefixes.count()..];
    let (wide, high, code) = match *bytes {
        [rex @ 0x40..=0x4f, 0x0f, 0x3a, 0x22, form, ..] | [rex @ 0x40..=0x4f, 0x0f, 0x6e, form, ..] => {
            (rex & 8 != 0, rex & 1 != 0, form)
        }
        [0xc4, first, second, 0x6e, form, ..] if first & 31 == 1 => (second & 128 != 0, first & 32 == 0, form),
        [0xc4, first, second, 0x22, form, ..] if first & 31 == 3 => (second & 128 != 0, first & 32 == 0, form),
        // Of the longest forms any may.
        [0x62, ..] => return Some(Carried::Anything),
        _ => return None,
    };
    (wide && code >> 6 == 3).then_some(Carried::Register(usize::from(code & 7) + if high { 8 } else { 0 }))
}

impl State {
    /// Notes what an instruction takes away, before it is executed.
    pub fn carry(&mut self, world: &World<'_>, instruction: &Instruction, carried: Carried, stack_pointer: usize) {
        let registers = &self.registers;
        let hidden = match carried {
            _ if self.escaped => return,
            Carried::Register(number) => registers.get(number).is_some_and(is_of_stack),
            Carried::Memory => self.reads_address(world, instruction),
            Carried::Anything => {
                let mut others = registers.iter().enumerate().filter(|(number, _)| *number != stack_pointer);
                others.any(|(_, term)| is_of_stack(term)) || self.reads_address(world, instruction)
            }
        };
        self.escaped |= hidden;
    }

    /// Whether an instruction may read an address of the stack from it.
    fn reads_address(&self, world: &World<'_>, instruction: &Instruction) -> bool {
        instruction.accesses.iter().filter(|access| access.read).any(|access| {
            let (mut first, mut last) = (0, u64::MAX);
            if matches!(access.address, AddressForm::Known { base: None, index: None, segment: None, .. }) {
                return false;
            }
            if let AddressForm::Known { base: Some(base), index: None, displacement, segment: None } = access.address {
                let term = self.registers[usize::from(base.0)].plus(displacement as u128);
                let (root, set) = self.address(&term, world.pointer);
                if root != Root::Stack {
                    return false;
                }
                if let (Some(_), Some(offset)) = (positions(root, &set), set.as_single()) {
                    first = position(root, offset, world.pointer);
                    last = first.saturating_add(u64::from(access.size));
                }
            }
            let mut found = false;
            self.memory.stack.visit(first >> 3, last >> 3, &mut |_, slot| {
                found |= slot.iter().any(|cell| is_of_stack(&cell.term));
            });
            found
        })
    }
}
