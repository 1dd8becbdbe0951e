//! Follows executed instructions through the expanded graph.

use std::rc::Rc;

use wcet_binary::lift::Instruction;
use wcet_binary::load::Program;
use wcet_flow::context::{EdgeId, Expanded, NodeId};

use crate::measure::Error;

/// Where execution stands: before the first instruction of the entry, or at an instruction of a node.
pub(crate) struct Walk<'g> {
    expanded: &'g Expanded<'g>,
    program: &'g Program,
    at: Option<(NodeId, usize)>,
}

/// What an instruction means for who counts.
pub(crate) enum Step {
    /// Outside of the region.
    Outside,
    /// The entry's first instruction.
    Entered,
    /// Inside a node.
    Inside,
    /// The first instruction of a node, by an edge.
    Along(EdgeId),
    /// The region has just ended; this instruction is outside.
    Left,
}

impl<'g> Walk<'g> {
    pub fn new(expanded: &'g Expanded<'g>, program: &'g Program) -> Walk<'g> {
        Walk { expanded, program, at: None }
    }

    /// Where execution stands, if inside.
    pub fn instruction(&self) -> Option<Rc<Instruction>> {
        self.at.map(|(node, index)| self.expanded.block(node).instructions[index].clone())
    }

    /// The next instruction is at `address`.
    pub fn step(&mut self, address: u64) -> Result<Step, Error> {
        let Some((node, index)) = self.at else {
            let first = self.expanded.block(self.expanded.entry).start();
            if address != first {
                return Ok(Step::Outside);
            }
            self.at = Some((self.expanded.entry, 0));
            return Ok(Step::Entered);
        };
        let block = self.expanded.block(node);
        if let Some(next) = block.instructions.get(index + 1) {
            if next.address == address {
                self.at = Some((node, index + 1));
                return Ok(Step::Inside);
            }
        } else {
            for &edge in self.expanded.successors(node) {
                let to = self.expanded.edges[edge].to;
                if self.expanded.block(to).start() == address {
                    self.at = Some((to, 0));
                    return Ok(Step::Along(edge));
                }
            }
            if self.expanded.exits.binary_search(&node).is_ok() {
                self.at = None;
                return Ok(Step::Left);
            }
        }
        let place = |address| format!("{} ({address:#x})", self.program.describe(address));
        Err(Error::NotInGraph { from: place(block.instructions[index].address), to: place(address) })
    }
}
