//! Which of ARM's two instruction sets the bytes of code belong to.
//!
//! A processor has a state: ARM or Thumb, and within the block of an `it` instruction what is left of that block. Here every
//! address has one state at most, told from the file; the analysis of control flow compares it with the processor's, transfer
//! by transfer. So a symbol that lies makes a refusal, never a wrong reading: each instruction that is reached is read in the
//! state in which the processor arrives there.
//!
//! The marks are the mapping symbols (`$a`, `$t`, `$d`). Without any, the lowest bit of functions' addresses tells, and that of
//! the entry point in a file without functions. From each mark on, Thumb instructions follow one another, so that the places
//! where they begin, and the blocks, are known.

use std::collections::{BTreeMap, BTreeSet};

use crate::load::program::Segment;

/// How the processor reads what is at an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    Arm,
    /// The state of the block, as the manual has it in ITSTATE: 0 outside of one.
    Thumb {
        block: u8,
    },
    /// The second half of a Thumb instruction.
    Half,
    Data,
}

/// What a mark says of the bytes behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    Data,
    Arm,
    Thumb,
}

impl Mark {
    /// The mark that a symbol is, if it is one.
    pub fn named(name: &[u8]) -> Option<Mark> {
        let (first, rest) = name.split_at_checked(2)?;
        let mark = match first {
            b"$a" => Mark::Arm,
            b"$t" => Mark::Thumb,
            b"$d" => Mark::Data,
            _ => return None,
        };
        (rest.is_empty() || rest.starts_with(b".")).then_some(mark)
    }

    /// The mark that a function's address is.
    pub fn of(address: u64) -> Mark {
        if address & 1 == 1 {
            Mark::Thumb
        } else {
            Mark::Arm
        }
    }
}

#[derive(Debug, Clone, Default)]
pub(super) struct Codings {
    marks: BTreeMap<u64, Mark>,
    blocks: BTreeMap<u64, u8>,
    halves: BTreeSet<u64>,
}

/// Whether a Thumb instruction that begins with `half` has a second half.
pub(crate) fn is_wide(half: u16) -> bool {
    half >> 11 > 0x1c
}

/// Whether it is `it`: a hint has no mask.
pub(crate) fn begins_block(half: u16) -> bool {
    half >> 8 == 0xbf && half & 0xf != 0
}

/// The block's state behind an instruction of it.
pub(crate) fn advance(block: u8) -> u8 {
    if block & 7 == 0 {
        0
    } else {
        block & 0xe0 | block << 1 & 0x1f
    }
}

impl Codings {
    /// What the marks say. Of two at one address that of code counts: data without bytes may stand before it.
    pub fn new(marks: impl IntoIterator<Item = (u64, Mark)>, segments: &[Segment]) -> Codings {
        let mut codings = Codings::default();
        for (address, mark) in marks {
            let known = codings.marks.entry(address & !1).or_insert(mark);
            *known = mark.max(*known);
        }
        let starts: Vec<(u64, Mark)> = codings.marks.iter().map(|(address, mark)| (*address, *mark)).collect();
        for (index, (start, mark)) in starts.iter().enumerate() {
            let segment = segments.iter().find(|segment| segment.permissions.execute && segment.contains(*start));
            let Some(segment) = segment.filter(|_| *mark == Mark::Thumb) else { continue };
            let last = segment.address + segment.bytes.len() as u64;
            let end = starts.get(index + 1).map_or(last, |(next, _)| last.min(*next));
            codings.sweep(segment, *start, end);
        }
        codings
    }

    /// Reads the instructions from `start` on, up to `end`.
    fn sweep(&mut self, segment: &Segment, start: u64, end: u64) {
        let (mut address, mut block) = (start, 0);
        while address < end {
            let at = (address - segment.address) as usize;
            let Some(half) = segment.bytes.get(at..at + 2) else { return };
            let half = u16::from_le_bytes([half[0], half[1]]);
            if block != 0 {
                self.blocks.insert(address, block);
            }
            // One within a block has no meaning, and is refused where it is reached.
            block = if begins_block(half) && block == 0 { half as u8 } else { advance(block) };
            address += 2;
            if is_wide(half) {
                if address < end {
                    self.halves.insert(address);
                }
                address += 2;
            }
        }
    }

    /// Whether any code is Thumb.
    pub fn has_thumb(&self) -> bool {
        self.marks.values().any(|mark| *mark == Mark::Thumb)
    }

    /// How the bytes at an even address are read.
    pub fn at(&self, address: u64) -> Coding {
        match self.marks.range(..=address).next_back().map_or(Mark::Arm, |(_, mark)| *mark) {
            Mark::Arm => Coding::Arm,
            Mark::Data => Coding::Data,
            Mark::Thumb if self.halves.contains(&address) => Coding::Half,
            Mark::Thumb => Coding::Thumb { block: self.blocks.get(&address).copied().unwrap_or(0) },
        }
    }
}
