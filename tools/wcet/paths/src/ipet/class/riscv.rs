//! Classes of RISC-V instructions, by their encoding (The RISC-V Instruction Set Manual, volumes I and II). The lifter has
//! refused what is not described there.

use wcet_binary::lift::il::Flow;
use wcet_binary::lift::{riscv, Instruction};
use wcet_binary::load::Architecture;
use wcet_hardware::machine::Class;

use super::Sort;

/// Control and status registers.
const SSTATUS: u32 = 0x100;
const SATP: u32 = 0x180;
const MSTATUS: u32 = 0x300;

pub(super) fn sort(architecture: Architecture, instruction: &Instruction) -> Result<Sort, String> {
    match instruction.flow {
        Flow::Leave => return Ok(Sort::of(Class::ExceptionReturn)),
        Flow::Trap => return Ok(Sort::of(Class::ExceptionEntry)),
        Flow::Jump { .. } | Flow::Call { .. } | Flow::Return { .. } | Flow::Repeat { .. } => {
            return Ok(Sort::of(Class::Branch));
        }
        Flow::Next => {}
    }
    let word = riscv::word(&instruction.bytes, architecture.pointer_size() == 8);
    let word = word.ok_or_else(|| "it has no full form".to_string())?;
    let function = bits(word, 14, 12);
    Ok(Sort::of(match bits(word, 6, 0) {
        0x03 => Class::Load,
        0x23 => Class::Store,
        0x2f => Class::Atomic,
        // All that was fetched is forgotten, and with it any line.
        0x0f if function == 1 => return Ok(Sort { forgets: true, ..Sort::of(Class::BarrierInstruction) }),
        0x0f => Class::BarrierData,
        0x13 if word == 0x13 => Class::Nop,
        0x33 | 0x3b if bits(word, 31, 25) == 1 => match function {
            0..=3 => Class::Multiply,
            _ => Class::Divide,
        },
        0x13 | 0x1b | 0x33 | 0x3b if matches!(function, 1 | 5) => Class::Shift,
        0x13 | 0x17 | 0x1b | 0x33 | 0x37 | 0x3b => Class::Alu,
        // A branch to the next instruction: the lifter says that control goes on.
        0x63 | 0x6f => Class::Branch,
        0x73 => system(word)?,
        _ => {
            let name = &instruction.mnemonic;
            return Err(format!(
                "`{name}` is in no class; compile without it (-march=rv64imac -mabi=lp64 keeps to integers)"
            ));
        }
    }))
}

/// Bits `high` to `low` of `word`.
fn bits(word: u32, high: u32, low: u32) -> u32 {
    word >> low & ((1 << (high - low + 1)) - 1)
}

fn system(word: u32) -> Result<Class, String> {
    let function = bits(word, 14, 12);
    if function != 0 {
        let writes = function & 3 == 1 || bits(word, 19, 15) != 0;
        return Ok(match (bits(word, 31, 20), writes) {
            (SATP, true) => Class::AddressSpace,
            (MSTATUS | SSTATUS, true) => Class::StatusWrite,
            (MSTATUS | SSTATUS, false) => Class::StatusRead,
            (_, true) => Class::CoprocessorWrite,
            (_, false) => Class::CoprocessorRead,
        });
    }
    Ok(match (bits(word, 31, 25), bits(word, 24, 20)) {
        (0, 0) => Class::SystemCall,
        (8, 5) => Class::Wait,
        (9, _) => Class::TlbInvalidate,
        _ => return Err("it is no known system instruction".to_string()),
    })
}
