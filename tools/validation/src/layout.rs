//! Where the objects of the terms are in the image.
//!
//! Any layout that is consistent is as good as any other: all functions are validated against the same one. What is checked is
//! that it is one: each object has exactly the bytes that its fields need, is aligned, begins as the C says, and shares no byte
//! with another. An object that is not found, or fails a check, has no place: code that touches it is refused.

use wcet_binary::load::{Program as Loaded, SymbolKind};

use crate::program::Program;

/// `DIRECT_MAP` of layout.h: where the kernel sees physical memory.
pub const DIRECT_MAP: u64 = 0xffff_8000_0000_0000;
/// `NUM_ATOMIC_CELL` of arch.h, and the bytes from one to the next.
pub const ATOMIC_CELLS: u64 = 32768;
pub const ATOMIC_STRIDE: u64 = 64;

/// Where an object is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    At(u64),
    /// This CPU's record, by the segment register.
    PerCpu,
    Nowhere,
}

#[derive(Debug, Default)]
pub struct Layout {
    /// Of each object.
    pub places: Vec<Place>,
    /// First byte, byte after the last, object; in the order of addresses.
    ranges: Vec<(u64, u64, usize)>,
    pub atomic_cells: Option<u64>,
    /// Objects without a place, and why.
    pub problems: Vec<(String, String)>,
}

impl Layout {
    pub fn new(image: &Loaded, program: &Program) -> Layout {
        let mut layout = Layout::default();
        for (number, object) in program.objects.iter().enumerate() {
            let size = object.stride * object.count;
            let place = match object.name.as_str() {
                "percpu" => Ok(Place::PerCpu),
                "frame" => Ok(Place::At(DIRECT_MAP)),
                name if program.ambiguous.contains(name) => Err("several objects have this name".to_string()),
                "percpu_records" => found(image, "percpu", size).map(Place::At),
                // Two objects of one name and size, which the linker numbers.
                "amdvi_unit" => found(image, "unit.lto_priv.0", size).map(Place::At),
                "vtd_unit" => found(image, "unit.lto_priv.1", size).map(Place::At),
                "amdvi_waits" => found(image, "waits.lto_priv.0", size).map(Place::At),
                "vtd_waits" => found(image, "waits.lto_priv.1", size).map(Place::At),
                "amdvi_done" | "vtd_done" => found(image, "done", size).map(Place::At),
                name => found(image, name, size).map(Place::At),
            };
            let place = place.and_then(|place| match place {
                Place::At(at) if object.name != "frame" => checked(image, program, number, at, size).map(|()| place),
                _ => Ok(place),
            });
            match place {
                Ok(Place::At(at)) => {
                    layout.ranges.push((at, at + size, number));
                    layout.places.push(Place::At(at));
                }
                Ok(place) => layout.places.push(place),
                Err(why) => {
                    layout.places.push(Place::Nowhere);
                    layout.problems.push((object.name.clone(), why));
                }
            }
        }
        if let Ok(cells) = found(image, "cells", ATOMIC_CELLS * ATOMIC_STRIDE) {
            if cells % ATOMIC_STRIDE == 0 {
                layout.atomic_cells = Some(cells);
                layout.ranges.push((cells, cells + ATOMIC_CELLS * ATOMIC_STRIDE, usize::MAX));
            }
        }
        layout.ranges.sort_unstable();
        layout.remove_overlaps(program);
        layout
    }

    /// Of objects that share bytes none has a place.
    fn remove_overlaps(&mut self, program: &Program) {
        let pairs = self.ranges.windows(2).filter(|pair| pair[0].1 > pair[1].0);
        let mut bad: Vec<usize> = pairs.flat_map(|pair| [pair[0].2, pair[1].2]).collect();
        bad.dedup();
        self.ranges.retain(|range| !bad.contains(&range.2));
        for number in bad {
            if number == usize::MAX {
                self.atomic_cells = None;
            } else {
                self.places[number] = Place::Nowhere;
                self.problems.push((program.objects[number].name.clone(), "it shares bytes with another".to_string()));
            }
        }
    }

    /// Where an object begins.
    pub fn address(&self, program: &Program, name: &str) -> Option<u64> {
        let number = program.objects.iter().position(|object| object.name == name)?;
        match self.places[number] {
            Place::At(at) => Some(at),
            Place::PerCpu | Place::Nowhere => None,
        }
    }

    /// The object at an address, with its start; no object number for the atomic cells.
    pub fn at(&self, address: u64) -> Option<(u64, Option<usize>)> {
        let after = self.ranges.partition_point(|range| range.0 <= address);
        let (start, end, number) = *self.ranges[..after].last()?;
        (address < end).then_some((start, (number != usize::MAX).then_some(number)))
    }
}

/// The data symbol of this name, or of this name with a number that the linker gave, with exactly this size.
fn found(image: &Loaded, name: &str, size: u64) -> Result<u64, String> {
    let is_number = |rest: &str| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit());
    let is_named = |symbol: &str| {
        let Some(rest) = symbol.strip_prefix(name) else { return false };
        rest.is_empty() || rest.strip_prefix(".lto_priv.").or(rest.strip_prefix('.')).is_some_and(is_number)
    };
    let named: Vec<_> =
        image.symbols().iter().filter(|one| one.kind == SymbolKind::Data && is_named(&one.name)).collect();
    let fitting: Vec<_> = named.iter().filter(|symbol| symbol.size == size).collect();
    match (named.len(), fitting.as_slice()) {
        (0, _) => Err("the image has no such symbol".to_string()),
        (_, []) => Err(format!("the symbol has {} bytes, its fields need {size}", named[0].size)),
        (_, [one]) => Ok(one.address),
        _ => Err("several symbols have this name and size".to_string()),
    }
}

/// Alignment, and contents when the kernel starts.
fn checked(image: &Loaded, program: &Program, number: usize, at: u64, size: u64) -> Result<(), String> {
    let object = &program.objects[number];
    let widest = object.cells.iter().map(|cells| u64::from(program.cells[*cells].width / 8)).max().unwrap_or(1);
    if at % widest != 0 {
        return Err(format!("it is not aligned to {widest} bytes"));
    }
    let segment = image.segments().iter().find(|segment| segment.contains(at));
    let Some(segment) = segment.filter(|segment| size <= segment.size - (at - segment.address)) else {
        return Err("it is outside all segments".to_string());
    };
    if segment.permissions.execute {
        return Err("it is executable".to_string());
    }
    let Some(initial) = &object.initial else { return Ok(()) };
    let start = (at - segment.address) as usize;
    let byte = |index: u64| segment.bytes.get(start + index as usize).copied().unwrap_or(0);
    let written: u64 = initial
        .iter()
        .map(|(at, bytes, value)| {
            (0..*bytes).filter(|index| byte(at + index) != (value >> (8 * index)) as u8).count() as u64
        })
        .sum();
    if written > 0 {
        return Err("it does not begin as the C says".to_string());
    }
    let said: std::collections::HashSet<u64> = initial.iter().flat_map(|(at, bytes, _)| *at..at + bytes).collect();
    let stored = (segment.bytes.len() as u64).saturating_sub(start as u64).min(size);
    if (0..stored).any(|index| byte(index) != 0 && !said.contains(&index)) {
        return Err("it does not begin with zeros where the C says so".to_string());
    }
    Ok(())
}
