//! The system calls, as `kernel/syscalls.toml` describes them.

mod check;
mod dispatch;
mod numbers;
mod page;
mod read;
mod rust;
mod stubs;

use diagnostics::{Faults, Report, Spanned};
use std::path::{Path, PathBuf};

use crate::Generated;

/// The calls, by number.
#[derive(Debug)]
pub struct Table {
    pub calls: Vec<Call>,
}

#[derive(Debug)]
pub struct Call {
    pub number: Spanned<u64>,
    pub name: Spanned<String>,
    /// The kind of object the call works on: the file kernel/layers/syscall/syscall_OBJECT.c has its function.
    pub object: Spanned<String>,
    pub summary: String,
    pub outcome: Spanned<Outcome>,
    /// Dispatched before all others, and laid out with the message path.
    pub fast: bool,
    /// The caller does not get the processor back.
    pub never_returns: bool,
    /// Where the stub is written by hand, if it is.
    pub hand_stub: Option<Spanned<String>>,
    pub arguments: Vec<Argument>,
    pub returns: Vec<Return>,
    pub errors: Vec<ErrorCase>,
    /// What stays unchanged when an error is returned.
    pub on_error: String,
}

/// What the dispatcher does after the call's function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The function returns the status.
    Status,
    /// The function stores the status itself, or a peer does while the thread is blocked.
    Stored,
    /// As `Status`; who runs is decided without an interrupt window before.
    Switch,
    /// There is no function: the thread ends.
    Ends,
}

#[derive(Debug)]
pub struct Argument {
    pub name: Spanned<String>,
    pub register: Spanned<String>,
    /// Its C type in the stub.
    pub ctype: Option<Spanned<String>>,
    pub unit: String,
    pub meaning: String,
}

#[derive(Debug)]
pub struct Return {
    pub name: Spanned<String>,
    pub register: Spanned<String>,
    /// Its C type in the stub; a result without one is not stored by the stub.
    pub ctype: Option<Spanned<String>>,
    pub meaning: String,
}

#[derive(Debug)]
pub struct ErrorCase {
    pub code: Spanned<String>,
    pub when: String,
}

impl Call {
    /// `SYS_NAME` without its prefix, in lower case.
    pub fn stem(&self) -> String {
        self.name.value.trim_start_matches(PREFIX).to_lowercase()
    }

    /// The function gets the calling thread if there are registers to read or write.
    fn takes_thread(&self) -> bool {
        !self.arguments.is_empty() || !self.returns.is_empty()
    }

    /// The call as the dispatcher writes it.
    fn invocation(&self) -> String {
        let thread = self.takes_thread().then_some("current");
        let arguments: Vec<&str> = thread.into_iter().chain(self.passed()).collect();
        format!("syscall_{}({})", self.stem(), arguments.join(", "))
    }

    /// The saved registers that the function of a fast call gets besides the thread.
    fn passed(&self) -> impl Iterator<Item = &'static str> + '_ {
        let takes = |register: &str| self.arguments.iter().any(|argument| argument.register.value == register);
        let known = [("rdi", "first"), ("rsi", "second")];
        known.into_iter().filter(move |(register, _)| self.fast && takes(register)).map(|(_, name)| name)
    }
}

const PREFIX: &str = "SYS_";

/// Reads and checks the table; `abi` is the text of kernel/abi.h, which defines the errors.
pub fn read(path: &Path, text: &str, abi: &str) -> Result<Table, Report> {
    let mut faults = Faults::new(path, text);
    let table = read::table(&mut faults);
    if faults.is_clean() {
        check::check(&table, abi, &mut faults);
    }
    faults.or(table)
}

/// The generated files; `abi` as for `read`.
pub fn files(table: &Table, abi: &str) -> Vec<Generated> {
    let file = |path: &str, text| Generated { path: PathBuf::from(path), text };
    vec![
        file("kernel/syscall_numbers.h", numbers::header(table)),
        file("kernel/layers/syscall/syscall_calls.h", dispatch::header(table)),
        file("kernel/layers/syscall/syscall.c", dispatch::source(table)),
        file("user/include/ashlar/syscall_stubs.h", stubs::header(table)),
        file("user/rust/src/abi.rs", rust::constants(table, abi)),
        file("user/rust/src/calls.rs", rust::functions(table)),
        file("docs/src/reference/syscalls.md", page::page(table)),
    ]
}
