//! Loops that mislead: in assembly, with what compilers do not do, and addresses in unusual places.

use super::compare::compare;
use super::{assembly, inferred};
use crate::compiled::TARGETS;

/// Loops that no compiler writes this way, in the assembly language of x86-64; arguments in `edi` and `esi`.
const AWKWARD: [(&str, &str); 5] = [
    (
        "of two ways back only one compares the counter",
        "xor %eax, %eax; 1: inc %eax; cmp $10, %eax; jb 1b; dec %esi; cmp $0, %esi; jne 1b; ret",
    ),
    (
        "bits are cleared until the rest is another number than 0",
        "and $4095, %esi; 1: cmp $1, %edi; je 2f; lea -1(%rdi), %eax; and %eax, %edi; dec %esi; jns 1b; 2: ret",
    ),
    (
        "an unsigned half, compared as a signed whole",
        "movzwl %di, %edi; 1: inc %edi; movzwl %di, %edi; cmp $60000, %edi; jl 1b; ret",
    ),
    (
        "numbers of two sizes that differ alike on two paths",
        "test $1, %edi; je 1f; movl $100, -4(%rsp); mov $1, %eax; movl $1, -8(%rsp); jmp 2f
         1: movl $100, -4(%rsp); mov $0, %eax; movl $0, -8(%rsp); 2: mov -4(%rsp), %ecx; 3: dec %ecx; jnz 3b; ret",
    ),
    (
        "an address of the stack kept in the caller's part",
        "mov %rsp, %rax; sub $32, %rax; movl $3, -32(%rsp); mov %rax, 16(%rsp); movl $0, (%rdi); mov 16(%rsp), %rdx
         movl $50, (%rdx); mov -32(%rsp), %ecx; 3: dec %ecx; jnz 3b; ret",
    ),
];

#[test]
fn no_execution_leaves_what_was_found_of_awkward_loops() {
    for (name, code) in AWKWARD {
        println!("{name}");
        compare(TARGETS[0], &assembly(code));
    }
}

/// Addresses of the stack that go through vector registers, which are not followed. Each loop runs 50 times.
const CARRIED: [&str; 2] = [
    "lea -16(%rsp), %rax; movl $3, -16(%rsp); movq %rax, %xmm0; movups %xmm0, -64(%rsp); mov -64(%rsp), %rdx
     movl $50, (%rdx); mov -16(%rsp), %ecx; 1: dec %ecx; jnz 1b; ret",
    "lea -16(%rsp), %rax; movl $3, -16(%rsp); mov %rax, -64(%rsp); movups -64(%rsp), %xmm0; movups %xmm0, -96(%rsp)
     mov -96(%rsp), %rdx; movl $50, (%rdx); mov -16(%rsp), %ecx; 1: dec %ecx; jnz 1b; ret",
];

#[test]
fn addresses_of_the_stack_in_vector_registers_are_not_forgotten() {
    for code in CARRIED {
        let found = inferred(code, &wcet_values::Options::default());
        assert!(found.iter().all(|one| one.bound.is_none_or(|bound| bound >= 50)), "{found:?}");
    }
}
