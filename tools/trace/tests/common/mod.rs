//! Events of a small system, and what its numbers are called. Not every file of tests uses all of it.
#![allow(dead_code)]

use trace::{Event, Names, What};

pub fn names() -> Names {
    Names::new(
        [(16, "client".to_string()), (17, "server".to_string())],
        [(10, "disk".to_string())],
        "#define SYS_WAIT 7u\n",
        "#define VCPU_EXIT_INFO1 1u\n#define VCPU_EXIT_IO 1u\n",
        "#define VECTOR_BASE 32u\n#define VECTOR_TIMER 56u\n",
    )
}

pub fn at(when: u64, cpu: u32, what: What) -> Event {
    Event { when, cpu, what }
}

/// Thread 16 wakes every 100 ns and runs for 20; the second time thread 17 has the processor for 70 before.
pub fn late() -> Vec<Event> {
    vec![
        at(0, 0, What::Switch { thread: 0 }),
        at(100, 0, What::Interrupt { vector: 56 }),
        at(103, 0, What::Wake { thread: 16 }),
        at(105, 0, What::Switch { thread: 16 }),
        at(120, 0, What::Switch { thread: 17 }),
        at(200, 0, What::Interrupt { vector: 56 }),
        at(203, 0, What::Wake { thread: 16 }),
        at(270, 0, What::Switch { thread: 16 }),
        at(280, 0, What::Switch { thread: 0 }),
        at(285, 0, What::Switch { thread: 16 }),
        at(290, 0, What::Switch { thread: 0 }),
        at(300, 0, What::Interrupt { vector: 56 }),
        at(303, 0, What::Wake { thread: 16 }),
        at(305, 0, What::Switch { thread: 16 }),
    ]
}

/// The system call by which servers of these events wait for requests, and one by which clients ask.
pub const RECEIVE: u32 = 2;
pub const ASK: u32 = 1;
