//! Bounds the regions of a kernel: its ELF, its description, a machine file, part of a region's name.
use std::collections::BTreeMap;
use std::time::Instant;
use timing_kernel::*;

/// The largest bound of a loop, in how many contexts it was met, and what is said of it.
type Known = (Option<u64>, usize, String, String);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let data = std::fs::read(&arguments[1]).unwrap();
    let program = timing_load::Program::parse(&data).unwrap();
    let description = Description::load(std::path::Path::new(&arguments[2])).unwrap();
    let machine = timing_machine::load(arguments[3].as_ref()).unwrap_or_else(|faults| panic!("{faults:?}"));
    let lifter = timing_lift::Lifter::new(&program).unwrap();
    let kernel = Kernel::new(&lifter, &description).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let wanted = arguments.get(4).cloned().unwrap_or_default();
    let mut loops: BTreeMap<(u64, String), Known> = BTreeMap::new();
    let began = Instant::now();
    for region in kernel.regions.iter().filter(|region| region.name.contains(&wanted)) {
        let one = analyse(&kernel, region, &machine).unwrap();
        println!(
            "{:>12} {:6} nodes {:5.1}+{:4.1}+{:4.1}s {}",
            one.wcet_cycles.map_or("-".to_string(), |c| c.to_string()),
            one.nodes,
            one.times.values,
            one.times.costs,
            one.times.path,
            region.name
        );
        let mut most: Vec<_> = one.functions.iter().collect();
        most.sort_by_key(|(_, cycles)| std::cmp::Reverse(**cycles));
        println!(
            "        {}",
            most.iter().take(8).map(|(name, cycles)| format!("{name} {cycles}")).collect::<Vec<_>>().join(", ")
        );
        for error in one.errors.iter().take(2) {
            println!("     {error}");
        }
        for found in one.loops {
            let entry = loops.entry((found.address, found.function.clone())).or_insert((
                Some(0),
                0,
                String::new(),
                String::new(),
            ));
            entry.1 += 1;
            entry.0 = match (entry.0, found.bound) {
                (Some(a), Some(b)) => Some(a.max(b)),
                _ => None,
            };
            if found.bound.is_none() {
                entry.2 = found.reason.unwrap_or_default();
                entry.3 = found.chain;
            } else {
                if entry.0.is_some() {
                    entry.2 = found.evidence;
                }
            }
        }
    }
    for ((address, function), (bound, count, text, chain)) in &loops {
        println!(
            "{address:#x} {function:30} {:>8} x{count} {text} {chain}",
            bound.map_or("NONE".to_string(), |bound| bound.to_string())
        );
    }
    println!("{:?}", began.elapsed());
}
