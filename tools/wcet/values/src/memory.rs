//! What memory holds: cells of up to 8 bytes, apart for absolute addresses, the stack, and each unknown base.
//!
//! An address is a root and an offset. Slots of 8 bytes hold the cells; bytes of a slot that no cell covers are not
//! known. Where a slot is missing, nothing is known, or, as long as `loaded`, what the file says.

use std::rc::Rc;

use wcet_binary::load::Program;

use crate::patricia::{Kept, Tree};
use crate::set::Set;
use crate::term::{Root, Term};

/// Most slots that one store to a range of addresses goes through; beyond it everything is forgotten.
const WIDEST: u64 = 1 << 16;
/// Unknown bases whose memory is remembered.
const BASES: usize = 16;

#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// First byte in its slot.
    pub at: u8,
    pub term: Term,
}

pub(crate) type Slot = Rc<[Cell]>;

#[derive(Debug, Clone, Default)]
pub(crate) struct Memory {
    pub absolute: Tree<Slot>,
    pub stack: Tree<Slot>,
    pub others: Vec<(u64, Tree<Slot>)>,
    /// Absolute memory without slots is as in the file.
    pub loaded: bool,
}

/// What is found at an address.
pub(crate) enum Found {
    Term(Term),
    /// The bytes of a term from this byte on.
    Part(Term, u8),
    Unknown,
}

/// Offsets of `size` bytes as keys, in order: those from a base are signed.
pub(crate) fn position(root: Root, offset: u128, size: u8) -> u64 {
    match root {
        Root::Zero => offset as u64,
        _ => wcet_binary::lift::evaluate::signed(offset, size) as u64 ^ 1 << 63,
    }
}

/// The first and the last position of a set of offsets of pointer size; None if it goes through the ends.
pub(crate) fn positions(root: Root, set: &Set) -> Option<(u64, u64)> {
    match root {
        Root::Zero => set.is_straight().then_some((set.low as u64, set.high as u64)),
        _ => {
            let (low, high) = set.signed();
            let sign = |number| wcet_binary::lift::evaluate::signed(number, set.size);
            let whole = sign(set.low) == low && sign(set.high) == high;
            whole.then(|| (position(root, low as u128, set.size), position(root, high as u128, set.size)))
        }
    }
}

pub(crate) fn bytes_of(program: &Program, position: u64, size: u8) -> Option<u128> {
    let segments = program.segments();
    let index = segments.partition_point(|segment| segment.address <= position);
    let segment = segments.get(index.checked_sub(1)?)?;
    let offset = position - segment.address;
    if offset.checked_add(size.into())? > segment.size {
        return None;
    }
    let byte = |index: u64| usize::try_from(offset + index).ok().and_then(|at| segment.bytes.get(at)).copied();
    Some((0..u64::from(size)).rev().fold(0, |number, index| number << 8 | u128::from(byte(index).unwrap_or(0))))
}

/// Number of bytes from `position` to the end of its slot.
fn room(position: u64) -> u8 {
    8 - (position & 7) as u8
}

fn part_of_constant(term: &Term, from: u8, size: u8) -> Option<Term> {
    Some(Term::constant(term.as_constant()? >> (8 * u32::from(from)), size))
}

impl Memory {
    pub fn tree(&self, root: Root) -> Option<&Tree<Slot>> {
        match root {
            Root::Zero => Some(&self.absolute),
            Root::Stack => Some(&self.stack),
            Root::Symbol(number) => self.others.iter().find(|(other, _)| *other == number).map(|(_, tree)| tree),
        }
    }

    fn tree_mut(&mut self, root: Root) -> &mut Tree<Slot> {
        match root {
            Root::Zero => &mut self.absolute,
            Root::Stack => &mut self.stack,
            Root::Symbol(number) => {
                let index = self.others.iter().position(|(other, _)| *other == number).unwrap_or_else(|| {
                    if self.others.len() >= BASES {
                        self.others.remove(0);
                    }
                    self.others.push((number, Tree::default()));
                    self.others.len() - 1
                });
                &mut self.others[index].1
            }
        }
    }

    fn initial<'p>(&self, root: Root, program: &'p Program) -> Option<&'p Program> {
        (root == Root::Zero && self.loaded).then_some(program)
    }

    pub fn read(&self, root: Root, position: u64, size: u8, program: &Program) -> Found {
        let Some(last) = position.checked_add(u64::from(size) - 1) else { return Found::Unknown };
        let Some(tree) = self.tree(root) else { return Found::Unknown };
        let initial = self.initial(root, program);
        if size <= room(position) {
            let Some(slot) = tree.get(position >> 3) else {
                let number = initial.and_then(|program| bytes_of(program, position, size));
                return number.map_or(Found::Unknown, |number| Found::Term(Term::constant(number, size)));
            };
            let at = (position & 7) as u8;
            let around = |cell: &&Cell| cell.at <= at && at + size <= cell.at + cell.term.size;
            if let Some(cell) = slot.iter().find(around) {
                if cell.at == at && cell.term.size == size {
                    return Found::Term(cell.term.clone());
                }
                return match part_of_constant(&cell.term, at - cell.at, size) {
                    Some(term) => Found::Term(term),
                    None => Found::Part(cell.term.clone(), at - cell.at),
                };
            }
        }
        if size > 16 {
            return Found::Unknown;
        }
        // Byte by byte, where all are known.
        let mut number = 0u128;
        for at in (position..=last).rev() {
            let byte = match tree.get(at >> 3) {
                None => initial.and_then(|program| bytes_of(program, at, 1)),
                Some(slot) => slot.iter().find_map(|cell| {
                    let from = ((at & 7) as u8).checked_sub(cell.at).filter(|from| *from < cell.term.size)?;
                    Some(cell.term.as_constant()? >> (8 * u32::from(from)) & 0xff)
                }),
            };
            let Some(byte) = byte else { return Found::Unknown };
            number = number << 8 | byte;
        }
        Found::Term(Term::constant(number, size))
    }

    /// The cells of a slot as they stand; of one that is missing, from the file.
    fn cells(&self, root: Root, key: u64, program: &Program) -> Vec<Cell> {
        match self.tree(root).and_then(|tree| tree.get(key)) {
            Some(slot) => slot.to_vec(),
            None => {
                let number = self.initial(root, program).and_then(|program| bytes_of(program, key << 3, 8));
                number.map(|number| Cell { at: 0, term: Term::constant(number, 8) }).into_iter().collect()
            }
        }
    }

    /// Writes `term`; None: something that is not known.
    pub fn write(&mut self, root: Root, position: u64, size: u8, term: Option<&Term>, program: &Program) {
        let mut done = 0;
        while done < size {
            let Some(here) = position.checked_add(done.into()) else { return };
            let count = room(here).min(size - done);
            let piece = match term {
                Some(term) if count == size => Some(term.clone()),
                Some(term) if size <= 16 => part_of_constant(term, done, count),
                _ => None,
            };
            let at = (here & 7) as u8;
            let mut cells = clear(self.cells(root, here >> 3, program), at, count);
            cells.extend(piece.map(|term| Cell { at, term }));
            self.tree_mut(root).insert(here >> 3, cells.into());
            done += count;
        }
    }

    /// Something may be written at any of the positions from `low` to `high` by `stride`. `merge` gives what a cell
    /// then holds that the write may hit, exactly or not; None for unknown.
    pub fn write_somewhere(
        &mut self,
        root: Root,
        (low, high, stride): (u64, u64, u64),
        size: u8,
        program: &Program,
        merge: &mut impl FnMut(&Term, bool) -> Option<Term>,
    ) -> bool {
        let (first, last) = (low >> 3, high.saturating_add(u64::from(size) - 1) >> 3);
        if self.initial(root, program).is_some() {
            if last - first >= WIDEST {
                return false;
            }
            for key in first..=last {
                if self.absolute.get(key).is_none() {
                    let Some(number) = bytes_of(program, key << 3, 8) else {
                        self.absolute.insert(key, Rc::new([]));
                        continue;
                    };
                    let pieces = if size.is_power_of_two() && size < 8 { 8 / size } else { 1 };
                    let width = 8 / pieces;
                    let piece = |index: u8| Cell {
                        at: index * width,
                        term: Term::constant(number >> (8 * u32::from(index * width)), width),
                    };
                    self.absolute.insert(key, (0..pieces).map(piece).collect());
                }
            }
        }
        let stride = stride.max(1);
        let mut change = |key: u64, slot: &Slot| {
            if key < first || key > last {
                return Kept::Same;
            }
            let mut changed = false;
            let mut cells = Vec::new();
            for cell in slot.iter() {
                let (from, to) = ((key << 3) + u64::from(cell.at), (key << 3) + u64::from(cell.at + cell.term.size));
                // The first write that ends behind the cell's first byte.
                let least = (from + 1).saturating_sub(size.into()).max(low);
                let write = (least - low).div_ceil(stride).saturating_mul(stride).saturating_add(low);
                if write > high || write >= to {
                    cells.push(cell.clone());
                    continue;
                }
                let exact = write == from && cell.term.size == size && write.saturating_add(stride) >= to;
                let merged = merge(&cell.term, exact);
                match merged {
                    Some(term) if term == cell.term => cells.push(cell.clone()),
                    Some(term) => {
                        changed = true;
                        cells.push(Cell { at: cell.at, term });
                    }
                    None => changed = true,
                }
            }
            if changed {
                Kept::New(cells.into())
            } else {
                Kept::Same
            }
        };
        let tree = self.tree_mut(root);
        *tree = tree.filter(&mut change);
        true
    }

    /// Everything at absolute addresses may have changed.
    pub fn forget_absolute(&mut self) {
        self.absolute = Tree::default();
        self.loaded = false;
    }

    /// Everything behind unknown bases may have changed, except behind this one.
    pub fn forget_others(&mut self, but: Option<u64>) {
        self.others.retain(|(other, _)| Some(*other) == but);
    }
}

/// The cells without the bytes from `at` on. Of constants the rest stays.
fn clear(cells: Vec<Cell>, at: u8, count: u8) -> Vec<Cell> {
    let mut left = Vec::with_capacity(cells.len() + 2);
    for cell in cells {
        let (from, to) = (cell.at, cell.at + cell.term.size);
        if to <= at || at + count <= from {
            left.push(cell);
            continue;
        }
        for (from, to) in [(from, at), (at + count, to)] {
            if from < to {
                let term = part_of_constant(&cell.term, from - cell.at, to - from);
                left.extend(term.map(|term| Cell { at: from, term }));
            }
        }
    }
    left
}
