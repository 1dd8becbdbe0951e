//! How similar two states are, and which parts of a state are no longer needed. Both are heuristics: they decide which
//! executions are merged, never what holds of them.

use std::collections::HashSet;

use crate::state::State;
use crate::term::{Origin, Root, Term};

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
