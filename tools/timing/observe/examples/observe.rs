//! Boots a system and prints what its passages cost.
use std::time::{Duration, Instant};
use timing_kernel::{Description, Kernel};
use timing_observe::*;
fn main() {
    let a: Vec<String> = std::env::args().collect();
    let data = std::fs::read(&a[1]).unwrap();
    let program = timing_load::Program::parse(&data).unwrap();
    let description = Description::load(a[2].as_ref()).unwrap();
    let machine = timing_machine::load(a[3].as_ref()).unwrap_or_else(|faults| panic!("{faults:?}"));
    let lifter = timing_lift::Lifter::new(&program).unwrap();
    let kernel = Kernel::new(&lifter, &description).unwrap_or_else(|errors| panic!("{errors:#?}"));
    let run = Run {
        kernel: a[1].clone().into(),
        system: a[4].clone().into(),
        processors: a[5].parse().unwrap(),
        memory_mib: 512,
        entries: a[6].parse().unwrap(),
        timeout: Duration::from_secs(60),
        counted: false,
        folder: "/tmp/kernel-observe".into(),
    };
    let began = Instant::now();
    let files = trace(&run, &program, &description.entries.system_call, 0xffffffff80000000).unwrap();
    println!("traced {:?} in {:?}", files, began.elapsed());
    let began = Instant::now();
    let observations = observe(&kernel, &machine, &files).unwrap();
    println!("{} passages, {} strays in {:?}", observations.passages.len(), observations.strays, began.elapsed());
    println!("{:#?}", observations.surprises);
    let comparison = compare(&kernel, &observations, &[], &Default::default());
    println!("calls {:?}", comparison.calls);
    for entry in comparison.entries {
        println!("{:7} {:8} {:8} {}", entry.passages, entry.warm_cycles, entry.observed_cycles, entry.name);
    }
}
