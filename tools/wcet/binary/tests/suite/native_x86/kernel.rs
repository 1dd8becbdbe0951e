//! Forms of instructions in an executable, one instruction each: mnemonic, prefixes, and kinds and sizes of operands.
//! Registers and addresses are replaced so that any of them can be executed by itself. Jumps, calls and returns, and what
//! does more than compute, are listed by mnemonic behind `control` and `system`.

use std::collections::BTreeMap;

use iced_x86::{Code, Decoder, DecoderOptions, FlowControl, Formatter, Instruction, IntelFormatter, OpKind, Register};
use wcet_binary::lift::il::Kind;
use wcet_binary::lift::Lifter;
use wcet_binary::load::Program;

pub type Form = (String, String, Vec<String>);

/// Forms with an instruction for each; forms of control and of the system have their mnemonic alone.
pub fn forms(program: &Program, lifter: &Lifter<'_>) -> BTreeMap<Form, String> {
    let mut forms = BTreeMap::new();
    for segment in program.segments().iter().filter(|segment| segment.permissions.execute) {
        let code = program.code(segment.address, segment.size as usize).unwrap_or_default();
        for instruction in Decoder::with_ip(64, code, segment.address, DecoderOptions::NONE).iter() {
            // What stands between functions, and data among code, cannot be lifted, nor is it ever executed.
            let Ok(lifted) = lifter.lift(instruction.ip()) else { continue };
            let named = |kind: &str| (kind.to_string(), lifted.mnemonic.clone(), Vec::new());
            if lifted.kind != Kind::Ordinary {
                forms.insert(named("system"), format!("system {}", lifted.mnemonic));
            } else if instruction.flow_control() != FlowControl::Next {
                forms.insert(named("control"), format!("control {}", lifted.mnemonic));
            } else {
                forms.entry(form(&instruction)).or_insert_with(|| text(&instruction));
            }
        }
    }
    forms
}

/// What tells forms apart: encodings with the same operands are one.
fn form(instruction: &Instruction) -> Form {
    let operands = (0..instruction.op_count()).map(|index| match instruction.op_kind(index) {
        OpKind::Register => {
            let register = instruction.op_register(index);
            let high = [Register::AH, Register::BH, Register::CH, Register::DH].contains(&register);
            format!("r{}{}", register.size(), if high { "h" } else { "" })
        }
        OpKind::Memory => format!("m{:?}", instruction.memory_size()),
        kind => format!("{kind:?}").chars().filter(|letter| !letter.is_ascii_digit()).collect(),
    });
    let same = (0..instruction.op_count()).all(|index| {
        instruction.op_kind(index) == OpKind::Register && instruction.op_register(index) == instruction.op0_register()
    });
    let mut operands: Vec<String> = operands.collect();
    if same && operands.len() > 1 {
        operands.push("the same".to_string());
    }
    let prefixes = [
        (instruction.has_lock_prefix(), "lock"),
        (instruction.has_rep_prefix(), "rep"),
        (instruction.has_repne_prefix(), "repne"),
        (instruction.memory_index() != Register::None, "index"),
    ];
    let prefixes: Vec<&str> = prefixes.into_iter().filter(|(has, _)| *has).map(|(_, name)| name).collect();
    (format!("{:?}", instruction.mnemonic()), prefixes.join(" "), operands)
}

/// An instruction of that form on registers rax, rbx, rcx, and memory at rsi.
fn text(instruction: &Instruction) -> String {
    let mut copy = *instruction;
    let fixed = [Register::CL, Register::DX];
    let by_size = |size: usize, number: usize| match size {
        1 => [Register::AL, Register::BL, Register::DL][number],
        2 => [Register::AX, Register::BX, Register::DX][number],
        4 => [Register::EAX, Register::EBX, Register::EDX][number],
        _ => [Register::RAX, Register::RBX, Register::RDX][number],
    };
    let shifts = matches!(copy.op_kind(copy.op_count().saturating_sub(1)), OpKind::Register)
        && fixed.contains(&copy.op_register(copy.op_count().saturating_sub(1)));
    let mut names: BTreeMap<Register, usize> = BTreeMap::new();
    for index in 0..copy.op_count() {
        if copy.op_kind(index) != OpKind::Register {
            continue;
        }
        let register = copy.op_register(index);
        let last = index + 1 == copy.op_count();
        let high = [Register::AH, Register::BH, Register::CH, Register::DH].contains(&register);
        if last && shifts || high || !register.is_gpr() {
            continue;
        }
        let next = names.len();
        let number = *names.entry(register.full_register()).or_insert(next);
        copy.set_op_register(index, by_size(register.size(), number.min(2)));
    }
    let string = copy.is_string_instruction();
    let memory = (0..copy.op_count()).any(|index| copy.op_kind(index) == OpKind::Memory);
    if memory && !string {
        copy.set_segment_prefix(Register::None);
        let index = copy.memory_index() != Register::None;
        if copy.code() == Code::Lea_r64_m || copy.code() == Code::Lea_r32_m || copy.code() == Code::Lea_r16_m {
            copy.set_memory_base(if copy.memory_base() == Register::None { Register::None } else { Register::RCX });
            copy.set_memory_index(if index { Register::RBP } else { Register::None });
            copy.set_memory_displacement64(if copy.memory_displacement64() == 0 { 0 } else { 24 });
        } else {
            copy.set_memory_base(Register::RSI);
            copy.set_memory_index(Register::None);
            copy.set_memory_index_scale(1);
            copy.set_memory_displacement64(8);
        }
        copy.set_memory_displ_size(8);
    }
    let mut text = String::new();
    let mut formatter = IntelFormatter::new();
    formatter.options_mut().set_space_after_operand_separator(true);
    formatter.options_mut().set_hex_prefix("0x");
    formatter.options_mut().set_hex_suffix("");
    formatter.options_mut().set_rip_relative_addresses(false);
    formatter.format(&copy, &mut text);
    text
}
