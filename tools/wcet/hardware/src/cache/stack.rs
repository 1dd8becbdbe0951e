//! Accesses to a stack at an unknown address, and accesses to the same line as an earlier one.
//!
//! The stack's lines follow one another, so no set of a cache holds more than its share of them. Whatever they do, a
//! line was evicted by as many others since its last access as there are ways, and of those only the stack's share is
//! not seen where accesses to the stack are left out.

use std::collections::BTreeSet;

use crate::cache::event::{Events, What};
use crate::cache::graph::{Graph, Target};
use crate::cache::verdicts::Loop;
use crate::machine::{Cache, Policy};

/// An access that can touch more lines of the stack than these is not followed.
const MANY: i64 = 64;

/// Names of the stack's lines are above all numbers of lines.
const NAMES: u64 = 3 << 62;

/// The part of the stack that a graph accesses.
#[derive(Debug, Clone)]
pub struct Stack {
    first: i64,
    last: i64,
    line: i64,
}

impl Stack {
    pub fn of(graph: &Graph, line: u64) -> Option<Stack> {
        let accesses = graph.nodes.iter().flat_map(|node| &node.accesses);
        let parts = accesses.filter_map(|access| match access.target {
            Target::Stack(first, last) => Some((first, last.max(first))),
            _ => None,
        });
        let (first, last) = parts.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        Some(Stack { first, last, line: i64::try_from(line).ok().filter(|line| *line > 0)? })
    }

    /// Whether all is in the same eight bytes, which are in one line.
    fn is_one(&self) -> bool {
        self.line % 8 == 0 && self.first.div_euclid(8) == self.last.div_euclid(8)
    }

    /// Names for all lines that hold some of these bytes; None if they are many. A line has the same name wherever the
    /// stack stands, and two lines never have the same.
    pub fn names(&self, first: i64, last: i64) -> Option<Vec<u64>> {
        if self.is_one() {
            return Some(vec![NAMES]);
        }
        // The place is so many lines, of which all are counted on, and up to one line more.
        let (first, last) = (first.div_euclid(self.line), last.div_euclid(self.line) + 1);
        (last - first < MANY).then(|| (first..=last).map(|number| NAMES.wrapping_add_signed(number)).collect())
    }

    /// The most lines of it that one set of a cache holds.
    pub fn in_one_set(&self, cache: &Cache) -> u64 {
        let bytes = self.last.abs_diff(self.first).saturating_add(1);
        let line = self.line.unsigned_abs();
        let lines = if self.is_one() { 1 } else { bytes.saturating_add(line - 1).div_ceil(line) };
        lines.div_ceil(cache.sets.max(1))
    }
}

/// So many lines of a set are all loaded at most once, if no other is accessed.
pub fn room(cache: &Cache) -> u64 {
    match cache.policy {
        Policy::Fifo => cache.free_ways(),
        _ => cache.taken_as.min(cache.free_ways()),
    }
}

/// Places of the loops in which every set has room for all lines accessed by name and `stack` more.
pub fn keeping(cache: &Cache, loops: &[Loop], events: &Events, stack: u64) -> Vec<usize> {
    let keeps = |one: &&Loop| {
        let quiet = !events.everywhere().any(|event| one.contains(event.node));
        quiet
            && events.sets.iter().all(|set| {
                let lines = set.iter().filter(|event| one.contains(event.node)).flat_map(|event| match &event.what {
                    What::Touch(lines) => lines.as_slice(),
                    What::Any | What::Forget | What::Renew(_) => &[],
                });
                (lines.collect::<BTreeSet<_>>().len() as u64).saturating_add(stack) <= room(cache)
            })
    };
    let places = loops.iter().enumerate().filter(|(_, one)| keeps(one));
    places.map(|(place, _)| place).collect()
}

/// Whether a target is the line of an access before that a cache still has, since too few others were accessed since.
pub fn hits_again(cache: &Cache, target: Target) -> bool {
    matches!(target, Target::Again(back) if back >= 1 && back <= cache.taken_as.min(cache.free_ways()))
}
