//! Memory of which each byte is known or not: what the file loads, and what a run stores.

use std::collections::HashMap;

use wcet_binary::load::Program;
use wcet_flow::Shared;

use crate::known::Known;

/// Two kinds of memory, which have no byte in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Space {
    Absolute,
    /// Addresses count from where the stack pointer stands at the entry.
    Stack,
}

/// Bytes of a page.
const PAGE: u64 = 256;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Byte {
    /// These bits of it; the others are 0 in `number` and not known.
    Bits { number: u8, bits: u8 },
    /// Of an address of the stack, which stands where its first byte is.
    Pointer,
}

const UNKNOWN: Byte = Byte::Bits { number: 0, bits: 0 };

type Page = [Byte; PAGE as usize];

/// Pages that are found without a search, by the lower bits of their number.
const RECENT: usize = 64;

pub(crate) struct KnownMemory<'p> {
    program: &'p Program,
    shared: &'p Shared,
    /// Bytes of an address.
    pointer: u8,
    pages: Vec<Page>,
    /// By a page's number where it is among `pages`.
    places: HashMap<(Space, u64), usize>,
    recent: [Option<((Space, u64), usize)>; RECENT],
    pointers: HashMap<(Space, u64), i64>,
}

impl<'p> KnownMemory<'p> {
    pub fn new(program: &'p Program, shared: &'p Shared, pointer: u8) -> KnownMemory<'p> {
        let (pages, places, pointers) = (Vec::new(), HashMap::new(), HashMap::new());
        KnownMemory { program, shared, pointer, pages, places, recent: [None; RECENT], pointers }
    }

    pub fn load(&mut self, space: Space, address: u64, size: u8) -> Known {
        if size > 16 {
            return Known::NOTHING;
        }
        if size == self.pointer && *self.byte(space, address) == Byte::Pointer {
            if let Some(offset) = self.pointers.get(&(space, address)) {
                return Known::Stack(*offset);
            }
        }
        let (mut number, mut bits) = (0, 0);
        let mut take = |index: u8, byte: Byte| {
            if let Byte::Bits { number: of_byte, bits: of_bits } = byte {
                number |= u128::from(of_byte) << (8 * u32::from(index));
                bits |= u128::from(of_bits) << (8 * u32::from(index));
            }
        };
        let at = (address % PAGE) as usize;
        if at + usize::from(size) <= PAGE as usize {
            let page = self.page(space, address / PAGE);
            (0..size).for_each(|index| take(index, page[at + usize::from(index)]));
        } else {
            (0..size).for_each(|index| take(index, *self.byte(space, address.wrapping_add(index.into()))));
        }
        Known::Bits { number, bits }
    }

    /// False if that may write what is not tracked.
    pub fn store(&mut self, space: Space, address: u64, size: u8, value: Known) -> bool {
        let last = address.wrapping_add(u64::from(size) - 1);
        if space == Space::Absolute {
            if last < address {
                return false;
            }
            let mut segments = self.program.segments().iter();
            let writable = segments.any(|one| one.permissions.write && one.contains(address) && one.contains(last));
            if !writable {
                return false;
            }
        }
        let is_pointer = matches!(value, Known::Stack(_)) && size == self.pointer;
        let (number, bits) = if size > 16 { (0, 0) } else { value.bits() };
        for index in 0..size {
            let at = address.wrapping_add(index.into());
            let shift = 8 * u32::from(index);
            let byte = match is_pointer {
                _ if index >= 16 || space == Space::Absolute && self.shared.meets(at, at) => UNKNOWN,
                true => Byte::Pointer,
                false => Byte::Bits { number: (number >> shift) as u8, bits: (bits >> shift) as u8 },
            };
            if std::mem::replace(self.byte(space, at), byte) == Byte::Pointer {
                // One that begins before it, or here, is whole no more.
                for back in 0..u64::from(self.pointer) {
                    self.pointers.remove(&(space, at.wrapping_sub(back)));
                }
            }
        }
        if let (Known::Stack(offset), true) = (value, is_pointer) {
            self.pointers.insert((space, address), offset);
        }
        true
    }

    fn byte(&mut self, space: Space, address: u64) -> &mut Byte {
        &mut self.page(space, address / PAGE)[(address % PAGE) as usize]
    }

    /// What the file has there.
    fn loaded(&self, space: Space, address: u64) -> Byte {
        if space == Space::Stack || self.shared.meets(address, address) {
            return UNKNOWN;
        }
        let segment = self.program.segments().iter().find(|segment| segment.contains(address));
        segment.map_or(UNKNOWN, |segment| {
            let offset = usize::try_from(address - segment.address).ok();
            let number = offset.and_then(|offset| segment.bytes.get(offset)).copied().unwrap_or(0);
            Byte::Bits { number, bits: u8::MAX }
        })
    }

    fn page(&mut self, space: Space, number: u64) -> &mut Page {
        let (key, slot) = ((space, number), number as usize % RECENT);
        let place = match self.recent[slot] {
            Some((known, place)) if known == key => place,
            _ => {
                let place = self.places.get(&key).copied().unwrap_or_else(|| {
                    let first = number * PAGE;
                    self.pages.push(std::array::from_fn(|index| self.loaded(space, first + index as u64)));
                    self.places.insert(key, self.pages.len() - 1);
                    self.pages.len() - 1
                });
                self.recent[slot] = Some((key, place));
                place
            }
        };
        &mut self.pages[place]
    }
}
