//! Compiles small C programs for both instruction sets, runs them on all inputs, and bounds them.
#![allow(dead_code)] // Each test file uses its part.

pub mod run;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use timing_context::{expand, EdgeId, Expanded, LoopId};
use timing_flow::{analyse, Graph, Options};
use timing_infeasible::{describe, forms, refine, Form, Options as RefineOptions, Refined};
use timing_lift::Lifter;
use timing_load::{Architecture, Program};
use timing_machine::Machine;
use timing_smt::{Frames, Setting, Sharing};
use timing_solve::{Anywhere, Constraints, Prepared};

/// A compiler with its options.
pub type Target = (&'static str, &'static [&'static str]);

pub const TARGETS: [Target; 4] = [
    ("gcc", &["-O2", "-mgeneral-regs-only", "-fcf-protection=none"]),
    ("gcc", &["-Os", "-mgeneral-regs-only", "-fcf-protection=none"]),
    ("arm-linux-gnueabi-gcc", &["-O2", "-marm", "-march=armv6", "-mfloat-abi=soft"]),
    ("arm-linux-gnueabi-gcc", &["-Os", "-marm", "-march=armv6", "-mfloat-abi=soft"]),
];

/// The compiled program. Panics with the compiler's words if it does not compile.
pub fn compile((compiler, options): Target, source: &str) -> Program {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let stem = format!("infeasible-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (source_file, file) = (directory.join(format!("{stem}.c")), directory.join(format!("{stem}.elf")));
    std::fs::write(&source_file, source).unwrap();
    let output = Command::new(compiler)
        .args(options)
        .args(["-ffreestanding", "-nostdlib", "-static", "-fno-stack-protector", "-fno-pie", "-no-pie", "-w"])
        .args(["-fno-tree-vectorize", "-fno-if-conversion", "-fno-if-conversion2", "-fno-ipa-cp"])
        .args(["-Wl,-e,start", "-Wl,--build-id=none", "-o"])
        .args([&file, &source_file])
        .output();
    let output = output.unwrap_or_else(|error| panic!("{compiler} cannot be run: {error}"));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let data = std::fs::read(&file).unwrap();
    let _ = std::fs::remove_file(&source_file);
    let _ = std::fs::remove_file(&file);
    Program::parse(&data).unwrap()
}

pub fn flow(program: &Program) -> Graph {
    let lifter = Lifter::new(program).unwrap();
    let start = program.symbol("start").unwrap().address;
    let graph = analyse(&lifter, &[start], &Options::default());
    graph.unwrap_or_else(|errors| panic!("{}", errors.iter().map(|error| format!("{error}\n")).collect::<String>()))
}

pub fn machine(program: &Program) -> Machine {
    let name = match program.architecture {
        Architecture::X86_64 => "x86-inorder",
        Architecture::Arm => "arm1136-kzm",
    };
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../../machines/timing/{name}.toml"));
    timing_machine::load(&path).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// A program with all that is needed to bound it.
pub struct Case<'a, 'g> {
    pub target: Target,
    pub setting: &'a Setting<'a, 'g>,
    pub prepared: &'a Prepared<'a, 'g>,
    pub bounds: &'a BTreeMap<LoopId, u64>,
}

/// Calls `body` for each target. `bound` is the bound of every loop.
pub fn with_cases(source: &str, bound: u64, sharing: Sharing, body: &dyn Fn(&Case<'_, '_>)) {
    for target in TARGETS {
        let program = compile(target, source);
        let graph = flow(&program);
        let entry = program.symbol("start").unwrap().address;
        let graph: Expanded<'_> = expand(&graph, entry, &timing_context::Options::default()).unwrap();
        let switches = BTreeSet::new();
        let frames = Frames::of(&program, &graph, &switches);
        let bounds: BTreeMap<LoopId, u64> = (0..graph.loops.len()).map(|one| (one, bound)).collect();
        let machine = machine(&program);
        let prepared = Prepared::new(&program, &graph, &machine, &bounds, &Anywhere, &BTreeSet::new());
        let prepared = prepared.unwrap_or_else(|errors| panic!("{target:?}: {errors:?}"));
        let setting = Setting {
            program: &program,
            graph: &graph,
            frames: &frames,
            values: None,
            sharing: sharing.clone(),
            switches: &switches,
        };
        body(&Case { target, setting: &setting, prepared: &prepared, bounds: &bounds });
    }
}

/// Whether a run respects what a conflict says.
pub fn respects(graph: &Expanded<'_>, run: &[EdgeId], form: &Form) -> bool {
    match form {
        Form::Dead(edge) => !run.contains(edge),
        Form::Limit(limit) => {
            let count = |edge: &EdgeId| run.iter().filter(|taken| *taken == edge).count() as i64;
            limit.terms.iter().map(|(edge, factor)| factor * count(edge)).sum::<i64>() <= limit.at_most
        }
        Form::Together(conflict) => iterations(graph, run, conflict.scope)
            .into_iter()
            .all(|taken| conflict.edges.iter().any(|edge| !taken.contains(edge))),
    }
}

/// The edges of each iteration of a loop, or of the whole run.
fn iterations(graph: &Expanded<'_>, run: &[EdgeId], scope: Option<LoopId>) -> Vec<BTreeSet<EdgeId>> {
    let Some(one) = scope else { return vec![run.iter().copied().collect()] };
    let mut found = Vec::new();
    let mut now: Option<BTreeSet<EdgeId>> = (graph.loops[one].header == graph.entry).then(BTreeSet::new);
    for edge in run {
        let to = graph.edges[*edge].to;
        if let Some(taken) = &mut now {
            taken.insert(*edge);
        }
        if to == graph.loops[one].header || !graph.inside(to, one) {
            found.extend(now.take());
        }
        if to == graph.loops[one].header {
            now = Some(BTreeSet::new());
        }
    }
    found.extend(now);
    found
}

/// All lists of `length` of the numbers.
pub fn inputs(numbers: &[u64], length: usize) -> Vec<Vec<u64>> {
    (0..length).fold(vec![vec![]], |lists, _| {
        let longer =
            |list: &Vec<u64>| numbers.iter().map(|number| [list.clone(), vec![*number]].concat()).collect::<Vec<_>>();
        lists.iter().flat_map(longer).collect()
    })
}

/// The refined bound; no run on any of the inputs is excluded, and none exceeds the cost of what is left.
pub fn refined(case: &Case<'_, '_>, inputs: &[Vec<u64>]) -> Refined {
    let found = refine(case.setting, case.prepared, Constraints::default(), case.bounds, &RefineOptions::default());
    let found = found.unwrap_or_else(|error| panic!("{:?}: {error}", case.target));
    let graph = case.setting.graph;
    let forms = forms(graph, &found.conflicts, case.bounds);
    for input in inputs {
        let run = run::run(case.setting.program, graph, input, &[]);
        for (form, conflict) in forms.iter().zip(&found.conflicts) {
            assert!(
                respects(graph, &run, form),
                "{:?}: input {input:?} is excluded: {}",
                case.target,
                describe(graph, conflict)
            );
        }
    }
    found
}
