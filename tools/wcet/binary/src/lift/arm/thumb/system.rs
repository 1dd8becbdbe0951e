//! The Thumb instructions of 32 bits that do more than compute, and how each is treated, as on ARM (`arm/system.rs`).

use crate::lift::error::Problem;
use crate::lift::il::{Flow, Kind};

use super::super::decode::{bit, bits};
use super::super::system::{
    changes, goes, named, nothing, one_register, two_registers, unsupported, System, BANKED, FLAGS,
};

/// `mcr`, `mrc`, `mcrr`, `mrrc` as on ARM, with the same bits; None for all others.
pub(super) fn coprocessor(word: u32) -> Result<Option<System>, Problem> {
    match bits(word, 25, 24) {
        0 if bits(word, 24, 21) == 2 => two_registers(word).map(Some),
        2 if bit(word, 4) => one_register(word).map(Some),
        _ => Ok(None),
    }
}

/// `srs` and `rfe`
pub(super) fn return_state(word: u32) -> System {
    if bit(word, 20) {
        return goes(Flow::Leave);
    }
    // The stack pointer is that of the mode named, which may be this one.
    System { memory: true, ..changes(if bit(word, 21) { &["sp"] } else { &[] }) }
}

/// What stands where a branch with a condition would have the condition 14 or 15.
pub(super) fn control(word: u32) -> Result<System, Problem> {
    Ok(match bits(word, 26, 20) {
        0x38 | 0x39 => status(word),
        0x3a if bits(word, 10, 8) != 0 => {
            // cps: bit 8 tells whether it changes the mode.
            if bit(word, 8) {
                changes(&BANKED)
            } else {
                nothing()
            }
        }
        0x3a => {
            let kind = if matches!(bits(word, 7, 0), 2 | 3) { Kind::Wait } else { Kind::System };
            System { kind, ..nothing() }
        }
        // clrex, dsb, dmb, isb
        0x3b if matches!(bits(word, 7, 4), 2 | 4..=6) => nothing(),
        0x3d => goes(Flow::Leave),
        0x3e | 0x3f => match named(bits(word, 11, 8)) {
            Some(target) => changes(&[target]),
            None => return unsupported("mrs to the program counter"),
        },
        0x7f if bits(word, 14, 12) == 2 => goes(Flow::Trap),
        _ => return unsupported("system instruction"),
    })
}

/// `msr`. Of ARMv7-M the lowest byte names the register; of others it is 0, and bit 8 tells whether the mode is written.
fn status(word: u32) -> System {
    match (bits(word, 7, 0), bit(word, 20)) {
        (0, true) => nothing(),
        (0, false) if bit(word, 8) => changes(&[FLAGS.as_slice(), &BANKED].concat()),
        (0..=3, _) => changes(&FLAGS),
        // Masks of interrupts.
        (16..=19, _) => nothing(),
        // Stack pointers, and which of them is used.
        _ => changes(&["sp"]),
    }
}
