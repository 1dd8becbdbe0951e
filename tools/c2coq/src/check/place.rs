//! Places: one scalar of an object, by index, field and inner index.

use super::{Checker, LocalSymbol, Symbol};
use crate::ast::{self, ElementType, FieldId, Place, Width};
use crate::rule::Rule;
use crate::source::Span;
use crate::syntax::{Expr, ExprKind, Name};

enum Suffix<'a> {
    Index(&'a Expr),
    Field(&'a Name),
}

/// Takes `a[i].f[k]` apart; `None` if what stands at the left is no name.
fn take_apart<'a>(expr: &'a Expr, suffixes: &mut Vec<Suffix<'a>>) -> Option<&'a std::rc::Rc<str>> {
    let name = match &expr.kind {
        ExprKind::Name(name) => return Some(name),
        ExprKind::Paren(inner) => return take_apart(inner, suffixes),
        ExprKind::Index(array, index) => {
            let name = take_apart(array, suffixes);
            suffixes.push(Suffix::Index(index));
            name
        }
        ExprKind::Field(object, field) => {
            let name = take_apart(object, suffixes);
            suffixes.push(Suffix::Field(field));
            name
        }
        _ => None,
    };
    name
}

impl Checker<'_> {
    /// The scalar an expression of names, indices and fields denotes.
    pub(super) fn place(&mut self, expr: &Expr) -> Option<(Place, Width)> {
        let mut suffixes = Vec::new();
        let Some(name) = take_apart(expr, &mut suffixes) else {
            self.fault(expr.span, Rule::Place, "indices and fields follow an object's name only");
            self.inner_indices(&suffixes);
            return None;
        };
        match self.local(name) {
            Some(LocalSymbol::Local(_)) => {
                self.fault(expr.span, Rule::Place, format!("local `{name}` is a scalar: it has no index or field"));
                self.inner_indices(&suffixes);
                return None;
            }
            Some(LocalSymbol::Refused) => {
                self.inner_indices(&suffixes);
                return None;
            }
            None => {}
        }
        match self.symbols.get(name).copied() {
            Some(Symbol::Object(id)) => {
                let object = self.unit.objects[id.0].clone();
                self.object_place(expr.span, id, &object, &suffixes)
            }
            found => {
                match found {
                    Some(Symbol::Refused) => {}
                    Some(_) => {
                        self.fault(expr.span, Rule::Place, format!("`{name}` is no object"));
                    }
                    None if self.source.macros.contains_key(name) => {
                        self.fault(expr.span, Rule::Place, format!("`{name}` is a constant: it has no index or field"));
                    }
                    None => self.undeclared(name, expr.span),
                }
                self.inner_indices(&suffixes);
                None
            }
        }
    }

    /// Looks for faults in the indices of a place that was refused.
    fn inner_indices(&mut self, suffixes: &[Suffix]) {
        for suffix in suffixes {
            if let Suffix::Index(index) = suffix {
                self.operand(index);
            }
        }
    }

    fn object_place(
        &mut self,
        span: Span,
        id: ast::ObjectId,
        object: &ast::Object,
        suffixes: &[Suffix],
    ) -> Option<(Place, Width)> {
        let mut place = Place { object: id, index: None, field: None, element: None, span };
        match (object.size, object.element, suffixes) {
            (None, ElementType::Scalar(width), []) => Some((place, width)),
            (Some(size), ElementType::Scalar(width), [Suffix::Index(index)]) => {
                place.index = Some(self.index(index, size)?);
                Some((place, width))
            }
            (Some(size), ElementType::Array(width, inner), [Suffix::Index(index), Suffix::Index(element)]) => {
                let index = self.index(index, size);
                let element = self.index(element, inner);
                place.index = Some(index?);
                place.element = Some(element?);
                Some((place, width))
            }
            (Some(size), ElementType::Struct(shape), [Suffix::Index(index), Suffix::Field(name), rest @ ..]) => {
                let index = self.index(index, size);
                let (field, width, inner) = self.field(shape, name)?;
                match (inner, rest) {
                    (None, []) => {}
                    (Some(size), [Suffix::Index(element)]) => place.element = Some(self.index(element, size)?),
                    (Some(_), _) => {
                        self.fault(
                            span,
                            Rule::Place,
                            format!("field `{}` is an array: one index follows it", name.text),
                        );
                        return None;
                    }
                    (None, _) => {
                        self.fault(span, Rule::Place, format!("field `{}` is a scalar: nothing follows it", name.text));
                        return None;
                    }
                }
                place.index = Some(index?);
                place.field = Some(field);
                Some((place, width))
            }
            (size, element, _) => {
                let form = match (size, element) {
                    (None, _) => "a scalar: nothing follows it".to_string(),
                    (_, ElementType::Scalar(_)) => "an array of scalars: one index follows it".to_string(),
                    (_, ElementType::Array(..)) => "an array of arrays: two indices follow it".to_string(),
                    (_, ElementType::Struct(_)) => "an array of structs: an index and a field follow it".to_string(),
                };
                self.fault(span, Rule::Place, format!("`{}` is {form}", object.name));
                self.inner_indices(suffixes);
                None
            }
        }
    }

    fn field(&mut self, shape: ast::StructId, name: &Name) -> Option<(FieldId, Width, Option<u64>)> {
        let fields = &self.unit.structs[shape.0].fields;
        if let Some(at) = fields.iter().position(|field| *field.name == *name.text) {
            return Some((FieldId(at), fields[at].width, fields[at].size));
        }
        let complete = self.unit.structs[shape.0].complete;
        if complete {
            self.fault(name.span, Rule::Undeclared, format!("the struct has no field `{}`", name.text));
        }
        None
    }

    fn index(&mut self, expr: &Expr, size: u64) -> Option<Box<ast::Expr>> {
        let operand = self.operand(expr)?;
        if !self.arithmetic(&operand, "this index") {
            return None;
        }
        if let Some(value) = operand.constant().filter(|value| *value >= size) {
            let message = format!("index {value} stands outside an array of {size}");
            self.fault(operand.span(), Rule::IndexRange, message);
            return None;
        }
        let width = match &operand {
            super::constant::Operand::Typed(typed) => typed.width,
            super::constant::Operand::Plain(..) => Width::U32,
        };
        self.coerce(operand, width, "this index").map(Box::new)
    }
}
