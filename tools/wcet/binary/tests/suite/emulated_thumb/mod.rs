//! The lifted semantics of Thumb against an emulator (qemu-arm, a separate process), on random states, form by form, as for ARM:
//! each form outside of a block of `it`, and within one.

mod forms;

use std::process::Command;

use forms::is_of_stack;

use crate::execution::{After, Campaign, Place, State};
use wcet_binary::lift::il::{Access, AddressForm, Encoding, Register};
use wcet_binary::lift::{Instruction, Lifter, Registers};
use wcet_binary::load::{Architecture, Program};

const STATES: usize = 40;
const RECORD: usize = 4 * 36 + 128;

/// Stores what a form leaves: r0 to r12, lr and the flags.
const LEAVE: &str = "push {r0-r12, lr}\\nmrs r1, cpsr\\nldr r0, =out\\nstr r1, [r0, #56]\\npop {r1-r7}\\n\
     stm r0!, {r1-r7}\\npop {r1-r7}\\nstm r0!, {r1-r7}\\n";

/// Whether the form has an address in a register that the short forms reach: r7, with r6 as the index.
fn is_short(form: &str) -> bool {
    ["[r7", " r7!", " r7,"].iter().any(|part| form.contains(part)) && !form.contains('#') || form.contains("[r7, #8]")
}

/// The label `atN` is at the instruction that is compared: behind `it`, if there is one. Branches go to the label 2, which
/// leaves a mark in memory.
fn source(forms: &[String]) -> String {
    let mut text = String::from(
        "typedef unsigned u; u in[16], out[15]; unsigned char memory[64] __attribute__((aligned(8))), before[64]; u record[68];\n",
    );
    text += "__asm__(\".syntax unified\\n.thumb\\n.arch armv7ve\\n.text\\n";
    for (index, form) in forms.iter().enumerate() {
        let (block, form) = form.split_once("; ").unwrap_or(("nop", form));
        let (pointers, back) = if is_of_stack(form) {
            ("mov r11, sp\\nmov sp, r10\\n", "mov r12, sp\\nmov sp, r11\\n")
        } else if is_short(form) {
            ("mov r7, r10\\nmov r6, r9\\n", "")
        } else {
            ("", "")
        };
        text += &format!(
            ".globl form{index}, at{index}\\n.thumb_func\\nform{index}: push {{r4-r11, lr}}\\nldr r0, =in\\n\
             ldr r1, [r0, #56]\\nmsr cpsr_f, r1\\nldr lr, [r0, #52]\\nstr sp, [r0, #60]\\nldm.w r0, {{r0-r12}}\\n\
             {pointers}.balign 4\\nnop\\n{block}\\nat{index}: {form}\\nb 1f\\n2: str r10, [r10, #-32]\\n1: {back}{LEAVE}\
             pop {{r4-r11, pc}}\\n.ltorg\\n"
        );
    }
    text += ".balign 4\\n.thumb_func\\ncall: push {r4, r7, lr}\\nmov r7, r3\\nsvc 0\\npop {r4, r7, pc}\\n\");\n";
    for index in 0..forms.len() {
        text += &format!("void form{index}(void);\n");
    }
    text += "void (*const forms[])(void) = {";
    for index in 0..forms.len() {
        text += &format!("form{index},");
    }
    text += &format!(
        "}};
u call(u, const void *, u, u);
static u seed = 2463534242u;
static u next(void) {{ seed ^= seed << 13; seed ^= seed >> 17; seed ^= seed << 5; return seed; }}
static u number(void) {{ u r = next(); switch (next() >> 3 & 7) {{ case 0: return r & 63; case 1: return -(r & 63); case 2: return 1u << (r & 31); default: return r; }} }}
void _start(void) {{ for (u f = 0; f < {count}; f++) for (u s = 0; s < {STATES}; s++) {{
    for (u i = 0; i < 14; i++) in[i] = number();
    in[14] = (next() & 0xf0000000) | 0x10; in[10] = (u)(memory + 32); in[9] = next() & 3;
    for (u i = 0; i < 64; i++) before[i] = memory[i] = next() >> 7;
    forms[f]();
    record[0] = f; record[1] = (u)memory;
    for (u i = 0; i < 16; i++) record[2 + i] = in[i];
    for (u i = 0; i < 15; i++) record[18 + i] = out[i];
    for (u i = 0; i < 64; i++) {{ ((unsigned char *)record)[144 + i] = before[i]; ((unsigned char *)record)[208 + i] = memory[i]; }}
    call(1, record, {RECORD}, 4); }}
    call(0, 0, 0, 248); }}
",
        count = forms.len()
    );
    text
}

/// What the operations read and write lies in the accesses that the encoding says, which are those that caches see.
fn within_accesses(instruction: &Instruction, before: &State, form: &str) {
    let mut state = before.clone();
    if state.execute(instruction).is_err() {
        return;
    }
    // Its condition is not met.
    let same = state.registers == before.registers && state.memory == before.memory;
    if same && instruction.encoding == (Encoding::Thumb { conditional: true }) {
        return;
    }
    let of = |register: Register| before.registers[&register.0] as u64;
    for (first, size, write) in state.touched.borrow().iter() {
        let covers = |access: &Access| {
            let AddressForm::Known { base, index, displacement, .. } = access.address else { return true };
            let index = index.map_or(0, |(register, shift)| of(register) << shift);
            let at = base.map_or(0, of).wrapping_add(index).wrapping_add(displacement as u64) & u64::from(u32::MAX);
            let is_kind = if *write { access.write } else { access.read };
            is_kind && at <= *first && first + u64::from(*size) <= at + u64::from(access.size)
        };
        assert!(
            instruction.accesses.iter().any(covers),
            "{form}: {first:#x} {size} {write} {:?}",
            instruction.accesses
        );
    }
}

#[test]
fn lifted_semantics_are_the_emulators() {
    let forms = forms::forms();
    let options = "-static -nostdlib -ffreestanding -O1 -mthumb -march=armv7-a -w -fno-pie -no-pie \
        -Wl,--build-id=none,-Ttext=0x10000";
    let options: Vec<&str> = options.split_whitespace().collect();
    let (_folder, file) = testing::build("arm-linux-gnueabi-gcc", &options, "c", &source(&forms));
    let program = Program::parse(&std::fs::read(&file).unwrap()).unwrap();
    let lifter = Lifter::new(&program).unwrap();
    let table = Registers::of(Architecture::Arm);
    let printed = Command::new("qemu-arm").args(["-cpu", "max"]).arg(&file).output().unwrap();
    assert_eq!(
        printed.stdout.len(),
        forms.len() * STATES * RECORD,
        "{:?} {}",
        printed.status,
        String::from_utf8_lossy(&printed.stderr)
    );
    let mut campaign = Campaign::new(forms.clone());
    for record in printed.stdout.chunks(RECORD) {
        let word = |index: usize| u32::from_le_bytes(record[4 * index..4 * index + 4].try_into().unwrap());
        let (form, base) = (word(0) as usize, u64::from(word(1)));
        let address = program.symbol(&format!("at{form}")).unwrap().address;
        let (mut state, mut after) = (State::default(), After::default());
        for (register, index) in (0..13_u8).map(|number| (number, usize::from(number))).chain([(14, 13)]) {
            state.registers.insert(register, u128::from(word(2 + index)));
            after.values.push((Place::Register(register), u64::from(word(18 + index))));
        }
        state.registers.insert(13, u128::from(word(17)));
        if is_of_stack(&forms[form]) {
            state.registers.insert(13, u128::from(word(12)));
            after.values.retain(|(place, _)| !matches!(place, Place::Register(11 | 12)));
            after.values.push((Place::Register(13), u64::from(word(30))));
        } else if is_short(&forms[form]) {
            state.registers.insert(7, u128::from(word(12)));
            state.registers.insert(6, u128::from(word(11)));
        }
        for (name, bit) in [("NG", 31), ("ZR", 30), ("CY", 29), ("OV", 28)] {
            let flag = table.named(name).unwrap().0;
            state.registers.insert(flag, u128::from(word(16) >> bit & 1));
            after.values.push((Place::Register(flag), u64::from(word(32) >> bit & 1)));
        }
        // Literals.
        for (index, byte) in program.code(address, 40).unwrap().iter().enumerate() {
            state.memory.insert(address + index as u64, *byte);
        }
        let branches = forms[form].ends_with("2f");
        after.taken = branches.then(|| u64::from(record[208..212] == (base as u32 + 32).to_le_bytes()));
        for index in 0..64 {
            state.memory.insert(base + index as u64, record[144 + index]);
            if !branches || index >= 4 {
                after.values.push((Place::Byte(base + index as u64), u64::from(record[208 + index])));
            }
        }
        if let Ok(instruction) = lifter.lift(address) {
            within_accesses(&instruction, &state, &forms[form]);
        }
        campaign.execute(form, &lifter, address, state, &after);
    }
    campaign.finish(STATES);
    // The forms meant to be short are, and those in blocks are known to be.
    for (index, form) in forms.iter().enumerate() {
        let address = program.symbol(&format!("at{index}")).unwrap().address;
        let one = lifter.lift(address).unwrap();
        assert_eq!(one.encoding, Encoding::Thumb { conditional: form.starts_with("it ") }, "{form}");
    }
}
