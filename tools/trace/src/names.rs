//! What the numbers in events are called.

use std::collections::BTreeMap;

/// Vectors of the kernel's own interrupts and the first of the lines; see `kernel/arch/arch.h`.
const LINE_BASE: u32 = 32;
const LINES: u32 = 24;

/// Names of threads, system calls, interrupts and reasons of guests' exits.
#[derive(Debug, Default, Clone)]
pub struct Names {
    threads: BTreeMap<u32, String>,
    calls: BTreeMap<u32, String>,
    exits: BTreeMap<u32, String>,
    vectors: BTreeMap<u32, String>,
    lines: BTreeMap<u32, String>,
}

impl Names {
    /// From the threads of the system, its interrupt lines, and the kernel's headers `syscall_numbers.h`, `abi.h`, `arch.h`.
    pub fn new(
        threads: impl IntoIterator<Item = (u32, String)>,
        lines: impl IntoIterator<Item = (u32, String)>,
        calls: &str,
        abi: &str,
        arch: &str,
    ) -> Names {
        let mut vectors = defined(arch, "VECTOR_");
        vectors.retain(|_, name| name != "base");
        Names {
            threads: threads.into_iter().collect(),
            calls: defined(calls, "SYS_"),
            // Offsets in the page of exits begin in the same way and stand before the reasons, which replace them.
            exits: defined(abi, "VCPU_EXIT_"),
            vectors,
            lines: lines.into_iter().collect(),
        }
    }

    /// The thread's name; none for the idle threads.
    pub fn thread(&self, thread: u32) -> Option<&str> {
        self.threads.get(&thread).map(String::as_str)
    }

    pub fn threads(&self) -> impl Iterator<Item = (u32, &str)> {
        self.threads.iter().map(|(&thread, name)| (thread, name.as_str()))
    }

    pub fn call(&self, number: u32) -> String {
        named(&self.calls, number, "call")
    }

    /// The numbers of the system calls by which a thread waits for requests.
    pub fn receives(&self) -> Vec<u32> {
        let is_one = |name: &str| ["recv", "reply recv"].contains(&name);
        self.calls.iter().filter(|(_, name)| is_one(name)).map(|(&number, _)| number).collect()
    }

    pub fn exit(&self, reason: u32) -> String {
        named(&self.exits, reason, "reason")
    }

    pub fn interrupt(&self, vector: u32) -> String {
        if let Some(name) = self.vectors.get(&vector) {
            return name.clone();
        }
        match vector.checked_sub(LINE_BASE) {
            Some(line) if line < LINES => named(&self.lines, line, "line"),
            _ => format!("vector {vector}"),
        }
    }
}

fn named(names: &BTreeMap<u32, String>, number: u32, kind: &str) -> String {
    names.get(&number).cloned().unwrap_or_else(|| format!("{kind} {number}"))
}

/// The constants of a C header whose names begin with `prefix`, by value, in small letters. The last of a value counts.
fn defined(header: &str, prefix: &str) -> BTreeMap<u32, String> {
    let constant = |line: &str| {
        let mut words = line.strip_prefix("#define ")?.split_whitespace();
        let name = words.next()?.strip_prefix(prefix)?.to_lowercase().replace('_', " ");
        let value = words.next()?.strip_suffix('u')?.parse().ok()?;
        Some((value, name))
    };
    header.lines().filter_map(constant).collect()
}
