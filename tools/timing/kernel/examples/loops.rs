//! Prints the loops of the functions about which the description states bounds: its ELF, its description.
use timing_kernel::*;
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let data = std::fs::read(&arguments[1]).unwrap();
    let program = timing_load::Program::parse(&data).unwrap();
    let description = Description::load(std::path::Path::new(&arguments[2])).unwrap();
    let lifter = timing_lift::Lifter::new(&program).unwrap();
    let kernel = Kernel::new(&lifter, &description).unwrap_or_else(|errors| panic!("{errors:#?}"));
    for one in &description.loops {
        let function = &kernel.graph.functions[&program.symbol(&one.function).unwrap().address];
        for (number, found) in function.loops.iter().enumerate() {
            let calls: Vec<String> = found
                .blocks
                .iter()
                .flat_map(|block| &function.blocks[*block].calls)
                .map(|callee| program.describe(*callee))
                .collect();
            println!(
                "{} {number}: header {:#x}, depth {}, {} blocks, calls {}",
                one.function,
                function.blocks[found.header].start(),
                found.depth,
                found.blocks.len(),
                calls.join(", ")
            );
        }
    }
}
