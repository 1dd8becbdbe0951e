//! Which places of a function's stack frame may still be read, read off its code. Only used to forget values: what is forgotten
//! is any value, so a fault here can only make a validation fail.

use std::collections::HashMap;
use std::rc::Rc;

use wcet_binary::lift::il::{AddressForm, Expression, Flow, Instruction, Op, Operand, Register, Target};

use crate::image::{is_clone, Image, Range, RSP};
use crate::state::Frame;
use crate::term::Term;

/// Bytes that a bit stands for.
const UNIT: i64 = 4;

/// Where the stack pointer is, from where it was at the function's entry, and the units below that entry that are live.
pub type Slots = HashMap<u64, (i64, u128)>;

/// The bits of bytes of the frame; none of those that are outside of what is tracked.
fn bits(at: i64, size: i64) -> u128 {
    let mut bits = 0;
    let mut unit = at.div_euclid(UNIT);
    while unit * UNIT < at + size {
        let number = -1 - unit;
        if (0..128).contains(&number) {
            bits |= 1 << number;
        }
        unit += 1;
    }
    bits
}

/// How far an instruction moves the stack pointer; none if that is not known.
fn moves(instruction: &Instruction) -> Option<i64> {
    let is_rsp =
        |operand: Operand| matches!(operand, Operand::Register(Register(number)) if usize::from(number) == RSP);
    if !instruction.ops.iter().any(|op| matches!(op, Op::Set { to, .. } if is_rsp(to.operand))) {
        return Some(0);
    }
    let by = instruction.ops.iter().find_map(|op| match op {
        Op::Set { from: Expression::Binary(_, _, value), .. } => match value.operand {
            Operand::Constant(number) => Some(number as i64),
            _ => None,
        },
        _ => None,
    });
    match instruction.mnemonic.as_str() {
        "push" => Some(-8),
        "pop" => Some(8),
        "call" => Some(0),
        "add" => by,
        "sub" => by.map(|by| -by),
        _ => None,
    }
}

/// Of each instruction of a function; none if its stack pointer cannot be followed.
pub fn of(image: &Image<'_>, range: &Range) -> Option<Slots> {
    let all = image.instructions(range).ok()?;
    let at: HashMap<u64, &Rc<Instruction>> = all.iter().map(|one| (one.address, one)).collect();
    let mut depths: HashMap<u64, i64> = HashMap::new();
    let mut todo = vec![(range.start, 0)];
    while let Some((address, depth)) = todo.pop() {
        match depths.insert(address, depth) {
            Some(known) if known == depth => continue,
            Some(_) => return None,
            None => {}
        }
        let Some(instruction) = at.get(&address) else { continue };
        let next = Image::successors(instruction, range);
        if !next.is_empty() {
            let after = depth + moves(instruction)?;
            todo.extend(next.into_iter().map(|to| (to, after)));
        }
    }
    let rows: Vec<_> =
        all.iter().filter_map(|one| depths.get(&one.address).map(|depth| row(image, one, *depth, range))).collect();
    let mut live: HashMap<u64, u128> = HashMap::new();
    loop {
        let mut changed = false;
        for (address, reads, writes, next) in rows.iter().rev() {
            let after = next.iter().fold(0, |bits, to| bits | live.get(to).copied().unwrap_or(0));
            let now = reads | (after & !writes);
            changed |= live.insert(*address, now) != Some(now);
        }
        if !changed {
            return Some(live.into_iter().map(|(address, live)| (address, (depths[&address], live))).collect());
        }
    }
}

/// An instruction with what it reads and writes of the frame, and where it leads.
fn row(image: &Image<'_>, one: &Instruction, depth: i64, range: &Range) -> (u64, u128, u128, Vec<u64>) {
    let (mut reads, mut writes) = (0, 0);
    for access in &one.accesses {
        match access.address {
            AddressForm::Known { base: Some(Register(base)), index, displacement, .. } if usize::from(base) == RSP => {
                let bits = bits(depth + displacement, i64::from(access.size));
                if access.read {
                    reads |= if index.is_some() { u128::MAX } else { bits };
                }
                if access.write && !access.conditional && index.is_none() {
                    writes |= bits;
                }
            }
            AddressForm::Any => reads = u128::MAX,
            AddressForm::Known { .. } => {}
        }
    }
    // A part of the function that goes on elsewhere.
    if let Flow::Jump { to: Target::Direct(to), .. } = one.flow {
        if (to < range.start || to >= range.end) && is_clone(image.entry(to).unwrap_or(".part.")) {
            reads = u128::MAX;
        }
    }
    (one.address, reads, writes, Image::successors(one, range))
}

/// Forgets what is no longer read. `top`: where the stack pointer is, from where it was at the entry of the function that is
/// validated.
pub fn forget(image: &Image<'_>, address: u64, top: i64, frame: &mut Frame) {
    frame.drop_below(top);
    let (mut address, mut top) = (address, top);
    // Of the function, and of each one that has called it in place.
    while let Some((depth, live)) = image.slots(address) {
        let base = top - depth;
        let is_dead = |at: i64, term: &Term| {
            let size = i64::from(term.width() / 8);
            at >= top && at + size <= base && at - base >= -128 * UNIT && bits(at - base, size) & live == 0
        };
        frame.held.retain(|at, term| !is_dead(*at, term));
        let back = frame.held.get(&base).and_then(|back| back.value());
        match back {
            Some(back) if base < 0 => (address, top) = (back as u64, base + 8),
            _ => return,
        }
    }
}
