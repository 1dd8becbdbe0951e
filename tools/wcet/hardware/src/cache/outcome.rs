//! The verdicts, level by level.

use crate::cache::cost::FARTHEST;
use crate::cache::cycle::on_cycles;
use crate::cache::event::{events, Events, Reach};
use crate::cache::flow::Order;
use crate::cache::graph::{Access, Graph, Kind, Target};
use crate::cache::path::{lines, path, Lines};
use crate::cache::stack::{hits_again, keeping, Stack};
use crate::cache::verdicts::{verdicts, Found, Loop};
use crate::machine::{Cache, Machine};

/// What one cache does with one access, in every execution in which the access gets there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verdict {
    pub always_hit: bool,
    pub always_miss: bool,
    /// All accesses to a line that are persistent in this scope miss at most once between them for each entry of the
    /// scope.
    pub persistent: Option<usize>,
}

/// Verdicts of all accesses.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub(crate) machine: Machine,
    pub(crate) graph: Graph,
    pub(crate) stack: Option<Stack>,
    /// Of each access, nodes one after the other, and of each cache.
    verdicts: Vec<Vec<Verdict>>,
    /// Where the accesses of each node begin.
    first: Vec<usize>,
    /// Of each node, whether it can be executed again.
    cyclic: Vec<bool>,
}

impl Outcome {
    pub fn verdict(&self, node: usize, access: usize, cache: usize) -> Verdict {
        self.verdicts[self.first[node] + access][cache]
    }
}

/// Analyses `graph` on `machine`. Accesses of nodes that the entry does not reach stay unclassified.
pub fn analyse(graph: &Graph, machine: &Machine) -> Outcome {
    let mut first = Vec::with_capacity(graph.nodes.len());
    let mut accesses = 0;
    for node in &graph.nodes {
        first.push(accesses);
        accesses += node.accesses.len();
    }
    let verdicts = vec![vec![Verdict::default(); machine.caches.len()]; accesses];
    let mut outcome = Outcome {
        machine: machine.clone(),
        graph: graph.clone(),
        stack: Stack::of(graph, machine.line()),
        verdicts,
        first,
        cyclic: on_cycles(graph),
    };
    let order = Order::whole(graph);
    let loops = Loop::outermost_first(graph);
    // Caches stand by level, so those before are done.
    for index in 0..machine.caches.len() {
        let events = events(graph, machine, index, |node, access| reach(&outcome, node, access, index));
        record(&mut outcome, &order, &loops, &events, index);
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
        let verdict = outcome.verdict(node, access, before);
        if verdict.always_hit {
            return Reach::Never;
        }
        if !verdict.always_miss {
            reach = Reach::Perhaps;
        }
    }
    reach
}

/// Whether the line that a walk accesses is still there when its node is executed again: too few others are accessed in it.
fn stays(outcome: &Outcome, cache: &Cache, index: usize, (node, access): (usize, usize)) -> bool {
    let accesses = &outcome.graph.nodes[node].accesses;
    let looks = |other: &Access| path(&outcome.machine, other.kind).contains(&index);
    let others = accesses.iter().enumerate().filter(|(number, other)| *number != access && looks(other)).count();
    let loads = accesses[access].kind != Kind::Write || cache.allocate_on_write;
    let far = matches!(accesses[access].target, Target::Walk { name, lines } if lines > FARTHEST || name >= FARTHEST);
    let forgets = accesses.iter().any(|other| other.kind == Kind::Forget);
    loads && !far && !forgets && (others as u64) < cache.taken_as.min(cache.free_ways())
}

fn record(outcome: &mut Outcome, order: &Order, loops: &[Loop], events: &Events, index: usize) {
    let cache = outcome.machine.caches[index].clone();
    let stack = outcome.stack.as_ref().map_or(0, |stack| stack.in_one_set(&cache));
    // Without a way left for other lines, accesses to the stack are taken as accesses to any.
    let apart = if stack < cache.taken_as.min(cache.free_ways()) { stack } else { 0 };
    let found: Found = verdicts(order, &cache, loops, events, &outcome.first, outcome.verdicts.len(), apart);
    let keeping = if stack > 0 { keeping(&cache, loops, events, stack) } else { Vec::new() };
    for node in 0..outcome.graph.nodes.len() {
        for access in 0..outcome.graph.nodes[node].accesses.len() {
            let asked = outcome.graph.nodes[node].accesses[access];
            let path = path(&outcome.machine, asked.kind);
            if asked.kind == Kind::Forget || !path.contains(&index) {
                continue;
            }
            let number = outcome.first[node] + access;
            if let Target::Stack(first, last) = asked.target {
                let named = outcome.stack.as_ref().and_then(|stack| stack.names(first, last)).is_some();
                if named && (asked.kind != Kind::Write || cache.allocate_on_write) {
                    let keeps = keeping.iter().find(|place| loops[**place].contains(node));
                    outcome.verdicts[number][index].persistent = keeps.map(|place| loops[*place].scope);
                }
                continue;
            }
            match asked.target {
                // Wherever it is.
                Target::Line(_, sets) => {
                    let looked_at = found.looked_at.iter().filter(|set| sets.hold(**set, cache.sets)).count();
                    outcome.verdicts[number][index].always_hit =
                        looked_at > 0 && found.hits[number] == looked_at as u32;
                    continue;
                }
                Target::Walk { .. } => {
                    let steady = path.first() == Some(&index) && stays(outcome, &cache, index, (node, access));
                    let alone = outcome.graph.scopes.iter().position(|scope| scope.nodes == [node]);
                    outcome.verdicts[number][index].persistent = alone.filter(|_| steady);
                    continue;
                }
                _ => {}
            }
            if path.first() == Some(&index) && hits_again(&cache, asked.target) {
                outcome.verdicts[number][index].always_hit = true;
                continue;
            }
            let Lines::These { lines, device } = lines(&outcome.machine, &asked, cache.sets) else { continue };
            if lines.is_empty() {
                continue;
            }
            // What the tests counted must be all lines that can be here; pinned ones always are.
            let free = lines.iter().filter(|line| !cache.is_pinned(**line)).count() as u32;
            // What happens once misses once: that is less than a first miss of each line that it may be.
            let counts = free == 1 || free > 1 && outcome.cyclic[node];
            let persistent = if counts { found.kept_in(number, free) } else { None };
            outcome.verdicts[number][index] = Verdict {
                always_hit: device.is_none() && found.hits[number] == free,
                always_miss: free > 0 && free == lines.len() as u32 && found.misses[number] == free,
                persistent: persistent.map(|place| loops[place].scope),
            };
        }
    }
}
