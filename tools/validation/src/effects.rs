//! Which kinds of cells a call may read or write, read off its term.

use std::collections::BTreeSet;
use std::rc::Rc;

use crate::engine::Engine;
use crate::primitives;
use crate::state::read_cells;
use crate::syntax::Stmt;

impl Engine<'_> {
    /// The kinds of cells that a call may read or write, by its term; none if it may be that others see memory meanwhile. gcc
    /// moves a store over a call that does not touch what it writes.
    pub fn touched_by(&mut self, function: &str) -> Option<Rc<BTreeSet<usize>>> {
        if let Some(known) = self.touches.get(function) {
            return known.clone();
        }
        let known = self.function_named(function);
        let found = match (primitives::writes(function), primitives::reads(function)) {
            _ if crate::actions::writes(function).is_some() => None,
            (_, _) if known.is_some() => known.and_then(|known| {
                let mut cells = BTreeSet::new();
                read_cells(&known.body, &mut cells);
                self.statement_touches(&known.body, &mut cells).then(|| Rc::new(cells))
            }),
            (Some(writes), Some(reads)) => {
                let list = writes.iter().chain(reads);
                let cells: Option<BTreeSet<usize>> =
                    list.map(|(object, field)| self.program.place(object, field)).collect();
                cells.map(Rc::new)
            }
            _ => None,
        };
        self.touches.insert(function.to_string(), found.clone());
        found
    }

    /// Adds what a statement writes, and what its calls touch; false if that is not known.
    fn statement_touches(&mut self, stmt: &Stmt, out: &mut BTreeSet<usize>) -> bool {
        match stmt {
            Stmt::Store(place, _) => {
                out.insert(place.cells);
                true
            }
            Stmt::Seq(a, b) | Stmt::If(_, a, b) => self.statement_touches(a, out) && self.statement_touches(b, out),
            Stmt::While(_, body) => self.statement_touches(body, out),
            Stmt::Call(_, function, _) => match self.touched_by(function) {
                Some(cells) => {
                    out.extend(cells.iter());
                    true
                }
                None => false,
            },
            _ => true,
        }
    }

    /// The kinds of cells that a call may write, by its term; none if it may be that others do meanwhile.
    pub fn writes(&mut self, function: &str) -> Option<Rc<BTreeSet<usize>>> {
        if let Some(known) = self.writes.get(function) {
            return known.clone();
        }
        let found = match (self.function_named(function), crate::actions::writes(function)) {
            (Some(known), _) => {
                let mut cells = BTreeSet::new();
                self.statement_writes(&known.body, &mut cells).then(|| Rc::new(cells))
            }
            (None, list) => list.or(primitives::writes(function)).and_then(|list| {
                let cells: Option<BTreeSet<usize>> =
                    list.iter().map(|(object, field)| self.program.place(object, field)).collect();
                cells.map(Rc::new)
            }),
        };
        self.writes.insert(function.to_string(), found.clone());
        found
    }

    /// Adds what a statement writes; false if that is not known.
    pub fn statement_writes(&mut self, stmt: &Stmt, out: &mut BTreeSet<usize>) -> bool {
        match stmt {
            Stmt::Store(place, _) => {
                out.insert(place.cells);
                true
            }
            Stmt::Seq(a, b) | Stmt::If(_, a, b) => self.statement_writes(a, out) && self.statement_writes(b, out),
            Stmt::While(_, body) => self.statement_writes(body, out),
            Stmt::Call(_, function, _) => match self.writes(function) {
                Some(cells) => {
                    out.extend(cells.iter());
                    true
                }
                None => false,
            },
            _ => true,
        }
    }
}
