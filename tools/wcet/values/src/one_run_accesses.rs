//! Where the accesses of a region's one run go.

use wcet_binary::lift::il::{Access, AddressForm};
use wcet_flow::context::Expanded;

use crate::known_memory::Space;
use crate::seen::{Seen, STACK, STACK_ALIGNMENT};

/// What was seen of one access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accessed {
    pub seen: Seen,
    /// Whether every address was a multiple of the largest power of two in its size.
    pub aligned: bool,
}

/// Nothing yet, for each access of each node.
pub(crate) fn none(expanded: &Expanded<'_>) -> Vec<Vec<Accessed>> {
    let accesses = |node| expanded.block(node).instructions.iter().map(|one| one.accesses.len()).sum();
    expanded.order().map(|node| vec![Accessed { seen: Seen::Never, aligned: true }; accesses(node)]).collect()
}

impl Accessed {
    /// In another copy of the code as well.
    pub fn or(&mut self, other: Accessed) {
        self.seen = self.seen.or(other.seen);
        self.aligned &= other.aligned;
    }

    /// It is executed, or perhaps not. `address` gives the address of its form, where that is known.
    pub fn add(&mut self, access: &Access, address: impl FnOnce(&AddressForm) -> Option<(Space, u64)>) {
        if self.seen == Seen::Anywhere {
            return;
        }
        let size = u64::from(access.size.max(1));
        let step = size & size.wrapping_neg();
        let (seen, aligned) = match address(&access.address) {
            Some((Space::Absolute, first)) => match first.checked_add(size - 1) {
                Some(last) => (Seen::Within(first, last), first % step == 0),
                None => (Seen::Anywhere, false),
            },
            Some((Space::Stack, offset)) if (offset as i64).unsigned_abs() < STACK => {
                let (first, size) = (offset as i64, size as i64);
                (Seen::Stack(first, first.saturating_add(size - 1)), step <= STACK_ALIGNMENT && offset % step == 0)
            }
            _ => (Seen::Anywhere, false),
        };
        self.seen = self.seen.or(seen);
        self.aligned &= aligned;
    }
}
