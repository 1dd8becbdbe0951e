//! Values of registers and memory, by abstract execution.

mod execute;
mod join;
mod memory;
mod prepare;
mod record;
mod recurrence;
mod refine;
mod region;
mod set;
mod state;
mod term;
mod transfer;
mod tree;
mod values;

use std::collections::{BTreeMap, BTreeSet};

use execute::Engine;
use region::Count;
use state::World;
use term::Symbols;
use timing_context::Expanded;
use timing_lift::il::Register;
use timing_lift::Registers;
use timing_load::Program;
pub use values::{Base, Counter, Range, Run, Step, Values};

/// What a person states about the region.
#[derive(Debug, Clone)]
pub struct Options {
    /// At the entry memory is as the file says: the region starts where the program starts.
    pub memory_as_loaded: bool,
    /// The stack pointer at the entry: from the first to the second.
    pub stack_pointer: Option<(u64, u64)>,
    /// Registers at the entry: from the first to the second, both included.
    pub registers: BTreeMap<Register, (u64, u64)>,
    /// Memory that others may change at any time, devices for instance: from the first address to the second.
    pub shared: Vec<(u64, u64)>,
    /// Functions that switch to another stack and come back later, by address.
    pub switches: BTreeSet<u64>,
    /// Most instructions to execute before loops are no longer executed iteration by iteration.
    pub steps: u64,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory_as_loaded: false,
            stack_pointer: None,
            registers: BTreeMap::new(),
            shared: Vec::new(),
            switches: BTreeSet::new(),
            steps: 20_000_000,
        }
    }
}

/// Executes the region, and returns what it found.
pub fn analyse(program: &Program, expanded: &Expanded<'_>, options: &Options) -> Values {
    let registers = Registers::of(program.architecture);
    let world = World {
        program,
        symbols: Symbols::default(),
        pointer: program.architecture.pointer_size(),
        shared: &options.shared,
    };
    let prepared = prepare::prepare(expanded, registers);
    let thresholds = execute::thresholds(expanded);
    let mut engine = Engine::new(world, expanded, options, registers, prepared, thresholds);
    let mut counts = vec![Count::default(); expanded.loops.len()];
    engine.everything(&mut counts);
    let record = &engine.record;
    let runs = counts.into_iter().map(|count| {
        let most = if count.entered { count.run.most } else { Some(0) };
        Run { most, total: count.total.flatten(), ..count.run }
    });
    Values {
        targets: expanded.order().map(|node| record.targets(node)).collect(),
        aligned: expanded.order().map(|node| record.aligned(node)).collect(),
        registers: expanded.order().map(|node| record.registers(node)).collect(),
        dead: (0..expanded.edges.len()).filter(|edge| !record.taken[*edge]).collect(),
        reached: expanded.order().map(|node| record.reached(node)).collect(),
        runs: runs.collect(),
        assumptions: assumptions(options),
    }
}

fn assumptions(options: &Options) -> Vec<String> {
    let mut found = vec![
        "memory that the region reads twice is not changed by anyone else in between".to_string(),
        "no pointer that the region is given, or finds in memory, leads to its own part of the stack".to_string(),
        "neither the stack nor an object that a pointer walks along wraps around the end of the address space"
            .to_string(),
    ];
    if options.memory_as_loaded {
        found.push("at the entry memory is as the file says".to_string());
    }
    if !options.registers.is_empty() {
        found.push("registers at the entry are in the ranges stated".to_string());
    }
    found
}
