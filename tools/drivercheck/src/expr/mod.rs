//! Bit-vector expressions over program variables, simplified as they are built.
//!
//! Expressions are interned: equal ones have equal handles, so they can be compared, hashed and cached cheaply. The table
//! belongs to the thread; handles must not cross threads. A truth value is a vector of one bit.

mod arithmetic;
mod compare;
#[cfg(test)]
mod tests;

use crate::hash::HashMap;
pub use arithmetic::{binary, compute};
pub use compare::{compare, holds};
use std::cell::RefCell;
use std::rc::Rc;

/// A variable of the program model, or a fresh value on a path.
pub type Var = u32;

#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Expr(u32);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Node {
    Const { value: u64, bits: u32 },
    Var { var: Var, bits: u32 },
    Not(Expr),
    Binary(Op, Expr, Expr),
    Compare(Compare, Expr, Expr),
    Choose(Expr, Expr, Expr),
    Zero(Expr, u32),
    Sign(Expr, u32),
    Cut(Expr, u32),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Op {
    Add,
    Sub,
    Mul,
    UDiv,
    SDiv,
    URem,
    SRem,
    And,
    Or,
    Xor,
    Shl,
    LShr,
    AShr,
}

impl Op {
    pub const ALL: [Op; 13] = [
        Op::Add,
        Op::Sub,
        Op::Mul,
        Op::UDiv,
        Op::SDiv,
        Op::URem,
        Op::SRem,
        Op::And,
        Op::Or,
        Op::Xor,
        Op::Shl,
        Op::LShr,
        Op::AShr,
    ];
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Compare {
    Eq,
    ULt,
    SLt,
}

#[derive(Default)]
struct Table {
    nodes: Vec<Node>,
    bits: Vec<u32>,
    vars: Vec<Rc<[Var]>>,
    known: HashMap<Node, Expr>,
}

thread_local! {
    static TABLE: RefCell<Table> = RefCell::default();
}

fn intern(node: Node) -> Expr {
    TABLE.with_borrow_mut(|table| {
        if let Some(known) = table.known.get(&node) {
            return *known;
        }
        let bits = |expr: Expr| table.bits[expr.0 as usize];
        let (width, children): (u32, Vec<Expr>) = match node {
            Node::Const { bits, .. } | Node::Var { bits, .. } => (bits, vec![]),
            Node::Not(a) => (bits(a), vec![a]),
            Node::Binary(_, a, b) => (bits(a), vec![a, b]),
            Node::Compare(_, a, b) => (1, vec![a, b]),
            Node::Choose(c, a, b) => (bits(a), vec![c, a, b]),
            Node::Zero(a, bits) | Node::Sign(a, bits) | Node::Cut(a, bits) => (bits, vec![a]),
        };
        let mut vars: Vec<Var> =
            children.iter().flat_map(|child| table.vars[child.0 as usize].iter().copied()).collect();
        if let Node::Var { var, .. } = node {
            vars.push(var);
        }
        vars.sort_unstable();
        vars.dedup();
        let expr = Expr(table.nodes.len() as u32);
        table.nodes.push(node);
        table.bits.push(width);
        table.vars.push(vars.into());
        table.known.insert(node, expr);
        expr
    })
}

pub fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

/// The value as a signed number.
fn signed(value: u64, bits: u32) -> i64 {
    ((value << (64 - bits)) as i64) >> (64 - bits)
}

pub fn constant(value: u64, bits: u32) -> Expr {
    intern(Node::Const { value: value & mask(bits), bits })
}

pub fn truth(value: bool) -> Expr {
    constant(u64::from(value), 1)
}

pub fn var(var: Var, bits: u32) -> Expr {
    intern(Node::Var { var, bits })
}

impl Expr {
    pub fn node(self) -> Node {
        TABLE.with_borrow(|table| table.nodes[self.0 as usize])
    }

    pub fn bits(self) -> u32 {
        TABLE.with_borrow(|table| table.bits[self.0 as usize])
    }

    /// Its variables, in ascending order.
    pub fn vars(self) -> Rc<[Var]> {
        TABLE.with_borrow(|table| table.vars[self.0 as usize].clone())
    }

    pub fn mentions(self, var: Var) -> bool {
        self.vars().binary_search(&var).is_ok()
    }

    pub fn value(self) -> Option<u64> {
        match self.node() {
            Node::Const { value, .. } => Some(value),
            _ => None,
        }
    }

    pub fn is_true(self) -> bool {
        self.bits() == 1 && self.value() == Some(1)
    }

    pub fn is_false(self) -> bool {
        self.bits() == 1 && self.value() == Some(0)
    }

    /// A condition that a variable has one value: which, and the value.
    pub fn fixes(self) -> Option<(Var, Expr)> {
        match self.node() {
            Node::Var { var, bits: 1 } => Some((var, truth(true))),
            Node::Not(a) if self.bits() == 1 => match a.node() {
                Node::Var { var, .. } => Some((var, truth(false))),
                _ => None,
            },
            Node::Compare(Compare::Eq, a, b) => match (a.node(), b.node()) {
                (Node::Var { var, .. }, Node::Const { .. }) => Some((var, b)),
                (Node::Const { .. }, Node::Var { var, .. }) => Some((var, a)),
                _ => None,
            },
            _ => None,
        }
    }

    /// As people read it.
    pub fn show(self, name: &dyn Fn(Var) -> String) -> String {
        let go = |expr: Expr| expr.show(name);
        match self.node() {
            Node::Const { value, .. } if value > 9 => format!("{value:#x}"),
            Node::Const { value, .. } => value.to_string(),
            Node::Var { var, .. } => name(var),
            Node::Not(a) => format!("!{}", go(a)),
            Node::Binary(op, a, b) => format!("({} {op:?} {})", go(a), go(b)),
            Node::Compare(Compare::Eq, a, b) => format!("{} == {}", go(a), go(b)),
            Node::Compare(_, a, b) => format!("{} < {}", go(a), go(b)),
            Node::Choose(c, a, b) => format!("({} ? {} : {})", go(c), go(a), go(b)),
            Node::Zero(a, _) | Node::Sign(a, _) | Node::Cut(a, _) => go(a),
        }
    }

    /// Replaces variables.
    pub fn replace(self, with: &dyn Fn(Var) -> Option<Expr>) -> Expr {
        match self.node() {
            Node::Const { .. } => self,
            Node::Var { var, .. } => with(var).unwrap_or(self),
            _ => self.replace_in(with, &mut HashMap::default()),
        }
    }

    fn replace_in(self, with: &dyn Fn(Var) -> Option<Expr>, done: &mut HashMap<Expr, Expr>) -> Expr {
        if let Some(known) = done.get(&self) {
            return *known;
        }
        if !self.vars().iter().any(|var| with(*var).is_some()) {
            return self;
        }
        let mut go = |expr: Expr| expr.replace_in(with, done);
        let result = match self.node() {
            Node::Const { .. } => self,
            Node::Var { var, .. } => with(var).unwrap_or(self),
            Node::Not(a) => not(go(a)),
            Node::Binary(op, a, b) => binary(op, go(a), go(b)),
            Node::Compare(op, a, b) => compare(op, go(a), go(b)),
            Node::Choose(c, a, b) => choose(go(c), go(a), go(b)),
            Node::Zero(a, bits) => zero_extend(go(a), bits),
            Node::Sign(a, bits) => sign_extend(go(a), bits),
            Node::Cut(a, bits) => cut(go(a), bits),
        };
        done.insert(self, result);
        result
    }

    /// Its value where all variables have one; those without count as 0.
    pub fn evaluate(self, of: &dyn Fn(Var) -> u64) -> u64 {
        self.replace(&|var| Some(constant(of(var), self.width_of(var)))).value().unwrap_or(0)
    }

    /// Bits of a variable that occurs in it.
    pub fn width_of(self, var: Var) -> u32 {
        match self.node() {
            Node::Const { .. } => 64,
            Node::Var { bits, .. } => bits,
            Node::Not(a) | Node::Zero(a, _) | Node::Sign(a, _) | Node::Cut(a, _) => a.width_of(var),
            Node::Binary(_, a, b) | Node::Compare(_, a, b) => if a.mentions(var) { a } else { b }.width_of(var),
            Node::Choose(c, a, b) => {
                let part = [c, a, b].into_iter().find(|part| part.mentions(var)).unwrap_or(a);
                part.width_of(var)
            }
        }
    }

    /// The atoms of a truth value: what stands between its `and`, `or` and `not`.
    pub fn atoms(self, into: &mut Vec<Expr>) {
        match self.node() {
            Node::Const { .. } => {}
            Node::Not(a) if self.bits() == 1 => a.atoms(into),
            Node::Binary(Op::And | Op::Or | Op::Xor, a, b) if self.bits() == 1 => {
                a.atoms(into);
                b.atoms(into);
            }
            Node::Choose(c, a, b) if self.bits() == 1 => {
                c.atoms(into);
                a.atoms(into);
                b.atoms(into);
            }
            _ if into.contains(&self) => {}
            _ => into.push(self),
        }
    }
}

pub fn not(a: Expr) -> Expr {
    match a.node() {
        Node::Const { value, bits } => constant(!value, bits),
        Node::Not(inner) => inner,
        _ => intern(Node::Not(a)),
    }
}

pub fn negate(a: Expr) -> Expr {
    binary(Op::Sub, constant(0, a.bits()), a)
}

pub fn and(a: Expr, b: Expr) -> Expr {
    binary(Op::And, a, b)
}

pub fn or(a: Expr, b: Expr) -> Expr {
    binary(Op::Or, a, b)
}

pub fn equal(a: Expr, b: Expr) -> Expr {
    compare(Compare::Eq, a, b)
}

/// A truth value: is it other than zero?
pub fn non_zero(a: Expr) -> Expr {
    if a.bits() == 1 {
        return a;
    }
    not(equal(a, constant(0, a.bits())))
}

pub fn choose(condition: Expr, a: Expr, b: Expr) -> Expr {
    match condition.value() {
        Some(1) => return a,
        Some(_) => return b,
        None => {}
    }
    if a == b {
        return a;
    }
    if a.bits() == 1 {
        match (a.value(), b.value()) {
            (Some(1), Some(0)) => return condition,
            (Some(0), Some(1)) => return not(condition),
            (Some(1), None) => return or(condition, b),
            (Some(0), None) => return and(not(condition), b),
            (None, Some(1)) => return or(not(condition), a),
            (None, Some(0)) => return and(condition, a),
            _ => {}
        }
    }
    intern(Node::Choose(condition, a, b))
}

pub fn zero_extend(a: Expr, bits: u32) -> Expr {
    match a.node() {
        _ if a.bits() == bits => a,
        Node::Const { value, .. } => constant(value, bits),
        Node::Zero(inner, _) => zero_extend(inner, bits),
        _ => intern(Node::Zero(a, bits)),
    }
}

pub fn sign_extend(a: Expr, bits: u32) -> Expr {
    match a.node() {
        _ if a.bits() == bits => a,
        Node::Const { value, bits: own } => constant(signed(value, own) as u64, bits),
        Node::Zero(inner, _) => zero_extend(inner, bits),
        _ => intern(Node::Sign(a, bits)),
    }
}

pub fn cut(a: Expr, bits: u32) -> Expr {
    match a.node() {
        _ if a.bits() == bits => a,
        Node::Const { value, .. } => constant(value, bits),
        Node::Zero(inner, _) if inner.bits() >= bits => cut(inner, bits),
        Node::Zero(inner, _) => zero_extend(inner, bits),
        Node::Cut(inner, _) => cut(inner, bits),
        _ => intern(Node::Cut(a, bits)),
    }
}
