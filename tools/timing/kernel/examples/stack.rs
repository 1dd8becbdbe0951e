//! Prints the depth of the kernel's stacks.
use timing_kernel::*;
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let data = std::fs::read(&arguments[1]).unwrap();
    let program = timing_load::Program::parse(&data).unwrap();
    let description = Description::load(std::path::Path::new(&arguments[2])).unwrap();
    let lifter = timing_lift::Lifter::new(&program).unwrap();
    let kernel = Kernel::new(&lifter, &description).unwrap_or_else(|errors| panic!("{errors:#?}"));
    for (function, depth) in depths(&kernel.graph, lifter.registers().stack_pointer()) {
        if kernel.handlers.contains(&function)
            || ["trap_leave", "trap_idle"].contains(&program.describe(function).as_str())
        {
            println!(
                "{} {:?}",
                program.describe(function),
                depth.map(|depth| (
                    depth.bytes,
                    depth.chain.iter().map(|one| program.describe(*one)).collect::<Vec<_>>()
                ))
            );
        }
    }
}
