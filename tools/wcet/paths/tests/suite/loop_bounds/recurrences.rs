//! What recurrences alone bound, where no loop is followed iteration by iteration.

use super::compare::compare;
use super::{assembly, inferred};
use crate::compiled::TARGETS;

/// Loops in the assembly language of x86-64 that recurrences alone bound, and what they give; each with a neighbour that looks
/// alike and has no such bound.
const RECURRENCES: [(&str, &str, Option<u64>); 26] = [
    (
        "a string instruction repeats as often as a register says",
        "mov %edi, %ecx; and $63, %ecx; lea -128(%rsp), %rdi; rep stosb; ret",
        Some(64),
    ),
    ("and that may be anything", "mov %rdi, %rcx; lea -128(%rsp), %rdi; rep stosb; ret", None),
    (
        "a string instruction that also ends where bytes are equal",
        "mov %edi, %ecx; and $31, %ecx; lea -128(%rsp), %rdi; repne scasb; ret",
        Some(32),
    ),
    (
        "a number that counts down behind what looks like one",
        "and $63, %edi; 1: inc %edi; dec %edi; jne 1b; ret",
        None,
    ),
    ("halved until it is 1", "or $1, %edi; 1: cmp $1, %edi; je 2f; shr %edi; jmp 1b; 2: ret", Some(32)),
    ("which a number that may be 0 never is", "1: cmp $1, %edi; je 2f; shr %edi; jmp 1b; 2: ret", None),
    (
        "divided by ten until it is 0",
        "1: mov %edi, %eax; mov $0xcccccccd, %ecx; imul %rcx, %rax; shr $35, %rax; mov %eax, %edi; test %edi, %edi; jne 1b; ret",
        Some(10),
    ),
    (
        "which it never is where one is added",
        "1: mov %edi, %eax; mov $0xcccccccd, %ecx; imul %rcx, %rax; shr $35, %rax; lea 1(%rax), %edi; test %edi, %edi; jne 1b
         ret",
        None,
    ),
    (
        "two that come closer",
        "xor %eax, %eax; and $63, %edi; 1: cmp %edi, %eax; jae 2f; inc %eax; dec %edi; jmp 1b; 2: ret",
        Some(33),
    ),
    (
        "and pass each other",
        "xor %eax, %eax; and $63, %edi; 1: cmp %edi, %eax; je 2f; inc %eax; dec %edi; jmp 1b; 2: ret",
        None,
    ),
    (
        "a pointer to an end that is a known distance off",
        "and $15, %edi; shl $8, %rdi; lea 0x1000(%rdi), %rax; lea 0x1040(%rdi), %rdx; 1: add $8, %rax; cmp %rax, %rdx; jne 1b
         ret",
        Some(8),
    ),
    (
        "which its steps miss",
        "and $15, %edi; shl $8, %rdi; lea 0x1000(%rdi), %rax; lea 0x1044(%rdi), %rdx; 1: add $8, %rax; cmp %rax, %rdx; jne 1b
         ret",
        None,
    ),
    (
        "a counter that a callee keeps",
        "xor %ebx, %ebx; 1: call 3f; inc %ebx; cmp $20, %ebx; jb 1b; ret; 3: push %rbx; mov %edi, %ebx; add %ebx, %esi; pop %rbx; ret",
        Some(20),
    ),
    (
        "and that a callee changes where it was kept",
        "xor %ebx, %ebx; 1: call 3f; inc %ebx; cmp $20, %ebx; jb 1b; ret; 3: push %rbx; andl $7, (%rsp); pop %rbx; ret",
        None,
    ),
    (
        "two conditions at once",
        "xor %eax, %eax; 1: inc %eax; cmp $10, %eax; setb %cl; test %esi, %esi; setne %dl; and %dl, %cl; jne 1b; ret",
        Some(10),
    ),
    (
        "one of two exits in each iteration",
        "xor %eax, %eax; 1: inc %eax; ror %esi; jc 3f; cmp $10, %eax; jae 2f; jmp 1b; 3: cmp $12, %eax; jb 1b; 2: ret",
        Some(12),
    ),
    (
        "of which one is met in one iteration alone",
        "xor %eax, %eax; 1: inc %eax; ror %esi; jc 3f; cmp $10, %eax; je 2f; jmp 1b; 3: cmp $12, %eax; jb 1b; 2: ret",
        None,
    ),
    (
        "a half in memory, compared with another",
        "movw $0, -8(%rsp); andw $63, %di; 1: movw -8(%rsp), %ax; cmp %di, %ax; jae 2f; inc %eax; movw %ax, -8(%rsp); jmp 1b
         2: ret",
        Some(64),
    ),
    (
        "bits cleared until 0, in the low half of a register",
        "1: test %edi, %edi; je 2f; lea -1(%rdi), %ecx; and %ecx, %edi; jmp 1b; 2: ret",
        Some(33),
    ),
    (
        "a counter that one path keeps in memory",
        "mov $16, %ecx; 1: test %esi, %esi; je 2f; mov %ecx, -8(%rsp); ror %esi; mov -8(%rsp), %ecx; 2: dec %ecx; jne 1b; ret",
        Some(16),
    ),
    (
        "of which that path loses the upper half",
        "movabs $0x100000010, %rcx; 1: test %esi, %esi; je 2f; mov %ecx, -8(%rsp); ror %esi; mov -8(%rsp), %ecx
         2: dec %rcx; jne 1b; ret",
        None,
    ),
    (
        "from a number in memory to one that is a known distance off",
        "mov 8(%rsp), %edx; lea 4(%rdx), %eax; 1: test %esi, %esi; je 2f; mov %edx, -8(%rsp); ror %esi; mov -8(%rsp), %edx
         2: inc %edx; cmp %edx, %eax; jne 1b; ret",
        Some(4),
    ),
    (
        "from memory that a vector register cleared",
        "pxor %xmm3, %xmm3; test %edi, %edi; je 3f; xorps %xmm3, %xmm3; 3: movups %xmm3, -24(%rsp); mov -16(%rsp), %eax
         1: inc %eax; cmp $10, %eax; jb 1b; ret",
        Some(10),
    ),
    (
        "which may have got something else on one path",
        "pxor %xmm3, %xmm3; test %edi, %edi; je 3f; movd %esi, %xmm3; 3: movups %xmm3, -24(%rsp); mov -24(%rsp), %eax
         1: inc %eax; cmp $10, %eax; jne 1b; ret",
        None,
    ),
    (
        "or in a callee",
        "pxor %xmm3, %xmm3; call 3f; movups %xmm3, -24(%rsp); mov -24(%rsp), %eax; 1: inc %eax; cmp $10, %eax; jne 1b; ret
         3: movd %esi, %xmm3; ret",
        None,
    ),
    (
        "either of two conditions",
        "xor %eax, %eax; 1: inc %eax; cmp $10, %eax; setb %cl; test %esi, %esi; setne %dl; or %dl, %cl; jne 1b; ret",
        None,
    ),
];

/// The bounds of an assembly program's loops, where no loop is followed iteration by iteration.
fn recurrences(code: &str, shared: Vec<(u64, u64)>) -> Vec<Option<u64>> {
    let shared = wcet_values::Shared::of(shared);
    let options = wcet_values::Options { steps: 0, shared, ..wcet_values::Options::default() };
    inferred(code, &options).into_iter().map(|one| one.bound).collect()
}

#[test]
fn recurrences_bound_what_they_should_and_nothing_else() {
    for (name, code, bound) in RECURRENCES {
        println!("{name}");
        assert_eq!(recurrences(code, Vec::new()), [bound], "{name}");
        // What has no bound may not end.
        if bound.is_some() {
            compare(TARGETS[0], &assembly(code));
        }
    }
}

#[test]
fn what_others_may_change_is_not_the_same_when_it_is_read_again() {
    let code = "mov (%rdi), %eax; cmp $10, %eax; ja 2f; mov (%rdi), %ecx; 1: dec %ecx; jns 1b; 2: ret";
    assert_eq!(recurrences(code, Vec::new()), [Some(11)]);
    assert_eq!(recurrences(code, vec![(0x1000, 0x2000)]), [None]);
}
