//! Forms beyond those of the kernel: what compilers make of user programs.

/// One instruction each, on any registers but rsp, rsi and rdi; rsi points to 64 bytes, rdi 16 bytes behind it.
pub fn forms() -> Vec<String> {
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
