//! Control-flow graphs of machine code.
//!
//! [`analyse`] takes a program's lifter and entry points and returns a [`Graph`]: every function that is reached, with
//! its basic blocks, the functions each block calls, dominators, and loops with their nesting. Nothing else of the
//! program is looked at: code that is not reached is left out.
//!
//! # What is an error
//! All errors of a run come back together, each with address, symbol and, where there is one, a remedy: instructions
//! that cannot be lifted; indirect jumps and calls whose targets cannot be enumerated; returns that do not go to the
//! caller; loops with several entries, unless they may be split; recursion without a stated depth. There is no graph
//! then, not even part of one.
//!
//! # Why it is sound
//! * A graph is complete: each instruction's successors are those of its semantics, and an indirect jump's targets are
//!   enumerated along every known path to it, until no new path appears (`resolve.rs`). Tables are read only from memory
//!   that does not change.
//! * A `ret` is taken for a return only if its target is the function's own return address, followed through registers
//!   and stack (`frame.rs`). Code behind a call is reached only if the callee may return.
//! * A callee that takes its return address from its caller's part of the stack returns for its caller, or goes where that one
//!   says. It is a part of each of its callers then: where it goes is judged by what that one has put there.
//! * A jump to the start of another function, with the stack and return address as at the entry, is a tail call: the
//!   callee returns for this function. Other jumps out of a function make their target's code part of it.
//! * A loop's header dominates the loop, so its iterations are well-defined. A loop with several entries is an error,
//!   or its blocks are copied until it has one, which executes the same instructions (`split.rs`).
//!
//! # What it assumes
//! [`Graph::assumptions`] lists it: stores through pointers leave return addresses and saved registers alone; an index
//! that is checked in memory and read again is still the same, if others do not write there (named for each jump that needs it); and what [`Options`]
//! states is right: targets, stack switches, recursion depths (which are for the bound to charge).

mod build;
pub mod context;
mod displacement;
mod dominators;
mod error;
mod evaluate;
mod explore;
mod forward;
mod frame;
mod graph;
mod iterations;
mod loops;
mod path;
mod range;
mod recursion;
mod resolve;
mod shared;
mod split;
mod term;
mod transfer;
mod zeros;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

pub use displacement::Displacements;
pub use dominators::dominates;
pub use error::{Error, Located, Problem};
pub use forward::forward;
pub use graph::{Block, Edge, EdgeKind, Function, Graph};
pub use loops::Loop;
pub use shared::Shared;
use wcet_binary::lift::Lifter;
use wcet_binary::load::{Architecture, Coding};

use explore::Explorer;

/// What a person states about a program.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Targets of indirect jumps, calls and returns, by the address of the instruction.
    pub targets: BTreeMap<u64, BTreeSet<u64>>,
    /// How deep functions call themselves, by their address.
    pub recursion: BTreeMap<u64, u32>,
    /// Functions that switch to another stack and return there, and where a new stack begins. Such a function comes
    /// back to its caller later, on the caller's stack, with all other registers changed. What runs in between is for
    /// the analysis of a region: any place behind a call of the function, or one of the beginnings.
    pub switches: BTreeMap<u64, BTreeSet<u64>>,
    /// Most blocks of a function that are copied to give loops with several entries a single one. Without copies, such
    /// loops are errors.
    pub copies: usize,
    /// Addresses of instructions with which a block begins in any case, because a region does.
    pub boundaries: BTreeSet<u64>,
    /// Addresses of instructions with which the region ends: what is behind them is not looked at.
    pub stops: BTreeSet<u64>,
    /// Memory of which no two reads are taken to be the same.
    pub shared: Shared,
    /// When to give up, with an error.
    pub deadline: Option<Instant>,
}

/// Rounds of exploring and resolving; each adds a target at least, so this many are never needed.
const ROUNDS: usize = 10_000;

/// The control flow of what `entries` reach.
pub fn analyse(lifter: &Lifter<'_>, entries: &[u64], options: &Options) -> Result<Graph, Vec<Error>> {
    let wild = misplaced(lifter, entries, options);
    if !wild.is_empty() {
        return Err(wild);
    }
    let mut explorer = Explorer::new(lifter, entries, options);
    let mut unresolved = BTreeMap::new();
    for round in 0.. {
        explorer.run();
        unresolved = BTreeMap::new();
        let mut predecessors = BTreeMap::new();
        let mut changed = false;
        for (function, address) in indirect(&explorer) {
            if explorer.is_late() {
                break;
            }
            match explorer.resolve(function, address, &mut predecessors) {
                Ok(targets) if explorer.targets.get(&address).is_some_and(|known| targets.is_subset(known)) => {}
                Ok(targets) => {
                    explorer.resolved(address, targets);
                    changed = true;
                }
                Err(why) => {
                    unresolved.insert(address, why);
                }
            }
        }
        if explorer.is_late() {
            return Err(vec![Error { address: 0, place: String::new(), problem: Problem::Late }]);
        }
        if round >= ROUNDS || !changed && !explorer.go_all_ways() {
            break;
        }
    }
    let mut errors = faults(&mut explorer, unresolved);
    let entries: Vec<u64> = explorer.bodies.keys().copied().collect();
    let mut functions = BTreeMap::new();
    for entry in entries {
        match build::function(&mut explorer, entry) {
            Ok(function) => {
                functions.insert(entry, function);
            }
            Err(found) => errors.extend(found),
        }
    }
    let graph = Graph { functions, assumptions: assumptions(&explorer), rereads: explorer.rereads.clone() };
    errors.extend(recursion::check(&graph, explorer.program, options));
    if errors.is_empty() {
        Ok(graph)
    } else {
        Err(errors.into_iter().collect())
    }
}

/// Entries and stated targets where no instruction of ARM or Thumb begins, or one in the block of an `it` instruction: how that
/// is executed depends on how it is come to.
fn misplaced(lifter: &Lifter<'_>, entries: &[u64], options: &Options) -> Vec<Error> {
    let program = lifter.program();
    if program.architecture != Architecture::Arm {
        return Vec::new();
    }
    let stated = options.targets.values().chain(options.switches.values()).flatten();
    let all: BTreeSet<u64> = entries.iter().chain(stated).copied().collect();
    let fault = |address: u64| {
        let thumb = matches!(program.coding(address), Coding::Thumb { .. });
        let why = program.arrives_in(address, thumb).err()?;
        let problem = Problem::Instruction(format!("control is to come here, but this {why}"));
        Some(Error { address, place: program.describe(address), problem })
    };
    all.into_iter().filter_map(fault).collect()
}

/// Indirect jumps and calls without stated targets: function and instruction.
fn indirect(explorer: &Explorer<'_>) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    for (function, body) in &explorer.bodies {
        let exits = body.exits.iter().filter(|(address, exits)| {
            exits.indirect && !exits.returns && !explorer.options.targets.contains_key(address)
        });
        found.extend(exits.map(|(address, _)| (*function, *address)));
    }
    found
}

/// What is wrong with single instructions.
fn faults(explorer: &mut Explorer<'_>, unresolved: BTreeMap<u64, String>) -> BTreeSet<Error> {
    let program = explorer.program;
    let mut errors = BTreeSet::new();
    let mut add = |address, problem| errors.insert(Error { address, place: program.describe(address), problem });
    let reached: BTreeSet<u64> = explorer.bodies.values().flat_map(|body| body.frames.keys().copied()).collect();
    for address in reached {
        match explorer.instruction(address) {
            Err(error) => {
                add(address, Problem::Instruction(error.to_string()));
            }
            Ok(instruction) => {
                let Some(why) = unresolved.get(&address).cloned() else { continue };
                let number = format!("{address:#x}");
                let symbol = program.symbol_of(address).map_or_else(|| number.clone(), |symbol| symbol.name.clone());
                add(
                    address,
                    match instruction.flow {
                        wcet_binary::lift::il::Flow::Return { .. } => Problem::StrangeReturn { function: symbol, why },
                        wcet_binary::lift::il::Flow::Call { .. } => {
                            Problem::Unresolved { what: "call", address: number, why }
                        }
                        _ => Problem::Unresolved { what: "jump", address: number, why },
                    },
                );
            }
        }
    }
    errors
}

fn assumptions(explorer: &Explorer<'_>) -> Vec<String> {
    let program = explorer.program;
    let mut found = program.assumptions.clone();
    found.push("stores through pointers change no return address and no saved register".to_string());
    let instructions = explorer.reached();
    let of_registers: BTreeSet<String> =
        instructions.iter().filter_map(|instruction| explorer.lifter.assumption(instruction)).collect();
    found.extend(of_registers);
    for address in explorer.rereads.keys() {
        let place = program.describe(*address);
        found
            .push(format!("what bounds the jump at {place} is in memory, and does not change before it is read again"));
    }
    for (address, targets) in &explorer.options.targets {
        let names: Vec<String> = targets.iter().map(|target| program.describe(*target)).collect();
        found.push(format!("{} goes to {}, as stated", program.describe(*address), names.join(", ")));
    }
    for (function, starts) in &explorer.options.switches {
        let names: Vec<String> = starts.iter().map(|start| program.describe(*start)).collect();
        let (function, starts) = (program.describe(*function), names.join(", "));
        found.push(format!(
            "{function} switches stacks, comes back on its caller's, and new stacks begin at {starts}, as stated"
        ));
    }
    for (function, depth) in &explorer.options.recursion {
        found.push(format!("{} calls itself at most {depth} deep, as stated", program.describe(*function)));
    }
    found
}
