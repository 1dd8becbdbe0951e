//! Predicates from which the check of requests begins.

use super::requests::{ELSEWHERE, NONE};
use super::Lower;
use crate::expr::{self, Compare, Expr, Node, Op as Operation, Var};
use crate::hash::{HashMap, HashSet};
use crate::program::{Op, Step};

impl Lower<'_> {
    /// Predicates that proofs about requests need as a rule: whether the request's bit is set in a number that is used as a
    /// set of cookies, and whether the element that is followed is between two counters of a ring.
    pub(super) fn hint(&mut self) {
        self.program.turns = self.turn_hints();
        let Some(followed) = self.followed else { return };
        let steps: Vec<&Step> = self.program.edges.iter().flat_map(|edge| &edge.steps).collect();
        let mut hints: Vec<Expr> = (NONE..=ELSEWHERE).map(|place| self.is_at(&followed, place)).collect();
        let limit = expr::constant(followed.limit, 64);
        hints.push(expr::compare(Compare::ULt, self.var(followed.cookie), limit));
        hints.push(expr::compare(Compare::ULt, self.var(self.cookie), limit));
        hints.push(expr::equal(self.var(self.cookie), self.var(followed.cookie)));
        // Sets of cookies.
        let mut own: HashSet<Var> = HashSet::from_iter([self.cookie]);
        let mut sets: HashSet<Var> = HashSet::default();
        loop {
            let before = (own.len(), sets.len());
            for step in &steps {
                let Op::Assign(var, value) = &step.op else { continue };
                if is_made_of_set(*value, &sets) || has_bit_of(*value, &own) {
                    sets.insert(*var);
                } else if value.vars().iter().any(|one| own.contains(one)) {
                    own.insert(*var);
                }
            }
            if (own.len(), sets.len()) == before {
                break;
            }
        }
        // Objects of the program; values in between follow from them.
        let objects: HashSet<Var> = self.kept.values().copied().collect();
        // ... and copies of those that outlive a call.
        let is_kept = |var: &Var| objects.contains(var) && !self.owners.contains_key(var);
        // Of several clients' protocol what lasts is kept by client; what the driver's is about, elsewhere.
        let of_client = &self.program.of_client;
        let is_foreign = |var: &Var| {
            let is_own = of_client.1.contains(var) == (followed.is_of(of_client.0));
            self.program.client.is_some() && is_kept(var) && !is_own
        };
        let copies = steps.iter().filter_map(|step| match &step.op {
            Op::Assign(var, value) => match value.node() {
                Node::Var { var: from, .. } if is_kept(&from) && !is_foreign(&from) && sets.contains(&from) => {
                    Some(*var)
                }
                _ => None,
            },
            _ => None,
        });
        let copies: HashSet<Var> = copies.collect();
        let is_hint = |var: &Var| !is_foreign(var) && (objects.contains(var) || *var == self.cookie);
        let mut own: Vec<Var> = own.into_iter().filter(is_hint).collect();
        own.sort_unstable();
        let is_own = |var: &Var| expr::equal(expr::zero_extend(self.var(*var), 64), self.var(followed.cookie));
        hints.extend(own.iter().map(is_own));
        let mut sets: Vec<Var> = sets.into_iter().filter(|var| is_hint(var) || copies.contains(var)).collect();
        sets.sort_unstable();
        let cookie = self.var(followed.cookie);
        let bit_of = |set: Expr| expr::cut(expr::binary(Operation::LShr, expr::zero_extend(set, 64), cookie), 1);
        for set in sets.into_iter().filter(|var| self.program.vars[*var as usize].bits >= 8) {
            hints.push(bit_of(self.var(set)));
            // What a step such as `set & (set - 1)` will leave, as long as it is known which bit that is.
            for step in &steps {
                match &step.op {
                    Op::Assign(var, value) if *var == set && *value.vars() == [set] => hints.push(bit_of(*value)),
                    _ => {}
                }
            }
        }
        // Rings.
        for (index, size) in &self.followed_indexes {
            hints.push(expr::compare(Compare::ULt, self.var(*index), expr::constant(*size, 64)));
            let own: Vec<(Expr, Expr)> =
                self.counters.iter().filter(|(is_here, _)| is_here.mentions(*index)).map(|(a, b)| (*a, *b)).collect();
            let mut all: Vec<Expr> = own.iter().map(|(_, counter)| *counter).collect();
            all.sort_unstable();
            all.dedup();
            let mut ends: Vec<Expr> =
                own.iter().filter(|(is_here, _)| self.written.contains(is_here)).map(|(_, counter)| *counter).collect();
            ends.sort_unstable();
            ends.dedup();
            let mut begins: Vec<Expr> =
                own.iter().filter(|(is_here, _)| self.taken.contains(is_here)).map(|(_, counter)| *counter).collect();
            begins.sort_unstable();
            begins.dedup();
            for begin in begins.iter().filter(|begin| !ends.contains(begin)) {
                let place = expr::binary(Operation::URem, *begin, expr::constant(*size, begin.bits()));
                hints.push(expr::equal(self.var(*index), expr::zero_extend(place, 64)));
            }
            for end in &ends {
                for begin in begins.iter().filter(|begin| !ends.contains(begin) && begin.bits() == end.bits()) {
                    let bits = end.bits();
                    let length = expr::binary(Operation::Sub, *end, *begin);
                    let number = expr::constant(*size, bits);
                    let from = expr::binary(Operation::Sub, expr::cut(self.var(*index), bits), *begin);
                    let place = expr::binary(Operation::URem, from, number);
                    hints.push(expr::compare(Compare::ULt, place, length));
                    hints.push(expr::not(expr::compare(Compare::ULt, number, length)));
                    hints.push(expr::equal(*end, *begin));
                    if bits <= 32 {
                        // Also between the message and the counter's step.
                        let count = expr::zero_extend(length, 32);
                        let more = expr::binary(Operation::Add, count, expr::constant(1, 32));
                        hints.extend([count, more].map(|count| expr::equal(self.var(followed.count), count)));
                    }
                    for middle in all.iter().filter(|one| *one != begin && !ends.contains(one) && one.bits() == bits) {
                        let part = expr::binary(Operation::Sub, *middle, *begin);
                        hints.push(expr::not(expr::compare(Compare::ULt, length, part)));
                        hints.push(expr::equal(*middle, *begin));
                    }
                }
            }
        }
        // How many times a loop has to go round: what is left of a ring, also between the ring's step and the loop's.
        let mut once: HashMap<Var, Option<Expr>> = HashMap::default();
        for step in &steps {
            match step.op {
                Op::Assign(var, value) => drop(once.entry(var).and_modify(|one| *one = None).or_insert(Some(value))),
                Op::Havoc(var) => drop(once.insert(var, None)),
                _ => {}
            }
        }
        let counters: HashSet<Var> = self.counters.values().flat_map(|counter| counter.vars().to_vec()).collect();
        for step in &steps {
            let Op::Assign(var, value) = &step.op else { continue };
            let length = self.of_own(value.replace(&|one| once.get(&one).copied().flatten()));
            let is_difference = matches!(length.node(), Node::Binary(Operation::Sub, ..));
            if is_difference && length.vars().len() > 1 && length.vars().iter().all(|one| counters.contains(one)) {
                let more = expr::binary(Operation::Add, length, expr::constant(1, length.bits()));
                hints.extend([length, more].map(|length| expr::equal(self.var(*var), length)));
            }
        }
        self.program.hints = hints;
    }

    /// Whether a loop over the clients has been with the one that is followed.
    fn turn_hints(&self) -> Vec<Expr> {
        let Some((own, count)) = self.own_client() else { return Vec::new() };
        let of = |turn: Expr| {
            let is_inside = expr::compare(Compare::ULt, turn, count);
            [expr::compare(Compare::ULt, own, turn), expr::equal(own, turn), is_inside]
        };
        let mut hints: Vec<Expr> = self.turns.iter().copied().flat_map(of).collect();
        if !hints.is_empty() {
            hints.push(expr::compare(Compare::ULt, own, count));
        }
        hints
    }
}

/// Whether it is a set of bits that is made of one of these.
fn is_made_of_set(value: Expr, sets: &HashSet<Var>) -> bool {
    match value.node() {
        Node::Var { var, .. } => sets.contains(&var),
        Node::Binary(Operation::LShr | Operation::AShr | Operation::URem | Operation::UDiv, ..) => false,
        Node::Binary(_, a, b) | Node::Choose(_, a, b) => is_made_of_set(a, sets) || is_made_of_set(b, sets),
        Node::Not(a) | Node::Zero(a, _) | Node::Sign(a, _) | Node::Cut(a, _) => is_made_of_set(a, sets),
        Node::Const { .. } | Node::Compare(..) => false,
    }
}

/// Whether it has a part `… << cookie`.
fn has_bit_of(value: Expr, cookies: &HashSet<Var>) -> bool {
    match value.node() {
        Node::Binary(Operation::Shl, _, by) if by.vars().iter().any(|var| cookies.contains(var)) => true,
        Node::Binary(_, a, b) | Node::Compare(_, a, b) => has_bit_of(a, cookies) || has_bit_of(b, cookies),
        Node::Not(a) | Node::Zero(a, _) | Node::Sign(a, _) | Node::Cut(a, _) => has_bit_of(a, cookies),
        Node::Choose(_, a, b) => has_bit_of(a, cookies) || has_bit_of(b, cookies),
        Node::Const { .. } | Node::Var { .. } => false,
    }
}
