//! Persistence by younger sets: for each line, the lines that may have been accessed since its last access in this entry of a
//! scope.

use crate::cache::event::{Event, What};
use crate::cache::flow::Domain;
use std::collections::{BTreeMap, BTreeSet};

/// Of an LRU cache of this many ways.
pub struct Younger {
    pub ways: u64,
}

/// Lines not listed were not accessed. No set: as many as there are ways, or more.
pub type Sets = BTreeMap<u64, Option<BTreeSet<u64>>>;

impl Younger {
    /// Whether `line`, if it was accessed since the entry, is still in the cache.
    pub fn keeps(&self, state: &Sets, line: u64) -> bool {
        self.ways > 0 && !matches!(state.get(&line), Some(None))
    }
}

impl Domain for Younger {
    type State = Sets;

    fn start(&self) -> Sets {
        Sets::new()
    }

    fn apply(&self, state: &mut Sets, event: &Event) {
        let What::Touch(lines) = &event.what else {
            return state.values_mut().for_each(|set| *set = None);
        };
        for (line, set) in state.iter_mut() {
            if let Some(younger) = set {
                younger.extend(lines.iter().filter(|other| *other != line));
                if younger.len() as u64 >= self.ways {
                    *set = None;
                }
            }
        }
        let surely = event.sure && lines.len() == 1;
        for &line in lines.iter().filter(|_| event.loads) {
            if surely {
                state.insert(line, Some(BTreeSet::new()));
            } else {
                // Either it was accessed now, or what was known still holds.
                state.entry(line).or_insert_with(|| Some(BTreeSet::new()));
            }
        }
    }

    fn join(&self, a: &Sets, b: &Sets) -> Sets {
        let mut joined = a.clone();
        for (&line, other) in b {
            match joined.entry(line) {
                std::collections::btree_map::Entry::Vacant(place) => {
                    place.insert(other.clone());
                }
                std::collections::btree_map::Entry::Occupied(mut place) => {
                    let united = match (place.get(), other) {
                        (Some(a), Some(b)) => Some(a | b).filter(|set| (set.len() as u64) < self.ways),
                        _ => None,
                    };
                    place.insert(united);
                }
            }
        }
        joined
    }
}
