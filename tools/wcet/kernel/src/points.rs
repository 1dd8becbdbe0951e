//! Where regions end and begin, found on the instructions.

use std::collections::{BTreeMap, BTreeSet};

use wcet_binary::lift::il::{AddressForm, Flow, Op, Operand, Register};
use wcet_binary::lift::{Instruction, Lifter};
use wcet_binary::load::Program;
use wcet_flow::{Graph, Shared};

use crate::description::{Description, Interrupt};
use crate::error::Error;

/// Blocks that may be copied to give every loop a single header: compilers jump into loops now and then.
const COPIES: usize = 1000;

/// What happens where a region ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum End {
    /// The kernel asks whether an interrupt waits.
    Pending,
    /// Interrupts are let in for an instruction.
    Window,
    /// The processor waits for an interrupt.
    Idle,
    /// A guest runs; an interrupt ends its run.
    Guest,
    /// Another thread goes on, on its own stack.
    Switch,
    /// The run ends.
    Run,
}

/// The places, by address.
#[derive(Debug, Clone, Default)]
pub struct Points {
    /// Instructions with which a region ends.
    pub ends: BTreeMap<u64, End>,
    /// Instructions at which the next begins; for [`End::Pending`] and [`End::Switch`] it is behind the call.
    pub behind: BTreeMap<u64, End>,
    /// Functions behind whose calls regions begin.
    pub called: BTreeMap<u64, End>,
    /// Function that comes back without a switch only to certain callers, and those.
    pub run: (u64, BTreeSet<u64>),
    /// Function from which no thread goes on.
    pub ended: u64,
    /// Functions in which who gives up the processor waits for nothing.
    pub preempts: BTreeSet<u64>,
    /// Function that serves an interrupt.
    pub serves: Option<u64>,
    /// Function that keeps a woken thread that has no time left.
    pub parks: Option<u64>,
    /// Function that begins a time slice, as a woken thread is as important as the running one.
    pub shares: Option<u64>,
    /// Function that returns the thread that was woken and is to run next, and its greatest answer that is one.
    pub woken: Option<(u64, u64)>,
    /// Where the number of a system call is known, and the register that holds it there.
    pub number: Option<(u64, Register)>,
}

/// Where control enters, for the control-flow analysis.
pub fn entries(program: &Program, description: &Description) -> Result<Vec<u64>, Vec<Error>> {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    let entries = &description.entries;
    for (symbol, part) in [
        (&entries.system_call, "the entry of system calls"),
        (&entries.thread_start, "the start of threads"),
        (&entries.idle, "the idle loop"),
        (&description.vectors.symbol, "the entries of interrupts"),
    ] {
        match lookup(program, symbol, part) {
            Ok(address) if *symbol == description.vectors.symbol => {
                let vectors = &description.vectors;
                let interrupts = vectors.interrupts.iter().flat_map(Interrupt::vectors);
                let all = vectors.exceptions.iter().copied().chain(interrupts);
                found.extend(all.map(|vector| address + vector * vectors.bytes));
            }
            Ok(address) => found.push(address),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() {
        Ok(found)
    } else {
        Err(errors)
    }
}

/// What control-flow analysis is told: the switch between stacks, and blocks that begin where regions do.
pub fn options(
    program: &Program,
    description: &Description,
    points: &Points,
    shared: &Shared,
) -> Result<wcet_flow::Options, Vec<Error>> {
    let switch = lookup(program, &description.switch.function, "the switch between threads");
    let starts: Result<BTreeSet<u64>, Error> =
        description.switch.starts.iter().map(|name| lookup(program, name, "the start of threads")).collect();
    match (switch, starts) {
        (Ok(switch), Ok(starts)) => Ok(wcet_flow::Options {
            switches: BTreeMap::from([(switch, starts)]),
            boundaries: points.behind.keys().copied().chain(points.number.map(|(address, _)| address)).collect(),
            copies: COPIES,
            shared: shared.clone(),
            ..wcet_flow::Options::default()
        }),
        (switch, starts) => Err(switch.err().into_iter().chain(starts.err()).collect()),
    }
}

impl Points {
    /// Finds the places in what is reached.
    pub fn find(program: &Program, description: &Description, graph: &Graph) -> Result<Points, Vec<Error>> {
        let mut points = Points::default();
        let mut errors = Vec::new();
        let instructions: BTreeMap<u64, &Instruction> = graph
            .functions
            .values()
            .flat_map(|function| &function.blocks)
            .flat_map(|block| &block.instructions)
            .map(|instruction| (instruction.address, &**instruction))
            .collect();
        let named = |address: u64, name: &str| instructions.get(&address).is_some_and(|one| one.mnemonic == name);
        for (address, instruction) in &instructions {
            let next = instruction.next();
            match instruction.mnemonic.as_str() {
                "hlt" => points.mark(*address, next, End::Idle),
                "vmrun" | "vmlaunch" | "vmresume" => points.mark(*address, next, End::Guest),
                // It takes effect after the next instruction. One before hlt is that wait's.
                "sti" if !named(next, "hlt") => {
                    let after = instructions.get(&next).map(|one| one.next());
                    if let Some(closed) = after.filter(|after| named(*after, "cli")) {
                        points.mark(*address, closed, End::Window);
                    }
                }
                _ => {}
            }
        }
        for (symbol, end, what) in [
            (&description.preemption.pending, End::Pending, "the question whether an interrupt waits"),
            (&description.switch.function, End::Switch, "the switch between threads"),
        ] {
            match lookup(program, symbol, what) {
                Ok(function) => {
                    points.called.insert(function, end);
                    let returns = returns(graph, function);
                    if returns.is_empty() {
                        errors.push(Error::NotSo { function: symbol.clone(), what: "return".to_string() });
                    }
                    points.ends.extend(returns.into_iter().map(|address| (address, end)));
                }
                Err(error) => errors.push(error),
            }
        }
        let switch = &description.switch;
        match (
            lookup(program, &switch.run, "the switch to a chosen thread"),
            lookup(program, &switch.ended, "a thread's end"),
        ) {
            (Ok(run), Ok(ended)) => {
                let callers: Result<BTreeSet<u64>, Error> =
                    switch.returns_to.iter().map(|name| lookup(program, name, "a caller of the switch")).collect();
                match callers {
                    Ok(callers) => (points.run, points.ended) = ((run, callers), ended),
                    Err(error) => errors.push(error),
                }
                let leads = graph.functions.get(&run).is_some_and(|_| {
                    let switch = program.symbol(&switch.function).map(|found| found.address);
                    switch.is_some_and(|switch| reaches(graph, run, switch))
                });
                if !leads {
                    errors.push(Error::NotSo { function: switch.run.clone(), what: "switch".to_string() });
                }
            }
            (run, ended) => errors.extend(run.err().into_iter().chain(ended.err())),
        }
        for symbol in &switch.preempts {
            match lookup(program, symbol, "where a thread is preempted") {
                Ok(function) => drop(points.preempts.insert(function)),
                Err(error) => errors.push(error),
            }
        }
        if let Some(symbol) = &description.preemption.serves {
            match lookup(program, symbol, "the service of interrupts") {
                Ok(function) => points.serves = Some(function),
                Err(error) => errors.push(error),
            }
        }
        if let Some(symbol) = &description.preemption.parks {
            match lookup(program, symbol, "what keeps threads that have no time left") {
                Ok(function) => points.parks = Some(function),
                Err(error) => errors.push(error),
            }
        }
        if let Some(symbol) = &description.preemption.shares {
            match lookup(program, symbol, "what begins a time slice") {
                Ok(function) => points.shares = Some(function),
                Err(error) => errors.push(error),
            }
        }
        if let Some(woken) = &description.preemption.woken {
            match lookup(program, &woken.function, "what says which woken thread is to run next") {
                Ok(function) => points.woken = Some((function, woken.none.saturating_sub(1))),
                Err(error) => errors.push(error),
            }
        }
        let poll = &description.preemption.poll;
        match lookup(program, poll, "the interrupt window") {
            Ok(function) => {
                let opens = graph.functions.get(&function).is_some_and(|function| {
                    let mut all = function.blocks.iter().flat_map(|block| &block.instructions);
                    all.any(|one| points.ends.get(&one.address) == Some(&End::Window))
                });
                if !opens {
                    errors.push(Error::NotSo { function: poll.clone(), what: "open an interrupt window".to_string() });
                }
            }
            Err(error) => errors.push(error),
        }
        match number(program, description, graph) {
            Ok(number) => points.number = number,
            Err(error) => errors.push(error),
        }
        for symbol in &description.ends.run {
            match lookup(program, symbol, "the end of the run") {
                Ok(function) => drop(points.ends.insert(function, End::Run)),
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() {
            Ok(points)
        } else {
            Err(errors)
        }
    }

    fn mark(&mut self, last: u64, behind: u64, end: End) {
        self.ends.insert(last, end);
        self.behind.insert(behind, end);
    }
}

/// Behind which instruction, and in which register, the handler of system calls has the number: the first that its first block
/// reads of the object.
fn number(program: &Program, description: &Description, graph: &Graph) -> Result<Option<(u64, Register)>, Error> {
    let Some(calls) = &description.calls else { return Ok(None) };
    let function = lookup(program, &calls.function, "the handler of system calls")?;
    let missing = || Error::NoSymbol { symbol: calls.object.clone(), part: "where the number of a call is read" };
    let object = program.symbol(&calls.object).filter(|object| object.size > 0).ok_or_else(missing)?;
    let first = graph.functions.get(&function).and_then(|function| function.blocks.first());
    let reads = |one: &&std::rc::Rc<Instruction>| {
        one.accesses.iter().any(|access| match access.address {
            AddressForm::Known { displacement, .. } => {
                access.read && access.size == 8 && (displacement as u64).wrapping_sub(object.address) < object.size
            }
            AddressForm::Any => false,
        })
    };
    let read = first.and_then(|block| block.instructions.iter().find(reads));
    let found = read.and_then(|one| {
        let mut written = one.ops.iter().filter_map(|op| match op {
            Op::Set { to, .. } if to.size == 8 => match to.operand {
                Operand::Register(register) => Some(register),
                _ => None,
            },
            _ => None,
        });
        Some((one.next(), written.next_back()?))
    });
    let what = format!("read a call's number from {} in its first block", calls.object);
    found.map(Some).ok_or(Error::NotSo { function: calls.function.clone(), what })
}

/// Whether a function calls another, directly or not.
fn reaches(graph: &Graph, from: u64, to: u64) -> bool {
    let (mut seen, mut open) = (BTreeSet::from([from]), vec![from]);
    while let Some(function) = open.pop() {
        let callees = graph.callees(function);
        if callees.contains(&to) {
            return true;
        }
        open.extend(callees.into_iter().filter(|callee| seen.insert(*callee)));
    }
    false
}

/// The instructions by which a function returns.
fn returns(graph: &Graph, function: u64) -> Vec<u64> {
    let blocks = graph.functions.get(&function).map(|function| function.blocks.as_slice()).unwrap_or_default();
    blocks
        .iter()
        .map(|block| block.last())
        .filter(|last| matches!(last.flow, Flow::Return { .. }))
        .map(|last| last.address)
        .collect()
}

pub(crate) fn lookup(program: &Program, symbol: &str, part: &'static str) -> Result<u64, Error> {
    let found = program.symbol(symbol).map(|found| found.address);
    found.ok_or_else(|| Error::NoSymbol { symbol: symbol.to_string(), part })
}

/// Control flow of the kernel, with blocks that begin where regions do, and those places.
pub fn flow(lifter: &Lifter<'_>, description: &Description, shared: &Shared) -> Result<(Graph, Points), Vec<Error>> {
    let program = lifter.program();
    let entries = entries(program, description)?;
    let analyse = |points: &Points| {
        let options = options(program, description, points, shared)?;
        wcet_flow::analyse(lifter, &entries, &options)
            .map_err(|errors| errors.iter().map(|error| Error::Flow(error.to_string())).collect::<Vec<_>>())
    };
    let points = Points::find(program, description, &analyse(&Points::default())?)?;
    Ok((analyse(&points)?, points))
}
