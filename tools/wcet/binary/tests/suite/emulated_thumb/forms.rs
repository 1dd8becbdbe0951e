//! The forms that are compared: one instruction each, or a block of `it` with one.

/// On r0 to r8; r10 points into 64 bytes of memory, r9 is a number below 4.
pub fn forms() -> Vec<String> {
    let mut forms = narrow();
    forms.extend(wide());
    forms.extend(memory());
    forms.extend(stack());
    forms.extend(products());
    // Under a condition, one after the other: it is met on some states.
    for (form, condition) in forms.clone().iter().zip(CONDITIONS.iter().cycle()) {
        // The short forms are written without `s` there, and set no flags.
        let (name, operands) = form.split_once(' ').unwrap_or((form, ""));
        let sets_none = SHORT.contains(&form.as_str()) && !["tst", "cmp", "cmn"].contains(&name);
        let name = if sets_none { name.strip_suffix('s').unwrap_or(name) } else { name };
        let (name, width) = name.split_once('.').map_or((name, String::new()), |(name, w)| (name, format!(".{w}")));
        forms.push(format!("it {condition}; {name}{condition}{width} {operands}"));
    }
    forms.extend(branches());
    forms
}

const CONDITIONS: [&str; 14] = ["eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le"];

/// To the label 2.
fn branches() -> Vec<String> {
    let mut forms = vec!["cbz r0, 2f".to_string(), "cbnz r0, 2f".to_string()];
    for condition in CONDITIONS {
        forms.extend([format!("b{condition}.n 2f"), format!("b{condition}.w 2f")]);
        forms.extend([".n", ".w"].map(|width| format!("it {condition}; b{condition}{width} 2f")));
    }
    forms
}

/// Of 16 bits, with flags outside of a block.
const SHORT: &[&str] = &[
    "lsls r0, r1, #5",
    "lsls r0, r0, #31",
    "lsrs r0, r1, #7",
    "lsrs r3, r3, #32",
    "asrs r0, r1, #9",
    "asrs r3, r3, #32",
    "movs r0, #200",
    "movs r7, #0",
    "movs r0, r1",
    "adds r0, r1, r2",
    "adds r3, r3, r3",
    "adds r0, r1, #7",
    "adds r0, #255",
    "subs r0, r1, r2",
    "subs r0, r0, r0",
    "subs r0, r1, #1",
    "subs r5, #200",
    "ands r0, r1",
    "eors r0, r1",
    "lsls r0, r3",
    "lsrs r0, r3",
    "asrs r0, r3",
    "rors r0, r3",
    "rors r3, r3",
    "adcs r0, r1",
    "adcs r3, r3",
    "sbcs r0, r1",
    "sbcs r3, r3",
    "negs r0, r1",
    "orrs r0, r1",
    "muls r0, r1, r0",
    "bics r0, r1",
    "mvns r0, r1",
    "cmp r0, #7",
    "cmp r0, r1",
    "cmp r0, r0",
    "cmn r0, r1",
    "tst r0, r1",
];

fn narrow() -> Vec<String> {
    let more = [
        "mov r0, r8",
        "mov r8, r1",
        "mov r0, pc",
        "add r0, r8",
        "add r8, r1",
        "add r0, pc",
        "cmp r0, r8",
        "cmp r8, r1",
        "adr r0, . + 8",
        "sxth r0, r1",
        "sxtb r0, r1",
        "uxth r0, r1",
        "uxtb r0, r1",
        "rev r0, r1",
        "rev16 r0, r1",
        "revsh r0, r1",
        "nop",
        "yield",
    ];
    SHORT.iter().copied().chain(more).map(str::to_string).collect()
}

fn wide() -> Vec<String> {
    let mut forms = Vec::new();
    for name in ["and", "eor", "sub", "rsb", "add", "adc", "sbc", "orr", "bic", "orn"] {
        let operands = [
            "r0, r1, r8",
            "r0, r0, #255",
            "r3, r3, r3",
            "r0, r8, r2, lsl #3",
            "r0, r1, r2, lsr #32",
            "r0, r1, r2, asr #7",
            "r0, r1, r2, asr #32",
            "r0, r1, r2, ror #9",
            "r0, r1, r2, rrx",
            "r4, r1, #0x00ab00ab",
            "r4, r1, #0xab00ab00",
            "r4, r1, #0xabababab",
            "r4, r1, #0x0003fc00",
        ];
        for operands in operands {
            forms.extend([format!("{name}.w {operands}"), format!("{name}s.w {operands}")]);
        }
    }
    for operands in ["r0, r8", "r0, r1, lsl #4", "r0, #0xff00ff00", "r0, #0x80000000", "r0, r1, ror #3", "r0, r1, rrx"]
    {
        forms.extend(["cmp", "cmn", "tst", "teq"].map(|name| format!("{name}.w {operands}")));
    }
    for operands in ["r0, r8", "r0, #0x55005500", "r0, #0x1fe0"] {
        forms.extend(["mov.w", "movs.w", "mvn.w", "mvns.w"].map(|name| format!("{name} {operands}")));
    }
    for name in ["lsl", "lsr", "asr", "ror"] {
        for operands in ["r0, r1, r3", "r0, r8, #5", "r0, r0, #31", "r3, r3, r3"] {
            forms.extend([format!("{name}.w {operands}"), format!("{name}s.w {operands}")]);
        }
    }
    let more = [
        "rrx r0, r1",
        "rrxs r0, r1",
        "mvn.w r0, r1, asr #4",
        "addw r0, r1, #0xabc",
        "subw r0, r1, #0xabc",
        "adr.w r0, . + 100",
        "movw r0, #0xabcd",
        "movt r0, #0xabcd",
        "clz r0, r1",
        "rev.w r0, r8",
        "rev16.w r0, r8",
        "revsh.w r0, r8",
        "rbit r0, r1",
        "ubfx r0, r1, #3, #9",
        "sbfx r0, r1, #3, #9",
        "ubfx r0, r0, #0, #32",
        "sbfx r0, r1, #31, #1",
        "bfi r0, r1, #3, #9",
        "bfi r0, r1, #0, #32",
        "bfc r0, #3, #9",
        "uxtb.w r0, r8",
        "uxtb.w r0, r1, ror #8",
        "uxth.w r0, r8",
        "sxtb.w r0, r8, ror #24",
        "sxth.w r0, r1, ror #16",
        "uxtab r0, r1, r2",
        "uxtah r0, r1, r2, ror #8",
        "sxtab r0, r1, r2",
        "sxtah r0, r1, r2",
        "uxtb16 r0, r1",
        "sxtb16 r0, r1, ror #8",
        "uxtab16 r0, r1, r2",
        "sxtab16 r0, r1, r2",
        "pkhbt r0, r1, r2, lsl #4",
        "pkhtb r0, r1, r2, asr #4",
        "ssat r0, #5, r1",
        "ssat r0, #32, r1, lsl #3",
        "ssat r0, #9, r1, asr #7",
        "ssat r0, #1, r1",
        "usat r0, #5, r1",
        "usat r0, #0, r1, asr #31",
        "usat r0, #31, r1, lsl #3",
        "ssat16 r0, #4, r1",
        "usat16 r0, #4, r1",
        "qadd r0, r1, r2",
        "qdsub r0, r1, r2",
        "sel r0, r1, r2",
        "uadd8 r0, r1, r2",
        "shsub16 r0, r1, r2",
        "uqasx r0, r1, r2",
        "nop.w",
    ];
    forms.extend(more.map(str::to_string));
    forms
}

fn products() -> Vec<String> {
    let list = [
        "mul.w r0, r1, r8",
        "mla r0, r1, r2, r3",
        "mls r0, r1, r2, r3",
        "umull r0, r1, r2, r3",
        "umull r0, r1, r0, r1",
        "smull r0, r1, r2, r3",
        "umlal r0, r1, r2, r3",
        "smlal r0, r1, r2, r3",
        "umaal r0, r1, r2, r3",
        "smlalbb r0, r1, r2, r3",
        "smlald r0, r1, r2, r3",
        "smlsldx r0, r1, r2, r3",
        "smulbb r0, r1, r2",
        "smultb r0, r1, r2",
        "smulbt r0, r1, r2",
        "smulwb r0, r1, r2",
        "smulwt r0, r1, r2",
        "smlabb r0, r1, r2, r3",
        "smlatt r0, r1, r2, r3",
        "smlawb r0, r1, r2, r3",
        "smuad r0, r1, r2",
        "smladx r0, r1, r2, r3",
        "smusd r0, r1, r2",
        "smmul r0, r1, r2",
        "smmlar r0, r1, r2, r3",
        "smmls r0, r1, r2, r3",
        "usad8 r0, r1, r2",
        "usada8 r0, r1, r2, r3",
        "sdiv r0, r1, r2",
        "udiv r0, r1, r2",
        "udiv r0, r0, r0",
    ];
    list.map(str::to_string).to_vec()
}

/// On the stack pointer, which is then r10; they leave r11 and r12 alone.
fn stack() -> Vec<String> {
    let list = [
        "push {r0, r2}",
        "push {r1, r7, lr}",
        "pop {r0, r2, r7}",
        "push.w {r0, r8, lr}",
        "pop.w {r0, r3, r8, lr}",
        "push.w {r8}",
        "pop.w {r8}",
        "stmdb sp!, {r0, r1, r9}",
        "ldmia sp, {r0, r1, r9}",
        "ldr r0, [sp], #4",
        "str r0, [sp, #-8]!",
        "strd r0, r1, [sp, #-8]!",
        "ldr r0, [sp, #12]",
        "str r0, [sp, #12]",
        "strb.w r0, [sp, #3]",
        "sub sp, #16",
        "add sp, #8",
        "sub.w sp, sp, #12",
        "add.w sp, sp, #12",
        "mov r0, sp",
        "add r0, sp, #20",
        "add r9, sp",
    ];
    list.map(str::to_string).to_vec()
}

/// Whether the form is one on the stack pointer.
pub fn is_of_stack(form: &str) -> bool {
    ["sp", "push", "pop"].iter().any(|part| form.contains(part))
}

fn memory() -> Vec<String> {
    let mut forms: Vec<String> = Vec::new();
    for name in ["ldr", "str", "ldrb", "strb", "ldrh", "strh", "ldrsb", "ldrsh"] {
        for operands in ["r0, [r10]", "r0, [r10, #4]", "r0, [r10, #-4]!", "r0, [r10], #8", "r0, [r10, #-16]"] {
            forms.push(format!("{name} {operands}"));
        }
        for operands in ["r0, [r10, r9]", "r0, [r10, r9, lsl #2]"] {
            forms.push(format!("{name} {operands}"));
        }
        // With the short forms' registers: r7 is made the address.
        if !name.starts_with("ldrs") {
            forms.push(format!("{name} r0, [r7, #8]"));
        }
        forms.push(format!("{name} r0, [r7, r6]"));
    }
    for operands in ["r0, r1, [r10]", "r0, r2, [r10, #8]", "r0, r1, [r10, #-8]!", "r2, r3, [r10], #8"] {
        forms.extend(["ldrd", "strd"].map(|name| format!("{name} {operands}")));
    }
    for mode in ["ia", "db"] {
        for base in ["r10", "r10!"] {
            forms.extend(["ldm", "stm"].map(|name| format!("{name}{mode} {base}, {{r0, r2, r3}}")));
        }
    }
    let more = [
        "ldmia r7!, {r0, r2, r3}",
        "ldmia r7, {r0, r2, r7}",
        "stmia r7!, {r0, r2, r3}",
        "ldr r0, . + 8",
        "ldr.w r0, . + 16",
        "ldrex r0, [r10]",
        "ldrex r0, [r10, #8]",
        "ldrexb r0, [r10]",
        "ldrexh r0, [r10]",
        "ldrexd r0, r1, [r10]",
        "pld [r10, #8]",
        "clrex",
        "dmb",
    ];
    forms.extend(more.map(str::to_string));
    forms
}
