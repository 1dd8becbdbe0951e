//! The worst path for the report: its steps, their contexts, and the code of their blocks.

use std::collections::{BTreeMap, BTreeSet};

use crate::ipet::Visit;
use wcet_binary::lift::Lifter;
use wcet_binary::load::Lines;
use wcet_flow::context::{Expanded, LoopId};
use wcet_report::{Block, Context, Instruction, Report, Step};

use crate::analysis::faults::hex;
use crate::analysis::source::Sources;

/// Fills path, contexts and code. First misses are given by the loop for whose entries they are; none for those of the whole.
pub fn describe(
    report: &mut Report,
    expanded: &Expanded<'_>,
    path: &[Visit],
    first_misses: &BTreeMap<Option<LoopId>, u64>,
    lifter: &Lifter<'_>,
    lines: &Lines,
) {
    // First misses are paid when their loop is entered, or at the start.
    let mut paid: BTreeMap<usize, u64> = BTreeMap::new();
    for (scope, cycles) in first_misses {
        let node = scope.map_or(expanded.entry, |scope| expanded.loops[scope].header);
        let sum = paid.entry(node).or_default();
        *sum = sum.saturating_add(*cycles);
    }
    let mut blocks = BTreeSet::new();
    for visit in path {
        let instructions = expanded.instructions(visit.node);
        let Some(first) = instructions.first() else { continue };
        let first_misses = paid.remove(&visit.node).unwrap_or(0);
        let context = expanded.nodes[visit.node].context;
        report.path.push(Step {
            function: expanded.function(context).name.clone(),
            address: hex(first.address),
            source: lines.place(first.address).map(|place| place.to_string()),
            context,
            count: visit.count,
            cycles: visit.cycles.saturating_add(first_misses),
            first_misses,
        });
        blocks.insert((first.address, visit.node));
    }
    report.contexts = contexts(expanded);
    report.code = code(expanded, &blocks, lifter, lines);
}

fn contexts(expanded: &Expanded<'_>) -> Vec<Context> {
    let one = |context: &wcet_flow::context::Context| Context {
        function: expanded.graph.functions[&context.function].name.clone(),
        address: hex(context.function),
        caller: context.caller.map(|(caller, _)| caller),
        call_site: context.caller.map(|(caller, block)| hex(expanded.function(caller).blocks[block].last().address)),
    };
    expanded.contexts.iter().map(one).collect()
}

fn code(expanded: &Expanded<'_>, blocks: &BTreeSet<(u64, usize)>, lifter: &Lifter<'_>, lines: &Lines) -> Vec<Block> {
    let mut sources = Sources::default();
    let mut code: Vec<Block> = Vec::new();
    let mut before = None;
    for (address, node) in blocks {
        // The same block in another context.
        if before.replace(*address) == Some(*address) {
            continue;
        }
        let mut place_before = None;
        let instructions = expanded.instructions(*node).iter().map(|instruction| {
            let place = lines.place(instruction.address);
            let new = place.clone().filter(|_| place != place_before);
            place_before = place;
            Instruction {
                address: hex(instruction.address),
                text: lifter.text(instruction),
                source: new.as_ref().map(ToString::to_string),
                source_text: new.and_then(|place| sources.line(&place.file, place.line)),
            }
        });
        code.push(Block { address: hex(*address), instructions: instructions.collect() });
    }
    code
}
