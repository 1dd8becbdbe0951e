//! From `crate::syntax` to `crate::ast`: resolves names, gives types, and refuses what the subset excludes.
//!
//! A refused construct yields `None`, and nothing that depends on it is reported again.

mod condition;
mod constant;
mod declaration;
mod expression;
mod flow;
mod function;
mod object;
mod place;
mod recursion;
mod shared_names;
mod statement;

use std::collections::HashMap;
use std::rc::Rc;

use crate::ast::{self, FunctionId, LocalId, ObjectId, StructId, Width};
use crate::fault::{Fault, Faults};
use crate::preprocess::Preprocessed;
use crate::rule::Rule;
use crate::source::{FileId, Sources, Span};
use crate::syntax::{Item, Name, Specifier};

pub use recursion::check_recursion;
pub use shared_names::check_shared_names;

/// What a file-scope name stands for.
#[derive(Clone, Copy, Debug)]
enum Symbol {
    Object(ObjectId),
    Function(FunctionId),
    EnumConstant(u64),
    /// Its declaration was refused: uses say nothing more.
    Refused,
}

#[derive(Clone, Copy, Debug)]
enum LocalSymbol {
    Local(LocalId),
    Refused,
}

/// A function's type as far as it is known: `None` marks what was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Signature {
    result: Option<Option<Width>>,
    parameters: Option<Vec<Option<Width>>>,
}

/// A call as the recursion check needs it.
#[derive(Clone, Debug)]
pub struct CallEdge {
    pub caller: String,
    pub callee: String,
    pub span: Span,
}

/// A checked file.
#[derive(Debug)]
pub struct CheckedUnit {
    pub unit: ast::Unit,
    pub calls: Vec<CallEdge>,
}

/// The function being checked.
#[derive(Debug, Default)]
struct Scope {
    function: String,
    result: Option<Option<Width>>,
    locals: Vec<ast::Local>,
    blocks: Vec<HashMap<Rc<str>, LocalSymbol>>,
    loops: usize,
}

struct Checker<'a> {
    sources: &'a Sources,
    faults: &'a mut Faults,
    source: &'a Preprocessed,
    unit: ast::Unit,
    symbols: HashMap<Rc<str>, Symbol>,
    signatures: Vec<Signature>,
    tags: HashMap<Rc<str>, Option<StructId>>,
    /// Values of macros; `None` inside: refused.
    macros: HashMap<Rc<str>, Option<constant::Value>>,
    evaluating: Vec<Rc<str>>,
    /// Set while a constant is evaluated: the rule that objects and locals break there.
    constant_rule: Option<Rule>,
    scope: Option<Scope>,
    calls: Vec<CallEdge>,
}

/// Checks the items of one file.
pub fn check_unit(
    sources: &Sources,
    file: FileId,
    layer: Option<String>,
    source: &Preprocessed,
    items: &[Item],
    faults: &mut Faults,
) -> CheckedUnit {
    let unit = ast::Unit {
        path: sources.get(file).path.clone(),
        layer,
        constants: Vec::new(),
        structs: Vec::new(),
        objects: Vec::new(),
        functions: Vec::new(),
    };
    let mut checker = Checker {
        sources,
        faults,
        source,
        unit,
        symbols: HashMap::new(),
        signatures: Vec::new(),
        tags: HashMap::new(),
        macros: HashMap::new(),
        evaluating: Vec::new(),
        constant_rule: None,
        scope: None,
        calls: Vec::new(),
    };
    for item in items {
        checker.item(item);
        checker.complete(item);
    }
    checker.all_macros();
    CheckedUnit { unit: checker.unit, calls: checker.calls }
}

impl Checker<'_> {
    fn fault(&mut self, span: Span, rule: Rule, message: impl Into<String>) {
        self.faults.push(self.sources, Fault { rule, span, message: message.into(), remedy: None });
    }

    fn fault_with(&mut self, span: Span, rule: Rule, message: impl Into<String>, remedy: impl Into<String>) {
        let remedy = Some(remedy.into());
        self.faults.push(self.sources, Fault { rule, span, message: message.into(), remedy });
    }

    /// Something was left out of the tree. That has a reason that was reported; if nothing was, the checker is wrong
    /// and must not accept.
    fn explained(&mut self, span: Span) {
        if self.faults.is_empty() && !self.trusted(span) {
            self.fault(span, Rule::Syntax, "this is refused, and the checker owes the reason: please report it");
        }
    }

    fn trusted(&self, span: Span) -> bool {
        self.sources.trusted(span.file)
    }

    fn in_header(&self, span: Span) -> bool {
        self.sources.get(span.file).path.extension().is_some_and(|extension| extension == "h")
    }

    /// What an accepted item declares is in the tree.
    fn complete(&mut self, item: &Item) {
        match item {
            Item::StaticAssert(..) => {}
            Item::Function(function) => {
                let name = function.declarator.name.as_ref().map(|name| &*name.text);
                let known = self.unit.functions.iter().find(|known| Some(known.name.as_str()) == name);
                if known.is_none_or(|known| known.body.is_none()) {
                    self.explained(function.declarator.span);
                }
            }
            Item::Declaration(declaration) => {
                for init in &declaration.declarators {
                    let name = init.declarator.name.as_ref();
                    let symbol = name.and_then(|name| self.symbols.get(&name.text));
                    if !matches!(symbol, Some(Symbol::Object(_) | Symbol::Function(_))) {
                        self.explained(init.declarator.span);
                    }
                }
            }
        }
    }

    fn item(&mut self, item: &Item) {
        match item {
            Item::Function(function) => self.function_definition(function),
            Item::StaticAssert(condition, span) => self.static_assert(condition, *span),
            Item::Declaration(declaration) => {
                self.base_definition(&declaration.specs);
                for declarator in &declaration.declarators {
                    self.file_declaration(&declaration.specs, declarator);
                }
                if declaration.declarators.is_empty() {
                    self.specifiers(&declaration.specs, &[]);
                    if !matches!(
                        declaration.specs.base,
                        crate::syntax::Base::Struct(_) | crate::syntax::Base::Enum(_) | crate::syntax::Base::Union
                    ) {
                        self.fault(declaration.span, Rule::Statement, "this declares nothing");
                    }
                }
            }
        }
    }

    /// Reports the specifiers that `allowed` does not name.
    fn specifiers(&mut self, specs: &crate::syntax::Specs, allowed: &[Specifier]) {
        for (at, (specifier, span)) in specs.specifiers.iter().enumerate() {
            if allowed.contains(specifier) {
                if specs.specifiers[..at].iter().any(|(earlier, _)| earlier == specifier) {
                    self.fault(*span, Rule::Syntax, "this word stands twice");
                }
                continue;
            }
            match specifier {
                Specifier::Typedef => self.fault(*span, Rule::Typedef, "a typedef"),
                Specifier::Extern => self.fault(*span, Rule::ObjectStatic, "`extern` has no place here"),
                Specifier::Static => self.fault(*span, Rule::LocalScalar, "`static` has no place here"),
                _ => self.fault(*span, Rule::Qualifier, "this qualifier has no place here"),
            }
        }
    }

    /// Enters a file-scope name; reports a second meaning.
    fn declare(&mut self, name: &Name, symbol: Symbol) -> bool {
        if self.clashes_with_macro(name) {
            return false;
        }
        if self.symbols.contains_key(&name.text) {
            self.fault(name.span, Rule::Redeclared, format!("`{}` is declared a second time", name.text));
            return false;
        }
        self.symbols.insert(name.text.clone(), symbol);
        true
    }

    fn clashes_with_macro(&mut self, name: &Name) -> bool {
        let clash = self.source.macros.contains_key(&name.text);
        if clash {
            self.fault(name.span, Rule::MacroRedefined, format!("`{}` is a macro's name", name.text));
        }
        clash
    }
}
