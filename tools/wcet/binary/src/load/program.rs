//! The loaded program and the questions it answers. Knows nothing of file formats.

use crate::load::coding::{Coding, Codings, Mark};

/// An instruction set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    X86_64,
    /// ARM instructions of ARMv6 and ARMv7-A, and Thumb up to ARMv7-A and ARMv7-M, little-endian.
    Arm,
    /// RV64GC.
    RiscV64,
    /// RV32GC.
    RiscV32,
}

impl Architecture {
    /// Bytes of an address.
    pub fn pointer_size(self) -> u8 {
        match self {
            Architecture::X86_64 | Architecture::RiscV64 => 8,
            Architecture::Arm | Architecture::RiscV32 => 4,
        }
    }

    pub fn is_riscv(self) -> bool {
        matches!(self, Architecture::RiscV64 | Architecture::RiscV32)
    }

    /// What the address of each instruction is a multiple of.
    pub fn instruction_alignment(self) -> u64 {
        match self {
            Architecture::X86_64 => 1,
            Architecture::Arm | Architecture::RiscV64 | Architecture::RiscV32 => 2,
        }
    }

    /// Bytes that a return takes off the stack.
    pub fn popped_by_return(self) -> u8 {
        match self {
            Architecture::X86_64 => 8,
            Architecture::Arm | Architecture::RiscV64 | Architecture::RiscV32 => 0,
        }
    }

    /// The longest instruction, in bytes.
    pub fn longest_instruction(self) -> usize {
        match self {
            Architecture::X86_64 => 15,
            Architecture::Arm | Architecture::RiscV64 | Architecture::RiscV32 => 4,
        }
    }
}

/// What the page tables allow, as the file asks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Permissions {
    pub read: bool,
    pub write: bool,
    pub execute: bool,
}

/// A range of addresses with the bytes the file gives it; what lies between `bytes` and `size` is zero.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub address: u64,
    pub size: u64,
    pub bytes: Vec<u8>,
    pub permissions: Permissions,
}

impl Segment {
    pub fn contains(&self, address: u64) -> bool {
        address.checked_sub(self.address).is_some_and(|offset| offset < self.size)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SymbolKind {
    /// A function, or a label without type that other files may name.
    Function,
    /// A label without type that is local, as assembly has them inside routines.
    Label,
    Data,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub address: u64,
    /// Zero where the file does not say.
    pub size: u64,
    pub kind: SymbolKind,
}

/// A statically linked program; a position-independent one stands at address 0.
#[derive(Debug, Clone)]
pub struct Program {
    pub architecture: Architecture,
    pub entry: u64,
    /// In the order of their addresses, without overlap.
    pub(crate) segments: Vec<Segment>,
    /// In the order of their addresses; at one address functions come before labels.
    pub(crate) symbols: Vec<Symbol>,
    /// What is taken for granted about this file, in sentences for the report.
    pub assumptions: Vec<String>,
    /// First and last byte of what changes although the program may not write it: registers of devices in a read-only section.
    pub changing: Vec<(u64, u64)>,
    /// Of ARM.
    pub(super) codings: Codings,
}

impl Program {
    /// Bare code at `address`, without symbols; for ARM it is in ARM state.
    pub fn from_code(architecture: Architecture, address: u64, code: &[u8]) -> Program {
        let permissions = Permissions { read: true, write: false, execute: true };
        let segment = Segment { address, size: code.len() as u64, bytes: code.to_vec(), permissions };
        Program {
            architecture,
            entry: address,
            segments: vec![segment],
            symbols: Vec::new(),
            assumptions: Vec::new(),
            changing: Vec::new(),
            codings: Codings::default(),
        }
    }

    /// Bare Thumb code at `address`, without symbols.
    pub fn from_thumb_code(address: u64, code: &[u8]) -> Program {
        let mut program = Program::from_code(Architecture::Arm, address, code);
        program.codings = Codings::new([(address, Mark::Thumb)], &program.segments);
        program
    }

    /// How the bytes at `address` are read; only ARM has more than one way.
    pub fn coding(&self, address: u64) -> Coding {
        self.codings.at(address)
    }

    /// Whether some of the code is Thumb.
    pub fn has_thumb(&self) -> bool {
        self.codings.has_thumb()
    }

    /// Where a jump to `target` arrives, or why it arrives nowhere. On ARM the lowest bit is the state that the processor is in
    /// there.
    pub fn arrives(&self, target: u64) -> Result<u64, String> {
        let alignment = self.architecture.instruction_alignment();
        let address = if self.architecture == Architecture::Arm { target & !1 } else { target };
        if address % alignment != 0 || self.code(address, 1).is_none() {
            return Err("is no code".to_string());
        }
        if self.architecture != Architecture::Arm {
            return Ok(address);
        }
        self.arrives_in(address, target & 1 == 1).map(|()| address)
    }

    /// Whether control may go to an even address of ARM code by a transfer, in Thumb state or ARM state; else why not.
    pub fn arrives_in(&self, address: u64, thumb: bool) -> Result<(), String> {
        let why = match (self.coding(address), thumb) {
            (Coding::Arm, false) if address % 4 == 0 => return Ok(()),
            (Coding::Thumb { block: 0 }, true) => return Ok(()),
            (Coding::Arm, false) => "is no multiple of 4, where ARM code begins",
            (Coding::Arm, true) => "is ARM code, and is reached in Thumb state",
            (Coding::Thumb { .. }, false) => "is Thumb code, and is reached in ARM state",
            (Coding::Thumb { .. }, true) => "is within the block of an `it` instruction, where no transfer may go",
            (Coding::Half, _) => "is the second half of a Thumb instruction",
            (Coding::Data, _) => "is marked as data",
        };
        Err(why.to_string())
    }

    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    pub fn symbols(&self) -> &[Symbol] {
        &self.symbols
    }

    /// The bytes of code from `address` on, `length` of them or as many as there are.
    pub fn code(&self, address: u64, length: usize) -> Option<&[u8]> {
        let segment = self.segment(address).filter(|segment| segment.permissions.execute)?;
        let bytes = segment.bytes.get(usize::try_from(address - segment.address).ok()?..)?;
        (!bytes.is_empty()).then(|| &bytes[..length.min(bytes.len())])
    }

    /// The little-endian number of `size` bytes (at most 8) at `address`, if it never changes.
    pub fn constant(&self, address: u64, size: u8) -> Option<u64> {
        let segment = self.segment(address).filter(|segment| !segment.permissions.write)?;
        let offset = address - segment.address;
        if size > 8 || segment.size - offset < u64::from(size) {
            return None;
        }
        let last = address + u64::from(size.max(1) - 1);
        if self.changing.iter().any(|(from, to)| address <= *to && last >= *from) {
            return None;
        }
        let byte = |index: u64| usize::try_from(offset + index).ok().and_then(|at| segment.bytes.get(at)).copied();
        Some((0..u64::from(size)).rev().fold(0, |number, index| number << 8 | u64::from(byte(index).unwrap_or(0))))
    }

    /// The symbol named `name`; a function before a label before data.
    pub fn symbol(&self, name: &str) -> Option<&Symbol> {
        self.symbols.iter().filter(|symbol| symbol.name == name).min_by_key(|symbol| symbol.kind)
    }

    /// The code symbol at or before `address`, in the same segment.
    pub fn symbol_of(&self, address: u64) -> Option<&Symbol> {
        let segment = self.segment(address)?;
        let end = self.symbols.partition_point(|symbol| symbol.address <= address);
        let code = |symbol: &&Symbol| symbol.kind != SymbolKind::Data;
        let nearest = self.symbols[..end].iter().rev().find(code)?;
        if !segment.contains(nearest.address) {
            return None;
        }
        // Of several names for one address, the first: functions are sorted before labels.
        let start = self.symbols.partition_point(|symbol| symbol.address < nearest.address);
        self.symbols[start..end].iter().find(code)
    }

    /// Whether a function starts at `address`, by the symbols.
    pub fn is_function(&self, address: u64) -> bool {
        if self.code(address, 1).is_none() {
            return false;
        }
        let start = self.symbols.partition_point(|symbol| symbol.address < address);
        self.symbols[start..]
            .iter()
            .take_while(|symbol| symbol.address == address)
            .any(|symbol| symbol.kind == SymbolKind::Function)
    }

    /// `address` for people: `name+0x12`, or the bare number.
    pub fn describe(&self, address: u64) -> String {
        match self.symbol_of(address) {
            Some(symbol) if symbol.address == address => symbol.name.clone(),
            Some(symbol) => format!("{}+{:#x}", symbol.name, address - symbol.address),
            None => format!("{address:#x}"),
        }
    }

    fn segment(&self, address: u64) -> Option<&Segment> {
        let after = self.segments.partition_point(|segment| segment.address <= address);
        self.segments[..after].last().filter(|segment| segment.contains(address))
    }
}
