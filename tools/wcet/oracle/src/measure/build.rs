//! Compiles programs of the set, with the flags that a person would use.

use std::path::{Path, PathBuf};
use std::process::Command;

use wcet_binary::load::Architecture;

use crate::core;
use crate::measure::set::{directory, Program};
use crate::measure::Error;

/// How a program is compiled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    X86Speed,
    X86Size,
    ArmSpeed,
    ArmSize,
    RiscV64Speed,
    RiscV32Size,
    ThumbSpeed,
    /// For the core whose Verilog is run ([`crate::core`]); not among all targets, since that must be fetched.
    RiscV32Core,
}

impl Target {
    pub const ALL: [Target; 7] = [
        Target::X86Speed,
        Target::X86Size,
        Target::ArmSpeed,
        Target::ArmSize,
        Target::RiscV64Speed,
        Target::RiscV32Size,
        Target::ThumbSpeed,
    ];

    pub fn architecture(self) -> Architecture {
        match self {
            Target::X86Speed | Target::X86Size => Architecture::X86_64,
            Target::ArmSpeed | Target::ArmSize | Target::ThumbSpeed => Architecture::Arm,
            Target::RiscV64Speed => Architecture::RiscV64,
            Target::RiscV32Size | Target::RiscV32Core => Architecture::RiscV32,
        }
    }

    /// Whether the program itself is in Thumb; what it calls of the compiler's library is in ARM.
    pub fn is_thumb(self) -> bool {
        self == Target::ThumbSpeed
    }

    /// For file names and tables.
    pub fn name(self) -> &'static str {
        match self {
            Target::X86Speed => "x86-64-O2",
            Target::X86Size => "x86-64-Os",
            Target::ArmSpeed => "armv6-O2",
            Target::ArmSize => "armv6-Os",
            Target::RiscV64Speed => "rv64-O2",
            Target::RiscV32Size => "rv32-Os",
            Target::ThumbSpeed => "thumb2-O2",
            Target::RiscV32Core => "rv32-core",
        }
    }

    /// The machine file for its bounds.
    pub fn machine(self) -> &'static str {
        match self.architecture() {
            _ if self == Target::RiscV32Core => "vexriscv",
            _ if self.is_thumb() => "cortex-a8",
            Architecture::X86_64 => "x86-inorder",
            Architecture::Arm => "arm1136-kzm",
            Architecture::RiscV64 | Architecture::RiscV32 => "riscv-inorder",
        }
    }

    pub fn machine_file(self) -> PathBuf {
        directory().join("../../machines/timing").join(format!("{}.toml", self.machine()))
    }

    fn compiler(self) -> &'static str {
        match self.architecture() {
            Architecture::X86_64 => "gcc",
            Architecture::Arm => "arm-linux-gnueabi-gcc",
            Architecture::RiscV64 | Architecture::RiscV32 => "riscv64-unknown-elf-gcc",
        }
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            Target::X86Speed => &["-O2"],
            Target::X86Size => &["-Os"],
            Target::ArmSpeed => &["-O2", "-marm", "-march=armv6"],
            Target::ArmSize => &["-Os", "-marm", "-march=armv6"],
            Target::ThumbSpeed => &["-O2", "-mthumb", "-march=armv7-a", "-Wa,-mimplicit-it=thumb"],
            Target::RiscV64Speed => &["-O2", "-march=rv64imac", "-mabi=lp64", "-msmall-data-limit=0"],
            // As firmware is compiled for size, with common code to save registers.
            Target::RiscV32Size => &["-Os", "-march=rv32imac", "-mabi=ilp32", "-msmall-data-limit=0", "-msave-restore"],
            Target::RiscV32Core => {
                &["-O2", "-march=rv32im_zicsr_zifencei", "-mabi=ilp32", "-msmall-data-limit=0", "-Wl,--wrap=entry"]
            }
        }
    }
}

/// Flags of all targets: a program that stands alone at fixed addresses.
const OPTIONS: &[&str] = &[
    "-g",
    "-ffreestanding",
    "-nostdlib",
    "-static",
    "-fno-pie",
    "-no-pie",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-Wl,--build-id=none",
];

/// Warnings, which the programs of the set must not cause.
const WARNINGS: &[&str] = &["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"];

/// The compiled program's file, in `into`.
pub fn build(program: &Program, target: Target, into: &Path) -> Result<PathBuf, Error> {
    let file = into.join(format!("{}.{}", program.name, target.name()));
    compile(std::slice::from_ref(&program.source), target, WARNINGS, &file)?;
    Ok(file)
}

/// Compiles and links sources that have an `entry`, with `options` beside those of the target, to `file`.
pub fn compile(sources: &[PathBuf], target: Target, options: &[&str], file: &Path) -> Result<(), Error> {
    let compiler = target.compiler();
    let mut command = Command::new(compiler);
    command.args(target.options()).args(OPTIONS).args(options).arg("-o").arg(file).args(sources);
    command.arg(directory().join("runtime.c"));
    if target == Target::RiscV32Core {
        command.arg(core::start_file());
    }
    command.arg("-lgcc");
    let output = command.output().map_err(|cause| Error::Missing { program: compiler.to_string(), cause })?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr).into_owned();
        let path = sources.first().cloned().unwrap_or_default();
        return Err(Error::Failed { program: compiler.to_string(), path, message });
    }
    Ok(())
}
