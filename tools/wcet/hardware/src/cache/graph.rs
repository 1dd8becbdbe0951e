//! What the analysis takes: a graph with accesses.

/// A program, or a part of it that has one entry.
#[derive(Debug, Clone, Default)]
pub struct Graph {
    pub nodes: Vec<Node>,
    /// From, to.
    pub edges: Vec<(usize, usize)>,
    pub entry: usize,
    pub scopes: Vec<Scope>,
}

#[derive(Debug, Clone, Default)]
pub struct Node {
    /// In program order.
    pub accesses: Vec<Access>,
    /// Names ([`Target::Line`]) that may stand for another line after this node than before.
    pub renews: Vec<u64>,
}

/// A set of nodes for whose entry a first miss can be charged. It is entered by each edge from a node outside to one
/// inside, and by the start of the program if that is inside. Scopes are nested or disjoint.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    pub nodes: Vec<usize>,
}

/// One access, of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    pub kind: Kind,
    pub target: Target,
    /// It happens whenever its node is executed. (Conditional instructions are not certain.)
    pub certain: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Fetch,
    Read,
    Write,
    /// Any lines may leave any cache; takes no time. Its target does not matter.
    Forget,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The line that holds this address.
    At(u64),
    /// One of the lines that hold the addresses from the first to the last; another one each time, perhaps.
    Within(u64, u64),
    /// The line that holds this address, of a page of so many bytes at an unknown address, but which always
    /// stands in the same place. Its name is up to the caller: no other target of the graph may stand for any of its lines,
    /// nor be named like them or like those of pages that follow it. It holds memory, no device.
    OnPage {
        address: u64,
        page: u64,
    },
    /// One of the lines that hold the bytes from the first to the last of these distances from an unknown address,
    /// but which is the same multiple of 8 in all accesses: the stack pointer at the entry. It holds memory, no device; other
    /// targets may name the same lines.
    Stack(i64, i64),
    /// The line of the access that stands this many places before it in its node, a read of memory and no device. Between
    /// them are only reads with the same target and others like this; it happens only if that read does.
    Again(u64),
    /// A line of memory at an unknown address, by a name: accesses by one name go to one line, unless a node
    /// that renews the name is between them. Other names and targets may stand for the same line. It is in certain sets.
    Line(u64, Sets),
    /// A walk through memory, by a name that no other access has: each time control enters the node, and as long as its next
    /// execution follows by an edge from the node to itself, the access goes to the same line as at its last execution or to
    /// the one behind, always in the same direction, and to at most so many lines in all. It is made at each of these
    /// executions, except perhaps the first or the last ones.
    Walk {
        name: u64,
        lines: u64,
    },
    /// A device between these addresses, or any line of memory.
    Device(u64, u64),
    /// Any line of memory, but no device.
    Memory,
    Anywhere,
}

/// Where a line at an unknown address may be: its number is a multiple of `modulus`, a power of two, plus `rest`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sets {
    pub modulus: u64,
    pub rest: u64,
}

impl Sets {
    pub const ANY: Sets = Sets { modulus: 1, rest: 0 };

    /// Whether a line of these may be in `set` of a cache of `sets` sets. Their number need be no power of two.
    pub fn hold(self, set: usize, sets: u64) -> bool {
        // What both are multiples of is all that a set's number tells of a line's.
        let known = self.modulus.min(sets & sets.wrapping_neg()).max(1);
        set as u64 % known == self.rest % known
    }
}

impl Target {
    /// Numbers of the first and the last line, where they are known.
    pub fn lines(self, size: u64) -> Option<(u64, u64)> {
        match self {
            Target::At(address) => Some((address / size, address / size)),
            Target::Within(first, last) => Some((first / size, last / size)),
            _ => None,
        }
    }
}

impl Access {
    /// A certain access to the line that holds `address`.
    pub fn at(kind: Kind, address: u64) -> Self {
        Access { kind, target: Target::At(address), certain: true }
    }
}
