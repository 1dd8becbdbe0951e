//! Control flow with calls inlined virtually: the graph on which all later stages work.
//!
//! [`expand`] takes a [`crate::Graph`] and the address of a function, and returns an [`Expanded`] graph: a copy of
//! each function for each chain of calls that leads to it ([`Context`]), a [`Node`] for each basic block of each copy,
//! edges into and out of callees, and all loops with the nodes of their callees. Only what the entry reaches is there.
//!
//! # What the answer means
//! * Every execution from the entry until the region ends is a walk from [`Expanded::entry`] to one of
//!   [`Expanded::exits`], if it ends. A region ends where the entered function returns, where control leaves for another
//!   privilege or raises an exception, and at the stops that [`Options`] names.
//! * Nodes are numbered in reverse postorder: an edge that does not lead back to the header of a loop leads to a larger
//!   number. So `0..nodes.len()` is a topological order without back edges.
//! * A loop bound is the largest number of times that the header executes for each entry of the loop; back edges are
//!   taken one time less at most.
//! * [`Expanded::part`] keeps certain edges alone: the graph of a path that was taken. [`Expanded::merged`] has all copies of a
//!   function as one: of what is known of each walk, such as how often edges are taken, costs may be summed there.
//! * Recursion is unrolled as deep as stated, or by the calls alone that [`Options`] lists. [`Expanded::cuts`] lists the calls
//!   that go deeper, and the others: what is stated is right exactly if none of them is executed.
//!
//! # Why it is sound
//! Calls and returns match by construction: a return edge leads to the place behind the call that made the context. All
//! else is taken over from the flow graph, which is complete. A loop of a function is a loop in each of its contexts:
//! its header dominates the copies of its blocks and all callees called from them. This is checked for every edge: each
//! one that leads to a smaller number must be a back edge of a loop.

mod error;
mod expand;
mod expanded;
mod loops;
mod merged;
mod part;
mod start;

pub use error::{Error, Problem};
pub use expand::{expand, expand_inside, Options};
pub use expanded::{Context, ContextId, Edge, EdgeId, EdgeKind, Expanded, Loop, LoopId, Node, NodeId};
pub use merged::Merged;
