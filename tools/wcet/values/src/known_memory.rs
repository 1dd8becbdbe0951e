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

pub(crate) struct KnownMemory<'p> {
    program: &'p Program,
    shared: &'p Shared,
    /// Bytes of an address.
    pointer: u8,
    pages: HashMap<(Space, u64), Box<[Byte; PAGE as usize]>>,
    pointers: HashMap<(Space, u64), i64>,
}

impl<'p> KnownMemory<'p> {
    pub fn new(program: &'p Program, shared: &'p Shared, pointer: u8) -> KnownMemory<'p> {
        KnownMemory { program, shared, pointer, pages: HashMap::new(), pointers: HashMap::new() }
    }

    pub fn load(&self, space: Space, address: u64, size: u8) -> Known {
        if size == self.pointer && self.byte(space, address) == Byte::Pointer {
            if let Some(offset) = self.pointers.get(&(space, address)) {
                return Known::Stack(*offset);
            }
        }
        let mut known = Known::NOTHING;
        for index in 0..size.min(16) {
            if let Byte::Bits { number, bits } = self.byte(space, address.wrapping_add(index.into())) {
                known = known.insert(Known::Bits { number: number.into(), bits: bits.into() }, index, 1, size);
            }
        }
        known
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
        for index in 0..size {
            let at = address.wrapping_add(index.into());
            if self.byte(space, at) == Byte::Pointer {
                // One that begins before it, or here, is whole no more.
                for back in 0..u64::from(self.pointer) {
                    self.pointers.remove(&(space, at.wrapping_sub(back)));
                }
            }
            let byte = match value {
                Known::Stack(_) if size == self.pointer => Byte::Pointer,
                _ => match value.extract(index, size, 1) {
                    Known::Bits { number, bits } => Byte::Bits { number: number as u8, bits: bits as u8 },
                    Known::Stack(_) | Known::Minus(_) => UNKNOWN,
                },
            };
            let byte = if space == Space::Absolute && self.shared.meets(at, at) { UNKNOWN } else { byte };
            self.page(space, at / PAGE)[(at % PAGE) as usize] = byte;
        }
        if let (Known::Stack(offset), true) = (value, size == self.pointer) {
            self.pointers.insert((space, address), offset);
        }
        true
    }

    fn byte(&self, space: Space, address: u64) -> Byte {
        match self.pages.get(&(space, address / PAGE)) {
            Some(page) => page[(address % PAGE) as usize],
            None => self.loaded(space, address),
        }
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

    fn page(&mut self, space: Space, number: u64) -> &mut [Byte; PAGE as usize] {
        if !self.pages.contains_key(&(space, number)) {
            let first = number * PAGE;
            let page = std::array::from_fn(|index| self.loaded(space, first + index as u64));
            self.pages.insert((space, number), Box::new(page));
        }
        self.pages.entry((space, number)).or_insert_with(|| Box::new([UNKNOWN; PAGE as usize]))
    }
}
