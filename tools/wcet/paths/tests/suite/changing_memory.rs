//! Memory and registers that change between two reads, attacked by way of instructions that read or write more than one word,
//! of control flow that is read from memory, of counters in memory, and of addresses that only the analysis of values knows.

use crate::analysed::{assemble, build, request, Target, ARM, X86};
use wcet_paths::analysis::analyse;
use wcet_report::{Report, Verdict};

/// What runs only if another has written: more cycles than all the rest.
const LONG: u64 = 5000;
/// Fewer cycles than that takes, and more than the rest, with its devices.
const LEAST: u64 = 20_000;

/// `word` is what others write; `kept`, `other` and the tables are not.
const DATA: &str = ".data\n.balign 64\n\
    .type kept, %object\n.size kept, 32\nkept: .long 0, 0, 0, 0, 0, 0, 0, 0\n\
    .type other, %object\n.size other, 32\nother: .long 0, 0, 0, 0, 0, 0, 0, 0\n\
    .type word, %object\n.size word, 32\nword: .long 0, 0, 0, 0, 0, 0, 0, 0\n.text\n";

/// On x86-64, code that comes to `2:` unless another has written, and otherwise works long.
fn x86(code: &str) -> String {
    format!("_start:\n {code}\n long: mov ${LONG}, %ecx\n 1: dec %ecx\n jnz 1b\n 2: ret\n{DATA}")
}

fn arm(code: &str) -> String {
    format!(
        "_start:\n ldr r4, =word\n {code}\n long: ldr r0, ={LONG}\n 1: subs r0, r0, #1\n bne 1b\n 2: bx lr\n .ltorg\n{DATA}"
    )
}

/// What others write is `word`, of which 32 bytes are stated.
const WRITTEN_ON_X86: &[(&str, &str)] = &[
    ("an index of a table", "cmpl $1, word\n ja 2f\n mov word, %eax\n jmp *table(,%rax,8)\n .section .rodata\n table: .quad 2f, 2f, long\n .text"),
    ("an index that was stored", "movl $1, word\n mov word, %eax\n jmp *table(,%rax,8)\n .section .rodata\n table: .quad 2f, 2f, long\n .text"),
    ("an index by a pointer", "cmpl $1, (%rdi)\n ja 2f\n mov (%rdi), %eax\n jmp *table(,%rax,8)\n .section .rodata\n table: .quad 2f, 2f, long\n .text"),
    ("a pointer to code", "movq $2f, word\n jmp *word"),
    ("a pointer to a function", "movq $2f, word\n call *word\n ret"),
    ("a bit that is tested and set", "movl $0, word\n btsl $3, word\n jnc 2f"),
    ("the same, locked", "movl $0, word\n lock btsl $3, word\n jnc 2f"),
    ("a pair, exchanged", "movq $0, word\n xor %eax, %eax\n xor %edx, %edx\n xor %ebx, %ebx\n xor %ecx, %ecx\n lock cmpxchg8b word\n jz 2f"),
    ("a vector's copy", "movups word, %xmm0\n movups %xmm0, kept\n cmpl $0, kept\n je 2f"),
    ("a vector of zeros", "pxor %xmm0, %xmm0\n movups %xmm0, word\n cmpl $0, word\n je 2f"),
    ("a vector beside it", "pxor %xmm0, %xmm0\n movups %xmm0, word-8\n cmpl $0, word\n je 2f"),
    ("strings copied", "movl $0, word\n mov $word, %esi\n mov $kept, %edi\n mov $2, %ecx\n cld\n rep movsl\n cmpl $0, kept+4\n je 2f"),
    ("strings stored", "xor %eax, %eax\n mov $word, %edi\n mov $8, %ecx\n cld\n rep stosl\n cmpl $0, word+8\n je 2f"),
    ("strings compared with themselves", "mov $word, %esi\n mov $word, %edi\n mov $1, %ecx\n cld\n repe cmpsl\n je 2f"),
    ("a string compared", "movl $0, word\n mov $word, %esi\n mov $word, %edi\n cld\n cmpsl\n je 2f"),
    ("a string searched", "movl $0, word\n xor %eax, %eax\n mov $word, %edi\n cld\n scasl\n je 2f"),
    ("reads in a loop that cancel", "mov $4, %ecx\n xor %edx, %edx\n 3: xor word, %edx\n dec %ecx\n jnz 3b\n test %edx, %edx\n jz 2f"),
    ("a walk that reads twice", "mov $word, %rsi\n mov $4, %ecx\n 3: mov (%rsi), %eax\n cmp %eax, (%rsi)\n jne long\n add $4, %rsi\n dec %ecx\n jnz 3b\n jmp 2f"),
    ("a walk that writes and reads", "mov $word, %rsi\n mov $4, %ecx\n 3: movl $7, (%rsi)\n cmpl $7, (%rsi)\n jne long\n add $4, %rsi\n dec %ecx\n jnz 3b\n jmp 2f"),
    ("a push of it", "push word\n mov word, %rax\n cmp %rax, (%rsp)\n pop %rcx\n je 2f"),
    ("a pop to it", "push $0\n pop word\n cmpq $0, word\n je 2f"),
    ("a callee twice", "call 3f\n mov %eax, %edx\n call 3f\n cmp %eax, %edx\n je 2f\n jmp long\n 3: mov word, %eax\n ret"),
    ("a negation", "movl $0, word\n negl word\n jnc 2f"),
    ("a shift", "movl $0, word\n shll $1, word\n jnc 2f"),
    ("a difference", "mov word, %eax\n sub word, %eax\n jz 2f"),
    ("a set byte", "movl $0, word\n sete word\n cmpb $2, word\n jb 2f"),
    ("a product", "movl $0, word\n imul $3, word, %eax\n test %eax, %eax\n jz 2f"),
    ("behind an exchange", "movl $0, word\n xor %eax, %eax\n xchg %eax, word\n cmpl $0, word\n je 2f"),
    ("by a table of pointers", "mov ptr, %rsi\n movl $0, (%rsi)\n cmpl $0, (%rsi)\n je 2f\n jmp long\n .section .rodata\n ptr: .quad word\n .text"),
    ("the upper half", "movabs $0, %rax\n mov %rax, word+4\n cmpl $0, word+8\n je 2f"),
];

const WRITTEN_ON_ARM: &[(&str, &str)] = &[
    ("an index of a table", "ldr r1, [r4]\n cmp r1, #1\n bhi 2f\n ldr r1, [r4]\n ldr r2, =table\n ldr pc, [r2, r1, lsl #2]\n .section .rodata\n table: .long 2f, 2f, long\n .text"),
    ("an exclusive store", "3: ldrex r1, [r4]\n mov r2, #0\n strex r3, r2, [r4]\n cmp r3, #0\n beq 2f"),
    ("a swap", "mov r1, #0\n str r1, [r4]\n swp r2, r1, [r4]\n cmp r2, #0\n beq 2f"),
    ("half a word", "mov r1, #0\n strh r1, [r4, #2]\n ldrsh r1, [r4, #2]\n cmp r1, #0\n beq 2f"),
    ("several", "mov r2, #0\n mov r3, #0\n stm r4, {r2, r3}\n ldmia r4!, {r1}\n cmp r1, #0\n beq 2f"),
    ("a walk that reads twice", "mov r2, #4\n 3: ldr r1, [r4]\n ldr r3, [r4], #4\n cmp r1, r3\n bne long\n subs r2, r2, #1\n bne 3b\n b 2f"),
    ("a pointer to code", "ldr r1, =2f\n str r1, [r4]\n ldr pc, [r4]"),
];

/// Registers of devices, known as such by the machine file alone: the I/O APIC's.
const DEVICES: &[(&str, &str)] = &[
    ("two copies of one register", "mov $0xfec00000, %esi\n mov $kept, %edi\n cld\n movsl\n mov $0xfec00000, %esi\n movsl\n mov kept, %eax\n cmp %eax, kept+4\n je 2f"),
    ("copied into zeros", "mov $0xfec00000, %esi\n mov $kept, %edi\n mov $2, %ecx\n cld\n rep movsl\n cmpl $0, kept+4\n je 2f"),
    ("a pointer computed in a loop", "mov $0xfec00000, %esi\n mov $4, %ecx\n 3: mov (%rsi), %eax\n cmp %eax, (%rsi)\n jne long\n add $16, %rsi\n dec %ecx\n jnz 3b\n jmp 2f"),
    ("a pointer computed in a loop, downwards", "mov $0xfec00040, %esi\n 3: sub $16, %rsi\n mov (%rsi), %eax\n cmp %eax, (%rsi)\n jne long\n cmp $0xfffffffffec00000, %rsi\n je 2f\n mov %esi, %eax\n cmp $0xfec00000, %eax\n ja 3b\n jmp 2f"),
    ("the last bytes of a wider access", "mov $0xfebffffc, %esi\n movq $0, (%rsi)\n cmpq $0, (%rsi)\n je 2f"),
    ("the same by an index", "and $1, %edi\n mov $0xfebffff8, %esi\n movq $0, (%rsi,%rdi,4)\n cmpq $0, (%rsi,%rdi,4)\n je 2f"),
    ("the last bytes by a checked pointer", "cmp $0xc, %edi\n ja 2f\n and $0xfffffffc, %edi\n mov $0xfebffff0, %eax\n add %rax, %rdi\n mov (%rdi), %rax\n cmp %rax, (%rdi)\n je 2f"),
    ("two registers", "mov $0xfec00000, %esi\n mov $3, %ecx\n 3: testb $1, 0x10(%rsi)\n jnz 4f\n dec %ecx\n jnz 3b\n jmp 2f\n 4: testb $1, 0x10(%rsi)\n jnz 2f"),
    ("read, changed and written", "mov $0xfec00000, %esi\n orl $1, (%rsi)\n testl $1, (%rsi)\n jnz 2f"),
    ("a pipe", "mov $0xfec00000, %esi\n mov (%rsi), %eax\n mov (%rsi), %edx\n cmp %eax, %edx\n je 2f"),
    ("a table's index", "mov $0xfec00000, %esi\n cmpl $1, (%rsi)\n ja 2f\n mov (%rsi), %eax\n jmp *table(,%rax,8)\n .section .rodata\n table: .quad 2f, 2f, long\n .text"),
    ("a table's index by an index", "mov %edi, %edi\n cmp $3, %edi\n ja 2f\n mov $0xfec00000, %esi\n cmpl $1, (%rsi,%rdi,4)\n ja 2f\n mov (%rsi,%rdi,4), %eax\n jmp *table(,%rax,8)\n .section .rodata\n table: .quad 2f, 2f, long\n .text"),
    ("a port", "mov $0x3f8, %edx\n in %dx, %al\n mov %al, %cl\n in %dx, %al\n cmp %al, %cl\n je 2f"),
    ("a clock", "rdtsc\n mov %eax, %ecx\n rdtsc\n cmp %eax, %ecx\n je 2f"),
    ("a model-specific register", "mov $0x10, %ecx\n rdmsr\n mov %eax, %ebx\n rdmsr\n cmp %eax, %ebx\n je 2f"),
    ("the faulting address", "mov %cr2, %rax\n mov %cr2, %rcx\n cmp %rax, %rcx\n je 2f"),
];

fn bounded(target: Target, source: &str, volatile: &[&str]) -> Report {
    let mut request = request(target, assemble(target, source));
    request.stated.volatile = volatile.iter().map(|text| text.to_string()).collect();
    analyse(&request, &mut |_, _, _| {})
}

/// Programs whose bound is lower than what they may take.
fn too_low(target: Target, programs: &[(&'static str, &str)], volatile: &[&str]) -> Vec<(&'static str, Option<u64>)> {
    let mut found = Vec::new();
    for (name, code) in programs {
        let source = if target == X86 { x86(code) } else { arm(code) };
        let report = bounded(target, &source, volatile);
        if report.verdict == Verdict::Bounded && report.wcet_cycles < Some(LEAST) {
            found.push((*name, report.wcet_cycles));
        }
    }
    found
}

#[test]
fn what_others_write_may_be_anything_on_x86() {
    assert_eq!(too_low(X86, WRITTEN_ON_X86, &["word"]), []);
}

#[test]
fn what_others_write_may_be_anything_on_arm() {
    assert_eq!(too_low(ARM, WRITTEN_ON_ARM, &["word"]), []);
}

#[test]
fn registers_of_devices_may_be_anything() {
    assert_eq!(too_low(X86, DEVICES, &[]), []);
}

/// Without others, control flow through the same memory is followed: the tests above do not refuse everything.
#[test]
fn an_index_in_memory_that_stays_is_followed() {
    for (name, code) in &WRITTEN_ON_X86[..3] {
        let report = bounded(X86, &x86(code), &[]);
        assert_eq!(report.verdict, Verdict::Bounded, "{name}: {:?}", report.errors);
        assert!(report.wcet_cycles < Some(LEAST), "{name}: {:?}", report.wcet_cycles);
    }
}

/// An index on the stack is the region's own, whatever others write.
#[test]
fn an_index_on_the_stack_stays() {
    let code = "push %rdi\n cmpl $1, (%rsp)\n ja 4f\n mov (%rsp), %eax\n jmp *table(,%rax,8)\n 4: pop %rdi\n jmp 2f\n \
                5: pop %rdi\n jmp 2f\n .section .rodata\n table: .quad 4b, 5b, long\n .text";
    let mut request = request(X86, assemble(X86, &x86(code)));
    request.stated.shared = true;
    let report = analyse(&request, &mut |_, _, _| {});
    assert_eq!(report.verdict, Verdict::Bounded, "{:?}", report.errors);
    assert!(report.wcet_cycles < Some(LEAST), "{:?}", report.wcet_cycles);
}

/// Registers of a device in a read-only section are no constants: the linker puts zeros there.
#[test]
fn registers_in_a_read_only_section_change() {
    let source = x86("mov $registers, %esi\n cmpl $0, (%rsi)\n je 2f")
        .replace(".data\n", ".section .registers, \"a\", %nobits\nregisters: .zero 64\n.data\n");
    for (at, least) in [("0xfec00000", true), ("0x10000000", false)] {
        let place = format!("-Wl,--section-start=.registers={at}");
        let program = build(X86, "s", &format!(".text\n.globl _start\n{source}"), &[&place]);
        let report = analyse(&request(X86, program), &mut |_, _, _| {});
        assert_eq!(report.verdict, Verdict::Bounded, "{:?}", report.errors);
        assert_eq!(report.wcet_cycles > Some(LEAST), least, "{at}: {:?}", report.wcet_cycles);
    }
}

/// Where no device is known, as of loops alone or of a machine without any, each unknown address may be one.
#[test]
fn devices_may_be_anywhere_where_none_is_known() {
    let loops = "mov r1, r0\n ldr r0, [r1]\n cmp r0, #10\n bhi 2f\n ldr r0, [r1]\n 3: subs r0, r0, #1\n bhi 3b\n b 2f";
    for whole in [true, false] {
        let mut request = request(ARM, assemble(ARM, &arm(loops)));
        request.stated.devices = true;
        if !whole {
            request.machine = None;
        }
        let report = if whole {
            analyse(&request, &mut |_, _, _| {})
        } else {
            wcet_paths::analysis::loops(&request, &mut |_, _, _| {})
        };
        let checked = report.loops.iter().any(|one| one.bound.is_some_and(|bound| bound <= 10));
        assert!(!checked && !report.loops.is_empty(), "{whole}: {:?}", report.loops);
    }
}
