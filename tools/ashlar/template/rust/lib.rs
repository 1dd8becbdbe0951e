//! The mean of the last readings. It calls nothing of Ashlar, so its tests run on a PC.
#![cfg_attr(not(test), no_std)]

/// Readings that count.
const MOST: usize = 10;

/// The mean of the last readings; of none at first.
#[derive(Debug, Default)]
pub struct Mean {
    reading: [u64; MOST],
    count: usize,
    next: usize,
}

impl Mean {
    /// Adds a reading; the oldest goes when there is no room.
    pub fn add(&mut self, reading: u64) {
        self.reading[self.next] = reading;
        self.next = (self.next + 1) % MOST;
        self.count = (self.count + 1).min(MOST);
    }

    /// Readings that are held.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The mean, rounded down; 0 if there is no reading.
    pub fn value(&self) -> u64 {
        let sum: u64 = self.reading[..self.count].iter().sum();
        sum.checked_div(self.count as u64).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_readings_count() {
        let mut mean = Mean::default();
        assert_eq!(mean.value(), 0);
        mean.add(10);
        mean.add(20);
        assert_eq!(mean.value(), 15);
        for _ in 0..100 {
            mean.add(7);
        }
        assert_eq!((mean.count(), mean.value()), (MOST, 7));
    }
}
