//! Operations that are wrong on purpose, in one place each: the comparison must find them.

use wcet_binary::lift::il::{Binary, Expression, Op, Unary};
use wcet_binary::lift::Instruction;

/// The instruction with one of its operations made wrong, for each way to do so, and what was done.
pub fn lies(instruction: &Instruction) -> Vec<(&'static str, Instruction)> {
    let mut found = Vec::new();
    for at in 0..instruction.ops.len() {
        let Op::Set { to, from } = instruction.ops[at] else { continue };
        let mut lie = |what, from| {
            let mut wrong = instruction.clone();
            wrong.ops[at] = Op::Set { to, from };
            found.push((what, wrong));
        };
        match from {
            Expression::Unary(Unary::SignExtend, a) => {
                lie("extended without its sign", Expression::Unary(Unary::ZeroExtend, a));
            }
            Expression::Unary(Unary::ZeroExtend, a) if a.size > 1 => {
                lie("extended with its sign", Expression::Unary(Unary::SignExtend, a));
            }
            Expression::Binary(operation, a, b) => {
                if is_ordered(operation) && a.size == b.size {
                    lie("operands exchanged", Expression::Binary(operation, b, a));
                }
                if let Some(other) = signed(operation) {
                    lie("signed for unsigned", Expression::Binary(other, a, b));
                }
            }
            Expression::Select { when, then, otherwise } => {
                lie("sides exchanged", Expression::Select { when, then: otherwise, otherwise: then });
            }
            _ => {}
        }
    }
    found
}

fn is_ordered(operation: Binary) -> bool {
    use Binary::*;
    matches!(
        operation,
        Subtract
            | Divide
            | DivideSigned
            | Remainder
            | RemainderSigned
            | Less
            | LessSigned
            | LessEqual
            | LessEqualSigned
    )
}

fn signed(operation: Binary) -> Option<Binary> {
    use Binary::*;
    Some(match operation {
        Less => LessSigned,
        LessSigned => Less,
        LessEqual => LessEqualSigned,
        LessEqualSigned => LessEqual,
        ShiftRight => ShiftRightSigned,
        ShiftRightSigned => ShiftRight,
        Divide => DivideSigned,
        DivideSigned => Divide,
        Remainder => RemainderSigned,
        RemainderSigned => Remainder,
        _ => return None,
    })
}
