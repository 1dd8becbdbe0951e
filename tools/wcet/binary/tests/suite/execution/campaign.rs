//! Many forms on many states: what is compared, what is wrong, what is left unknown.

use std::collections::BTreeMap;

use wcet_binary::lift::{Instruction, Lifter};

use super::State;

/// What comes out of an instruction, as another computed it.
#[derive(Debug, Clone, Default)]
pub struct After {
    pub values: Vec<(Place, u64)>,
    /// Whether control went elsewhere, where that is compared.
    pub taken: Option<u64>,
    /// Where it went, where that is compared.
    pub target: Option<u64>,
}

/// What is compared after an instruction.
#[derive(Debug, Clone, Copy)]
pub enum Place {
    Register(u8),
    /// The lower or the upper 8 of a register's 16 bytes.
    Half(u8, bool),
    Byte(u64),
}

#[derive(Debug)]
pub struct Campaign {
    forms: Vec<String>,
    wrong: BTreeMap<usize, String>,
    /// How often a form was executed.
    executed: Vec<usize>,
    pub compared: usize,
    pub unknown: usize,
}

impl Campaign {
    pub fn new(forms: Vec<String>) -> Campaign {
        let executed = vec![0; forms.len()];
        Campaign { forms, wrong: BTreeMap::new(), executed, compared: 0, unknown: 0 }
    }

    /// Executes the form at `address` from `before` on: wherever the outcome is known it must be what the other computed.
    pub fn execute(&mut self, form: usize, lifter: &Lifter<'_>, address: u64, before: State, after: &After) {
        self.executed[form] += 1;
        if let Err(reason) = lifter
            .lift(address)
            .map_err(|error| format!("not lifted: {error}"))
            .and_then(|instruction| self.compare(&instruction, before, after))
        {
            self.wrong.entry(form).or_insert(reason);
        }
    }

    /// Whether the other's outcome shows that the operations are wrong.
    pub fn refutes(&mut self, instruction: &Instruction, before: State, after: &After) -> bool {
        self.compare(instruction, before, after).is_err()
    }

    fn compare(&mut self, instruction: &Instruction, mut state: State, after: &After) -> Result<(), String> {
        let before = state.clone();
        let taken = state.execute(instruction)?;
        if after.taken.is_some() && taken.map(|taken| taken as u64) != after.taken {
            return Err(format!("taken: {:?}, lifted {taken:?}; before {:x?}", after.taken, before.registers));
        }
        if after.target.is_some() && state.target != after.target {
            return Err(format!("goes to {:x?}, lifted {:x?}", after.target, state.target));
        }
        for (place, theirs) in &after.values {
            let mine = match place {
                Place::Register(register) => state.registers.get(register).copied(),
                Place::Half(register, upper) => {
                    let whole = state.registers.get(register);
                    whole.map(|whole| u128::from((whole >> if *upper { 64 } else { 0 }) as u64))
                }
                Place::Byte(address) => state.memory.get(address).copied().map(u128::from),
            };
            match mine {
                Some(mine) if mine == u128::from(*theirs) => self.compared += 1,
                Some(mine) => {
                    return Err(format!("{place:x?} is {theirs:#x}, lifted {mine:#x}; before {:x?}", before.registers));
                }
                None => self.unknown += 1,
            }
        }
        Ok(())
    }

    /// Every form was executed so often, and none is wrong.
    pub fn finish(&self, states: usize) {
        println!("{} forms, {} values compared, {} unknown", self.forms.len(), self.compared, self.unknown);
        for (form, reason) in &self.wrong {
            println!("{}: {}", self.forms[*form], reason.chars().take(400).collect::<String>());
        }
        assert!(self.wrong.is_empty(), "{} forms are wrong", self.wrong.len());
        let short = self.executed.iter().position(|count| *count != states);
        assert_eq!(short.map(|form| &self.forms[form]), None, "not executed on all states");
        assert!(self.compared > self.unknown * 20);
    }
}
