//! Programs and protocols that unit tests write by hand.

use crate::expr::{self, Compare, Expr, Op as Operation, Var};
use crate::program::{Await, Edge, Message, Op, Place, Program, Step, Variable};
use crate::rules::component::Protocols;
use std::path::Path;

/// A program whose variables have these widths, with its edges: from, to, operations. Node 0 is the entry.
pub fn program(widths: &[u32], edges: &[(usize, usize, &[Op])]) -> Program {
    let variable = |(index, bits): (usize, &u32)| Variable {
        name: format!("v{index}"),
        bits: *bits,
        is_mailbox: false,
        is_guess: false,
    };
    let step = |op: &Op| Step { op: op.clone(), place: Place::default() };
    let edge = |(index, (from, to, ops)): (usize, &(usize, usize, &[Op]))| Edge {
        from: *from,
        to: *to,
        steps: ops.iter().map(step).collect(),
        origin: (index, 0),
    };
    Program {
        vars: widths.iter().enumerate().map(variable).collect(),
        nodes: edges.iter().map(|(from, to, _)| from.max(to) + 1).max().unwrap_or(1),
        edges: edges.iter().enumerate().map(edge).collect(),
        ..Program::default()
    }
}

/// The same with AWAITs, for these messages each.
pub fn with_awaits(program: Program, messages: &[&[Message]]) -> Program {
    let wait = |all: &&[Message]| Await { place: Place::default(), messages: all.iter().copied().collect() };
    Program { awaits: messages.iter().map(wait).collect(), ..program }
}

/// A protocol, checked as a whole.
pub fn protocol(text: &str) -> Protocols {
    let checked = protocol::check_text(Path::new("test.proto"), text).expect("the protocol is correct");
    Protocols::new(vec![checked], false, true)
}

pub fn less(a: Expr, b: Expr) -> Expr {
    expr::compare(Compare::ULt, a, b)
}

pub fn plus(a: Expr, value: u64) -> Expr {
    expr::binary(Operation::Add, a, expr::constant(value, a.bits()))
}

pub fn minus(a: Expr, value: u64) -> Expr {
    expr::binary(Operation::Sub, a, expr::constant(value, a.bits()))
}

pub fn is(a: Expr, value: u64) -> Expr {
    expr::equal(a, expr::constant(value, a.bits()))
}

/// All values of variables with these widths.
pub fn valuations(widths: &[u32]) -> Vec<Vec<u64>> {
    let longer = |all: Vec<Vec<u64>>, bits: &u32| {
        let with = |one: Vec<u64>| (0..=expr::mask(*bits)).map(move |value| [one.clone(), vec![value]].concat());
        all.into_iter().flat_map(with).collect()
    };
    widths.iter().fold(vec![Vec::new()], longer)
}

/// The values after an operation: several if it leaves one open, none if it is impossible.
pub fn after(widths: &[u32], values: &[u64], op: &Op) -> Vec<Vec<u64>> {
    let of = |expr: Expr| expr.evaluate(&|var| values[var as usize]);
    let set = |var: Var, value: u64| {
        let mut all = values.to_vec();
        all[var as usize] = value;
        all
    };
    match op {
        Op::Assign(var, value) => vec![set(*var, of(*value))],
        Op::Havoc(var) => (0..=expr::mask(widths[*var as usize])).map(|value| set(*var, value)).collect(),
        Op::Assume(condition) if of(*condition) == 0 => Vec::new(),
        _ => vec![values.to_vec()],
    }
}
