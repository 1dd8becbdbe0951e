//! What a load gives, from the changes of memory before it.

use crate::memory::{Cell, Change, Memory, Sharing, Touched, Version};
use crate::term::{Operation, Origin, Term, Terms};
use crate::value::{mask, signed};

/// An address as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// Offset from the stack pointer at the start.
    Slot(i64),
    Fixed(u64),
    /// Somewhere, computed from the stack pointer.
    Stack,
    /// Somewhere, and not below the stack pointer at the start.
    Elsewhere,
    Anywhere,
}

impl Memory<'_> {
    /// The value of `bytes` bytes at `address`. `under` holds whenever the value matters.
    pub fn load(&mut self, terms: &mut Terms, version: Version, address: Term, bytes: u8, under: Term) -> Term {
        let mut value = None;
        for (when, address) in self.choose(terms, address, under).into_iter().rev() {
            let here = terms.both(under, when);
            let loaded = self.load_at(terms, version, address, bytes, here);
            value = Some(match value {
                Some(others) => terms.select(when, loaded, others),
                None => loaded,
            });
        }
        // No address is possible: the value never matters.
        value.unwrap_or_else(|| terms.leaf(8 * u16::from(bytes), Origin::Open))
    }

    fn load_at(&mut self, terms: &mut Terms, version: Version, address: Term, bytes: u8, under: Term) -> Term {
        let mut open = Vec::new();
        let value = self.resolve(terms, version, address, bytes, under, &mut open);
        // What paths brought along, which may again need what earlier paths brought along.
        while let Some((edge, leaf, before)) = open.pop() {
            let brought = self.resolve(terms, before, address, bytes, Terms::TRUE, &mut open);
            self.equate(edge, leaf, brought);
        }
        value
    }

    fn resolve(
        &mut self,
        terms: &mut Terms,
        mut version: Version,
        address: Term,
        bytes: u8,
        under: Term,
        open: &mut Vec<(usize, Term, Version)>,
    ) -> Term {
        let width = 8 * u16::from(bytes);
        let pointer = terms.width(address);
        let fixed = terms.as_number(address).map(|number| number as u64);
        if let Some(number) = fixed.and_then(|at| self.program.constant(at, bytes)) {
            return terms.number(number.into(), width);
        }
        let place = self.place(terms, address);
        if self.is_shared(place, bytes) {
            return terms.leaf(width, Origin::Changed);
        }
        let mut cases: Vec<(Term, Term)> = Vec::new();
        let last = loop {
            if cases.len() > self.cases {
                break terms.leaf(width, Origin::Coarse);
            }
            match self.change(version) {
                Change::Start => break self.cell(terms, version, address, bytes, Origin::Memory(address)),
                Change::Partly { before, touched, edge, when } => {
                    let when = terms.given(when, under);
                    if when == Terms::FALSE || !self.touches(&self.touched[touched], place, bytes) {
                        version = before;
                        continue;
                    }
                    let Some(edge) = edge else {
                        let leaf = self.cell(terms, version, address, bytes, Origin::Changed);
                        if when == Terms::TRUE {
                            break leaf;
                        }
                        cases.push((when, leaf));
                        version = before;
                        continue;
                    };
                    break match self.joined.get(&(version, address, bytes)) {
                        Some(known) => *known,
                        None => {
                            let leaf = self.cell(terms, version, address, bytes, Origin::Joined);
                            self.joined.insert((version, address, bytes), leaf);
                            open.push((edge, leaf, before));
                            leaf
                        }
                    };
                }
                Change::Store { before, address: at, value, when } => {
                    let stored = (terms.width(value) / 8) as u8;
                    let same = at == address && stored == bytes;
                    let distance = if same { Some(0) } else { terms.difference(address, at) };
                    let distance = distance.map(|distance| signed(distance, pointer));
                    let beside = |distance: i128| distance >= i128::from(stored) || distance <= -i128::from(bytes);
                    if distance.is_some_and(beside) {
                        version = before;
                        continue;
                    }
                    let when = terms.given(when, under);
                    match distance {
                        _ if when == Terms::FALSE => {}
                        Some(distance) if distance >= 0 && distance + i128::from(bytes) <= i128::from(stored) => {
                            let part = terms.extract(value, 8 * distance as u16, width);
                            if when == Terms::TRUE {
                                break part;
                            }
                            cases.push((when, part));
                        }
                        Some(_) => break self.bytewise(terms, version, address, bytes, under, open),
                        None => {
                            let other = self.place(terms, at);
                            if !self.apart((place, bytes), (other, stored)) {
                                let overlap = overlap(terms, (address, bytes), (at, stored));
                                let some = terms.both(when, overlap);
                                let any = terms.leaf(width, Origin::Coarse);
                                if stored == bytes {
                                    let equal = terms.equal(address, at);
                                    let hit = terms.both(when, equal);
                                    cases.push((hit, value));
                                }
                                cases.push((some, any));
                            }
                        }
                    }
                    version = before;
                }
            }
        };
        cases.into_iter().rev().fold(last, |value, (when, then)| terms.select(when, then, value))
    }

    /// Byte by byte, where a store gives some of the bytes.
    fn bytewise(
        &mut self,
        terms: &mut Terms,
        version: Version,
        address: Term,
        bytes: u8,
        under: Term,
        open: &mut Vec<(usize, Term, Version)>,
    ) -> Term {
        let mut value = None;
        for index in 0..bytes {
            let offset = terms.number(index.into(), terms.width(address));
            let at = terms.binary(Operation::Add, address, offset);
            let byte = self.resolve_byte(terms, version, at, under, open);
            value = Some(match value {
                Some(low) => terms.concat(byte, low),
                None => byte,
            });
        }
        value.unwrap_or(address)
    }

    /// A joined byte's equation is of that byte: it is put down here, as `load` only knows the whole address.
    fn resolve_byte(
        &mut self,
        terms: &mut Terms,
        version: Version,
        at: Term,
        under: Term,
        open: &mut Vec<(usize, Term, Version)>,
    ) -> Term {
        let mut inner = Vec::new();
        let value = self.resolve(terms, version, at, 1, under, &mut inner);
        let _ = open;
        while let Some((edge, leaf, before)) = inner.pop() {
            let brought = self.resolve(terms, before, at, 1, Terms::TRUE, &mut inner);
            self.equate(edge, leaf, brought);
        }
        value
    }

    /// The leaf for memory that nothing is known about at this version.
    fn cell(&mut self, terms: &mut Terms, version: Version, address: Term, bytes: u8, origin: Origin) -> Term {
        let sum = terms.sum(address);
        let width = terms.width(address);
        let known = self.cells.entry((version, sum.parts.clone())).or_default();
        for (at, size, leaf) in known.iter() {
            let distance = sum.number.wrapping_sub(*at) & mask(width);
            if distance < u128::from(*size) && distance + u128::from(bytes) <= u128::from(*size) {
                return terms.extract(*leaf, 8 * distance as u16, 8 * u16::from(bytes));
            }
        }
        let leaf = terms.leaf(8 * u16::from(bytes), origin);
        known.push((sum.number, bytes, leaf));
        self.all.push(Cell { version, address, bytes, value: leaf });
        leaf
    }

    /// That equal addresses hold equal values, for the cells among `leaves`; true whatever path is taken.
    pub fn consistency(&self, terms: &mut Terms, leaves: &dyn Fn(Term) -> bool) -> Vec<Term> {
        const CELLS: usize = 16;
        let mut by_version: std::collections::BTreeMap<(Version, u8), Vec<&Cell>> = Default::default();
        for cell in self.all.iter().filter(|cell| leaves(cell.value)) {
            by_version.entry((cell.version, cell.bytes)).or_default().push(cell);
        }
        let mut found = Vec::new();
        for cells in by_version.values() {
            for (index, a) in cells.iter().enumerate().take(CELLS) {
                for b in &cells[..index] {
                    let (at, value) = (terms.equal(a.address, b.address), terms.equal(a.value, b.value));
                    let holds = terms.implies(at, value);
                    if holds != Terms::TRUE {
                        found.push(holds);
                    }
                }
            }
        }
        found
    }

    /// The same for the cells from this one on, with all others of their kind.
    pub(crate) fn equal_cells(&self, terms: &mut Terms, from: usize) -> Vec<Term> {
        const CELLS: usize = 100;
        let mut found = Vec::new();
        for (index, a) in self.all.iter().enumerate().skip(from) {
            let alike = |b: &&Cell| b.version == a.version && b.bytes == a.bytes;
            for b in self.all[..index].iter().rev().filter(alike).take(CELLS) {
                let (at, value) = (terms.equal(a.address, b.address), terms.equal(a.value, b.value));
                let holds = terms.implies(at, value);
                if holds != Terms::TRUE {
                    found.push(holds);
                }
            }
        }
        found
    }

    fn place(&mut self, terms: &mut Terms, address: Term) -> Place {
        if let Some(known) = self.places.get(&address) {
            return *known;
        }
        let found = self.find_place(terms, address);
        self.places.insert(address, found);
        found
    }

    fn find_place(&self, terms: &mut Terms, address: Term) -> Place {
        let sum = terms.sum(address);
        let width = terms.width(address);
        match sum.parts.as_slice() {
            [] => return Place::Fixed(sum.number as u64),
            [(term, 1)] if *term == self.stack => return Place::Slot(signed(sum.number, width) as i64),
            _ => {}
        }
        if sum.parts.iter().any(|(term, times)| *term == self.stack && *times == 1) {
            return Place::Stack;
        }
        let foreign = |leaf: u32| match terms.origin(leaf) {
            Origin::Register(_) | Origin::Plain => true,
            Origin::Memory(_) => self.pointers.at_entry || self.pointers.no_escape,
            Origin::Changed | Origin::Joined | Origin::Coarse => self.pointers.no_escape,
            Origin::Start(_) | Origin::Open | Origin::Unknown => false,
        };
        let separate = self.pointers.fresh_stack
            && terms.cone(&[address]).into_iter().all(|term| match terms.shape(term) {
                _ if term == self.stack => false,
                crate::Shape::Leaf(number) => foreign(number),
                _ => true,
            });
        if separate {
            Place::Elsewhere
        } else {
            Place::Anywhere
        }
    }

    /// What the stores from the start to a version may write.
    pub fn touched_since_start(&mut self, terms: &mut Terms, mut version: Version) -> Touched {
        let mut found = Touched::default();
        loop {
            match self.change(version) {
                Change::Start => return found,
                Change::Partly { before, touched, .. } => {
                    found.join(&self.touched[touched]);
                    version = before;
                }
                Change::Store { before, address, value, .. } => {
                    let bytes = terms.width(value) / 8;
                    match self.place(terms, address) {
                        Place::Slot(slot) => found.stack.push((slot, slot.saturating_add(bytes.into()))),
                        Place::Fixed(at) => found.fixed.push((at, at.saturating_add(bytes.into()))),
                        Place::Elsewhere => found.outside_stack = true,
                        Place::Stack | Place::Anywhere => found.anything = true,
                    }
                    version = before;
                }
            }
        }
    }

    /// Whether something else may write there.
    fn is_shared(&self, place: Place, bytes: u8) -> bool {
        match (&self.sharing, place) {
            (_, Place::Slot(_) | Place::Stack) | (Sharing::Exclusive, _) => false,
            (Sharing::StackIsPrivate, _) => true,
            (Sharing::Places(shared), Place::Fixed(at)) => {
                shared.meets(at, at.saturating_add(u64::from(bytes.max(1)) - 1))
            }
            (Sharing::Places(shared), Place::Elsewhere | Place::Anywhere) => {
                !shared.places.is_empty() && (shared.unknown || self.may_share)
            }
        }
    }

    fn apart(&self, (a, a_bytes): (Place, u8), (b, b_bytes): (Place, u8)) -> bool {
        let below = |slot: i64, bytes: u8| slot.saturating_add(i64::from(bytes)) <= 0;
        let fresh = self.pointers.fresh_stack;
        match (a, b) {
            (Place::Slot(slot), Place::Fixed(_)) => fresh && below(slot, a_bytes),
            (Place::Fixed(_), Place::Slot(slot)) => fresh && below(slot, b_bytes),
            (Place::Slot(slot), Place::Elsewhere) => below(slot, a_bytes),
            (Place::Elsewhere, Place::Slot(slot)) => below(slot, b_bytes),
            _ => false,
        }
    }

    fn touches(&self, touched: &Touched, place: Place, bytes: u8) -> bool {
        let fixed = !touched.fixed.is_empty();
        match place {
            _ if touched.anything => true,
            Place::Slot(slot) => {
                let end = slot.saturating_add(i64::from(bytes));
                touched.stack.iter().any(|(from, to)| *from < end && slot < *to)
                    || end > 0 && (touched.outside_stack || fixed)
                    || !self.pointers.fresh_stack && fixed
            }
            Place::Fixed(at) => {
                let end = at.saturating_add(u64::from(bytes));
                touched.outside_stack
                    || touched.fixed.iter().any(|(from, to)| *from < end && at < *to)
                    || touched.stack.iter().any(|(_, to)| !self.pointers.fresh_stack || *to > 0)
            }
            Place::Elsewhere => touched.outside_stack || fixed || touched.stack.iter().any(|(_, to)| *to > 0),
            Place::Stack | Place::Anywhere => !touched.nothing(),
        }
    }
}

/// Whether two ranges of memory have a byte in common.
fn overlap(terms: &mut Terms, a: (Term, u8), b: (Term, u8)) -> Term {
    let width = terms.width(a.0);
    let ahead = terms.binary(Operation::Subtract, a.0, b.0);
    let behind = terms.binary(Operation::Subtract, b.0, a.0);
    let (a_bytes, b_bytes) = (terms.number(a.1.into(), width), terms.number(b.1.into(), width));
    let first = terms.less(ahead, b_bytes);
    let second = terms.less(behind, a_bytes);
    terms.either(first, second)
}
