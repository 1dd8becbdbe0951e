//! Variables of a loop: what stands for another value in each iteration, and how the next one comes from it.

use std::collections::{BTreeSet, HashSet};

use wcet_binary::lift::evaluate::{mask, signed};
use wcet_binary::lift::il::Binary;

use crate::execute::Engine;
use crate::set::Set;
use crate::state::State;
use crate::term::{shifted, Origin, Root, Term};
use crate::transfer;
use crate::values::Step;

/// A symbol of the header, and what the back edge brings for it.
pub(crate) struct Variable {
    pub place: String,
    /// What it is where the loop is entered, and the values that this may be.
    pub start: Term,
    pub first: (Root, Set),
    pub header: Term,
    pub back: Term,
    pub step: Step,
}

/// The variables that registers and memory hold at the header.
pub(crate) fn variables(
    engine: &Engine<'_>,
    entry: &State,
    header: &State,
    phis: &HashSet<u64>,
    back: &State,
) -> Vec<Variable> {
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
        if let Origin::Unary(wcet_binary::lift::il::Unary::ZeroExtend, inner) = next.origin() {
            let world = &engine.world;
            let half = |state: &State, term: &Term| state.clone().extract(world, term, 0, inner.size);
            let low = half(header, &now);
            let step = step(back, &low, inner);
            let start = half(entry, &base);
            let first = entry.address(&start, world.pointer);
            found.push(Variable { place: place.clone(), start, first, header: low, back: inner.clone(), step });
        }
        let step = step(back, &now, &next);
        found.push(Variable { place, start: base, first, header: now, back: next, step });
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
                let find = |tree: &crate::patricia::Tree<crate::memory::Slot>| {
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
        Origin::Select(when, then, otherwise) => {
            let sides = match back.numbers(when).as_single() {
                Some(0) => return step(back, now, otherwise),
                Some(_) => return step(back, now, then),
                None => (between(step(back, now, then)), between(step(back, now, otherwise))),
            };
            if let (Some((low, high)), Some((least, most))) = sides {
                return Step::Between(low.min(least), high.max(most));
            }
        }
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
                let less = transfer::unary(wcet_binary::lift::il::Unary::Negate, &set, set.size);
                let (low, high) = shifted(&less, a.offset).signed();
                return Step::Between(low as i64, high as i64);
            }
        }
        _ => {}
    }
    Step::Other
}

/// The least and the largest number that a step adds, if that is what it does.
pub(crate) fn between(step: Step) -> Option<(i64, i64)> {
    match step {
        Step::Add(step) => Some((step, step)),
        Step::Between(low, high) => Some((low, high)),
        _ => None,
    }
}
