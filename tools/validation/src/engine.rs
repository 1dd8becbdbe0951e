//! The product of a term and its machine code: both are run to their next event, and there they must agree.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;
use std::sync::Arc;

use wcet_binary::lift::il::Instruction;

use crate::image::{Image, Range, ARGUMENTS, DF, GENERAL, GS, RBP, RSP};
use crate::layout::Layout;
use crate::loops::Loop;
use crate::program::{Function, Program};
use crate::proved::Sync;
use crate::solver::{Path, Solver};
use crate::state::{refuse, Event, Frame, Item, Refusal, State, Stop};
use crate::term::build::{equal, extract, less, not, read};
use crate::term::{constant, fresh, fresh_array, Term};

/// What becomes of loops of the term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoopMode {
    /// Cut where both are at the start of the body.
    Cut,
    /// Those that count from a constant to a small one are executed as often as they run.
    Mixed,
    /// All are executed as often as they run, so many times at most.
    Unroll(u32),
}

/// Values at the function's entry.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    pub stack: Term,
    pub percpu: Term,
    /// Where the caller goes on.
    pub back: Term,
    pub base: Term,
}

/// An access to an atomic cell by one instruction.
#[derive(Debug, Clone, Copy)]
pub struct Touch {
    pub address: Term,
    /// The value of a store; none for a load.
    pub value: Option<Term>,
    pub bytes: u32,
}

pub struct Engine<'a> {
    pub program: &'a Program,
    pub image: &'a Image<'a>,
    pub layout: &'a Layout,
    pub solver: Solver,
    pub entry: Entry,
    pub mode: LoopMode,
    /// What an atomic cell holds, while the instruction that accesses it is executed.
    pub injected: Option<Term>,
    pub touched: Vec<Touch>,
    pub steps: u64,
    /// Addresses of instructions that have been executed.
    pub covered: BTreeSet<u64>,
    pub loops: Vec<Loop>,
    pub seen: HashMap<Vec<u32>, Vec<BTreeSet<Vec<u32>>>>,
    pub merged: u64,
    /// Refusals do not end the exploration.
    pub collect: bool,
    pub refusals: Vec<Refusal>,
    /// Functions that the machine calls, and that are taken to do what their terms say.
    pub called: BTreeSet<String>,
    pub function: Arc<Function>,
    writes: HashMap<String, Option<Rc<BTreeSet<usize>>>>,
    touches: HashMap<String, Option<Rc<BTreeSet<usize>>>>,
}

impl<'a> Engine<'a> {
    pub fn new(program: &'a Program, image: &'a Image<'a>, layout: &'a Layout, function: Arc<Function>) -> Engine<'a> {
        Engine {
            program,
            image,
            layout,
            solver: Solver::new(),
            entry: Engine::fresh_entry(),
            mode: LoopMode::Cut,
            injected: None,
            touched: Vec::new(),
            steps: 0,
            covered: BTreeSet::new(),
            loops: Vec::new(),
            seen: HashMap::new(),
            merged: 0,
            collect: false,
            refusals: Vec::new(),
            called: BTreeSet::new(),
            function,
            writes: HashMap::new(),
            touches: HashMap::new(),
        }
    }

    fn fresh_entry() -> Entry {
        let name = |name| fresh(name, 64);
        Entry { stack: name("rsp"), percpu: name("gs"), back: name("return"), base: name("rbp") }
    }

    /// Explores all states from the function's entry on; what remains in `refusals` is why it is not validated.
    pub fn validate(&mut self, start: u64, mode: LoopMode, limit: u64) {
        crate::term::clear();
        self.solver.restart(limit);
        self.entry = Engine::fresh_entry();
        self.mode = mode;
        self.covered.clear();
        self.loops.clear();
        self.seen.clear();
        self.refusals.clear();
        self.called.clear();
        self.collect = false;
        match self.start(start) {
            Ok(state) => {
                let mut refusals = Vec::new();
                self.explore(vec![state], &mut refusals);
                self.refusals = refusals;
            }
            Err(stop) => self.refusals = refusal(start, stop).into_iter().collect(),
        }
    }

    fn start(&mut self, address: u64) -> Result<State, Stop> {
        let mut registers: Vec<Term> = (0..GENERAL).map(|_| fresh("register", 64)).collect();
        registers.resize(GENERAL + 2, fresh("segment", 64));
        registers.resize(DF + 1, fresh("flag", 8));
        registers[GENERAL + 2..DF].iter_mut().for_each(|flag| *flag = fresh("flag", 8));
        registers[RSP] = self.entry.stack;
        registers[RBP] = self.entry.base;
        registers[GS] = self.entry.percpu;
        registers[DF] = constant(0, 8);
        let function = Arc::clone(&self.function);
        if function.parameters > ARGUMENTS.len() {
            return refuse("it has more than six parameters");
        }
        let mut locals = Vec::new();
        for (at, width) in function.widths.iter().enumerate() {
            locals.push(if at < function.parameters {
                extract(registers[ARGUMENTS[at]], 0, *width)
            } else {
                constant(0, *width)
            });
        }
        let memory = self.fresh_memory();
        let mut path = Path::default();
        if let Some(cpu) = self.program.place("percpu", "cpu") {
            let number = read(memory[cpu], constant(0, 32));
            path.assume(less(number, constant(16, 32)));
        }
        Ok(State {
            stack: vec![Item::End, Item::Stmt(Arc::clone(&function.body))],
            function,
            locals,
            proved: memory.clone(),
            accesses: Vec::new(),
            proved_stores: Vec::new(),
            machine_stores: Vec::new(),
            address,
            registers,
            frame: Frame::default(),
            memory,
            is_tail: false,
            path,
            active: Vec::new(),
            warming: None,
            passing: None,
            unrolled: 0,
            doubt: None,
        })
    }

    fn fresh_memory(&self) -> Vec<Term> {
        self.program.cells.iter().map(|cells| fresh_array("memory", cells.width)).collect()
    }

    pub fn explore(&mut self, mut todo: Vec<State>, refusals: &mut Vec<Refusal>) {
        while let Some(state) = todo.pop() {
            if (!refusals.is_empty() && !self.collect) || refusals.len() > 200 {
                return;
            }
            let at = state.address;
            match self.run_term(state) {
                Ok(waiting) => {
                    for (state, sync) in waiting {
                        self.synchronise(state, &sync, &mut todo, refusals);
                    }
                }
                Err(stop) => refusals.extend(refusal(at, stop)),
            }
            if self.solver.is_spent() {
                if refusals.is_empty() || self.collect {
                    let reason = crate::solver::Trouble::Spent.to_string();
                    refusals.push(Refusal { address: at, reason });
                }
                return;
            }
        }
    }

    fn synchronise(&mut self, state: State, sync: &Sync, todo: &mut Vec<State>, refusals: &mut Vec<Refusal>) {
        if let Sync::Loop { stmt, depth } = sync {
            self.at_loop(state, stmt, *depth, todo, refusals);
            return;
        }
        let waiting = match self.run_machine(&state, false) {
            Ok(waiting) => waiting,
            Err((at, stop)) => {
                refusals.extend(refusal(at, stop));
                return;
            }
        };
        for waits in waiting {
            let at = waits.before.address;
            match self.agree(waits.after, sync, &waits.event, &state) {
                Ok(Some(next)) => todo.push(next),
                Ok(None) => {}
                Err(stop) => refusals.extend(refusal(at, stop).map(|one| one.with(state.doubt.as_deref()))),
            }
            if !refusals.is_empty() && !self.collect {
                return;
            }
        }
    }

    /// The state after both have done the same, if there is one that was not seen before.
    fn agree(&mut self, mut now: State, sync: &Sync, event: &Event, before: &State) -> Result<Option<State>, Stop> {
        match sync {
            Sync::Return(value) => {
                let Event::Return = event else {
                    return refuse(format!("the term returns, but the machine {}", event.text()));
                };
                self.returned(&mut now, *value)?;
                Ok(None)
            }
            Sync::Call { function, arguments, result } => {
                let mut why = None;
                if let Event::Call { name, target, back } = event {
                    if name == function {
                        let mut called = now.clone();
                        match self.called(&mut called, function, *target, arguments, *result, *back) {
                            Ok(()) => return self.next_of(called),
                            // Perhaps gcc has inlined this call, and the machine is at another one.
                            Err(Stop::Refused(reason)) => why = Some(reason),
                            Err(other) => return Err(other),
                        }
                    }
                }
                if let Some(inlined) = self.function_named(function) {
                    let mut inside = before.clone();
                    inside.path = now.path.clone();
                    inside.stack.pop();
                    if let Some(reason) = &why {
                        inside.doubt = Some(format!("the call of {function} is not the term's: {reason}").into());
                    }
                    if let Err(stop) = self.enter(&mut inside, inlined, arguments, *result) {
                        return Err(why.map_or(stop, Stop::Refused));
                    }
                    return Ok(Some(inside));
                }
                if let Some(reason) = why {
                    return refuse(reason);
                }
                match self.primitive(&mut now, function, arguments, *result, event)? {
                    true => self.next_of(now),
                    false => refuse(format!("the term calls {function}, but the machine {}", event.text())),
                }
            }
            Sync::Loop { .. } => refuse("a loop where there is none"),
        }
    }

    /// Forgets what is dead; none if the state is covered by one that was seen.
    pub fn next_of(&mut self, mut state: State) -> Result<Option<State>, Stop> {
        Ok((!self.is_covered(&mut state)).then_some(state))
    }

    /// The machine returns: its result, its stack and the registers that it must keep.
    fn returned(&mut self, state: &mut State, value: Term) -> Result<(), Stop> {
        let width = self.program.prototypes.get(&self.function.name).and_then(|prototype| prototype.result);
        let expected = if state.is_tail { 0 } else { 8 };
        if crate::memory::offset(state.registers[RSP], self.entry.stack) != Some(expected) {
            return refuse("the stack pointer is not restored");
        }
        let base = equal(state.registers[RBP], self.entry.base);
        if !state.path.always(base, &mut self.solver)? {
            return refuse("rbp is not restored");
        }
        if !self.direction_is_clear(state)? {
            return refuse("the direction flag is set at a return");
        }
        if let Some(width) = width {
            let (given, meant) = (extract(state.registers[0], 0, width), crate::evaluate::fit(value, width)?);
            if !state.path.always(equal(given, meant), &mut self.solver)? {
                return refuse(differs("the result", given, meant));
            }
        }
        self.memory_agrees(state)
    }

    /// A call of the same function with the same arguments.
    fn called(
        &mut self,
        state: &mut State,
        function: &str,
        target: u64,
        arguments: &[Term],
        result: Option<usize>,
        back: Option<u64>,
    ) -> Result<(), Stop> {
        if !self.image.is_only(function, target) {
            return refuse(format!("several functions of the image are named {function}"));
        }
        if arguments.len() > ARGUMENTS.len() {
            return refuse(format!("{function} has arguments on the stack"));
        }
        for (at, value) in arguments.iter().enumerate() {
            let given = extract(state.registers[ARGUMENTS[at]], 0, value.width());
            if !state.path.always(equal(given, *value), &mut self.solver)? {
                return refuse(differs(&format!("argument {} of {function}", at + 1), given, *value));
            }
        }
        if !self.direction_is_clear(state)? {
            return refuse(format!("the direction flag is set when {function} is called"));
        }
        let touched = self.touched_by(function);
        self.memory_agrees_in(state, touched.as_deref())?;
        let Some(top) = crate::memory::offset(state.registers[RSP], self.entry.stack) else {
            return refuse("the stack pointer is at an unknown place");
        };
        // A jump at the end of a part that was called in place returns to the place of that call.
        let back = match back {
            Some(back) => Some(back),
            None if top < 0 => match state.frame.load(top, 8).value() {
                Some(back) => Some(back as u64),
                None => return refuse(format!("a jump to {function} with something on the stack")),
            },
            None => None,
        };
        let base = equal(state.registers[RBP], self.entry.base);
        if !state.path.always(base, &mut self.solver)? {
            return refuse(format!("rbp is not restored when {function} is called"));
        }
        self.called.insert(function.to_string());
        // What the call leaves behind.
        for number in self.image.clobbers(target).iter() {
            state.registers[*number] = fresh("clobbered", 64);
        }
        for flag in GENERAL + 2..DF {
            state.registers[flag] = fresh("flag", 8);
        }
        let width = self.program.prototypes.get(function).and_then(|prototype| prototype.result);
        let value = width.map(|width| fresh("result", width));
        if let Some(value) = value {
            state.registers[0] = if value.width() == 64 {
                value
            } else {
                crate::term::build::concat(fresh("high", 64 - value.width()), value)
            };
        }
        match back {
            Some(back) => {
                state.frame.drop_below(top + 8);
                state.registers[RSP] = crate::term::build::add_constant(self.entry.stack, (top + 8) as u64 as u128);
                state.address = back;
            }
            None if top == 0 => {
                state.frame.drop_below(0);
                state.is_tail = true;
            }
            None => return refuse(format!("a jump to {function} with the stack pointer above the entry's")),
        }
        self.finish(state, result, value.unwrap_or_else(|| constant(0, 64)))?;
        let writes = self.writes(function);
        self.havoc(state, writes.as_deref());
        Ok(())
    }

    /// The term goes on behind the call at which it waits.
    pub fn finish(&mut self, state: &mut State, result: Option<usize>, value: Term) -> Result<(), Stop> {
        state.stack.pop();
        if let Some(to) = result {
            state.locals[to] = crate::evaluate::fit(value, state.function.widths[to])?;
        }
        Ok(())
    }

    /// Memory may have changed: all of it, or these kinds of cells. There both sides see the same.
    pub fn havoc(&mut self, state: &mut State, writes: Option<&BTreeSet<usize>>) {
        for (cells, known) in self.program.cells.iter().enumerate() {
            if writes.is_none_or(|writes| writes.contains(&cells)) && !self.program.is_set_at_start(cells) {
                state.memory[cells] = fresh_array("memory", known.width);
                state.proved[cells] = state.memory[cells];
            }
        }
        if writes.is_none() {
            state.accesses.clear();
        }
    }

    /// Both have written the same, and the machine has written nothing but what the term has.
    pub fn memory_agrees(&mut self, state: &mut State) -> Result<(), Stop> {
        self.memory_agrees_in(state, None)
    }

    /// The same for these kinds of cells; none for all. What was stored elsewhere is compared later.
    fn memory_agrees_in(&mut self, state: &mut State, only: Option<&BTreeSet<usize>>) -> Result<(), Stop> {
        let counts = |cells: usize| only.is_none_or(|only| only.contains(&cells));
        let (now, later) =
            std::mem::take(&mut state.machine_stores).into_iter().partition(|(cells, ..)| counts(*cells));
        state.machine_stores = later;
        let now: Vec<(usize, Term, u64)> = now;
        for (cells, flat, address) in now {
            let meant: Vec<Term> =
                state.proved_stores.iter().filter(|(one, _)| *one == cells).map(|(_, flat)| *flat).collect();
            if meant.contains(&flat) {
                continue;
            }
            let mut some = constant(0, 1);
            meant.iter().for_each(|other| some = crate::term::build::or(some, equal(flat, *other)));
            if !state.path.always(some, &mut self.solver)? {
                let name = self.cells_name(cells);
                let place = self.image.describe(address);
                return refuse(format!("the machine writes {name}, the term does not, in {place}; found"));
            }
        }
        state.proved_stores.retain(|(cells, _)| !counts(*cells));
        for cells in (0..state.memory.len()).filter(|cells| counts(*cells)) {
            let (machine, term) = (state.memory[cells], state.proved[cells]);
            if machine == term {
                continue;
            }
            let known = &self.program.cells[cells];
            if self.layout.places[known.object] == crate::layout::Place::Nowhere {
                continue;
            }
            let size = self.program.objects[known.object].count * known.count;
            let index = fresh("index", 32);
            let same = equal(read(machine, index), read(term, index));
            let same = match u32::try_from(size) {
                Ok(size) => crate::term::build::or(not(less(index, constant(u128::from(size), 32))), same),
                Err(_) => same,
            };
            if !state.path.always(same, &mut self.solver)? {
                return refuse(format!("memory differs in {}", self.cells_name(cells)));
            }
            state.memory[cells] = term;
        }
        Ok(())
    }

    /// Instructions of a function that were not executed, to which only conditions lead that were, in one direction: the solver
    /// says that the other one is impossible. What a condition that was not executed leads to is not among them, nor what
    /// nothing leads to.
    pub fn unreachable(&self, range: &Range, all: &[Rc<Instruction>]) -> BTreeSet<u64> {
        let next = |one: &Rc<Instruction>| Image::successors(one, range);
        let is_covered = |at: &u64| self.covered.contains(at);
        let mut dead: BTreeSet<u64> = BTreeSet::new();
        for one in all.iter().filter(|one| is_covered(&one.address)) {
            let ways = next(one);
            if ways.iter().any(is_covered) {
                dead.extend(ways.iter().filter(|to| !is_covered(to)));
            }
        }
        loop {
            let before = dead.len();
            for one in all.iter().filter(|one| dead.contains(&one.address)).collect::<Vec<_>>() {
                dead.extend(next(one).into_iter().filter(|to| !is_covered(to)));
            }
            if dead.len() == before {
                return dead;
            }
        }
    }

    fn cells_name(&self, cells: usize) -> String {
        let known = &self.program.cells[cells];
        let object = &self.program.objects[known.object].name;
        if known.field.is_empty() {
            object.clone()
        } else {
            format!("{object}.{}", known.field)
        }
    }

    /// The kinds of cells that a call may read or write, by its term; none if it may be that others see memory meanwhile. gcc
    /// moves a store over a call that does not touch what it writes.
    fn touched_by(&mut self, function: &str) -> Option<Rc<BTreeSet<usize>>> {
        if let Some(known) = self.touches.get(function) {
            return known.clone();
        }
        let found = match (crate::primitives::writes(function), crate::primitives::reads(function)) {
            (Some(writes), Some(reads)) => {
                let list = writes.iter().chain(reads);
                let cells: Option<BTreeSet<usize>> =
                    list.map(|(object, field)| self.program.place(object, field)).collect();
                cells.map(Rc::new)
            }
            (Some(_), None) => None,
            (None, _) => self.function_named(function).and_then(|known| {
                let mut cells = BTreeSet::new();
                crate::state::read_cells(&known.body, &mut cells);
                self.statement_touches(&known.body, &mut cells).then(|| Rc::new(cells))
            }),
        };
        self.touches.insert(function.to_string(), found.clone());
        found
    }

    /// Adds what a statement writes, and what its calls touch; false if that is not known.
    fn statement_touches(&mut self, stmt: &crate::program::Stmt, out: &mut BTreeSet<usize>) -> bool {
        use crate::program::Stmt;
        match stmt {
            Stmt::Store(place, _) => {
                out.insert(place.cells);
                true
            }
            Stmt::Seq(a, b) | Stmt::If(_, a, b) => self.statement_touches(a, out) && self.statement_touches(b, out),
            Stmt::While(_, body) => self.statement_touches(body, out),
            Stmt::Call(_, function, _) => match self.touched_by(function) {
                Some(cells) => {
                    out.extend(cells.iter());
                    true
                }
                None => false,
            },
            _ => true,
        }
    }

    /// The kinds of cells that a call may write, by its term; none if it may be that others do meanwhile.
    pub fn writes(&mut self, function: &str) -> Option<Rc<BTreeSet<usize>>> {
        if let Some(known) = self.writes.get(function) {
            return known.clone();
        }
        let found = match crate::primitives::writes(function) {
            Some(list) => {
                let cells: Option<BTreeSet<usize>> =
                    list.iter().map(|(object, field)| self.program.place(object, field)).collect();
                cells.map(Rc::new)
            }
            None => match self.function_named(function) {
                Some(known) => {
                    let mut cells = BTreeSet::new();
                    self.statement_writes(&known.body, &mut cells).then(|| Rc::new(cells))
                }
                None => None,
            },
        };
        self.writes.insert(function.to_string(), found.clone());
        found
    }

    /// Adds what a statement writes; false if that is not known.
    pub fn statement_writes(&mut self, stmt: &crate::program::Stmt, out: &mut BTreeSet<usize>) -> bool {
        use crate::program::Stmt;
        match stmt {
            Stmt::Store(place, _) => {
                out.insert(place.cells);
                true
            }
            Stmt::Seq(a, b) | Stmt::If(_, a, b) => self.statement_writes(a, out) && self.statement_writes(b, out),
            Stmt::While(_, body) => self.statement_writes(body, out),
            Stmt::Call(_, function, _) => match self.writes(function) {
                Some(cells) => {
                    out.extend(cells.iter());
                    true
                }
                None => false,
            },
            _ => true,
        }
    }
}

/// What is said of two values that differ.
pub fn differs(what: &str, given: Term, meant: Term) -> String {
    let shown = crate::term::print::shown;
    format!("{what} differs: the machine has {}, the term {}", shown(given), shown(meant))
}

/// A stop as a refusal; what cannot happen is none.
pub fn refusal(address: u64, stop: Stop) -> Option<Refusal> {
    let reason = match stop {
        Stop::Impossible => return None,
        Stop::Event(event) => event.text(),
        Stop::Refused(reason) => reason,
        Stop::Trouble(trouble) => trouble.to_string(),
    };
    Some(Refusal { address, reason })
}
