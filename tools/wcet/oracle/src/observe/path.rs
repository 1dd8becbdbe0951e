//! The paths that passages take through the graphs of regions.

use std::collections::{BTreeMap, BTreeSet};

use wcet_flow::context::{EdgeId, Expanded, LoopId};
use wcet_hardware::machine::Machine;
use wcet_kernel::{along, chain, dead, expected, expected_along, Chain, Expected, Kernel, Kind, Part};

use crate::observe::follow::{follow, Walk};
use crate::observe::ledger::Ledger;
use crate::observe::passage::Passage;
use crate::observe::record::Executed;
use crate::observe::sets::Sets;

/// A graph: from a place in a chain of calls on, up to the ends of all regions and to some of its own. Regions may share it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Which {
    chain: Chain,
    stops: BTreeSet<u64>,
}

/// What a passage does in one graph: passages that do the same have the same bound.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Taken {
    graph: Which,
    edges: BTreeSet<EdgeId>,
    rounds: BTreeMap<LoopId, u64>,
    totals: BTreeMap<LoopId, u64>,
}

struct Graph<'k> {
    expanded: Expanded<'k>,
    /// Edges that `kernel/timing.toml` rules out.
    dead: BTreeSet<EdgeId>,
}

/// A path, and instructions that take it.
#[derive(Debug, Clone)]
struct Path {
    region: usize,
    taken: Vec<Taken>,
    addresses: Vec<Vec<u64>>,
}

/// A passage in the graph of a region.
pub struct Followed {
    pub region: usize,
    /// The path's number.
    pub path: usize,
    /// Which of its instructions count, in order: without what is waited for others.
    pub counted: Vec<usize>,
    /// What it does that the analysis rules out.
    pub surprises: Vec<String>,
}

/// The graphs of a path, and what is expected in each.
type Along<'k> = Vec<(Part<'k>, Expected)>;

/// All paths.
pub struct Paths<'k, 'p> {
    kernel: &'k Kernel<'p>,
    graphs: BTreeMap<Which, Graph<'k>>,
    numbers: BTreeMap<Vec<Taken>, usize>,
    paths: Vec<Path>,
    /// What is expected in graphs, by region.
    expected: BTreeMap<(usize, Vec<Which>), Vec<Expected>>,
    /// The same along paths, by number and where in its line the stack begins.
    along: BTreeMap<(usize, Option<u64>), Along<'k>>,
}

impl<'k, 'p> Paths<'k, 'p> {
    pub fn new(kernel: &'k Kernel<'p>) -> Paths<'k, 'p> {
        let (graphs, numbers, paths) = (BTreeMap::new(), BTreeMap::new(), Vec::new());
        Paths { kernel, graphs, numbers, paths, expected: BTreeMap::new(), along: BTreeMap::new() }
    }

    /// Holds a passage that follows a region against what the analysis found of the region, which bounds an entry and its
    /// handlers apart; None if it does not follow it so.
    pub fn check(
        &mut self,
        region: usize,
        passage: &Passage,
        machine: &Machine,
        sets: &mut Sets<'k, 'p>,
        ledger: &mut Ledger,
    ) -> Option<()> {
        let kernel = self.kernel;
        let own = &kernel.regions[region];
        let addresses: Vec<u64> = passage.instructions.iter().map(|executed| executed.address).collect();
        let enters = matches!(own.kind, Kind::SystemCall | Kind::Exception | Kind::Interrupt);
        let handlers = if enters { kernel.handlers.clone() } else { BTreeSet::new() };
        let walks = self.walks(region, &addresses, &handlers).ok()?;
        let key = (region, walks.iter().map(|(which, ..)| which.clone()).collect::<Vec<_>>());
        if !self.expected.contains_key(&key) {
            let graphs =
                walks.iter().map(|(which, _, walk)| (&self.graphs[which].expanded, walk.last().map(|last| last.node)));
            let found = expected(kernel, own, machine, &graphs.collect::<Vec<_>>());
            self.expected.insert(key.clone(), found);
        }
        for ((which, first, walk), expected) in walks.iter().zip(&self.expected[&key]) {
            let expanded = &self.graphs[which].expanded;
            let unknown = sets.accesses(expanded, expected, walk, &passage.instructions[*first..], ledger);
            sets.anywhere += unknown;
            sets.loops(expanded, expected, walk, ledger);
        }
        Some(())
    }

    /// The passage in the first of its regions that has it. If none has, the address up to which one follows it farthest.
    pub fn follow(&mut self, passage: &Passage) -> Result<Followed, String> {
        let addresses: Vec<u64> = passage.instructions.iter().map(|executed| executed.address).collect();
        let mut farthest = 0;
        for region in &passage.regions {
            match self.follow_in(*region, &addresses) {
                Ok(followed) => return Ok(followed),
                Err(Strange::At(number)) => farthest = farthest.max(number),
                Err(Strange::Graph(why)) => return Err(why),
            }
        }
        let program = self.kernel.lifter.program();
        let at = addresses.get(farthest).map_or_else(String::new, |address| program.describe(*address));
        let name = &self.kernel.regions[passage.regions[0]].name;
        Err(format!("{name}: no path in the control-flow graph goes on with {at}"))
    }

    fn follow_in(&mut self, region: usize, addresses: &[u64]) -> Result<Followed, Strange> {
        let counted = self.counted(region, addresses)?;
        let mut surprises = Vec::new();
        let addresses: Vec<u64> = counted.iter().map(|number| addresses[*number]).collect();
        let mut path = Path { region, taken: Vec::new(), addresses: Vec::new() };
        for (graph, first, walk) in self.walks(region, &addresses, &BTreeSet::new())? {
            let Graph { expanded, dead } = &self.graphs[&graph];
            let (edges, rounds, totals) = (walk.edges(), walk.rounds(expanded), walk.totals(expanded));
            if let Some(edge) = edges.intersection(dead).next() {
                let place = expanded.place(expanded.edges[*edge].from);
                surprises.push(format!("{place} goes on although kernel/timing.toml says it does not"));
            }
            for (one, rounds) in &rounds {
                let one = &expanded.loops[*one];
                let function = expanded.function(one.context);
                let stated = self.kernel.stated.get(&(function.entry, one.index));
                if stated.is_some_and(|stated| *rounds > stated.executes) {
                    let place = expanded.place(one.header);
                    surprises.push(format!("the loop at {place} executes {rounds} times, more than is stated"));
                }
            }
            path.taken.push(Taken { graph, edges, rounds, totals });
            path.addresses.push(addresses[first..first + walk.length].to_vec());
        }
        let next = self.paths.len();
        let number = *self.numbers.entry(path.taken.clone()).or_insert(next);
        if number == next {
            self.paths.push(path);
        }
        Ok(Followed { region, path: number, counted, surprises })
    }

    /// Instructions without those of waits for others beyond what counts of them.
    fn counted(&mut self, region: usize, addresses: &[u64]) -> Result<Vec<usize>, Strange> {
        let mut left_out = BTreeSet::new();
        for (graph, first, walk) in self.walks(region, addresses, &BTreeSet::new())? {
            let expanded = &self.graphs[&graph].expanded;
            let looks = |one: LoopId| {
                let function = expanded.contexts[expanded.loops[one].context].function;
                self.kernel.waits.get(&function).map(|(_, looks)| *looks)
            };
            for range in walk.waited(expanded, looks) {
                left_out.extend(first + range.start..first + range.end);
            }
        }
        Ok((0..addresses.len()).filter(|number| !left_out.contains(number)).collect())
    }

    /// The graphs through which a region leads, each with its first instruction and the walk in it. The first ends at handlers too.
    fn walks(
        &mut self,
        region: usize,
        addresses: &[u64],
        handlers: &BTreeSet<u64>,
    ) -> Result<Vec<(Which, usize, Walk)>, Strange> {
        let kernel = self.kernel;
        let own = &kernel.regions[region];
        let mut which = Which { chain: own.chain.clone(), stops: own.stops.union(handlers).copied().collect() };
        if let (Kind::Inside, Some(first)) = (own.kind, addresses.first()) {
            // One region stands for all vectors; which it was makes no difference behind the first instructions.
            which.chain = vec![(*first, 0)];
        }
        let (mut walks, mut first) = (Vec::new(), 0);
        loop {
            self.expand(region, &which).map_err(Strange::Graph)?;
            let expanded = &self.graphs[&which].expanded;
            let walk = follow(expanded, &addresses[first..]).map_err(|number| Strange::At(first + number))?;
            let end = first + walk.length;
            let handler = walk.last().filter(|last| which.stops.contains(&expanded.block(last.node).start()));
            let behind = handler.map(|last| (chain(expanded, last.node), first + last.first));
            walks.push((which, first, walk));
            match behind {
                Some((chain, begins)) => (which, first) = (Which { chain, stops: own.stops.clone() }, begins),
                None if end == addresses.len() => return Ok(walks),
                None => return Err(Strange::At(end)),
            }
        }
    }

    fn expand(&mut self, region: usize, which: &Which) -> Result<(), String> {
        if self.graphs.contains_key(which) {
            return Ok(());
        }
        let kernel = self.kernel;
        let expanded = kernel.regions[region]
            .expand(&kernel.graph, &kernel.points, &which.chain, &which.stops)
            .map_err(|errors| errors.first().map_or_else(String::new, ToString::to_string))?;
        let dead = dead(&expanded, &kernel.points);
        self.graphs.insert(which.clone(), Graph { expanded, dead });
        Ok(())
    }

    /// Of each path the bound, or why it has none.
    pub fn bounds(&self, machine: &Machine, progress: &mut dyn FnMut(usize, usize)) -> Vec<Result<u64, String>> {
        let bound = |(number, path): (usize, &Path)| {
            progress(number, self.paths.len());
            self.bound(path, machine)
        };
        self.paths.iter().enumerate().map(bound).collect()
    }

    /// Its graphs, with the edges that it takes alone.
    fn parts(&self, path: &Path) -> Result<Vec<Part<'k>>, String> {
        let mut parts = Vec::new();
        for (taken, addresses) in path.taken.iter().zip(&path.addresses) {
            let whole = &self.graphs[&taken.graph].expanded;
            let strange = |number: usize| format!("the path leaves its own graph at {:#x}", addresses[number]);
            let last = follow(whole, addresses).map_err(strange)?.last();
            let exits = last.map(|last| last.node).into_iter().collect();
            let first =
                |errors: Vec<wcet_flow::context::Error>| errors.first().map_or_else(String::new, ToString::to_string);
            let expanded = whole.part(&taken.edges, &exits).map_err(first)?;
            let walk = follow(&expanded, addresses).map_err(strange)?;
            let (rounds, totals) = (walk.rounds(&expanded), walk.totals(&expanded));
            parts.push(Part { expanded, rounds, totals });
        }
        Ok(parts)
    }

    /// Holds instructions that take a path, those that count, against what its bound rests on. `stack` is where the stack pointer
    /// stood at first.
    pub fn check_path(
        &mut self,
        number: usize,
        executed: &[Executed],
        stack: Option<u64>,
        machine: &Machine,
        sets: &mut Sets<'k, 'p>,
        ledger: &mut Ledger,
    ) {
        let region = &self.kernel.regions[self.paths[number].region];
        let key = (number, stack.filter(|_| region.kind == Kind::Inside).map(|stack| stack % machine.line()));
        if !self.along.contains_key(&key) {
            // A path without graphs of its own has no bound either, which is told.
            let parts = self.parts(&self.paths[number]).unwrap_or_default();
            let found = expected_along(self.kernel, region, machine, &parts, stack);
            self.along.insert(key, parts.into_iter().zip(found).collect());
        }
        let mut rest = executed;
        for (Part { expanded, .. }, expected) in &self.along[&key] {
            let addresses: Vec<u64> = rest.iter().map(|one| one.address).collect();
            let Ok(walk) = follow(expanded, &addresses) else { return };
            sets.accesses(expanded, expected, &walk, rest, ledger);
            rest = &rest[walk.length..];
        }
    }

    fn bound(&self, path: &Path, machine: &Machine) -> Result<u64, String> {
        let parts = self.parts(path)?;
        let region = &self.kernel.regions[path.region];
        along(self.kernel, region, machine, &parts)
            .map_err(|errors| errors.first().map_or_else(String::new, ToString::to_string))
    }
}

/// Why a passage is not followed.
enum Strange {
    /// The graph goes elsewhere at this instruction.
    At(usize),
    Graph(String),
}
