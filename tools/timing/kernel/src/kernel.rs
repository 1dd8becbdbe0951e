//! A kernel's binary with what is said of it, and what follows: control flow, and its regions.

use std::collections::{BTreeMap, BTreeSet};

use timing_flow::{EdgeKind, Graph};
use timing_lift::Lifter;

use crate::apart::Apart;
use crate::description::{Description, Stated, Whom};
use crate::error::Error;
use crate::points::{flow, lookup, Points};
use crate::regions::{regions, Region};
use crate::rounds::Together;

pub struct Kernel<'p> {
    pub lifter: &'p Lifter<'p>,
    pub description: &'p Description,
    pub graph: Graph,
    pub points: Points,
    pub regions: Vec<Region>,
    /// Where the frames of kernel stacks stand.
    pub stacks: u64,
    /// Functions that entries call on a fresh stack.
    pub handlers: BTreeSet<u64>,
    /// Memory that others may change between two reads, first and last address.
    pub shared: Vec<(u64, u64)>,
    /// Functions whose loops are waits: for whom, and how often their headers count.
    pub waits: BTreeMap<u64, (Whom, u64)>,
    /// Bounds of loops that are stated, by function and number.
    pub stated: BTreeMap<(u64, usize), Stated>,
    /// A loop whose rounds regions share.
    pub together: Option<Together>,
    /// Bounds of loops that hold wherever their function is called, by function and number: none until [`crate::alone`] has
    /// found them.
    pub apart: BTreeMap<(u64, usize), Apart>,
}

impl<'p> Kernel<'p> {
    pub fn new(lifter: &'p Lifter<'p>, description: &'p Description) -> Result<Kernel<'p>, Vec<Error>> {
        let program = lifter.program();
        let stacks =
            lookup(program, &description.stacks.symbol, "the frames of stacks").map_err(|error| vec![error])?;
        let (graph, points) = flow(lifter, description)?;
        let mut errors = Vec::new();
        let mut shared = Vec::new();
        for name in &description.shared.symbols {
            match program.symbol(name) {
                Some(symbol) if symbol.size > 0 => shared.push((symbol.address, symbol.address + symbol.size - 1)),
                _ => errors.push(Error::NoSymbol { symbol: name.clone(), part: "shared memory" }),
            }
        }
        for about in &description.shared.memory {
            match description.memory.iter().find(|memory| memory.about == *about) {
                Some(memory) => shared.push((memory.first, memory.first + memory.bytes - 1)),
                None => errors.push(Error::NoMemory { about: about.clone() }),
            }
        }
        let mut handlers = BTreeSet::new();
        for name in &description.entries.handlers {
            match lookup(program, name, "a handler") {
                Ok(function) => drop(handlers.insert(function)),
                Err(error) => errors.push(error),
            }
        }
        let mut waits = BTreeMap::new();
        for wait in &description.wait {
            match lookup(program, &wait.function, "a wait") {
                Ok(function) => drop(waits.insert(function, (wait.whom, wait.looks))),
                Err(error) => errors.push(error),
            }
        }
        let mut stated = BTreeMap::new();
        for one in &description.loops {
            match lookup(program, &one.function, "a function with loops") {
                Ok(function) => {
                    let loops = graph.functions.get(&function).map_or(0, |function| function.loops.len());
                    if loops == one.of && one.which < loops {
                        stated.insert((function, one.which), one.clone());
                    } else {
                        let function = one.function.clone();
                        errors.push(Error::OtherLoops { function, loops, which: one.which, of: one.of });
                    }
                }
                Err(error) => errors.push(error),
            }
        }
        let together = description.together.as_ref().and_then(|one| {
            let found = lookup(program, &one.function, "a loop whose rounds are limited together")
                .and_then(|function| Ok((function, lookup(program, &one.more, "what allows more rounds")?)));
            let (function, more) = found.map_err(|error| errors.push(error)).ok()?;
            let loops = graph.functions.get(&function).map_or(0, |function| function.loops.len());
            if loops != one.of || one.which >= loops {
                let function = one.function.clone();
                errors.push(Error::OtherLoops { function, loops, which: one.which, of: one.of });
            }
            Some(Together { place: (function, one.which), stock: one.rounds, more })
        });
        if !errors.is_empty() {
            return Err(errors);
        }
        let apart = BTreeMap::new();
        let stack_pointer = lifter.registers().stack_pointer();
        let regions = regions(program, description, &graph, &points, stack_pointer, &handlers)?;
        Ok(Kernel {
            lifter,
            description,
            graph,
            points,
            regions,
            stacks,
            handlers,
            shared,
            waits,
            stated,
            together,
            apart,
        })
    }

    /// Theorems that bounds rest on, by their full names.
    pub fn theorems(&self) -> BTreeSet<&str> {
        let of_loops = self.stated.values().filter_map(|stated| stated.theorem.as_deref());
        let together = self.description.together.iter().filter_map(|one| one.theorem.as_deref());
        of_loops.chain(together).chain(self.description.imported.iter().map(|one| one.theorem.as_str())).collect()
    }

    /// The physical address of a virtual one, if the description says it.
    pub fn physical(&self, address: u64) -> Option<u64> {
        self.description.physical(address, self.stacks)
    }

    /// Where a region returns to, one caller after the other, as far as calls (not jumps) led to it.
    pub fn returns(&self, region: &Region) -> Vec<u64> {
        let behind = |link: &[(u64, usize)]| {
            let ((caller, block), (callee, _)) = (link[0], link[1]);
            let function = &self.graph.functions[&caller];
            let content = &function.blocks[block];
            let back = content.edges.iter().find(|edge| edge.kind == EdgeKind::Back)?;
            content.calls.contains(&callee).then(|| function.blocks[back.to].start())
        };
        region.chain.windows(2).rev().filter_map(behind).collect()
    }
}
