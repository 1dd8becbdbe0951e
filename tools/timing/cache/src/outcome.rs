//! The verdicts, level by level.

use crate::event::{events, Event, Events, Reach, What};
use crate::flow::{solve, Order};
use crate::graph::{Graph, Kind};
use crate::may::May;
use crate::must::Must;
use crate::path::{lines, path, Lines};
use crate::younger::Younger;
use std::collections::BTreeSet;
use timing_machine::{Cache, Machine, Policy};

/// What one cache does with one access, in every execution in which the access gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verdict {
    pub always_hit: bool,
    pub always_miss: bool,
    /// All accesses to a line that are persistent in this scope miss at most once between them for each entry of the scope.
    pub persistent: Option<usize>,
}

/// Verdicts of all accesses.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub(crate) machine: Machine,
    /// Of each node, access and cache.
    verdicts: Vec<Vec<Vec<Verdict>>>,
    pub(crate) graph: Graph,
}

impl Outcome {
    pub fn verdict(&self, node: usize, access: usize, cache: usize) -> Verdict {
        self.verdicts[node][access][cache]
    }
}

/// Analyses `graph` on `machine`. Accesses of nodes that the entry does not reach stay unclassified.
pub fn analyse(graph: &Graph, machine: &Machine) -> Outcome {
    let blank = |node: &crate::Node| vec![vec![Verdict::default(); machine.caches.len()]; node.accesses.len()];
    let mut outcome =
        Outcome { machine: machine.clone(), verdicts: graph.nodes.iter().map(blank).collect(), graph: graph.clone() };
    let order = Order::new(graph);
    // Caches stand by level, so those before are done.
    for index in 0..machine.caches.len() {
        let events = events(graph, machine, index, |node, access| reach(&outcome, node, access, index));
        classify(&mut outcome, &order, &events, index);
    }
    outcome
}

/// Whether an access gets to cache `index`, by the verdicts of the caches before it.
fn reach(outcome: &Outcome, node: usize, access: usize, index: usize) -> Reach {
    let asked = &outcome.graph.nodes[node].accesses[access];
    let mut reach = if asked.certain { Reach::Always } else { Reach::Perhaps };
    if asked.kind == Kind::Forget {
        return reach;
    }
    for before in path(&outcome.machine, asked.kind).into_iter().take_while(|&before| before != index) {
        let verdict = outcome.verdicts[node][access][before];
        if verdict.always_hit {
            return Reach::Never;
        }
        if !verdict.always_miss {
            reach = Reach::Perhaps;
        }
    }
    reach
}

fn classify(outcome: &mut Outcome, order: &Order, events: &Events, index: usize) {
    let cache = outcome.machine.caches[index].clone();
    let scopes = outermost_first(&outcome.graph);
    // Lines of each access that were found in no set's must, kept in no scope, or possibly there.
    let mut hits = Tally::default();
    let mut misses = Tally::default();
    let mut kept: Vec<Tally> = vec![Tally::default(); scopes.len()];
    for set in 0..events.sets.len() {
        if events.sets[set].is_empty() {
            continue;
        }
        let all = events.of(set);
        let must = Must { ways: cache.taken_as.min(cache.free_ways()) };
        solve(
            order,
            &must,
            &all,
            &[outcome.graph.entry],
            |_| true,
            |state, event| {
                hits.count(event, |line| state.contains_key(&line));
            },
        );
        if cache.policy == Policy::Lru {
            let may = May { ways: cache.free_ways() };
            solve(
                order,
                &may,
                &all,
                &[outcome.graph.entry],
                |_| true,
                |state, event| {
                    misses.count(event, |line| state.of(line) >= may.ways);
                },
            );
        }
        for ((_, scope), kept) in scopes.iter().zip(&mut kept) {
            persistence(order, &outcome.graph, &cache, scope, &all, kept);
        }
    }
    record(outcome, &cache, index, &hits, &misses, &scopes, &kept);
}

/// Scopes with their numbers and nodes, larger ones first.
fn outermost_first(graph: &Graph) -> Vec<(usize, BTreeSet<usize>)> {
    let mut scopes: Vec<(usize, BTreeSet<usize>)> = graph
        .scopes
        .iter()
        .enumerate()
        .map(|(number, scope)| (number, scope.nodes.iter().copied().collect()))
        .collect();
    scopes.sort_by_key(|(_, nodes)| std::cmp::Reverse(nodes.len()));
    scopes
}

/// Number of lines of accesses that passed a test.
#[derive(Debug, Clone, Default)]
struct Tally(std::collections::BTreeMap<(usize, usize), u64>);

impl Tally {
    fn count(&mut self, event: &Event, passes: impl Fn(u64) -> bool) {
        if let What::Touch(lines) = &event.what {
            let count = lines.iter().filter(|line| passes(**line)).count() as u64;
            *self.0.entry((event.node, event.access)).or_default() += count;
        }
    }

    fn has_all(&self, node: usize, access: usize, lines: u64) -> bool {
        self.0.get(&(node, access)).copied().unwrap_or(0) == lines
    }
}

fn persistence(
    order: &Order,
    graph: &Graph,
    cache: &Cache,
    scope: &BTreeSet<usize>,
    events: &[&Event],
    kept: &mut Tally,
) {
    let mine: Vec<&Event> = events.iter().copied().filter(|event| scope.contains(&event.node)).collect();
    if mine.iter().all(|event| !matches!(event.what, What::Touch(_))) {
        return;
    }
    let mut touched = BTreeSet::new();
    let mut known = true;
    for event in &mine {
        match &event.what {
            What::Touch(lines) => touched.extend(lines.iter().copied()),
            What::Any | What::Forget => known = false,
        }
    }
    let counted = match cache.policy {
        Policy::Fifo => cache.free_ways(),
        _ => cache.taken_as.min(cache.free_ways()),
    };
    if known && touched.len() as u64 <= counted {
        return mine.iter().filter(|event| event.loads).for_each(|event| kept.count(event, |_| true));
    }
    let younger = Younger { ways: cache.taken_as.min(cache.free_ways()) };
    let entered = graph.edges.iter().filter(|(from, to)| scope.contains(to) && !scope.contains(from));
    let mut starts: Vec<usize> = entered.map(|(_, to)| *to).collect();
    starts.extend(scope.contains(&graph.entry).then_some(graph.entry));
    solve(
        order,
        &younger,
        &mine,
        &starts,
        |node| scope.contains(&node),
        |state, event| {
            if event.loads {
                kept.count(event, |line| younger.keeps(state, line));
            }
        },
    );
}

fn record(
    outcome: &mut Outcome,
    cache: &Cache,
    index: usize,
    hits: &Tally,
    misses: &Tally,
    scopes: &[(usize, BTreeSet<usize>)],
    kept: &[Tally],
) {
    for node in 0..outcome.graph.nodes.len() {
        for access in 0..outcome.graph.nodes[node].accesses.len() {
            let asked = outcome.graph.nodes[node].accesses[access];
            let Lines::These { lines, device } = lines(&outcome.machine, &asked) else { continue };
            if asked.kind == Kind::Forget || !path(&outcome.machine, asked.kind).contains(&index) || lines.is_empty() {
                continue;
            }
            let free = lines.iter().filter(|line| !cache.is_pinned(**line)).count() as u64;
            let place = scopes
                .iter()
                .zip(kept)
                .find(|((_, scope), kept)| free > 0 && scope.contains(&node) && kept.has_all(node, access, free));
            outcome.verdicts[node][access][index] = Verdict {
                always_hit: device.is_none() && hits.has_all(node, access, free),
                always_miss: free == lines.len() as u64 && misses.has_all(node, access, free),
                persistent: place.map(|((number, _), _)| *number),
            };
        }
    }
}
