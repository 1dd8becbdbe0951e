//! What the executor makes of the terms on symbols, for the comparison with that of the proofs, `proof/lang/Symbolic.v`.
//!
//! A text of lines, each with a word in front:
//! - `cells`: number, object, field, bits of a cell, how many entries the object has, how many elements the field;
//! - `function`: name, parameters, other locals, body in prefix form;
//! - `check function`: name, and the bits of each parameter; `check return` and `check test`: the bits of all locals, and the tree of an
//!   expression or a condition, which is evaluated with any values in the locals;
//! - behind a `check`: `define`, a definition in SMT-LIB, over the parameters `l0`, `l1`, ..., the 64 bits `r0`,
//!   `r1`, ... in which they are passed, and the memory `m0`, `m1`, ... before;
//!   `given`, terms that hold at the beginning: the number of a CPU, and bounds of arguments that the report names; `path`, what the executor finds on one way to the first event: terms that hold, `=`, the event with its terms, `;`, the cells
//!   that were written and what they are then. A term has its bits behind a colon. A loop that is entered is an event, with the locals.
//!   `end`.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use c2coq::ast::{BinaryOp, Comparison};

use crate::contracts::ARCH;
use crate::engine::Engine;
use crate::evaluate::Evaluator;
use crate::image::{Image, ARGUMENTS};
use crate::layout::Layout;
use crate::program::{Function, Program};
use crate::proved::Sync;
use crate::run::Error;
use crate::syntax::{Condition, Expr, Place, Stmt};
use crate::term::print::definitions;
use crate::term::{fresh, fresh_array, Node, Term};

/// What a statement evaluates.
enum Evaluated<'s> {
    Expression(&'s Expr),
    Condition(&'s Condition),
}

/// One way to an event.
struct Way {
    holds: Vec<Term>,
    event: String,
    terms: Vec<Term>,
    memory: Vec<Term>,
}

/// The text, how many checks it has, and what the executor refuses.
pub fn paths(program: &Program, image: &[u8]) -> Result<(String, usize, Vec<String>), Error> {
    let loaded = crate::run::parsed(image)?;
    let layout = Layout::new(&loaded, program);
    let listing = Image::new(&loaded).map_err(Error::Image)?;
    let (mut text, mut number, mut refused) = (String::new(), 0, Vec::new());
    for (at, cells) in program.cells.iter().enumerate() {
        let object = &program.objects[cells.object];
        let field = named(&cells.field);
        let _ = writeln!(text, "cells {at} {} {field} {} {} {}", object.name, cells.width, object.count, cells.count);
    }
    let is_meant = |one: &&Arc<Function>| !program.ambiguous.contains(&one.name) && one.layer != ARCH;
    let all = || program.functions.values().filter(is_meant);
    for Function { name, parameters, widths, body, .. } in all().map(Arc::as_ref) {
        let others = widths.len() - parameters;
        let _ = writeln!(text, "function {name} {parameters} {others} {}", statement(program, body));
    }
    let mut check = |of: String, found: Option<String>| match found {
        Some(found) => {
            let _ = write!(text, "check {of}\n{found}end\n");
            number += 1;
        }
        None => refused.push(of),
    };
    // Those of more parameters than are passed in registers are only ever inlined.
    for function in all().filter(|one| one.parameters <= ARGUMENTS.len()) {
        let parameters = &function.widths[..function.parameters];
        check(
            format!("function {}{}", function.name, words(parameters)),
            of_function(program, &listing, &layout, function),
        );
    }
    for function in program.functions.values() {
        let mut trees = Vec::new();
        collect(&function.body, &mut trees);
        for tree in trees {
            let widths = words(&function.widths);
            let of = match tree {
                Evaluated::Expression(e) => format!("return{widths} {}", expression(program, e)),
                Evaluated::Condition(c) => format!("test{widths} {}", condition(program, c)),
            };
            check(of, of_tree(program, function, &tree));
        }
    }
    Ok((text, number, refused))
}

fn words(widths: &[u32]) -> String {
    widths.iter().map(|width| format!(" {width}")).collect()
}

/// All ways of a function to its first event.
fn of_function(program: &Program, listing: &Image<'_>, layout: &Layout, function: &Arc<Function>) -> Option<String> {
    crate::term::clear();
    let mut engine = Engine::new(program, listing, layout, Arc::clone(function));
    engine.is_plain = true;
    engine.solver.restart(u64::MAX);
    let start = engine.start(0).ok()?;
    let arguments = start.locals[..function.parameters].to_vec();
    let memory = start.proved.clone();
    let given = start.path.conditions.clone();
    let ends = engine.run_term(start).ok()?;
    let way = |(state, sync)| {
        let crate::state::State { path, locals, proved, .. } = state;
        let (event, terms) = match sync {
            Sync::Return(value) => ("return".to_string(), vec![value]),
            Sync::Call { function, arguments, .. } => (format!("call {function}"), arguments),
            Sync::Loop { .. } => ("loop".to_string(), locals),
            Sync::Left => return None,
        };
        Some(Way { holds: path.conditions, event, terms, memory: proved })
    };
    let ways: Vec<Way> = ends.into_iter().map(way).collect::<Option<_>>()?;
    printed(&arguments, &memory, &given, &ways)
}

/// An expression or a condition, with any values in the locals.
fn of_tree(program: &Program, function: &Function, tree: &Evaluated<'_>) -> Option<String> {
    crate::term::clear();
    let locals: Vec<Term> = function.widths.iter().map(|width| fresh("local", *width)).collect();
    let memory: Vec<Term> = program.cells.iter().map(|cells| fresh_array("memory", cells.width)).collect();
    let mut accesses = Vec::new();
    let mut evaluator = Evaluator::of(program, &locals, &memory, &mut accesses);
    let value = match tree {
        Evaluated::Expression(e) => evaluator.expr(e),
        Evaluated::Condition(c) => evaluator.condition(c),
    };
    let holds = std::mem::take(&mut evaluator.assumptions);
    let way = Way { holds, event: "return".to_string(), terms: vec![value.ok()?], memory: memory.clone() };
    printed(&locals, &memory, &[], &[way])
}

fn printed(arguments: &[Term], memory: &[Term], given: &[Term], ways: &[Way]) -> Option<String> {
    let mut names: HashMap<Term, String> = HashMap::new();
    for (at, argument) in arguments.iter().enumerate() {
        // The register of an argument of fewer bits has others above.
        if let Node::Extract(0, register) = argument.node() {
            names.insert(register, format!("r{at}"));
        }
        names.insert(*argument, format!("l{at}"));
    }
    names.extend(memory.iter().enumerate().map(|(at, term)| (*term, format!("m{at}"))));
    let terms: Vec<Term> =
        ways.iter().flat_map(|way| [&way.holds, &way.terms, &way.memory]).flatten().chain(given).copied().collect();
    let defined = definitions(&terms, &mut names)?;
    let mut text: String = defined.lines().map(|line| format!("define {line}\n")).collect();
    let named = |term: &Term| format!(" {}:{}", names[term], term.width());
    let of = |terms: &[Term]| terms.iter().map(named).collect::<String>();
    let _ = writeln!(text, "given{}", of(given));
    for way in ways {
        let written = way.memory.iter().zip(memory).enumerate().filter(|(_, (now, before))| now != before);
        let written: String = written.map(|(at, (now, _))| format!(" {at}{}", named(now))).collect();
        let _ = writeln!(text, "path{} = {}{} ;{written}", of(&way.holds), way.event, of(&way.terms));
    }
    Some(text)
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
