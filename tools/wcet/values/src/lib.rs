//! Values of registers and memory, by abstract execution.
//!
//! [`analyse`] takes an expanded graph and what a person states about the region's entry ([`Options`]), and returns
//! [`Values`]: for each node the values of registers before it, for each access the range of bytes it touches, edges
//! that are never taken, and for each loop how often its header executes at most.
//!
//! # How
//! Registers and memory cells hold terms: a symbol plus a number (`term.rs`). Each symbol has a set of values, an
//! interval with a stride that may wrap around (`set.rs`), counted from 0, from the stack pointer at the entry, or from
//! an unknown base; and its origin, through which a branch's condition tells of operands (`refine.rs`). Memory is apart
//! for absolute addresses, the stack, and each unknown base (`memory.rs`); read-only memory is read from the file.
//!
//! A loop is executed iteration by iteration, executions of different kinds apart as long as they are few, until none
//! can come back to the header: the number of iterations then is a bound (`region.rs`). Where no end comes in sight an
//! invariant of the header takes their place, found by widening and narrowing, and bounds come from recurrences of its
//! variables and the exits that iterations pass (`recurrence.rs`).
//!
//! Addresses of which no number is known have names (`naming.rs`): the sums of symbols that they are. Equal sums are one
//! address, until a loop renews a symbol of theirs.
//!
//! # Why it is sound
//! * Every operation on sets holds all results of members; tests sample them against `wcet_binary::lift::evaluate`.
//! * The states at a header in iteration k cover all executions that are there the k-th time since the loop was
//!   entered; so if none of them can come back, the header executes k times at most.
//! * An invariant covers the entry and what comes back from it; each round of narrowing applies the loop once more to
//!   such a state, which gives one again. Symbols that stand for another value in each iteration are renewed at the
//!   header, and nothing of the iteration before is taken over for them.
//! * What an operation does that is not understood is any value; a store to an address that may be anything forgets all
//!   memory that it may reach.
//!
//! # What it assumes
//! [`Values::assumptions`] lists it. Pointers that the region is given, or finds in memory, do not lead to its own part
//! of the stack, unless an address of the stack was stored where it is not tracked.

mod access;
mod compare;
mod counters;
mod dead_operations;
mod execute;
mod exit;
mod geometric;
mod join;
mod known;
mod known_memory;
mod loop_invariants;
mod memory;
mod naming;
mod necessary_comparisons;
mod one_run;
mod one_run_accesses;
mod operate;
mod patricia;
mod record;
mod recurrence;
mod refine;
mod region;
mod seen;
mod set;
#[cfg(test)]
mod set_tests;
mod solve;
mod state;
mod state_similarity;
mod term;
mod transfer;
mod untracked_registers;
mod values;
mod variable;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

pub use dead_operations::Blocks;
use execute::Engine;
pub use naming::Name;
pub use one_run::{one_run, Left, OneRun};
pub use record::LINE;
use region::Count;
use set::Set;
use state::World;
use term::{Origin, Root, Symbols};
pub use values::{Base, Counter, Range, Run, Step, Values};
use wcet_binary::lift::il::Register;
use wcet_binary::lift::Registers;
use wcet_binary::load::Program;
use wcet_flow::context::Expanded;
pub use wcet_flow::Shared;

/// What a person states about the region.
#[derive(Debug, Clone)]
pub struct Options {
    /// At the entry memory is as the file says: the region starts where the program starts.
    pub memory_as_loaded: bool,
    /// The stack pointer at the entry: from the first to the second.
    pub stack_pointer: Option<(u64, u64)>,
    /// Registers at the entry: from the first to the second, both included.
    pub registers: BTreeMap<Register, (u64, u64)>,
    /// The same before the block that begins at an address: for one of several cases that are looked at apart.
    pub given: BTreeMap<u64, (Register, (u64, u64))>,
    pub shared: Shared,
    /// What is known of an object that a register leads to all the time.
    pub own: Option<Own>,
    /// Places at which the stack pointer leads to an empty stack to which there is no other pointer, and no more to the one before: the
    /// beginnings of blocks. `stack_pointer` then says where it stands there.
    pub fresh: BTreeSet<u64>,
    /// The stack pointer at the entry is a multiple of the first, a power of two, plus the second, and is treated as any address.
    pub stack_rest: Option<(u64, u64)>,
    /// Functions that switch to another stack and come back later, by address.
    pub switches: BTreeSet<u64>,
    /// Most instructions to execute before loops are no longer executed iteration by iteration.
    pub steps: u64,
    /// Executions of different kinds that are followed apart through a loop, before all are taken together.
    pub width: usize,
    /// What is known of the blocks of the control flow from which the graph is expanded.
    pub blocks: Rc<Blocks>,
    /// The region's one run, if it is known: no other edges are taken. Where executing all that values stand for takes more than a
    /// small part of `steps`, what is said is what this run did, and of registers nothing.
    pub run: Option<Rc<OneRun>>,
}

/// An object to which a register leads as long as the region is executed, whatever instructions do with the register: what a
/// processor has of its own.
#[derive(Debug, Clone)]
pub struct Own {
    pub register: Register,
    /// Its size, a power of two, and its address is a multiple of that.
    pub bytes: u64,
    pub words: Vec<Word>,
    /// What stands in some of them at the entry, by their place.
    pub at_entry: BTreeMap<u64, u64>,
    pub leads: Option<Leads>,
}

/// One of its words is the address of an object, at the entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leads {
    pub at: u64,
    pub bytes: u64,
    /// How far behind the object's beginning the stack pointer stands at the entry, if it does.
    pub stack: Option<u64>,
}

/// A part of it that changes only by stores through the register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Word {
    pub at: u64,
    pub size: u8,
    /// What stands there is a multiple of this power of two,
    pub multiple: u64,
    /// and less than this.
    pub below: Option<u64>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            memory_as_loaded: false,
            stack_pointer: None,
            registers: BTreeMap::new(),
            given: BTreeMap::new(),
            shared: Shared::default(),
            own: None,
            fresh: BTreeSet::new(),
            stack_rest: None,
            switches: BTreeSet::new(),
            steps: 5_000_000,
            width: 16,
            blocks: Rc::default(),
            run: None,
        }
    }
}

impl Options {
    /// Instructions that are worth executing, where the region's one run says what is asked for, to know what registers hold besides.
    fn beside_one_run(&self) -> u64 {
        self.steps / 32
    }
}

/// Executes the region, and returns what it found.
pub fn analyse(program: &Program, expanded: &Expanded<'_>, options: &Options) -> Values {
    if let Some(run) = options.run.as_ref().filter(|_| expanded.nodes.len() as u64 > options.beside_one_run()) {
        return of_one_run(expanded, options, run);
    }
    let registers = Registers::of(program.architecture);
    let (symbols, pointer) = (Symbols::default(), program.architecture.pointer_size());
    let own = options
        .own
        .as_ref()
        .map(|own| (symbols.make(Root::Zero, multiples(own.bytes, None, pointer), Origin::Opaque), own));
    let leads = options.own.as_ref().and_then(|own| {
        let leads = own.leads?;
        let word = own.words.iter().find(|word| word.at == leads.at && word.size == pointer)?;
        Some((symbols.make(Root::Zero, multiples(word.multiple, word.below, pointer), Origin::Opaque), leads))
    });
    let world = World { program, symbols, pointer, shared: &options.shared, own, leads };
    let prepared = dead_operations::prepare(expanded, &options.blocks, registers, program.architecture);
    let mut engine = Engine::new(world, expanded, options, registers, prepared);
    let mut counts = vec![Count::default(); expanded.loops.len()];
    engine.everything(&mut counts);
    if let Some(run) = options.run.as_ref().filter(|_| engine.is_given_up()) {
        return of_one_run(expanded, options, run);
    }
    let record = &engine.record;
    let runs = counts.into_iter().zip(&expanded.loops).map(|(count, one)| {
        let most = if count.entered { count.run.most } else { Some(0) };
        // A loop that comes back executes its header twice: whatever says less is a fault, and not believed.
        if most.is_some_and(|most| most < 2) && one.back.iter().any(|edge| record.taken[*edge]) {
            let reason = Some("what was found of its iterations contradicts what was found of its edges".to_string());
            return Run { most: None, total: None, reason, ..count.run };
        }
        Run { most, total: count.total.flatten(), ..count.run }
    });
    Values {
        targets: expanded.order().map(|node| record.targets(node)).collect(),
        aligned: expanded.order().map(|node| record.aligned(node)).collect(),
        registers: expanded.order().map(|node| record.registers(node)).collect(),
        dead: (0..expanded.edges.len()).filter(|edge| !record.taken[*edge]).collect(),
        reached: expanded.order().map(|node| record.reached(node)).collect(),
        runs: runs.collect(),
        names: expanded.order().map(|node| record.names(node)).collect(),
        alike: expanded.order().map(|node| record.alike(node)).collect(),
        born: engine.born.clone(),
        assumptions: assumptions(options),
    }
}

/// What the one run of a region did is all that any does. Of registers nothing is said.
pub fn of_one_run(expanded: &Expanded<'_>, options: &Options, run: &OneRun) -> Values {
    let reached = |node| node == expanded.entry || expanded.predecessors(node).iter().any(|edge| run.takes(*edge));
    let parent = |number: usize| expanded.loops[number].parent;
    let runs = run.most.iter().zip(&run.totals).enumerate().map(|(number, (most, total))| Run {
        most: Some(*most),
        total: parent(number).map(|_| *total),
        ..Run::default()
    });
    let accesses = |node: usize| run.accesses[node].iter();
    Values {
        targets: expanded.order().map(|node| accesses(node).map(|one| one.seen.target()).collect()).collect(),
        aligned: expanded
            .order()
            .map(|node| accesses(node).map(|one| one.aligned && one.seen.is_known()).collect())
            .collect(),
        registers: vec![Vec::new(); expanded.nodes.len()],
        dead: (0..expanded.edges.len()).filter(|edge| !run.takes(*edge)).collect(),
        reached: expanded.order().map(reached).collect(),
        runs: runs.collect(),
        names: expanded.order().map(|node| vec![None; run.accesses[node].len()]).collect(),
        alike: expanded.order().map(|node| vec![None; run.accesses[node].len()]).collect(),
        born: vec![0; expanded.loops.len()],
        assumptions: assumptions(options),
    }
}

/// Numbers of so many bytes that are multiples of a power of two, and less than a number.
fn multiples(of: u64, below: Option<u64>, size: u8) -> Set {
    let all = wcet_binary::lift::evaluate::mask(size);
    let last = below.map_or(all, |below| u128::from(below.saturating_sub(1)).min(all));
    let of = u128::from(of.max(1));
    match last - last % of {
        0 => Set::single(0, size),
        high => Set { low: 0, high, stride: of, size },
    }
}

fn assumptions(options: &Options) -> Vec<String> {
    let is_everything = |(first, last): &(u64, u64)| *first == 0 && *last == u64::MAX;
    let unchanged = match &options.shared.places[..] {
        [] => "memory that the region reads twice does not change in between",
        places if places.iter().any(is_everything) => "nothing else writes the stack of the region",
        _ => "memory that is not shared does not change between two reads of the region",
    };
    let mut found = vec![
        unchanged.to_string(),
        "no pointer that the region is given, or finds in memory, leads to its own part of the stack".to_string(),
        "neither the stack nor an object that a pointer walks along wraps around the end of the address space"
            .to_string(),
    ];
    if options.own.is_some() {
        found.push("what is accessed through a register that leads to what a processor has of its own is the same object all the time".to_string());
    }
    if options.memory_as_loaded {
        found.push("at the entry memory is as the file says".to_string());
    }
    match options.stack_pointer {
        Some(_) => found.push("the stack pointer at the entry is where it is stated".to_string()),
        None => found.push("at the entry the stack pointer is a multiple of 8, and its stack is in memory".to_string()),
    }
    if !options.registers.is_empty() {
        found.push("registers at the entry are in the ranges stated".to_string());
    }
    found
}
