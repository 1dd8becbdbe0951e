//! Statements: control flow.

use super::value::{Lvalue, Storage, Value};
use super::{Entity, Lower};
use crate::expr;
use crate::hash::HashMap;
use lang_c::ast::{
    AsmStatement, BlockItem, Expression, ForInitializer, Label, LabeledStatement, Statement, SwitchStatement,
};
use lang_c::span::Node;

impl<'a> Lower<'a> {
    pub(super) fn open_scope(&mut self) {
        self.scopes.push(HashMap::default());
        self.tags.push(HashMap::default());
    }

    pub(super) fn close_scope(&mut self) {
        self.scopes.pop();
        self.tags.pop();
    }

    pub(super) fn block_item(&mut self, item: &'a Node<BlockItem>) {
        match &item.node {
            BlockItem::Declaration(declaration) => self.declaration(&declaration.node, false),
            BlockItem::Statement(statement) => self.statement(statement),
            BlockItem::StaticAssert(_) => {}
        }
    }

    pub(super) fn statement(&mut self, statement: &'a Node<Statement>) {
        self.mark(statement.span);
        match &statement.node {
            Statement::Compound(items) => {
                self.open_scope();
                items.iter().for_each(|item| self.block_item(item));
                self.close_scope();
            }
            Statement::Expression(Some(expression)) => {
                self.expression(expression);
            }
            Statement::Expression(None) => {}
            Statement::If(one) => {
                let (yes, no, done) = (self.node(), self.node(), self.node());
                self.condition(&one.node.condition, yes, no);
                self.at = Some(yes);
                self.statement(&one.node.then_statement);
                self.jump(done);
                self.at = Some(no);
                if let Some(otherwise) = &one.node.else_statement {
                    self.statement(otherwise);
                }
                self.enter(done);
            }
            Statement::While(one) => self.repeat(Some(&one.node.expression), None, &one.node.statement),
            Statement::DoWhile(one) => {
                let (body, test, done) = (self.node(), self.node(), self.node());
                self.enter(body);
                self.body(&one.node.statement, done, test);
                self.enter(test);
                self.condition(&one.node.expression, body, done);
                self.at = Some(done);
            }
            Statement::For(one) => {
                self.open_scope();
                match &one.node.initializer.node {
                    ForInitializer::Expression(expression) => {
                        self.expression(expression);
                    }
                    ForInitializer::Declaration(declaration) => self.declaration(&declaration.node, false),
                    ForInitializer::Empty | ForInitializer::StaticAssert(_) => {}
                }
                self.repeat(one.node.condition.as_deref(), one.node.step.as_deref(), &one.node.statement);
                self.close_scope();
            }
            Statement::Switch(one) => self.switch(&one.node),
            Statement::Labeled(one) => self.labelled(&one.node),
            Statement::Goto(name) => {
                let target = self.label(&name.node.name);
                self.jump(target);
            }
            Statement::Break => match self.frames.last().and_then(|frame| frame.breaks.last().copied()) {
                Some(target) => self.jump(target),
                None => self.fault("`break` outside of a loop"),
            },
            Statement::Continue => match self.frames.last().and_then(|frame| frame.continues.last().copied()) {
                Some(target) => self.jump(target),
                None => self.fault("`continue` outside of a loop"),
            },
            Statement::Return(value) => {
                let Some(frame) = self.frames.last() else { return };
                let (result, exit) = (frame.result.clone(), frame.exit);
                if let Some(value) = value {
                    let value = self.expression(value);
                    let value = self.convert(value, &result.ty);
                    self.write(&result, value);
                }
                self.jump(exit);
            }
            Statement::Asm(one) => self.assembly(&one.node),
        }
    }

    fn repeat(
        &mut self,
        condition: Option<&'a Node<Expression>>,
        step: Option<&'a Node<Expression>>,
        body: &'a Node<Statement>,
    ) {
        let (test, inside, next, done) = (self.node(), self.node(), self.node(), self.node());
        self.enter(test);
        match condition {
            Some(condition) => self.condition(condition, inside, done),
            None => self.jump(inside),
        }
        self.at = Some(inside);
        self.body(body, done, next);
        self.enter(next);
        if let Some(step) = step {
            self.expression(step);
        }
        self.jump(test);
        self.at = Some(done);
    }

    fn body(&mut self, body: &'a Node<Statement>, done: usize, next: usize) {
        if let Some(frame) = self.frames.last_mut() {
            frame.breaks.push(done);
            frame.continues.push(next);
        }
        self.statement(body);
        if let Some(frame) = self.frames.last_mut() {
            frame.breaks.pop();
            frame.continues.pop();
        }
    }

    fn label(&mut self, name: &str) -> usize {
        if let Some(known) = self.frames.last().and_then(|frame| frame.labels.get(name)) {
            return *known;
        }
        let node = self.node();
        if let Some(frame) = self.frames.last_mut() {
            frame.labels.insert(name.to_string(), node);
        }
        node
    }

    fn labelled(&mut self, one: &'a LabeledStatement) {
        let target = match &one.label.node {
            Label::Identifier(name) => Some(self.label(&name.node.name)),
            Label::Case(_) | Label::CaseRange(_) => {
                let cases = self.frames.last().and_then(|frame| frame.cases.last());
                cases.and_then(|(cases, _)| cases.get(&one.label.span.start).copied())
            }
            Label::Default => self.frames.last().and_then(|frame| frame.cases.last()).and_then(|(_, other)| *other),
        };
        if let Some(target) = target {
            self.enter(target);
        }
        self.statement(&one.statement);
    }

    fn switch(&mut self, one: &'a SwitchStatement) {
        let value = self.expression(&one.expression);
        let value = self.snapshot_for_switch(value);
        let (value, ty) = self.integer(value);
        let own = ty;
        let ty = own.promoted();
        let value = super::operator::resize(value, &own, ty.bits());
        let mut labels = Vec::new();
        labels_of(&one.statement, &mut labels);
        let (mut cases, mut other) = (HashMap::default(), None);
        let done = self.node();
        for label in labels {
            let target = self.node();
            let mut is = expr::truth(false);
            match &label.node {
                Label::Case(constant) => match self.constant(constant) {
                    Some(constant) => is = expr::equal(value, expr::constant(constant, value.bits())),
                    None => self.fault("the value of this case is not constant"),
                },
                Label::CaseRange(range) => {
                    let bounds = (self.constant(&range.node.low), self.constant(&range.node.high));
                    let (Some(low), Some(high)) = bounds else {
                        self.fault("the range of this case is not constant");
                        continue;
                    };
                    let (low, high) = (expr::constant(low, value.bits()), expr::constant(high, value.bits()));
                    let less = if ty.is_signed() { expr::Compare::SLt } else { expr::Compare::ULt };
                    is = expr::and(
                        expr::not(expr::compare(less, value, low)),
                        expr::not(expr::compare(less, high, value)),
                    );
                }
                Label::Default => {
                    other = Some(target);
                    continue;
                }
                Label::Identifier(_) => continue,
            }
            cases.insert(label.span.start, target);
            self.branch(is, target);
        }
        self.jump(other.unwrap_or(done));
        if let Some(frame) = self.frames.last_mut() {
            frame.cases.push((cases, other));
            frame.breaks.push(done);
        }
        self.statement(&one.statement);
        if let Some(frame) = self.frames.last_mut() {
            frame.cases.pop();
            frame.breaks.pop();
        }
        self.enter(done);
    }

    /// The cases compare one value, also where reading it twice could give two.
    fn snapshot_for_switch(&mut self, value: Value) -> Value {
        match &value {
            Value::Int(inner, _) if inner.vars().len() > 1 => self.snapshot(value),
            _ => value,
        }
    }

    /// Assembly may write what it says it writes.
    fn assembly(&mut self, one: &'a AsmStatement) {
        let AsmStatement::GnuExtended(asm) = one else { return };
        for output in &asm.outputs {
            // A pointer that stands for what it points to has no value of its own that could be lost.
            if let Expression::Identifier(name) = &output.node.variable_name.node {
                if matches!(self.find(&name.node.name), Some(Entity::Object(Lvalue { storage: Storage::Alias(_), .. })))
                {
                    self.fault("assembly that writes a pointer which never changes otherwise");
                }
            }
            if let Some(place) = self.lvalue_if_any(&output.node.variable_name) {
                self.havoc(&place);
            }
        }
        for input in &asm.inputs {
            if let Value::Pointer(_, Some(target), _) = self.expression(&input.node.variable_name) {
                self.lose(&target);
            }
        }
        let place = self.place.clone();
        self.assume(format!("{place}: the assembly ends, and changes only what it names"));
    }

    /// An object for a literal.
    pub(super) fn literal_place(&mut self, name: &str, ty: super::types::Type, at: usize) -> Lvalue {
        let place = self.new_place(name, ty, at);
        self.declare(name, Entity::Object(place.clone()));
        place
    }
}

/// The labels of a switch, but not those of switches inside it.
fn labels_of<'a>(statement: &'a Node<Statement>, into: &mut Vec<&'a Node<Label>>) {
    match &statement.node {
        Statement::Labeled(one) => {
            into.push(&one.node.label);
            labels_of(&one.node.statement, into);
        }
        Statement::Compound(items) => {
            for item in items {
                if let BlockItem::Statement(statement) = &item.node {
                    labels_of(statement, into);
                }
            }
        }
        Statement::If(one) => {
            labels_of(&one.node.then_statement, into);
            if let Some(otherwise) = &one.node.else_statement {
                labels_of(otherwise, into);
            }
        }
        Statement::While(one) => labels_of(&one.node.statement, into),
        Statement::DoWhile(one) => labels_of(&one.node.statement, into),
        Statement::For(one) => labels_of(&one.node.statement, into),
        _ => {}
    }
}
