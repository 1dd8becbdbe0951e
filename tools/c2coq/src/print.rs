//! Prints a checked file as C again: one self-contained source with the same meaning.
//!
//! The printed text is in the subset, gives the same tree when it is checked, and compiles to the same code; tests check
//! that. Macros become definitions of their values, headers the declarations they contain.

use std::collections::HashMap;
use std::fmt::Write;

use crate::ast::*;

/// The file as C.
pub fn c(unit: &Unit) -> String {
    let mut printer = Printer::new(unit, &[]);
    printer.unit();
    printer.out
}

/// A statement on one line; of a compound one what stands before its block.
pub fn head(unit: &Unit, locals: &[Local], statement: &Stmt) -> String {
    let printer = Printer::new(unit, locals);
    match &statement.kind {
        StmtKind::If(condition, ..) => format!("if ({})", printer.condition(condition)),
        StmtKind::While(condition, _) => format!("while ({})", printer.condition(condition)),
        StmtKind::For { init, condition, step, .. } => printer.for_head(init, condition, step),
        _ => printer.simple(statement),
    }
}

struct Printer<'a> {
    unit: &'a Unit,
    /// Width each named constant is defined with.
    constants: HashMap<&'a str, Option<Width>>,
    locals: &'a [Local],
    out: String,
    depth: usize,
}

fn binary(operator: BinaryOp) -> &'static str {
    match operator {
        BinaryOp::Add => "+",
        BinaryOp::Sub => "-",
        BinaryOp::Mul => "*",
        BinaryOp::Div => "/",
        BinaryOp::Rem => "%",
        BinaryOp::And => "&",
        BinaryOp::Or => "|",
        BinaryOp::Xor => "^",
        BinaryOp::Shl => "<<",
        BinaryOp::Shr => ">>",
    }
}

fn comparison(operator: Comparison) -> &'static str {
    match operator {
        Comparison::Eq => "==",
        Comparison::Ne => "!=",
        Comparison::Lt => "<",
        Comparison::Le => "<=",
        Comparison::Gt => ">",
        Comparison::Ge => ">=",
    }
}

/// A number of exactly this type.
fn number(value: u64, width: Width) -> String {
    let digits = if value > 0xffff { format!("{value:#x}") } else { value.to_string() };
    match width {
        Width::U32 => format!("{digits}u"),
        Width::U64 => format!("{digits}ul"),
        narrow => format!("({}){digits}", narrow.name()),
    }
}

fn result_name(result: Option<Width>) -> &'static str {
    result.map_or("void", Width::name)
}

impl<'a> Printer<'a> {
    fn new(unit: &'a Unit, locals: &'a [Local]) -> Printer<'a> {
        let constants = unit.constants.iter().map(|constant| (constant.name.as_str(), constant.width)).collect();
        Printer { unit, constants, locals, out: String::new(), depth: 0 }
    }

    fn line(&mut self, text: &str) {
        let indent = "    ".repeat(self.depth);
        let _ = writeln!(self.out, "{indent}{text}");
    }

    fn unit(&mut self) {
        self.line("#include <stdint.h>");
        for constant in &self.unit.constants {
            let value = match constant.width {
                Some(width) if width.is_arithmetic() => number(constant.value, width),
                Some(width) => format!("({})", number(constant.value, width)),
                None => constant.value.to_string(),
            };
            // What <stdint.h> defines is there already.
            if !constant.name.starts_with("UINT") {
                self.line(&format!("#define {} {value}", constant.name));
            }
        }
        for (id, shape) in self.unit.structs.iter().enumerate() {
            self.line(&format!("struct {} {{", self.tag(StructId(id))));
            for field in &shape.fields {
                let size = field.size.map_or(String::new(), |size| format!("[{size}]"));
                self.line(&format!("    {} {}{size};", field.width.name(), field.name));
            }
            self.line("};");
        }
        for object in &self.unit.objects {
            self.object(object);
        }
        for function in &self.unit.functions {
            let head = self.head(function, false);
            self.line(&format!("{head};"));
        }
        // Prototypes come in the order of declaration, bodies in their own.
        let mut defined: Vec<&Function> =
            self.unit.functions.iter().filter(|function| function.body.is_some()).collect();
        defined.sort_by_key(|function| function.span);
        for function in defined {
            if let Some(body) = &function.body {
                self.locals = &function.locals;
                let head = self.head(function, true);
                self.line(&head);
                self.line("{");
                self.block(body);
                self.line("}");
            }
        }
    }

    fn tag(&self, id: StructId) -> String {
        let tag = &self.unit.structs[id.0].tag;
        tag.clone().unwrap_or_else(|| format!("anonymous_{}", id.0))
    }

    fn object(&mut self, object: &Object) {
        let (base, inner) = match object.element {
            ElementType::Scalar(width) => (width.name().to_string(), String::new()),
            ElementType::Array(width, size) => (width.name().to_string(), format!("[{size}]")),
            ElementType::Struct(id) => (format!("struct {}", self.tag(id)), String::new()),
        };
        let constant = if object.constant { "const " } else { "" };
        let alignment = object.alignment.map_or(String::new(), |alignment| format!("_Alignas({alignment}) "));
        let size = object.size.map_or(String::new(), |size| format!("[{size}]"));
        let initial = if object.initial.is_empty() { String::new() } else { format!(" = {}", self.initial(object)) };
        self.line(&format!("static {constant}{alignment}{base} {}{size}{inner}{initial};", object.name));
    }

    fn initial(&self, object: &Object) -> String {
        let Some(_) = object.size else {
            return object
                .initial
                .first()
                .map_or("0".to_string(), |(_, value)| self.first_value(*value, object.element));
        };
        // Sizes of what one element holds, field by field.
        let parts: Vec<(Width, Option<u64>)> = match object.element {
            ElementType::Scalar(width) => vec![(width, None)],
            ElementType::Array(width, size) => vec![(width, Some(size))],
            ElementType::Struct(id) => {
                self.unit.structs[id.0].fields.iter().map(|field| (field.width, field.size)).collect()
            }
        };
        let per_element: u64 = parts.iter().map(|(_, size)| size.unwrap_or(1)).sum();
        let values: HashMap<u64, u64> = object.initial.iter().copied().collect();
        let mut elements: Vec<u64> = object.initial.iter().map(|(at, _)| at / per_element).collect();
        elements.dedup();
        let mut out = Vec::new();
        for element in elements {
            let mut at = element * per_element;
            let mut fields = Vec::new();
            for (width, size) in &parts {
                let count = size.unwrap_or(1);
                let items: Vec<String> =
                    (at..at + count).map(|at| number(values.get(&at).copied().unwrap_or(0), *width)).collect();
                at += count;
                fields.push(if size.is_some() { format!("{{{}}}", items.join(", ")) } else { items.join("") });
            }
            let value = match object.element {
                ElementType::Struct(_) => format!("{{{}}}", fields.join(", ")),
                _ => fields.join(""),
            };
            out.push(format!("[{element}] = {value}"));
        }
        format!("{{{}}}", out.join(", "))
    }

    fn first_value(&self, value: u64, element: ElementType) -> String {
        match element {
            ElementType::Scalar(width) => number(value, width),
            _ => value.to_string(),
        }
    }

    /// A function's declaration; only a definition names the parameters.
    fn head(&self, function: &Function, named: bool) -> String {
        let parameters: Vec<String> = function
            .parameters
            .iter()
            .enumerate()
            .map(|(at, width)| match function.locals.get(at).filter(|_| named) {
                Some(local) => format!("{} {}", width.name(), local.name),
                None => width.name().to_string(),
            })
            .collect();
        let parameters = if parameters.is_empty() { "void".to_string() } else { parameters.join(", ") };
        let storage = if function.is_static { "static " } else { "" };
        format!("{storage}{} {}({parameters})", result_name(function.result), function.name)
    }

    fn block(&mut self, statements: &[Stmt]) {
        self.depth += 1;
        for statement in statements {
            self.statement(statement);
        }
        self.depth -= 1;
    }

    fn statement(&mut self, statement: &Stmt) {
        match &statement.kind {
            StmtKind::Block(inner) => {
                self.line("{");
                self.block(inner);
                self.line("}");
            }
            StmtKind::If(condition, yes, no) => {
                let condition = self.condition(condition);
                self.line(&format!("if ({condition}) {{"));
                self.block(yes);
                if !no.is_empty() {
                    self.line("} else {");
                    self.block(no);
                }
                self.line("}");
            }
            StmtKind::While(condition, body) => {
                let condition = self.condition(condition);
                self.line(&format!("while ({condition}) {{"));
                self.block(body);
                self.line("}");
            }
            StmtKind::For { init, condition, step, body } => {
                let head = self.for_head(init, condition, step);
                self.line(&format!("{head} {{"));
                self.block(body);
                self.line("}");
            }
            _ => {
                let text = self.simple(statement);
                self.line(&format!("{text};"));
            }
        }
    }

    fn for_head(&self, init: &Option<Box<Stmt>>, condition: &Option<Cond>, step: &Option<Box<Stmt>>) -> String {
        let init = init.as_ref().map_or(String::new(), |init| self.simple(init));
        let condition = condition.as_ref().map_or(String::new(), |condition| self.condition(condition));
        let step = step.as_ref().map_or(String::new(), |step| self.simple(step));
        format!("for ({init}; {condition}; {step})")
    }

    /// A statement without its semicolon.
    fn simple(&self, statement: &Stmt) -> String {
        match &statement.kind {
            StmtKind::Local(id, value) => {
                let local = &self.locals[id.0];
                format!("{} {} = {}", local.width.name(), local.name, self.right_hand_side(value))
            }
            StmtKind::Assign(target, value) => {
                let target = match target {
                    Target::Local(id) => self.locals[id.0].name.clone(),
                    Target::Place(place) => self.place(place),
                };
                format!("{target} = {}", self.right_hand_side(value))
            }
            StmtKind::Call(call) => self.call(call),
            StmtKind::Break => "break".to_string(),
            StmtKind::Return(None) => "return".to_string(),
            StmtKind::Return(Some(value)) => format!("return {}", self.expr(value)),
            // Printed by `statement`; none of them stands where a simple one must.
            StmtKind::Skip | StmtKind::Block(_) | StmtKind::If(..) | StmtKind::While(..) | StmtKind::For { .. } => {
                String::new()
            }
        }
    }

    fn right_hand_side(&self, value: &Rhs) -> String {
        match value {
            Rhs::Expr(expr) => self.expr(expr),
            Rhs::Call(call) => self.call(call),
        }
    }

    fn call(&self, call: &Call) -> String {
        let arguments: Vec<String> = call.arguments.iter().map(|argument| self.expr(argument)).collect();
        format!("{}({})", self.unit.functions[call.function.0].name, arguments.join(", "))
    }

    fn place(&self, place: &Place) -> String {
        let object = &self.unit.objects[place.object.0];
        let mut out = object.name.clone();
        if let Some(index) = &place.index {
            let _ = write!(out, "[{}]", self.expr(index));
        }
        if let (Some(field), ElementType::Struct(id)) = (place.field, object.element) {
            let _ = write!(out, ".{}", self.unit.structs[id.0].fields[field.0].name);
        }
        if let Some(element) = &place.element {
            let _ = write!(out, "[{}]", self.expr(element));
        }
        out
    }

    fn condition(&self, condition: &Cond) -> String {
        match &condition.kind {
            CondKind::Compare(operator, left, right) => {
                format!("{} {} {}", self.expr(left), comparison(*operator), self.expr(right))
            }
            CondKind::NonZero(expr) => self.expr(expr),
            CondKind::Not(inner) => format!("!({})", self.condition(inner)),
            CondKind::And(left, right) => format!("({}) && ({})", self.condition(left), self.condition(right)),
            CondKind::Or(left, right) => format!("({}) || ({})", self.condition(left), self.condition(right)),
        }
    }

    /// An expression that needs no parentheses around it.
    fn expr(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Const(value, name) => match name.as_deref().map(|name| (name, self.constants.get(name))) {
                Some((name, Some(Some(width)))) if *width == expr.width => name.to_string(),
                Some((name, Some(None))) => format!("({}){name}", expr.width.name()),
                _ => number(*value, expr.width),
            },
            ExprKind::Local(id) => self.locals[id.0].name.clone(),
            ExprKind::Load(place) => self.place(place),
            ExprKind::Neg(inner) => format!("-{}", self.operand(inner)),
            ExprKind::Not(inner) => format!("~{}", self.operand(inner)),
            ExprKind::Cast(inner) => format!("({}){}", expr.width.name(), self.operand(inner)),
            ExprKind::Binary(operator, left, right) => {
                format!("({} {} {})", self.expr(left), binary(*operator), self.expr(right))
            }
        }
    }

    /// An expression behind a prefix operator.
    fn operand(&self, expr: &Expr) -> String {
        match &expr.kind {
            ExprKind::Neg(_) => format!("({})", self.expr(expr)),
            _ => self.expr(expr),
        }
    }
}
