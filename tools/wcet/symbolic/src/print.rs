//! Terms in SMT-LIB 2. Numbers are bit vectors, truth values are Booleans; each term is written once and has a name.

use crate::term::{Operation, Shape, Term, Terms};

/// The name by which a solver knows a term.
pub(crate) fn name(terms: &Terms, term: Term) -> String {
    match terms.shape(term) {
        Shape::Truth(holds) => holds.to_string(),
        Shape::Number(number) => {
            let width = terms.width(term);
            if width % 4 == 0 {
                format!("#x{number:0>digits$x}", digits = usize::from(width / 4))
            } else {
                format!("#b{number:0>digits$b}", digits = usize::from(width))
            }
        }
        _ => format!("t{}", term.index()),
    }
}

fn sort(width: u16) -> String {
    match width {
        0 => "Bool".to_string(),
        _ => format!("(_ BitVec {width})"),
    }
}

/// The commands that tell a solver about a term whose parts it knows; none for constants.
///
/// A new constant that is asserted to be equal, not `define-fun`: z3 puts the body of a definition in place wherever it
/// is used, for which it walks through all of it, as if no two parts were the same.
pub(crate) fn definition(terms: &Terms, term: Term) -> Option<String> {
    let of = |part: Term| name(terms, part);
    let width = terms.width(term);
    let body = match terms.shape(term) {
        Shape::Truth(_) | Shape::Number(_) => return None,
        Shape::Leaf(_) => return Some(format!("(declare-const {} {})", of(term), sort(width))),
        Shape::Not(a) => format!("(not {})", of(a)),
        Shape::Both(a, b) => format!("(and {} {})", of(a), of(b)),
        Shape::Either(a, b) => format!("(or {} {})", of(a), of(b)),
        Shape::Equal(a, b) => format!("(= {} {})", of(a), of(b)),
        Shape::Less(a, b) => format!("(bvult {} {})", of(a), of(b)),
        Shape::LessSigned(a, b) => format!("(bvslt {} {})", of(a), of(b)),
        Shape::Select(when, a, b) => format!("(ite {} {} {})", of(when), of(a), of(b)),
        Shape::Binary(operation, a, b) => format!("({} {} {})", operator(operation), of(a), of(b)),
        Shape::Complement(a) => format!("(bvnot {})", of(a)),
        Shape::Extract(a, low) => format!("((_ extract {} {low}) {})", low + width - 1, of(a)),
        Shape::Concat(a, b) => format!("(concat {} {})", of(a), of(b)),
        Shape::Extend(a) => format!("((_ zero_extend {}) {})", width - terms.width(a), of(a)),
        Shape::ExtendSigned(a) => format!("((_ sign_extend {}) {})", width - terms.width(a), of(a)),
    };
    let (name, sort) = (of(term), sort(width));
    Some(format!("(declare-const {name} {sort})\n(assert (= {name} {body}))"))
}

fn operator(operation: Operation) -> &'static str {
    match operation {
        Operation::Add => "bvadd",
        Operation::Subtract => "bvsub",
        Operation::Multiply => "bvmul",
        Operation::Divide => "bvudiv",
        Operation::DivideSigned => "bvsdiv",
        Operation::Remainder => "bvurem",
        Operation::RemainderSigned => "bvsrem",
        Operation::And => "bvand",
        Operation::Or => "bvor",
        Operation::Xor => "bvxor",
        Operation::ShiftLeft => "bvshl",
        Operation::ShiftRight => "bvlshr",
        Operation::ShiftRightSigned => "bvashr",
    }
}
