//! Examples for a comparison with `Semantics.v`: the kernel's terms, executed on symbols as for machine code, and then with numbers
//! in their places.
//!
//! A line `expression` or `condition` has its tree in prefix form. Each line `try` below it has the values of the locals, the
//! cells that were read (object, index, field, element, value), and what the value is, or `stuck`.
//!
//! A line `function` has name, parameters, other locals and body. Lines `run` stand behind all of them: a function, its arguments, cells, and
//! behind `=` the first event, with what the cells that were written hold there. There is one for each path to an event. A loop that is
//! entered is an event, with the locals.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use c2coq::ast::{BinaryOp, Comparison};

use crate::contracts::ARCH;
use crate::engine::Engine;
use crate::evaluate::Evaluator;
use crate::image::Image;
use crate::layout::Layout;
use crate::program::{Function, Program};
use crate::proved::Sync;
use crate::random::Random;
use crate::run::Error;
use crate::state::{Access, Written};
use crate::syntax::{Condition, Expr, Place, Stmt};
use crate::term::build::read;
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
        line.push_str(&cells_of(self.program, &cells));
        match needs.iter().all(|need| model.holds(*need)) {
            true => format!("{line}= {}", model.value(value)),
            false => format!("{line}= stuck"),
        }
    }
}

/// The functions, and a run along each path to the first event; how many there are, and how many functions have no such runs.
pub fn runs(program: &Program, image: &[u8]) -> Result<(String, usize, usize), Error> {
    let loaded = crate::run::parsed(image)?;
    let layout = Layout::new(&loaded, program);
    let listing = Image::new(&loaded).map_err(Error::Image)?;
    let (mut text, mut number, mut refused) = (String::new(), 0, 0);
    let is_meant = |one: &&Arc<Function>| !program.ambiguous.contains(&one.name) && one.layer != ARCH;
    let all = || program.functions.values().filter(is_meant);
    for Function { name, parameters, widths, body, .. } in all().map(Arc::as_ref) {
        let _ =
            writeln!(text, "function {name} {parameters} {} {}", widths.len() - parameters, statement(program, body));
    }
    for function in all() {
        crate::term::clear();
        let mut engine = Engine::new(program, &listing, &layout, Arc::clone(function));
        engine.is_plain = true;
        engine.solver.restart(u64::MAX);
        let ran = engine.start(0).and_then(|start| {
            let arguments = start.locals[..function.parameters].to_vec();
            let memory = start.proved.clone();
            engine.run_term(start).map(|ends| (arguments, memory, ends))
        });
        let Ok((arguments, memory, ends)) = ran else {
            refused += 1;
            continue;
        };
        for (mut state, sync) in ends {
            let Ok(Some(model)) = state.path.model(&mut engine.solver) else { continue };
            let values =
                |terms: &[Term]| terms.iter().map(|term| format!(" {}", model.value(*term))).collect::<String>();
            let event = match &sync {
                Sync::Return(value) => format!("return {}", model.value(*value)),
                Sync::Call { function, arguments, .. } => format!("call {function}{}", values(arguments)),
                Sync::Loop { .. } => format!("loop{}", values(&state.locals)),
                Sync::Left => continue,
            };
            let held = |access: &Access| {
                let place = (access.cells, model.value(access.index), model.value(access.element));
                (place, model.value(read(memory[access.cells], access.flat)))
            };
            let before: BTreeMap<_, _> = state.accesses.iter().map(held).collect();
            let written = |one: &Written| {
                let (flat, count) = (model.value(one.flat), u128::from(program.cells[one.cells].count));
                ((one.cells, flat / count, flat % count), model.value(read(state.proved[one.cells], one.flat)))
            };
            let after: BTreeMap<_, _> = state.proved_stores.iter().map(written).collect();
            let given = values(&arguments);
            let _ = writeln!(
                text,
                "run {}{given} {}= {event} {}",
                function.name,
                cells_of(program, &before),
                cells_of(program, &after)
            );
            number += 1;
        }
    }
    Ok((text, number, refused))
}

/// Cells and their values.
fn cells_of(program: &Program, cells: &BTreeMap<(usize, u128, u128), u128>) -> String {
    let one = |((cells, index, element), held): (&(usize, u128, u128), &u128)| {
        let known = &program.cells[*cells];
        format!("| {} {index} {} {element} {held} ", program.objects[known.object].name, named(&known.field))
    };
    cells.iter().map(one).collect()
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

fn statement(program: &Program, stmt: &Stmt) -> String {
    let (of, e) = (|s: &Stmt| statement(program, s), |e: &Expr| expression(program, e));
    match stmt {
        Stmt::Skip => "Skip".to_string(),
        Stmt::Break => "Break".to_string(),
        Stmt::Assign(to, value) => format!("Assign {to} {}", e(value)),
        Stmt::Store(place, value) => {
            let known = &program.cells[place.cells];
            let object = &program.objects[known.object].name;
            format!("Store {object} {} {} {} {}", named(&known.field), e(&place.index), e(&place.element), e(value))
        }
        Stmt::Seq(a, b) => format!("Seq {} {}", of(a), of(b)),
        Stmt::If(c, a, b) => format!("If {} {} {}", condition(program, c), of(a), of(b)),
        Stmt::While(c, body) => format!("While {} {}", condition(program, c), of(body)),
        Stmt::Return(value) => format!("Return {}", e(value)),
        Stmt::Call(to, function, arguments) => {
            let to = to.map_or("-".to_string(), |to| to.to_string());
            let given: String = arguments.iter().map(|one| format!(" {}", e(one))).collect();
            format!("Call {to} {function} {}{given}", arguments.len())
        }
    }
}
