//! How records are written: field after field, little endian.

/// A record that can be written.
pub trait Record {
    fn write(&self, out: &mut Vec<u8>);
}

/// A type that a field may have.
pub trait FieldType: Sized {
    const SIZE: usize;
    fn write(&self, out: &mut Vec<u8>);
}

macro_rules! number_field {
    ($type:ty) => {
        impl FieldType for $type {
            const SIZE: usize = std::mem::size_of::<$type>();

            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }
        }
    };
}

number_field!(u32);
number_field!(u64);

/// A name, ended by a NUL and filled up with more.
pub type Name = [u8; 32];

impl FieldType for Name {
    const SIZE: usize = 32;

    fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(self);
    }
}

/// `text`, cut to 31 bytes, as a name.
pub fn name(text: &str) -> Name {
    let mut name = [0; 32];
    for (to, from) in name[..31].iter_mut().zip(text.bytes()) {
        *to = from;
    }
    name
}

/// Declares records; their sizes are those of the schema.
macro_rules! records {
    ($($name:ident: $size:literal bytes { $($field:ident: $type:ty,)* })*) => {
        $(
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub struct $name { $(pub $field: $type),* }

            impl crate::table::record::Record for $name {
                fn write(&self, out: &mut Vec<u8>) {
                    $(crate::table::record::FieldType::write(&self.$field, out);)*
                }
            }

            impl $name {
                // Rust 1.85 does not see that the check below uses it, and a newcomer would meet a warning.
                #[allow(dead_code)]
                pub const SIZE: usize = $size;

                /// Where each field stands. The tests damage fields of most records, not of all.
                #[cfg(test)]
                #[allow(dead_code)]
                pub fn offset(field: &str) -> usize {
                    let mut at = 0;
                    $(
                        if field == stringify!($field) {
                            return at;
                        }
                        at += <$type as crate::table::record::FieldType>::SIZE;
                    )*
                    panic!("{} has no field {field} in its {at} bytes", stringify!($name))
                }
            }

            const _: () = assert!($name::SIZE == 0 $(+ <$type as crate::table::record::FieldType>::SIZE)*);
        )*
    };
}

pub(super) use records;
