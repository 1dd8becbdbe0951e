//! Worst response of threads that have reservations: from the moment that a thread's work comes until it has run for its budget.
//!
//! **Takes** the threads of a system with their processors, priorities, reservations and deadlines, and how long the kernel
//! takes at most until it acts on an event ([`Thread`], [`respond`]). **Returns** for each thread with a reservation a bound,
//! what it is made of, and whether the deadline is met ([`Response`]); for one that misses it, an edit that would help.
//!
//! # Why it is a bound
//! Let L be the kernel's latency: from an event to the first instruction of the thread that it makes run. Time that the kernel
//! takes while a thread runs is charged to that thread's reservation, switches and interrupts included, but for interrupts that
//! wait when a thread is to be chosen: they are served first, and charged to no thread. The formula leaves them out ([`ASSUMPTIONS`]).
//! Every other moment, from that at which a thread's work comes, belongs to one of these:
//!
//! 1. Its budget has not come yet. Its period began when its work before was acted on, at most L after that came. Work
//!    comes a period apart at least, so this is at most L.
//! 2. The kernel has not acted on it yet, or is on its way to the thread: at most L.
//! 3. Others of its processor run that have its priority or a higher one: each has a reservation (period T, budget C). A
//!    reservation is a deferrable server: it may be spent at the end of one period and again at the beginning of the next, so in
//!    any interval of length R it gives at most C (1 + ceil((R - C) / T)). It is held to by alarms that are served late by at most L;
//!    what is run too long is taken from the next budget, so that all of it together is at most L more.
//! 4. The thread itself runs, or one that it called and that spends its reservation: for its budget.
//!
//! The least R with R = 2 L + C + the sum over others is found by iteration from below. A thread that lends its reservation may have
//! its work done at a lower priority: it counts with the lowest. One of its priority or a higher one without a reservation runs
//! as long as it likes, and then there is no bound.
//!
//! # What it assumes
//! [`ASSUMPTIONS`].

mod advice;
mod response;

pub use response::{respond, Part, Response, Thread, Verdict};

/// What the bounds rest on, besides those of the kernel.
pub const ASSUMPTIONS: [&str; 6] = [
    "work comes to a thread a period apart at least, and is done within its budget, the kernel's time for it and for interrupts \
     meanwhile included",
    "from the end of its latency no interrupt waits when a thread is to be chosen: those are served first, charged to no thread",
    "time in which a thread waits of its own will, for a reply, a signal or a device, is not part of its response",
    "the time that a thread ran over its budget in the period before, at most the kernel's latency, is part of its budget",
    "no thread of its processor is killed meanwhile: one that is ends at the highest priority",
    "the processor is as fast as the machine file says",
];
