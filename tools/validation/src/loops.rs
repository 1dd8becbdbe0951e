//! Loops: cut where the term is at the start of the body and the machine at a head, or at an event.
//!
//! At the cut, what the loop changes becomes any value, but for relations between the machine's places and the term's locals.
//! Which ones hold is guessed at the entry, thinned by one iteration from there, and then by Houdini's method: assumed
//! together, those that an iteration does not restore are dropped, until all are restored. Only that last round counts.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::engine::{refusal, Engine};
use crate::image::{DF, GENERAL, RSP};
use crate::memory::offset;
use crate::proved::Sync;
use crate::relation::{compared, held, put, spots, Relation, Spot};
use crate::state::{assigned_locals, refuse, Event, LoopKey, Refusal, State, Stop};
use crate::syntax::{Expr, Stmt};
use crate::term::build::less;
use crate::term::{constant, fresh, Term};

/// What came of cutting a loop at a place.
enum Cut {
    /// The states in which the term has left the loop.
    Done(Vec<State>),
    /// The machine has not done yet what the term has, or does not come back to this place.
    Elsewhere,
    /// At its event the machine has done what the term has not: it does not come back to the loop.
    Behind,
}

/// Heads of the machine's loops that are passed in search of the one where a loop can be cut.
const PASSED: u32 = 4;

/// Loops of the term that are executed, not cut, where the machine is behind its own.
const MOST_BEHIND: u32 = 4;

/// A loop in one round.
#[derive(Debug, Clone, Default)]
pub struct Loop {
    pub relations: Vec<(Spot, Relation)>,
    pub refuted: BTreeSet<usize>,
    pub added: Vec<(Spot, Relation)>,
    /// At the entry, and at the start of the iteration.
    pub entry: HashMap<Spot, Term>,
    pub first: Vec<Term>,
    pub start: HashMap<Spot, Term>,
    pub locals: Vec<Term>,
    pub modified: Vec<usize>,
    pub strided: BTreeSet<Spot>,
    /// Of the stack pointer.
    pub top: Option<i64>,
    /// Whether an iteration has come back to the place of the cut, or to another one.
    pub is_back: bool,
    pub is_elsewhere: bool,
}

impl Engine<'_> {
    pub fn at_loop(
        &mut self,
        mut state: State,
        stmt: &Arc<Stmt>,
        depth: usize,
        todo: &mut Vec<State>,
        refusals: &mut Vec<Refusal>,
    ) {
        let at = state.address;
        match self.is_unrolled(&mut state, stmt) {
            Ok(true) => {
                todo.push(state);
                return;
            }
            Ok(false) => {}
            Err(stop) => {
                refusals.extend(refusal(at, stop));
                return;
            }
        }
        let waiting = match self.run_machine(&state, true) {
            Ok(waiting) => waiting,
            Err((at, stop)) => {
                refusals.extend(refusal(at, stop));
                return;
            }
        };
        let place = Arc::as_ptr(stmt) as usize;
        let mut waiting: Vec<_> = waiting.into_iter().map(|waits| (waits, 0)).collect();
        while let Some((waits, passed)) = waiting.pop() {
            let at_head = matches!(waits.event, Event::Header);
            let mut machine = if at_head { waits.after } else { waits.before };
            let at = machine.address;
            if let Err(stop) = self.resolve(&mut machine, &Sync::Left) {
                refusals.extend(refusal(at, stop));
                continue;
            }
            let key = LoopKey { stmt: place, depth, address: at };
            let active = machine.active.iter().find(|(known, _)| *known == key).map(|(_, number)| *number);
            let same = machine.active.iter().filter(|(one, _)| (one.stmt, one.depth) == (place, depth));
            let done = match active {
                None if machine.warming == Some((place, depth)) => {
                    for (_, number) in same {
                        self.loops[*number].is_elsewhere = true;
                    }
                    Ok(())
                }
                Some(number) => self.iterated(machine, number),
                None if same.count() >= 3 => refuse("a loop without a place where it can be cut"),
                None => match self.cut(&machine, key, stmt, at_head.then_some(passed < PASSED), refusals) {
                    Ok(Cut::Behind) => {
                        todo.push(State { unrolled: machine.unrolled + 1, ..machine });
                        Ok(())
                    }
                    Ok(Cut::Done(exits)) => self.go_on_behind(exits, todo),
                    Ok(Cut::Elsewhere) => match self.run_machine(&State { passing: Some(at), ..machine }, true) {
                        Ok(more) => {
                            waiting.extend(more.into_iter().map(|waits| (waits, passed + 1)));
                            Ok(())
                        }
                        Err((_, stop)) => Err(stop),
                    },
                    Err(stop) => Err(stop),
                },
            };
            if let Err(stop) = done {
                refusals.extend(refusal(at, stop));
            }
            if !refusals.is_empty() && !self.collect {
                return;
            }
        }
    }

    /// Behind an iteration: which relations still hold.
    fn iterated(&mut self, mut state: State, number: usize) -> Result<(), Stop> {
        self.loops[number].is_back = true;
        let relations = self.loops[number].relations.clone();
        for (at, (spot, relation)) in relations.iter().enumerate() {
            if self.loops[number].refuted.contains(&at) {
                continue;
            }
            let value = held(&mut state, *spot);
            if !state.path.always(relation.holds(value, &state.locals), &mut self.solver)? {
                self.loops[number].refuted.insert(at);
                if let Relation::Same(_) = relation {
                    self.find_stride(number, *spot, value, &state.locals);
                }
            }
        }
        if !self.loops[number].refuted.is_empty() {
            return Ok(());
        }
        if offset(state.registers[RSP], self.entry.stack) != self.loops[number].top {
            return refuse("the stack pointer moves in a loop");
        }
        if state.registers[crate::image::GS] != self.entry.percpu || !self.direction_is_clear(&mut state)? {
            return refuse("a loop changes the direction flag or a segment");
        }
        self.memory_agrees(&mut state)
    }

    /// `passes`: whether a head of the machine's loop may be passed; none at an event.
    fn cut(
        &mut self,
        entry: &State,
        key: LoopKey,
        stmt: &Arc<Stmt>,
        passes: Option<bool>,
        refusals: &mut Vec<Refusal>,
    ) -> Result<Cut, Stop> {
        let may_pass = passes == Some(true);
        let is_first = entry.warming.is_none() && entry.unrolled < MOST_BEHIND;
        let mut entry = entry.clone();
        match self.memory_agrees(&mut entry) {
            Err(Stop::Refused(_)) if may_pass => return Ok(Cut::Elsewhere),
            Err(Stop::Refused(_)) if passes.is_none() && is_first => return Ok(Cut::Behind),
            other => other?,
        }
        let Some(top) = offset(entry.registers[RSP], self.entry.stack) else {
            return refuse("the stack pointer is at an unknown place");
        };
        if entry.registers[crate::image::GS] != self.entry.percpu || !self.direction_is_clear(&mut entry)? {
            return refuse("the direction flag or a segment has changed before a loop");
        }
        entry.frame.drop_below(top);
        let mut changed = BTreeSet::new();
        assigned_locals(stmt, &mut changed);
        let modified: Vec<usize> = changed.into_iter().collect();
        let spots = spots(&entry);
        let mut first = Loop {
            first: entry.locals.clone(),
            locals: entry.locals.clone(),
            modified: modified.clone(),
            top: Some(top),
            ..Loop::default()
        };
        for spot in &spots {
            let value = held(&mut entry, *spot);
            first.entry.insert(*spot, value);
            first.relations.push((*spot, Relation::Same(value)));
            self.guess(&mut entry, *spot, value, &modified, &mut first.relations)?;
        }
        first.start = first.entry.clone();
        // Locals too may be what they were whenever the machine is here, or below what they are compared with.
        let mut bounds = Vec::new();
        compared(stmt, &mut bounds);
        for &local in &modified {
            let value = entry.locals[local];
            first.relations.push((Spot::Local(local), Relation::Same(value)));
            let mut below = vec![constant(2, value.width())];
            for (_, bound) in bounds.iter().filter(|(one, _)| *one == local) {
                match bound {
                    Expr::Constant(bound) => {
                        below.extend([0, 1].map(|more| constant(u128::from(*bound) + more, value.width())));
                    }
                    Expr::Local(other) if !modified.contains(other) => below.push(entry.locals[*other]),
                    _ => {}
                }
            }
            for bound in below.into_iter().filter(|bound| bound.width() == value.width()) {
                if entry.path.always(less(value, bound), &mut self.solver)? {
                    first.relations.push((Spot::Local(local), Relation::Below(bound)));
                }
            }
        }

        // One iteration from the true entry: what is plainly wrong, and how far places move.
        let mut warm = entry.clone();
        warm.warming = Some((key.stmt, key.depth));
        let (trial, _) = self.trial(&mut warm, key, first.clone(), &mut Vec::new());
        if may_pass && self.loops[trial].is_elsewhere && !self.loops[trial].is_back {
            return Ok(Cut::Elsewhere);
        }
        let mut relations = self.remaining(first.relations.clone(), trial);

        for _ in 0..12 {
            let (mut state, next) = self.havoced(&entry, &first, stmt, &spots, relations.clone());
            state.warming = entry.warming;
            let condition = match &**stmt {
                Stmt::While(condition, _) => {
                    match self.evaluated(&mut state, |evaluator| evaluator.condition(condition)) {
                        // The loop cannot be entered again.
                        Err(Stop::Impossible) => constant(0, 1),
                        other => other?,
                    }
                }
                _ => return refuse("a loop of an unknown form"),
            };
            if condition.is_false() {
                return Ok(Cut::Done(Vec::new()));
            }
            state.path.assume(condition);
            if !state.path.may(constant(1, 1), &mut self.solver)? {
                return Ok(Cut::Done(Vec::new()));
            }
            let mut found = Vec::new();
            let (trial, exits) = self.trial(&mut state, key, next, &mut found);
            if self.solver.is_spent() {
                refusals.extend(found);
                return Err(Stop::Trouble(crate::solver::Trouble::Spent));
            }
            if self.loops[trial].refuted.is_empty() {
                refusals.extend(found);
                return Ok(Cut::Done(exits));
            }
            relations = self.remaining(relations, trial);
        }
        refuse("no relation between the loop of the term and that of the machine is preserved")
    }

    /// Goes on behind a loop. A state that has left the loop around it too is not noted as seen: what that loop's round finds may
    /// not count.
    fn go_on_behind(&mut self, exits: Vec<State>, todo: &mut Vec<State>) -> Result<(), Stop> {
        for mut state in exits {
            if !self.is_inside(&state) || !self.is_covered(&mut state, false)? {
                todo.push(state);
            }
        }
        Ok(())
    }

    /// Explores the loop's body from a cut, and says in `refusals` what went wrong. The number under which the round is kept, and
    /// the states in which the term has left the loop.
    fn trial(
        &mut self,
        state: &mut State,
        key: LoopKey,
        round: Loop,
        refusals: &mut Vec<Refusal>,
    ) -> (usize, Vec<State>) {
        let number = self.loops.len();
        self.loops.push(round);
        state.active.push((key, number));
        state.passing = Some(state.address);
        state.number = 0;
        let collect = std::mem::replace(&mut self.collect, true);
        let outer = (self.round.replace(number), std::mem::take(&mut self.exits));
        let mut found = Vec::new();
        self.explore(state.clone(), &mut found);
        let exits = std::mem::take(&mut self.exits);
        (self.round, self.exits) = outer;
        self.collect = collect;
        refusals.extend(found);
        (number, exits)
    }

    fn remaining(&self, relations: Vec<(Spot, Relation)>, trial: usize) -> Vec<(Spot, Relation)> {
        let trial = &self.loops[trial];
        let kept = relations.into_iter().enumerate().filter(|(at, _)| !trial.refuted.contains(at));
        kept.map(|(_, relation)| relation).chain(trial.added.iter().copied()).collect()
    }

    /// The state at the cut in any iteration.
    fn havoced(
        &mut self,
        entry: &State,
        first: &Loop,
        stmt: &Arc<Stmt>,
        spots: &[Spot],
        relations: Vec<(Spot, Relation)>,
    ) -> (State, Loop) {
        let mut state = entry.clone();
        for &local in &first.modified {
            let mut mine = relations.iter().filter(|(spot, _)| *spot == Spot::Local(local));
            let known = mine.find_map(|(_, relation)| relation.value(&state.locals, state.locals[local].width()));
            state.locals[local] = known.unwrap_or_else(|| fresh("local", state.locals[local].width()));
        }
        let mut writes = BTreeSet::new();
        let is_known = self.statement_writes(stmt, &mut writes);
        if !is_known {
            state.locks.clear();
        }
        self.havoc(&mut state, is_known.then_some(&writes));
        let mut next = Loop { relations, start: HashMap::new(), locals: state.locals.clone(), ..first.clone() };
        next.refuted.clear();
        next.added.clear();
        for &spot in spots {
            let width = first.entry.get(&spot).map_or(64, |value| value.width());
            let mine: Vec<Relation> =
                next.relations.iter().filter(|(one, _)| *one == spot).map(|(_, relation)| *relation).collect();
            let value = mine.iter().find_map(|relation| relation.value(&state.locals, width));
            let value = value.unwrap_or_else(|| fresh("place", width));
            put(&mut state, spot, value);
            next.start.insert(spot, value);
            for relation in &mine {
                let holds = relation.holds(value, &state.locals);
                state.path.assume(holds);
            }
        }
        for (spot, relation) in &next.relations {
            if let Spot::Local(local) = spot {
                state.path.assume(relation.holds(state.locals[*local], &state.locals));
            }
        }
        for flag in GENERAL + 2..DF {
            state.registers[flag] = fresh("flag", 8);
        }
        (state, next)
    }
}
