//! Position-independent executables that need no other file: what their relocations put into memory, for the load address 0.
//!
//! A start-up routine or a loader makes the same changes before the program's own code runs, and, where the file says so
//! (`PT_GNU_RELRO`), nothing writes to what it has changed afterwards.

use object::elf;
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::Endianness;

use crate::load::error::{Error, Problem};
use crate::load::program::{Architecture, Segment};

/// What is left to know of a program once its relocations are made.
#[derive(Debug, Default)]
pub(super) struct Relocated {
    /// First and last byte of words that a function of the program chooses at its start.
    pub changing: Vec<(u64, u64)>,
    pub assumptions: Vec<String>,
}

/// Entries of the dynamic section that matter here.
#[derive(Debug, Default)]
struct Dynamic {
    is_executable: bool,
    needs_others: bool,
    /// Address, size, and whether each entry holds what is added.
    tables: Vec<(u64, u64, bool)>,
}

fn error(problem: Problem) -> Vec<Error> {
    vec![Error { place: "relocations".to_string(), problem }]
}

pub(super) fn relocate<Elf: FileHeader<Endian = Endianness>>(
    header: &Elf,
    endian: Endianness,
    data: &[u8],
    architecture: Architecture,
    segments: &mut Vec<Segment>,
) -> Result<Relocated, Vec<Error>> {
    let malformed = |cause: object::Error| error(Problem::Malformed(cause.to_string()));
    let headers = header.program_headers(endian, data).map_err(malformed)?;
    let mut dynamic = Dynamic::default();
    let mut kept = Vec::new();
    for one in headers {
        if one.p_type(endian) == elf::PT_INTERP {
            return Err(error(Problem::NotExecutable("linked to shared libraries")));
        }
        if one.p_type(endian) == elf::PT_GNU_RELRO {
            kept.push((one.p_vaddr(endian).into(), one.p_memsz(endian).into()));
        }
        if let Some(entries) = one.dynamic(endian, data).map_err(malformed)? {
            dynamic = read(entries, endian);
        }
    }
    if !dynamic.is_executable || dynamic.needs_others {
        return Err(error(Problem::NotExecutable("a shared library, or needs one")));
    }
    let mut relocated = Relocated::default();
    for table in dynamic.tables {
        apply(table, architecture, segments, &mut relocated)?;
    }
    relocated.assumptions.push("it is loaded at address 0, or where caches put it into the same sets".to_string());
    for (address, size) in kept {
        keep(segments, address, size, &mut relocated.assumptions);
    }
    Ok(relocated)
}

fn read<D: Dyn<Endian = Endianness>>(entries: &[D], endian: Endianness) -> Dynamic {
    let value = |tag| {
        let found = entries.iter().find(|entry| entry.d_tag(endian) == tag);
        found.map(|entry| -> u64 { entry.d_val(endian).into() })
    };
    let mut dynamic = Dynamic {
        is_executable: value(elf::DT_FLAGS_1).is_some_and(|flags| flags & elf::DF_1_PIE.0 != 0),
        needs_others: value(elf::DT_NEEDED).is_some(),
        tables: Vec::new(),
    };
    let by_procedure = value(elf::DT_PLTREL).is_some_and(|tag| tag == elf::DT_RELA.0 as u64);
    // Relative ones in the packed form (DT_RELR) add 0 to what is there.
    for (address, size, has_addend) in [
        (elf::DT_RELA, elf::DT_RELASZ, true),
        (elf::DT_REL, elf::DT_RELSZ, false),
        (elf::DT_JMPREL, elf::DT_PLTRELSZ, by_procedure),
    ] {
        if let (Some(address), Some(size)) = (value(address), value(size)) {
            dynamic.tables.push((address, size, has_addend));
        }
    }
    dynamic
}

/// Makes the relocations of one table.
fn apply(
    (address, size, has_addend): (u64, u64, bool),
    architecture: Architecture,
    segments: &mut [Segment],
    relocated: &mut Relocated,
) -> Result<(), Vec<Error>> {
    let width = u64::from(architecture.pointer_size());
    let length = width * if has_addend { 3 } else { 2 };
    let table = bytes(segments, address, size).ok_or_else(|| error(Problem::RelocationsOutside { address }))?.to_vec();
    for entry in table.chunks_exact(length as usize) {
        let words: Vec<u64> = entry.chunks_exact(width as usize).map(number).collect();
        let (at, info) = (words[0], words[1]);
        let kind = if width == 8 { info as u32 } else { info as u32 & 0xff };
        let symbol = if width == 8 { info >> 32 } else { info >> 8 };
        let (relative, chosen) = kinds(architecture);
        if kind == 0 {
            continue;
        }
        if symbol != 0 || !(kind == relative || kind == chosen) {
            return Err(error(Problem::Relocation { address: at, kind }));
        }
        let last = at.checked_add(width - 1).ok_or_else(|| error(Problem::RelocationsOutside { address: at }))?;
        let segment = segments.iter_mut().find(|segment| segment.contains(at) && segment.contains(last));
        let segment = segment.ok_or_else(|| error(Problem::RelocationsOutside { address: at }))?;
        if kind == chosen {
            relocated.changing.push((at, last));
        } else if let Some(addend) = words.get(2) {
            let from = (at - segment.address) as usize;
            let to = from + width as usize;
            // Where the file has no bytes there is nothing to relocate.
            let word = segment.bytes.get_mut(from..to);
            let word = word.ok_or_else(|| error(Problem::RelocationsOutside { address: at }))?;
            word.copy_from_slice(&addend.to_le_bytes()[..width as usize]);
        }
    }
    Ok(())
}

/// The kinds that add the load address, and that ask a function of the program.
fn kinds(architecture: Architecture) -> (u32, u32) {
    match architecture {
        Architecture::X86_64 => (elf::R_X86_64_RELATIVE.0, elf::R_X86_64_IRELATIVE.0),
        Architecture::Arm => (elf::R_ARM_RELATIVE.0, elf::R_ARM_IRELATIVE.0),
        Architecture::RiscV64 | Architecture::RiscV32 => (elf::R_RISCV_RELATIVE.0, elf::R_RISCV_IRELATIVE.0),
    }
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn bytes(segments: &[Segment], address: u64, size: u64) -> Option<&[u8]> {
    let segment = segments.iter().find(|segment| segment.contains(address))?;
    let from = usize::try_from(address - segment.address).ok()?;
    segment.bytes.get(from..from.checked_add(usize::try_from(size).ok()?)?)
}

/// Makes what nothing writes to after the start a segment of its own.
fn keep(segments: &mut Vec<Segment>, address: u64, size: u64, assumptions: &mut Vec<String>) {
    let Some(last) = size.checked_sub(1).and_then(|size| address.checked_add(size)) else { return };
    let found = segments.iter().position(|segment| segment.contains(address) && segment.contains(last));
    let Some(index) = found.filter(|index| segments[*index].permissions.write) else { return };
    assumptions
        .push(format!("nothing writes to {address:#x} to {last:#x} once the program has started (PT_GNU_RELRO)"));
    let whole = segments.remove(index);
    let mut part = |from: u64, size: u64, write: bool| {
        if size > 0 {
            let start = ((from - whole.address) as usize).min(whole.bytes.len());
            let end = (start + size as usize).min(whole.bytes.len());
            let bytes = whole.bytes[start..end].to_vec();
            let mut permissions = whole.permissions;
            permissions.write = write;
            segments.push(Segment { address: from, size, bytes, permissions });
        }
    };
    part(whole.address, address - whole.address, true);
    part(address, size, false);
    // What is behind it, which may end where addresses do.
    let behind = whole.size - (address - whole.address) - size;
    if behind > 0 {
        part(last + 1, behind, true);
    }
    segments.sort_by_key(|segment| segment.address);
}
