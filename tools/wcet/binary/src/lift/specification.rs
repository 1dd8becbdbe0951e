//! SLEIGH's specifications of instruction sets, as read from their compiled form. Reading one takes a tenth of a second, and each
//! program needs one: those that no program uses any more are kept for the next.

use std::cell::Cell;
use std::ops::Deref;
use std::sync::{Mutex, PoisonError};

use libsla::{Address, GhidraSleigh, InstructionLoader, Sleigh, VarnodeData};

use crate::lift::error::SetupError;
use crate::load::Architecture;

/// A processor's settings, and the compiled specification.
pub(crate) type Source = (&'static str, &'static [u8]);

pub(crate) const SPECIFICATION_OF_THUMB: Source =
    (sleigh_config::processor_arm::PSPEC_ARMTTHUMB, sleigh_config::processor_arm::SLA_ARM7_LE);

fn source(architecture: Architecture) -> Source {
    match architecture {
        Architecture::X86_64 => (sleigh_config::processor_x86::PSPEC_X86_64, sleigh_config::processor_x86::SLA_X86_64),
        Architecture::Arm => (sleigh_config::processor_arm::PSPEC_ARMT, sleigh_config::processor_arm::SLA_ARM7_LE),
        Architecture::RiscV64 => {
            (sleigh_config::processor_riscv::PSPEC_RV64GC, sleigh_config::processor_riscv::SLA_RISCV_LP64D)
        }
        Architecture::RiscV32 => {
            (sleigh_config::processor_riscv::PSPEC_RV32GC, sleigh_config::processor_riscv::SLA_RISCV_ILP32D)
        }
    }
}

/// More than the instructions that libsla keeps decoded, which are 8 at most.
const MORE_THAN_KEPT: u64 = 64;

/// A specification of one program.
pub(crate) struct Specification {
    /// None only while it is dropped.
    sleigh: Option<GhidraSleigh>,
    /// Of what another program may use it.
    shared: Option<Architecture>,
}

struct Idle(Architecture, GhidraSleigh);

// SAFETY: the object that this owns belongs to no thread: libsla's other state is constants, and that of its parser of XML, which it
// locks. One thread at a time has the object, by the lock of `IDLE`.
unsafe impl Send for Idle {}

static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

impl Specification {
    pub fn of(architecture: Architecture) -> Result<Specification, SetupError> {
        // ARM's specification notes at addresses which instruction set is there: that would be known to the next program. The others
        // note nothing: they have no `globalset`.
        let shared = (architecture != Architecture::Arm).then_some(architecture);
        if let Some(sleigh) = shared.and_then(idle).filter(forgets_instructions) {
            return Ok(Specification { sleigh: Some(sleigh), shared });
        }
        let mut read = Specification::read(&source(architecture))?;
        read.shared = shared;
        Ok(read)
    }

    /// One that no other program has used or will use.
    pub fn read((processor, specification): &Source) -> Result<Specification, SetupError> {
        let fault = |cause: libsla::Error| SetupError(cause.to_string());
        let builder = GhidraSleigh::builder().processor_spec(processor).map_err(fault)?;
        Ok(Specification { sleigh: Some(builder.build(specification).map_err(fault)?), shared: None })
    }
}

fn idle(architecture: Architecture) -> Option<GhidraSleigh> {
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    let place = idle.iter().position(|one| one.0 == architecture)?;
    Some(idle.swap_remove(place).1)
}

/// Code that cannot be read, and whether it was to be.
#[derive(Default)]
struct NoCode(Cell<bool>);

impl InstructionLoader for NoCode {
    fn load_instruction_bytes(&self, _: &VarnodeData) -> Result<Vec<u8>, String> {
        self.0.set(true);
        Err("no code".to_string())
    }
}

/// Makes libsla forget the instructions that it has decoded last and would not read again at the same addresses. Each of these
/// attempts takes the place of one, and decodes nothing. One that finds its address among what is kept reads no code before it decodes,
/// or fails in another way.
fn forgets_instructions(sleigh: &GhidraSleigh) -> bool {
    let code = sleigh.default_code_space();
    (0..MORE_THAN_KEPT).all(|number| {
        let (none, nowhere) = (NoCode::default(), Address::new(code.clone(), number * 16));
        let failed = sleigh.disassemble_pcode(&none, nowhere);
        matches!(failed, Err(libsla::Error::DependencyError { .. })) && none.0.get()
    })
}

impl Deref for Specification {
    type Target = GhidraSleigh;

    fn deref(&self) -> &GhidraSleigh {
        self.sleigh.as_ref().unwrap_or_else(|| unreachable!("it is there until it is dropped"))
    }
}

impl Drop for Specification {
    fn drop(&mut self) {
        if let (Some(architecture), Some(sleigh)) = (self.shared, self.sleigh.take()) {
            IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(Idle(architecture, sleigh));
        }
    }
}
