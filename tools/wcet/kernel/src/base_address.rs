//! The lattice of base addresses: a constant, or one plus an unknown number.

use std::collections::BTreeSet;

use wcet_binary::lift::evaluate::mask;
use wcet_binary::lift::il::Register;

/// What is known of a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Form {
    /// Bottom: no value reaches this point.
    Any,
    /// The stack pointer at the function's entry, plus a number.
    Stack(i64),
    /// What the register held at the function's entry: not known.
    Initial(Register),
    /// One of these, to each of which a number that is not known is added if that is said.
    Numbers(BTreeSet<(u64, bool)>),
    /// The first, or more by any number of steps.
    Steps { from: u64, by: u64 },
    /// Of its lowest bytes, so many, this; of the others nothing.
    Low(Box<Form>, u8),
}

/// More are taken together.
const NUMBERS: usize = 4;
/// Smaller numbers are no addresses.
const SMALL: u64 = 1 << 20;

impl Form {
    pub(crate) fn number(number: u64) -> Form {
        Form::Numbers(BTreeSet::from([(number, false)]))
    }

    pub(crate) fn unknown() -> Form {
        Form::Numbers(BTreeSet::from([(0, true)]))
    }

    pub(crate) fn exact(&self) -> Option<u64> {
        match self {
            Form::Numbers(all) if all.len() == 1 => all.first().filter(|(_, open)| !open).map(|(number, _)| *number),
            _ => None,
        }
    }

    /// For sums: what a register held is not known.
    pub(crate) fn opened(&self) -> Form {
        match self {
            Form::Initial(_) => Form::unknown(),
            _ => self.clone(),
        }
    }

    /// Constants, and whether what is not known is added; None if it may be anything.
    pub(crate) fn constants(&self) -> Option<BTreeSet<(u64, bool)>> {
        match self {
            Form::Any | Form::Stack(_) | Form::Low(..) => None,
            Form::Initial(_) => Form::unknown().constants(),
            Form::Numbers(all) => Some(all.clone()),
            Form::Steps { from, .. } => Some(BTreeSet::from([(*from, true)])),
        }
    }

    pub(crate) fn join(&self, other: &Form) -> Form {
        match (self, other) {
            _ if self == other => self.clone(),
            (Form::Initial(_), _) | (_, Form::Initial(_)) => self.opened().join(&other.opened()),
            (Form::Numbers(some), Form::Numbers(others)) => {
                let all: BTreeSet<(u64, bool)> = some.union(others).copied().collect();
                if all.len() <= NUMBERS {
                    Form::Numbers(all)
                } else {
                    progression(&all)
                }
            }
            (Form::Steps { from, by }, Form::Steps { from: other, by: step }) if by == step => {
                steps(*from, *by, *other, false)
            }
            (Form::Steps { from, by }, Form::Numbers(all)) | (Form::Numbers(all), Form::Steps { from, by }) => {
                let first = Form::Steps { from: *from, by: *by };
                all.iter().fold(first, |form, (number, open)| match form {
                    Form::Steps { from, by } => steps(from, by, *number, *open),
                    other => other,
                })
            }
            _ => Form::Any,
        }
    }

    /// Each constant changed, where what is not known stays that.
    pub(crate) fn each(&self, change: impl Fn(u64) -> u64) -> Form {
        match self {
            Form::Numbers(all) => Form::Numbers(all.iter().map(|(number, open)| (change(*number), *open)).collect()),
            Form::Steps { from, by } => Form::Steps { from: change(*from), by: *by },
            Form::Initial(_) => self.opened().each(change),
            Form::Any | Form::Stack(_) | Form::Low(..) => Form::Any,
        }
    }

    pub(crate) fn plus(&self, other: &Form) -> Form {
        match (self, other) {
            (Form::Initial(_), _) | (_, Form::Initial(_)) => self.opened().plus(&other.opened()),
            (Form::Stack(at), number) | (number, Form::Stack(at)) => {
                number.exact().map_or(Form::Any, |number| Form::Stack(at.wrapping_add(number as i64)))
            }
            (Form::Numbers(_), Form::Steps { .. }) => other.plus(self),
            (Form::Steps { .. }, _) if other.exact().is_some() => {
                let number = other.exact().unwrap_or(0);
                self.each(|from| from.wrapping_add(number))
            }
            (Form::Steps { from, .. }, Form::Numbers(_) | Form::Steps { .. }) => {
                Form::Numbers(BTreeSet::from([(*from, true)])).plus(other)
            }
            (Form::Numbers(some), Form::Numbers(others)) => {
                let pairs = some.iter().flat_map(|one| others.iter().map(move |two| (one, two)));
                let all: BTreeSet<(u64, bool)> = pairs.map(|(a, b)| (a.0.wrapping_add(b.0), a.1 || b.1)).collect();
                if all.len() <= NUMBERS {
                    Form::Numbers(all)
                } else {
                    Form::Any
                }
            }
            _ => Form::Any,
        }
    }

    pub(crate) fn times(&self, factor: u64) -> Form {
        match self {
            Form::Steps { from, by } => Form::Steps { from: from.wrapping_mul(factor), by: by.wrapping_mul(factor) },
            _ => self.each(|number| number.wrapping_mul(factor)),
        }
    }

    pub(crate) fn cut(self, size: u8) -> Form {
        match &self {
            _ if size >= 8 => self,
            Form::Low(form, known) if size <= *known => form.clone().cut(size),
            Form::Stack(_) | Form::Low(..) => Form::Any,
            _ => self.each(|number| number & mask(size) as u64),
        }
    }
}

/// Steps with one more member, or with more steps from it on.
fn steps(from: u64, by: u64, other: u64, open: bool) -> Form {
    let fits = by != 0 && from.wrapping_sub(other) % by == 0 && !open;
    match other {
        _ if !fits => Form::Any,
        _ if other >= from && (other < SMALL) == (from < SMALL) => Form::Steps { from, by },
        // Downwards only numbers that end with 0 go.
        _ if other < from && from < SMALL => Form::Steps { from: from % by, by },
        _ => Form::Any,
    }
}

/// Numbers at equal distances.
fn progression(all: &BTreeSet<(u64, bool)>) -> Form {
    let numbers: Vec<u64> = all.iter().map(|(number, _)| *number).collect();
    let by = numbers[1].wrapping_sub(numbers[0]);
    let even = numbers.windows(2).all(|pair| pair[1].wrapping_sub(pair[0]) == by);
    if by == 0 || !even || all.iter().any(|(_, open)| *open) {
        return Form::Any;
    }
    Form::Steps { from: numbers[0], by }
}
