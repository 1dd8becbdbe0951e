//! What happened, on which CPU, when.

/// The kinds of `kernel/layers/trace/trace.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum What {
    /// A thread gets the processor.
    Switch { thread: u32 },
    /// A thread becomes ready.
    Wake { thread: u32 },
    /// A system call begins.
    Call { number: u32 },
    /// A message is delivered.
    Message { receiver: u32 },
    /// An interrupt is served.
    Interrupt { vector: u32 },
    /// A guest runs.
    GuestEntry { vm: u32 },
    /// A guest stops.
    GuestExit { reason: u32 },
    /// The running thread's budget ends.
    Spent { thread: u32 },
    /// A thread's next period begins.
    Period { thread: u32 },
    /// A program faults.
    Fault { vector: u32 },
}

impl What {
    /// From the two numbers that the kernel records; none if it knows no such kind.
    pub fn from_numbers(what: u32, detail: u32) -> Option<What> {
        Some(match what {
            1 => What::Switch { thread: detail },
            2 => What::Wake { thread: detail },
            3 => What::Call { number: detail },
            4 => What::Message { receiver: detail },
            5 => What::Interrupt { vector: detail },
            6 => What::GuestExit { reason: detail },
            7 => What::Spent { thread: detail },
            8 => What::Period { thread: detail },
            9 => What::Fault { vector: detail },
            10 => What::GuestEntry { vm: detail },
            _ => return None,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Nanoseconds since boot.
    pub when: u64,
    pub cpu: u32,
    pub what: What,
}

/// The events of all CPUs in the order of their times; those of one CPU stay in their order.
pub fn in_order(mut events: Vec<Event>) -> Vec<Event> {
    events.sort_by_key(|event| event.when);
    events
}
