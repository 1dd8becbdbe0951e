//! The program model: one control-flow graph over bit-vectors, with calls inlined. `lower` makes it from C.

use crate::expr::{Expr, Var};
use crate::hash::HashSet;
use std::collections::BTreeSet;

/// A line of a source file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Place {
    pub file: std::rc::Rc<str>,
    pub line: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// A message of one of the driver's protocols: index of the protocol, index of the message.
pub type Message = (usize, usize);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Op {
    Assign(Var, Expr),
    /// The variable may have any value from here.
    Havoc(Var),
    /// The run goes on only if this holds.
    Assume(Expr),
    Emit(Message),
    /// Begins an AWAIT; index into [`Program::awaits`].
    Await(usize),
    Receive(Message),
    /// The driver returns.
    Return,
    /// The next message's cookie is that of the request that is followed.
    Followed,
    /// A value that a trace is to show. It has no effect.
    Show(Expr),
    /// What the driver promises does not hold: the run ends here.
    Fail(Claim, Wrong),
}

/// What is asked of single messages beside the protocols' states.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Claim {
    /// Rule 6: every request of a kind is completed exactly once, with its cookie. Protocol and request.
    Requests(usize, usize),
    /// Rule 7: every field of the message is within its declared range.
    Payload(Message),
    /// Rule 1: of several clients of the protocol one has its turn wherever one is meant.
    Turn(usize),
}

/// Why a claim does not hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wrong {
    /// A message completes or names a request that is not open.
    NotOpen,
    /// A message is sent, or the driver returns, while a request is open that must not be.
    Open,
    /// A cookie is read where the open request does not stand: nothing is wrong yet, but the checker cannot follow it.
    Elsewhere,
    /// The field with this number is out of its range.
    Range(usize),
    /// The message has no payload, or that of another message.
    Form,
    /// A client is meant, and none has its turn.
    NoTurn,
}

#[derive(Debug, Clone)]
pub struct Step {
    pub op: Op,
    pub place: Place,
}

#[derive(Debug, Clone, Default)]
pub struct Edge {
    pub from: usize,
    pub to: usize,
    pub steps: Vec<Step>,
    /// In a program made from another: the edge there, and the number of the first step.
    pub origin: (usize, usize),
}

/// An AWAIT as it stands in the source; inlined copies share it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Await {
    pub place: Place,
    pub messages: BTreeSet<Message>,
}

#[derive(Debug, Clone)]
pub struct Variable {
    pub name: String,
    pub bits: u32,
    /// Holds what an AWAIT returned, or a copy of it.
    pub is_mailbox: bool,
    /// Stands for what the driver keeps in memory that is not modelled: it has some value, but not any.
    pub is_guess: bool,
}

/// I/O ports of a driver's device: the device's name, how many, and where the driver says so.
#[derive(Debug, Clone)]
pub struct Ports {
    pub device: String,
    pub count: u64,
    pub place: Place,
}

#[derive(Debug, Clone, Default)]
pub struct Program {
    pub vars: Vec<Variable>,
    pub nodes: usize,
    pub edges: Vec<Edge>,
    pub entry: usize,
    pub awaits: Vec<Await>,
    /// What the model takes for granted.
    pub assumptions: BTreeSet<String>,
    /// Predicates that are likely to be needed; a proof does not rest on them.
    pub hints: Vec<Expr>,
    /// The same for every check: where loops over clients stand, with regard to the client that is followed.
    pub turns: Vec<Expr>,
    /// Variables of static objects that have a first value.
    pub lasting: BTreeSet<Var>,
    /// The cookie of the request that is followed.
    pub followed: Option<Var>,
    /// The number of the client that is followed, of several.
    pub client: Option<Var>,
    /// The protocol of which there are several, and what the program keeps of the client that is followed.
    pub of_client: (usize, HashSet<Var>),
    /// Cookie and payload of the message taken last.
    pub payload: BTreeSet<Var>,
    /// The I/O ports that the driver says it has.
    pub ports: Option<Ports>,
    /// Its edges are whole paths between places where paths meet: see `simplify`.
    pub is_joined: bool,
    /// It has more runs than the program: see `slice`.
    pub is_part: bool,
}

impl Program {
    /// How far predicates are from what is checked: nearest are those that speak of the request that is followed, then those that
    /// speak of the client that is followed if the protocol is its own, and not if it is another one.
    pub fn distance(&self, predicates: &[Expr], protocol: usize) -> u8 {
        let of_client = |one: &Expr| one.vars().iter().any(|var| self.of_client.1.contains(var));
        let of_request = |one: &Expr| self.followed.is_some_and(|cookie| one.mentions(cookie));
        if predicates.iter().any(of_request) {
            0
        } else if predicates.iter().any(of_client) == (protocol == self.of_client.0) {
            1
        } else {
            2
        }
    }

    /// Edges that leave each node.
    pub fn leaving(&self) -> Vec<Vec<usize>> {
        let mut out = vec![Vec::new(); self.nodes];
        for (index, edge) in self.edges.iter().enumerate() {
            out[edge.from].push(index);
        }
        out
    }

    /// Removes unreachable edges, and joins chains of edges into one.
    pub fn tidy(&mut self) {
        let out = self.leaving();
        let mut reached = vec![false; self.nodes];
        let mut work = vec![self.entry];
        while let Some(node) = work.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                work.extend(out[node].iter().map(|edge| self.edges[*edge].to));
            }
        }
        self.edges.retain(|edge| reached[edge.from]);
        let mut into = vec![0usize; self.nodes];
        for edge in &self.edges {
            into[edge.to] += 1;
        }
        // The entry is no node inside a chain.
        into[self.entry] += 2;
        let out = self.leaving();
        // A node inside a chain: one edge in, one out, and not its own.
        let inside = |node: usize| into[node] == 1 && out[node].len() == 1;
        let mut edges = Vec::new();
        for edge in self.edges.iter().filter(|edge| !inside(edge.from)) {
            let mut joined = edge.clone();
            let mut seen = HashSet::default();
            while inside(joined.to) && seen.insert(joined.to) {
                let next = &self.edges[out[joined.to][0]];
                joined.steps.extend(next.steps.iter().cloned());
                joined.to = next.to;
            }
            edges.push(joined);
        }
        self.edges = edges;
        self.number();
    }

    /// The same program with a node behind each AWAIT, and behind each message that is not idle.
    pub fn split(&self, is_idle: &dyn Fn(Message) -> bool) -> Program {
        let mut made = Program { edges: Vec::new(), ..self.clone() };
        for edge in &self.edges {
            let mut from = edge.from;
            let mut origin = edge.origin;
            let mut steps = Vec::new();
            for (index, step) in edge.steps.iter().enumerate() {
                steps.push(step.clone());
                let is_message = match step.op {
                    Op::Emit(message) | Op::Receive(message) => !is_idle(message),
                    Op::Await(_) => true,
                    _ => false,
                };
                if is_message && index + 1 < edge.steps.len() {
                    made.edges.push(Edge { from, to: made.nodes, steps: std::mem::take(&mut steps), origin });
                    origin.1 = edge.origin.1 + index + 1;
                    from = made.nodes;
                    made.nodes += 1;
                }
            }
            made.edges.push(Edge { from, to: edge.to, steps, origin });
        }
        made
    }

    /// Removes what is said of payloads where nothing reads them.
    pub fn forget_unread(&mut self) {
        let live = self.live();
        let payload = &self.payload;
        for edge in &mut self.edges {
            let mut now = live[edge.to].clone();
            let mut kept: Vec<Step> = Vec::new();
            let mut steps = std::mem::take(&mut edge.steps);
            while let Some(step) = steps.pop() {
                let own = match (&step.op, steps.last().map(|step| &step.op)) {
                    (Op::Havoc(var), _) => Some((*var, 0)),
                    // Its range.
                    (Op::Assume(range), Some(Op::Havoc(var))) if *range.vars() == [*var] => Some((*var, 1)),
                    _ => None,
                };
                match own {
                    Some((var, more)) if payload.contains(&var) && !now.contains(&var) => {
                        steps.truncate(steps.len() - more);
                    }
                    _ => {
                        before(&step.op, &mut now);
                        kept.push(step);
                    }
                }
            }
            kept.reverse();
            edge.steps = kept;
        }
    }

    /// Numbers the nodes that are used without gaps.
    fn number(&mut self) {
        let mut fresh = vec![usize::MAX; self.nodes];
        let mut count = 0;
        let mut rename = |node: &mut usize| {
            if fresh[*node] == usize::MAX {
                fresh[*node] = count;
                count += 1;
            }
            *node = fresh[*node];
        };
        rename(&mut self.entry);
        for edge in &mut self.edges {
            rename(&mut edge.from);
            rename(&mut edge.to);
        }
        self.nodes = count;
    }

    /// By node, the variables whose value may still be read.
    pub fn live(&self) -> Vec<HashSet<Var>> {
        let mut live: Vec<HashSet<Var>> = vec![HashSet::default(); self.nodes];
        let mut into: Vec<Vec<usize>> = vec![Vec::new(); self.nodes];
        for (index, edge) in self.edges.iter().enumerate() {
            into[edge.to].push(index);
        }
        let mut work: Vec<usize> = (0..self.nodes).rev().collect();
        let mut queued = vec![true; self.nodes];
        while let Some(node) = work.pop() {
            queued[node] = false;
            for &index in &into[node] {
                let edge = &self.edges[index];
                let mut set = live[node].clone();
                for step in edge.steps.iter().rev() {
                    before(&step.op, &mut set);
                }
                let from = edge.from;
                let grown = set.difference(&live[from]).next().is_some();
                if grown {
                    live[from].extend(set);
                    if !std::mem::replace(&mut queued[from], true) {
                        work.push(from);
                    }
                }
            }
        }
        live
    }
}

/// What is live before an operation, from what is live behind it.
pub(crate) fn before(op: &Op, live: &mut HashSet<Var>) {
    match op {
        Op::Assign(var, value) => {
            if live.remove(var) {
                live.extend(value.vars().iter());
            }
        }
        Op::Havoc(var) => {
            live.remove(var);
        }
        Op::Assume(value) | Op::Show(value) => live.extend(value.vars().iter()),
        Op::Emit(_) | Op::Await(_) | Op::Receive(_) | Op::Return | Op::Followed | Op::Fail(..) => {}
    }
}
