//! Lines that are surely in a set, with upper bounds of their ages.

use crate::cache::event::{Event, What};
use crate::cache::flow::Domain;
use std::collections::BTreeMap;

/// Of an LRU cache of this many ways.
pub struct Must {
    pub ways: u64,
}

/// Lines that are there, with the most lines that were accessed since.
pub type Ages = BTreeMap<u64, u64>;

/// Names of lines are above all numbers of lines.
const NAMES: u64 = 2 << 62;

impl Must {
    /// The line of a name: it may be one of this set.
    pub fn named(name: u32) -> u64 {
        NAMES + u64::from(name)
    }

    fn access(&self, state: &Ages, line: u64) -> Ages {
        let age = state.get(&line).copied().unwrap_or(self.ways);
        let aged = |old: u64| if old < age { old + 1 } else { old };
        let mut next: Ages = state.iter().map(|(&line, &old)| (line, aged(old))).collect();
        next.retain(|_, age| *age < self.ways);
        if self.ways > 0 {
            next.insert(line, 0);
        }
        next
    }

    /// After an access to a line of which nothing is known.
    fn aged(&self, state: &Ages) -> Ages {
        state.iter().map(|(&line, &age)| (line, age + 1)).filter(|(_, age)| *age < self.ways).collect()
    }
}

impl Domain for Must {
    type State = Ages;

    fn start(&self) -> Ages {
        Ages::new()
    }

    fn apply(&self, state: &mut Ages, event: &Event) {
        let one = event.name.map(|name| [Self::named(name)]);
        let next = match (&event.what, &one) {
            (What::Forget, _) => Ages::new(),
            (What::Renew(names), _) => {
                return names.iter().for_each(|name| {
                    state.remove(&Self::named(*name));
                });
            }
            (What::Any, None) => self.aged(state),
            (what, one) => {
                let lines: &[u64] = match (what, one) {
                    (What::Touch(lines), _) => lines,
                    (_, Some(one)) => one,
                    (_, None) => &[],
                };
                let touched = lines.iter().map(|&line| {
                    let next = self.access(state, line);
                    // A write around the cache loads nothing.
                    if event.loads || state.contains_key(&line) {
                        next
                    } else {
                        self.join(&next, state)
                    }
                });
                let joined = touched.reduce(|a, b| self.join(&a, &b)).unwrap_or_else(|| state.clone());
                if event.sure {
                    joined
                } else {
                    self.join(&joined, state)
                }
            }
        };
        *state = next;
    }

    fn join(&self, a: &Ages, b: &Ages) -> Ages {
        a.iter().filter_map(|(&line, &age)| Some((line, age.max(*b.get(&line)?)))).collect()
    }
}
