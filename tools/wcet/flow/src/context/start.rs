//! Regions that begin inside a chain of calls, and perhaps inside loops.
//!
//! Such a loop is entered in the middle, so its header would not dominate it. Therefore the rest of the iteration gets
//! contexts of its own: where control comes to the header of a loop that was entered in the middle, it goes on in another
//! copy of the function, in which only the loops around that one are still open. There the loop is one like any other, and
//! its header is executed no more often than if it had been entered from the start.

use std::collections::BTreeMap;

use crate::{EdgeKind, Function};

use crate::context::error::{Error, Problem};
use crate::context::expand::Walk;
use crate::context::expanded::{Context, ContextId, Node};

/// What is known of the copies of functions in the middle of which the region begins.
#[derive(Debug, Default)]
pub(crate) struct Started {
    /// For each copy the first one of its chain link, and the loops that were entered in the middle, by their index.
    open: BTreeMap<ContextId, (ContextId, Vec<usize>)>,
    /// The copy in which a loop goes on, by the first copy and the loop.
    behind: BTreeMap<(ContextId, usize), ContextId>,
}

impl<'g> Walk<'g, '_> {
    /// Makes the contexts of the chain; the node at which the region begins.
    pub(crate) fn begin(&mut self, chain: &[(u64, usize)]) -> Result<Node, Error> {
        let mut entry = Node { context: 0, block: 0 };
        // Whether the link before calls this one for good.
        let mut tail = false;
        for (number, &(address, block)) in chain.iter().enumerate() {
            self.check(address)?;
            let function = &self.graph.functions[&address];
            let missing = self.error(address, Problem::NoPlace { block });
            let Some(content) = function.blocks.get(block) else { return Err(missing) };
            let context = self.contexts.len();
            let caller = (number > 0).then(|| (context - 1, chain[number - 1].1));
            self.contexts.push(Context { function: address, caller, tail, depth: number as u32 });
            // Where control is, or will be once the callee has returned.
            let mut here = block;
            if let Some((next, _)) = chain.get(number + 1) {
                tail = !content.calls.contains(next);
                if tail && !content.tail_calls.contains(next) {
                    return Err(missing);
                }
                let behind = content.edges.iter().find(|edge| edge.kind == EdgeKind::Back).map(|edge| edge.to);
                here = behind.unwrap_or(block);
            }
            let entered: Vec<usize> =
                (0..function.loops.len()).filter(|one| function.loops[*one].blocks.contains(&here)).collect();
            // Nothing was entered in the middle where a function begins.
            let begins = chain.len() == 1 && block == 0;
            if !begins && !entered.is_empty() {
                self.started.open.insert(context, (context, entered));
            }
            entry = Node { context, block };
        }
        Ok(entry)
    }

    /// Where control is when it comes to `node`.
    pub(crate) fn going_on(&mut self, node: Node) -> Node {
        let Some((first, open)) = self.started.open.get(&node.context) else { return node };
        let first = *first;
        let function: &'g Function = &self.graph.functions[&self.contexts[first].function];
        let Some(closed) = open.iter().copied().find(|one| function.loops[*one].header == node.block) else {
            return node;
        };
        if let Some(context) = self.started.behind.get(&(first, closed)) {
            return Node { context: *context, ..node };
        }
        let around = open.iter().copied().filter(|one| encloses(function, *one, closed)).collect();
        let context = self.contexts.len();
        self.contexts.push(self.contexts[first].clone());
        self.started.open.insert(context, (first, around));
        self.started.behind.insert((first, closed), context);
        Node { context, ..node }
    }
}

/// Whether a loop of the function is around another.
fn encloses(function: &Function, outer: usize, inner: usize) -> bool {
    std::iter::successors(function.loops[inner].parent, |one| function.loops[*one].parent).any(|one| one == outer)
}
