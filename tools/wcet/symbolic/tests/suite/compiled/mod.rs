//! Compiles small C programs for both instruction sets, expands them, and runs them. Also for the tests of the crates
//! that build on this one.
#![allow(dead_code)] // Each test file uses its part.

pub mod run;

use std::collections::BTreeSet;

use wcet_binary::lift::Lifter;
use wcet_binary::load::Program;
use wcet_flow::context::{expand, EdgeId, Expanded, LoopId};
use wcet_flow::{analyse, Graph, Options};
use wcet_symbolic::{Frames, Setting, Sharing};

/// A compiler with its options.
pub type Target = (&'static str, &'static [&'static str]);

pub const TARGETS: [Target; 4] = [
    ("gcc", &["-O2", "-mgeneral-regs-only", "-fcf-protection=none"]),
    ("gcc", &["-Os", "-mgeneral-regs-only", "-fcf-protection=none"]),
    ("arm-linux-gnueabi-gcc", &["-O2", "-marm", "-march=armv6", "-mfloat-abi=soft"]),
    ("arm-linux-gnueabi-gcc", &["-Os", "-marm", "-march=armv6", "-mfloat-abi=soft"]),
];

/// The compiled program. Panics with the compiler's words if it does not compile.
pub fn compile(target: Target, source: &str) -> Program {
    compile_with(target, &[], source)
}

/// The same with more options.
pub fn compile_with((compiler, options): Target, more: &[&str], source: &str) -> Program {
    let fixed = ["-ffreestanding", "-nostdlib", "-static", "-fno-stack-protector", "-fno-pie", "-no-pie", "-w"];
    let linked = ["-fno-tree-vectorize", "-Wl,-e,start", "-Wl,--build-id=none"];
    let data = testing::compile(compiler, &[options, more, &fixed, &linked].concat(), "c", source);
    Program::parse(&data).unwrap()
}

pub fn flow(program: &Program) -> Graph {
    let lifter = Lifter::new(program).unwrap();
    let start = program.symbol("start").unwrap().address;
    // Compilers make loops with several entries here and there.
    let graph = analyse(&lifter, &[start], &Options { copies: 64, ..Options::default() });
    graph.unwrap_or_else(|errors| panic!("{}", errors.iter().map(|error| format!("{error}\n")).collect::<String>()))
}

pub fn expanded<'g>(program: &Program, graph: &'g Graph) -> Expanded<'g> {
    expand(graph, program.symbol("start").unwrap().address, &wcet_flow::context::Options::default()).unwrap()
}

/// Calls `body` with everything there is to know of a program compiled for each target.
pub fn with_setting(source: &str, sharing: Sharing, body: &dyn Fn(Target, &Setting<'_, '_>)) {
    for target in TARGETS {
        let program = compile(target, source);
        let graph = flow(&program);
        let graph = expanded(&program, &graph);
        let switches = BTreeSet::new();
        let frames = Frames::of(&program, &graph, &switches);
        body(
            target,
            &Setting {
                program: &program,
                graph: &graph,
                frames: &frames,
                values: None,
                sharing: sharing.clone(),
                switches: &switches,
            },
        );
    }
}

/// For each loop, the most executions of its header for one entry on a run.
pub fn most(graph: &Expanded<'_>, taken: &[EdgeId]) -> Vec<u64> {
    let mut now = vec![0; graph.loops.len()];
    let mut most = now.clone();
    for edge in taken {
        for (one, found) in graph.loops.iter().enumerate() {
            if found.back.contains(edge) {
                now[one] += 1;
            } else if found.entries.contains(edge) {
                now[one] = 1;
            }
            most[one] = most[one].max(now[one]);
        }
    }
    most
}

/// All lists of `length` of the numbers.
pub fn inputs(numbers: &[u64], length: usize) -> Vec<Vec<u64>> {
    (0..length).fold(vec![vec![]], |lists, _| {
        let longer =
            |list: &Vec<u64>| numbers.iter().map(|number| [list.clone(), vec![*number]].concat()).collect::<Vec<_>>();
        lists.iter().flat_map(longer).collect()
    })
}

/// The loops of a function, in each of its contexts.
pub fn loops_of(setting: &Setting<'_, '_>, function: &str) -> Vec<LoopId> {
    let of = |one: &LoopId| setting.graph.function(setting.graph.loops[*one].context).name == function;
    (0..setting.graph.loops.len()).filter(of).collect()
}
