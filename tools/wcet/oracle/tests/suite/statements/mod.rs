//! Traces of a small kernel, made here: one agrees with all that is stated of it; each of the others, or another statement,
//! contradicts it in one point.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use wcet_binary::lift::il::{AddressForm, Flow, Target};
use wcet_binary::lift::Lifter;
use wcet_binary::load::Program;
use wcet_kernel::{Description, Kernel};
use wcet_oracle::observe::{Observations, Observer};

const DIRECT: u64 = 0xffff_8000_0000_0000;
const DEVICE: u64 = DIRECT + 0xfee0_0020;
const FRAME: u64 = DIRECT + 0x0100_0000;
/// The end of the second thread's stack.
const STACK: u64 = 0xffff_ffff_c000_4000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/statements")
}

/// What happens in a run.
#[derive(Clone)]
struct Run {
    /// The registers by which the device and the frame are accessed.
    device: u64,
    frame: u64,
    /// Where GS leads, in the array of processors.
    processor: u64,
    /// The thread whose address stands there, and the number that a processor reads of itself.
    thread: u64,
    number: u64,
    /// Rounds of the loop in the handler, and of the wait.
    rounds: u64,
    looks: u64,
    /// Where the value is read.
    value: Option<u64>,
    /// Where the stack begins.
    stack: u64,
    /// The physical page that the frame's stands for.
    page: u64,
    /// Switches to other threads, each of which goes on where this one did.
    switches: usize,
}

impl Default for Run {
    fn default() -> Run {
        Run {
            device: DEVICE,
            frame: FRAME,
            processor: 1,
            thread: 1,
            number: 1,
            rounds: 3,
            looks: 1,
            value: None,
            stack: STACK,
            page: FRAME - DIRECT,
            switches: 1,
        }
    }
}

impl Run {
    /// Its trace, from the system call to the first instruction behind the last switch.
    fn trace(&self, lifter: &Lifter<'_>) -> Vec<u8> {
        let program = lifter.program();
        let symbol = |name: &str| program.symbol(name).expect("a symbol").address;
        let (processors, threads) = (symbol("processors"), symbol("threads"));
        let thread = threads + 256 * self.thread;
        let gs = processors + 128 * self.processor;
        let registers = lifter.registers();
        let named = |name: &str| registers.named(name).expect("a register");
        let (segment, rsi, rdi, rsp) = (named("GS_OFFSET"), named("RSI"), named("RDI"), registers.stack_pointer());
        let (mut words, mut at, mut stack) = (Vec::new(), symbol("system_call"), 0);
        let (mut rounds, mut looks, mut returns) = (0, 0, Vec::new());
        let (switch_end, mut switched) = (symbol("thread_start") - 1, 0);
        loop {
            let one = lifter.lift(at).expect("an instruction");
            words.push(at & 0xffff_ffff_ffff);
            for access in &one.accesses {
                let AddressForm::Known { base, index: None, displacement, segment: through } = access.address else {
                    panic!("an access of a form that is not in this kernel: {access:?}")
                };
                let from = match (base, through) {
                    (None, Some(through)) if through == segment => gs,
                    (Some(base), None) if base == rsp => stack,
                    (Some(base), None) if base == rsi => self.frame,
                    (Some(base), None) if base == rdi => self.device,
                    (None, None) => self
                        .value
                        .filter(|_| displacement as u64 == symbol("value"))
                        .map_or(0, |value| value.wrapping_sub(displacement as u64)),
                    _ => panic!("an access by another register: {access:?}"),
                };
                let address = from.wrapping_add(displacement as u64);
                for write in [false, true] {
                    if if write { access.write } else { access.read } {
                        let shift = u64::from(access.size.trailing_zeros());
                        words.push((1 + 2 * shift + u64::from(write)) << 48 | address & 0xffff_ffff_ffff);
                        if address == self.frame && write {
                            words.push(258 << 48 | self.page);
                        }
                        match address.wrapping_sub(gs) {
                            0 => words.push(257 << 48 | self.number),
                            8 => words.push(257 << 48 | thread & 0xffff_ffff_ffff),
                            36 => words.push(257 << 48 | self.thread),
                            _ => {}
                        }
                    }
                }
            }
            // Its first instruction behind the last one is there.
            if switched == self.switches {
                break;
            }
            switched += usize::from(at == switch_end);
            match (one.mnemonic.as_str(), &one.accesses[..]) {
                ("push", _) => stack -= 8,
                ("pop", _) => stack += 8,
                ("mov", [access]) if stack == thread && access.size == 8 => stack = self.stack,
                ("mov", [access]) if stack == 0 && access.size == 8 => stack = thread,
                _ => {}
            }
            at = match one.flow {
                Flow::Call { to: Target::Direct(to), .. } => {
                    returns.push(one.next());
                    stack -= 8;
                    to
                }
                Flow::Return { .. } => {
                    stack += 8;
                    returns.pop().expect("a caller")
                }
                Flow::Jump { to: Target::Direct(to), when: Some(_) } => {
                    let (count, most) =
                        if to == symbol("await") { (&mut looks, self.looks) } else { (&mut rounds, self.rounds) };
                    *count += 1;
                    if *count < most {
                        to
                    } else {
                        one.next()
                    }
                }
                Flow::Jump { to: Target::Direct(to), when: None } => to,
                _ => one.next(),
            };
        }
        words.into_iter().flat_map(u64::to_le_bytes).collect()
    }
}

/// What comes of a run, with a description of the kernel in which a text stands for another.
fn observed(run: &Run, replaced: &str, by: &str) -> Observations {
    let text = std::fs::read_to_string(folder().join("timing.toml")).expect("the description is there");
    assert!(text.contains(replaced));
    let description = Description::parse(&text.replacen(replaced, by, 1)).expect("the description is well formed");
    let data = testing::kernel(&folder().join("kernel.S"), &[]);
    let program = Program::parse(&data).expect("the kernel is an executable");
    let lifter = Lifter::new(&program).expect("its instructions are known");
    let kernel = Kernel::new(&lifter, &description).expect("the description fits");
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../machines/timing/x86-inorder.toml");
    let machine = wcet_hardware::machine::load(&machine).expect("the machine is sound");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("trace-{:?}", std::thread::current().id()));
    std::fs::write(&file, run.trace(&lifter)).expect("the trace is written");
    let mut observer = Observer::new(&kernel, &machine, BTreeMap::new(), BTreeMap::new());
    observer.take(&[&file]).expect("the trace is read");
    observer.finish(&mut |_, _| {})
}

/// The statements that a run contradicts, with what is reported of each.
fn contradicted(run: &Run, replaced: &str, by: &str) -> Vec<(String, String)> {
    let found = observed(run, replaced, by);
    assert!(!found.passages.is_empty());
    let contradicted = found.statements.into_iter().filter(|one| one.contradicted > 0);
    contradicted.map(|one| (one.statement, one.examples.join("; "))).collect()
}

#[track_caller]
fn assert_contradicts(found: &[(String, String)], statement: &str, told: &str) {
    let fits = |(one, text): &(String, String)| one.contains(statement) && text.contains(told);
    assert!(found.iter().any(fits), "{found:#?}");
}

#[test]
fn what_is_true_is_checked_and_not_contradicted() {
    let found = observed(&Run::default(), "", "");
    assert!(found.surprises.is_empty(), "{:?}", found.surprises);
    assert_eq!(found.passages.len(), 2);
    let contradicted: Vec<_> = found.statements.iter().filter(|one| one.contradicted > 0).collect();
    assert!(contradicted.is_empty(), "{contradicted:#?}");
    for (statement, checked) in [
        ("await looks 2 times at most", 1),
        ("only device_read access local_apic", 1),
        ("what device_read access at addresses that are not known is local_apic", 1),
        ("the direct map: ", 1),
        ("what is stored through the direct map is nothing", 1),
        ("frames hold nothing of the image", 1),
        ("what is accessed through GS alone", 3),
        ("an address loaded from 8 bytes behind GS", 1),
        ("the numbers 0 and 36 bytes behind GS", 2),
        ("change only through GS", 1),
        ("handler begin with an empty stack", 1),
        ("behind a switch, no thread switches to another", 1),
        ("each access goes to bytes", 5),
        ("accesses that the analysis of their region takes to go to one line do", 1),
        ("the header of each loop executes", 1),
    ] {
        let row = found.statements.iter().find(|one| one.statement.contains(statement));
        assert!(row.is_some_and(|row| row.checked >= checked), "{statement}: {row:#?}");
    }
}

#[test]
fn objects_of_another_size_than_stated_are_seen() {
    let found = contradicted(&Run::default(), "\"processors\", bytes = 128", "\"processors\", bytes = 256");
    assert_contradicts(&found, "through GS alone is an element of processors", "system_call+");
    let found = contradicted(&Run::default(), "\"threads\", bytes = 256", "\"threads\", bytes = 512");
    assert_contradicts(&found, "an address loaded from 8 bytes behind GS is one of an element of threads", "where 0x");
}

#[test]
fn a_processor_with_another_number_or_object_is_seen() {
    let found = contradicted(&Run { number: 0, ..Run::default() }, "", "");
    assert_contradicts(&found, "the numbers 0 and 36 bytes behind GS", "where 0x0 stands");
    let found = contradicted(&Run { thread: 2, ..Run::default() }, "", "");
    assert_contradicts(&found, "the numbers 0 and 36 bytes behind GS", "where 0x2 stands");
}

#[test]
fn what_belongs_to_a_processor_is_not_written_by_other_addresses() {
    let data = testing::kernel(&folder().join("kernel.S"), &[]);
    let program = Program::parse(&data).expect("the kernel is an executable");
    let processors = program.symbol("processors").expect("a symbol").address;
    let found = contradicted(&Run { frame: processors + 8, ..Run::default() }, "", "");
    assert_contradicts(&found, "change only through GS", "mov) writes 8 bytes");
}

#[test]
fn a_device_function_that_touches_memory_is_seen() {
    let found = contradicted(&Run { device: FRAME, ..Run::default() }, "", "");
    assert_contradicts(&found, "what device_read access at addresses that are not known is local_apic", "device_read");
    // And a function that touches a device and is not named.
    let found = contradicted(&Run { frame: DEVICE, ..Run::default() }, "", "");
    assert_contradicts(&found, "only device_read access local_apic", "handler+");
    // Stated of a function that has nothing to do with it.
    let found = contradicted(&Run::default(), "functions = [\"device_read\"]", "functions = [\"handler\"]");
    assert_contradicts(&found, "what handler access at addresses that are not known is local_apic", "handler+");
    assert_contradicts(&found, "only handler access local_apic", "device_read");
}

#[test]
fn the_image_is_not_written_through_the_direct_map() {
    let data = testing::kernel(&folder().join("kernel.S"), &[]);
    let program = Program::parse(&data).expect("the kernel is an executable");
    let value = program.symbol("value").expect("a symbol").address - 0xffff_ffff_8000_0000;
    let found = contradicted(&Run { frame: DIRECT + value, page: value / 4096 * 4096, ..Run::default() }, "", "");
    assert_contradicts(&found, "frames hold nothing of the image", &format!("{:#x}", DIRECT + value));
    assert_contradicts(&found, "what is stored through the direct map is nothing that is read through the image", "");
}

#[test]
fn memory_that_stands_elsewhere_is_seen() {
    let found = contradicted(&Run { page: 0x7000, ..Run::default() }, "", "");
    assert_contradicts(&found, "the direct map: ", "its page stands for 0x7000");
}

#[test]
fn waits_and_loops_that_go_on_longer_are_seen() {
    assert!(contradicted(&Run { looks: 2, ..Run::default() }, "", "").is_empty());
    let found = contradicted(&Run { looks: 3, ..Run::default() }, "", "");
    assert_contradicts(&found, "await looks 2 times at most", "await executes 3 times for one entry, not 2");
    let found = contradicted(&Run { rounds: 4, ..Run::default() }, "", "");
    assert_contradicts(
        &found,
        "the header of each loop executes as often as its bound says at most",
        "executes 4 times",
    );
}

#[test]
fn a_second_switch_behind_a_switch_is_seen() {
    let found = contradicted(&Run { switches: 2, ..Run::default() }, "", "");
    assert_contradicts(&found, "behind a switch, no thread switches to another", "switch+");
}

#[test]
fn accesses_elsewhere_than_the_analysis_says_are_seen() {
    let found = contradicted(&Run { value: Some(0xffff_ffff_8020_5000), ..Run::default() }, "", "");
    assert_contradicts(
        &found,
        "each access goes to bytes that the analysis of its region allows",
        "0xffffffff80205000",
    );
    // A stack that begins with something on it.
    let found = contradicted(&Run { stack: STACK - 8, ..Run::default() }, "", "");
    assert_contradicts(&found, "handler begin with an empty stack", "call");
    assert_contradicts(&found, "each access goes to bytes that the analysis of its region allows", "push");
}
