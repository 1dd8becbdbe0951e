//! Programs: static ELF executables, as segments on page bounds.

use super::{abi_note, Flaw};
use crate::codes::Code;
use crate::layout::*;
use object::elf::{self, FileHeader64, ProgramHeader64};
use object::read::elf::{FileHeader, ProgramHeader};
use object::Endianness;

const RELINK: &str = "link it with user/libc/link.ld, which keeps code, constants and data on pages of their own";
const REBUILD: &str = "build it again, as a static executable for x86-64";

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Program {
    pub entry: u64,
    /// In the order of their addresses.
    pub segments: Vec<Segment>,
}

/// A segment as it lies in memory: whole pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub vaddr: u64,
    /// Bytes, a multiple of the page size.
    pub memory_size: u64,
    /// What its first bytes hold; the rest is zero.
    pub contents: Vec<u8>,
    pub prot: u32,
    /// Needs frames of its own, because it is written or has pages that the file does not hold; else the image's
    /// frames serve every process that runs the program.
    pub copied: bool,
}

impl Segment {
    fn end(&self) -> u64 {
        self.vaddr + self.memory_size
    }
}

/// The program in `bytes` and what is wrong with the interface that it was built for; or everything that is wrong with the file.
pub fn parse(bytes: &[u8]) -> Result<(Program, Option<Flaw>), Vec<Flaw>> {
    let damaged = |reason: &str| {
        let message = format!("not a usable program: {reason}");
        vec![Flaw { code: Code::DamagedProgram, message, remedy: REBUILD }]
    };
    match object::FileKind::parse(bytes) {
        Ok(object::FileKind::Elf64) => {}
        Ok(object::FileKind::Elf32) => return Err(damaged("it is not for x86-64")),
        _ => return Err(damaged("it is no ELF file")),
    }
    let header = FileHeader64::<Endianness>::parse(bytes).map_err(|error| damaged(&error.to_string()))?;
    let endian = header.endian().map_err(|error| damaged(&error.to_string()))?;
    if endian != Endianness::Little || header.e_machine(endian) != elf::EM_X86_64 {
        return Err(damaged("it is not for x86-64"));
    }
    if header.e_type(endian) != elf::ET_EXEC {
        return Err(damaged("it is not a static executable"));
    }
    let headers = header.program_headers(endian, bytes).map_err(|error| damaged(&error.to_string()))?;
    let needs_linker = |header: &&ProgramHeader64<Endianness>| header.p_type(endian) == elf::PT_INTERP;
    if headers.iter().any(|header| needs_linker(&header)) {
        return Err(damaged("it needs a dynamic linker, and there is none"));
    }
    let mut flaws = Vec::new();
    let mut segments = Vec::new();
    for header in headers.iter().filter(|header| header.p_type(endian) == elf::PT_LOAD) {
        match segment(header, endian, bytes) {
            Ok(Some(segment)) => segments.push(segment),
            Ok(None) => {}
            Err(flaw) => flaws.push(flaw),
        }
    }
    segments.sort_by_key(|segment| segment.vaddr);
    places(&segments, &mut flaws);
    let entry = header.e_entry(endian);
    let runs = |segment: &Segment| segment.prot & PROT_EXEC != 0 && (segment.vaddr..segment.end()).contains(&entry);
    if flaws.is_empty() && !segments.iter().any(runs) {
        return Err(damaged("its entry point is in no executable segment"));
    }
    if flaws.is_empty() {
        Ok((Program { entry, segments }, abi_note::flaw(headers, endian, bytes)))
    } else {
        Err(flaws)
    }
}

fn segment(header: &ProgramHeader64<Endianness>, endian: Endianness, bytes: &[u8]) -> Result<Option<Segment>, Flaw> {
    let damaged = |message: &str| Flaw { code: Code::DamagedProgram, message: message.into(), remedy: REBUILD };
    let (vaddr, size) = (header.p_vaddr(endian), header.p_memsz(endian));
    if size == 0 {
        return Ok(None);
    }
    let data = header.data(endian, bytes).map_err(|()| damaged("not a usable program: it is cut off"))?;
    if data.len() as u64 > size {
        return Err(damaged("not a usable program: a segment holds more bytes than it has room"));
    }
    let end = vaddr.checked_add(size).filter(|end| *end <= USER_END && vaddr >= USER_BASE);
    let Some(end) = end else {
        let message = format!("a segment at {vaddr:#x} lies outside the addresses of programs");
        return Err(Flaw { code: Code::SegmentPlace, message, remedy: RELINK });
    };
    let flags = header.p_flags(endian);
    let mut prot = PROT_READ;
    if flags.contains(elf::PF_W) {
        prot |= PROT_WRITE;
    }
    if flags.contains(elf::PF_X) {
        prot |= PROT_EXEC;
    }
    if prot & PROT_WRITE != 0 && prot & PROT_EXEC != 0 {
        let message = format!("the segment at {vaddr:#x} is writable and executable");
        return Err(Flaw { code: Code::WritableCode, message, remedy: RELINK });
    }
    let first_page = vaddr / PAGE_SIZE * PAGE_SIZE;
    let mut contents = vec![0; (vaddr - first_page) as usize];
    contents.extend_from_slice(data);
    let memory_size = end.next_multiple_of(PAGE_SIZE) - first_page;
    if memory_size > NUM_FRAME * PAGE_SIZE {
        return Err(damaged("not a usable program: a segment is larger than all memory"));
    }
    let in_file = (contents.len() as u64).next_multiple_of(PAGE_SIZE);
    let copied = prot & PROT_WRITE != 0 || in_file < memory_size;
    Ok(Some(Segment { vaddr: first_page, memory_size, contents, prot, copied }))
}

/// Segments share no page with each other, nor with the areas of the tool.
fn places(segments: &[Segment], flaws: &mut Vec<Flaw>) {
    for pair in segments.windows(2) {
        if pair[0].end() > pair[1].vaddr {
            let message = format!("the segments at {:#x} and {:#x} share a page", pair[0].vaddr, pair[1].vaddr);
            flaws.push(Flaw { code: Code::Overlap, message, remedy: RELINK });
        }
    }
    for segment in segments.iter().filter(|segment| segment.end() > FILE_VADDR) {
        let message = format!(
            "the segment at {:#x} reaches into the area of files, stack, environment and messages, from {FILE_VADDR:#x}",
            segment.vaddr
        );
        flaws.push(Flaw { code: Code::SegmentPlace, message, remedy: RELINK });
    }
}
