//! Which values of memory that the model does not follow are guesses.
//!
//! An element of a large array may be any of the values that were stored in the array, or zero. If some come from outside
//! (the device, a message, a function defined elsewhere), and all others are zero, any value is as good as another, and a
//! run that rests on one is a run that the program can take. What the driver has computed itself, such as a state, is a
//! guess; so is another value than zero where nothing but zero is stored.

use super::requests::Key;
use super::Lower;
use crate::expr::{Expr, Var};
use crate::hash::{HashMap, HashSet};
use crate::program::Op;
use std::rc::Rc;

impl Lower<'_> {
    /// Takes back that a value is a guess where it comes from outside.
    pub(super) fn settle_guesses(&mut self) {
        let mut assigned: HashMap<Var, Vec<Expr>> = HashMap::default();
        let mut opened: HashSet<Var> = HashSet::default();
        for step in self.program.edges.iter().flat_map(|edge| &edge.steps) {
            match &step.op {
                Op::Assign(var, value) => assigned.entry(*var).or_default().push(*value),
                Op::Havoc(var) => drop(opened.insert(*var)),
                _ => {}
            }
        }
        // Something from outside is part of it.
        let mut sources = opened.clone();
        loop {
            let before = sources.len();
            let reached =
                |all: &Vec<Expr>| all.iter().any(|value| value.vars().iter().any(|var| sources.contains(var)));
            let more: Vec<Var> = assigned.iter().filter(|(_, all)| reached(all)).map(|(var, _)| *var).collect();
            sources.extend(more);
            if sources.len() == before {
                break;
            }
        }
        let is_opaque = |var: &Var| self.program.vars[*var as usize].is_guess && !self.loads.contains_key(var);
        let mut own: HashSet<Var> = opened.iter().copied().filter(is_opaque).collect();
        let mut keys: HashSet<Rc<Key>> = HashSet::default();
        loop {
            let before = (own.len(), keys.len());
            let is_outer = |value: &Expr| {
                value.value() == Some(0)
                    || (value.vars().iter().all(|var| !own.contains(var))
                        && value.vars().iter().any(|var| sources.contains(var)))
            };
            let computed = assigned.iter().filter(|(_, all)| !all.iter().all(is_outer)).map(|(var, _)| *var);
            let computed: Vec<Var> = computed.collect();
            let kept: Vec<Rc<Key>> =
                self.stored.iter().filter(|(_, value)| !is_outer(value)).map(|(key, _)| key.clone()).collect();
            own.extend(computed);
            keys.extend(kept);
            own.extend(self.loads.iter().filter(|(_, key)| keys.contains(*key)).map(|(var, _)| *var));
            if (own.len(), keys.len()) == before {
                break;
            }
        }
        // Something was stored that is from outside.
        let is_fed = |value: &Expr| value.vars().iter().any(|var| sources.contains(var));
        let fed: HashSet<Rc<Key>> =
            self.stored.iter().filter(|(_, value)| is_fed(value)).map(|(key, _)| key.clone()).collect();
        for (var, key) in &self.loads {
            if fed.contains(key) && !keys.contains(key) {
                self.program.vars[*var as usize].is_guess = false;
            }
        }
    }
}
