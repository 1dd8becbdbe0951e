//! Control transfers, and what a processor foresees of them. Rules 15 and 17 of the contract.

/// How an instruction transfers control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Transfer {
    /// Control goes on to the next instruction.
    #[default]
    None,
    /// It may, to wherever.
    Unknown,
    /// Always to this address.
    Always(u64),
    /// Under a condition, to this address.
    When(u64),
    /// Of a string instruction to its next round, as long as it repeats.
    Repeat,
}

/// When the instruction behind a transfer can be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Follow {
    /// As if there were no transfer.
    Straight,
    /// So many cycles after the transfer was fetched.
    Foreseen(u64),
    /// Such that a transfer of one cycle is followed by the next issue in so many cycles.
    Refill(u64),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Branch {
    pub taken: u64,
    pub not_taken: u64,
    /// Cycles from the fetch of a transfer that is foreseen, and taken, to the next fetch. None: nothing is foreseen.
    pub foreseen: Option<u64>,
    /// Cycles from the fetch of a string instruction's round to that of its next. None: as after any transfer that is taken.
    pub repeat: Option<u64>,
    /// Bytes that may be fetched where a transfer, or what was foreseen of it, does not lead.
    pub ahead: u64,
}

impl Branch {
    /// What follows the transfer at `address`, by whether it was taken.
    pub fn follow(&self, transfer: Transfer, address: u64, taken: bool) -> Follow {
        let total = if taken { self.taken } else { self.not_taken };
        match (self.foreseen, transfer) {
            (_, Transfer::None) => Follow::Straight,
            (_, Transfer::Repeat) if taken => self.repeat.map_or(Follow::Refill(total), Follow::Foreseen),
            (Some(cycles), Transfer::Always(_)) if taken => Follow::Foreseen(cycles),
            (Some(cycles), Transfer::When(to)) if taken && to < address => Follow::Foreseen(cycles),
            (Some(_), Transfer::When(to)) if !taken && to >= address => Follow::Straight,
            _ => Follow::Refill(total),
        }
    }

    /// Addresses whose lines, beside the instruction's own, may be fetched with the transfer at `address`: each first and last one.
    pub fn fetches_ahead(&self, transfer: Transfer, address: u64, length: u64) -> Vec<(u64, u64)> {
        if transfer == Transfer::None || self.ahead == 0 {
            return Vec::new();
        }
        let behind = address.saturating_add(length);
        let mut found = vec![(behind, behind.saturating_add(self.ahead - 1))];
        match transfer {
            Transfer::When(to) if self.foreseen.is_some() && to < address => {
                found.push((to, to.saturating_add(self.ahead - 1)));
            }
            _ => {}
        }
        found
    }
}
