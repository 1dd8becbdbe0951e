//! Memory that others write between two reads: buffers of devices, what interrupt handlers and other processors write, words that
//! the processor itself sets. What follows from another value is not unreachable.

use crate::analysed::{assemble, request, Target, ARM, RISC_V, X86};
use wcet_paths::analysis::analyse;
use wcet_report::{Report, Verdict};

/// What runs only if another has written: more cycles than all the rest.
const LONG: u64 = 5000;

fn bounded(target: Target, source: &str, volatile: &[&str]) -> Report {
    let mut request = request(target, assemble(target, source));
    request.stated.volatile = volatile.iter().map(|text| text.to_string()).collect();
    analyse(&request, &mut |_, _, _| {})
}

/// The words: all 0 at the entry. `word` is the one that others write; `kept` is not.
const DATA: &str = ".data\n.balign 64\n.type kept, %object\n.size kept, 8\nkept: .long 0, 0\n\
                    .type word, %object\n.size word, 8\nword: .long 0, 0\n.text\n";

/// On x86-64, code that comes to `2:` unless another has written, and otherwise works long.
fn x86(code: &str) -> String {
    format!("_start:\n {code}\n mov ${LONG}, %ecx\n 1: dec %ecx\n jnz 1b\n 2: ret\n{DATA}")
}

/// The same on ARM.
fn arm(code: &str) -> String {
    format!(
        "_start:\n ldr r4, =word\n {code}\n ldr r0, ={LONG}\n 1: subs r0, r0, #1\n bne 1b\n 2: bx lr\n .ltorg\n{DATA}"
    )
}

/// The same on RISC-V. The linker makes some of the addresses relative to the global pointer.
fn riscv(code: &str) -> String {
    format!("_start:\n la s1, word\n {code}\n li a0, {LONG}\n 1: addiw a0, a0, -1\n bnez a0, 1b\n 2: ret\n{DATA}")
}

/// Where the second read, or the first after a store, says that nothing has changed.
const ON_X86: [(&str, &str); 24] = [
    ("a buffer's word, polled", "mov word, %eax\n test %eax, %eax\n jnz 2f\n mov word, %eax\n test %eax, %eax\n jz 2f"),
    ("its initial value", "cmpl $0, word\n je 2f"),
    ("a byte in its middle", "movb $0, word+3\n cmpb $0, word+3\n je 2f"),
    ("more than the word", "movq $0, kept+4\n cmpq $0, kept+4\n je 2f"),
    ("the last byte of more", "movl $0, word+4\n cmpw $0, word+6\n je 2f"),
    ("through a pointer", "mov $word, %rsi\n movl $0, (%rsi)\n mov (%rsi), %eax\n test %eax, %eax\n jz 2f"),
    ("through an index", "and $1, %edi\n movl $0, word(,%rdi,4)\n cmpl $0, word(,%rdi,4)\n je 2f"),
    ("through an unknown pointer", "movl $0, (%rdi)\n cmpl $0, (%rdi)\n je 2f"),
    ("a handler's counter", "mov word, %eax\n cmp %eax, word\n je 2f"),
    ("a flag in a word", "movl $0, word\n testb $4, word\n jz 2f"),
    ("a bit", "movl $0, word\n btl $3, word\n jnc 2f"),
    ("what is counted down", "movl $1, word\n decl word\n jz 2f"),
    ("what is added to", "movl $0, word\n addl $0, word\n jz 2f"),
    ("an accessed bit", "movl $0x1003, word\n mov word, %eax\n test $0x20, %eax\n jz 2f"),
    ("a dirty bit", "movl $0x1023, word\n andl $~0x40, word\n mov word, %eax\n and $0x40, %eax\n jz 2f"),
    ("an exchange", "movl $0, word\n mov $1, %eax\n xchg %eax, word\n test %eax, %eax\n jz 2f"),
    ("an exchange and add", "movl $0, word\n mov $1, %eax\n lock xadd %eax, word\n test %eax, %eax\n jz 2f"),
    ("a compare and exchange", "movl $0, word\n xor %eax, %eax\n mov $1, %ecx\n lock cmpxchg %ecx, word\n jz 2f"),
    ("a string's load", "movl $0, word\n mov $word, %esi\n cld\n lodsl\n test %eax, %eax\n jz 2f"),
    ("a copy", "movl $0, word\n mov $word, %esi\n mov $kept, %edi\n cld\n movsl\n cmpl $0, kept\n je 2f"),
    ("by way of the stack", "movq $0, word\n push word\n pop %rax\n test %rax, %rax\n jz 2f"),
    (
        "a conditional move",
        "movl $0, word\n xor %eax, %eax\n cmp %eax, %eax\n cmove word, %eax\n test %eax, %eax\n jz 2f",
    ),
    ("a callee's reads", "movl $0, word\n call 3f\n jmp 4f\n 3: mov word, %eax\n ret\n 4: test %eax, %eax\n jz 2f"),
    ("a sum of both reads", "mov word, %eax\n mov word, %edx\n sub %edx, %eax\n jz 2f"),
];

const ON_ARM: [(&str, &str); 8] = [
    ("a buffer's word, polled", "ldr r1, [r4]\n cmp r1, #0\n bne 2f\n ldr r1, [r4]\n cmp r1, #0\n beq 2f"),
    ("its initial value", "ldr r1, [r4]\n cmp r1, #0\n beq 2f"),
    ("a byte", "mov r1, #0\n strb r1, [r4, #1]\n ldrb r1, [r4, #1]\n cmp r1, #0\n beq 2f"),
    ("two at once", "mov r2, #0\n mov r3, #0\n stm r4, {r2, r3}\n ldm r4, {r2, r3}\n orrs r1, r2, r3\n beq 2f"),
    ("a pair", "mov r2, #0\n mov r3, #0\n strd r2, r3, [r4]\n ldrd r2, r3, [r4]\n orrs r1, r2, r3\n beq 2f"),
    ("with a changed base", "mov r1, #0\n str r1, [r4], #4\n ldr r1, [r4, #-4]!\n cmp r1, #0\n beq 2f"),
    ("through an unknown pointer", "mov r1, #0\n str r1, [r0]\n ldr r1, [r0]\n cmp r1, #0\n beq 2f"),
    ("a descriptor's bit", "mov r1, #2\n str r1, [r4]\n ldr r1, [r4]\n tst r1, #16\n beq 2f"),
];

const ON_RISC_V: [(&str, &str); 9] = [
    ("a buffer's word, polled", "lw a1, 0(s1)\n bnez a1, 2f\n lw a1, 0(s1)\n beqz a1, 2f"),
    ("its initial value", "lw a1, word\n beqz a1, 2f"),
    ("a byte", "sb zero, 1(s1)\n lb a1, 1(s1)\n beqz a1, 2f"),
    ("a double word", "la a2, kept\n sd zero, 4(a2)\n ld a1, 4(a2)\n beqz a1, 2f"),
    ("through an unknown pointer", "sw zero, 0(a0)\n lwu a1, 0(a0)\n beqz a1, 2f"),
    ("a descriptor's bit", "li a1, 2\n sw a1, 0(s1)\n lw a1, 0(s1)\n andi a1, a1, 16\n beqz a1, 2f"),
    ("an exchange", "sw zero, 0(s1)\n li a1, 1\n amoswap.w a1, a1, (s1)\n beqz a1, 2f"),
    ("an addition", "sw zero, 0(s1)\n amoadd.w a1, zero, (s1)\n beqz a1, 2f"),
    ("a reserved load", "sw zero, 0(s1)\n lr.w a1, (s1)\n beqz a1, 2f"),
];

fn all() -> Vec<(Target, &'static str, String)> {
    let x86 = ON_X86.iter().map(|(name, code)| (X86, *name, x86(code)));
    let arm = ON_ARM.iter().map(|(name, code)| (ARM, *name, arm(code)));
    x86.chain(arm).chain(ON_RISC_V.iter().map(|(name, code)| (RISC_V, *name, riscv(code)))).collect()
}

fn assumes(report: &Report, text: &str) -> bool {
    report.assumptions.iter().any(|assumption| assumption.text.contains(text))
}

const NOT_SHARED: &str = "that is not shared does not change";
const TWICE: &str = "reads twice does not change";

#[test]
fn what_others_write_may_be_anything_at_each_read() {
    let mut wrong = Vec::new();
    for (target, name, source) in all() {
        let report = bounded(target, &source, &["word"]);
        let sound = report.verdict == Verdict::Bounded && report.wcet_cycles > Some(LONG);
        // What is assumed of memory is assumed of the rest alone.
        let told = assumes(&report, NOT_SHARED) && !assumes(&report, TWICE) && assumes(&report, "(word)");
        if !sound || !told {
            wrong.push((name, target.machine, report.wcet_cycles, report.errors));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Without that the same programs stop early, and the report says what this rests on: the tests above can fail.
#[test]
fn without_others_the_rest_is_unreachable_and_the_report_says_why() {
    let mut wrong = Vec::new();
    for (target, name, source) in all() {
        let report = bounded(target, &source, &[]);
        if report.wcet_cycles >= Some(LONG) || report.wcet_cycles.is_none() {
            wrong.push((name, target.machine, report.wcet_cycles, report.errors.clone()));
        }
        assert!(assumes(&report, TWICE) || assumes(&report, NOT_SHARED), "{name}");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A bound of a loop that is read twice: the check of the first read says nothing of the second.
#[test]
fn a_checked_count_that_is_read_again_is_not_checked() {
    let source =
        x86("cmpl $10, word\n ja 2f\n mov word, %ecx\n and $0xffff, %ecx\n jz 2f\n 3: dec %ecx\n jnz 3b\n jmp 2f");
    let report = bounded(X86, &source, &["word"]);
    let bound = report.loops.iter().filter_map(|one| one.bound).max();
    assert!(bound >= Some(0xffff), "{bound:?}");
    // Read once, and checked, it is what it was.
    let source = x86("mov word, %ecx\n cmp $10, %ecx\n ja 2f\n jecxz 2f\n 3: dec %ecx\n jnz 3b\n jmp 2f");
    let report = bounded(X86, &source, &["word"]);
    let of = report.loops.iter().find(|one| one.bound.is_some_and(|bound| bound > 0)).and_then(|one| one.bound);
    assert_eq!(of, Some(10), "{:#?}", report.loops);
}

/// Memory beside it keeps its value, also where a range is stated.
#[test]
fn memory_beside_it_is_as_before() {
    let source = x86("movl $0, kept\n cmpl $0, kept\n je 2f");
    for volatile in [&["word"][..], &["word..word+0x3", "word+0x4..word+0x7"]] {
        let report = bounded(X86, &source, volatile);
        assert!(report.wcet_cycles < Some(LONG), "{:?}", report.wcet_cycles);
    }
    assert!(bounded(X86, &source, &["kept..word"]).wcet_cycles > Some(LONG));
}

#[test]
fn places_that_cannot_be_are_refused_together() {
    let source = x86("cmpl $0, word\n je 2f");
    let report = bounded(X86, &source, &["nowhere", "word+0x4..word", "_start..word", "2"]);
    assert_eq!(report.verdict, Verdict::Refused);
    let said: Vec<&str> = report.errors.iter().map(|error| error.message.as_str()).collect();
    assert_eq!(said.len(), 4, "{said:#?}");
    for part in ["no symbol `nowhere`", "ends before it begins", "read-only", "no symbol `2`"] {
        assert!(said.iter().any(|said| said.contains(part)), "{said:#?}");
    }
}

/// The processor and devices write by instructions, too: what these leave in memory is not what was there.
#[test]
fn instructions_that_write_memory_leave_nothing_of_it() {
    for (name, code) in [
        (
            "input from a port",
            "movl $0, kept\n mov $kept, %edi\n mov $0x3f8, %edx\n cld\n insl\n cmpl $0, kept\n je 2f",
        ),
        ("a table's register", "movl $0, kept\n sidt kept\n cmpw $0, kept\n je 2f"),
        ("a control word", "movl $0, kept\n stmxcsr kept\n cmpl $0, kept\n je 2f"),
    ] {
        let report = bounded(X86, &x86(code), &[]);
        let sound = report.verdict != Verdict::Bounded || report.wcet_cycles > Some(LONG);
        assert!(sound, "{name}: {:?}", report.wcet_cycles);
    }
}
