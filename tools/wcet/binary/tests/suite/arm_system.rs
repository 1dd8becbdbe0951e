//! ARM instructions of the system, which no program may execute: how each is treated.

use wcet_binary::lift::il::{Flow, Kind, Op, Target};
use wcet_binary::lift::{Instruction, Lifter};
use wcet_binary::load::Program;

fn lifted(source: &str) -> Vec<Instruction> {
    let options = ["-marm", "-march=armv7-a", "-nostdlib", "-static", "-no-pie", "-Wl,--build-id=none"];
    let source = format!(".text\n.globl _start\n_start:\n{source}\n");
    let data = testing::compile("arm-linux-gnueabi-gcc", &options, "s", &source);
    let program = Program::parse(&data).expect("a program");
    let lifter = Lifter::new(&program).expect("a lifter");
    let places = (0..source.lines().count() as u64 - 3).map(|line| program.entry + 4 * line);
    places.map(|address| lifter.lift(address).unwrap_or_else(|error| panic!("{error}"))).collect()
}

fn clobbers(instruction: &Instruction) -> bool {
    instruction.ops.iter().any(|op| matches!(op, Op::ClobberMemory))
}

#[test]
fn a_store_of_the_return_state_is_no_return() {
    let found = lifted("srsia sp, #19\nsrsdb sp!, #31\nrfeia sp");
    let [stored, moved, left] = &found[..] else { panic!("{found:?}") };
    for store in [stored, moved] {
        assert!(clobbers(store) && store.flow == Flow::Next && store.kind == Kind::System, "{store:?}");
        assert!(store.accesses.iter().all(|access| access.write && !access.read && access.size == 8), "{store:?}");
    }
    // With `!` it moves the stack pointer of a mode, which may be this one.
    let sets = |one: &Instruction| one.ops.iter().filter(|op| matches!(op, Op::Set { .. })).count();
    assert_eq!((sets(stored), sets(moved)), (0, 1));
    assert!(!clobbers(left) && left.flow == Flow::Leave, "{left:?}");
}

#[test]
fn a_call_of_what_follows_is_a_call() {
    let found = lifted("bl 1f\n1: bx lr");
    assert_eq!(found[0].flow, Flow::Call { to: Target::Direct(found[1].address), when: None });
    assert!(found[0].ops.iter().any(|op| matches!(op, Op::Set { .. })), "it sets the link register");
}
