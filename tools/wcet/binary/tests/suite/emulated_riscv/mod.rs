//! The lifted semantics of RISC-V against an emulator (qemu-riscv64 and qemu-riscv32, separate processes), on random states, form
//! by form.
//!
//! A generated program executes each form with given registers and memory and writes what comes out; the lifted operations,
//! executed on the same input, must give the same wherever they give a value, and go where the processor went.

mod forms;
mod lies;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use crate::execution::{After, Campaign, Place, State};
use forms::{forms, Form};
use wcet_binary::lift::il::AddressForm;
use wcet_binary::lift::{Instruction, Lifter};
use wcet_binary::load::{Architecture, Program};

const STATES: usize = 24;
/// Bytes of memory that are compared.
const MEMORY: usize = 64;

struct Width {
    architecture: Architecture,
    bytes: usize,
    options: &'static [&'static str],
    emulator: &'static str,
}

const WIDE: Width = Width {
    architecture: Architecture::RiscV64,
    bytes: 8,
    options: &["-march=rv64gc", "-mabi=lp64d", "-DNUMBER=long"],
    emulator: "qemu-riscv64",
};
const NARROW: Width = Width {
    architecture: Architecture::RiscV32,
    bytes: 4,
    options: &["-march=rv32gc", "-mabi=ilp32d", "-DNUMBER=int"],
    emulator: "qemu-riscv32",
};

/// By how much and with which register a form accesses memory.
fn place(text: &str) -> Option<(i64, &str)> {
    let (before, after) = text.split_once('(')?;
    let number = before.rsplit([' ', ',']).next()?.parse().ok()?;
    Some((number, after.trim_end_matches(')')))
}

/// Numbers of registers, by their names in the calling convention.
fn number(name: &str) -> usize {
    const NAMES: [&str; 32] = [
        "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7",
        "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
    ];
    NAMES.iter().position(|other| *other == name).unwrap()
}

const HARNESS: &str = r#"
typedef unsigned NUMBER u;
struct { u in[32], out[32], marker, stack; } state;
unsigned char memory[4224] __attribute__((aligned(64))), before[64];
struct { u form, base, marker, in[32], out[32]; unsigned char before[64], after[64]; } record;
extern char __global_pointer$[];
__asm__(".text\ncall: mv a7, a3\necall\nret\n");
u call(u, const void *, u, u);
static u seed = 2463534242u;
static u next(void) { seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17; return seed * 0x9e3779b1; }
static u number(void) {
    const u top = (u)1 << (8 * sizeof(u) - 1);
    u r = next() ^ next() >> 11;
    switch (next() >> 5 & 15) {
    case 0: return 0; case 1: return -(u)1; case 2: return top; case 3: return top - 1; case 4: return 1;
    case 5: return (u)(int)0x80000000; case 6: return 0x7fffffff; case 7: return (u)0xffffffff; case 8: return r & 63;
    case 9: return -(r & 63); case 10: return (u)1 << (r & (8 * sizeof(u) - 1)); case 11: return (u)(int)r; default: return r; }
}
void _start(void) {
    for (u f = 0; f < sizeof(forms) / sizeof(*forms); f++)
        for (u s = 0; s < STATES; s++) {
            for (u i = 0; i < 32; i++) state.in[i] = number();
            if (s % 4 == 1) state.in[11] = state.in[10];
            state.in[3] = (u)__global_pointer$;
            unsigned char *middle = memory + 2112;
            if (forms[f].base == 3) middle = (unsigned char *)(__global_pointer$ + forms[f].displacement);
            else if (forms[f].base >= 0) state.in[forms[f].base] = (u)middle - forms[f].displacement;
            if (forms[f].by) state.in[forms[f].by] = forms[f].target - forms[f].before;
            for (u i = 0; i < 64; i++) record.before[i] = middle[i - 16] = next() >> 7;
            forms[f].run();
            record.form = f; record.base = (u)(middle - 16); record.marker = state.marker;
            for (u i = 0; i < 32; i++) { record.in[i] = state.in[i]; record.out[i] = state.out[i]; }
            for (u i = 0; i < 64; i++) record.after[i] = middle[i - 16];
            call(1, &record, sizeof record, 64);
        }
    call(0, 0, 0, 93);
}
"#;

fn source(forms: &[Form], width: &Width) -> String {
    let (load, store, bytes) = if width.bytes == 8 { ("ld", "sd", 8) } else { ("lw", "sw", 4) };
    let used = || (1..32).filter(|number| *number != 4);
    let kept = [1, 8, 9, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27];
    let each = |name: &str, list: &mut dyn Iterator<Item = usize>, base: &str, start: usize| -> String {
        list.map(|number| format!("{name} x{number}, {}({base})\\n", start + bytes * number)).collect()
    };
    let save = each(store, &mut used(), "tp", 32 * bytes);
    let marker = 64 * bytes;
    let mut text = String::from("__asm__(\".text\\n.option norelax\\n");
    for (index, form) in forms.iter().enumerate() {
        let option = if form.text.starts_with("c.") { "rvc" } else { "norvc" };
        let instruction = form.text.replace("taken", &format!("target{index}"));
        text += &format!(
            ".option norvc\\n.balign 4\\nform{index}: addi sp, sp, -{frame}\\n{keep}la tp, state\\n{store} sp, {stack}(tp)\\n{set}\
             .option {option}\\n.globl at{index}, target{index}\\nat{index}: {instruction}\\n.option norvc\\n{save}{store} zero, \
             {marker}(tp)\\nj done{index}\\n.balign 4\\ntarget{index}: {save}li t0, 1\\n{store} t0, {marker}(tp)\\n\
             done{index}: {load} sp, {stack}(tp)\\n{restore}addi sp, sp, {frame}\\nret\\n",
            frame = 32 * bytes,
            stack = marker + bytes,
            keep = each(store, &mut kept.into_iter(), "sp", 0),
            set = each(load, &mut used(), "tp", 0),
            restore = each(load, &mut kept.into_iter(), "sp", 0),
        );
    }
    text += "\");\n";
    for index in 0..forms.len() {
        text += &format!("extern char target{index}[]; void form{index}(void);\n");
    }
    text += "static const struct { void (*run)(void); long displacement; int base, by; unsigned long target, before; } forms[] = {\n";
    for (index, form) in forms.iter().enumerate() {
        let (displacement, base) = match place(&form.text).filter(|_| form.by.is_none()) {
            Some((displacement, base)) => (displacement, number(base) as i64),
            None => (0, -1),
        };
        let (by, before) = form.by.map_or((0, 0), |(by, before)| (number(by), before));
        text += &format!("{{form{index}, {displacement}, {base}, {by}, (unsigned long)target{index}, {before}}},\n");
    }
    format!("{text}}};\n#define STATES {STATES}\n{HARNESS}")
}

/// Checks that the accesses for the caches are those of the operations.
fn check_accesses(text: &str, instruction: &Instruction, before: &State, wide: bool) {
    let mut executed = before.clone();
    executed.execute(instruction).unwrap();
    let touched: BTreeSet<(u64, u8, bool)> = executed.touched.into_inner().into_iter().collect();
    let mut described = BTreeSet::new();
    for access in &instruction.accesses {
        let AddressForm::Known { base, index: None, displacement, segment: None } = access.address else {
            panic!("{text}: {access:?}");
        };
        let base = base.map_or(0, |base| before.registers[&base.0] as u64);
        let sum = base.wrapping_add(displacement as u64);
        let address = if wide { sum } else { u64::from(sum as u32) };
        let size = access.size as u8;
        described.extend([(address, size, false)].into_iter().filter(|_| access.read));
        described.extend([(address, size, true)].into_iter().filter(|_| access.write));
    }
    // What is loaded to a register that is not tracked, or always 0, is no operation.
    let unseen = text.starts_with("fl") || text.starts_with("c.fl") || text.contains("zero,");
    assert!(touched.is_subset(&described) && (unseen || touched == described), "{text}: {touched:x?}, {described:x?}");
}

/// For each form with operands of which no two are the same: every lie about it, and whether a state refuted it.
#[derive(Default)]
struct Lies {
    found: BTreeMap<(usize, usize), (&'static str, bool)>,
}

impl Lies {
    fn tell(&mut self, campaign: &mut Campaign, form: usize, instruction: &Instruction, state: &State, after: &After) {
        for (number, (what, lie)) in lies::lies(instruction).into_iter().enumerate() {
            let (_, refuted) = self.found.entry((form, number)).or_insert((what, false));
            *refuted = *refuted || campaign.refutes(&lie, state.clone(), after);
        }
    }

    fn finish(&self, forms: &[Form]) {
        let believed = self.found.iter().filter(|(_, (_, refuted))| !refuted);
        let believed: Vec<String> =
            believed.map(|((form, _), (what, _))| format!("{}: {what}", forms[*form].text)).collect();
        println!("{} lies, {} believed", self.found.len(), believed.len());
        assert!(self.found.len() > 80 && believed.is_empty(), "{believed:#?}");
    }
}

/// Whether a lie about the form can make a difference: it has no operand twice, and none that is always the same. A word that was
/// shifted by 31 has no sign.
fn distinguishes(text: &str) -> bool {
    if text.contains("gp") || text.starts_with("srliw") && text.ends_with("31") {
        return false;
    }
    let operands: Vec<&str> = text.split([' ', ',', '(', ')']).skip(1).filter(|part| !part.is_empty()).collect();
    let different: BTreeSet<&str> = operands.iter().copied().collect();
    different.len() == operands.len() && !different.contains("zero") && !different.contains("0")
}

fn compare(width: &Width) {
    let forms = forms(width.bytes == 8);
    let options =
        "-static -nostdlib -ffreestanding -O1 -w -mcmodel=medany -Wl,--build-id=none,--no-relax,-Ttext=0x10000";
    let options: Vec<&str> = options.split_whitespace().chain(width.options.iter().copied()).collect();
    let (_folder, file) = testing::build("riscv64-unknown-elf-gcc", &options, "c", &source(&forms, width));
    let program = Program::parse(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(program.architecture, width.architecture);
    let lifter = Lifter::new(&program).unwrap();
    let printed = Command::new(width.emulator).arg(&file).output().unwrap();
    let size = (3 + 64) * width.bytes + 2 * MEMORY;
    assert_eq!(
        printed.stdout.len(),
        forms.len() * STATES * size,
        "{:?} {}",
        printed.status,
        String::from_utf8_lossy(&printed.stderr)
    );
    let mut campaign = Campaign::new(forms.iter().map(|form| form.text.clone()).collect());
    let mut lies = Lies::default();
    for record in printed.stdout.chunks(size) {
        let word = |index: usize| {
            let bytes = &record[width.bytes * index..width.bytes * (index + 1)];
            bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
        };
        let (form, base, marker) = (word(0) as usize, word(1), word(2));
        let (mut state, mut after) = (State::default(), After::default());
        for number in (1..32).filter(|number| *number != 4) {
            let register = number as u8 - 1;
            state.registers.insert(register, u128::from(word(3 + number)));
            after.values.push((Place::Register(register), word(35 + number)));
        }
        let bytes = &record[67 * width.bytes..];
        for index in 0..MEMORY {
            state.memory.insert(base + index as u64, bytes[index]);
            after.values.push((Place::Byte(base + index as u64), u64::from(bytes[MEMORY + index])));
        }
        let target = program.symbol(&format!("target{form}")).unwrap().address;
        let text = &forms[form].text;
        if text.contains("taken") || forms[form].by.is_some() {
            let is_branch = text.starts_with('b') || text.starts_with("c.b");
            after.taken = is_branch.then_some(marker);
            after.target = Some(target);
            assert!(is_branch || marker == 1, "{text} goes elsewhere");
        }
        let address = program.symbol(&format!("at{form}")).unwrap().address;
        if let Ok(instruction) = lifter.lift(address) {
            check_accesses(text, &instruction, &state, width.bytes == 8);
            if distinguishes(text) {
                lies.tell(&mut campaign, form, &instruction, &state, &after);
            }
        }
        campaign.execute(form, &lifter, address, state, &after);
    }
    campaign.finish(STATES);
    lies.finish(&forms);
}

#[test]
fn lifted_semantics_of_rv64_are_the_emulators() {
    compare(&WIDE);
}

#[test]
fn lifted_semantics_of_rv32_are_the_emulators() {
    compare(&NARROW);
}
