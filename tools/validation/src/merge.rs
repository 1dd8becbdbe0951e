//! Behind an event: dead values are forgotten, and a state that an earlier one covers is not explored again.
//!
//! What is forgotten becomes any value. So a wrong guess of what is dead can only make a later comparison fail. A state is
//! covered by another one that is equal up to names of variables, and of which no more is known.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::engine::Engine;
use crate::image::{GENERAL, RBP, RSP};
use crate::outlive::Alive;
use crate::state::{read_locals, Item, State, Stop};
use crate::term::{below, fresh, Node, Term};

/// How often a place is visited before what comes there is joined.
const JOIN_AFTER: u32 = 6;
/// The same where states stand for several paths of the term.
const JOIN_FUSED_AFTER: u32 = 1;

pub fn is_symbol(term: Term) -> bool {
    matches!(term.node(), Node::Variable(_) | Node::Array(_))
}

/// Variables and arrays of a term.
pub fn symbols(terms: &[Term]) -> HashSet<Term> {
    below(terms).into_iter().filter(|term| is_symbol(*term)).collect()
}

fn words(value: u128) -> [u32; 4] {
    [value as u32, (value >> 32) as u32, (value >> 64) as u32, (value >> 96) as u32]
}

/// Writes terms as numbers, with variables in the order in which they are met.
#[derive(Default)]
struct Writer {
    names: HashMap<Term, u32>,
    known: HashMap<Term, u32>,
    out: Vec<u32>,
}

impl Writer {
    fn put(&mut self, term: Term) {
        for part in below(&[term]) {
            if self.known.contains_key(&part) {
                continue;
            }
            let at = |child: Term| self.known.get(&child).copied().unwrap_or(0);
            let mut row: Vec<u32> = vec![part.width()];
            match part.node() {
                Node::Constant(value) => {
                    row.push(1);
                    row.extend(words(value));
                }
                Node::Variable(_) | Node::Array(_) => {
                    let next = self.names.len() as u32;
                    row.extend([2, *self.names.entry(part).or_insert(next)]);
                }
                Node::Sum(terms, rest) => {
                    row.push(3);
                    row.extend(words(rest));
                    let mut pairs: Vec<(u32, u128)> = terms.iter().map(|(term, times)| (at(*term), *times)).collect();
                    pairs.sort_unstable();
                    for (term, times) in pairs {
                        row.push(term);
                        row.extend(words(times));
                    }
                }
                Node::Binary(operation, a, b) => row.extend([4 + 16 * operation as u32, at(a), at(b)]),
                Node::If(a, b, c) => row.extend([5, at(a), at(b), at(c)]),
                Node::Extract(low, a) => row.extend([6, low, at(a)]),
                Node::ZeroExtend(a) => row.extend([7, at(a)]),
                Node::SignExtend(a) => row.extend([8, at(a)]),
                Node::LeadingZeros(a) => row.extend([9, at(a)]),
                Node::Store(a, b, c) => row.extend([10, at(a), at(b), at(c)]),
                Node::Read(a, b) => row.extend([11, at(a), at(b)]),
            }
            let number = self.known.len() as u32 + 1;
            self.known.insert(part, number);
            self.out.push(row.len() as u32);
            self.out.extend(row);
        }
        self.out.push(u32::MAX);
        self.out.push(self.known.get(&term).copied().unwrap_or(0));
    }
}

impl Engine<'_> {
    /// Forgets what is dead in the state; true if it is covered. If `joins`, it is joined with the one before in a place that was
    /// visited often.
    pub fn is_covered(&mut self, state: &mut State, joins: bool) -> Result<bool, Stop> {
        if state.is_tail {
            return Ok(false);
        }
        self.forget(state);
        if joins {
            self.reconcile(state)?;
        }
        self.note_parts(state)?;
        if self.is_seen(state, true) {
            return Ok(true);
        }
        if !joins {
            return Ok(false);
        }
        self.states += 1;
        state.number = self.states;
        let place = crate::join::shape(self, state);
        let (visits, last) = match self.places.remove(&place) {
            Some((visits, last)) => (visits + 1, Some(last)),
            None => (1, None),
        };
        let after = if self.fuses { JOIN_FUSED_AFTER } else { JOIN_AFTER };
        if let Some(last) = last.filter(|_| visits > after) {
            let mut joined = self.joined(&last, state, visits - after)?;
            // What covers the join covers this state. The last one stays: it may be what covers the join.
            if self.is_seen(&mut joined, true) {
                self.places.insert(place, (visits, last));
                return Ok(true);
            }
            self.replaced.insert(last.number);
            *state = joined;
        }
        self.places.insert(place, (visits, state.clone()));
        Ok(false)
    }

    /// Whether the state is an instance of one that was seen; otherwise note is taken of it.
    pub fn is_seen(&mut self, state: &mut State, drops: bool) -> bool {
        let held = self.held(state);
        let alive = Alive::of(&held, state);
        state.selectors.retain(|one| alive.has(one));
        state.early.retain(|one| alive.has(&one.value));
        let keeps = |condition: &Term| !drops || alive.keeps(*condition);
        let kept: Vec<Term> = state.path.conditions.iter().copied().filter(keeps).collect();
        state.path.replace(kept);

        let mut writer = Writer::default();
        held.iter().for_each(|term| writer.put(*term));
        let mut key = std::mem::take(&mut writer.out);
        key.extend(address(state.address as usize));
        key.push(u32::MAX - 1);
        for item in &state.stack {
            match item {
                Item::Stmt(stmt) => {
                    key.push(1);
                    key.extend(address(Arc::as_ptr(stmt) as usize));
                }
                Item::Loop(stmt) => {
                    key.push(2);
                    key.extend(address(Arc::as_ptr(stmt) as usize));
                }
                Item::Return { result, caller, .. } => {
                    key.extend([3, result.map_or(u32::MAX, |to| to as u32)]);
                    key.extend(address(Arc::as_ptr(caller) as usize));
                }
                Item::End => key.push(4),
            }
        }
        key.extend(address(Arc::as_ptr(&state.function) as usize));
        key.extend(state.frame.held.keys().map(|at| *at as u32));
        key.push(u32::MAX - 2);
        key.extend(state.active.iter().map(|(_, number)| *number as u32));
        key.push(state.unrolled);
        key.extend(state.host_stack.iter().map(|at| *at as u32));
        key.push(u32::MAX - 3);
        let (stmt, depth) = state.warming.unwrap_or_default();
        key.extend(address(stmt).into_iter().chain(address(depth)));
        // What the lists of accesses say is part of what is known: a state with fewer may do less.
        key.extend(state.accesses.iter().flat_map(|access| {
            writer.put(access.flat);
            writer.put(access.index);
            writer.put(access.element);
            writer.put(access.guard);
            let mut out = std::mem::take(&mut writer.out);
            out.extend([access.cells as u32, access.locks]);
            out
        }));
        for one in &state.early {
            writer.put(one.flat);
            writer.put(one.value);
            writer.put(one.held);
            key.append(&mut writer.out);
            key.extend([2, one.cells as u32]);
        }
        for lock in &state.locks {
            writer.put(*lock);
            key.append(&mut writer.out);
            key.push(3);
        }
        // Stores that were not compared yet.
        let always = crate::term::constant(1, 1);
        let stores = state.machine_stores.iter().map(|(cells, flat, _)| (0, *cells, *flat, always));
        let proved = state.proved_stores.iter().map(|one| (1, one.cells, one.flat, one.guard));
        for (side, cells, flat, guard) in stores.chain(proved) {
            writer.put(flat);
            writer.put(guard);
            key.append(&mut writer.out);
            key.extend([side, cells as u32]);
        }
        let conditions: BTreeSet<Vec<u32>> = state
            .path
            .conditions
            .iter()
            .map(|condition| {
                // Written by itself, with the names that the state gives to variables.
                let mut alone = Writer { names: std::mem::take(&mut writer.names), ..Writer::default() };
                alone.put(*condition);
                writer.names = alone.names;
                alone.out
            })
            .collect();
        let earlier = self.seen.entry(key).or_default();
        if earlier.iter().any(|known| known.is_subset(&conditions)) {
            self.merged += 1;
            return true;
        }
        earlier.push(conditions);
        false
    }

    /// Locals that the rest of the term does not read.
    pub fn forget_locals(&self, state: &mut State) {
        let mut read = BTreeSet::new();
        for item in state.stack.iter_mut().rev() {
            match item {
                Item::Stmt(stmt) | Item::Loop(stmt) => read_locals(stmt, &mut read),
                Item::Return { .. } => break,
                Item::End => {}
            }
        }
        drop_unread(&mut state.locals, &read);
        // Of each caller: what stands below its entry, up to the next one.
        let mut read = BTreeSet::new();
        let mut at = 0;
        while at < state.stack.len() {
            match &mut state.stack[at] {
                Item::Stmt(stmt) | Item::Loop(stmt) => read_locals(stmt, &mut read),
                Item::Return { locals, .. } => {
                    drop_unread(locals, &read);
                    read.clear();
                }
                Item::End => {}
            }
            at += 1;
        }
    }

    /// The same, and registers and places of the stack that the rest of the code does not read.
    fn forget(&self, state: &mut State) {
        self.forget_locals(state);
        let live = self.image.live(state.address);
        for register in 0..GENERAL {
            if live & (1 << register) == 0 && register != RSP && register != RBP {
                state.registers[register] = fresh("dead", 64);
            }
        }
        if let Some(top) = crate::memory::offset(state.registers[RSP], self.entry.stack) {
            crate::slots::forget(self.image, state.address, top, &mut state.frame);
        }
        for flag in (GENERAL + 2..crate::image::DF).filter(|flag| live & (1 << flag) == 0) {
            state.registers[flag] = fresh("flag", 8);
        }
    }
}

fn drop_unread(locals: &mut [Term], read: &BTreeSet<usize>) {
    for (at, local) in locals.iter_mut().enumerate() {
        if !read.contains(&at) {
            *local = fresh("dead", local.width());
        }
    }
}

fn address(number: usize) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}
