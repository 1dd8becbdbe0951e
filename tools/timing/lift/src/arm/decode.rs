//! What the decoder says: where a branch goes, and which memory is accessed.

use yaxpeax_arm::armv7::{ConditionCode, Instruction, Opcode, Operand, Reg, RegShift, RegShiftStyle, ShiftStyle};

use crate::il::{Access, AddressForm, Register};

const PC: u8 = 15;

/// The target of a direct branch.
pub(crate) fn branch_target(decoded: &Instruction, address: u64) -> Option<u64> {
    match (decoded.opcode, decoded.operands[0]) {
        (Opcode::B | Opcode::BL | Opcode::BLX, Operand::BranchOffset(offset)) => {
            // In words, from two instructions ahead.
            let target = (address as u32).wrapping_add(8).wrapping_add((offset as u32) << 2);
            Some(u64::from(target))
        }
        _ => None,
    }
}

/// Whether control may go elsewhere than to the next instruction.
pub(crate) fn writes_pc(decoded: &Instruction) -> bool {
    use Opcode::*;
    let first = super::register(decoded.operands[0]) == Some(PC);
    let list = decoded.operands.iter().any(|operand| matches!(operand, Operand::RegList(list) if list & 1 << PC != 0));
    match decoded.opcode {
        B | BL | BLX | BX => true,
        AND | EOR | SUB | RSB | ADD | ADC | SBC | RSC | ORR | MOV | BIC | MVN | LSL | LSR | ASR | ROR | RRX | ADR | LDR => first,
        POP => first || list,
        LDM(..) => list,
        _ => false,
    }
}

/// The memory accesses, one for each word; None if the form is not known.
pub(crate) fn accesses(decoded: &Instruction) -> Option<Vec<Access>> {
    use Opcode::*;
    let (size, write) = match decoded.opcode {
        LDR | LDRT | LDREX => (4, false),
        LDRH | LDRSH | LDRHT | LDRSHT | LDREXH => (2, false),
        LDRB | LDRSB | LDRBT | LDRSBT | LDREXB => (1, false),
        LDRD | LDREXD => (8, false),
        STR | STRT | STREX => (4, true),
        STRH | STRHT | STREXH => (2, true),
        STRB | STRBT | STREXB => (1, true),
        STRD | STREXD => (8, true),
        SWP => return Some(vec![access(AddressForm::Any, 4, true, true, decoded)]),
        SWPB => return Some(vec![access(AddressForm::Any, 1, true, true, decoded)]),
        POP | PUSH | LDM(..) | STM(..) => return multiple(decoded),
        LDC(_) | LDCL(_) | LDC2(_) | LDC2L(_) | STC(_) | STCL(_) | STC2(_) | STC2L(_) | TBB | TBH => return None,
        SRS(..) | RFE(..) => return Some(vec![access(AddressForm::Any, 8, true, true, decoded)]),
        _ => return Some(Vec::new()),
    };
    let form = decoded.operands.iter().rev().find_map(|operand| form(*operand))?;
    Some(vec![access(form, size, !write, write, decoded)])
}

fn access(address: AddressForm, size: u32, read: bool, write: bool, decoded: &Instruction) -> Access {
    Access { address, size, read, write, conditional: decoded.condition != ConditionCode::AL }
}

/// Base, index and displacement. The program counter as base is left open: the lifted code has the constant.
fn form(operand: Operand) -> Option<AddressForm> {
    let base = |base: Reg, displacement: i64| known(base, None, displacement);
    let signed = |offset: u16, add: bool| if add { i64::from(offset) } else { -i64::from(offset) };
    Some(match operand {
        Operand::RegDeref(register) => base(register, 0),
        Operand::RegDerefPreindexOffset(register, offset, add, _) => base(register, signed(offset, add)),
        Operand::RegDerefPostindexOffset(register, ..)
        | Operand::RegDerefPostindexReg(register, ..)
        | Operand::RegDerefPostindexRegShift(register, ..) => base(register, 0),
        Operand::RegDerefPreindexReg(register, index, true, _) => known(register, Some((index, 0)), 0),
        Operand::RegDerefPreindexRegShift(register, shift, true, _) => match left_shift(shift) {
            Some((index, amount)) => known(register, Some((index, amount)), 0),
            None => AddressForm::Any,
        },
        Operand::RegDerefPreindexReg(..) | Operand::RegDerefPreindexRegShift(..) | Operand::RegShift(_) => AddressForm::Any,
        _ => return None,
    })
}

fn known(base: Reg, index: Option<(Reg, u8)>, displacement: i64) -> AddressForm {
    if base.number() == PC || index.is_some_and(|(index, _)| index.number() == PC) {
        return AddressForm::Any;
    }
    let index = index.map(|(index, shift)| (Register(index.number()), shift));
    AddressForm::Known { base: Some(Register(base.number())), index, displacement, segment: None }
}

fn left_shift(shift: RegShift) -> Option<(Reg, u8)> {
    match shift.into_shift() {
        RegShiftStyle::RegImm(shift) if shift.stype() == ShiftStyle::LSL => Some((shift.shiftee(), shift.imm())),
        _ => None,
    }
}

/// `ldm`, `stm`, `push`, `pop`: consecutive words, the lowest register at the lowest address.
fn multiple(decoded: &Instruction) -> Option<Vec<Access>> {
    let (base, add, before, write) = match decoded.opcode {
        Opcode::PUSH => (13, false, true, true),
        Opcode::POP => (13, true, false, false),
        Opcode::LDM(add, before, ..) => (super::register(decoded.operands[0])?, add, before, false),
        Opcode::STM(add, before, ..) => (super::register(decoded.operands[0])?, add, before, true),
        _ => return None,
    };
    let list = decoded.operands.iter().find_map(|operand| match operand {
        Operand::RegList(list) => Some(*list),
        _ => None,
    });
    let count = match (list, decoded.opcode) {
        (Some(list), _) => i64::from(list.count_ones()),
        (None, Opcode::PUSH | Opcode::POP) => 1,
        _ => return None,
    };
    let first = match (add, before) {
        (true, false) => 0,
        (true, true) => 4,
        (false, true) => -4 * count,
        (false, false) => -4 * (count - 1),
    };
    let word = |index| AddressForm::Known {
        base: Some(Register(base)),
        index: None,
        displacement: first + 4 * index,
        segment: None,
    };
    Some((0..count).map(|index| access(word(index), 4, !write, write, decoded)).collect())
}
