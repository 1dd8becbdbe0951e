//! Routines of assembly that no C calls, or that leave for another stack: what holds when they are entered, and how they end.
//!
//! The CPU's record names the current thread, and the address of its record: start-up sees to it, and `arch_switch` by its
//! contract. Both are the same behind a call, since it comes back on the thread that made it.

use std::collections::BTreeSet;

use crate::engine::Engine;
use crate::image::{DF, GENERAL, GS, RAX, RBP, RBX, RCX, RDI, RDX, RSI, RSP};
use crate::layout::Place;
use crate::memory::offset;
use crate::operands::named;
use crate::program::Program;
use crate::state::{refuse, Event, State, Stop};
use crate::term::build::{add, and, equal, less, shift_left, store, times, zero_extend};
use crate::term::{constant, fresh, Term};

/// How a routine is entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// From user mode: any stack pointer, the user's base in GS, interrupts' and the direction flag clear.
    Syscall,
    /// In the kernel, with any stack pointer.
    Jump,
    /// In the kernel, on the thread's kernel stack.
    Stack,
    /// By an exception or interrupt, at the stub of its vector: the processor has saved the frame of `iretq`, and an error code
    /// for some vectors. From user mode in the thread's record, from the kernel on the stack.
    Stub,
    /// By the stub of the non-maskable interrupt, on a stack of its own: error code and vector lie below the frame.
    Nmi,
    /// By an interrupt, with nothing but the frame on the stack.
    Frame,
    /// By the stub of an exception that is not survived: as the non-maskable interrupt's, with the vector as parameter.
    Fatal,
}

fn start_of(name: &str) -> Option<Start> {
    match name {
        "arch_syscall_entry" => Some(Start::Syscall),
        "arch_user_return" => Some(Start::Jump),
        "arch_thread_start" | "arch_switch" => Some(Start::Stack),
        "arch_vector_stubs" => Some(Start::Stub),
        "arch_nmi_entry" => Some(Start::Nmi),
        "arch_ignore_entry" => Some(Start::Frame),
        "arch_fatal_entry" => Some(Start::Fatal),
        _ => None,
    }
}

/// What of the CPU's and the thread's record a call leaves as it was.
const STAYS: [(&str, &str); 4] =
    [("percpu", "current"), ("percpu", "thread"), ("percpu", "tss_stack"), ("arch_threads", "stack_top")];

/// Kinds of cells that do not change over a call of this function; none but in routines.
pub fn stays(program: &Program, name: &str) -> BTreeSet<usize> {
    let cells = STAYS.iter().filter_map(|(object, field)| program.place(object, field));
    if start_of(name).is_some() {
        cells.collect()
    } else {
        BTreeSet::new()
    }
}

/// Whether what registers held at the entry matters later: then states that hold it are not those that hold something else.
pub fn recalls_entry(function: &str) -> bool {
    start_of(function).is_some() || !gives_back(function).is_empty()
}

/// Registers that a routine of assembly gives back to its caller: those that it saves, beside the stack pointer and rbp.
pub fn gives_back(function: &str) -> &'static [usize] {
    match function {
        "svm_enter" | "vmx_enter" => &[RBX, 12, 13, 14, 15],
        _ => &[],
    }
}

/// Vectors with a stub, and the bytes from one to the next.
const STUBS: u32 = 64;
const STUB_BYTES: u64 = 16;
/// Vectors for which the processor saves an error code.
const WITH_ERROR_CODE: [u32; 10] = [8, 10, 11, 12, 13, 14, 17, 21, 29, 30];
/// Vectors with stacks of their own: the non-maskable interrupt, the double fault, the machine check.
const OWN_STACK: [u32; 3] = [2, 8, 18];
/// Words of the frame of `iretq`: RIP, CS, flags, RSP, SS.
const FRAME_WORDS: usize = 5;
const CS: usize = 1;
const FLAGS: usize = 2;
const INTERRUPTS: u128 = 0x200;
/// `SELECTOR_KERNEL_CODE` and `SELECTOR_USER_CODE` of layout.h, and `UCTX_CS` of arch.h.
const KERNEL_CODE: u128 = 0x08;
const USER_CODE: u128 = 0x2b;
const SAVED_CS: u128 = 18;

/// In how many ways a routine is entered: a stub's vectors, each from user mode and from the kernel.
pub fn variants(name: &str) -> u32 {
    if start_of(name) == Some(Start::Stub) {
        2 * STUBS
    } else {
        1
    }
}

/// Whether a routine goes on in this one by a jump, with the frame, an error code and the vector on the stack.
pub fn is_jump(function: &str) -> bool {
    ["arch_nmi_entry", "arch_fatal_entry"].contains(&function)
}

/// Registers that an exception that is not survived reports, in this order, below the vector.
const REPORTED: [usize; 15] = [RAX, RBX, RCX, RDX, RSI, RDI, RBP, 8, 9, 10, 11, 12, 13, 14, 15];
/// The processor aligns the stack before it saves its frame.
const ALIGNED: u128 = 15;

/// `THREAD_SHIFT` and `THREAD_FRAME_END` of layout.h.
const RECORD_SHIFT: u32 = 8;
const FRAME_END: u128 = 176;

impl Engine<'_> {
    /// Address of a thread's record.
    pub fn record(&self, thread: Term) -> Option<Term> {
        let start = self.layout.address(self.program, "arch_threads")?;
        let offset = shift_left(zero_extend(thread, 64), RECORD_SHIFT);
        Some(add(constant(u128::from(start), 64), offset))
    }

    /// What holds when a routine is entered.
    pub fn enter_routine(&mut self, state: &mut State) -> Result<(), Stop> {
        let Some(start) = start_of(&self.function.name) else { return Ok(()) };
        let thread = fresh("thread", 32);
        let cells = |object: &str, field: &str| self.program.place(object, field);
        let (Some(record), Some(current), Some(address), Some(stack), Some(top)) = (
            self.record(thread),
            cells("percpu", "current"),
            cells("percpu", "thread"),
            cells("percpu", "tss_stack"),
            cells("arch_threads", "stack_top"),
        ) else {
            return refuse("the records of CPUs or threads have no place");
        };
        let threads = self.program.cells[top].object;
        if self.layout.places[threads] == Place::Nowhere {
            return refuse("the records of threads have no place");
        }
        state.path.assume(less(thread, constant(u128::from(self.program.objects[threads].count), 32)));
        let zero = constant(0, 32);
        let known = [
            (current, zero, thread),
            (address, zero, record),
            (stack, zero, add(record, constant(FRAME_END, 64))),
            (top, thread, self.entry.stack),
        ];
        for (cells, at, value) in known {
            state.memory[cells] = store(state.memory[cells], at, value);
        }
        state.proved.clone_from(&state.memory);
        match start {
            Start::Syscall => {
                state.registers[RSP] = fresh("rsp", 64);
                state.registers[GS] = self.entry.user;
            }
            Start::Jump => state.registers[RSP] = fresh("rsp", 64),
            Start::Stack => {}
            Start::Stub => self.enter_stub(state, thread, record),
            Start::Nmi | Start::Frame => {
                self.save_frame(state);
                state.registers[GS] = fresh("any", 64);
                self.push(state, if start == Start::Nmi { 2 } else { 0 });
            }
            Start::Fatal => {
                let lowest = and(self.entry.stack, constant(ALIGNED, 64));
                state.path.assume(equal(lowest, constant(0, 64)));
                self.save_frame(state);
                state.registers[GS] = fresh("any", 64);
                self.push(state, 2);
                self.entry_frame.push(fresh("code", 64));
                let words = [zero_extend(state.locals[0], 64), self.entry_frame[FRAME_WORDS]];
                for (at, word) in (0..).zip(words) {
                    state.frame.store(8 * (at - 2 - FRAME_WORDS as i64), word);
                }
            }
        }
        Ok(())
    }

    /// The processor has saved the frame of `iretq` on the stack.
    fn save_frame(&mut self, state: &mut State) {
        state.registers[DF] = fresh("flag", 8);
        self.entry_frame = (0..FRAME_WORDS).map(|_| fresh("frame", 64)).collect();
        self.entry_frame[CS] = constant(KERNEL_CODE, 64);
        for (at, word) in self.entry_frame.iter().enumerate() {
            state.frame.store(8 * (at as i64 - FRAME_WORDS as i64), *word);
        }
        self.push(state, FRAME_WORDS as u64);
    }

    /// The stack pointer is so many words lower.
    fn push(&self, state: &mut State, words: u64) {
        state.registers[RSP] = add(state.registers[RSP], constant(u128::from((8 * words).wrapping_neg()), 64));
    }

    /// At a stub, by the number of the variant: its parameters are the vector, and 1 if it comes from user mode.
    fn enter_stub(&mut self, state: &mut State, thread: Term, record: Term) {
        let (vector, is_user) = (self.variant / 2, self.variant % 2);
        state.address += STUB_BYTES * u64::from(vector);
        for (local, value) in state.locals.iter_mut().zip([vector, is_user]) {
            *local = constant(u128::from(value), 32);
        }
        self.save_frame(state);
        if OWN_STACK.contains(&vector) {
            state.registers[GS] = fresh("any", 64);
        } else if is_user == 1 {
            state.frame = crate::state::Frame::default();
            state.registers[GS] = self.entry.user;
            if let Some(words) = self.program.place("arch_threads", "word") {
                let count = u128::from(self.program.cells[words].count);
                let saved = add(times(thread, count), constant(SAVED_CS, 32));
                state.memory[words] = store(state.memory[words], saved, constant(USER_CODE, 64));
                state.proved[words] = state.memory[words];
            }
            state.registers[RSP] = add(record, constant(FRAME_END - 8 * FRAME_WORDS as u128, 64));
        }
        if WITH_ERROR_CODE.contains(&vector) {
            self.push(state, 1);
        }
    }

    /// The jump to a routine that finds the frame, an error code and the vector: nothing else has been done.
    pub fn jumps(&mut self, state: &mut State, function: &str, event: &Event, vector: Term) -> Result<(), Stop> {
        match event {
            Event::Call { name, back: None, .. } if name == function => {}
            _ => return refuse(format!("the term goes on in {function}, but the machine {}", event.text())),
        }
        let below = 8 * (FRAME_WORDS as i64 + 2);
        if offset(state.registers[RSP], self.entry.stack) != Some(-below) {
            return refuse("the stack pointer is not below the vector");
        }
        self.same_registers(state)?;
        let held = state.frame.load(-below, 8);
        self.require(state, "the vector", held, zero_extend(vector, 64))?;
        self.memory_agrees(state)
    }

    fn same_registers(&mut self, state: &mut State) -> Result<(), Stop> {
        for number in (0..GENERAL).filter(|number| *number != RSP) {
            let (given, meant) = (state.registers[number], self.entry_registers[number]);
            self.require(state, &format!("register {number}"), given, meant)?;
        }
        Ok(())
    }

    /// `iretq` to what was interrupted, with its registers; where it was an interrupt window, that is closed.
    pub fn resumes(&mut self, state: &mut State, closes: bool) -> Result<(), Stop> {
        self.same_registers(state)?;
        let start = -8 * FRAME_WORDS as i64;
        if offset(state.registers[RSP], self.entry.stack) != Some(start) {
            return refuse("the stack pointer is not at the frame");
        }
        if closes && state.registers[GS] != self.entry.percpu {
            return refuse("GS is not the CPU's record");
        }
        for (at, word) in self.entry_frame.clone().into_iter().enumerate() {
            let held = state.frame.load(start + 8 * at as i64, 8);
            let meant = if at == FLAGS && closes { and(word, constant(!INTERRUPTS, 64)) } else { word };
            self.require(state, &format!("word {at} of the frame of iretq"), held, meant)?;
        }
        Ok(())
    }

    /// GS has the user's base and gets the CPU's record, or the other way round.
    pub fn swap_gs(&self, state: &mut State) -> Result<(), Stop> {
        let held = &mut state.registers[GS];
        *held = match *held {
            held if held == self.entry.percpu => self.entry.user,
            held if held == self.entry.user => self.entry.percpu,
            _ => return refuse("swapgs, and what GS holds is not known"),
        };
        Ok(())
    }

    /// The registers are those with which user mode goes on. `frame`: words at the stack pointer.
    pub fn leaves_for_user(&mut self, state: &mut State, registers: &[Term], frame: &[Term]) -> Result<(), Stop> {
        const ORDER: [usize; 16] = [0, 3, 1, 2, 6, 7, 5, 8, 9, 10, 11, 12, 13, 14, 15, RSP];
        if state.registers[GS] != self.entry.user {
            return refuse("GS has not the user's base");
        }
        for (number, meant) in ORDER.iter().zip(registers) {
            let given = state.registers[*number];
            self.require(state, &format!("register {number} of user mode"), given, *meant)?;
        }
        for (at, meant) in frame.iter().enumerate() {
            let address = add(state.registers[RSP], constant(8 * at as u128, 64));
            let given = self.load(state, address, 8)?;
            self.require(state, &format!("word {at} of the frame of iretq"), given, *meant)?;
        }
        Ok(())
    }

    /// The call of the function that reports an exception: with the address of these registers, on the stack below the vector, the
    /// error code and the processor's frame. What it leaves behind is not known.
    pub fn reports(&mut self, state: &mut State, event: &Event, values: &[Term]) -> Result<bool, Stop> {
        let Event::Call { name, back: Some(back), .. } = event else { return Ok(false) };
        let ([vector, registers @ ..], "fatal_exception") = (values, name.as_str()) else { return Ok(false) };
        let below = 8 * (FRAME_WORDS + 2) as i64;
        let start = -below - 8 * REPORTED.len() as i64;
        let Some(top) = offset(state.registers[RSP], self.entry.stack) else {
            return refuse("the stack pointer is at an unknown place");
        };
        if offset(state.registers[RDI], self.entry.stack) != Some(start) || registers.len() != REPORTED.len() {
            return refuse("the address that is passed is not that of the saved registers");
        }
        // The call has pushed where it comes back to.
        if (top + 8) % 16 != 0 || top + 8 > start {
            return refuse("the stack is not aligned, or does not leave the saved registers");
        }
        let frame: Vec<Term> = self.entry_frame[..FRAME_WORDS].to_vec();
        let below = [zero_extend(*vector, 64), self.entry_frame[FRAME_WORDS]];
        let words = registers.iter().copied().chain(below).chain(frame);
        for (at, meant) in (0..).zip(words.collect::<Vec<Term>>()) {
            let held = state.frame.load(start + 8 * at, 8);
            self.require(state, &format!("word {at} of the report"), held, meant)?;
        }
        if !self.direction_is_clear(state)? {
            return refuse("the direction flag is set when fatal_exception is called");
        }
        self.memory_agrees(state)?;
        let stack = add(self.entry.stack, constant((top + 8) as u64 as u128, 64));
        self.any_behind(state, stack, *back);
        Ok(true)
    }

    /// The call of a function on another stack. What it leaves behind is not known.
    pub fn calls_on(&mut self, state: &mut State, stack: Term, function: Term) -> Result<bool, Stop> {
        let instruction = self.image.instruction(state.address).map_err(Stop::Refused)?;
        let text = self.image.text(&instruction);
        let Some(target) = text.strip_prefix("call ").and_then(|name| named(state, name)) else { return Ok(false) };
        self.require(state, "the stack pointer", state.registers[RSP], stack)?;
        self.require(state, "the function", target, function)?;
        self.require(state, "rbp", state.registers[RBP], constant(0, 64))?;
        if !self.direction_is_clear(state)? || state.registers[GS] != self.entry.percpu {
            return refuse("the direction flag is set, or GS is not the CPU's record");
        }
        self.memory_agrees(state)?;
        self.covered.insert(state.address);
        self.any_behind(state, stack, instruction.next());
        Ok(true)
    }

    /// Behind a call of which nothing is known but where it comes back to.
    fn any_behind(&mut self, state: &mut State, stack: Term, back: u64) {
        for (number, register) in state.registers.iter_mut().enumerate() {
            *register = fresh("any", if number <= GS { 64 } else { 8 });
        }
        state.registers[RSP] = stack;
        state.address = back;
        state.locks.clear();
        self.havoc(state, None);
    }

    /// `ret` to what another thread's stack holds.
    pub fn continues(&mut self, state: &mut State, event: &Event, stack: Term) -> Result<bool, Stop> {
        let instruction = self.image.instruction(state.address).map_err(Stop::Refused)?;
        if !matches!(event, Event::Blocked(_)) || instruction.mnemonic != "ret" {
            return Ok(false);
        }
        let (held, base) = (state.registers[RSP], state.registers[RBP]);
        if offset(held, self.entry.stack).is_some() {
            return refuse("a return on the thread's own stack");
        }
        self.require(state, "the stack pointer", held, stack)?;
        self.require(state, "rbp", base, self.entry.base)?;
        if !self.direction_is_clear(state)? || state.registers[GS] != self.entry.percpu {
            return refuse("the direction flag is set, or GS is not the CPU's record");
        }
        self.memory_agrees(state)?;
        self.covered.insert(state.address);
        Ok(true)
    }

    /// What a general register held at the entry.
    pub fn at_entry(&self, number: Term) -> Option<Term> {
        let number = usize::try_from(number.value()?).ok()?;
        self.entry_registers.get(number).copied().filter(|_| number < GENERAL)
    }
}
