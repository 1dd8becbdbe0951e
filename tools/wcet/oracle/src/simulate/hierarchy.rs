//! The caches, regions and memory: who answers an access, and how long it takes. Rules 1 to 8 of the contract.

use crate::simulate::set::Set;
use wcet_hardware::machine::{Cache, Machine, Policy};

/// What an access is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    Fetch,
    Read,
    Write,
}

/// Where the pointer of round-robin replacement is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pointer {
    OfTheCache,
    OfEachSet,
}

/// How an access went.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    pub cycles: u64,
    /// It hit in the first cache of its path.
    pub near: bool,
    /// The caches that were asked, by number, and whether they had the line.
    pub asked: Vec<(usize, bool)>,
}

#[derive(Debug, Clone)]
pub struct Hierarchy {
    machine: Machine,
    caches: Vec<Vec<Set>>,
    /// Round-robin pointers of whole caches.
    pointers: Vec<usize>,
    pointer: Pointer,
    random: u64,
}

impl Hierarchy {
    pub fn new(machine: &Machine, pointer: Pointer, seed: u64) -> Self {
        let sets =
            machine.caches.iter().map(|cache| vec![Set::new(cache.ways - cache.locked_ways); cache.sets as usize]);
        Hierarchy {
            machine: machine.clone(),
            caches: sets.collect(),
            pointers: vec![0; machine.caches.len()],
            pointer,
            random: seed | 1,
        }
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Whether a line that may be fetched ahead is: the contract leaves that open.
    pub(crate) fn fetches_ahead(&mut self) -> bool {
        draw(&mut self.random) & 1 == 0
    }

    pub fn line(&self) -> u64 {
        self.machine.line()
    }

    /// Empties every cache.
    pub fn forget(&mut self) {
        self.caches.iter_mut().flatten().for_each(Set::empty);
    }

    pub fn access(&mut self, usage: Use, address: u64) -> Answer {
        let region = self.machine.regions.iter().find(|region| region.range.0 <= address && address <= region.range.1);
        if let Some(region) = region {
            return Answer { cycles: region.latency, ..Answer::default() };
        }
        let line = address / self.line();
        let mut answer = Answer::default();
        let mut missed = Vec::new();
        let mut source = None;
        for index in 0..self.caches.len() {
            let cache = &self.machine.caches[index];
            if !(if usage == Use::Fetch { cache.holds_instructions() } else { cache.holds_data() }) {
                continue;
            }
            let set = (line % cache.sets) as usize;
            let hit = pinned(cache, line) || self.caches[index][set].has(line);
            answer.asked.push((index, hit));
            if hit {
                self.caches[index][set].used(cache.policy, line);
                source = Some(index);
                break;
            }
            missed.push(index);
        }
        answer.near = answer.asked.first().is_some_and(|(_, hit)| *hit);
        let memory = &self.machine.memory;
        let beyond = if usage == Use::Write { memory.write } else { memory.latency };
        answer.cycles = source.map_or(beyond, |index| self.machine.caches[index].latency);
        for index in missed {
            answer.cycles += self.fill(usage, index, line);
        }
        if usage == Use::Write {
            self.mark(line);
        }
        answer
    }

    /// Loads a line that a cache lacks, if it does so for this use; the cycles for what had to go.
    fn fill(&mut self, usage: Use, index: usize, line: u64) -> u64 {
        let cache = &self.machine.caches[index];
        if usage == Use::Write && !cache.allocate_on_write {
            return 0;
        }
        let (pointer, own) = (&mut self.pointers[index], self.pointer == Pointer::OfEachSet);
        let random = &mut self.random;
        let victim = |set: &mut Set| match cache.policy {
            Policy::Lru | Policy::Fifo => set.oldest(),
            Policy::Plru => set.pointed_at(),
            Policy::RoundRobin => {
                let pointer = if own { &mut set.pointer } else { pointer };
                let way = *pointer % cache_ways(cache.ways, cache.locked_ways);
                *pointer = way + 1;
                way
            }
            Policy::Random => draw(random) as usize % cache_ways(cache.ways, cache.locked_ways),
        };
        let set = &mut self.caches[index][(line % cache.sets) as usize];
        if set.load(line, victim) {
            cache.write_back
        } else {
            0
        }
    }

    /// A write marks the first cache that has the line now. A pinned line never has to go, so nothing is kept of it.
    fn mark(&mut self, line: u64) {
        for (index, cache) in self.machine.caches.iter().enumerate().filter(|(_, cache)| cache.holds_data()) {
            if pinned(cache, line) {
                return;
            }
            let set = &mut self.caches[index][(line % cache.sets) as usize];
            if set.has(line) {
                return set.mark_written(line);
            }
        }
    }
}

/// The next number of a generator.
fn draw(random: &mut u64) -> u64 {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    *random >> 11
}

fn pinned(cache: &Cache, line: u64) -> bool {
    cache.pinned.iter().any(|(first, last)| first / cache.line <= line && line <= last / cache.line)
}

fn cache_ways(ways: u64, locked: u64) -> usize {
    (ways - locked) as usize
}
