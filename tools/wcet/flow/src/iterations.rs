//! Loops on the way to a jump, and what any number of their iterations leaves unchanged.

use std::collections::BTreeSet;

use wcet_binary::lift::il::{Instruction, Op, Operand};
use wcet_binary::lift::Registers;

use crate::explore::Explorer;
use crate::frame::{Frame, Known};
use crate::resolve::Predecessors;

/// Any number of iterations of a loop, from its header to its header.
#[derive(Debug)]
pub(crate) struct Iterations {
    /// The instructions behind which an iteration ends.
    pub ends: BTreeSet<u64>,
    /// What is known at the header.
    pub frame: Frame,
    /// Registers, by their number, that hold at the header what they held when the loop was entered.
    pub unchanged: Vec<bool>,
}

impl Explorer<'_> {
    /// The iterations of the loops with this header; none if it is the header of none.
    pub fn iterations(&mut self, function: u64, header: u64, predecessors: &Predecessors) -> Option<Iterations> {
        let frame = self.bodies.get(&function)?.frames.get(&header)?.clone();
        let table = Registers::of(self.program.architecture);
        let stack = table.stack_pointer();
        let (mut ends, mut inside) = (BTreeSet::new(), BTreeSet::new());
        for (from, _) in predecessors.get(&header)? {
            if let Some(body) = body(function, header, *from, predecessors) {
                ends.insert(*from);
                inside.extend(body);
            }
        }
        if ends.is_empty() {
            return None;
        }
        let mut unchanged: Vec<bool> = table.all().map(|_| true).collect();
        for address in inside {
            let instruction = self.instruction(address).ok()?;
            written(&instruction).for_each(|register| unchanged[register] = false);
            let exits = self.bodies.get(&function)?.exits.get(&address)?;
            for callee in &exits.calls {
                let Some(summary) = &self.bodies.get(callee)?.summary else { continue };
                unchanged.iter_mut().zip(&summary.preserved).for_each(|(mine, theirs)| *mine &= *theirs);
            }
        }
        // It may be pushed to and popped from: where it stands at the header is known.
        unchanged[usize::from(stack.0)] = matches!(frame.register(stack), Known::Initial(base, _) if base == stack);
        Some(Iterations { ends, frame, unchanged })
    }
}

/// The header and the instructions from which `end` is reached without passing the header. None if control comes there
/// without having passed it.
fn body(function: u64, header: u64, end: u64, predecessors: &Predecessors) -> Option<BTreeSet<u64>> {
    let mut found = BTreeSet::from([header]);
    let mut open = vec![end];
    while let Some(address) = open.pop() {
        if found.insert(address) {
            if address == function {
                return None;
            }
            open.extend(predecessors.get(&address).into_iter().flatten().map(|(from, _)| *from));
        }
    }
    Some(found)
}

/// The numbers of the registers to which an instruction writes.
fn written(instruction: &Instruction) -> impl Iterator<Item = usize> + '_ {
    instruction.ops.iter().filter_map(|op| match op {
        Op::Set { to, .. } => match to.operand {
            Operand::Register(register) => Some(usize::from(register.0)),
            Operand::Temporary(_) | Operand::Constant(_) => None,
        },
        Op::Store { .. } | Op::ClobberMemory => None,
    })
}
