//! Cache analysis: which accesses of a program always hit, always miss, or miss at most once each time a loop is
//! entered.
//!
//! **Takes** a [`Graph`]: nodes with their accesses in program order, edges, an entry, and scopes (sets of nodes,
//! normally loops). Nodes are basic blocks in their calling contexts, or anything finer; contexts are the caller's
//! business. An access names one line, a range, or nothing known; it may be conditional. And a
//! [`Machine`](crate::machine::Machine).
//!
//! **Returns** a [`Verdict`] per access and cache, and from those, by [`Outcome::cost`], the cycles of an access at
//! each execution together with its [`Charge`]s: what is to be paid once for each entry of a scope.
//!
//! **Assumes** the contract of the machine file, and that the graph holds every path that the program can take.
//! Nothing is assumed of the caches' contents at the entry.
//!
//! # Why it is sound
//!
//! *Must*: per set, lines with an upper bound of their age in an LRU cache of as many ways as the replacement policy
//! guarantees (`taken_as`); a line there is in the real cache. Joins intersect and take the larger age. For LRU this
//! is the policy itself; for tree PLRU log2(ways) + 1 ways; for FIFO, round-robin and random 1 way, as the line
//! accessed last is in the cache under any policy. *May*, for true LRU only: lower bounds of ages, with one bound for
//! all lines that are not listed, which is 0 at the start. A line whose bound reaches the ways is not in the cache.
//!
//! *Persistence* is by younger sets (Huynh, Ju, Roychoudhury 2011), since Ferdinand's original domain is unsound: for
//! each scope, by a data-flow analysis inside it that begins empty at its entries, the lines that may have been
//! accessed since each line's last access. If those are fewer than the ways, the line is still there if it was
//! accessed since the entry, so all accesses of the line that pass this test miss at most once between them for each
//! entry: charges are per scope, line and cache, not per access. For FIFO by counting: if all accesses of the scope
//! to a set touch no more lines than there are ways, none is loaded twice. (Loading one twice means evicting it in
//! between, which takes loads of as many other lines as there are ways.)
//!
//! *Several levels* (Hardy, Puaut 2008): an access reaches the next level never if it always hits, always if it
//! always misses and is unconditional, and otherwise perhaps; the last joins the states with and without it.
//!
//! *Pages that stand anywhere*: a cache whose span is at most a page finds a line's set by its place in the page, so any
//! page's name will do. In a larger one it is one of several lines, one in each set where it may be.
//!
//! *Unknown targets* age every line of every set, and end the persistence of all lines accessed before. *Forgetting*
//! empties must, unbinds may (an emptied way shortens the way to eviction) and ends persistence. *Writes around* a
//! cache load nothing: they join both states unless the line is surely there, and are never persistent.
//!
//! *A stack at an unknown address* (`stack.rs`) is contiguous, so no set holds more than a few of its lines.
//! Everything else is analysed as if there were so many ways less and no accesses to the stack, and the stack's lines
//! persist in a scope in which each set has room for them beside all others.
//!
//! *Lines at unknown addresses, by name* ([`Target::Line`]). In the must analysis of each set a named line is a line like the
//! others, as if it were in that set. What happens to the real set are some of those accesses, those of the names that are in
//! it, and leaving accesses to other lines out makes no line older; two names of one line make it count twice, which makes
//! others older. So what the analysis of a set holds is there if it is in that set, and a named line hits where the analyses
//! of all sets hold it. Renewing a name forgets it: the next access is one to another line. To all other domains, and to
//! caches behind the first, such an access is one to any line. Where it is known of which sets the line is ([`Sets`]), nothing of
//! this happens to the others: so what a kernel keeps in records of a power of two of lines is not taken for what may evict
//! everything.
//!
//! *Walks* ([`Target::Walk`]) miss once for each of their lines in each entry of the scope that is their node alone, where
//! fewer other accesses than ways are between two executions. As no set holds two lines of a walk, unless there are more of
//! them than sets, it is one name to the lines around it, renewed where the node is entered.
//!
//! *One of several lines*: where an access that may go to several lines is on no cycle, it misses once at most, and is not
//! taken as persistent: first misses of all those lines would cost more.
//!
//! What is not done: nothing is known after an access that perhaps reached a level, so a second level guarantees less
//! than the hardware does; persistence of one access is claimed for the largest scope that allows it, also where a
//! smaller one is entered less.

mod cost;
mod cycle;
mod dense;
mod event;
mod flow;
mod graph;
mod may;
mod must;
mod must_in_sets;
mod outcome;
mod path;
mod persistence;
mod stack;
mod verdicts;

pub use cost::{Charge, Cost, FARTHEST};
pub use graph::{Access, Graph, Kind, Node, Scope, Sets, Target};
pub use outcome::{analyse, Outcome, Verdict};
