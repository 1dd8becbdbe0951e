//! What the machine reads before the term does.
//!
//! A scalar that the term does not access may be another CPU's: what the machine reads of it is any value. The machine may read
//! it before a loop, and the term in the loop. If nothing lies between the two at which others may change memory, the scalar was
//! the term's when the machine read it: then the value is what memory held. The term has to read it for that: until it does, and
//! on paths on which it does not, the value stays any.

use crate::state::State;
use crate::term::{fresh, Term};

/// A scalar that the machine has read and the term had not, since others may last have changed memory: the value that was read,
/// and what memory held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Early {
    pub cells: usize,
    pub flat: Term,
    pub value: Term,
    pub held: Term,
}

impl Early {
    pub fn terms(&mut self) -> [&mut Term; 3] {
        [&mut self.flat, &mut self.value, &mut self.held]
    }
}

/// The value of a scalar that the term has not accessed; note is taken of it. `held`: what memory holds.
pub fn read_early(state: &mut State, cells: usize, flat: Term, held: Term) -> Term {
    let value = fresh("others", held.width());
    state.early.push(Early { cells, flat, value, held });
    value
}

/// What is noted in both of two states, in the words of their join. `known`: the word for a term of each, if there is one.
pub fn joined(a: &[Early], b: &[Early], known: &dyn Fn(Term, Term) -> Option<Term>) -> Vec<Early> {
    let both = |mine: &Early, theirs: &Early| {
        let (flat, value) = (known(mine.flat, theirs.flat)?, known(mine.value, theirs.value)?);
        Some(Early { cells: mine.cells, flat, value, held: known(mine.held, theirs.held)? })
    };
    let of = |mine: &Early| b.iter().filter(|one| one.cells == mine.cells).find_map(|theirs| both(mine, theirs));
    a.iter().filter_map(of).collect()
}
