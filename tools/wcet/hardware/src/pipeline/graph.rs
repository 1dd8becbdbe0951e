//! The execution graph of one block, entered in one way.

use crate::cache::{Access, Cost, Target};
use crate::machine::{Class, ClassCost, Issue, Machine, Transfer};
use crate::pipeline::block::{Block, Instruction, Place};
use crate::pipeline::boundary::{fetch_start, issued, Entered, Pending, Stored, Stores};
use crate::pipeline::longest::{Paths, NEVER};

/// An instruction with all that the graph needs of it.
pub struct Weighed<'a> {
    pub instruction: &'a Instruction,
    pub class: ClassCost,
    pub fetches: Vec<Cost>,
    pub data: Vec<Cost>,
    pub place: Place,
}

/// Nodes of an instruction.
#[derive(Debug, Clone, Copy)]
struct Nodes {
    /// End of its last fetch.
    fetched: usize,
    issued: usize,
    left: usize,
}

/// A fetch that hits here and may miss once in a while.
struct Late {
    /// Index of the instruction, and of the access in its block's node.
    instruction: usize,
    access: usize,
    node: usize,
    cycles: i64,
    /// Where a miss would begin to wait for the bus: the leaving of the last instruction with data accesses.
    bus: usize,
}

/// Cycles from the reference until the block's last instruction leaves, and the detour of each late fetch.
pub struct Weight {
    pub cycles: u64,
    /// Access of the block's node, cycles.
    pub detours: Vec<(usize, u64)>,
}

struct Builder<'a> {
    machine: &'a Machine,
    paths: Paths,
    nodes: Vec<Nodes>,
    entered: Entered,
    behind: Stores<'a>,
    /// What each register can wait for.
    ready: Vec<Vec<(usize, i64)>>,
    /// Leaving of the last instruction with data accesses, the reference at first.
    bus: usize,
    late: Vec<Late>,
}

pub fn weigh(machine: &Machine, block: &[Weighed], (entered, behind): (Entered, Stores), pending: &Pending) -> Weight {
    let (paths, nodes) = (Paths::new(), Vec::with_capacity(block.len()));
    let ready = pending.iter().map(|&cycles| if cycles > 0 { vec![(0, cycles as i64)] } else { Vec::new() }).collect();
    let mut builder = Builder { machine, paths, nodes, entered, behind, ready, bus: 0, late: Vec::new() };
    for index in 0..block.len() {
        builder.add(block, index);
    }
    let times = builder.paths.from(0);
    let cycles = builder.nodes.last().map_or(0, |nodes| times[nodes.left].max(0) as u64);
    let detours = builder.late.iter().map(|late| (late.access, builder.detour(late))).collect();
    Weight { cycles, detours }
}

impl Builder<'_> {
    fn add(&mut self, block: &[Weighed], index: usize) {
        let fetched = self.fetch(block, index);
        let issued = self.issue(block, index, fetched);
        let this = &block[index];
        let data: u64 = this.data.iter().map(|cost| cost.cycles).sum();
        let store = |before: usize| match index.checked_sub(before) {
            Some(earlier) => {
                let earlier = block[earlier].instruction;
                earlier.class == Class::Store && may_meet(self.machine, &earlier.data, &this.instruction.data)
            }
            None => match self.behind[before - index - 1] {
                Stored::Nothing => false,
                Stored::By(earlier) => may_meet(self.machine, earlier, &this.instruction.data),
                Stored::Anything => true,
            },
        };
        let behind = if store(1) || store(2) { this.class.behind_store } else { 0 };
        let duration = (this.class.occupies + data).max(1) + behind;
        let left = self.paths.node(vec![(issued, duration as i64)]);
        self.nodes.push(Nodes { fetched, issued, left });
        if has_data(this) {
            self.bus = left;
        }
        for register in registers(this.instruction.writes) {
            if this.instruction.surely_writes >> register & 1 == 1 {
                self.ready[register].clear();
            }
            // Without latency the result is ready when its successors can issue at the earliest.
            if this.class.latency > 0 {
                self.ready[register].push((left, this.class.latency as i64));
            }
        }
    }

    /// Rules 10 and 11.
    fn fetch(&mut self, block: &[Weighed], index: usize) -> usize {
        let this = &block[index];
        let mut start = Vec::new();
        let transferred = index > 0 && block[index - 1].instruction.transfer != Transfer::None;
        match index.checked_sub(1) {
            None => start.push((0, fetch_start(self.machine, self.entered))),
            Some(before) => {
                start.push((self.nodes[before].fetched, 0));
                if transferred {
                    // A transfer inside a block goes on to the next instruction; the slower case covers both.
                    let total = self.machine.branch.taken.max(self.machine.branch.not_taken);
                    let refill = total - 1 - self.machine.fetch_hit() - self.machine.pipeline.front;
                    start.push((self.nodes[before].left, refill as i64));
                }
            }
        }
        let queue = self.machine.pipeline.queue as usize;
        match index.checked_sub(queue) {
            Some(older) => start.push((self.nodes[older].issued, 0)),
            None if self.entered == Entered::Start => {}
            None => start.push((0, issued(self.machine, (queue - index) as u64))),
        }
        if index > 0 && !transferred && self.streams(block, index) {
            let hit = this.fetches[0].cycles as i64;
            let mut into: Vec<(usize, i64)> = vec![(self.nodes[index - 1].fetched, 0)];
            // For the second instruction, its predecessor's fetch came after that of the block before.
            into.extend(index.checked_sub(2).map(|second| (self.nodes[second].fetched, hit)));
            into.extend(start[1..].iter().map(|(from, weight)| (*from, weight + hit)));
            return self.paths.node(into);
        }
        let mut node = self.paths.node(start);
        let ahead = this.fetches.len() - this.place.ahead;
        for (number, cost) in this.fetches.iter().enumerate() {
            // What is fetched ahead and hits takes no time of its own.
            let free = if number < ahead { 0 } else { self.machine.fetch_hit() };
            let cycles = cost.cycles.saturating_sub(free) as i64;
            let mut into = vec![(node, cycles)];
            if cost.beyond {
                into.push((self.bus, cycles));
            }
            node = self.paths.node(into);
            if cost.late {
                let access = this.place.first + number;
                self.late.push(Late { instruction: index, access, node, cycles, bus: self.bus });
            }
        }
        node
    }

    /// Whether an instruction surely comes in the line of the one before.
    fn streams(&self, block: &[Weighed], index: usize) -> bool {
        let size = self.machine.line();
        let (first, _) = block[index].instruction.lines(size);
        let (_, last) = block[index - 1].instruction.lines(size);
        let fetches = &block[index].fetches;
        self.machine.pipeline.issue == Issue::Dual
            && first == last
            && fetches.len() == 1
            && !fetches[0].beyond
            && !fetches[0].late
    }

    /// Rules 12 and 13.
    fn issue(&mut self, block: &[Weighed], index: usize, fetched: usize) -> usize {
        let this = &block[index];
        let mut into = vec![(fetched, self.machine.pipeline.front as i64), (0, 0)];
        if let Some(before) = index.checked_sub(1) {
            into.push((self.nodes[before].issued, 0));
            if !self.pairs(&block[before], this) {
                into.push((self.nodes[before].left, 0));
            }
        }
        into.extend(index.checked_sub(2).map(|second| (self.nodes[second].left, 0)));
        for register in registers(this.instruction.reads) {
            into.extend(&self.ready[register]);
        }
        self.paths.node(into)
    }

    fn pairs(&self, first: &Weighed, second: &Weighed) -> bool {
        self.machine.pipeline.issue == Issue::Dual
            && first.class.pairs_first
            && second.class.pairs_second
            && first.class.occupies <= 1
            && !has_data(first)
            && first.instruction.transfer == Transfer::None
            && first.instruction.writes & (second.instruction.reads | second.instruction.writes) == 0
    }

    /// By how much an edge from the bus to a late fetch can lengthen a path.
    fn detour(&self, late: &Late) -> u64 {
        let (with, without) = (self.paths.from(late.node), self.paths.from(late.bus));
        let targets = self.nodes[late.instruction..].iter().map(|nodes| nodes.left);
        let longer = targets.filter(|target| with[*target] != NEVER).map(|target| {
            debug_assert_ne!(without[target], NEVER);
            late.cycles + with[target] - without[target]
        });
        longer.max().unwrap_or(0).max(0) as u64
    }
}

/// Whether two instructions may access one line.
fn may_meet(machine: &Machine, earlier: &[Access], later: &[Access]) -> bool {
    let size = machine.line();
    let meet = |a: &Access, b: &Access| match (a.target, b.target) {
        (Target::Stack(first, last), Target::Stack(from, to)) => {
            // Where lines begin is not known.
            first < to.saturating_add(size as i64) && from < last.saturating_add(size as i64)
        }
        (a, b) => match (a.lines(size), b.lines(size)) {
            (Some((first, last)), Some((from, to))) => first <= to && from <= last,
            _ => true,
        },
    };
    earlier.iter().any(|a| later.iter().any(|b| meet(a, b)))
}

fn registers(mask: u64) -> impl Iterator<Item = usize> {
    (0..64).filter(move |register| mask >> register & 1 == 1)
}

fn has_data(weighed: &Weighed) -> bool {
    weighed.instruction.data.iter().any(|access| access.kind != crate::cache::Kind::Forget)
}

/// The block's instructions with their costs; the classes are known to exist.
pub fn weighed<'a>(machine: &Machine, block: &'a Block, cost: impl Fn(usize) -> Cost) -> Vec<Weighed<'a>> {
    let (_, places) = block.node(machine);
    let of = |(instruction, place): (&'a Instruction, Place)| Weighed {
        instruction,
        class: machine.classes.get(&instruction.class).copied().unwrap_or_default(),
        fetches: (place.first..place.first + place.fetches).map(&cost).collect(),
        data: (0..place.data).map(|number| cost(place.first + place.fetches + number)).collect(),
        place,
    };
    block.instructions.iter().zip(places).map(of).collect()
}
