//! What the encoding says: where a branch goes, which memory is accessed, and how an instruction outside the
//! computing ones is treated. Written from the encoding tables of the ARM Architecture Reference Manual (ARMv7-A,
//! chapter A5), apart from SLEIGH. Bits are numbered as there.

use crate::lift::error::Problem;
use crate::lift::il::{Access, AddressForm, Register};

use super::system::{self, System};

/// An instruction as its encoding classifies it.
pub(crate) struct Decoded {
    /// Target of a direct branch.
    pub target: Option<u64>,
    /// Whether it may go elsewhere than to the next instruction.
    pub jumps: bool,
    /// Whether it leaves a return address in the link register.
    pub links: bool,
    pub system: Option<System>,
    pub accesses: Vec<Access>,
    /// A store that may fail, with its size.
    pub exclusive_store: Option<u8>,
}

/// Bits `high` to `low` of `word`.
pub(crate) fn bits(word: u32, high: u32, low: u32) -> u32 {
    word >> low & ((1 << (high - low + 1)) - 1)
}

pub(crate) fn bit(word: u32, index: u32) -> bool {
    bits(word, index, index) == 1
}

/// Whether it is `ssat`, `usat`, or their forms for half words.
pub(crate) fn saturates(word: u32) -> bool {
    let unconditional = bits(word, 31, 28) == 15;
    let (operation, shift) = (bits(word, 27, 20), bits(word, 5, 4));
    let whole = matches!(operation & !1, 0x6a | 0x6e) && shift == 1;
    let halves = matches!(operation, 0x6a | 0x6e) && bits(word, 7, 4) == 3;
    !unconditional && (whole || halves)
}

/// Where `blx` to an address of Thumb code goes.
pub(crate) fn calls_thumb(word: u32, address: u64) -> Option<u64> {
    let distance = ((((word << 8) as i32) >> 6) as u32).wrapping_add(bits(word, 24, 24) << 1);
    let target = (address as u32).wrapping_add(8).wrapping_add(distance);
    (bits(word, 31, 25) == 0x7d).then_some(u64::from(target))
}

fn plain() -> Decoded {
    Decoded { target: None, jumps: false, links: false, system: None, accesses: Vec::new(), exclusive_store: None }
}

pub(crate) fn decode(word: u32, address: u64) -> Result<Decoded, Problem> {
    if let Some(system) = system::treatment(word)? {
        let accesses = match bits(word, 27, 25) {
            4 if bits(word, 31, 28) == 15 => vec![access(AddressForm::Any, 8, !system::stores_return_state(word))],
            4 => multiple(word),
            _ => Vec::new(),
        };
        return Ok(Decoded { system: Some(system), accesses, ..plain() });
    }
    let conditional = bits(word, 31, 28) != 0xe;
    let accesses = |list: Vec<Access>| list.into_iter().map(|access| Access { conditional, ..access }).collect();
    let target_is_pc = bits(word, 15, 12) == 15;
    Ok(match (bits(word, 27, 25), bit(word, 4)) {
        (0, true) if bit(word, 7) => {
            let (list, exclusive_store) = extra(word);
            Decoded { accesses: accesses(list), exclusive_store, ..plain() }
        }
        (0 | 1, _) => {
            let miscellaneous = bits(word, 24, 23) == 2 && !bit(word, 20);
            // bx is 1, blx 3.
            let exchange = bits(word, 27, 20) == 0x12 && matches!(bits(word, 7, 4), 1 | 3);
            let jumps = exchange || !miscellaneous && target_is_pc && bits(word, 24, 23) != 2;
            Decoded { jumps, links: exchange && bit(word, 5), ..plain() }
        }
        (2, _) | (3, false) => {
            let (load, byte) = (bit(word, 20), bit(word, 22));
            let access = single(word, offset(word), if byte { 1 } else { 4 }, load);
            Decoded { jumps: load && !byte && target_is_pc, accesses: accesses(vec![access]), ..plain() }
        }
        (3, true) => plain(),
        (4, _) => Decoded { jumps: bit(word, 20) && bit(word, 15), accesses: accesses(multiple(word)), ..plain() },
        (5, _) => {
            // In words, from two instructions ahead.
            let distance = (((word << 8) as i32) >> 6) as u32;
            let target = (address as u32).wrapping_add(8).wrapping_add(distance);
            Decoded { target: Some(u64::from(target)), jumps: true, links: bit(word, 24), ..plain() }
        }
        _ => return Err(Problem::Unsupported(system::COPROCESSOR.to_string())),
    })
}

/// What is added to the base register.
enum Offset {
    Number(i64),
    Shifted(u32, u8),
    Any,
}

/// The offset of `ldr` and `str`.
fn offset(word: u32) -> Offset {
    if !bit(word, 25) {
        return Offset::Number(signed(word, bits(word, 11, 0)));
    }
    match (bits(word, 6, 5), bit(word, 23)) {
        (0, true) => Offset::Shifted(bits(word, 3, 0), bits(word, 11, 7) as u8),
        _ => Offset::Any,
    }
}

fn signed(word: u32, number: u32) -> i64 {
    if bit(word, 23) {
        i64::from(number)
    } else {
        -i64::from(number)
    }
}

pub(super) fn access(address: AddressForm, size: u32, load: bool) -> Access {
    Access { address, size, read: load, write: !load, conditional: false }
}

/// A load or store with a base register in bits 19 to 16, indexed before if bit 24 is set.
fn single(word: u32, offset: Offset, size: u32, load: bool) -> Access {
    let base = bits(word, 19, 16);
    let offset = if bit(word, 24) { offset } else { Offset::Number(0) };
    access(form(base, offset), size, load)
}

/// The program counter is no register of the language; the lifted code has its value.
fn form(base: u32, offset: Offset) -> AddressForm {
    const PC: u32 = 15;
    let (index, displacement) = match offset {
        Offset::Number(number) => (None, number),
        Offset::Shifted(index, shift) if index != PC => (Some((Register(index as u8), shift)), 0),
        Offset::Shifted(..) | Offset::Any => return AddressForm::Any,
    };
    if base == PC {
        return AddressForm::Any;
    }
    AddressForm::Known { base: Some(Register(base as u8)), index, displacement, segment: None }
}

/// Multiplications, exclusive accesses, and the loads and stores of half and double words.
fn extra(word: u32) -> (Vec<Access>, Option<u8>) {
    let base = bits(word, 19, 16);
    if bits(word, 6, 5) == 0 {
        if !bit(word, 24) {
            return (Vec::new(), None);
        }
        let load = bit(word, 20);
        if !bit(word, 23) {
            let size = if bit(word, 22) { 1 } else { 4 };
            return (vec![Access { write: true, ..access(form(base, Offset::Number(0)), size, true) }], None);
        }
        let size = [4, 8, 1, 2][bits(word, 22, 21) as usize];
        let list = vec![access(form(base, Offset::Number(0)), u32::from(size), load)];
        return (list, (!load).then_some(size));
    }
    let (size, load) = match (bits(word, 6, 5), bit(word, 20)) {
        (1, load) => (2, load),
        (2, true) => (1, true),
        (3, true) => (2, true),
        (2, false) => (8, true),
        _ => (8, false),
    };
    let offset = match (bit(word, 22), bit(word, 23)) {
        (true, _) => Offset::Number(signed(word, bits(word, 11, 8) << 4 | bits(word, 3, 0))),
        (false, true) => Offset::Shifted(bits(word, 3, 0), 0),
        (false, false) => Offset::Any,
    };
    (vec![single(word, offset, size, load)], None)
}

/// `ldm` and `stm`: consecutive words, the lowest register at the lowest address.
fn multiple(word: u32) -> Vec<Access> {
    let count = i64::from(bits(word, 15, 0).count_ones());
    let first = match (bit(word, 23), bit(word, 24)) {
        (true, false) => 0,
        (true, true) => 4,
        (false, true) => -4 * count,
        (false, false) => -4 * (count - 1),
    };
    let base = bits(word, 19, 16);
    (0..count).map(|index| access(form(base, Offset::Number(first + 4 * index)), 4, bit(word, 20))).collect()
}
