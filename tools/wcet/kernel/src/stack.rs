//! How deep the kernel's stacks become, from the instructions that change the stack pointer.
//!
//! A call needs its frame and what it calls; deepest is the deepest chain. A function that sets the stack pointer to
//! something else begins anew there: entries go to a thread's own stack, which is empty.

use std::collections::{BTreeMap, BTreeSet};

use wcet_binary::lift::il::{Binary, Expression, Op, Operand, Register, Value};
use wcet_binary::lift::Instruction;
use wcet_flow::{EdgeKind, Function, Graph};

use crate::call_chains::Chain;

/// The deepest chain of calls from a function.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Depth {
    pub bytes: u64,
    /// Functions from the outermost on.
    pub chain: Vec<u64>,
}

/// How far below the end of its stack a handler begins: its stack holds its return address alone.
pub const HANDLER: u64 = 8;

/// How far below the end of its stack a chain of calls is at its last block, if it goes through a handler and all ways
/// there agree.
pub fn below(graph: &Graph, stack_pointer: Register, handlers: &BTreeSet<u64>, chain: &Chain) -> Option<u64> {
    let first = chain.iter().position(|(function, _)| handlers.contains(function))?;
    let mut below = HANDLER as i64;
    for (number, (address, block)) in chain.iter().enumerate().skip(first) {
        let function = &graph.functions[address];
        let (mut at, content) = (exact(function, stack_pointer).remove(block)??, &function.blocks[*block]);
        if let Some((callee, _)) = chain.get(number + 1) {
            for instruction in &content.instructions {
                match change(instruction, stack_pointer) {
                    Change::By(bytes) => at += bytes,
                    Change::Elsewhere => return None,
                }
            }
            // A call that may also be a jump does not exist; where the callee is neither, the chain is not understood.
            let calls = content.calls.contains(callee);
            if calls == content.tail_calls.contains(callee) {
                return None;
            }
        }
        below -= at;
    }
    u64::try_from(below).ok()
}

/// How far the stack pointer is at each block from where it was at first; None where ways differ or it is something else.
fn exact(function: &Function, stack_pointer: Register) -> BTreeMap<usize, Option<i64>> {
    let mut before: BTreeMap<usize, Option<i64>> = BTreeMap::from([(0, Some(0))]);
    let mut open = vec![0];
    while let Some(index) = open.pop() {
        let mut at = before[&index];
        let block = &function.blocks[index];
        for (number, instruction) in block.instructions.iter().enumerate() {
            let calls = number + 1 == block.instructions.len() && !block.calls.is_empty();
            at = match change(instruction, stack_pointer) {
                Change::By(_) if calls => at,
                Change::By(bytes) => at.map(|at| at + bytes),
                Change::Elsewhere => None,
            };
        }
        for edge in &block.edges {
            let known = before.get(&edge.to).copied();
            let now = if known.is_some_and(|known| known != at) { None } else { at };
            if known != Some(now) {
                before.insert(edge.to, now);
                open.push(edge.to);
            }
        }
    }
    before
}

/// A frame that is larger counts as this.
const DEEPEST: i64 = 1 << 40;

/// What an instruction does to the stack pointer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    By(i64),
    /// It is something else now.
    Elsewhere,
}

/// Depths of all functions, in bytes below the stack pointer at their first instruction. None where calls go in circles.
pub fn depths(graph: &Graph, stack_pointer: Register) -> BTreeMap<u64, Option<Depth>> {
    let mut found = BTreeMap::new();
    for function in graph.functions.keys() {
        depth(graph, stack_pointer, *function, &mut found, &mut BTreeSet::new());
    }
    found
}

fn depth(
    graph: &Graph,
    stack_pointer: Register,
    address: u64,
    found: &mut BTreeMap<u64, Option<Depth>>,
    active: &mut BTreeSet<u64>,
) -> Option<Depth> {
    if let Some(known) = found.get(&address) {
        return known.clone();
    }
    if !active.insert(address) {
        return None;
    }
    let function = &graph.functions[&address];
    let mut deepest = Some(Depth { bytes: 0, chain: vec![address] });
    for (block, at) in blocks(function, stack_pointer) {
        let block = &function.blocks[block];
        let mut at = at;
        for instruction in &block.instructions {
            // A call leaves the return address behind for the callee; afterwards the stack is as before.
            match change(instruction, stack_pointer) {
                Change::By(bytes) => at += bytes,
                Change::Elsewhere => at = 0,
            }
            deepest = deeper(deepest, at, &Depth { bytes: 0, chain: vec![] }, address);
        }
        for callee in block.calls.iter().chain(&block.tail_calls) {
            let below = depth(graph, stack_pointer, *callee, found, active);
            deepest = below.and_then(|below| deeper(deepest, at, &below, address));
        }
    }
    active.remove(&address);
    found.insert(address, deepest.clone());
    deepest
}

fn deeper(deepest: Option<Depth>, at: i64, below: &Depth, address: u64) -> Option<Depth> {
    let deepest = deepest?;
    let bytes = u64::try_from(-at).unwrap_or(0) + below.bytes;
    if bytes <= deepest.bytes {
        return Some(deepest);
    }
    Some(Depth { bytes, chain: std::iter::once(address).chain(below.chain.iter().copied()).collect() })
}

/// Blocks with how far the stack pointer is from where it was at first (the lowest of all ways).
fn blocks(function: &Function, stack_pointer: Register) -> Vec<(usize, i64)> {
    let mut before: BTreeMap<usize, i64> = BTreeMap::from([(0, 0)]);
    let mut open = vec![0];
    while let Some(index) = open.pop() {
        let mut at = before[&index];
        let block = &function.blocks[index];
        for (number, instruction) in block.instructions.iter().enumerate() {
            let calls = number + 1 == block.instructions.len() && !block.calls.is_empty();
            match change(instruction, stack_pointer) {
                // The callee takes its return address away again.
                Change::By(_) if calls => {}
                Change::By(bytes) => at += bytes,
                Change::Elsewhere => at = 0,
            }
        }
        let next = |kind: EdgeKind| kind != EdgeKind::Back || !block.calls.is_empty();
        for edge in block.edges.iter().filter(|edge| next(edge.kind)) {
            // Where ways differ, the deepest counts; a loop that only ever pushes would have none.
            let known = before.get(&edge.to).copied();
            if known.is_none_or(|known| at < known && at > -DEEPEST) {
                before.insert(edge.to, at);
                open.push(edge.to);
            }
        }
    }
    before.into_iter().collect()
}

fn change(instruction: &Instruction, stack_pointer: Register) -> Change {
    let mut distance: BTreeMap<Operand, i64> = BTreeMap::from([(Operand::Register(stack_pointer), 0)]);
    let number = |value: &Value| match value.operand {
        Operand::Constant(number) => Some(number as i64),
        _ => None,
    };
    for op in &instruction.ops {
        let Op::Set { to, from } = op else { continue };
        let of = |value: &Value| distance.get(&value.operand).copied();
        let made = match from {
            Expression::Copy(value) => of(value),
            Expression::Binary(Binary::Add, a, b) => match (of(a), number(b), number(a), of(b)) {
                (Some(at), Some(more), _, _) | (_, _, Some(more), Some(at)) => Some(at.wrapping_add(more)),
                _ => None,
            },
            Expression::Binary(Binary::Subtract, a, b) => of(a).zip(number(b)).map(|(at, less)| at.wrapping_sub(less)),
            _ => None,
        };
        match made {
            Some(made) => distance.insert(to.operand, made),
            None => distance.remove(&to.operand),
        };
    }
    match distance.get(&Operand::Register(stack_pointer)) {
        Some(bytes) => Change::By(*bytes),
        None => Change::Elsewhere,
    }
}
