//! Prints where the regions of a kernel begin: its ELF, its description.
use timing_kernel::*;
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let data = std::fs::read(&arguments[1]).unwrap();
    let program = timing_load::Program::parse(&data).unwrap();
    let description = Description::load(std::path::Path::new(&arguments[2])).unwrap();
    let lifter = timing_lift::Lifter::new(&program).unwrap();
    let Kernel { graph, points, regions, .. } =
        Kernel::new(&lifter, &description).unwrap_or_else(|errors| panic!("{errors:#?}"));
    for (address, end) in &points.ends {
        println!("end {address:#x} {} {end:?}", program.describe(*address));
    }
    let mut sum = 0;
    for region in &regions {
        match region.expand(&graph, &points, &region.chain, &Default::default()) {
            Ok(expanded) => {
                sum += expanded.nodes.len();
                println!(
                    "{:6} nodes {:4} contexts {:3} loops {:?} below  {} at {}",
                    expanded.nodes.len(),
                    expanded.contexts.len(),
                    expanded.loops.len(),
                    region.below,
                    region.name,
                    program.describe(region.start)
                )
            }
            Err(errors) => println!("{} {errors:?}", region.name),
        }
    }
    println!("{} regions, {sum} nodes", regions.len());
}
