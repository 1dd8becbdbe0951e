//! What the encoding of a Thumb instruction says: where control goes, which memory is accessed, and how its semantics are
//! found. Written from the encoding tables of the ARM Architecture Reference Manual (ARMv7-A, chapter A6; ARMv7-M, chapter
//! A5), apart from SLEIGH.

use crate::lift::error::Problem;
use crate::lift::il::{Access, AddressForm, Register};

use super::super::decode::access;
use super::super::saturate::Shift;
use super::super::system::System;
use super::{narrow, wide};

/// An instruction as its encoding classifies it.
pub(super) struct Decoded {
    pub form: Form,
    pub goes: Goes,
    pub accesses: Vec<Access>,
    /// The manual forbids it in the block of an `it` instruction.
    pub never_in_block: bool,
}

/// Where SLEIGH's semantics must go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goes {
    On,
    To(u64),
    /// To an address, as a call.
    Call(u64),
    /// To a computed address, in Thumb state whatever its lowest bit.
    InThumb,
    /// To an address from memory, whose lowest bit is the state.
    Loaded,
}

/// How its semantics are found. Registers by their number.
pub(super) enum Form {
    /// SLEIGH's.
    Computes,
    /// `bx`, `blx`
    Exchange {
        from: u32,
        links: bool,
    },
    MoveToPc(u32),
    MoveFromPc(u32),
    /// `blx` to an address of ARM code.
    CallArm(u64),
    /// A store that may fail.
    StoresExclusively {
        size: u8,
        status: u32,
        first: u32,
        second: u32,
        base: u32,
        displacement: u32,
    },
    LoadsExclusively {
        size: u8,
        first: u32,
        second: u32,
        base: u32,
        displacement: u32,
    },
    /// SLEIGH's, but for the carry, which is that of the operand.
    Logical(Carry),
    Saturates {
        to: u32,
        from: u32,
        shift: Shift,
        low: i64,
        high: i64,
    },
    /// These registers become any value.
    Unknown(Vec<u32>),
    System(System),
}

/// The carry behind a logical instruction that sets flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Carry {
    Kept,
    Number(bool),
    /// A bit of a register.
    Bit {
        register: u32,
        index: u32,
    },
}

impl Decoded {
    pub fn computes() -> Decoded {
        Decoded { form: Form::Computes, goes: Goes::On, accesses: Vec::new(), never_in_block: false }
    }

    pub fn accesses(accesses: Vec<Access>) -> Decoded {
        Decoded { accesses, ..Decoded::computes() }
    }

    /// Whether control may go elsewhere than to the next instruction.
    pub fn jumps(&self) -> bool {
        let by_form = matches!(self.form, Form::Exchange { .. } | Form::MoveToPc(_) | Form::CallArm(_));
        by_form || self.goes != Goes::On
    }
}

/// The instruction that `word` is: of 16 bits, or of twice as many with the first half above.
pub(super) fn decode(word: u32, is_wide: bool, address: u64) -> Result<Decoded, Problem> {
    if is_wide {
        wide::decode(word, address)
    } else {
        narrow::decode(word, address)
    }
}

/// Consecutive words from a register plus `first` on.
pub(super) fn words(base: u32, first: i64, count: u32, load: bool) -> Vec<Access> {
    let word = |index: u32| {
        let displacement = first + 4 * i64::from(index);
        let form = AddressForm::Known { base: Some(Register(base as u8)), index: None, displacement, segment: None };
        access(form, 4, load)
    };
    (0..count).map(word).collect()
}
