//! Accesses as one set of one cache sees them.

use crate::graph::{Access, Graph, Kind};
use crate::path::{lines, path, Lines};
use timing_machine::{Cache, Machine};

/// What happens to a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// An access to one of these lines; to the only one, if there is but one.
    Touch(Vec<u64>),
    /// An access to any line.
    Any,
    Forget,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    pub node: usize,
    /// Index of the access in its node.
    pub access: usize,
    pub what: What,
    /// It certainly happens, to this set.
    pub sure: bool,
    /// It loads the line if that is missing.
    pub loads: bool,
    /// Lines that the access can touch, in all sets.
    pub lines: u32,
}

/// Whether an access gets to a cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    Never,
    Perhaps,
    Always,
}

/// The events of one cache: of each set, and of all sets alike, each in the order of nodes and accesses.
pub struct Events {
    pub sets: Vec<Vec<Event>>,
    everywhere: Vec<Event>,
}

impl Events {
    /// Everything that happens to `set`, in order.
    pub fn of(&self, set: usize) -> Vec<&Event> {
        let mut all: Vec<&Event> = self.sets[set].iter().chain(&self.everywhere).collect();
        all.sort_by_key(|event| (event.node, event.access));
        all
    }
}

/// The events of cache number `index`, given how far each access gets.
pub fn events(graph: &Graph, machine: &Machine, index: usize, reach: impl Fn(usize, usize) -> Reach) -> Events {
    let cache = &machine.caches[index];
    let mut events = Events { sets: vec![Vec::new(); cache.sets as usize], everywhere: Vec::new() };
    for (node, content) in graph.nodes.iter().enumerate() {
        for (number, access) in content.accesses.iter().enumerate() {
            let reach = reach(node, number);
            if path(machine, access.kind).contains(&index) && reach != Reach::Never {
                place(&mut events, machine, cache, (node, number), access, reach);
            }
        }
    }
    events
}

fn place(events: &mut Events, machine: &Machine, cache: &Cache, at: (usize, usize), access: &Access, reach: Reach) {
    let loads = access.kind != Kind::Write || cache.allocate_on_write;
    let event = |what, sure, lines| Event { node: at.0, access: at.1, what, sure, loads, lines };
    if access.kind == Kind::Forget {
        return events.everywhere.push(event(What::Forget, false, 0));
    }
    let Lines::These { lines, device } = lines(machine, access) else {
        return events.everywhere.push(event(What::Any, false, 0));
    };
    let free: Vec<u64> = lines.iter().copied().filter(|line| !cache.is_pinned(*line)).collect();
    let mut sets: Vec<usize> = free.iter().map(|line| cache.set_of(*line) as usize).collect();
    sets.sort_unstable();
    sets.dedup();
    let only = sets.len() == 1 && free.len() == lines.len() && device.is_none() && reach == Reach::Always;
    for set in sets {
        let mine = free.iter().copied().filter(|line| cache.set_of(*line) as usize == set).collect();
        events.sets[set].push(event(What::Touch(mine), only, free.len() as u32));
    }
}
