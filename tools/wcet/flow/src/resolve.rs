//! Where an indirect jump or call goes: backward along every path to it, as far as is needed to enumerate its targets.
//!
//! Each path is executed symbolically, the longer the less is known: from the jump alone back over the blocks before
//! it, through function entries to the callers. Every path must end in an enumeration, so their union holds all
//! targets as far as the paths are known; more paths, and the question is asked again.
//!
//! At first paths go through loops as often as need be, which tells most. A number from before a loop may not be bounded by
//! any number of iterations. Then a path has at a loop's header one step for all of them, that keeps what they do not change.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use wcet_binary::lift::Instruction;

use crate::explore::Explorer;
use crate::graph::EdgeKind;
use crate::iterations::Iterations;
use crate::path::{Path, Step};
use crate::range;

/// Instructions on a path.
const LONGEST: usize = 300;
/// Paths that are executed for one jump.
const MOST: usize = 3000;

/// A path from its first instruction on; the jump is the one without step.
struct Node {
    /// What is done before the instruction, if that is a loop's header.
    before: Option<Rc<Iterations>>,
    instruction: Rc<Instruction>,
    rest: Option<(Step, Rc<Node>)>,
    length: usize,
}

/// How paths go through loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Loops {
    /// By iterations, each a part of the path.
    Followed,
    /// By any number of iterations in one step.
    Passed,
}

/// A path together with the function in which it starts.
struct Start {
    function: u64,
    path: Rc<Node>,
}

/// The ways into each instruction of a function.
pub(crate) type Predecessors = BTreeMap<u64, Vec<(u64, EdgeKind)>>;

impl Explorer<'_> {
    pub fn predecessors(&self, function: u64) -> Predecessors {
        let mut found = Predecessors::new();
        let exits = self.bodies.get(&function).into_iter().flat_map(|body| &body.exits);
        for (from, exits) in exits {
            for (to, kind) in &exits.edges {
                found.entry(*to).or_default().push((*from, *kind));
            }
        }
        found
    }

    /// The targets of the indirect jump or call at `address` of `function`, or why they cannot be told.
    pub fn resolve(
        &mut self,
        function: u64,
        address: u64,
        predecessors: &mut BTreeMap<u64, Predecessors>,
    ) -> Result<BTreeSet<u64>, String> {
        self.enumerate(function, address, predecessors, Loops::Followed)
            .or_else(|why| self.enumerate(function, address, predecessors, Loops::Passed).map_err(|_| why))
    }

    fn enumerate(
        &mut self,
        function: u64,
        address: u64,
        predecessors: &mut BTreeMap<u64, Predecessors>,
        loops: Loops,
    ) -> Result<BTreeSet<u64>, String> {
        let mut headers: BTreeMap<(u64, u64), Option<Rc<Iterations>>> = BTreeMap::new();
        let jump = self.instruction(address).map_err(|error| error.to_string())?;
        let mut found = BTreeSet::new();
        let mut open =
            vec![Start { function, path: Rc::new(Node { before: None, instruction: jump, rest: None, length: 1 }) }];
        let mut executed = 0;
        while let Some(mut start) = open.pop() {
            let head = start.path.instruction.address;
            let known = predecessors.entry(start.function).or_insert_with(|| self.predecessors(start.function));
            let mut before = known.get(&head).cloned().unwrap_or_default();
            let is_entry = head == start.function;
            if start.path.rest.is_none() || before.len() != 1 || is_entry || self.branches(start.function, before[0].0)
            {
                executed += 1;
                if let Some(targets) = self.execute(&start) {
                    for target in targets {
                        let arrives = self.program.arrives(target);
                        found.insert(arrives.map_err(|why| format!("its table holds {target:#x}, which {why}"))?);
                    }
                    continue;
                }
                if executed >= MOST || start.path.length >= LONGEST {
                    return Err(format!("nothing bounds it on a path from {}", self.program.describe(head)));
                }
            }
            if loops == Loops::Passed && before.len() + usize::from(is_entry) > 1 {
                let iterations = headers
                    .entry((start.function, head))
                    .or_insert_with(|| self.iterations(start.function, head, known).map(Rc::new));
                if let Some(iterations) = iterations {
                    before.retain(|(from, _)| !iterations.ends.contains(from));
                    let (instruction, rest) = (start.path.instruction.clone(), start.path.rest.clone());
                    let length = start.path.length;
                    start.path = Rc::new(Node { before: Some(iterations.clone()), instruction, rest, length });
                }
            }
            if is_entry {
                if self.roots.contains(&start.function) {
                    return Err(format!("it depends on what holds at {}", self.program.describe(start.function)));
                }
                self.extend_to_callers(&start, &mut open)?;
            }
            for (from, kind) in before {
                let instruction = self.instruction(from).map_err(|error| error.to_string())?;
                let steps = match kind {
                    EdgeKind::Back => self.comes_back(start.function, from),
                    _ => vec![Step::To(head)],
                };
                open.extend(steps.into_iter().map(|step| extend(&start, start.function, instruction.clone(), step)));
            }
        }
        Ok(found)
    }

    /// The step behind a call, for each function that it may call.
    fn comes_back(&self, function: u64, call: u64) -> Vec<Step> {
        let exits = self.bodies.get(&function).and_then(|body| body.exits.get(&call));
        let callees = exits.into_iter().flat_map(|exits| &exits.calls);
        callees.filter_map(|callee| self.bodies.get(callee)?.summary.clone().map(Step::Back)).collect()
    }

    fn extend_to_callers(&mut self, start: &Start, open: &mut Vec<Start>) -> Result<(), String> {
        for (caller, from) in self.bodies[&start.function].callers.clone() {
            let instruction = self.instruction(from).map_err(|error| error.to_string())?;
            let exits = self.bodies.get(&caller).and_then(|body| body.exits.get(&from));
            let Some(exits) = exits else { continue };
            if exits.calls.contains(&start.function) {
                open.push(extend(start, caller, instruction.clone(), Step::Enter));
            }
            if exits.tail_calls.contains(&start.function) {
                open.push(extend(start, caller, instruction, Step::To(start.function)));
            }
        }
        Ok(())
    }

    fn branches(&self, function: u64, address: u64) -> bool {
        let exits = self.bodies.get(&function).and_then(|body| body.exits.get(&address));
        exits.is_some_and(|exits| exits.edges.len() > 1 || !exits.calls.is_empty())
    }

    fn execute(&mut self, start: &Start) -> Option<BTreeSet<u64>> {
        let head = start.path.instruction.address;
        let frame = self.bodies.get(&start.function).and_then(|body| body.frames.get(&head));
        let mut path = Path::new(self.program, &self.options.shared, frame);
        let mut node = &start.path;
        loop {
            if let Some(iterations) = &node.before {
                path.iterates(iterations);
            }
            let Some((step, rest)) = &node.rest else { break };
            path.step(&node.instruction, step);
            node = rest;
        }
        let target = path.target(&node.instruction)?;
        let found = range::values(&target, &path.conditions, self.program)?;
        let rereads = path.rereads(&target);
        if !rereads.is_empty() {
            self.rereads.entry(node.instruction.address).or_default().extend(rereads);
        }
        Some(found)
    }
}

fn extend(start: &Start, function: u64, instruction: Rc<Instruction>, step: Step) -> Start {
    let rest = Some((step, start.path.clone()));
    Start { function, path: Rc::new(Node { before: None, instruction, rest, length: start.path.length + 1 }) }
}
