//! What calls and returns mean beyond their instructions.

use wcet_flow::context::{ContextId, EdgeId, EdgeKind, NodeId};

use crate::memory::Touched;
use crate::region::Region;
use crate::term::Term;

impl Region<'_, '_> {
    /// What calls and returns mean beyond their instructions: behind a return, the registers that the function gives
    /// back are as before the call; of one that switches stacks, nothing else is known.
    pub(crate) fn called(&mut self, edge: EdgeId, registers: &mut [Term], guard: Term) {
        let graph = self.graph();
        let one = graph.edges[edge];
        let context = |node: NodeId| graph.nodes[node].context;
        match one.kind {
            EdgeKind::Call => drop(self.calls.insert(context(one.to), registers.to_vec())),
            EdgeKind::Return => {
                let all = self.executor.table.all().collect::<Vec<_>>();
                if self.switches(context(one.from)) {
                    for register in all {
                        registers[usize::from(register.0)] = self.unknown(one.to, register);
                    }
                    self.memory = self.executor.memory.changed(self.memory, Touched::anything(), guard);
                    return;
                }
                // With calls for good, several functions come back at once.
                let callers = std::iter::successors(Some(context(one.from)), |inner| self.caller(*inner));
                let Some(left) = callers.take_while(|inner| *inner != context(one.to)).last() else { return };
                let Some(before) = self.calls.get(&left) else { return };
                let preserved = &graph.function(left).preserved;
                for register in all {
                    let index = usize::from(register.0);
                    if preserved.get(index) == Some(&true) {
                        registers[index] = before[index];
                    }
                }
            }
            EdgeKind::Next | EdgeKind::Taken | EdgeKind::Case => {}
        }
    }

    /// Whether a node returns from a function that switches stacks.
    pub fn switched(&self, node: NodeId) -> bool {
        let graph = self.graph();
        let returns = graph.successors(node).iter().any(|edge| graph.edges[*edge].kind == EdgeKind::Return);
        returns && self.switches(graph.nodes[node].context)
    }

    pub(crate) fn caller(&self, context: ContextId) -> Option<ContextId> {
        self.graph().contexts[context].caller.map(|(caller, _)| caller)
    }

    pub(crate) fn switches(&self, context: ContextId) -> bool {
        self.setting.switches.contains(&self.graph().contexts[context].function)
    }
}
