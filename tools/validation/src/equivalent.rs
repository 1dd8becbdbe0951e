//! Whether a changed instruction still does the same: together with the code behind it, up to the end of its block, in any
//! state of the machine.
//!
//! Both are executed on symbols from the changed instruction on. They do the same if they access the same memory and ports in
//! the same order with the same values, and leave the same values in all registers that may still be read. Most such changes
//! are of bits that nothing looks at: those of a port's number above its 16, say. Any doubt counts as a difference.

use std::collections::BTreeSet;

use wcet_binary::lift::il::{Expression, Flow, Kind, Op, Operand, Register, Value};

use crate::image::{Image, DF, GENERAL, RAX, RDX};
use crate::machine::{arithmetic, unary, uses_vector, WITHOUT_EFFECT};
use crate::solver::{Outcome, Solver};
use crate::term::build::{concat, equal, extract, insert, not, select, zero_extend};
use crate::term::{clear, constant, fresh, Term};

/// Instructions of a block that are looked at, and questions about one change.
const MOST: usize = 64;
const QUESTIONS: u64 = 100;

/// Something that code does besides computing, with the terms that must be equal.
#[derive(Debug, PartialEq, Eq)]
enum Deed {
    Load(u32),
    Store,
    Input(String),
    Output(String),
}

/// What is the same for both: what registers hold at first, and what is read from memory and ports, in order.
struct World {
    registers: Vec<Term>,
    read: Vec<Term>,
}

struct Run<'w> {
    world: &'w mut World,
    registers: Vec<Term>,
    temporaries: Vec<Term>,
    deeds: Vec<(Deed, Vec<Term>)>,
    reads: usize,
    written: BTreeSet<usize>,
    /// Where the block ends.
    end: u64,
}

/// Whether the code of two images does the same from this instruction on, in which they differ.
pub fn is_equivalent(before: &Image<'_>, now: &Image<'_>, address: u64, solver: &mut Solver) -> bool {
    clear();
    solver.restart(QUESTIONS);
    let registers = (0..=DF).map(|at| fresh("register", if at < GENERAL + 2 { 64 } else { 8 })).collect();
    let mut world = World { registers, read: Vec::new() };
    let Some((deeds, registers, written, end)) = Run::of(before, address, &mut world) else { return false };
    let Some((deeds_now, registers_now, written_now, end_now)) = Run::of(now, address, &mut world) else {
        return false;
    };
    let same_kind = |((a, x), (b, y)): (&(Deed, Vec<Term>), &(Deed, Vec<Term>))| a == b && x.len() == y.len();
    if end != end_now || deeds.len() != deeds_now.len() || !deeds.iter().zip(&deeds_now).all(same_kind) {
        return false;
    }
    // Callers may rely on what a function leaves alone.
    if !written_now.is_subset(&written) {
        return false;
    }
    let live = before.live(end) | now.live(end);
    let mut pairs: Vec<(Term, Term)> = Vec::new();
    for ((_, a), (_, b)) in deeds.iter().zip(&deeds_now) {
        pairs.extend(a.iter().copied().zip(b.iter().copied()));
    }
    let held = registers.iter().zip(&registers_now).enumerate();
    pairs.extend(held.filter(|(at, _)| live >> at & 1 != 0).map(|(_, (a, b))| (*a, *b)));
    pairs
        .into_iter()
        .all(|(a, b)| a == b || a.width() == b.width() && matches!(solver.ask(&[not(equal(a, b))]), Ok(Outcome::Never)))
}

type Found = (Vec<(Deed, Vec<Term>)>, Vec<Term>, BTreeSet<usize>, u64);

impl Run<'_> {
    /// What a block does from an address on; none if that is not known.
    fn of(image: &Image<'_>, address: u64, world: &mut World) -> Option<Found> {
        let registers = world.registers.clone();
        let mut run = Run {
            world,
            registers,
            temporaries: Vec::new(),
            deeds: Vec::new(),
            reads: 0,
            written: BTreeSet::new(),
            end: address,
        };
        for _ in 0..MOST {
            let instruction = image.instruction(run.end).ok()?;
            let text = image.text(&instruction);
            let is_skipped = WITHOUT_EFFECT.contains(&instruction.mnemonic.as_str());
            if instruction.kind != Kind::Ordinary && !is_skipped {
                if !run.port(&text) {
                    break;
                }
            } else if instruction.flow != Flow::Next || uses_vector(&text) {
                break;
            } else if !is_skipped {
                run.temporaries.clear();
                instruction.ops.iter().try_for_each(|op| run.op(op))?;
            }
            run.end = instruction.next();
        }
        (run.end != address).then_some((run.deeds, run.registers, run.written, run.end))
    }

    /// The next thing that is read.
    fn read(&mut self, width: u32) -> Option<Term> {
        if self.world.read.len() == self.reads {
            self.world.read.push(fresh("read", width));
        }
        self.reads += 1;
        self.world.read.get(self.reads - 1).copied().filter(|term| term.width() == width)
    }

    /// `in` or `out` with the port's number in `dx`; false for everything else.
    fn port(&mut self, text: &str) -> bool {
        let port = extract(self.registers[RDX], 0, 16);
        let width = |register: &str| match register {
            "al" => Some(8),
            "ax" => Some(16),
            "eax" => Some(32),
            _ => None,
        };
        if let Some(width) = text.strip_prefix("in ").and_then(|rest| rest.strip_suffix(",dx")).and_then(width) {
            let Some(value) = self.read(width) else { return false };
            self.deeds.push((Deed::Input(text.to_string()), vec![port]));
            let all = self.registers[RAX];
            self.registers[RAX] = if width == 32 { zero_extend(value, 64) } else { insert(all, value, 0) };
            self.written.insert(RAX);
            return true;
        }
        let Some(width) = text.strip_prefix("out dx,").and_then(width) else { return false };
        let value = extract(self.registers[RAX], 0, width);
        self.deeds.push((Deed::Output(text.to_string()), vec![port, value]));
        true
    }

    fn value(&self, value: Value) -> Option<Term> {
        let width = u32::from(value.size) * 8;
        if width > 128 {
            return None;
        }
        let found = match value.operand {
            Operand::Constant(number) => return Some(constant(u128::from(number), width)),
            Operand::Temporary(number) => self.temporaries.get(usize::from(number)).copied(),
            Operand::Register(Register(number)) => self.registers.get(usize::from(number)).copied(),
        }?;
        match found.width() {
            has if has == width => Some(found),
            has if has > width => Some(extract(found, 0, width)),
            _ => None,
        }
    }

    fn op(&mut self, op: &Op) -> Option<()> {
        match *op {
            Op::Set { to, from } => {
                let value = self.expression(from, u32::from(to.size) * 8)?;
                match to.operand {
                    Operand::Temporary(number) => {
                        let number = usize::from(number);
                        if self.temporaries.len() <= number {
                            self.temporaries.resize(number + 1, value);
                        }
                        self.temporaries[number] = value;
                    }
                    Operand::Register(Register(number)) => {
                        *self.registers.get_mut(usize::from(number))? = value;
                        self.written.insert(usize::from(number));
                    }
                    Operand::Constant(_) => return None,
                }
            }
            Op::Store { address, from, when: None } => {
                let terms = vec![self.value(address)?, self.value(from)?];
                self.deeds.push((Deed::Store, terms));
            }
            Op::Store { .. } | Op::ClobberMemory => return None,
        }
        Some(())
    }

    fn expression(&mut self, from: Expression, width: u32) -> Option<Term> {
        if width > 128 {
            return None;
        }
        Some(match from {
            Expression::Copy(a) => self.value(a)?,
            Expression::Unary(operation, a) => unary(operation, self.value(a)?, width).ok()?,
            Expression::Binary(operation, a, b) => arithmetic(operation, self.value(a)?, self.value(b)?)?,
            Expression::Extract { from, at } => extract(self.value(from)?, u32::from(at) * 8, width),
            Expression::Insert { into, from, at } => insert(self.value(into)?, self.value(from)?, u32::from(at) * 8),
            Expression::Concat { high, low } => concat(self.value(high)?, self.value(low)?),
            Expression::Select { when, then, otherwise } => {
                let when = self.value(when)?;
                select(not(equal(when, constant(0, when.width()))), self.value(then)?, self.value(otherwise)?)
            }
            Expression::Load { address, when: None } => {
                let address = self.value(address)?;
                self.deeds.push((Deed::Load(width), vec![address]));
                self.read(width)?
            }
            // What an instruction leaves open is no number that two runs have in common.
            Expression::Unknown => fresh("unknown", width),
            Expression::Load { .. } => return None,
        })
    }
}
