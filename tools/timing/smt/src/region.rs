//! Executions of parts of the graph as terms: blocks in topological order, states merged where paths meet.
//!
//! Each edge has a guard, which holds exactly if the execution takes it. Stores happen under the guard of their block,
//! in one sequence for all paths: blocks that exclude each other have guards that do. Inner loops are executed iteration
//! by iteration, as often as their known bound says; or, without that, replaced by what they may change.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use timing_context::{ContextId, EdgeId, EdgeKind, Expanded, LoopId, NodeId};
use timing_lift::il::{Instruction, Op, Operand, Register};
use timing_load::Program;
use timing_values::{Base, Range, Values};

use crate::executor::{Executor, State};
use crate::frames::{Frames, Known as Held};
use crate::memory::{Memory, Pointers, Sharing, Touched, Version};
use crate::scope::{exits, first, header, nodes, part, Part, Scope};
use crate::term::{Operation, Origin, Term, Terms};

/// What is known about the program before any of it is executed.
pub struct Setting<'a, 'g> {
    pub program: &'a Program,
    pub graph: &'a Expanded<'g>,
    pub frames: &'a Frames,
    pub values: Option<&'a Values>,
    pub sharing: Sharing,
    /// Functions after whose return registers and memory are not known.
    pub switches: &'a BTreeSet<u64>,
}

/// What an execution has come to, and whether it does.
#[derive(Debug, Clone)]
pub struct Point {
    pub guard: Term,
    pub registers: Vec<Term>,
}

/// How an execution leaves a scope.
#[derive(Debug, Default)]
pub struct Outcome {
    /// By back edges of the scope's loop.
    pub back: Vec<(EdgeId, Point)>,
    /// By edges out of the scope's loop.
    pub exits: Vec<(EdgeId, Point)>,
    /// At the loop that was to be stopped at.
    pub stopped: Vec<(EdgeId, Point)>,
}

/// What a node may change: registers by their number's bit, and memory.
#[derive(Debug, Clone, Default)]
pub struct Effects {
    pub registers: u64,
    pub touched: Touched,
}

/// Effects already found; they are the same for all regions of a setting.
#[derive(Debug, Clone, Default)]
pub struct Known {
    nodes: HashMap<NodeId, Effects>,
    loops: HashMap<LoopId, Effects>,
}

pub struct Region<'a, 'g> {
    pub setting: &'a Setting<'a, 'g>,
    pub executor: Executor<'a>,
    pub memory: Version,
    /// What holds wherever the execution starts.
    pub facts: Vec<Term>,
    /// Loops that are executed iteration by iteration, and how often at most.
    pub unroll: BTreeMap<LoopId, u64>,
    /// Guards of the edges taken, one for each time the edge was met.
    pub taken: BTreeMap<EdgeId, Vec<Term>>,
    /// Edges with their guards, in an order in which executions take them.
    pub trace: Vec<(EdgeId, Term)>,
    /// Guards of the nodes executed.
    pub executed: BTreeMap<NodeId, Vec<Term>>,
    effects: Known,
    /// Registers when a context was last entered.
    calls: HashMap<ContextId, Vec<Term>>,
    /// Terms that may be built before it is given up.
    pub budget: usize,
}

/// Too much for the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooLarge;

impl<'a, 'g> Region<'a, 'g> {
    pub fn new(setting: &'a Setting<'a, 'g>, at_entry: bool) -> Region<'a, 'g> {
        let pointers = Pointers { fresh_stack: true, no_escape: setting.frames.no_escape(), at_entry };
        Region {
            setting,
            executor: Executor::new(setting.program, setting.sharing.clone(), pointers),
            memory: Memory::START,
            facts: Vec::new(),
            unroll: BTreeMap::new(),
            taken: BTreeMap::new(),
            trace: Vec::new(),
            executed: BTreeMap::new(),
            effects: Known::default(),
            calls: HashMap::new(),
            budget: 2_000_000,
        }
    }

    /// What this region has found out about effects, for the next one.
    pub fn take_effects(&mut self) -> Known {
        std::mem::take(&mut self.effects)
    }

    pub fn give_effects(&mut self, known: Known) {
        self.effects = known;
    }

    fn graph(&self) -> &'a Expanded<'g> {
        self.setting.graph
    }

    /// The execution begins before a node, in any state that is possible there.
    pub fn start(&mut self, node: NodeId) -> Point {
        let registers = self.executor.table.all().collect::<Vec<_>>();
        let registers: Vec<Term> = registers.into_iter().map(|register| self.at_start(node, register)).collect();
        for register in self.executor.table.all().collect::<Vec<_>>() {
            let known = self.known_of(node, register, registers[usize::from(register.0)]);
            self.facts.extend(known);
        }
        Point { guard: Terms::TRUE, registers }
    }

    fn at_start(&mut self, node: NodeId, register: Register) -> Term {
        let found = self.unknown(node, register);
        match self.setting.frames.register(node, register) {
            _ if !self.executor.terms.is_unknown(found) => found,
            Held::Plain | Held::Number(_) => self.executor.unknown(register, Origin::Register(register)),
            Held::Slot(_) | Held::Anything => self.executor.unknown(register, Origin::Start(register)),
        }
    }

    /// What a register holds before a node, knowing nothing of how it was reached.
    pub fn unknown(&mut self, node: NodeId, register: Register) -> Term {
        let width = 8 * u16::from(self.executor.table.value(register).size);
        let stack = self.executor.memory.stack;
        match self.setting.frames.register(node, register) {
            Held::Number(number) => self.executor.terms.number(number.into(), width),
            Held::Slot(slot) => self.slot(stack, slot),
            _ if node == self.graph().entry => self.executor.start[usize::from(register.0)],
            Held::Plain => self.executor.unknown(register, Origin::Plain),
            Held::Anything => match self.range(node, register) {
                Some(Range { base: Base::Stack, low, high, .. }) if low == high => self.slot(stack, low as i64),
                _ => self.executor.unknown(register, Origin::Unknown),
            },
        }
    }

    fn slot(&mut self, stack: Term, slot: i64) -> Term {
        let width = self.executor.terms.width(stack);
        let offset = self.executor.terms.number(slot as i128 as u128, width);
        self.executor.terms.binary(Operation::Add, stack, offset)
    }

    fn range(&self, node: NodeId, register: Register) -> Option<Range> {
        self.setting.values?.register(node, register)
    }

    /// What a register's value before a node is known to satisfy.
    pub fn known_of(&mut self, node: NodeId, register: Register, term: Term) -> Vec<Term> {
        let mut found = Vec::new();
        let Some(range) = self.range(node, register) else { return found };
        let terms = &mut self.executor.terms;
        let width = terms.width(term);
        if width != 8 * u16::from(range.size) {
            return found;
        }
        let base = match range.base {
            Base::Zero => terms.number(0, width),
            Base::Stack if term != self.executor.memory.stack => self.executor.memory.stack,
            _ => return found,
        };
        let low = terms.number(range.low.into(), width);
        let base = terms.binary(Operation::Add, base, low);
        let above = terms.binary(Operation::Subtract, term, base);
        let most = u128::from(range.high).wrapping_sub(range.low.into());
        let most = terms.number(most, width);
        let beyond = terms.less(most, above);
        found.push(terms.not(beyond));
        if range.stride > 1 && range.stride.is_power_of_two() {
            let bits = terms.number(u128::from(range.stride) - 1, width);
            let rest = terms.binary(Operation::And, above, bits);
            let set = terms.is_set(rest);
            found.push(terms.not(set));
        }
        found.retain(|fact| *fact != Terms::TRUE);
        found
    }

    /// Executes the scope from a node on, inside the nodes that `keep` accepts; halts before the loop `stop`.
    pub fn pass(
        &mut self,
        scope: Scope,
        from: NodeId,
        point: Point,
        keep: &dyn Fn(NodeId) -> bool,
        stop: Option<LoopId>,
    ) -> Result<Outcome, TooLarge> {
        let graph = self.graph();
        let mut outcome = Outcome::default();
        let mut open: BTreeMap<NodeId, (Part, Vec<Point>)> = BTreeMap::new();
        let start = part(graph, scope, from).unwrap_or(Part::Node(from));
        open.insert(first(graph, start), (start, vec![point]));
        while let Some((_, (part_here, arrivals))) = open.pop_first() {
            if self.executor.terms.len() > self.budget {
                return Err(TooLarge);
            }
            let Some(point) = self.merge(arrivals) else { continue };
            let left = match part_here {
                Part::Node(node) => self.node(node, point),
                Part::Loop(one) => match self.unroll.get(&one).copied() {
                    Some(bound) => self.iterate(one, point, bound, keep)?,
                    None => self.skip(one, point),
                },
            };
            for (edge, point) in left {
                let to = graph.edges[edge].to;
                if to == header(graph, scope) {
                    outcome.back.push((edge, point));
                } else if let Some(next) = part(graph, scope, to) {
                    if next == stop.map_or(Part::Node(NodeId::MAX), Part::Loop) {
                        outcome.stopped.push((edge, point));
                    } else if keep(to) {
                        open.entry(first(graph, next)).or_insert((next, Vec::new())).1.push(point);
                    }
                } else {
                    outcome.exits.push((edge, point));
                }
            }
        }
        Ok(outcome)
    }

    /// One state for all paths that arrive; none if no path does.
    pub fn merge(&mut self, points: Vec<Point>) -> Option<Point> {
        let mut merged: Option<Point> = None;
        for point in points.into_iter().filter(|point| point.guard != Terms::FALSE) {
            merged = Some(match merged {
                None => point,
                Some(before) => {
                    let terms = &mut self.executor.terms;
                    let guard = terms.either(before.guard, point.guard);
                    let when = terms.given(point.guard, guard);
                    let pairs = before.registers.iter().zip(&point.registers);
                    let registers = pairs.map(|(old, new)| terms.select(when, *new, *old)).collect();
                    Point { guard, registers }
                }
            });
        }
        merged
    }

    /// Executes a node; gives the edges by which it may be left.
    pub fn node(&mut self, node: NodeId, point: Point) -> Vec<(EdgeId, Point)> {
        let graph = self.graph();
        let instructions = graph.instructions(node);
        self.executed.entry(node).or_default().push(point.guard);
        let guard = point.guard;
        let mut state = State { registers: point.registers, memory: self.memory };
        let Some((last, before)) = instructions.split_last() else { return Vec::new() };
        for instruction in before {
            self.executor.execute(&mut state, instruction, None, guard);
        }
        let stores = last.ops.iter().any(|op| !matches!(op, Op::Set { .. }));
        let mut ways: BTreeMap<bool, (State, crate::Leave)> = BTreeMap::new();
        let mut found = Vec::new();
        for edge in graph.successors(node) {
            // An instruction that stores is executed once, so that its stores are.
            let met = !stores && graph.edges[*edge].kind != EdgeKind::Next;
            let (after, leave) = match ways.entry(met) {
                Entry::Occupied(known) => known.get().clone(),
                Entry::Vacant(new) => {
                    let mut after = state.clone();
                    let decided = (!stores && last.flow.condition().is_some()).then_some(met);
                    let leave = self.executor.execute(&mut after, last, decided, guard);
                    self.memory = after.memory;
                    new.insert((after, leave)).clone()
                }
            };
            let condition = self.condition(*edge, leave);
            let guard = self.executor.terms.both(guard, condition);
            self.taken.entry(*edge).or_default().push(guard);
            self.trace.push((*edge, guard));
            let mut registers = after.registers;
            self.called(*edge, &mut registers, guard);
            found.push((*edge, Point { guard, registers }));
        }
        if graph.successors(node).is_empty() {
            self.executor.execute(&mut state, last, None, guard);
            self.memory = state.memory;
        }
        found
    }

    /// Under which condition control takes an edge, once its node is executed.
    pub fn condition(&mut self, edge: EdgeId, leave: crate::Leave) -> Term {
        let edge = self.graph().edges[edge];
        let terms = &mut self.executor.terms;
        let when = leave.when.unwrap_or(Terms::TRUE);
        let place = match edge.kind {
            EdgeKind::Next => return leave.when.map_or(Terms::TRUE, |when| terms.not(when)),
            EdgeKind::Taken | EdgeKind::Return => return when,
            EdgeKind::Case | EdgeKind::Call => self.setting.graph.block(edge.to).start(),
        };
        match leave.to {
            None => when,
            Some(to) => {
                let place = terms.number(place.into(), terms.width(to));
                let there = terms.equal(to, place);
                terms.both(when, there)
            }
        }
    }

    /// Executes a node that is left by `edge`: gives the condition for that, and the registers behind it.
    pub fn step(&mut self, node: NodeId, registers: Vec<Term>, edge: EdgeId) -> (Term, Vec<Term>) {
        let graph = self.graph();
        let Some((last, before)) = graph.instructions(node).split_last() else { return (Terms::TRUE, registers) };
        let mut state = State { registers, memory: self.memory };
        for instruction in before {
            self.executor.execute(&mut state, instruction, None, Terms::TRUE);
        }
        let met = last.flow.condition().map(|_| graph.edges[edge].kind != EdgeKind::Next);
        let leave = self.executor.execute(&mut state, last, met, Terms::TRUE);
        self.memory = state.memory;
        let condition = self.condition(edge, leave);
        let mut registers = state.registers;
        self.called(edge, &mut registers, Terms::TRUE);
        (condition, registers)
    }

    /// What calls and returns mean beyond their instructions: behind a return, the registers that the function gives
    /// back are as before the call; of one that switches stacks, nothing else is known.
    fn called(&mut self, edge: EdgeId, registers: &mut [Term], guard: Term) {
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

    fn caller(&self, context: ContextId) -> Option<ContextId> {
        self.graph().contexts[context].caller.map(|(caller, _)| caller)
    }

    fn switches(&self, context: ContextId) -> bool {
        self.setting.switches.contains(&self.graph().contexts[context].function)
    }

    /// Executes a loop iteration by iteration, `bound` times at most.
    fn iterate(
        &mut self,
        one: LoopId,
        point: Point,
        bound: u64,
        keep: &dyn Fn(NodeId) -> bool,
    ) -> Result<Vec<(EdgeId, Point)>, TooLarge> {
        let header = self.graph().loops[one].header;
        let (mut left, mut next) = (Vec::new(), Some(point));
        for _ in 0..bound {
            let Some(point) = next.take() else { break };
            let outcome = self.pass(Some(one), header, point, keep, None)?;
            left.extend(outcome.exits);
            next = self.merge(outcome.back.into_iter().map(|(_, point)| point).collect());
        }
        Ok(left)
    }

    /// Replaces a loop by what it may change. What its exits require of the last iteration is kept.
    fn skip(&mut self, one: LoopId, point: Point) -> Vec<(EdgeId, Point)> {
        let point = self.any_iteration(one, point);
        let graph = self.graph();
        let (mut left, mut rest) = (Vec::new(), point.guard);
        let edges = exits(graph, Part::Loop(one));
        let memory = self.memory;
        for edge in edges {
            // Which exit is taken is open.
            let choice = self.executor.terms.leaf(0, Origin::Unknown);
            let guard = self.executor.terms.both(rest, choice);
            let not = self.executor.terms.not(choice);
            rest = self.executor.terms.both(rest, not);
            let from = graph.edges[edge].from;
            let registers = self.inside(one, from, &point.registers);
            self.memory = memory;
            let ways = self.node(from, Point { guard, registers });
            // What happens inside is not recorded, as it is not followed.
            self.executed.entry(from).or_default().pop();
            for (way, point) in ways {
                if way == edge {
                    left.push((way, point));
                } else {
                    self.taken.entry(way).or_default().pop();
                }
            }
        }
        // What the last blocks store is among what the loop may change.
        self.memory = memory;
        left
    }

    /// The state at the header of a loop in one of its iterations, any of them.
    pub fn any_iteration(&mut self, one: LoopId, point: Point) -> Point {
        let effects = self.effects_of_loop(one);
        self.memory = self.executor.memory.changed(self.memory, effects.touched, point.guard);
        let registers = self.inside(one, self.graph().loops[one].header, &point.registers);
        Point { guard: point.guard, registers }
    }

    /// Registers before a node of a loop in some iteration: those that the loop changes are not known.
    pub fn inside(&mut self, one: LoopId, node: NodeId, registers: &[Term]) -> Vec<Term> {
        let graph = self.graph();
        let effects = if graph.nodes[node].context == graph.loops[one].context {
            self.effects_of_loop(one)
        } else {
            // Inside a function, what it will give back may be something else.
            self.effects_of(&nodes(graph, Part::Loop(one)), node)
        };
        let all: Vec<Register> = self.executor.table.all().collect();
        let changed = |register: &Register| effects.registers >> register.0 & 1 == 1;
        all.into_iter()
            .map(|register| match changed(&register) {
                true => self.unknown(node, register),
                false => registers[usize::from(register.0)],
            })
            .collect()
    }

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
