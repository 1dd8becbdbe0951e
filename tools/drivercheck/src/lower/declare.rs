//! Declarations: types from specifiers and declarators, objects, functions.

use super::scan::declared_name;
use super::types::{Field, Struct, Type, BOOL, INT};
use super::value::Value;
use super::{Definition, Entity, Lower};
use lang_c::ast::{
    ArraySize, Declaration, DeclarationSpecifier, Declarator, DeclaratorKind, DerivedDeclarator, EnumType, Extension,
    FunctionDefinition, Initializer, SpecifierQualifier, StorageClassSpecifier, StructDeclaration, StructKind,
    StructType, TypeName, TypeOf, TypeQualifier, TypeSpecifier,
};
use lang_c::span::{Node, Span};
use std::rc::Rc;

/// The framework's tables of a driver's protocols, and its type for the mailboxes of an AWAIT.
const PROTOCOLS: [&str; 2] = ["driver_protocols", "client_protocols"];
const SET: &str = "mail_set";

impl<'a> Lower<'a> {
    pub(super) fn declaration(&mut self, declaration: &'a Declaration, is_file: bool) {
        let base = self.declared_type(&declaration.specifiers);
        let class = declaration.specifiers.iter().find_map(|one| match &one.node {
            DeclarationSpecifier::StorageClass(class) => Some(class.node.clone()),
            _ => None,
        });
        let is_volatile = declaration.specifiers.iter().any(|one| match &one.node {
            DeclarationSpecifier::TypeQualifier(qualifier) => may_change(&qualifier.node),
            _ => false,
        });
        let is_const = declaration.specifiers.iter().any(|one| match &one.node {
            DeclarationSpecifier::TypeQualifier(qualifier) => qualifier.node == TypeQualifier::Const,
            _ => false,
        });
        for one in &declaration.declarators {
            self.mark(one.span);
            let declarator = &one.node.declarator.node;
            let Some(name) = declared_name(declarator) else { continue };
            // The table of protocols is for the framework.
            if is_file && PROTOCOLS.contains(&name) {
                continue;
            }
            let mut ty = self.derived_type(base.clone(), declarator);
            if class == Some(StorageClassSpecifier::Typedef) {
                if matches!(self.find(name), Some(Entity::Typedef(known)) if is_file && *known != ty) {
                    self.fault(format!("`{name}` is another type, too: the files of a driver are read as one"));
                }
                self.declare(name, Entity::Typedef(ty));
                continue;
            }
            if let Type::Function(_) = ty {
                if matches!(self.find(name), Some(Entity::Object(_))) {
                    self.fault(format!("`{name}` is an object, too"));
                }
                self.declare(name, Entity::Function(ty));
                continue;
            }
            let initializer = one.node.initializer.as_ref();
            if let (Type::Array(element, 0), Some(initializer)) = (&ty, initializer) {
                ty = Type::Array(element.clone(), super::initial::length(&initializer.node));
            }
            if let Type::Other(what) = ty {
                self.fault(format!("`{name}` is {what}, which the checker does not know"));
                continue;
            }
            if class == Some(StorageClassSpecifier::Extern) && initializer.is_none() {
                // What another file of the driver has defined stays what it is.
                if is_file && matches!(self.find(name), Some(Entity::Object(_) | Entity::Constant(..))) {
                    continue;
                }
                self.declare(name, Entity::External);
                continue;
            }
            let is_set = matches!(&ty, Type::Struct(id) if self.structs[*id].tag == SET);
            if let (Some(initializer), true, true) =
                (initializer, is_set && is_const, class == Some(StorageClassSpecifier::Static))
            {
                let object = one.span.start;
                self.note_set(object, &initializer.node);
                let place = super::value::Lvalue { object: Some(object), ..super::value::Lvalue::opaque(ty) };
                self.declare(name, Entity::Object(place));
                continue;
            }
            if let (Some(initializer), true) = (initializer, is_file && name == super::ports::PORTS) {
                self.note_ports(&initializer.node);
            }
            if let (Some(initializer), true) = (initializer, is_file && name == super::clients::CLIENTS) {
                self.note_clients(&initializer.node);
            }
            if is_volatile && !matches!(ty, Type::Pointer(_)) {
                if let Some(initializer) = initializer {
                    self.discard(&initializer.node);
                }
                let place = super::value::Lvalue::opaque(ty);
                self.declare(name, Entity::Object(place));
                continue;
            }
            let mut object = one.span.start;
            if is_file {
                let text = self.lines.words(one.span.start, one.span.end);
                self.note_definition(name, initializer.is_some(), text);
                // An object that keeps its first value, declared once more.
                if initializer.is_none() && matches!(self.find(name), Some(Entity::Constant(..))) {
                    continue;
                }
                if let Some(Entity::Object(known)) = self.find(name).cloned() {
                    if known.ty != ty {
                        self.fault(format!("`{name}` is declared with another type, too"));
                    }
                    // Without a value it is only declared once more; with one it is the same object.
                    if initializer.is_none() {
                        continue;
                    }
                    object = known.object.unwrap_or(object);
                }
            }
            let is_static = is_file || class == Some(StorageClassSpecifier::Static);
            self.object(name, ty, object, initializer.map(|one| &one.node), is_static);
            if let (false, Some(Entity::Object(place))) = (is_static, self.find(name).cloned()) {
                if let Some(owner) = self.frames.last().map(|frame| frame.name.clone()) {
                    self.own(&place, &owner);
                }
            }
        }
    }

    pub(super) fn declare_function(&mut self, function: &'a FunctionDefinition, span: Span) {
        let base = self.declared_type(&function.specifiers);
        let ty = self.derived_type(base, &function.declarator.node);
        if let Some(name) = declared_name(&function.declarator.node) {
            let text = self.lines.words(span.start, span.end);
            if self.names.is_primitive(name) && self.primitives.get(name) != Some(&text) {
                self.fault(format!("`{name}` is the framework's, and not as it is there: give yours another name"));
            }
            let is_reserved = self.names.external.iter().any(|own| own == name)
                || ["domain_", "sys_", "__builtin_"].iter().any(|start| name.starts_with(start));
            if is_reserved && !self.lines.is_framework(span.start) {
                self.fault(format!("`{name}` is a name of the framework: give yours another name"));
            }
            self.note_definition(name, true, text);
            self.declare(name, Entity::Function(ty));
        }
    }

    /// Files are read as one text: a name that two of them define, each for itself, would mean the wrong thing in one.
    fn note_definition(&mut self, name: &str, has_value: bool, text: String) {
        let own = Definition { place: self.place.clone(), has_value, text };
        let Some(known) = self.defined.get(name) else {
            self.defined.insert(name.to_string(), own);
            return;
        };
        // The same text comes once for each file that includes it; in one file an object may be declared first.
        let is_same = if known.place == own.place {
            known.text == own.text
        } else {
            known.place.file == own.place.file && !(own.has_value && known.has_value)
        };
        if !is_same {
            let text = format!("`{name}` is defined at {}, too: the files of a driver are read as one", known.place);
            self.fault(text);
        }
        self.defined.insert(name.to_string(), own);
    }

    /// Evaluates an initialiser for its effects.
    fn discard(&mut self, initializer: &'a Initializer) {
        match initializer {
            Initializer::Expression(value) => {
                self.expression(value);
            }
            Initializer::List(items) => items.iter().for_each(|item| self.discard(&item.node.initializer.node)),
        }
    }

    pub(super) fn declared_type(&mut self, specifiers: &'a [Node<DeclarationSpecifier>]) -> Type {
        let types = specifiers.iter().filter_map(|one| match &one.node {
            DeclarationSpecifier::TypeSpecifier(ty) => Some(ty),
            _ => None,
        });
        let packed = specifiers.iter().any(|one| match &one.node {
            DeclarationSpecifier::Extension(all) => is_packed(all),
            _ => false,
        });
        self.base_type(types.collect(), packed)
    }

    fn qualified_type(&mut self, specifiers: &'a [Node<SpecifierQualifier>]) -> Type {
        let types = specifiers.iter().filter_map(|one| match &one.node {
            SpecifierQualifier::TypeSpecifier(ty) => Some(ty),
            _ => None,
        });
        self.base_type(types.collect(), false)
    }

    fn base_type(&mut self, specifiers: Vec<&'a Node<TypeSpecifier>>, packed: bool) -> Type {
        let (mut bits, mut signed, mut longs) = (32, None, 0);
        for one in specifiers {
            match &one.node {
                TypeSpecifier::Void => return Type::Void,
                TypeSpecifier::Bool => return BOOL,
                TypeSpecifier::Char => bits = 8,
                TypeSpecifier::Short => bits = 16,
                TypeSpecifier::Int => {}
                TypeSpecifier::Long => longs += 1,
                TypeSpecifier::Signed => signed = Some(true),
                TypeSpecifier::Unsigned => signed = Some(false),
                TypeSpecifier::Struct(one) => return self.struct_type(&one.node, packed),
                TypeSpecifier::Enum(one) => return self.enum_type(&one.node),
                TypeSpecifier::TypedefName(name) => {
                    return match self.find(&name.node.name) {
                        Some(Entity::Typedef(ty)) => ty.clone(),
                        // What the compiler has built in, such as __builtin_va_list.
                        _ => Type::Other("of a type of the compiler's own"),
                    };
                }
                TypeSpecifier::TypeOf(one) => {
                    return match &one.node {
                        TypeOf::Expression(expression) => self.type_of(expression),
                        TypeOf::Type(name) => self.named_type(&name.node),
                    }
                }
                TypeSpecifier::Atomic(name) => return self.named_type(&name.node),
                TypeSpecifier::Float | TypeSpecifier::Double | TypeSpecifier::Complex => {
                    return Type::Other("a floating-point number")
                }
                TypeSpecifier::TS18661Float(_) => return Type::Other("a floating-point number"),
            }
        }
        if longs > 0 {
            bits = 64;
        }
        Type::Int { bits, signed: signed.unwrap_or(true) }
    }

    pub(super) fn named_type(&mut self, name: &'a TypeName) -> Type {
        let base = self.qualified_type(&name.specifiers);
        match &name.declarator {
            Some(declarator) => self.derived_type(base, &declarator.node),
            None => base,
        }
    }

    pub(super) fn derived_type(&mut self, base: Type, declarator: &'a Declarator) -> Type {
        let mut ty = base;
        // `*f[3](void)`: pointers stand before the name and bind last, the others from the name outwards.
        let (pointers, behind): (Vec<_>, Vec<_>) =
            declarator.derived.iter().partition(|one| matches!(one.node, DerivedDeclarator::Pointer(_)));
        for _ in pointers {
            ty = Type::pointer(ty);
        }
        for one in behind.into_iter().rev() {
            ty = match &one.node {
                DerivedDeclarator::Array(array) => {
                    let count = match &array.node.size {
                        ArraySize::VariableExpression(size) | ArraySize::StaticExpression(size) => {
                            match self.constant(size) {
                                Some(count) => count,
                                None => {
                                    self.fault("the size of the array is not constant");
                                    1
                                }
                            }
                        }
                        ArraySize::Unknown | ArraySize::VariableUnknown => 0,
                    };
                    Type::Array(Rc::new(ty), count)
                }
                _ => Type::Function(Rc::new(ty)),
            };
        }
        match &declarator.kind.node {
            DeclaratorKind::Declarator(inner) => self.derived_type(ty, &inner.node),
            _ => ty,
        }
    }

    fn struct_type(&mut self, one: &'a StructType, packed: bool) -> Type {
        let tag = one.identifier.as_ref().map(|name| name.node.name.clone());
        let known = tag.as_ref().and_then(|tag| self.tags.iter().rev().find_map(|scope| scope.get(tag).copied()));
        let id = known.unwrap_or(self.structs.len());
        if known.is_none() {
            let tag = tag.clone().unwrap_or_else(|| "(unnamed)".to_string());
            self.structs.push(Struct { tag, ..Struct::default() });
            if let (Some(tag), Some(scope)) = (&one.identifier, self.tags.last_mut()) {
                scope.insert(tag.node.name.clone(), id);
            }
        }
        let Some(declarations) = &one.declarations else { return Type::Struct(id) };
        if let (Some(tag), true) = (&tag, self.frames.is_empty()) {
            self.note_definition(&format!("struct {tag}"), true, String::new());
        }
        let mut fields = Vec::new();
        for declaration in declarations {
            let StructDeclaration::Field(field) = &declaration.node else { continue };
            let base = self.qualified_type(&field.node.specifiers);
            let is_volatile = field.node.specifiers.iter().any(|one| match &one.node {
                SpecifierQualifier::TypeQualifier(qualifier) => may_change(&qualifier.node),
                _ => false,
            });
            if field.node.declarators.is_empty() {
                fields.push(Field { name: String::new(), ty: base.clone(), offset: 0, bits: None, is_volatile });
            }
            for declarator in &field.node.declarators {
                let bits = declarator.node.bit_width.as_ref().and_then(|width| self.constant(width));
                let (name, ty) = match &declarator.node.declarator {
                    Some(inner) => {
                        let ty = self.derived_type(base.clone(), &inner.node);
                        (declared_name(&inner.node).unwrap_or_default().to_string(), ty)
                    }
                    None => (String::new(), base.clone()),
                };
                let is_volatile = is_volatile && !matches!(ty, Type::Pointer(_));
                fields.push(Field { name, ty, offset: 0, bits: bits.map(|bits| bits as u32), is_volatile });
            }
        }
        let is_union = one.kind.node == StructKind::Union;
        let mut made = Struct { tag: self.structs[id].tag.clone(), fields, is_union, ..Struct::default() };
        made.place(&self.structs, packed);
        if is_union && made.fields.iter().any(|field| field.ty.has_pointer(&self.structs)) {
            self.fault("a union with a pointer, which can be made of numbers: keep pointers apart");
        }
        if self.structs[id].is_complete && self.structs[id] != made {
            self.fault(format!("`{}` is another type, too: the files of a driver are read as one", made.tag));
        }
        self.structs[id] = made;
        Type::Struct(id)
    }

    fn enum_type(&mut self, one: &'a EnumType) -> Type {
        let mut next = 0u64;
        let mut values = Vec::new();
        for enumerator in &one.enumerators {
            if let Some(expression) = &enumerator.node.expression {
                match self.constant(expression) {
                    Some(value) => next = value,
                    None => {
                        self.fault(format!("the value of `{}` is not constant", enumerator.node.identifier.node.name))
                    }
                }
            }
            values.push(next);
            if self.frames.is_empty() {
                self.note_definition(&enumerator.node.identifier.node.name, true, next.to_string());
            }
            if i32::try_from(next as i64).is_err() {
                self.fault("an enumerator that is no `int`: use a constant of its type");
            }
            let ty = INT;
            self.declare(&enumerator.node.identifier.node.name, Entity::Constant(next, ty));
            next = next.wrapping_add(1);
        }
        // As gcc has it: unsigned, where no value is negative.
        let is_signed = values.iter().any(|value| (*value as i64) < 0);
        let tag = one.identifier.as_ref().map(|name| name.node.name.clone()).unwrap_or_default();
        if one.enumerators.is_empty() {
            return Type::Int { bits: 32, signed: self.signed_enums.contains(&tag) };
        }
        if is_signed && !tag.is_empty() {
            self.signed_enums.insert(tag);
        }
        Type::Int { bits: 32, signed: is_signed }
    }

    /// The value of a constant expression, sign-extended to 64 bits if it is signed.
    pub(super) fn constant(&mut self, expression: &'a Node<lang_c::ast::Expression>) -> Option<u64> {
        let at = self.at.take();
        let value = self.expression(expression);
        self.at = at;
        match value {
            Value::Int(value, ty) => {
                let wide = if ty.is_signed() {
                    crate::expr::sign_extend(value, 64)
                } else {
                    crate::expr::zero_extend(value, 64)
                };
                wide.value()
            }
            _ => None,
        }
    }
}

/// A volatile object may change by itself.
fn may_change(qualifier: &TypeQualifier) -> bool {
    matches!(qualifier, TypeQualifier::Volatile | TypeQualifier::Atomic)
}

fn is_packed(extensions: &[Node<Extension>]) -> bool {
    extensions.iter().any(|one| match &one.node {
        Extension::Attribute(attribute) => attribute.name.node.trim_matches('_') == "packed",
        _ => false,
    })
}
