//! Runs the term to its next point of synchronisation, as `next` of `Semantics.v`.

use std::sync::Arc;

use crate::contracts::ARCH;
use crate::engine::{Engine, LoopMode};
use crate::evaluate::{fit, Evaluator};
use crate::primitives::{self, Inline};
use crate::program::Function;
use crate::state::{refuse, Item, State, Stop, Written};
use crate::syntax::{Condition, Expr, Stmt};
use crate::term::build::{not, store};
use crate::term::{constant, Term};

/// Where the term waits for the machine.
#[derive(Debug, Clone)]
pub enum Sync {
    Return(Term),
    Call {
        function: String,
        arguments: Vec<Term>,
        result: Option<usize>,
    },
    /// At the start of a loop's body.
    Loop {
        stmt: Arc<Stmt>,
        depth: usize,
    },
    /// Behind a loop that was cut.
    Left,
}

impl Engine<'_> {
    /// The states in which the term waits.
    pub fn run_term(&mut self, state: State) -> Result<Vec<(State, Sync)>, Stop> {
        let loops = state.active.len();
        let (mut out, mut todo) = (Vec::new(), vec![state]);
        let mut fuel = 20_000;
        while let Some(mut state) = todo.pop() {
            loop {
                if state.active.len() < loops {
                    out.push((state, Sync::Left));
                    break;
                }
                fuel -= 1;
                if fuel == 0 {
                    return refuse("the term runs without an event");
                }
                match self.step_term(&mut state, &mut todo) {
                    Ok(None) => {}
                    Ok(Some(sync)) => {
                        out.push((state, sync));
                        break;
                    }
                    Err(Stop::Impossible) => break,
                    Err(other) => return Err(other),
                }
            }
        }
        Ok(if self.fuses { self.fused_by_sync(out) } else { out })
    }

    /// One step; other branches are put aside.
    fn step_term(&mut self, state: &mut State, aside: &mut Vec<State>) -> Result<Option<Sync>, Stop> {
        let program = self.program;
        let Some(item) = state.stack.pop() else { return refuse("the term's stack is empty") };
        let stmt = match item {
            Item::End => {
                state.stack.push(Item::End);
                return Ok(Some(Sync::Return(constant(0, 64))));
            }
            Item::Return { .. } => {
                state.stack.push(item);
                return self.return_from(state, constant(0, 64));
            }
            Item::Loop(stmt) | Item::Stmt(stmt) => stmt,
        };
        match &*stmt {
            Stmt::Skip => {}
            Stmt::Seq(a, b) => {
                state.stack.push(Item::Stmt(Arc::clone(b)));
                state.stack.push(Item::Stmt(Arc::clone(a)));
            }
            Stmt::Assign(to, e) => {
                let value = self.evaluated(state, |evaluator| evaluator.expr(e))?;
                state.locals[*to] = fit(value, state.function.widths[*to])?;
            }
            Stmt::Store(place, e) => {
                let (at, value) = self.evaluated(state, |evaluator| {
                    let (index, element) = (evaluator.expr(&place.index)?, evaluator.expr(&place.element)?);
                    let value = fit(evaluator.expr(e)?, program.cells[place.cells].width)?;
                    Ok((evaluator.place(place.cells, index, element), value))
                })?;
                store_proved(state, at.cells, at.flat, value);
            }
            Stmt::If(c, a, b) => {
                let condition = self.evaluated(state, |evaluator| evaluator.condition(c))?;
                let (then, otherwise) = self.branches(state, condition)?;
                if let (true, Some(mut other)) = (then, otherwise) {
                    other.stack.push(Item::Stmt(Arc::clone(b)));
                    aside.push(other);
                    state.path.assume(condition);
                    state.stack.push(Item::Stmt(Arc::clone(a)));
                } else {
                    state.stack.push(Item::Stmt(Arc::clone(if then { a } else { b })));
                }
            }
            Stmt::While(c, body) => {
                let condition = self.evaluated(state, |evaluator| evaluator.condition(c))?;
                let (then, mut otherwise) = self.branches(state, condition)?;
                let depth = state.stack.len();
                if state.warming == Some((Arc::as_ptr(&stmt) as usize, depth)) {
                    if !then {
                        return Err(Stop::Impossible);
                    }
                    otherwise = None;
                }
                if !then {
                    state.leave_loops();
                    return Ok(None);
                }
                if let Some(mut other) = otherwise {
                    other.leave_loops();
                    aside.push(other);
                }
                state.path.assume(condition);
                state.stack.push(Item::Loop(Arc::clone(&stmt)));
                state.stack.push(Item::Stmt(Arc::clone(body)));
                return Ok(Some(Sync::Loop { stmt, depth }));
            }
            Stmt::Break => {
                loop {
                    match state.stack.pop() {
                        Some(Item::Stmt(_)) => {}
                        Some(Item::Loop(_)) => break,
                        _ => return refuse("the term leaves a loop that there is not"),
                    }
                }
                state.leave_loops();
            }
            Stmt::Return(e) => {
                let value = self.evaluated(state, |evaluator| evaluator.expr(e))?;
                while matches!(state.stack.last(), Some(Item::Stmt(_) | Item::Loop(_))) {
                    state.stack.pop();
                }
                state.leave_loops();
                if matches!(state.stack.last(), Some(Item::End)) {
                    return Ok(Some(Sync::Return(value)));
                }
                return self.return_from(state, value);
            }
            Stmt::Call(result, name, values) => {
                let arguments = self.evaluated(state, |evaluator| {
                    values.iter().map(|value| evaluator.expr(value)).collect::<Result<Vec<Term>, Stop>>()
                })?;
                let widths = program.prototypes.get(name).map(|one| one.parameters.clone()).unwrap_or_default();
                if widths.len() != arguments.len() {
                    return refuse(format!("the term calls {name} with another number of arguments"));
                }
                let arguments: Result<Vec<Term>, Stop> =
                    arguments.iter().zip(widths).map(|(value, width)| fit(*value, width)).collect();
                let arguments = arguments?;
                if self.is_plain || !self.image.has(name) {
                    let entered = self.function_named(name).filter(|one| !self.is_plain || one.layer != ARCH);
                    if let Some(function) = entered {
                        self.enter(state, function, &arguments, *result)?;
                        return Ok(None);
                    }
                }
                if !self.is_plain && !self.image.has(name) {
                    match (name.as_str(), arguments.as_slice()) {
                        ("arch_own", [lock]) => state.owns(*lock),
                        ("arch_disown", [lock]) => state.disowns(*lock),
                        _ => {}
                    }
                    if let Inline::Done = primitives::inline(self, state, name, &arguments, *result)? {
                        return Ok(None);
                    }
                }
                state.stack.push(Item::Stmt(Arc::clone(&stmt)));
                return Ok(Some(Sync::Call { function: name.clone(), arguments, result: *result }));
            }
        }
        Ok(None)
    }

    /// A function of the program by a name that is its alone.
    pub fn function_named(&self, name: &str) -> Option<Arc<Function>> {
        let is_one = !self.program.ambiguous.contains(name);
        self.program.functions.get(name).filter(|_| is_one).map(Arc::clone)
    }

    /// Evaluates, and assumes that the term is not stuck.
    pub fn evaluated<T>(
        &mut self,
        state: &mut State,
        work: impl FnOnce(&mut Evaluator<'_>) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let mut evaluator = Evaluator::new(self.program, state);
        let value = work(&mut evaluator)?;
        let assumptions = std::mem::take(&mut evaluator.assumptions);
        for assumption in assumptions {
            if assumption.is_false() {
                return Err(Stop::Impossible);
            }
            state.path.assume(assumption);
        }
        Ok(value)
    }

    /// Whether the condition may hold; and a copy where it does not, if that may be. A path on which neither can be ends.
    fn branches(&mut self, state: &mut State, condition: Term) -> Result<(bool, Option<State>), Stop> {
        let then = state.path.may(condition, &mut self.solver)?;
        let otherwise = state.path.may(not(condition), &mut self.solver)?;
        if !then && !otherwise {
            return Err(Stop::Impossible);
        }
        let copy = otherwise.then(|| {
            let mut copy = state.clone();
            if then {
                copy.path.assume(not(condition));
            }
            copy
        });
        Ok((then, copy))
    }

    /// Executes a call in place.
    pub fn enter(
        &mut self,
        state: &mut State,
        function: Arc<Function>,
        arguments: &[Term],
        result: Option<usize>,
    ) -> Result<(), Stop> {
        if function.parameters != arguments.len() {
            return refuse(format!("the term calls {} with another number of arguments", function.name));
        }
        let depth = state.stack.iter().filter(|item| matches!(item, Item::Return { .. })).count();
        if depth > 40 {
            return refuse("calls nest too deep");
        }
        let mut locals: Vec<Term> = Vec::with_capacity(function.widths.len());
        for (value, width) in arguments.iter().zip(&function.widths) {
            locals.push(fit(*value, *width)?);
        }
        locals.extend(function.widths[arguments.len()..].iter().map(|width| constant(0, *width)));
        let caller = std::mem::replace(&mut state.function, Arc::clone(&function));
        let locals = std::mem::replace(&mut state.locals, locals);
        state.stack.push(Item::Return { result, locals, caller });
        state.stack.push(Item::Stmt(Arc::clone(&function.body)));
        Ok(())
    }

    fn return_from(&mut self, state: &mut State, value: Term) -> Result<Option<Sync>, Stop> {
        match state.stack.pop() {
            Some(Item::Return { result, locals, caller }) => {
                state.locals = locals;
                state.function = caller;
                if let Some(to) = result {
                    state.locals[to] = fit(value, state.function.widths[to])?;
                }
                Ok(None)
            }
            _ => refuse("the term returns to nowhere"),
        }
    }

    /// Whether a loop is executed as often as it runs, not cut.
    pub fn is_unrolled(&self, state: &mut State, stmt: &Stmt) -> Result<bool, Stop> {
        match self.mode {
            LoopMode::Cut => Ok(false),
            LoopMode::Mixed => Ok(counts_from_constant(stmt, state)),
            LoopMode::Unroll(limit) => {
                state.unrolled += 1;
                if state.unrolled > limit {
                    return refuse("a loop runs more often than it is unrolled");
                }
                Ok(true)
            }
        }
    }
}

/// Whether a loop's counter and its bound are known small numbers. Not meant is a loop that branches without an event: nothing
/// would be merged before it ends.
fn counts_from_constant(stmt: &Stmt, state: &State) -> bool {
    const MOST: u128 = 24;
    let is_small = |side: &Expr| match side {
        Expr::Constant(number) => u128::from(*number) <= MOST,
        Expr::Local(at) => state.locals.get(*at).and_then(|value| value.value()).is_some_and(|value| value <= MOST),
        _ => false,
    };
    let Stmt::While(_, body) = stmt else { return false };
    !branches_silently(body)
        && counter(stmt).is_some_and(|(counter, bound)| is_small(&Expr::Local(counter)) && is_small(bound))
}

/// Whether a loop's body has conditions, but no call.
fn branches_silently(body: &Stmt) -> bool {
    fn has(stmt: &Stmt, what: &dyn Fn(&Stmt) -> bool) -> bool {
        let inside = match stmt {
            Stmt::Seq(a, b) | Stmt::If(_, a, b) => has(a, what) || has(b, what),
            Stmt::While(_, body) => has(body, what),
            _ => false,
        };
        inside || what(stmt)
    }
    has(body, &|one| matches!(one, Stmt::If(..))) && !has(body, &|one| matches!(one, Stmt::Call(..) | Stmt::While(..)))
}

/// The local that a loop compares with a bound, and the bound.
pub fn counter(stmt: &Stmt) -> Option<(usize, &Expr)> {
    let Stmt::While(condition, _) = stmt else { return None };
    let first = match condition {
        Condition::And(first, _) => first,
        other => other,
    };
    match first {
        Condition::Compare(_, Expr::Local(counter), bound) => Some((*counter, bound)),
        _ => None,
    }
}

/// The term's write.
pub fn store_proved(state: &mut State, cells: usize, flat: Term, value: Term) {
    state.proved[cells] = store(state.proved[cells], flat, value);
    let written = Written { cells, flat, guard: constant(1, 1) };
    if !state.proved_stores.contains(&written) {
        state.proved_stores.push(written);
    }
}
