//! Values and places of the C program during lowering.

use super::requests::Key;
use super::types::Type;
use crate::expr::{Expr, Var};
use std::rc::Rc;

/// What keeps an object's value in the model.
#[derive(Debug, Clone)]
pub enum Storage {
    Scalar(Var),
    /// By field of a struct, or by element of a small array.
    Fields(Rc<Vec<Storage>>),
    /// An element of a small array: which of these it is depends on conditions of which one holds.
    OneOf(Rc<Vec<(Expr, Var)>>),
    /// The same, but it may be that none of the conditions holds: then reading gives any value, and writing does nothing.
    Partly(Rc<Vec<(Expr, Var)>>),
    /// An array with an element for each client, of which that of the client that is followed is kept.
    ByClient(Rc<Storage>),
    /// An array of which one element is followed, with this index if any of its values are.
    Cells(Rc<Storage>, Option<Var>),
    Slot(Slot),
    /// A value of an array whose elements are not followed: any, of so many bits.
    Loose(u32, Rc<Key>),
    /// A pointer that never changes and points to a known place.
    Alias(Box<Value>),
    /// Not modelled: reading gives any value.
    Opaque,
}

/// A value of the array element that is followed, seen through an index.
#[derive(Debug, Clone)]
pub struct Slot {
    pub var: Var,
    /// Whether the index is that of the element; none where the array is meant as a whole.
    pub is_here: Option<Expr>,
    /// Whether the array is that of the client that is followed; none where there is only one.
    pub is_own: Option<Expr>,
    pub key: Rc<Key>,
    /// It holds cookies of requests.
    pub is_cookie: bool,
}

impl Slot {
    /// Whether it is the element that is followed, of the client that is.
    pub fn is_followed(&self) -> Expr {
        let is_here = self.is_here.unwrap_or_else(|| crate::expr::truth(true));
        self.is_own.map_or(is_here, |is_own| crate::expr::and(is_own, is_here))
    }
}

impl Storage {
    /// What is left of the values of an array's elements when an index selects one.
    pub fn select(&self, is_here: Option<Expr>) -> Storage {
        match self {
            Storage::Slot(slot) => Storage::Slot(Slot { is_here, ..slot.clone() }),
            Storage::Fields(all) => Storage::Fields(Rc::new(all.iter().map(|one| one.select(is_here)).collect())),
            other => other.clone(),
        }
    }

    /// One of several storages of the same shape.
    pub fn one_of(cases: &[(Expr, Storage)]) -> Storage {
        let Some((_, first)) = cases.first() else { return Storage::Opaque };
        match first {
            Storage::Scalar(_) | Storage::OneOf(_) | Storage::Partly(_) => {
                let mut all = Vec::new();
                let mut is_whole = true;
                for (is, storage) in cases {
                    is_whole &= !matches!(storage, Storage::Partly(_));
                    match storage {
                        Storage::Scalar(var) => all.push((*is, *var)),
                        Storage::OneOf(inner) | Storage::Partly(inner) => {
                            all.extend(inner.iter().map(|(own, var)| (crate::expr::and(*is, *own), *var)));
                        }
                        _ => return Storage::Opaque,
                    }
                }
                if is_whole {
                    Storage::OneOf(Rc::new(all))
                } else {
                    Storage::Partly(Rc::new(all))
                }
            }
            Storage::Fields(fields) => {
                let part = |index: usize| {
                    let of = |(is, storage): &(Expr, Storage)| match storage {
                        Storage::Fields(all) => Some((*is, all.get(index)?.clone())),
                        _ => None,
                    };
                    let parts: Option<Vec<(Expr, Storage)>> = cases.iter().map(of).collect();
                    parts.map_or(Storage::Opaque, |parts| Storage::one_of(&parts))
                };
                Storage::Fields(Rc::new((0..fields.len()).map(part).collect()))
            }
            _ => Storage::Opaque,
        }
    }

    /// The variables in it.
    pub fn vars(&self) -> Vec<Var> {
        match self {
            Storage::Scalar(var) => vec![*var],
            Storage::Fields(all) => all.iter().flat_map(Storage::vars).collect(),
            Storage::OneOf(all) | Storage::Partly(all) => all.iter().map(|(_, var)| *var).collect(),
            Storage::ByClient(inner) | Storage::Cells(inner, _) => inner.vars(),
            Storage::Slot(slot) => vec![slot.var],
            Storage::Loose(..) | Storage::Alias(_) | Storage::Opaque => Vec::new(),
        }
    }
}

/// A place: its type, and what keeps it.
#[derive(Debug, Clone)]
pub struct Lvalue {
    pub ty: Type,
    pub storage: Storage,
    /// The object it belongs to: where it is declared.
    pub object: Option<usize>,
}

impl Lvalue {
    pub fn opaque(ty: Type) -> Self {
        Lvalue { ty, storage: Storage::Opaque, object: None }
    }
}

#[derive(Debug, Clone)]
pub enum Value {
    Int(Expr, Type),
    /// Its address, what it points to, and the pointer's type.
    Pointer(Expr, Option<Box<Lvalue>>, Type),
    Aggregate(Box<Lvalue>),
    Void,
}

impl Value {
    pub fn ty(&self) -> Type {
        match self {
            Value::Int(_, ty) | Value::Pointer(_, _, ty) => ty.clone(),
            Value::Aggregate(place) => place.ty.clone(),
            Value::Void => Type::Void,
        }
    }
}
