//! x86-64: `iced-x86` decodes, SLEIGH gives the semantics, and the two must agree.

mod decode;
mod held;
mod lanes;
mod mend;
mod scan;
mod system;
mod vector;

use iced_x86::{Code, FlowControl, InstructionInfoFactory, Mnemonic};

use crate::lift::convert::{Converter, Exit, ExitKind};
use crate::lift::error::Problem;
use crate::lift::il::{Encoding, Expression, Flow, Instruction, Kind, Op, Target};
use crate::lift::register::Registers;
use crate::lift::sleigh::Semantics;

pub(crate) use held::HELD;
pub use vector::Vectors;
pub(crate) use vector::{storing_zero, uses_vectors, vectors};

pub(crate) fn lift(
    semantics: &Semantics<'_>,
    registers: Registers,
    address: u64,
    bytes: &[u8],
) -> Result<Instruction, Problem> {
    let mut decoder = iced_x86::Decoder::with_ip(64, bytes, address, iced_x86::DecoderOptions::NONE);
    let decoded = decoder.decode();
    if decoded.is_invalid() {
        return Err(Problem::Undecodable);
    }
    let mut factory = InstructionInfoFactory::new();
    let info = factory.info(&decoded);
    let mut instruction = Instruction {
        address,
        bytes: bytes[..decoded.len()].to_vec(),
        encoding: Encoding::Main,
        mnemonic: format!("{:?}", decoded.mnemonic()).to_lowercase(),
        kind: Kind::Ordinary,
        ops: Vec::new(),
        flow: Flow::Next,
        arrival: None,
        accesses: decode::accesses(registers, &decoded, info),
    };
    let mut converter = Converter::new(semantics, address, instruction.next());
    if let Some(system) = system::treatment(decoded.mnemonic()).or_else(|| system::system_move(&decoded)) {
        instruction.kind = system.kind;
        instruction.flow = system.flow;
        let listed = system.registers.iter().filter_map(|name| registers.named(name));
        let named =
            decode::written(registers, info).into_iter().chain(decode::flags(registers, &decoded)).chain(listed);
        for register in named.chain(registers.vectors().filter(|_| system.vectors)) {
            let size = registers.value(register).size;
            converter.emitter.set_register(register, size, Expression::Unknown);
        }
        instruction.ops = converter.emitter.ops;
        if system.memory {
            instruction.ops.push(Op::ClobberMemory);
        }
        // What repeats writes to a device: as many times as a register says, so its time must be given apart.
        if decoded.has_rep_prefix() && decoded.mnemonic() != Mnemonic::Pause && decoded.is_string_instruction() {
            return Err(Problem::Unsupported(format!("rep {}", instruction.mnemonic)));
        }
        return Ok(instruction);
    }
    let (raw, length) = semantics.raw(address).map_err(|_| Problem::Disagreement {
        decoder: instruction.mnemonic.clone(),
        semantics: "know no such instruction".to_string(),
    })?;
    if length != decoded.len() {
        return Err(disagreement(&instruction, format!("are those of {length} bytes")));
    }
    let fault = |reason| Problem::Semantics { mnemonic: format!("{:?}", decoded.mnemonic()).to_lowercase(), reason };
    let raw = scan::until_loop(decoded.mnemonic(), &raw);
    let by_lanes = lanes::lift(&decoded, &instruction.accesses, registers, &mut converter.emitter);
    let converted = match by_lanes {
        true => Ok(()),
        false if held::is_open(&decoded, registers) => Err("were not held against a processor".to_string()),
        false => converter.convert(raw),
    };
    if let Err(reason) = converted {
        if !decode::is_vector_computation(&decoded, info) {
            return Err(fault(reason));
        }
        // Of what is tracked it changes what the decoder names: that is unknown then.
        converter = Converter::new(semantics, address, instruction.next());
        for register in decode::written(registers, info) {
            converter.emitter.set_register(register, registers.value(register).size, Expression::Unknown);
        }
    }
    let target = decode::tracked(registers, decoded.op0_register());
    scan::finish(&decoded, target, raw, &mut converter).map_err(fault)?;

    mend::mend(&decoded, info, registers, &mut converter.emitter);
    let writes = decode::written(registers, info);
    let modified = decode::flags(registers, &decoded);
    for register in registers.all() {
        let size = registers.value(register).size;
        let named = writes.contains(&register) || modified.contains(&register);
        let written = converter.emitter.written.contains(&register);
        if written && !named && !registers.is_flag(register) {
            return Err(disagreement(&instruction, format!("write {}", registers.name(register))));
        }
        if named && (!written || decode::undefined(registers, &decoded).contains(&register)) {
            converter.emitter.set_register(register, size, Expression::Unknown);
        }
    }
    instruction.flow = flow(&instruction, &decoded, &converter.exits)?;
    instruction.ops = converter.emitter.ops;
    Ok(instruction)
}

fn disagreement(instruction: &Instruction, semantics: String) -> Problem {
    Problem::Disagreement { decoder: instruction.mnemonic.clone(), semantics }
}

/// Where control goes: the semantics' way out, which must be the one the decoder names.
fn flow(instruction: &Instruction, decoded: &iced_x86::Instruction, exits: &[Exit]) -> Result<Flow, Problem> {
    let wrong = || disagreement(instruction, format!("go to {exits:?}"));
    let repeats = decoded.is_string_instruction() && (decoded.has_rep_prefix() || decoded.has_repne_prefix());
    let near = Target::Direct(decoded.near_branch_target());
    // A jump to the next instruction is none.
    let nowhere = decoded.near_branch_target() == instruction.next();
    match (decoded.flow_control(), exits) {
        (FlowControl::Next, []) if !repeats => Ok(Flow::Next),
        (FlowControl::Next, [Exit { to, when: Some(when), kind: ExitKind::Jump }])
            if repeats && *to == Target::Direct(instruction.address) =>
        {
            Ok(Flow::Repeat { when: *when })
        }
        (FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch, []) if nowhere => Ok(Flow::Next),
        (FlowControl::UnconditionalBranch, [Exit { to, when: None, kind: ExitKind::Jump }]) if *to == near => {
            Ok(Flow::Jump { to: *to, when: None })
        }
        (FlowControl::ConditionalBranch, [Exit { to, when: Some(when), kind: ExitKind::Jump }]) if *to == near => {
            Ok(Flow::Jump { to: *to, when: Some(*when) })
        }
        (FlowControl::Call, [Exit { to, when: None, kind: ExitKind::Call }]) if *to == near => {
            Ok(Flow::Call { to: *to, when: None })
        }
        (FlowControl::Call, []) if nowhere => Err(Problem::Unsupported("call of the next instruction".to_string())),
        (FlowControl::IndirectBranch, [Exit { to, when: None, kind: ExitKind::Jump }])
            if is_near(decoded) && matches!(to, Target::Indirect(_)) =>
        {
            Ok(Flow::Jump { to: *to, when: None })
        }
        (FlowControl::IndirectCall, [Exit { to, when: None, kind: ExitKind::Call }])
            if is_near(decoded) && matches!(to, Target::Indirect(_)) =>
        {
            Ok(Flow::Call { to: *to, when: None })
        }
        (FlowControl::Return, [Exit { to: Target::Indirect(to), when: None, kind: ExitKind::Return }])
            if matches!(decoded.code(), Code::Retnq | Code::Retnq_imm16) =>
        {
            Ok(Flow::Return { to: *to, when: None })
        }
        (FlowControl::Next | FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch, _) => Err(wrong()),
        (FlowControl::Call | FlowControl::IndirectBranch | FlowControl::IndirectCall, _) if is_near(decoded) => {
            Err(wrong())
        }
        _ => Err(Problem::Unsupported(instruction.mnemonic.clone())),
    }
}

fn is_near(decoded: &iced_x86::Instruction) -> bool {
    matches!(decoded.code(), Code::Jmp_rm64 | Code::Call_rm64 | Code::Call_rel32_64)
}

/// The instruction for people.
pub(crate) fn text(instruction: &Instruction) -> String {
    use iced_x86::Formatter;
    let mut decoder =
        iced_x86::Decoder::with_ip(64, &instruction.bytes, instruction.address, iced_x86::DecoderOptions::NONE);
    let mut text = String::new();
    iced_x86::IntelFormatter::new().format(&decoder.decode(), &mut text);
    text
}
