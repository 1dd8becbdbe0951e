//! Bounds the regions of a kernel whose names contain one of some texts, and shows where the cycles of each go: by chain of
//! calls, those that cost more than a small share of the whole. Without texts it lists the regions.
//!
//!     regions KERNEL.elf kernel/timing.toml machines/timing/x86-inorder.toml 'interrupt timer' 'system call null'

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use wcet_binary::lift::Lifter;
use wcet_binary::load::Program;
use wcet_kernel::{alone, analyse, with_loops, Analysed, Continuation, Description, Kernel};

/// Chains that cost less than this part of their region are not shown.
const SHOWN: u64 = 60;

fn main() -> Result<(), String> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, description, machine, names @ ..] = arguments.as_slice() else {
        return Err("KERNEL DESCRIPTION MACHINE NAME...".to_string());
    };
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let data = std::fs::read(file).map_err(|error| text(&error))?;
    let program = Program::parse(&data).map_err(|errors| format!("{errors:?}"))?;
    let description = Description::load(Path::new(description)).map_err(|error| text(&error))?;
    let machine = wcet_hardware::machine::load(Path::new(machine)).map_err(|faults| format!("{faults:?}"))?;
    let lifter = Lifter::new(&program).map_err(|error| text(&error))?;
    let mut kernel = Kernel::new(&lifter, &description).map_err(|errors| format!("{errors:?}"))?;
    if names.is_empty() {
        kernel.regions.iter().for_each(|region| println!("{}", region.name));
        return Ok(());
    }
    let chosen: Vec<usize> = (0..kernel.regions.len())
        .filter(|number| names.iter().any(|name| kernel.regions[*number].name.contains(name.as_str())))
        .collect();
    let mut tried: BTreeSet<String> = BTreeSet::new();
    for number in chosen {
        let region = kernel.regions[number].clone();
        let mut found = analyse(&kernel, &region, &machine).map_err(|errors| format!("{errors:?}"))?;
        // Only functions of which the region leaves loops without a bound are looked at alone.
        loop {
            let without = found.loops.iter().filter(|one| one.bound.is_none()).map(|one| one.function.clone());
            let missing: BTreeSet<String> = without.filter(|function| tried.insert(function.clone())).collect();
            if missing.is_empty() {
                break;
            }
            let functions = with_loops(&kernel).into_iter().filter(|one| missing.contains(&program.describe(*one)));
            let known: BTreeMap<_, _> = functions.flat_map(|function| alone(&kernel, function)).collect();
            kernel.apart.extend(known);
            found = analyse(&kernel, &region, &machine).map_err(|errors| format!("{errors:?}"))?;
        }
        show(&kernel, &region.name, &found);
    }
    Ok(())
}

fn show(kernel: &Kernel<'_>, name: &str, found: &Analysed) {
    let program = kernel.lifter.program();
    let Some(all) = found.wcet_cycles else {
        println!("{name}: no bound");
        found.errors.iter().for_each(|error| println!("    {error}"));
        return;
    };
    let seconds = found.times.values + found.times.costs + found.times.path;
    println!("{name}: {all} cycles, {} nodes, {seconds:.1} s", found.nodes);
    let mut chains: BTreeSet<&[u64]> = BTreeSet::new();
    for chain in found.calls.keys() {
        chains.extend((1..=chain.len()).map(|length| &chain[..length]));
    }
    for chain in chains {
        let below = found.calls.iter().filter(|(one, _)| one.starts_with(chain));
        let total: u64 = below.map(|(_, call)| call.cycles).sum();
        if total >= all / SHOWN {
            let own = found.calls.get(chain).copied().unwrap_or_default();
            let function = program.describe(chain[chain.len() - 1]);
            println!("{total:>12} {:>11} {:>7} {}{function}", own.cycles, own.times, "  ".repeat(chain.len()));
        }
    }
    if let Some((locks, holding)) = kernel.locks.as_ref().zip(found.holding.as_ref()) {
        for (family, count) in &holding.taken {
            println!("    takes {count} of {}", locks.names(*family));
        }
        for ((family, taken), section) in &holding.sections {
            let inner: Vec<String> =
                taken.iter().map(|(family, count)| format!("{count} of {}", locks.names(*family))).collect();
            let (names, place) = (locks.names(*family), &section.place);
            println!("    holds {names} for {} cycles from {place} on: {}", section.cycles, inner.join(", "));
        }
    }
    found.unknown_locks.iter().for_each(|reason| println!("    {reason}"));
    let misses = found.functions.get("first misses").copied().unwrap_or_default();
    println!("{misses:>12} first misses");
    for way in &found.ways {
        let names = |chain: &[(u64, usize)]| {
            let names: Vec<String> = chain.iter().map(|(function, _)| program.describe(*function)).collect();
            names.join(" > ")
        };
        match way {
            Continuation::Out => println!("    goes out"),
            Continuation::Switch(chain) => println!("    switches in {}", names(chain)),
            Continuation::On(end, chain) => println!("    goes on behind {end:?} in {}", names(chain)),
        }
    }
    for one in found.loops.iter().filter(|one| one.bound.is_none_or(|bound| bound > 16)) {
        let bound = one.bound.map_or_else(|| "none".to_string(), |bound| bound.to_string());
        println!("    loop {} {:#x}: {bound}", one.chain, one.address);
    }
}
