//! The registers the language tracks, of each architecture.
//!
//! What is not here (floating-point registers, control registers, and vector registers unless they are asked for) reads as any
//! value.

use crate::load::Architecture;

use crate::lift::il::{Operand, Register, Value};

/// Name in SLEIGH's specification, and size in bytes. Those from [`VECTORS`] on are tracked only where that is asked for.
const X86_64: &[(&str, u8)] = &[
    ("RAX", 8),
    ("RCX", 8),
    ("RDX", 8),
    ("RBX", 8),
    ("RSP", 8),
    ("RBP", 8),
    ("RSI", 8),
    ("RDI", 8),
    ("R8", 8),
    ("R9", 8),
    ("R10", 8),
    ("R11", 8),
    ("R12", 8),
    ("R13", 8),
    ("R14", 8),
    ("R15", 8),
    ("FS_OFFSET", 8),
    ("GS_OFFSET", 8),
    ("CF", 1),
    ("PF", 1),
    ("AF", 1),
    ("ZF", 1),
    ("SF", 1),
    ("OF", 1),
    ("DF", 1),
    ("MXCSR", 4),
    ("XMM0", 16),
    ("XMM1", 16),
    ("XMM2", 16),
    ("XMM3", 16),
    ("XMM4", 16),
    ("XMM5", 16),
    ("XMM6", 16),
    ("XMM7", 16),
    ("XMM8", 16),
    ("XMM9", 16),
    ("XMM10", 16),
    ("XMM11", 16),
    ("XMM12", 16),
    ("XMM13", 16),
    ("XMM14", 16),
    ("XMM15", 16),
];

/// Registers of x86-64 before vector registers and the word that says how their numbers are rounded.
const VECTORS: usize = 25;

const ARM: &[(&str, u8)] = &[
    ("r0", 4),
    ("r1", 4),
    ("r2", 4),
    ("r3", 4),
    ("r4", 4),
    ("r5", 4),
    ("r6", 4),
    ("r7", 4),
    ("r8", 4),
    ("r9", 4),
    ("r10", 4),
    ("r11", 4),
    ("r12", 4),
    ("sp", 4),
    ("lr", 4),
    ("NG", 1),
    ("ZR", 1),
    ("CY", 1),
    ("OV", 1),
];

/// All but the one that is always 0, by the names of the calling convention.
macro_rules! risc_v {
    ($size:literal) => {
        &[
            ("ra", $size),
            ("sp", $size),
            ("gp", $size),
            ("tp", $size),
            ("t0", $size),
            ("t1", $size),
            ("t2", $size),
            ("s0", $size),
            ("s1", $size),
            ("a0", $size),
            ("a1", $size),
            ("a2", $size),
            ("a3", $size),
            ("a4", $size),
            ("a5", $size),
            ("a6", $size),
            ("a7", $size),
            ("s2", $size),
            ("s3", $size),
            ("s4", $size),
            ("s5", $size),
            ("s6", $size),
            ("s7", $size),
            ("s8", $size),
            ("s9", $size),
            ("s10", $size),
            ("s11", $size),
            ("t3", $size),
            ("t4", $size),
            ("t5", $size),
            ("t6", $size),
        ]
    };
}

const RISC_V_64: &[(&str, u8)] = risc_v!(8);
const RISC_V_32: &[(&str, u8)] = risc_v!(4);

/// The register file of an architecture.
#[derive(Debug, Clone, Copy)]
pub struct Registers {
    architecture: Architecture,
    table: &'static [(&'static str, u8)],
}

impl Registers {
    pub fn of(architecture: Architecture) -> Registers {
        let table = match architecture {
            Architecture::X86_64 => &X86_64[..VECTORS],
            Architecture::Arm => ARM,
            Architecture::RiscV64 => RISC_V_64,
            Architecture::RiscV32 => RISC_V_32,
        };
        Registers { architecture, table }
    }

    /// Those of [`Registers::of`] with the same numbers, and on x86-64 the lower 16 bytes of vector registers and MXCSR.
    pub fn with_vectors(architecture: Architecture) -> Registers {
        match architecture {
            Architecture::X86_64 => Registers { architecture, table: X86_64 },
            _ => Registers::of(architecture),
        }
    }

    pub fn all(self) -> impl Iterator<Item = Register> {
        (0..self.table.len()).map(|index| Register(index as u8))
    }

    /// Vector registers among them, and the word that says how their numbers are rounded.
    pub fn vectors(self) -> impl Iterator<Item = Register> {
        let first = if self.architecture == Architecture::X86_64 { VECTORS } else { usize::MAX };
        self.all().skip(first)
    }

    pub fn name(self, register: Register) -> &'static str {
        self.table[usize::from(register.0)].0
    }

    pub fn value(self, register: Register) -> Value {
        Value { operand: Operand::Register(register), size: self.table[usize::from(register.0)].1 }
    }

    pub fn named(self, name: &str) -> Option<Register> {
        self.table.iter().position(|(other, _)| *other == name).map(|index| Register(index as u8))
    }

    pub fn stack_pointer(self) -> Register {
        match self.architecture {
            Architecture::X86_64 => Register(4),
            Architecture::Arm => Register(13),
            Architecture::RiscV64 | Architecture::RiscV32 => Register(1),
        }
    }

    /// The register in which a call leaves its return address; on x86-64 that is on the stack.
    pub fn link(self) -> Option<Register> {
        match self.architecture {
            Architecture::X86_64 => None,
            Architecture::Arm => Some(Register(14)),
            Architecture::RiscV64 | Architecture::RiscV32 => Some(Register(0)),
        }
    }

    /// Whether functions are called with an argument in it.
    pub fn is_argument(self, register: Register) -> bool {
        match self.architecture {
            // rcx, rdx, rsi, rdi, r8, r9; r0 to r3; a0 to a7.
            Architecture::X86_64 => matches!(register.0, 1 | 2 | 6..=9),
            Architecture::Arm => register.0 < 4,
            Architecture::RiscV64 | Architecture::RiscV32 => matches!(register.0, 9..=16),
        }
    }

    pub fn is_flag(self, register: Register) -> bool {
        self.table[usize::from(register.0)].1 == 1
    }
}
