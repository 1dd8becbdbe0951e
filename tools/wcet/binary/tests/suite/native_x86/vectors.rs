//! The same of what compilers make of floating-point numbers and small vectors, by a lifter that tracks their registers.

use std::collections::BTreeSet;
use std::process::Command;

use wcet_binary::lift::{Lifter, Registers};
use wcet_binary::load::{Architecture, Program};

use super::before_and_after;
use super::program::{source, Form, STATES, VECTORS};
use crate::execution::{Campaign, Place};

/// As a processor starts: numbers are rounded to nearest, and no exception is raised.
const MXCSR: u128 = 0x1f80;

/// Of which the result is often any value: where one of the parts is a root of a negative number, or an integer out of range.
/// Of `psadbw` there are no semantics.
const OPEN: [&str; 4] = ["cvttps2dq", "psadbw", "sqrtpd", "sqrtps"];

/// One instruction each, on xmm0 to xmm3, general registers but rsp, rsi and rdi, and 64 bytes at rsi, of which those from
/// rsi+8 on stand at multiples of 16.
fn forms() -> Vec<String> {
    let mut forms: Vec<String> = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for name in [
        "add", "sub", "mul", "div", "min", "max", "sqrt", "cmplt", "cmple", "cmpeq", "cmpneq", "mov", "cmpunord",
        "cmpnlt", "cmpnle", "cmpord",
    ] {
        names.extend(
            ["ss", "sd", "ps", "pd"]
                .iter()
                .filter(|size| name != "mov" || size.starts_with('s'))
                .map(|size| format!("{name}{size}")),
        );
    }
    for name in ["add", "sub", "cmpeq", "cmpgt"] {
        names.extend(["b", "w", "d"].map(|size| format!("p{name}{size}")));
    }
    let moves = ["movaps", "movapd", "movdqa", "movups", "movupd", "movdqu", "movss", "movsd", "movq"];
    let others = [
        "ucomiss",
        "ucomisd",
        "comiss",
        "comisd",
        "cvtss2sd",
        "cvtsd2ss",
        "cvtps2pd",
        "cvtpd2ps",
        "cvtdq2ps",
        "cvtdq2pd",
        "cvttps2dq",
        "andps",
        "andnps",
        "orps",
        "xorps",
        "andpd",
        "andnpd",
        "orpd",
        "xorpd",
        "pand",
        "pandn",
        "por",
        "pxor",
        "unpcklps",
        "unpcklpd",
        "unpckhps",
        "unpckhpd",
        "punpcklbw",
        "punpcklwd",
        "punpckldq",
        "punpcklqdq",
        "punpckhbw",
        "punpckhwd",
        "punpckhdq",
        "punpckhqdq",
        "paddq",
        "psubq",
        "pmullw",
        "pmuludq",
        "pmulhw",
        "pmulhuw",
        "pmaddwd",
        "paddsb",
        "paddsw",
        "paddusb",
        "paddusw",
        "psubsb",
        "psubsw",
        "psubusb",
        "psubusw",
        "pminsw",
        "pmaxsw",
        "pminub",
        "pmaxub",
        "pavgb",
        "pavgw",
        "packsswb",
        "packssdw",
        "packuswb",
        "psadbw",
        "psllw",
        "pslld",
        "psllq",
        "psrlw",
        "psrld",
        "psrlq",
        "psraw",
        "psrad",
        "pshufd $0x1b,",
        "pshuflw $0x93,",
        "pshufhw $0x39,",
        "shufps $0xe4,",
        "shufpd $1,",
    ];
    for name in names.iter().map(String::as_str).chain(moves).chain(others) {
        forms.extend([format!("{name} %xmm1, %xmm0"), format!("{name} 8(%rsi), %xmm2")]);
    }
    forms.extend(moves.map(|name| format!("{name} %xmm3, 8(%rsi)")));
    for form in [
        "cvtsi2ss %eax, %xmm0",
        "cvtsi2ss %rax, %xmm0",
        "cvtsi2sdl 8(%rsi), %xmm0",
        "cvtsi2sd %rbx, %xmm1",
        "cvttss2si %xmm0, %eax",
        "cvttss2si %xmm0, %rax",
        "cvttsd2si %xmm1, %ecx",
        "cvttsd2si 8(%rsi), %rcx",
        "movd %eax, %xmm0",
        "movd %xmm0, %eax",
        "movq %rax, %xmm0",
        "movq %xmm0, %rcx",
        "movd 4(%rsi), %xmm1",
        "movd %xmm1, 4(%rsi)",
        "movlps 8(%rsi), %xmm0",
        "movhps 8(%rsi), %xmm0",
        "movlpd %xmm0, 8(%rsi)",
        "movhpd %xmm0, 8(%rsi)",
        "movhlps %xmm1, %xmm0",
        "movlhps %xmm1, %xmm0",
        "pslldq $3, %xmm0",
        "psrldq $8, %xmm1",
        "pslld $5, %xmm0",
        "psrld $7, %xmm0",
        "psrad $31, %xmm1",
        "psllq $9, %xmm0",
        "psrlq $32, %xmm2",
        "psraw $3, %xmm0",
        "psraw $200, %xmm1",
        "psrad $32, %xmm1",
        "psllq $64, %xmm1",
        "psrlw $3, %xmm0",
        "psllw $15, %xmm0",
        "pextrw $2, %xmm0, %ecx",
        "pinsrw $3, %eax, %xmm0",
        "pmovmskb %xmm0, %ebx",
        "movmskpd %xmm0, %ebx",
        "movmskps %xmm0, %ebx",
    ] {
        forms.push(form.to_string());
    }
    forms
}

#[test]
fn lifted_semantics_of_vectors_are_the_processors() {
    let forms: Vec<Form> = forms().iter().map(|text| Form::att(text)).collect();
    let (_folder, file) = testing::build("gcc", &["-static", "-no-pie", "-O1", "-w"], "c", &source(&forms, true));
    let program = Program::parse(&std::fs::read(&file).unwrap()).unwrap();
    let lifter = Lifter::with_vectors(&program).unwrap();
    let table = Registers::with_vectors(Architecture::X86_64);
    let number = |name: &str| table.named(name).unwrap().0;
    let printed = Command::new(&file).output().unwrap();
    let mut campaign = Campaign::new(forms.iter().map(|form| form.text.clone()).collect());
    let mut unknown = vec![0; forms.len()];
    // What stands in no form is not followed.
    let decoder = Lifter::new(&program).unwrap();
    let mnemonic = |form| decoder.lift(program.symbol(&format!("at{form}")).unwrap().address).unwrap().mnemonic.clone();
    let tried: BTreeSet<String> = (0..forms.len()).map(mnemonic).collect();
    assert_eq!(tried, Lifter::vector_mnemonics());
    for line in String::from_utf8_lossy(&printed.stdout).lines() {
        let form: usize = line.split(' ').next().unwrap().parse().unwrap();
        let (mut state, mut after) = before_and_after(line, table, false);
        state.registers.insert(number("MXCSR"), MXCSR);
        let halves: Vec<u64> = line.split(' ').skip(165).map(|word| u64::from_str_radix(word, 16).unwrap()).collect();
        for (index, half) in halves.chunks(4).enumerate() {
            let register = number(&format!("XMM{index}"));
            state.registers.insert(register, u128::from(half[2]) << 64 | u128::from(half[0]));
            after.values.extend([(Place::Half(register, false), half[1]), (Place::Half(register, true), half[3])]);
        }
        assert_eq!(halves.len(), 4 * VECTORS);
        let before = campaign.unknown;
        let address = program.symbol(&format!("at{form}")).unwrap().address;
        campaign.execute(form, &lifter, address, state, &after);
        unknown[form] += campaign.unknown - before;
    }
    campaign.finish(STATES);
    let name = |form: usize| forms[form].text.split(' ').next().unwrap();
    let open: BTreeSet<&str> = (0..forms.len()).filter(|form| unknown[*form] > STATES).map(name).collect();
    assert_eq!(open, BTreeSet::from(OPEN));
}
