//! Prototypes, function definitions, locals and calls.

use std::collections::HashMap;
use std::rc::Rc;

use super::constant::Operand;
use super::{CallEdge, Checker, LocalSymbol, Scope, Signature, Symbol};
use crate::ast::{self, FunctionId, LocalId, Width};
use crate::preprocess::MacroKind;
use crate::rule::Rule;
use crate::source::Span;
use crate::syntax::{Base, Declarator, Expr, ExprKind, Function, Name, Parameters, Part, Specifier, Specs};

impl Checker<'_> {
    /// The type of a declared function; reports everything about it that is refused.
    fn signature(&mut self, specs: &Specs, declarator: &Declarator, parameters: &Parameters) -> Signature {
        let rest = Declarator { parts: declarator.parts[1..].to_vec(), ..declarator.clone() };
        let result = match (&specs.base, &rest.parts[..]) {
            (Base::Void, []) => Some(None),
            _ => self.scalar_declaration(specs, &rest, "a function's result").map(Some),
        };
        if parameters.unspecified {
            let message = "`()` says nothing about the parameters";
            self.fault_with(parameters.span, Rule::Prototype, message, "write (void)");
        }
        if let Some(span) = parameters.variadic {
            self.fault(span, Rule::Variadic, "a list of parameters without end");
        }
        let mut widths = Vec::new();
        for parameter in &parameters.list {
            self.specifiers(&parameter.specs, &[Specifier::Const]);
            widths.push(self.scalar_declaration(&parameter.specs, &parameter.declarator, "a parameter"));
        }
        let known = !parameters.unspecified && parameters.variadic.is_none();
        Signature { result, parameters: known.then_some(widths) }
    }

    pub(super) fn prototype(&mut self, specs: &Specs, declarator: &Declarator) {
        self.specifiers(specs, &[Specifier::Static, Specifier::Extern, Specifier::Inline]);
        let is_static = specs.find(Specifier::Static).is_some();
        if let Some(name) = &declarator.name {
            if !is_static && !self.in_header(name.span) {
                let message = format!("`{}` is declared here, not by a header", name.text);
                let remedy = "include the header of the layer that defines it; make it static if this file does";
                self.fault_with(name.span, Rule::Prototype, message, remedy);
            }
        }
        self.declare_function(specs, declarator, is_static);
    }

    /// Enters a function's name, or compares with its earlier declaration.
    fn declare_function(&mut self, specs: &Specs, declarator: &Declarator, is_static: bool) -> Option<FunctionId> {
        let Some(Part::Function(parameters)) = declarator.parts.first() else { return None };
        let signature = self.signature(specs, declarator, parameters);
        let Some(name) = &declarator.name else {
            self.fault(parameters.span, Rule::Syntax, "a function's name is missing before this");
            return None;
        };
        if let Some(Symbol::Function(id)) = self.symbols.get(&name.text).copied() {
            if !agree(&self.signatures[id.0], &signature) {
                let message = format!("`{}` was declared with another type before", name.text);
                self.fault(name.span, Rule::Prototype, message);
            }
            if is_static && !self.unit.functions[id.0].is_static {
                let message = format!("`{}` is static here, but was declared visible to other files before", name.text);
                self.fault(name.span, Rule::Prototype, message);
            }
            return Some(id);
        }
        let id = FunctionId(self.unit.functions.len());
        if !self.declare(name, Symbol::Function(id)) {
            return None;
        }
        let parameters = signature.parameters.iter().flatten().map(|width| width.unwrap_or(Width::U64)).collect();
        self.unit.functions.push(ast::Function {
            name: name.text.to_string(),
            is_static,
            result: signature.result.flatten(),
            parameters,
            locals: Vec::new(),
            body: None,
            span: name.span,
        });
        self.signatures.push(signature);
        Some(id)
    }

    pub(super) fn function_definition(&mut self, function: &Function) {
        let Function { specs, declarator, body } = function;
        self.base_definition(specs);
        self.specifiers(specs, &[Specifier::Static, Specifier::Inline, Specifier::Extern]);
        let is_static = specs.find(Specifier::Static).is_some();
        let declared = declarator.name.as_ref().is_some_and(|name| self.symbols.contains_key(&name.text));
        let id = self.declare_function(specs, declarator, is_static);
        let Some(name) = &declarator.name else { return };
        if self.in_header(name.span) {
            self.fault(name.span, Rule::HeaderFunction, format!("`{}` has a body in a header", name.text));
            return;
        }
        if !is_static && !declared && !self.in_header(name.span) {
            let message = format!("`{}` is visible to other files, but no header declares it", name.text);
            let remedy = "make it static, or declare it in the layer's header";
            self.fault_with(name.span, Rule::Prototype, message, remedy);
        }
        if let Some(span) = specs.find(Specifier::Inline).filter(|_| !is_static) {
            self.fault(span, Rule::Qualifier, "`inline` without `static`");
        }
        let (Some(body), Some(Part::Function(parameters))) = (body, declarator.parts.first()) else { return };
        let signature = id.map(|id| self.signatures[id.0].clone());
        let result = signature.as_ref().and_then(|signature| signature.result);
        self.scope =
            Some(Scope { function: name.text.to_string(), result, blocks: vec![HashMap::new()], ..Scope::default() });
        let widths = signature.and_then(|signature| signature.parameters).unwrap_or_default();
        for (at, parameter) in parameters.list.iter().enumerate() {
            match &parameter.declarator.name {
                Some(name) => {
                    self.add_local(name, widths.get(at).copied().flatten(), &parameter.specs);
                }
                None => {
                    self.fault(parameter.declarator.span, Rule::Prototype, "a parameter of a definition has a name");
                }
            }
        }
        let statements = self.block(body);
        if matches!(result, Some(Some(_))) && self.falls_through(&body.statements) {
            let end = Span { start: body.span.end.saturating_sub(1), ..body.span };
            self.fault(end, Rule::MissingReturn, format!("`{}` can end without a return", name.text));
        }
        let scope = self.scope.take().unwrap_or_default();
        let Some(id) = id else { return };
        let known = &mut self.unit.functions[id.0];
        if known.body.is_some() {
            self.fault(name.span, Rule::Redeclared, format!("`{}` is defined a second time", name.text));
            return;
        }
        known.body = Some(statements);
        known.locals = scope.locals;
        known.is_static |= is_static;
        known.span = name.span;
    }

    /// Enters a local into the innermost block. `None` marks one whose type was refused.
    pub(super) fn add_local(&mut self, name: &Name, width: Option<Width>, specs: &Specs) -> Option<LocalId> {
        if self.clashes_with_macro(name) {
            return None;
        }
        if self.hides_another(&name.text) {
            let message = format!("`{}` hides another thing of that name", name.text);
            self.fault(name.span, Rule::Redeclared, message);
        }
        let scope = self.scope.as_mut()?;
        let id = LocalId(scope.locals.len());
        let symbol = match width {
            Some(width) => {
                let constant = specs.find(Specifier::Const).is_some();
                scope.locals.push(ast::Local { name: name.text.to_string(), width, constant, span: name.span });
                LocalSymbol::Local(id)
            }
            None => LocalSymbol::Refused,
        };
        scope.blocks.last_mut()?.insert(name.text.clone(), symbol);
        width.map(|_| id)
    }

    fn hides_another(&self, name: &Rc<str>) -> bool {
        let file_scope = self.symbols.get(name);
        self.local(name).is_some() || file_scope.is_some_and(|symbol| !matches!(symbol, Symbol::Refused))
    }

    pub(super) fn local(&self, name: &Rc<str>) -> Option<LocalSymbol> {
        let blocks = &self.scope.as_ref()?.blocks;
        blocks.iter().rev().find_map(|block| block.get(name)).copied()
    }

    /// A call, wherever it stands; the caller refuses it where none may.
    pub(super) fn call(&mut self, expr: &Expr) -> Option<ast::Call> {
        let ExprKind::Call(callee, arguments) = &expr.bare().kind else { return None };
        let id = self.callee(callee);
        let parameters = id.and_then(|id| self.signatures[id.0].parameters.clone());
        let Some(parameters) = parameters else {
            for argument in arguments {
                self.operand(argument);
            }
            self.foreign_primitive(id, expr.span);
            return None;
        };
        let id = id?;
        self.foreign_primitive(Some(id), expr.span);
        let name = self.unit.functions[id.0].name.clone();
        if let Some(scope) = &self.scope {
            let caller = scope.function.clone();
            self.calls.push(CallEdge { caller, callee: name.clone(), span: expr.span });
        }
        if arguments.len() != parameters.len() {
            let (have, want) = (arguments.len(), parameters.len());
            self.fault(expr.span, Rule::Prototype, format!("`{name}` takes {want} arguments, here are {have}"));
        }
        let mut checked = Vec::new();
        for (at, argument) in arguments.iter().enumerate() {
            let operand = self.operand(argument);
            let Some(width) = parameters.get(at).copied().flatten() else { continue };
            let what = format!("argument {} of `{name}`", at + 1);
            checked.extend(operand.and_then(|operand| self.coerce(operand, width, &what)));
        }
        let complete = checked.len() == parameters.len();
        complete.then_some(ast::Call { function: id, arguments: checked, span: expr.span })
    }

    /// A primitive whose type is outside the subset: its declaration is trusted, so its use is reported.
    fn foreign_primitive(&mut self, id: Option<FunctionId>, span: Span) {
        let Some(id) = id else { return };
        let Signature { result, parameters } = &self.signatures[id.0];
        let known = result.is_some() && parameters.as_ref().is_some_and(|widths| widths.iter().all(Option::is_some));
        let function = &self.unit.functions[id.0];
        if !known && self.trusted(function.span) {
            let message = format!("`{}` takes or returns something that is no unsigned scalar", function.name);
            self.fault(span, Rule::Prototype, message);
        }
    }

    fn callee(&mut self, callee: &Expr) -> Option<FunctionId> {
        let ExprKind::Name(name) = &callee.bare().kind else {
            self.fault(callee.span, Rule::FunctionPointer, "what is called is no function's name");
            return None;
        };
        if self.local(name).is_some() {
            self.fault(callee.span, Rule::FunctionPointer, format!("`{name}` is a local, not a function"));
            return None;
        }
        match self.symbols.get(name).copied() {
            Some(Symbol::Function(id)) => Some(id),
            Some(Symbol::Refused) => None,
            Some(_) => {
                self.fault(callee.span, Rule::FunctionPointer, format!("`{name}` is no function"));
                None
            }
            None => {
                match self.source.macros.get(name).map(|found| (found.kind, found.span)) {
                    // The definition was reported already, unless it stands in a trusted file.
                    Some((MacroKind::Function, span)) if !self.trusted(span) => {}
                    Some((MacroKind::Function, _)) => {
                        self.fault(callee.span, Rule::FunctionMacro, format!("`{name}` is a macro with arguments"));
                    }
                    Some(_) => self.fault(callee.span, Rule::FunctionPointer, format!("`{name}` is no function")),
                    None => self.undeclared(name, callee.span),
                }
                None
            }
        }
    }

    /// A call's result type; reports a void one where a value is wanted.
    pub(super) fn call_result(&mut self, call: &ast::Call) -> Option<Width> {
        let result = self.signatures[call.function.0].result?;
        if result.is_none() {
            let name = self.unit.functions[call.function.0].name.clone();
            self.fault(call.span, Rule::Return, format!("`{name}` has no result"));
        }
        result
    }

    /// The right-hand side of an assignment or initialiser: a value, or one call.
    pub(super) fn right_hand_side(&mut self, expr: &Expr, width: Option<Width>, what: &str) -> Option<ast::Rhs> {
        if !matches!(expr.bare().kind, ExprKind::Call(..)) {
            let operand = self.operand(expr)?;
            return self.coerce(operand, width?, what).map(ast::Rhs::Expr);
        }
        let call = self.call(expr)?;
        let result = self.call_result(&call)?;
        let width = width?;
        if result != width {
            let name = &self.unit.functions[call.function.0].name;
            let message = format!("{what} is a {}, but `{name}` returns a {}", width.name(), result.name());
            let remedy = format!("receive it in a {} local, then cast that", result.name());
            self.fault_with(call.span, Rule::ImplicitConversion, message, remedy);
            return None;
        }
        Some(ast::Rhs::Call(call))
    }

    /// An operand out of a value that is computed already.
    pub(super) fn typed(expr: ast::Expr) -> Operand {
        Operand::Typed(expr)
    }
}

/// Two declarations agree as far as both are known.
fn agree(a: &Signature, b: &Signature) -> bool {
    let results = a.result.is_none() || b.result.is_none() || a.result == b.result;
    let parameters = match (&a.parameters, &b.parameters) {
        (Some(a), Some(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.is_none() || b.is_none() || a == b),
        _ => true,
    };
    results && parameters
}
