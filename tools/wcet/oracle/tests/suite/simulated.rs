//! Times that can be told by hand from the contract or that the thesis tells, on the shipped machines.

use std::path::PathBuf;
use wcet_hardware::machine::{Class, Machine, Transfer};
use wcet_oracle::simulate::{observe, Control, DataAccess, Pointer, Region, Simulator, Step};

fn machine(name: &str) -> Machine {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(format!("../../../machines/timing/{name}.toml"));
    wcet_hardware::machine::load(&path).unwrap_or_else(|faults| panic!("{faults}"))
}

/// Instructions one after the other from address 0x1000, four bytes each.
fn code(parts: &[(Class, u64, u64)]) -> Vec<Step> {
    let step = |(number, &(class, reads, writes)): (usize, &(Class, u64, u64))| Step {
        address: 0x1000 + 4 * number as u64,
        length: 4,
        class,
        reads,
        writes,
        transfer: if class == Class::Branch { Transfer::Unknown } else { Transfer::None },
        control: if class == Class::Branch { Control::NotTaken } else { Control::None },
        memory: match class {
            Class::Load | Class::Store => vec![DataAccess { address: 0x8000, write: class == Class::Store }],
            _ => Vec::new(),
        },
        forgets: false,
    };
    parts.iter().enumerate().map(step).collect()
}

/// Cycles with all lines in the caches.
fn warm(machine: &Machine, trace: &[Step]) -> u64 {
    let mut simulator = Simulator::new(machine, Pointer::OfEachSet, 1);
    simulator.pass(trace);
    simulator.run(trace).expect("all classes have costs")
}

const ALU: (Class, u64, u64) = (Class::Alu, 0, 0);

#[test]
fn one_instruction_a_cycle_on_the_arm1136() {
    let kzm = machine("arm1136-kzm");
    // Fetch 1, front 3, execution 1; then one each cycle.
    assert_eq!(warm(&kzm, &code(&[ALU])), 5);
    assert_eq!(warm(&kzm, &code(&[ALU; 8])), 12);
}

#[test]
fn two_instructions_a_cycle_on_the_cortex_a8() {
    let a8 = machine("cortex-a8");
    let one = warm(&a8, &code(&[ALU; 1]));
    assert_eq!(warm(&a8, &code(&[ALU; 2])), one);
    assert_eq!(warm(&a8, &code(&[ALU; 16])), one + 7);
    // A dependent chain does not pair.
    let chain: Vec<_> = (0..16).map(|_| (Class::Alu, 1, 1)).collect();
    assert_eq!(warm(&a8, &code(&chain)), one + 15);
}

#[test]
fn a_branch_takes_five_cycles_on_the_arm1136_and_fourteen_on_the_cortex_a8() {
    for (name, cycles) in [("arm1136-kzm", 5), ("cortex-a8", 14)] {
        let machine = machine(name);
        let trace = code(&[(Class::Branch, 0, 0), ALU]);
        let mut simulator = Simulator::new(&machine, Pointer::OfEachSet, 1);
        simulator.pass(&trace);
        let times = simulator.times(&trace).expect("all classes have costs");
        assert_eq!(times[1].issued - times[0].issued, cycles, "{name}");
    }
}

#[test]
fn misses_take_the_memory_latency() {
    let kzm = machine("arm1136-kzm");
    let trace = code(&[ALU, (Class::Load, 0, 1)]);
    let mut simulator = Simulator::new(&kzm, Pointer::OfEachSet, 1);
    // One fetch miss of 60, front 3, the first instruction, and a load that misses.
    assert_eq!(simulator.run(&trace), Ok(60 + 3 + 1 + 60));
    let l2 = machine("arm1136-kzm-l2");
    let mut simulator = Simulator::new(&l2, Pointer::OfEachSet, 1);
    assert_eq!(simulator.run(&trace), Ok(96 + 3 + 1 + 96));
}

/// The thesis's figures 8.6 and 8.7: lifting a load over a branch leaves one stall cycle of four.
#[test]
fn lifting_a_load_saves_the_thesis_three_cycles() {
    let (r0, r3, r5, flags) = (1, 2, 4, 8);
    let kzm = machine("arm1136-kzm");
    let before = code(&[
        (Class::Load, 0, r0),
        (Class::Alu, r0, r3),
        (Class::Alu, r3, flags),
        (Class::Branch, flags, 0),
        (Class::Load, 0, r3),
        (Class::Alu, r3, flags),
        (Class::Branch, flags, 0),
    ]);
    let after = code(&[
        (Class::Load, 0, r0),
        (Class::Load, 0, r3),
        (Class::Alu, r0, r5),
        (Class::Alu, r5, flags),
        (Class::Branch, flags, 0),
        (Class::Alu, r3, flags),
        (Class::Branch, flags, 0),
    ]);
    assert_eq!(warm(&kzm, &before) - warm(&kzm, &after), 3);
}

#[test]
fn regions_are_timed_each_from_a_standstill() {
    let kzm = machine("arm1136-kzm");
    let mut trace = code(&[ALU; 4]);
    trace.extend(code(&[ALU; 4]));
    let region = Region { name: "middle".into(), start: 0x1004, ends: vec![0x1008] };
    let mut simulator = Simulator::new(&kzm, Pointer::OfEachSet, 1);
    let seen = observe(&mut simulator, &trace, &[region]).expect("all classes have costs");
    let found: Vec<_> = seen.iter().map(|one| (one.first, one.steps, one.cycles)).collect();
    assert_eq!(found, [(1, 2, 6), (5, 2, 6)]);
}
