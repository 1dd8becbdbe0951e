//! RISC-V, RV64GC and RV32GC: the encoding says where control goes, which register changes and which memory is accessed,
//! SLEIGH gives the semantics, and the two must agree on the first two.
//!
//! What SLEIGH has otherwise than the manual is written here: divisions by 0 give a number and do not trap, a store may fail
//! (`sc`), and `c.jalr ra` reads its target before it writes the link. Jumps that leave their return address in another
//! register than `ra` are jumps: compilers call with one only the common parts of functions (`-msave-restore`).

mod compressed;
mod decode;
mod system;

pub use decode::word;

use crate::lift::convert::{Converter, ExitKind};
use crate::lift::emit::Emitter;
use crate::lift::error::Problem;
use crate::lift::il::{
    Access, AddressForm, Binary, Encoding, Expression, Flow, Instruction, Kind, Op, Operand, Target, Unary, Value,
};
use crate::lift::register::Registers;
use crate::lift::sleigh::Semantics;
use decode::{register, rs1, rs2, Decoded, Form, Goes};

const LINK: u32 = 1;
const STACK: u32 = 2;
const GLOBAL: u32 = 3;
/// The second register for return addresses.
const OTHER_LINK: u32 = 5;

/// What a program's instructions are lifted with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Setting {
    pub registers: Registers,
    /// Of RV64.
    pub wide: bool,
    /// What the global pointer holds, where the program says so.
    pub global: Option<u64>,
}

impl Setting {
    fn size(self) -> u8 {
        if self.wide {
            8
        } else {
            4
        }
    }

    /// What a register holds.
    fn read(self, number: u32) -> Value {
        match register(number) {
            Some(register) => self.registers.value(register),
            None => Value::constant(0, self.size()),
        }
    }

    fn write(self, emitter: &mut Emitter<'_>, number: u32, from: Expression) {
        if let Some(register) = register(number) {
            emitter.set_register(register, self.size(), from);
        }
    }
}

pub(crate) fn lift(
    semantics: &Semantics<'_>,
    setting: Setting,
    address: u64,
    bytes: &[u8],
) -> Result<Instruction, Problem> {
    if address % 2 != 0 {
        return Err(Problem::OddAddress);
    }
    let low = bytes.get(..2).and_then(|low| low.try_into().ok()).map(u16::from_le_bytes).ok_or(Problem::NoCode)?;
    let bytes = bytes.get(..decode::length(low)?).ok_or(Problem::NoCode)?;
    let mut instruction = Instruction {
        address,
        bytes: bytes.to_vec(),
        encoding: Encoding::Main,
        mnemonic: "unimp".to_string(),
        kind: Kind::System,
        ops: Vec::new(),
        flow: Flow::Trap,
        arrival: None,
        accesses: Vec::new(),
    };
    // All zeros are no instruction, by definition: it raises an exception.
    if bytes == [0, 0] {
        return Ok(instruction);
    }
    let word = decode::word(bytes, setting.wide).ok_or(Problem::Undecodable)?;
    let decoded = decode::decode(word, address, setting.wide)?;
    let (mnemonic, _) = semantics.text(address).map_err(|_| Problem::Undecodable)?;
    let (raw, length) = semantics.raw(address).map_err(|_| Problem::Undecodable)?;
    instruction.mnemonic = mnemonic;
    if length != bytes.len() {
        return Err(disagreement(&instruction, format!("are those of {length} bytes")));
    }
    instruction.accesses = decoded.accesses.clone();
    let mut converter = Converter::new(semantics, address, instruction.next());
    let fault = |reason| Problem::Semantics { mnemonic: instruction.mnemonic.clone(), reason };
    let flow = match (&decoded.form, decoded.goes) {
        (Form::Illegal, _) => return Ok(instruction),
        (Form::System(system), _) => {
            instruction.kind = system.kind;
            changed(system, setting, &mut converter.emitter);
            system.flow
        }
        (Form::Float, _) => {
            float(&decoded, setting, &mut converter.emitter);
            Flow::Next
        }
        (Form::Divides { size, signed, remainder }, _) => {
            divide(word, (*size, *signed, *remainder), setting, &mut converter.emitter);
            Flow::Next
        }
        (Form::StoresConditionally(size), _) => {
            store_conditionally(word, *size, setting, &mut converter.emitter);
            Flow::Next
        }
        (Form::Computes, Goes::By(base, number)) => {
            let mut theirs = Converter::new(semantics, address, instruction.next());
            theirs.convert(&raw).map_err(fault)?;
            agree(&instruction, &decoded, &theirs)?;
            by_register(&instruction, &decoded, (base, number), setting, &mut converter.emitter)
        }
        (Form::Computes, _) => {
            converter.convert(&raw).map_err(fault)?;
            agree(&instruction, &decoded, &converter)?;
            direct(&instruction, &decoded, &converter)
        }
    };
    if !matches!(decoded.form, Form::System(_)) {
        instruction.kind = Kind::Ordinary;
        let writes: Vec<_> = decoded.writes.and_then(register).into_iter().collect();
        if !converter.emitter.written.iter().eq(&writes) {
            return Err(disagreement(&instruction, format!("write {:?}", converter.emitter.written)));
        }
    }
    instruction.ops = converter.emitter.ops;
    if matches!(&decoded.form, Form::System(system) if system.memory) {
        instruction.ops.push(Op::ClobberMemory);
    }
    instruction.flow = flow;
    if let Some(global) = setting.global.filter(|_| addresses_with_global(word, &decoded)) {
        with_global(&mut instruction, setting, global);
    }
    Ok(instruction)
}

fn disagreement(instruction: &Instruction, semantics: String) -> Problem {
    Problem::Disagreement { decoder: instruction.mnemonic.clone(), semantics }
}

/// Whether the semantics go where the encoding says.
fn agree(instruction: &Instruction, decoded: &Decoded, theirs: &Converter<'_>) -> Result<(), Problem> {
    let links = matches!(decoded.writes, Some(LINK | OTHER_LINK));
    let agreed = match (decoded.goes, theirs.exits.as_slice()) {
        (Goes::On, []) => true,
        // A branch to the next instruction is none.
        (Goes::To(to), []) => to == instruction.next(),
        (Goes::To(to), [exit]) => exit.to == Target::Direct(to) && links == (exit.kind == ExitKind::Call),
        (Goes::By(..), [exit]) => {
            matches!(exit.to, Target::Indirect(_)) && exit.when.is_none() && links == (exit.kind == ExitKind::Call)
        }
        _ => false,
    };
    if agreed {
        Ok(())
    } else {
        Err(disagreement(instruction, format!("have other ways out: {:?}", theirs.exits)))
    }
}

fn direct(instruction: &Instruction, decoded: &Decoded, theirs: &Converter<'_>) -> Flow {
    match theirs.exits.first() {
        None => Flow::Next,
        Some(exit) if decoded.writes == Some(LINK) => Flow::Call { to: exit.to, when: exit.when },
        Some(exit) if exit.to == Target::Direct(instruction.next()) => Flow::Next,
        Some(exit) => Flow::Jump { to: exit.to, when: exit.when },
    }
}

/// `jalr` and its short forms: the target before its lowest bit is cut off, since where that is set the jump is refused.
fn by_register(
    instruction: &Instruction,
    decoded: &Decoded,
    (base, number): (u32, i32),
    setting: Setting,
    emitter: &mut Emitter<'_>,
) -> Flow {
    let size = setting.size();
    let from = setting.read(base);
    let mask = if setting.wide { u64::MAX } else { u64::from(u32::MAX) };
    let to = match number {
        0 => emitter.set(Expression::Copy(from), size),
        _ => emitter.binary(Binary::Add, from, Value::constant(number as i64 as u64 & mask, size), size),
    };
    if let Some(link) = decoded.writes {
        setting.write(emitter, link, Expression::Copy(Value::constant(instruction.next(), size)));
    }
    match decoded.writes {
        Some(LINK) => Flow::Call { to: Target::Indirect(to), when: None },
        None if base == LINK && number == 0 => Flow::Return { to, when: None },
        _ => Flow::Jump { to: Target::Indirect(to), when: None },
    }
}

fn changed(system: &system::System, setting: Setting, emitter: &mut Emitter<'_>) {
    match system.registers {
        system::Registers::None => {}
        system::Registers::One(number) => setting.write(emitter, number, Expression::Unknown),
        system::Registers::AllButStackPointer => {
            (1..32)
                .filter(|number| *number != STACK)
                .for_each(|number| setting.write(emitter, number, Expression::Unknown));
        }
    }
}

/// Reads and stores any value: registers for floating point are not tracked.
fn float(decoded: &Decoded, setting: Setting, emitter: &mut Emitter<'_>) {
    if let Some(to) = decoded.writes {
        setting.write(emitter, to, Expression::Unknown);
    }
    for access in decoded.accesses.iter().filter(|access| access.write) {
        let AddressForm::Known { base, displacement, .. } = access.address else { continue };
        let size = setting.size();
        let number = Value::constant(if setting.wide { displacement as u64 } else { displacement as u32 as u64 }, size);
        let address = match base {
            Some(base) => emitter.binary(Binary::Add, setting.registers.value(base), number, size),
            None => number,
        };
        let from = emitter.unknown(access.size as u8);
        emitter.ops.push(Op::Store { address, from, when: None });
    }
}

/// By 0: the quotient has all bits set, and the remainder is what was divided.
fn divide(word: u32, (size, signed, remainder): (u8, bool, bool), setting: Setting, emitter: &mut Emitter<'_>) {
    let mut operand = |number: u32| {
        let whole = setting.read(number);
        if whole.size == size {
            whole
        } else {
            emitter.set(Expression::Extract { from: whole, at: 0 }, size)
        }
    };
    let (a, b) = (operand(rs1(word)), operand(rs2(word)));
    let operation = match (signed, remainder) {
        (true, false) => Binary::DivideSigned,
        (false, false) => Binary::Divide,
        (true, true) => Binary::RemainderSigned,
        (false, true) => Binary::Remainder,
    };
    let result = emitter.binary(operation, a, b, size);
    let by_zero = emitter.binary(Binary::Equal, b, Value::constant(0, size), 1);
    let all = if size == 8 { u64::MAX } else { u64::from(u32::MAX) };
    let then = if remainder { a } else { Value::constant(all, size) };
    let result = emitter.set(Expression::Select { when: by_zero, then, otherwise: result }, size);
    let extended =
        if size == setting.size() { Expression::Copy(result) } else { Expression::Unary(Unary::SignExtend, result) };
    setting.write(emitter, decode::rd(word), extended);
}

/// `sc`: the store happens or not, and the status is any value.
fn store_conditionally(word: u32, size: u8, setting: Setting, emitter: &mut Emitter<'_>) {
    let whole = setting.read(rs2(word));
    let from = if whole.size == size { whole } else { emitter.set(Expression::Extract { from: whole, at: 0 }, size) };
    let when = emitter.unknown(1);
    emitter.ops.push(Op::Store { address: setting.read(rs1(word)), from, when: Some(when) });
    setting.write(emitter, decode::rd(word), Expression::Unknown);
}

/// Whether the global pointer is the base of an address: of a load or a store, or in `addi`. Where it is itself stored, moved
/// or set it may be another program's.
fn addresses_with_global(word: u32, decoded: &Decoded) -> bool {
    let is_address = match word & 0x7f {
        0x03 | 0x07 => true,
        0x23 => rs2(word) != GLOBAL,
        0x27 => true,
        0x13 => decode::bits(word, 14, 12) == 0 && decode::number_i(word) != 0,
        _ => false,
    };
    is_address && decoded.base == Some(GLOBAL) && decoded.writes != Some(GLOBAL)
}

fn with_global(instruction: &mut Instruction, setting: Setting, global: u64) {
    let known = Value::constant(global, setting.size());
    let is_global = |value: Value| matches!(value.operand, Operand::Register(found) if Some(found) == register(GLOBAL));
    let replace = |value: &mut Value| {
        if is_global(*value) {
            *value = known;
        }
    };
    for op in &mut instruction.ops {
        match op {
            Op::Set { from, .. } => match from {
                Expression::Copy(a) | Expression::Unary(_, a) | Expression::Load { address: a, .. } => replace(a),
                Expression::Binary(_, a, b) => [a, b].into_iter().for_each(replace),
                _ => {}
            },
            Op::Store { address, .. } => replace(address),
            Op::ClobberMemory => {}
        }
    }
    for Access { address, .. } in &mut instruction.accesses {
        if let AddressForm::Known { base, displacement, .. } = address {
            if base.is_some_and(|found| Some(found) == register(GLOBAL)) {
                *base = None;
                let sum = global.wrapping_add(*displacement as u64);
                *displacement = if setting.wide { sum as i64 } else { i64::from(sum as u32) };
            }
        }
    }
}

/// Whether the instruction was lifted for what the global pointer holds.
pub(crate) fn assumes_global(instruction: &Instruction, setting: Setting) -> bool {
    if setting.global.is_none() {
        return false;
    }
    let Some(word) = decode::word(&instruction.bytes, setting.wide) else { return false };
    decode::decode(word, instruction.address, setting.wide).is_ok_and(|decoded| addresses_with_global(word, &decoded))
}
