//! Compiles small C programs for both instruction sets, and asks for their control flow.
#![allow(dead_code)] // Each test file uses its part.

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use wcet_binary::lift::Lifter;
use wcet_binary::load::Program;
use wcet_flow::{analyse, Block, EdgeKind, Error, Function, Graph, Options};

/// A compiler with its options.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target {
    pub compiler: &'static str,
    pub options: &'static [&'static str],
}

pub const TARGETS: [Target; 5] = [
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
];

/// The compiled program. Panics with the compiler's words if it does not compile.
pub fn compile(target: Target, source: &str) -> Program {
    let (program, file) = compile_and_keep(target, source);
    let _ = std::fs::remove_file(&file);
    program
}

/// The compiled program, and its file.
pub fn compile_and_keep(target: Target, source: &str) -> (Program, PathBuf) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let stem = format!("flow-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (source_file, file) = (directory.join(format!("{stem}.c")), directory.join(format!("{stem}.elf")));
    std::fs::write(&source_file, source).unwrap();
    let output = Command::new(target.compiler)
        .args(target.options)
        .args(["-ffreestanding", "-nostdlib", "-static", "-fno-stack-protector", "-w"])
        .args(["-Wl,-e,start", "-Wl,--build-id=none", "-o"])
        .args([&file, &source_file])
        .args(if target.compiler == "gcc" { &[][..] } else { &["-fno-asynchronous-unwind-tables"] })
        .output();
    let output = output.unwrap_or_else(|error| panic!("{} cannot be run: {error}", target.compiler));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let data = std::fs::read(&file).unwrap();
    let _ = std::fs::remove_file(&source_file);
    (Program::parse(&data).unwrap(), file)
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
