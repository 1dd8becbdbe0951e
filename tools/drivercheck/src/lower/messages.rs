//! EMIT and AWAIT.

use super::types::Type;
use super::value::Value;
use super::{Entity, Lower};
use crate::expr::{self, Expr};
use crate::program::{Await, Message, Op};
use lang_c::ast::{Expression, Initializer, UnaryOperator};
use lang_c::span::Node;
use std::collections::BTreeSet;

/// A message that the driver sends.
pub(super) struct Sent {
    pub message: Message,
    pub cookie: Expr,
    pub payload: Option<Value>,
    /// The mailbox is a constant.
    pub is_known: bool,
}

impl<'a> Lower<'a> {
    /// The message that a call is, though its text does not say so: touching a register.
    pub(super) fn act_of(&self, function: &str) -> Option<Message> {
        let (_, protocol, message) = self.names.acts.iter().find(|(name, _, _)| name == function)?;
        self.protocols.iter().enumerate().find_map(|(index, checked)| {
            let own = &checked.protocol;
            (own.name == *protocol).then(|| own.message(message).map(|message| (index, message))).flatten()
        })
    }

    /// Whether the driver has said so itself, just before.
    pub(super) fn has_just_sent(&self, message: Message) -> bool {
        let mut at = self.at;
        loop {
            // Not past a join: another path may come without the message.
            let mut into = self.program.edges.iter().rev().filter(|edge| Some(edge.to) == at);
            let (Some(edge), None) = (into.next(), into.next()) else { return false };
            match edge.steps.first().map(|step| &step.op) {
                Some(Op::Emit(sent)) => return *sent == message,
                Some(Op::Assign(..)) => at = Some(edge.from),
                // An edge without steps may lead to the head of a loop.
                Some(_) | None => return false,
            }
        }
    }

    /// The first argument names the mailbox; the others are evaluated for their effects.
    pub(super) fn emit(&mut self, arguments: &'a [Node<Expression>]) -> Value {
        let place = self.place.clone();
        let Some((mailbox, rest)) = arguments.split_first() else { return Value::Void };
        let from = self.begin_operand();
        let mailbox = self.expression(mailbox);
        let mut operands = vec![self.effects(from, &mailbox)];
        let (mailbox, _) = self.integer(mailbox);
        let mut values = Vec::new();
        for argument in rest {
            // Sending copies: the address of the payload goes nowhere.
            let from = self.begin_operand();
            let value = self.expression(argument);
            operands.push(self.effects(from, &value));
            values.push(value);
        }
        self.any_order(&operands);
        self.place = place;
        let cookie = match values.first() {
            Some(Value::Int(cookie, ty)) => super::operator::resize(*cookie, ty, 64),
            _ => self.any("(cookie)", 64),
        };
        if let Some(number) = mailbox.value() {
            match self.mailboxes.get(&(number, false)).copied() {
                Some(message) => {
                    let payload = values.get(1).cloned();
                    self.send_in_turn(&Sent { message, cookie, payload, is_known: true });
                }
                None => {
                    if self.at.is_some() || self.mailboxes.contains_key(&(number, true)) {
                        self.wrong_mailbox(number, true);
                    }
                }
            }
            return Value::Void;
        }
        // Computed: one branch for each mailbox that it can be.
        let done = self.node();
        let sent = self.mailboxes.iter().filter(|((_, is_incoming), _)| !is_incoming);
        let mut all: Vec<(u64, Message)> = sent.map(|((number, _), message)| (*number, *message)).collect();
        all.sort_unstable();
        for (number, message) in all {
            let Some(from) = self.at else { break };
            let is = expr::equal(mailbox, expr::constant(number, mailbox.bits()));
            self.op(Op::Assume(is));
            let payload = values.get(1).cloned();
            self.send_in_turn(&Sent { message, cookie, payload, is_known: false });
            self.jump(done);
            self.at = Some(from);
            self.op(Op::Assume(expr::not(is)));
        }
        let text = format!("{}: the computed mailbox is one of those that the driver sends to", self.place);
        self.assume(text);
        self.at = Some(done);
        Value::Void
    }

    /// A mailbox of the other direction, or none.
    fn wrong_mailbox(&mut self, number: u64, is_sent: bool) {
        let text = match self.mailboxes.get(&(number, is_sent)) {
            Some((protocol, message)) => {
                let own = &self.protocols[*protocol].protocol;
                let name = format!("`{} {}`", own.name, own.messages[*message].name);
                match is_sent {
                    true => format!("the driver receives {name}; it does not send it"),
                    false => format!("the driver sends {name}; it cannot wait for it"),
                }
            }
            // Of a name that is not declared enough was said.
            None if self.faults.iter().any(|fault| fault.place == self.place) => return,
            None => format!("{number:#06x} is no mailbox of a protocol whose header the driver includes"),
        };
        self.fault(text);
    }

    pub(super) fn check_and_send(&mut self, sent: &Sent) {
        self.check_payload(sent.message, sent.payload.as_ref(), sent.is_known);
        self.send(sent.message, sent.cookie);
    }

    /// `may_be_none`: it waits until a time, and gives 0 if no message has come.
    pub(super) fn wait(&mut self, arguments: &'a [Node<Expression>], may_be_none: bool) -> Value {
        let place = self.place.clone();
        let mut messages = BTreeSet::new();
        let mut asks_console = false;
        let set = match arguments {
            [set] => self.set(set),
            [set, time] if may_be_none => {
                self.expression(time);
                self.set(set)
            }
            _ => None,
        };
        match set {
            None => self.fault("the set of an AWAIT must be constants, 64 at most: AWAIT(MAILBOX, MAILBOX, ...)"),
            Some(numbers) => {
                if numbers.is_empty() {
                    self.fault("an AWAIT of no mailbox");
                }
                for number in numbers {
                    match self.mailboxes.get(&(number, true)).copied() {
                        Some(message) => {
                            messages.insert(message);
                        }
                        None if self.is_console(number) => asks_console = true,
                        None => self.wrong_mailbox(number, false),
                    }
                }
            }
        }
        self.place = place.clone();
        let ty = Type::Int { bits: 32, signed: false };
        if self.at.is_none() {
            return Value::Int(expr::constant(0, 32), ty);
        }
        let known = self.program.awaits.iter().position(|one| one.place == place && one.messages == messages);
        let site = known.unwrap_or_else(|| {
            self.program.awaits.push(Await { place, messages: messages.clone() });
            self.program.awaits.len() - 1
        });
        let result = self.fresh("AWAIT()", 32);
        self.program.vars[result as usize].is_mailbox = true;
        self.op(Op::Await(site));
        let (waiting, done) = (self.at, self.node());
        for message in messages {
            self.at = waiting;
            self.receive_in_turn(message);
            let number = protocol::generate::header::mailbox(&self.protocols[message.0].protocol, message.1);
            self.assign(result, expr::constant(u64::from(number), 32));
            self.jump(done);
        }
        let others = [(may_be_none, 0), (asks_console, super::clients::CONSOLE_STATUS)];
        for (_, number) in others.into_iter().filter(|(may_be, _)| *may_be) {
            self.at = waiting;
            self.end_turn();
            self.assign(result, expr::constant(number, 32));
            self.jump(done);
        }
        self.at = Some(done);
        Value::Int(self.var(result), ty)
    }

    /// The mailboxes of a set: by port, a bit for each message.
    fn set(&mut self, argument: &'a Node<Expression>) -> Option<Vec<u64>> {
        let Expression::UnaryOperator(one) = &argument.node else { return None };
        let Expression::Identifier(name) = &one.node.operand.node else { return None };
        if one.node.operator.node != UnaryOperator::Address {
            return None;
        }
        let Some(Entity::Object(place)) = self.find(&name.node.name) else { return None };
        let masks = self.sets.get(&place.object?)?;
        let bits = |(port, mask): (usize, &u64)| {
            let mask = *mask;
            (0..64u64).filter(move |bit| mask >> bit & 1 == 1).map(move |bit| (port as u64) << 8 | bit)
        };
        Some(masks.iter().enumerate().flat_map(bits).collect())
    }

    /// Remembers the mailboxes of a constant set.
    pub(super) fn note_set(&mut self, object: usize, initializer: &'a Initializer) {
        let Initializer::List(items) = initializer else { return };
        let [item] = items.as_slice() else { return };
        let Initializer::List(masks) = &item.node.initializer.node else { return };
        let masks: Option<Vec<u64>> = masks.iter().map(|item| self.plain_constant(&item.node)).collect();
        self.sets.extend(masks.map(|masks| (object, masks)));
    }
}
