//! Classes of Thumb instructions, by their encoding (ARM Architecture Reference Manual, ARMv7-A, chapter A6; ARMv7-M, chapter
//! A5). The lifter has refused what is not described there, coprocessors other than the system's, and floating point.

use wcet_binary::lift::il::Flow;
use wcet_binary::lift::Instruction;
use wcet_hardware::machine::Class;

use super::{arm, Sort};

pub(super) fn sort(instruction: &Instruction) -> Result<Sort, String> {
    match instruction.flow {
        Flow::Leave => return Ok(Sort::of(Class::ExceptionReturn)),
        Flow::Trap => return Ok(Sort::of(Class::ExceptionEntry)),
        Flow::Jump { .. } | Flow::Call { .. } | Flow::Return { .. } | Flow::Repeat { .. } => {
            return Ok(Sort::of(Class::Branch));
        }
        Flow::Next => {}
    }
    match *instruction.bytes.as_slice() {
        [a, b] => narrow(u32::from(u16::from_le_bytes([a, b]))).map(Sort::of),
        [a, b, c, d] => wide(u32::from(u16::from_le_bytes([a, b])) << 16 | u32::from(u16::from_le_bytes([c, d]))),
        _ => Err("its length is neither 2 nor 4 bytes".to_string()),
    }
}

/// Whether it loads or stores several registers, which the processor does at multiples of 4 alone.
pub(crate) fn moves_several(bytes: &[u8]) -> bool {
    match *bytes {
        [_, top] => top >> 4 == 12 || matches!(top, 0xb4 | 0xb5 | 0xbc | 0xbd),
        // `ldm`, `stm`; with the second form `ldrd` and `strd`, not what is exclusive.
        [low, top, ..] if top & 0xfe == 0xe8 => low & 0x40 == 0 || top & 1 == 1 || low & 0x20 != 0,
        _ => false,
    }
}

/// Bits `high` to `low` of `word`.
fn bits(word: u32, high: u32, low: u32) -> u32 {
    word >> low & ((1 << (high - low + 1)) - 1)
}

fn bit(word: u32, index: u32) -> bool {
    bits(word, index, index) == 1
}

fn memory(load: bool) -> Class {
    if load {
        Class::Load
    } else {
        Class::Store
    }
}

fn narrow(word: u32) -> Result<Class, String> {
    Ok(match bits(word, 15, 10) {
        16 if bits(word, 9, 6) == 13 => Class::Multiply,
        0..=17 | 40..=43 => Class::Alu,
        18 | 19 => Class::Load,
        20..=23 => memory(bits(word, 11, 9) >= 3),
        24..=39 | 48..=51 => memory(bit(word, 11)),
        44..=47 => match bits(word, 11, 8) {
            // A branch to the next instruction: the lifter says that control goes on.
            1 | 3 | 9 | 11 => Class::Branch,
            0 | 2 | 10 => Class::Alu,
            4 | 5 => Class::Store,
            6 => Class::ModeChange,
            12 | 13 => Class::Load,
            15 if bits(word, 3, 0) == 0 && matches!(bits(word, 7, 4), 2 | 3) => Class::Wait,
            // `it` among them.
            15 => Class::Nop,
            _ => return Err("it is no known miscellaneous instruction".to_string()),
        },
        52..=55 if bits(word, 11, 8) == 15 => Class::SystemCall,
        52..=57 => Class::Branch,
        _ => return Err("its encoding is unknown".to_string()),
    })
}

fn wide(word: u32) -> Result<Sort, String> {
    if matches!(bits(word, 28, 26), 3 | 7) {
        // As on ARM, with the same bits.
        return match bits(word, 25, 24) {
            0 => Ok(arm::two_registers(word)),
            2 => Ok(arm::one_register(word)),
            _ => Err("it is no known coprocessor instruction".to_string()),
        };
    }
    let load = bit(word, 20);
    Ok(Sort::of(match (bits(word, 28, 27), bit(word, 25)) {
        (1, true) => Class::Alu,
        (1, false) if !bit(word, 22) || bit(word, 24) || bit(word, 21) => memory(load),
        (1, false) => Class::Atomic,
        (2, _) if bit(word, 15) => control(word)?,
        (2, _) => Class::Alu,
        (3, false) if load && bits(word, 15, 12) == 15 => {
            return Ok(Sort { prefetches: true, ..Sort::of(Class::Load) });
        }
        (3, false) => memory(load),
        (3, true) if !bit(word, 24) => Class::Alu,
        (3, true) if bit(word, 23) && bits(word, 7, 4) == 15 => Class::Divide,
        (3, true) => Class::Multiply,
        _ => return Err("its encoding is unknown".to_string()),
    }))
}

fn control(word: u32) -> Result<Class, String> {
    let is_control = bits(word, 25, 23) == 7 && !bit(word, 14) && !bit(word, 12);
    Ok(match (is_control, bits(word, 22, 20)) {
        // A branch to the next instruction: the lifter says that control goes on.
        (false, _) => Class::Branch,
        (true, 0 | 1) => Class::StatusWrite,
        (true, 2) if bits(word, 10, 8) != 0 => Class::ModeChange,
        (true, 2) if matches!(bits(word, 7, 0), 2 | 3) => Class::Wait,
        (true, 2) => Class::Nop,
        (true, 3) => match bits(word, 7, 4) {
            2 => Class::Atomic,
            4 | 5 => Class::BarrierData,
            6 => Class::BarrierInstruction,
            _ => return Err("it is no known barrier".to_string()),
        },
        (true, 6 | 7) => Class::StatusRead,
        _ => return Err("it is no known control instruction".to_string()),
    })
}
