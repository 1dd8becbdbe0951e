//! Types of C, as far as drivers need them: their sizes, and how they convert.

use std::rc::Rc;

#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    Void,
    /// `_Bool` has one bit.
    Int {
        bits: u32,
        signed: bool,
    },
    Pointer(Rc<Type>),
    Array(Rc<Type>, u64),
    /// Index into [`super::Lower::structs`].
    Struct(usize),
    Function(Rc<Type>),
    /// Refused where it is used.
    Other(&'static str),
}

/// The length of an array that has as many elements as its initialiser, where that is not counted.
pub const UNKNOWN_LENGTH: u64 = u64::MAX;

pub const INT: Type = Type::Int { bits: 32, signed: true };
pub const LONG: Type = Type::Int { bits: 64, signed: false };
pub const BOOL: Type = Type::Int { bits: 1, signed: false };

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Struct {
    pub tag: String,
    pub fields: Vec<Field>,
    pub is_union: bool,
    pub size: u64,
    pub align: u64,
    pub is_complete: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// Empty for an anonymous member.
    pub name: String,
    pub ty: Type,
    pub offset: u64,
    /// Width of a bit-field.
    pub bits: Option<u32>,
    /// It may change by itself.
    pub is_volatile: bool,
}

impl Type {
    pub fn pointer(to: Type) -> Type {
        Type::Pointer(Rc::new(to))
    }

    /// Bit-fields share units in ways that are not modelled.
    pub fn has_known_size(&self, structs: &[Struct]) -> bool {
        match self {
            Type::Struct(id) => {
                structs[*id].fields.iter().all(|field| field.bits.is_none() && field.ty.has_known_size(structs))
            }
            Type::Array(element, count) => *count != UNKNOWN_LENGTH && element.has_known_size(structs),
            _ => true,
        }
    }

    /// Whether an object of the type holds a pointer.
    pub fn has_pointer(&self, structs: &[Struct]) -> bool {
        match self {
            Type::Pointer(_) => true,
            Type::Array(element, _) => element.has_pointer(structs),
            Type::Struct(id) => structs[*id].fields.iter().any(|field| field.ty.has_pointer(structs)),
            _ => false,
        }
    }

    pub fn is_scalar(&self) -> bool {
        matches!(self, Type::Int { .. } | Type::Pointer(_))
    }

    pub fn bits(&self) -> u32 {
        match self {
            Type::Int { bits, .. } => *bits,
            _ => 64,
        }
    }

    pub fn is_signed(&self) -> bool {
        matches!(self, Type::Int { signed: true, .. })
    }

    pub fn promoted(&self) -> Type {
        match self {
            Type::Int { bits, .. } if *bits < 32 => INT,
            other => other.clone(),
        }
    }

    /// The usual arithmetic conversions.
    pub fn common(&self, other: &Type) -> Type {
        let (a, b) = (self.promoted(), other.promoted());
        match a.bits().cmp(&b.bits()) {
            std::cmp::Ordering::Less => b,
            std::cmp::Ordering::Greater => a,
            std::cmp::Ordering::Equal if a.is_signed() => b,
            std::cmp::Ordering::Equal => a,
        }
    }

    /// Bytes and alignment.
    pub fn layout(&self, structs: &[Struct]) -> (u64, u64) {
        match self {
            Type::Int { bits, .. } => {
                let bytes = u64::from(bits.div_ceil(8)).next_power_of_two();
                (bytes, bytes)
            }
            Type::Pointer(_) => (8, 8),
            Type::Array(element, count) => {
                let (size, align) = element.layout(structs);
                (size.wrapping_mul(*count), align)
            }
            Type::Struct(id) => (structs[*id].size, structs[*id].align.max(1)),
            Type::Void | Type::Function(_) | Type::Other(_) => (1, 1),
        }
    }
}

impl Struct {
    /// Places the fields as the compiler does; bit-fields are given a unit each, so sizes of structs that have them are
    /// not exact.
    pub fn place(&mut self, structs: &[Struct], is_packed: bool) {
        let (mut at, mut align) = (0u64, 1u64);
        for field in &mut self.fields {
            let (size, own) = field.ty.layout(structs);
            let own = if is_packed { 1 } else { own };
            align = align.max(own);
            if self.is_union {
                at = at.max(size);
            } else {
                field.offset = at.checked_next_multiple_of(own).unwrap_or(0);
                at = field.offset.wrapping_add(size);
            }
        }
        self.size = at.checked_next_multiple_of(align).unwrap_or(0);
        self.align = align;
        self.is_complete = true;
    }
}
