//! What outlives a condition.
//!
//! A condition that speaks of something dead is dropped. It may be the only one that decides something of what lives: a condition
//! of the machine that follows from those before is not noted by itself. So the parts that a dropped condition decides, with all
//! others of the path, are noted first.

use std::collections::HashSet;

use crate::engine::Engine;
use crate::merge::symbols;
use crate::state::{Item, State, Stop};
use crate::term::build::not;
use crate::term::{below, substitute, Binary, Node, Term};

/// What a state's later comparisons may depend on.
pub struct Alive {
    parts: HashSet<Term>,
    symbols: HashSet<Term>,
    /// What tells apart the paths that the state stands for is kept whole until the machine has decided.
    is_open: bool,
}

impl Alive {
    pub fn of(held: &[Term], state: &State) -> Alive {
        let parts: HashSet<Term> = below(held).into_iter().collect();
        let symbols = parts.iter().copied().filter(|term| crate::merge::is_symbol(*term)).collect();
        let is_open = state.selectors.iter().any(|one| parts.contains(one));
        Alive { parts, symbols, is_open }
    }

    pub fn has(&self, term: &Term) -> bool {
        self.parts.contains(term)
    }

    /// Whether a condition is kept.
    pub fn keeps(&self, condition: Term) -> bool {
        let mine = symbols(&[condition]);
        mine.is_subset(&self.symbols) || self.is_open && !mine.is_disjoint(&self.symbols)
    }
}

/// The conditions that a condition is made of; none if it is made of none.
fn parts(condition: Term) -> Vec<Term> {
    let (mut out, mut todo) = (Vec::new(), vec![condition]);
    while let Some(one) = todo.pop() {
        match one.node() {
            Node::Binary(Binary::And | Binary::Or | Binary::Xor, a, b) if one.width() == 1 => todo.extend([a, b]),
            Node::If(a, b, c) if one.width() == 1 => todo.extend([a, b, c]),
            _ if one.value().is_none() && !out.contains(&one) => out.push(one),
            _ => {}
        }
    }
    out.retain(|one| *one != condition && *one != not(condition));
    out
}

/// The variable of which the condition says the value, as the number of rounds left behind a loop.
fn decided(condition: Term) -> Option<(Term, Term)> {
    let Node::Binary(Binary::Equal, a, b) = condition.node() else { return None };
    let is_variable = |one: Term| matches!(one.node(), Node::Variable(_));
    [(a, b), (b, a)].into_iter().find(|(variable, value)| is_variable(*variable) && value.value().is_some())
}

impl Engine<'_> {
    /// All values that the state holds.
    pub fn held(&self, state: &State) -> Vec<Term> {
        let mut held: Vec<Term> = state.locals.clone();
        for item in &state.stack {
            if let Item::Return { locals, .. } = item {
                held.extend(locals);
            }
        }
        held.extend(&state.registers);
        held.extend(state.frame.held.values());
        held.extend(&state.memory);
        held.extend(&state.proved);
        held.extend([self.entry.stack, self.entry.back, self.entry.base, self.entry.percpu]);
        if crate::routines::recalls_entry(&self.function.name) {
            held.extend(self.entry_registers.iter().chain(&self.entry_frame).copied());
            held.push(self.entry.user);
        }
        held
    }

    /// Notes what conditions that will be dropped decide of what lives.
    pub fn note_parts(&mut self, state: &mut State) -> Result<(), Stop> {
        let alive = Alive::of(&self.held(state), state);
        let dropped: Vec<Term> = state.path.conditions.iter().copied().filter(|one| !alive.keeps(*one)).collect();
        for (dead, value) in dropped.iter().filter_map(|one| decided(*one)) {
            let now = dropped.iter().map(|one| substitute(*one, dead, value));
            let lasting: Vec<Term> = now.filter(|one| symbols(&[*one]).is_subset(&alive.symbols)).collect();
            lasting.into_iter().for_each(|one| state.path.assume(one));
        }
        for part in dropped.into_iter().flat_map(parts) {
            let is_known = |one: Term| state.path.conditions.contains(&one);
            if is_known(part) || is_known(not(part)) || !symbols(&[part]).is_subset(&alive.symbols) {
                continue;
            }
            for decided in [part, not(part)] {
                if state.path.always(decided, &mut self.solver)? {
                    state.path.assume(decided);
                    break;
                }
            }
        }
        Ok(())
    }
}
