//! What other CPUs leave alone while the term waits for an event.
//!
//! A term that is not stuck reads and writes only what its CPU owns, and gives up nothing but what a lock guards, where it
//! gives that lock back (`arch_disown`, as `Ownership.v` has it). So a scalar that the term has accessed stays its own until
//! it gives back a lock that it held then. What a call gives back it has taken itself, if its term says so: such a lock
//! guards nothing that the caller owned before.
//!
//! This is used where theorems show that the term is not stuck, of scalars accessed under a lock that the term still
//! holds, and not of frames, whose words go from lock to lock by what memory holds. Which lock guards a scalar of another
//! object does not depend on that (`Guards.v`).

use std::collections::{BTreeSet, HashSet};
use std::rc::Rc;

use c2coq::ast::BinaryOp;

use crate::engine::Engine;
use crate::evaluate::fit;
use crate::primitives;
use crate::state::{Access, State};
use crate::syntax::{Expr, Stmt};
use crate::term::build::{add, extract, read, select, store, sub, zero_extend};
use crate::term::{below, constant, fresh, Term};

/// In the place of the number of locks at an access: it is not known that the scalar is still owned.
pub const NOT_OWNED: u32 = u32::MAX;

/// Statements that are followed to see what a call gives back.
const MOST_STATEMENTS: u32 = 20_000;

impl State {
    /// The term takes a lock: what it accesses from now on may be guarded by it.
    pub fn owns(&mut self, lock: Term) {
        self.locks.push(lock);
    }

    /// The term gives a lock back. If it is the last that was taken here, what was accessed before that is still owned.
    pub fn disowns(&mut self, lock: Term) {
        if self.locks.pop() != Some(lock) {
            self.locks.clear();
        }
        let held = self.locks.len() as u32;
        for access in self.accesses.iter_mut().filter(|access| access.locks > held) {
            access.locks = NOT_OWNED;
        }
    }
}

impl Engine<'_> {
    /// Behind an event at which others may have changed memory, while the term has written these kinds of cells and given
    /// nothing back that it had before: any values, but for scalars that it owns and the machine holds a value of.
    pub fn others_move(&mut self, state: &mut State, writes: &BTreeSet<usize>) {
        let live = self.image.live(state.address);
        let registers = state.registers.iter().enumerate().filter(|(at, _)| *at >= 32 || live & (1 << at) != 0);
        let mut places: Vec<Term> = registers.map(|(_, value)| *value).collect();
        places.extend(state.frame.held.values());
        let places: HashSet<Term> = below(&places).into_iter().collect();
        let frames = self.program.place("frame", "word");
        let held = state.locks.len() as u32;
        let is_kept = |access: &Access, value: Term| {
            access.locks <= held
                && !writes.contains(&access.cells)
                && Some(access.cells) != frames
                && value.value().is_none()
                && places.contains(&value)
        };
        let owned: Vec<(Access, Term)> = state
            .accesses
            .iter()
            .map(|access| (*access, read(state.memory[access.cells], access.flat)))
            .filter(|(access, value)| is_kept(access, *value))
            .collect();
        self.havoc(state, None);
        for (access, value) in owned {
            let array = state.memory[access.cells];
            let value = select(access.guard, value, read(array, access.flat));
            state.memory[access.cells] = store(array, access.flat, value);
            state.proved[access.cells] = state.memory[access.cells];
            state.accesses.push(access);
        }
    }

    /// The kinds of cells that a call itself may write, by its term, if it gives no lock back but those that it has taken;
    /// none if that is not known.
    pub fn keeps_locks(&mut self, function: &str) -> Option<Rc<BTreeSet<usize>>> {
        if let Some(known) = self.keeps.get(function) {
            return known.clone();
        }
        let mut walk = Walk { engine: self, writes: BTreeSet::new(), left: MOST_STATEMENTS };
        let found = walk.function(function, None).map(|_| Rc::new(walk.writes));
        self.keeps.insert(function.to_string(), found.clone());
        found
    }
}

/// What is known at a place of a function: locals that are known, and locks taken since the walk began and not given back.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Known {
    locals: Vec<Option<Term>>,
    held: BTreeSet<Term>,
}

impl Known {
    fn meet(&mut self, other: &Known) {
        for (mine, theirs) in self.locals.iter_mut().zip(&other.locals) {
            *mine = mine.filter(|mine| Some(*mine) == *theirs);
        }
        self.held.retain(|lock| other.held.contains(lock));
    }
}

/// What is known on either of two ways; none for a way that is not taken.
fn either(a: Option<Known>, b: Option<Known>) -> Option<Known> {
    match (a, b) {
        (Some(mut a), Some(b)) => {
            a.meet(&b);
            Some(a)
        }
        (a, b) => a.or(b),
    }
}

/// What is known where a loop, or the function, is left.
#[derive(Default)]
struct Exits {
    broken: Option<Known>,
    returned: Option<Known>,
}

/// Follows a term with what it calls. `None` as a result: a lock is given back that may not have been taken on the way, or
/// what happens is not known.
struct Walk<'w, 'a> {
    engine: &'w mut Engine<'a>,
    writes: BTreeSet<usize>,
    left: u32,
}

impl Walk<'_, '_> {
    /// The locks that are held behind a call; of the function where the walk begins, the arguments are any values.
    fn function(&mut self, name: &str, from: Option<(Vec<Option<Term>>, BTreeSet<Term>)>) -> Option<BTreeSet<Term>> {
        let function = self.engine.function_named(name)?;
        let (mut locals, held) = from.unwrap_or_else(|| {
            let widths = &function.widths[..function.parameters];
            (widths.iter().map(|width| Some(fresh("argument", *width))).collect(), BTreeSet::new())
        });
        locals.resize(function.widths.len(), None);
        let mut exits = Exits::default();
        let end = self.statement(&function.body, Known { locals, held }, &function.widths, &mut exits)?;
        Some(either(end, exits.returned).map(|known| known.held).unwrap_or_default())
    }

    /// What is known behind a statement; inside, none if it does not go on there.
    fn statement(&mut self, stmt: &Stmt, mut known: Known, widths: &[u32], exits: &mut Exits) -> Option<Option<Known>> {
        self.left = self.left.checked_sub(1)?;
        match stmt {
            Stmt::Skip => {}
            Stmt::Assign(to, e) => {
                known.locals[*to] = pure(e, &known.locals).and_then(|value| fit(value, widths[*to]).ok())
            }
            Stmt::Store(place, _) => {
                self.writes.insert(place.cells);
            }
            Stmt::Seq(a, b) => match self.statement(a, known, widths, exits)? {
                Some(next) => return self.statement(b, next, widths, exits),
                None => return Some(None),
            },
            Stmt::If(_, a, b) => {
                let then = self.statement(a, known.clone(), widths, exits)?;
                let otherwise = self.statement(b, known, widths, exits)?;
                return Some(either(then, otherwise));
            }
            Stmt::While(_, body) => loop {
                let outer = exits.broken.take();
                let end = self.statement(body, known.clone(), widths, exits)?;
                let broken = std::mem::replace(&mut exits.broken, outer);
                let start = known.clone();
                end.iter().for_each(|end| known.meet(end));
                if known == start {
                    return Some(either(Some(known), broken));
                }
            },
            Stmt::Break => {
                exits.broken = either(exits.broken.take(), Some(known));
                return Some(None);
            }
            Stmt::Return(_) => {
                exits.returned = either(exits.returned.take(), Some(known));
                return Some(None);
            }
            Stmt::Call(result, name, arguments) => {
                let values: Vec<Option<Term>> = arguments.iter().map(|one| pure(one, &known.locals)).collect();
                self.call(name, values, &mut known.held)?;
                result.iter().for_each(|to| known.locals[*to] = None);
            }
        }
        Some(Some(known))
    }

    fn call(&mut self, name: &str, values: Vec<Option<Term>>, held: &mut BTreeSet<Term>) -> Option<()> {
        // Locks are numbers of 32 bits, in whatever width the term computes them.
        let lock = values.first().copied().flatten().map(fit_lock);
        match name {
            "arch_own" => {
                held.extend(lock);
                return Some(());
            }
            "arch_disown" => return held.remove(&lock?).then_some(()),
            _ if name.starts_with("arch_atomic_") => return Some(()),
            _ => {}
        }
        if let Some(list) = primitives::writes(name) {
            for (object, field) in list {
                self.writes.insert(self.engine.program.place(object, field)?);
            }
            return Some(());
        }
        let widths = self.engine.program.prototypes.get(name)?.parameters.clone();
        let fitted = values.into_iter().zip(widths).map(|(value, width)| fit(value?, width).ok()).collect();
        *held = self.function(name, Some((fitted, std::mem::take(held))))?;
        Some(())
    }
}

fn fit_lock(value: Term) -> Term {
    match value.width() {
        0..=32 => zero_extend(value, 32),
        _ => extract(value, 0, 32),
    }
}

/// The value of an expression that reads no memory, of known locals.
fn pure(e: &Expr, locals: &[Option<Term>]) -> Option<Term> {
    Some(match e {
        Expr::Constant(value) => constant(u128::from(*value), 64),
        Expr::Local(at) => (*locals.get(*at)?)?,
        Expr::Cast(width, a) => {
            let a = pure(a, locals)?;
            if a.width() > *width {
                extract(a, 0, *width)
            } else {
                zero_extend(a, *width)
            }
        }
        Expr::Binary(width, operation @ (BinaryOp::Add | BinaryOp::Sub), a, b) => {
            let (a, b) = (fit(pure(a, locals)?, *width).ok()?, fit(pure(b, locals)?, *width).ok()?);
            if *operation == BinaryOp::Add {
                add(a, b)
            } else {
                sub(a, b)
            }
        }
        _ => return None,
    })
}
