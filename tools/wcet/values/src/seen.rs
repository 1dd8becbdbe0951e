//! Where an access went, in all executions that were seen.

use wcet_hardware::cache::Target;

/// Calling conventions have the stack pointer at a multiple of this.
pub(crate) const STACK_ALIGNMENT: u64 = 8;
/// What is further from the stack pointer at the entry may be anywhere.
pub(crate) const STACK: u64 = 1 << 30;

/// First and last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    Never,
    Within(u64, u64),
    /// Distances from the stack pointer at the entry.
    Stack(i64, i64),
    Anywhere,
}

impl Seen {
    /// One or the other.
    pub fn or(self, other: Seen) -> Seen {
        match (self, other) {
            (Seen::Never, one) | (one, Seen::Never) => one,
            (Seen::Within(low, high), Seen::Within(first, last)) => Seen::Within(low.min(first), high.max(last)),
            (Seen::Stack(low, high), Seen::Stack(first, last)) => Seen::Stack(low.min(first), high.max(last)),
            _ => Seen::Anywhere,
        }
    }

    /// What is never executed may go anywhere.
    pub fn target(self) -> Target {
        match self {
            Seen::Within(first, last) if first == last => Target::At(first),
            Seen::Within(first, last) => Target::Within(first, last),
            Seen::Stack(first, last) => Target::Stack(first, last),
            Seen::Never | Seen::Anywhere => Target::Anywhere,
        }
    }

    pub fn is_known(self) -> bool {
        matches!(self, Seen::Within(..) | Seen::Stack(..))
    }
}

/// A number of so many bytes with its sign.
pub(crate) fn signed(number: u128, size: u8) -> i64 {
    let unused = 64 - 8 * u32::from(size.clamp(1, 8));
    ((number as u64) << unused) as i64 >> unused
}
