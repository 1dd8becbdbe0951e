//! Which caches an access looks in, and which lines it can touch.

use crate::cache::graph::{Access, Kind, Target};
use crate::machine::{Cache, Machine};

/// A target with more lines is treated as unknown.
const MANY: u64 = 64;

/// What an access can touch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lines {
    /// One of these lines, or none of them if `device` is given and the access goes to a device.
    These { lines: Vec<u64>, device: Option<u64> },
    /// Any line or, with these cycles, a device.
    Any { device: Option<u64> },
}

/// Indices of the caches that an access of this kind looks in, nearest first.
pub fn path(machine: &Machine, kind: Kind) -> Vec<usize> {
    let sees = |cache: &Cache| match kind {
        Kind::Fetch => cache.holds_instructions(),
        Kind::Read | Kind::Write => cache.holds_data(),
        Kind::Forget => true,
    };
    (0..machine.caches.len()).filter(|&index| sees(&machine.caches[index])).collect()
}

/// What an access can touch, as far as a cache with this many sets tells lines apart. A line on a page at an unknown
/// where it stands is one of those in all sets where it may be; whether they are one line or several makes no difference to a
/// cache that has but one set for it.
pub fn lines(machine: &Machine, access: &Access, sets: u64) -> Lines {
    let size = machine.line();
    let slowest = |first: u64, last: u64| {
        let met = machine.regions.iter().filter(|region| region.range.0 <= last && first <= region.range.1);
        met.map(|region| region.latency).max()
    };
    let (first, last) = match access.target {
        Target::At(address) => (address / size, address / size),
        Target::Within(first, last) if last / size - first / size < MANY => (first / size, last / size),
        Target::Within(first, last) => return Lines::Any { device: slowest(first, last) },
        Target::OnPage { address, page } => {
            let around = sets.max(1) * size;
            return if page > 0 && page % around == 0 {
                Lines::These { lines: vec![address / size], device: None }
            } else if page > 0 && page % size == 0 && around % page == 0 && around / page <= MANY {
                let all = (0..around / page).map(|number| (address + number * page) / size);
                Lines::These { lines: all.collect(), device: None }
            } else {
                Lines::Any { device: None }
            };
        }
        Target::Stack(..) | Target::Again(_) | Target::Line(..) | Target::Walk { .. } | Target::Memory => {
            return Lines::Any { device: None };
        }
        Target::Device(first, last) => return Lines::Any { device: slowest(first, last) },
        Target::Anywhere => return Lines::Any { device: slowest(0, u64::MAX) },
    };
    let cached = |line: &u64| machine.region_at(line * size).is_none();
    let device = slowest(first * size, (last * size).saturating_add(size - 1));
    Lines::These { lines: (first..=last).filter(cached).collect(), device }
}
