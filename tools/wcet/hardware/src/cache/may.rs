//! Lines that may be in a set, with lower bounds of their ages. For true LRU only.

use crate::cache::event::{Event, What};
use crate::cache::flow::Domain;
use std::collections::BTreeMap;

pub struct May {
    pub ways: u64,
}

/// At least so many lines of the set were accessed since each line; as many as there are ways means that it is not
/// there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bounds {
    listed: BTreeMap<u64, u64>,
    /// Of every line that is not listed.
    rest: u64,
}

impl Bounds {
    pub fn of(&self, line: u64) -> u64 {
        self.listed.get(&line).copied().unwrap_or(self.rest)
    }
}

impl May {
    fn access(&self, state: &Bounds, line: u64) -> Bounds {
        let age = state.of(line);
        let aged = |old: u64| if old <= age { (old + 1).min(self.ways) } else { old };
        let mut listed: BTreeMap<u64, u64> = state.listed.iter().map(|(&line, &old)| (line, aged(old))).collect();
        let rest = aged(state.rest);
        listed.insert(line, 0);
        listed.retain(|_, bound| *bound != rest);
        Bounds { listed, rest }
    }
}

impl Domain for May {
    type State = Bounds;

    fn start(&self) -> Bounds {
        Bounds { listed: BTreeMap::new(), rest: 0 }
    }

    fn apply(&self, state: &mut Bounds, event: &Event) {
        *state = match &event.what {
            What::Forget | What::Any => self.start(),
            What::Renew(_) => return,
            What::Touch(lines) => {
                let touched = lines.iter().map(|&line| self.access(state, line));
                let joined = touched.reduce(|a, b| self.join(&a, &b)).unwrap_or_else(|| state.clone());
                if event.sure && event.loads {
                    joined
                } else {
                    self.join(&joined, state)
                }
            }
        };
    }

    fn join(&self, a: &Bounds, b: &Bounds) -> Bounds {
        let rest = a.rest.min(b.rest);
        let lines = a.listed.keys().chain(b.listed.keys());
        let mut listed: BTreeMap<u64, u64> = lines.map(|&line| (line, a.of(line).min(b.of(line)))).collect();
        listed.retain(|_, bound| *bound != rest);
        Bounds { listed, rest }
    }
}
