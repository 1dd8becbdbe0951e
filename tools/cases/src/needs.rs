//! What a test needs of the machine that runs it, for the schedule.
//!
//! ```toml
//! [needs]
//! cores = 2              # host cores that it keeps busy, default 1
//! memory = 3000          # MiB, default 700
//! seconds = 90           # on two idle cores, roughly, default 10: long tests begin first
//! alone = true           # it measures or watches real time: no other test beside it, default false
//! exclusive = "proofs"   # of the tests with the same word one runs at a time
//! ```
//!
//! Words of `exclusive` in the tree: "cargo" where it compiles, "proofs", and for tests with one of the tools that are built when they
//! are first asked for "analyser", "drivercheck", "validator": one test waits while such a tool is built, and the others have it.

use serde::Deserialize;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Needs {
    pub cores: usize,
    /// MiB.
    pub memory: u64,
    pub seconds: u64,
    pub alone: bool,
    pub exclusive: Option<String>,
}

impl Default for Needs {
    fn default() -> Needs {
        Needs { cores: 1, memory: 700, seconds: 10, alone: false, exclusive: None }
    }
}

/// What there is for all tests together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Capacity {
    pub cores: usize,
    /// MiB.
    pub memory: u64,
}

impl Capacity {
    /// This machine's cores, or `cores` if given, and the memory that is free now.
    pub fn of_this_machine(cores: Option<usize>) -> Capacity {
        let found = std::thread::available_parallelism().map_or(1, |count| count.get());
        let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        // Where the system does not say, memory is not what limits.
        let memory = available(&text).unwrap_or(u64::MAX);
        Capacity { cores: cores.unwrap_or(found).max(1), memory }
    }
}

/// MiB that Linux calls available.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix(" kB")?.parse::<u64>().ok()? / 1024)
}

#[cfg(test)]
mod tests {
    use super::{available, Needs};

    #[test]
    fn reads_the_available_memory() {
        assert_eq!(available("MemTotal:  24001 kB\nMemAvailable:   2048000 kB\n"), Some(2000));
        assert_eq!(available("MemTotal:  24001 kB\n"), None);
    }

    #[test]
    fn what_is_not_named_has_a_default() {
        let needs: Needs = toml::from_str("cores = 2\nexclusive = 'proofs'").unwrap();
        assert_eq!(needs, Needs { cores: 2, exclusive: Some("proofs".into()), ..Needs::default() });
        assert!(toml::from_str::<Needs>("core = 2").is_err());
    }
}
