//! What code may change, without following it.

use std::collections::{BTreeSet, HashMap};

use wcet_binary::lift::il::{Instruction, Op, Operand};
use wcet_flow::context::{ContextId, LoopId, NodeId};

use crate::executor::State;
use crate::memory::{Memory, Touched};
use crate::region::Region;
use crate::scope::{nodes, Part};
use crate::term::Terms;

/// What a node may change: registers by their number's bit, and memory.
#[derive(Debug, Clone, Default)]
pub struct Effects {
    pub registers: u64,
    pub touched: Touched,
}

/// Effects already found; they are the same for all regions of a setting.
#[derive(Debug, Clone, Default)]
pub struct Known {
    pub(crate) nodes: HashMap<NodeId, Effects>,
    pub(crate) loops: HashMap<LoopId, Effects>,
}

impl Region<'_, '_> {
    /// What a loop may change from one execution of its header to the next.
    pub fn effects_of_loop(&mut self, one: LoopId) -> Effects {
        if let Some(known) = self.effects.loops.get(&one) {
            return known.clone();
        }
        let (nodes, header) = (nodes(self.graph(), Part::Loop(one)), self.graph().loops[one].header);
        let effects = self.effects_of(&nodes, header);
        self.effects.loops.insert(one, effects.clone());
        effects
    }

    /// What nodes may change, in any order, until `end` is reached. Functions that are entered and left among them give
    /// back the registers that they preserve.
    pub fn effects_of(&mut self, nodes: &[NodeId], end: NodeId) -> Effects {
        let graph = self.graph();
        let around: Vec<ContextId> =
            std::iter::successors(Some(graph.nodes[end].context), |inner| self.caller(*inner)).collect();
        let entered: BTreeSet<ContextId> = nodes
            .iter()
            .map(|node| graph.nodes[*node])
            .filter(|node| node.block == 0 && !around.contains(&node.context))
            .map(|node| node.context)
            .collect();
        let mut kept: HashMap<ContextId, u64> = HashMap::new();
        let mut all = Effects::default();
        for node in nodes {
            let context = graph.nodes[*node].context;
            let kept = *kept.entry(context).or_insert_with(|| {
                let contexts = std::iter::successors(Some(context), |inner| self.caller(*inner));
                let whole = contexts.filter(|context| entered.contains(context) && !self.switches(*context));
                whole.fold(0, |kept, context| kept | bits(&graph.function(context).preserved))
            });
            let effects = self.effects(*node);
            all.registers |= effects.registers & !kept;
            all.touched.join(&effects.touched);
        }
        all
    }

    /// What a node may change, whatever the path to it.
    pub fn effects(&mut self, node: NodeId) -> Effects {
        if let Some(known) = self.effects.nodes.get(&node) {
            return known.clone();
        }
        let graph = self.graph();
        let registers = self.executor.table.all().collect::<Vec<_>>();
        let registers = registers.into_iter().map(|register| self.unknown(node, register)).collect();
        let mut state = State { registers, memory: Memory::START };
        let mut changed = 0;
        for instruction in graph.instructions(node) {
            self.executor.execute(&mut state, instruction, None, Terms::TRUE);
            changed |= written(instruction);
        }
        let mut touched = self.executor.memory.touched_since_start(&mut self.executor.terms, state.memory);
        if self.switched(node) {
            changed = u64::MAX;
            touched = Touched::anything();
        }
        let effects = Effects { registers: changed, touched };
        self.effects.nodes.insert(node, effects.clone());
        effects
    }
}

fn bits(registers: &[bool]) -> u64 {
    registers.iter().enumerate().fold(0, |bits, (number, set)| bits | u64::from(*set) << number)
}

/// The registers that an instruction writes.
pub fn written(instruction: &Instruction) -> u64 {
    let to = |op: &Op| match op {
        Op::Set { to, .. } => match to.operand {
            Operand::Register(register) => 1 << register.0,
            _ => 0,
        },
        _ => 0,
    };
    instruction.ops.iter().map(to).fold(0, |all, one| all | one)
}
