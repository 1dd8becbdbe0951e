//! The product of a term and its machine code: both are run to their next event, and there they must agree.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use wcet_binary::lift::il::Instruction;

use crate::image::{Image, Range, ARGUMENTS, DF, GENERAL, GS, RBP, RSP};
use crate::layout::Layout;
use crate::loops::Loop;
use crate::order::Queue;
use crate::program::{Function, Program};
use crate::solver::{Path, Solver};
use crate::state::{refuse, Frame, Item, Refusal, State, Stop};
use crate::term::build::{extract, less, read};
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
    /// The user's base of GS.
    pub user: Term,
}

/// An access to an atomic cell, or to a device's register, by one instruction.
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
    /// The value that a device's register reads as, while the instruction that accesses it is executed.
    pub device: Option<Term>,
    pub touched: Vec<Touch>,
    pub steps: u64,
    /// Addresses of instructions that have been executed.
    pub covered: BTreeSet<u64>,
    pub loops: Vec<Loop>,
    pub seen: HashMap<Vec<u32>, Vec<BTreeSet<Vec<u32>>>>,
    pub merged: u64,
    /// By what must be the same for a join: how often a place was visited, and the last state there.
    pub places: HashMap<Vec<u64>, (u32, State)>,
    /// Numbers of states in whose place a join is explored.
    pub replaced: HashSet<u64>,
    pub states: u64,
    /// Refusals do not end the exploration.
    pub collect: bool,
    /// Calls of functions of the layers are executed in place, all others are events, whatever the image has: as `next` of
    /// `Semantics.v` does it.
    pub is_plain: bool,
    /// Paths of the term that meet while the machine stays are one state.
    pub fuses: bool,
    /// The round of the loop that is being cut, and the states in which the term has left that loop: they go on when it is known
    /// which round is the last.
    pub round: Option<usize>,
    pub exits: Vec<State>,
    pub refusals: Vec<Refusal>,
    /// Functions that the machine calls, and that are taken to do what their terms say.
    pub called: BTreeSet<String>,
    pub function: Arc<Function>,
    /// What general registers held at the entry, and what no call changes.
    pub entry_registers: Vec<Term>,
    pub stays: BTreeSet<usize>,
    /// Which of the ways to enter a routine, and the frame that the processor has saved then.
    pub variant: u32,
    pub entry_frame: Vec<Term>,
    pub writes: HashMap<String, Option<Rc<BTreeSet<usize>>>>,
    pub touches: HashMap<String, Option<Rc<BTreeSet<usize>>>>,
    pub keeps: HashMap<String, Option<Rc<BTreeSet<usize>>>>,
}

impl<'a> Engine<'a> {
    pub fn new(program: &'a Program, image: &'a Image<'a>, layout: &'a Layout, function: Arc<Function>) -> Engine<'a> {
        let stays = crate::routines::stays(program, &function.name);
        Engine {
            program,
            image,
            layout,
            solver: Solver::new(),
            entry: Engine::fresh_entry(),
            mode: LoopMode::Cut,
            injected: None,
            device: None,
            touched: Vec::new(),
            steps: 0,
            covered: BTreeSet::new(),
            loops: Vec::new(),
            seen: HashMap::new(),
            merged: 0,
            places: HashMap::new(),
            replaced: HashSet::new(),
            states: 0,
            collect: false,
            is_plain: false,
            fuses: false,
            round: None,
            exits: Vec::new(),
            refusals: Vec::new(),
            called: BTreeSet::new(),
            function,
            entry_registers: Vec::new(),
            stays,
            variant: 0,
            entry_frame: Vec::new(),
            writes: HashMap::new(),
            touches: HashMap::new(),
            keeps: HashMap::new(),
        }
    }

    fn fresh_entry() -> Entry {
        let name = |name| fresh(name, 64);
        Entry { stack: name("rsp"), percpu: name("gs"), back: name("return"), base: name("rbp"), user: name("user") }
    }

    /// Explores all states from the function's entry on; what remains in `refusals` is why it is not validated.
    pub fn validate(&mut self, start: u64, mode: LoopMode, fuses: bool, limit: u64) {
        crate::term::clear();
        self.solver.restart(limit);
        self.entry = Engine::fresh_entry();
        self.mode = mode;
        self.fuses = fuses;
        self.covered.clear();
        self.loops.clear();
        self.seen.clear();
        self.places.clear();
        self.replaced.clear();
        self.states = 0;
        self.refusals.clear();
        self.called.clear();
        self.collect = false;
        self.round = None;
        self.exits.clear();
        match self.start(start) {
            Ok(state) => {
                let mut refusals = Vec::new();
                self.explore(state, &mut refusals);
                self.refusals = refusals;
            }
            Err(stop) => self.refusals = refusal(start, stop).into_iter().collect(),
        }
    }

    /// The state at the entry of the function, with the machine at this address.
    pub fn start(&mut self, address: u64) -> Result<State, Stop> {
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
        let mut state = State {
            stack: vec![Item::End, Item::Stmt(Arc::clone(&function.body))],
            function,
            locals,
            proved: memory.clone(),
            accesses: Vec::new(),
            early: Vec::new(),
            locks: Vec::new(),
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
            number: 0,
            unrolled: 0,
            selectors: Vec::new(),
            doubt: None,
            host_stack: None,
        };
        self.assume_requirements(&mut state);
        self.enter_with_addresses(&mut state)?;
        self.enter_routine(&mut state)?;
        self.entry_registers = state.registers[..GENERAL].to_vec();
        Ok(state)
    }

    fn fresh_memory(&self) -> Vec<Term> {
        self.program.cells.iter().map(|cells| fresh_array("memory", cells.width)).collect()
    }

    pub fn explore(&mut self, first: State, refusals: &mut Vec<Refusal>) {
        let mut queue = Queue::default();
        let mut todo = vec![first];
        loop {
            todo.drain(..).for_each(|state| queue.push(self.program, state));
            let Some(state) = queue.pop(self) else { return };
            if self.replaced.contains(&state.number) {
                continue;
            }
            if (!refusals.is_empty() && !self.collect) || refusals.len() > 200 {
                return;
            }
            if !self.is_inside(&state) {
                self.exits.push(state);
                continue;
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

    /// Whether the term is in the loop that is being cut, or none is.
    pub fn is_inside(&self, state: &State) -> bool {
        self.round.is_none_or(|round| state.active.iter().any(|(_, number)| *number == round))
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
