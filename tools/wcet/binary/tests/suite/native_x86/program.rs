//! A program that executes every form on random states, and prints what was before and what came out.

use std::fmt::Write;

/// How a form is executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    Plain,
    /// With a divisor that is not 0 and a quotient that fits.
    Divide,
    /// A few times only.
    Repeat,
    /// With flags on the stack that may be set.
    PopFlags,
    /// To the instruction after it.
    Return,
    /// Whether it goes elsewhere is told.
    Jump,
}

/// One instruction, on any registers; rsi points to 64 bytes, rdi 16 bytes and rsp 24 bytes behind it.
#[derive(Debug, Clone)]
pub struct Form {
    pub text: String,
    assembly: String,
    pub sort: Sort,
}

impl Form {
    /// In the syntax of gcc.
    pub fn att(text: &str) -> Form {
        Form { text: text.to_string(), assembly: text.to_string(), sort: Sort::Plain }
    }

    /// As the list of the kernel's forms has it.
    pub fn of_kernel(text: &str) -> Form {
        let (assembly, sort) = match text.strip_prefix("control ") {
            Some("call") => ("call 1f\\nud2\\n1:".to_string(), Sort::Plain),
            Some("jmp") => ("jmp 1f\\nud2\\n1:".to_string(), Sort::Plain),
            Some("ret") => ("ret".to_string(), Sort::Return),
            Some(jump) => (format!("{jump} 1f\\nmovq $0, taken\\njmp 2f\\n1: movq $1, taken\\n2:"), Sort::Jump),
            None => {
                let sort = match text.split(' ').next() {
                    Some("div" | "idiv") => Sort::Divide,
                    Some("rep" | "repe" | "repne") => Sort::Repeat,
                    Some("popfq") => Sort::PopFlags,
                    _ => Sort::Plain,
                };
                let instruction = text.strip_prefix("system ").unwrap_or(text);
                (format!(".intel_syntax noprefix\\n{}\\n.att_syntax prefix", addressed(instruction)), sort)
            }
        };
        Form { text: text.to_string(), assembly, sort }
    }
}

/// String instructions name their memory in a way that assemblers do not all take.
fn addressed(instruction: &str) -> String {
    let string = |name: &str| {
        let stem = name.get(..4).filter(|_| name.len() == 5 && "bwdq".contains(&name[4..]));
        stem.is_some_and(|stem| ["movs", "stos", "lods", "scas", "cmps"].contains(&stem))
    };
    let words: Vec<&str> = instruction.split(' ').collect();
    match words.iter().position(|word| string(word)) {
        Some(last) => words[..=last].join(" "),
        None => instruction.to_string(),
    }
}

pub const STATES: usize = 40;

/// Registers in the order of their numbers.
const NAMES: [&str; 16] =
    ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];

/// So many vector registers are set and printed, if they are.
pub const VECTORS: usize = 4;

/// C and assembly. Of the flags CF, PF, AF, ZF, SF, OF are set.
pub fn source(forms: &[Form], vectors: bool) -> String {
    let vectors = if vectors { VECTORS } else { 0 };
    let mut text = format!(
        "#include <stdio.h>\n#include <string.h>\nunsigned long in[17], out[17], taken, stack;\n\
         __attribute__((aligned(16))) unsigned long vin[2 * {VECTORS}], vout[2 * {VECTORS}];\n\
         __attribute__((aligned(64))) unsigned char memory[64], before[64];\n__asm__(\".text\\n",
    );
    for (index, form) in forms.iter().enumerate() {
        let _ = write!(
            text,
            ".globl form{index}, at{index}, after{index}\\nform{index}: push %rbx; push %rbp; push %r12; push %r13; push %r14; \
             push %r15; pushq in+128; popfq\\nmov %rsp, stack\\n"
        );
        for number in 0..vectors {
            let _ = write!(text, "movdqu vin+{}, %xmm{number}\\n", 16 * number);
        }
        for (number, name) in NAMES.iter().enumerate() {
            let _ = write!(text, "mov in+{}, %{name}\\n", 8 * number);
        }
        let _ = write!(text, "at{index}: {}\\nafter{index}:\\n", form.assembly);
        for (number, name) in NAMES.iter().enumerate() {
            let _ = write!(text, "mov %{name}, out+{}\\n", 8 * number);
        }
        for number in 0..vectors {
            let _ = write!(text, "movdqu %xmm{number}, vout+{}\\n", 16 * number);
        }
        text += "mov stack, %rsp\\npushfq; popq out+128; cld; pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx; ret\\n";
    }
    text += "\");\n";
    for index in 0..forms.len() {
        let _ = writeln!(text, "void form{index}(void), after{index}(void);");
    }
    for (name, label) in [("forms", "form"), ("afters", "after")] {
        let _ = write!(text, "void (*const {name}[])(void) = {{");
        for index in 0..forms.len() {
            let _ = write!(text, "{label}{index},");
        }
        text += "};\n";
    }
    text += "const char sorts[] = {";
    for form in forms {
        let _ = write!(text, "{},", form.sort as u8);
    }
    text += "};\n";
    for (name, sort) in
        [("DIVIDE", Sort::Divide), ("REPEAT", Sort::Repeat), ("POP_FLAGS", Sort::PopFlags), ("RETURN", Sort::Return)]
    {
        let _ = writeln!(text, "enum {{ {name} = {} }};", sort as u8);
    }
    let _ = write!(
        text,
        "static unsigned long seed = 88172645463325252;
static unsigned long next(void) {{ seed ^= seed << 13; seed ^= seed >> 7; seed ^= seed << 17; return seed; }}
static unsigned long number(void) {{ unsigned long r = next(); switch (next() % 6) {{ case 0: return r % 70; case 1: return -(r % 70);
    case 2: return 1ul << (r % 64); case 3: return (unsigned)r; default: return r; }} }}
/* Of floating-point numbers those that are apart: zeros, ones, halves, the least, infinities, none, integers that just fit. */
static const double odd[] = {{ 0., -0., 1., -1.5, .5, 1e-320, 4e-324, 1e308, -1e300, __builtin_inf(), -__builtin_inf(), 2147483647.,
    -2147483648., 9.2233720368547748e18, 1e-40, 3.4e38 }};
static unsigned long half(void) {{ double d = odd[next() % 16]; float f[2] = {{ odd[next() % 16], odd[next() % 16] }}; unsigned long r = next();
    switch (next() % 7) {{ case 0: memcpy(&r, &d, 8); return r; case 4: return r % 70; /* By how much is shifted. */ case 1: memcpy(&r, f, 8); return r;
    case 2: d = (long)r >> r % 60; memcpy(&r, &d, 8); return r; case 3: f[0] = (int)r >> r % 30; f[1] = r >> 40; memcpy(&r, f, 8); return r;
    default: return r; }} }}
static unsigned long flags(void) {{ return (next() & 0x8d5) | 0x202; }}
int main(void) {{ for (unsigned f = 0; f < {count}; f++) for (int s = 0; s < {STATES}; s++) {{
    unsigned long top = 0;
    for (int i = 0; i < 16; i++) in[i] = number();
    in[16] = flags(); in[6] = (unsigned long)(memory + 8); in[7] = (unsigned long)(memory + 24);
    in[4] = (unsigned long)(memory + 32);
    for (int i = 0; i < 2 * {vectors}; i++) vin[i] = half();
    for (int i = 0; i < 64; i++) memory[i] = s % 3 == 0 ? (next() % 2 ? 0 : 0xff) : next();
    if ({vectors} && s % 3) for (int i = 0; i < 64; i += 8) {{ unsigned long r = half(); memcpy(memory + i, &r, 8); }}
    if (sorts[f] == DIVIDE) {{ in[2] = 0; in[0] = in[0] >> 1 | 1; in[3] |= 1; memory[16] |= 1; }}
    if (sorts[f] == REPEAT) in[1] %= 4;
    if (sorts[f] == POP_FLAGS) top = flags();
    if (sorts[f] == RETURN) top = (unsigned long)afters[f];
    if (top) memcpy(memory + 32, &top, 8);
    memcpy(before, memory, 64); taken = 0;
    forms[f](); printf(\"%u %lx %lx\", f, (unsigned long)memory, taken);
    for (int i = 0; i < 17; i++) printf(\" %lx %lx\", in[i], out[i]);
    for (int i = 0; i < 64; i++) printf(\" %x %x\", before[i], memory[i]);
    for (int i = 0; i < 2 * {vectors}; i++) printf(\" %lx %lx\", vin[i], vout[i]);
    printf(\"\\n\"); }} }}\n",
        count = forms.len()
    );
    text
}
