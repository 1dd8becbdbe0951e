//! The C that the checker follows, as an allowlist: what it would misread is refused, with its place and a way to write it.
//!
//! Directives are checked in the source files, words in the preprocessed text, forms in the syntax tree. What only the
//! lowering sees (types, targets of calls, order of evaluation) is refused there.

pub mod directives;
pub mod lexical;

use crate::source_map::Lines;
use crate::Fault;
use lang_c::ast::{
    Declaration, DeclarationSpecifier, DerivedDeclarator, Designator, EnumType, FunctionDefinition, Integer,
    PointerQualifier, StorageClassSpecifier, StructDeclarator, StructType, TranslationUnit, TypeQualifier,
    VaArgExpression,
};
use lang_c::span::{Node, Span};
use lang_c::visit::{self, Visit};

/// Refused words of the driver's own text.
pub fn words(lines: &Lines, text: &str) -> Vec<Fault> {
    let own = lexical::refused(text).into_iter().filter(|(offset, _)| !lines.is_framework(*offset));
    own.map(|(offset, message)| Fault { place: lines.place(offset), message }).collect()
}

/// Refused forms of the driver's own text.
pub fn forms(unit: &TranslationUnit, lines: &Lines) -> Vec<Fault> {
    let mut forms = Forms { lines, faults: Vec::new(), depth: 0 };
    for item in unit.0.iter().filter(|item| !lines.is_framework(item.span.start)) {
        forms.visit_external_declaration(&item.node, &item.span);
    }
    forms.faults
}

struct Forms<'a> {
    lines: &'a Lines<'a>,
    faults: Vec<Fault>,
    /// Functions around: 1 inside of one.
    depth: usize,
}

impl Forms<'_> {
    fn fault(&mut self, span: &Span, message: &str) {
        self.faults.push(Fault { place: self.lines.place(span.start), message: message.to_string() });
    }
}

impl<'ast> Visit<'ast> for Forms<'_> {
    fn visit_function_definition(&mut self, function: &'ast FunctionDefinition, span: &'ast Span) {
        if !function.declarations.is_empty() {
            self.fault(span, "parameters declared behind the brackets: declare them inside");
        }
        self.depth += 1;
        visit::visit_function_definition(self, function, span);
        self.depth -= 1;
    }

    fn visit_declaration(&mut self, declaration: &'ast Declaration, span: &'ast Span) {
        let class = |wanted: StorageClassSpecifier| {
            declaration.specifiers.iter().any(|one| match &one.node {
                DeclarationSpecifier::StorageClass(class) => class.node == wanted,
                _ => false,
            })
        };
        let is_volatile = declaration.specifiers.iter().any(|one| match &one.node {
            DeclarationSpecifier::TypeQualifier(qualifier) => qualifier.node == TypeQualifier::Volatile,
            _ => false,
        });
        if class(StorageClassSpecifier::Typedef) && is_volatile {
            self.fault(span, "a typedef of a volatile type: write `volatile` where the object is declared");
        }
        if class(StorageClassSpecifier::Extern) && self.depth > 0 {
            self.fault(span, "`extern` inside a function: declare it at the top of the file");
        }
        visit::visit_declaration(self, declaration, span);
    }

    fn visit_derived_declarator(&mut self, derived: &'ast DerivedDeclarator, span: &'ast Span) {
        if let DerivedDeclarator::Pointer(qualifiers) = derived {
            let is_volatile = |one: &Node<PointerQualifier>| match &one.node {
                PointerQualifier::TypeQualifier(qualifier) => qualifier.node == TypeQualifier::Volatile,
                PointerQualifier::Extension(_) => false,
            };
            if qualifiers.iter().any(is_volatile) {
                self.fault(span, "a pointer that is volatile itself: only what it points to may be");
            }
        }
        visit::visit_derived_declarator(self, derived, span);
    }

    fn visit_struct_type(&mut self, one: &'ast StructType, span: &'ast Span) {
        if self.depth > 0 && one.declarations.is_some() && one.identifier.is_some() {
            self.fault(span, "a tag inside a function: declare the type at the top of the file");
        }
        visit::visit_struct_type(self, one, span);
    }

    fn visit_struct_declarator(&mut self, one: &'ast StructDeclarator, span: &'ast Span) {
        if one.bit_width.is_some() {
            self.fault(span, "a bit-field: use an integer with masks and shifts");
        }
        visit::visit_struct_declarator(self, one, span);
    }

    fn visit_enum_type(&mut self, one: &'ast EnumType, span: &'ast Span) {
        if self.depth > 0 && !one.enumerators.is_empty() && one.identifier.is_some() {
            self.fault(span, "a tag inside a function: declare the type at the top of the file");
        }
        visit::visit_enum_type(self, one, span);
    }

    fn visit_designator(&mut self, one: &'ast Designator, span: &'ast Span) {
        if matches!(one, Designator::Range(_)) {
            self.fault(span, "a range of elements: name each, or assign in a loop");
        }
        visit::visit_designator(self, one, span);
    }

    fn visit_integer(&mut self, one: &'ast Integer, span: &'ast Span) {
        if one.suffix.imaginary {
            self.fault(span, "an imaginary number");
        }
    }

    fn visit_va_arg_expression(&mut self, one: &'ast VaArgExpression, span: &'ast Span) {
        self.fault(span, "a function with a variable number of arguments: name them");
        visit::visit_va_arg_expression(self, one, span);
    }
}
