//! SLEIGH, Ghidra's description of instruction sets: raw semantics of one instruction.

use std::collections::BTreeMap;

use crate::load::Program;
use libsla::{Address, AddressSpace, AddressSpaceId, InstructionLoader, PcodeInstruction, Sleigh, VarnodeData};

use crate::lift::error::SetupError;
use crate::lift::il::Register;
use crate::lift::register::Registers;
use crate::lift::specification::{Specification, SPECIFICATION_OF_THUMB};

pub(crate) struct Semantics<'p> {
    program: &'p Program,
    sleigh: Specification,
    code: AddressSpace,
    /// Tracked registers: offset in SLEIGH's register space -> register and its size.
    pub registers: BTreeMap<u64, (Register, u8)>,
    pub spaces: Spaces,
    /// Whether vector registers are among the tracked ones.
    pub vectors: bool,
}

/// How to tell SLEIGH's spaces apart.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Spaces {
    pub memory: AddressSpaceId,
    pub register: AddressSpaceId,
}

struct Bytes<'p>(&'p Program);

impl InstructionLoader for Bytes<'_> {
    fn load_instruction_bytes(&self, source: &VarnodeData) -> Result<Vec<u8>, String> {
        let bytes = self.0.code(source.address.offset, source.size);
        bytes.map(<[u8]>::to_vec).ok_or_else(|| "no code".to_string())
    }
}

impl<'p> Semantics<'p> {
    /// Of ARM's second instruction set.
    pub fn of_thumb(program: &'p Program) -> Result<Semantics<'p>, SetupError> {
        let specification = Specification::read(&SPECIFICATION_OF_THUMB)?;
        Semantics::load(program, Registers::of(program.architecture), specification)
    }

    /// That give values to these registers.
    pub fn new(program: &'p Program, registers: Registers) -> Result<Semantics<'p>, SetupError> {
        Semantics::load(program, registers, Specification::of(program.architecture)?)
    }

    fn load(program: &'p Program, table: Registers, sleigh: Specification) -> Result<Semantics<'p>, SetupError> {
        let fault = |cause: libsla::Error| SetupError(cause.to_string());
        let mut registers = BTreeMap::new();
        let mut space = None;
        for register in table.all() {
            let found = sleigh.register_from_name(table.name(register)).map_err(fault)?;
            let size = table.value(register).size;
            if found.size != usize::from(size) {
                return Err(SetupError(format!("register {} has {} bytes", table.name(register), found.size)));
            }
            space = Some(found.address.address_space.id);
            registers.insert(found.address.offset, (register, size));
        }
        let code = sleigh.default_code_space();
        let register = space.ok_or_else(|| SetupError("no registers".to_string()))?;
        let spaces = Spaces { memory: code.id, register };
        let vectors = table.named("XMM0").is_some();
        Ok(Semantics { program, sleigh, code, registers, spaces, vectors })
    }

    /// The semantics of the instruction at `address` and its length.
    pub fn raw(&self, address: u64) -> Result<(Vec<PcodeInstruction>, usize), String> {
        let at = Address::new(self.code.clone(), address);
        let found = self.sleigh.disassemble_pcode(&Bytes(self.program), at).map_err(|cause| cause.to_string())?;
        Ok((found.instructions, found.origin.size))
    }

    /// The instruction for people: its name and its operands.
    pub fn text(&self, address: u64) -> Result<(String, String), String> {
        let at = Address::new(self.code.clone(), address);
        let found = self.sleigh.disassemble_native(&Bytes(self.program), at).map_err(|cause| cause.to_string())?;
        Ok((found.instruction.mnemonic, found.instruction.body))
    }
}
