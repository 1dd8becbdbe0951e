//! Reads an ELF file into a [`Program`].

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};
use object::Endianness;

use crate::load::coding::{Codings, Mark};
use crate::load::error::{Error, Problem};
use crate::load::program::{Architecture, Permissions, Program, Segment, Symbol, SymbolKind};
use crate::load::relocate::{relocate, Relocated};

impl Program {
    /// The program in `data`, or all that is wrong with it.
    pub fn parse(data: &[u8]) -> Result<Program, Vec<Error>> {
        match data.get(4) {
            Some(&class) if class == elf::ELFCLASS32.0 => read::<elf::FileHeader32<Endianness>>(data),
            _ => read::<elf::FileHeader64<Endianness>>(data),
        }
    }
}

fn error(place: impl Into<String>, problem: Problem) -> Error {
    Error { place: place.into(), problem }
}

fn malformed(place: &str) -> impl Fn(object::Error) -> Vec<Error> + '_ {
    move |cause| vec![error(place, Problem::Malformed(cause.to_string()))]
}

fn read<Elf: FileHeader<Endian = Endianness>>(data: &[u8]) -> Result<Program, Vec<Error>> {
    let header = Elf::parse(data).map_err(malformed("file header"))?;
    let endian = header.endian().map_err(malformed("file header"))?;
    let architecture = architecture(header, endian)?;
    let kind = match header.e_type(endian) {
        elf::ET_EXEC | elf::ET_DYN => Ok(()),
        elf::ET_REL => Err("not linked yet"),
        _ => Err("not an executable"),
    };
    kind.map_err(|kind| vec![error("file header", Problem::NotExecutable(kind))])?;

    let mut errors = Vec::new();
    let mut assumptions = Vec::new();
    let mut segments = segments(header, endian, data, architecture, &mut errors)?;
    let relocated = if header.e_type(endian) == elf::ET_DYN && errors.is_empty() {
        relocate(header, endian, data, architecture, &mut segments)?
    } else {
        Relocated::default()
    };
    assumptions.extend(relocated.assumptions);
    let found = match sections(header, endian, data) {
        Ok(found) => found,
        Err(fault) => {
            errors.push(fault);
            Default::default()
        }
    };
    segments = segments.into_iter().flat_map(|segment| split(segment, &found.sections, &mut assumptions)).collect();
    segments.sort_by_key(|segment| segment.address);
    if !segments.iter().any(|segment| segment.permissions.execute) {
        errors.push(error("program headers", Problem::NoCode));
    }
    let entry: u64 = header.e_entry(endian).into();
    let codings = if architecture == Architecture::Arm {
        Codings::new(marks(&found, entry, &segments), &segments)
    } else {
        Codings::default()
    };
    let (symbols, changing) = (found.symbols, relocated.changing);
    let mut program = Program { architecture, entry, segments, symbols, assumptions, changing, codings };
    if entry != 0 && errors.is_empty() {
        if program.code(entry & !1, 1).is_none() {
            errors.push(error("the entry point", Problem::EntryOutsideCode { address: entry }));
        } else if architecture == Architecture::Arm {
            match program.arrives(entry) {
                Ok(address) => program.entry = address,
                Err(why) => errors.push(error("the entry point", Problem::EntryState { address: entry, why })),
            }
        }
    }
    if errors.is_empty() {
        Ok(program)
    } else {
        Err(errors)
    }
}

fn architecture<Elf: FileHeader<Endian = Endianness>>(
    header: &Elf,
    endian: Endianness,
) -> Result<Architecture, Vec<Error>> {
    let machine = header.e_machine(endian);
    match (machine, header.is_class_64(), endian) {
        (elf::EM_X86_64, true, Endianness::Little) => Ok(Architecture::X86_64),
        (elf::EM_ARM, false, Endianness::Little) => Ok(Architecture::Arm),
        (elf::EM_RISCV, is_64, Endianness::Little) => {
            let has = |flag| header.e_flags(endian) & flag == flag;
            let other = match () {
                () if has(elf::EF_RISCV_RVE) => Some("RISC-V with 16 registers (RV32E, RV64E)"),
                () if has(elf::EF_RISCV_RV64ILP32) => Some("RISC-V of 64 bits with addresses of 32 (ILP32)"),
                () => None,
            };
            match other {
                Some(what) => Err(vec![error("file header", Problem::Architecture(what.to_string()))]),
                None if is_64 => Ok(Architecture::RiscV64),
                None => Ok(Architecture::RiscV32),
            }
        }
        _ => {
            let bits = if header.is_class_64() { 64 } else { 32 };
            let order = if endian == Endianness::Little { "little" } else { "big" };
            let what = format!("machine {} ({bits}-bit, {order}-endian)", u32::from(machine.0));
            Err(vec![error("file header", Problem::Architecture(what))])
        }
    }
}

fn segments<Elf: FileHeader<Endian = Endianness>>(
    header: &Elf,
    endian: Endianness,
    data: &[u8],
    architecture: Architecture,
    errors: &mut Vec<Error>,
) -> Result<Vec<Segment>, Vec<Error>> {
    let headers = header.program_headers(endian, data).map_err(malformed("program headers"))?;
    let mut segments: Vec<(String, Segment)> = Vec::new();
    for (index, segment) in headers.iter().enumerate() {
        if segment.p_type(endian) != elf::PT_LOAD || segment.p_memsz(endian).into() == 0 {
            continue;
        }
        let place = format!("segment {index}");
        let (offset, size) = (segment.p_offset(endian).into(), segment.p_filesz(endian).into());
        let (address, memory) = (segment.p_vaddr(endian).into(), segment.p_memsz(endian).into());
        let last = match architecture {
            Architecture::X86_64 | Architecture::RiscV64 => u64::MAX,
            Architecture::Arm | Architecture::RiscV32 => u64::from(u32::MAX),
        };
        let problem = if size > memory {
            Some(Problem::LargerThanMemory { file: size, memory })
        } else if address.checked_add(memory - 1).is_none_or(|end| end > last) {
            Some(Problem::WrapsAround { address, size: memory })
        } else {
            segments
                .iter()
                .find(|(_, other)| {
                    address <= other.address + (other.size - 1) && other.address <= address + (memory - 1)
                })
                .map(|(with, _)| Problem::Overlap { address, with: with.clone() })
        };
        if let Some(problem) = problem {
            errors.push(error(place, problem));
            continue;
        }
        let Ok(bytes) = segment.data(endian, data) else {
            errors.push(error(place, Problem::OutsideFile { offset, size, length: data.len() as u64 }));
            continue;
        };
        let flags = segment.p_flags(endian);
        let has = |flag| flags & flag == flag;
        let permissions = Permissions { read: has(elf::PF_R), write: has(elf::PF_W), execute: has(elf::PF_X) };
        segments.push((place, Segment { address, size: memory, bytes: bytes.to_vec(), permissions }));
    }
    Ok(segments.into_iter().map(|(_, segment)| segment).collect())
}

/// What a section says of its bytes.
struct Section {
    name: String,
    address: u64,
    size: u64,
    write: bool,
    execute: bool,
}

/// What sections and symbols say.
#[derive(Default)]
struct Sections {
    sections: Vec<Section>,
    symbols: Vec<Symbol>,
    /// Where ARM code, Thumb code and data in code begin.
    marks: Vec<(u64, Mark)>,
    /// Addresses of functions, with the bit that is 1 for Thumb.
    functions: Vec<u64>,
}

fn sections<Elf: FileHeader<Endian = Endianness>>(
    header: &Elf,
    endian: Endianness,
    data: &[u8],
) -> Result<Sections, Error> {
    let fault = |place: &'static str| move |cause: object::Error| error(place, Problem::Malformed(cause.to_string()));
    let table = header.sections(endian, data).map_err(fault("section headers"))?;
    let mut sections = Vec::new();
    for section in table.iter() {
        let flags = section.sh_flags(endian);
        let has = |flag| flags & flag == flag;
        if has(elf::SHF_ALLOC) {
            let name = table.section_name(endian, section).map_err(fault("section names"))?;
            sections.push(Section {
                name: String::from_utf8_lossy(name).into_owned(),
                address: section.sh_addr(endian).into(),
                size: section.sh_size(endian).into(),
                write: has(elf::SHF_WRITE),
                execute: has(elf::SHF_EXECINSTR),
            });
        }
    }
    let table = table.symbols(endian, data, elf::SHT_SYMTAB).map_err(fault("symbol table"))?;
    let (mut symbols, mut marks, mut functions) = (Vec::new(), Vec::new(), Vec::new());
    let is_arm = header.e_machine(endian) == elf::EM_ARM;
    for (index, symbol) in table.enumerate() {
        let kind = match symbol.st_type() {
            elf::STT_FUNC | elf::STT_GNU_IFUNC => SymbolKind::Function,
            // Assembly seldom says that its routines are functions.
            elf::STT_NOTYPE if symbol.st_bind() != elf::STB_LOCAL => SymbolKind::Function,
            elf::STT_NOTYPE => SymbolKind::Label,
            elf::STT_OBJECT => SymbolKind::Data,
            _ => continue,
        };
        let name = table
            .symbol_name(endian, symbol)
            .map_err(|cause| error(format!("symbol {}", index.0), Problem::Malformed(cause.to_string())))?;
        if let Some(mark) = Mark::named(name).filter(|_| symbol.st_type() == elf::STT_NOTYPE) {
            marks.push((symbol.st_value(endian).into(), mark));
        }
        // `$a`, `$d` and the like mark ranges of code and data; they name nothing. Nor do `.L` and what follows, labels that the
        // compiler made and that stay in files for RISC-V.
        if name.is_empty()
            || name.starts_with(b"$")
            || name.starts_with(b".L")
            || symbol.st_shndx(endian) == elf::SHN_UNDEF
        {
            continue;
        }
        let mut address: u64 = symbol.st_value(endian).into();
        if is_arm && matches!(symbol.st_type(), elf::STT_FUNC | elf::STT_GNU_IFUNC) {
            functions.push(address);
            address &= !1;
        }
        let size = symbol.st_size(endian).into();
        symbols.push(Symbol { name: String::from_utf8_lossy(name).into_owned(), address, size, kind });
    }
    symbols.sort_by(|a, b| (a.address, a.kind, &a.name).cmp(&(b.address, b.kind, &b.name)));
    Ok(Sections { sections, symbols, marks, functions })
}

/// Where ARM code, Thumb code and data begin in a file for ARM: without mapping symbols functions tell, without those the entry.
fn marks(sections: &Sections, entry: u64, segments: &[Segment]) -> Vec<(u64, Mark)> {
    match (sections.marks.is_empty(), sections.functions.is_empty()) {
        (false, _) => sections.marks.clone(),
        (true, false) => sections.functions.iter().map(|address| (*address, Mark::of(*address))).collect(),
        (true, true) => segments.iter().map(|segment| (segment.address, Mark::of(entry))).collect(),
    }
}

/// A segment that is writable and executable, cut along its sections; any other as it is.
fn split(segment: Segment, sections: &[Section], assumptions: &mut Vec<String>) -> Vec<Segment> {
    if !(segment.permissions.write && segment.permissions.execute) {
        return vec![segment];
    }
    let mut cut = Vec::new();
    let mut end = segment.address;
    let mut inside: Vec<&Section> =
        sections.iter().filter(|section| section.size > 0 && segment.contains(section.address)).collect();
    inside.sort_by_key(|section| section.address);
    for section in inside {
        let offset = section.address - segment.address;
        if section.address < end || section.size > segment.size - offset {
            continue;
        }
        end = section.address + (section.size - 1) + 1;
        if !section.write {
            assumptions.push(format!(
                "nothing writes to section {} at {:#x}, although its segment is writable",
                section.name, section.address
            ));
        }
        let bytes = segment.bytes.iter().skip(offset as usize).take(section.size as usize).copied().collect();
        let permissions = Permissions { read: true, write: section.write, execute: section.execute && !section.write };
        cut.push(Segment { address: section.address, size: section.size, bytes, permissions });
    }
    cut
}
