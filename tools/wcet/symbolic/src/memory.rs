//! Memory as the chain of its changes; what a load gives is resolved against it, without arrays.
//!
//! A load looks at the changes before it, the latest first. A store to an address that differs by a known number is
//! passed or gives its bytes; one whose distance is not known becomes a case distinction in the load's term. At the
//! chain's start, and where anything may have changed, a load is a leaf, the same one for the same address. Where
//! paths meet, a load is a leaf too; that it equals what the path brings along is a condition of the edge taken.
//!
//! What others may change ([`Sharing`]) is never remembered: each load of it is a new leaf.

use std::collections::HashMap;

use wcet_binary::load::Program;
use wcet_values::Shared;

use crate::load::Place;
use crate::term::{Term, Terms};

/// Memory after some changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Version(u32);

/// What else writes memory while the program runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sharing {
    /// Nothing: what is read twice is the same.
    Exclusive,
    /// Other processors, interrupts or devices write these places.
    Places(Shared),
    /// They may write anything but the stack in use and what never changes.
    StackIsPrivate,
}

/// What the caller of the analysis knows about pointers. All false is always right.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Pointers {
    /// At the start nothing but the stack pointer points to the stack below it, and no number in the code does.
    pub fresh_stack: bool,
    /// No address on the stack is ever stored to memory.
    pub no_escape: bool,
    /// The start is the entry of the region: memory as it is then holds no address on the stack below it.
    pub at_entry: bool,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Change {
    Start,
    Store {
        before: Version,
        address: Term,
        value: Term,
        when: Term,
    },
    /// What `touched` names may have changed, where `when` holds; not if the path took `edge`.
    Partly {
        before: Version,
        touched: usize,
        edge: Option<usize>,
        when: Term,
    },
}

/// Which memory code may write, apart from its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Touched {
    /// Anything that is not constant.
    pub anything: bool,
    /// Anything but the stack below the start's stack pointer.
    pub outside_stack: bool,
    /// First offset and the one behind, from the stack pointer at the start.
    pub stack: Vec<(i64, i64)>,
    /// First address and the one behind.
    pub fixed: Vec<(u64, u64)>,
}

impl Touched {
    pub fn anything() -> Touched {
        Touched { anything: true, ..Touched::default() }
    }

    pub fn join(&mut self, other: &Touched) {
        self.anything |= other.anything;
        self.outside_stack |= other.outside_stack;
        self.stack.extend(&other.stack);
        self.fixed.extend(&other.fixed);
        self.stack.sort();
        self.stack.dedup();
        self.fixed.sort();
        self.fixed.dedup();
    }

    pub fn nothing(&self) -> bool {
        *self == Touched::default()
    }
}

/// Leaves of one version whose addresses differ by numbers: offset, bytes, leaf.
pub(crate) type Cells = Vec<(u128, u8, Term)>;

/// A part of memory at some version, for which solvers need to know that equal addresses hold equal values.
#[derive(Debug, Clone, Copy)]
pub struct Cell {
    pub version: Version,
    pub address: Term,
    pub bytes: u8,
    pub value: Term,
}

#[derive(Debug)]
pub struct Memory<'p> {
    pub(crate) program: &'p Program,
    pub(crate) changes: Vec<Change>,
    pub(crate) touched: Vec<Touched>,
    pub(crate) cells: HashMap<(Version, Vec<(Term, u128)>), Cells>,
    pub(crate) all: Vec<Cell>,
    pub(crate) joined: HashMap<(Version, Term, u8), Term>,
    /// Equations that hold if the path took an edge.
    equations: HashMap<usize, Vec<(Term, Term)>>,
    pub(crate) places: HashMap<Term, Place>,
    pub stack: Term,
    pub sharing: Sharing,
    /// Whether the instruction that is executed may access shared places by an address that is not a number.
    pub may_share: bool,
    pub pointers: Pointers,
    /// Case distinctions of one load before it is given up.
    pub cases: usize,
    /// An address with at most so many values is taken to be each of them in turn; 0: addresses are taken as they are.
    pub choices: usize,
}

/// Case distinctions of one load, unless stated otherwise.
const CASES: usize = 40;

impl<'p> Memory<'p> {
    pub fn new(program: &'p Program, stack: Term, sharing: Sharing, pointers: Pointers) -> Memory<'p> {
        Memory {
            program,
            changes: vec![Change::Start],
            touched: Vec::new(),
            cells: HashMap::new(),
            all: Vec::new(),
            joined: HashMap::new(),
            equations: HashMap::new(),
            places: HashMap::new(),
            stack,
            sharing,
            may_share: true,
            pointers,
            cases: CASES,
            choices: 0,
        }
    }

    pub const START: Version = Version(0);

    pub(crate) fn change(&self, version: Version) -> Change {
        self.changes[version.0 as usize]
    }

    fn push(&mut self, change: Change) -> Version {
        self.changes.push(change);
        Version(self.changes.len() as u32 - 1)
    }

    pub fn store(&mut self, before: Version, address: Term, value: Term, when: Term) -> Version {
        if when == Terms::FALSE {
            return before;
        }
        self.push(Change::Store { before, address, value, when })
    }

    /// Memory after code that is not followed, and is executed where `when` holds.
    pub fn changed(&mut self, before: Version, touched: Touched, when: Term) -> Version {
        self.partly(before, touched, None, when)
    }

    /// Memory where paths meet of which one took `edge`; the others changed what `touched` says since they parted.
    pub fn join(&mut self, before: Version, touched: Touched, edge: usize) -> Version {
        self.partly(before, touched, Some(edge), Terms::TRUE)
    }

    fn partly(&mut self, before: Version, touched: Touched, edge: Option<usize>, when: Term) -> Version {
        if touched.nothing() || when == Terms::FALSE {
            return before;
        }
        self.touched.push(touched);
        self.push(Change::Partly { before, touched: self.touched.len() - 1, edge, when })
    }

    /// What holds if the path took `edge`: pairs of equal terms.
    pub fn equations(&self, edge: usize) -> &[(Term, Term)] {
        self.equations.get(&edge).map(Vec::as_slice).unwrap_or_default()
    }

    pub fn equate(&mut self, edge: usize, a: Term, b: Term) {
        self.equations.entry(edge).or_default().push((a, b));
    }
}
