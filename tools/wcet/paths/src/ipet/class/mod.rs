//! The class of an instruction, by which the machine file gives its cost. Traces for the simulator sort by this too.

mod arm;
mod riscv;
mod thumb;
mod x86;

pub(crate) use thumb::moves_several;
pub(crate) use x86::decode;

use wcet_binary::lift::il::{Encoding, Flow, Target};
use wcet_binary::lift::Instruction;
use wcet_binary::load::Architecture;
use wcet_hardware::machine::{Class, Transfer};

/// What the machine does with an instruction, apart from its registers and its described accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    pub class: Class,
    /// Any line may leave any cache: by maintenance, or since other code runs before the next instruction.
    pub forgets: bool,
    /// It may read any line, which the described accesses leave out.
    pub prefetches: bool,
    /// It waits for an event, which takes any time.
    pub waits: bool,
}

impl Sort {
    fn of(class: Class) -> Sort {
        // Their accesses are in their price, and go to lines of which nothing is said. A field of the loaded control structure is
        // in the processor.
        let vm = matches!(class, Class::VmEntry | Class::VmState);
        let forgets = vm || matches!(class, Class::CacheMaintenance | Class::SystemCall | Class::Wait);
        Sort { class, forgets, prefetches: false, waits: class == Class::Wait }
    }
}

/// The class of `instruction`, or why it has none.
pub fn sort(architecture: Architecture, instruction: &Instruction) -> Result<Sort, String> {
    match architecture {
        Architecture::Arm => match instruction.encoding {
            Encoding::Main => arm::sort(instruction),
            Encoding::Thumb { .. } => thumb::sort(instruction),
        },
        Architecture::X86_64 => x86::sort(instruction),
        Architecture::RiscV64 | Architecture::RiscV32 => riscv::sort(architecture, instruction),
    }
}

/// How an instruction transfers control.
pub fn transfer(instruction: &Instruction, class: Class) -> Transfer {
    let leaves = matches!(class, Class::Branch | Class::SystemCall | Class::ExceptionReturn | Class::ExceptionEntry);
    match instruction.flow {
        Flow::Jump { to: Target::Direct(to), when } | Flow::Call { to: Target::Direct(to), when } => match when {
            None => Transfer::Always(to),
            Some(_) => Transfer::When(to),
        },
        Flow::Repeat { .. } => Transfer::Repeat,
        Flow::Next if !leaves && class != Class::VmEntry => Transfer::None,
        _ => Transfer::Unknown,
    }
}
