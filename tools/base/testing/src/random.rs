//! Numbers that look random and are the same for the same seed, so that a failure can be repeated (SplitMix64).

pub struct Random(pub u64);

impl Random {
    #[allow(clippy::should_implement_trait)] // It never ends, so it is no iterator.
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Below `bound`, which is taken as 1 if it is 0.
    pub fn below(&mut self, bound: usize) -> usize {
        self.below_u64(bound as u64) as usize
    }

    /// The same for numbers of 64 bits.
    pub fn below_u64(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// True once in `bound` times.
    pub fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    pub fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }

    pub fn byte(&mut self) -> u8 {
        self.next() as u8
    }
}

/// How many random programs, graphs or the like a test tries: `TIMING_CASES`, or `default`.
pub fn cases(default: u64) -> u64 {
    std::env::var("TIMING_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(default)
}
