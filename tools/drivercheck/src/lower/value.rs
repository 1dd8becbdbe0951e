//! Values and places of the C program during lowering.

use super::types::Type;
use crate::expr::{Expr, Var};
use std::rc::Rc;

/// What keeps an object's value in the model.
#[derive(Debug, Clone)]
pub enum Storage {
    Scalar(Var),
    /// By field of a struct, or by element of a small array.
    Fields(Rc<Vec<Storage>>),
    /// A pointer that never changes and points to a known place.
    Alias(Box<Value>),
    /// Not modelled: reading gives any value.
    Opaque,
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
