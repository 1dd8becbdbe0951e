//! What the encoding says: how long an instruction is, where control goes, which register it writes and which memory it
//! accesses. Written from the tables of The RISC-V Instruction Set Manual (volume I: RV32I, RV64I, "M", "A", "F", "D", "C";
//! volume II), apart from SLEIGH.

use crate::lift::error::Problem;
use crate::lift::il::{Access, AddressForm, Register};

use super::compressed::expand;
use super::system::{self, System};

/// An instruction as its encoding classifies it.
pub(crate) struct Decoded {
    /// Register that it writes, by its number, other than the one that is always 0.
    pub writes: Option<u32>,
    pub goes: Goes,
    pub form: Form,
    pub accesses: Vec<Access>,
    /// Its base register or first operand.
    pub base: Option<u32>,
}

/// Where it may go other than to the next instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Goes {
    On,
    /// To an address, perhaps.
    To(u64),
    /// To a register plus a number.
    By(u32, i32),
}

/// How its semantics are found.
pub(crate) enum Form {
    /// SLEIGH's.
    Computes,
    /// A division: on this many bytes; signed; whether the remainder is asked for.
    Divides {
        size: u8,
        signed: bool,
        remainder: bool,
    },
    /// A store of this many bytes that may fail.
    StoresConditionally(u8),
    /// With registers for floating point, which are not tracked.
    Float,
    System(System),
    /// Raises an exception.
    Illegal,
}

/// The number of a register, as fields have it.
pub(crate) fn field(word: u32, low: u32) -> u32 {
    word >> low & 31
}

/// Bits `high` to `low` of `word`.
pub(crate) fn bits(word: u32, high: u32, low: u32) -> u32 {
    word >> low & ((1 << (high - low + 1)) - 1)
}

pub(crate) fn rd(word: u32) -> u32 {
    field(word, 7)
}

pub(crate) fn rs1(word: u32) -> u32 {
    field(word, 15)
}

pub(crate) fn rs2(word: u32) -> u32 {
    field(word, 20)
}

/// Length of the instruction that begins with `low`, as far as instructions of this length exist.
pub(crate) fn length(low: u16) -> Result<usize, Problem> {
    match low & 0x1f {
        _ if low & 3 != 3 => Ok(2),
        0x1f => Err(Problem::Unsupported("instruction of more than 32 bits".to_string())),
        _ => Ok(4),
    }
}

/// The full instruction that `bytes` are, however short they are. `wide`: of RV64.
pub fn word(bytes: &[u8], wide: bool) -> Option<u32> {
    match *bytes {
        [low, high] => expand(u16::from_le_bytes([low, high]), wide),
        [a, b, c, d] => Some(u32::from_le_bytes([a, b, c, d])),
        _ => None,
    }
}

/// The registers are numbered without the one that is always 0.
pub(crate) fn register(number: u32) -> Option<Register> {
    number.checked_sub(1).map(|number| Register(number as u8))
}

pub(crate) fn number_i(word: u32) -> i32 {
    word as i32 >> 20
}

fn number_s(word: u32) -> i32 {
    (word as i32 >> 25) << 5 | rd(word) as i32
}

fn distance_b(word: u32) -> i32 {
    let sign = (word as i32 >> 31) << 12;
    sign | (bits(word, 7, 7) << 11 | bits(word, 30, 25) << 5 | bits(word, 11, 8) << 1) as i32
}

fn distance_j(word: u32) -> i32 {
    let sign = (word as i32 >> 31) << 20;
    sign | (bits(word, 19, 12) << 12 | bits(word, 20, 20) << 11 | bits(word, 30, 21) << 1) as i32
}

fn access(word: u32, displacement: i32, size: u32, read: bool, write: bool, wide: bool) -> Access {
    let base = register(rs1(word));
    let displacement = match base {
        None if !wide => i64::from(displacement as u32),
        _ => i64::from(displacement),
    };
    let address = AddressForm::Known { base, index: None, displacement, segment: None };
    Access { address, size, read, write, conditional: false }
}

fn unsupported<T>(what: &str) -> Result<T, Problem> {
    Err(Problem::Unsupported(what.to_string()))
}

const OTHER: &str = "instruction of an extension other than M, A, F, D and C";

/// `word` is the full instruction at `address`, whatever its length.
pub(crate) fn decode(word: u32, address: u64, wide: bool) -> Result<Decoded, Problem> {
    let function = bits(word, 14, 12);
    let high = bits(word, 31, 25);
    let target = |distance: i32| {
        let to = address.wrapping_add(distance as i64 as u64);
        Goes::To(if wide { to } else { to & u64::from(u32::MAX) })
    };
    let plain = |writes: u32| Decoded {
        writes: Some(writes).filter(|register| *register != 0),
        goes: Goes::On,
        form: Form::Computes,
        accesses: Vec::new(),
        base: Some(rs1(word)),
    };
    let with = |writes: u32, access: Access, form: Form| Decoded { accesses: vec![access], form, ..plain(writes) };
    let to = rd(word);
    Ok(match bits(word, 6, 0) {
        0x03 => {
            let size = match function {
                0 | 4 => 1,
                1 | 5 => 2,
                2 => 4,
                3 if wide => 8,
                6 if wide => 4,
                _ => return unsupported(OTHER),
            };
            with(to, access(word, number_i(word), size, true, false, wide), Form::Computes)
        }
        0x07 | 0x27 => {
            let size = match function {
                2 => 4,
                3 => 8,
                0 | 5 | 6 | 7 => return unsupported("vector instruction"),
                _ => return unsupported(OTHER),
            };
            let load = bits(word, 5, 5) == 0;
            let number = if load { number_i(word) } else { number_s(word) };
            with(0, access(word, number, size, load, !load, wide), Form::Float)
        }
        0x0f => match function {
            0 | 1 => Decoded { form: Form::System(system::nothing()), ..plain(0) },
            2 => return unsupported("cache block instruction"),
            _ => return unsupported(OTHER),
        },
        0x13 => match (function, bits(word, 31, 26), wide || bits(word, 25, 25) == 0) {
            (1, 0, true) | (5, 0 | 0x10, true) | (0 | 2..=4 | 6 | 7, ..) => plain(to),
            _ => return unsupported(OTHER),
        },
        0x17 | 0x37 => Decoded { base: None, ..plain(to) },
        0x1b if wide => match (function, high) {
            (0, _) | (1, 0) | (5, 0 | 0x20) => plain(to),
            _ => return unsupported(OTHER),
        },
        0x23 => {
            let size = match function {
                0..=2 => 1 << function,
                3 if wide => 8,
                _ => return unsupported(OTHER),
            };
            with(0, access(word, number_s(word), size, false, true, wide), Form::Computes)
        }
        0x2f => atomic(word, wide, plain(to))?,
        0x33 => match (high, function) {
            (0, _) | (0x20, 0 | 5) | (1, 0..=3) => plain(to),
            (1, _) => Decoded { form: divides(function, if wide { 8 } else { 4 }), ..plain(to) },
            _ => return unsupported(OTHER),
        },
        0x3b if wide => match (high, function) {
            (0, 0 | 1 | 5) | (0x20, 0 | 5) | (1, 0) => plain(to),
            (1, 4..=7) => Decoded { form: divides(function, 4), ..plain(to) },
            _ => return unsupported(OTHER),
        },
        0x43 | 0x47 | 0x4b | 0x4f if bits(word, 26, 25) < 2 => Decoded { form: Form::Float, ..plain(0) },
        0x53 if bits(word, 26, 25) < 2 => Decoded { form: Form::Float, ..plain(float(word, wide)?) },
        0x57 => return unsupported("vector instruction"),
        0x63 if !matches!(function, 2 | 3) => Decoded { goes: target(distance_b(word)), ..plain(0) },
        0x67 if function == 0 => Decoded { goes: Goes::By(rs1(word), number_i(word)), ..plain(to) },
        0x6f => Decoded { goes: target(distance_j(word)), base: None, ..plain(to) },
        0x73 => match system::treatment(word)? {
            Some(system) => Decoded { form: Form::System(system), ..plain(0) },
            None => Decoded { form: Form::Illegal, ..plain(0) },
        },
        0x0b | 0x2b | 0x5b | 0x7b => return unsupported("instruction of a custom extension"),
        _ => return unsupported(OTHER),
    })
}

fn divides(function: u32, size: u8) -> Form {
    Form::Divides { size, signed: function & 1 == 0, remainder: function & 2 != 0 }
}

fn atomic(word: u32, wide: bool, plain: Decoded) -> Result<Decoded, Problem> {
    let size = match bits(word, 14, 12) {
        2 => 4,
        3 if wide => 8,
        _ => return unsupported(OTHER),
    };
    let access = |read, write| access(word, 0, size, read, write, wide);
    Ok(match bits(word, 31, 27) {
        2 if rs2(word) == 0 => Decoded { accesses: vec![access(true, false)], ..plain },
        3 => {
            let store = Access { conditional: true, ..access(false, true) };
            Decoded { accesses: vec![store], form: Form::StoresConditionally(size as u8), ..plain }
        }
        0 | 1 | 4 | 8 | 12 | 16 | 20 | 24 | 28 => Decoded { accesses: vec![access(true, true)], ..plain },
        _ => return unsupported(OTHER),
    })
}

/// The integer register that floating-point arithmetic writes; 0: none.
fn float(word: u32, wide: bool) -> Result<u32, Problem> {
    let to = rd(word);
    let (operation, is_double, second) = (bits(word, 31, 27), bits(word, 25, 25) == 1, rs2(word));
    Ok(match (operation, bits(word, 14, 12)) {
        (0..=3, _) | (4, 0..=2) | (5, 0 | 1) => 0,
        (0x0b, _) if second == 0 => 0,
        // Between the two widths.
        (8, _) if second == u32::from(!is_double) => 0,
        (0x14, 0..=2) => to,
        (0x18, _) if second < if wide { 4 } else { 2 } => to,
        (0x1a, _) if second < if wide { 4 } else { 2 } => 0,
        (0x1c, 1) if second == 0 => to,
        (0x1c, 0) if second == 0 && (wide || !is_double) => to,
        (0x1e, 0) if second == 0 && (wide || !is_double) => 0,
        _ => return unsupported(OTHER),
    })
}
