//! Where term and machine code have to agree: at a call, a return, and in memory.

use std::collections::BTreeSet;

use crate::engine::{differs, Engine};
use crate::image::{ARGUMENTS, DF, GENERAL, GS, RBP, RSP};
use crate::state::{refuse, State, Stop};
use crate::term::build::{and, equal, extract, less, not, or, read};
use crate::term::{constant, fresh, fresh_array, Term};

impl Engine<'_> {
    /// The machine returns: its result, its stack and the registers that it must keep.
    pub fn returned(&mut self, state: &mut State, value: Term) -> Result<(), Stop> {
        let width = self.program.prototypes.get(&self.function.name).and_then(|prototype| prototype.result);
        let expected = if state.is_tail { 0 } else { 8 };
        if crate::memory::offset(state.registers[RSP], self.entry.stack) != Some(expected) {
            return refuse("the stack pointer is not restored");
        }
        let base = equal(state.registers[RBP], self.entry.base);
        if !state.path.always(base, &mut self.solver)? {
            return refuse("rbp is not restored");
        }
        for number in crate::routines::gives_back(&self.function.name) {
            let (given, meant) = (state.registers[*number], self.entry_registers[*number]);
            self.require(state, &format!("register {number} at the return"), given, meant)?;
        }
        if !self.direction_is_clear(state)? {
            return refuse("the direction flag is set at a return");
        }
        if state.registers[GS] != self.entry.percpu {
            return refuse("GS is not the CPU's record at a return");
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
    pub fn called(
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
            let meaning = self.passed(function, at, *value)?;
            let meant = meaning.as_ref().map_or(*value, |meaning| meaning.address);
            let given = extract(state.registers[ARGUMENTS[at]], 0, meant.width());
            if !state.path.always(equal(given, meant), &mut self.solver)? {
                return refuse(differs(&format!("argument {} of {function}", at + 1), given, meant));
            }
            let block = self.is_host_block(state, function, at, *value)?;
            let required = meaning.map(|meaning| meaning.exists).or(block);
            if let Some(required) = required {
                if !state.path.always(required, &mut self.solver)? {
                    return refuse(format!("argument {} of {function} may be another one than it requires", at + 1));
                }
            }
        }
        self.check_requirements(state, function, arguments)?;
        if !self.direction_is_clear(state)? {
            return refuse(format!("the direction flag is set when {function} is called"));
        }
        if state.registers[GS] != self.entry.percpu {
            return refuse(format!("GS is not the CPU's record when {function} is called"));
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
        if let Some(writes) = self.writes(function) {
            self.havoc(state, Some(&writes));
        } else if let Some(writes) = self.keeps_locks(function) {
            self.others_move(state, &writes);
        } else {
            state.locks.clear();
            self.havoc(state, None);
        }
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
            let may_change = !self.program.is_set_at_start(cells) && !self.stays.contains(&cells);
            if may_change && writes.is_none_or(|writes| writes.contains(&cells)) {
                state.memory[cells] = fresh_array("memory", known.width);
                state.proved[cells] = state.memory[cells];
            }
        }
        if writes.is_none() {
            state.accesses.clear();
            state.early.clear();
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
            let mut some = constant(0, 1);
            for one in state.proved_stores.iter().filter(|one| one.cells == cells) {
                some = or(some, and(one.guard, equal(flat, one.flat)));
            }
            if !state.path.always(some, &mut self.solver)? {
                let name = self.cells_name(cells);
                let place = self.image.describe(address);
                return refuse(format!("the machine writes {name}, the term does not, in {place}; found"));
            }
        }
        state.proved_stores.retain(|one| !counts(one.cells));
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
                Ok(size) => or(not(less(index, constant(u128::from(size), 32))), same),
                Err(_) => same,
            };
            if !state.path.always(same, &mut self.solver)? {
                return refuse(format!("memory differs in {}", self.cells_name(cells)));
            }
            state.memory[cells] = term;
        }
        Ok(())
    }

    /// What both have written the same of is compared now, so that a join does not forget that it is the same; the rest later.
    pub fn reconcile(&mut self, state: &mut State) -> Result<(), Stop> {
        let differs = |cells: &usize| state.memory[*cells] != state.proved[*cells];
        let mut open: BTreeSet<usize> = (0..state.memory.len()).filter(differs).collect();
        open.extend(state.machine_stores.iter().map(|(cells, ..)| *cells));
        for cells in open {
            let mut attempt = state.clone();
            match self.memory_agrees_in(&mut attempt, Some(&BTreeSet::from([cells]))) {
                Ok(()) => *state = attempt,
                Err(Stop::Refused(_)) => {}
                Err(other) => return Err(other),
            }
        }
        Ok(())
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
}
