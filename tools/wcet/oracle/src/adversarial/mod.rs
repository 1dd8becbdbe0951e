//! Random programs that are meant to mislead the analysis, each with all its inputs.
//!
//! **Takes** a seed. **Returns** a [`Program`] of the form that the set has: its `entry` is assembly, so that no compiler tidies
//! it up, and its cases are all values of two arguments of three bits each. All memory that it reads it has written before, so
//! the cases are all that it can do.
//!
//! What it tries: compares of every width, signed and unsigned, with values that wrap; parts of registers; flags that outlive
//! moves and calls; loops with two exits, with counters in memory and steps that miss their limit; stores that overlap;
//! addresses on the stack; conditional moves and, on ARM, conditional instructions, in Thumb blocks of them whose
//! flags change on the way and calls of functions in ARM state, on RISC-V words within longer registers and atomic accesses; string instructions; shifts by any count;
//! conditions that are asked again after what they speak of has changed; tables of jumps; accesses whose address is not known.

mod arm;
mod random;
mod riscv;
mod writer;
mod x86;

use std::path::{Path, PathBuf};

use wcet_binary::load::Architecture;

use crate::core;
use crate::measure::build::{build, Target};
use crate::measure::emulate::{addresses, Cases};
use crate::measure::set::{directory, Program};
use crate::measure::Error;

/// One target for each instruction set.
pub const TARGETS: [Target; 5] =
    [Target::X86Speed, Target::ArmSpeed, Target::RiscV64Speed, Target::RiscV32Size, Target::ThumbSpeed];

/// Values of an argument, each of which is tried with each of the other's.
const VALUES: u32 = 8;

/// Executed instructions of all cases together, after which a program counts as one that does not end.
const MOST: u64 = 100_000;

/// Programs that are tried for one that ends.
const TRIES: u64 = 50;

/// How the names of generated programs begin.
const NAME: &str = "adversarial-";

/// Whether a program of this name was generated.
pub fn is_generated(name: &str) -> bool {
    name.starts_with(NAME)
}

/// The program of `seed` for `target`, compiled in `into`: the first of those that the seed gives that ends.
pub fn program(seed: u64, target: Target, into: &Path) -> Result<Program, Error> {
    for variant in 0..TRIES {
        let program = write(seed, variant, target, into)?;
        let file = match build(&program, target, into) {
            // It has an atomic access, which the core lacks, or a place in a table of bytes is too far away.
            Err(Error::Failed { .. }) if target == Target::RiscV32Core || target.is_thumb() => continue,
            file => file?,
        };
        if ends(&file, target.architecture()) && runs_on_core(&file, target)? {
            return Ok(program);
        }
    }
    Err(Error::Setup(format!("no program of seed {seed} for {} ends", target.name())))
}

/// The text of a program, with `variant` as a part of its seed.
pub fn text(seed: u64, variant: u64, target: Target) -> String {
    let seed = campaign::item_seed(seed, variant);
    let lines = match target.architecture() {
        Architecture::X86_64 => x86::lines(seed),
        Architecture::Arm => arm::lines(seed, target.is_thumb()),
        Architecture::RiscV64 => riscv::lines(seed, true),
        Architecture::RiscV32 => riscv::lines(seed, false),
    };
    let lines: String = lines.iter().map(|line| format!("    \"{line}\\n\"\n")).collect();
    format!(
        "#include \"{}\"\n\nuint8_t bytes[256] __attribute__((aligned(64)));\nconst uint32_t cases = {};\n\n\
         void prepare(uint32_t number)\n{{\n    arguments[0] = number % {VALUES};\n    \
         arguments[1] = number / {VALUES};\n}}\n\n__asm__(\n{lines});\n",
        directory().join("program.h").display(),
        VALUES * VALUES
    )
}

fn write(seed: u64, variant: u64, target: Target, into: &Path) -> Result<Program, Error> {
    let name = format!("{NAME}{seed:016x}");
    let source: PathBuf = into.join(format!("{name}.{}.c", target.name()));
    std::fs::write(&source, text(seed, variant, target))
        .map_err(|cause| Error::Read { path: source.clone(), cause })?;
    Ok(Program { name, source, about: "A generated program".to_string(), conflict: None })
}

/// Whether a core that is to run the program does so: an emulator makes accesses that are not aligned, it does not.
fn runs_on_core(file: &Path, target: Target) -> Result<bool, Error> {
    if target != Target::RiscV32Core {
        return Ok(true);
    }
    let data = std::fs::read(file).map_err(|cause| Error::Read { path: file.to_path_buf(), cause })?;
    match core::cycles(file, &data) {
        Err(Error::Failed { .. }) => Ok(false),
        cycles => cycles.map(|_| true),
    }
}

/// Whether all cases end, without a fault of the processor.
fn ends(file: &Path, architecture: Architecture) -> bool {
    let mut count = 0;
    let counted = addresses(file, architecture, Cases::All, |_| {
        count += 1;
        if count > MOST {
            Err(Error::Setup("it does not end".to_string()))
        } else {
            Ok(())
        }
    });
    counted.is_ok()
}
