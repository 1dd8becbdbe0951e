//! Small programs in assembly and C, assembled by the system's compilers. Each test uses its part of this.

#![allow(dead_code)]

use std::path::PathBuf;

use wcet_paths::analysis::{analyse, load_machine, Request};
use wcet_report::Report;

/// An instruction set: its compiler, and a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    compiler: &'static str,
    options: &'static [&'static str],
    pub machine: &'static str,
}

pub const ARM: Target =
    Target { compiler: "arm-linux-gnueabi-gcc", options: &["-marm", "-march=armv6"], machine: "arm1136-kzm" };

/// With ARM code where a program says so.
pub const THUMB: Target =
    Target { compiler: "arm-linux-gnueabi-gcc", options: &["-mthumb", "-march=armv7-a"], machine: "cortex-a8" };

/// A microcontroller with Thumb alone.
pub const CORTEX_M: Target =
    Target { compiler: "arm-linux-gnueabi-gcc", options: &["-mthumb", "-mcpu=cortex-m3"], machine: "cortex-m3" };

pub const RISC_V: Target =
    Target { compiler: "riscv64-unknown-elf-gcc", options: &["-march=rv64gc", "-mabi=lp64"], machine: "riscv-inorder" };

pub const X86: Target = Target { compiler: "gcc", options: &["-fno-pie"], machine: "x86-inorder" };

/// The executable of a source file with this ending, `s` or `c`.
pub fn build(target: Target, ending: &str, source: &str, options: &[&str]) -> Vec<u8> {
    let fixed = ["-nostdlib", "-static", "-no-pie", "-ffreestanding", "-Wl,--build-id=none"];
    testing::compile(target.compiler, &[&fixed, target.options, options].concat(), ending, source)
}

/// An executable made of assembly, entered at `_start`.
pub fn assemble(target: Target, source: &str) -> Vec<u8> {
    let source = format!(".text\n.globl _start\n{source}\n.section .note.GNU-stack,\"\",%progbits\n");
    build(target, "s", &source, &[])
}

/// A request to bound `data` on the target's machine.
pub fn request(target: Target, data: Vec<u8>) -> Request {
    let machines = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../machines/timing");
    Request {
        file: "program.elf".into(),
        data,
        machine: Some(load_machine(Some(&machines), target.machine, &[]).unwrap()),
        ..Request::default()
    }
}

/// The report about `data`.
pub fn report(target: Target, data: Vec<u8>) -> Report {
    analyse(&request(target, data), &mut |_, _, _| {})
}
