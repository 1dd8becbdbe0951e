//! The lifted semantics of ARM against an emulator (qemu-arm, a separate process), on random states, form by form.
//!
//! A generated program executes each form with given registers, flags and memory and writes what comes out; the lifted
//! operations, executed on the same input, must give the same wherever they give a value.

use std::process::Command;

use crate::execution::{After, Campaign, Place, State};
use wcet_binary::lift::{Lifter, Registers};
use wcet_binary::load::{Architecture, Program};

/// One instruction each, on r0 to r8; r10 points into 64 bytes of memory, r9 is a number below 4.
fn forms() -> Vec<String> {
    let mut forms: Vec<String> = Vec::new();
    for name in ["and", "eor", "sub", "rsb", "add", "adc", "sbc", "rsc", "orr", "bic"] {
        for operands in [
            "r0, r1, r2",
            "r0, r0, #255",
            "r3, r3, r3",
            "r0, r1, r2, lsl #3",
            "r0, r1, r2, lsr #32",
            "r0, r1, r2, asr #7",
            "r0, r1, r2, ror #9",
            "r0, r1, r2, rrx",
            "r0, r1, r2, lsl r3",
            "r0, r1, r2, lsr r3",
            "r0, r1, r2, asr r3",
            "r0, r1, r2, ror r3",
            "r4, r1, #0x80000001",
        ] {
            forms.extend([format!("{name} {operands}"), format!("{name}s {operands}")]);
        }
        forms.extend([
            format!("{name}eq r0, r1, r2"),
            format!("{name}scs r0, r1, r2"),
            format!("{name}svs r0, r0, r0"),
        ]);
    }
    for name in ["mov", "mvn"] {
        for operands in [
            "r0, r1",
            "r0, #200",
            "r0, r1, lsl #3",
            "r0, r1, lsr #1",
            "r0, r1, asr #32",
            "r0, r1, ror #9",
            "r0, r1, rrx",
            "r0, r1, lsl r3",
            "r0, r1, asr r3",
            "r0, #0x80000001",
        ] {
            forms.extend([format!("{name} {operands}"), format!("{name}s {operands}")]);
        }
        forms.extend([format!("{name}hi r0, r1"), format!("{name}sls r0, r1"), format!("{name}smi r0, r1, lsl #2")]);
    }
    for name in ["cmp", "cmn", "tst", "teq"] {
        for operands in ["r0, r1", "r0, #7", "r0, r1, lsl #3", "r0, r1, asr r2", "r0, r0", "r0, #0xff000000"] {
            forms.push(format!("{name} {operands}"));
        }
        for condition in ["eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le"] {
            forms.push(format!("{name}{condition} r0, r1"));
        }
    }
    for name in ["ldr", "str", "ldrb", "strb"] {
        for operands in [
            "r0, [r10]",
            "r0, [r10, #4]",
            "r0, [r10, #-4]!",
            "r0, [r10], #8",
            "r0, [r10, r9, lsl #2]",
            "r0, [r10, -r9, lsl #2]!",
            "r0, [r10], r9, lsl #2",
        ] {
            forms.extend([format!("{name} {operands}"), format!("{name}ne {operands}")]);
        }
    }
    for name in ["ldrh", "strh", "ldrsb", "ldrsh", "ldrd", "strd"] {
        for operands in ["r0, [r10]", "r0, [r10, #8]", "r0, [r10, #-8]!", "r0, [r10], #8", "r2, [r10], #-8"] {
            let operands = if name.ends_with('d') {
                operands.replace("r0,", "r0, r1,").replace("r2,", "r2, r3,")
            } else {
                operands.to_string()
            };
            forms.push(format!("{name} {operands}"));
        }
        forms.push(format!("{name}mi {}", if name.ends_with('d') { "r0, r1, [r10]" } else { "r0, [r10]" }));
    }
    for mode in ["ia", "ib", "da", "db"] {
        forms.extend([format!("ldm{mode} r10, {{r0, r2, r3}}"), format!("ldm{mode} r10!, {{r0, r2, r3}}")]);
        forms.extend([
            format!("stm{mode} r10, {{r0, r2, r3}}"),
            format!("stm{mode} r10!, {{r0, r2, r3}}"),
            format!("stm{mode}ne r10!, {{r0, r1}}"),
        ]);
    }
    for form in [
        "mul r0, r1, r2",
        "muls r0, r1, r2",
        "mla r0, r1, r2, r3",
        "mlas r0, r1, r2, r3",
        "mls r0, r1, r2, r3",
        "umull r0, r1, r2, r3",
        "umulls r0, r1, r2, r3",
        "umlal r0, r1, r2, r3",
        "smull r0, r1, r2, r3",
        "smulls r0, r1, r2, r3",
        "smlal r0, r1, r2, r3",
        "smlals r0, r1, r2, r3",
        "umaal r0, r1, r2, r3",
        "smulbb r0, r1, r2",
        "smultb r0, r1, r2",
        "smulwb r0, r1, r2",
        "smlabb r0, r1, r2, r3",
        "smlalbb r0, r1, r2, r3",
        "smmul r0, r1, r2",
        "movw r0, #0xabcd",
        "movt r0, #0xabcd",
        "clz r0, r1",
        "ssat r0, #5, r1",
        "ssat r0, #32, r1, lsl #3",
        "ssat r0, #9, r0, asr #7",
        "ssat r0, #1, r1, asr #32",
        "ssatgt r0, #16, r0",
        "ssatls r0, #16, r1, lsl #15",
        "usat r0, #0, r1",
        "usat r0, #31, r1, asr #3",
        "usat r0, #5, r1, asr #32",
        "usatne r0, #9, r1, lsl #3",
        "usat16 r0, #4, r1",
        "rev r0, r1",
        "rev16 r0, r1",
        "revsh r0, r1",
        "rbit r0, r1",
        "ubfx r0, r1, #3, #9",
        "sbfx r0, r1, #3, #9",
        "ubfx r0, r0, #0, #32",
        "bfi r0, r1, #3, #9",
        "bfc r0, #3, #9",
        "uxtb r0, r1",
        "uxtb r0, r1, ror #8",
        "uxth r0, r1",
        "sxtb r0, r1",
        "sxth r0, r1, ror #16",
        "uxtab r0, r1, r2",
        "sxtah r0, r1, r2",
        "uxtb16 r0, r1",
        "pkhbt r0, r1, r2, lsl #4",
        "pkhtb r0, r1, r2, asr #4",
        "sdiv r0, r1, r2",
        "udiv r0, r1, r2",
        "ldrex r0, [r10]",
        "ldrexb r0, [r10]",
        "nop",
        "add r0, pc, #8",
        "sub r0, pc, r9",
        "clzne r0, r1",
        "mulseq r0, r1, r2",
        "ubfxlt r0, r1, #3, #9",
        "umulllt r0, r1, r2, r3",
    ] {
        forms.push(form.to_string());
    }
    forms
}

const STATES: usize = 40;
const RECORD: usize = 4 * 32 + 128;

fn source(forms: &[String]) -> String {
    let mut text =
        String::from("typedef unsigned u; u in[15], out[15]; unsigned char memory[64], before[64]; u record[64];\n");
    text += "__asm__(\".syntax unified\\n.arm\\n.arch armv7ve\\n.text\\n";
    for (index, form) in forms.iter().enumerate() {
        text += &format!(
            ".globl form{index}, at{index}\\nform{index}: push {{r4-r11, lr}}\\nldr r0, =in\\nldr r1, [r0, #56]\\nmsr cpsr_f, r1\\n\
             ldr lr, [r0, #52]\\nldm r0, {{r0-r12}}\\nat{index}: {form}\\npush {{r0-r12, lr}}\\nmrs r1, cpsr\\nldr r0, =out\\n\
             str r1, [r0, #56]\\nldm sp!, {{r1-r7}}\\nstm r0!, {{r1-r7}}\\nldm sp!, {{r1-r7}}\\nstm r0!, {{r1-r7}}\\n\
             pop {{r4-r11, pc}}\\n.ltorg\\n"
        );
    }
    text += "call: push {r4, r7, lr}\\nmov r7, r3\\nsvc 0\\npop {r4, r7, pc}\\n\");\n";
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
    for (u i = 0; i < 15; i++) {{ record[2 + i] = in[i]; record[17 + i] = out[i]; }}
    for (u i = 0; i < 64; i++) {{ ((unsigned char *)record)[128 + i] = before[i]; ((unsigned char *)record)[192 + i] = memory[i]; }}
    call(1, record, 256, 4); }}
    call(0, 0, 0, 248); }}
",
        count = forms.len()
    );
    text
}

#[test]
fn lifted_semantics_are_the_emulators() {
    let forms = forms();
    let options = "-static -nostdlib -ffreestanding -O1 -marm -march=armv7-a -w -fno-pie -no-pie \
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
    let mut campaign = Campaign::new(forms);
    for record in printed.stdout.chunks(RECORD) {
        let word = |index: usize| u32::from_le_bytes(record[4 * index..4 * index + 4].try_into().unwrap());
        let (form, base) = (word(0) as usize, u64::from(word(1)));
        let (mut state, mut after) = (State::default(), After::default());
        // r13 is the stack pointer, which no form uses.
        for (register, index) in (0..13_u8).map(|number| (number, usize::from(number))).chain([(14, 13)]) {
            state.registers.insert(register, u128::from(word(2 + index)));
            after.values.push((Place::Register(register), u64::from(word(17 + index))));
        }
        for (name, bit) in [("NG", 31), ("ZR", 30), ("CY", 29), ("OV", 28)] {
            let flag = table.named(name).unwrap().0;
            state.registers.insert(flag, u128::from(word(16) >> bit & 1));
            after.values.push((Place::Register(flag), u64::from(word(31) >> bit & 1)));
        }
        for index in 0..64 {
            state.memory.insert(base + index as u64, record[128 + index]);
            after.values.push((Place::Byte(base + index as u64), u64::from(record[192 + index])));
        }
        let address = program.symbol(&format!("at{form}")).unwrap().address;
        campaign.execute(form, &lifter, address, state, &after);
    }
    campaign.finish(STATES);
}
