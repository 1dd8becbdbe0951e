//! Response time of a kernel: its regions, what bounds them, and what those bounds rest on.
//!
//! **Takes** a kernel's executable, its description `kernel/timing.toml` ([`Description`]), and a machine. **Returns** by
//! [`whole`] for each region a bound with its loops ([`Analysed`]), and if all have one the [`Response`] to an interrupt, the
//! deepest [`Stack`], and what [`Waiting`] for locks may add.
//!
//! # How
//! A *region* is a stretch without an open interrupt window: it begins at an entry of the interrupt table or of system calls,
//! or behind a preemption point, a window, a wait, a guest, or a switch ([`Points`]), in each chain of calls that leads there
//! ([`chains`]), and ends at the next such place. Callers of what never comes back in the region are left out
//! ([`Returning`]). Entries go to an empty stack before they call their handler: they are bounded in two parts. Entries
//! that differ in their vector alone share the second part, with any of their vectors. System calls are told apart by the
//! number that their handler reads: all cases together are all executions, whatever it reads.
//!
//! Loops are bounded in their region, or in their function alone in any state ([`alone`]), by inference or by the model
//! checker. The work is spread over processors (`parallel.rs`).
//!
//! Lines of memory have names if they are known (`line_names.rs`): those of a stack by their place in its page.
//!
//! Of each region it is known where it goes on ([`Continuation`]): from that follows how many regions come between an interrupt and its
//! handler's program, and that there is an end to them (`response.rs`). Of each interrupt it counts what its own service does
//! (`service.rs`), and only the threads that wait for it (`by_vector.rs`).
//!
//! # Why it is sound
//! Each region is an expanded graph of its own with nothing known of memory and most registers at its beginning, and of caches
//! only what the instructions have accessed that are executed just before it, wherever it comes from (`just_before.rs`), so
//! that its bound holds whatever was before; the crates for values, loops and costs say why theirs are. A loop without a
//! bound makes its region one without, and then there is no response. A stated loop is named by its number among all of its
//! function: a binary with another number of loops is refused.
//!
//! # What it assumes
//! [`statements`] lists all that is stated and not shown, to be told beside every number: it is long. [`imported`] is what
//! theorems say of it.
//!
//! Where the description says where locks are, sections that they guard are bounded like regions ([`Holding`]), and what waits
//! add follows for any number of processors ([`Sections`]). Where a lock's number depends on an unknown value, it is
//! taken to be one of the family that begins with the constant added (`base_address_analysis.rs`). Where it is not known what a region does with
//! locks, bounds do not suffer: there is no term for waits then, but the reason ([`Analysed::unknown_locks`]).
//!
//! # What it leaves out
//! How long lines of locks take from one processor to another; which system call a region behind a preemption point
//! serves; that some paths are infeasible.

mod analysed;
mod base_address;
mod base_address_analysis;
mod bound;
mod by_vector;
mod call_chains;
mod checked_statements;
mod closed;
mod context_free;
mod continuations;
mod critical_sections;
mod described_calls;
mod description;
mod entry;
mod equivalent_entries;
mod error;
mod expected;
mod held_locks;
mod just_before;
mod kernel;
mod line_names;
mod lock_paths;
mod lock_waits;
mod locks;
mod loops;
mod parallel;
mod path;
mod points;
mod program_calls;
mod regions;
mod response;
mod returns;
mod same_line;
mod service;
mod stack;
mod statements;
mod variants;
mod whole_kernel;

pub use analysed::{Analysed, Call, Serving, Times};
pub use bound::{analyse, chain};
pub use by_vector::{by_vector, ByVector};
pub use call_chains::{chains, Chain};
pub use checked_statements::{NO_LINE_CROSSED, VECTOR_STATE};
pub use closed::closed;
pub use context_free::{alone, with_loops, Apart};
pub use continuations::Continuation;
pub use critical_sections::{Holding, Section, Taken};
pub use described_calls::Calls;
pub use description::{Description, Device, Element, Memory, Own, Whom};
pub use error::Error;
pub use expected::{expected, Expected, Place};
pub use kernel::Kernel;
pub use line_names::stack_offset;
pub use lock_paths::Paths;
pub use lock_waits::{locking, Locking, Sections, Waited};
pub use locks::{Family, Locks};
pub use loops::{LoopFound, Means};
pub use path::{along, expected_along, Part};
pub use points::{entries, flow, options, End, Points};
pub use program_calls::program_calls;
pub use regions::{dead, regions, Kind, Region};
pub use response::{endless, response, Handler, Response};
pub use returns::Returning;
pub use service::{never_taken, Branch};
pub use stack::{depths, Depth, HANDLER};
pub use statements::{imported, statements};
pub use whole_kernel::{stack_of, waiting, waits, whole, Stack, Waiting, Whole};
