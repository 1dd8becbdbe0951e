//! A compiled program with its graph, and all that is measured of it.

use std::path::Path;

use serde::Serialize;
use wcet_binary::lift::Lifter;
use wcet_binary::load::{Lines, Program};
use wcet_flow::context::{Expanded, LoopId};
use wcet_flow::{Graph, Options, Problem};
use wcet_hardware::machine::Machine;

use crate::measure::count::{count, Counts};
use crate::measure::cycles::cycles;
use crate::measure::Error;

/// The function that is analysed.
pub const ENTRY: &str = "entry";

/// Blocks of a function that may be copied where loops have several entries.
pub const COPIES: usize = 64;

/// Cases whose cycles are observed: those with the most instructions.
const LONGEST: usize = 3;

/// What the cases of a program did.
#[derive(Debug, Clone, Serialize)]
pub struct Measurement {
    /// Why the graph needs copied blocks, if it does.
    pub split: Option<String>,
    pub loops: Vec<MeasuredLoop>,
    pub cases: usize,
    pub instructions: u64,
    /// Of the cases with the most instructions, the most cycles on the simulator.
    pub cycles: Option<u64>,
}

/// A loop in one context.
#[derive(Debug, Clone, Serialize)]
pub struct MeasuredLoop {
    pub function: String,
    /// Of the function.
    pub entry: u64,
    /// Of the header's first instruction.
    pub header: u64,
    /// File and line.
    pub source: Option<String>,
    /// The functions from the entry down to this one.
    pub calls: Vec<String>,
    /// Executions of the header for one entry of the loop, at most; 0: never entered.
    pub most: u64,
    /// The same for one entry of the loop around it, if there is one.
    pub total: Option<u64>,
}

/// A compiled program and the expanded graph of its entry.
pub struct Subject<'s> {
    pub file: &'s Path,
    pub data: &'s [u8],
    pub program: &'s Program,
    pub expanded: &'s Expanded<'s>,
    /// Why the graph needs copied blocks, if it does.
    pub split: Option<String>,
}

/// Calls `look` with the subject that `file` is.
pub fn with<R>(file: &Path, look: impl FnOnce(Subject<'_>) -> Result<R, Error>) -> Result<R, Error> {
    let data = std::fs::read(file).map_err(|cause| Error::Read { path: file.to_path_buf(), cause })?;
    let program = Program::parse(&data).map_err(refused)?;
    let lifter = Lifter::new(&program).map_err(|error| Error::Setup(error.to_string()))?;
    let entry = program.symbol(ENTRY).ok_or_else(|| Error::NoEntry { path: file.to_path_buf() })?.address;
    let (graph, split) = graph(&lifter, entry)?;
    let expanded =
        wcet_flow::context::expand(&graph, entry, &wcet_flow::context::Options::default()).map_err(refused)?;
    look(Subject { file, data: &data, program: &program, expanded: &expanded, split })
}

/// Runs the cases of `file`; on `machine`, if there is one, the longest are timed.
pub fn measure(file: &Path, machine: Option<&Machine>) -> Result<Measurement, Error> {
    with(file, |Subject { file, data, program, expanded, split }| {
        let counts = count(file, program, expanded)?;
        let cycles = match machine {
            Some(machine) => Some(observe(file, program, expanded, machine, &counts)?),
            None => None,
        };
        let lines = Lines::parse(data);
        let loops = (0..expanded.loops.len()).map(|number| describe(expanded, number, &counts, &lines)).collect();
        let (cases, instructions) = (counts.cases.len(), counts.cases.iter().sum());
        Ok(Measurement { split, loops, cases, instructions, cycles })
    })
}

/// The graph; with copies only if there is none without.
fn graph(lifter: &Lifter<'_>, entry: u64) -> Result<(Graph, Option<String>), Error> {
    let errors = match wcet_flow::analyse(lifter, &[entry], &Options::default()) {
        Ok(graph) => return Ok((graph, None)),
        Err(errors) => errors,
    };
    if !errors.iter().all(|error| matches!(error.problem, Problem::Irreducible { .. })) {
        return Err(refused(errors));
    }
    let options = Options { copies: COPIES, ..Options::default() };
    let graph = wcet_flow::analyse(lifter, &[entry], &options).map_err(refused)?;
    Ok((graph, Some(texts(&errors).join("; "))))
}

fn observe(
    file: &Path,
    program: &Program,
    expanded: &Expanded<'_>,
    machine: &Machine,
    counts: &Counts,
) -> Result<u64, Error> {
    let mut order: Vec<usize> = (0..counts.cases.len()).collect();
    order.sort_by_key(|case| std::cmp::Reverse(counts.cases[*case]));
    let mut most = 0;
    for case in order.into_iter().take(LONGEST) {
        let case = u32::try_from(case).map_err(|error| Error::Setup(error.to_string()))?;
        most = most.max(cycles(file, program, expanded, machine, case)?);
    }
    Ok(most)
}

pub(crate) fn describe(expanded: &Expanded<'_>, number: LoopId, counts: &Counts, lines: &Lines) -> MeasuredLoop {
    let found = &expanded.loops[number];
    let function = expanded.function(found.context);
    let header = expanded.block(found.header).start();
    MeasuredLoop {
        function: function.name.clone(),
        entry: function.entry,
        header,
        source: lines.place(header).map(|place| place.to_string()),
        calls: expanded.chain(found.context).into_iter().map(str::to_string).collect(),
        most: counts.loops[number],
        total: found.parent.map(|_| counts.totals[number]),
    }
}

fn texts<E: ToString>(errors: &[E]) -> Vec<String> {
    errors.iter().map(ToString::to_string).collect()
}

fn refused<E: ToString>(errors: Vec<E>) -> Error {
    Error::Refused(texts(&errors))
}
