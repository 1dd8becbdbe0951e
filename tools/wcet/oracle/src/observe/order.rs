//! What follows what: switches between windows, where handlers begin, and which call is meant.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use wcet_binary::lift::il::Flow;
use wcet_kernel::{End, Kernel, Kind, HANDLER};

use crate::observe::accesses::{which, Which};
use crate::observe::code::{told, Known};
use crate::observe::error::Error;
use crate::observe::ledger::{Ledger, Row};
use crate::observe::passage::Passage;
use crate::observe::record::Executed;

/// What is known of an instruction.
type Lookup<'l> = &'l mut dyn FnMut(u64) -> Result<Rc<Known>, Error>;

/// Of one processor.
#[derive(Debug, Clone, Default)]
struct Since {
    /// Switches since interrupts were let in.
    switches: u64,
}

pub struct Order<'k, 'p> {
    kernel: &'k Kernel<'p>,
    switches: Row,
    handlers: Row,
    call: Option<Row>,
    returns: Row,
    ended: Row,
    run_returns: BTreeSet<u64>,
    behind_end: BTreeSet<u64>,
    since: BTreeMap<usize, Since>,
}

impl<'k, 'p> Order<'k, 'p> {
    pub fn new(kernel: &'k Kernel<'p>, ledger: &mut Ledger) -> Order<'k, 'p> {
        let description = kernel.description;
        Order {
            kernel,
            switches: ledger.row("behind a switch, no thread switches to another before interrupts are let in"),
            handlers: ledger.row(description.handlers_says()),
            call: description.calls.as_ref().map(|calls| ledger.row(calls.says())),
            returns: ledger.row(description.switch.returns_says()),
            ended: ledger.row(description.switch.ended_says()),
            run_returns: returns(kernel),
            behind_end: behind_end(kernel),
            since: BTreeMap::new(),
        }
    }

    /// A passage of one processor, of a region of this kind.
    pub fn take(
        &mut self,
        processor: usize,
        passage: &Passage,
        kind: Kind,
        known: Lookup<'_>,
        ledger: &mut Ledger,
    ) -> Result<(), Error> {
        let kernel = self.kernel;
        let since = self.since.entry(processor).or_default();
        let Some(last) = passage.instructions.last() else { return Ok(()) };
        let end = kernel.points.ends.get(&last.address).copied();
        let describe = |address: u64| kernel.lifter.program().describe(address);
        match end {
            Some(End::Switch) => {
                since.switches += 1;
                let number = since.switches;
                ledger.hold(self.switches, number <= 1, || format!("{} is number {number}", describe(last.address)));
            }
            Some(End::Pending | End::Run) => {}
            Some(End::Window | End::Idle | End::Guest) => since.switches = 0,
            // What interrupted a window goes back to it; all others go to a program.
            None if kind == Kind::Inside => {}
            None => *since = Since::default(),
        }
        self.handlers(passage, known, ledger)?;
        self.went_on(passage, known, ledger)?;
        self.call(passage, known, ledger)
    }

    /// Handlers are called where a stack ends.
    fn handlers(&mut self, passage: &Passage, known: Lookup<'_>, ledger: &mut Ledger) -> Result<(), Error> {
        let stacks = &self.kernel.description.stacks;
        for pair in passage.instructions.windows(2) {
            let [call, first] = pair else { continue };
            if !self.kernel.handlers.contains(&first.address) {
                continue;
            }
            let known = known(call.address)?;
            let pushed = call.accesses.iter().find(|access| access.write);
            let (Flow::Call { .. }, Some(pushed)) = (known.flow, pushed) else { continue };
            let ends =
                |offset: u64| (offset / stacks.bytes) % 2 == 1 && offset % stacks.bytes == stacks.bytes - HANDLER;
            let holds = pushed.address.checked_sub(stacks.first).is_some_and(ends);
            ledger.hold(self.handlers, holds, || told(&known, pushed));
        }
        Ok(())
    }

    /// The number of a call is read from where the entry stored it, and that was not written since.
    fn call(&mut self, passage: &Passage, known: Lookup<'_>, ledger: &mut Ledger) -> Result<(), Error> {
        let (Some(row), Some((behind, _))) = (self.call, self.kernel.points.number) else { return Ok(()) };
        let Some(stored) = passage.instructions.iter().position(|one| one.call.is_some()) else { return Ok(()) };
        let place = passage.instructions[stored].accesses.iter().find(|access| access.write).map(|one| one.address);
        let reads = |one: &Executed| one.accesses.iter().any(|access| !access.write);
        let read = passage.instructions.windows(2).position(|pair| pair[1].address == behind && reads(&pair[0]));
        let (Some(place), Some(read)) = (place, read.filter(|read| *read > stored)) else { return Ok(()) };
        let meets = |access: &&crate::observe::record::Access| {
            access.write && access.address < place + 8 && place < access.address + access.size
        };
        let between = &passage.instructions[stored + 1..read];
        let written = between.iter().flat_map(|one| &one.accesses).any(|access| meets(&access));
        let executed = &passage.instructions[read];
        let known = known(executed.address)?;
        for access in executed.accesses.iter().filter(|access| !access.write) {
            let number = which(&known.instruction.accesses, access) != Which::None;
            let holds = number && access.address == place && !written;
            ledger.hold(row, holds, || told(&known, access));
        }
        Ok(())
    }

    /// A function that chooses the running thread returns at once, no other does; a function that ends its thread never returns.
    fn went_on(&mut self, passage: &Passage, known: Lookup<'_>, ledger: &mut Ledger) -> Result<(), Error> {
        let (run, _) = &self.kernel.points.run;
        let mut running = false;
        for pair in passage.instructions.windows(2) {
            let [one, next] = [pair[0].address, pair[1].address];
            running |= one == *run;
            if one == self.kernel.points.ended {
                ledger.hold(self.ended, true, String::new);
            }
            let returns = self.run_returns.contains(&one) || self.behind_end.contains(&next);
            if !returns || !matches!(known(one)?.flow, Flow::Return { .. }) {
                continue;
            }
            let place = || self.kernel.lifter.program().describe(next);
            if self.behind_end.contains(&next) {
                ledger.hold(self.ended, false, place);
            }
            if self.run_returns.contains(&one) && std::mem::take(&mut running) {
                let to = known(next)?;
                let holds = self.kernel.description.switch.returns_to.contains(&to.function);
                ledger.hold(self.returns, holds, place);
            }
        }
        Ok(())
    }
}

/// The returns of the function that switches to the chosen thread.
fn returns(kernel: &Kernel<'_>) -> BTreeSet<u64> {
    let blocks = kernel.graph.functions.get(&kernel.points.run.0).map(|function| function.blocks.as_slice());
    let last = blocks.unwrap_or_default().iter().map(|block| block.last());
    last.filter(|last| matches!(last.flow, Flow::Return { .. })).map(|last| last.address).collect()
}

/// Places behind calls of the function in which threads end.
fn behind_end(kernel: &Kernel<'_>) -> BTreeSet<u64> {
    let blocks = kernel.graph.functions.values().flat_map(|function| &function.blocks);
    let calls = blocks.filter(|block| block.calls.contains(&kernel.points.ended));
    calls
        .map(|block| block.last())
        .filter(|last| matches!(last.flow, Flow::Call { .. }))
        .map(|last| last.next())
        .collect()
}
