//! The rules that a driver keeps for each of its protocols. `drivercheck` proves them.

use diagnostics::CodeInfo;

/// The rules in the order of their numbers.
pub const CODES: &[CodeInfo] = &[
    CodeInfo::new(
        "driver::rule-1",
        "only messages are sent that the protocol enables",
        "A message is sent only where the protocol enables it, and where it `needs` another protocol's state, in that \
         state. Touching a register is such a message. Follow the run that the checker prints: in its last state the \
         message is not enabled.",
    ),
    CodeInfo::new(
        "driver::rule-2",
        "an enabled message is eventually waited for",
        "A message that the protocol enables is eventually waited for, or a state comes that does not enable it. \
         Otherwise its sender waits for ever. Add the message to an AWAIT that every run comes to.",
    ),
    CodeInfo::new(
        "driver::rule-3",
        "every AWAIT ends",
        "A protocol promises one of some messages, and the AWAIT waits for all of them. An AWAIT that leaves one out may \
         wait for ever: add it.",
    ),
    CodeInfo::new(
        "driver::rule-4",
        "no timed state lasts for ever",
        "In a `timed` state the client waits for an answer that the driver owes it. Every run from there sends a message \
         that leaves the state.",
    ),
    CodeInfo::new(
        "driver::rule-5",
        "when the driver returns, every protocol is in a final state",
        "A driver may return only in a state that is marked `final`, of \
         each of its protocols. `abort` and `__builtin_trap` count as a return.",
    ),
    CodeInfo::new(
        "driver::rule-6",
        "each request is completed exactly once, with its cookie",
        "No message closes a request that is not open, none is open where the protocol says `drained`, nor when the driver \
         returns. Follow the request that the checker's run marks: it is completed twice, never, or with the cookie of \
         another.",
    ),
    CodeInfo::new(
        "driver::rule-7",
        "every field that is sent is within its declared range",
        "The protocol gives a field a range. The driver tests what it takes from its device or from another message before \
         it sends it on.",
    ),
];
