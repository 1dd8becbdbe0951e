//! `bsf` and `bsr`: SLEIGH searches the bit in a loop; here it is computed.

use iced_x86::Mnemonic;
use libsla::{OpCode, PcodeInstruction};

use crate::lift::convert::Converter;
use crate::lift::il::{Binary, Expression, Register, Unary, Value};

fn scans(mnemonic: Mnemonic) -> bool {
    matches!(mnemonic, Mnemonic::Bsf | Mnemonic::Bsr)
}

/// The part before the loop: it computes the source and compares it with 0.
pub(crate) fn until_loop(mnemonic: Mnemonic, raw: &[PcodeInstruction]) -> &[PcodeInstruction] {
    let jump = raw.iter().position(|operation| operation.op_code == OpCode::BranchConditional);
    match jump {
        Some(jump) if scans(mnemonic) => &raw[..jump],
        _ => raw,
    }
}

/// Writes the target: the bit's number, or any value if the source is 0.
pub(crate) fn finish(
    decoded: &iced_x86::Instruction,
    target: Option<Register>,
    raw: &[PcodeInstruction],
    converter: &mut Converter<'_>,
) -> Result<(), String> {
    let mnemonic = decoded.mnemonic();
    if !scans(mnemonic) {
        return Ok(());
    }
    let target = target.ok_or("its target is not a register")?;
    // The comparison with 0 that gives ZF is the first one.
    let compare = raw.iter().find(|operation| matches!(operation.op_code, OpCode::Int(libsla::IntOp::Equal)));
    let source = compare.and_then(|compare| compare.inputs.first()).ok_or("its source is not where it was")?;
    let emitter = &mut converter.emitter;
    let source = emitter.read(source)?;
    let size = source.size;
    if size < 4 {
        return Err("of 16 bits is not supported".to_string());
    }
    let one = Value::constant(1, size);
    let number = if mnemonic == Mnemonic::Bsr {
        let zeros = emitter.unary(Unary::LeadingZeros, source, size);
        emitter.binary(Binary::Subtract, Value::constant(u64::from(size) * 8 - 1, size), zeros, size)
    } else {
        let less = emitter.binary(Binary::Subtract, source, one, size);
        let not = emitter.unary(Unary::Not, source, size);
        let below = emitter.binary(Binary::And, not, less, size);
        emitter.unary(Unary::CountOnes, below, size)
    };
    let whole = if size < 8 { emitter.unary(Unary::ZeroExtend, number, 8) } else { number };
    let unknown = emitter.unknown(8);
    let zero = emitter.binary(Binary::Equal, source, Value::constant(0, size), 1);
    emitter.set_register(target, 8, Expression::Select { when: zero, then: unknown, otherwise: whole });
    Ok(())
}
