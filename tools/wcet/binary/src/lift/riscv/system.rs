//! The explicit list of RISC-V instructions that do more than compute, and how each is treated (The RISC-V Instruction Set
//! Manual, volume II).
//!
//! Their lifted semantics are dropped: the registers named here become unknown, and so does all writable memory where the
//! list says so. What is not listed and does more than compute is an error.

use crate::lift::error::Problem;
use crate::lift::il::{Flow, Kind};

use super::decode::{bits, rd, rs1, rs2};

pub(crate) struct System {
    pub kind: Kind,
    pub flow: Flow,
    pub memory: bool,
    pub registers: Registers,
}

/// Registers that become unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Registers {
    None,
    One(u32),
    AllButStackPointer,
}

/// Fences, and what changes only the processor's state.
pub(crate) fn nothing() -> System {
    System { kind: Kind::System, flow: Flow::Next, memory: false, registers: Registers::None }
}

/// The treatment of an instruction whose opcode is SYSTEM; None: it raises an exception wherever it is executed.
pub(crate) fn treatment(word: u32) -> Result<Option<System>, Problem> {
    let unsupported = |what: &str| Err(Problem::Unsupported(what.to_string()));
    let goes = |flow| Some(System { flow, ..nothing() });
    let function = bits(word, 14, 12);
    if !matches!(function, 0 | 4) {
        // `csrrs` and `csrrc` write unless their operand is register or number 0.
        let writes = function & 3 == 1 || rs1(word) != 0;
        let read_only = bits(word, 31, 30) == 3;
        return Ok((!(writes && read_only)).then(|| match rd(word) {
            0 => nothing(),
            to => System { registers: Registers::One(to), ..nothing() },
        }));
    }
    Ok(match (function, bits(word, 31, 25), rs2(word), rs1(word), rd(word)) {
        // In a user program: the kernel may give back any register but the stack pointer, and write the program's memory.
        (0, 0, 0, 0, 0) => Some(System { memory: true, registers: Registers::AllButStackPointer, ..nothing() }),
        (0, 0, 1, 0, 0) => goes(Flow::Trap),
        // uret, sret, mret; dret.
        (0, 0 | 8 | 0x18, 2, 0, 0) | (0, 0x3d, 0x12, 0, 0) => goes(Flow::Leave),
        (0, 8, 5, 0, 0) => Some(System { kind: Kind::Wait, ..nothing() }),
        // sfence.vma
        (0, 9, _, _, 0) => Some(nothing()),
        (4, ..) => return unsupported("hypervisor load or store"),
        _ => return unsupported("system instruction"),
    })
}
