//! A kernel's binary with what is said of it, and what follows: control flow, and its regions.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Instant;

use wcet_binary::lift::Lifter;
use wcet_binary::load::Program;
use wcet_flow::context::Expanded;
use wcet_flow::{EdgeKind, Graph};
use wcet_values::{Blocks, Shared};

use crate::context_free::Apart;
use crate::description::{Description, Element, Stated, Whom};
use crate::error::Error;
use crate::locks::Locks;
use crate::points::{flow, lookup, Points};
use crate::regions::{regions, Kind, Region};
use crate::service::Branch;
use crate::stack::{depths, Depth};

#[derive(Clone)]
pub struct Kernel<'p> {
    pub lifter: &'p Lifter<'p>,
    pub description: &'p Description,
    pub graph: Rc<Graph>,
    pub points: Points,
    pub regions: Vec<Region>,
    /// Where the frames of kernel stacks stand.
    pub stacks: u64,
    /// Functions that entries call on a fresh stack.
    pub handlers: BTreeSet<u64>,
    /// Memory that others may change between two reads, first and last address.
    pub shared: Shared,
    /// Functions whose loops are waits: for whom, and how often their headers count.
    pub waits: BTreeMap<u64, (Whom, u64)>,
    /// Where locks are, if that is described.
    pub locks: Option<Locks>,
    /// Bounds of loops that are stated, by function and number.
    pub stated: BTreeMap<(u64, usize), Stated>,
    /// Bounds of loops that hold wherever their function is called, by function and number: none until [`crate::alone`] has
    /// found them.
    pub apart: BTreeMap<(u64, usize), Apart>,
    /// What the service leaves out, by the number of the interrupts in the description: none until [`crate::never_taken`] has
    /// found it.
    pub services: BTreeMap<usize, BTreeSet<Branch>>,
    /// How deep stacks become, by function, once that was asked for.
    depths: OnceCell<BTreeMap<u64, Option<Depth>>>,
    /// What is known of blocks in all regions.
    pub(crate) blocks: Rc<Blocks>,
    /// After this no further part is begun, and there is no bound.
    pub deadline: Option<Instant>,
}

impl<'p> Kernel<'p> {
    pub fn new(lifter: &'p Lifter<'p>, description: &'p Description) -> Result<Kernel<'p>, Vec<Error>> {
        let program = lifter.program();
        let stacks =
            lookup(program, &description.stacks.symbol, "the frames of stacks").map_err(|error| vec![error])?;
        let (shared, mut errors) = shared(program, description);
        let (graph, points) = match flow(lifter, description, &shared) {
            Ok(found) => found,
            Err(found) => return Err(errors.into_iter().chain(found).collect()),
        };
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
        let locks = Locks::new(lifter, description, &graph).map_err(|error| errors.push(error)).ok().flatten();
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
        let known = description.calls.as_ref().map(|calls| &calls.numbers);
        for one in &description.vectors.interrupts {
            let missing = |call: &&String| !known.is_some_and(|known| known.contains_key(*call));
            let missing = one.wakes.iter().flatten().filter(missing);
            errors.extend(missing.map(|call| Error::NoCall { call: call.clone(), interrupt: one.name.clone() }));
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        let apart = BTreeMap::new();
        let stack_pointer = lifter.registers().stack_pointer();
        let regions = regions(program, description, &graph, &points, stack_pointer, &handlers)?;
        Ok(Kernel {
            lifter,
            description,
            graph: Rc::new(graph),
            points,
            regions,
            stacks,
            handlers,
            shared,
            waits,
            locks,
            stated,
            apart,
            services: BTreeMap::new(),
            depths: OnceCell::new(),
            blocks: Rc::default(),
            deadline: None,
        })
    }

    /// Whether its time is up.
    pub fn is_late(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// Depths of the stacks of all functions.
    pub(crate) fn depths(&self) -> &BTreeMap<u64, Option<Depth>> {
        self.depths.get_or_init(|| depths(&self.graph, self.lifter.registers().stack_pointer()))
    }

    /// Theorems that bounds rest on, by their full names.
    pub fn theorems(&self) -> BTreeSet<&str> {
        let of_loops = self.stated.values().filter_map(|stated| stated.theorem.as_deref());
        of_loops.chain(self.description.imported.iter().map(|one| one.theorem.as_str())).collect()
    }

    /// The physical address of a virtual one, if the description says it.
    pub fn physical(&self, address: u64) -> Option<u64> {
        self.description.physical(address, self.stacks)
    }

    /// What a processor has of its own, where the binary bears out that it stands at multiples of its size.
    pub(crate) fn own(&self, stack: Option<u64>) -> Option<wcet_values::Own> {
        let own = self.description.own.as_ref()?;
        let count = |element: &Element| {
            let symbol = self.lifter.program().symbol(&element.symbol).filter(|symbol| symbol.size > 0)?;
            let fits = |number: u64| element.bytes.is_power_of_two() && number % element.bytes == 0;
            (fits(symbol.address) && fits(symbol.size)).then(|| symbol.size / element.bytes)
        };
        let (processors, threads) = (count(&own.processor)?, count(&own.thread)?);
        let number = |at, below| wcet_values::Word { at, size: 4, multiple: 1, below: Some(below) };
        let plain = |at| wcet_values::Word { at, size: 4, multiple: 1, below: None };
        let pointer = wcet_values::Word { at: own.pointer, size: 8, multiple: own.thread.bytes, below: None };
        Some(wcet_values::Own {
            register: self.lifter.registers().named("GS_OFFSET")?,
            bytes: own.processor.bytes,
            words: vec![
                pointer,
                number(own.number, processors),
                number(own.current, threads),
                plain(own.mark),
                plain(own.vector),
            ],
            at_entry: std::collections::BTreeMap::new(),
            leads: Some(wcet_values::Leads { at: own.pointer, bytes: own.thread.bytes, stack }),
        })
    }

    /// Where the stack pointer stands at an entry of the interrupt table that a program was interrupted by, in the registers of
    /// its thread: below what the processor has put there.
    pub(crate) fn frame(&self, region: &Region, expanded: &Expanded<'_>) -> Option<u64> {
        // A program was: the kernel's own GS is gone to, whatever happens.
        let mut node = expanded.entry;
        loop {
            if expanded.instructions(node).iter().any(|one| one.mnemonic == "swapgs") {
                break;
            }
            let [only] = expanded.successors(node) else { return None };
            node = Some(expanded.edges[*only].to).filter(|to| *to > node)?;
        }
        self.interrupted(region)
    }

    /// The same, of those that interrupt programs.
    pub fn interrupted(&self, region: &Region) -> Option<u64> {
        let (own, vector) = (self.description.own.as_ref()?, self.vector(region)?);
        // Stack segment, stack pointer, flags, code segment, and where it was; for some exceptions an error code.
        let words = if matches!(vector, 8 | 10..=14 | 17 | 21 | 29 | 30) { 6 } else { 5 };
        own.frame.checked_sub(8 * words)
    }

    /// The vector of an exception or interrupt.
    pub fn vector(&self, region: &Region) -> Option<u64> {
        matches!(region.kind, Kind::Exception | Kind::Interrupt).then_some(())?;
        let vectors = &self.description.vectors;
        let table = self.lifter.program().symbol(&vectors.symbol)?.address;
        region.start.checked_sub(table)?.checked_div(vectors.bytes)
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

/// What other processors write, and what of the description of it is wrong.
fn shared(program: &Program, description: &Description) -> (Shared, Vec<Error>) {
    let (mut shared, mut errors) = (Vec::new(), Vec::new());
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
    (Shared::of(shared), errors)
}
