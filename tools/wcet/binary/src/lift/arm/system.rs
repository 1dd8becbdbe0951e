//! The explicit list of ARM instructions that do more than compute, and how each is treated.
//!
//! Their lifted semantics are dropped: the registers named here become unknown, and so does all writable memory where
//! the list says so. A change of mode exchanges the banked stack pointer and link register: both become unknown.
//! What is not listed and does more than compute is an error.

use crate::lift::error::Problem;
use crate::lift::il::{Flow, Kind};

use super::decode::{bit, bits};

pub(crate) struct System {
    pub kind: Kind,
    pub flow: Flow,
    pub memory: bool,
    pub registers: Vec<&'static str>,
}

pub(crate) const COPROCESSOR: &str = "floating-point or coprocessor instruction";
const NAMES: [&str; 15] = ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "sp", "lr"];
pub(super) const FLAGS: [&str; 4] = ["NG", "ZR", "CY", "OV"];
pub(super) const BANKED: [&str; 2] = ["sp", "lr"];

pub(super) fn nothing() -> System {
    System { kind: Kind::System, flow: Flow::Next, memory: false, registers: Vec::new() }
}

pub(super) fn changes(registers: &[&'static str]) -> System {
    System { registers: registers.to_vec(), ..nothing() }
}

pub(super) fn goes(flow: Flow) -> System {
    System { flow, ..nothing() }
}

pub(super) fn unsupported<T>(what: &str) -> Result<T, Problem> {
    Err(Problem::Unsupported(what.to_string()))
}

/// The treatment of `word`, or None if it only computes.
pub(crate) fn treatment(word: u32) -> Result<Option<System>, Problem> {
    if bits(word, 31, 28) == 15 {
        return unconditional(word).map(Some);
    }
    let found = match bits(word, 27, 25) {
        0 if bits(word, 24, 23) == 2 && !bit(word, 20) && !bit(word, 7) => miscellaneous(word)?,
        1 if bits(word, 24, 23) == 2 && !bit(word, 20) && bit(word, 21) => Some(status_or_hint(word)),
        // `movs pc, lr` and its like return from an exception; the four comparisons have no target.
        0 | 1 if !extra(word) && bit(word, 20) && bits(word, 15, 12) == 15 && bits(word, 24, 23) != 2 => {
            Some(goes(Flow::Leave))
        }
        3 if word & 0x0ff0_00f0 == 0x07f0_00f0 => Some(goes(Flow::Trap)),
        4 if bit(word, 22) => Some(user_registers(word)),
        6 if bits(word, 24, 21) == 2 => Some(two_registers(word)?),
        6 => return unsupported(COPROCESSOR),
        7 if bit(word, 24) => Some(call()),
        7 => Some(one_register(word)?),
        _ => None,
    };
    match found {
        Some(System { flow: Flow::Leave | Flow::Trap, .. }) if bits(word, 31, 28) != 14 => {
            unsupported("conditional return from exception")
        }
        found => Ok(found),
    }
}

/// A system call of a user program: the kernel may give back any register but the stack pointer, and write the program's memory.
pub(super) fn call() -> System {
    let registers: Vec<&str> = NAMES.into_iter().filter(|name| *name != "sp").chain(FLAGS).collect();
    System { memory: true, ..changes(&registers) }
}

/// The name of a register that is not the program counter.
pub(super) fn named(field: u32) -> Option<&'static str> {
    NAMES.get(field as usize).copied()
}

/// Multiplications and the loads and stores that share their encoding space.
fn extra(word: u32) -> bool {
    bits(word, 27, 25) == 0 && bit(word, 7) && bit(word, 4)
}

fn unconditional(word: u32) -> Result<System, Problem> {
    let barrier = word & 0xffff_ff00 == 0xf57f_f000 && matches!(bits(word, 7, 4), 1 | 4 | 5 | 6);
    let preload = word & 0xff30_f000 == 0xf510_f000
        || word & 0xff70_f000 == 0xf450_f000
        || word & 0xff30_f010 == 0xf710_f000
        || word & 0xff70_f010 == 0xf650_f000;
    if barrier || preload {
        Ok(nothing())
    } else if word & 0xfff1_0020 == 0xf100_0000 {
        // cps: bit 17 tells whether it changes the mode.
        Ok(if bit(word, 17) { changes(&BANKED) } else { nothing() })
    } else if word & 0xfe50_ffff == 0xf810_0a00 {
        Ok(goes(Flow::Leave))
    } else if stores_return_state(word) {
        // The stack pointer is that of the mode named, which may be this one.
        Ok(System { memory: true, ..changes(if bit(word, 21) { &["sp"] } else { &[] }) })
    } else {
        unsupported("instruction without condition")
    }
}

/// `srs`: the link register and the saved status to the stack of a mode.
pub(crate) fn stores_return_state(word: u32) -> bool {
    word & 0xfe5f_ffe0 == 0xf84d_0500
}

fn miscellaneous(word: u32) -> Result<Option<System>, Problem> {
    Ok(match (bits(word, 6, 4), bits(word, 22, 21)) {
        (0, _) if bit(word, 9) => return unsupported("access to a banked register"),
        (0, 0 | 2) => match NAMES.get(bits(word, 15, 12) as usize) {
            Some(target) => Some(changes(&[*target])),
            None => return unsupported("mrs to the program counter"),
        },
        (0, _) => Some(status(word)),
        (1, 1 | 3) | (3, 1) | (5, _) => None,
        (7, 1) => Some(goes(Flow::Trap)),
        _ => return unsupported("system instruction"),
    })
}

fn status_or_hint(word: u32) -> System {
    let hint = !bit(word, 22) && bits(word, 19, 16) == 0;
    match bits(word, 7, 0) {
        // wfe, wfi
        2 | 3 if hint => System { kind: Kind::Wait, ..nothing() },
        _ if hint => nothing(),
        _ => status(word),
    }
}

/// `msr`: bit 22 tells whether to the saved status; bit 16 whether to the byte with the mode.
fn status(word: u32) -> System {
    match (bit(word, 22), bit(word, 16)) {
        (true, _) => nothing(),
        (false, true) => changes(&[FLAGS.as_slice(), &BANKED].concat()),
        (false, false) => changes(&FLAGS),
    }
}

/// `ldm` and `stm` with `^`: with the program counter a return from exception, else the user's registers.
fn user_registers(word: u32) -> System {
    let list = bits(word, 15, 0);
    match (bit(word, 20), bit(word, 15)) {
        (true, true) => goes(Flow::Leave),
        // The user's sp and lr are not those of this mode.
        (true, false) => {
            let loaded: Vec<&str> =
                (0..13).filter(|number| bit(list, *number)).map(|number| NAMES[number as usize]).collect();
            changes(&loaded)
        }
        (false, _) => System { memory: true, ..nothing() },
    }
}

/// Whether the coprocessor is one that controls the system, not the floating-point unit.
fn controls(word: u32) -> bool {
    matches!(bits(word, 11, 8), 14 | 15)
}

/// `mcrr`, `mrrc`.
pub(super) fn two_registers(word: u32) -> Result<System, Problem> {
    match (bit(word, 20), named(bits(word, 15, 12)), named(bits(word, 19, 16))) {
        _ if !controls(word) => unsupported(COPROCESSOR),
        (false, _, _) => Ok(nothing()),
        (true, Some(low), Some(high)) => Ok(changes(&[low, high])),
        _ => unsupported("mrrc to the program counter"),
    }
}

/// `mcr`, `mrc`; to the program counter means to the flags.
pub(super) fn one_register(word: u32) -> Result<System, Problem> {
    if !controls(word) || !bit(word, 4) {
        return unsupported(COPROCESSOR);
    }
    Ok(match (bit(word, 20), NAMES.get(bits(word, 15, 12) as usize)) {
        (false, _) => nothing(),
        (true, Some(target)) => changes(&[*target]),
        (true, None) => changes(&FLAGS),
    })
}
