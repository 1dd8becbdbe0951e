//! States where paths meet: what holds on both.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::memory::{bytes_of, Cell, Memory, Slot};
use crate::patricia::Tree;
use crate::set::Set;
use crate::state::{is_of_stack, State, World};
use crate::term::{Origin, Quick, Root, Term};

/// Symbols of the two terms, the difference of what is added to them, and their size, which numbers without a symbol do
/// not tell otherwise: terms that agree in these differ by a number.
type Pair = (Option<u64>, Option<u64>, u128, u8);

/// Makes terms of pairs of terms, the same for the same pair.
struct Merge<'a> {
    world: &'a World<'a>,
    made: HashMap<Pair, (u128, Term), Quick>,
    /// Symbols that stand for another value each time the header is reached, and the pair that gives the next one.
    header: Option<Header<'a>>,
    escaped: bool,
    changed: bool,
}

struct Header<'a> {
    phis: &'a mut HashSet<u64>,
    next: HashMap<u64, Pair, Quick>,
    /// Widen by these, or just join.
    thresholds: Option<&'a [u128]>,
}

impl State {
    /// What holds on two paths that meet.
    pub fn join(&self, other: &State, world: &World<'_>) -> State {
        let mut merge = Merge { world, made: HashMap::default(), header: None, escaped: false, changed: false };
        let registers =
            self.registers.iter().zip(&other.registers).map(|(a, b)| merge.term(self, other, a, b)).collect();
        let memory = merge.memory(self, other);
        let mut known = Vec::new();
        let mut rest = other.known.iter().peekable();
        for (number, set) in self.known.iter() {
            while rest.next_if(|(other, _)| other < number).is_some() {}
            if let Some((_, theirs)) = rest.next_if(|(other, _)| other == number) {
                known.push((*number, set.join(theirs)));
            }
        }
        let escaped = self.escaped || other.escaped || merge.escaped;
        State { registers, memory, known: Rc::new(known), crowd: self.crowd.max(other.crowd), escaped }
    }

    /// The state at a loop's header that covers `self`, so far the state there, and `back`, that of a back edge.
    /// `phis` are the symbols that stand for another value in each iteration. None if `self` covers both.
    pub fn widen(
        &self,
        back: &State,
        world: &World<'_>,
        phis: &mut HashSet<u64>,
        thresholds: Option<&[u128]>,
    ) -> Option<State> {
        let header = Header { phis, next: HashMap::default(), thresholds };
        let mut merge = Merge { world, made: HashMap::default(), header: Some(header), escaped: false, changed: false };
        let registers = self.registers.iter().zip(&back.registers).map(|(a, b)| merge.term(self, back, a, b)).collect();
        let memory = merge.memory(self, back);
        let mut known = Vec::new();
        for (number, set) in self.known.iter() {
            let phi = merge.header.as_ref().is_some_and(|header| header.phis.contains(number));
            if !phi && back.known(*number).is_some_and(|theirs| set.includes(theirs)) {
                known.push((*number, *set));
            } else {
                merge.changed = true;
            }
        }
        let escaped = self.escaped || back.escaped || merge.escaped;
        let changed = merge.changed || escaped != self.escaped;
        changed.then(|| State { registers, memory, known: Rc::new(known), crowd: self.crowd, escaped })
    }
}

impl Merge<'_> {
    fn is_phi(&self, number: Option<u64>) -> bool {
        number.is_some_and(|number| self.header.as_ref().is_some_and(|header| header.phis.contains(&number)))
    }

    fn term(&mut self, a_state: &State, b_state: &State, a: &Term, b: &Term) -> Term {
        let phi = self.is_phi(a.number());
        if a == b && !phi {
            return a.clone();
        }
        let pair = (a.number(), b.number(), b.offset.wrapping_sub(a.offset), a.size);
        if let Some((offset, term)) = self.made.get(&pair) {
            let made = term.plus(a.offset.wrapping_sub(*offset));
            self.changed |= made != *a;
            return made;
        }
        let made = self.keep(a_state, b_state, a, b, pair).unwrap_or_else(|| {
            let (root, set) = self.range(a_state, b_state, a, b);
            let made = self.world.symbols.make(root, set, Origin::Opaque);
            // A symbol of which a branch told that it is one number may be the number that was there.
            self.changed |= made != *a;
            if let (Some(header), Some(number)) = (&mut self.header, made.number()) {
                header.phis.insert(number);
                header.next.insert(number, pair);
            }
            made
        });
        self.made.insert(pair, (a.offset, made.clone()));
        made
    }

    /// The header's term, if it covers the back edge's and no other pair has it.
    fn keep(&mut self, a_state: &State, b_state: &State, a: &Term, b: &Term, pair: Pair) -> Option<Term> {
        let number = a.number()?;
        let header = self.header.as_mut()?;
        if !header.phis.contains(&number) || header.next.get(&number).is_some_and(|other| *other != pair) {
            return None;
        }
        let ((root, set), (other, theirs)) = (a_state.range(a), b_state.range(b));
        if root != other || !set.includes(&theirs) {
            return None;
        }
        header.next.insert(number, pair);
        Some(a.clone())
    }

    fn range(&mut self, a_state: &State, b_state: &State, a: &Term, b: &Term) -> (Root, Set) {
        let size = a.size;
        if size > 16 {
            return (Root::Zero, Set::full(size));
        }
        let thresholds = self.header.as_ref().and_then(|header| header.thresholds);
        let union = |a: &Set, b: &Set| match thresholds {
            Some(thresholds) => a.widen(b, thresholds),
            None => a.join(b),
        };
        let ((root_a, set_a), (root_b, set_b)) = (a_state.range(a), b_state.range(b));
        if root_a == root_b && !self.is_old(root_a) {
            let set = union(&set_a, &set_b);
            if root_a != Root::Zero || !set.is_full() {
                return (root_a, set);
            }
        }
        if size == self.world.pointer {
            let ((root_a, set_a), (root_b, set_b)) = (a_state.address(a, size), b_state.address(b, size));
            if root_a == root_b && root_a != Root::Zero && !self.is_old(root_a) {
                return (root_a, union(&set_a, &set_b));
            }
        }
        self.escaped |= root_a == Root::Stack || root_b == Root::Stack;
        (Root::Zero, union(&a_state.numbers(a), &b_state.numbers(b)))
    }

    /// Whether a root is something else in the next iteration.
    fn is_old(&self, root: Root) -> bool {
        matches!(root, Root::Symbol(number) if self.is_phi(Some(number)))
    }

    fn memory(&mut self, a: &State, b: &State) -> Memory {
        let loaded = a.memory.loaded && b.memory.loaded;
        self.changed |= loaded != a.memory.loaded;
        let absolute = self.tree(a, b, &a.memory.absolute, &b.memory.absolute, true);
        let stack = self.tree(a, b, &a.memory.stack, &b.memory.stack, false);
        let mut others = Vec::new();
        for (number, mine) in &a.memory.others {
            match b.memory.others.iter().find(|(other, _)| other == number) {
                Some((_, theirs)) if !self.is_phi(Some(*number)) => {
                    others.push((*number, self.tree(a, b, mine, theirs, false)));
                }
                _ => self.changed = true,
            }
        }
        Memory { absolute, stack, others, loaded }
    }

    fn tree(&mut self, a: &State, b: &State, mine: &Tree<Slot>, theirs: &Tree<Slot>, absolute: bool) -> Tree<Slot> {
        let share = self.header.is_none();
        let program = self.world.program;
        let merge = std::cell::RefCell::new(&mut *self);
        let mut both = |_: u64, x: &Slot, y: &Slot| {
            let mut merge = merge.borrow_mut();
            let cells: Slot = merge.slot(a, b, x, y).into();
            (absolute || !cells.is_empty()).then_some(cells)
        };
        let mut one = |key: u64, slot: &Slot, first: bool| {
            let mut merge = merge.borrow_mut();
            let other = if first { &b.memory } else { &a.memory };
            if !(absolute && other.loaded) {
                merge.changed |= first;
                merge.escaped |= slot.iter().any(|cell| is_of_stack(&cell.term));
                return None;
            }
            let initial: Vec<Cell> = slot
                .iter()
                .filter_map(|cell| {
                    let number = bytes_of(program, (key << 3) + u64::from(cell.at), cell.term.size)?;
                    Some(Cell { at: cell.at, term: Term::constant(number, cell.term.size) })
                })
                .collect();
            let cells = if first { merge.slot(a, b, slot, &initial) } else { merge.slot(a, b, &initial, slot) };
            merge.changed |= !first;
            Some(cells.into())
        };
        mine.join(theirs, share, &mut both, &mut one)
    }

    fn slot(&mut self, a: &State, b: &State, mine: &[Cell], theirs: &[Cell]) -> Vec<Cell> {
        let mut cells = Vec::with_capacity(mine.len());
        for cell in mine {
            let other = theirs.iter().find(|other| other.at == cell.at && other.term.size == cell.term.size);
            let Some(other) = other else {
                self.escaped |= is_of_stack(&cell.term);
                self.changed = true;
                continue;
            };
            let term = self.term(a, b, &cell.term, &other.term);
            // At a header even what may be anything may be a counter.
            let nothing = self.header.is_none()
                && term != cell.term
                && matches!(&term.symbol, Some(symbol) if symbol.root == Root::Zero && symbol.set.is_full());
            if !nothing {
                cells.push(Cell { at: cell.at, term });
            }
        }
        for other in theirs {
            if is_of_stack(&other.term) && !mine.iter().any(|cell| cell.at == other.at) {
                self.escaped = true;
            }
        }
        cells
    }
}
