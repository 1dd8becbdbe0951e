//! Lines that are surely there, of many sets at once.
//!
//! Of one set after the other, each would walk the whole graph for the few nodes at which it is accessed. Here the states of
//! many sets stand side by side: the graph is walked once for all of them, and where paths meet, or any line may be accessed,
//! their bytes are treated all together.

use crate::cache::dense::DenseMust;
use crate::cache::event::{Event, Events, What};
use crate::cache::flow::Order;

/// Bytes of the states before all nodes together, as far as one set allows.
const MOST_BYTES: usize = 1 << 20;

/// A set, and where its lines stand in a state.
#[derive(Debug, Clone, Copy)]
struct Place {
    set: usize,
    at: usize,
    must: DenseMust,
}

impl Place {
    fn of<'s>(&self, state: &'s [u8]) -> &'s [u8] {
        &state[self.at..self.at + self.must.width()]
    }

    fn of_mut<'s>(&self, state: &'s mut [u8]) -> &'s mut [u8] {
        &mut state[self.at..self.at + self.must.width()]
    }
}

/// What happens at a node.
#[derive(Debug, Clone, Copy)]
enum Step<'e> {
    /// To one set, by its number among the places.
    Own(usize, &'e Event),
    /// To all sets in which it may be.
    All(&'e Event),
}

impl<'e> Step<'e> {
    fn event(self) -> &'e Event {
        match self {
            Step::Own(_, event) | Step::All(event) => event,
        }
    }
}

/// Walks the graph for these sets, whose lines are numbered. Calls `visit` for each event with the number of its lines that are
/// surely there before it; one with a name counts once in each set where it is.
pub fn surely_there(
    order: &Order,
    events: &Events,
    sets: &[usize],
    (ways, stack): (u8, bool),
    visit: impl FnMut(&Event, u32),
) {
    in_batches(order, events, sets, (ways, stack), MOST_BYTES / order.len().max(1), visit);
}

/// With states of so many bytes, as far as one set allows.
fn in_batches(
    order: &Order,
    events: &Events,
    sets: &[usize],
    (ways, stack): (u8, bool),
    room: usize,
    mut visit: impl FnMut(&Event, u32),
) {
    let (mut left, mut before) = (sets, Vec::new());
    while !left.is_empty() {
        let (places, width) = batch(events, left, ways, room);
        left = &left[places.len()..];
        let steps = steps(order, events, &places, stack);
        let walk = Walk { places: &places, sets: events.sets.len() as u64, width, steps: &steps };
        walk.run(order, &mut before, &mut visit);
    }
}

/// The first of some sets, as many as have room, and what a state of all of them takes.
fn batch(events: &Events, sets: &[usize], ways: u8, room: usize) -> (Vec<Place>, usize) {
    let (mut places, mut at) = (Vec::new(), 0);
    for &set in sets {
        let lines = events.numbered[set].as_ref().map_or(0, Vec::len);
        let must = DenseMust { ways, lines, names: events.names };
        if !places.is_empty() && at + must.width() > room {
            break;
        }
        places.push(Place { set, at, must });
        at += must.width();
    }
    (places, at)
}

/// What happens at each node, by its place in the order.
fn steps<'e>(order: &Order, events: &'e Events, places: &[Place], stack: bool) -> Vec<Vec<Step<'e>>> {
    let mut steps: Vec<Vec<Step<'e>>> = vec![Vec::new(); order.len()];
    let mut add = |step: Step<'e>| {
        if let Some(rank) = order.rank(step.event().node) {
            steps[rank].push(step);
        }
    };
    for (number, place) in places.iter().enumerate() {
        events.sets[place.set].iter().for_each(|event| add(Step::Own(number, event)));
    }
    events.in_all(stack).for_each(|event| add(Step::All(event)));
    // What happens to a set itself comes first, as everywhere.
    steps.iter_mut().for_each(|steps| steps.sort_by_key(|step| step.event().access));
    steps
}

struct Walk<'w, 'e> {
    places: &'w [Place],
    /// All sets of the cache.
    sets: u64,
    width: usize,
    steps: &'w [Vec<Step<'e>>],
}

impl Walk<'_, '_> {
    /// `before` is room for the states before all nodes, whatever it holds.
    fn run(&self, order: &Order, before: &mut Vec<u8>, visit: &mut impl FnMut(&Event, u32)) {
        let (count, width) = (order.len(), self.width);
        before.resize(count * width, 0);
        let (mut reached, mut dirty) = (vec![false; count], vec![false; count]);
        for &place in order.starts() {
            DenseMust::forget(&mut before[place * width..(place + 1) * width]);
            (reached[place], dirty[place]) = (true, true);
        }
        let mut after = vec![0u8; width];
        let mut again = true;
        while again {
            again = false;
            for place in 0..count {
                if !std::mem::take(&mut dirty[place]) {
                    continue;
                }
                after.copy_from_slice(&before[place * width..(place + 1) * width]);
                self.steps[place].iter().for_each(|step| self.apply(&mut after, *step));
                for &to in order.successors(place) {
                    let known = &mut before[to * width..(to + 1) * width];
                    let changed = if std::mem::replace(&mut reached[to], true) {
                        DenseMust::join(known, &after)
                    } else {
                        known.copy_from_slice(&after);
                        true
                    };
                    if changed {
                        dirty[to] = true;
                        again |= to <= place;
                    }
                }
            }
        }
        for place in (0..count).filter(|place| reached[*place] && !self.steps[*place].is_empty()) {
            after.copy_from_slice(&before[place * width..(place + 1) * width]);
            for &step in &self.steps[place] {
                let there = self.there(&after, step);
                if there > 0 {
                    visit(step.event(), there);
                }
                self.apply(&mut after, step);
            }
        }
    }

    /// Places of the sets that an event may happen to.
    fn holding(&self, event: &Event) -> impl Iterator<Item = &Place> {
        let within = event.within;
        self.places.iter().filter(move |place| within.hold(place.set, self.sets))
    }

    fn apply(&self, state: &mut [u8], step: Step<'_>) {
        match step {
            Step::Own(number, event) => {
                let place = &self.places[number];
                place.must.apply(place.of_mut(state), event);
            }
            Step::All(event)
                if event.within.modulus <= 1 && matches!(event.what, What::Any) && event.name.is_none() =>
            {
                self.places.first().into_iter().for_each(|place| place.must.age(state));
            }
            Step::All(event) if event.within.modulus <= 1 && matches!(event.what, What::Forget) => {
                DenseMust::forget(state);
            }
            Step::All(event) => {
                self.holding(event).for_each(|place| place.must.apply(place.of_mut(state), event));
            }
        }
    }

    fn there(&self, state: &[u8], step: Step<'_>) -> u32 {
        match (step, &step.event().what, step.event().name) {
            (_, What::Renew(_), _) => 0,
            (Step::Own(number, event), _, _) => {
                let place = &self.places[number];
                event.count(|line| DenseMust::holds(place.of(state), line))
            }
            (Step::All(event), _, Some(name)) => {
                let holds = |place: &&Place| DenseMust::holds(place.of(state), place.must.named(name));
                self.holding(event).filter(holds).count() as u32
            }
            (Step::All(_), _, None) => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::cache::event::{events, Reach};
    use crate::cache::flow::solve;
    use crate::cache::graph::{Access, Graph, Kind, Node, Sets, Target};
    use crate::cache::must::Must;
    use crate::machine::Machine;

    /// The sequence of numbers below a bound that a seed gives.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: u64) -> u64 {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) % bound
        }
    }

    fn target(random: &mut Random, line: u64) -> Target {
        let sets = Sets { modulus: 1 << random.below(3), rest: random.below(4) };
        match random.below(12) {
            0 => Target::Memory,
            1 => Target::Stack(-64, 8),
            // One name is always of the same sets.
            2 => Target::Line(1, Sets { modulus: 4, rest: 1 }),
            3 => Target::Line(2, Sets::ANY),
            4 => Target::Line(10 + 4 * sets.modulus + sets.rest, sets),
            5 => Target::Within(line * random.below(9), line * (8 + random.below(9))),
            _ => Target::At(line * random.below(40)),
        }
    }

    fn graph(random: &mut Random, line: u64) -> Graph {
        let count = 2 + random.below(12) as usize;
        let mut graph = Graph::default();
        for _ in 0..count {
            let mut node = Node::default();
            for _ in 0..random.below(6) {
                let kind = match random.below(12) {
                    0 => Kind::Forget,
                    1..=3 => Kind::Write,
                    _ => Kind::Read,
                };
                node.accesses.push(Access { kind, target: target(random, line), certain: random.below(3) > 0 });
            }
            node.renews.extend((random.below(5) == 0).then_some(1 + random.below(2)));
            graph.nodes.push(node);
        }
        graph.edges.extend((1..count).map(|to| (random.below(to as u64) as usize, to)));
        let more = (0..count).map(|_| (random.below(count as u64) as usize, random.below(count as u64) as usize));
        graph.edges.extend(more.collect::<Vec<_>>());
        graph
    }

    /// Lines that are surely there, by set, node and access.
    type There = BTreeMap<(usize, usize), u32>;

    fn one_by_one(order: &Order, events: &Events, sets: &[usize], ways: u64, stack: bool) -> There {
        let mut there = There::new();
        for &set in sets {
            solve(order, &Must { ways }, &events.named(set, 8, stack), |state, event| {
                let count = match (&event.what, event.name) {
                    (What::Renew(_), _) => 0,
                    (_, Some(name)) => u32::from(state.contains_key(&Must::named(name))),
                    (What::Touch(lines), None) => lines.iter().filter(|line| state.contains_key(line)).count() as u32,
                    (What::Any | What::Forget, None) => 0,
                };
                *there.entry((event.node, event.access)).or_default() += count;
            });
        }
        there.retain(|_, count| *count > 0);
        there
    }

    #[test]
    fn many_sets_at_once_are_each_what_they_are_alone() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../machines/timing/x86-inorder.toml");
        let mut machine: Machine = crate::machine::load(path.as_ref()).unwrap_or_else(|faults| panic!("{faults}"));
        let index = machine.caches.iter().position(|cache| cache.name == "l1d").unwrap();
        machine.caches[index].sets = 4;
        let mut random = Random(1);
        let mut hits = 0;
        for round in 0..600 {
            let ways = random.below(5);
            machine.caches[index].allocate_on_write = random.below(4) > 0;
            let graph = graph(&mut random, machine.line());
            let reach = |node: usize, access: usize| match graph.nodes[node].accesses[access].certain {
                true => Reach::Always,
                false => Reach::Perhaps,
            };
            let events = events(&graph, &machine, index, reach);
            let order = Order::whole(&graph);
            let (sets, stack) = (vec![0, 1, 2, 3], random.below(2) == 0);
            let expected = one_by_one(&order, &events, &sets, ways, stack);
            // From one set at a time to all of them.
            for room in [0, 20, 1000] {
                let mut there = There::new();
                in_batches(&order, &events, &sets, (ways as u8, stack), room, |event, count| {
                    *there.entry((event.node, event.access)).or_default() += count;
                });
                assert_eq!(there, expected, "round {round}, {ways} ways, room for {room}: {graph:?}");
            }
            hits += expected.len();
        }
        assert!(hits > 200, "{hits}");
    }
}
