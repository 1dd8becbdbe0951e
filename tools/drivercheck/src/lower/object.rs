//! Objects: which variables keep them, reading and writing places.

use super::types::Type;
use super::value::{Lvalue, Storage, Value};
use super::{Entity, Lower};
use crate::expr::{self, Expr, Node, Var};
use crate::program::{Op, Step};
use lang_c::ast::Initializer;
use std::rc::Rc;

/// Arrays of up to so many elements are modelled as a whole.
const SMALL_ARRAY: u64 = 16;
/// ... if there are no more values in them: a computed index makes a choice of all elements at each access.
const SMALL_VALUES: u64 = 128;

impl<'a> Lower<'a> {
    /// Declares an object and gives it its first value.
    pub(super) fn object(
        &mut self,
        name: &str,
        ty: Type,
        declared_at: usize,
        initializer: Option<&'a Initializer>,
        is_static: bool,
    ) {
        if let (Type::Pointer(_), Some(Initializer::Expression(value)), false) =
            (&ty, initializer, self.is_changed(name))
        {
            // A pointer that keeps its first value is another name for it.
            let at = if is_static { self.at.take() } else { self.at };
            let value = self.expression(value);
            let value = self.convert(value, &ty);
            if is_static {
                self.at = at;
            }
            if matches!(value, Value::Pointer(_, Some(_), _)) {
                let place = Lvalue { ty, storage: Storage::Alias(Box::new(value)), object: None };
                self.declare(name, Entity::Object(place));
                return;
            }
            let place = self.new_place(name, ty, declared_at);
            self.declare(name, Entity::Object(place.clone()));
            self.first_value(&place, is_static, |lower| lower.write(&place, value.clone()));
            return;
        }
        // An object that keeps its first value is a constant.
        if let (Type::Int { bits: 8.., .. }, Some(Initializer::Expression(value)), true, false) =
            (&ty, initializer, is_static, self.is_changed(name))
        {
            if let Some(value) = self.constant(value) {
                self.declare(name, Entity::Constant(value, ty));
                return;
            }
        }
        if let (Type::Array(..), Some(Initializer::List(items))) = (&ty, initializer) {
            let constants: Option<Vec<u64>> = items.iter().map(|item| self.plain_constant(&item.node)).collect();
            self.constants.extend(constants.map(|constants| (declared_at, constants)));
        }
        let place = self.new_place(name, ty, declared_at);
        self.declare(name, Entity::Object(place.clone()));
        match initializer {
            Some(initializer) => self.first_value(&place, is_static, |lower| {
                lower.initialize(&place, initializer);
            }),
            None if is_static => self.first_value(&place, true, |lower| lower.zero(&place)),
            None => self.havoc(&place),
        }
    }

    /// Runs `write` here, or, for objects of static duration, at the start of the program.
    fn first_value(&mut self, _place: &Lvalue, is_static: bool, write: impl FnOnce(&mut Self)) {
        if !is_static {
            return write(self);
        }
        // Initialisers of static objects are constant: a chain of operations without branches.
        let before = (self.at, self.program.edges.len(), self.program.nodes);
        self.program.nodes += 1;
        self.at = Some(before.2);
        write(self);
        let made: Vec<Step> = self.program.edges.drain(before.1..).flat_map(|edge| edge.steps).collect();
        for step in made {
            // A function's static objects are seen once for each inlined copy.
            if !self.start.iter().any(|known| known.op == step.op) {
                self.start.push(step);
            }
        }
        self.at = before.0;
        self.program.nodes = before.2;
    }

    pub(super) fn new_place(&mut self, name: &str, ty: Type, object: usize) -> Lvalue {
        let storage = if self.escaped.contains(&object) { Storage::Opaque } else { self.storage(name, &ty, object) };
        Lvalue { ty, storage, object: Some(object) }
    }

    fn storage(&mut self, name: &str, ty: &Type, object: usize) -> Storage {
        match ty {
            Type::Int { bits, .. } => self.keep(name, *bits, object),
            Type::Pointer(_) => self.keep(name, 64, object),
            Type::Struct(id) if !self.structs[*id].is_union => {
                let fields = self.structs[*id].fields.clone();
                let all = fields.iter().map(|field| {
                    let path = format!("{name}.{}", field.name);
                    match field.bits {
                        _ if field.is_volatile => Storage::Opaque,
                        Some(bits) if field.ty.is_scalar() => self.keep(&path, bits.max(1), object),
                        _ => self.storage(&path, &field.ty, object),
                    }
                });
                Storage::Fields(Rc::new(all.collect()))
            }
            Type::Array(element, count) if self.is_by_client(*count) => {
                let inner = self.storage(&format!("{name}[CLIENT()]"), element, object);
                self.program.of_client.1.extend(inner.vars());
                Storage::ByClient(Rc::new(inner))
            }
            Type::Array(element, count) if *count <= SMALL_ARRAY && self.values(ty) <= SMALL_VALUES => {
                let all = (0..*count).map(|index| self.storage(&format!("{name}[{index}]"), element, object));
                Storage::Fields(Rc::new(all.collect()))
            }
            Type::Array(element, count) if *count < 1 << 31 => self.cells(name, element, object, *count),
            _ => Storage::Opaque,
        }
    }

    /// How many values are in it, but for those of large arrays.
    fn values(&self, ty: &Type) -> u64 {
        match ty {
            Type::Struct(id) => self.structs[*id].fields.iter().map(|field| self.values(&field.ty)).sum(),
            Type::Array(element, count) if *count <= SMALL_ARRAY => count * self.values(element),
            Type::Array(..) => 0,
            _ => 1,
        }
    }

    pub(super) fn keep(&mut self, name: &str, bits: u32, object: usize) -> Storage {
        let key = (object, name.to_string());
        if let Some(known) = self.kept.get(&key) {
            return Storage::Scalar(*known);
        }
        let var = self.fresh(name, bits);
        self.kept.insert(key, var);
        Storage::Scalar(var)
    }

    /// The value of a place.
    pub(super) fn read(&mut self, place: &Lvalue) -> Value {
        match (&place.ty, &place.storage) {
            (Type::Pointer(_), Storage::Alias(value)) => (**value).clone(),
            (Type::Int { bits, .. }, Storage::Scalar(var)) => {
                let value = widen(self.var(*var), *bits, place.ty.is_signed());
                Value::Int(value, place.ty.clone())
            }
            (Type::Pointer(_), Storage::Scalar(var)) => Value::Pointer(self.var(*var), None, place.ty.clone()),
            (
                Type::Int { bits, .. },
                Storage::OneOf(_) | Storage::Partly(_) | Storage::Slot(_) | Storage::Loose(..),
            ) => {
                let value = self.load(&place.storage, *bits);
                Value::Int(widen(value, *bits, place.ty.is_signed()), place.ty.clone())
            }
            (Type::Pointer(_), Storage::OneOf(_) | Storage::Partly(_)) => {
                let value = self.load(&place.storage, 64);
                Value::Pointer(value, None, place.ty.clone())
            }
            (Type::Int { bits, .. }, _) => Value::Int(self.guess(place, *bits), place.ty.clone()),
            (Type::Pointer(_), _) => Value::Pointer(self.guess(place, 64), None, place.ty.clone()),
            (Type::Array(element, _), _) => {
                let ty = Type::Pointer(element.clone());
                self.lose(place);
                Value::Pointer(self.address(place), None, ty)
            }
            (Type::Struct(_), _) => Value::Aggregate(Box::new(place.clone())),
            _ => Value::Void,
        }
    }

    /// A value that is not modelled. What nothing but the driver changes has some value that the model does not know.
    fn guess(&mut self, place: &Lvalue, bits: u32) -> Expr {
        let value = self.any("(unknown)", bits);
        if let (true, Node::Var { var, .. }) = (place.object.is_some(), value.node()) {
            self.program.vars[var as usize].is_guess = true;
        }
        value
    }

    /// The value of a scalar.
    fn load(&mut self, storage: &Storage, bits: u32) -> Expr {
        match storage {
            Storage::Scalar(var) => self.var(*var),
            Storage::OneOf(all) => {
                let mut all = all.iter().rev();
                let last = all.next().map(|(_, var)| self.var(*var));
                let none = || expr::constant(0, bits);
                let value =
                    all.fold(last.unwrap_or_else(none), |rest, (is, var)| expr::choose(*is, self.var(*var), rest));
                let copy = self.fresh("(element)", value.bits());
                self.assign(copy, value);
                self.var(copy)
            }
            Storage::Partly(all) => {
                let rest = self.any("(unknown)", bits);
                if let Node::Var { var, .. } = rest.node() {
                    self.program.vars[var as usize].is_guess = true;
                }
                all.iter().rev().fold(rest, |rest, (is, var)| expr::choose(*is, self.var(*var), rest))
            }
            Storage::Slot(slot) => self.load_slot(slot),
            Storage::Loose(bits, key) => {
                let value = self.any("(unknown)", *bits);
                if let Node::Var { var, .. } = value.node() {
                    self.loads.insert(var, key.clone());
                    self.program.vars[var as usize].is_guess = true;
                }
                value
            }
            _ => self.any("(unknown)", bits),
        }
    }

    fn store(&mut self, storage: &Storage, value: Expr) {
        match storage {
            Storage::Scalar(var) => {
                let bits = self.program.vars[*var as usize].bits;
                self.assign(*var, expr::cut(value, bits));
            }
            Storage::OneOf(all) | Storage::Partly(all) => {
                for (is, var) in all.iter() {
                    let bits = self.program.vars[*var as usize].bits;
                    let after = expr::choose(*is, expr::cut(value, bits), self.var(*var));
                    self.assign(*var, after);
                }
            }
            Storage::Slot(slot) => {
                let bits = self.program.vars[slot.var as usize].bits;
                self.stored.push((slot.key.clone(), value));
                self.store_slot(slot, expr::cut(value, bits));
            }
            Storage::Loose(_, key) => self.stored.push((key.clone(), value)),
            _ => {}
        }
    }

    pub(super) fn write(&mut self, place: &Lvalue, value: Value) {
        match (&place.storage, value) {
            (
                Storage::OneOf(_) | Storage::Partly(_) | Storage::Slot(_) | Storage::Loose(..),
                Value::Int(value, _) | Value::Pointer(value, None, _),
            ) => {
                self.store(&place.storage, value);
            }
            (Storage::OneOf(_) | Storage::Partly(_), Value::Pointer(value, Some(target), _)) => {
                self.lose(&target);
                self.store(&place.storage, value);
            }
            (Storage::Scalar(var), Value::Int(value, _) | Value::Pointer(value, None, _)) => {
                let bits = self.program.vars[*var as usize].bits;
                self.assign(*var, expr::cut(value, bits));
            }
            (Storage::Scalar(var), Value::Pointer(value, Some(target), _)) => {
                self.lose(&target);
                self.assign(*var, value);
            }
            (Storage::Fields(own), Value::Aggregate(other)) => match &other.storage {
                Storage::Fields(theirs) if theirs.len() == own.len() => {
                    for (own, theirs) in std::iter::zip(own.iter(), theirs.iter()) {
                        self.copy(own, theirs);
                    }
                }
                _ => self.havoc(place),
            },
            (Storage::Fields(_), _) => self.havoc(place),
            (_, Value::Pointer(_, Some(target), _)) => self.lose(&target),
            _ => {}
        }
    }

    fn copy(&mut self, to: &Storage, from: &Storage) {
        match (to, from) {
            (Storage::Fields(to), Storage::Fields(from)) if to.len() == from.len() => {
                for (to, from) in std::iter::zip(to.iter(), from.iter()) {
                    self.copy(to, from);
                }
            }
            (
                Storage::Scalar(_) | Storage::OneOf(_) | Storage::Partly(_) | Storage::Slot(_) | Storage::Loose(..),
                Storage::Scalar(_) | Storage::OneOf(_) | Storage::Partly(_) | Storage::Slot(_) | Storage::Loose(..),
            ) => {
                let bits = match from {
                    Storage::Loose(bits, _) => *bits,
                    _ => from.vars().first().map_or(64, |var| self.program.vars[*var as usize].bits),
                };
                let value = self.load(from, bits);
                self.store(to, value);
            }
            _ => self.havoc_storage(to),
        }
    }

    /// The place may hold anything from here.
    pub(super) fn havoc(&mut self, place: &Lvalue) {
        self.havoc_storage(&place.storage);
    }

    fn havoc_storage(&mut self, storage: &Storage) {
        match storage {
            Storage::Scalar(var) => self.op(Op::Havoc(*var)),
            Storage::Fields(all) => all.iter().for_each(|one| self.havoc_storage(one)),
            Storage::OneOf(all) | Storage::Partly(all) => all.iter().for_each(|(_, var)| self.op(Op::Havoc(*var))),
            Storage::ByClient(inner) | Storage::Cells(inner, _) => self.havoc_storage(inner),
            Storage::Slot(slot) => self.op(Op::Havoc(slot.var)),
            Storage::Loose(..) | Storage::Alias(_) | Storage::Opaque => {}
        }
    }

    pub(super) fn zero(&mut self, place: &Lvalue) {
        self.zero_storage(&place.storage);
    }

    pub(super) fn zero_storage(&mut self, storage: &Storage) {
        match storage {
            Storage::Scalar(var) => {
                let bits = self.program.vars[*var as usize].bits;
                self.assign(*var, expr::constant(0, bits));
            }
            Storage::Fields(all) => all.iter().for_each(|one| self.zero_storage(one)),
            Storage::ByClient(inner) | Storage::Cells(inner, _) => self.zero_storage(inner),
            Storage::OneOf(_) | Storage::Partly(_) => self.store(storage, expr::constant(0, 64)),
            // No request moves there by this.
            Storage::Slot(slot) => {
                let own = self.var(slot.var);
                let after = expr::choose(slot.is_followed(), expr::constant(0, own.bits()), own);
                self.assign(slot.var, after);
            }
            Storage::Loose(..) | Storage::Alias(_) | Storage::Opaque => {}
        }
    }

    /// The address of a place: some number, different for different objects, never null.
    pub(super) fn address(&mut self, place: &Lvalue) -> Expr {
        match first_scalar(&place.storage) {
            Some(var) => expr::constant(0x5000_0000_0000_0000 + (u64::from(var) << 4), 64),
            None => {
                let address = self.any("(address)", 64);
                self.op(Op::Assume(expr::non_zero(address)));
                address
            }
        }
    }

    /// A field of a struct, found by name, also inside anonymous members.
    pub(super) fn field(&mut self, place: &Lvalue, name: &str) -> Option<Lvalue> {
        let Type::Struct(id) = place.ty else { return None };
        let fields = self.structs[id].fields.clone();
        for (index, field) in fields.iter().enumerate() {
            let storage = match &place.storage {
                Storage::Fields(all) => all.get(index).cloned().unwrap_or(Storage::Opaque),
                _ => Storage::Opaque,
            };
            let inner = Lvalue { ty: field.ty.clone(), storage, object: place.object };
            if field.name == name {
                return Some(inner);
            }
            if field.name.is_empty() {
                if let Some(found) = self.field(&inner, name) {
                    return Some(found);
                }
            }
        }
        None
    }
}

fn widen(value: Expr, bits: u32, signed: bool) -> Expr {
    if signed {
        expr::sign_extend(value, bits)
    } else {
        expr::zero_extend(value, bits)
    }
}

fn first_scalar(storage: &Storage) -> Option<Var> {
    match storage {
        Storage::Scalar(var) => Some(*var),
        Storage::Fields(all) => all.first().and_then(first_scalar),
        _ => None,
    }
}
