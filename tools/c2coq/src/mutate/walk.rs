//! The walk over a function that enumerates the possible mutations, or makes one of them.
//!
//! A walk without a target counts; a walk with a target changes that one place. Both visit the places in the same order, so
//! a number identifies a mutation as long as the function is unchanged.

use std::collections::BTreeSet;

use super::change::{constant, increment, is_constant, is_plain_equality, negate};
use super::depend::{exchange, Exchange};
use super::Kind;
use crate::ast::*;
use crate::print;
use crate::source::Span;

/// A change that was made.
pub struct Hit {
    pub kind: Kind,
    pub span: Span,
    /// The statement, or of a compound one its head.
    pub before: String,
    pub after: String,
}

pub struct Walk<'a> {
    pub(super) unit: &'a Unit,
    pub(super) function: &'a Function,
    target: Option<usize>,
    /// Places met so far.
    pub met: usize,
    /// Grows if a change needs a local.
    pub locals: Vec<Local>,
    change: Option<(Kind, Span)>,
    pub hit: Option<Hit>,
    /// One rewrite of a benign kind is enough for a function.
    benign: BTreeSet<Kind>,
    /// Control that leaves an inner block arrives at a return, or the function has no result.
    returns_after: bool,
    depth: usize,
}

impl<'a> Walk<'a> {
    pub fn new(unit: &'a Unit, function: &'a Function, target: Option<usize>) -> Walk<'a> {
        Walk {
            unit,
            function,
            target,
            met: 0,
            locals: function.locals.clone(),
            change: None,
            hit: None,
            benign: BTreeSet::new(),
            returns_after: false,
            depth: 0,
        }
    }

    pub fn body(&mut self, body: &mut Vec<Stmt>) {
        let ends = body.last().is_some_and(|last| matches!(last.kind, StmtKind::Return(_)));
        self.returns_after = ends || self.function.result.is_none();
        self.rename_local();
        self.block(body);
    }

    /// A place for a change; true if the change is to be made here.
    pub(super) fn offer(&mut self, kind: Kind, span: Span) -> bool {
        let chosen = self.target == Some(self.met);
        self.met += 1;
        if chosen {
            self.change = Some((kind, span));
        }
        chosen
    }

    pub(super) fn offer_benign(&mut self, kind: Kind, span: Span) -> bool {
        self.benign.insert(kind) && self.offer(kind, span)
    }

    /// The first parameter or local gets another name.
    fn rename_local(&mut self) {
        let span = self.function.span;
        if !self.locals.is_empty() && self.offer_benign(Kind::LocalRenamed, span) {
            let after = "renamed".to_string();
            let before = std::mem::replace(&mut self.locals[0].name, after.clone());
            self.hit = Some(Hit { kind: Kind::LocalRenamed, span, before, after });
        }
    }

    fn text(&self, statement: &Stmt) -> String {
        match self.target {
            Some(_) => print::head(self.unit, &self.locals, statement),
            None => String::new(),
        }
    }

    fn block(&mut self, statements: &mut Vec<Stmt>) {
        let mut at = 0;
        while at < statements.len() {
            let open = self.change.is_none();
            let text = |walk: &Self, statements: &[Stmt], end: usize| {
                let texts: Vec<String> =
                    statements[at..end.min(statements.len())].iter().map(|statement| walk.text(statement)).collect();
                texts.join("; ").trim().to_string()
            };
            let (before, both) = (text(self, statements, at + 1), text(self, statements, at + 2));
            let grown = self.here(statements, at);
            if !grown && open {
                self.statement(&mut statements[at]);
            }
            if open && self.hit.is_none() {
                if let Some((kind, span)) = self.change {
                    let mut after = text(self, statements, if grown { at + 2 } else { at + 1 });
                    if kind == Kind::BranchesExchanged {
                        after.push_str(" with its branches exchanged");
                    }
                    if kind == Kind::LoopRespelled {
                        after = format!("{before} as a while loop");
                    }
                    let pair =
                        matches!(kind, Kind::ReleaseEarly | Kind::StatementsExchanged | Kind::IndependentExchanged);
                    let before = if pair { both } else { before };
                    self.hit = Some(Hit { kind, span, before, after });
                }
            }
            at += if grown { 2 } else { 1 };
        }
    }

    pub(super) fn callee(&self, call: &Call) -> &'a Function {
        &self.unit.functions[call.function.0]
    }

    /// A call that does nothing the specification speaks of.
    pub(super) fn is_hint(&self, call: &Call) -> bool {
        self.callee(call).name == "arch_spin_hint"
    }

    /// Changes of the statement as a whole. True if another statement now stands behind it.
    fn here(&mut self, statements: &mut Vec<Stmt>, at: usize) -> bool {
        let span = statements[at].span;
        if let Some(kind) = self.droppable(statements, at) {
            if self.offer(kind, span) {
                statements[at].kind = match &statements[at].kind {
                    StmtKind::Local(id, _) => {
                        StmtKind::Local(*id, Rhs::Expr(constant(0, self.locals[id.0].width, span)))
                    }
                    _ => StmtKind::Skip,
                };
                return false;
            }
        }
        if let StmtKind::Call(call) = &statements[at].kind {
            if self.callee(call).body.is_none() && !self.is_hint(call) && self.offer(Kind::StatementRepeated, span) {
                let again = statements[at].clone();
                statements.insert(at, again);
                return true;
            }
        }
        if at + 1 < statements.len() && self.is_release(&statements[at + 1]) && self.touches(&statements[at]) {
            let span = statements[at + 1].span;
            if self.offer(Kind::ReleaseEarly, span) {
                statements.swap(at, at + 1);
                return true;
            }
        } else if self.exchange(statements, at) {
            return true;
        }
        if self.respell_loop(&mut statements[at]) {
            return false;
        }
        self.introduce_local(statements, at)
    }

    fn droppable(&self, statements: &[Stmt], at: usize) -> Option<Kind> {
        match &statements[at].kind {
            StmtKind::Local(_, Rhs::Expr(value)) if is_constant(value, 0) => None,
            StmtKind::Local(..) | StmtKind::Assign(..) | StmtKind::Break => Some(Kind::StatementDropped),
            StmtKind::Call(call) => match self.callee(call).name.as_str() {
                "arch_spin_hint" => None,
                "spinlock_release" | "arch_disown" => Some(Kind::ReleaseDropped),
                "spinlock_acquire" | "arch_own" => Some(Kind::AcquireDropped),
                _ => Some(Kind::StatementDropped),
            },
            StmtKind::Return(_) if self.returns_after && self.depth > 0 => Some(Kind::StatementDropped),
            _ => None,
        }
    }

    fn is_release(&self, statement: &Stmt) -> bool {
        matches!(&statement.kind, StmtKind::Call(call) if self.callee(call).name == "spinlock_release")
    }

    /// Reads or writes an object, or calls.
    fn touches(&self, statement: &Stmt) -> bool {
        match &statement.kind {
            StmtKind::Assign(Target::Place(_), _) => true,
            StmtKind::Local(_, Rhs::Expr(value)) | StmtKind::Assign(_, Rhs::Expr(value)) => value.loads(),
            StmtKind::Local(_, Rhs::Call(call)) | StmtKind::Assign(_, Rhs::Call(call)) | StmtKind::Call(call) => {
                !self.is_hint(call)
            }
            StmtKind::Skip | StmtKind::Break | StmtKind::Return(_) => false,
            StmtKind::Block(_) | StmtKind::If(..) | StmtKind::While(..) | StmtKind::For { .. } => true,
        }
    }

    /// A statement and the one behind it change places.
    fn exchange(&mut self, statements: &mut [Stmt], at: usize) -> bool {
        let Some(second) = statements.get(at + 1) else { return false };
        let (exchange, span) = (exchange(&statements[at], second), second.span);
        let same = self.text_of(&statements[at]) == self.text_of(second);
        let chosen = match exchange {
            Some(Exchange::Independent) if !same => self.offer_benign(Kind::IndependentExchanged, span),
            Some(Exchange::Dependent) if !same => self.offer(Kind::StatementsExchanged, span),
            _ => false,
        };
        if chosen {
            statements.swap(at, at + 1);
        }
        chosen
    }

    fn text_of(&self, statement: &Stmt) -> String {
        print::head(self.unit, &self.locals, statement)
    }

    /// `for (init; condition; step)` becomes `init; while (condition)` with the step at the end of its body.
    fn respell_loop(&mut self, statement: &mut Stmt) -> bool {
        let span = statement.span;
        let StmtKind::For { init, condition, step, body } = &statement.kind else { return false };
        if !self.offer_benign(Kind::LoopRespelled, span) {
            return false;
        }
        let always = Cond { kind: CondKind::NonZero(constant(1, Width::U32, span)), span };
        let mut inner = body.clone();
        inner.extend(step.as_deref().cloned());
        let mut block: Vec<Stmt> = init.as_deref().cloned().into_iter().collect();
        block.push(Stmt { kind: StmtKind::While(condition.clone().unwrap_or(always), inner), span });
        statement.kind = StmtKind::Block(block);
        true
    }

    /// `x = e` becomes `t = e; x = t`.
    fn introduce_local(&mut self, statements: &mut Vec<Stmt>, at: usize) -> bool {
        let span = statements[at].span;
        let (StmtKind::Assign(Target::Place(_), Rhs::Expr(value)) | StmtKind::Return(Some(value))) =
            &mut statements[at].kind
        else {
            return false;
        };
        let width = value.width;
        if !self.offer_benign(Kind::LocalIntroduced, span) {
            return false;
        }
        let id = LocalId(self.locals.len());
        self.locals.push(Local { name: "introduced".to_string(), width, constant: false, span });
        let whole = std::mem::replace(value, Expr { kind: ExprKind::Local(id), width, span });
        statements.insert(at, Stmt { kind: StmtKind::Local(id, Rhs::Expr(whole)), span });
        true
    }

    fn statement(&mut self, statement: &mut Stmt) {
        let span = statement.span;
        match &mut statement.kind {
            StmtKind::Skip | StmtKind::Break | StmtKind::Return(None) => {}
            StmtKind::Block(inner) => self.inner(inner),
            StmtKind::Local(_, value) => self.right_hand_side(value),
            StmtKind::Assign(target, value) => {
                if let Target::Place(place) = target {
                    self.place(place);
                    if let Rhs::Expr(value) = value {
                        self.value(value);
                        return;
                    }
                }
                self.right_hand_side(value);
            }
            StmtKind::Call(call) => self.call(call),
            StmtKind::If(condition, yes, no) => {
                if !is_plain_equality(condition) && self.offer(Kind::BranchNegated, span) {
                    negate(condition);
                    return;
                }
                if self.offer_benign(Kind::BranchesExchanged, span) {
                    negate(condition);
                    std::mem::swap(yes, no);
                    return;
                }
                self.condition(condition);
                self.inner(yes);
                self.inner(no);
            }
            StmtKind::While(condition, body) => {
                self.condition(condition);
                self.inner(body);
            }
            StmtKind::For { init, condition, step, body } => {
                if let Some(init) = init {
                    self.statement(init);
                }
                if let Some(condition) = condition {
                    self.condition(condition);
                }
                if let Some(step) = step {
                    self.statement(step);
                }
                self.inner(body);
            }
            StmtKind::Return(Some(value)) => {
                if !is_constant(value, 0) && self.offer(Kind::ResultChanged, span) {
                    *value = constant(0, value.width, value.span);
                    return;
                }
                if !matches!(value.kind, ExprKind::Const(..)) && self.offer(Kind::ResultChanged, span) {
                    increment(value);
                    return;
                }
                self.expr(value);
            }
        }
    }

    fn inner(&mut self, statements: &mut Vec<Stmt>) {
        self.depth += 1;
        self.block(statements);
        self.depth -= 1;
    }
}
