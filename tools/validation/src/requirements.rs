//! What functions require of their arguments beyond their types.
//!
//! gcc drops a check that all callers of a function make true. Then its code does what its term says for the arguments that it
//! gets, not for all. Such a function is validated for arguments in these bounds, and each call of it in a function that is
//! validated must be shown to keep them: a bound that is too tight makes callers fail, one that is too loose the function itself.
//! Callers that are not validated are not checked: that they keep to it is trusted, and the report says so.

use crate::engine::Engine;
use crate::state::{refuse, State, Stop};
use crate::term::build::{and, less, not, or};
use crate::term::{constant, Term};

/// A parameter, counted from 0, and its least and greatest value. A least value above the greatest: all between the two are none.
#[derive(Debug, Clone, Copy)]
pub struct Requirement {
    function: &'static str,
    parameter: usize,
    least: u64,
    most: u64,
}

const REQUIREMENTS: [Requirement; 11] = [
    // Kinds of pages: PAGEMAP_DEVICE is the last.
    Requirement { function: "pagemap_map", parameter: 4, least: 0, most: 2 },
    Requirement { function: "process_show_page", parameter: 4, least: 0, most: 2 },
    // PROT_READ and PROT_WRITE.
    Requirement { function: "pagemap_frame", parameter: 2, least: 0, most: 3 },
    Requirement { function: "process_pin_page", parameter: 2, least: 0, most: 3 },
    // Levels: 3 is the root's.
    Requirement { function: "pagemap_pass", parameter: 2, least: 0, most: 3 },
    // Threads of a process: NUM_THREAD - 1 is the last.
    Requirement { function: "process_start_thread", parameter: 0, least: 0, most: 143 },
    // All rights together.
    Requirement { function: "npt_map", parameter: 3, least: 0, most: 7 },
    // Whether the process was being undone.
    Requirement { function: "process_build_leave", parameter: 1, least: 0, most: 1 },
    // The controller's version: start-up alone reads a register.
    Requirement { function: "ioapic_read", parameter: 0, least: 1, most: 1 },
    // The CPU that starts the kernel, or none.
    Requirement { function: "arch_iommu_listen", parameter: 0, least: 0xffff_ffff, most: 0 },
    // Digits: of a device's number, or of half an address.
    Requirement { function: "iommu_print_number", parameter: 1, least: 4, most: 8 },
];

/// What a function requires, for people.
pub fn texts(function: &str) -> Vec<String> {
    of(function).map(Requirement::text).collect()
}

fn of(function: &str) -> impl Iterator<Item = &'static Requirement> + '_ {
    REQUIREMENTS.iter().filter(move |one| one.function == function)
}

impl Requirement {
    fn holds(&self, value: Term) -> Term {
        let number = |number: u64| constant(u128::from(number), value.width());
        let (low, high) = (not(less(value, number(self.least))), not(less(number(self.most), value)));
        if self.least <= self.most {
            and(low, high)
        } else {
            or(low, high)
        }
    }

    fn text(&self) -> String {
        match self.least <= self.most {
            true => format!("argument {} from {} to {}", self.parameter + 1, self.least, self.most),
            false => format!("argument {} at most {}, or at least {}", self.parameter + 1, self.most, self.least),
        }
    }
}

impl Engine<'_> {
    /// At the entry of the function that is validated.
    pub fn assume_requirements(&self, state: &mut State) {
        for one in of(&self.function.name) {
            let holds = one.holds(state.locals[one.parameter]);
            state.path.assume(holds);
        }
    }

    /// At a call.
    pub fn check_requirements(&mut self, state: &mut State, function: &str, arguments: &[Term]) -> Result<(), Stop> {
        for one in of(function) {
            let Some(value) = arguments.get(one.parameter) else {
                return refuse(format!("{function} requires {}, and this call has no such argument", one.text()));
            };
            if !state.path.always(one.holds(*value), &mut self.solver)? {
                return refuse(format!("{function} requires {}, which this call may not keep", one.text()));
            }
        }
        Ok(())
    }
}
