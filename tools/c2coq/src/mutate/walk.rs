//! The walk over a function that finds the places for changes, and makes one of them.
//!
//! A walk without a target counts; a walk with a target changes that one place. Both meet the places in the same
//! order, so a number names a change for as long as the function stays as it is.

use std::collections::BTreeSet;

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
    unit: &'a Unit,
    function: &'a Function,
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

/// An operator that makes something else of the same operands.
fn other_operator(operator: BinaryOp) -> BinaryOp {
    match operator {
        BinaryOp::Add => BinaryOp::Sub,
        BinaryOp::Sub => BinaryOp::Add,
        BinaryOp::Mul => BinaryOp::Add,
        BinaryOp::Div => BinaryOp::Rem,
        BinaryOp::Rem => BinaryOp::Div,
        BinaryOp::And => BinaryOp::Or,
        BinaryOp::Or => BinaryOp::And,
        BinaryOp::Xor => BinaryOp::Or,
        BinaryOp::Shl => BinaryOp::Shr,
        BinaryOp::Shr => BinaryOp::Shl,
    }
}

/// The comparison one step beside this one.
fn other_comparison(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Eq => Comparison::Ne,
        Comparison::Ne => Comparison::Eq,
        Comparison::Lt => Comparison::Le,
        Comparison::Le => Comparison::Lt,
        Comparison::Gt => Comparison::Ge,
        Comparison::Ge => Comparison::Gt,
    }
}

/// The comparison that says the same of exchanged operands.
fn mirrored(comparison: Comparison) -> Comparison {
    match comparison {
        Comparison::Lt => Comparison::Gt,
        Comparison::Le => Comparison::Ge,
        Comparison::Gt => Comparison::Lt,
        Comparison::Ge => Comparison::Le,
        same => same,
    }
}

fn commutes(operator: BinaryOp) -> bool {
    matches!(operator, BinaryOp::Add | BinaryOp::Mul | BinaryOp::And | BinaryOp::Or | BinaryOp::Xor)
}

fn constant(value: u64, width: Width, span: Span) -> Expr {
    Expr { kind: ExprKind::Const(value, None), width, span }
}

/// One more; of the greatest number, one less.
fn next_value(value: u64, width: Width) -> u64 {
    if value == width.max() {
        value - 1
    } else {
        value + 1
    }
}

/// Makes `expr + 1` of an expression.
fn increment(expr: &mut Expr) {
    let (width, span) = (expr.width, expr.span);
    if let ExprKind::Const(value, _) = expr.kind {
        *expr = constant(next_value(value, width), width, span);
        return;
    }
    let old = std::mem::replace(expr, constant(0, width, span));
    let one = constant(1, width, span);
    expr.kind = ExprKind::Binary(BinaryOp::Add, Box::new(old), Box::new(one));
}

fn is_constant(expr: &Expr, wanted: u64) -> bool {
    matches!(expr.kind, ExprKind::Const(value, _) if value == wanted)
}

/// Equal up to their places in the source.
fn same(left: &Expr, right: &Expr) -> bool {
    match (&left.kind, &right.kind) {
        (ExprKind::Const(a, _), ExprKind::Const(b, _)) => a == b,
        (ExprKind::Local(a), ExprKind::Local(b)) => a == b,
        _ => false,
    }
}

fn is_plain_equality(condition: &Cond) -> bool {
    matches!(condition.kind, CondKind::Compare(Comparison::Eq | Comparison::Ne, ..))
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
    fn offer(&mut self, kind: Kind, span: Span) -> bool {
        let chosen = self.target == Some(self.met);
        self.met += 1;
        if chosen {
            self.change = Some((kind, span));
        }
        chosen
    }

    fn offer_benign(&mut self, kind: Kind, span: Span) -> bool {
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

    fn callee(&self, call: &Call) -> &'a Function {
        &self.unit.functions[call.function.0]
    }

    /// A call that does nothing the specification speaks of.
    fn is_hint(&self, call: &Call) -> bool {
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
        fn loads(expr: &Expr) -> bool {
            match &expr.kind {
                ExprKind::Const(..) | ExprKind::Local(_) => false,
                ExprKind::Load(_) => true,
                ExprKind::Neg(inner) | ExprKind::Not(inner) | ExprKind::Cast(inner) => loads(inner),
                ExprKind::Binary(_, left, right) => loads(left) || loads(right),
            }
        }
        match &statement.kind {
            StmtKind::Assign(Target::Place(_), _) => true,
            StmtKind::Local(_, Rhs::Expr(value)) | StmtKind::Assign(_, Rhs::Expr(value)) => loads(value),
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

    fn right_hand_side(&mut self, value: &mut Rhs) {
        match value {
            Rhs::Expr(expr) => self.expr(expr),
            Rhs::Call(call) => self.call(call),
        }
    }

    fn call(&mut self, call: &mut Call) {
        if self.is_hint(call) {
            return;
        }
        let callee = self.callee(call);
        let alike = |other: &&(usize, &Function)| {
            other.0 != call.function.0
                && other.1.result == callee.result
                && other.1.parameters == callee.parameters
                && other.1.name != self.function.name
                && !other.1.name.ends_with("_check")
        };
        let others: Vec<(usize, &Function)> = self.unit.functions.iter().enumerate().collect();
        // The next one, so that neighbours in a header are told apart.
        let after = others.iter().filter(|(at, _)| *at > call.function.0).find(alike);
        let other = after.or_else(|| others.iter().find(alike)).map(|(at, _)| *at);
        if let Some(other) = other {
            if self.offer(Kind::WrongCallee, call.span) {
                call.function = FunctionId(other);
                return;
            }
        }
        for at in 1..call.arguments.len() {
            let (left, right) = (&call.arguments[at - 1], &call.arguments[at]);
            if left.width == right.width && !same(left, right) && self.offer(Kind::OperandsSwapped, call.span) {
                call.arguments.swap(at - 1, at);
                return;
            }
        }
        for argument in &mut call.arguments {
            self.value(argument);
        }
    }

    /// A value that is passed on as it is.
    fn value(&mut self, value: &mut Expr) {
        let changes = matches!(value.kind, ExprKind::Local(_) | ExprKind::Load(_));
        if changes && self.offer(Kind::ValueChanged, value.span) {
            increment(value);
            return;
        }
        self.expr(value);
    }

    fn place(&mut self, place: &mut Place) {
        let object = &self.unit.objects[place.object.0];
        for index in [&mut place.index, &mut place.element].into_iter().flatten() {
            if self.offer(Kind::IndexOffByOne, place.span) {
                increment(index);
                return;
            }
            if !matches!(index.kind, ExprKind::Const(..)) {
                self.expr(index);
            }
        }
        if let (Some(field), ElementType::Struct(id)) = (place.field, object.element) {
            let fields = &self.unit.structs[id.0].fields;
            let count = fields.len();
            let own = &fields[field.0];
            let other = (1..count).map(|step| (field.0 + step) % count).find(|at| {
                let other = &fields[*at];
                other.width == own.width && other.size == own.size && !other.name.starts_with("spare")
            });
            if let Some(other) = other {
                if self.offer(Kind::WrongField, place.span) {
                    place.field = Some(FieldId(other));
                }
            }
        }
    }

    fn expr(&mut self, expr: &mut Expr) {
        let (width, span) = (expr.width, expr.span);
        match &mut expr.kind {
            ExprKind::Const(value, _) => {
                let value = *value;
                if self.offer(Kind::ConstantChanged, span) {
                    *expr = constant(next_value(value, width), width, span);
                }
            }
            ExprKind::Local(id) => {
                let parameters = self.function.parameters.len();
                let other = (1..parameters)
                    .map(|step| (id.0 + step) % parameters)
                    .find(|other| id.0 < parameters && self.locals[*other].width == width);
                if let Some(other) = other {
                    if self.offer(Kind::WrongVariable, span) {
                        *id = LocalId(other);
                    }
                }
            }
            ExprKind::Load(place) => self.place(place),
            ExprKind::Neg(inner) | ExprKind::Not(inner) => {
                if self.offer(Kind::OperatorChanged, span) {
                    let inner = (**inner).clone();
                    *expr = inner;
                    return;
                }
                self.expr(inner);
            }
            ExprKind::Cast(inner) => self.expr(inner),
            ExprKind::Binary(operator, left, right) => {
                // A shift's count may have another width than what is shifted.
                if left.width == right.width && self.offer(Kind::OperatorChanged, span) {
                    *operator = other_operator(*operator);
                    return;
                }
                if commutes(*operator) {
                    if self.offer_benign(Kind::OperandsCommuted, span) {
                        std::mem::swap(left, right);
                        return;
                    }
                } else if left.width == right.width && self.offer(Kind::OperandsSwapped, span) {
                    std::mem::swap(left, right);
                    return;
                }
                self.expr(left);
                self.expr(right);
            }
        }
    }

    fn condition(&mut self, condition: &mut Cond) {
        let span = condition.span;
        match &mut condition.kind {
            CondKind::Compare(comparison, left, right) => {
                if self.offer(Kind::ComparisonChanged, span) {
                    *comparison = other_comparison(*comparison);
                    return;
                }
                if self.offer_benign(Kind::ComparisonMirrored, span) {
                    *comparison = mirrored(*comparison);
                    std::mem::swap(left, right);
                    return;
                }
                self.expr(left);
                self.expr(right);
            }
            CondKind::NonZero(expr) => {
                if matches!(expr.kind, ExprKind::Const(..)) {
                    return;
                }
                self.expr(expr);
            }
            CondKind::Not(inner) => self.condition(inner),
            CondKind::And(left, right) | CondKind::Or(left, right) => {
                let halves = [(**left).clone(), (**right).clone()];
                if let Some(half) = halves.into_iter().find(|_| self.offer(Kind::ConditionDropped, span)) {
                    *condition = half;
                    return;
                }
                self.condition(left);
                self.condition(right);
            }
        }
    }
}

fn negate(condition: &mut Cond) {
    let span = condition.span;
    let zero = Expr { kind: ExprKind::Const(0, None), width: Width::U32, span };
    let old = std::mem::replace(condition, Cond { kind: CondKind::NonZero(zero), span });
    condition.kind = CondKind::Not(Box::new(old));
}
