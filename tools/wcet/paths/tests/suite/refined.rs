//! Compiles small C programs for both instruction sets, runs them on all inputs, and bounds them.
#![allow(dead_code)] // Each test file uses its part.

#[path = "../../../symbolic/tests/suite/compiled/mod.rs"]
pub mod compiled;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

pub use compiled::{flow, inputs, run, Target, TARGETS};
use wcet_binary::load::{Architecture, Program};
use wcet_flow::context::{expand, EdgeId, Expanded, LoopId};
use wcet_hardware::machine::Machine;
use wcet_paths::infeasible::{describe, forms, refine, Form, Options as RefineOptions, Refined};
use wcet_paths::ipet::{Anywhere, Constraints, Prepared};
use wcet_symbolic::{Frames, Setting, Sharing};

/// The compiled program, with its branches left as they are written.
pub fn compile(target: Target, source: &str) -> Program {
    compiled::compile_with(target, &["-fno-if-conversion", "-fno-if-conversion2", "-fno-ipa-cp"], source)
}

pub fn machine(program: &Program) -> Machine {
    let name = match program.architecture {
        Architecture::X86_64 => "x86-inorder",
        Architecture::Arm => "arm1136-kzm",
        Architecture::RiscV64 | Architecture::RiscV32 => "riscv-inorder",
    };
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../../machines/timing/{name}.toml"));
    wcet_hardware::machine::load(&path).unwrap_or_else(|faults| panic!("{faults:?}"))
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
        let graph: Expanded<'_> = expand(&graph, entry, &wcet_flow::context::Options::default()).unwrap();
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
