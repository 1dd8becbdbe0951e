//! First values: expressions, and lists with designators.

use super::types::{Type, UNKNOWN_LENGTH};
use super::value::{Lvalue, Storage, Value};
use super::Lower;
use crate::expr;
use lang_c::ast::{Designator, Expression, Initializer, InitializerListItem};
use lang_c::span::Node;

/// Elements of an array that is as long as its list.
pub fn length(initializer: &Initializer) -> u64 {
    match initializer {
        Initializer::List(items) => list_length(items),
        Initializer::Expression(_) => UNKNOWN_LENGTH,
    }
}

/// The same for a list. A designator may reach further, a string stands for its characters.
pub fn list_length(items: &[Node<InitializerListItem>]) -> u64 {
    let is_counted = |item: &Node<InitializerListItem>| item.node.designation.is_empty() && !is_string(&item.node);
    if items.iter().all(is_counted) {
        items.len() as u64
    } else {
        UNKNOWN_LENGTH
    }
}

fn is_string(item: &InitializerListItem) -> bool {
    matches!(&item.initializer.node, Initializer::Expression(value) if matches!(value.node, Expression::StringLiteral(_)))
}

impl<'a> Lower<'a> {
    /// A list's item, if it is a constant without a designator.
    pub(super) fn plain_constant(&mut self, item: &'a InitializerListItem) -> Option<u64> {
        match (&item.initializer.node, item.designation.as_slice()) {
            (Initializer::Expression(value), []) if !matches!(value.node, Expression::StringLiteral(_)) => {
                self.constant(value)
            }
            _ => None,
        }
    }

    pub(super) fn initialize(&mut self, place: &Lvalue, initializer: &'a Initializer) {
        match initializer {
            Initializer::Expression(value) => {
                if let (Type::Array(..), Expression::StringLiteral(_)) = (&place.ty, &value.node) {
                    return self.havoc(place);
                }
                let value = self.expression(value);
                let value = self.convert(value, &place.ty.clone());
                self.write(place, value);
            }
            Initializer::List(items) => self.initialize_list(place, items),
        }
    }

    pub(super) fn initialize_list(&mut self, place: &Lvalue, items: &'a [Node<InitializerListItem>]) {
        if place.ty.is_scalar() {
            match items.first() {
                Some(item) => self.initialize(place, &item.node.initializer.node),
                None => self.zero(place),
            }
            return;
        }
        // Values are computed before the object changes; what the list does not name is zero.
        self.zero(place);
        let mut next = 0usize;
        let mut is_deep = false;
        let (mut named, mut operands): (Vec<Vec<String>>, _) = (Vec::new(), Vec::new());
        for item in items {
            self.mark(item.span);
            let mut path = Vec::new();
            let mut target = place.clone();
            let mut designators = item.node.designation.iter().peekable();
            if designators.peek().is_none() {
                if is_deep {
                    self.fault("a value without a designator behind one with several");
                }
                match self.part(place, next) {
                    Some(part) => target = part,
                    None => continue,
                }
                path.push(self.part_name(place, next));
                next += 1;
                // Braces left out inside an aggregate: too many forms for what drivers need.
                if let (false, Initializer::Expression(value)) = (target.ty.is_scalar(), &item.node.initializer.node) {
                    let is_text = matches!((&target.ty, &value.node), (Type::Array(..), Expression::StringLiteral(_)));
                    if !is_text && !self.is_aggregate(&item.node.initializer.node) {
                        self.fault("braces are missing around the values of an inner struct or array");
                        continue;
                    }
                }
            }
            is_deep = item.node.designation.len() > 1;
            for designator in designators {
                match &designator.node {
                    Designator::Member(name) => match self.field(&target, &name.node.name) {
                        Some(part) => {
                            path.push(name.node.name.clone());
                            if let Type::Struct(id) = target.ty {
                                let fields = &self.structs[id].fields;
                                next = fields.iter().position(|one| one.name == name.node.name).unwrap_or(0) + 1;
                            }
                            target = part;
                        }
                        None => self.fault(format!("there is no field `{}`", name.node.name)),
                    },
                    Designator::Index(index) => {
                        let index = self.constant(index).unwrap_or(0) as usize;
                        next = index + 1;
                        path.push(index.to_string());
                        if let Some(part) = self.part(&target, index) {
                            target = part;
                        }
                    }
                    Designator::Range(_) => self.havoc(place),
                }
            }
            // Of a value that a later one replaces, C leaves open whether it is computed at all.
            if named.iter().any(|other| other.starts_with(&path) || path.starts_with(other)) {
                self.fault("an initialiser gives this member two values: keep one");
            }
            named.push(path);
            let from = self.begin_operand();
            self.initialize(&target, &item.node.initializer.node);
            let mut effects = self.effects(from, &Value::Void);
            effects.forget(&target);
            operands.push(effects);
        }
        self.any_order(&operands);
    }

    /// The name of an aggregate's part, as a designator gives it.
    fn part_name(&self, place: &Lvalue, index: usize) -> String {
        match &place.ty {
            Type::Struct(id) => self.structs[*id].fields.get(index).map(|one| one.name.clone()).unwrap_or_default(),
            _ => index.to_string(),
        }
    }

    fn is_aggregate(&mut self, initializer: &'a Initializer) -> bool {
        match initializer {
            Initializer::Expression(value) => matches!(self.type_of(value), Type::Struct(_)),
            Initializer::List(_) => true,
        }
    }

    /// The part of an aggregate with a number.
    pub(super) fn part(&mut self, place: &Lvalue, index: usize) -> Option<Lvalue> {
        let storage = match &place.storage {
            Storage::Fields(all) => all.get(index).cloned().unwrap_or(Storage::Opaque),
            Storage::ByClient(inner) if matches!(place.ty, Type::Array(..)) => self.select_client(inner, index as u64),
            Storage::Cells(inner, followed) => {
                inner.select(followed.map(|own| expr::equal(self.var(own), expr::constant(index as u64, 64))))
            }
            _ => Storage::Opaque,
        };
        let ty = match &place.ty {
            Type::Struct(id) => self.structs[*id].fields.get(index).map(|field| field.ty.clone())?,
            Type::Array(element, _) => (**element).clone(),
            _ => return None,
        };
        Some(Lvalue { ty, storage, object: place.object })
    }

    pub(super) fn type_of(&mut self, expression: &'a Node<Expression>) -> Type {
        let at = self.at.take();
        let lost = self.lost.clone();
        let ty = match self.lvalue_if_any(expression) {
            Some(place) => place.ty,
            None => {
                let value: Value = self.expression(expression);
                value.ty()
            }
        };
        self.at = at;
        self.lost = lost;
        ty
    }
}
