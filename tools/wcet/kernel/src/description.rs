//! The kernel's own description, `kernel/timing.toml`: which symbols play which part.

use diagnostics::input_file;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use crate::described_calls::Calls;
use crate::error::Error;

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Description {
    pub entries: Entries,
    pub vectors: Vectors,
    #[serde(default)]
    pub calls: Option<Calls>,
    pub ends: Ends,
    pub preemption: Preemption,
    pub switch: Switch,
    #[serde(default)]
    pub device: Vec<Device>,
    #[serde(default)]
    pub memory: Vec<Memory>,
    pub stacks: Stacks,
    #[serde(default)]
    pub own: Option<Own>,
    #[serde(default)]
    pub shared: Shared,
    #[serde(default)]
    pub wait: Vec<Wait>,
    #[serde(default)]
    pub locks: Option<Locks>,
    #[serde(default)]
    pub imported: Vec<Imported>,
    #[serde(default, rename = "loop")]
    pub loops: Vec<Stated>,
}

/// What a theorem says, as far as bounds rest on it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Imported {
    /// By its full name, which the list of theorems must have.
    pub theorem: String,
    pub says: String,
    /// What is still to be believed for bounds to follow.
    pub leaves: String,
}

/// A bound of a loop that the binary does not give.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stated {
    pub function: String,
    /// The loop's number in its function, and how many that has: bounds are stated for one way of compiling it.
    pub which: usize,
    pub of: usize,
    /// Executions of its header for each entry.
    pub executes: u64,
    pub source: String,
    /// The theorem from which the bound follows, by its full name.
    #[serde(default)]
    pub theorem: Option<String>,
}

/// Memory that others may change between two reads.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shared {
    /// Objects of the kernel.
    pub symbols: Vec<String>,
    /// Entries of `memory`, by what they are about.
    pub memory: Vec<String>,
}

/// Ticket locks, by the object in which their tickets are.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Locks {
    pub symbol: String,
    /// Of each lock: the ticket that is drawn, and in the second half the one that is served.
    pub bytes: u64,
    /// How many there are: a number, or a name of the headers.
    pub count: Count,
    /// Processors among which waits are told: a number, or a name of the headers.
    pub processors: Count,
    /// C headers, from the description's folder on, that define the numbers of locks and of families of locks.
    #[serde(default)]
    pub headers: Vec<String>,
    #[serde(default)]
    pub prefix: String,
    /// The first number of each family by its name in lower case; those of the headers come to them.
    #[serde(default)]
    pub numbers: BTreeMap<String, u64>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Count {
    Number(u64),
    Name(String),
}

impl Locks {
    /// Takes in the numbers that headers define: sums of products of numbers and other names.
    fn read(&mut self, headers: &str) -> Result<(), String> {
        let define = |line: &'_ str| {
            let text = line.strip_prefix("#define ")?.split("/*").next()?.trim();
            let (name, value) = text.split_once(' ')?;
            Some((name.to_string(), value.trim().to_string()))
        };
        let defined: BTreeMap<String, String> = headers.lines().filter_map(define).collect();
        for name in defined.keys().filter(|name| name.starts_with(&self.prefix)) {
            let number = evaluate(name, &defined, defined.len()).ok_or(format!("{name} is no number"))?;
            let family = name[self.prefix.len()..].trim_end_matches("_BASE").to_lowercase();
            self.numbers.insert(family, number);
        }
        for count in [&mut self.count, &mut self.processors] {
            if let Count::Name(name) = count {
                let number = evaluate(name, &defined, defined.len()).ok_or(format!("{name} is no number"))?;
                *count = Count::Number(number);
            }
        }
        Ok(())
    }
}

/// A sum of products of numbers and names, of which no name stands for itself: so many steps are enough.
fn evaluate(text: &str, defined: &BTreeMap<String, String>, steps: usize) -> Option<u64> {
    let steps = steps.checked_sub(1)?;
    let text = text.trim();
    let text = text.strip_prefix('(').and_then(|text| text.strip_suffix(')')).unwrap_or(text);
    let factor = |text: &str| {
        let text = text.trim();
        text.trim_end_matches(['u', 'l', 'U', 'L'])
            .parse()
            .ok()
            .or_else(|| evaluate(defined.get(text)?, defined, steps))
    };
    let product = |text: &str| text.split('*').map(factor).try_fold(1u64, |all, one| all.checked_mul(one?));
    text.split('+').map(product).try_fold(0u64, |all, one| all.checked_add(one?))
}

/// A function whose loops end when others let them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    pub function: String,
    #[serde(rename = "for")]
    pub whom: Whom,
    /// How often its loops' headers count as executed; further looks are time waited.
    pub looks: u64,
    #[serde(default)]
    pub source: Option<String>,
}

/// Who ends a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Whom {
    /// For the holder of a lock, and the processors ahead in its queue.
    Lock,
    /// Other processors, when they take interrupts.
    Processors,
    Device,
}

/// Ways in other than by the interrupt table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entries {
    pub system_call: String,
    pub thread_start: String,
    pub idle: String,
    /// Functions that the entries call on a fresh stack.
    pub handlers: Vec<String>,
}

/// The entries of the interrupt table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Vectors {
    /// Where that of vector 0 stands.
    pub symbol: String,
    /// How far they are apart.
    pub bytes: u64,
    pub exceptions: Vec<u64>,
    pub interrupts: Vec<Interrupt>,
}

/// Vectors that are treated alike.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interrupt {
    pub name: String,
    pub first: u64,
    pub last: u64,
    /// Of these, those that entries of their own describe.
    #[serde(default)]
    pub except: BTreeSet<u64>,
    /// The number by which the first is named, if they are several.
    #[serde(default)]
    pub from: u64,
    /// System calls in which the threads wait that these interrupts are for: none if the kernel does all that is to be done.
    /// Unless that is said, a handler may wait anywhere.
    #[serde(default)]
    pub wakes: Option<Vec<String>>,
    /// Budgets of threads end and are renewed by it, so that any thread may go on behind it.
    #[serde(default)]
    pub alarms: bool,
}

impl Interrupt {
    /// Whether threads wait for it.
    pub fn has_handler(&self) -> bool {
        !self.wakes.as_ref().is_some_and(Vec::is_empty)
    }

    pub fn vectors(&self) -> impl Iterator<Item = u64> + '_ {
        (self.first..=self.last).filter(|vector| !self.except.contains(vector))
    }

    /// The first and last of vectors that follow each other.
    pub fn stretches(&self) -> Vec<(u64, u64)> {
        let mut found: Vec<(u64, u64)> = Vec::new();
        for vector in self.vectors() {
            match found.last_mut().filter(|(_, last)| last.checked_add(1) == Some(vector)) {
                Some((_, last)) => *last = vector,
                None => found.push((vector, vector)),
            }
        }
        found
    }

    /// Who waits for them, if that is stated.
    pub fn says(&self) -> Option<String> {
        let (name, calls) = (&self.name, self.wakes.as_ref()?);
        Some(match calls.is_empty() {
            true => format!("no thread waits for the interrupt {name}"),
            false => {
                format!("threads that wait for the interrupt {name} wait in the system call {}", calls.join(" or "))
            }
        })
    }

    /// The name of one of them.
    pub fn name_of(&self, vector: u64) -> String {
        match self.first == self.last {
            true => self.name.clone(),
            false => format!("{} {}", self.name, vector.saturating_sub(self.first) + self.from),
        }
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ends {
    /// Functions that end the run: no response is due any more.
    pub run: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preemption {
    /// Says whether an interrupt waits.
    pub pending: String,
    /// Opens an interrupt window.
    pub poll: String,
    /// Serves an interrupt, on whichever processor it arrived.
    #[serde(default)]
    pub serves: Option<String>,
    /// Keeps a thread that was woken and has no time left. A response is that of a handler that has.
    #[serde(default)]
    pub parks: Option<String>,
    /// Begins a time slice of the running thread, as a thread of its priority was woken. A response is that of a handler which is
    /// more important than what runs.
    #[serde(default)]
    pub shares: Option<String>,
    /// Returns the thread that was woken and is to run next, or a number that stands for none. A response is that of a handler
    /// that is that thread.
    #[serde(default)]
    pub woken: Option<Woken>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Woken {
    pub function: String,
    pub none: u64,
}

impl Woken {
    pub fn says(&self) -> String {
        format!(
            "a response is that of a handler that is to run next when it wakes: {} returns a thread then",
            self.function
        )
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switch {
    pub function: String,
    pub starts: Vec<String>,
    /// Switches to the thread that was picked, and returns without a switch only to the functions named next.
    pub run: String,
    pub returns_to: Vec<String>,
    /// The current thread ends in this function, which never returns.
    pub ended: String,
    /// Who gives up the processor in one of these is ready, and waits for nothing.
    #[serde(default)]
    pub preempts: Vec<String>,
}

/// The only functions whose accesses may go to a region of the machine file.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Device {
    pub region: String,
    pub functions: Vec<String>,
    /// What the functions access at addresses that are not known is the device, never memory.
    #[serde(default)]
    pub alone: bool,
}

/// Virtual addresses that stand for physical ones.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    pub about: String,
    #[serde(rename = "virtual", deserialize_with = "address")]
    pub first: u64,
    #[serde(deserialize_with = "address")]
    pub physical: u64,
    pub bytes: u64,
}

/// Kernel stacks: pairs of an unmapped page and a stack, whose frames stand one after the other at a symbol.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stacks {
    #[serde(rename = "virtual", deserialize_with = "address")]
    pub first: u64,
    pub symbol: String,
    pub bytes: u64,
}

/// Objects of which a processor has one at a time: what belongs to it, and the registers of its thread. Both are elements of
/// arrays, and stand at multiples of their size.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Own {
    /// Accesses through GS alone go to the processor's.
    pub processor: Element,
    /// Where the address of the thread's stands in it.
    pub pointer: u64,
    pub thread: Element,
    /// Where its number among the processors stands in it, and that of the thread, in 4 bytes each.
    pub number: u64,
    pub current: u64,
    /// Where the mark stands in it that says, in 4 bytes, that who runs must be decided: it changes only through GS, too.
    pub mark: u64,
    /// Where it says, in 4 bytes, whether the vector unit holds the thread's state, which a switch then saves: as the mark.
    pub vector: u64,
    /// Where in the thread's the processor begins to put what it interrupts in a program, downwards.
    pub frame: u64,
}

impl Own {
    /// What of the processor's changes only through GS: places and bytes.
    pub fn words(&self) -> [(u64, u64); 5] {
        [(self.pointer, 8), (self.number, 4), (self.current, 4), (self.mark, 4), (self.vector, 4)]
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Element {
    pub symbol: String,
    pub bytes: u64,
}

/// Numbers of TOML are signed: kernel addresses are written as text, or as numbers that wrap.
fn address<'de, D: serde::Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(u64),
        Text(String),
    }
    match Written::deserialize(from)? {
        Written::Number(number) => Ok(number),
        Written::Text(text) => {
            let digits = text.strip_prefix("0x").unwrap_or(&text).replace('_', "");
            u64::from_str_radix(&digits, 16).map_err(serde::de::Error::custom)
        }
    }
}

impl Description {
    pub fn load(path: &Path) -> Result<Description, Error> {
        let unreadable = |cause: String| Error::Description { path: path.display().to_string(), cause };
        let text = input_file::text(path).map_err(|cause| unreadable(cause.to_string()))?;
        let mut description = Description::parse(&text).map_err(unreadable)?;
        if let Some(calls) = &mut description.calls {
            if let Some(name) = &calls.header {
                let header = path.with_file_name(name);
                let text = std::fs::read_to_string(&header)
                    .map_err(|cause| unreadable(format!("{}: {cause}", header.display())))?;
                calls.read(&text);
            }
            if let Some(name) = &calls.table {
                let table = path.with_file_name(name);
                let wrong = |cause: String| unreadable(format!("{}: {cause}", table.display()));
                let text = std::fs::read_to_string(&table).map_err(|cause| wrong(cause.to_string()))?;
                calls.read_table(&text).map_err(wrong)?;
            }
        }
        if let Some(locks) = &mut description.locks {
            let mut headers = String::new();
            for name in &locks.headers {
                let header = path.with_file_name(name);
                let text = std::fs::read_to_string(&header)
                    .map_err(|cause| unreadable(format!("{}: {cause}", header.display())))?;
                headers.push_str(&text);
            }
            locks.read(&headers).map_err(unreadable)?;
        }
        Ok(description)
    }

    pub fn parse(text: &str) -> Result<Description, String> {
        toml::from_str(text).map_err(|cause| cause.to_string())
    }

    /// The physical address of a virtual one, if the description says it. `symbol` says where symbols stand.
    pub fn physical(&self, address: u64, stacks: u64) -> Option<u64> {
        // Of each pair the second page is a stack.
        if let Some(offset) = address.checked_sub(self.stacks.first) {
            let (page, within) = (offset / self.stacks.bytes, offset % self.stacks.bytes);
            return (page % 2 == 1)
                .then(|| self.linear(stacks).map(|base| base + page / 2 * self.stacks.bytes + within))
                .flatten();
        }
        self.linear(address)
    }

    fn linear(&self, address: u64) -> Option<u64> {
        let holds = |memory: &&Memory| address.checked_sub(memory.first).is_some_and(|offset| offset < memory.bytes);
        self.memory.iter().find(holds).map(|memory| memory.physical + (address - memory.first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_locks_come_from_headers() {
        let mut locks = Locks {
            symbol: String::new(),
            bytes: 128,
            count: Count::Name("NUM_LOCK".to_string()),
            processors: Count::Name("NUM_CPU".to_string()),
            headers: Vec::new(),
            prefix: "LOCK_".to_string(),
            numbers: BTreeMap::new(),
        };
        let headers = "#define NUM_CPU 16u /* processors */\n#define LOCK_FRAME 7u\n#define LOCK_MAP_BASE 8u\n\
                       #define LOCK_LAST (LOCK_MAP_BASE + 2u * NUM_CPU)\n#define NUM_LOCK (LOCK_LAST + 1u)\n";
        locks.read(headers).expect("all are numbers");
        let numbers = [("frame", 7), ("last", 40), ("map", 8)].map(|(name, number)| (name.to_string(), number));
        assert_eq!((locks.numbers.clone(), locks.count.clone()), (BTreeMap::from(numbers), Count::Number(41)));
        assert_eq!(locks.processors, Count::Number(16));
        locks.numbers = BTreeMap::new();
        assert!(locks.read("#define LOCK_A LOCK_B\n#define LOCK_B LOCK_A\n").is_err());
    }
}
