//! Terms over bit vectors and truth values, each stored once: equal terms have equal numbers.
//!
//! A term's width is in bits; truth values have width 0. What a term means is in `value.rs`; how terms are made smaller
//! when they are built, in `build.rs`.

use std::collections::HashMap;
use std::rc::Rc;

/// A term of one [`Terms`], by its number. Its parts have smaller numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term(pub(crate) u32);

impl Term {
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Operations on two numbers of one width. Division by 0 is not built: its result is any value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    Add,
    Subtract,
    Multiply,
    Divide,
    DivideSigned,
    Remainder,
    RemainderSigned,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    Truth(bool),
    Number(u128),
    /// Something not known; one number, one value.
    Leaf(u32),
    Not(Term),
    Both(Term, Term),
    Either(Term, Term),
    Equal(Term, Term),
    Less(Term, Term),
    LessSigned(Term, Term),
    Select(Term, Term, Term),
    Binary(Operation, Term, Term),
    Complement(Term),
    /// The bits from this one on, as many as the term is wide.
    Extract(Term, u16),
    /// High part, low part.
    Concat(Term, Term),
    Extend(Term),
    ExtendSigned(Term),
}

impl Shape {
    pub fn parts(&self) -> Vec<Term> {
        match *self {
            Shape::Truth(_) | Shape::Number(_) | Shape::Leaf(_) => vec![],
            Shape::Not(a) | Shape::Complement(a) | Shape::Extract(a, _) => vec![a],
            Shape::Extend(a) | Shape::ExtendSigned(a) => vec![a],
            Shape::Both(a, b) | Shape::Either(a, b) | Shape::Equal(a, b) | Shape::Less(a, b) => vec![a, b],
            Shape::LessSigned(a, b) | Shape::Binary(_, a, b) | Shape::Concat(a, b) => vec![a, b],
            Shape::Select(a, b, c) => vec![a, b, c],
        }
    }
}

/// Where a leaf comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// What a register holds at the start; it does not point to the stack.
    Register(wcet_binary::lift::il::Register),
    /// What a register holds at the start.
    Start(wcet_binary::lift::il::Register),
    /// What memory holds at the start, at this address.
    Memory(Term),
    /// A register of which is known that it does not point to the stack, and no more.
    Plain,
    /// Memory that someone else, a loop or a system instruction may have written.
    Changed,
    /// What the language leaves open.
    Open,
    /// A register, after code that is not followed.
    Unknown,
    /// Memory where paths meet: what the path that was taken brings along.
    Joined,
    /// Overlapping accesses whose overlap is not described: any value, though there is one.
    Coarse,
}

/// A sum of terms with factors, and a number, modulo the width.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Sum {
    /// Ascending, no factor is 0.
    pub parts: Vec<(Term, u128)>,
    pub number: u128,
}

#[derive(Debug)]
pub struct Terms {
    shapes: Vec<Shape>,
    widths: Vec<u16>,
    known: HashMap<(Shape, u16), Term>,
    origins: Vec<Origin>,
    pub(crate) sums: HashMap<Term, Rc<Sum>>,
    pub(crate) extracts: HashMap<(Term, u16, u16), Term>,
    pub(crate) choices: HashMap<Term, Option<Rc<Vec<u128>>>>,
}

impl Default for Terms {
    fn default() -> Terms {
        Terms::new()
    }
}

impl Terms {
    pub fn new() -> Terms {
        let mut terms = Terms {
            shapes: Vec::new(),
            widths: Vec::new(),
            known: HashMap::new(),
            origins: Vec::new(),
            sums: HashMap::new(),
            extracts: HashMap::new(),
            choices: HashMap::new(),
        };
        terms.make(Shape::Truth(false), 0);
        terms.make(Shape::Truth(true), 0);
        terms
    }

    pub const FALSE: Term = Term(0);
    pub const TRUE: Term = Term(1);

    pub(crate) fn make(&mut self, shape: Shape, width: u16) -> Term {
        let next = Term(self.shapes.len() as u32);
        let found = *self.known.entry((shape, width)).or_insert(next);
        if found == next {
            self.shapes.push(shape);
            self.widths.push(width);
        }
        found
    }

    pub fn shape(&self, term: Term) -> Shape {
        self.shapes[term.index()]
    }

    /// In bits; 0 for a truth value.
    pub fn width(&self, term: Term) -> u16 {
        self.widths[term.index()]
    }

    pub fn len(&self) -> usize {
        self.shapes.len()
    }

    pub fn is_empty(&self) -> bool {
        false
    }

    /// A new unknown.
    pub fn leaf(&mut self, width: u16, origin: Origin) -> Term {
        let number = self.origins.len() as u32;
        self.origins.push(origin);
        self.make(Shape::Leaf(number), width)
    }

    pub fn origin(&self, leaf: u32) -> Origin {
        self.origins[leaf as usize]
    }

    /// Whether a term is made of leaves of which nothing is known, and that stand for no start.
    pub(crate) fn is_unknown(&self, term: Term) -> bool {
        self.cone(&[term]).into_iter().any(|part| match self.shape(part) {
            Shape::Leaf(leaf) => matches!(self.origin(leaf), Origin::Plain | Origin::Unknown),
            _ => false,
        })
    }

    pub fn as_number(&self, term: Term) -> Option<u128> {
        match self.shape(term) {
            Shape::Number(number) => Some(number),
            _ => None,
        }
    }

    /// All terms of which `roots` are made, themselves included, parts first.
    pub fn cone(&self, roots: &[Term]) -> Vec<Term> {
        let mut found = std::collections::BTreeSet::new();
        let mut open = roots.to_vec();
        while let Some(term) = open.pop() {
            if found.insert(term) {
                open.extend(self.shape(term).parts());
            }
        }
        found.into_iter().collect()
    }
}
