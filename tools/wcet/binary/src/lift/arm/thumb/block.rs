//! The block of an `it` instruction: which condition holds for each of its instructions.

use crate::lift::emit::Emitter;
use crate::lift::error::Problem;
use crate::lift::il::{Encoding, Expression, Flow, Instruction, Kind, Value};
use crate::lift::register::Registers;

use super::super::condition::{self, ALWAYS};

const NAMES: [&str; 15] = ["eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al"];

/// The state before an instruction of a block.
#[derive(Debug, Clone, Copy)]
pub(super) struct Block(u8);

impl Block {
    /// None outside of a block.
    pub fn new(state: u8) -> Result<Option<Block>, Problem> {
        match (state, state >> 4) {
            (0, _) => Ok(None),
            (_, 15) => Err(Problem::Unpredictable("in the block of an `it` instruction: the condition is none")),
            _ => Ok(Some(Block(state))),
        }
    }

    fn number(self) -> u8 {
        self.0 >> 4
    }

    pub fn is_last(self) -> bool {
        self.0 & 0xf == 8
    }

    pub fn is_conditional(self) -> bool {
        self.number() != ALWAYS
    }

    /// Why an instruction may not stand here.
    pub fn refuses(self) -> Problem {
        Problem::Unpredictable(if self.is_last() {
            "in the block of an `it` instruction"
        } else {
            "in the block of an `it` instruction before its end"
        })
    }

    /// The name of an instruction, given as it is outside of a block.
    pub fn name(self, name: &str, keeps_flags: bool) -> String {
        let name = if keeps_flags { name.strip_suffix('s').unwrap_or(name) } else { name };
        format!("{name}.{}", NAMES[usize::from(self.number().min(ALWAYS))])
    }

    /// Whether the condition holds; None if it always does.
    pub fn condition(self, emitter: &mut Emitter<'_>, registers: Registers) -> Option<Value> {
        let value = condition::holds(self.number(), emitter, registers)?;
        // Flags may change under their own condition: this is what they were.
        Some(emitter.set(Expression::Copy(value), 1))
    }
}

/// `it` itself does nothing. Gives the state behind it too.
pub(super) fn begin(address: u64, half: u16, within: Option<Block>) -> Result<(Instruction, u8), Problem> {
    let (state, first) = (half as u8, half as u8 >> 4);
    let meaningless = first == 15 || first == ALWAYS && (state & 0xf).count_ones() != 1;
    if within.is_some() || meaningless {
        let why = if meaningless { "as a block's beginning: its conditions are none" } else { "in another block" };
        return Err(Problem::Unpredictable(why));
    }
    let instruction = Instruction {
        address,
        bytes: half.to_le_bytes().to_vec(),
        encoding: Encoding::Thumb { conditional: false },
        mnemonic: text(half),
        kind: Kind::Ordinary,
        ops: Vec::new(),
        flow: Flow::Next,
        arrival: None,
        accesses: Vec::new(),
    };
    Ok((instruction, state))
}

/// `it`, `itt`, `ite` and so on.
fn text(half: u16) -> String {
    let (first, mask) = (half >> 4 & 1, half & 0xf);
    let length = 4 - mask.trailing_zeros();
    let more = (1..length).map(|index| if mask >> (4 - index) & 1 == first { 't' } else { 'e' });
    format!("it{}", more.collect::<String>())
}

/// The condition that `it` names, for people.
pub(super) fn named(half: u16) -> &'static str {
    NAMES[usize::from(half >> 4 & 0xf).min(usize::from(ALWAYS))]
}
