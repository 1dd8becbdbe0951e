//! Whether control reaches the end of a function.

use super::constant::Operand;
use super::Checker;
use crate::syntax::{Expr, ExprKind, Statement, StatementKind};

impl Checker<'_> {
    /// True unless every path through the statements returns or loops for ever. Refused statements count as
    /// returning, so that one fault is not reported as two.
    pub(super) fn falls_through(&mut self, statements: &[Statement]) -> bool {
        statements.iter().all(|statement| self.falls(statement))
    }

    fn falls(&mut self, statement: &Statement) -> bool {
        match &statement.kind {
            StatementKind::Return(_) | StatementKind::Goto | StatementKind::Broken | StatementKind::Switch(..) => false,
            StatementKind::Block(block) => self.falls_through(&block.statements),
            StatementKind::If(_, yes, Some(no)) => {
                let yes = self.falls(yes);
                self.falls(no) || yes
            }
            StatementKind::While(condition, body) => !self.always(condition) || breaks(body),
            StatementKind::For(head, body) => match &head.condition {
                Some(condition) => !self.always(condition) || breaks(body),
                None => breaks(body),
            },
            StatementKind::DoWhile(_, body) => self.falls(body) || breaks(body),
            StatementKind::Label(_, inner) => self.falls(inner),
            _ => true,
        }
    }

    fn always(&mut self, condition: &Expr) -> bool {
        match &condition.bare().kind {
            ExprKind::Number(text) => crate::number::parse_number(text).is_ok_and(|number| number.value != 0),
            ExprKind::Name(name) if self.local(name).is_none() => {
                let constant = self.named_constant(&name.clone(), condition.span).ok().flatten();
                constant.as_ref().and_then(Operand::constant).is_some_and(|value| value != 0)
            }
            _ => false,
        }
    }
}

/// A break in the statement leaves the loop around it.
fn breaks(statement: &Statement) -> bool {
    match &statement.kind {
        StatementKind::Break => true,
        StatementKind::Block(block) => block.statements.iter().any(breaks),
        StatementKind::If(_, yes, no) => breaks(yes) || no.as_deref().is_some_and(breaks),
        StatementKind::Label(_, inner) => breaks(inner),
        _ => false,
    }
}
