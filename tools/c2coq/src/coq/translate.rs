//! From the C syntax tree to the constructors of `proof/lang/Syntax.v`.
//!
//! Each node has one translation. `for` becomes `init; while`, blocks become sequences, and a call whose result is stored
//! in an object gets a local of its own.

use super::term::{string, Term};
use super::Refusal;
use crate::ast::*;

/// A function as Coq sees it.
pub struct Translated {
    pub parameters: usize,
    /// Names of all locals, parameters first.
    pub locals: Vec<String>,
    pub body: Term,
}

struct Translator<'a> {
    unit: &'a Unit,
    /// Locals of the function, then those made here.
    locals: Vec<String>,
}

pub fn function(unit: &Unit, function: &Function, body: &[Stmt]) -> Result<Translated, Refusal> {
    let locals = function.locals.iter().map(|local| local.name.clone()).collect();
    let mut translator = Translator { unit, locals };
    let body = translator.block(body)?;
    Ok(Translated { parameters: function.parameters.len(), locals: translator.locals, body })
}

pub fn width(width: Width) -> Term {
    let name = match width {
        Width::U8 => "W8",
        Width::U16 => "W16",
        Width::U32 => "W32",
        Width::U64 => "W64",
    };
    Term::Atom(name.to_string())
}

/// Digits of a number: hexadecimal where decimal says nothing.
pub fn number(value: u64) -> String {
    let decimal = value.to_string();
    if value > u64::from(u32::MAX) && decimal.trim_end_matches('0').len() > 4 {
        format!("{value:#x}")
    } else {
        decimal
    }
}

fn operator(operator: BinaryOp) -> Term {
    Term::Atom(format!("{operator:?}"))
}

fn constant(value: u64, name: Option<&str>) -> Term {
    let name = name.map_or(String::new(), |name| format!(" (* {name} *)"));
    Term::Apply("Const", vec![Term::Atom(format!("{}{name}", number(value)))])
}

fn local(at: usize) -> Term {
    Term::Apply("Var", vec![Term::Atom(at.to_string())])
}

fn sequence(mut statements: Vec<Term>) -> Term {
    match statements.len() {
        0 => Term::Apply("Skip", Vec::new()),
        1 => statements.remove(0),
        _ => Term::Chain(statements),
    }
}

impl Translator<'_> {
    fn block(&mut self, statements: &[Stmt]) -> Result<Term, Refusal> {
        let mut out = Vec::new();
        self.statements(statements, &mut out)?;
        Ok(sequence(out))
    }

    /// Inner blocks dissolve: locals have numbers, not scopes.
    fn statements(&mut self, statements: &[Stmt], out: &mut Vec<Term>) -> Result<(), Refusal> {
        statements.iter().try_for_each(|statement| self.statement(statement, out))
    }

    fn statement(&mut self, statement: &Stmt, out: &mut Vec<Term>) -> Result<(), Refusal> {
        let term = match &statement.kind {
            StmtKind::Skip => return Ok(()),
            StmtKind::Block(inner) => return self.statements(inner, out),
            StmtKind::Local(id, value) => self.assign(id.0, value),
            StmtKind::Assign(Target::Local(id), value) => self.assign(id.0, value),
            StmtKind::Assign(Target::Place(place), Rhs::Expr(value)) => self.store(place, self.expr(value)),
            StmtKind::Assign(Target::Place(place), Rhs::Call(call)) => {
                let indices = [&place.index, &place.element];
                if indices.into_iter().flatten().any(|index| index.loads()) {
                    let message = "a call's result goes to a place whose index reads memory".to_string();
                    let remedy = "put the result, or the index, into a local first".to_string();
                    return Err(Refusal { span: place.span, message, remedy });
                }
                let result = self.locals.len();
                self.locals.push("result".to_string());
                out.push(self.call(Some(result), call));
                self.store(place, local(result))
            }
            StmtKind::Call(call) => self.call(None, call),
            StmtKind::If(condition, yes, no) => {
                let condition = self.condition(condition);
                Term::Apply("If", vec![condition, self.block(yes)?, self.block(no)?])
            }
            StmtKind::While(condition, body) => {
                let condition = self.condition(condition);
                Term::Apply("While", vec![condition, self.block(body)?])
            }
            StmtKind::For { init, condition, step, body } => {
                if let Some(init) = init {
                    self.statement(init, out)?;
                }
                let condition = match condition {
                    Some(condition) => self.condition(condition),
                    None => Term::Apply("NonZero", vec![constant(1, None)]),
                };
                let mut inner = Vec::new();
                self.statements(body, &mut inner)?;
                if let Some(step) = step {
                    self.statement(step, &mut inner)?;
                }
                Term::Apply("While", vec![condition, sequence(inner)])
            }
            StmtKind::Break => Term::Apply("Break", Vec::new()),
            StmtKind::Return(value) => {
                let value = value.as_ref().map_or(constant(0, None), |value| self.expr(value));
                Term::Apply("Return", vec![value])
            }
        };
        out.push(term);
        Ok(())
    }

    fn assign(&self, at: usize, value: &Rhs) -> Term {
        match value {
            Rhs::Expr(value) => Term::Apply("Assign", vec![Term::Atom(at.to_string()), self.expr(value)]),
            Rhs::Call(call) => self.call(Some(at), call),
        }
    }

    fn store(&self, place: &Place, value: Term) -> Term {
        let mut arguments = self.place(place);
        arguments.push(value);
        Term::Apply("Store", arguments)
    }

    fn call(&self, result: Option<usize>, call: &Call) -> Term {
        let result = result
            .map_or(Term::Atom("None".to_string()), |at| Term::Apply("Some", vec![Term::Atom(format!("{at}%nat"))]));
        let arguments = call.arguments.iter().map(|argument| self.expr(argument)).collect();
        let function = string(&self.unit.functions[call.function.0].name);
        Term::Apply("Call", vec![result, function, Term::List(arguments)])
    }

    /// Object, index, field, element; what C leaves out is 0 or the empty name.
    fn place(&self, place: &Place) -> Vec<Term> {
        let object = &self.unit.objects[place.object.0];
        let field = match (place.field, object.element) {
            (Some(field), ElementType::Struct(id)) => self.unit.structs[id.0].fields[field.0].name.as_str(),
            _ => "",
        };
        let index = |index: &Option<Box<Expr>>| index.as_ref().map_or(constant(0, None), |index| self.expr(index));
        vec![string(&object.name), index(&place.index), string(field), index(&place.element)]
    }

    fn condition(&self, condition: &Cond) -> Term {
        match &condition.kind {
            CondKind::Compare(comparison, left, right) => {
                let comparison = Term::Atom(format!("{comparison:?}"));
                Term::Apply("Cmp", vec![comparison, self.expr(left), self.expr(right)])
            }
            CondKind::NonZero(expr) => Term::Apply("NonZero", vec![self.expr(expr)]),
            CondKind::Not(inner) => Term::Apply("CNot", vec![self.condition(inner)]),
            CondKind::And(left, right) => Term::Apply("CAnd", vec![self.condition(left), self.condition(right)]),
            CondKind::Or(left, right) => Term::Apply("COr", vec![self.condition(left), self.condition(right)]),
        }
    }

    fn expr(&self, expr: &Expr) -> Term {
        match &expr.kind {
            ExprKind::Const(value, name) => constant(*value, name.as_deref()),
            ExprKind::Local(id) => local(id.0),
            ExprKind::Load(place) => Term::Apply("Load", self.place(place)),
            ExprKind::Neg(inner) => Term::Apply("Neg", vec![width(expr.width), self.expr(inner)]),
            ExprKind::Not(inner) => Term::Apply("Not", vec![width(expr.width), self.expr(inner)]),
            ExprKind::Cast(inner) => Term::Apply("Cast", vec![width(expr.width), self.expr(inner)]),
            ExprKind::Binary(binary, left, right) => {
                Term::Apply("Bin", vec![width(expr.width), operator(*binary), self.expr(left), self.expr(right)])
            }
        }
    }
}
