//! Registers of devices change between two reads: what follows from another value is not unreachable.

use crate::analysed::{assemble, X86};
use std::path::PathBuf;
use wcet_paths::analysis::{analyse, load_machine, Request, Stated};
use wcet_report::{Report, Verdict};

/// Reads a register twice, and works long if it was 0 and is no longer.
const POLL: &str =
    "_start:\n mov (%rdi), %eax\n test %eax, %eax\n jnz 2f\n mov (%rdi), %eax\n test %eax, %eax\n jz 2f\n\
     mov $5000, %ecx\n 1: dec %ecx\n jnz 1b\n 2: ret\n";

/// The same at a known address, alone or with an index.
fn fixed(address: u32, form: &str) -> String {
    POLL.replace("(%rdi)", form).replace("_start:", &format!("_start:\n and $3, %edi\n mov ${address:#x}, %esi\n"))
}

/// The first register of the I/O APIC, and an address that the machine file does not name.
const REGISTER: u32 = 0xfec0_0000;
const MEMORY: u32 = 0x1000_0000;

fn bounded(source: &str, stated: Stated) -> Report {
    let machines = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../machines/timing");
    let request = Request {
        file: "program.elf".into(),
        data: assemble(X86, source),
        machine: Some(load_machine(Some(&machines), X86.machine, &[]).unwrap()),
        stated,
        ..Request::default()
    };
    analyse(&request, &mut |_, _, _| {})
}

fn assumes(report: &Report, text: &str) -> bool {
    report.assumptions.iter().any(|assumption| assumption.text.contains(text))
}

const TWICE: &str = "reads twice does not change";
const NOT_SHARED: &str = "that is not shared does not change";
const NO_DEVICE: &str = "leads to memory, not to the registers of a device";

#[test]
fn a_register_at_a_known_address_is_polled() {
    for form in ["(%rsi)", "(%rsi,%rdi,4)"] {
        let report = bounded(&fixed(REGISTER, form), Stated::default());
        assert_eq!(report.verdict, Verdict::Bounded, "{form}: {:?}", report.errors);
        assert!(report.wcet_cycles > Some(5000), "{form}: {:?}", report.wcet_cycles);
        assert!(assumes(&report, NOT_SHARED) && !assumes(&report, TWICE), "{form}: {:?}", report.assumptions);
        // Of memory the second value is the first one.
        let report = bounded(&fixed(MEMORY, form), Stated::default());
        assert!(report.wcet_cycles < Some(5000), "{form}: {:?}", report.wcet_cycles);
    }
}

#[test]
fn an_unknown_address_is_a_register_if_devices_are_stated() {
    let memory = bounded(POLL, Stated::default());
    assert!(memory.wcet_cycles < Some(5000) && assumes(&memory, NO_DEVICE), "{:?}", memory.wcet_cycles);
    let devices = bounded(POLL, Stated { devices: true, ..Stated::default() });
    assert!(devices.wcet_cycles > Some(5000) && !assumes(&devices, NO_DEVICE), "{:?}", devices.wcet_cycles);
}

#[test]
fn where_others_write_memory_it_is_not_assumed_to_stay() {
    let report = bounded(POLL, Stated { shared: true, ..Stated::default() });
    assert!(report.wcet_cycles > Some(5000), "{:?}", report.wcet_cycles);
    assert!(!assumes(&report, TWICE) && !assumes(&report, NOT_SHARED), "{:?}", report.assumptions);
    assert!(assumes(&report, "nothing else writes the stack"), "{:?}", report.assumptions);
}

#[test]
fn what_is_read_back_from_a_register_is_not_what_was_written() {
    let written = |address: u32| {
        let source = format!(
            "_start:\n mov ${address:#x}, %esi\n movl $0, (%rsi)\n mov (%rsi), %eax\n test %eax, %eax\n jz 2f\n\
             mov $5000, %ecx\n 1: dec %ecx\n jnz 1b\n 2: ret\n"
        );
        bounded(&source, Stated::default()).wcet_cycles
    };
    assert!(written(REGISTER) > Some(5000) && written(MEMORY) < Some(5000));
}
