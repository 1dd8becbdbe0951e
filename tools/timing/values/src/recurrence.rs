//! How a loop's variables change from one iteration to the next, and how often the loop can run for that.
//!
//! At the header some symbols stand for another value in each iteration. What the back edge brings for such a symbol,
//! written in terms of the header's symbols, is its recurrence: `P + 4`, `P >> 1`, `P & (P - 1)`. An exit that is
//! passed in every iteration, and a condition that compares a linear variable with something that stays the same,
//! give a bound each; the smallest counts.

use std::collections::{BTreeSet, HashSet};

use timing_context::{EdgeKind, LoopId, NodeId};
use timing_lift::evaluate::{mask, signed};
use timing_lift::il::Binary;

use crate::execute::{Engine, Watched};
use crate::memory::Memory;
use crate::record;
use crate::set::Set;
use crate::state::State;
use crate::term::{shifted, Origin, Root, Term};
use crate::transfer;
use crate::values::{Base, Counter, Range, Run, Step};

/// Bounds from here on only tell how wide a register is.
const HOPELESS: u128 = 1 << 31;

/// States at a header: of the first, the second and the last iteration.
pub(crate) struct Sample {
    first: Vec<Term>,
    second: Option<Vec<Term>>,
    last: Vec<Term>,
    memory: (Memory, Option<Memory>),
    iterations: u64,
}

impl Sample {
    pub fn new(entry: &State) -> Sample {
        let first = entry.registers.clone();
        Sample { last: first.clone(), first, second: None, memory: (entry.memory.clone(), None), iterations: 1 }
    }

    pub fn push(&mut self, state: &State) {
        if self.second.is_none() {
            self.second = Some(state.registers.clone());
            self.memory.1 = Some(state.memory.clone());
        }
        self.last.clone_from(&state.registers);
        self.iterations += 1;
    }

    /// What changed by the same number all the time.
    pub fn counters(&self, engine: &Engine<'_>) -> Vec<Counter> {
        let Some(second) = &self.second else { return Vec::new() };
        let mut found = Vec::new();
        let mut add = |place: String, first: &Term, second: &Term, last: Option<&Term>| {
            if first.number() != second.number() || first.size > 8 {
                return;
            }
            let step = signed(second.offset.wrapping_sub(first.offset) & mask(first.size), first.size);
            let end = first.offset.wrapping_add((step as u128).wrapping_mul((self.iterations - 1).into()));
            let end = end & mask(first.size);
            let regular = last.is_none_or(|last| last.number() == first.number() && last.offset == end);
            if step != 0 && regular {
                let base = match &first.symbol {
                    None => Base::Zero,
                    Some(symbol) if symbol.root == Root::Stack && symbol.set.as_single() == Some(0) => Base::Stack,
                    Some(symbol) => Base::Unknown(symbol.number as u32),
                };
                let range = |low: u128, high: u128, stride: u64| Range {
                    base,
                    low: low as u64,
                    high: high as u64,
                    stride,
                    size: first.size,
                };
                found.push(Counter {
                    place,
                    first: range(first.offset, first.offset, 0),
                    all: range(first.offset, end, step.unsigned_abs() as u64),
                    step: Step::Add(step as i64),
                });
            }
        };
        for register in engine.registers.all().filter(|one| !engine.registers.is_flag(*one)) {
            let index = usize::from(register.0);
            let name = engine.registers.name(register).to_lowercase();
            add(name, &self.first[index], &second[index], Some(&self.last[index]));
        }
        if let Some(memory) = &self.memory.1 {
            for (root, name) in [(Root::Stack, "stack"), (Root::Zero, "memory")] {
                let (Some(before), Some(after)) = (self.memory.0.tree(root), memory.tree(root)) else { continue };
                before.join(
                    after,
                    true,
                    &mut |key, a, b| {
                        for cell in a.iter() {
                            let other = b.iter().find(|one| one.at == cell.at && one.term.size == cell.term.size);
                            let at = (key << 3) + u64::from(cell.at);
                            let place = match root {
                                Root::Stack => format!("stack{:+#x}", (at ^ 1 << 63) as i64),
                                _ => format!("{name} at {at:#x}"),
                            };
                            if let Some(other) = other {
                                add(place, &cell.term, &other.term, None);
                            }
                        }
                        None
                    },
                    &mut |_, _, _| None,
                );
            }
        }
        found
    }
}

impl State {
    /// Whether nothing seems to have changed since: every register holds the same set of values. A guess, for when to
    /// give up.
    pub fn is_like(&self, before: &State) -> bool {
        let same = |a: &Term, b: &Term| {
            a == b
                || a.number().is_some() && b.number().is_some() && {
                    let ((root, now), (other, then)) = (self.range(a), before.range(b));
                    let roots = root == other || matches!((root, other), (Root::Symbol(_), Root::Symbol(_)));
                    roots && now == then && (a.offset == b.offset || a.number() != b.number())
                }
        };
        if !self.registers.iter().zip(&before.registers).all(|(a, b)| same(a, b)) {
            return false;
        }
        let like = std::cell::Cell::new(true);
        for (mine, theirs) in
            [(&self.memory.absolute, &before.memory.absolute), (&self.memory.stack, &before.memory.stack)]
        {
            mine.join(
                theirs,
                true,
                &mut |_, a, b| {
                    let all = a.len() == b.len()
                        && a.iter().zip(b.iter()).all(|(x, y)| x.at == y.at && same(&x.term, &y.term));
                    like.set(like.get() && all);
                    None
                },
                &mut |_, _, _| {
                    like.set(false);
                    None
                },
            );
        }
        like.get()
    }

    /// Whether two executions are of one kind: registers that are read later hold the same sets of values, and so do
    /// numbers on the stack. A guess too: joining others is right, only less precise.
    pub fn is_kin(&self, other: &State, live: u64) -> bool {
        let same = |a: &Term, b: &Term| match (a.as_constant(), b.as_constant()) {
            (Some(x), Some(y)) => x == y,
            (None, None) => a == b || self.range(a) == other.range(b),
            _ => false,
        };
        let registers = self.registers.iter().zip(&other.registers).enumerate();
        if !registers.filter(|(index, (a, _))| live >> index & 1 == 1 && a.size > 1).all(|(_, (a, b))| same(a, b)) {
            return false;
        }
        let kin = std::cell::Cell::new(true);
        self.memory.stack.join(
            &other.memory.stack,
            true,
            &mut |_, a, b| {
                for cell in a.iter().filter(|cell| cell.term.as_constant().is_some()) {
                    let theirs = b.iter().find(|one| one.at == cell.at && one.term.size == cell.term.size);
                    kin.set(kin.get() && theirs.is_some_and(|theirs| theirs.term == cell.term));
                }
                None
            },
            &mut |_, _, _| None,
        );
        kin.get()
    }

    /// Forgets what branches told of symbols that nothing holds any more.
    pub fn forget_dead(&mut self) {
        const MANY: usize = 64;
        if self.known.len() < MANY.max(self.crowd) {
            return;
        }
        let mut live: HashSet<u64> = HashSet::new();
        for term in &self.registers {
            note(term, &mut live, 3);
        }
        let trees = [&self.memory.absolute, &self.memory.stack];
        for tree in trees.into_iter().chain(self.memory.others.iter().map(|(_, tree)| tree)) {
            tree.visit(0, u64::MAX, &mut |_, slot| slot.iter().for_each(|cell| note(&cell.term, &mut live, 1)));
        }
        live.extend(self.memory.others.iter().map(|(number, _)| *number));
        let known = std::rc::Rc::make_mut(&mut self.known);
        known.retain(|(number, _)| live.contains(number));
        // If most are alive after all, the oldest go.
        if known.len() > 16 * MANY {
            known.drain(..8 * MANY);
        }
        self.crowd = 2 * known.len();
    }
}

fn note(term: &Term, live: &mut HashSet<u64>, depth: u8) {
    let Some(symbol) = &term.symbol else { return };
    if live.insert(symbol.number) && depth > 0 {
        match &symbol.origin {
            Origin::Opaque => {}
            Origin::Unary(_, a) | Origin::Extract(a, _) => note(a, live, depth - 1),
            Origin::Binary(_, a, b) | Origin::Concat(a, b) => {
                note(a, live, depth - 1);
                note(b, live, depth - 1);
            }
            Origin::Select(a, b, c) => [a, b, c].into_iter().for_each(|one| note(one, live, depth - 1)),
        }
    }
}

/// A symbol of the header, and what the back edge brings for it.
struct Variable {
    place: String,
    first: (Root, Set),
    header: Term,
    back: Term,
    step: Step,
}

/// A bound on the iterations of a loop from an invariant: `header` is the state at the header, `back` at the back edge.
pub(crate) fn infer(
    engine: &Engine<'_>,
    one: LoopId,
    entry: &State,
    header: &State,
    phis: &HashSet<u64>,
    back: Option<&State>,
    watched: &[Watched],
) -> Run {
    let mut run = Run::default();
    let Some(back) = back else {
        run.most = Some(1);
        return run;
    };
    let variables = variables(engine, entry, header, phis, back);
    run.counters = variables
        .iter()
        .map(|one| Counter {
            place: one.place.clone(),
            first: record::range(one.first.0, &one.first.1),
            all: {
                let (root, set) = header.range(&one.header);
                record::range(root, &set)
            },
            step: one.step,
        })
        .collect();
    let mut reasons = Vec::new();
    for exit in watched {
        let from = engine.expanded.edges[exit.edge].from;
        if !is_passed_always(engine, one, from) {
            continue;
        }
        // Where the branch leads back, the loop is left if it is not taken.
        let leaves = !engine.expanded.inside(engine.expanded.edges[exit.edge].to, one);
        let stays = if leaves { !exit.truth } else { exit.truth };
        // Only if no way on is open to the other truth.
        let ways = engine.expanded.successors(from).iter().map(|edge| engine.expanded.edges[*edge]);
        let mut inside = ways.filter(|way| engine.expanded.inside(way.to, one));
        if inside.any(|way| (way.kind != EdgeKind::Next) != stays) {
            continue;
        }
        match bound(engine, exit, stays, &variables, phis) {
            Ok(most) if u128::from(most) < HOPELESS => {
                if run.most.is_none_or(|known| most < known) {
                    run.most = Some(most);
                }
                if leaves {
                    run.exits.push((exit.edge, 1, most));
                }
            }
            Ok(_) => reasons.push(("the counter may run through all its values".to_string(), None)),
            Err(reason) => reasons.push(reason),
        }
    }
    if run.most.is_none() {
        let exits = engine.expanded.loops[one].nodes.iter().flat_map(|node| engine.expanded.successors(*node));
        let leaves = exits.into_iter().any(|edge| !engine.expanded.inside(engine.expanded.edges[*edge].to, one));
        let leaves = leaves || engine.shapes[one].ends;
        let (reason, least) = reasons.into_iter().next().unwrap_or_else(|| {
            let reason = if leaves {
                "no exit that every iteration passes depends on a counter"
            } else {
                "nothing leads out of it"
            };
            (reason.to_string(), None)
        });
        run.reason = Some(reason);
        run.least = least;
    }
    run
}

fn variables(engine: &Engine<'_>, entry: &State, header: &State, phis: &HashSet<u64>, back: &State) -> Vec<Variable> {
    let mut found: Vec<Variable> = Vec::new();
    let mut seen = BTreeSet::new();
    let mut add = |place: String, first: &Term, now: &Term, next: &Term| {
        let Some(number) = now.number().filter(|number| phis.contains(number)) else { return };
        if now.size > 8 || !seen.insert(number) {
            return;
        }
        // What the symbol itself is, not the place.
        let less = now.offset.wrapping_neg();
        let base = first.plus(less);
        let first = entry.address(&base, engine.world.pointer);
        let (now, next) = (now.plus(less), next.plus(less));
        // In a wide register only the low half may count.
        if let Origin::Unary(timing_lift::il::Unary::ZeroExtend, inner) = next.origin() {
            let world = &engine.world;
            let half = |state: &State, term: &Term| state.clone().extract(world, term, 0, inner.size);
            let low = half(header, &now);
            let step = step(back, &low, inner);
            let first = entry.address(&half(entry, &base), world.pointer);
            found.push(Variable { place: place.clone(), first, header: low, back: inner.clone(), step });
        }
        let step = step(back, &now, &next);
        found.push(Variable { place, first, header: now, back: next, step });
    };
    for register in engine.registers.all() {
        let index = usize::from(register.0);
        let name = engine.registers.name(register).to_lowercase();
        add(name, &entry.registers[index], &header.registers[index], &back.registers[index]);
    }
    for (root, name) in [(Root::Stack, "stack"), (Root::Zero, "memory")] {
        let trees = (entry.memory.tree(root), header.memory.tree(root), back.memory.tree(root));
        let (Some(before), Some(now), Some(after)) = trees else { continue };
        now.visit(0, u64::MAX, &mut |key, slot| {
            for cell in slot.iter() {
                let find = |tree: &crate::tree::Tree<crate::memory::Slot>| {
                    let slot = tree.get(key)?;
                    let other = slot.iter().find(|one| one.at == cell.at && one.term.size == cell.term.size)?;
                    Some(other.term.clone())
                };
                let at = (key << 3) + u64::from(cell.at);
                let place = match root {
                    Root::Stack => format!("stack{:+#x}", (at ^ 1 << 63) as i64),
                    _ => format!("{name} at {at:#x}"),
                };
                let initial = || {
                    let number = crate::memory::bytes_of(engine.world.program, at, cell.term.size)?;
                    (root == Root::Zero && entry.memory.loaded).then(|| Term::constant(number, cell.term.size))
                };
                let first = find(before).or_else(|| if before.get(key).is_none() { initial() } else { None });
                if let (Some(first), Some(next)) = (first, find(after)) {
                    add(place, &first, &cell.term, &next);
                }
            }
        });
    }
    found
}

/// How the next value comes from this one.
fn step(back: &State, now: &Term, next: &Term) -> Step {
    if next.number() == now.number() {
        return Step::Add(signed(next.offset, next.size) as i64);
    }
    match next.origin() {
        Origin::Binary(Binary::And, a, b) => {
            let less = now.plus(mask(now.size));
            if a == now && *b == less || *a == less && b == now {
                return Step::ClearLowest;
            }
        }
        Origin::Binary(Binary::ShiftRight, a, b) if a == now => {
            if let Some(amount) = b.as_constant() {
                return Step::ShiftRight(amount as u32);
            }
        }
        Origin::Binary(Binary::ShiftLeft, a, b) if a == now => {
            if let Some(amount) = b.as_constant() {
                return Step::ShiftLeft(amount as u32);
            }
        }
        Origin::Binary(Binary::Divide, a, b) if a == now => {
            if let Some(number) = b.as_constant() {
                return Step::DivideBy(number as u64);
            }
        }
        Origin::Binary(Binary::Add, a, b) => {
            for (a, b) in [(a, b), (b, a)] {
                let (root, set) = back.range(b);
                if a.number() == now.number() && root == Root::Zero && a.size == now.size {
                    let (low, high) = shifted(&set, a.offset).signed();
                    return Step::Between(low as i64, high as i64);
                }
            }
        }
        Origin::Binary(Binary::Subtract, a, b) if a.number() == now.number() => {
            let (root, set) = back.range(b);
            if root == Root::Zero {
                let less = transfer::unary(timing_lift::il::Unary::Negate, &set, set.size);
                let (low, high) = shifted(&less, a.offset).signed();
                return Step::Between(low as i64, high as i64);
            }
        }
        _ => {}
    }
    Step::Other
}

/// Whether every iteration that comes back to the header passes this node.
fn is_passed_always(engine: &Engine<'_>, one: LoopId, node: NodeId) -> bool {
    let header = engine.expanded.loops[one].header;
    // Once an iteration only: not inside an inner loop.
    if engine.expanded.innermost(node) != Some(one) {
        return false;
    }
    if node == header {
        return true;
    }
    let mut seen = HashSet::from([header]);
    let mut open = vec![header];
    while let Some(at) = open.pop() {
        for edge in engine.expanded.successors(at) {
            let to = engine.expanded.edges[*edge].to;
            if to == header {
                return false;
            }
            if to != node && engine.expanded.inside(to, one) && seen.insert(to) {
                open.push(to);
            }
        }
    }
    true
}

type Failure = (String, Option<String>);

/// How often the header executes at most, if the loop goes on only where the condition is `stays`.
fn bound(
    engine: &Engine<'_>,
    exit: &Watched,
    stays: bool,
    variables: &[Variable],
    phis: &HashSet<u64>,
) -> Result<u64, Failure> {
    let place = engine.expanded.place(engine.expanded.edges[exit.edge].from);
    let fail = |what: &str| Err((format!("the exit at {place} {what}"), None));
    let Origin::Binary(operation, a, b) = exit.condition.origin() else {
        return fail("does not compare two values");
    };
    let (operation, a, b) = match (*operation, stays) {
        (operation, true) => (operation, a, b),
        (Binary::Equal, _) => (Binary::NotEqual, a, b),
        (Binary::NotEqual, _) => (Binary::Equal, a, b),
        (Binary::Less, _) => (Binary::LessEqual, b, a),
        (Binary::LessEqual, _) => (Binary::Less, b, a),
        (Binary::LessSigned, _) => (Binary::LessEqualSigned, b, a),
        (Binary::LessEqualSigned, _) => (Binary::LessSigned, b, a),
        _ => return fail("does not compare two values"),
    };
    let mut failure = None;
    for (counter, limit, swapped) in [(a, b, false), (b, a, true)] {
        let (counter, limit, operation) = peel(counter, limit, &exit.state, operation);
        let Some(variable) =
            variables.iter().find(|one| one.header.number() == counter.number() || cleared(one, &counter))
        else {
            continue;
        };
        if depends(&limit, phis, 8) {
            failure = Some(format!("compares {} with something that changes too", variable.place));
            continue;
        }
        if operation == Binary::NotEqual && !is_the_same_always(&limit, phis, 8) {
            failure = Some(format!("compares {} with something that changes too", variable.place));
            continue;
        }
        return solve(engine, exit, variable, &counter, operation, &limit, swapped)
            .ok_or_else(|| unsolved(&place, variable, &exit.state, &limit));
    }
    match failure {
        Some(what) => fail(&what),
        None => Err((
            format!("the exit at {place} depends on a value that changes irregularly"),
            Some(format!("how often the exit at {place} is passed by")),
        )),
    }
}

/// Why a comparison gives no bound, and what would help.
fn unsolved(place: &str, variable: &Variable, state: &State, limit: &Term) -> Failure {
    let name = &variable.place;
    let describe = |(root, set): (Root, Set)| match root {
        _ if set.span() >= mask(set.size) >> 1 => "may be anything".to_string(),
        Root::Zero if set.as_single().is_some() => format!("is {:#x}", set.low),
        Root::Zero => format!("is from {:#x} to {:#x}", set.low, set.high),
        Root::Stack => "is an address on the stack".to_string(),
        Root::Symbol(_) => "may be anything".to_string(),
    };
    let (begin, end) = (describe(variable.first), describe(state.range(limit)));
    let step = match variable.step {
        Step::Add(step) => format!("changes by {step}"),
        Step::Between(low, high) => format!("changes by {low} to {high}"),
        _ => "changes irregularly".to_string(),
    };
    let reason =
        format!("the exit at {place} compares {name}, which at first {begin} and {step}, with a value that {end}");
    let least = match (begin.ends_with("anything"), end.ends_with("anything")) {
        (_, true) => format!("the largest value with which {name} is compared at {place}"),
        (true, _) => format!("the values of {name} at the entry of the loop"),
        _ => format!("how often the exit at {place} is passed by"),
    };
    (reason, Some(least))
}

/// Whether a term has one value as long as the loop runs.
fn is_the_same_always(term: &Term, phis: &HashSet<u64>, depth: u8) -> bool {
    let Some(symbol) = &term.symbol else { return true };
    if phis.iter().all(|phi| symbol.number < *phi) {
        return true;
    }
    if depth == 0 || phis.contains(&symbol.number) {
        return false;
    }
    let same = |term: &Term| is_the_same_always(term, phis, depth - 1);
    match &symbol.origin {
        Origin::Opaque => false,
        Origin::Unary(_, a) | Origin::Extract(a, _) => same(a),
        Origin::Binary(_, a, b) | Origin::Concat(a, b) => same(a) && same(b),
        Origin::Select(a, b, c) => same(a) && same(b) && same(c),
    }
}

/// Whether the term is what is left of a variable of which the lowest bit is cleared.
fn cleared(variable: &Variable, term: &Term) -> bool {
    variable.step == Step::ClearLowest && *term == variable.back
}

/// Both sides without what keeps their order, extensions for instance, and how these then compare.
fn peel(counter: &Term, limit: &Term, state: &State, operation: Binary) -> (Term, Term, Binary) {
    let (mut counter, mut limit, mut operation) = (counter.clone(), limit.clone(), operation);
    loop {
        let Some(number) = limit.as_constant() else { return (counter, limit, operation) };
        let next = match counter.origin() {
            Origin::Unary(timing_lift::il::Unary::ZeroExtend, inner) if number <= mask(inner.size) => {
                // What is extended so is not negative, whatever the half's upper bit says.
                operation = match operation {
                    Binary::LessSigned => Binary::Less,
                    Binary::LessEqualSigned => Binary::LessEqual,
                    other => other,
                };
                (inner.clone(), Term::constant(number, inner.size))
            }
            Origin::Unary(timing_lift::il::Unary::SignExtend, inner)
                if !matches!(operation, Binary::Less | Binary::LessEqual)
                    && signed(number & mask(inner.size), inner.size) == signed(number, counter.size) =>
            {
                (inner.clone(), Term::constant(number, inner.size))
            }
            Origin::Extract(inner, 0)
                if matches!(operation, Binary::Equal | Binary::NotEqual | Binary::Less | Binary::LessEqual)
                    && state.numbers(inner).unsigned().1 <= mask(counter.size) =>
            {
                (inner.clone(), Term::constant(number, inner.size))
            }
            _ => return (counter, limit, operation),
        };
        (counter, limit) = next;
    }
}

/// Whether a term is made of symbols that change.
fn depends(term: &Term, phis: &HashSet<u64>, depth: u8) -> bool {
    let Some(symbol) = &term.symbol else { return false };
    if phis.contains(&symbol.number) {
        return true;
    }
    if phis.iter().all(|phi| symbol.number < *phi) {
        // Older than the loop.
        return false;
    }
    match &symbol.origin {
        // Made in the loop from nothing known: it may be another value each time, which its set covers.
        Origin::Opaque => false,
        _ if depth == 0 => true,
        Origin::Unary(_, a) | Origin::Extract(a, _) => depends(a, phis, depth - 1),
        Origin::Binary(_, a, b) | Origin::Concat(a, b) => depends(a, phis, depth - 1) || depends(b, phis, depth - 1),
        Origin::Select(a, b, c) => [a, b, c].into_iter().any(|one| depends(one, phis, depth - 1)),
    }
}

fn solve(
    engine: &Engine<'_>,
    exit: &Watched,
    variable: &Variable,
    counter: &Term,
    operation: Binary,
    limit: &Term,
    swapped: bool,
) -> Option<u64> {
    let size = counter.size;
    if size > 8 {
        return None;
    }
    if variable.step == Step::ClearLowest {
        // Each iteration leaves a bit less; the loop goes on while some are left.
        let whole = *counter == variable.header || *counter == variable.back;
        let some = operation == Binary::NotEqual && limit.as_constant() == Some(0) && whole;
        let bits = (128 - variable.first.1.unsigned().1.leading_zeros()).min(8 * u32::from(size));
        let bits = if variable.first.0 == Root::Zero { bits } else { 8 * u32::from(size) };
        let after = u64::from(*counter != variable.back);
        return some.then(|| (u64::from(bits) + after).max(1));
    }
    let (least, most) = match variable.step {
        Step::Add(step) if step != 0 => (step, step),
        Step::Between(low, high) if low > 0 || high < 0 => (low, high),
        _ => return None,
    };
    // The counter where it is compared, in the first iteration.
    let (root, first) = (variable.first.0, shifted(&variable.first.1, counter.offset));
    let (limit_root, limit) = if root == Root::Zero {
        (Root::Zero, exit.state.numbers(limit))
    } else {
        exit.state.address(limit, engine.world.pointer)
    };
    if root != limit_root || limit.size != first.size {
        return None;
    }
    let (top, half) = (mask(size), (mask(size) >> 1) as i128);
    let up = least > 0;
    // The least distance that one iteration covers.
    let stride = if up { least.unsigned_abs() } else { most.unsigned_abs() };
    let longest = if up { most.unsigned_abs() } else { least.unsigned_abs() };
    let count = |distance: u128| u64::try_from(distance.div_ceil(stride.into()) + 1).ok();
    match (operation, swapped) {
        (Binary::NotEqual, _) => {
            if stride != longest {
                return None;
            }
            let (from, to) = if up { (&first, &limit) } else { (&limit, &first) };
            let distance = transfer::binary(Binary::Subtract, to, from, size);
            let step = u128::from(stride);
            let divides = distance.low % step == 0 && distance.stride % step == 0;
            if !distance.is_straight() || !divides {
                return None;
            }
            count(distance.high)
        }
        // Pointers into one object: it does not wrap around.
        (Binary::Less | Binary::LessEqual, _) if root != Root::Zero => {
            let inclusive = i128::from(operation == Binary::LessEqual);
            if up == swapped {
                return None;
            }
            let distance = if up { limit.signed().1 - first.signed().0 } else { first.signed().1 - limit.signed().0 };
            count((distance + inclusive).max(0) as u128)
        }
        (Binary::Less | Binary::LessEqual, false) if up => {
            let last = limit.unsigned().1.checked_sub(u128::from(operation == Binary::Less));
            let Some(last) = last else { return Some(1) };
            let begin = if first.is_straight() { first.low } else { return None };
            // One step beyond the last value must not wrap around.
            if last + u128::from(longest) > top {
                return None;
            }
            count((last + 1).saturating_sub(begin))
        }
        (Binary::Less | Binary::LessEqual, true) if !up => {
            // limit < counter
            let last = limit.unsigned().0 + u128::from(operation == Binary::Less);
            let begin = if first.is_straight() { first.high } else { return None };
            if last < u128::from(longest) {
                return None;
            }
            count((begin + 1).saturating_sub(last))
        }
        (Binary::LessSigned | Binary::LessEqualSigned, false) if up => {
            let last = limit.signed().1 - i128::from(operation == Binary::LessSigned);
            let begin = first.signed().0;
            if last + i128::from(longest) > half {
                return None;
            }
            count((last + 1 - begin).max(0) as u128)
        }
        (Binary::LessSigned | Binary::LessEqualSigned, true) if !up => {
            let last = limit.signed().0 + i128::from(operation == Binary::LessSigned);
            let begin = first.signed().1;
            if last - i128::from(longest) < -half - 1 {
                return None;
            }
            count((begin + 1 - last).max(0) as u128)
        }
        _ => None,
    }
}
