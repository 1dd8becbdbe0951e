//! The block of an `it` instruction: which condition holds for each of its instructions.

use crate::lift::emit::Emitter;
use crate::lift::error::Problem;
use crate::lift::il::{Binary, Encoding, Expression, Flow, Instruction, Kind, Unary, Value};
use crate::lift::register::Registers;

const NAMES: [&str; 15] = ["eq", "ne", "cs", "cc", "mi", "pl", "vs", "vc", "hi", "ls", "ge", "lt", "gt", "le", "al"];
const ALWAYS: u8 = 14;

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
        if !self.is_conditional() {
            return None;
        }
        let flag = |name| registers.named(name).map(|register| registers.value(register));
        let (negative, zero, carry, overflow) = (flag("NG")?, flag("ZR")?, flag("CY")?, flag("OV")?);
        let none = Value::constant(0, 1);
        // Conditions come in pairs, the second the contrary of the first.
        let is_contrary = self.number() & 1 == 1;
        let equality = if is_contrary { Binary::Equal } else { Binary::NotEqual };
        let alike = |a, b| (if is_contrary { Binary::NotEqual } else { Binary::Equal }, a, b);
        let value = match self.number() >> 1 {
            0 => emitter.binary(equality, zero, none, 1),
            1 => emitter.binary(equality, carry, none, 1),
            2 => emitter.binary(equality, negative, none, 1),
            3 => emitter.binary(equality, overflow, none, 1),
            4 if is_contrary => {
                let not = emitter.unary(Unary::BoolNot, carry, 1);
                emitter.binary(Binary::Or, not, zero, 1)
            }
            4 => {
                let not = emitter.unary(Unary::BoolNot, zero, 1);
                emitter.binary(Binary::And, carry, not, 1)
            }
            5 => {
                let (operation, a, b) = alike(negative, overflow);
                emitter.binary(operation, a, b, 1)
            }
            _ => {
                let (operation, a, b) = alike(negative, overflow);
                let signs = emitter.binary(operation, a, b, 1);
                if is_contrary {
                    emitter.binary(Binary::Or, zero, signs, 1)
                } else {
                    let not = emitter.unary(Unary::BoolNot, zero, 1);
                    emitter.binary(Binary::And, not, signs, 1)
                }
            }
        };
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
