//! Executions of parts of the graph as terms: blocks in topological order, states merged where paths meet.
//!
//! Each edge has a guard, which holds exactly if the execution takes it. Stores happen under the guard of their block,
//! in one sequence for all paths: blocks that exclude each other have guards that do. Inner loops are executed iteration
//! by iteration, as often as their known bound says; or, without that, replaced by what they may change.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use wcet_binary::lift::il::{Instruction, Op, Register};
use wcet_binary::load::Program;
use wcet_flow::context::{ContextId, EdgeId, EdgeKind, Expanded, LoopId, NodeId};
use wcet_hardware::cache::Target;
use wcet_values::Values;

use crate::effects::Known;
use crate::executor::{Executor, State};
use crate::frames::Frames;
use crate::memory::{Memory, Pointers, Sharing, Touched, Version};
use crate::scope::{exits, first, header, nodes, part, Part, Scope};
use crate::term::{Origin, Term, Terms};

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
    pub(crate) effects: Known,
    /// Registers when a context was last entered.
    pub(crate) calls: HashMap<ContextId, Vec<Term>>,
    /// Terms that may be built before it is given up.
    pub budget: usize,
    /// Edges that no execution takes.
    pub dead: BTreeSet<EdgeId>,
}

/// What is done at a loop directly inside the scope that is executed.
pub trait AtLoop<'a, 'g> {
    /// Executes all of the loop, entered at `point`: gives the edges by which it may be left.
    fn at_loop(
        &mut self,
        region: &mut Region<'a, 'g>,
        one: LoopId,
        point: Point,
        keep: &dyn Fn(NodeId) -> bool,
    ) -> Result<Vec<(EdgeId, Point)>, TooLarge>;
}

/// Loops in [`Region::unroll`] are executed iteration by iteration, others are replaced.
struct ByBounds;

impl<'a, 'g> AtLoop<'a, 'g> for ByBounds {
    fn at_loop(
        &mut self,
        region: &mut Region<'a, 'g>,
        one: LoopId,
        point: Point,
        keep: &dyn Fn(NodeId) -> bool,
    ) -> Result<Vec<(EdgeId, Point)>, TooLarge> {
        match region.unroll.get(&one).copied() {
            Some(bound) => region.iterate(one, point, bound, keep),
            None => Ok(region.skip(one, point)),
        }
    }
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
            dead: BTreeSet::new(),
        }
    }

    /// What this region has found out about effects, for the next one.
    pub fn take_effects(&mut self) -> Known {
        std::mem::take(&mut self.effects)
    }

    pub fn give_effects(&mut self, known: Known) {
        self.effects = known;
    }

    pub(crate) fn graph(&self) -> &'a Expanded<'g> {
        self.setting.graph
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
        self.pass_with(scope, from, point, keep, stop, &mut ByBounds)
    }

    /// The same, with `inner` for the loops inside.
    pub fn pass_with(
        &mut self,
        scope: Scope,
        from: NodeId,
        point: Point,
        keep: &dyn Fn(NodeId) -> bool,
        stop: Option<LoopId>,
        inner: &mut dyn AtLoop<'a, 'g>,
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
                Part::Loop(one) => inner.at_loop(self, one, point, keep)?,
            };
            for (edge, point) in left {
                if self.dead.contains(&edge) {
                    continue;
                }
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

    /// One state for all paths that arrive; none if no path does. Paths exclude one another.
    pub fn merge(&mut self, points: Vec<Point>) -> Option<Point> {
        let mut points: Vec<Point> = points.into_iter().filter(|point| point.guard != Terms::FALSE).collect();
        if points.len() < 2 {
            return points.pop();
        }
        let terms = &mut self.executor.terms;
        let guards: Vec<Term> = points.iter().map(|point| point.guard).collect();
        let guard = terms.any(&guards);
        let mut merged: Option<Vec<Term>> = None;
        for point in points {
            merged = Some(match merged {
                None => point.registers,
                Some(before) => {
                    let when = terms.given(point.guard, guard);
                    let pairs = before.iter().zip(&point.registers);
                    pairs.map(|(old, new)| terms.select(when, *new, *old)).collect()
                }
            });
        }
        merged.map(|registers| Point { guard, registers })
    }

    /// Executes a node; gives the edges by which it may be left.
    pub fn node(&mut self, node: NodeId, point: Point) -> Vec<(EdgeId, Point)> {
        let graph = self.graph();
        let instructions = graph.instructions(node);
        self.executed.entry(node).or_default().push(point.guard);
        let guard = point.guard;
        let mut state = State { registers: point.registers, memory: self.memory };
        let Some((last, before)) = instructions.split_last() else { return Vec::new() };
        for (number, instruction) in before.iter().enumerate() {
            self.instruction(node, number, &mut state, instruction, None, guard);
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
                    let leave = self.instruction(node, before.len(), &mut after, last, decided, guard);
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
            self.instruction(node, before.len(), &mut state, last, None, guard);
            self.memory = state.memory;
        }
        found
    }

    /// Executes instruction `number` of a node.
    fn instruction(
        &mut self,
        node: NodeId,
        number: usize,
        state: &mut State,
        instruction: &Instruction,
        met: Option<bool>,
        under: Term,
    ) -> crate::Leave {
        self.executor.memory.may_share = self.may_share(node, number);
        let leave = self.executor.execute(state, instruction, met, under);
        self.executor.memory.may_share = true;
        leave
    }

    /// Whether an instruction may access shared places by an address of which something is known.
    fn may_share(&self, node: NodeId, number: usize) -> bool {
        let (Sharing::Places(shared), Some(values)) = (&self.setting.sharing, self.setting.values) else { return true };
        let instructions = self.graph().instructions(node);
        let first: usize = instructions[..number].iter().map(|one| one.accesses.len()).sum();
        let targets = values.targets(node);
        let Some(targets) = targets.get(first..first + instructions[number].accesses.len()) else { return true };
        targets.iter().any(|target| match target {
            Target::At(at) => shared.meets(*at, *at),
            Target::Within(first, last) => shared.meets(*first, *last),
            Target::Anywhere => shared.unknown,
            _ => false,
        })
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
        for (number, instruction) in before.iter().enumerate() {
            self.instruction(node, number, &mut state, instruction, None, Terms::TRUE);
        }
        let met = last.flow.condition().map(|_| graph.edges[edge].kind != EdgeKind::Next);
        let leave = self.instruction(node, before.len(), &mut state, last, met, Terms::TRUE);
        self.memory = state.memory;
        let condition = self.condition(edge, leave);
        let mut registers = state.registers;
        self.called(edge, &mut registers, Terms::TRUE);
        (condition, registers)
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
    pub(crate) fn skip(&mut self, one: LoopId, point: Point) -> Vec<(EdgeId, Point)> {
        let point = self.any_iteration(one, point);
        let graph = self.graph();
        let (mut left, mut rest) = (Vec::new(), point.guard);
        let edges = exits(graph, Part::Loop(one));
        let memory = self.memory;
        let mut stored = Touched::default();
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
            if self.memory != memory {
                stored.join(&self.effects(from).touched);
            }
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
        // What the last blocks store is not what was there before them, of which they may have told.
        self.memory = self.executor.memory.changed(memory, stored, point.guard);
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
}
