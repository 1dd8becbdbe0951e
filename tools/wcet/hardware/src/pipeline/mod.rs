//! Cost of basic blocks on the in-order pipeline of a machine file, by longest paths of execution graphs.
//!
//! **Takes** a [`Program`]: blocks of [`Instruction`]s in their contexts, edges that say how the block before was
//! left, an entry, and scopes for first misses. **Returns** [`Costs`]: cycles of the entry block, of each edge (the
//! block at its end, entered that way) and of each entry of a scope. The time of any path is at most the sum of those
//! along it ([`Costs::sum`]), so an ILP over edge counts bounds the program. For one given path [`Costs::path`] says
//! less: it leaves out first misses of blocks that the path avoids.
//!
//! For a report, `crate::cache::analyse` of [`Program::graph`] gives the verdicts, and [`Block::node`] tells which access is whose.
//!
//! **Assumes** the contract of the machine file; that the edges hold every way on; that registers, accesses and
//! transfers named for an instruction include all that it does. (More than it does is sound: times are monotone.)
//!
//! # Why it is sound
//!
//! *Within a block.* The execution graph has nodes for each fetch access, issue and leaving of each instruction, and
//! the contract's rules 10 to 15 as weighted edges; a node's time is the longest path to it. Weights come from the
//! cache analysis: the cost of an access in each execution, whatever its caches do. A real run's constraints are a
//! subset of the graph's with weights at most the graph's, and maxima of sums are monotone: the longest path is at
//! least the run's time. Nothing is assumed of when hits or misses occur together, so there is no case distinction
//! that a timing anomaly could escape.
//!
//! *Over edges.* Times count from the *reference*: the leaving `D` of the last instruction before the block. What can
//! be late relative to it is bounded by the contract itself: that instruction was fetched `front` + 1 cycles earlier
//! at least, the *k*-th before was issued (*k*, or in pairs half of it) cycles earlier, the bus and the execution
//! unit are free, and registers are ready no later than a small fixpoint over the graph says. So the overlap allowed
//! is that of a block's fetch with the `front` + 1 last cycles of its predecessor (none after a control transfer) and
//! of long results; overlap through longer stalls is paid for, not credited. A block's cost is `D` of its last
//! instruction. By induction the sum up to any block is at least the time at which the run leaves it.
//!
//! *What was before the entry* ([`Program::before`]) is a node of its own before it, outside all scopes: the caches' state
//! at its end is one after those accesses, whatever was before them.
//!
//! *First misses* are charged at the entries of scopes and not in the block. A miss in place of a hit makes one
//! weight larger by the charge's cycles; a fetch miss also waits for the bus, which adds an edge from the last data
//! access before it. The longest path with that edge exceeds the one without by at most its *detour*: the largest,
//! over all instructions from the fetch on, of the path from the data access through the fetch less the longest path
//! that was there anyway. Every path through several such edges splits at their beginnings, so detours add up, and
//! the charge of a fetch includes its own.
//!
//! Timing anomalies are excluded by the contract's machine, which pays for it by serving the bus in program order.

mod block;
mod boundary;
mod cost;
mod error;
mod graph;
mod longest;
mod walk;

pub use crate::cache::{Access, Kind, Scope, Sets, Target};
pub use block::{Block, Edge, Instruction, Left, Place, Program};
pub use cost::{analyse, Costs, First};
pub use error::PipelineError;
