//! `bench ipc`: the kernel's basic operations in counted instructions.

use super::counted::{counted, Operation};
use output::{Failure, Output};
use project::Project;

pub const OPERATIONS: [Operation; 12] = [
    Operation { name: "null_call", about: "null system call", reference: "seL4 75 to 89", aim: "75" },
    Operation { name: "rtt_0", about: "call and reply, 0 words", reference: "seL4 398", aim: "330" },
    Operation { name: "rtt_4", about: "call and reply, 4 words", reference: "seL4 440", aim: "380" },
    Operation { name: "rtt_10", about: "call and reply, 10 words", reference: "seL4 1574", aim: "500" },
    Operation { name: "rtt_120", about: "call and reply, 120 words", reference: "", aim: "" },
    Operation { name: "rust_rtt_0", about: "0 words, a server in Rust", reference: "", aim: "as in C" },
    Operation { name: "rust_rtt_4", about: "4 words, a server in Rust", reference: "", aim: "as in C" },
    Operation { name: "rust_rtt_10", about: "10 words, a server in Rust", reference: "", aim: "as in C" },
    Operation { name: "rust_rtt_120", about: "120 words, a server in Rust", reference: "", aim: "as in C" },
    Operation { name: "signal", about: "signal until the waiter runs", reference: "seL4 509", aim: "280" },
    Operation {
        name: "irq_to_user",
        about: "interrupt until its handler runs",
        reference: "seL4 350 to 363",
        aim: "300",
    },
    Operation { name: "fault_rtt", about: "fault handled by another thread", reference: "seL4 1303", aim: "450" },
];

pub fn ipc(project: &Project, output: &Output) -> Result<(), Failure> {
    counted("bench-ipc", &OPERATIONS, project, output)
}
