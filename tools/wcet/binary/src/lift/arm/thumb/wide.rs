//! Instructions of 32 bits (ARM Architecture Reference Manual, ARMv7-A, section A6.3). Bits are numbered with the first half
//! above.

use crate::lift::error::Problem;
use crate::lift::il::{Access, AddressForm, Register};

use super::super::decode::{access, bit, bits};
use super::super::saturate::Shift;
use super::super::system::COPROCESSOR;
use super::decode::{words, Carry, Decoded, Form, Goes};
use super::system;

const PC: u32 = 15;

pub(super) fn decode(word: u32, address: u64) -> Result<Decoded, Problem> {
    let unsupported = || Err(Problem::Unsupported(COPROCESSOR.to_string()));
    Ok(match (bits(word, 28, 27), bit(word, 26), bit(word, 25)) {
        (1, false, false) if !bit(word, 22) => multiple(word)?,
        (1, false, false) => dual_or_exclusive(word)?,
        (1, false, true) => with_carry(word, shifted_carry(word)),
        (1 | 3, true, _) => match system::coprocessor(word)? {
            Some(system) => Decoded { form: Form::System(system), ..Decoded::computes() },
            None => return unsupported(),
        },
        (2, ..) if bit(word, 15) => branch_or_control(word, address)?,
        (2, _, false) => with_carry(word, number_carry(word)),
        (2, _, true) => plain_number(word),
        (3, false, false) if bits(word, 24, 24) == 1 && !bit(word, 20) => return unsupported(),
        (3, false, false) => single(word)?,
        (3, false, true) if !bit(word, 24) => registers(word)?,
        (3, false, true) => multiply(word)?,
        _ => return Err(Problem::Undecodable),
    })
}

/// An instruction on a register and a shifted register or a number. Where it is logical and sets flags, the carry is the operand's.
fn with_carry(word: u32, carry: Carry) -> Decoded {
    // and, bic, orr, orn, eor, with `tst`, `mov`, `mvn` and `teq`
    let is_logical = bits(word, 24, 21) <= 4;
    let form = if bit(word, 20) && is_logical { Form::Logical(carry) } else { Form::Computes };
    Decoded { form, ..Decoded::computes() }
}

/// The last bit that a shift moves out.
fn shifted_carry(word: u32) -> Carry {
    let (register, amount) = (bits(word, 3, 0), bits(word, 14, 12) << 2 | bits(word, 7, 6));
    let index = match (bits(word, 5, 4), amount) {
        (0, 0) => return Carry::Kept,
        (0, _) => 32 - amount,
        // `rrx`
        (3, 0) => 0,
        (_, 0) => 31,
        _ => amount - 1,
    };
    Carry::Bit { register, index }
}

/// The highest bit of a number that is rotated.
fn number_carry(word: u32) -> Carry {
    let code = bits(word, 26, 26) << 11 | bits(word, 14, 12) << 8 | bits(word, 7, 0);
    match code >> 7 {
        0..=7 => Carry::Kept,
        amount => Carry::Number((0x80 | code & 0x7f).rotate_right(amount) >> 31 == 1),
    }
}

/// `ldm`, `stm`, and the instructions on the return state that share their encoding space.
fn multiple(word: u32) -> Result<Decoded, Problem> {
    let (load, list) = (bit(word, 20), bits(word, 15, 0));
    let before = match bits(word, 24, 23) {
        1 => false,
        2 => true,
        _ => {
            let system = system::return_state(word);
            let accesses = vec![access(AddressForm::Any, 8, load)];
            return Ok(Decoded { form: Form::System(system), ..Decoded::accesses(accesses) });
        }
    };
    let count = list.count_ones();
    let first = if before { -4 * i64::from(count) } else { 0 };
    let goes = if load && bit(list, PC) { Goes::Loaded } else { Goes::On };
    Ok(Decoded { goes, ..Decoded::accesses(words(bits(word, 19, 16), first, count, load)) })
}

/// An access at a base register plus a number. The program counter is no register of the language; the lifted code has its value.
fn at(base: u32, displacement: i64, size: u32, load: bool) -> Access {
    let form = AddressForm::Known { base: Some(Register(base as u8)), index: None, displacement, segment: None };
    access(if base == PC { AddressForm::Any } else { form }, size, load)
}

/// `ldrd`, `strd`, exclusive accesses, and the branches through tables.
fn dual_or_exclusive(word: u32) -> Result<Decoded, Problem> {
    let (base, load) = (bits(word, 19, 16), bit(word, 20));
    let number = i64::from(bits(word, 7, 0) * 4);
    let (before, up, back) = (bit(word, 24), bit(word, 23), bit(word, 21));
    if before || back {
        let displacement = match (before, up) {
            (false, _) => 0,
            (true, true) => number,
            (true, false) => -number,
        };
        let half = |more| at(base, displacement + more, 4, load);
        return Ok(Decoded::accesses(vec![half(0), half(4)]));
    }
    let (first, second, low) = (bits(word, 15, 12), bits(word, 11, 8), bits(word, 3, 0));
    let loads = |size: u8, displacement| Decoded {
        form: Form::LoadsExclusively { size, first, second, base, displacement },
        ..Decoded::accesses(vec![at(base, i64::from(displacement), u32::from(size), true)])
    };
    let stores = |size: u8, status, second, displacement| Decoded {
        form: Form::StoresExclusively { size, status, first, second, base, displacement },
        ..Decoded::accesses(vec![at(base, i64::from(displacement), u32::from(size), false)])
    };
    if !up {
        let displacement = bits(word, 7, 0) * 4;
        return Ok(if load { loads(4, displacement) } else { stores(4, second, PC, displacement) });
    }
    Ok(match (bits(word, 7, 4), load) {
        (0, true) => table(base, low, 1),
        (1, true) => table(base, low, 2),
        (4, true) => loads(1, 0),
        (5, true) => loads(2, 0),
        (7, true) => loads(8, 0),
        (4, false) => stores(1, low, PC, 0),
        (5, false) => stores(2, low, PC, 0),
        (7, false) => stores(8, low, second, 0),
        _ => return Err(Problem::Undecodable),
    })
}

/// `tbb`, `tbh`
fn table(base: u32, index: u32, size: u32) -> Decoded {
    let form = AddressForm::Known {
        base: Some(Register(base as u8)),
        index: Some((Register(index as u8), (size - 1) as u8)),
        displacement: 0,
        segment: None,
    };
    let form = if base == PC { AddressForm::Any } else { form };
    Decoded { goes: Goes::InThumb, ..Decoded::accesses(vec![access(form, size, true)]) }
}

/// Loads and stores of one byte, half word or word.
fn single(word: u32) -> Result<Decoded, Problem> {
    let (base, target, load) = (bits(word, 19, 16), bits(word, 15, 12), bit(word, 20));
    let size = match bits(word, 22, 21) {
        0 => 1,
        1 => 2,
        2 if !bit(word, 24) => 4,
        _ => return Err(Problem::Undecodable),
    };
    if !load && base == PC {
        return Err(Problem::Undecodable);
    }
    // Without target, a byte or half word is a hint to load a line.
    if load && target == PC && size < 4 {
        return Ok(Decoded { form: Form::System(super::super::system::nothing()), ..Decoded::computes() });
    }
    let (before, up, back) = (bit(word, 10), bit(word, 9), bit(word, 8));
    let found = if load && base == PC {
        access(AddressForm::Any, size, true)
    } else if bit(word, 23) {
        at(base, i64::from(bits(word, 11, 0)), size, load)
    } else if bit(word, 11) {
        let number = i64::from(bits(word, 7, 0));
        match (before, up, back) {
            (false, _, false) => return Err(Problem::Undecodable),
            // For programs without privileges: the same for caches.
            (true, true, _) => at(base, number, size, load),
            (true, false, _) => at(base, -number, size, load),
            (false, _, true) => at(base, 0, size, load),
        }
    } else if bits(word, 10, 6) == 0 {
        let register = |field: u32| Register(field as u8);
        let index = Some((register(bits(word, 3, 0)), bits(word, 5, 4) as u8));
        access(AddressForm::Known { base: Some(register(base)), index, displacement: 0, segment: None }, size, load)
    } else {
        return Err(Problem::Undecodable);
    };
    let goes = if load && target == PC { Goes::Loaded } else { Goes::On };
    Ok(Decoded { goes, ..Decoded::accesses(vec![found]) })
}

fn branch_or_control(word: u32, address: u64) -> Result<Decoded, Problem> {
    let sign = bits(word, 26, 26);
    let (j1, j2) = (bits(word, 13, 13), bits(word, 11, 11));
    let from = (address as u32).wrapping_add(4);
    let spread = |number: u32, width: u32| (((number << (32 - width)) as i32) >> (32 - width)) as u32;
    let far = || {
        let (i1, i2) = (1 ^ j1 ^ sign, 1 ^ j2 ^ sign);
        spread(sign << 24 | i1 << 23 | i2 << 22 | bits(word, 25, 16) << 12 | bits(word, 10, 0) << 1, 25)
    };
    let to = |target: u32| u64::from(target);
    Ok(match (bit(word, 14), bit(word, 12)) {
        (false, false) if bits(word, 25, 23) == 7 => {
            Decoded { form: Form::System(system::control(word)?), ..Decoded::computes() }
        }
        (false, false) => {
            let near = sign << 20 | j2 << 19 | j1 << 18 | bits(word, 21, 16) << 12 | bits(word, 10, 0) << 1;
            let goes = Goes::To(to(from.wrapping_add(spread(near, 21))));
            Decoded { goes, never_in_block: true, ..Decoded::computes() }
        }
        (false, true) => Decoded { goes: Goes::To(to(from.wrapping_add(far()))), ..Decoded::computes() },
        (true, true) => Decoded { goes: Goes::Call(to(from.wrapping_add(far()))), ..Decoded::computes() },
        (true, false) if !bit(word, 0) => {
            let target = (from & !3).wrapping_add(far());
            Decoded { form: Form::CallArm(to(target)), ..Decoded::computes() }
        }
        (true, false) => return Err(Problem::Undecodable),
    })
}

/// With a number as it stands: sums, `movw`, `movt`, bit fields, saturation.
fn plain_number(word: u32) -> Decoded {
    let (to, from) = (bits(word, 11, 8), bits(word, 19, 16));
    let amount = bits(word, 14, 12) << 2 | bits(word, 7, 6);
    let shift = if bit(word, 21) { Shift::RightSigned(amount) } else { Shift::Left(amount) };
    let top = bits(word, 4, 0);
    match bits(word, 24, 20) {
        // Both halves of a register.
        18 | 26 if amount == 0 => Decoded { form: Form::Unknown(vec![to]), ..Decoded::computes() },
        16 | 18 => {
            let low = -(1_i64 << top);
            Decoded { form: Form::Saturates { to, from, shift, low, high: -low - 1 }, ..Decoded::computes() }
        }
        24 | 26 => {
            let high = (1_i64 << top) - 1;
            Decoded { form: Form::Saturates { to, from, shift, low: 0, high }, ..Decoded::computes() }
        }
        _ => Decoded::computes(),
    }
}

/// Shifts, extensions and what else has registers alone.
fn registers(word: u32) -> Result<Decoded, Problem> {
    if bits(word, 15, 12) != 15 {
        return Err(Problem::Undecodable);
    }
    let unknown = Decoded { form: Form::Unknown(vec![bits(word, 11, 8)]), ..Decoded::computes() };
    Ok(match (bit(word, 23), bits(word, 22, 20), bits(word, 7, 4)) {
        (false, _, 0) => Decoded::computes(),
        (false, 0..=5, 8..) => Decoded::computes(),
        // In parallel on parts of a word.
        (true, _, 0..=7) => unknown,
        // Reversals and `clz`; sums that saturate, and the choice by flags that are not tracked.
        (true, 1, 8..=11) | (true, 3, 8) => Decoded::computes(),
        (true, 0 | 2, 8..=11) => unknown,
        _ => return Err(Problem::Undecodable),
    })
}

/// Products and divisions.
fn multiply(word: u32) -> Result<Decoded, Problem> {
    let (low, high) = (bits(word, 15, 12), bits(word, 11, 8));
    let unknown = |list: Vec<u32>| Decoded { form: Form::Unknown(list), ..Decoded::computes() };
    if !bit(word, 23) {
        return Ok(match (bits(word, 22, 20), bits(word, 7, 4)) {
            // `mul`, `mla`, `mls`; products of halves, and of a word and a half.
            (0, 0 | 1) | (1, 0..=3) | (3, 0 | 1) => Decoded::computes(),
            // Sums of two products, the upper half of a product, absolute differences.
            (2..=7, _) => unknown(vec![high]),
            _ => return Err(Problem::Undecodable),
        });
    }
    Ok(match (bits(word, 22, 20), bits(word, 7, 4)) {
        (0 | 2 | 4 | 6, 0) | (1 | 3, 15) => Decoded::computes(),
        (4, 8..=13) | (5, 12 | 13) | (6, 6) => unknown(vec![low, high]),
        _ => return Err(Problem::Undecodable),
    })
}
