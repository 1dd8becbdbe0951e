//! The primitives of `arch` that have no contract in `proof/arch`: what each writes and reads, and what those mean that gcc inlines,
//! and which instructions they are.
//!
//! This is the contract of `arch.h` and of `Builtin.v` in the engine's words, and it is trusted. A primitive that is neither here
//! nor there has no inlined form: a function that inlines it is refused.

use crate::engine::{differs, Engine, Touch};
use crate::image::{RCX, RDI, RDX, RSI};
use crate::machine::{direct, Step};
use crate::proved::store_proved;
use crate::state::{refuse, Event, State, Stop};
use crate::term::build::{
    add, and, binary, equal, extract, leading_zeros, less, or, select, shift_left, sub, times, zero_extend,
};
use crate::term::{constant, fresh, fresh_array, Binary, Term};

/// Whether a primitive was executed on the term's side.
pub enum Inline {
    Done,
    /// It waits for the machine.
    Not,
}

/// Cells as object and field.
type Written = &'static [(&'static str, &'static str)];

/// What a primitive writes of what the terms know; none if others may write meanwhile, or it is no such primitive.
pub fn writes(function: &str) -> Option<Written> {
    const NOTHING: [&str; 8] = [
        "arch_current_of",
        "arch_loaded_root_of",
        "arch_highest_bit",
        "arch_index_mask",
        "arch_clock_ns",
        "arch_spin_hint",
        "arch_tlb_invalidate_page",
        "arch_frame_limit",
    ];
    match function {
        _ if NOTHING.contains(&function) => Some(&[]),
        "arch_uctx_set" => Some(&[("arch_threads", "word")]),
        "arch_frame_copy" => Some(&[("frame", "word")]),
        "arch_vcpu_init"
        | "arch_vcpu_import_part"
        | "arch_vcpu_import"
        | "arch_vcpu_export"
        | "arch_vcpu_report_part" => Some(&[("frame", "word")]),
        "arch_vcpu_load_part" => Some(&[
            ("frame", "word"),
            ("arch_threads", "fpu_fresh"),
            ("percpu", "fpu_left"),
            ("percpu", "fpu_owner"),
            ("areas", "word"),
            ("guest_cpu", ""),
        ]),
        "arch_page_map_load" => Some(&[("percpu", "root")]),
        _ => None,
    }
}

/// What a primitive that writes only what [`writes`] says reads of what the terms know; none if that is not described, or if
/// others may see memory meanwhile.
pub fn reads(function: &str) -> Option<Written> {
    Some(match function {
        "arch_highest_bit" | "arch_index_mask" | "arch_clock_ns" | "arch_spin_hint" | "arch_uctx_set" => &[],
        "arch_frame_copy" => &[("frame", "word")],
        _ => return None,
    })
}

/// Words of a user context that are kept in part.
const UCTX_RIP: u128 = 17;
const UCTX_RFLAGS: u128 = 19;
const USER_ADDRESS_MASK: u128 = 0x7fff_ffff_ffff;
const USER_FLAG_MASK: u128 = 0x24_0dd5;
const USER_FLAG_ALWAYS: u128 = 0x202;

/// Executes a primitive that has no instruction of its own, or only loads and stores.
pub fn inline(
    engine: &mut Engine<'_>,
    state: &mut State,
    name: &str,
    arguments: &[Term],
    result: Option<usize>,
) -> Result<Inline, Stop> {
    let program = engine.program;
    let zero = constant(0, 64);
    let value = match (name, arguments) {
        ("arch_own" | "arch_disown" | "arch_spin_hint", _) => zero,
        ("arch_uctx_set", [thread, word, value]) => {
            let is = |number: u128| equal(*word, constant(number, word.width()));
            let address = and(*value, constant(USER_ADDRESS_MASK, 64));
            let flags = or(and(*value, constant(USER_FLAG_MASK, 64)), constant(USER_FLAG_ALWAYS, 64));
            let kept = select(is(UCTX_RIP), address, select(is(UCTX_RFLAGS), flags, *value));
            write(engine, state, "arch_threads", "word", *thread, *word, kept)?
        }
        ("arch_highest_bit", [word]) => {
            state.path.assume(crate::term::build::not(equal(*word, zero)));
            let zeros = extract(leading_zeros(*word), 0, 32);
            sub(constant(63, 32), zeros)
        }
        ("arch_index_mask", [index, mask]) => and(*index, *mask),
        _ => match crate::actions::value(engine, state, name, arguments) {
            Some(value) => value,
            None => return Ok(Inline::Not),
        },
    };
    if let Some(to) = result {
        let width = state.function.widths[to];
        let given = program.prototypes.get(name).and_then(|prototype| prototype.result).unwrap_or(64);
        state.locals[to] = crate::evaluate::fit(crate::evaluate::fit(value, given)?, width)?;
    }
    Ok(Inline::Done)
}

fn cells(engine: &Engine<'_>, object: &str, field: &str) -> Result<usize, Stop> {
    match engine.program.place(object, field) {
        Some(cells) => Ok(cells),
        None => refuse(format!("no object {object}")),
    }
}

fn load(
    engine: &mut Engine<'_>,
    state: &mut State,
    object: &str,
    field: &str,
    index: Term,
    element: Term,
) -> Result<Term, Stop> {
    let cells = cells(engine, object, field)?;
    engine.evaluated(state, |evaluator| Ok(evaluator.load(cells, index, element)))
}

/// Its value is that of a function without result.
fn write(
    engine: &mut Engine<'_>,
    state: &mut State,
    object: &str,
    field: &str,
    index: Term,
    element: Term,
    value: Term,
) -> Result<Term, Stop> {
    let cells = cells(engine, object, field)?;
    let place = engine.evaluated(state, |evaluator| Ok(evaluator.place(cells, index, element)))?;
    let value = crate::evaluate::fit(value, engine.program.cells[cells].width)?;
    store_proved(state, cells, place.flat, value);
    Ok(constant(0, 64))
}

impl Engine<'_> {
    /// A primitive that is one instruction of the machine, at which it waits. False if it is none that is known.
    pub fn primitive(
        &mut self,
        state: &mut State,
        function: &str,
        arguments: &[Term],
        result: Option<usize>,
        event: &Event,
    ) -> Result<bool, Stop> {
        match (function, arguments, event) {
            (
                "arch_atomic_load"
                | "arch_atomic_store"
                | "arch_atomic_fetch_add"
                | "arch_atomic_swap"
                | "arch_atomic_cas",
                _,
                Event::Atomic,
            ) => {
                let value = self.atomic(state, function, arguments)?;
                self.finish(state, result, value)?;
            }
            ("arch_page_map_load", [root], Event::System(text)) if text.starts_with("mov cr3,") => {
                let Some(register) = register(text.trim_start_matches("mov cr3,")) else { return Ok(false) };
                self.require(state, "cr3", state.registers[register], shift_left(zero_extend(*root, 64), 12))?;
                let zero = constant(0, 64);
                write(self, state, "percpu", "root", zero, zero, *root)?;
                self.skip(state)?;
                self.finish(state, result, zero)?;
            }
            // Nanoseconds of the processor's counter since start-up, by a factor that start-up measured. The counter's value is
            // an input; what is computed from it is on both sides the same.
            ("arch_clock_ns", [], Event::System(text)) if text == "rdtsc" => {
                let ticks = fresh("ticks", 64);
                let zero = constant(0, 64);
                let base = load(self, state, "tsc_base", "", zero, zero)?;
                let factor = load(self, state, "ns_per_tsc", "", zero, zero)?;
                let wide = |value: Term| zero_extend(value, 128);
                let product = binary(Binary::Multiply, wide(sub(ticks, base)), wide(factor));
                state.registers[0] = zero_extend(extract(ticks, 0, 32), 64);
                state.registers[RDX] = zero_extend(extract(ticks, 32, 32), 64);
                self.pass(state)?;
                self.finish(state, result, extract(product, 32, 64))?;
            }
            ("arch_tlb_invalidate_page", [address], Event::System(text)) if text.starts_with("invlpg [") => {
                let name = text.trim_start_matches("invlpg [").trim_end_matches(']');
                let Some(register) = register(name) else { return Ok(false) };
                self.require(state, "the page's address", state.registers[register], *address)?;
                self.skip(state)?;
                self.finish(state, result, constant(0, 64))?;
            }
            ("arch_frame_copy", [to, from, first, words], Event::Repeat(text)) if text.starts_with("rep movsq") => {
                self.in_memory(state, *to);
                self.in_memory(state, *from);
                let end = add(zero_extend(*first, 33), zero_extend(*words, 33));
                state.path.assume(less(end, constant(513, 33)));
                let at = |frame: Term| add(direct(frame), times(zero_extend(*first, 64), 8));
                self.require(state, "where the copy goes", state.registers[RDI], at(*to))?;
                self.require(state, "where the copy comes from", state.registers[RSI], at(*from))?;
                self.require(state, "the number of words", state.registers[RCX], zero_extend(*words, 64))?;
                self.copied(state, result)?;
            }
            _ => return self.action(state, function, arguments, result, event),
        }
        Ok(true)
    }

    /// The frame is one of the machine's: callers must see to it.
    fn in_memory(&self, state: &mut State, frame: Term) {
        state.path.assume(less(frame, constant(4_194_304, frame.width())));
    }

    pub fn require(&mut self, state: &mut State, what: &str, given: Term, meant: Term) -> Result<(), Stop> {
        if state.path.always(equal(given, meant), &mut self.solver)? {
            return Ok(());
        }
        refuse(differs(what, given, meant))
    }

    /// Behind an instruction that has no effect on what is modelled.
    fn skip(&mut self, state: &mut State) -> Result<(), Stop> {
        self.memory_agrees(state)?;
        self.pass(state)
    }

    /// The same for one that nothing outside the processor sees, over which accesses to memory may be moved.
    pub fn pass(&mut self, state: &mut State) -> Result<(), Stop> {
        let instruction = self.image.instruction(state.address).map_err(Stop::Refused)?;
        self.covered.insert(state.address);
        state.address = instruction.next();
        Ok(())
    }

    /// Behind `rep movsq` over words of frames: these hold any values, the same on both sides.
    fn copied(&mut self, state: &mut State, result: Option<usize>) -> Result<(), Stop> {
        if !self.direction_is_clear(state)? {
            return refuse("the direction flag is set");
        }
        self.skip(state)?;
        let bytes = times(state.registers[RCX], 8);
        state.registers[RDI] = add(state.registers[RDI], bytes);
        state.registers[RSI] = add(state.registers[RSI], bytes);
        state.registers[RCX] = constant(0, 64);
        let words = cells(self, "frame", "word")?;
        state.memory[words] = fresh_array("memory", 64);
        state.proved[words] = state.memory[words];
        self.finish(state, result, constant(0, 64))
    }

    /// One instruction that accesses an atomic cell; what the cell held, where that is the result.
    fn atomic(&mut self, state: &mut State, function: &str, arguments: &[Term]) -> Result<Term, Stop> {
        let Some(cells) = self.layout.atomic_cells else { return refuse("the atomic cells have no place") };
        let instruction = self.image.instruction(state.address).map_err(Stop::Refused)?;
        let is_locked = has_lock(&instruction.bytes) || instruction.mnemonic == "xchg";
        state.path.assume(is_cell(arguments[0]));
        self.memory_agrees(state)?;
        self.havoc(state, None);
        let old = fresh("atomic", 64);
        self.injected = Some(old);
        self.touched.clear();
        let step = self.step_machine(state);
        self.injected = None;
        let Step::Next(next) = step? else { return refuse("a jump that accesses an atomic cell") };
        let start = constant(u128::from(cells), 64);
        let meant = add(start, times(zero_extend(arguments[0], 64), u128::from(crate::layout::ATOMIC_STRIDE)));
        let touched: Vec<Touch> = std::mem::take(&mut self.touched);
        for touch in &touched {
            if touch.bytes != 8 {
                return refuse(format!("{function} is of {} bytes", touch.bytes));
            }
            self.require(state, "the atomic cell's address", touch.address, meant)?;
        }
        let loads = touched.iter().any(|touch| touch.value.is_none());
        let stores: Vec<Term> = touched.iter().filter_map(|touch| touch.value).collect();
        let wanted = match (function, arguments) {
            ("arch_atomic_load", [_]) if loads && stores.is_empty() => None,
            ("arch_atomic_store", [_, value]) if !loads || is_locked => Some(*value),
            ("arch_atomic_fetch_add", [_, value]) if is_locked => Some(add(old, *value)),
            ("arch_atomic_swap", [_, value]) if is_locked => Some(*value),
            ("arch_atomic_cas", [_, expected, value]) if is_locked => Some(select(equal(old, *expected), *value, old)),
            _ => return refuse(format!("the term does {function}, the machine accesses the cell in another way")),
        };
        match (wanted, stores.as_slice()) {
            (None, []) => {}
            (Some(wanted), [stored]) => self.require(state, "what is stored in the atomic cell", *stored, wanted)?,
            _ => return refuse(format!("{function} stores {} times", stores.len())),
        }
        state.address = next;
        Ok(if function == "arch_atomic_store" { constant(0, 64) } else { old })
    }

    pub fn atomic_load(&mut self, address: Term, bytes: u32) -> Result<Term, Stop> {
        let Some(old) = self.injected else { return Err(Stop::Event(Event::Atomic)) };
        self.touched.push(Touch { address, value: None, bytes });
        Ok(extract(old, 0, bytes * 8))
    }

    pub fn atomic_store(&mut self, address: Term, value: Term) -> Result<(), Stop> {
        if self.injected.is_none() {
            return Err(Stop::Event(Event::Atomic));
        }
        self.touched.push(Touch { address, value: Some(value), bytes: value.width() / 8 });
        Ok(())
    }
}

/// That there is an atomic cell of this number.
pub fn is_cell(number: Term) -> Term {
    less(number, constant(u128::from(crate::layout::ATOMIC_CELLS), 32))
}

/// Whether a lock prefix stands among the prefixes.
fn has_lock(bytes: &[u8]) -> bool {
    const PREFIXES: [u8; 11] = [0x66, 0x67, 0xf0, 0xf2, 0xf3, 0x2e, 0x36, 0x3e, 0x26, 0x64, 0x65];
    bytes.iter().take_while(|byte| PREFIXES.contains(byte)).any(|byte| *byte == 0xf0)
}

/// The number of a general register by its name.
pub fn register(name: &str) -> Option<usize> {
    const NAMES: [&str; 16] =
        ["rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15"];
    NAMES.iter().position(|known| *known == name)
}
