//! Which lines of each access pass the tests of one cache: all its sets, on all processors there are.

use crate::cache::dense::{DenseMust, DenseYounger};
use crate::cache::event::{Event, Events, What};
use crate::cache::flow::{solve, Order};
use crate::cache::graph::Graph;
use crate::cache::may::May;
use crate::cache::must::Must;
use crate::cache::must_in_sets;
use crate::cache::persistence::Younger;
use crate::cache::stack::room;
use crate::machine::{Cache, Policy};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A scope with the order in which it is walked.
pub struct Loop {
    pub scope: usize,
    nodes: BTreeSet<usize>,
    order: Order,
}

impl Loop {
    /// All scopes, larger ones first.
    pub fn outermost_first(graph: &Graph) -> Vec<Loop> {
        let mut successors = vec![Vec::new(); graph.nodes.len()];
        let mut predecessors = vec![Vec::new(); graph.nodes.len()];
        for &(from, to) in &graph.edges {
            successors[from].push(to);
            predecessors[to].push(from);
        }
        let make = |(scope, content): (usize, &crate::cache::Scope)| {
            let nodes: BTreeSet<usize> = content.nodes.iter().copied().collect();
            let entered =
                |node: &&usize| **node == graph.entry || predecessors[**node].iter().any(|from| !nodes.contains(from));
            let starts: Vec<usize> = nodes.iter().filter(entered).copied().collect();
            let order = Order::part(&successors, &starts, |node| nodes.contains(&node));
            Loop { scope, nodes, order }
        };
        let mut loops: Vec<Loop> = graph.scopes.iter().enumerate().map(make).collect();
        loops.sort_by_key(|one| std::cmp::Reverse(one.nodes.len()));
        loops
    }

    pub fn contains(&self, node: usize) -> bool {
        self.nodes.contains(&node)
    }
}

/// Numbers of lines, by number of the access, that passed each test.
pub struct Found {
    /// Surely there.
    pub hits: Vec<u32>,
    /// Surely not there.
    pub misses: Vec<u32>,
    /// Sets that were looked at: all that differ.
    pub looked_at: Vec<usize>,
    /// First loop that keeps the line, for accesses to one line.
    kept: Vec<Option<u32>>,
    /// By loop, lines that it keeps, for accesses to several.
    kept_of_many: HashMap<usize, BTreeMap<u32, u32>>,
}

impl Found {
    fn new(accesses: usize) -> Self {
        let (hits, misses) = (vec![0; accesses], vec![0; accesses]);
        Found { hits, misses, looked_at: Vec::new(), kept: vec![None; accesses], kept_of_many: HashMap::new() }
    }

    /// Place of the first loop that keeps all `lines` of an access.
    pub fn kept_in(&self, access: usize, lines: u32) -> Option<usize> {
        let many = || self.kept_of_many.get(&access)?.iter().find(|(_, kept)| **kept == lines).map(|(place, _)| *place);
        let one = if lines == 1 { self.kept[access] } else { None };
        one.or_else(many).map(|place| place as usize)
    }

    /// `lines` of the access's `of` lines are kept by the loop at `place`.
    fn keep(&mut self, place: u32, access: usize, of: u32, lines: u32) {
        if of == 1 {
            self.kept[access] = Some(self.kept[access].map_or(place, |old| old.min(place)));
        } else {
            *self.kept_of_many.entry(access).or_default().entry(place).or_default() += lines;
        }
    }

    fn add(&mut self, other: Found) {
        self.hits.iter_mut().zip(other.hits).for_each(|(mine, more)| *mine += more);
        self.misses.iter_mut().zip(other.misses).for_each(|(mine, more)| *mine += more);
        for (mine, more) in self.kept.iter_mut().zip(other.kept) {
            *mine = match (*mine, more) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        for (access, loops) in other.kept_of_many {
            let mine = self.kept_of_many.entry(access).or_default();
            loops.into_iter().for_each(|(place, lines)| *mine.entry(place).or_default() += lines);
        }
    }
}

pub fn verdicts(
    order: &Order,
    cache: &Cache,
    loops: &[Loop],
    events: &Events,
    first: &[usize],
    accesses: usize,
    apart: u64,
) -> Found {
    let mut loops_of: Vec<Vec<u32>> = vec![Vec::new(); first.len()];
    for (place, one) in loops.iter().enumerate() {
        one.nodes.iter().for_each(|node| loops_of[*node].push(place as u32));
    }
    let number = |event: &Event| first[event.node] + event.access;
    let mut sets: Vec<usize> = (0..events.sets.len()).filter(|set| !events.sets[*set].is_empty()).collect();
    // A line with a name may be in a set in which nothing else is known to be; those are alike where the same names may be.
    let empty = (0..events.sets.len()).filter(|set| events.names > 0 && events.sets[*set].is_empty());
    let mut different = BTreeSet::new();
    sets.extend(empty.filter(|set| different.insert(*set as u64 % events.told_apart())));
    // The most that any of the domains counts.
    let most = cache.free_ways().max(cache.taken_as);
    let ways = cache.taken_as.min(cache.free_ways()).saturating_sub(apart);
    let mut surely = Found::new(accesses);
    let (together, single): (Vec<usize>, Vec<usize>) =
        sets.iter().partition(|set| events.numbered[**set].is_some() && DenseMust::can(ways));
    must_in_sets::surely_there(order, events, &together, (ways as u8, apart == 0), |event, there| {
        surely.hits[number(event)] += there;
    });
    for set in single {
        surely_there(order, events, (set, most, apart), ways, number, &mut surely);
    }
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(sets.len() / 8 + 1);
    let work = |thread: usize| {
        let mut found = Found::new(accesses);
        for set in sets.iter().skip(thread).step_by(threads) {
            one_set(order, cache, loops, &loops_of, (events, *set, most, apart), number, &mut found);
        }
        found
    };
    let mut found = surely;
    if threads == 1 {
        found.add(work(0));
        found.looked_at = sets;
        return found;
    }
    std::thread::scope(|scope| {
        let work = &work;
        let handles: Vec<_> = (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        for handle in handles {
            match handle.join() {
                Ok(more) => found.add(more),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
    });
    found.looked_at = sets;
    found
}

fn one_set(
    order: &Order,
    cache: &Cache,
    loops: &[Loop],
    loops_of: &[Vec<u32>],
    (all, set, most, apart): (&Events, usize, u64, u64),
    number: impl Fn(&Event) -> usize,
    found: &mut Found,
) {
    let ways = cache.taken_as.min(cache.free_ways()).saturating_sub(apart);
    if cache.policy == Policy::Lru {
        let may = May { ways: cache.free_ways() };
        // A line that was not accessed by its name may have been as one of the stack.
        solve(order, &may, &all.of(set, most, true), |state, event| {
            found.misses[number(event)] += count(event, |line| state.of(line) >= may.ways);
        });
    }
    // Accesses to any line alone leave nothing to keep.
    let mut touched = vec![false; loops.len()];
    for event in all.sets[set].iter().filter(|event| matches!(event.what, What::Touch(_))) {
        loops_of[event.node].iter().for_each(|place| touched[*place as usize] = true);
    }
    if !touched.contains(&true) {
        return;
    }
    let numbered = all.numbered[set].as_deref();
    let events: &[&Event] = &all.of(set, most, apart == 0);
    let mut of_loop: Vec<Vec<&Event>> = vec![Vec::new(); loops.len()];
    for event in events {
        let places = loops_of[event.node].iter().filter(|place| touched[**place as usize]);
        places.for_each(|place| of_loop[*place as usize].push(event));
    }
    for (place, mine) in of_loop.into_iter().enumerate().filter(|(_, mine)| !mine.is_empty()) {
        let mut keep = |event: &Event, lines: u32| {
            if lines > 0 {
                found.keep(place as u32, number(event), event.lines, lines);
            }
        };
        let order = &loops[place].order;
        if counted(cache, apart, &mine) {
            mine.iter().filter(|event| event.loads).for_each(|event| keep(event, count(event, |_| true)));
        } else if let Some(lines) = numbered {
            let younger = DenseYounger { ways, lines: lines.len() };
            solve(order, &younger, &mine, |state, event| {
                if event.loads {
                    keep(event, event.count(|line| younger.keeps(state, line)));
                }
            });
        } else {
            let younger = Younger { ways };
            solve(order, &younger, &mine, |state, event| {
                if event.loads {
                    keep(event, count(event, |line| younger.keeps(state, line)));
                }
            });
        }
    }
}

/// Which lines are there at each access, of a set with more lines than are numbered. One with a name is, if it is in this set,
/// and counts as one hit in each set.
fn surely_there(
    order: &Order,
    all: &Events,
    (set, most, apart): (usize, u64, u64),
    ways: u64,
    number: impl Fn(&Event) -> usize,
    found: &mut Found,
) {
    let events: &[&Event] = &all.named(set, most, apart == 0);
    solve(order, &Must { ways }, events, |state, event| match (&event.what, event.name) {
        (What::Renew(_), _) => {}
        (_, Some(name)) => found.hits[number(event)] += u32::from(state.contains_key(&Must::named(name))),
        _ => found.hits[number(event)] += count(event, |line| state.contains_key(&line)),
    });
}

fn count(event: &Event, passes: impl Fn(u64) -> bool) -> u32 {
    match &event.what {
        What::Touch(lines) => lines.iter().filter(|line| passes(**line)).count() as u32,
        What::Any | What::Forget | What::Renew(_) => 0,
    }
}

/// Whether all that happens to a set in a scope are accesses to no more lines than fit.
fn counted(cache: &Cache, apart: u64, events: &[&Event]) -> bool {
    let ways = room(cache).saturating_sub(apart);
    let mut touched = BTreeSet::new();
    for event in events {
        match &event.what {
            What::Touch(lines) => touched.extend(lines.iter().copied()),
            What::Any | What::Forget | What::Renew(_) => return false,
        }
        if touched.len() as u64 > ways {
            return false;
        }
    }
    true
}
