//! The intermediate language: what an instruction does to registers, flags and memory.
//!
//! Numbers are unsigned, of 1 to 64 bytes, little-endian in memory. An instruction's operations run in order, without
//! jumps among them: where the instruction decides something, values are selected and stores happen `when` a value of
//! one byte is not 0. A register is written whole; each temporary is written once and does not outlive the instruction.

use std::fmt;

/// A register that the language tracks, by its number in [`crate::lift::Registers`]. Flags are registers of one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(pub u8);

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operand {
    Register(Register),
    Temporary(u16),
    /// Zero-extended to the value's size.
    Constant(u64),
}

/// An operand with its size in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value {
    pub operand: Operand,
    pub size: u8,
}

impl Value {
    pub fn constant(number: u64, size: u8) -> Value {
        Value { operand: Operand::Constant(number), size }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unary {
    /// Bitwise complement.
    Not,
    /// Two's complement.
    Negate,
    /// 0 to 1, all else to 0.
    BoolNot,
    ZeroExtend,
    SignExtend,
    /// Number of bits that are set.
    CountOnes,
    LeadingZeros,
}

impl Unary {
    pub const ALL: &[Unary] = &{
        use Unary::*;
        [Not, Negate, BoolNot, ZeroExtend, SignExtend, CountOnes, LeadingZeros]
    };
}

/// Both operands have one size, except that a shift's amount has its own; comparisons give 0 or 1 in one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Binary {
    Add,
    Subtract,
    Multiply,
    /// Division by 0 gives any value, unless it traps: then the program does not go on.
    Divide,
    DivideSigned,
    Remainder,
    RemainderSigned,
    And,
    Or,
    Xor,
    /// Shifts by the width or more give 0, or all sign bits.
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    LessSigned,
    LessEqualSigned,
    /// Whether the sum carries out.
    Carry,
    /// Whether the sum overflows as signed numbers.
    CarrySigned,
    /// Whether the difference overflows as signed numbers.
    BorrowSigned,
}

impl Binary {
    pub const ALL: &[Binary] = &{
        use Binary::*;
        [
            Add,
            Subtract,
            Multiply,
            Divide,
            DivideSigned,
            Remainder,
            RemainderSigned,
            And,
            Or,
            Xor,
            ShiftLeft,
            ShiftRight,
            ShiftRightSigned,
            Equal,
            NotEqual,
            Less,
            LessEqual,
            LessSigned,
            LessEqualSigned,
            Carry,
            CarrySigned,
            BorrowSigned,
        ]
    };
}

/// Of binary floating-point numbers of 4 or 8 bytes (IEEE 754); comparisons give 0 or 1 in one byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Float {
    Add,
    Subtract,
    Multiply,
    Divide,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    IsNan,
    Negate,
    Absolute,
    SquareRoot,
    /// Of a signed integer.
    FromInteger,
    /// To the other size.
    Convert,
    /// To a signed integer, towards 0.
    Truncate,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expression {
    Copy(Value),
    Unary(Unary, Value),
    Binary(Binary, Value, Value),
    /// The bytes of a value from byte `at` on, as many as the target holds.
    Extract {
        from: Value,
        at: u8,
    },
    /// `into` with its bytes from byte `at` on replaced.
    Insert {
        into: Value,
        from: Value,
        at: u8,
    },
    Concat {
        high: Value,
        low: Value,
    },
    Select {
        when: Value,
        then: Value,
        otherwise: Value,
    },
    /// What memory holds; any value where `when` is 0.
    Load {
        address: Value,
        when: Option<Value>,
    },
    /// What has one operand has it twice. Only where vector registers are tracked ([`crate::lift::Lifter::with_vectors`]).
    Float(Float, Value, Value),
    /// Any value.
    Unknown,
}

impl Expression {
    /// Values that it reads.
    pub fn operands(&self) -> Vec<Value> {
        match *self {
            Self::Copy(a) | Self::Unary(_, a) | Self::Extract { from: a, .. } => vec![a],
            Self::Binary(_, a, b) | Self::Float(_, a, b) => vec![a, b],
            Self::Insert { into, from, .. } => vec![into, from],
            Self::Concat { high, low } => vec![high, low],
            Self::Select { when, then, otherwise } => vec![when, then, otherwise],
            Self::Load { address, when } => std::iter::once(address).chain(when).collect(),
            Self::Unknown => Vec::new(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Op {
    Set {
        to: Value,
        from: Expression,
    },
    Store {
        address: Value,
        from: Value,
        when: Option<Value>,
    },
    /// Any writable memory may change.
    ClobberMemory,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    Direct(u64),
    Indirect(Value),
}

/// Where control goes after the operations. `when` is 0: to the next instruction. None: always.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flow {
    Next,
    /// Also returns, unless the decoder names them: who jumps where is for control-flow analysis to find out.
    Jump {
        to: Target,
        when: Option<Value>,
    },
    Call {
        to: Target,
        when: Option<Value>,
    },
    /// An instruction meant for returns; the target need not be the caller.
    Return {
        to: Value,
        when: Option<Value>,
    },
    /// The same instruction once more.
    Repeat {
        when: Value,
    },
    /// To code of another privilege: return from exception.
    Leave,
    /// Nowhere: raises an exception.
    Trap,
}

impl Flow {
    /// The condition under which control does not simply go on.
    pub fn condition(self) -> Option<Value> {
        match self {
            Flow::Jump { when, .. } | Flow::Call { when, .. } | Flow::Return { when, .. } => when,
            Flow::Repeat { when } => Some(when),
            Flow::Next | Flow::Leave | Flow::Trap => None,
        }
    }
}

/// Whether an instruction computes or does more than that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Ordinary,
    /// Has effects outside the language, on devices or the processor's state; treated by an explicit list.
    System,
    /// Waits for an event: its time has no bound.
    Wait,
}

/// A memory access as the caches see it, from the decoder. The address is
/// `base + (index << shift) + displacement + segment`, with the registers' values before the instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    pub address: AddressForm,
    pub size: u32,
    pub read: bool,
    pub write: bool,
    /// May not happen, for instance where the instruction's condition fails.
    pub conditional: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddressForm {
    Known {
        base: Option<Register>,
        index: Option<(Register, u8)>,
        displacement: i64,
        segment: Option<Register>,
    },
    /// A form that is not described: any address.
    Any,
}

/// How the bytes of an instruction are read, where an architecture has several ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Encoding {
    /// The architecture's only one; of ARM's two, ARM.
    #[default]
    Main,
    Thumb {
        /// In the block of an `it` instruction, under a condition.
        conditional: bool,
    },
}

/// One instruction.
#[derive(Debug, Clone, PartialEq)]
pub struct Instruction {
    pub address: u64,
    pub bytes: Vec<u8>,
    pub encoding: Encoding,
    /// The decoder's name of the operation, for machine files and reports.
    pub mnemonic: String,
    pub kind: Kind,
    pub ops: Vec<Op>,
    pub flow: Flow,
    /// On ARM, where the flow is indirect: the target with the state that the processor is in there as its lowest bit, 1 for
    /// Thumb. The flow's own target has no such bit.
    pub arrival: Option<Value>,
    pub accesses: Vec<Access>,
}

impl Instruction {
    /// The address after it.
    pub fn next(&self) -> u64 {
        self.address.wrapping_add(self.bytes.len() as u64)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.operand {
            Operand::Register(register) => write!(out, "r{}", register.0)?,
            Operand::Temporary(number) => write!(out, "t{number}")?,
            Operand::Constant(number) => write!(out, "{number:#x}")?,
        }
        write!(out, ":{}", self.size)
    }
}
