//! Counters of a loop, observed while it was executed iteration by iteration.

use wcet_binary::lift::evaluate::{mask, signed};

use crate::execute::Engine;
use crate::memory::Memory;
use crate::state::State;
use crate::term::{Root, Term};
use crate::values::{Base, Counter, Range, Step};

/// States at a header: of the first, the second and the last iteration.
pub(crate) struct Sample {
    first: Vec<Term>,
    second: Option<Vec<Term>>,
    last: Vec<Term>,
    memory: (Memory, Option<Memory>),
    iterations: u64,
}

impl Sample {
    pub fn new(entry: &State) -> Sample {
        let first = entry.registers.clone();
        Sample { last: first.clone(), first, second: None, memory: (entry.memory.clone(), None), iterations: 1 }
    }

    pub fn push(&mut self, state: &State) {
        if self.second.is_none() {
            self.second = Some(state.registers.clone());
            self.memory.1 = Some(state.memory.clone());
        }
        self.last.clone_from(&state.registers);
        self.iterations += 1;
    }

    /// What changed by the same number all the time.
    pub fn counters(&self, engine: &Engine<'_>) -> Vec<Counter> {
        let Some(second) = &self.second else { return Vec::new() };
        let mut found = Vec::new();
        let mut add = |place: String, first: &Term, second: &Term, last: Option<&Term>| {
            if first.number() != second.number() || first.size > 8 {
                return;
            }
            let step = signed(second.offset.wrapping_sub(first.offset) & mask(first.size), first.size);
            let end = first.offset.wrapping_add((step as u128).wrapping_mul((self.iterations - 1).into()));
            let end = end & mask(first.size);
            let regular = last.is_none_or(|last| last.number() == first.number() && last.offset == end);
            if step != 0 && regular {
                let base = match &first.symbol {
                    None => Base::Zero,
                    Some(symbol) if symbol.root == Root::Stack && symbol.set.as_single() == Some(0) => Base::Stack,
                    Some(symbol) => Base::Unknown(symbol.number as u32),
                };
                let range = |low: u128, high: u128, stride: u64| Range {
                    base,
                    low: low as u64,
                    high: high as u64,
                    stride,
                    size: first.size,
                };
                found.push(Counter {
                    place,
                    first: range(first.offset, first.offset, 0),
                    all: range(first.offset, end, step.unsigned_abs() as u64),
                    step: Step::Add(step as i64),
                });
            }
        };
        for register in engine.registers.all().filter(|one| !engine.registers.is_flag(*one)) {
            let index = usize::from(register.0);
            let name = engine.registers.name(register).to_lowercase();
            add(name, &self.first[index], &second[index], Some(&self.last[index]));
        }
        if let Some(memory) = &self.memory.1 {
            for (root, name) in [(Root::Stack, "stack"), (Root::Zero, "memory")] {
                let (Some(before), Some(after)) = (self.memory.0.tree(root), memory.tree(root)) else { continue };
                before.join(
                    after,
                    true,
                    &mut |key, a, b| {
                        for cell in a.iter() {
                            let other = b.iter().find(|one| one.at == cell.at && one.term.size == cell.term.size);
                            let at = (key << 3) + u64::from(cell.at);
                            let place = match root {
                                Root::Stack => format!("stack{:+#x}", (at ^ 1 << 63) as i64),
                                _ => format!("{name} at {at:#x}"),
                            };
                            if let Some(other) = other {
                                add(place, &cell.term, &other.term, None);
                            }
                        }
                        None
                    },
                    &mut |_, _, _| None,
                );
            }
        }
        found
    }
}
