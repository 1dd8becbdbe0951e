//! The trees that are executed as the proved side, as `expr`, `cond` and `stmt` of `Semantics.v`.

use std::sync::Arc;

use c2coq::ast::{BinaryOp, Comparison};

#[derive(Debug, Clone)]
pub enum Expr {
    Constant(u64),
    Local(usize),
    Load(Box<Place>),
    Negate(u32, Box<Expr>),
    Not(u32, Box<Expr>),
    Binary(u32, BinaryOp, Box<Expr>, Box<Expr>),
    Cast(u32, Box<Expr>),
}

/// A scalar: which kind of cell, index of the object's element, index of the inner element.
#[derive(Debug, Clone)]
pub struct Place {
    pub cells: usize,
    pub index: Expr,
    pub element: Expr,
}

#[derive(Debug, Clone)]
pub enum Condition {
    Compare(Comparison, Expr, Expr),
    NonZero(Expr),
    Not(Box<Condition>),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
}

#[derive(Debug)]
pub enum Stmt {
    Skip,
    Assign(usize, Expr),
    Store(Place, Expr),
    Seq(Arc<Stmt>, Arc<Stmt>),
    If(Condition, Arc<Stmt>, Arc<Stmt>),
    While(Condition, Arc<Stmt>),
    Break,
    Return(Expr),
    Call(Option<usize>, String, Vec<Expr>),
}

impl Expr {
    /// Calls `f` with the expression and with each one that it is made of.
    fn each(&self, f: &mut dyn FnMut(&Expr)) {
        f(self);
        match self {
            Expr::Constant(_) | Expr::Local(_) => {}
            Expr::Load(place) => place.each_expr(f),
            Expr::Negate(_, a) | Expr::Not(_, a) | Expr::Cast(_, a) => a.each(f),
            Expr::Binary(_, _, a, b) => {
                a.each(f);
                b.each(f);
            }
        }
    }
}

impl Place {
    fn each_expr(&self, f: &mut dyn FnMut(&Expr)) {
        self.index.each(f);
        self.element.each(f);
    }
}

impl Condition {
    fn each_expr(&self, f: &mut dyn FnMut(&Expr)) {
        match self {
            Condition::Compare(_, a, b) => {
                a.each(f);
                b.each(f);
            }
            Condition::NonZero(a) => a.each(f),
            Condition::Not(a) => a.each_expr(f),
            Condition::And(a, b) | Condition::Or(a, b) => {
                a.each_expr(f);
                b.each_expr(f);
            }
        }
    }
}

impl Stmt {
    /// Calls `f` with each expression that is evaluated in the statement.
    pub fn each_expr(&self, f: &mut dyn FnMut(&Expr)) {
        match self {
            Stmt::Skip | Stmt::Break => {}
            Stmt::Assign(_, e) | Stmt::Return(e) => e.each(f),
            Stmt::Store(place, e) => {
                place.each_expr(f);
                e.each(f);
            }
            Stmt::Seq(a, b) => {
                a.each_expr(f);
                b.each_expr(f);
            }
            Stmt::If(condition, a, b) => {
                condition.each_expr(f);
                a.each_expr(f);
                b.each_expr(f);
            }
            Stmt::While(condition, body) => {
                condition.each_expr(f);
                body.each_expr(f);
            }
            Stmt::Call(_, _, arguments) => arguments.iter().for_each(|e| e.each(f)),
        }
    }
}
