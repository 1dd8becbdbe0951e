//! The schema of machine files: every table and key, defined once. The reader refuses what is not here, and the JSON
//! schema is made from it.

/// The kind of value a key takes. All but the plain texts are written `{ value = ..., source = "..." }`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A plain text, for people.
    Text,
    /// A plain list of texts.
    Texts,
    /// A whole number within bounds, both included.
    Count(u64, u64),
    /// Bytes with a unit, from 1 to `MAX_SIZE`.
    Size,
    /// Cycles per second with a unit.
    Frequency,
    Flag,
    /// `FIRST..LAST`, both included.
    Range,
    Ranges,
    Choice(&'static [&'static str]),
}

#[derive(Debug, PartialEq, Eq)]
pub struct KeySpec {
    pub name: &'static str,
    pub kind: Kind,
    /// What holds when it is left out, in words; none if it must not be.
    pub default: Option<&'static str>,
    pub meaning: &'static str,
}

/// One table, or one family of tables with names chosen by the author.
#[derive(Debug, PartialEq, Eq)]
pub struct TableSpec {
    pub name: &'static str,
    pub named: bool,
    pub keys: &'static [KeySpec],
    pub meaning: &'static str,
}

const fn required(name: &'static str, kind: Kind, meaning: &'static str) -> KeySpec {
    KeySpec { name, kind, default: None, meaning }
}

const fn optional(name: &'static str, kind: Kind, default: &'static str, meaning: &'static str) -> KeySpec {
    KeySpec { name, kind, default: Some(default), meaning }
}

/// No latency is beyond this, so that sums over any program fit their type.
pub const MAX_CYCLES: u64 = 1 << 20;

/// No cache is larger, so that the analysis of any file fits into memory.
pub const MAX_SIZE: u64 = 256 << 20;

const CYCLES: Kind = Kind::Count(0, MAX_CYCLES);
const LATENCY: Kind = Kind::Count(1, MAX_CYCLES);

pub const POLICIES: &[&str] = &["lru", "fifo", "plru", "round-robin", "random"];
pub const CONTENTS: &[&str] = &["instructions", "data", "both"];
pub const ISSUES: &[&str] = &["single", "dual"];

pub const TABLES: &[TableSpec] = &[
    TableSpec {
        name: "machine",
        named: false,
        meaning: "What the file describes.",
        keys: &[
            required("about", Kind::Text, "One line for people."),
            optional("assumes", Kind::Texts, "none", "What the numbers rest on, printed with each bound."),
            optional("clock", Kind::Frequency, "unknown", "Cycles per second, to show bounds as times."),
        ],
    },
    TableSpec {
        name: "source",
        named: true,
        meaning: "A source of numbers; `source` fields begin with its name.",
        keys: &[required("title", Kind::Text, "What it is: author, title, year.")],
    },
    TableSpec {
        name: "pipeline",
        named: false,
        meaning: "The in-order pipeline.",
        keys: &[
            required("issue", Kind::Choice(ISSUES), "Instructions that one cycle can issue."),
            required("front", Kind::Count(0, 64), "Cycles from the end of a fetch to the earliest issue."),
            required("queue", Kind::Count(1, 64), "Instructions fetched and not issued, at most."),
        ],
    },
    TableSpec {
        name: "branch",
        named: false,
        meaning: "Control transfers: jumps, calls and returns.",
        keys: &[
            required("taken", LATENCY, "Cycles from the issue of a taken one to the next issue, if its fetch hits."),
            required("not_taken", LATENCY, "The same for one that is not taken."),
            optional(
                "foreseen",
                CYCLES,
                "nothing is foreseen",
                "Backward conditional ones, and all that name their target and have no condition, are foreseen to be taken, \
                 forward conditional ones not: cycles from the fetch of one that is foreseen, and taken, to the next fetch.",
            ),
            optional(
                "repeat",
                CYCLES,
                "as after any transfer that is taken",
                "Cycles from the fetch of one round of a string instruction that repeats to the fetch of its next.",
            ),
            optional("ahead", Kind::Count(0, 256), "0", "Bytes that may be fetched where a transfer does not lead."),
        ],
    },
    TableSpec {
        name: "memory",
        named: false,
        meaning: "What lies behind all caches.",
        keys: &[
            required("latency", LATENCY, "Cycles of an access that no cache serves, in all."),
            optional("write", LATENCY, "the latency", "Cycles of a write that no cache takes, in all."),
        ],
    },
    TableSpec {
        name: "cache",
        named: true,
        meaning: "A cache.",
        keys: &[
            required("level", Kind::Count(1, 8), "1 is nearest to the processor."),
            required("holds", Kind::Choice(CONTENTS), "Which accesses look in it."),
            required("size", Kind::Size, "All of it, locked ways included."),
            required("ways", Kind::Count(1, 64), "Its associativity, locked ways included."),
            required("line", Kind::Size, "Bytes of a line; the same in all caches."),
            required("policy", Kind::Choice(POLICIES), "Which line of a set it evicts."),
            optional(
                "taken_as",
                Kind::Count(1, 64),
                "the ways that can be relied on under lru, plru and fifo",
                "Ways of the LRU cache that the analysis takes it for. Round-robin and random must say 1.",
            ),
            optional("locked_ways", Kind::Count(0, 64), "0", "Ways that are neither filled nor evicted."),
            optional("pinned", Kind::Ranges, "none", "Addresses whose lines stand in the locked ways."),
            required("latency", LATENCY, "Cycles of an access that hits here, in all."),
            optional("write_back", CYCLES, "0", "Further cycles when a written line is evicted."),
            optional("allocate_on_write", Kind::Flag, "true", "Whether a write that misses loads the line."),
        ],
    },
    TableSpec {
        name: "region",
        named: true,
        meaning: "Addresses that no cache holds: device registers.",
        keys: &[
            required("range", Kind::Range, "First and last address."),
            required("latency", LATENCY, "Cycles of each access."),
        ],
    },
    TableSpec {
        name: "class",
        named: true,
        meaning: "The cost of a class of instructions. A program with a class that is not here is refused.",
        keys: &[
            required("occupies", CYCLES, "Cycles in execution besides its data accesses; in all at least 1."),
            optional(
                "behind_store",
                CYCLES,
                "0",
                "Further cycles in execution where one of the two instructions before is of class `store`, and accesses the same line.",
            ),
            optional("latency", CYCLES, "0", "Further cycles until its results can be read."),
            optional("pairs_first", Kind::Flag, "false", "Can issue together with its successor."),
            optional("pairs_second", Kind::Flag, "false", "Can issue together with its predecessor."),
        ],
    },
];

impl TableSpec {
    /// The header as an author writes it.
    pub fn header(&self) -> String {
        if self.named {
            format!("[{}.NAME]", self.name)
        } else {
            format!("[{}]", self.name)
        }
    }

    /// Whether every machine has it.
    pub fn required(&self) -> bool {
        !self.named
    }
}

impl Kind {
    /// Whether values need a source.
    pub fn sourced(self) -> bool {
        !matches!(self, Kind::Text | Kind::Texts)
    }

    /// In words, for remedies.
    pub fn describe(self) -> String {
        match self {
            Kind::Text => "a text".into(),
            Kind::Texts => "a list of texts".into(),
            Kind::Count(low, high) => format!("a whole number from {low} to {high}"),
            Kind::Size => "a size from 1B to 256MiB such as \"16KiB\"".into(),
            Kind::Frequency => "a frequency such as \"532MHz\"".into(),
            Kind::Flag => "true or false".into(),
            Kind::Range => "a range such as \"0x1000..0x1fff\"".into(),
            Kind::Ranges => "a list of ranges such as \"0x1000..0x1fff\"".into(),
            Kind::Choice(words) => format!("one of \"{}\"", words.join("\", \"")),
        }
    }
}
