//! Where SLEIGH's semantics are wrong, as the test against a processor found.

use iced_x86::{InstructionInfo, Mnemonic, OpAccess};

use crate::lift::emit::Emitter;
use crate::lift::il::{Expression, Op, Operand, Unary};
use crate::lift::register::Registers;

use super::decode;

/// Adds what the semantics leave out.
pub(crate) fn mend(
    decoded: &iced_x86::Instruction,
    info: &InstructionInfo,
    registers: Registers,
    emitter: &mut Emitter<'_>,
) {
    clear_upper_halves(decoded, info, registers, emitter);
    // The overflow flag of `shr` by one is the old sign, not 0.
    if decoded.mnemonic() == Mnemonic::Shr {
        if let Some(overflow) = registers.named("OF") {
            emitter.set_register(overflow, 1, Expression::Unknown);
        }
    }
}

/// Writing 32 bits of a register clears the others; SLEIGH forgets it for `xadd` and `lods`.
fn clear_upper_halves(
    decoded: &iced_x86::Instruction,
    info: &InstructionInfo,
    registers: Registers,
    emitter: &mut Emitter<'_>,
) {
    for operand in 0..decoded.op_count() {
        let written = matches!(info.op_access(operand), OpAccess::Write | OpAccess::ReadWrite);
        if !written || !decoded.op_register(operand).is_gpr32() {
            continue;
        }
        let Some(register) = decode::tracked(registers, decoded.op_register(operand)) else { continue };
        let last = emitter.ops.iter().rev().find_map(|op| match op {
            Op::Set { to, from } if to.operand == Operand::Register(register) => Some(*from),
            _ => None,
        });
        if matches!(last, Some(Expression::Unary(Unary::ZeroExtend, from)) if from.size <= 4) {
            continue;
        }
        let low = emitter.set(Expression::Extract { from: registers.value(register), at: 0 }, 4);
        emitter.set_register(register, 8, Expression::Unary(Unary::ZeroExtend, low));
    }
}
