//! Examples for a comparison with `Semantics.v`: each expression and condition of the kernel's terms, evaluated on symbols by
//! [`Evaluator`] and then with numbers in their places.
//!
//! A line `expression` or `condition` has its tree in prefix form. Each line `try` below it has the values of the locals, the
//! cells that were read (object, index, field, element, value), and what the value is, or `stuck`.

use std::collections::BTreeMap;
use std::fmt::Write;

use c2coq::ast::{BinaryOp, Comparison};

use crate::evaluate::Evaluator;
use crate::program::Program;
use crate::random::Random;
use crate::state::Access;
use crate::syntax::{Condition, Expr, Place, Stmt};
use crate::term::evaluate::Model;
use crate::term::{fresh, fresh_array, Term};

/// What a statement evaluates.
enum Evaluated<'s> {
    Expression(&'s Expr),
    Condition(&'s Condition),
}

/// All examples, so many for each expression and condition; how many there are, and how many trees the evaluator refused.
pub fn examples(program: &Program, count: usize, seed: u64) -> (String, usize, usize) {
    let (mut text, mut number, mut refused) = (String::new(), 0, 0);
    let mut random = Random(seed);
    for function in program.functions.values() {
        let mut trees = Vec::new();
        collect(&function.body, &mut trees);
        for tree in trees {
            crate::term::clear();
            let locals: Vec<Term> = function.widths.iter().map(|width| fresh("local", *width)).collect();
            let memory: Vec<Term> = program.cells.iter().map(|cells| fresh_array("memory", cells.width)).collect();
            let mut accesses = Vec::new();
            let mut evaluator = Evaluator::of(program, &locals, &memory, &mut accesses);
            let value = match tree {
                Evaluated::Expression(e) => evaluator.expr(e),
                Evaluated::Condition(c) => evaluator.condition(c),
            };
            let needs = std::mem::take(&mut evaluator.assumptions);
            let Ok(value) = value else {
                refused += 1;
                continue;
            };
            let _ = match tree {
                Evaluated::Expression(e) => writeln!(text, "expression {}", expression(program, e)),
                Evaluated::Condition(c) => writeln!(text, "condition {}", condition(program, c)),
            };
            for _ in 0..count {
                let example = Example { program, locals: &locals, memory: &memory, accesses: &accesses };
                let line = example.with(value, &needs, &mut random);
                let _ = writeln!(text, "try {line}");
                number += 1;
            }
        }
    }
    (text, number, refused)
}

struct Example<'e> {
    program: &'e Program,
    locals: &'e [Term],
    memory: &'e [Term],
    accesses: &'e [Access],
}

impl Example<'_> {
    /// With random numbers for the locals and for what is read.
    fn with(&self, value: Term, needs: &[Term], random: &mut Random) -> String {
        let mut model = Model::default();
        for local in self.locals {
            model.variables.insert(*local, random.value(local.width()));
        }
        let mut cells: BTreeMap<(usize, u128, u128), u128> = BTreeMap::new();
        // Those inside of an index come first.
        for access in self.accesses {
            let known = &self.program.cells[access.cells];
            let (index, element) = (model.value(access.index), model.value(access.element));
            let count = self.program.objects[known.object].count;
            if index < u128::from(count) && element < u128::from(known.count) {
                let held = *cells.entry((access.cells, index, element)).or_insert_with(|| random.value(known.width));
                model.elements.insert((self.memory[access.cells], model.value(access.flat)), held);
            }
        }
        let mut line = String::new();
        for local in self.locals {
            let _ = write!(line, "{} ", model.value(*local));
        }
        for ((cells, index, element), held) in cells {
            let known = &self.program.cells[cells];
            let object = &self.program.objects[known.object].name;
            let _ = write!(line, "| {object} {index} {} {element} {held} ", named(&known.field));
        }
        match needs.iter().all(|need| model.holds(*need)) {
            true => format!("{line}= {}", model.value(value)),
            false => format!("{line}= stuck"),
        }
    }
}

fn collect<'s>(stmt: &'s Stmt, out: &mut Vec<Evaluated<'s>>) {
    let mut place = |place: &'s Place| out.extend([&place.index, &place.element].map(Evaluated::Expression));
    match stmt {
        Stmt::Skip | Stmt::Break => {}
        Stmt::Assign(_, e) | Stmt::Return(e) => out.push(Evaluated::Expression(e)),
        Stmt::Store(to, e) => {
            place(to);
            out.push(Evaluated::Expression(e));
        }
        Stmt::Seq(a, b) => {
            collect(a, out);
            collect(b, out);
        }
        Stmt::If(c, a, b) => {
            out.push(Evaluated::Condition(c));
            collect(a, out);
            collect(b, out);
        }
        Stmt::While(c, body) => {
            out.push(Evaluated::Condition(c));
            collect(body, out);
        }
        Stmt::Call(_, _, arguments) => out.extend(arguments.iter().map(Evaluated::Expression)),
    }
}

/// A field of an object that is a scalar has no name.
fn named(field: &str) -> &str {
    if field.is_empty() {
        "."
    } else {
        field
    }
}

fn expression(program: &Program, e: &Expr) -> String {
    let of = |e: &Expr| expression(program, e);
    match e {
        Expr::Constant(value) => format!("Const {value}"),
        Expr::Local(at) => format!("Var {at}"),
        Expr::Load(place) => {
            let known = &program.cells[place.cells];
            let object = &program.objects[known.object].name;
            format!("Load {object} {} {} {}", named(&known.field), of(&place.index), of(&place.element))
        }
        Expr::Negate(width, a) => format!("Neg {width} {}", of(a)),
        Expr::Not(width, a) => format!("Not {width} {}", of(a)),
        Expr::Cast(width, a) => format!("Cast {width} {}", of(a)),
        Expr::Binary(width, operation, a, b) => {
            let name = match operation {
                BinaryOp::Add => "Add",
                BinaryOp::Sub => "Sub",
                BinaryOp::Mul => "Mul",
                BinaryOp::Div => "Div",
                BinaryOp::Rem => "Rem",
                BinaryOp::And => "And",
                BinaryOp::Or => "Or",
                BinaryOp::Xor => "Xor",
                BinaryOp::Shl => "Shl",
                BinaryOp::Shr => "Shr",
            };
            format!("{name} {width} {} {}", of(a), of(b))
        }
    }
}

fn condition(program: &Program, c: &Condition) -> String {
    let of = |c: &Condition| condition(program, c);
    match c {
        Condition::Compare(comparison, a, b) => {
            let name = match comparison {
                Comparison::Eq => "Eq",
                Comparison::Ne => "Ne",
                Comparison::Lt => "Lt",
                Comparison::Le => "Le",
                Comparison::Gt => "Gt",
                Comparison::Ge => "Ge",
            };
            format!("{name} {} {}", expression(program, a), expression(program, b))
        }
        Condition::NonZero(a) => format!("NonZero {}", expression(program, a)),
        Condition::Not(c) => format!("CNot {}", of(c)),
        Condition::And(a, b) => format!("CAnd {} {}", of(a), of(b)),
        Condition::Or(a, b) => format!("COr {} {}", of(a), of(b)),
    }
}
