//! Classes of ARM instructions, by their encoding (ARM Architecture Reference Manual, ARMv7-A, chapter A5). The lifter
//! has refused what is not described there, coprocessors other than the system's, and floating point.

use wcet_binary::lift::il::Flow;
use wcet_binary::lift::Instruction;
use wcet_hardware::machine::Class;

use super::Sort;

pub(super) fn sort(instruction: &Instruction) -> Result<Sort, String> {
    let word = instruction.bytes.as_slice().try_into().map(u32::from_le_bytes);
    let word = word.map_err(|_| "its length is not 4 bytes".to_string())?;
    Ok(match instruction.flow {
        Flow::Leave => Sort::of(Class::ExceptionReturn),
        Flow::Trap => Sort::of(Class::ExceptionEntry),
        Flow::Next if bits(word, 31, 28) == 15 => unconditional(word)?,
        Flow::Next => match bits(word, 27, 25) {
            6 => two_registers(word),
            7 if bit(word, 24) => Sort::of(Class::SystemCall),
            7 => one_register(word),
            _ => Sort::of(ordinary(word)?),
        },
        Flow::Jump { .. } | Flow::Call { .. } | Flow::Return { .. } | Flow::Repeat { .. } => Sort::of(Class::Branch),
    })
}

/// Bits `high` to `low` of `word`.
fn bits(word: u32, high: u32, low: u32) -> u32 {
    word >> low & ((1 << (high - low + 1)) - 1)
}

fn bit(word: u32, index: u32) -> bool {
    bits(word, index, index) == 1
}

fn unconditional(word: u32) -> Result<Sort, String> {
    if word & 0xffff_ff00 == 0xf57f_f000 {
        return Ok(Sort::of(match bits(word, 7, 4) {
            1 => Class::Atomic,
            4 | 5 => Class::BarrierData,
            6 => Class::BarrierInstruction,
            _ => return Err("it is no known barrier".to_string()),
        }));
    }
    if word & 0xfff1_0020 == 0xf100_0000 {
        return Ok(Sort::of(Class::ModeChange));
    }
    if bits(word, 27, 26) == 1 && bit(word, 20) {
        return Ok(Sort { prefetches: true, ..Sort::of(Class::Load) });
    }
    // What is left in this part of the encoding is a store of the return state: the load of one leaves.
    if bits(word, 27, 25) == 4 {
        return Ok(Sort::of(Class::Store));
    }
    Err("it has no condition and is no barrier, mode change, preload or store of the return state".to_string())
}

/// `mcrr` and `mrrc`: ranges of cache lines, translation tables, and timers.
pub(super) fn two_registers(word: u32) -> Sort {
    Sort::of(match (bit(word, 20), bits(word, 3, 0)) {
        (true, _) => Class::CoprocessorRead,
        (false, 5 | 6 | 12 | 14) => Class::CacheMaintenance,
        (false, 2) => Class::AddressSpace,
        (false, _) => Class::CoprocessorWrite,
    })
}

/// `mcr` and `mrc`.
pub(super) fn one_register(word: u32) -> Sort {
    if bit(word, 20) || bits(word, 11, 8) != 15 {
        return Sort::of(if bit(word, 20) { Class::CoprocessorRead } else { Class::CoprocessorWrite });
    }
    Sort::of(match (bits(word, 19, 16), bits(word, 3, 0), bits(word, 7, 5)) {
        (7, 0, 4) => Class::Wait,
        (7, 5, 4) => Class::BarrierInstruction,
        (7, 10, 4 | 5) => Class::BarrierData,
        (7, _, _) => Class::CacheMaintenance,
        (8, _, _) => Class::TlbInvalidate,
        // Translation tables, and the number of the address space.
        (2, _, _) | (13, 0, 1) => Class::AddressSpace,
        _ => Class::CoprocessorWrite,
    })
}

fn ordinary(word: u32) -> Result<Class, String> {
    let memory = |load: bool| if load { Class::Load } else { Class::Store };
    Ok(match bits(word, 27, 25) {
        0 if bit(word, 7) && bit(word, 4) => match (bits(word, 6, 5), bit(word, 24), bit(word, 20)) {
            (0, false, _) => Class::Multiply,
            (0, true, _) => Class::Atomic,
            // Half words and signed bytes; of the others the dual word loads too without bit 20.
            (form, _, load) => memory(load || form == 2),
        },
        0 if bits(word, 24, 23) == 2 && !bit(word, 20) => miscellaneous(word)?,
        1 if bits(word, 24, 23) == 2 && !bit(word, 20) && bit(word, 21) => hint_or_status(word),
        0 | 1 => Class::Alu,
        2 => memory(bit(word, 20)),
        3 if bit(word, 4) => media(word)?,
        3 | 4 => memory(bit(word, 20)),
        // A branch to the next instruction: the lifter says that control goes on.
        5 => Class::Branch,
        _ => return Err("its encoding is unknown".to_string()),
    })
}

fn miscellaneous(word: u32) -> Result<Class, String> {
    if bit(word, 7) {
        return Ok(Class::Multiply);
    }
    Ok(match (bits(word, 6, 4), bits(word, 22, 21)) {
        (0, 0 | 2) => Class::StatusRead,
        (0, _) => Class::StatusWrite,
        (1, 1) | (3, 1) => Class::Branch,
        (1, 3) | (5, _) => Class::Alu,
        _ => return Err("it is no known miscellaneous instruction".to_string()),
    })
}

fn hint_or_status(word: u32) -> Class {
    let hint = !bit(word, 22) && bits(word, 19, 16) == 0;
    match bits(word, 7, 0) {
        2 | 3 if hint => Class::Wait,
        _ if hint => Class::Nop,
        _ => Class::StatusWrite,
    }
}

fn media(word: u32) -> Result<Class, String> {
    Ok(match bits(word, 24, 20) {
        // Parallel arithmetic, packing, extension, saturation, reversal; bit fields.
        0..=15 | 26..=31 => Class::Alu,
        // `sdiv` and `udiv`, then products with one or two halves, and sums of absolute differences.
        17 | 19 => Class::Divide,
        16 | 20 | 21 | 24 => Class::Multiply,
        _ => return Err("it is no known media instruction".to_string()),
    })
}
