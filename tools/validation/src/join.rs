//! One state for several that have come to the same place by different ways.
//!
//! Where a place has been visited often, what comes there is joined with what was there before: what the two have in common
//! stays, and what differs becomes any value, the same one wherever the two states differ in the same way. So "this register
//! holds that local" outlives the join, while the number of states at a place stays small. The joined state has both as
//! instances: what it is validated for holds for both. A join that forgets too much can only lead to a refusal.

use std::collections::{BTreeMap, HashMap};

use crate::engine::Engine;
use crate::image::RSP;
use crate::state::{Item, State, Stop};
use crate::term::build::{concat, equal, extract, not, zero_extend, zeros};
use crate::term::{constant, fresh, fresh_array, mask, rebuild, Binary, Node, Term};

/// Joins of one place that keep the structure of terms; later ones keep whole terms only, so that there is an end.
const STRUCTURED: u32 = 60;

fn is_array(term: Term) -> bool {
    matches!(term.node(), Node::Array(_) | Node::Store(..))
}

/// What stands for two terms, one of each state.
#[derive(Default)]
struct Joiner {
    pairs: HashMap<(Term, Term), Term>,
    /// What the terms of the join stand for in each of the two.
    first: BTreeMap<Term, Term>,
    second: BTreeMap<Term, Term>,
    is_coarse: bool,
}

impl Joiner {
    /// The term that stands for both; what differs is any value.
    fn join(&mut self, a: Term, b: Term) -> Term {
        if a == b {
            return a;
        }
        if let Some(known) = self.pairs.get(&(a, b)) {
            return *known;
        }
        let joined = self.structure(a, b).unwrap_or_else(|| {
            let new = if is_array(a) { fresh_array("joined", a.width()) } else { fresh("joined", a.width()) };
            self.first.insert(new, a);
            self.second.insert(new, b);
            new
        });
        self.pairs.insert((a, b), joined);
        joined
    }

    /// The same operation on joined operands; none if the two are not the same operation.
    fn structure(&mut self, a: Term, b: Term) -> Option<Term> {
        let width = a.width();
        // Numbers that fit in 32 bits are joined in that width, so that it is the same wherever they stand in a wider one.
        let is_narrow = |term: Term| zeros(term) >> 32 == mask(width - 32);
        if width > 32 && !is_array(a) && !is_array(b) && is_narrow(a) && is_narrow(b) {
            let (x, y) = (extract(a, 0, 32), extract(b, 0, 32));
            let is_of = |part: Term, whole: Term| matches!(part.node(), Node::Extract(_, of) if of == whole);
            if !is_of(x, a) && !is_of(y, b) {
                return Some(zero_extend(self.join(x, y), width));
            }
        }
        match (a.node(), b.node()) {
            _ if self.is_coarse => None,
            (Node::Sum(x, one), Node::Sum(y, other)) => {
                let only = |mine: &[(Term, u128)], theirs: &[(Term, u128)]| -> Vec<(Term, u128)> {
                    mine.iter().filter(|part| !theirs.contains(part)).copied().collect()
                };
                let (mut left, mut right) = (only(&x, &y), only(&y, &x));
                let by_factor = |part: &(Term, u128)| (part.1, part.0.width());
                left.sort_by_key(by_factor);
                right.sort_by_key(by_factor);
                if one != other || left.len() != right.len() || left.len() == x.len() && left.len() > 1 {
                    return None;
                }
                if left.iter().zip(&right).any(|(l, r)| by_factor(l) != by_factor(r)) {
                    return None;
                }
                let shared = x.iter().filter(|part| y.contains(part)).copied().collect::<Vec<_>>();
                let mut parts = shared;
                for ((l, times), (r, _)) in left.into_iter().zip(right) {
                    parts.push((self.join(l, r), times));
                }
                let sum = parts.into_iter().fold(constant(one, width), |sum, (term, times)| {
                    crate::term::build::add(sum, crate::term::build::times(term, times))
                });
                Some(sum)
            }
            (one, other) => {
                let (mine, theirs) = (a.children(), b.children());
                let is_same = match (&one, &other) {
                    (Node::Binary(x, ..), Node::Binary(y, ..)) => x == y,
                    (Node::Extract(x, _), Node::Extract(y, _)) => x == y,
                    (Node::ZeroExtend(_), Node::ZeroExtend(_))
                    | (Node::SignExtend(_), Node::SignExtend(_))
                    | (Node::LeadingZeros(_), Node::LeadingZeros(_))
                    | (Node::If(..), Node::If(..))
                    | (Node::Store(..), Node::Store(..))
                    | (Node::Read(..), Node::Read(..)) => true,
                    _ => false,
                };
                if !is_same || mine.iter().zip(&theirs).any(|(x, y)| x.width() != y.width()) {
                    return None;
                }
                let joined: HashMap<Term, Term> =
                    mine.iter().zip(&theirs).map(|(x, y)| (*x, self.join(*x, *y))).collect();
                // A child that stands twice may have two partners.
                if mine.iter().zip(&theirs).any(|(x, y)| joined[x] != self.join(*x, *y)) {
                    return None;
                }
                Some(rebuild(a, &|old| joined[&old]))
            }
        }
    }

    /// The same for a place of the machine, of which the low half may be joined although the whole may not.
    fn place(&mut self, a: Term, b: Term) -> Term {
        if a == b || a.width() != 64 || self.pairs.contains_key(&(a, b)) {
            return self.join(a, b);
        }
        if let Some(joined) = self.structure(a, b) {
            self.pairs.insert((a, b), joined);
            return joined;
        }
        let low = self.join(extract(a, 0, 32), extract(b, 0, 32));
        let high = self.join(extract(a, 32, 32), extract(b, 32, 32));
        let joined = concat(high, low);
        self.pairs.insert((a, b), joined);
        joined
    }

    /// The join of two terms, if nothing new is needed for it.
    fn known(&self, a: Term, b: Term) -> Option<Term> {
        if a == b {
            return Some(a);
        }
        self.pairs.get(&(a, b)).copied()
    }
}

/// A term with others in the place of what the map names, the largest first.
pub fn replaced(term: Term, by: &BTreeMap<Term, Term>) -> Term {
    replaced_once(term, by, &mut HashMap::new())
}

/// The same; `done` holds what was found with this map.
fn replaced_once(term: Term, by: &BTreeMap<Term, Term>, done: &mut HashMap<Term, Term>) -> Term {
    if let Some(new) = by.get(&term).or_else(|| done.get(&term)) {
        return *new;
    }
    let children: Vec<(Term, Term)> =
        term.children().into_iter().map(|one| (one, replaced_once(one, by, done))).collect();
    let new = if children.iter().all(|(old, new)| old == new) {
        term
    } else {
        rebuild(term, &|old| children.iter().find(|(one, _)| *one == old).map_or(old, |(_, new)| *new))
    };
    done.insert(term, new);
    new
}

/// What the counters of the loops hold that the term is in, where that is a number: iterations that are executed one by one
/// are not joined.
fn counters(state: &State) -> Vec<u64> {
    let mut out = Vec::new();
    let mut loops: Vec<usize> = Vec::new();
    let held = |locals: &[Term], loops: &mut Vec<usize>, out: &mut Vec<u64>| {
        let value = |at: usize| locals.get(at).and_then(|local| local.value());
        out.extend(loops.drain(..).map(|at| value(at).map_or(u64::MAX, |value| value as u64)));
    };
    for item in &state.stack {
        match item {
            Item::Loop(stmt) => loops.extend(crate::proved::counter(stmt).map(|(counter, _)| counter)),
            Item::Return { locals, .. } => held(locals, &mut loops, &mut out),
            Item::Stmt(_) | Item::End => {}
        }
    }
    held(&state.locals, &mut loops, &mut out);
    out
}

/// What must be the same of two states for a join, but for values.
pub fn shape(engine: &Engine<'_>, state: &State) -> Vec<u64> {
    let mut out = vec![state.address, std::sync::Arc::as_ptr(&state.function) as u64];
    for item in &state.stack {
        match item {
            Item::Stmt(stmt) => out.extend([1, std::sync::Arc::as_ptr(stmt) as u64]),
            Item::Loop(stmt) => out.extend([2, std::sync::Arc::as_ptr(stmt) as u64]),
            Item::Return { result, caller, .. } => {
                out.extend([3, result.map_or(u64::MAX, |to| to as u64), std::sync::Arc::as_ptr(caller) as u64])
            }
            Item::End => out.push(4),
        }
    }
    out.extend(counters(state));
    for (at, term) in &state.frame.held {
        // Where a part that was called in place returns to.
        let code = term.value().map(|value| value as u64).filter(|value| engine.image.function_at(*value).is_some());
        out.extend(code.into_iter().flat_map(|code| [*at as u64, code]));
    }
    out.push(crate::memory::offset(state.registers[RSP], engine.entry.stack).map_or(u64::MAX, |top| top as u64));
    out.push(state.host_stack.map_or(u64::MAX, |at| at as u64));
    out.extend(state.active.iter().map(|(_, number)| *number as u64));
    out.push(state.locks.len() as u64);
    let (stmt, depth) = state.warming.unwrap_or_default();
    out.extend([u64::MAX, u64::from(state.unrolled), stmt as u64, depth as u64]);
    out.extend(state.machine_stores.iter().map(|(cells, ..)| *cells as u64));
    out.push(u64::MAX);
    out.extend(state.proved_stores.iter().map(|one| one.cells as u64));
    out
}

/// Puts terms in the place of others in all that the state holds, but for what is known of its path.
pub fn put_for(state: &mut State, by: &BTreeMap<Term, Term>) {
    if by.is_empty() {
        return;
    }
    let mut done = HashMap::new();
    let mut put = |term: &mut Term| *term = replaced_once(*term, by, &mut done);
    state.locals.iter_mut().for_each(&mut put);
    for item in &mut state.stack {
        if let Item::Return { locals, .. } = item {
            locals.iter_mut().for_each(&mut put);
        }
    }
    state.proved.iter_mut().for_each(&mut put);
    state.memory.iter_mut().for_each(&mut put);
    state.registers.iter_mut().for_each(&mut put);
    state.frame.held.values_mut().for_each(&mut put);
    for written in &mut state.proved_stores {
        put(&mut written.flat);
        put(&mut written.guard);
    }
    state.proved_stores.retain(|one| !one.guard.is_false());
    state.machine_stores.iter_mut().for_each(|(_, flat, _)| put(flat));
    for access in &mut state.accesses {
        put(&mut access.index);
        put(&mut access.element);
        put(&mut access.flat);
        put(&mut access.guard);
    }
    state.accesses.retain(|one| !one.guard.is_false());
    state.early.iter_mut().flat_map(|one| one.terms()).for_each(&mut put);
    state.locks.iter_mut().for_each(&mut put);
    state.selectors.iter_mut().for_each(&mut put);
    state.selectors.retain(|one| one.value().is_none());
}

impl Engine<'_> {
    /// Brings a state into the form in which it can be joined: what the path decides is decided in its terms, and places of the
    /// machine that hold a local are written as that local. So both sides of another state differ from it in the same way.
    fn settle(&mut self, state: &mut State) -> Result<(), Stop> {
        let mut by = BTreeMap::new();
        for condition in &state.path.conditions {
            match condition.node() {
                Node::Binary(Binary::Xor, inner, one) if one.is_true() => by.insert(inner, constant(0, 1)),
                Node::Binary(Binary::Equal, a, b) if b.value().is_some() => by.insert(a, b),
                Node::Binary(Binary::Equal, a, b) if a.value().is_some() => by.insert(b, a),
                _ => by.insert(*condition, constant(1, 1)),
            };
        }
        put_for(state, &by);
        let Some(model) = state.path.model(&mut self.solver)? else { return Ok(()) };
        let mut by = BTreeMap::new();
        let conditions = state.path.conditions.clone();
        for term in crate::term::below(&conditions) {
            if !matches!(term.node(), Node::Variable(_)) || term.width() > 32 {
                continue;
            }
            let number = constant(model.value(term), term.width());
            if state.path.always(equal(term, number), &mut self.solver)? {
                by.insert(term, number);
            }
        }
        put_for(state, &by);
        self.align(state)
    }

    /// Writes what a place of the machine holds as the local that it always equals.
    fn align(&mut self, state: &mut State) -> Result<(), Stop> {
        let mut locals: Vec<Term> = state.locals.clone();
        for item in &state.stack {
            if let Item::Return { locals: more, .. } = item {
                locals.extend(more);
            }
        }
        locals.retain(|local| local.value().is_none());
        locals.sort();
        locals.dedup();
        let mut spots: Vec<(Option<usize>, i64, Term)> =
            state.frame.held.iter().map(|(at, value)| (None, *at, *value)).collect();
        spots.extend((0..crate::image::GENERAL).map(|at| (Some(at), 0, state.registers[at])));
        for (register, at, value) in spots {
            let is_plain = |term: Term| matches!(term.node(), Node::Variable(_) | Node::Constant(_));
            if is_plain(value) || matches!(value.node(), Node::ZeroExtend(of) if is_plain(of) || locals.contains(&of)) {
                continue;
            }
            for local in &locals {
                if local.width() > value.width() || *local == value {
                    continue;
                }
                let meant = zero_extend(*local, value.width());
                if state.path.always(equal(value, meant), &mut self.solver)? {
                    match register {
                        Some(number) => state.registers[number] = meant,
                        None => {
                            state.frame.held.insert(at, meant);
                        }
                    }
                    break;
                }
            }
        }
        Ok(())
    }

    /// The state in the place of which both may be validated. `times`: joins of this place before. The two have one shape.
    pub fn joined(&mut self, a: &State, b: &State, times: u32) -> Result<State, Stop> {
        let (mut a, mut b) = (a.clone(), b.clone());
        self.settle(&mut a)?;
        self.settle(&mut b)?;
        a.frame.align(&mut b.frame);
        let (a, b) = (&a, &b);
        let mut joiner = Joiner { is_coarse: times > STRUCTURED, ..Joiner::default() };
        let mut state = b.clone();
        let locals = |joiner: &mut Joiner, a: &[Term], b: &mut [Term]| {
            for (a, b) in a.iter().zip(b) {
                *b = joiner.join(*a, *b);
            }
        };
        locals(&mut joiner, &a.locals, &mut state.locals);
        for (mine, theirs) in a.stack.iter().zip(&mut state.stack) {
            if let (Item::Return { locals: a, .. }, Item::Return { locals: b, .. }) = (mine, theirs) {
                locals(&mut joiner, a, b);
            }
        }
        locals(&mut joiner, &a.proved, &mut state.proved);
        locals(&mut joiner, &a.memory, &mut state.memory);
        for (at, register) in state.registers.iter_mut().enumerate() {
            *register = joiner.place(a.registers[at], *register);
        }
        for (at, held) in &mut state.frame.held {
            *held = joiner.place(a.frame.held[at], *held);
        }
        for (mine, written) in a.proved_stores.iter().zip(&mut state.proved_stores) {
            written.flat = joiner.join(mine.flat, written.flat);
            written.guard = joiner.join(mine.guard, written.guard);
        }
        for ((_, mine, _), (_, flat, _)) in a.machine_stores.iter().zip(&mut state.machine_stores) {
            *flat = joiner.join(*mine, *flat);
        }
        locals(&mut joiner, &a.locks, &mut state.locks);
        // A state that knows of fewer accesses can do less with them.
        let mut accesses = Vec::new();
        for mine in &a.accesses {
            let both = b.accesses.iter().filter(|one| one.cells == mine.cells).find_map(|one| {
                let (index, element) = (joiner.known(mine.index, one.index)?, joiner.known(mine.element, one.element)?);
                let flat = joiner.known(mine.flat, one.flat)?;
                let guard = joiner.known(mine.guard, one.guard)?;
                let locks = mine.locks.max(one.locks);
                Some(crate::state::Access { cells: mine.cells, index, element, flat, guard, locks })
            });
            accesses.extend(both);
        }
        state.accesses = accesses;
        state.early = crate::early::joined(&a.early, &b.early, &|x, y| joiner.known(x, y));
        state.selectors.clear();
        let mut conditions = Vec::new();
        let (mut one, mut other) = (a.clone(), b.clone());
        self.kept(&joiner.first, &joiner.second, &a.path.conditions, &mut other, &mut conditions)?;
        self.kept(&joiner.second, &joiner.first, &b.path.conditions, &mut one, &mut conditions)?;
        self.excluded(&joiner, &mut one, &mut other, &mut conditions)?;
        state.path = crate::solver::Path::of(conditions);
        state.doubt = None;
        Ok(state)
    }

    /// Where the two hold different numbers: that neither holds 0, which is what most results are compared with.
    fn excluded(&mut self, joiner: &Joiner, a: &mut State, b: &mut State, out: &mut Vec<Term>) -> Result<(), Stop> {
        for (new, mine) in joiner.first.iter().filter(|(new, _)| !is_array(**new)) {
            let theirs = joiner.second[new];
            if mine.value().is_none() && theirs.value().is_none() {
                continue;
            }
            let is_some = |term: Term| not(equal(term, constant(0, term.width())));
            if a.path.always(is_some(*mine), &mut self.solver)? && b.path.always(is_some(theirs), &mut self.solver)? {
                out.push(is_some(*new));
            }
        }
        Ok(())
    }

    /// Conditions of one state that hold in the other too, in the words of the join.
    fn kept(
        &mut self,
        mine: &BTreeMap<Term, Term>,
        theirs: &BTreeMap<Term, Term>,
        conditions: &[Term],
        other: &mut State,
        out: &mut Vec<Term>,
    ) -> Result<(), Stop> {
        let words: BTreeMap<Term, Term> =
            mine.iter().filter(|(_, held)| held.value().is_none()).map(|(new, held)| (*held, *new)).collect();
        for condition in conditions {
            let lifted = replaced(*condition, &words);
            // What it says of the other state.
            let said = replaced(lifted, theirs);
            if out.contains(&lifted) {
                continue;
            }
            if other.path.conditions.contains(&said) || other.path.always(said, &mut self.solver)? {
                out.push(lifted);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::term::build::{add, binary, select};
    use crate::term::clear;
    use crate::term::evaluate::Model;

    /// Numbers that look random, the same on every machine.
    struct Random(u64);

    impl Random {
        fn below(&mut self, bound: usize) -> usize {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (self.0 >> 33) as usize % bound
        }
    }

    /// A term of few operations, so that two of them have often something in common.
    fn term(random: &mut Random, variables: &[Term], width: u32, depth: u32) -> Term {
        if depth == 0 || random.below(5) == 0 {
            let of_width: Vec<Term> = variables.iter().copied().filter(|one| one.width() == width).collect();
            return match random.below(2) {
                0 => of_width[random.below(of_width.len())],
                _ => constant(random.below(3) as u128, width),
            };
        }
        let mut part = |width| term(random, variables, width, depth - 1);
        match (width, part(32).value().unwrap_or(7) % 3) {
            (64, 0) => zero_extend(part(32), 64),
            (32, 0) => extract(part(64), 8, 32),
            (_, 1) => select(equal(part(32), part(32)), part(width), part(width)),
            _ => add(part(width), binary(Binary::Multiply, part(width), part(width))),
        }
    }

    /// What is joined is an instance of the join on either side, for whole terms and for places of the machine.
    #[test]
    fn a_join_has_both_sides_as_instances() {
        let mut random = Random(5);
        let mut kept = 0;
        for round in 0..4000 {
            clear();
            let variables: Vec<Term> = (0..6).map(|at| fresh("v", if at % 2 == 0 { 32 } else { 64 })).collect();
            let mut joiner = Joiner { is_coarse: round % 4 == 0, ..Joiner::default() };
            for place in 0..6 {
                let width = if place % 2 == 0 { 32 } else { 64 };
                let (a, b) = (term(&mut random, &variables, width, 3), term(&mut random, &variables, width, 3));
                let joined = if place < 3 { joiner.join(a, b) } else { joiner.place(a, b) };
                kept += usize::from(!matches!(joined.node(), Node::Variable(_)));
                for _ in 0..4 {
                    let mut model = Model::default();
                    for one in &variables {
                        model.variables.insert(*one, random.below(1 << 31) as u128);
                    }
                    let given = |by: &BTreeMap<Term, Term>| model.value(replaced(joined, by));
                    assert_eq!(given(&joiner.first), model.value(a), "{round}");
                    assert_eq!(given(&joiner.second), model.value(b), "{round}");
                }
            }
        }
        assert!(kept > 4000, "only {kept} joins keep anything");
    }

    /// Places that differ in the same way stay equal, and others do not become so.
    #[test]
    fn what_is_equal_on_both_sides_is_equal_in_the_join_and_nothing_else() {
        clear();
        let (x, y) = (fresh("x", 32), fresh("y", 32));
        let mut joiner = Joiner::default();
        let local = joiner.join(x, constant(7, 32));
        assert_eq!(joiner.place(zero_extend(x, 64), constant(7, 64)), zero_extend(local, 64));
        assert_ne!(joiner.join(y, constant(7, 32)), local);
        assert_ne!(joiner.join(x, constant(8, 32)), local);
        assert_eq!(joiner.join(y, y), y);
    }
}
