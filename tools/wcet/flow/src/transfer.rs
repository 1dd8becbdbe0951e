//! Where jumps, calls and returns lead: into a function, to another one for good, or back to who called.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use wcet_binary::lift::il::{Encoding, Expression, Flow, Instruction, Op, Operand, Target, Value};
use wcet_binary::lift::Registers;

use crate::explore::{Exits, Explorer};
use crate::frame::{Frame, Known, Summary};
use crate::graph::EdgeKind;

impl Explorer<'_> {
    pub fn indirect_targets(
        &mut self,
        address: u64,
        value: Value,
        frame: &Frame,
        temporaries: &BTreeMap<u16, Known>,
        exits: &mut Exits,
    ) -> BTreeSet<u64> {
        let known = match frame.value(value, temporaries) {
            Known::Constant(target) => self.program.arrives(target).ok(),
            _ => None,
        };
        if let Some(target) = known {
            return BTreeSet::from([target]);
        }
        exits.indirect = true;
        self.targets.get(&address).cloned().unwrap_or_default()
    }

    pub fn indirect_jump(
        &mut self,
        function: u64,
        instruction: &Rc<Instruction>,
        exits: &mut Exits,
        known: Known,
        frame: Frame,
    ) {
        let address = instruction.address;
        let arrives = match known {
            Known::Constant(target) => self.program.arrives(target).ok(),
            _ => None,
        };
        let targets = match known {
            Known::ReturnAddress => {
                exits.returns = true;
                let summary = frame.summary(self.program.architecture);
                return self.returns(function, summary);
            }
            // An index that is constant on the first way here may be none of the table's: a check before it says so.
            Known::Constant(_) if arrives.is_some() => arrives.into_iter().collect(),
            _ if self.options.switches.contains_key(&function) => {
                exits.indirect = true;
                exits.returns = true;
                return self.returns(function, Summary::of_switch(self.program.architecture));
            }
            // It takes its caller's return address, or what its caller has left for it.
            Known::OfCaller
                if frame.has_popped_more(self.program.architecture) && self.may_be_part(function, address) =>
            {
                self.new_part = Some(function);
                return;
            }
            _ => {
                exits.indirect = true;
                self.targets.get(&address).cloned().unwrap_or_default()
            }
        };
        // `mov lr, pc; bx r3` is a call.
        let link = Registers::of(self.program.architecture).link();
        let next = instruction.next() | u64::from(matches!(instruction.encoding, Encoding::Thumb { .. }));
        if link.is_some_and(|link| frame.register(link) == Known::Constant(next)) {
            return self.call(function, instruction, exits, targets, frame);
        }
        for target in targets {
            if leaves_link(instruction) {
                self.edge(function, exits, target, EdgeKind::Case, frame.clone());
            } else {
                self.jump(function, address, exits, target, EdgeKind::Case, frame.clone());
            }
        }
    }

    /// A jump to another function, with the stack as this one found it, hands over to that function for good.
    pub fn jump(&mut self, function: u64, address: u64, exits: &mut Exits, to: u64, kind: EdgeKind, mut frame: Frame) {
        let elsewhere = to != function && (self.program.is_function(to) || self.roots.contains(&to));
        if !elsewhere || self.parts.contains(&to) || !frame.is_at_entry(self.program.architecture) {
            return self.edge(function, exits, to, kind, frame);
        }
        exits.tail_calls.insert(to);
        self.function(to);
        self.body(to).callers.insert((function, address));
        if let Some(summary) = self.body(to).summary.clone() {
            let mine = frame.summary(self.program.architecture);
            frame.after_call(&summary, self.program.architecture);
            let mut both = frame.summary(self.program.architecture);
            both.preserved.iter_mut().zip(&mine.preserved).for_each(|(both, mine)| *both &= *mine);
            self.returns(function, both);
        }
    }

    pub fn call(
        &mut self,
        function: u64,
        instruction: &Rc<Instruction>,
        exits: &mut Exits,
        callees: BTreeSet<u64>,
        frame: Frame,
    ) {
        let (parts, callees): (BTreeSet<u64>, BTreeSet<u64>) =
            callees.into_iter().partition(|callee| self.parts.contains(callee));
        let kind = match instruction.flow {
            Flow::Call { to: Target::Direct(_), .. } => EdgeKind::Taken,
            _ => EdgeKind::Case,
        };
        for part in parts {
            self.edge(function, exits, part, kind, frame.clone());
        }
        for callee in &callees {
            self.function(*callee);
            self.body(*callee).callers.insert((function, instruction.address));
            if let Some(summary) = self.body(*callee).summary.clone() {
                let mut after = frame.clone();
                after.after_call(&summary, self.program.architecture);
                self.edge(function, exits, instruction.next(), EdgeKind::Back, after);
            }
        }
        exits.calls = callees;
    }

    /// The function may return like that: its callers go on.
    fn returns(&mut self, function: u64, summary: Summary) {
        let body = self.body(function);
        let before = body.summary.clone();
        match &mut body.summary {
            Some(known) => known.join(&summary),
            None => body.summary = Some(summary),
        }
        if body.summary != before {
            for (caller, address) in body.callers.clone() {
                self.body(caller).open.insert(address);
            }
        }
    }
}

/// An indirect target with the state of the processor there, where the architecture has several.
pub(crate) fn arrival(instruction: &Instruction, target: Value) -> Value {
    instruction.arrival.unwrap_or(target)
}

/// Whether a jump leaves the address behind it in a register.
pub(crate) fn leaves_link(instruction: &Instruction) -> bool {
    let next = instruction.next();
    instruction.ops.iter().any(|op| match op {
        Op::Set { to: Value { operand: Operand::Register(_), .. }, from: Expression::Copy(from) } => {
            from.operand == Operand::Constant(next)
        }
        _ => false,
    })
}
