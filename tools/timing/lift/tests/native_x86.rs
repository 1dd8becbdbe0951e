//! The lifted semantics of x86-64 against this machine's processor, on random states, form by form.
//!
//! A generated program executes each form with given registers, flags and memory and prints what comes out; the lifted
//! operations, executed on the same input, must give the same wherever they give a value. Runs on x86-64 only.
#![cfg(target_arch = "x86_64")]

mod common;

use std::path::PathBuf;
use std::process::Command;

use common::State;
use timing_lift::{Lifter, Registers};
use timing_load::{Architecture, Program};

/// One instruction each, on any registers but rsp, rsi and rdi; rsi points to 64 bytes, rdi 16 bytes behind it.
fn forms() -> Vec<String> {
    let mut forms: Vec<String> = Vec::new();
    for name in ["add", "sub", "adc", "sbb", "and", "or", "xor", "cmp", "test", "mov", "xchg"] {
        for operands in ["%rax, %rbx", "%eax, %ebx", "%ax, %bx", "%al, %bl", "%ah, %bl", "%r9d, %r9d", "%rcx, 8(%rsi)"]
        {
            forms.push(format!("{name} {operands}"));
        }
        if name != "xchg" {
            forms.extend(["%rax", "%ebx", "%cx", "%dl"].map(|register| format!("{name} $0x35, {register}")));
        }
    }
    for name in ["add", "sub", "adc", "sbb", "and", "or", "xor", "cmp", "mov"] {
        forms.extend(["8(%rsi), %rcx", "(%rsi), %ecx", "3(%rdi), %cl"].map(|operands| format!("{name} {operands}")));
        forms.extend(["l $5, 4(%rsi)", "b $-3, 1(%rdi)", "q $-3, (%rdi)"].map(|operands| format!("{name}{operands}")));
    }
    for name in ["inc", "dec", "neg", "not", "mul", "imul"] {
        forms.extend(["%rax", "%ebx", "%cx", "%r10b"].map(|operand| format!("{name} {operand}")));
        forms.push(format!("{name}q (%rsi)"));
    }
    for name in ["shl", "shr", "sar", "rol", "ror"] {
        forms.extend(
            ["%cl, %rax", "%cl, %ebx", "$1, %rdx", "$7, %r8d", "$31, %eax", "%cl, %bx", "$3, %dl"]
                .map(|o| format!("{name} {o}")),
        );
        forms.push(format!("{name}l $4, (%rsi)"));
    }
    for name in ["shld", "shrd"] {
        forms.extend(["$5, %rax, %rbx", "%cl, %rax, %rbx", "$9, %eax, %ebx"].map(|o| format!("{name} {o}")));
    }
    for condition in ["o", "no", "b", "ae", "e", "ne", "be", "a", "s", "ns", "p", "np", "l", "ge", "le", "g"] {
        forms.extend([format!("set{condition} %al"), format!("set{condition} (%rsi)")]);
        forms.extend([format!("cmov{condition} %rax, %rbx"), format!("cmov{condition} %eax, %ebx")]);
        forms.push(format!("cmov{condition} (%rsi), %ebx"));
    }
    for name in ["bt", "bts", "btr", "btc"] {
        forms.extend(["%rax, %rbx", "%eax, %ebx", "$9, %rcx"].map(|operands| format!("{name} {operands}")));
    }
    for name in ["bsf", "bsr", "popcnt"] {
        forms.extend(["%rax, %rbx", "%eax, %ebx", "(%rsi), %rcx"].map(|operands| format!("{name} {operands}")));
    }
    for form in [
        "movzbl %al, %ebx",
        "movzbl %ah, %ebx",
        "movzwl %ax, %ebx",
        "movzbl 5(%rsi), %r9d",
        "movsbl %al, %ebx",
        "movsbq %al, %rbx",
        "movslq %eax, %rbx",
        "movswl (%rsi), %eax",
        "movslq 4(%rsi), %rdx",
        "movabs $0x123456789abcdef0, %rax",
        "mov $-1, %ecx",
        "mov $-1, %rcx",
        "lea 5(%rax,%rbx,4), %rcx",
        "lea -1(%rax), %ecx",
        "lea (,%r9,8), %r10d",
        "imul %rax, %rbx",
        "imul %eax, %ebx",
        "imul $100, %rax, %rbx",
        "imul $-3, %eax, %ebx",
        "imul (%rsi), %rcx",
        "cltq",
        "cqto",
        "cltd",
        "cwtl",
        "bswap %rax",
        "bswap %ebx",
        "xadd %rax, %rbx",
        "lock xadd %rax, (%rsi)",
        "lock xadd %ecx, 4(%rdi)",
        "cmpxchg %rcx, %rbx",
        "lock cmpxchg %rcx, (%rsi)",
        "lock cmpxchg %ecx, (%rsi)",
        "lock incl (%rsi)",
        "lock addq $5, (%rsi)",
        "xchg %rax, (%rsi)",
        "xchg %cl, %ch",
        "stc",
        "clc",
        "cmc",
        "cld",
        "std",
        "lahf",
        "sahf",
        "movsb",
        "stosq",
        "lodsl",
        "scasb",
        "cmpsb",
        "nop",
        "nopl (%rax)",
        "movd %eax, %xmm0",
        "psllw $3, %xmm0",
        "psadbw %xmm1, %xmm0",
        "pmovmskb %xmm0, %ebx",
        "pextrw $2, %xmm0, %ecx",
        "movd %xmm0, %edx",
        "ptest %xmm0, %xmm1",
    ] {
        forms.push(form.to_string());
    }
    forms
}

const STATES: usize = 40;

/// C and assembly that executes every form on random states. Of the flags CF, PF, AF, ZF, SF, OF are set.
fn source(forms: &[String]) -> String {
    let mut text = String::from("#include <stdio.h>\n#include <stdlib.h>\nunsigned long in[17], out[17]; unsigned char memory[64], before[64];\n__asm__(\".text\\n");
    let names =
        ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];
    for (index, form) in forms.iter().enumerate() {
        text += &format!(".globl form{index}, at{index}\\nform{index}: push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15; pushq in+128; popfq\\n");
        for (number, name) in names.iter().enumerate().filter(|(number, _)| *number != 4) {
            text += &format!("mov in+{}, %{name}\\n", 8 * number);
        }
        text += &format!("at{index}: {form}\\n");
        for (number, name) in names.iter().enumerate().filter(|(number, _)| *number != 4) {
            text += &format!("mov %{name}, out+{}\\n", 8 * number);
        }
        text += "pushfq; popq out+128; cld; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\\n";
    }
    text += "\");\n";
    for index in 0..forms.len() {
        text += &format!("void form{index}(void);\n");
    }
    text += "void (*forms[])(void) = {";
    for index in 0..forms.len() {
        text += &format!("form{index},");
    }
    text += &format!("}};
static unsigned long seed = 88172645463325252;
static unsigned long next(void) {{ seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17; return seed; }}
static unsigned long number(void) {{ unsigned long r = next(); switch (next() % 6) {{ case 0: return r % 70; case 1: return -(r % 70);
    case 2: return 1ul << (r % 64); case 3: return (unsigned)r; default: return r; }} }}
int main(void) {{ for (unsigned f = 0; f < {count}; f++) for (int s = 0; s < {STATES}; s++) {{
    for (int i = 0; i < 16; i++) in[i] = number();
    in[16] = (next() & 0x8d5) | 0x202; in[6] = (unsigned long)(memory + 8); in[7] = (unsigned long)(memory + 24);
    for (int i = 0; i < 64; i++) before[i] = memory[i] = s % 3 == 0 ? (next() % 2 ? 0 : 0xff) : next();
    forms[f](); printf(\"%u %lx\", f, (unsigned long)memory);
    for (int i = 0; i < 17; i++) printf(\" %lx %lx\", in[i], out[i]);
    for (int i = 0; i < 64; i++) printf(\" %x %x\", before[i], memory[i]);
    printf(\"\\n\"); }} }}\n", count = forms.len());
    text
}

#[test]
fn lifted_semantics_are_the_processors() {
    let forms = forms();
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (source_file, file) = (directory.join("native.c"), directory.join("native"));
    std::fs::write(&source_file, source(&forms)).unwrap();
    let output = Command::new("gcc")
        .args(["-static", "-no-pie", "-O1", "-w", "-o"])
        .args([&file, &source_file])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let program = Program::parse(&std::fs::read(&file).unwrap()).unwrap();
    let lifter = Lifter::new(&program).unwrap();
    let table = Registers::of(Architecture::X86_64);
    let printed = Command::new(&file).output().unwrap();
    let mut wrong = std::collections::BTreeMap::new();
    let (mut compared, mut unknown) = (0, 0);
    for line in String::from_utf8_lossy(&printed.stdout).lines() {
        let mut words = line.split(' ');
        let form: usize = words.next().unwrap().parse().unwrap();
        let numbers: Vec<u64> = words.map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
        let (base, registers, bytes) = (numbers[0], &numbers[1..35], &numbers[35..]);
        let mut state = State::default();
        for register in 0..16_u8 {
            state.registers.insert(register, u128::from(registers[2 * usize::from(register)]));
        }
        const FLAGS: [(&str, u32); 7] = [("CF", 0), ("PF", 2), ("AF", 4), ("ZF", 6), ("SF", 7), ("OF", 11), ("DF", 10)];
        for (name, bit) in FLAGS {
            state.registers.insert(table.named(name).unwrap().0, u128::from(registers[32] >> bit & 1));
        }
        for (index, pair) in bytes.chunks(2).enumerate() {
            state.memory.insert(base + index as u64, pair[0] as u8);
        }
        let instruction = match lifter.lift(program.symbol(&format!("at{form}")).unwrap().address) {
            Ok(instruction) => instruction,
            Err(error) => {
                wrong.entry(form).or_insert_with(|| format!("not lifted: {error}"));
                continue;
            }
        };
        if let Err(reason) = state.execute(&instruction) {
            wrong.entry(form).or_insert(reason);
            continue;
        }
        let mut check = |what: String, mine: Option<u128>, theirs: u64| match mine {
            Some(mine) if mine == u128::from(theirs) => compared += 1,
            Some(mine) => {
                wrong.entry(form).or_insert_with(|| format!("{what} is {theirs:#x}, lifted {mine:#x}; {line}"));
            }
            None => unknown += 1,
        };
        for register in (0..16_u8).filter(|register| *register != 4) {
            check(
                format!("register {register}"),
                state.registers.get(&register).copied(),
                registers[2 * usize::from(register) + 1],
            );
        }
        for (name, bit) in FLAGS {
            check(
                name.to_string(),
                state.registers.get(&table.named(name).unwrap().0).copied(),
                registers[33] >> bit & 1,
            );
        }
        for (index, pair) in bytes.chunks(2).enumerate() {
            let byte = state.memory.get(&(base + index as u64)).copied();
            check(format!("byte {index}"), byte.map(u128::from), pair[1]);
        }
    }
    println!("{} forms, {compared} values compared, {unknown} unknown", forms.len());
    for (form, reason) in &wrong {
        println!("{}: {}", forms[*form], &reason[..reason.len().min(300)]);
    }
    assert!(wrong.is_empty(), "{} forms are wrong", wrong.len());
    assert!(compared > unknown * 20);
    assert!(compared > forms.len() * STATES * 60);
}
