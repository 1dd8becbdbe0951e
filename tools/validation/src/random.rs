//! Numbers that look random, the same for a seed on every machine.

use crate::term::mask;

pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0
    }

    pub fn below(&mut self, bound: usize) -> usize {
        ((self.next() >> 33) as usize) % bound.max(1)
    }

    /// A number of so many bits, often one at which something changes.
    pub fn value(&mut self, width: u32) -> u128 {
        let wide = u128::from(self.next() >> 32) << 32 | u128::from(self.next() >> 32);
        let value = match self.below(8) {
            0 => 0,
            1 => 1,
            2 => u128::MAX,
            3 => 1 << self.below(width as usize),
            4 | 5 => wide % 40,
            _ => wide,
        };
        value & mask(width)
    }
}
