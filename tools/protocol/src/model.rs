//! A protocol, names resolved: messages, requests, the hierarchy of states, edges.

use diagnostics::{Source, Span};
use serde::Serialize;
use std::sync::Arc;

/// Index into [`Protocol::messages`].
pub type MessageId = usize;
/// Index into [`Protocol::states`].
pub type StateId = usize;

/// Bytes of payload in a message of one cache line: mailbox, sequence and cookie take the rest.
pub const MAX_PAYLOAD: u64 = 40;

#[derive(Debug, Clone)]
pub struct Protocol {
    pub source: Arc<Source>,
    pub name: String,
    /// High byte of the mailboxes' numbers; protocols that one driver speaks have different ones.
    pub number: u8,
    pub doc: String,
    pub messages: Vec<Message>,
    pub requests: Vec<Request>,
    /// State 0 stands for the protocol as a whole and has no name.
    pub states: Vec<State>,
    pub edges: Vec<Edge>,
}

#[derive(Debug, Clone)]
pub struct Message {
    pub name: String,
    /// The driver receives it.
    pub incoming: bool,
    pub doc: String,
    pub fields: Vec<Field>,
    /// What its cookie does, and to which request.
    pub cookie: Option<(Cookie, usize)>,
    /// Requests of which none may be open when it is sent.
    pub drained: Vec<usize>,
    /// Requests that all end with it.
    pub drops: Vec<usize>,
    /// An act of the driver itself, such as touching a register: the rules hold for it, but nothing is sent.
    pub is_local: bool,
    /// It is sent eventually where a fair state enables it; other incoming messages need never come.
    pub is_owed: bool,
    /// Of its mailbox, where that is not its place among the messages.
    pub number: Option<u32>,
    pub span: Span,
}

impl Message {
    /// With its direction, as `?probe`.
    pub fn label(&self) -> String {
        format!("{}{}", if self.incoming { '?' } else { '!' }, self.name)
    }
}

/// What a message's cookie does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Cookie {
    /// It names no open request, and opens one.
    Opens,
    /// It names an open request, and closes it.
    Closes,
    /// It names an open request, which stays open.
    Names,
}

#[derive(Debug, Clone, Serialize)]
pub struct Field {
    pub name: String,
    /// Bits of an element: 8, 16, 32 or 64.
    pub bits: u32,
    /// Elements, if it is an array.
    pub count: Option<u64>,
    /// Least and greatest value of an element.
    pub least: u64,
    pub most: u64,
    /// Bytes from the payload's start.
    pub offset: u64,
    pub doc: String,
}

impl Field {
    pub fn bytes(&self) -> u64 {
        u64::from(self.bits / 8) * self.count.unwrap_or(1)
    }

    /// Whether its type alone does not say its range.
    pub fn is_bounded(&self) -> bool {
        self.least > 0 || self.most < greatest(self.bits)
    }
}

/// The greatest number of so many bits.
pub fn greatest(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

/// Requests that may be open at a time; their cookies are below `limit`.
#[derive(Debug, Clone)]
pub struct Request {
    pub name: String,
    pub limit: u64,
    pub doc: String,
    pub span: Span,
}

#[derive(Debug, Clone, Default)]
pub struct State {
    pub name: String,
    /// A region: it is in one of its states while the superstate is, side by side with the other regions.
    pub is_region: bool,
    pub parent: Option<StateId>,
    pub children: Vec<StateId>,
    /// The child that is entered when an edge leads to this state or to one around it.
    pub initial: Option<StateId>,
    pub timed: bool,
    pub fair: bool,
    pub is_final: bool,
    /// States of other protocols in which an output may enter this one.
    pub needs: Vec<Need>,
    pub doc: String,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct Need {
    pub protocol: String,
    pub state: String,
    pub span: Span,
}

#[derive(Debug, Clone)]
pub struct Edge {
    pub source: StateId,
    pub message: MessageId,
    /// None: whatever states are active stay.
    pub target: Option<StateId>,
    /// States that must be active for the edge to be there, and states that must not.
    pub when: Vec<StateId>,
    pub unless: Vec<StateId>,
    pub doc: String,
    pub span: Span,
}

impl Protocol {
    /// Whether the children of `state` are regions, all active side by side.
    pub fn is_parallel(&self, state: StateId) -> bool {
        self.states[state].children.first().is_some_and(|child| self.states[*child].is_region)
    }

    pub fn is_leaf(&self, state: StateId) -> bool {
        self.states[state].children.is_empty()
    }

    /// The state itself, what is around it, and so on outwards.
    pub fn outwards(&self, state: StateId) -> impl Iterator<Item = StateId> + '_ {
        std::iter::successors(Some(state), |state| self.states[*state].parent)
    }

    /// Whether `inner` is `outer` or stands inside it.
    pub fn is_within(&self, inner: StateId, outer: StateId) -> bool {
        self.outwards(inner).any(|state| state == outer)
    }

    pub fn message(&self, name: &str) -> Option<MessageId> {
        self.messages.iter().position(|message| message.name == name)
    }

    pub fn state(&self, name: &str) -> Option<StateId> {
        self.states.iter().position(|state| state.name == name && !name.is_empty())
    }
}
