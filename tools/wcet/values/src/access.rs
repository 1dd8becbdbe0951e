//! Loads and stores: what memory gives, and what of it may have changed.

use wcet_binary::lift::evaluate::mask;

use crate::memory::{position, positions, Found};
use crate::record::is_known;
use crate::set::Set;
use crate::state::{is_of_stack, State, World};
use crate::term::{Origin, Root, Term};
use crate::{multiples, Word};

/// Values at more addresses than these are not looked at one by one.
const MOST: u128 = 2048;

impl State {
    /// What memory holds at an address.
    pub fn load(&mut self, world: &World<'_>, address: &Term, size: u8) -> Term {
        let (root, set) = self.address(address, world.pointer);
        if size > 16 {
            return world.symbols.unknown(size);
        }
        let Some(offset) = set.as_single() else { return self.load_somewhere(world, address, size) };
        let at = position(root, offset, world.pointer);
        if root == Root::Zero {
            if let Some(number) = world.program.constant(at, size) {
                return Term::constant(number.into(), size);
            }
        }
        let own = world.is_own(root, offset, size);
        if !own && world.may_be_shared(root, at, u64::from(size), &self.numbers(address)) {
            return world.symbols.unknown(size);
        }
        match self.memory.read(root, at, size, world.program) {
            Found::Term(term) => term,
            Found::Part(term, from) => self.extract(world, &term, from, size),
            Found::Unknown => {
                // A second read gives the same.
                let term = if own { world.own_word(root, offset, size) } else { world.symbols.unknown(size) };
                if size <= 8 {
                    self.memory.write(root, at, size, Some(&term), world.program);
                }
                term
            }
        }
    }

    fn load_somewhere(&mut self, world: &World<'_>, address: &Term, size: u8) -> Term {
        let ((root, set), numbers) = (self.address(address, world.pointer), self.numbers(address));
        let unknown = |state: &mut State| {
            state.escaped |= root == Root::Stack;
            world.symbols.unknown(size)
        };
        if set.others() >= MOST {
            return unknown(self);
        }
        let mut all: Option<(Root, Set)> = None;
        for index in 0..=set.others() {
            let at = position(root, set.low.wrapping_add(index * set.stride) & mask(set.size), world.pointer);
            let constant = if root == Root::Zero { world.program.constant(at, size) } else { None };
            let found = match constant {
                Some(number) => (Root::Zero, Set::single(number.into(), size)),
                None if world.may_be_shared(root, at, u64::from(size), &numbers) => return unknown(self),
                None => match self.memory.read(root, at, size, world.program) {
                    Found::Term(term) => self.range(&term),
                    _ => return unknown(self),
                },
            };
            all = match all {
                None => Some(found),
                Some((root, set)) if root == found.0 => Some((root, set.join(&found.1))),
                Some(_) => return unknown(self),
            };
            if all.is_some_and(|(root, set)| root == Root::Zero && set.is_full()) {
                break;
            }
        }
        match all {
            Some((root, set)) => world.symbols.make(root, set, Origin::Opaque),
            None => unknown(self),
        }
    }

    pub fn store(&mut self, world: &World<'_>, address: &Term, term: &Term, sure: bool) {
        let (root, set) = self.address(address, world.pointer);
        let size = term.size;
        self.aliases(world, root, &set, address);
        let single = set.as_single();
        let offset = single.map(|offset| position(root, offset, world.pointer) & 7);
        let whole = offset.is_some_and(|offset| offset + u64::from(size) <= 8);
        if !(root == Root::Stack && whole && sure) {
            // An address of the stack that is kept elsewhere may reach any pointer.
            self.hide(term);
        }
        match single {
            Some(offset) if sure => {
                let at = position(root, offset, world.pointer);
                let own = world.is_own(root, offset, size);
                let trackable =
                    size <= 16 && (own || !world.may_be_shared(root, at, size.into(), &self.numbers(address)));
                self.memory.write(root, at, size, trackable.then_some(term), world.program);
            }
            _ => {
                let Some((low, high)) = positions(root, &set) else { return self.forget(root) };
                let stride = set.stride as u64;
                let mut memory = std::mem::take(&mut self.memory);
                let mut lost = false;
                let mut merge = |old: &Term, exact: bool| {
                    if old == term && exact {
                        return Some(old.clone());
                    }
                    let ((root, a), (other, b)) = (self.range(old), self.range(term));
                    if !exact {
                        lost |= root == Root::Stack;
                        return None;
                    }
                    let joined = a.join(&b);
                    if root != other || root == Root::Zero && joined.is_full() {
                        lost |= root == Root::Stack;
                        return None;
                    }
                    Some(world.symbols.make(root, joined, Origin::Opaque))
                };
                let done = memory.write_somewhere(root, (low, high, stride), size, world.program, &mut merge);
                self.memory = memory;
                self.escaped |= lost;
                if !done {
                    self.forget(root);
                }
            }
        }
    }

    /// Everything at a root may have changed.
    fn forget(&mut self, root: Root) {
        match root {
            Root::Zero => self.memory.forget_absolute(),
            Root::Stack => {
                self.memory.stack = Default::default();
                self.escaped = true;
            }
            Root::Symbol(number) => self.memory.others.retain(|(other, _)| *other != number),
        }
    }

    /// Everything behind unknown bases may have changed, except behind this one, and what no other store changes.
    fn forget_others(&mut self, world: &World<'_>, but: Option<u64>) {
        let own = world.own.as_ref().filter(|(term, _)| term.number() != but && !self.memory.others.is_empty());
        let Some((number, own)) = own.and_then(|(term, own)| Some((term.number()?, own))) else {
            return self.memory.forget_others(but);
        };
        let root = Root::Symbol(number);
        let read = |word: &Word| match self.memory.read(
            root,
            position(root, word.at.into(), world.pointer),
            word.size,
            world.program,
        ) {
            Found::Term(term) => Some((word.at, term)),
            _ => None,
        };
        let kept: Vec<(u64, Term)> = own.words.iter().filter_map(read).collect();
        self.memory.forget_others(but);
        for (at, term) in kept {
            self.memory.write(root, position(root, at.into(), world.pointer), term.size, Some(&term), world.program);
        }
    }

    /// A store at a root changes what other roots may reach too.
    fn aliases(&mut self, world: &World<'_>, root: Root, set: &Set, address: &Term) {
        match root {
            Root::Zero => {
                self.forget_others(world, None);
                // Not in any one object: it may be anywhere.
                if set.others() > 0 && !world.is_mapped(set) {
                    self.forget_stack_of_others();
                }
            }
            Root::Stack => {
                if self.escaped || set.signed().1 >= 0 {
                    self.forget_others(world, None);
                }
            }
            Root::Symbol(number) => {
                self.forget_others(world, Some(number));
                let bounds = self.numbers(address);
                let reach = bounds.unsigned();
                let elsewhere = bounds.is_straight()
                    && world.program.segments().iter().filter(|one| one.permissions.write).all(|one| {
                        u128::from(one.address) > reach.1 + 64 || u128::from(one.address + one.size) <= reach.0
                    });
                if !elsewhere {
                    self.memory.forget_absolute();
                }
                self.forget_stack_of_others();
            }
        }
    }

    /// What a pointer leads to may have changed: on the stack what the callers put there, which is theirs; all, if an
    /// address of the region's own part is where it is not seen.
    fn forget_stack_of_others(&mut self) {
        if self.escaped {
            self.memory.stack = Default::default();
            return;
        }
        let mut lost = false;
        let mut own = |key: u64, slot: &crate::memory::Slot| {
            if key < 1 << 60 {
                return crate::patricia::Kept::Same;
            }
            lost |= slot.iter().any(|cell| is_of_stack(&cell.term));
            crate::patricia::Kept::Gone
        };
        self.memory.stack = self.memory.stack.filter(&mut own);
        self.escaped |= lost;
    }

    /// Any writable memory may have changed, except what is the region's own.
    pub fn clobber(&mut self) {
        self.memory.forget_absolute();
        self.memory.forget_others(None);
        if self.escaped {
            self.memory.stack = Default::default();
        }
    }
}

impl World<'_> {
    /// Whether so many bytes at a distance from a root are part of what the processor has of its own.
    fn is_own(&self, root: Root, offset: u128, size: u8) -> bool {
        let Root::Symbol(number) = root else { return false };
        let inside = |term: &Term, bytes: u64| {
            term.number() == Some(number) && offset.saturating_add(size.into()) <= bytes.into()
        };
        self.own.as_ref().is_some_and(|(term, own)| inside(term, own.bytes))
            || self.leads.as_ref().is_some_and(|(term, leads)| inside(term, leads.bytes))
    }

    /// What stands there, if that is all one knows.
    fn own_word(&self, root: Root, offset: u128, size: u8) -> Term {
        let own = self.own.as_ref().and_then(|(term, _)| term.number());
        if own.map(Root::Symbol) != Some(root) {
            return self.symbols.unknown(size);
        }
        let words = self.own.iter().flat_map(|(_, own)| &own.words);
        let mut word = words.filter(|word| u128::from(word.at) == offset && word.size == size);
        word.next().map_or_else(
            || self.symbols.unknown(size),
            |word| self.symbols.make(Root::Zero, multiples(word.multiple, word.below, size), Origin::Opaque),
        )
    }

    pub fn is_shared(&self, at: u64, size: u64) -> bool {
        self.shared.meets(at, at.saturating_add(size.max(1) - 1))
    }

    /// The same of an address at a root, of which these are the numbers it may be.
    pub fn may_be_shared(&self, root: Root, at: u64, size: u64, numbers: &Set) -> bool {
        match root {
            Root::Zero => self.is_shared(at, size),
            Root::Stack => false,
            Root::Symbol(_) => {
                let ((low, high), last) = (numbers.unsigned(), u128::from(u64::MAX));
                let meets = self.shared.meets(low as u64, (high + u128::from(size.max(1)) - 1).min(last) as u64);
                meets && (self.shared.unknown || is_known(numbers))
            }
        }
    }

    /// Whether all addresses of a set are in one segment.
    fn is_mapped(&self, set: &Set) -> bool {
        let (low, high) = set.unsigned();
        self.program
            .segments()
            .iter()
            .any(|one| u128::from(one.address) <= low && high < u128::from(one.address) + u128::from(one.size))
    }
}
