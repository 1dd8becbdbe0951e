//! Executes blocks: what their operations make of a state, and along which edges it goes on.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use wcet_binary::lift::il::{Expression, Flow, Instruction, Op, Operand, Register, Target, Value};
use wcet_binary::lift::Registers;
use wcet_flow::context::{ContextId, EdgeId, EdgeKind, Expanded, LoopId, NodeId};

use crate::dead_operations::Prepared;
use crate::record::Record;
use crate::region::Fate;
use crate::set::Set;
use crate::state::{State, World};
use crate::term::{Root, Term};
use crate::Options;

/// A branch on a way out of the loop that is watched.
#[derive(Debug, Clone)]
pub(crate) struct Watched {
    pub edge: EdgeId,
    pub condition: Term,
    /// What the condition is where the loop is left.
    pub truth: bool,
    pub state: State,
}

/// What does not change of a loop.
#[derive(Debug, Default)]
pub(crate) struct Shape {
    /// Loops right inside.
    pub children: Vec<LoopId>,
    /// Whether an edge leads out.
    pub leaves: bool,
    /// Whether the region may end inside.
    pub ends: bool,
    /// Where widening stops.
    pub thresholds: Vec<u128>,
}

pub(crate) struct Engine<'a> {
    pub expanded: &'a Expanded<'a>,
    pub options: &'a Options,
    pub world: World<'a>,
    pub registers: Registers,
    pub prepared: Vec<Rc<Prepared>>,
    /// The loop that a node is the header of.
    pub header_of: BTreeMap<NodeId, LoopId>,
    pub shapes: Vec<Shape>,
    /// Registers that are read before they are written, before each node.
    pub live: Vec<u64>,
    /// Kinds of executions that are followed apart.
    pub width: usize,
    pub record: Record,
    /// By loop, how many symbols there were when it was first looked at.
    pub born: Vec<u64>,
    /// Whether what happens now is noted: not while an invariant is still sought.
    pub recording: bool,
    /// How attempts to follow loops ended, by function and number in it.
    pub fates: BTreeMap<(u64, usize), Fate>,
    /// What covers the headers of loops deep inside others, as it was found last.
    pub invariants: BTreeMap<LoopId, State>,
    /// Instructions executed.
    pub steps: u64,
    /// The loop whose exits are watched.
    pub watching: Option<LoopId>,
    pub watched: Vec<Watched>,
    /// The stack pointer with which functions that switch stacks were entered, by context.
    switched: BTreeMap<ContextId, Term>,
    temporaries: Vec<Option<Term>>,
    /// Whether this instruction may tell kinds of executions apart, and by which condition it did.
    splits: bool,
    split: Option<Term>,
}

/// How often the execution of one block may split.
const SPLITS: u32 = 4;

impl<'a> Engine<'a> {
    pub fn new(
        world: World<'a>,
        expanded: &'a Expanded<'a>,
        options: &'a Options,
        registers: Registers,
        prepared: Vec<Rc<Prepared>>,
    ) -> Engine<'a> {
        let header_of = expanded.loops.iter().enumerate().map(|(number, one)| (one.header, number)).collect();
        let record = Record::new(expanded, registers);
        let live = crate::dead_operations::live(expanded, &options.blocks, u64::MAX);
        let mut shapes: Vec<Shape> = expanded.loops.iter().map(|_| Shape::default()).collect();
        for (number, one) in expanded.loops.iter().enumerate() {
            let edges = one.nodes.iter().flat_map(|node| expanded.successors(*node));
            shapes[number].leaves = edges.into_iter().any(|edge| !expanded.inside(expanded.edges[*edge].to, number));
            shapes[number].thresholds = thresholds(expanded, one);
            shapes[number].ends = one.nodes.iter().any(|node| expanded.exits.contains(node));
            if let Some(parent) = one.parent {
                shapes[parent].children.push(number);
            }
        }
        Engine {
            expanded,
            shapes,
            options,
            world,
            registers,
            prepared,
            header_of,
            live,
            width: 1,
            record,
            born: vec![u64::MAX; expanded.loops.len()],
            recording: true,
            fates: BTreeMap::new(),
            invariants: BTreeMap::new(),
            steps: 0,
            watching: None,
            watched: Vec::new(),
            switched: BTreeMap::new(),
            temporaries: Vec::new(),
            splits: false,
            split: None,
        }
    }

    /// The state at the entry of the region.
    pub fn entry(&self) -> State {
        let term = |register| {
            let size = self.registers.value(register).size;
            if let Some(own) = self.own(register) {
                return own;
            }
            if let Some(stack) = self.stack_of_own(register) {
                return stack;
            }
            if let Some((modulus, rest)) =
                self.options.stack_rest.filter(|_| register == self.registers.stack_pointer())
            {
                let base = self.world.symbols.make(
                    Root::Zero,
                    crate::multiples(modulus, None, size),
                    crate::term::Origin::Opaque,
                );
                return base.plus(rest.into());
            }
            if register == self.registers.stack_pointer() && self.options.fresh.is_empty() {
                return self.world.symbols.make(Root::Stack, Set::single(0, size), crate::term::Origin::Opaque);
            }
            let set = match self.options.registers.get(&register) {
                Some((low, high)) => Set::range((*low).into(), (*high).into(), size),
                None if self.registers.is_flag(register) => Set::range(0, 1, 1),
                None => Set::full(size),
            };
            self.world.symbols.make(Root::Zero, set, crate::term::Origin::Opaque)
        };
        let mut memory = crate::memory::Memory { loaded: self.options.memory_as_loaded, ..Default::default() };
        if let (Some((own, _)), Some((object, leads))) = (&self.world.own, &self.world.leads) {
            if let Some(root) = own.number().map(Root::Symbol) {
                let at = crate::memory::position(root, leads.at.into(), self.world.pointer);
                memory.write(root, at, object.size, Some(object), self.world.program);
            }
        }
        if let Some((root, own)) =
            self.world.own.as_ref().and_then(|(term, own)| Some((Root::Symbol(term.number()?), own)))
        {
            for word in &own.words {
                let Some(value) = own.at_entry.get(&word.at) else { continue };
                let at = crate::memory::position(root, word.at.into(), self.world.pointer);
                let value = Term::constant((*value).into(), word.size);
                memory.write(root, at, word.size, Some(&value), self.world.program);
            }
        }
        State {
            registers: self.registers.all().map(term).collect(),
            memory,
            known: Rc::default(),
            crowd: 0,
            escaped: false,
        }
    }

    /// What a register holds that always leads to one object.
    pub fn own(&self, register: Register) -> Option<Term> {
        let own = self.world.own.as_ref().filter(|(_, own)| own.register == register);
        own.map(|(term, _)| term.clone())
    }

    /// Where the stack pointer stands at the entry, if that is in an object of the processor's own.
    fn stack_of_own(&self, register: Register) -> Option<Term> {
        let (object, leads) = self.world.leads.as_ref()?;
        (register == self.registers.stack_pointer()).then_some(())?;
        Some(object.plus(leads.stack?.into()))
    }

    /// Executes a block, and gives the states along the edges that can be taken.
    pub fn block(&mut self, node: NodeId, mut state: State) -> Vec<(EdgeId, State)> {
        if let Some((register, range)) = self.options.given.get(&self.expanded.block(node).start()) {
            if !state.given(&self.world, *register, *range) {
                return Vec::new();
            }
        }
        if self.options.fresh.contains(&self.expanded.block(node).start()) {
            let size = self.world.pointer;
            let stack = self.world.symbols.make(Root::Stack, Set::single(0, size), crate::term::Origin::Opaque);
            state.registers[usize::from(self.registers.stack_pointer().0)] = stack;
            state.memory.stack = Default::default();
        }
        if self.recording {
            self.record.enter(node, &state);
        }
        let prepared = Rc::clone(&self.prepared[node]);
        let mut taken = Vec::new();
        // Kinds of executions, the instruction at which they stand, and from where on they may split.
        let mut open = vec![(state, 0, 0)];
        let mut splits = if self.width > 1 { SPLITS } else { 0 };
        while let Some((mut state, mut at, split)) = open.pop() {
            while let Some(step) = prepared.steps.get(at) {
                if self.recording {
                    let number = prepared.accesses[at];
                    for (index, access) in step.instruction.accesses.iter().enumerate() {
                        self.record.access(
                            node,
                            number + index,
                            access,
                            &state,
                            &self.world,
                            self.options.stack_pointer,
                        );
                    }
                }
                if let Some(carried) = step.carried {
                    let stack_pointer = usize::from(self.registers.stack_pointer().0);
                    state.carry(&self.world, &step.instruction, carried, stack_pointer);
                }
                self.temporaries.clear();
                self.steps += 1;
                self.split = None;
                self.splits = step.selects && at >= split && splits > 0;
                let before = self.splits.then(|| state.clone());
                for op in &step.ops {
                    self.operation(op, &mut state);
                }
                if let (Some(condition), Some(before)) = (self.split.take(), before) {
                    splits -= 1;
                    let mut otherwise = before.clone();
                    if otherwise.assume(&self.world, &condition, false) {
                        open.push((otherwise, at, at + 1));
                    }
                    state = before;
                    if !state.assume(&self.world, &condition, true) {
                        break;
                    }
                    open.push((state.clone(), at, at + 1));
                    at = usize::MAX;
                    break;
                }
                at += 1;
            }
            if at == prepared.steps.len() {
                self.leave(node, state, &prepared, &mut taken);
            }
        }
        taken
    }

    /// The edges along which a state goes on behind a block.
    fn leave(&mut self, node: NodeId, state: State, prepared: &Prepared, taken: &mut Vec<(EdgeId, State)>) {
        let Some(last) = prepared.steps.last() else { return };
        let expanded = self.expanded;
        let edges = expanded.successors(node);
        let mut rest = Some(state);
        for (index, edge) in edges.iter().enumerate() {
            let state = if index + 1 == edges.len() { rest.take() } else { rest.clone() };
            let Some(mut state) = state else { break };
            if self.follow(*edge, &last.instruction, &mut state) {
                if self.recording {
                    self.record.taken(*edge);
                }
                taken.push((*edge, state));
            }
        }
    }

    /// Takes an edge to be taken. False if it cannot be.
    fn follow(&mut self, edge: EdgeId, last: &Instruction, state: &mut State) -> bool {
        if self.options.run.as_ref().is_some_and(|run| !run.takes(edge)) {
            return false;
        }
        let one = self.expanded.edges[edge];
        let next = one.kind == EdgeKind::Next;
        let (target, when) = match last.flow {
            Flow::Jump { to: Target::Direct(to), when } => (None, when.filter(|_| to != last.next())),
            Flow::Call { to: Target::Direct(_), when } => (None, when),
            Flow::Jump { to: Target::Indirect(to), when } | Flow::Call { to: Target::Indirect(to), when } => {
                (Some(to), when)
            }
            Flow::Return { to, when } => (Some(to), when),
            Flow::Repeat { when } => (None, Some(when)),
            Flow::Next | Flow::Leave | Flow::Trap => (None, None),
        };
        if let Some(when) = when {
            let condition = self.value(when, state);
            if let Some(watching) = self.watching {
                let back = one.to == self.expanded.loops[watching].header;
                let out = !self.expanded.inside(one.to, watching) || self.expanded.exits.contains(&one.from);
                if self.expanded.inside(one.from, watching) && (out || back) {
                    let watched = Watched { edge, condition: condition.clone(), truth: !next, state: state.clone() };
                    self.watched.push(watched);
                }
            }
            if !state.assume(&self.world, &condition, !next) {
                return false;
            }
        }
        if let (Some(target), EdgeKind::Case | EdgeKind::Call) = (target, one.kind) {
            let start = self.expanded.block(one.to).start();
            let target = self.value(target, state);
            if !state.numbers(&target).contains(start.into()) {
                return false;
            }
        }
        match one.kind {
            EdgeKind::Call if self.is_switch(self.expanded.nodes[one.to].context) => {
                let stack = state.registers[usize::from(self.registers.stack_pointer().0)].clone();
                self.switched.insert(self.expanded.nodes[one.to].context, stack);
            }
            EdgeKind::Return => {
                let mut context = self.expanded.nodes[one.from].context;
                let behind = self.expanded.nodes[one.to].context;
                // Through tail calls, up to the callee of the place it returns to.
                while context != behind {
                    if self.is_switch(context) {
                        self.come_back(context, state);
                    }
                    match self.expanded.contexts[context].caller {
                        Some((caller, _)) => context = caller,
                        None => break,
                    }
                }
            }
            _ => {}
        }
        true
    }

    fn is_switch(&self, context: ContextId) -> bool {
        !self.options.switches.is_empty() && self.options.switches.contains(&self.expanded.contexts[context].function)
    }

    /// A function that switched stacks returns: on its caller's stack, with all else changed.
    fn come_back(&self, context: ContextId, state: &mut State) {
        let stack = usize::from(self.registers.stack_pointer().0);
        for register in self.registers.all() {
            let size = self.registers.value(register).size;
            let own = self.own(register);
            state.registers[usize::from(register.0)] = own.unwrap_or_else(|| self.world.symbols.unknown(size));
        }
        if let Some(term) = self.switched.get(&context) {
            state.registers[stack] = term.plus(self.world.program.architecture.popped_by_return().into());
        }
        state.clobber();
    }

    fn operation(&mut self, op: &Op, state: &mut State) {
        match *op {
            Op::Set { to, from } => {
                let term = self.expression(from, to.size, state);
                match to.operand {
                    Operand::Register(register) => {
                        state.registers[usize::from(register.0)] = self.own(register).unwrap_or(term);
                    }
                    Operand::Temporary(number) => {
                        let index = usize::from(number);
                        if self.temporaries.len() <= index {
                            self.temporaries.resize(index + 1, None);
                        }
                        self.temporaries[index] = Some(term);
                    }
                    Operand::Constant(_) => {}
                }
            }
            Op::Store { address, from, when } => {
                let sure = match when.map(|when| self.value(when, state)) {
                    None => true,
                    Some(when) => match state.numbers(&when) {
                        set if set.as_single() == Some(0) => return,
                        set => !set.contains(0),
                    },
                };
                let (address, from) = (self.value(address, state), self.value(from, state));
                state.store(&self.world, &address, &from, sure);
            }
            Op::ClobberMemory => state.clobber(),
        }
    }

    pub fn value(&self, value: Value, state: &State) -> Term {
        match value.operand {
            Operand::Register(register) => state.registers[usize::from(register.0)].clone(),
            Operand::Constant(number) => Term::constant(number.into(), value.size),
            Operand::Temporary(number) => match self.temporaries.get(usize::from(number)) {
                Some(Some(term)) => term.clone(),
                _ => self.world.symbols.unknown(value.size),
            },
        }
    }

    fn expression(&mut self, expression: Expression, size: u8, state: &mut State) -> Term {
        let world = &self.world;
        match expression {
            Expression::Copy(value) => self.value(value, state),
            Expression::Unary(operation, a) => {
                let a = self.value(a, state);
                state.unary(world, operation, &a, size)
            }
            Expression::Binary(operation, a, b) => {
                let (a, b) = (self.value(a, state), self.value(b, state));
                state.binary(world, operation, &a, &b, size)
            }
            Expression::Extract { from, at } => {
                let from = self.value(from, state);
                state.extract(world, &from, at, size)
            }
            Expression::Insert { into, from, at } => {
                let (into, from) = (self.value(into, state), self.value(from, state));
                if into.size > 16 || size != into.size {
                    state.hide(&into);
                    state.hide(&from);
                    return world.symbols.unknown(size);
                }
                let end = at + from.size;
                let low = if at == 0 {
                    from
                } else {
                    let below = state.extract(world, &into, 0, at);
                    state.concat(world, &from, &below)
                };
                if end >= into.size {
                    return low;
                }
                let above = state.extract(world, &into, end, into.size - end);
                state.concat(world, &above, &low)
            }
            Expression::Concat { high, low } => {
                let (high, low) = (self.value(high, state), self.value(low, state));
                state.concat(world, &high, &low)
            }
            Expression::Select { when, then, otherwise } => {
                let when = self.value(when, state);
                let (then, otherwise) = (self.value(then, state), self.value(otherwise, state));
                // Numbers that are known apart are not joined, if that may be.
                let numbers = then.as_constant().is_some() || otherwise.as_constant().is_some();
                if self.splits
                    && self.split.is_none()
                    && size > 1
                    && then != otherwise
                    && (numbers || then.number() == otherwise.number())
                    && state.numbers(&when).as_single().is_none()
                {
                    self.split = Some(when.clone());
                }
                state.select(world, &when, &then, &otherwise)
            }
            Expression::Load { address, when } => {
                let never = when.is_some_and(|when| state.numbers(&self.value(when, state)).as_single() == Some(0));
                if never {
                    return world.symbols.unknown(size);
                }
                let address = self.value(address, state);
                state.load(world, &address, size)
            }
            Expression::Float(..) | Expression::Unknown => world.symbols.unknown(size),
        }
    }
}

/// Numbers that a loop's function compares with inside the loop, and their neighbours: where widening stops. Sorted.
fn thresholds(expanded: &Expanded<'_>, one: &wcet_flow::context::Loop) -> Vec<u128> {
    let own = one.nodes.iter().filter(|node| expanded.nodes[**node].context == one.context);
    let mut found = BTreeSet::new();
    for op in own.flat_map(|node| &expanded.block(*node).instructions).flat_map(|instruction| &instruction.ops) {
        let Op::Set { from: Expression::Binary(operation, a, b), .. } = op else { continue };
        if !crate::state::is_comparison(*operation) {
            continue;
        }
        for value in [a, b] {
            if let Operand::Constant(number) = value.operand {
                let number = u128::from(number);
                found.extend([number.saturating_sub(1), number, number + 1]);
            }
        }
    }
    // Of too many the small ones.
    found.into_iter().take(1024).collect()
}
