//! Prints what a region's values say of the loops of a function: ELF, description, part of the region's name, function, steps.
use timing_kernel::*;
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let data = std::fs::read(&arguments[1]).unwrap();
    let program = timing_load::Program::parse(&data).unwrap();
    let description = Description::load(std::path::Path::new(&arguments[2])).unwrap();
    let lifter = timing_lift::Lifter::new(&program).unwrap();
    let kernel = Kernel::new(&lifter, &description).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let region = kernel.regions.iter().find(|region| region.name.contains(&arguments[3])).unwrap();
    let expanded = region.expand(&kernel.graph, &kernel.points, &region.chain, &Default::default()).unwrap();
    let options = timing_values::Options {
        shared: kernel.shared.clone(),
        switches: kernel.points.called.keys().copied().collect(),
        steps: arguments.get(5).map_or(5_000_000, |steps| steps.parse().unwrap()),
        ..Default::default()
    };
    let values = timing_values::analyse(&program, &expanded, &options);
    for (number, one) in expanded.loops.iter().enumerate() {
        let chain = expanded.chain(one.context).join(">");
        if chain.ends_with(&arguments[4]) {
            println!("{:#x} {chain} {:#?}", expanded.block(one.header).start(), values.run(number));
            for edge in &one.back {
                println!("back {} from reached {}", edge, values.reached(expanded.edges[*edge].from));
            }
        }
    }
    for edge in values.dead() {
        let one = expanded.edges[*edge];
        let chain = expanded.chain(expanded.nodes[one.from].context).join(">");
        if values.reached(one.from) && chain.contains(&arguments[4]) {
            println!(
                "{:#x} -> {:#x} {:?} {}",
                expanded.block(one.from).last().address,
                expanded.block(one.to).start(),
                one.kind,
                chain
            );
        }
    }
}
