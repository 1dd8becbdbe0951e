//! The explicit list of ARM instructions that do more than compute, and how each is treated.
//!
//! Their lifted semantics are dropped: the registers named here become unknown, and so does all writable memory where
//! the list says so. A change of mode exchanges the banked stack pointer and link register: both become unknown.

use yaxpeax_arm::armv7::{ConditionCode, Instruction, Opcode, Operand};

use crate::error::Problem;
use crate::il::{Flow, Kind};

pub(crate) struct System {
    pub kind: Kind,
    pub flow: Flow,
    pub memory: bool,
    pub registers: Vec<&'static str>,
}

const NAMES: [&str; 15] =
    ["r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "r10", "r11", "r12", "sp", "lr"];
const FLAGS: [&str; 4] = ["NG", "ZR", "CY", "OV"];
const BANKED: [&str; 2] = ["sp", "lr"];

fn system(registers: Vec<&'static str>) -> System {
    System { kind: Kind::System, flow: Flow::Next, memory: false, registers }
}

pub(crate) fn treatment(decoded: &Instruction, word: u32) -> Result<Option<System>, Problem> {
    use Opcode::*;
    let found = match decoded.opcode {
        WFI | WFE => System { kind: Kind::Wait, ..system(vec![]) },
        DMB | DSB | ISB | SEV | NOP | YIELD | HINT | CSDB | DBG | PLD | PLI | CLREX => system(vec![]),
        MRS => system(targets(decoded, 1)),
        MSR => system(if writes_control(word) { [FLAGS.as_slice(), &BANKED].concat() } else { FLAGS.to_vec() }),
        CPS(_) | CPS_modeonly => {
            let changes_mode = word & 1 << 17 != 0;
            system(if changes_mode { BANKED.to_vec() } else { vec![] })
        }
        RFE(..) | ERET => System { flow: Flow::Leave, ..system(vec![]) },
        UDF | BKPT => System { flow: Flow::Trap, ..system(vec![]) },
        LDM(_, _, _, true) => {
            let list = list(decoded);
            if list & 1 << 15 != 0 {
                System { flow: Flow::Leave, ..system(vec![]) }
            } else {
                // Only r0 to r12 are not banked; the user's sp and lr are not those of this mode.
                system((0..13).filter(|number| list & 1 << number != 0).map(|number| NAMES[number]).collect())
            }
        }
        STM(_, _, _, true) => System { memory: true, ..system(vec![]) },
        // Coprocessor registers: bits 27 to 24 are 1110, bit 4 is set; bit 20 tells the direction.
        _ if word >> 24 & 0xf == 0xe && word & 1 << 4 != 0 && coprocessor(word) => {
            let target = (word >> 12 & 0xf) as usize;
            match (word & 1 << 20 != 0, target) {
                (false, _) => system(vec![]),
                (true, 15) => system(FLAGS.to_vec()),
                (true, _) => system(vec![NAMES[target]]),
            }
        }
        // Two registers at once: bits 27 to 21 are 1100010.
        _ if word >> 21 & 0x7f == 0x62 && coprocessor(word) => {
            let targets = [word >> 12 & 0xf, word >> 16 & 0xf].map(|target| NAMES.get(target as usize).copied());
            system(if word & 1 << 20 != 0 { targets.into_iter().flatten().collect() } else { vec![] })
        }
        // `movs pc, lr` and its like return from an exception.
        _ if decoded.s && is_pc(decoded) && super::decode::writes_pc(decoded) => {
            System { flow: Flow::Leave, ..system(vec![]) }
        }
        SVC | HVC | SMC | SRS(..) | SETEND | BXJ => return Err(unsupported(decoded)),
        _ => return Ok(None),
    };
    if found.flow != Flow::Next && decoded.condition != ConditionCode::AL {
        return Err(unsupported(decoded));
    }
    Ok(Some(found))
}

fn unsupported(decoded: &Instruction) -> Problem {
    Problem::Unsupported(decoded.opcode.to_string())
}

/// Whether the coprocessor is one that controls the system (14, 15), not the floating-point unit (10, 11).
fn coprocessor(word: u32) -> bool {
    matches!(word >> 8 & 0xf, 14 | 15)
}

fn writes_control(word: u32) -> bool {
    word & 1 << 16 != 0
}

fn is_pc(decoded: &Instruction) -> bool {
    super::register(decoded.operands[0]) == Some(15)
}

fn targets(decoded: &Instruction, count: usize) -> Vec<&'static str> {
    let numbers = decoded.operands[..count].iter().filter_map(|operand| super::register(*operand));
    numbers.filter_map(|number| NAMES.get(usize::from(number)).copied()).collect()
}

fn list(decoded: &Instruction) -> u16 {
    decoded.operands.iter().find_map(|operand| if let Operand::RegList(list) = operand { Some(*list) } else { None }).unwrap_or(0)
}
