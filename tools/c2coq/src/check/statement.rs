//! Statements.

use std::collections::HashMap;

use super::constant::Operand;
use super::expression::binary_operator;
use super::Checker;
use crate::ast::{self, Stmt, StmtKind, Target, Width};
use crate::rule::Rule;
use crate::source::Span;
use crate::syntax::{Block, Declaration, Expr, ExprKind, ForHead, Label, Specifier, Statement, StatementKind};

impl Checker<'_> {
    /// The statements of a block with a scope of its own.
    pub(super) fn block(&mut self, block: &Block) -> Vec<Stmt> {
        self.enter_block();
        let mut out = Vec::new();
        for statement in &block.statements {
            self.statement(statement, &mut out);
        }
        self.leave_block();
        out
    }

    fn enter_block(&mut self) {
        if let Some(scope) = &mut self.scope {
            scope.blocks.push(HashMap::new());
        }
    }

    fn leave_block(&mut self) {
        if let Some(scope) = &mut self.scope {
            scope.blocks.pop();
        }
    }

    /// A statement that stands alone behind if, else or a loop's head.
    fn body(&mut self, statement: &Statement) -> Vec<Stmt> {
        if let StatementKind::Block(block) = &statement.kind {
            return self.block(block);
        }
        self.enter_block();
        let mut out = Vec::new();
        self.statement(statement, &mut out);
        self.leave_block();
        out
    }

    fn loop_body(&mut self, statement: &Statement) -> Vec<Stmt> {
        self.count_loop(1);
        let body = self.body(statement);
        self.count_loop(-1);
        body
    }

    fn count_loop(&mut self, by: isize) {
        if let Some(scope) = &mut self.scope {
            scope.loops = scope.loops.saturating_add_signed(by);
        }
    }

    fn statement(&mut self, statement: &Statement, out: &mut Vec<Stmt>) {
        let expected = match &statement.kind {
            StatementKind::Declaration(declaration) => declaration.declarators.len().max(1),
            _ => 1,
        };
        let before = out.len();
        self.statement_inner(statement, out);
        if out.len() < before + expected {
            self.explained(statement.span);
        }
    }

    fn statement_inner(&mut self, statement: &Statement, out: &mut Vec<Stmt>) {
        let span = statement.span;
        let kind = match &statement.kind {
            StatementKind::Empty => Some(StmtKind::Skip),
            StatementKind::Broken => None,
            StatementKind::Block(block) => Some(StmtKind::Block(self.block(block))),
            StatementKind::Declaration(declaration) => {
                self.locals(declaration, out);
                None
            }
            StatementKind::Expr(expr) => {
                self.simple(expr, out);
                None
            }
            StatementKind::If(condition, yes, no) => {
                let condition = self.condition(condition);
                let yes = self.body(yes);
                let no = no.as_ref().map_or(Vec::new(), |no| self.body(no));
                condition.map(|condition| StmtKind::If(condition, yes, no))
            }
            StatementKind::While(condition, body) => {
                let condition = self.condition(condition);
                let body = self.loop_body(body);
                condition.map(|condition| StmtKind::While(condition, body))
            }
            StatementKind::For(head, body) => self.for_loop(head, body),
            StatementKind::DoWhile(condition, body) => {
                self.fault(keyword(span, 2), Rule::DoWhile, "a do loop");
                self.loop_body(body);
                self.condition(condition);
                None
            }
            StatementKind::Switch(value, body) => {
                self.fault(keyword(span, 6), Rule::Switch, "a switch");
                self.operand(value);
                self.loop_body(body);
                None
            }
            StatementKind::Label(label, inner) => {
                if *label == Label::Named {
                    self.fault(span, Rule::Goto, "a label");
                }
                self.statement(inner, out);
                None
            }
            StatementKind::Goto => {
                self.fault(span, Rule::Goto, "a goto");
                None
            }
            StatementKind::Continue => {
                self.fault(span, Rule::Continue, "a continue");
                None
            }
            StatementKind::Break => {
                let inside = self.scope.as_ref().is_some_and(|scope| scope.loops > 0);
                if !inside {
                    self.fault(span, Rule::Statement, "a break outside of a loop");
                }
                inside.then_some(StmtKind::Break)
            }
            StatementKind::Return(value) => self.return_statement(value.as_ref(), span),
        };
        out.extend(kind.map(|kind| Stmt { kind, span }));
    }

    fn for_loop(&mut self, head: &ForHead, body: &Statement) -> Option<StmtKind> {
        self.enter_block();
        let mut init = Vec::new();
        if let Some(statement) = &head.init {
            self.statement(statement, &mut init);
        }
        if init.len() > 1 {
            let span = head.init.as_ref().map_or(body.span, |statement| statement.span);
            self.fault(span, Rule::Comma, "a for loop starts with one statement");
        }
        let condition = head.condition.as_ref().map(|condition| self.condition(condition));
        let mut step = Vec::new();
        if let Some(expr) = &head.step {
            self.simple(expr, &mut step);
            if step.is_empty() {
                self.explained(expr.span);
            }
        }
        let body = self.loop_body(body);
        self.leave_block();
        let condition = match condition {
            None => None,
            Some(checked) => Some(checked?),
        };
        Some(StmtKind::For { init: init.pop().map(Box::new), condition, step: step.pop().map(Box::new), body })
    }

    fn return_statement(&mut self, value: Option<&Expr>, span: Span) -> Option<StmtKind> {
        let result = self.scope.as_ref().and_then(|scope| scope.result);
        match (value, result) {
            (None, Some(Some(_))) => {
                self.fault(span, Rule::Return, "this function returns a value");
                None
            }
            (None, _) => Some(StmtKind::Return(None)),
            (Some(value), Some(None)) => {
                self.fault(value.span, Rule::Return, "this function returns no value");
                self.operand(value);
                None
            }
            (Some(value), Some(Some(width))) => {
                let value = self.value(value, width, "the result")?;
                Some(StmtKind::Return(Some(value)))
            }
            (Some(value), None) => {
                self.operand(value);
                None
            }
        }
    }

    /// Declares locals, each with its first value.
    fn locals(&mut self, declaration: &Declaration, out: &mut Vec<Stmt>) {
        let specs = &declaration.specs;
        self.specifiers(specs, &[Specifier::Const]);
        self.base_definition(specs);
        for init in &declaration.declarators {
            if let Some(bits) = init.bits {
                self.fault(bits, Rule::BitField, "a width in bits");
            }
            let Some(name) = &init.declarator.name else {
                self.fault(init.declarator.span, Rule::Syntax, "a name is missing here");
                continue;
            };
            let width = self.scalar_declaration(specs, &init.declarator, "a local");
            let width = if specs.find(Specifier::Typedef).is_some() { None } else { width };
            let what = format!("`{}`", name.text);
            let value = match &init.initialiser {
                Some(crate::syntax::Initialiser::Value(expr)) => self.right_hand_side(expr, width, &what),
                Some(crate::syntax::Initialiser::List(_, span)) => {
                    if width.is_some() {
                        self.fault(*span, Rule::Initialiser, "a scalar starts with one value");
                    }
                    None
                }
                None => {
                    if width.is_some() {
                        self.fault(name.span, Rule::LocalInitialised, format!("{what} has no first value"));
                    }
                    None
                }
            };
            let id = self.add_local(name, width, specs);
            if let (Some(id), Some(value)) = (id, value) {
                out.push(Stmt { kind: StmtKind::Local(id, value), span: declaration.span });
            }
        }
    }

    /// An expression that stands as a statement, or as a for loop's step.
    fn simple(&mut self, expr: &Expr, out: &mut Vec<Stmt>) {
        let span = expr.span;
        let kind = match &expr.bare().kind {
            ExprKind::Assign("=", left, right) => {
                let target = self.target(left);
                let width = target.as_ref().map(|(_, width)| *width);
                let value = self.right_hand_side(right, width, "the left side");
                target.zip(value).map(|((target, _), value)| StmtKind::Assign(target, value))
            }
            ExprKind::Assign(operator, left, right) => {
                let target = self.target(left);
                let right = self.operand(right);
                target.zip(right).and_then(|(target, right)| self.compound(target, operator, right, left.span, span))
            }
            ExprKind::Step(operator, inner) => {
                let target = self.target(inner);
                let one = Operand::Plain(1, None, span);
                target.and_then(|target| self.compound(target, operator, one, inner.span, span))
            }
            ExprKind::Call(..) => self.call(expr).map(StmtKind::Call),
            ExprKind::Comma(left, right) => {
                self.fault(span, Rule::Comma, "the comma operator");
                self.simple(left, &mut Vec::new());
                self.simple(right, &mut Vec::new());
                None
            }
            ExprKind::Broken => None,
            _ => {
                let before = self.faults.len();
                let is_condition = matches!(expr.bare().kind, ExprKind::Unary("!", _));
                if is_condition {
                    self.condition(expr);
                } else {
                    self.operand(expr);
                }
                if self.faults.len() == before {
                    self.fault(span, Rule::Statement, "this computes a value and drops it");
                }
                None
            }
        };
        out.extend(kind.map(|kind| Stmt { kind, span }));
    }

    /// `target operator= right`, as an assignment of the operation's result.
    fn compound(
        &mut self,
        (target, width): (Target, Width),
        operator: &str,
        right: Operand,
        at: Span,
        span: Span,
    ) -> Option<StmtKind> {
        let operator = match operator {
            "++" => "+",
            "--" => "-",
            compound => compound.strip_suffix('=').unwrap_or(compound),
        };
        let kind = match &target {
            Target::Local(id) => ast::ExprKind::Local(*id),
            Target::Place(place) => ast::ExprKind::Load(place.clone()),
        };
        let left = Self::typed(ast::Expr { kind, width, span: at });
        let value = self.operation(binary_operator(operator)?, operator, span, left, right, span)?;
        let value = self.coerce(value, width, "the left side")?;
        Some(StmtKind::Assign(target, ast::Rhs::Expr(value)))
    }

    /// What an assignment changes.
    fn target(&mut self, expr: &Expr) -> Option<(Target, Width)> {
        let bare = expr.bare();
        match &bare.kind {
            ExprKind::Name(_) | ExprKind::Index(..) | ExprKind::Field(..) => {}
            // Names the construct: a pointer followed, a call, ...
            _ => {
                let before = self.faults.len();
                self.operand(bare);
                if self.faults.len() == before {
                    self.fault(expr.span, Rule::Place, "this cannot be assigned to");
                }
                return None;
            }
        }
        match self.operand(bare)? {
            Operand::Typed(ast::Expr { kind: ast::ExprKind::Local(id), width, .. }) => {
                let constant =
                    self.scope.as_ref().and_then(|scope| scope.locals.get(id.0)).filter(|local| local.constant);
                if let Some(name) = constant.map(|local| local.name.clone()) {
                    self.fault(expr.span, Rule::Place, format!("`{name}` is const"));
                    return None;
                }
                Some((Target::Local(id), width))
            }
            Operand::Typed(ast::Expr { kind: ast::ExprKind::Load(place), width, .. }) => {
                let object = &self.unit.objects[place.object.0];
                if object.constant {
                    let message = format!("`{}` is const", object.name);
                    self.fault(expr.span, Rule::Place, message);
                    return None;
                }
                Some((Target::Place(place), width))
            }
            _ => {
                self.fault(expr.span, Rule::Place, "a constant cannot be assigned to");
                None
            }
        }
    }
}

/// The keyword at the front of a statement.
fn keyword(span: Span, length: u32) -> Span {
    Span { end: span.start + length, ..span }
}
