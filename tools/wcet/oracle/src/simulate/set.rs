//! One set of a cache, with what its replacement policy remembers.

use wcet_hardware::machine::Policy;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Slot {
    line: u64,
    written: bool,
    /// When it was loaded, or for LRU last used.
    stamp: u64,
}

#[derive(Debug, Clone)]
pub struct Set {
    slots: Vec<Option<Slot>>,
    time: u64,
    /// PLRU: the tree as an array, root at 1; true points to the right half.
    tree: Vec<bool>,
    /// Round-robin with a pointer for each set.
    pub pointer: usize,
}

impl Set {
    pub fn new(ways: u64) -> Self {
        let ways = ways as usize;
        Set { slots: vec![None; ways], time: 0, tree: vec![false; ways.max(1)], pointer: 0 }
    }

    fn find(&self, line: u64) -> Option<usize> {
        self.slots.iter().position(|slot| slot.is_some_and(|slot| slot.line == line))
    }

    pub fn has(&self, line: u64) -> bool {
        self.find(line).is_some()
    }

    /// A hit: the policy takes note.
    pub fn used(&mut self, policy: Policy, line: u64) {
        self.time += 1;
        let Some(way) = self.find(line) else { return };
        if let (Policy::Lru, Some(slot)) = (policy, &mut self.slots[way]) {
            slot.stamp = self.time;
        }
        self.point_away(way);
    }

    pub fn mark_written(&mut self, line: u64) {
        if let Some(slot) = self.find(line).and_then(|way| self.slots[way].as_mut()) {
            slot.written = true;
        }
    }

    /// Loads a line into an empty way or the one that `victim` picks; tells whether a written line had to go.
    pub fn load(&mut self, line: u64, victim: impl FnOnce(&mut Set) -> usize) -> bool {
        if self.slots.is_empty() {
            return false;
        }
        let empty = self.slots.iter().position(Option::is_none);
        let way = empty.unwrap_or_else(|| victim(self));
        let gone = self.slots[way].is_some_and(|slot| slot.written);
        self.time += 1;
        self.slots[way] = Some(Slot { line, written: false, stamp: self.time });
        self.point_away(way);
        gone
    }

    /// The way with the least stamp: for FIFO the one loaded first, for LRU the one unused for longest.
    pub fn oldest(&mut self) -> usize {
        let stamps = self.slots.iter().map(|slot| slot.map_or(0, |slot| slot.stamp));
        stamps.enumerate().min_by_key(|(_, stamp)| *stamp).map_or(0, |(way, _)| way)
    }

    /// Where the tree's bits lead.
    pub fn pointed_at(&mut self) -> usize {
        let ways = self.slots.len();
        let mut node = 1;
        while node < ways {
            node = 2 * node + usize::from(self.tree[node]);
        }
        node - ways
    }

    fn point_away(&mut self, way: usize) {
        let ways = self.slots.len();
        if !ways.is_power_of_two() {
            return;
        }
        let mut node = way + ways;
        while node > 1 {
            self.tree[node / 2] = node % 2 == 0;
            node /= 2;
        }
    }

    pub fn empty(&mut self) {
        self.slots.iter_mut().for_each(|slot| *slot = None);
    }
}
