//! Terms over bit vectors and arrays, shared and in a normal form.
//!
//! A term is a number of a node in a pool of its thread; equal terms have equal numbers. The constructors in [`build`] bring
//! sums, masks and shifts into a normal form, so that an address that C and machine code compute differently is mostly the
//! same term, and the solver need not be asked.

pub mod build;
mod comparison;
pub mod evaluate;
pub mod print;
mod sum;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::HashMap;

/// A term: a bit vector of 1 to 128 bits, or an array from 32 bits to bit vectors. Conditions have one bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Term(u32);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Node {
    Constant(u128),
    Variable(u32),
    /// Multiples of terms, and a constant, modulo 2^width.
    Sum(Box<[(Term, u128)]>, u128),
    Binary(Binary, Term, Term),
    If(Term, Term, Term),
    /// Bits from this one on, as many as the node is wide.
    Extract(u32, Term),
    ZeroExtend(Term),
    SignExtend(Term),
    /// Number of zeros above the highest bit that is set.
    LeadingZeros(Term),
    /// An array about which nothing is known; the node's width is that of its elements.
    Array(u32),
    Store(Term, Term, Term),
    Read(Term, Term),
}

/// Comparisons give one bit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binary {
    Multiply,
    /// Of unsigned numbers; by 0 all ones, as in SMT-LIB.
    Divide,
    Remainder,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    ShiftRightSigned,
    Equal,
    Less,
    LessSigned,
}

#[derive(Default)]
struct Pool {
    nodes: Vec<(Node, u32)>,
    numbers: HashMap<(Node, u32), Term>,
    /// Bits that are 0 in every value, where that has been asked.
    zeros: HashMap<Term, u128>,
    names: Vec<String>,
}

thread_local! {
    static POOL: RefCell<Pool> = RefCell::new(Pool::default());
}

/// Forgets all terms of this thread; those that are still held have no meaning.
pub fn clear() {
    POOL.with(|pool| *pool.borrow_mut() = Pool::default());
}

/// All ones of a width.
pub fn mask(width: u32) -> u128 {
    if width >= 128 {
        u128::MAX
    } else {
        (1 << width) - 1
    }
}

fn intern(node: Node, width: u32) -> Term {
    POOL.with(|pool| {
        let mut pool = pool.borrow_mut();
        if let Some(term) = pool.numbers.get(&(node.clone(), width)) {
            return *term;
        }
        let term = Term(pool.nodes.len() as u32);
        pool.nodes.push((node.clone(), width));
        pool.numbers.insert((node, width), term);
        term
    })
}

/// A variable or array that differs from all others; the name helps people who read a query.
fn fresh_number(name: &str) -> u32 {
    POOL.with(|pool| {
        let mut pool = pool.borrow_mut();
        pool.names.push(name.to_string());
        (pool.names.len() - 1) as u32
    })
}

pub fn fresh(name: &str, width: u32) -> Term {
    intern(Node::Variable(fresh_number(name)), width)
}

pub fn fresh_array(name: &str, width: u32) -> Term {
    intern(Node::Array(fresh_number(name)), width)
}

pub fn constant(value: u128, width: u32) -> Term {
    intern(Node::Constant(value & mask(width)), width)
}

impl Term {
    pub fn node(self) -> Node {
        POOL.with(|pool| pool.borrow().nodes[self.0 as usize].0.clone())
    }

    pub fn width(self) -> u32 {
        POOL.with(|pool| pool.borrow().nodes[self.0 as usize].1)
    }

    /// Its value, if it is a constant.
    pub fn value(self) -> Option<u128> {
        POOL.with(|pool| match pool.borrow().nodes[self.0 as usize].0 {
            Node::Constant(value) => Some(value),
            _ => None,
        })
    }

    pub fn is_true(self) -> bool {
        self.value() == Some(1) && self.width() == 1
    }

    pub fn is_false(self) -> bool {
        self.value() == Some(0) && self.width() == 1
    }

    /// Whether it is a product of two unknown numbers of 64 bits. To the solver it is any number, the same one wherever the
    /// same two are multiplied: solvers find no answer about such products, and what holds for any number holds for theirs.
    pub fn is_any_product(self) -> bool {
        match self.node() {
            Node::Binary(Binary::Multiply, a, b) => self.width() == 128 && a.value().is_none() && b.value().is_none(),
            _ => false,
        }
    }

    /// The terms that it is made of directly.
    pub fn children(self) -> Vec<Term> {
        match self.node() {
            Node::Constant(_) | Node::Variable(_) | Node::Array(_) => Vec::new(),
            Node::Sum(terms, _) => terms.iter().map(|(term, _)| *term).collect(),
            Node::Binary(_, a, b) | Node::Read(a, b) => vec![a, b],
            Node::If(a, b, c) | Node::Store(a, b, c) => vec![a, b, c],
            Node::Extract(_, a) | Node::ZeroExtend(a) | Node::SignExtend(a) | Node::LeadingZeros(a) => vec![a],
        }
    }
}

/// Conditions that hold together exactly where this one does.
pub fn conjuncts(condition: Term) -> Vec<Term> {
    let (mut out, mut todo) = (Vec::new(), vec![condition]);
    while let Some(one) = todo.pop() {
        // A negation is an exclusive or with 1.
        let negated = match one.node() {
            Node::Binary(Binary::Xor, inner, by) if by.is_true() => Some(inner),
            _ => None,
        };
        match (one.node(), negated.map(Term::node)) {
            (Node::Binary(Binary::And, a, b), _) => todo.extend([b, a]),
            (_, Some(Node::Binary(Binary::Or, a, b))) => todo.extend([build::not(b), build::not(a)]),
            _ => out.push(one),
        }
    }
    out
}

/// The terms below the given ones, each once, what a term is made of before it.
pub fn below(terms: &[Term]) -> Vec<Term> {
    let mut seen = std::collections::HashSet::new();
    let mut order = Vec::new();
    let mut todo: Vec<(Term, bool)> = terms.iter().rev().map(|term| (*term, false)).collect();
    while let Some((term, is_done)) = todo.pop() {
        if is_done {
            order.push(term);
        } else if seen.insert(term) {
            todo.push((term, true));
            todo.extend(term.children().into_iter().rev().map(|child| (child, false)));
        }
    }
    order
}

/// `term` with `from` replaced by `to`.
pub fn substitute(term: Term, from: Term, to: Term) -> Term {
    let mut done: HashMap<Term, Term> = HashMap::new();
    for part in below(&[term]) {
        let new = if part == from {
            to
        } else {
            let at = |old: Term| done.get(&old).copied().unwrap_or(old);
            rebuild(part, &at)
        };
        done.insert(part, new);
    }
    done.get(&term).copied().unwrap_or(term)
}

/// The same operation on other operands.
pub fn rebuild(part: Term, at: &dyn Fn(Term) -> Term) -> Term {
    let width = part.width();
    match part.node() {
        Node::Constant(_) | Node::Variable(_) | Node::Array(_) => part,
        Node::Sum(terms, rest) => {
            let mut sum = constant(rest, width);
            for (term, times) in terms.iter() {
                sum = build::add(sum, build::times(at(*term), *times));
            }
            sum
        }
        Node::Binary(operation, a, b) => build::binary(operation, at(a), at(b)),
        Node::If(c, a, b) => build::select(at(c), at(a), at(b)),
        Node::Extract(low, a) => build::extract(at(a), low, width),
        Node::ZeroExtend(a) => build::zero_extend(at(a), width),
        Node::SignExtend(a) => build::sign_extend(at(a), width),
        Node::LeadingZeros(a) => build::leading_zeros(at(a)),
        Node::Store(a, i, v) => build::store(at(a), at(i), at(v)),
        Node::Read(a, i) => build::read(at(a), at(i)),
    }
}
