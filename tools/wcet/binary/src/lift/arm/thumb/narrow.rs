//! Instructions of 16 bits (ARM Architecture Reference Manual, ARMv7-A, section A6.2).

use crate::lift::error::Problem;
use crate::lift::il::{AddressForm, Flow, Kind, Register};

use super::super::decode::{access, bit, bits};
use super::super::system::{self, System};
use super::decode::{words, Decoded, Form, Goes};

const STACK: u32 = 13;
const PC: u32 = 15;

/// Whether it sets flags outside of a block only.
pub(super) fn sets_flags_outside(word: u32) -> bool {
    match bits(word, 15, 10) {
        // Shifts, sums, `mov`; of the forms with a number of 8 bits `cmp` sets them always.
        0..=15 => bits(word, 15, 11) != 5,
        // `tst`, `cmp` and `cmn` set them always.
        16 => !matches!(bits(word, 9, 6), 8 | 10 | 11),
        _ => false,
    }
}

pub(super) fn decode(word: u32, address: u64) -> Result<Decoded, Problem> {
    let load = bit(word, 11);
    Ok(match bits(word, 15, 10) {
        0..=16 => Decoded::computes(),
        17 => special(word),
        // Literals, relative to the program counter.
        18 | 19 => Decoded::accesses(vec![access(AddressForm::Any, 4, true)]),
        20..=23 => by_register(word),
        24..=31 => {
            let size = if bit(word, 12) { 1 } else { 4 };
            Decoded::accesses(vec![near(bits(word, 5, 3), bits(word, 10, 6), size, load)])
        }
        32..=35 => Decoded::accesses(vec![near(bits(word, 5, 3), bits(word, 10, 6), 2, load)]),
        36..=39 => Decoded::accesses(vec![near(STACK, bits(word, 7, 0), 4, load)]),
        40..=43 => Decoded::computes(),
        44..=47 => miscellaneous(word, address)?,
        48..=51 => Decoded::accesses(words(bits(word, 10, 8), 0, bits(word, 7, 0).count_ones(), load)),
        52..=55 => conditional(word, address)?,
        56 | 57 => branch(address, i64::from(((word << 21) as i32) >> 20)),
        _ => return Err(Problem::Undecodable),
    })
}

/// A load or store at a base register plus a multiple of its size.
fn near(base: u32, number: u32, size: u32, load: bool) -> crate::lift::il::Access {
    let displacement = i64::from(number * size);
    let form = AddressForm::Known { base: Some(Register(base as u8)), index: None, displacement, segment: None };
    access(form, size, load)
}

fn by_register(word: u32) -> Decoded {
    // str, strh, strb, ldrsb, ldr, ldrh, ldrb, ldrsh
    let operation = bits(word, 11, 9);
    let size = [4, 2, 1, 1, 4, 2, 1, 2][operation as usize];
    let register = |field| Register(field as u8);
    let form = AddressForm::Known {
        base: Some(register(bits(word, 5, 3))),
        index: Some((register(bits(word, 8, 6)), 0)),
        displacement: 0,
        segment: None,
    };
    Decoded::accesses(vec![access(form, size, operation >= 3)])
}

fn branch(address: u64, distance: i64) -> Decoded {
    let target = (address as u32).wrapping_add(4).wrapping_add(distance as u32);
    Decoded { goes: Goes::To(u64::from(target)), ..Decoded::computes() }
}

/// With the upper registers, and `bx`, `blx`.
fn special(word: u32) -> Decoded {
    let (to, from) = (bits(word, 7, 7) << 3 | bits(word, 2, 0), bits(word, 6, 3));
    match bits(word, 9, 8) {
        3 => Decoded { form: Form::Exchange { from, links: bit(word, 7) }, ..Decoded::computes() },
        2 if to == PC => Decoded { form: Form::MoveToPc(from), ..Decoded::computes() },
        2 if from == PC => Decoded { form: Form::MoveFromPc(to), ..Decoded::computes() },
        0 if to == PC => Decoded { goes: Goes::InThumb, ..Decoded::computes() },
        _ => Decoded::computes(),
    }
}

fn miscellaneous(word: u32, address: u64) -> Result<Decoded, Problem> {
    let system = |system: System| Ok(Decoded { form: Form::System(system), ..Decoded::computes() });
    let extra = u32::from(bit(word, 8));
    let count = bits(word, 7, 0).count_ones() + extra;
    Ok(match bits(word, 11, 8) {
        // Sums with the stack pointer; extensions.
        0 | 2 => Decoded::computes(),
        // `cbz`, `cbnz`
        1 | 3 | 9 | 11 => {
            let distance = i64::from(bits(word, 9, 9) << 6 | bits(word, 7, 3) << 1);
            Decoded { never_in_block: true, ..branch(address, distance) }
        }
        4 | 5 => Decoded::accesses(words(STACK, -4 * i64::from(count), count, false)),
        // `cps`, which changes no mode here.
        6 if word & 0xffe8 == 0xb660 => {
            return system(system::nothing()).map(|found| Decoded { never_in_block: true, ..found });
        }
        6 => return Err(Problem::Unsupported("change of the byte order".to_string())),
        10 if bits(word, 7, 6) != 2 => Decoded::computes(),
        12 | 13 => {
            let goes = if extra == 1 { Goes::Loaded } else { Goes::On };
            Decoded { goes, ..Decoded::accesses(words(STACK, 0, count, true)) }
        }
        // What a debugger serves with this number goes on behind it.
        14 if bits(word, 7, 0) == 0xab => return Err(Problem::Unsupported("call of a debugger".to_string())),
        14 => return system(system::goes(Flow::Trap)),
        15 => {
            let wait = matches!(bits(word, 7, 4), 2 | 3);
            let kind = if wait { Kind::Wait } else { Kind::System };
            return system(System { kind, ..system::nothing() });
        }
        _ => return Err(Problem::Undecodable),
    })
}

fn conditional(word: u32, address: u64) -> Result<Decoded, Problem> {
    let system = |system: System| Ok(Decoded { form: Form::System(system), ..Decoded::computes() });
    match bits(word, 11, 8) {
        14 => system(system::goes(Flow::Trap)),
        15 => system(system::call()),
        _ => {
            let distance = i64::from(word as u8 as i8) * 2;
            Ok(Decoded { never_in_block: true, ..branch(address, distance) })
        }
    }
}
