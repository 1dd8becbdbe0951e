//! File-scope declarations: types, then objects or functions.

use super::{Checker, Symbol};
use crate::ast::Width;
use crate::rule::Rule;
use crate::syntax::{Base, Declarator, InitDeclarator, Part, Specifier, Specs};

/// What to write instead of a type outside the subset.
fn instead_of(name: &str) -> &'static str {
    match name {
        "bool" | "_Bool" => "use uint32_t, 0 for false and 1 for true",
        "size_t" | "uintptr_t" | "unsigned long" | "uint_fast64_t" => "use uint64_t",
        "char" | "unsigned char" => "use uint8_t in storage, uint32_t in arithmetic",
        "unsigned" | "unsigned int" => "use uint32_t",
        _ => Rule::Type.info().remedy,
    }
}

impl Checker<'_> {
    /// A struct or enum body that stands in the specifiers.
    pub(super) fn base_definition(&mut self, specs: &Specs) {
        match &specs.base {
            Base::Struct(spec) if spec.fields.is_some() => {
                self.struct_definition(spec, specs.base_span);
            }
            Base::Enum(spec) => self.enumeration(spec),
            _ => {}
        }
    }

    pub(super) fn file_declaration(&mut self, specs: &Specs, init: &InitDeclarator) {
        if let Some(bits) = init.bits {
            self.fault(bits, Rule::BitField, "a width in bits");
        }
        if specs.find(Specifier::Typedef).is_some() {
            self.specifiers(specs, &[]);
            return;
        }
        match init.declarator.parts.first() {
            Some(Part::Function(_)) => self.prototype(specs, &init.declarator),
            _ => self.object(specs, init),
        }
    }

    /// Reports pointers and function pointers among a declarator's parts; true if there are none.
    pub(super) fn no_pointers(&mut self, declarator: &Declarator) -> bool {
        let pointer = declarator.parts.iter().position(|part| matches!(part, Part::Pointer(_)));
        let Some(at) = pointer else { return true };
        let name = declarator.name.as_ref().map_or("this".to_string(), |name| format!("`{}`", name.text));
        if matches!(declarator.parts.get(at + 1), Some(Part::Function(_))) {
            self.fault(declarator.span, Rule::FunctionPointer, format!("{name} is a function pointer"));
        } else if let Part::Pointer(span) = declarator.parts[at] {
            self.fault(span, Rule::Pointer, format!("{name} is a pointer"));
        }
        false
    }

    /// The scalar type the specifiers name; reports any other.
    pub(super) fn scalar_base(&mut self, specs: &Specs, what: &str) -> Option<Width> {
        match &specs.base {
            Base::Scalar(width) => return Some(*width),
            Base::Void => self.fault(specs.base_span, Rule::Type, format!("{what} cannot be void")),
            Base::Missing => self.fault(specs.base_span, Rule::Type, format!("{what} has no type")),
            Base::Enum(_) => {
                let remedy = "keep the enum for its constants and use uint32_t as the type";
                self.fault_with(specs.base_span, Rule::Type, format!("{what} has an enum as its type"), remedy);
            }
            Base::Other(name) => {
                let message = format!("`{name}` is no type of the subset");
                self.fault_with(specs.base_span, Rule::Type, message, instead_of(name));
            }
            Base::Struct(_) => self.fault(specs.base_span, Rule::LocalScalar, format!("{what} is a struct")),
            // The parser reported it.
            Base::Union => {}
        }
        None
    }

    /// A scalar's type, of a declarator that must be a bare name.
    pub(super) fn scalar_declaration(&mut self, specs: &Specs, declarator: &Declarator, what: &str) -> Option<Width> {
        if !self.no_pointers(declarator) {
            // `void *p` and `char *p`: the pointer is the fault that matters.
            return None;
        }
        let mut plain = true;
        for part in &declarator.parts {
            plain = false;
            match part {
                Part::Array(_, span) => self.fault(*span, Rule::LocalScalar, format!("{what} is an array")),
                Part::Function(parameters) => {
                    self.fault(parameters.span, Rule::Prototype, format!("{what} is a function"));
                }
                Part::Pointer(_) => {}
            }
        }
        let width = self.scalar_base(specs, what);
        width.filter(|_| plain)
    }

    pub(super) fn refuse_symbol(&mut self, declarator: &Declarator) {
        if let Some(name) = &declarator.name {
            self.symbols.entry(name.text.clone()).or_insert(Symbol::Refused);
        }
    }
}
