//! Blocks without dead operations: most flags are overwritten before they are read.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use wcet_binary::lift::il::{AddressForm, Expression, Flow, Instruction, Op, Operand, Target, Value};
use wcet_binary::lift::Registers;
use wcet_binary::load::Architecture;
use wcet_flow::context::Expanded;

use crate::untracked_registers::{carried, Carried};

#[derive(Debug)]
pub(crate) struct Prepared {
    pub steps: Vec<Step>,
    /// The number of each instruction's first access in the block.
    pub accesses: Vec<usize>,
}

#[derive(Debug)]
pub(crate) struct Step {
    pub instruction: Rc<Instruction>,
    /// The operations that matter.
    pub ops: Vec<Op>,
    /// Whether one of them selects.
    pub selects: bool,
    /// What it takes to where it is not seen.
    pub carried: Option<Carried>,
}

/// What an operation reads.
fn reads(op: &Op) -> Vec<Value> {
    match op {
        Op::Set { from, .. } => from.operands(),
        Op::Store { address, from, when } => [*address, *from].into_iter().chain(*when).collect(),
        Op::ClobberMemory => Vec::new(),
    }
}

fn flow_reads(flow: &Flow) -> Vec<Value> {
    let target = match *flow {
        Flow::Jump { to: Target::Indirect(to), .. } | Flow::Call { to: Target::Indirect(to), .. } => Some(to),
        Flow::Return { to, .. } => Some(to),
        _ => None,
    };
    target.into_iter().chain(flow.condition()).collect()
}

/// For each node its block, prepared. Copies of a block share.
pub(crate) fn prepare(expanded: &Expanded<'_>, table: Registers, architecture: Architecture) -> Vec<Rc<Prepared>> {
    let flags = table.all().filter(|one| table.is_flag(*one)).fold(0u64, |all, one| all | 1 << one.0);
    let live = live(expanded, flags);
    // What is needed behind any copy.
    let mut needed: BTreeMap<(u64, usize), u64> = BTreeMap::new();
    let key = |node: usize| (expanded.contexts[expanded.nodes[node].context].function, expanded.nodes[node].block);
    for node in expanded.order() {
        let out = expanded.successors(node).iter().fold(0, |all, edge| all | live[expanded.edges[*edge].to]);
        *needed.entry(key(node)).or_default() |= out;
    }
    let mut made: BTreeMap<(u64, usize), Rc<Prepared>> = BTreeMap::new();
    expanded
        .order()
        .map(|node| {
            let entry = made.entry(key(node));
            let needed = needed[&key(node)] | !flags;
            let prepared = || Rc::new(block(&expanded.block(node).instructions, needed, architecture));
            Rc::clone(entry.or_insert_with(prepared))
        })
        .collect()
}

/// Which of some registers are read before they are written, before each node, by operations that are needed. All others are
/// asked for at any time.
pub(crate) fn live(expanded: &Expanded<'_>, some: u64) -> Vec<u64> {
    let mut known: BTreeMap<(u64, usize, u64), u64> = BTreeMap::new();
    let mut live = vec![0u64; expanded.nodes.len()];
    let mut open: BTreeSet<usize> = expanded.order().collect();
    while let Some(node) = open.pop_last() {
        let place = expanded.nodes[node];
        let out = expanded.successors(node).iter().fold(0, |all, edge| all | live[expanded.edges[*edge].to]);
        let key = (expanded.contexts[place.context].function, place.block, out);
        let before = *known.entry(key).or_insert_with(|| {
            let mut live = out | !some;
            let instructions = &expanded.block(node).instructions;
            instructions.iter().rev().for_each(|instruction| drop(needed(instruction, &mut live)));
            live & some
        });
        if before != live[node] {
            live[node] = before;
            open.extend(expanded.predecessors(node).iter().map(|edge| expanded.edges[*edge].from));
        }
    }
    live
}

/// The operations of an instruction that matter for its flow, for memory, and for registers that are live behind it; those
/// that addresses of accesses are made of are live.
/// Makes `live` what is live before it.
fn needed(instruction: &Instruction, live: &mut u64) -> Vec<Op> {
    let mut temporaries: Vec<u16> = Vec::new();
    let need = |value: &Value, live: &mut u64, temporaries: &mut Vec<u16>| match value.operand {
        Operand::Register(register) => *live |= 1 << register.0,
        Operand::Temporary(number) => temporaries.push(number),
        Operand::Constant(_) => {}
    };
    flow_reads(&instruction.flow).iter().for_each(|value| need(value, live, &mut temporaries));
    let mut ops = Vec::new();
    for op in instruction.ops.iter().rev() {
        if let Op::Set { to, .. } = op {
            match to.operand {
                Operand::Register(register) => {
                    if *live & 1 << register.0 == 0 {
                        continue;
                    }
                    *live &= !(1 << register.0);
                }
                Operand::Temporary(number) => {
                    if !temporaries.contains(&number) {
                        continue;
                    }
                }
                Operand::Constant(_) => continue,
            }
        }
        reads(op).iter().for_each(|value| need(value, live, &mut temporaries));
        ops.push(*op);
    }
    // Where accesses go is asked for in any case.
    for access in &instruction.accesses {
        if let AddressForm::Known { base, index, segment, .. } = access.address {
            let registers = [base, index.map(|(index, _)| index), segment].into_iter().flatten();
            registers.for_each(|register| *live |= 1 << register.0);
        }
    }
    ops.reverse();
    ops
}

fn block(instructions: &[Rc<Instruction>], asked: u64, architecture: Architecture) -> Prepared {
    let mut live = asked;
    let mut steps: Vec<Step> = Vec::new();
    for instruction in instructions.iter().rev() {
        let ops = needed(instruction, &mut live);
        let selects = ops.iter().any(|op| matches!(op, Op::Set { from: Expression::Select { .. }, .. }));
        let carried = carried(instruction, architecture);
        steps.push(Step { instruction: Rc::clone(instruction), ops, selects, carried });
    }
    steps.reverse();
    let mut accesses = Vec::with_capacity(steps.len());
    steps.iter().fold(0, |number, step| {
        accesses.push(number);
        number + step.instruction.accesses.len()
    });
    Prepared { steps, accesses }
}
