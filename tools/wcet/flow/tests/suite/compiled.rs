//! Compiles small C programs for all instruction sets, and asks for their control flow.
#![allow(dead_code)] // Each test file uses its part.

use std::path::PathBuf;

use testing::Folder;
use wcet_binary::lift::Lifter;
use wcet_binary::load::Program;
use wcet_flow::{analyse, Block, EdgeKind, Error, Function, Graph, Options};

/// A compiler with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    pub compiler: &'static str,
    pub options: &'static [&'static str],
}

pub const TARGETS: [Target; 9] = [
    Target { compiler: "gcc", options: &["-O2", "-fno-pie", "-no-pie"] },
    Target { compiler: "gcc", options: &["-Os", "-fno-pie", "-no-pie"] },
    // Position-independent code, linked at fixed addresses: its jump tables are relative.
    Target { compiler: "gcc", options: &["-O2", "-fPIE", "-no-pie"] },
    Target {
        compiler: "arm-linux-gnueabi-gcc",
        options: &["-O2", "-marm", "-march=armv7-a", "-mfloat-abi=soft", "-fno-pie", "-no-pie"],
    },
    Target {
        compiler: "arm-linux-gnueabi-gcc",
        options: &["-Os", "-marm", "-march=armv6", "-mfloat-abi=soft", "-fno-pie", "-no-pie"],
    },
    // Thumb, for a processor with ARM as well, and for a microcontroller with a divider.
    Target {
        compiler: "arm-linux-gnueabi-gcc",
        options: &["-O2", "-mthumb", "-march=armv7-a", "-mfloat-abi=soft", "-fno-pie", "-no-pie"],
    },
    Target {
        compiler: "arm-linux-gnueabi-gcc",
        options: &["-Os", "-mthumb", "-mcpu=cortex-m3", "-mfloat-abi=soft", "-fno-pie", "-no-pie"],
    },
    Target {
        compiler: "riscv64-unknown-elf-gcc",
        options: &["-O2", "-march=rv64imac", "-mabi=lp64", "-Wl,--no-relax"],
    },
    Target {
        compiler: "riscv64-unknown-elf-gcc",
        options: &["-Os", "-march=rv32imac", "-mabi=ilp32", "-Wl,--no-relax"],
    },
];

/// The compiled program. Panics with the compiler's words if it does not compile.
pub fn compile(target: Target, source: &str) -> Program {
    compile_and_keep(target, source).0
}

/// The compiled program, and its file in a folder.
pub fn compile_and_keep(target: Target, source: &str) -> (Program, (Folder, PathBuf)) {
    let fixed = ["-ffreestanding", "-nostdlib", "-static", "-fno-stack-protector", "-w"];
    let linked = ["-Wl,-e,start", "-Wl,--build-id=none"];
    let tables: &[&str] = if target.compiler == "gcc" { &[] } else { &["-fno-asynchronous-unwind-tables"] };
    let kept = testing::build(target.compiler, &[target.options, &fixed, &linked, tables].concat(), "c", source);
    (Program::parse(&std::fs::read(&kept.1).unwrap()).unwrap(), kept)
}

pub fn flow(program: &Program, options: &Options) -> Result<Graph, Vec<Error>> {
    let lifter = Lifter::new(program).unwrap();
    let start = program.symbol("start").unwrap().address;
    analyse(&lifter, &[start], options)
}

/// The graph of a program that has no errors.
pub fn graph(target: Target, source: &str) -> (Program, Graph) {
    let program = compile(target, source);
    let graph = flow(&program, &Options::default());
    let graph = graph.unwrap_or_else(|errors| panic!("{target:?}: {}", list(&errors)));
    (program, graph)
}

/// The errors of a program that has some.
pub fn errors(target: Target, source: &str) -> (Program, Vec<Error>) {
    let program = compile(target, source);
    let errors = flow(&program, &Options::default()).map(|_| ()).expect_err("errors");
    (program, errors)
}

pub fn list(errors: &[Error]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

pub fn function<'g>(program: &Program, graph: &'g Graph, name: &str) -> &'g Function {
    &graph.functions[&program.symbol(name).unwrap().address]
}

pub fn callees(program: &Program, graph: &Graph, name: &str) -> Vec<String> {
    let entry = program.symbol(name).unwrap().address;
    graph.callees(entry).into_iter().map(|callee| program.describe(callee)).collect()
}

/// Blocks that end in a jump through a table.
pub fn tables(function: &Function) -> Vec<&Block> {
    function.blocks.iter().filter(|block| block.edges.iter().any(|edge| edge.kind == EdgeKind::Case)).collect()
}
