//! Whether a changed instruction still does the same: together with the code behind it, up to the end of its block, in any
//! state of the machine.
//!
//! Both are executed on symbols from the changed instruction on. They do the same if they access the same memory and ports in
//! the same order with the same values, and leave the same values in all registers that may still be read. Most such changes
//! are of bits that nothing looks at: those of a port's number above its 16, say. Any doubt counts as a difference.

use std::collections::BTreeSet;

use wcet_binary::lift::il::{self, Expression, Flow, Op, Operand, Register, Value};

use crate::image::{Image, DF, GENERAL, RAX, RDX};
use crate::machine::{arithmetic, unary, uses_vector, WITHOUT_EFFECT};
use crate::solver::{Outcome, Solver};
use crate::term::build::{concat, equal, extract, insert, not, select, zero_extend};
use crate::term::{clear, constant, fresh, Term};

/// Instructions of a block that are looked at, and questions about one change.
const MOST: usize = 64;
const QUESTIONS: u64 = 100;

/// Something that code does besides computing.
#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Load(u32),
    Store,
    Input(String),
    Output(String),
}

/// The terms that must be equal: address and value.
struct Deed {
    kind: Kind,
    terms: Vec<Term>,
}

/// What is the same for both: what registers hold at first, and what is read from memory and ports, in order.
struct World {
    registers: Vec<Term>,
    read: Vec<Term>,
}

/// What a block does.
struct Done {
    deeds: Vec<Deed>,
    registers: Vec<Term>,
    written: BTreeSet<usize>,
    /// Where the block ends.
    end: u64,
}

struct Run<'w> {
    world: &'w mut World,
    temporaries: Vec<Term>,
    reads: usize,
    done: Done,
}

/// Whether the code of two images does the same from this instruction on, in which they differ.
pub fn is_equivalent(before: &Image<'_>, now: &Image<'_>, address: u64, solver: &mut Solver) -> bool {
    clear();
    solver.restart(QUESTIONS);
    let registers = (0..=DF).map(|at| fresh("register", if at < GENERAL + 2 { 64 } else { 8 })).collect();
    let mut world = World { registers, read: Vec::new() };
    let Some(then) = Run::of(before, address, &mut world) else { return false };
    let Some(new) = Run::of(now, address, &mut world) else { return false };
    let is_alike = |(a, b): (&Deed, &Deed)| a.kind == b.kind && a.terms.len() == b.terms.len();
    if then.end != new.end || then.deeds.len() != new.deeds.len() || !then.deeds.iter().zip(&new.deeds).all(is_alike) {
        return false;
    }
    // Callers may rely on what a function leaves alone.
    if !new.written.is_subset(&then.written) {
        return false;
    }
    let live = before.live(then.end) | now.live(new.end);
    let mut pairs: Vec<(Term, Term)> = Vec::new();
    for (a, b) in then.deeds.iter().zip(&new.deeds) {
        pairs.extend(a.terms.iter().copied().zip(b.terms.iter().copied()));
    }
    let held = then.registers.iter().zip(&new.registers).enumerate();
    pairs.extend(held.filter(|(at, _)| live >> at & 1 != 0).map(|(_, (a, b))| (*a, *b)));
    pairs
        .into_iter()
        .all(|(a, b)| a == b || a.width() == b.width() && matches!(solver.ask(&[not(equal(a, b))]), Ok(Outcome::Never)))
}

impl Run<'_> {
    /// What a block does from an address on; none if that is not known.
    fn of(image: &Image<'_>, address: u64, world: &mut World) -> Option<Done> {
        let registers = world.registers.clone();
        let done = Done { deeds: Vec::new(), registers, written: BTreeSet::new(), end: address };
        let mut run = Run { world, temporaries: Vec::new(), reads: 0, done };
        for _ in 0..MOST {
            let instruction = image.instruction(run.done.end).ok()?;
            let text = image.text(&instruction);
            let is_skipped = WITHOUT_EFFECT.contains(&instruction.mnemonic.as_str());
            if instruction.kind != il::Kind::Ordinary && !is_skipped {
                if !run.port(&text) {
                    break;
                }
            } else if instruction.flow != Flow::Next || uses_vector(&text) {
                break;
            } else if !is_skipped {
                run.temporaries.clear();
                instruction.ops.iter().try_for_each(|op| run.op(op))?;
            }
            run.done.end = instruction.next();
        }
        (run.done.end != address).then_some(run.done)
    }

    fn does(&mut self, kind: Kind, terms: Vec<Term>) {
        self.done.deeds.push(Deed { kind, terms });
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
        let port = extract(self.done.registers[RDX], 0, 16);
        let width = |register: &str| match register {
            "al" => Some(8),
            "ax" => Some(16),
            "eax" => Some(32),
            _ => None,
        };
        if let Some(width) = text.strip_prefix("in ").and_then(|rest| rest.strip_suffix(",dx")).and_then(width) {
            let Some(value) = self.read(width) else { return false };
            self.does(Kind::Input(text.to_string()), vec![port]);
            let all = self.done.registers[RAX];
            self.done.registers[RAX] = if width == 32 { zero_extend(value, 64) } else { insert(all, value, 0) };
            self.done.written.insert(RAX);
            return true;
        }
        let Some(width) = text.strip_prefix("out dx,").and_then(width) else { return false };
        let value = extract(self.done.registers[RAX], 0, width);
        self.does(Kind::Output(text.to_string()), vec![port, value]);
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
            Operand::Register(Register(number)) => self.done.registers.get(usize::from(number)).copied(),
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
                        *self.done.registers.get_mut(usize::from(number))? = value;
                        self.done.written.insert(usize::from(number));
                    }
                    Operand::Constant(_) => return None,
                }
            }
            Op::Store { address, from, when: None } => {
                let terms = vec![self.value(address)?, self.value(from)?];
                self.does(Kind::Store, terms);
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
                self.does(Kind::Load(width), vec![address]);
                self.read(width)?
            }
            // What an instruction leaves open is no number that two runs have in common.
            Expression::Unknown => fresh("unknown", width),
            Expression::Load { .. } | Expression::Float(..) => return None,
        })
    }
}
