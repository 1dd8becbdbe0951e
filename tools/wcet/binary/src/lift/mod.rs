//! Machine instructions of x86-64, 32-bit ARM with Thumb and RISC-V as operations of one small language.
//!
//! [`Lifter::lift`] takes an address of a [`crate::load::Program`] and returns its [`Instruction`]: operations on
//! registers, flags and memory ([`il`]), where control goes, and the memory accesses as a cache sees them.
//!
//! # Why it is sound
//! * Two decoders that share nothing read each instruction. The semantics are SLEIGH's (`libsla`); `iced-x86`, and for
//!   ARM and RISC-V decoders of our own, say how long the instruction is, where control goes and, other than on ARM, which
//!   registers and flags change. Where they differ, the instruction is an error, with its address and its bytes.
//! * A flag or register that the decoder says is written or undefined, but to which the semantics give no value,
//!   becomes unknown: any value.
//! * Instructions with effects beyond registers and memory are lifted only if an explicit list says how
//!   (`system.rs` of `x86`, `arm` and `riscv`). All others are errors.
//! * ARM's two instruction sets are told apart by the file; that the processor is in that state is checked for each instruction
//!   that goes on and each direct transfer here, and for indirect ones where their targets are found ([`Instruction::arrival`]).
//! * Floating-point and vector registers are not tracked: what is read from them is any value. Only where one is set to 0,
//!   changed or stored can be asked ([`Lifter::vectors`]), so that memory which is cleared with one is known to be. A lifter
//!   made for it ([`Lifter::with_vectors`]) tracks the lower 16 bytes of those of x86-64, and computes with floating-point numbers.
//! * Memory accesses come from the decoder, since semantics may read the same bytes again.
//!
//! # What it assumes
//! * The semantics of single-threaded code: an interrupt or another processor may change memory between any two
//!   operations, which is for the analyses on memory to consider.
//! * SLEIGH's semantics of the computing instructions. Tests compare them with an emulator.

mod arm;
mod convert;
mod emit;
mod error;
pub mod evaluate;
pub mod il;
mod register;
pub mod riscv;
mod sleigh;
mod specification;
mod x86;

use std::collections::BTreeSet;

use crate::load::{Architecture, Program};
pub use error::{Error, Problem, SetupError};
pub use il::Instruction;
pub use register::Registers;
pub use x86::Vectors;

/// Lifts the instructions of one program.
pub struct Lifter<'p> {
    program: &'p Program,
    semantics: sleigh::Semantics<'p>,
    registers: Registers,
    riscv: riscv::Setting,
    /// The semantics of ARM's second instruction set, if the program has such code.
    thumb: Option<sleigh::Semantics<'p>>,
}

/// Where programs for RISC-V keep what their global pointer holds.
const GLOBAL_POINTER: &str = "__global_pointer$";

impl<'p> Lifter<'p> {
    /// Loads the semantics of the program's architecture, which takes a tenth of a second if no lifter of the same
    /// architecture has been there before.
    pub fn new(program: &'p Program) -> Result<Lifter<'p>, SetupError> {
        Lifter::tracking(program, Registers::of(program.architecture))
    }

    /// One whose instructions tell what they do to vector registers too, where the architecture's are tracked
    /// ([`Registers::with_vectors`]).
    pub fn with_vectors(program: &'p Program) -> Result<Lifter<'p>, SetupError> {
        Lifter::tracking(program, Registers::with_vectors(program.architecture))
    }

    /// The instructions on x86-64's vector registers of which such a lifter tells what they do, by mnemonic: those that are held against a
    /// processor. Of others the result is any value.
    pub fn vector_mnemonics() -> BTreeSet<String> {
        x86::HELD.iter().map(|mnemonic| format!("{mnemonic:?}").to_lowercase()).collect()
    }

    fn tracking(program: &'p Program, registers: Registers) -> Result<Lifter<'p>, SetupError> {
        let global = program.symbol(GLOBAL_POINTER).filter(|_| program.architecture.is_riscv());
        let riscv = riscv::Setting {
            registers,
            wide: program.architecture.pointer_size() == 8,
            global: global.map(|symbol| symbol.address),
        };
        let thumb = program.has_thumb().then(|| sleigh::Semantics::of_thumb(program)).transpose()?;
        Ok(Lifter { program, semantics: sleigh::Semantics::new(program, registers)?, registers, riscv, thumb })
    }

    fn arm(&self) -> arm::Setting<'_, 'p> {
        arm::Setting {
            program: self.program,
            arm: &self.semantics,
            thumb: self.thumb.as_ref(),
            registers: self.registers,
        }
    }

    pub fn program(&self) -> &'p Program {
        self.program
    }

    pub fn registers(&self) -> Registers {
        self.registers
    }

    /// The instruction at `address`.
    pub fn lift(&self, address: u64) -> Result<Instruction, Error> {
        let architecture = self.program.architecture;
        let bytes = self.program.code(address, architecture.longest_instruction()).unwrap_or_default();
        if bytes.is_empty() {
            return Err(Error { address, bytes: Vec::new(), problem: Problem::NoCode });
        }
        let lifted = match architecture {
            Architecture::X86_64 => x86::lift(&self.semantics, self.registers, address, bytes),
            Architecture::Arm => arm::lift(&self.arm(), address, bytes),
            Architecture::RiscV64 | Architecture::RiscV32 => riscv::lift(&self.semantics, self.riscv, address, bytes),
        };
        lifted.map_err(|problem| Error { address, bytes: bytes.to_vec(), problem })
    }

    /// What the instruction does to vector registers, as far as zeros go: nothing is said of the others'.
    pub fn vectors(&self, instruction: &Instruction) -> Vectors {
        match self.program.architecture {
            Architecture::X86_64 => x86::vectors(instruction),
            _ => Vectors::default(),
        }
    }

    /// Whether the instruction, which only computes, does so on vector registers that [`Lifter::with_vectors`] tracks.
    pub fn uses_vectors(architecture: Architecture, instruction: &Instruction) -> bool {
        architecture == Architecture::X86_64 && x86::uses_vectors(instruction)
    }

    /// The same instruction, where the vector register that it stores holds 0.
    pub fn storing_zero(&self, instruction: &Instruction) -> Instruction {
        match self.program.architecture {
            Architecture::X86_64 => x86::storing_zero(instruction),
            _ => instruction.clone(),
        }
    }

    /// The instruction for people.
    pub fn text(&self, instruction: &Instruction) -> String {
        match self.program.architecture {
            Architecture::X86_64 => x86::text(instruction),
            Architecture::Arm => arm::text(&self.arm(), instruction),
            _ => self
                .semantics
                .text(instruction.address)
                .map_or_else(|reason| reason, |(name, rest)| format!("{name} {rest}")),
        }
    }

    /// What is taken for granted about the program where this instruction was lifted.
    pub fn assumption(&self, instruction: &Instruction) -> Option<String> {
        let global = self.riscv.global.filter(|_| riscv::assumes_global(instruction, self.riscv))?;
        Some(format!("gp holds {global:#x} ({GLOBAL_POINTER}) wherever it is the base of an address"))
    }
}
