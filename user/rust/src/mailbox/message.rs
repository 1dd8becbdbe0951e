//! What the modules of protocols are made of. `protocol rust` writes them; nothing else implements these traits.

use core::fmt;
use core::marker::PhantomData;
use core::ops::BitOr;

/// Bytes of a payload: `MAIL_PAYLOAD` of `user/include/ashlar/ring.h`.
pub const PAYLOAD: usize = 40;

/// The payload of a message.
pub type Payload = [u8; PAYLOAD];

/// `struct protocol` of `user/include/ashlar/monitor.h`.
#[repr(C)]
#[derive(Debug)]
pub struct Tables {
    opaque: [u8; 0],
}

/// A protocol between a driver and its client.
///
/// # Safety
/// `tables` gives the monitor's tables of this protocol, and the rest says the same as they do.
pub unsafe trait Protocol: 'static {
    /// The messages that the client sends.
    type ToDriver: Messages;
    /// ... and those that the driver sends.
    type FromDriver: Messages;
    /// Its name.
    const NAME: &'static str;
    /// Of its port, where no other one is chosen.
    const NUMBER: u32;
    /// Whether there is another process at the other end: 0 for a protocol that the library itself answers, as `timer`.
    const IS_LINKED: bool;
    /// The monitor's tables.
    fn tables() -> *const Tables;
}

/// All messages of one direction.
pub trait Messages: Sized + Copy + fmt::Debug {
    /// All of them.
    const ALL: Mailboxes<Self>;
    /// The message with this number; none if there is no such message, or a field or the cookie is out of its range.
    fn read(number: u32, cookie: u64, payload: &Payload) -> Option<Self>;
}

/// A message.
pub trait Message: Copy {
    /// The messages that it is one of.
    type Of: Messages;
    /// Of its mailbox, in the protocol.
    const NUMBER: u32;
    /// Bytes of its payload.
    const BYTES: usize;
    /// Its cookie; 0 if it has none.
    fn cookie(&self) -> u64;
    /// Whether its fields and its cookie are in their ranges.
    fn is_valid(&self) -> bool;
    /// Its payload.
    fn payload(&self) -> Payload;
}

/// Mailboxes of one direction of a protocol: `DONE | FAILED`.
pub struct Mailboxes<M> {
    bits: u64,
    of: PhantomData<fn() -> M>,
}

impl<M> Mailboxes<M> {
    /// None.
    pub const NONE: Mailboxes<M> = Mailboxes::of(0);

    /// Those whose bits are set, by the number of the message.
    #[must_use]
    pub const fn of(bits: u64) -> Mailboxes<M> {
        Mailboxes { bits, of: PhantomData }
    }

    pub(super) const fn bits(self) -> u64 {
        self.bits
    }
}

impl<M> Clone for Mailboxes<M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for Mailboxes<M> {}

impl<M> fmt::Debug for Mailboxes<M> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Mailboxes({:#x})", self.bits)
    }
}

impl<M> BitOr for Mailboxes<M> {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Mailboxes::of(self.bits | other.bits)
    }
}
