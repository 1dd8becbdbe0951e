//! The lifted semantics of x86-64 against this machine's processor, on random states, form by form: those that the kernel
//! is made of (`kernel_forms.txt`), and others that compilers make of user programs.
//!
//! A generated program executes each form with given registers, flags and memory and prints what comes out; the lifted
//! operations, executed on the same input, must give the same wherever they give a value. Runs on x86-64 only.
#![cfg(target_arch = "x86_64")]

mod forms;
mod kernel;
mod program;
mod vectors;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use crate::execution::{After, Campaign, Place, State};
use program::{source, Form, Sort, STATES};
use wcet_binary::lift::{Lifter, Registers};
use wcet_binary::load::{Architecture, Program};

/// The kernel's forms that are not executed here, and why. What is lifted of them is a list (`src/x86/system.rs`): what the
/// decoder says is written becomes unknown.
const NOT_EXECUTED: [(&str, &str); 41] = [
    ("clflush", "changes no register and no memory, only the cache"),
    ("clgi", PRIVILEGED),
    ("cli", PRIVILEGED),
    ("clts", PRIVILEGED),
    ("fninit", "changes vector registers alone, which are not followed"),
    ("fxrstor64", "changes vector registers alone, which are not followed"),
    ("fxsave64", "writes 512 bytes, after which all memory is unknown"),
    ("hlt", PRIVILEGED),
    ("in", PRIVILEGED),
    ("int", "comes back from a handler of the kernel's"),
    ("invept", PRIVILEGED),
    ("invlpg", PRIVILEGED),
    ("iretq", "leaves for another privilege, and no register is known behind it"),
    ("ldmxcsr", "changes a control word of the vector unit alone, which is not followed"),
    ("lgdt", PRIVILEGED),
    ("lidt", PRIVILEGED),
    ("lldt", PRIVILEGED),
    ("ltr", PRIVILEGED),
    ("mov", "to or from a control, debug or segment register, of which all but segments are privileged"),
    ("out", PRIVILEGED),
    ("rdmsr", PRIVILEGED),
    ("stgi", PRIVILEGED),
    ("sti", PRIVILEGED),
    ("swapgs", PRIVILEGED),
    ("sysretq", "leaves for another privilege, and no register is known behind it"),
    ("ud2", "raises an exception: nothing is behind it"),
    ("verw", "changes one flag, which is unknown behind it"),
    ("vmclear", PRIVILEGED),
    ("vmlaunch", PRIVILEGED),
    ("vmload", PRIVILEGED),
    ("vmptrld", PRIVILEGED),
    ("vmread", PRIVILEGED),
    ("vmresume", PRIVILEGED),
    ("vmrun", PRIVILEGED),
    ("vmsave", PRIVILEGED),
    ("vmwrite", PRIVILEGED),
    ("vmxon", PRIVILEGED),
    ("vzeroupper", "changes vector registers alone, which are not followed"),
    ("wrmsr", PRIVILEGED),
    ("xrstor64", "changes vector registers alone, which are not followed"),
    ("xsave64", "writes memory according to the processor's features, after which all memory is unknown"),
];
/// Executed although the list treats them, since a program may.
const OF_THE_SYSTEM: [&str; 5] = ["cpuid", "mfence", "nop", "pause", "rdtsc"];
/// Faults unless the operating system and the processor agree on the register that is named.
const PERHAPS: [(&str, &str); 2] =
    [("xgetbv", "reads a register that not every processor has"), ("xsetbv", PRIVILEGED)];
const PRIVILEGED: &str = "is privileged";

/// The kernel's forms, of which the file says how it is made.
fn listed() -> Vec<&'static str> {
    include_str!("kernel_forms.txt").lines().filter(|line| !line.starts_with('#')).collect()
}

fn left_out(form: &str) -> Option<&'static str> {
    let name = form.strip_prefix("system ")?;
    NOT_EXECUTED.iter().chain(&PERHAPS).find(|(known, _)| *known == name).map(|(_, reason)| *reason)
}

#[test]
fn every_form_of_the_kernel_is_executed_or_has_a_reason() {
    let listed = listed();
    assert!(listed.len() > 200);
    let system: Vec<&str> = listed.iter().filter_map(|form| form.strip_prefix("system ")).collect();
    for name in &system {
        let known = left_out(&format!("system {name}")).is_some() || OF_THE_SYSTEM.contains(name);
        assert!(known, "`{name}` is neither executed nor is there a reason");
    }
    for (name, reason) in NOT_EXECUTED.iter().chain(&PERHAPS) {
        println!("not executed: {name} {reason}");
        assert!(system.contains(name), "the kernel has no {name}");
    }
    // A kernel that is built has no other forms than those listed.
    let built = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../build/kernel/x86_64-ticket/ashlar.elf");
    let Ok(data) = std::fs::read(built) else { return };
    let program = Program::parse(&data).unwrap();
    let lifter = Lifter::new(&program).unwrap();
    let known: BTreeSet<String> = listed.iter().map(|form| without_numbers(form)).collect();
    let forms = kernel::forms(&program, &lifter);
    let new: Vec<&String> = forms.values().filter(|form| !known.contains(&without_numbers(form))).collect();
    assert!(new.is_empty(), "{new:?} are not listed: see examples/forms.rs");
}

/// Forms with other numbers are the same.
fn without_numbers(form: &str) -> String {
    let words = form.split_inclusive([' ', ',', '+', ']', '*']);
    words.map(|word| if word.starts_with(|letter: char| letter.is_ascii_digit()) { "#" } else { word }).collect()
}

fn before_and_after(line: &str, table: Registers, jumps: bool) -> (State, After) {
    let numbers: Vec<u64> = line.split(' ').skip(1).map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
    let (base, taken, registers, bytes) = (numbers[0], numbers[1], &numbers[2..36], &numbers[36..164]);
    let (mut state, mut after) = (State::default(), After::default());
    for register in 0..16_u8 {
        let at = 2 * usize::from(register);
        state.registers.insert(register, u128::from(registers[at]));
        after.values.push((Place::Register(register), registers[at + 1]));
    }
    for (name, bit) in [("CF", 0), ("PF", 2), ("AF", 4), ("ZF", 6), ("SF", 7), ("OF", 11), ("DF", 10)] {
        let flag = table.named(name).unwrap().0;
        state.registers.insert(flag, u128::from(registers[32] >> bit & 1));
        after.values.push((Place::Register(flag), registers[33] >> bit & 1));
    }
    for (index, pair) in bytes.chunks(2).enumerate() {
        state.memory.insert(base + index as u64, pair[0] as u8);
        after.values.push((Place::Byte(base + index as u64), pair[1]));
    }
    after.taken = jumps.then_some(taken);
    (state, after)
}

#[test]
fn lifted_semantics_are_the_processors() {
    let of_kernel = listed().into_iter().filter(|form| left_out(form).is_none()).map(Form::of_kernel);
    let forms: Vec<Form> = forms::forms().iter().map(|text| Form::att(text)).chain(of_kernel).collect();
    let (_folder, file) = testing::build("gcc", &["-static", "-no-pie", "-O1", "-w"], "c", &source(&forms, false));
    let program = Program::parse(&std::fs::read(&file).unwrap()).unwrap();
    let lifter = Lifter::new(&program).unwrap();
    let table = Registers::of(Architecture::X86_64);
    let printed = Command::new(&file).output().unwrap();
    let mut campaign = Campaign::new(forms.iter().map(|form| form.text.clone()).collect());
    for line in String::from_utf8_lossy(&printed.stdout).lines() {
        let form: usize = line.split(' ').next().unwrap().parse().unwrap();
        let (state, after) = before_and_after(line, table, forms[form].sort == Sort::Jump);
        let address = program.symbol(&format!("at{form}")).unwrap().address;
        campaign.execute(form, &lifter, address, state, &after);
    }
    println!("{:?}", printed.status);
    campaign.finish(STATES);
    assert!(campaign.compared > forms.len() * STATES * 60);
}
