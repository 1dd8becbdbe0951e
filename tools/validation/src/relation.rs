//! Relations between places of the machine and locals of the term at a loop's cut: their meaning, and how they are guessed.

use crate::engine::Engine;
use crate::image::{GENERAL, RSP};
use crate::state::{State, Stop};
use crate::syntax::{Condition, Expr, Stmt};
use crate::term::build::{add, concat, equal, extract, less, sub, times, zero_extend};
use crate::term::{constant, fresh, mask, substitute, Term};

/// A place of the machine, or of the term.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Spot {
    Register(usize),
    /// Offset in the stack frame, and bytes.
    Frame(i64, i64),
    /// No place of the machine, but a local of the term.
    Local(usize),
}

/// What a place holds whenever the machine is at the cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// What it held at the entry.
    Same(Term),
    /// A local, cut off or extended.
    Local(usize),
    /// A local in the low 32 bits.
    Low(usize),
    /// A term in which the local stands for a variable.
    Of { local: usize, variable: Term, term: Term },
    /// The same in as many low bits as the term has.
    LowOf { local: usize, variable: Term, term: Term },
    /// A number below this one.
    Below(Term),
    /// In so many low bits: what it held at the entry, and a multiple of what the local has gained since.
    Affine { local: usize, entry: Term, first: Term, times: u128, width: u32 },
}

/// A value in a width: cut off, or extended.
fn resized(value: Term, width: u32) -> Term {
    if value.width() > width {
        extract(value, 0, width)
    } else {
        zero_extend(value, width)
    }
}

impl Relation {
    /// The value, where the relation says all of it.
    pub fn value(&self, locals: &[Term], width: u32) -> Option<Term> {
        match self {
            Relation::Same(term) => Some(*term),
            Relation::Below(_) => None,
            Relation::Local(local) => Some(resized(locals[*local], width)),
            Relation::Low(local) => Some(concat(fresh("high", width - 32), resized(locals[*local], 32))),
            Relation::Of { local, variable, term } => Some(substitute(*term, *variable, locals[*local])),
            Relation::LowOf { local, variable, term } => {
                let low = substitute(*term, *variable, locals[*local]);
                Some(concat(fresh("high", width - low.width()), low))
            }
            Relation::Affine { width: low, .. } => {
                let value = self.low(locals)?;
                Some(if *low == width { value } else { concat(fresh("high", width - low), value) })
            }
        }
    }

    fn low(&self, locals: &[Term]) -> Option<Term> {
        let Relation::Affine { local, entry, first, times: by, width } = self else { return None };
        let gained = sub(locals[*local], *first);
        // A local of fewer bits may have wrapped around: then the multiple says nothing of more bits.
        (gained.width() >= *width).then(|| add(extract(*entry, 0, *width), times(extract(gained, 0, *width), *by)))
    }

    /// That the relation holds of a value and these locals.
    pub fn holds(&self, value: Term, locals: &[Term]) -> Term {
        let width = value.width();
        match self {
            Relation::Low(local) => equal(extract(value, 0, 32), resized(locals[*local], 32)),
            Relation::Below(bound) => less(value, resized(*bound, width)),
            Relation::LowOf { local, variable, term } => {
                let low = substitute(*term, *variable, locals[*local]);
                equal(extract(value, 0, low.width()), low)
            }
            Relation::Affine { width: low, .. } => match self.low(locals) {
                Some(meant) => equal(extract(value, 0, *low), meant),
                None => constant(0, 1),
            },
            _ => match self.value(locals, width) {
                Some(meant) => equal(value, meant),
                None => constant(0, 1),
            },
        }
    }
}

impl Engine<'_> {
    /// A place that moves with a local.
    pub fn find_stride(&mut self, number: usize, spot: Spot, value: Term, locals: &[Term]) {
        let known = &mut self.loops[number];
        let (Some(start), Some(entry)) = (known.start.get(&spot).copied(), known.entry.get(&spot).copied()) else {
            return;
        };
        if known.strided.contains(&spot) {
            return;
        }
        for local in known.modified.clone() {
            let (now, before, first) = (locals[local], known.locals[local], known.first[local]);
            let Some(gained) = sub(now, before).value().filter(|gained| *gained != 0) else { continue };
            let signed = |value: u128, width: u32| ((value << (128 - width)) as i128) >> (128 - width);
            let gained = signed(gained, now.width());
            for width in [64, 32] {
                if width > value.width() || width > now.width() {
                    continue;
                }
                let moved = sub(extract(value, 0, width), extract(start, 0, width)).value();
                let Some(moved) = moved.map(|moved| signed(moved, width)).filter(|moved| *moved != 0) else { continue };
                if moved % gained != 0 {
                    continue;
                }
                let times = (moved / gained) as u128 & mask(width);
                known.added.push((spot, Relation::Affine { local, entry, first, times, width }));
                known.strided.insert(spot);
            }
            // An address that moves with a counter of 32 bits: what the counter says as a number.
            if value.width() == 64 && now.width() == 32 {
                let moved = sub(value, start).value().map(|moved| signed(moved, 64)).filter(|moved| *moved != 0);
                if let Some(moved) = moved.filter(|moved| moved % gained == 0) {
                    let by = (moved / gained) as u128 & mask(64);
                    let variable = fresh("local", 32);
                    let from = times(zero_extend(variable, 64), by);
                    let term = add(sub(entry, times(zero_extend(first, 64), by)), from);
                    known.added.push((spot, Relation::Of { local, variable, term }));
                    known.strided.insert(spot);
                }
            }
        }
    }

    /// Relations with the locals that hold at the entry.
    pub fn guess(
        &mut self,
        entry: &mut State,
        spot: Spot,
        value: Term,
        modified: &[usize],
        out: &mut Vec<(Spot, Relation)>,
    ) -> Result<(), Stop> {
        let width = value.width();
        for &local in modified {
            let now = entry.locals[local];
            if entry.path.always(equal(value, resized(now, width)), &mut self.solver)? {
                out.push((spot, Relation::Local(local)));
            }
            // Of a value that is cut off later, the upper half may be another one in the next iteration.
            if width == 64 && now.width() <= 32 {
                let low = equal(extract(value, 0, 32), resized(now, 32));
                if entry.path.always(low, &mut self.solver)? {
                    out.push((spot, Relation::Low(local)));
                }
            }
            if now.value().is_none() && value.value().is_none() && value != now {
                let variable = fresh("local", now.width());
                let term = substitute(value, now, variable);
                if term != value {
                    out.push((spot, Relation::Of { local, variable, term }));
                }
                // A truth value in a register of which only the lowest byte is set.
                let low = extract(value, 0, 8);
                let term = substitute(low, now, variable);
                if width > 8 && term != low {
                    out.push((spot, Relation::LowOf { local, variable, term }));
                }
            }
        }
        Ok(())
    }
}

/// The locals that a statement compares, each with what it is compared with.
pub fn compared<'s>(stmt: &'s Stmt, out: &mut Vec<(usize, &'s Expr)>) {
    fn in_condition<'s>(condition: &'s Condition, out: &mut Vec<(usize, &'s Expr)>) {
        match condition {
            Condition::Compare(_, Expr::Local(local), bound) | Condition::Compare(_, bound, Expr::Local(local)) => {
                out.push((*local, bound));
            }
            Condition::And(a, b) | Condition::Or(a, b) => {
                in_condition(a, out);
                in_condition(b, out);
            }
            Condition::Not(a) => in_condition(a, out),
            Condition::Compare(..) | Condition::NonZero(_) => {}
        }
    }
    match stmt {
        Stmt::If(condition, a, b) => {
            in_condition(condition, out);
            compared(a, out);
            compared(b, out);
        }
        Stmt::While(condition, body) => {
            in_condition(condition, out);
            compared(body, out);
        }
        Stmt::Seq(a, b) => {
            compared(a, out);
            compared(b, out);
        }
        _ => {}
    }
}

/// General registers but the stack pointer, and what the stack frame holds.
pub fn spots(state: &State) -> Vec<Spot> {
    let registers = (0..GENERAL).filter(|number| *number != RSP).map(Spot::Register);
    let frame = state.frame.held.iter().map(|(at, term)| Spot::Frame(*at, i64::from(term.width() / 8)));
    registers.chain(frame).collect()
}

pub fn held(state: &mut State, spot: Spot) -> Term {
    match spot {
        Spot::Register(number) => state.registers[number],
        Spot::Frame(at, bytes) => state.frame.load(at, bytes),
        Spot::Local(local) => state.locals[local],
    }
}

pub fn put(state: &mut State, spot: Spot, value: Term) {
    match spot {
        Spot::Register(number) => state.registers[number] = value,
        Spot::Frame(at, _) => state.frame.store(at, value),
        Spot::Local(local) => state.locals[local] = value,
    }
}
