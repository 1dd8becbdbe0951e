//! Sentences that say how a bound is known.

use std::collections::BTreeSet;

use wcet_binary::lift::il::{Op, Operand, Value};
use wcet_binary::lift::Registers;
use wcet_binary::load::Program;
use wcet_flow::context::{Expanded, LoopId, NodeId};
use wcet_values::{Base, Counter, Range, Run, Step};

/// Counters that are named.
const NAMED: usize = 2;
/// Exits that are named.
const EXITS: usize = 3;

pub(crate) fn sentence(program: &Program, expanded: &Expanded<'_>, one: LoopId, run: &Run) -> String {
    let Some(most) = run.most else { return String::new() };
    if most == 0 {
        return "never reached".to_string();
    }
    let mut parts = Vec::new();
    for counter in deciding(program, expanded, run).into_iter().take(NAMED) {
        parts.push(describe(counter));
    }
    let mut exits: Vec<(u64, u64, u64)> = run
        .exits
        .iter()
        .map(|(edge, first, last)| (leaving(expanded, expanded.edges[*edge].from), *first, *last))
        .collect();
    exits.sort_by_key(|(_, _, last)| std::cmp::Reverse(*last));
    for (address, first, last) in exits.iter().take(EXITS) {
        let place = program.describe(*address);
        parts.push(if first == last {
            format!("left at {place} in iteration {last}")
        } else {
            format!("left at {place} in iterations {first} to {last}")
        });
    }
    if exits.is_empty() {
        let header = expanded.place(expanded.loops[one].header);
        parts.push(format!("nothing comes back to {header} after iteration {most}"));
    }
    parts.join("; ")
}

/// The instruction that leaves a node.
fn leaving(expanded: &Expanded<'_>, node: NodeId) -> u64 {
    expanded.block(node).last().address
}

/// The counters that exits read; if that tells nothing, all.
fn deciding<'r>(program: &Program, expanded: &Expanded<'_>, run: &'r Run) -> Vec<&'r Counter> {
    let table = Registers::of(program.architecture);
    let mut read = BTreeSet::new();
    for (edge, ..) in &run.exits {
        let block = expanded.block(expanded.edges[*edge].from);
        // The last operations that set what the branch asks for.
        let mut wanted: Vec<Value> = block.last().flow.condition().into_iter().collect();
        for instruction in block.instructions.iter().rev() {
            for op in instruction.ops.iter().rev() {
                let Op::Set { to, from } = op else { continue };
                let Some(index) = wanted.iter().position(|value| value.operand == to.operand) else { continue };
                wanted.remove(index);
                wanted
                    .extend(from.operands().into_iter().filter(|value| !matches!(value.operand, Operand::Constant(_))));
            }
            wanted.iter().for_each(|value| {
                if let Operand::Register(register) = value.operand {
                    if !table.is_flag(register) {
                        read.insert(table.name(register).to_lowercase());
                    }
                }
            });
        }
    }
    let known = |counter: &&Counter| read.contains(&counter.place) && counter.step != Step::Other;
    let chosen: Vec<&Counter> = run.counters.iter().filter(known).collect();
    if chosen.is_empty() {
        run.counters.iter().filter(|counter| counter.step != Step::Other).collect()
    } else {
        chosen
    }
}

fn describe(counter: &Counter) -> String {
    let step = match counter.step {
        Step::Add(step) => format!("by {step}"),
        Step::Between(low, high) => format!("by {low} to {high}"),
        Step::ShiftRight(amount) => format!("shifted right by {amount}"),
        Step::ShiftLeft(amount) => format!("shifted left by {amount}"),
        Step::DivideBy(number) => format!("divided by {number}"),
        Step::ClearLowest => "losing its lowest bit".to_string(),
        Step::Other => "irregularly".to_string(),
    };
    let place = &counter.place;
    let first = number(&counter.first, counter.first.low);
    let last = number(&counter.all, if descends(counter) { counter.all.low } else { counter.all.high });
    if counter.first.low == counter.first.high {
        format!("{place} from {first} {step} to {last}")
    } else {
        format!("{place} from {first} to {} {step}", number(&counter.first, counter.first.high))
    }
}

/// Whether the range of all values ends where the counter begins.
fn descends(counter: &Counter) -> bool {
    matches!(counter.step, Step::Add(step) if step < 0) && counter.all.high == counter.first.low
}

fn number(range: &Range, value: u64) -> String {
    match range.base {
        Base::Zero => format!("{value:#x}"),
        Base::Stack => format!("stack{:+#x}", value as i64),
        Base::Unknown(_) if value == 0 => "its value at first".to_string(),
        Base::Unknown(_) => format!("its value at first {:+}", signed(value, range.size)),
    }
}

fn signed(value: u64, size: u8) -> i64 {
    let unused = 64 - 8 * u32::from(size.clamp(1, 8));
    ((value << unused) as i64) >> unused
}
