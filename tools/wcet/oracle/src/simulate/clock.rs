//! The pipeline, cycle by cycle. Rules 10 to 16 of the contract.

use crate::simulate::hierarchy::{Answer, Hierarchy};
use crate::simulate::trace::{Control, Step};
use wcet_hardware::machine::{Class, ClassCost, Follow, Issue, Machine};

/// When an instruction was fetched, issued, and left execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Times {
    pub fetched: u64,
    pub issued: u64,
    pub left: u64,
}

/// An instruction with the answers of the caches.
#[derive(Debug, Clone)]
pub struct Work {
    cost: ClassCost,
    reads: u64,
    writes: u64,
    control: Control,
    /// How the next instruction can be fetched.
    follow: Follow,
    /// Each access of its fetch: cycles, and whether it needs the bus.
    fetch: Vec<(u64, bool)>,
    first_line: u64,
    last_line: u64,
    /// Cycles of its data accesses.
    data: u64,
    is_store: bool,
    /// Lines of its data accesses.
    lines: Vec<u64>,
    /// One of the two instructions before is a store to one of these lines.
    is_behind_store: bool,
    has_data: bool,
}

impl Work {
    pub fn new(step: &Step, cost: ClassCost, before: &[Work], hierarchy: &mut Hierarchy) -> Self {
        let (fetches, data) = step.touch(hierarchy);
        let size = hierarchy.line();
        let lines: Vec<u64> = step.memory.iter().map(|access| access.address / size).collect();
        let meets = |others: &[u64]| others.iter().any(|line| lines.contains(line));
        Work {
            cost,
            reads: step.reads,
            writes: step.writes,
            control: step.control,
            follow: match step.control {
                Control::None => Follow::Straight,
                control => {
                    let branch = &hierarchy.machine().branch;
                    branch.follow(step.transfer, step.address, control == Control::Taken)
                }
            },
            fetch: fetches.iter().map(|answer| (answer.cycles, !answer.near)).collect(),
            first_line: step.address / size,
            last_line: (step.address + step.length.max(1) - 1) / size,
            data: data.iter().map(|answer: &Answer| answer.cycles).sum(),
            has_data: !data.is_empty(),
            is_store: step.class == Class::Store,
            is_behind_store: before.iter().rev().take(2).any(|one| one.is_store && meets(&one.lines)),
            lines,
        }
    }

    fn duration(&self) -> u64 {
        let behind = if self.is_behind_store { self.cost.behind_store } else { 0 };
        (self.cost.occupies + self.data).max(1) + behind
    }
}

/// What the fetch unit is doing.
enum Fetching {
    /// Waiting until the next instruction's fetch may start.
    Idle,
    /// Ready for access number `.0` of the instruction, which may need the bus.
    Access(usize),
    /// Busy with access number `.0` until `.1`.
    Busy(usize, u64),
}

pub fn run(machine: &Machine, work: &[Work]) -> Vec<Times> {
    let mut pipeline =
        Pipeline { machine, work, times: vec![Times::default(); work.len()], ..Pipeline::new(machine, work) };
    let mut now = 0;
    while pipeline.issued < work.len() {
        pipeline.finish_fetches(now);
        pipeline.issue(now);
        pipeline.start_fetch(now);
        now += 1;
    }
    pipeline.times
}

struct Pipeline<'a> {
    machine: &'a Machine,
    work: &'a [Work],
    times: Vec<Times>,
    /// Instructions fetched and issued so far.
    fetched: usize,
    issued: usize,
    fetching: Fetching,
    /// When each register is ready.
    ready: [u64; 64],
    /// Latest time at which an instruction with data accesses, issued so far, leaves.
    data_until: u64,
    /// Instructions with data accesses among those before the one being fetched, and those issued.
    data_before_fetch: usize,
    data_issued: usize,
}

impl<'a> Pipeline<'a> {
    fn new(machine: &'a Machine, work: &'a [Work]) -> Self {
        Pipeline {
            machine,
            work,
            times: vec![Times::default(); work.len()],
            fetched: 0,
            issued: 0,
            fetching: Fetching::Idle,
            ready: [0; 64],
            data_until: 0,
            data_before_fetch: 0,
            data_issued: 0,
        }
    }

    fn finish_fetches(&mut self, now: u64) {
        if let Fetching::Busy(access, until) = self.fetching {
            if until > now {
                return;
            }
            if access + 1 < self.work[self.fetched].fetch.len() {
                self.fetching = Fetching::Access(access + 1);
                return;
            }
            self.deliver(now);
        }
        while matches!(self.fetching, Fetching::Idle) && self.streams(now) {
            self.deliver(now);
        }
    }

    fn deliver(&mut self, now: u64) {
        self.times[self.fetched].fetched = now;
        self.data_before_fetch += usize::from(self.work[self.fetched].has_data);
        self.fetched += 1;
        self.fetching = Fetching::Idle;
    }

    /// Whether the next instruction comes in the same line as the one before.
    fn in_stream(&self) -> bool {
        let next = self.fetched;
        if self.machine.pipeline.issue == Issue::Single || next == 0 || next >= self.work.len() {
            return false;
        }
        let (before, this) = (&self.work[next - 1], &self.work[next]);
        before.control == Control::None
            && this.first_line == before.last_line
            && this.fetch.len() == 1
            && !this.fetch[0].1
    }

    /// Whether the next instruction is in the stream and there by now.
    fn streams(&self, now: u64) -> bool {
        let next = self.fetched;
        if !self.in_stream() {
            return false;
        }
        let hit = self.work[next].fetch[0].0;
        let second = next < 2 || self.times[next - 2].fetched + hit <= now;
        second && self.room(now, hit)
    }

    /// Whether the queue had room for the next instruction `ago` cycles ago.
    fn room(&self, now: u64, ago: u64) -> bool {
        let queue = self.machine.pipeline.queue as usize;
        match self.fetched.checked_sub(queue) {
            None => true,
            Some(older) => older < self.issued && self.times[older].issued + ago <= now,
        }
    }

    fn start_fetch(&mut self, now: u64) {
        if self.fetched >= self.work.len() {
            return;
        }
        if matches!(self.fetching, Fetching::Idle) && !self.in_stream() && self.room(now, 0) && self.redirected(now) {
            self.fetching = Fetching::Access(0);
        }
        if let Fetching::Access(access) = self.fetching {
            let (cycles, bus) = self.work[self.fetched].fetch[access];
            let free = self.data_issued >= self.data_before_fetch && self.data_until <= now;
            if !bus || free {
                self.fetching = Fetching::Busy(access, now + cycles);
            }
        }
    }

    /// Whether a control transfer before the next instruction, if there is one, lets its fetch start.
    fn redirected(&self, now: u64) -> bool {
        let Some(before) = self.fetched.checked_sub(1) else { return true };
        match self.work[before].follow {
            Follow::Straight => true,
            Follow::Foreseen(cycles) => self.times[before].fetched + cycles <= now,
            Follow::Refill(total) => {
                let refill = total - 1 - self.machine.fetch_hit() - self.machine.pipeline.front;
                before < self.issued && self.times[before].left + refill <= now
            }
        }
    }

    fn issue(&mut self, now: u64) {
        while self.issued < self.fetched && self.can_issue(now) {
            let this = self.issued;
            let work = &self.work[this];
            let left = now + work.duration();
            self.times[this].issued = now;
            self.times[this].left = left;
            for register in registers(work.writes) {
                self.ready[register] = left + work.cost.latency;
            }
            if work.has_data {
                self.data_issued += 1;
                self.data_until = self.data_until.max(left);
            }
            self.issued += 1;
        }
    }

    fn can_issue(&self, now: u64) -> bool {
        let this = self.issued;
        let work = &self.work[this];
        let decoded = || self.times[this].fetched + self.machine.pipeline.front <= now;
        let idle = || this < 2 || self.times[this - 2].left <= now;
        let follows = || this < 1 || self.times[this - 1].left <= now || self.pairs(this);
        let ready = || registers(work.reads).all(|register| self.ready[register] <= now);
        decoded() && idle() && follows() && ready()
    }

    /// Whether instruction `this` can issue together with the one before.
    fn pairs(&self, this: usize) -> bool {
        let (first, second) = (&self.work[this - 1], &self.work[this]);
        self.machine.pipeline.issue == Issue::Dual
            && first.cost.pairs_first
            && second.cost.pairs_second
            && first.cost.occupies <= 1
            && !first.has_data
            && first.control == Control::None
            && first.writes & (second.reads | second.writes) == 0
    }
}

/// The registers of a mask.
fn registers(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let register = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (register < 64).then_some(register)
    })
}
