//! The instruction forms that are compared: one instruction each.
//!
//! Whatever registers a form names hold random numbers, but for the base of an access, of which the form's displacement leads
//! into memory, and for the register by which it jumps. tp belongs to the test.

/// A form, and what its state needs.
#[derive(Debug, Clone)]
pub struct Form {
    pub text: String,
    /// The register by which it jumps, and how far before its target that points.
    pub by: Option<(&'static str, i64)>,
}

/// Three registers each, the one that is always 0 in every place.
const THREE: [&str; 6] = ["a0, a1, a2", "t6, t6, t6", "ra, s11, a5", "zero, a1, a2", "a0, zero, a2", "a3, a4, zero"];

fn plain(text: impl Into<String>) -> Form {
    Form { text: text.into(), by: None }
}

/// All forms; `wide`: of RV64.
pub fn forms(wide: bool) -> Vec<Form> {
    let mut forms: Vec<Form> = [full(wide), compressed(wide), floating(wide)].concat().into_iter().map(plain).collect();
    for name in ["beq", "bne", "blt", "bge", "bltu", "bgeu"] {
        for operands in ["a0, a1", "t3, t3", "s4, zero", "zero, a7"] {
            forms.push(plain(format!("{name} {operands}, taken")));
        }
    }
    forms.extend(
        ["c.beqz a0, taken", "c.bnez s1, taken", "j taken", "jal taken", "jal t0, taken", "jal s3, taken", "c.j taken"]
            .map(plain),
    );
    if !wide {
        forms.push(plain("c.jal taken"));
    }
    let by = |text: &str, register, before| Form { text: text.to_string(), by: Some((register, before)) };
    forms.extend([
        by("jalr ra, 0(a3)", "a3", 0),
        by("jalr ra, -12(a3)", "a3", -12),
        by("jalr zero, 2046(t2)", "t2", 2046),
        by("jalr a4, 16(a4)", "a4", 16),
        by("jalr ra, 0(ra)", "ra", 0),
        by("jalr ra, 4(ra)", "ra", 4),
        by("jalr t0, 0(t0)", "t0", 0),
        by("ret", "ra", 0),
        by("c.jr ra", "ra", 0),
        by("c.jr a5", "a5", 0),
        by("c.jalr a5", "a5", 0),
        by("c.jalr ra", "ra", 0),
    ]);
    forms
}

fn full(wide: bool) -> Vec<String> {
    let mut forms = Vec::new();
    let mut arithmetic = vec![
        "add", "sub", "sll", "slt", "sltu", "xor", "srl", "sra", "or", "and", "mul", "mulh", "mulhsu", "mulhu", "div",
        "divu", "rem", "remu",
    ];
    let mut shifts = vec!["slli", "srli", "srai"];
    let mut immediates = vec!["addi", "slti", "sltiu", "xori", "ori", "andi"];
    let mut loads = vec!["lb", "lh", "lw", "lbu", "lhu"];
    let mut stores = vec!["sb", "sh", "sw"];
    let mut widths = vec!["w"];
    if wide {
        arithmetic.extend(["addw", "subw", "sllw", "srlw", "sraw", "mulw", "divw", "divuw", "remw", "remuw"]);
        shifts.extend(["slliw", "srliw", "sraiw"]);
        immediates.push("addiw");
        loads.extend(["ld", "lwu"]);
        stores.push("sd");
        widths.push("d");
    }
    for name in arithmetic {
        forms.extend(THREE.iter().map(|operands| format!("{name} {operands}")));
    }
    for name in shifts {
        let most = if wide && !name.ends_with('w') { 63 } else { 31 };
        for (operands, by) in [("a0, a1", 0), ("t0, t0", 1), ("s2, a6", most), ("zero, a1", 3), ("a0, zero", 7)] {
            forms.push(format!("{name} {operands}, {by}"));
        }
    }
    for name in immediates {
        for (operands, number) in
            [("a0, a1", 2047), ("t1, t1", -2048), ("ra, s3", 0), ("zero, a2", 5), ("a0, zero", -1), ("sp, gp", 16)]
        {
            forms.push(format!("{name} {operands}, {number}"));
        }
    }
    for number in ["0", "1", "0x7ffff", "0x80000", "0xfffff"] {
        forms.extend([format!("lui a0, {number}"), format!("auipc t4, {number}"), format!("lui zero, {number}")]);
    }
    for name in loads {
        for place in ["a0, 0(a1)", "a0, 2047(a0)", "s5, -2048(t5)", "zero, 8(a1)", "a2, -16(sp)", "a4, 24(gp)"] {
            forms.push(format!("{name} {place}"));
        }
    }
    for name in stores {
        for place in
            ["a0, 0(a1)", "a1, 2047(a1)", "s5, -2048(t5)", "zero, 8(a1)", "a2, -16(sp)", "a4, 24(gp)", "gp, 8(a1)"]
        {
            forms.push(format!("{name} {place}"));
        }
    }
    for width in widths {
        for name in ["swap", "add", "xor", "and", "or", "min", "max", "minu", "maxu"] {
            for (operands, order) in [
                ("a0, a2, 0(a1)", ""),
                ("a1, a1, 0(a1)", ".aqrl"),
                ("zero, a2, 0(a1)", ".rl"),
                ("a0, zero, 0(a1)", ".aq"),
            ] {
                forms.push(format!("amo{name}.{width}{order} {operands}"));
            }
        }
        forms.extend([
            format!("lr.{width} a0, 0(a1)"),
            format!("lr.{width}.aq a1, 0(a1)"),
            format!("sc.{width} a0, a2, 0(a1)"),
        ]);
    }
    for form in [
        "nop",
        "fence",
        "fence rw, w",
        "fence.i",
        "csrr a0, fflags",
        "csrrw a1, frm, zero",
        "csrrsi a2, fflags, 3",
        "csrrc zero, fcsr, a3",
        "csrwi frm, 0",
    ] {
        forms.push(form.to_string());
    }
    forms
}

fn compressed(wide: bool) -> Vec<String> {
    let mut forms: Vec<String> = [
        "c.nop",
        "c.addi a0, -1",
        "c.addi t6, 31",
        "c.addi a0, -32",
        "c.addi sp, 16",
        "c.li a0, -32",
        "c.li t3, 31",
        "c.li ra, 0",
        "c.lui a0, 1",
        "c.lui t4, 31",
        "c.lui a5, 0xfffe0",
        "c.lui ra, 0xfffff",
        "c.addi16sp sp, 496",
        "c.addi16sp sp, -512",
        "c.addi16sp sp, 32",
        "c.addi4spn a0, sp, 4",
        "c.addi4spn s0, sp, 1020",
        "c.addi4spn a5, sp, 256",
        "c.srli a0, 1",
        "c.srli s1, 31",
        "c.srai a0, 1",
        "c.srai a5, 31",
        "c.andi a0, -32",
        "c.andi a3, 31",
        "c.sub a0, a1",
        "c.xor a2, a3",
        "c.or s0, a5",
        "c.and a0, a0",
        "c.sub a4, a4",
        "c.slli t6, 31",
        "c.slli a0, 1",
        "c.mv a0, t6",
        "c.mv ra, a1",
        "c.add a0, t6",
        "c.add s11, s11",
        "c.lw a0, 0(a1)",
        "c.lw s0, 124(s1)",
        "c.lw a5, 64(a5)",
        "c.lw a5, 4(a2)",
        "c.sw a0, 0(a1)",
        "c.sw s0, 124(s1)",
        "c.sw a5, 4(a2)",
        "c.lwsp a0, 252(sp)",
        "c.lwsp t6, 4(sp)",
        "c.lwsp ra, 64(sp)",
        "c.swsp a0, 252(sp)",
        "c.swsp zero, 4(sp)",
        "c.swsp ra, 64(sp)",
        "c.swsp sp, 8(sp)",
    ]
    .map(str::to_string)
    .to_vec();
    if wide {
        let more = [
            "c.addiw a0, -32",
            "c.addiw t6, 31",
            "c.addiw s0, 0",
            "c.addw a0, a1",
            "c.subw a2, a3",
            "c.addw a4, a4",
            "c.srli a0, 63",
            "c.srai a2, 32",
            "c.slli t5, 63",
            "c.ld a0, 0(a1)",
            "c.ld s0, 248(s1)",
            "c.ld a5, 64(a5)",
            "c.sd a0, 8(a1)",
            "c.sd s0, 248(s1)",
            "c.ldsp a0, 504(sp)",
            "c.ldsp t6, 8(sp)",
            "c.ldsp ra, 64(sp)",
            "c.sdsp a0, 504(sp)",
            "c.sdsp zero, 8(sp)",
            "c.sdsp ra, 64(sp)",
        ];
        forms.extend(more.map(str::to_string));
    }
    forms
}

/// Of these only what they leave alone is known, and where they access memory.
fn floating(wide: bool) -> Vec<String> {
    let mut forms: Vec<String> = [
        "flw fa0, 4(a1)",
        "fld ft11, -8(a1)",
        "fsw fa0, 4(a1)",
        "fsd ft11, -8(a1)",
        "fsd fa0, 24(gp)",
        "c.fld fa0, 248(a1)",
        "c.fldsp ft5, 504(sp)",
        "c.fsd fs0, 16(s1)",
        "c.fsdsp ft5, 24(sp)",
        "fadd.d fa0, fa1, fa2",
        "fmadd.s fa0, fa1, fa2, fa3",
        "fnmsub.d fa0, fa1, fa2, fa3",
        "fdiv.s fa0, fa1, fa2",
        "fsqrt.d fa0, fa1",
        "fsgnjx.d fa0, fa1, fa2",
        "fmin.s fa0, fa1, fa2",
        "fmax.d fa0, fa1, fa2",
        "fcvt.d.s fa0, fa1",
        "fcvt.s.d fa0, fa1",
        "fcvt.w.d a0, fa1",
        "fcvt.wu.s a1, fa1",
        "fcvt.d.w fa0, a1",
        "fcvt.s.wu fa0, a1",
        "feq.d a0, fa1, fa2",
        "flt.s a0, fa1, fa2",
        "fle.d zero, fa1, fa2",
        "fclass.d a0, fa1",
        "fmv.x.w a0, fa1",
        "fmv.w.x fa0, a1",
    ]
    .map(str::to_string)
    .to_vec();
    let more: &[&str] = if wide {
        &[
            "fmv.x.d a0, fa1",
            "fmv.d.x fa0, a1",
            "fcvt.l.d a0, fa1",
            "fcvt.lu.s a0, fa1",
            "fcvt.d.l fa0, a1",
            "fcvt.s.lu fa0, a1",
        ]
    } else {
        &["c.flw fa0, 124(a1)", "c.fsw fa0, 4(a1)", "c.flwsp ft5, 252(sp)", "c.fswsp ft5, 24(sp)"]
    };
    forms.extend(more.iter().map(|form| form.to_string()));
    forms
}
