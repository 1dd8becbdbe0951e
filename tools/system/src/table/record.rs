//! Records of kernel/start/boot_table.h, field for field.
//!
//! Knows: names, types and order of the fields; a test compiles the header and compares sizes and offsets.
//! Little endian, naturally aligned, no padding.

/// A record with its bytes.
pub trait Record: Sized {
    const SIZE: usize;
    fn write(&self, out: &mut Vec<u8>);
    /// Requires: `bytes` has `SIZE` bytes.
    fn read(bytes: &[u8]) -> Self;
    /// Name in the header, and of each field its name and offset.
    #[cfg(test)]
    fn layout() -> (&'static str, Vec<(&'static str, usize)>);
}

/// A type that a field may have.
pub trait FieldType: Sized {
    const SIZE: usize;
    fn write(&self, out: &mut Vec<u8>);
    fn read(bytes: &[u8]) -> Self;
}

macro_rules! number_field {
    ($type:ty) => {
        impl FieldType for $type {
            const SIZE: usize = std::mem::size_of::<$type>();

            fn write(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&self.to_le_bytes());
            }

            fn read(bytes: &[u8]) -> Self {
                let mut own = [0; std::mem::size_of::<$type>()];
                own.copy_from_slice(&bytes[..<Self as FieldType>::SIZE]);
                <$type>::from_le_bytes(own)
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

    fn read(bytes: &[u8]) -> Self {
        let mut own = [0; 32];
        own.copy_from_slice(&bytes[..32]);
        own
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

macro_rules! records {
    ($($(#[$doc:meta])* $rust:ident $c:literal { $($field:ident: $type:ty),* })*) => {
        $(
            $(#[$doc])*
            #[derive(Debug, Clone, Copy, PartialEq, Eq)]
            pub struct $rust { $(pub $field: $type),* }

            impl Record for $rust {
                const SIZE: usize = 0 $(+ <$type as FieldType>::SIZE)*;

                fn write(&self, out: &mut Vec<u8>) {
                    $(FieldType::write(&self.$field, out);)*
                }

                fn read(bytes: &[u8]) -> Self {
                    let mut at = 0;
                    $(
                        let $field = <$type as FieldType>::read(&bytes[at..]);
                        at += <$type as FieldType>::SIZE;
                    )*
                    debug_assert_eq!(at, Self::SIZE);
                    $rust { $($field),* }
                }

                #[cfg(test)]
                fn layout() -> (&'static str, Vec<(&'static str, usize)>) {
                    let mut fields = Vec::new();
                    let mut at = 0;
                    $(
                        fields.push((stringify!($field), at));
                        at += <$type as FieldType>::SIZE;
                    )*
                    debug_assert_eq!(at, Self::SIZE);
                    ($c, fields)
                }
            }
        )*

        /// Name, size and fields of every record, as the header has them.
        #[cfg(test)]
        pub fn layouts() -> Vec<(&'static str, usize, Vec<(&'static str, usize)>)> {
            vec![$({
                let (name, fields) = <$rust as Record>::layout();
                (name, <$rust as Record>::SIZE, fields)
            }),*]
        }
    };
}

records! {
    /// The fixed part of the header; the sections follow it.
    Header "boot_header" {
        magic: u64, version: u32, table_size: u32, image_size: u64, table_crc32: u32, payload_crc32: u32,
        payload_offset: u64, memory_frames: u64, name: Name
    }
    Section "boot_section" { offset: u32, count: u32 }
    Cpu "boot_cpu" { reserved: u32, flags: u32 }
    Process "boot_process" {
        name: Name, parent: u32, quota: u32, first_thread: u32, num_threads: u32, first_segment: u32,
        num_segments: u32, first_grant: u32, num_grants: u32, fault_endpoint: u32, flags: u32, entry: u64,
        stack_top: u64, argument: u64, period_ns: u64, budget_ns: u64
    }
    Thread "boot_thread" { process: u32, cpu: u32, priority: u32, id: u32 }
    Segment "boot_segment" {
        vaddr: u64, memory_size: u64, image_offset: u64, image_size: u64, prot: u32, kind: u32
    }
    Grant "boot_grant" { slot: u32, kind: u32, object: u32, rights: u32, badge: u64 }
    Endpoint "boot_endpoint" { owner: u32, flags: u32 }
    Notification "boot_notification" { owner: u32, reserved: u32 }
    Buffer "boot_buffer" { capacity: u32, reserved: u32 }
    Share "boot_share" { from: u32, to: u32 }
    Irq "boot_irq" { gsi: u32, flags: u32, notification: u32, cpu: u32 }
    Device "boot_device" { base: u64, size: u64, kind: u32, owner: u32, function: u32, reserved: u32 }
    Vm "boot_vm" { process: u32, reserved: u32 }
    Console "boot_console" { name: Name }
}
