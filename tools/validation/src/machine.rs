//! Executes machine code to its next event.

use wcet_binary::lift::il::{self, Expression, Flow, Kind, Op, Operand, Register, Target, Unary, Value};

use crate::engine::Engine;
use crate::image::{is_clone, DF, RAX, RCX, RDI, RSP};
use crate::memory::offset;
use crate::state::{refuse, Event, State, Stop};
use crate::term::build::{
    add, and, binary, concat, equal, extract, insert, leading_zeros, less, less_signed, not, select, shift_left,
    sign_extend, sub, zero_extend,
};
use crate::term::{constant, fresh, mask, Binary, Term};

/// How an instruction went on.
#[derive(Debug, Clone)]
pub enum Step {
    Next(u64),
    Branch { when: Term, to: u64, otherwise: u64 },
    Call { to: u64, back: u64 },
    Return(Term),
}

/// The machine at an event: before the instruction, and behind it if that is a call or return.
#[derive(Debug, Clone)]
pub struct Waiting {
    pub before: State,
    pub after: State,
    pub event: Event,
}

/// Instructions that are listed as special but change nothing that a function could notice.
pub const WITHOUT_EFFECT: [&str; 5] = ["pause", "nop", "endbr64", "lfence", "sfence"];

impl Engine<'_> {
    /// The states in which the machine waits.
    pub fn run_machine(&mut self, state: &State, stop_at_headers: bool) -> Result<Vec<Waiting>, (u64, Stop)> {
        let (mut out, mut todo) = (Vec::new(), vec![state.clone()]);
        let mut fuel = 8000;
        while let Some(mut state) = todo.pop() {
            loop {
                let at = state.address;
                fuel -= 1;
                if fuel == 0 {
                    return Err((at, Stop::Refused("the machine runs without an event".to_string())));
                }
                if state.is_tail {
                    out.push(Waiting { before: state.clone(), after: state, event: Event::Return });
                    break;
                }
                if stop_at_headers && state.passing != Some(at) && self.is_header(at) {
                    out.push(Waiting { before: state.clone(), after: state, event: Event::Header });
                    break;
                }
                let before = state.clone();
                state.passing = None;
                match self.advance(&mut state, &mut todo) {
                    Ok(None) => {}
                    Ok(Some(event)) => {
                        let before = State { path: state.path.clone(), ..before };
                        out.push(Waiting { before, after: state, event });
                        break;
                    }
                    Err(Stop::Impossible) => break,
                    Err(Stop::Event(event)) => {
                        // What was learnt of the path stays.
                        let before = State { path: state.path, ..before };
                        out.push(Waiting { after: before.clone(), before, event });
                        break;
                    }
                    Err(other) => return Err((at, other)),
                }
            }
        }
        Ok(out)
    }

    fn is_header(&self, at: u64) -> bool {
        self.image.function_at(at).is_some_and(|range| self.image.headers(range).contains(&at))
    }

    /// One instruction, and where it leads; other branches are put aside.
    fn advance(&mut self, state: &mut State, aside: &mut Vec<State>) -> Result<Option<Event>, Stop> {
        match self.step_machine(state)? {
            Step::Next(to) => self.jump(state, to),
            Step::Branch { when, to, otherwise } => {
                let taken = state.path.may(when, &mut self.solver)?;
                let not_taken = state.path.may(not(when), &mut self.solver)?;
                match (taken, not_taken) {
                    (false, false) => Err(Stop::Impossible),
                    (true, false) => self.jump(state, to),
                    (false, true) => self.jump(state, otherwise),
                    (true, true) => {
                        let mut other = state.clone();
                        other.path.assume(not(when));
                        other.address = otherwise;
                        aside.push(other);
                        state.path.assume(when);
                        self.jump(state, to)
                    }
                }
            }
            Step::Call { to, back } => match self.image.entry(to) {
                Some(name) if is_clone(name) => {
                    state.address = to;
                    Ok(None)
                }
                Some(name) => Ok(Some(Event::Call { name: name.to_string(), target: to, back: Some(back) })),
                None => refuse("a call of what is no function"),
            },
            Step::Return(to) => match to.value() {
                // From a part of the function that was called in place.
                Some(to) => {
                    state.address = to as u64;
                    Ok(None)
                }
                None if state.path.always(equal(to, self.entry.back), &mut self.solver)? => Ok(Some(Event::Return)),
                None => refuse("a return to somewhere else than the caller"),
            },
        }
    }

    /// A jump to another function is a call whose return is this function's.
    fn jump(&mut self, state: &mut State, to: u64) -> Result<Option<Event>, Stop> {
        let from = self.image.function_at(state.address).map(|range| range.start);
        let leaves = self.image.function_at(to).map(|range| range.start) != from;
        match self.image.entry(to) {
            Some(name) if !is_clone(name) && (leaves || Some(to) != from) => {
                let name = name.to_string();
                state.address = to;
                Ok(Some(Event::Call { name, target: to, back: None }))
            }
            _ => {
                state.address = to;
                Ok(None)
            }
        }
    }

    /// Executes the instruction at the state's address; the address stays.
    pub fn step_machine(&mut self, state: &mut State) -> Result<Step, Stop> {
        let at = state.address;
        let instruction = self.image.instruction(at).map_err(Stop::Refused)?;
        self.steps += 1;
        let next = instruction.next();
        if instruction.kind != Kind::Ordinary {
            if WITHOUT_EFFECT.contains(&instruction.mnemonic.as_str()) {
                self.covered.insert(at);
                return Ok(Step::Next(next));
            }
            return Err(Stop::Event(Event::System(self.image.text(&instruction))));
        }
        if uses_vector(&self.image.text(&instruction)) {
            return Err(Stop::Event(Event::System(self.image.text(&instruction))));
        }
        if let Flow::Repeat { .. } = instruction.flow {
            if self.stores_repeatedly(state, &self.image.text(&instruction))? {
                self.covered.insert(at);
                return Ok(Step::Next(next));
            }
            return Err(Stop::Event(Event::Repeat(self.image.text(&instruction))));
        }
        let stack = state.registers[RSP];
        let before = offset(stack, self.entry.stack);
        let mut temporaries: Vec<Term> = Vec::new();
        for op in &instruction.ops {
            match *op {
                Op::Set { to, from } => {
                    let value = self.expression(state, &temporaries, from, u32::from(to.size) * 8)?;
                    match to.operand {
                        Operand::Temporary(number) => {
                            let number = usize::from(number);
                            if temporaries.len() <= number {
                                temporaries.resize(number + 1, value);
                            }
                            temporaries[number] = value;
                        }
                        Operand::Register(Register(number)) => state.registers[usize::from(number)] = value,
                        Operand::Constant(_) => return refuse("an operation sets a constant"),
                    }
                }
                Op::Store { address, from, when } => {
                    let address = self.value(state, &temporaries, address)?;
                    let mut value = self.value(state, &temporaries, from)?;
                    if let Some(when) = when {
                        let when = self.value(state, &temporaries, when)?;
                        let when = not(equal(when, constant(0, when.width())));
                        if when.is_false() {
                            continue;
                        }
                        if !when.is_true() && self.injected.is_none() {
                            return refuse("a store that happens or not");
                        }
                        if !when.is_true() {
                            let old = self.injected.unwrap_or(value);
                            value = select(when, value, fit_to(old, value.width()));
                        }
                    }
                    // A push stores before or after it moves the stack pointer.
                    let after = offset(state.registers[RSP], self.entry.stack);
                    let lowest = match (before, after) {
                        (Some(before), Some(after))
                            if instruction.mnemonic == "push" || instruction.mnemonic == "call" =>
                        {
                            Some(before.min(after).min(before - 8))
                        }
                        (Some(before), Some(after)) => Some(before.min(after)),
                        _ => None,
                    };
                    self.store(state, address, value, lowest)?;
                }
                Op::ClobberMemory => return refuse("an instruction that may change any memory"),
            }
        }
        self.align_stack(state, stack)?;
        self.covered.insert(at);
        let direct = |to: Target| match to {
            Target::Direct(to) => Ok(to),
            Target::Indirect(_) => refuse("a jump or call whose target is computed"),
        };
        Ok(match instruction.flow {
            Flow::Next => Step::Next(next),
            Flow::Jump { to, when: None } => Step::Next(direct(to)?),
            Flow::Jump { to, when: Some(when) } => {
                let when = self.value(state, &temporaries, when)?;
                let when = not(equal(when, constant(0, when.width())));
                Step::Branch { when, to: direct(to)?, otherwise: next }
            }
            Flow::Call { to, when: None } => Step::Call { to: direct(to)?, back: next },
            Flow::Return { to, when: None } => Step::Return(self.value(state, &temporaries, to)?),
            _ => return refuse("control goes where it cannot be followed"),
        })
    }

    /// A stack pointer that was aligned, and is the one before: it was aligned already.
    fn align_stack(&mut self, state: &mut State, before: Term) -> Result<(), Stop> {
        let now = state.registers[RSP];
        let is_lost = offset(now, self.entry.stack).is_none() && offset(before, self.entry.stack).is_some();
        if is_lost && state.path.always(equal(now, before), &mut self.solver)? {
            state.registers[RSP] = before;
        }
        Ok(())
    }

    /// `rep stosq` of a known small number of words: as many stores. False if it is something else.
    fn stores_repeatedly(&mut self, state: &mut State, text: &str) -> Result<bool, Stop> {
        const MOST: u128 = 64;
        let Some(count) = state.registers[RCX].value().filter(|count| *count <= MOST) else { return Ok(false) };
        if !text.starts_with("rep stosq") || !self.direction_is_clear(state)? {
            return Ok(false);
        }
        for _ in 0..count {
            let (to, value) = (state.registers[RDI], state.registers[RAX]);
            self.store(state, to, value, None)?;
            state.registers[RDI] = add(to, constant(8, 64));
        }
        state.registers[RCX] = constant(0, 64);
        Ok(true)
    }

    fn value(&self, state: &State, temporaries: &[Term], value: Value) -> Result<Term, Stop> {
        let width = u32::from(value.size) * 8;
        if width > 128 {
            return refuse("a value of more than 16 bytes");
        }
        let found = match value.operand {
            Operand::Constant(number) => return Ok(constant(u128::from(number), width)),
            Operand::Temporary(number) => temporaries.get(usize::from(number)).copied(),
            Operand::Register(Register(number)) => state.registers.get(usize::from(number)).copied(),
        };
        match found {
            Some(term) if term.width() == width => Ok(term),
            Some(term) if term.width() > width => Ok(extract(term, 0, width)),
            _ => refuse("an operation reads what is not set"),
        }
    }

    fn expression(
        &mut self,
        state: &mut State,
        temporaries: &[Term],
        from: Expression,
        width: u32,
    ) -> Result<Term, Stop> {
        if width > 128 {
            return refuse("a value of more than 16 bytes");
        }
        Ok(match from {
            Expression::Copy(a) => self.value(state, temporaries, a)?,
            Expression::Float(..) => return refuse("a floating-point operation"),
            Expression::Unknown => fresh("unknown", width),
            Expression::Unary(operation, a) => {
                let a = self.value(state, temporaries, a)?;
                unary(operation, a, width)?
            }
            Expression::Binary(operation, a, b) => {
                let (a, b) = (self.value(state, temporaries, a)?, self.value(state, temporaries, b)?);
                self.operation(state, operation, a, b)?
            }
            Expression::Extract { from, at } => {
                extract(self.value(state, temporaries, from)?, u32::from(at) * 8, width)
            }
            Expression::Insert { into, from, at } => {
                let (into, from) = (self.value(state, temporaries, into)?, self.value(state, temporaries, from)?);
                insert(into, from, u32::from(at) * 8)
            }
            Expression::Concat { high, low } => {
                concat(self.value(state, temporaries, high)?, self.value(state, temporaries, low)?)
            }
            Expression::Select { when, then, otherwise } => {
                let when = self.value(state, temporaries, when)?;
                let (then, otherwise) =
                    (self.value(state, temporaries, then)?, self.value(state, temporaries, otherwise)?);
                select(not(equal(when, constant(0, when.width()))), then, otherwise)
            }
            Expression::Load { address, when } => {
                let address = self.value(state, temporaries, address)?;
                let when = match when {
                    Some(when) => self.value(state, temporaries, when)?,
                    None => constant(1, 8),
                };
                match when.value() {
                    Some(0) => fresh("unknown", width),
                    Some(_) => self.load(state, address, width / 8)?,
                    None => {
                        // A load that does not happen gives any value.
                        let loaded = self.load(state, address, width / 8)?;
                        let happens = not(equal(when, constant(0, when.width())));
                        select(happens, loaded, fresh("unknown", width))
                    }
                }
            }
        })
    }

    fn operation(&mut self, state: &mut State, operation: il::Binary, a: Term, b: Term) -> Result<Term, Stop> {
        if let Some(value) = arithmetic(operation, a, b) {
            return Ok(value);
        }
        let kind = match operation {
            il::Binary::Divide => Binary::Divide,
            il::Binary::Remainder => Binary::Remainder,
            _ => return refuse("a signed division"),
        };
        // The processor traps on 0, and where the quotient is wider than its register.
        let width = a.width();
        let half = width / 2;
        let fits = less(extract(a, half, half), extract(b, 0, half));
        let narrow = equal(extract(b, half, half), constant(0, half));
        if !state.path.always(and(fits, narrow), &mut self.solver)? {
            return refuse("a division that may trap");
        }
        Ok(if extract(a, half, half).value() == Some(0) {
            let (a, b) = (extract(a, 0, half), extract(b, 0, half));
            zero_extend(binary(kind, a, b), width)
        } else {
            binary(kind, a, b)
        })
    }

    /// The direction flag is clear: the ABI's rule at calls and returns.
    pub fn direction_is_clear(&mut self, state: &mut State) -> Result<bool, Stop> {
        let flag = state.registers[DF];
        Ok(state.path.always(equal(flag, constant(0, flag.width())), &mut self.solver)?)
    }
}

/// Whether an instruction names a vector register: no code of the layers does.
pub fn uses_vector(text: &str) -> bool {
    text.contains("mm") && text.split([' ', ',']).any(|word| word.trim_start_matches('x').starts_with("mm"))
}

fn fit_to(value: Term, width: u32) -> Term {
    if value.width() > width {
        extract(value, 0, width)
    } else {
        zero_extend(value, width)
    }
}

/// The value of an operation, if that is no division.
pub fn arithmetic(operation: il::Binary, a: Term, b: Term) -> Option<Term> {
    use il::Binary as B;
    let width = a.width();
    let truth = |holds: Term| zero_extend(holds, 8);
    let top = |value: Term| extract(value, width - 1, 1);
    Some(match operation {
        B::Add => add(a, b),
        B::Subtract => sub(a, b),
        B::Multiply => binary(Binary::Multiply, a, b),
        B::And => and(a, b),
        B::Or => crate::term::build::or(a, b),
        B::Xor => binary(Binary::Xor, a, b),
        B::Equal => truth(equal(a, b)),
        B::NotEqual => truth(not(equal(a, b))),
        B::Less => truth(less(a, b)),
        B::LessEqual => truth(not(less(b, a))),
        B::LessSigned => truth(less_signed(a, b)),
        B::LessEqualSigned => truth(not(less_signed(b, a))),
        B::Carry => truth(less(add(a, b), a)),
        B::CarrySigned => {
            let sum = add(a, b);
            let (x, y) = (binary(Binary::Xor, a, sum), binary(Binary::Xor, b, sum));
            truth(top(and(x, y)))
        }
        B::BorrowSigned => {
            let (x, y) = (binary(Binary::Xor, a, b), binary(Binary::Xor, a, sub(a, b)));
            truth(top(and(x, y)))
        }
        B::ShiftLeft | B::ShiftRight | B::ShiftRightSigned => {
            let kind = match operation {
                B::ShiftLeft => Binary::ShiftLeft,
                B::ShiftRight => Binary::ShiftRight,
                _ => Binary::ShiftRightSigned,
            };
            if b.width() > width {
                let small = less(b, constant(u128::from(width), b.width()));
                let by = extract(b, 0, width);
                let far = constant(mask(width), width);
                binary(kind, a, select(small, by, far))
            } else {
                binary(kind, a, zero_extend(b, width))
            }
        }
        B::Divide | B::Remainder | B::DivideSigned | B::RemainderSigned => return None,
    })
}

pub fn unary(operation: Unary, a: Term, width: u32) -> Result<Term, Stop> {
    let zero = constant(0, a.width());
    Ok(match operation {
        Unary::Not => not(a),
        Unary::Negate => sub(zero, a),
        Unary::BoolNot => zero_extend(equal(a, zero), width),
        Unary::ZeroExtend => zero_extend(a, width),
        Unary::SignExtend => sign_extend(a, width),
        Unary::CountOnes => {
            let mut sum = constant(0, width);
            for bit in 0..a.width() {
                sum = add(sum, zero_extend(extract(a, bit, 1), width));
            }
            sum
        }
        Unary::LeadingZeros => {
            let zeros = leading_zeros(a);
            if zeros.width() > width {
                extract(zeros, 0, width)
            } else {
                zero_extend(zeros, width)
            }
        }
    })
}

/// A frame's first byte in the direct map.
pub fn direct(frame: Term) -> Term {
    let start = constant(u128::from(crate::layout::DIRECT_MAP), 64);
    add(start, shift_left(zero_extend(frame, 64), 12))
}
