//! Accesses as one set of one cache sees them.

use crate::cache::graph::{Access, Graph, Kind, Sets, Target};
use crate::cache::path::{lines, path, Lines};
use crate::cache::stack::hits_again;
use crate::machine::{Cache, Machine};
use std::collections::{BTreeMap, BTreeSet};

/// Names of walks are above all others.
const WALKS: u64 = 1 << 62;

/// What happens to a set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// An access to one of these lines; to the only one, if there is but one.
    Touch(Vec<u64>),
    /// An access to any line.
    Any,
    Forget,
    /// Names stand for other lines from here on.
    Renew(Vec<u32>),
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
    /// An access to the stack at an unknown address: any line, for analyses that do not treat the stack apart.
    pub stack: bool,
    /// The number of the line's name, where `what` is any line. Only those who know which lines are surely there use it.
    pub name: Option<u32>,
    /// The sets that any line is one of: in others the event does not happen.
    pub within: Sets,
    /// Those of this set by their numbers in [`Events::numbered`], if they have any.
    pub bits: u64,
}

impl Event {
    /// How many of its lines, by their numbers, pass.
    pub fn count(&self, passes: impl Fn(usize) -> bool) -> u32 {
        let mut bits = self.bits;
        let mut count = 0;
        while bits != 0 {
            count += u32::from(passes(bits.trailing_zeros() as usize));
            bits &= bits - 1;
        }
        count
    }
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
    /// Of each set, the lines accessed, ascending, if they are at most 64.
    pub numbered: Vec<Option<Vec<u64>>>,
    everywhere: Vec<Event>,
    /// How many names there are for lines at unknown addresses.
    pub names: usize,
    /// Where those are renewed.
    renewals: Vec<Event>,
}

impl Events {
    /// Everything that happens to `set`, in order, with accesses to the stack or without. Of more than `ways` accesses to any line that follow one another in a
    /// node, the rest is left out: nothing is left of what was known.
    pub fn of(&self, set: usize, ways: u64, stack: bool) -> Vec<&Event> {
        self.merged(set, ways, stack, false)
    }

    /// The same with names, and where they are renewed.
    pub fn named(&self, set: usize, ways: u64, stack: bool) -> Vec<&Event> {
        let mut merged = self.merged(set, ways, stack, true);
        if !self.renewals.is_empty() {
            merged.extend(&self.renewals);
            merged.sort_by_key(|event| (event.node, event.access));
        }
        merged
    }

    fn merged(&self, set: usize, ways: u64, stack: bool, names: bool) -> Vec<&Event> {
        let (mine, all) = (&self.sets[set], &self.everywhere);
        let mut merged: Vec<&Event> = Vec::with_capacity(mine.len() + all.len());
        let mut mine = mine.iter().peekable();
        let sets = self.sets.len() as u64;
        let here = |event: &&Event| (stack || !event.stack) && event.within.hold(set, sets);
        let mut all = all.iter().filter(here).peekable();
        let mut repeated = 0;
        loop {
            let at = |event: &&Event| (event.node, event.access);
            let next = match (mine.peek(), all.peek()) {
                (Some(a), Some(b)) if at(a) <= at(b) => mine.next(),
                (Some(_), None) => mine.next(),
                _ => all.next(),
            };
            let Some(event) = next else { return merged };
            let any = |event: &Event| event.what == What::Any && !(names && event.name.is_some());
            let again = |last: &&&Event| last.node == event.node && any(last) && any(event);
            repeated = if merged.last().filter(again).is_some() { repeated + 1 } else { 1 };
            if repeated <= ways.max(1) {
                merged.push(event);
            }
        }
    }

    /// What happens to all sets alike, with names, and where they are renewed; with accesses to the stack or without.
    pub fn in_all(&self, stack: bool) -> impl Iterator<Item = &Event> {
        self.everywhere.iter().filter(move |event| stack || !event.stack).chain(&self.renewals)
    }

    /// Sets whose numbers differ by a multiple of this are the same ones to all lines of which no more than some sets are known.
    pub fn told_apart(&self) -> u64 {
        let sets = self.sets.len() as u64;
        let most = sets & sets.wrapping_neg();
        self.everywhere.iter().map(|event| event.within.modulus.min(most)).max().unwrap_or(1).max(1)
    }

    /// What happens to any set, but for accesses to the stack.
    pub fn everywhere(&self) -> impl Iterator<Item = &Event> {
        self.everywhere.iter().filter(|event| !event.stack)
    }

    /// Gives the lines of each set numbers.
    fn number(&mut self) {
        for events in &mut self.sets {
            let of = |event: &Event| match &event.what {
                What::Touch(lines) => lines.clone(),
                What::Any | What::Forget | What::Renew(_) => Vec::new(),
            };
            let mut lines: Vec<u64> = events.iter().flat_map(of).collect();
            lines.sort_unstable();
            lines.dedup();
            if lines.len() > 64 {
                self.numbered.push(None);
                continue;
            }
            for event in events.iter_mut() {
                let numbers = of(event).into_iter().filter_map(|line| lines.binary_search(&line).ok());
                event.bits = numbers.fold(0, |bits, number| bits | 1 << number);
            }
            self.numbered.push(Some(lines));
        }
    }
}

/// The events of cache number `index`, given how far each access gets.
pub fn events(graph: &Graph, machine: &Machine, index: usize, reach: impl Fn(usize, usize) -> Reach) -> Events {
    let cache = &machine.caches[index];
    let mut events = Events {
        sets: vec![Vec::new(); cache.sets as usize],
        numbered: Vec::new(),
        everywhere: Vec::new(),
        names: 0,
        renewals: Vec::new(),
    };
    for (node, content) in graph.nodes.iter().enumerate() {
        for (number, access) in content.accesses.iter().enumerate() {
            let reach = reach(node, number);
            if path(machine, access.kind).contains(&index) && reach != Reach::Never {
                place(&mut events, machine, cache, (node, number), access, reach);
            }
        }
    }
    events.number();
    name(&mut events, graph, machine, index);
    events
}

/// Gives names numbers, in the first cache of a path alone: what gets behind it is no help there.
fn name(events: &mut Events, graph: &Graph, machine: &Machine, index: usize) {
    let cache = &machine.caches[index];
    let mut uses: BTreeMap<u64, u32> = BTreeMap::new();
    let named = |event: &Event| {
        let access = &graph.nodes[event.node].accesses[event.access];
        (path(machine, access.kind).first() == Some(&index)).then_some(())?;
        name_of(access, cache)
    };
    let all = events.everywhere.iter().filter_map(named);
    all.for_each(|name| *uses.entry(name).or_default() += 1);
    // What is accessed once is any line.
    let walks = |name: u64| name >= WALKS;
    let kept = uses.iter().filter(|(name, uses)| **uses > 1 || walks(**name));
    let numbers: BTreeMap<u64, u32> = kept.enumerate().map(|(number, (name, _))| (*name, number as u32)).collect();
    for event in &mut events.everywhere {
        let name = if event.what == What::Any { named(event) } else { None };
        event.name = name.and_then(|name| numbers.get(&name).copied());
    }
    events.names = numbers.len();
    if numbers.is_empty() {
        return;
    }
    let mut renewed: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
    for (node, content) in graph.nodes.iter().enumerate() {
        let gone = content.renews.iter().filter_map(|name| numbers.get(name).copied());
        renewed.entry(node).or_default().extend(gone);
    }
    // A walk begins anew wherever its node is entered.
    for &(from, to) in graph.edges.iter().filter(|(from, to)| from != to) {
        let walks = graph.nodes[to].accesses.iter().filter(|access| matches!(access.target, Target::Walk { .. }));
        let numbers = walks.filter_map(|access| numbers.get(&name_of(access, cache)?).copied());
        renewed.entry(from).or_default().extend(numbers);
    }
    for (node, names) in renewed.into_iter().filter(|(_, names)| !names.is_empty()) {
        events.renewals.push(Event {
            node,
            access: usize::MAX,
            what: What::Renew(names.into_iter().collect()),
            sure: true,
            loads: false,
            lines: 0,
            stack: false,
            name: None,
            within: Sets::ANY,
            bits: 0,
        });
    }
}

/// What distinguishes an access's line. Of a walk no set holds more than one line, so that is a name in each set, if the
/// lines are no more than there are sets.
fn name_of(access: &Access, cache: &Cache) -> Option<u64> {
    match access.target {
        Target::Line(name, _) if name < WALKS => Some(name),
        Target::Walk { name, lines } if name < WALKS && lines <= cache.sets => Some(WALKS + name),
        _ => None,
    }
}

fn place(events: &mut Events, machine: &Machine, cache: &Cache, at: (usize, usize), access: &Access, reach: Reach) {
    let loads = access.kind != Kind::Write || cache.allocate_on_write;
    let forgets = access.kind == Kind::Forget;
    let stack = !forgets && matches!(access.target, Target::Stack(..));
    let within = match access.target {
        Target::Line(_, sets) if !forgets => sets,
        _ => Sets::ANY,
    };
    let event = |what, sure, lines| Event {
        node: at.0,
        access: at.1,
        what,
        sure,
        loads,
        lines,
        stack,
        name: None,
        within,
        bits: 0,
    };
    if forgets {
        return events.everywhere.push(event(What::Forget, false, 0));
    }
    // The line is one of the youngest: nothing grows older by it that was not made so by those between.
    let first = path(machine, access.kind).first().is_some_and(|first| machine.caches[*first].name == cache.name);
    if first && hits_again(cache, access.target) {
        return;
    }
    let Lines::These { lines, device } = lines(machine, access, cache.sets) else {
        let sure = reach == Reach::Always;
        return events.everywhere.push(event(What::Any, sure, 0));
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
