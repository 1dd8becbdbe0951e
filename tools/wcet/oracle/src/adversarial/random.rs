//! Random choices that a seed gives.

/// SplitMix64 by way of the campaigns' seeds.
pub struct Random {
    seed: u64,
    drawn: u64,
}

impl Random {
    pub fn new(seed: u64) -> Random {
        Random { seed, drawn: 0 }
    }

    /// Below `bound`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.drawn += 1;
        campaign::item_seed(self.seed, self.drawn) % bound
    }

    /// True once in `times`.
    pub fn once_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }
}
