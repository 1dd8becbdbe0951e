//! Prints the loop bounds of a function.
use timing_lift::Lifter;
use timing_load::Program;

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let data = std::fs::read(&arguments[1]).unwrap();
    let program = Program::parse(&data).unwrap();
    let entry = program.symbol(&arguments[2]).unwrap().address;
    let lifter = Lifter::new(&program).unwrap();
    let mut flow_options = timing_flow::Options::default();
    let mut values_options = timing_values::Options::default();
    for argument in &arguments[3..] {
        if let Some(text) = argument.strip_prefix("switch=") {
            let (from, to) = text.split_once(':').unwrap();
            let address = |name: &str| program.symbol(name).unwrap().address;
            flow_options.switches.insert(address(from), to.split(',').map(address).collect());
            values_options.switches.insert(address(from));
        } else if argument == "loaded" {
            values_options.memory_as_loaded = true;
        } else if let Some(steps) = argument.strip_prefix("steps=") {
            values_options.steps = steps.parse().unwrap();
        }
    }
    let graph = timing_flow::analyse(&lifter, &[entry], &flow_options).unwrap_or_else(|_| {
        flow_options.copies = 64;
        timing_flow::analyse(&lifter, &[entry], &flow_options).unwrap_or_else(|errors| {
            errors.iter().for_each(|error| println!("{error}"));
            std::process::exit(1)
        })
    });
    let expanded = timing_context::expand(&graph, entry, &Default::default()).unwrap();
    let begin = std::time::Instant::now();
    let values = timing_values::analyse(&program, &expanded, &values_options);
    println!("{} nodes, {} contexts, {:?}", expanded.nodes.len(), expanded.contexts.len(), begin.elapsed());
    for bound in timing_bounds::infer(&program, &expanded, &values) {
        let one = &expanded.loops[bound.loop_id];
        let start = expanded.block(one.header).start();
        let place = expanded.place(one.header);
        println!("{:>3} {place} {:?} total {:?} {} @{start}", bound.loop_id, bound.bound, bound.total, bound.evidence);
        if let Some(reason) = bound.reason {
            println!("      {reason}; {:?}", bound.least);
        }
    }
    println!("{} of {} edges dead", values.dead().len(), expanded.edges.len());
    let all: Vec<_> = expanded.order().flat_map(|node| values.targets(node)).collect();
    let unknown = all.iter().filter(|one| matches!(one, timing_cache::Target::Anywhere)).count();
    println!("{unknown} of {} accesses anywhere", all.len());
}
