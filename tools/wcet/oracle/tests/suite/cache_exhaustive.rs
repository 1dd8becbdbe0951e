//! Random small graphs on random small caches: every path up to a bound is run on concrete caches from random
//! contents, and no verdict may be refuted. `TIMING_CASES` sets the number of graphs.

use crate::random::{cases, machine, Random, LINE};
use std::collections::BTreeMap;
use wcet_hardware::cache::{analyse, Access, Graph, Kind, Node, Outcome, Scope, Sets, Target};
use wcet_hardware::machine::{Machine, Policy};
use wcet_oracle::simulate::{Hierarchy, Pointer, Use};

/// Pages that stand anywhere, and their names: beyond all other addresses.
const PAGE: u64 = 2 * LINE;
const NAMED: u64 = 1 << 40;
/// The number of names for lines at unknown addresses.
const NAMES: u64 = 4;

fn access(random: &mut Random) -> Access {
    let kind = match random.below_u64(20) {
        0..=9 => Kind::Fetch,
        10..=15 => Kind::Read,
        16..=18 => Kind::Write,
        _ => Kind::Forget,
    };
    let address = random.below_u64(LINE * 12) + if random.one_in(12) { LINE * 3 } else { 0 };
    let target = match (kind, random.below_u64(10)) {
        (Kind::Fetch, _) | (_, 0..=4) => Target::At(address),
        (_, 5..=6) => Target::OnPage { address: NAMED + random.below_u64(PAGE), page: PAGE },
        (_, 7) => Target::Within(address, address + random.below_u64(LINE * 3)),
        (_, 8) => unknown(random),
        _ if random.one_in(2) => Target::Device(LINE * 14, LINE * 15 - 1),
        _ => Target::Anywhere,
    };
    Access { kind, target, certain: !random.one_in(8) }
}

/// Of some lines with names it is known of which sets they are.
fn named(name: u64) -> Target {
    let modulus = [1, 2, 4, 1][name as usize % 4];
    Target::Line(name, Sets { modulus, rest: name % modulus })
}

/// An address where such a line may stand.
fn line_of(name: u64, random: &mut Random) -> u64 {
    let line = random.below_u64(12);
    match named(name) {
        Target::Line(_, sets) => (line - line % sets.modulus + sets.rest) * LINE,
        _ => line * LINE,
    }
}

/// Memory of which no address is known.
fn unknown(random: &mut Random) -> Target {
    let first = random.below_u64(6 * LINE) as i64 / 4 * 4 - 3 * LINE as i64;
    match random.below_u64(12) {
        0 => Target::Memory,
        1..=5 => named(random.below_u64(NAMES)),
        6..=8 => Target::Stack(first, first + 3),
        _ => Target::Stack(first, first + random.below_u64(LINE * 2) as i64),
    }
}

/// Reads of memory, each followed by a write to the same line.
fn updates(random: &mut Random) -> Vec<Access> {
    let target = if random.one_in(3) { Target::Within(0, random.below_u64(LINE * 4)) } else { unknown(random) };
    let certain = !random.one_in(3);
    let (lines, read) = (1 + random.below_u64(3), Access { kind: Kind::Read, target, certain });
    let write = Access { kind: Kind::Write, target: Target::Again(lines), certain };
    (0..lines).map(|_| read).chain((0..lines).map(|_| write)).collect()
}

fn node(random: &mut Random) -> Node {
    let mut accesses: Vec<Access> = (0..random.below_u64(5)).map(|_| access(random)).collect();
    if random.one_in(4) {
        let at = random.below_u64(accesses.len() as u64 + 1) as usize;
        accesses.splice(at..at, updates(random));
    }
    let renews = (0..NAMES).filter(|_| random.one_in(12)).collect();
    Node { accesses, renews }
}

/// Makes some nodes loops by themselves, in which memory is walked through.
fn walks(random: &mut Random, graph: &mut Graph) {
    for node in 0..graph.nodes.len() {
        if !random.one_in(4) {
            continue;
        }
        graph.edges.push((node, node));
        graph.scopes.push(Scope { nodes: vec![node] });
        let accesses = &mut graph.nodes[node].accesses;
        if random.one_in(2) {
            accesses.truncate(1);
        }
        for name in 0..1 + random.below_u64(2) {
            let kind = random.pick(&[Kind::Read, Kind::Read, Kind::Write]);
            let target = Target::Walk { name: 100 * node as u64 + name, lines: 1 + random.below_u64(4) };
            // At the end: what repeats an access counts those before it.
            accesses.push(Access { kind, target, certain: false });
        }
    }
    graph.edges.sort_unstable();
    graph.edges.dedup();
}

fn graph(random: &mut Random) -> Graph {
    let count = 1 + random.below_u64(6) as usize;
    let nodes = (0..count).map(|_| node(random)).collect();
    let mut edges: Vec<(usize, usize)> = (1..count).map(|to| (random.below_u64(to as u64) as usize, to)).collect();
    for _ in 0..random.below_u64(count as u64 + 2) {
        edges.push((random.below_u64(count as u64) as usize, random.below_u64(count as u64) as usize));
    }
    edges.sort_unstable();
    edges.dedup();
    // Any sets of nodes will do as scopes, nested or not.
    let scopes = (0..random.below_u64(4)).map(|_| Scope { nodes: (0..count).filter(|_| !random.one_in(3)).collect() });
    let scopes = scopes.collect();
    let mut graph = Graph { nodes, edges, entry: 0, scopes };
    walks(random, &mut graph);
    graph
}

/// Where a walk is.
#[derive(Clone)]
struct Walking {
    line: u64,
    up: bool,
    visited: u64,
    begun: bool,
    ended: bool,
}

/// One path being run.
#[derive(Clone)]
struct Run {
    hierarchy: Hierarchy,
    /// Misses of persistent accesses since the scope's entry: scope, cache, line, and what named it.
    misses: BTreeMap<(usize, usize, u64, u64), u32>,
    cycles: u64,
    bound: u64,
    /// Where the page stands.
    page: u64,
    /// Where the stack stands.
    stack: u64,
    /// Where the lines are that have names.
    lines: Vec<u64>,
    walks: BTreeMap<u64, Walking>,
}

struct Checker<'a> {
    graph: &'a Graph,
    machine: &'a Machine,
    outcome: Outcome,
    /// Sum of the charges of each scope.
    charges: Vec<u64>,
    successors: Vec<Vec<usize>>,
    budget: u64,
    seen: Seen,
}

/// What was exercised, so that a test that tests nothing is noticed.
#[derive(Default, Debug)]
struct Seen {
    accesses: u64,
    hits: u64,
    misses: u64,
    persistent: u64,
    on_page: u64,
    on_stack: u64,
    again: u64,
    lines: u64,
    walks: u64,
    cycles: u64,
    bound: u64,
}

impl Checker<'_> {
    fn enter(&mut self, run: &mut Run, from: Option<usize>, node: usize, random: &mut Random) {
        for (number, scope) in self.graph.scopes.iter().enumerate() {
            if scope.nodes.contains(&node) && !from.is_some_and(|from| scope.nodes.contains(&from)) {
                run.misses.retain(|(scope, ..), _| *scope != number);
                run.bound += self.charges[number];
            }
        }
        if from != Some(node) {
            run.walks.clear();
        }
        let mut done: Vec<Option<u64>> = Vec::new();
        for (number, access) in self.graph.nodes[node].accesses.iter().enumerate() {
            run.bound += self.outcome.cost(node, number).cycles;
            let before = match access.target {
                Target::Again(back) => done[number - back as usize],
                Target::Walk { name, lines } => {
                    step(run.walks.entry(name).or_insert_with(|| walking(random)), lines, random)
                }
                _ if !access.certain && random.one_in(2) => None,
                _ => Some(0),
            };
            done.push(before.map(|before| self.execute(run, (node, number), access, before, random)));
        }
        assert!(run.cycles <= run.bound, "{} cycles, bound {}: {:?}", run.cycles, run.bound, self.graph);
        for name in &self.graph.nodes[node].renews {
            run.lines[*name as usize] = line_of(*name, random);
        }
    }

    /// The address accessed; `before` is that of the access to do again.
    fn execute(&mut self, run: &mut Run, at: (usize, usize), access: &Access, before: u64, random: &mut Random) -> u64 {
        let usage = match access.kind {
            Kind::Fetch => Use::Fetch,
            Kind::Read => Use::Read,
            Kind::Write => Use::Write,
            Kind::Forget => {
                run.hierarchy.forget();
                return 0;
            }
        };
        let address = match access.target {
            Target::At(address) => address,
            Target::Within(first, last) => first + random.below_u64(last - first + 1),
            Target::OnPage { address, page } => run.page + address % page,
            Target::Stack(first, last) => {
                run.stack.wrapping_add_signed(first) + random.below_u64((last - first + 1) as u64)
            }
            Target::Again(_) | Target::Walk { .. } => before,
            Target::Line(name, _) => run.lines[name as usize],
            Target::Memory => random.below_u64(LINE * 14),
            Target::Device(first, last) if random.one_in(2) => first + random.below_u64(last - first + 1),
            Target::Device(..) => random.below_u64(LINE * 14),
            Target::Anywhere if random.one_in(4) => run.page + random.below_u64(PAGE),
            Target::Anywhere => random.below_u64(LINE * 16),
        };
        let answer = run.hierarchy.access(usage, address);
        run.cycles += answer.cycles;
        for (cache, hit) in answer.asked {
            let verdict = self.outcome.verdict(at.0, at.1, cache);
            let context = || format!("access {at:?} cache {cache}\n{:#?}\n{:#?}", self.graph, self.machine.caches);
            assert!(hit || !verdict.always_hit, "always-hit missed: {}", context());
            assert!(!hit || !verdict.always_miss, "always-miss hit: {}", context());
            self.seen.accesses += 1;
            if let Target::OnPage { .. } = access.target {
                self.seen.on_page += u64::from(verdict.always_hit || verdict.persistent.is_some());
            }
            self.seen.hits += u64::from(verdict.always_hit);
            self.seen.misses += u64::from(verdict.always_miss);
            let named = match access.target {
                Target::Stack(..) => 1,
                Target::Walk { name, .. } => 2 + name,
                _ => 0,
            };
            self.seen.on_stack += u64::from(named == 1 && verdict.persistent.is_some());
            self.seen.walks += u64::from(named > 1 && verdict.persistent.is_some() && hit);
            self.seen.lines += u64::from(matches!(access.target, Target::Line(..)) && verdict.always_hit);
            self.seen.again += u64::from(matches!(access.target, Target::Again(_)) && verdict.always_hit);
            if let Some(scope) = verdict.persistent {
                self.seen.persistent += 1;
                let count = run.misses.entry((scope, cache, address / LINE, named)).or_default();
                *count += u32::from(!hit);
                assert!(*count <= 1, "persistent missed twice in scope {scope}: {}", context());
            }
        }
        address
    }

    /// Every path on from `node`, of at most `depth` nodes, while the budget lasts.
    fn walk(&mut self, mut run: Run, from: Option<usize>, node: usize, depth: u32, random: &mut Random) {
        if self.budget == 0 {
            return;
        }
        self.budget -= 1;
        self.enter(&mut run, from, node, random);
        self.seen.cycles += run.cycles;
        self.seen.bound += run.bound;
        for to in self.successors[node].clone() {
            if depth > 1 {
                self.walk(run.clone(), Some(node), to, depth - 1, random);
            }
        }
    }
}

fn walking(random: &mut Random) -> Walking {
    Walking { line: 7 + random.below_u64(4), up: random.one_in(2), visited: 1, begun: false, ended: false }
}

/// The next step of a walk: the same line or the one behind, if any.
fn step(walk: &mut Walking, lines: u64, random: &mut Random) -> Option<u64> {
    if walk.ended || !walk.begun && random.one_in(4) {
        return None;
    }
    if walk.begun && random.one_in(6) {
        walk.ended = true;
        return None;
    }
    if walk.begun && walk.visited < lines && random.one_in(2) {
        walk.line = if walk.up { walk.line + 1 } else { walk.line - 1 };
        walk.visited += 1;
    }
    walk.begun = true;
    Some(walk.line * LINE)
}

fn charges(graph: &Graph, outcome: &Outcome) -> Vec<u64> {
    let mut largest: BTreeMap<(usize, usize, u64), u64> = BTreeMap::new();
    for (node, content) in graph.nodes.iter().enumerate() {
        for access in 0..content.accesses.len() {
            for charge in outcome.cost(node, access).charges {
                let cycles = largest.entry((charge.scope, charge.cache, charge.line)).or_default();
                *cycles = charge.cycles.max(*cycles);
            }
        }
    }
    let of = |scope| largest.iter().filter(|((of, _, _), _)| *of == scope).map(|(_, cycles)| cycles).sum();
    (0..graph.scopes.len()).map(of).collect()
}

#[test]
fn no_verdict_is_ever_refuted() {
    let mut total = Seen::default();
    let mut by_policy: BTreeMap<Policy, u64> = BTreeMap::new();
    let count = cases(800);
    for seed in 0..count {
        let mut random = Random(seed * 7919 + 17);
        let machine = machine(&mut random);
        let graph = graph(&mut random);
        let outcome = analyse(&graph, &machine);
        let charges = charges(&graph, &outcome);
        let mut successors = vec![Vec::new(); graph.nodes.len()];
        graph.edges.iter().for_each(|&(from, to)| successors[from].push(to));
        let mut checker = Checker {
            graph: &graph,
            machine: &machine,
            outcome,
            charges,
            successors,
            budget: 0,
            seen: Seen::default(),
        };
        for _ in 0..6 {
            let pointer = random.pick(&[Pointer::OfTheCache, Pointer::OfEachSet]);
            let mut hierarchy = Hierarchy::new(&machine, pointer, random.next());
            for _ in 0..random.below_u64(30) {
                let usage = random.pick(&[Use::Fetch, Use::Read, Use::Write]);
                hierarchy.access(usage, random.below_u64(LINE * 40));
            }
            let stack = LINE * 4 + random.below_u64(10) * 8;
            let page = LINE * 24 + random.below_u64(8) * PAGE;
            let lines = (0..NAMES).map(|name| line_of(name, &mut random)).collect();
            let (misses, walks) = (BTreeMap::new(), BTreeMap::new());
            let run = Run { hierarchy, misses, cycles: 0, bound: 0, page, stack, lines, walks };
            checker.budget = 1500;
            checker.walk(run, None, graph.entry, 12, &mut random);
        }
        for cache in &machine.caches {
            *by_policy.entry(cache.policy).or_default() += checker.seen.hits + checker.seen.persistent;
        }
        let seen = checker.seen;
        total.accesses += seen.accesses;
        total.hits += seen.hits;
        total.misses += seen.misses;
        total.persistent += seen.persistent;
        total.on_page += seen.on_page;
        total.on_stack += seen.on_stack;
        total.again += seen.again;
        total.lines += seen.lines;
        total.walks += seen.walks;
        total.cycles += seen.cycles;
        total.bound += seen.bound;
    }
    let ratio = total.bound as f64 / total.cycles as f64;
    println!("{count} graphs: {total:?}, bound/run {ratio:.3}, guarantees by policy {by_policy:?}");
    assert!(total.hits > 0 && total.misses > 0 && total.persistent > 0);
    assert!(total.on_page > 0 && total.on_stack > 0 && total.again > 0 && total.lines > 0 && total.walks > 0);
    assert_eq!(by_policy.len(), 5);
}
