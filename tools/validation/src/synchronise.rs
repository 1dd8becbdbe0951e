//! Both wait, the term for an event and the machine at one: whether it is the same, and how both go on.

use crate::engine::{refusal, Engine};
use crate::proved::Sync;
use crate::solver::Path;
use crate::state::{refuse, Event, Refusal, State, Stop};
use crate::term::Term;

/// What becomes of a state in which both wait.
enum Agreed {
    /// They have done the same, and go on.
    Both(Box<State>),
    /// They have done the same, and nothing is left to do, or it was seen.
    Ended,
    /// The machine is at something else than the term's call, on this path; and why a call of the same name is not the term's.
    Not(Path, Option<String>),
}

impl Agreed {
    fn both(state: State) -> Agreed {
        Agreed::Both(Box::new(state))
    }
}

impl Engine<'_> {
    /// Runs the machine to its events; what is to be explored from there on is added to `todo`.
    pub fn synchronise(&mut self, state: State, sync: &Sync, todo: &mut Vec<State>, refusals: &mut Vec<Refusal>) {
        match sync {
            Sync::Loop { stmt, depth } => return self.at_loop(state, stmt, *depth, todo, refusals),
            Sync::Left => return todo.push(state),
            Sync::Return(_) | Sync::Call { .. } => {}
        }
        if let Sync::Call { function, arguments, result } = sync {
            if self.fuses && self.function_named(function).is_some() && !self.image.may_call(state.address, function) {
                let at = state.address;
                match self.inlined(state, function, arguments, *result) {
                    Ok(next) => todo.extend(next),
                    Err(stop) => refusals.extend(refusal(at, stop)),
                }
                return;
            }
        }
        // The term is stuck at a cell that is none: the machine's address is that of a cell too.
        let mut state = state;
        if let Sync::Call { function, arguments, .. } = sync {
            if function.starts_with("arch_atomic_") {
                arguments.first().into_iter().for_each(|cell| state.path.assume(crate::primitives::is_cell(*cell)));
            }
        }
        let waiting = match self.run_machine(&state, false) {
            Ok(waiting) => waiting,
            Err((at, stop)) => {
                refusals.extend(refusal(at, stop));
                return;
            }
        };
        let ways = waiting.len();
        let mut others: Vec<(u64, Path, Option<String>)> = Vec::new();
        for waits in waiting {
            let at = waits.before.address;
            let mut after = waits.after;
            let agreed = match self.resolve(&mut after, sync) {
                Ok(sync) => self.agree(after, &sync, &waits.event),
                Err(stop) => Err(stop),
            };
            match agreed {
                Ok(Agreed::Both(next)) => todo.push(*next),
                Ok(Agreed::Ended) => {}
                Ok(Agreed::Not(path, why)) => others.push((at, path, why)),
                Err(stop) => refusals.extend(refusal(at, stop).map(|one| one.with(state.doubt.as_deref()))),
            }
            if !refusals.is_empty() && !self.collect {
                return;
            }
        }
        let Sync::Call { function, arguments, result } = sync else { return };
        if self.fuses && others.len() > 1 {
            // The machine has not moved: it is one state, on one of these paths.
            let mut path = state.path.clone();
            if others.len() < ways {
                path.assume_some(others.iter().map(|(_, path, _)| path));
            }
            others.truncate(1);
            others.iter_mut().for_each(|other| other.1 = path.clone());
        }
        for (at, path, why) in others {
            let mut state = State { path, ..state.clone() };
            if let Some(reason) = &why {
                state.doubt = Some(format!("the call of {function} is not the term's: {reason}").into());
            }
            match self.inlined(state, function, arguments, *result) {
                Ok(next) => todo.extend(next),
                Err(stop) => refusals.extend(refusal(at, why.map_or(stop, Stop::Refused))),
            }
        }
    }

    /// The term goes on in the function that it calls, while the machine stays: gcc has inlined this call.
    fn inlined(
        &mut self,
        mut state: State,
        function: &str,
        arguments: &[Term],
        result: Option<usize>,
    ) -> Result<Option<State>, Stop> {
        let Some(inlined) = self.function_named(function) else {
            return refuse(format!("{function} has no term of its own"));
        };
        state.stack.pop();
        self.enter(&mut state, inlined, arguments, result)?;
        if !self.fuses {
            return Ok((!self.is_covered(&mut state, false)?).then_some(state));
        }
        self.forget_locals(&mut state);
        Ok((!self.is_seen(&mut state, false)).then_some(state))
    }

    /// What becomes of a state in which the machine waits at an event.
    fn agree(&mut self, mut now: State, sync: &Sync, event: &Event) -> Result<Agreed, Stop> {
        match sync {
            Sync::Return(value) => {
                let Event::Return = event else {
                    return refuse(format!("the term returns, but the machine {}", event.text()));
                };
                self.returned(&mut now, *value)?;
                Ok(Agreed::Ended)
            }
            Sync::Call { function, arguments, result } => {
                if let (true, [vector]) = (crate::routines::is_jump(function), arguments.as_slice()) {
                    self.jumps(&mut now, function, event, *vector)?;
                    return Ok(Agreed::Ended);
                }
                let mut why = None;
                if let Event::Call { name, target, back } = event {
                    if name == function || self.image.is_only(function, *target) {
                        let mut called = now.clone();
                        match self.called(&mut called, function, *target, arguments, *result, *back) {
                            // A call that does not come back: the machine does nothing behind it.
                            Ok(()) if !self.image.returns(*target) => return Ok(Agreed::Ended),
                            Ok(()) => return Ok(self.next_of(called)?.map_or(Agreed::Ended, Agreed::both)),
                            // Perhaps gcc has inlined this call, and the machine is at another one.
                            Err(Stop::Refused(reason)) => why = Some(reason),
                            Err(other) => return Err(other),
                        }
                    }
                }
                if self.function_named(function).is_some() {
                    return Ok(Agreed::Not(now.path, why));
                }
                if let Some(reason) = why {
                    return refuse(reason);
                }
                match self.primitive(&mut now, function, arguments, *result, event)? {
                    true if crate::actions::leaves(function) => Ok(Agreed::Ended),
                    true => Ok(self.next_of(now)?.map_or(Agreed::Ended, Agreed::both)),
                    false => refuse(format!("the term calls {function}, but the machine {}", event.text())),
                }
            }
            Sync::Loop { .. } | Sync::Left => refuse("a loop where there is none"),
        }
    }

    /// Forgets what is dead; none if the state is covered by one that was seen.
    pub fn next_of(&mut self, mut state: State) -> Result<Option<State>, Stop> {
        Ok((!self.is_covered(&mut state, true)?).then_some(state))
    }
}
