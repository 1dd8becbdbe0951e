//! What is executed just before a region, or a part of one, wherever it comes from.
//!
//! * A thread that goes on has been switched to: the last that was executed is the switch's own last block, up to its return.
//! * A handler is called by an entry, by the same instructions each time: those on the one way to the call.
//!
//! What those have accessed last may still be in the caches. It is all that was accessed since the first of them, so what is found
//! to be there is there, whatever was before. Of their accesses only two kinds are told apart: those to the processor's record
//! through GS, which is the same one until the kernel is left, and the top of the stack. All others may go anywhere.

use std::rc::Rc;

use wcet_binary::lift::il::Flow;
use wcet_binary::lift::Instruction;
use wcet_flow::context::{Expanded, NodeId};

use crate::kernel::Kernel;
use crate::regions::{Kind, Region};
use crate::stack::HANDLER;

/// An instruction, by its address, and how far below the end of the region's stack it accesses that, if that is all it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub address: u64,
    pub stack: Option<u64>,
}

/// More are not looked at: caches keep little of what was before.
const MOST: usize = 24;

/// What is executed last before a region.
pub(crate) fn before_region(kernel: &Kernel<'_>, region: &Region) -> Vec<Step> {
    let switch = kernel.points.called.iter().find(|(_, end)| **end == crate::points::End::Switch);
    let Some(function) = switch.and_then(|(switch, _)| kernel.graph.functions.get(switch)) else { return Vec::new() };
    let mut returning = function.blocks.iter().filter(|block| matches!(block.last().flow, Flow::Return { .. }));
    let (Kind::Resumed, Some(block), None) = (region.kind, returning.next(), returning.next()) else {
        return Vec::new();
    };
    let mut steps: Vec<Step> = last(&block.instructions);
    // It has taken its return address from the stack of the thread that goes on.
    if let (Some(step), Some(below)) = (steps.last_mut(), region.below) {
        step.stack = Some(below + 8);
    }
    steps
}

/// What is executed last before a handler's first instruction, which a node of the entry's graph is.
pub(crate) fn before_handler(expanded: &Expanded<'_>, handler: NodeId) -> Vec<Step> {
    let mut found: Vec<Rc<Instruction>> = Vec::new();
    let mut node = handler;
    while let [edge] = expanded.predecessors(node) {
        node = expanded.edges[*edge].from;
        found = expanded.instructions(node).iter().cloned().chain(found).collect();
        if found.len() >= MOST || node == expanded.entry {
            break;
        }
    }
    let mut steps = last(&found);
    // It has put its return address at the end of the handler's stack.
    let calls = found.last().is_some_and(|last| matches!(last.flow, Flow::Call { .. }));
    if let Some(step) = steps.last_mut().filter(|_| calls) {
        step.stack = Some(HANDLER);
    }
    steps
}

fn last(instructions: &[Rc<Instruction>]) -> Vec<Step> {
    let first = instructions.len().saturating_sub(MOST);
    instructions[first..].iter().map(|one| Step { address: one.address, stack: None }).collect()
}
