//! What others write while the program runs.

/// Memory that others may change at any time: the registers of devices, or what other processors write.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shared {
    /// From the first address to the second, both included.
    pub places: Vec<(u64, u64)>,
    /// An address of which nothing is known may be one of these. Otherwise it is taken to be another one.
    pub unknown: bool,
}

impl Shared {
    /// These places, to which unknown addresses may lead too.
    pub fn of(places: Vec<(u64, u64)>) -> Shared {
        Shared { places, unknown: true }
    }

    /// Whether bytes from the first address to the second may be shared.
    pub fn meets(&self, first: u64, last: u64) -> bool {
        self.places.iter().any(|(from, to)| first <= *to && last >= *from)
    }
}
