//! Which instructions are reached, and from where: all functions at once, until nothing changes.
//!
//! Each instruction is visited with what is known of the frame before it ([`Frame`]). A call goes on behind it only
//! once its callee is found to return; an indirect jump goes where [`crate::resolve`] says, and that is asked again
//! whenever more paths to it are known.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::time::Instant;

use wcet_binary::lift::il::{Flow, Instruction, Target};
use wcet_binary::lift::Lifter;
use wcet_binary::load::Program;

use crate::frame::{Frame, Known, Summary};
use crate::graph::EdgeKind;
use crate::transfer::{arrival, leaves_link};
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
    /// Instructions that are to be visited.
    pub open: BTreeSet<u64>,
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
    pub parts: BTreeSet<u64>,
    /// One that was just found to be such.
    pub new_part: Option<u64>,
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
    pub fn may_be_part(&self, function: u64, jump: u64) -> bool {
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

    pub fn body(&mut self, function: u64) -> &mut Body {
        self.bodies.entry(function).or_default()
    }

    pub fn function(&mut self, entry: u64) {
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

    pub fn edge(&mut self, function: u64, exits: &mut Exits, to: u64, kind: EdgeKind, frame: Frame) {
        exits.edges.insert((to, kind));
        self.reach(function, to, frame);
    }
}
