//! Thumb: as for ARM, the encoding says where control goes and which memory is accessed, SLEIGH gives the semantics, and the two
//! must agree on where control goes.
//!
//! What SLEIGH derives from the order in which instructions are read is written here: the blocks of `it`, and transfers by
//! register. An instruction in a block happens under its condition, and the short forms set no flags there. Whatever the manual
//! calls unpredictable in a block is refused.

mod block;
mod decode;
mod form;
mod narrow;
mod system;
mod wide;

use crate::lift::convert::Converter;
use crate::lift::error::Problem;
use crate::lift::il::{Access, Encoding, Flow, Instruction, Kind, Op, Operand, Target};
use crate::load::coding::{advance, begins_block, is_wide};

use super::system::unsupported;
use super::Setting;
use block::Block;
use decode::Form;
use form::Lifted;

/// The instruction at `address`, and the block's state behind it.
pub(super) fn lift(
    setting: &Setting<'_, '_>,
    address: u64,
    bytes: &[u8],
    state: u8,
) -> Result<(Instruction, u8), Problem> {
    let halves: Vec<u16> = bytes.chunks_exact(2).map(|two| u16::from_le_bytes([two[0], two[1]])).collect();
    let first = *halves.first().ok_or(Problem::NoCode)?;
    let block = Block::new(state)?;
    if begins_block(first) {
        return block::begin(address, first, block);
    }
    let wide = is_wide(first);
    let word = match (wide, halves.get(1)) {
        (false, _) => u32::from(first),
        (true, Some(second)) => u32::from(first) << 16 | u32::from(*second),
        (true, None) => return Err(Problem::NoCode),
    };
    let decoded = decode::decode(word, wide, address)?;
    if let Some(block) = block.filter(|block| decoded.jumps() && !block.is_last() || decoded.never_in_block) {
        return Err(block.refuses());
    }
    let semantics = setting.thumb.ok_or(Problem::Undecodable)?;
    let (name, _) = semantics.text(address).map_err(|_| Problem::Undecodable)?;
    let keeps_flags = !wide && narrow::sets_flags_outside(word);
    let conditional = block.is_some_and(Block::is_conditional);
    let accesses = decoded.accesses.iter();
    let mut instruction = Instruction {
        address,
        bytes: bytes[..if wide { 4 } else { 2 }].to_vec(),
        encoding: Encoding::Thumb { conditional },
        mnemonic: block.map_or(name.clone(), |block| block.name(&name, keeps_flags)),
        kind: Kind::Ordinary,
        ops: Vec::new(),
        flow: Flow::Next,
        arrival: None,
        accesses: accesses.map(|access| Access { conditional: access.conditional || conditional, ..*access }).collect(),
    };
    let mut one = Lifted {
        converter: Converter::new(semantics, address, instruction.next()),
        registers: setting.registers,
        condition: None,
    };
    one.condition = block.and_then(|block| block.condition(&mut one.converter.emitter, setting.registers));
    if let Form::System(system) = &decoded.form {
        if conditional && matches!(system.flow, Flow::Leave | Flow::Trap) {
            return unsupported("conditional return from exception");
        }
        one.system(system, &mut instruction);
        return Ok((instruction, advance(state)));
    }
    let (flow, arrival) = one.form(&decoded, &mut instruction, semantics)?;
    instruction.flow = flow;
    instruction.arrival = arrival;
    instruction.ops = one.converter.emitter.ops;
    if block.is_some() && keeps_flags {
        let is_flag =
            |op: &Op| matches!(op, Op::Set { to, .. } if to.size == 1 && matches!(to.operand, Operand::Register(_)));
        instruction.ops.retain(|op| !is_flag(op));
    }
    Ok((instruction, advance(state)))
}

/// Whether its direct transfer is to ARM code.
pub(super) fn switches(instruction: &Instruction) -> bool {
    // `blx`: the fifth bit of the second half is clear.
    let halves = instruction.bytes.as_slice();
    let is_call = matches!(instruction.flow, Flow::Call { to: Target::Direct(_), .. });
    is_call && matches!(halves, [_, _, _, top] if top & 0x10 == 0)
}

/// The operand of `it`, for people.
pub(super) fn block_text(instruction: &Instruction) -> Option<&'static str> {
    let [low, high] = *instruction.bytes.as_slice() else { return None };
    let half = u16::from_le_bytes([low, high]);
    begins_block(half).then(|| block::named(half))
}
