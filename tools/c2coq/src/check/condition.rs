//! Conditions of if, while and for: the only place for comparisons and for ! && ||.

use super::constant::Operand;
use super::Checker;
use crate::ast::{Comparison, Cond, CondKind, Width};
use crate::syntax::{Expr, ExprKind};

fn comparison(operator: &str) -> Option<Comparison> {
    Some(match operator {
        "==" => Comparison::Eq,
        "!=" => Comparison::Ne,
        "<" => Comparison::Lt,
        "<=" => Comparison::Le,
        ">" => Comparison::Gt,
        ">=" => Comparison::Ge,
        _ => return None,
    })
}

impl Checker<'_> {
    pub(super) fn condition(&mut self, expr: &Expr) -> Option<Cond> {
        let span = expr.span;
        let kind = match &expr.kind {
            ExprKind::Paren(inner) => return self.condition(inner),
            ExprKind::Unary("!", inner) => CondKind::Not(Box::new(self.condition(inner)?)),
            ExprKind::Binary(operator @ ("&&" | "||"), _, left, right) => {
                let left = self.condition(left);
                let right = self.condition(right);
                let (left, right) = (Box::new(left?), Box::new(right?));
                if *operator == "&&" {
                    CondKind::And(left, right)
                } else {
                    CondKind::Or(left, right)
                }
            }
            ExprKind::Binary(operator, at, left, right) if comparison(operator).is_some() => {
                let left = self.operand(left);
                let right = self.operand(right);
                let (left, right) = (left?, right?);
                let left_fits = self.arithmetic(&left, &format!("the left operand of `{operator}`"));
                let right_fits = self.arithmetic(&right, &format!("the right operand of `{operator}`"));
                if !left_fits || !right_fits {
                    return None;
                }
                let (left, right) = self.unify(left, right, operator, *at)?;
                CondKind::Compare(comparison(operator)?, left, right)
            }
            _ => {
                let operand = self.operand(expr)?;
                if !self.arithmetic(&operand, "this condition") {
                    return None;
                }
                match operand {
                    Operand::Typed(value) => CondKind::NonZero(value),
                    plain => CondKind::NonZero(self.coerce(plain, Width::U32, "this condition")?),
                }
            }
        };
        Some(Cond { kind, span })
    }
}
