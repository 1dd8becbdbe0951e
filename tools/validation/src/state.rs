//! A state of the product: where the term is, where the machine code is, and what is known of both.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use crate::early::Early;
use crate::image::Image;
use crate::program::Function;
use crate::solver::{Path, Trouble};
use crate::syntax::{Expr, Stmt};
use crate::term::build::{concat, extract, zero_extend};
use crate::term::{fresh, Term};

/// An entry of the term's control stack, as `frame_item` of `Semantics.v`.
#[derive(Debug, Clone)]
pub enum Item {
    Stmt(Arc<Stmt>),
    Loop(Arc<Stmt>),
    Return { result: Option<usize>, locals: Vec<Term>, caller: Arc<Function> },
    End,
}

/// A scalar that one side has read or written: its kind of cell, the index of its object's element, that of the inner
/// element, and the two as one index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    pub cells: usize,
    pub index: Term,
    pub element: Term,
    pub flat: Term,
    /// Where this holds, of the paths that the state stands for.
    pub guard: Term,
    /// How many of the state's locks the term held then, if the scalar is its own as long as it holds these.
    pub locks: u32,
}

/// A scalar that the term has written, on those paths where the guard holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Written {
    pub cells: usize,
    pub flat: Term,
    pub guard: Term,
}

/// A loop that is being cut: by its number among the engine's loops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LoopKey {
    pub stmt: usize,
    pub depth: usize,
    pub address: u64,
}

#[derive(Debug, Clone)]
pub struct State {
    pub stack: Vec<Item>,
    pub function: Arc<Function>,
    pub locals: Vec<Term>,
    /// What the term's memory holds, by kind of cell.
    pub proved: Vec<Term>,
    /// What the term has read or written since others may last have changed memory.
    pub accesses: Vec<Access>,
    /// What the machine has read since then, and the term had not.
    pub early: Vec<Early>,
    /// The locks that the term has taken here and not given back, in this order.
    pub locks: Vec<Term>,
    /// What the term, and the machine, have written since both last agreed.
    pub proved_stores: Vec<Written>,
    pub machine_stores: Vec<(usize, Term, u64)>,

    pub address: u64,
    pub registers: Vec<Term>,
    pub frame: Frame,
    /// What the machine's memory holds, by kind of cell.
    pub memory: Vec<Term>,
    /// The function that the machine has jumped to will return to the caller.
    pub is_tail: bool,

    pub path: Path,
    /// The loops that are cut and that the term is in, each with the number of its round.
    pub active: Vec<(LoopKey, usize)>,
    /// A loop whose body is tried once from its true entry.
    pub warming: Option<(usize, usize)>,
    /// An address that is not a cut point although it is a loop's header: the machine stands there.
    pub passing: Option<u64>,
    /// Among the states of which note was taken, that of the last one that this one comes from; 0 before the first.
    pub number: u64,
    /// How often loops have been entered, where they are unrolled.
    pub unrolled: u32,
    /// Conditions on which it depends what the term's places hold, where the state stands for several paths of the term.
    pub selectors: Vec<Term>,
    /// Why a call of the machine was not taken for the term's, where the term was executed in place instead.
    pub doubt: Option<Rc<str>>,
    /// The stack pointer that the control structure of VT-x has for the host, from the one at the function's entry; none if the
    /// function has not written it.
    pub host_stack: Option<i64>,
}

impl State {
    /// The loops that the term has left are no longer cut: those whose entry is gone from its stack.
    pub fn leave_loops(&mut self) {
        let depth = self.stack.len();
        self.active.retain(|(key, _)| key.depth < depth);
    }
}

/// What the function has written to its own stack frame, by the offset from the stack pointer at entry.
#[derive(Debug, Clone, Default)]
pub struct Frame {
    pub held: BTreeMap<i64, Term>,
}

impl Frame {
    fn bytes(term: Term) -> i64 {
        i64::from(term.width() / 8)
    }

    /// Cuts entries so that none crosses this offset.
    fn cut(&mut self, at: i64) {
        let crossing = self.held.range(..at).next_back().map(|(start, term)| (*start, *term));
        if let Some((start, term)) = crossing.filter(|(start, term)| start + Frame::bytes(*term) > at) {
            let low = (at - start) as u32 * 8;
            self.held.insert(start, extract(term, 0, low));
            self.held.insert(at, extract(term, low, term.width() - low));
        }
    }

    pub fn store(&mut self, at: i64, value: Term) {
        let end = at + Frame::bytes(value);
        self.cut(at);
        self.cut(end);
        let gone: Vec<i64> = self.held.range(at..end).map(|(start, _)| *start).collect();
        gone.iter().for_each(|start| {
            self.held.remove(start);
        });
        self.held.insert(at, value);
    }

    /// What is there; any value where nothing has been written, the same one from then on.
    pub fn load(&mut self, at: i64, bytes: i64) -> Term {
        if let Some(term) = self.held.get(&at).filter(|term| Frame::bytes(**term) == bytes) {
            return *term;
        }
        let around = self.held.range(..=at).next_back().map(|(start, term)| (*start, *term));
        if let Some((start, term)) = around.filter(|(start, term)| start + Frame::bytes(*term) >= at + bytes) {
            return extract(term, (at - start) as u32 * 8, bytes as u32 * 8);
        }
        self.cut(at);
        self.cut(at + bytes);
        let mut place = at;
        let mut value: Option<Term> = None;
        while place < at + bytes {
            let next = self.held.range(place..).next().map(|(start, _)| *start).filter(|start| *start < at + bytes);
            let part = match next {
                Some(start) if start == place => self.held[&place],
                _ => {
                    let size = next.unwrap_or(at + bytes) - place;
                    let part = fresh("stack", size as u32 * 8);
                    self.held.insert(place, part);
                    part
                }
            };
            place += Frame::bytes(part);
            value = Some(value.map_or(part, |low| concat(part, low)));
        }
        value.unwrap_or_else(|| zero_extend(fresh("stack", 8), bytes as u32 * 8))
    }

    /// Cuts both so that they have the same entries, and forgets what one of them does not have.
    pub fn align(&mut self, other: &mut Frame) {
        let ends = |frame: &Frame| -> Vec<i64> {
            frame.held.iter().flat_map(|(at, term)| [*at, at + Frame::bytes(*term)]).collect()
        };
        ends(other).into_iter().for_each(|at| self.cut(at));
        ends(self).into_iter().for_each(|at| other.cut(at));
        self.held.retain(|at, _| other.held.contains_key(at));
        other.held.retain(|at, _| self.held.contains_key(at));
    }

    /// Forgets what is below an offset.
    pub fn drop_below(&mut self, at: i64) {
        self.cut(at);
        self.held.retain(|start, _| *start >= at);
    }
}

/// Something that machine code does which the term must do too, at the same time.
#[derive(Debug, Clone)]
pub enum Event {
    Call {
        name: String,
        target: u64,
        back: Option<u64>,
    },
    Return,
    /// An access to an atomic cell.
    Atomic,
    /// An instruction that does more than compute.
    System(String),
    /// `rep movs` or `rep stos`.
    Repeat(String),
    /// The head of a loop.
    Header,
    /// An address that is not understood at this point.
    Blocked(String),
}

impl Event {
    pub fn text(&self) -> String {
        match self {
            Event::Call { name, back: Some(_), .. } => format!("calls {name}"),
            Event::Call { name, .. } => format!("goes on in {name}"),
            Event::Return => "returns".to_string(),
            Event::Atomic => "accesses an atomic cell".to_string(),
            Event::System(text) | Event::Repeat(text) => format!("executes {text}"),
            Event::Header => "is at a loop".to_string(),
            Event::Blocked(why) => why.clone(),
        }
    }
}

/// Why a step did not lead to a next state.
#[derive(Debug, Clone)]
pub enum Stop {
    /// No execution gets here.
    Impossible,
    Event(Event),
    Refused(String),
    Trouble(Trouble),
}

impl From<Trouble> for Stop {
    fn from(trouble: Trouble) -> Stop {
        Stop::Trouble(trouble)
    }
}

pub fn refuse<T>(why: impl Into<String>) -> Result<T, Stop> {
    Err(Stop::Refused(why.into()))
}

/// Why a function is not validated: a sentence, and the instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub address: u64,
    pub reason: String,
}

impl Refusal {
    /// With what may have led to it.
    pub fn with(mut self, doubt: Option<&str>) -> Refusal {
        if let Some(doubt) = doubt {
            self.reason = format!("{} ({doubt})", self.reason);
        }
        self
    }

    pub fn text(&self, image: &Image<'_>) -> String {
        format!("{} at {}", self.reason, image.describe(self.address))
    }
}

/// The locals that a statement reads.
pub fn read_locals(stmt: &Stmt, out: &mut BTreeSet<usize>) {
    stmt.each_expr(&mut |e| {
        if let Expr::Local(at) = e {
            out.insert(*at);
        }
    });
}

/// The kinds of cells that a statement reads itself.
pub fn read_cells(stmt: &Stmt, out: &mut BTreeSet<usize>) {
    stmt.each_expr(&mut |e| {
        if let Expr::Load(place) = e {
            out.insert(place.cells);
        }
    });
}

/// The locals that a statement may change.
pub fn assigned_locals(stmt: &Stmt, out: &mut BTreeSet<usize>) {
    match stmt {
        Stmt::Assign(to, _) | Stmt::Call(Some(to), _, _) => {
            out.insert(*to);
        }
        Stmt::Seq(a, b) | Stmt::If(_, a, b) => {
            assigned_locals(a, out);
            assigned_locals(b, out);
        }
        Stmt::While(_, body) => assigned_locals(body, out),
        _ => {}
    }
}
