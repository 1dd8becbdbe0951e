//! The timing analysis as a whole: its stages, one after the other, from an executable to a report.
//!
//! **Takes** a [`Request`]: the bytes of an executable, an entry, a machine, and what a person states. **Returns** a
//! [`Report`](wcet_report::Report): a bound with all that it rests on, or every reason why there is none.
//!
//! The stages: load the executable (`wcet-binary`), control flow (`wcet-flow` on `wcet-binary`), calls inlined
//! virtually (`wcet-flow`), values of registers and memory (`wcet-values`), loop bounds (`wcet-paths`, and
//! model checking for what it leaves), costs and the worst path (`wcet-paths` on `wcet-hardware` and
//! `wcet-hardware`), and paths that no run takes (`wcet-paths`), which are excluded until nothing speaks
//! against the worst path or time is up.
//!
//! # Why it is sound
//! Each stage is (its own page says why), and this crate only hands results on. What it adds:
//! * A stage's error ends the analysis without a number. Errors of one stage come all at once.
//! * A loop without a bound leaves the whole without one.
//! * Code that the program can write, and stores that may go to code, are errors (`fixed_code.rs`): all stages take
//!   instructions from the file.
//! * Refinement only ever adds constraints that hold for all runs, so the bound in hand when time is up is valid.

mod budget;
mod checking;
mod code;
mod contexts;
mod describe;
mod entry_registers;
mod explain;
mod faults;
mod fixed_code;
mod loops;
mod machine;
mod paths;
mod refining;
mod request;
mod rereads;
mod solving;
mod source;
mod stages;
mod stated;

pub use budget::{judge as judge_budget, parse as parse_budget};
pub use code::Code;
pub use describe::machine as machine_of;
pub use machine::{hash, load as load_machine, Loaded};
pub use request::{addresses, flow_options, Request, Stated};
pub use solving::walk as time_of_one_run;
pub use stages::{analyse, analyse_and_show, loops, status, Claims, Progress};
