//! How deep the kernel's stacks become, from the instructions that change the stack pointer.
//!
//! A call needs its frame and what it calls; deepest is the deepest chain. A function that sets the stack pointer to
//! something else begins anew there: entries go to a thread's own stack, which is empty.

use std::collections::{BTreeMap, BTreeSet};

use wcet_binary::lift::il::{Op, Operand, Register};
use wcet_binary::lift::Instruction;
use wcet_flow::{forward, Block, Displacements, EdgeKind, Function, Graph};

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
                at += change(instruction, stack_pointer)?;
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

/// How far the stack pointer is at each block from where it was at first; None where paths differ or it is something else.
fn exact(function: &Function, stack_pointer: Register) -> BTreeMap<usize, Option<i64>> {
    let transfer = |index: usize, before: &Option<i64>| {
        let block = &function.blocks[index];
        let after = through(block, stack_pointer, *before, |at, change| Some(at? + change?));
        block.edges.iter().map(|edge| (edge.to, after)).collect()
    };
    forward((0, Some(0)), transfer, |known, other| {
        let differs = known.is_some() && known != other;
        if differs {
            *known = None;
        }
        differs
    })
}

/// What holds after a block. A call pushes a return address, which the callee pops.
fn through<State: Copy>(
    block: &Block,
    stack_pointer: Register,
    before: State,
    apply: impl Fn(State, Option<i64>) -> State,
) -> State {
    let called = block.instructions.len().wrapping_sub(usize::from(!block.calls.is_empty()));
    block.instructions.iter().enumerate().fold(before, |state, (number, instruction)| {
        match change(instruction, stack_pointer) {
            Some(_) if number == called => state,
            change => apply(state, change),
        }
    })
}

/// A frame that is larger counts as this.
const DEEPEST: i64 = 1 << 40;

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
            at = change(instruction, stack_pointer).map_or(0, |bytes| at + bytes);
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

/// Blocks with how far the stack pointer is from where it was at first (the lowest of all paths).
fn blocks(function: &Function, stack_pointer: Register) -> BTreeMap<usize, i64> {
    let transfer = |index: usize, before: &i64| {
        let block = &function.blocks[index];
        let after = through(block, stack_pointer, *before, |at, change| change.map_or(0, |bytes| at + bytes));
        let next = |kind: EdgeKind| kind != EdgeKind::Back || !block.calls.is_empty();
        block.edges.iter().filter(|edge| next(edge.kind)).map(|edge| (edge.to, after)).collect()
    };
    // Where paths differ, the deepest counts; a loop that only ever pushes would have none.
    forward((0, 0), transfer, |known, other| {
        let deeper = other < known && *other > -DEEPEST;
        if deeper {
            *known = *other;
        }
        deeper
    })
}

/// By how much an instruction changes the stack pointer; None if it sets it to something else.
fn change(instruction: &Instruction, stack_pointer: Register) -> Option<i64> {
    let sets = |op: &Op| matches!(op, Op::Set { to, .. } if to.operand == Operand::Register(stack_pointer));
    if !instruction.ops.iter().any(sets) {
        return Some(0);
    }
    let mut registers = Displacements::default();
    registers.execute(instruction);
    registers.register(stack_pointer).filter(|(from, _)| *from == stack_pointer).map(|(_, bytes)| bytes)
}
