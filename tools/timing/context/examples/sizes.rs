//! How large the expanded graph of each named entry is: `sizes FILE ENTRY... [--switch FUNCTION=ADDRESS]`.

use std::collections::{BTreeMap, BTreeSet};

use timing_context::{expand, Options};
use timing_lift::Lifter;
use timing_load::Program;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let data = std::fs::read(arguments.next().expect("a file")).expect("a readable file");
    let program = Program::parse(&data).expect("an executable");
    let address = |name: &str| program.symbol(name).unwrap_or_else(|| panic!("no symbol {name}")).address;
    let (switches, entries): (Vec<String>, Vec<String>) = arguments.partition(|argument| argument.contains('='));
    let mut flow = timing_flow::Options::default();
    for switch in switches {
        let (function, starts) = switch.split_once('=').expect("FUNCTION=START");
        let starts: BTreeSet<u64> = starts.split(',').map(address).collect();
        flow.switches.insert(address(function), starts);
    }
    let lifter = Lifter::new(&program).expect("semantics");
    let addresses: BTreeMap<u64, &String> = entries.iter().map(|name| (address(name), name)).collect();
    let all: Vec<u64> = addresses.keys().copied().collect();
    let graph = timing_flow::analyse(&lifter, &all, &flow);
    let graph = graph
        .unwrap_or_else(|errors| panic!("{}", errors.iter().map(|error| format!("{error}\n")).collect::<String>()));
    println!(
        "{} functions, {} blocks",
        graph.functions.len(),
        graph.functions.values().map(|one| one.blocks.len()).sum::<usize>()
    );
    for (entry, name) in addresses {
        match expand(&graph, entry, &Options::default()) {
            Ok(found) => println!(
                "{name}: {} contexts, {} nodes, {} edges, {} loops, {} exits",
                found.contexts.len(),
                found.nodes.len(),
                found.edges.len(),
                found.loops.len(),
                found.exits.len()
            ),
            Err(errors) => errors.iter().for_each(|error| println!("{name}: {error}")),
        }
    }
}
