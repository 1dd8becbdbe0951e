//! The regions: stretches of the kernel in which no interrupt is taken.

use std::collections::BTreeSet;

use timing_context::Expanded;
use timing_flow::Graph;
use timing_load::Program;

use crate::chains::{chains, Chain};
use crate::description::Description;
use crate::error::Error;
use crate::points::{lookup, End, Points};

/// How a region begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    SystemCall,
    Exception,
    Interrupt,
    /// A thread runs for the first time.
    ThreadStart,
    /// The kernel has asked whether an interrupt waits, and goes on.
    Pending,
    /// An interrupt window has closed.
    Window,
    /// The processor has waited for an interrupt.
    Idle,
    /// A guest has been left.
    Guest,
    /// A thread goes on where it gave up the processor.
    Resumed,
}

impl Kind {
    pub fn name(self) -> &'static str {
        match self {
            Kind::SystemCall => "system call",
            Kind::Exception => "exception",
            Kind::Interrupt => "interrupt",
            Kind::ThreadStart => "thread start",
            Kind::Pending => "preemption point",
            Kind::Window => "interrupt window",
            Kind::Idle => "idle",
            Kind::Guest => "guest exit",
            Kind::Resumed => "resumed thread",
        }
    }
}

/// A stretch of the kernel from where it begins to every place where an interrupt can be taken, or another thread goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    pub name: String,
    pub kind: Kind,
    /// Where it begins.
    pub chain: Chain,
    /// The first instruction.
    pub start: u64,
}

/// All regions of the kernel.
pub fn regions(
    program: &Program,
    description: &Description,
    graph: &Graph,
    points: &Points,
) -> Result<Vec<Region>, Vec<Error>> {
    let mut found = Vec::new();
    let look = |symbol: &str, part| lookup(program, symbol, part).map_err(|error| vec![error]);
    let call = look(&description.entries.system_call, "the entry of system calls")?;
    let thread = look(&description.entries.thread_start, "the start of threads")?;
    let idle = look(&description.entries.idle, "the idle loop")?;
    let stubs = look(&description.vectors.symbol, "the entries of interrupts")?;
    let stub = |vector: u64| stubs + vector * description.vectors.bytes;
    let mut enter =
        |name: String, kind, entry| found.push(Region { name, kind, chain: vec![(entry, 0)], start: entry });
    enter("system call".to_string(), Kind::SystemCall, call);
    enter("thread start".to_string(), Kind::ThreadStart, thread);
    for vector in &description.vectors.exceptions {
        enter(format!("exception {vector}"), Kind::Exception, stub(*vector));
    }
    for one in &description.vectors.interrupts {
        for vector in one.first..=one.last {
            let name =
                if one.first == one.last { one.name.clone() } else { format!("{} {}", one.name, vector - one.first) };
            enter(format!("interrupt {name}"), Kind::Interrupt, stub(vector));
        }
    }
    // What follows a place in the kernel does not depend on the vector by which it was entered.
    let mut seen = BTreeSet::new();
    let vectors = description
        .vectors
        .exceptions
        .first()
        .copied()
        .into_iter()
        .chain(description.vectors.interrupts.first().map(|one| one.first));
    let entries: Vec<u64> = [call, thread, idle].into_iter().chain(vectors.map(stub)).collect();
    for entry in entries {
        for (chain, end) in chains(graph, points, entry).map_err(|error| vec![error])? {
            let kind = match end {
                End::Pending => Kind::Pending,
                End::Window => Kind::Window,
                End::Idle => Kind::Idle,
                End::Guest => Kind::Guest,
                End::Switch => Kind::Resumed,
                End::Run => continue,
            };
            let (function, block) = chain[chain.len() - 1];
            let start = graph.functions[&function].blocks[block].start();
            // The entry's own code is left behind: what matters is where control returns to.
            let below: Vec<(u64, usize)> = chain.iter().skip(1).copied().collect();
            let entered = graph.functions[&chain[0].0].blocks[chain[0].1].start();
            if seen.insert((below, kind, entered)) {
                let names: Vec<String> = chain.iter().map(|(function, _)| program.describe(*function)).collect();
                found.push(Region { name: format!("{} {}", kind.name(), names.join(" > ")), kind, chain, start });
            }
        }
    }
    Ok(found)
}

impl Region {
    /// Its paths.
    pub fn expand<'g>(&self, graph: &'g Graph, points: &Points) -> Result<Expanded<'g>, Vec<Error>> {
        let stops: BTreeSet<u64> = points.ends.keys().copied().collect();
        let options = timing_context::Options { stops, ..timing_context::Options::default() };
        timing_context::expand_inside(graph, &self.chain, &options)
            .map_err(|errors| errors.iter().map(|error| Error::Flow(error.to_string())).collect())
    }
}
