//! The same domains as `must.rs` and `persistence.rs` for sets of which at most 64 lines are accessed: lines are bits.

use crate::cache::event::{Event, What};
use crate::cache::flow::Domain;

/// The age of a line that need not be there.
const ABSENT: u8 = u8::MAX;

/// Lines that are surely in a set, of an LRU cache of this many ways, fewer than [`ABSENT`]: a state has upper bounds of their
/// ages, by number of the line.
#[derive(Debug, Clone, Copy)]
pub struct DenseMust {
    pub ways: u8,
    pub lines: usize,
    /// Lines that are known by a name alone come behind the others: each may be one of this set.
    pub names: usize,
}

impl DenseMust {
    /// Whether this many ways can be counted.
    pub fn can(ways: u64) -> bool {
        ways < u64::from(ABSENT)
    }

    pub fn holds(state: &[u8], line: usize) -> bool {
        state[line] != ABSENT
    }

    /// How many lines a state has.
    pub fn width(&self) -> usize {
        self.lines + self.names
    }

    /// Nothing is surely there, in any number of sets.
    pub fn forget(states: &mut [u8]) {
        states.fill(ABSENT);
    }

    /// After an access to any line, in any number of sets.
    pub fn age(self, states: &mut [u8]) {
        for old in states {
            let older = old.saturating_add(1);
            *old = if older < self.ways { older } else { ABSENT };
        }
    }

    /// Makes a state cover another one, too, of any number of sets; whether that changed it.
    pub fn join(states: &mut [u8], others: &[u8]) -> bool {
        let mut changed = 0;
        for (mine, other) in states.iter_mut().zip(others) {
            let joined = (*mine).max(*other);
            changed |= joined ^ *mine;
            *mine = joined;
        }
        changed != 0
    }

    /// The number of a line with a name.
    pub fn named(&self, name: u32) -> usize {
        self.lines + name as usize
    }

    /// One line is accessed if the event happens. Where it need not, or loads nothing, the others may be older all the same, and
    /// the line is no younger than it was.
    fn one(&self, state: &mut [u8], line: usize, (sure, loads): (bool, bool)) {
        // A write around the cache loads nothing.
        let surely = sure && (loads || Self::holds(state, line));
        let age = state[line].min(self.ways);
        for old in state.iter_mut() {
            let older = old.saturating_add(1);
            let older = if older < self.ways { older } else { ABSENT };
            *old = if *old < age { older } else { *old };
        }
        if surely && self.ways > 0 {
            state[line] = 0;
        }
    }

    /// One of several lines is accessed, or none of these where it is not sure.
    fn several(&self, state: &mut [u8], mut bits: u64, event: &Event) {
        let before: Vec<u8> = state.to_vec();
        if event.sure && bits != 0 {
            state.fill(0);
        }
        while bits != 0 {
            let line = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            let mut next = before.clone();
            self.one(&mut next, line, (true, event.loads));
            Self::join(state, &next);
        }
    }

    /// What an event makes of one set.
    pub fn apply(&self, state: &mut [u8], event: &Event) {
        match (&event.what, event.name) {
            (What::Forget, _) => Self::forget(state),
            (What::Renew(names), _) => names.iter().for_each(|name| state[self.named(*name)] = ABSENT),
            (What::Any, Some(name)) => self.one(state, self.named(name), (event.sure, event.loads)),
            (What::Any, None) => self.age(state),
            (What::Touch(_), _) if event.bits.count_ones() == 1 => {
                self.one(state, event.bits.trailing_zeros() as usize, (event.sure, event.loads));
            }
            (What::Touch(_), _) => self.several(state, event.bits, event),
        }
    }
}

/// For each line, the lines that may have been accessed since its last access in this entry of a scope, of an LRU cache
/// of this many ways.
pub struct DenseYounger {
    pub ways: u64,
    pub lines: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Since {
    /// Lines that were accessed.
    listed: u64,
    /// Those of them with as many others since as there are ways, or more.
    gone: u64,
    /// The others since each line's last access; none for lines that are gone.
    younger: Box<[u64]>,
}

impl DenseYounger {
    /// Whether a line, if it was accessed since the entry, is still in the cache.
    pub fn keeps(&self, state: &Since, line: usize) -> bool {
        self.ways > 0 && state.gone >> line & 1 == 0
    }

    fn add(&self, state: &mut Since, line: usize, others: u64) {
        let all = state.younger[line] | others;
        if u64::from(all.count_ones()) >= self.ways {
            state.gone |= 1 << line;
            state.younger[line] = 0;
        } else {
            state.younger[line] = all;
        }
    }
}

impl Domain for DenseYounger {
    type State = Since;

    fn start(&self) -> Since {
        Since { listed: 0, gone: 0, younger: vec![0; self.lines].into_boxed_slice() }
    }

    fn apply(&self, state: &mut Since, event: &Event) {
        let What::Touch(_) = &event.what else {
            if state.gone != state.listed {
                state.gone = state.listed;
                state.younger.fill(0);
            }
            return;
        };
        let touched = event.bits;
        let mut left = state.listed & !state.gone;
        while left != 0 {
            let line = left.trailing_zeros() as usize;
            left &= left - 1;
            self.add(state, line, touched & !(1 << line));
        }
        if !event.loads {
            return;
        }
        state.listed |= touched;
        if event.sure && touched.count_ones() == 1 {
            state.gone &= !touched;
            state.younger[touched.trailing_zeros() as usize] = 0;
        }
    }

    fn join(&self, a: &Since, b: &Since) -> Since {
        let mut joined = Since { listed: a.listed | b.listed, gone: a.gone | b.gone, younger: a.younger.clone() };
        for line in 0..self.lines {
            if joined.gone >> line & 1 == 1 {
                joined.younger[line] = 0;
            } else {
                self.add(&mut joined, line, b.younger[line]);
            }
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::graph::Sets;
    use crate::cache::must::Must;
    use crate::cache::persistence::Younger;

    /// Random histories that fork and join: the dense domains say what the others say.
    #[test]
    fn dense_domains_agree_with_the_others() {
        const LINES: u64 = 5;
        const NAMES: u64 = 3;
        let mut seed = 1u64;
        let mut random = |bound: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % bound
        };
        for _ in 0..2000 {
            let ways = random(4);
            let (must, dense_must) =
                (Must { ways }, DenseMust { ways: ways as u8, lines: LINES as usize, names: NAMES as usize });
            let (younger, dense_younger) = (Younger { ways }, DenseYounger { ways, lines: LINES as usize });
            let start = (must.start(), vec![ABSENT; dense_must.width()], younger.start(), dense_younger.start());
            let mut states = vec![start];
            for _ in 0..30 {
                let from = random(states.len() as u64) as usize;
                let mut next = states[from].clone();
                if random(4) == 0 {
                    let other = states[random(states.len() as u64) as usize].clone();
                    next.0 = must.join(&next.0, &other.0);
                    DenseMust::join(&mut next.1, &other.1);
                    next.2 = younger.join(&next.2, &other.2);
                    next.3 = dense_younger.join(&next.3, &other.3);
                }
                let first = random(LINES);
                let touched: Vec<u64> = (first..(first + 1 + random(2) * random(3)).min(LINES)).collect();
                let bits = touched.iter().fold(0, |bits, line| bits | 1 << line);
                let name = random(NAMES) as u32;
                let (what, name, bits) = match random(14) {
                    0 => (What::Any, None, 0),
                    1 => (What::Forget, None, 0),
                    2 => (What::Renew(vec![name]), None, 0),
                    3..=5 => (What::Any, Some(name), 0),
                    _ => (What::Touch(touched), None, bits),
                };
                let renews = matches!(what, What::Renew(_));
                let event = Event {
                    node: 0,
                    access: 0,
                    what,
                    sure: random(3) > 0,
                    loads: random(4) > 0,
                    lines: 0,
                    stack: false,
                    name,
                    within: Sets::ANY,
                    bits,
                };
                must.apply(&mut next.0, &event);
                dense_must.apply(&mut next.1, &event);
                if !renews {
                    younger.apply(&mut next.2, &event);
                    dense_younger.apply(&mut next.3, &event);
                }
                for name in 0..NAMES as u32 {
                    let known = next.0.get(&Must::named(name));
                    let index = dense_must.named(name);
                    assert_eq!(known.is_some(), DenseMust::holds(&next.1, index), "{ways} {event:?}");
                    assert_eq!(known, known.map(|_| u64::from(next.1[index])).as_ref());
                }
                for line in 0..LINES {
                    let index = line as usize;
                    assert_eq!(next.0.contains_key(&line), DenseMust::holds(&next.1, index), "{ways} {event:?}");
                    assert_eq!(next.0.get(&line), next.0.get(&line).map(|_| u64::from(next.1[index])).as_ref());
                    assert_eq!(younger.keeps(&next.2, line), dense_younger.keeps(&next.3, index), "{ways} {event:?}");
                }
                states.push(next);
            }
        }
    }
}
