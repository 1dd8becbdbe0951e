//! Operands of instructions that do more than compute, and sequences of such instructions that are one action.

use wcet_binary::lift::il::{AddressForm, Register};

use crate::engine::Engine;
use crate::image::{RDX, RSP};
use crate::primitives::register;
use crate::state::{refuse, State, Stop};
use crate::term::build::{add, extract};
use crate::term::{constant, Term};

impl Engine<'_> {
    /// The address of the instruction's only operand in memory.
    pub fn operand(&self, state: &State) -> Result<Term, Stop> {
        let instruction = self.image.instruction(state.address).map_err(Stop::Refused)?;
        // Of an area that is saved in parts the first has its address.
        let lowest = |form: &AddressForm| match form {
            AddressForm::Known { displacement, .. } => *displacement,
            AddressForm::Any => i64::MIN,
        };
        let form = instruction.accesses.iter().map(|access| access.address).min_by_key(lowest);
        let Some(AddressForm::Known { base, index, displacement, segment: None }) = form else {
            return refuse("an operand whose address is not known");
        };
        let held = |register: Register| state.registers.get(usize::from(register.0)).copied();
        let mut sum = constant(u128::from(displacement as u64), 64);
        for (register, times) in base.map(|base| (base, 1)).into_iter().chain(index) {
            let Some(value) = held(register) else { return refuse("an operand at an unknown register") };
            sum = add(sum, crate::term::build::times(value, u128::from(times)));
        }
        Ok(sum)
    }

    pub fn operand_at(&mut self, state: &mut State, meant: Term) -> Result<(), Stop> {
        let given = self.operand(state)?;
        self.require(state, "the operand's address", given, meant)
    }

    /// Behind the instruction at the state's address stand these: the state is left at the last of them. An interrupt that is taken
    /// between them overwrites what lies below the stack pointer.
    pub fn follow(&mut self, state: &mut State, names: &[&str]) -> Result<(), Stop> {
        let Some(top) = crate::memory::offset(state.registers[RSP], self.entry.stack) else {
            return refuse("the stack pointer is at an unknown place");
        };
        state.frame.drop_below(top);
        for name in names {
            self.pass(state)?;
            let instruction = self.image.instruction(state.address).map_err(Stop::Refused)?;
            if instruction.mnemonic != *name {
                return refuse(format!("{} where {name} is meant", self.image.text(&instruction)));
            }
        }
        Ok(())
    }

    /// Each of so many vector registers is combined with itself by this operation, from number 0 on: it becomes 0. The state is
    /// left at the last of these instructions; where the first is at the state's address, it is one of them.
    pub fn sequence(&mut self, state: &mut State, operation: &str, register: &str, count: u32) -> Result<(), Stop> {
        let mut at = state.address;
        for number in 0..count {
            let instruction = self.image.instruction(at).map_err(Stop::Refused)?;
            // The first action of such a sequence may be another instruction.
            let instruction = match instruction.mnemonic == operation {
                true => instruction,
                false if number == 0 => self.image.instruction(instruction.next()).map_err(Stop::Refused)?,
                false => return refuse(format!("{register}{number} is not cleared")),
            };
            let meant = format!("{operation} {register}{number},{register}{number}");
            if self.image.text(&instruction) != meant {
                return refuse(format!("{} where {meant} is meant", self.image.text(&instruction)));
            }
            self.covered.extend([state.address, instruction.address]);
            state.address = instruction.address;
            at = instruction.next();
        }
        Ok(())
    }

    /// The operand of an instruction is this port: a number, or the register dx.
    pub fn is_port(&mut self, state: &mut State, operand: &str, port: Term) -> Result<(), Stop> {
        let given = match operand {
            "dx" => extract(state.registers[RDX], 0, 16),
            number => {
                let digits = number.trim_end_matches('h').trim_start_matches("0x");
                let Ok(number) = u16::from_str_radix(digits, 16) else { return refuse(format!("port {number}")) };
                constant(u128::from(number), 16)
            }
        };
        self.require(state, "the port", given, extract(port, 0, 16))
    }
}

/// What a general register holds, by its name.
pub fn named(state: &State, name: &str) -> Option<Term> {
    register(name).map(|number| state.registers[number])
}

/// The whole of a register of 16 or 32 bits.
pub fn wide(name: &str) -> Option<&'static str> {
    const NAMES: [&str; 6] = ["rax", "rcx", "rdx", "rbx", "rsi", "rdi"];
    let short = name.strip_prefix('e').unwrap_or(name);
    NAMES.into_iter().find(|whole| whole.strip_prefix('r') == Some(short))
}

/// The register that a port is read into.
pub fn accumulator(width: u32) -> &'static str {
    match width {
        8 => "al",
        16 => "ax",
        _ => "eax",
    }
}
