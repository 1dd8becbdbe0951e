//! Several clients of one protocol.
//!
//! The model follows one of them: `own` is any of their numbers, the same for the whole run. What holds for an arbitrary
//! client holds for all. `turn` is the client whose turn it is: that of the message taken last, until the driver names another; behind
//! other messages no client's.
//! What others send is a message that the protocol does not see, what they are sent is none. Of an array with as many elements as
//! there are clients the element of the one that is followed is modelled: reading another one gives any value. Where a run rests on such a
//! value, a second model tells whether the program can go wrong with one client alone: there the others are silent.

use super::messages::Sent;
use super::types::{Type, INT};
use super::value::{Slot, Storage, Value};
use super::{Asked, Lower};
use crate::expr::{self, Compare, Expr, Node, Var};
use crate::program::{Claim, Message, Op, Wrong};
use lang_c::ast::Initializer;
use protocol::mirror::is_mirror;
use protocol::model::Protocol;
use protocol::Checked;
use std::rc::Rc;

/// The object by which a driver says that it has several clients.
pub const CLIENTS: &str = "driver_clients";
/// The mailbox of the framework's own by which the status is asked for at the console.
pub const CONSOLE_STATUS: u64 = 1;

/// Functions of the framework for drivers with several clients.
#[derive(Debug, Clone)]
pub struct Names {
    pub emit: Vec<String>,
    pub wait: Vec<String>,
    /// Takes a message if one comes in time.
    pub poll: Vec<String>,
    pub current: Vec<String>,
    pub turn: Vec<String>,
    /// Of a protocol's data area: of several clients of the protocol, that of the one whose turn it is.
    pub areas: Vec<String>,
    /// Of several clients only the last says anything, and the elements of the others are followed, too: fewer runs, but the program
    /// can take them all.
    pub others_are_silent: bool,
}

impl Names {
    pub(super) fn all(&self) -> impl Iterator<Item = &String> {
        [&self.emit, &self.wait, &self.poll, &self.current, &self.turn].into_iter().flatten()
    }
}

impl Default for Names {
    fn default() -> Self {
        let all = |names: &[&str]| names.iter().map(|name| name.to_string()).collect();
        Names {
            emit: all(&["clients_emit", "clients_emit_payload"]),
            wait: all(&["clients_await"]),
            poll: all(&["clients_await_until"]),
            current: all(&["clients_current"]),
            turn: all(&["clients_turn_to"]),
            areas: all(&["dma_memory", "dma_physical", "dma_size"]),
            others_are_silent: false,
        }
    }
}

/// Of which protocol there are several clients, and how many at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Several {
    pub protocol: usize,
    pub count: u64,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Clients {
    pub several: Several,
    /// The number of the client that is followed: any, or a constant where the others are silent.
    own: Expr,
    turn: Var,
    /// Whether the turn is that of the client that is followed: a bit, so that the graph is copied for both.
    is_own: Var,
}

impl<'a> Lower<'a> {
    /// Where the others are silent the graph is copied for the numbers of clients, as for mailboxes: loops over clients are unrolled, and
    /// elements of arrays by client are plain variables.
    fn copy_for(&mut self, number: Var) {
        if self.names.clients.others_are_silent {
            self.program.vars[number as usize].is_mailbox = true;
        }
    }

    /// What the round before has found.
    pub(super) fn begin_clients(&mut self, several: Option<Several>) {
        if let Some(several) = several {
            let (own, turn) = (self.fresh("the client", 32), self.fresh("CLIENT()", 32));
            let is_own = self.decided();
            self.program.client = Some(own);
            self.copy_for(turn);
            let own = match self.names.clients.others_are_silent {
                true => expr::constant(several.count - 1, 32),
                false => self.var(own),
            };
            self.program.of_client.0 = several.protocol;
            self.clients = Some(Clients { several, own, turn, is_own });
        }
    }

    /// The driver's words on how many clients it has.
    pub(super) fn note_clients(&mut self, initializer: &'a Initializer) {
        let Initializer::List(items) = initializer else { return self.refuse_clients() };
        let [number, count, _] = items.as_slice() else { return self.refuse_clients() };
        let (number, count) = (self.plain_constant(&number.node), self.plain_constant(&count.node));
        let (Some(number), Some(count @ 1..=256)) = (number, count) else { return self.refuse_clients() };
        let is_served = |one: &Checked| u64::from(one.protocol.number) == number && !is_mirror(&one.protocol);
        let Some(protocol) = self.protocols.iter().position(is_served) else {
            return self.fault(format!("`{CLIENTS}` names protocol {number}, which the driver does not serve"));
        };
        let both = self.protocols.iter().find(|one| is_mirror(&one.protocol) && self.is_spoken_twice(&one.protocol));
        if let Some(both) = both.filter(|both| u64::from(both.protocol.number) != number) {
            let text =
                format!("the driver serves `{}` and is its client, but has one client of it", both.protocol.name);
            return self.fault(text);
        }
        let own = &self.protocols[protocol].protocol;
        if own.name == "pci" || own.name == "timer" {
            let text =
                format!("`{CLIENTS}` names `{}`, whose messages are the framework's own: it has one client", own.name);
            return self.fault(text);
        }
        let several = Several { protocol, count };
        if self.clients.is_none_or(|known| known.several != several) {
            self.begin_clients(Some(several));
        }
    }

    fn is_spoken_twice(&self, own: &Protocol) -> bool {
        self.protocols.iter().filter(|one| one.protocol.number == own.number).count() > 1
    }

    /// The name that a protocol has in the driver's text.
    pub(super) fn name_in_text(&self, protocol: usize) -> &str {
        let own = &self.protocols[protocol].protocol;
        let first = self.protocols.iter().find(|one| one.protocol.number == own.number);
        &first.map_or(own, |first| &first.protocol).name
    }

    /// Whether a mailbox is that of [`CONSOLE_STATUS`], which only services with several clients have.
    pub(super) fn is_console(&self, number: u64) -> bool {
        number == CONSOLE_STATUS && self.clients.is_some()
    }

    fn refuse_clients(&mut self) {
        self.fault(format!("`{CLIENTS}` must be {{NAME_NUMBER, COUNT, PAGES}}, COUNT a constant from 1 to 256"));
    }

    /// At the start of the driver.
    pub(super) fn follow_client(&mut self) {
        let Some(clients) = self.clients else { return };
        self.op(Op::Assume(self.is_client(clients.own)));
        self.end_turn();
        self.assume("a client that the driver turns to has a number below the number of clients");
    }

    /// It is no client's turn.
    pub(super) fn end_turn(&mut self) {
        if let Some(clients) = self.clients {
            self.assign(clients.turn, expr::constant(clients.several.count, 32));
            self.assign(clients.is_own, expr::truth(false));
        }
    }

    /// The number of the client that is followed, and how many there are.
    pub(super) fn own_client(&self) -> Option<(Expr, Expr)> {
        self.clients.map(|clients| (clients.own, expr::constant(clients.several.count, 32)))
    }

    fn is_client(&self, client: Expr) -> Expr {
        let count = self.clients.map_or(0, |clients| clients.several.count);
        expr::compare(Compare::ULt, client, expr::constant(count, 32))
    }

    fn is_turn_of_own(&self, clients: &Clients) -> Expr {
        expr::equal(self.var(clients.turn), clients.own)
    }

    /// A bit for the values of which the graph is copied.
    fn decided(&mut self) -> Var {
        let bit = self.fresh("(client)", 1);
        self.program.vars[bit as usize].is_mailbox = true;
        bit
    }

    /// What a value is if every client that it depends on is the one that is followed.
    pub(super) fn of_own(&self, value: Expr) -> Expr {
        let is_bit =
            |var: Var| (self.program.vars.get(var as usize)).is_some_and(|own| own.is_mailbox && own.bits == 1);
        value.replace(&|var| is_bit(var).then(|| expr::truth(true)))
    }

    fn decide(&mut self, bit: Var, condition: Expr) {
        let (other, done) = (self.node(), self.node());
        self.branch(expr::not(condition), other);
        self.assign(bit, expr::truth(true));
        self.jump(done);
        self.at = Some(other);
        self.assign(bit, expr::truth(false));
        self.enter(done);
    }

    /// The clients, if the message is one of theirs.
    fn clients_of(&self, (protocol, _): Message) -> Option<Clients> {
        self.clients.filter(|clients| clients.several.protocol == protocol)
    }

    /// Refuses functions for one client where there are several, and the other way round.
    pub(super) fn is_for_clients(&mut self, name: &str) {
        let is_for_several =
            self.names.clients.all().any(|own| own == name) || name.starts_with("client_") || name.starts_with("area_");
        if is_for_several && self.clients.is_none() {
            let form = format!("const struct driver_clients {CLIENTS} = {{NAME_NUMBER, COUNT, PAGES}};");
            self.fault(format!("`{name}` is for drivers with several clients: say how many, by `{form}`"));
        }
        let is_message = self.names.emit.iter().chain(&self.names.wait).any(|own| own == name);
        if is_message && self.clients.is_some() {
            self.fault(
                "a driver with several clients includes `ashlar/clients.h` before anything that sends or awaits",
            );
        }
    }

    /// `CLIENT()`.
    pub(super) fn current_client(&mut self) -> Value {
        let Some(clients) = self.clients else { return Value::Int(expr::constant(0, 32), INT) };
        self.claim_turn();
        self.op(Op::Assume(self.is_client(self.var(clients.turn))));
        Value::Int(self.var(clients.turn), Type::Int { bits: 32, signed: false })
    }

    /// A client is meant here, so one must have its turn.
    fn claim_turn(&mut self) {
        if let (Some(clients), Asked::Turns) = (self.clients, self.asked) {
            let has_none = expr::not(self.is_client(self.var(clients.turn)));
            self.wrong(has_none, None, Claim::Turn(clients.several.protocol), Wrong::NoTurn);
        }
    }

    /// A function for the data area of a protocol's link. Which protocol must be known: no number that is computed reaches another
    /// client's area.
    pub(super) fn area_of_turn(&mut self, name: &str, arguments: &[Value]) {
        let Some(clients) = self.clients.filter(|_| self.at.is_some()) else { return };
        let number = match arguments.first() {
            Some(Value::Int(number, _)) => number.value(),
            _ => None,
        };
        match number {
            None => self.fault(format!(
                "the protocol whose area `{name}` is for must be a constant in a driver with several clients"
            )),
            Some(number) if number == u64::from(self.protocols[clients.several.protocol].protocol.number) => {
                self.claim_turn();
            }
            Some(_) => {}
        }
    }

    /// `TURN_TO(client)`.
    pub(super) fn turn_to(&mut self, arguments: &[Value]) -> Value {
        if let (Some(clients), Some(Value::Int(client, ty))) = (self.clients, arguments.first()) {
            let client = super::operator::resize(*client, ty, 32);
            if let Node::Var { var, .. } = client.node() {
                self.turns.insert(client);
                self.copy_for(var);
            }
            // Decided by the driver's own variable, of which more is known than of its copy.
            if self.at.is_some() {
                self.decide(clients.is_own, expr::equal(client, clients.own));
            }
            self.assign(clients.turn, client);
            self.op(Op::Assume(self.is_client(self.var(clients.turn))));
        }
        Value::Void
    }

    /// Sends a message, to the client whose turn it is if there are several.
    pub(super) fn send_in_turn(&mut self, sent: &Sent) {
        let Some(clients) = self.clients_of(sent.message) else { return self.check_and_send(sent) };
        self.claim_turn();
        let done = self.node();
        self.branch(expr::not(self.var(clients.is_own)), done);
        if self.at.is_some() {
            self.check_and_send(sent);
        }
        self.enter(done);
    }

    /// A message comes: of the client that is followed, or of another.
    pub(super) fn receive_in_turn(&mut self, message: Message) {
        let Some(clients) = self.clients_of(message) else {
            self.end_turn();
            return self.receive(message);
        };
        let (waiting, done) = (self.at, self.node());
        if clients.several.count > 1 && !self.names.clients.others_are_silent {
            self.op(Op::Havoc(clients.turn));
            self.op(Op::Assume(self.is_client(self.var(clients.turn))));
            self.op(Op::Assume(expr::not(self.is_turn_of_own(&clients))));
            self.assign(clients.is_own, expr::truth(false));
            self.receive_unseen(message);
            self.jump(done);
            self.at = waiting;
        }
        self.assign(clients.turn, clients.own);
        self.assign(clients.is_own, expr::truth(true));
        self.receive(message);
        self.enter(done);
    }

    /// Whether an array has an element for each client.
    pub(super) fn is_by_client(&self, count: u64) -> bool {
        let is_so = |clients: Clients| clients.several.count == count && count > 1;
        !self.names.clients.others_are_silent && self.clients.is_some_and(is_so)
    }

    /// What is known of the element of an array by client that stands at an index.
    pub(super) fn select_client(&self, element: &Storage, index: u64) -> Storage {
        let Some(clients) = self.clients else { return Storage::Opaque };
        element.only_if(expr::equal(clients.own, expr::constant(index, 32)))
    }

    /// The same for an index that is computed, of 64 bits.
    pub(super) fn select_client_at(&mut self, element: &Storage, index: Expr) -> Storage {
        let Some(clients) = self.clients.filter(|_| self.at.is_some()) else { return Storage::Opaque };
        let bit = self.decided();
        match index.node() {
            Node::Zero(inner, _) if inner == self.var(clients.turn) => self.assign(bit, self.var(clients.is_own)),
            _ => {
                let own = expr::zero_extend(clients.own, index.bits());
                self.decide(bit, expr::equal(index, own));
            }
        }
        element.only_if(self.var(bit))
    }
}

impl Storage {
    /// The same where a condition holds; elsewhere reading gives any value, and writing does nothing.
    fn only_if(&self, is_own: Expr) -> Storage {
        let and = |before: Option<Expr>| Some(before.map_or(is_own, |before| expr::and(before, is_own)));
        match self {
            Storage::Scalar(var) => Storage::Partly(Rc::new(vec![(is_own, *var)])),
            Storage::OneOf(all) | Storage::Partly(all) => {
                Storage::Partly(Rc::new(all.iter().map(|(is, var)| (expr::and(*is, is_own), *var)).collect()))
            }
            Storage::Fields(all) => Storage::Fields(Rc::new(all.iter().map(|one| one.only_if(is_own)).collect())),
            Storage::Cells(inner, followed) => Storage::Cells(Rc::new(inner.only_if(is_own)), *followed),
            Storage::Slot(slot) => Storage::Slot(Slot { is_own: and(slot.is_own), ..slot.clone() }),
            Storage::ByClient(inner) => Storage::ByClient(Rc::new(inner.only_if(is_own))),
            Storage::Loose(..) => self.clone(),
            Storage::Alias(_) | Storage::Opaque => Storage::Opaque,
        }
    }
}
