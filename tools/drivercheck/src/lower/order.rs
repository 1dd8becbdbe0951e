//! Order of evaluation: C leaves it open in which order the operands of an operator, the arguments of a call and the values
//! of an initialiser are evaluated. The model takes them from left to right, so operands whose order matters are refused.

use super::value::{Lvalue, Storage, Value};
use super::Lower;
use crate::expr::{Expr, Var};
use crate::hash::HashSet;
use crate::program::Op;

/// What the evaluation of an operand does.
#[derive(Debug, Clone, Default)]
pub(super) struct Effects {
    messages: Vec<Op>,
    writes: HashSet<Var>,
    reads: HashSet<Var>,
}

impl Effects {
    /// The operand's own target does not count.
    pub(super) fn forget(&mut self, place: &Lvalue) {
        for var in place.storage.vars() {
            self.writes.remove(&var);
        }
    }

    fn conflicts(&self, other: &Effects) -> bool {
        // The same single message twice is the same in either order: two registers that are read.
        let is_message_open = match (self.messages.first(), other.messages.first()) {
            (Some(first), Some(_)) => self.messages.iter().chain(&other.messages).any(|one| one != first),
            _ => false,
        };
        let meets = |a: &HashSet<Var>, b: &HashSet<Var>| !a.is_disjoint(b);
        is_message_open
            || meets(&self.writes, &other.writes)
            || meets(&self.writes, &other.reads)
            || meets(&self.reads, &other.writes)
    }
}

impl Lower<'_> {
    /// Where the edges of the next operand begin.
    pub(super) fn begin_operand(&self) -> usize {
        self.program.edges.len()
    }

    /// What an operand does whose edges begin at `from` and end here, and whose value is this.
    pub(super) fn effects(&self, from: usize, value: &Value) -> Effects {
        let mut effects = Effects::default();
        match value {
            Value::Int(value, _) | Value::Pointer(value, _, _) => self.note_reads(&mut effects, *value),
            Value::Aggregate(place) => self.note_storage(&mut effects, &place.storage),
            Value::Void => {}
        }
        for step in self.program.edges[from.min(self.program.edges.len())..].iter().flat_map(|edge| &edge.steps) {
            match &step.op {
                Op::Assign(var, value) => {
                    self.note_reads(&mut effects, *value);
                    if self.is_shared(*var) {
                        effects.writes.insert(*var);
                    }
                }
                Op::Havoc(var) if self.is_shared(*var) => {
                    effects.writes.insert(*var);
                }
                Op::Havoc(_) => {}
                Op::Assume(condition) => self.note_reads(&mut effects, *condition),
                Op::Followed | Op::Show(_) | Op::Fail(..) => {}
                message => effects.messages.push(message.clone()),
            }
        }
        effects
    }

    /// What an operand reads that is a place.
    pub(super) fn note_place(&self, effects: &mut Effects, place: &Lvalue) {
        self.note_storage(effects, &place.storage);
    }

    fn note_storage(&self, effects: &mut Effects, storage: &Storage) {
        storage.vars().into_iter().for_each(|var| self.note_read(effects, var));
    }

    fn note_reads(&self, effects: &mut Effects, value: Expr) {
        value.vars().iter().for_each(|var| self.note_read(effects, *var));
    }

    fn note_read(&self, effects: &mut Effects, var: Var) {
        if self.is_shared(var) {
            effects.reads.insert(var);
        }
    }

    /// Whether a variable is an object that outlives a call: not a local of a function that is called and has returned.
    fn is_shared(&self, var: Var) -> bool {
        // What the model adds to follow a request has no order of its own.
        if self.followed.is_some_and(|followed| followed.has(var)) {
            return false;
        }
        match self.owners.get(&var) {
            Some(owner) => self.frames.iter().any(|frame| frame.name == *owner),
            None => true,
        }
    }

    /// Refuses operands whose order matters.
    pub(super) fn any_order(&mut self, operands: &[Effects]) {
        let is_open = |index: usize| operands[..index].iter().any(|one| one.conflicts(&operands[index]));
        if (1..operands.len()).any(is_open) {
            self.fault("the result depends on the order in which operands are evaluated, which C leaves open: use a statement for each");
        }
    }

    /// The local of a function that is being lowered.
    pub(super) fn own(&mut self, place: &Lvalue, owner: &str) {
        for var in place.storage.vars() {
            self.owners.insert(var, owner.to_string());
        }
    }
}
