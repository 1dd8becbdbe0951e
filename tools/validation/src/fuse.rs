//! One state for several paths of the term while the machine stays where it is.
//!
//! The term runs ahead of the machine: to the next event, and into functions that gcc has inlined. Its paths multiply at each
//! condition, although the machine has decided nothing yet. Where two of them meet, one state stands for both, without loss: what
//! differs is a choice by a condition that holds on one path and not on the other, and so is what was read and written. When
//! the machine has reached its event, its own conditions say which it is, and the choices vanish ([`Engine::resolve`]).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::engine::Engine;
use crate::image::{DF, GENERAL, RBP, RSP};
use crate::join::{put_for, replaced};
use crate::proved::Sync;
use crate::solver::Path;
use crate::state::{Access, Item, State, Stop, Written};
use crate::term::build::{and, not, or, read, select, store};
use crate::term::{constant, fresh, Binary, Node, Term};

/// Stores to one kind of cells that two paths may differ in: more make questions that solvers find hard.
const MOST_STORES: usize = 4;

/// The condition that tells two paths apart, and what is known where it holds and where not.
struct Choice {
    selector: Term,
    path: Path,
    is_swapped: bool,
}

impl Choice {
    /// By a condition of one path whose negation is one of the other; none if there is none.
    fn of(a: &Path, b: &Path) -> Option<Choice> {
        let mine: HashSet<Term> = a.conditions.iter().copied().collect();
        let theirs: HashSet<Term> = b.conditions.iter().copied().collect();
        let selector = a.conditions.iter().copied().find(|one| theirs.contains(&not(*one)))?;
        let all = |conditions: &[Term], others: &HashSet<Term>, but: Term| {
            let own = conditions.iter().filter(|one| !others.contains(one) && **one != but);
            own.fold(constant(1, 1), |all, one| and(all, *one))
        };
        let (here, there) = (all(&a.conditions, &theirs, selector), all(&b.conditions, &mine, not(selector)));
        let mut path = Path::of(a.conditions.iter().copied().filter(|one| theirs.contains(one)).collect());
        path.assume(select(selector, here, there));
        Some(match selector.node() {
            Node::Binary(Binary::Xor, inner, one) if one.is_true() => {
                Choice { selector: inner, path, is_swapped: true }
            }
            _ => Choice { selector, path, is_swapped: false },
        })
    }

    fn value(&self, a: Term, b: Term) -> Term {
        match self.is_swapped {
            true => select(self.selector, b, a),
            false => select(self.selector, a, b),
        }
    }

    /// Of arrays: none if they do not come from one array by stores.
    fn array(&self, a: Term, b: Term) -> Option<Term> {
        if a == b {
            return Some(a);
        }
        let (mine, theirs) = (versions(a), versions(b));
        let base = theirs.iter().copied().find(|one| mine.contains(one))?;
        let stores = |all: Vec<Term>| -> Vec<(Term, Term)> {
            let later = all.into_iter().take_while(|one| *one != base);
            let mut parts: Vec<(Term, Term)> = later
                .filter_map(|one| match one.node() {
                    Node::Store(_, index, value) => Some((index, value)),
                    _ => None,
                })
                .collect();
            parts.reverse();
            parts
        };
        let (mine, theirs) = (stores(mine), stores(theirs));
        let mut array = base;
        if mine.len() == theirs.len() && mine.iter().zip(&theirs).all(|(x, y)| x.0 == y.0) {
            for ((index, x), (_, y)) in mine.iter().zip(&theirs) {
                array = store(array, *index, self.value(*x, *y));
            }
            return Some(array);
        }
        if mine.len() + theirs.len() > MOST_STORES {
            return None;
        }
        // What one has stored is what was there before for the other.
        for (index, value) in mine {
            array = store(array, index, self.value(value, read(array, index)));
        }
        for (index, value) in theirs {
            array = store(array, index, self.value(read(array, index), value));
        }
        Some(array)
    }
}

/// An array and those that it comes from by stores.
fn versions(array: Term) -> Vec<Term> {
    let mut all = vec![array];
    let mut from = array;
    while let Node::Store(below, _, _) = from.node() {
        all.push(below);
        from = below;
    }
    all
}

/// What has happened on those paths where its guard holds.
trait Guarded: Copy + PartialEq {
    fn guard(&self) -> Term;
    fn under(self, guard: Term) -> Self;
}

impl Guarded for Access {
    fn guard(&self) -> Term {
        self.guard
    }

    fn under(self, guard: Term) -> Access {
        Access { guard, ..self }
    }
}

impl Guarded for Written {
    fn guard(&self) -> Term {
        self.guard
    }

    fn under(self, guard: Term) -> Written {
        Written { guard, ..self }
    }
}

/// What has happened on either path, each thing once.
fn either<T: Guarded>(choice: &Choice, a: &[T], b: &[T]) -> Vec<T> {
    let never = constant(0, 1);
    let guard = |all: &[T], one: T| {
        let same = all.iter().filter(|other| other.under(never) == one);
        same.fold(never, |some, other| or(some, other.guard()))
    };
    let mut all: Vec<T> = Vec::new();
    for one in a.iter().chain(b).map(|one| one.under(never)) {
        if !all.iter().any(|known| known.under(never) == one) {
            all.push(one.under(choice.value(guard(a, one), guard(b, one))));
        }
    }
    all
}

fn is_same_place(a: &State, b: &State) -> bool {
    let is_same = |x: &Item, y: &Item| match (x, y) {
        (Item::Stmt(x), Item::Stmt(y)) | (Item::Loop(x), Item::Loop(y)) => Arc::ptr_eq(x, y),
        (Item::Return { result, locals, caller }, Item::Return { result: to, locals: more, caller: other }) => {
            result == to && locals.len() == more.len() && Arc::ptr_eq(caller, other)
        }
        (Item::End, Item::End) => true,
        _ => false,
    };
    Arc::ptr_eq(&a.function, &b.function)
        && a.locals.len() == b.locals.len()
        && a.stack.len() == b.stack.len()
        && a.stack.iter().zip(&b.stack).all(|(x, y)| is_same(x, y))
}

impl Engine<'_> {
    /// The state that stands for both, and how they are told apart; none if they are at different places, or the machine has
    /// moved.
    fn fused_with(&self, a: &State, b: &State) -> Option<(State, Choice)> {
        if !is_same_place(a, b) || !self.is_same_machine(a, b) {
            return None;
        }
        let choice = Choice::of(&a.path, &b.path)?;
        let mut state = a.clone();
        for (mine, theirs) in state.proved.iter_mut().zip(&b.proved) {
            *mine = choice.array(*mine, *theirs)?;
        }
        for (mine, theirs) in state.locals.iter_mut().zip(&b.locals) {
            *mine = choice.value(*mine, *theirs);
        }
        for (mine, theirs) in state.stack.iter_mut().zip(&b.stack) {
            if let (Item::Return { locals: mine, .. }, Item::Return { locals: theirs, .. }) = (mine, theirs) {
                mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine = choice.value(*mine, *theirs));
            }
        }
        // Only what is said to be dead may differ; it is any value, so that it does not matter whether that is right.
        for (mine, theirs) in state.registers.iter_mut().zip(&b.registers).filter(|(mine, theirs)| mine != theirs) {
            *mine = fresh("dead", theirs.width());
        }
        state.accesses = either(&choice, &a.accesses, &b.accesses);
        state.proved_stores = either(&choice, &a.proved_stores, &b.proved_stores);
        for selector in b.selectors.iter().chain([&choice.selector]) {
            if !state.selectors.contains(selector) {
                state.selectors.push(*selector);
            }
        }
        state.path = choice.path.clone();
        state.doubt = a.doubt.clone().or_else(|| b.doubt.clone());
        Some((state, choice))
    }

    /// The machine is where it was, with all that it may still read.
    fn is_same_machine(&self, a: &State, b: &State) -> bool {
        let live = self.image.live(a.address);
        let counts = |register: usize| {
            register >= DF || [RSP, RBP, GENERAL, GENERAL + 1].contains(&register) || live & (1 << register) != 0
        };
        let mut registers = a.registers.iter().zip(&b.registers).enumerate();
        (a.address, a.is_tail, a.warming, a.passing, a.number, a.unrolled)
            == (b.address, b.is_tail, b.warming, b.passing, b.number, b.unrolled)
            && a.active == b.active
            && a.memory == b.memory
            && a.machine_stores == b.machine_stores
            && a.frame.held == b.frame.held
            && a.early == b.early
            && a.locks == b.locks
            && registers.all(|(number, (x, y))| x == y || !counts(number))
    }

    /// Of the states in which the term waits, those that wait for the same are one.
    pub fn fused_by_sync(&self, waiting: Vec<(State, Sync)>) -> Vec<(State, Sync)> {
        self.fused_all(waiting, &waits_for_same, &fused_sync)
    }

    /// Of states that have come to one place of the term, those in which the machine is at one place are one.
    pub fn fused(&self, states: Vec<State>) -> Vec<State> {
        let bare = states.into_iter().map(|state| (state, ())).collect();
        let fused = self.fused_all(bare, &|_, _| true, &|_, _, _| ());
        fused
            .into_iter()
            .map(|(mut state, ())| {
                self.forget_locals(&mut state);
                state
            })
            .collect()
    }

    /// Those that have most in common come first: their paths have parted last.
    fn fused_all<T: Clone>(
        &self,
        mut all: Vec<(State, T)>,
        is_same: &dyn Fn(&T, &T) -> bool,
        both: &dyn Fn(&Choice, &T, &T) -> T,
    ) -> Vec<(State, T)> {
        let common = |a: &Path, b: &Path| a.conditions.iter().filter(|one| b.conditions.contains(one)).count();
        loop {
            let mut pairs: Vec<(usize, usize, usize)> = Vec::new();
            for (at, (state, what)) in all.iter().enumerate() {
                let others = all.iter().enumerate().skip(at + 1).filter(|(_, (_, other))| is_same(what, other));
                pairs.extend(others.map(|(to, (other, _))| (common(&state.path, &other.path), at, to)));
            }
            pairs.sort_by_key(|pair| std::cmp::Reverse(pair.0));
            let found = pairs.into_iter().find_map(|(_, at, to)| {
                let (state, choice) = self.fused_with(&all[at].0, &all[to].0)?;
                let what = both(&choice, &all[at].1, &all[to].1);
                Some((at, to, (state, what)))
            });
            match found {
                Some((at, to, fused)) => {
                    all[at] = fused;
                    all.remove(to);
                }
                None => return all,
            }
        }
    }

    /// The machine is at an event: what its path decides of the conditions that tell the term's paths apart is put in their place.
    pub fn resolve(&mut self, state: &mut State, sync: &Sync) -> Result<Sync, Stop> {
        let mut sync = sync.clone();
        let mut open = Vec::new();
        // What was chosen last is outermost.
        while let Some(selector) = state.selectors.pop() {
            let guess = match state.path.conditions.contains(&selector) {
                true => true,
                false => state.path.model(&mut self.solver)?.is_some_and(|model| model.holds(selector)),
            };
            let decided = if guess { selector } else { not(selector) };
            if !state.path.conditions.contains(&decided) && !state.path.always(decided, &mut self.solver)? {
                open.push(selector);
                continue;
            }
            let by = BTreeMap::from([(selector, constant(u128::from(guess), 1))]);
            put_for(state, &by);
            sync = rewritten(&sync, &by);
            open.iter_mut().for_each(|one| *one = replaced(*one, &by));
            state.path.rewritten(decided, &mut |one| replaced(one, &by));
        }
        open.retain(|one| one.value().is_none());
        open.reverse();
        state.selectors = open;
        Ok(sync)
    }
}

fn waits_for_same(a: &Sync, b: &Sync) -> bool {
    match (a, b) {
        (Sync::Return(x), Sync::Return(y)) => x.width() == y.width(),
        (Sync::Call { function, arguments, result }, Sync::Call { function: other, arguments: more, result: to }) => {
            let widths = |all: &[Term]| all.iter().map(|one| one.width()).collect::<Vec<_>>();
            (function, result) == (other, to) && widths(arguments) == widths(more)
        }
        _ => false,
    }
}

/// Of two that wait for the same.
fn fused_sync(choice: &Choice, a: &Sync, b: &Sync) -> Sync {
    match (a, b) {
        (Sync::Return(x), Sync::Return(y)) => Sync::Return(choice.value(*x, *y)),
        (Sync::Call { function, arguments, result }, Sync::Call { arguments: more, .. }) => {
            let arguments = arguments.iter().zip(more).map(|(x, y)| choice.value(*x, *y)).collect();
            Sync::Call { function: function.clone(), arguments, result: *result }
        }
        _ => a.clone(),
    }
}

fn rewritten(sync: &Sync, by: &BTreeMap<Term, Term>) -> Sync {
    match sync {
        Sync::Return(value) => Sync::Return(replaced(*value, by)),
        Sync::Call { function, arguments, result } => {
            let arguments = arguments.iter().map(|one| replaced(*one, by)).collect();
            Sync::Call { function: function.clone(), arguments, result: *result }
        }
        other => other.clone(),
    }
}
