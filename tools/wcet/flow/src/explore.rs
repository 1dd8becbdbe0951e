//! Which instructions are reached, and from where: all functions at once, until nothing changes.
//!
//! Each instruction is visited with what is known of the frame before it ([`Frame`]). A call goes on behind it only
//! once its callee is found to return; an indirect jump goes where [`crate::resolve`] says, and that is asked again
//! whenever more paths to it are known.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Instant;

use wcet_binary::lift::il::{Encoding, Expression, Flow, Instruction, Op, Operand, Target, Value};
use wcet_binary::lift::{Lifter, Registers};
use wcet_binary::load::Program;

use crate::frame::{Frame, Known, Summary};
use crate::graph::EdgeKind;
use crate::Options;

/// Ways out of one instruction.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Exits {
    pub edges: BTreeSet<(u64, EdgeKind)>,
    pub calls: BTreeSet<u64>,
    pub tail_calls: BTreeSet<u64>,
    pub returns: bool,
    /// The target is a value that the frame does not tell.
    pub indirect: bool,
}

/// A function while it is explored.
#[derive(Debug, Default)]
pub(crate) struct Body {
    /// What is known before each instruction.
    pub frames: BTreeMap<u64, Frame>,
    pub exits: BTreeMap<u64, Exits>,
    open: BTreeSet<u64>,
    /// None as long as it does not return.
    pub summary: Option<Summary>,
    /// Where it is called, and where others hand over to it: function and instruction.
    pub callers: BTreeSet<(u64, u64)>,
}

pub(crate) struct Explorer<'a> {
    pub lifter: &'a Lifter<'a>,
    pub program: &'a Program,
    pub options: &'a Options,
    pub roots: BTreeSet<u64>,
    instructions: BTreeMap<u64, Result<Rc<Instruction>, wcet_binary::lift::Error>>,
    pub bodies: BTreeMap<u64, Body>,
    /// Where indirect jumps and calls go, as far as that is known.
    pub targets: BTreeMap<u64, BTreeSet<u64>>,
    /// Jumps whose targets hold if memory is the same when it is read again, and the instructions that read it.
    pub rereads: BTreeMap<u64, BTreeSet<u64>>,
    /// Branches whose condition is decided by what is known so far go one way only. On the first way into a loop an index may be
    /// a number that a check keeps from its table, where bytes of code would be taken for offsets.
    pub decides: bool,
    /// Functions that are a part of those that call them: they return for their caller.
    parts: BTreeSet<u64>,
    /// One that was just found to be such.
    new_part: Option<u64>,
}

impl<'a> Explorer<'a> {
    pub fn new(lifter: &'a Lifter<'a>, entries: &[u64], options: &'a Options) -> Explorer<'a> {
        let mut explorer = Explorer {
            lifter,
            program: lifter.program(),
            options,
            roots: entries.iter().chain(options.switches.values().flatten()).copied().collect(),
            instructions: BTreeMap::new(),
            bodies: BTreeMap::new(),
            targets: options.targets.clone(),
            rereads: BTreeMap::new(),
            decides: true,
            parts: BTreeSet::new(),
            new_part: None,
        };
        explorer.begin();
        explorer
    }

    fn begin(&mut self) {
        self.roots.clone().into_iter().for_each(|entry| self.function(entry));
    }

    /// From now on the function is a part of those that call it. What is known else may be otherwise then.
    fn join_to_callers(&mut self, function: u64) {
        self.parts.insert(function);
        self.bodies.clear();
        self.targets = self.options.targets.clone();
        self.rereads.clear();
        self.decides = true;
        self.begin();
    }

    /// Whether the function may be made a part of its callers, because of its jump at an address.
    fn may_be_part(&self, function: u64, jump: u64) -> bool {
        !self.roots.contains(&function) && !self.options.targets.contains_key(&jump)
    }

    pub fn instruction(&mut self, address: u64) -> Result<Rc<Instruction>, wcet_binary::lift::Error> {
        let lifter = self.lifter;
        self.instructions.entry(address).or_insert_with(|| lifter.lift(address).map(Rc::new)).clone()
    }

    /// Instructions that were lifted.
    pub fn reached(&self) -> Vec<Rc<Instruction>> {
        self.instructions.values().flatten().cloned().collect()
    }

    /// Visits what is open, until nothing is.
    pub fn run(&mut self) {
        loop {
            let open: Vec<u64> =
                self.bodies.iter().filter(|(_, body)| !body.open.is_empty()).map(|(entry, _)| *entry).collect();
            if open.is_empty() {
                return;
            }
            for function in open {
                while let Some(address) = self.body(function).open.pop_first() {
                    if self.is_late() {
                        return;
                    }
                    self.visit(function, address);
                }
            }
            if let Some(function) = self.new_part.take() {
                self.join_to_callers(function);
            }
        }
    }

    /// Whether the time is up: what is known is not all then.
    pub fn is_late(&self) -> bool {
        self.options.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// New targets for an indirect jump; visits it again wherever it stands.
    pub fn resolved(&mut self, address: u64, targets: BTreeSet<u64>) {
        self.targets.entry(address).or_default().extend(targets);
        for body in self.bodies.values_mut().filter(|body| body.frames.contains_key(&address)) {
            body.open.insert(address);
        }
    }

    /// From now on branches go both ways, also where a condition is decided: which of them are dead is for others to find. Tells
    /// whether that is new.
    pub fn go_all_ways(&mut self) -> bool {
        if !std::mem::take(&mut self.decides) {
            return false;
        }
        for body in self.bodies.values_mut() {
            body.open.extend(body.frames.keys().copied());
        }
        true
    }

    fn body(&mut self, function: u64) -> &mut Body {
        self.bodies.entry(function).or_default()
    }

    fn function(&mut self, entry: u64) {
        if !self.bodies.contains_key(&entry) {
            self.reach(entry, entry, Frame::entry(self.program.architecture));
        }
    }

    fn reach(&mut self, function: u64, address: u64, frame: Frame) {
        let body = self.body(function);
        let changed = match body.frames.get_mut(&address) {
            Some(known) => known.join(&frame),
            None => {
                body.frames.insert(address, frame);
                true
            }
        };
        if changed {
            body.open.insert(address);
        }
    }

    fn visit(&mut self, function: u64, address: u64) {
        let Ok(instruction) = self.instruction(address) else {
            return;
        };
        if self.options.stops.contains(&address) {
            self.body(function).exits.insert(address, Exits::default());
            return;
        }
        let mut frame = self.body(function).frames[&address].clone();
        let mut not_met = frame.clone();
        let temporaries = frame.execute(&instruction, true, self.program);
        not_met.execute(&instruction, false, self.program);
        let mut exits = Exits::default();
        let next = instruction.next();
        match instruction.flow {
            Flow::Next => self.edge(function, &mut exits, next, EdgeKind::Next, frame),
            Flow::Repeat { .. } => {
                self.edge(function, &mut exits, address, EdgeKind::Taken, frame);
                self.edge(function, &mut exits, next, EdgeKind::Next, not_met);
            }
            Flow::Leave | Flow::Trap => {}
            Flow::Jump { to, when } => {
                let known = when.filter(|_| self.decides).map(|when| frame.value(when, &temporaries));
                let decided = match (known, to) {
                    (Some(Known::Constant(taken)), Target::Direct(_)) => Some(taken != 0),
                    _ => None,
                };
                if when.is_some() && decided != Some(true) {
                    self.edge(function, &mut exits, next, EdgeKind::Next, not_met);
                }
                match to {
                    Target::Direct(_) if decided == Some(false) => {}
                    // Code that others share and that goes back to where it was come from is a part of this function.
                    Target::Direct(to) if leaves_link(&instruction) => {
                        self.edge(function, &mut exits, to, EdgeKind::Taken, frame);
                    }
                    Target::Direct(to) => self.jump(function, address, &mut exits, to, EdgeKind::Taken, frame),
                    // A constant index that fails its check reads what is no table.
                    Target::Indirect(_)
                        if when.is_some_and(|when| frame.value(when, &temporaries) == Known::Constant(0)) => {}
                    Target::Indirect(to) => {
                        let known = frame.value(arrival(&instruction, to), &temporaries);
                        self.indirect_jump(function, &instruction, &mut exits, known, frame);
                    }
                }
            }
            Flow::Return { to, when } => {
                if when.is_some() {
                    self.edge(function, &mut exits, next, EdgeKind::Next, not_met);
                }
                let known = frame.value(arrival(&instruction, to), &temporaries);
                self.indirect_jump(function, &instruction, &mut exits, known, frame);
            }
            Flow::Call { to, when } => {
                if when.is_some() {
                    self.edge(function, &mut exits, next, EdgeKind::Next, not_met);
                }
                let callees = match to {
                    Target::Direct(to) => BTreeSet::from([to]),
                    Target::Indirect(to) => {
                        let to = arrival(&instruction, to);
                        self.indirect_targets(address, to, &frame, &temporaries, &mut exits)
                    }
                };
                self.call(function, &instruction, &mut exits, callees, frame);
            }
        }
        self.body(function).exits.insert(address, exits);
    }

    fn edge(&mut self, function: u64, exits: &mut Exits, to: u64, kind: EdgeKind, frame: Frame) {
        exits.edges.insert((to, kind));
        self.reach(function, to, frame);
    }

    fn indirect_targets(
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

    fn indirect_jump(
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
    fn jump(&mut self, function: u64, address: u64, exits: &mut Exits, to: u64, kind: EdgeKind, mut frame: Frame) {
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

    fn call(
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
fn arrival(instruction: &Instruction, target: Value) -> Value {
    instruction.arrival.unwrap_or(target)
}

/// Whether a jump leaves the address behind it in a register.
fn leaves_link(instruction: &Instruction) -> bool {
    let next = instruction.next();
    instruction.ops.iter().any(|op| match op {
        Op::Set { to: Value { operand: Operand::Register(_), .. }, from: Expression::Copy(from) } => {
            from.operand == Operand::Constant(next)
        }
        _ => false,
    })
}
