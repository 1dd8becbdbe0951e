//! Blocks without dead operations: most flags are overwritten before they are read.

use std::cell::RefCell;
use std::collections::HashMap;
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

impl Prepared {
    /// All operations of a block.
    pub fn whole(instructions: impl Iterator<Item = Rc<Instruction>>) -> Prepared {
        let step = |one: Rc<Instruction>| Step { ops: one.ops.clone(), instruction: one, selects: true, carried: None };
        Prepared { steps: instructions.map(step).collect(), accesses: Vec::new() }
    }
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

/// What is found of blocks once, wherever they stand: all analyses of graphs that are expanded from one control flow may share it.
#[derive(Debug, Default)]
pub struct Blocks {
    /// Which of some registers are live before a block, by its function and number, those registers, and what is live behind it.
    live: RefCell<HashMap<(u64, usize, u64, u64), u64>>,
    /// Blocks without operations that do not matter, by what is asked for behind them.
    prepared: RefCell<HashMap<(u64, usize, u64), Rc<Prepared>>>,
}

/// For each node its block, prepared. Copies of a block share.
pub(crate) fn prepare(
    expanded: &Expanded<'_>,
    blocks: &Blocks,
    table: Registers,
    architecture: Architecture,
) -> Vec<Rc<Prepared>> {
    let flags = table.all().filter(|one| table.is_flag(*one)).fold(0u64, |all, one| all | 1 << one.0);
    let live = live(expanded, blocks, flags);
    // What is needed behind any copy.
    let mut needed: HashMap<(u64, usize), u64> = HashMap::new();
    let key = |node: usize| (expanded.contexts[expanded.nodes[node].context].function, expanded.nodes[node].block);
    for node in expanded.order() {
        let out = expanded.successors(node).iter().fold(0, |all, edge| all | live[expanded.edges[*edge].to]);
        *needed.entry(key(node)).or_default() |= out;
    }
    let mut made = blocks.prepared.borrow_mut();
    expanded
        .order()
        .map(|node| {
            let (function, number) = key(node);
            let needed = needed[&(function, number)] | !flags;
            let prepared = || Rc::new(block(&expanded.block(node).instructions, needed, architecture));
            Rc::clone(made.entry((function, number, needed)).or_insert_with(prepared))
        })
        .collect()
}

/// Which of some registers are read before they are written, before each node, by operations that are needed. All others are
/// asked for at any time.
pub(crate) fn live(expanded: &Expanded<'_>, blocks: &Blocks, some: u64) -> Vec<u64> {
    let mut known = blocks.live.borrow_mut();
    let mut live = vec![0u64; expanded.nodes.len()];
    let mut open = vec![true; expanded.nodes.len()];
    // All nodes behind this one are done.
    let mut end = expanded.nodes.len();
    while end > 0 {
        let node = end - 1;
        end = node;
        if !std::mem::take(&mut open[node]) {
            continue;
        }
        let place = expanded.nodes[node];
        let out = expanded.successors(node).iter().fold(0, |all, edge| all | live[expanded.edges[*edge].to]);
        let key = (expanded.contexts[place.context].function, place.block, some, out);
        let before = *known.entry(key).or_insert_with(|| {
            let mut live = out | !some;
            let instructions = &expanded.block(node).instructions;
            instructions.iter().rev().for_each(|instruction| drop(needed(instruction, &mut live)));
            live & some
        });
        if before != live[node] {
            live[node] = before;
            for edge in expanded.predecessors(node) {
                let from = expanded.edges[*edge].from;
                open[from] = true;
                end = end.max(from + 1);
            }
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
