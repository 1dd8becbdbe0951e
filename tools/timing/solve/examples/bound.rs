//! The bound of an entry if every loop runs so often: `bound FILE ENTRY MACHINE BOUND [FUNCTION=START] [stop:SYMBOL]`.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use timing_context::{expand, Expanded};
use timing_lift::Lifter;
use timing_load::Program;
use timing_solve::{Anywhere, Constraints, Options, Prepared};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, entry, machine, bound, stated @ ..] = arguments.as_slice() else {
        panic!("bound FILE ENTRY MACHINE BOUND [FUNCTION=START] [stop:SYMBOL]");
    };
    let program = Program::parse(&std::fs::read(file).expect("a file")).expect("an executable");
    let address = |name: &str| program.symbol(name).unwrap_or_else(|| panic!("no symbol {name}")).address;
    let machine = timing_machine::load(machine.as_ref()).unwrap_or_else(|faults| panic!("{faults}"));
    let mut flow = timing_flow::Options::default();
    let mut options = timing_context::Options::default();
    for text in stated {
        if let Some((function, start)) = text.split_once('=') {
            flow.switches.insert(address(function), BTreeSet::from([address(start)]));
        } else if let Some(stop) = text.strip_prefix("stop:") {
            options.stops.insert(address(stop));
        }
    }
    let mut last = Instant::now();
    let mut took = |what: &str| {
        println!("{what}: {:.3} s", last.elapsed().as_secs_f64());
        last = Instant::now();
    };
    let lifter = Lifter::new(&program).expect("semantics");
    let entry = address(entry);
    let graph = timing_flow::analyse(&lifter, &[entry], &flow).unwrap_or_else(|errors| panic!("{errors:#?}"));
    took("flow");
    let expanded = expand(&graph, entry, &options).unwrap_or_else(|errors| panic!("{errors:#?}"));
    println!("{} nodes, {} edges, {} loops", expanded.nodes.len(), expanded.edges.len(), expanded.loops.len());
    took("expand");
    let bound = bound.parse().expect("a number");
    let bounds: BTreeMap<usize, u64> = (0..expanded.loops.len()).map(|number| (number, bound)).collect();
    let prepared = Prepared::new(&program, &expanded, &machine, &bounds, &Anywhere, &BTreeSet::new());
    let prepared = prepared.unwrap_or_else(|errors| panic!("{}", list(&errors)));
    took("costs");
    let deadline = Some(Instant::now() + Duration::from_secs(30));
    let found = prepared.bound(&Constraints::default(), &Options { deadline });
    let found = found.unwrap_or_else(|errors| panic!("{}", list(&errors)));
    took("bound");
    println!(
        "{} cycles, path {} ({})",
        found.wcet_cycles,
        found.path_cycles,
        if found.exact { "exact" } else { "a gap" }
    );
    println!("{} nodes on the path; first misses {:?}", found.path.len(), found.first_misses.get(&None));
    dearest(&expanded, &found);
}

fn dearest(expanded: &Expanded<'_>, found: &timing_solve::Bound) {
    let mut by_function: BTreeMap<&str, u64> = BTreeMap::new();
    for visit in &found.path {
        *by_function.entry(&expanded.function(expanded.nodes[visit.node].context).name).or_default() += visit.cycles;
    }
    let mut all: Vec<(u64, &str)> = by_function.into_iter().map(|(name, cycles)| (cycles, name)).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.iter().take(8).for_each(|(cycles, name)| println!("{cycles:>12} {name}"));
}

fn list(errors: &[timing_solve::Error]) -> String {
    errors.iter().map(|error| format!("{error}\n")).collect()
}
