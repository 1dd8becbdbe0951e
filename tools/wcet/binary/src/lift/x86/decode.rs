//! What the decoder says an instruction reads and writes.

use std::collections::BTreeSet;

use iced_x86::{InstructionInfo, OpAccess, RflagsBits};

use crate::lift::il::{Access, AddressForm, Register};
use crate::lift::register::Registers;

/// The tracked register that holds `register`.
pub(crate) fn tracked(registers: Registers, register: iced_x86::Register) -> Option<Register> {
    use iced_x86::Register as R;
    match register {
        R::FS => registers.named("FS_OFFSET"),
        R::GS => registers.named("GS_OFFSET"),
        _ if register.is_vector_register() => registers.named(&format!("XMM{}", register.number())),
        _ if register.is_gpr() => registers.named(&format!("{:?}", register.full_register())),
        _ => None,
    }
}

/// Registers, flags apart, that the instruction writes, or may write.
pub(crate) fn written(registers: Registers, info: &InstructionInfo) -> BTreeSet<Register> {
    let writes = |access| {
        use OpAccess::*;
        matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite)
    };
    let used = info
        .used_registers()
        .iter()
        .filter(|used| writes(used.access()) && (used.register().is_gpr() || used.register().is_vector_register()));
    used.filter_map(|used| tracked(registers, used.register())).collect()
}

const FLAGS: &[(u32, &str)] = &[
    (RflagsBits::CF, "CF"),
    (RflagsBits::PF, "PF"),
    (RflagsBits::AF, "AF"),
    (RflagsBits::ZF, "ZF"),
    (RflagsBits::SF, "SF"),
    (RflagsBits::OF, "OF"),
    (RflagsBits::DF, "DF"),
];

fn named_flags(registers: Registers, bits: u32) -> BTreeSet<Register> {
    FLAGS.iter().filter(|(bit, _)| bits & bit != 0).filter_map(|(_, name)| registers.named(name)).collect()
}

/// Flags that change.
pub(crate) fn flags(registers: Registers, decoded: &iced_x86::Instruction) -> BTreeSet<Register> {
    named_flags(registers, decoded.rflags_modified())
}

/// Flags that are undefined afterwards.
pub(crate) fn undefined(registers: Registers, decoded: &iced_x86::Instruction) -> BTreeSet<Register> {
    named_flags(registers, decoded.rflags_undefined())
}

/// Whether it computes on vector registers, writes no memory and goes on to the next instruction.
pub(crate) fn is_vector_computation(decoded: &iced_x86::Instruction, info: &InstructionInfo) -> bool {
    let vector = (0..decoded.op_count()).any(|operand| decoded.op_register(operand).is_vector_register());
    let stores = info.used_memory().iter().any(|used| !matches!(used.access(), OpAccess::Read | OpAccess::CondRead));
    vector && !stores && decoded.flow_control() == iced_x86::FlowControl::Next && !decoded.is_privileged()
}

/// Bytes of the state of x87, SSE and AVX as `xsave` lays it out: what an access has of whose size the decoder says nothing.
const VECTOR_STATE: u32 = 832;

/// Where its header begins, whose first word says which components the rest holds.
const VECTOR_HEADER: i64 = 512;

/// The memory accesses. Those of a string instruction that repeats are those of one repetition.
pub(crate) fn accesses(registers: Registers, decoded: &iced_x86::Instruction, info: &InstructionInfo) -> Vec<Access> {
    use OpAccess::*;
    // Of what repeats the decoder gives no size, since that depends on how often; nor of vector state.
    let size = |used: &iced_x86::UsedMemory| match (used.memory_size().size(), decoded.memory_size().size()) {
        (0, 0) => VECTOR_STATE,
        (0, size) | (size, _) => size as u32,
    };
    if decoded.mnemonic() == iced_x86::Mnemonic::Iretq {
        // Where it goes on, its code segment, flags, stack pointer and stack segment: the decoder leaves the last one out.
        let base = Some(registers.stack_pointer());
        let word = |number| {
            let address =
                AddressForm::Known { base, index: Option::None, displacement: 8 * number, segment: Option::None };
            Access { address, size: 8, read: true, write: false, conditional: false }
        };
        // And descriptors of both segments, wherever their table is.
        let descriptor = Access { address: AddressForm::Any, size: 8, read: true, write: false, conditional: false };
        return (0i64..5).map(word).chain([descriptor, descriptor]).collect();
    }
    let used = info.used_memory().iter().filter(|used| !matches!(used.access(), None | NoMemAccess));
    let accesses = used.map(|used| {
        let access = used.access();
        Access {
            address: form(registers, used).unwrap_or(AddressForm::Any),
            size: size(used),
            read: matches!(access, Read | CondRead | ReadWrite | ReadCondWrite),
            write: matches!(access, Write | CondWrite | ReadWrite | ReadCondWrite),
            conditional: matches!(access, CondRead | CondWrite | ReadCondWrite),
        }
    });
    if matches!(decoded.mnemonic(), iced_x86::Mnemonic::Xsave | iced_x86::Mnemonic::Xsave64) {
        return accesses.flat_map(saved_state).collect();
    }
    accesses.collect()
}

/// Of the state's memory, of which the decoder says that it is read and written, a saving instruction reads the header's first
/// word alone (Intel's manual, volume 1, 13.7).
fn saved_state(state: Access) -> Vec<Access> {
    let address = match state.address {
        AddressForm::Known { base, index, displacement, segment } => {
            AddressForm::Known { base, index, displacement: displacement.wrapping_add(VECTOR_HEADER), segment }
        }
        AddressForm::Any => AddressForm::Any,
    };
    vec![Access { address, size: 8, write: false, ..state }, Access { read: false, ..state }]
}

fn form(registers: Registers, used: &iced_x86::UsedMemory) -> Option<AddressForm> {
    use iced_x86::Register as R;
    let whole = |register: R| match register {
        R::None | R::RIP => Some(None),
        _ if register.is_gpr64() => tracked(registers, register).map(Some),
        _ => None,
    };
    let index = whole(used.index())?.map(|register| (register, used.scale().trailing_zeros() as u8));
    let segment = match used.segment() {
        R::FS | R::GS => Some(tracked(registers, used.segment())?),
        _ => None,
    };
    Some(AddressForm::Known { base: whole(used.base())?, index, displacement: used.displacement() as i64, segment })
}
