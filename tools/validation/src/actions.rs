//! Actions of the machine, in which contracts of `arch` are written (`proof/arch/machine.h`): each is one instruction at which the
//! machine must wait, with equal operands.

use wcet_binary::lift::il::{AddressForm, Register};

use crate::engine::{Engine, Touch};
use crate::image::{GS, RAX, RCX, RDX, RSP};
use crate::machine::Step;
use crate::primitives::register;
use crate::state::{refuse, Event, State, Stop};
use crate::term::build::{add, binary, concat, extract, insert, less, not, or, zero_extend};
use crate::term::{constant, fresh, Binary, Term};

/// Bases of FS and GS: a write of one of these moves what the segment registers mean.
const SEGMENT_BASES: (u128, u128) = (0xc000_0100, 0xc000_0103);
/// `KERNEL_BASE` of layout.h: where the image is mapped, from its physical address.
const KERNEL_BASE: u64 = 0xffff_ffff_8000_0000;

/// `SELECTOR_KERNEL_DATA` of layout.h.
const KERNEL_DATA: u64 = 0x10;

/// What an action may change of what the terms know; none if it is no action. Devices and other CPUs may look at memory at an
/// action, and it is compared before each.
pub fn writes(function: &str) -> Option<&'static [(&'static str, &'static str)]> {
    match function {
        // The stub of an interrupt has run.
        // Other threads run.
        "machine_continue" => None,
        "machine_save_vector" | "machine_save_vector_old" => Some(&[("areas", "word")]),
        "machine_window" | "machine_wait" => Some(&[("percpu", "vector")]),
        _ if function.starts_with("machine_") => Some(&[]),
        _ => None,
    }
}

/// A value that a contract names, and that no instruction makes; none if the function is no such.
pub fn value(engine: &Engine<'_>, function: &str, arguments: &[Term]) -> Option<Term> {
    let number = |address: u64| constant(u128::from(address), 64);
    match (function, arguments) {
        ("machine_kernel_map", []) => {
            engine.layout.address(engine.program, "root")?.checked_sub(KERNEL_BASE).map(number)
        }
        ("machine_thread_start", []) => engine.image.only("arch_thread_start").map(number),
        ("machine_record", [thread]) => engine.record(*thread),
        ("machine_areas", []) => engine.layout.address(engine.program, "areas").map(number),
        ("machine_scale", [a, b]) => Some(extract(product(*a, *b), 32, 64)),
        ("machine_scale_rest", [a, b]) => Some(zero_extend(extract(product(*a, *b), 96, 32), 64)),
        ("machine_register", [register]) => engine.at_entry(*register),
        _ => None,
    }
}

/// All bits of the product of two numbers of 64.
fn product(a: Term, b: Term) -> Term {
    binary(Binary::Multiply, zero_extend(a, 128), zero_extend(b, 128))
}

/// Whether nothing of the routine is executed behind the action.
pub fn leaves(function: &str) -> bool {
    const LEAVE: [&str; 6] = [
        "machine_sysret",
        "machine_iret",
        "machine_close_window",
        "machine_resume",
        "machine_continue",
        "machine_undefined",
    ];
    LEAVE.contains(&function)
}

/// The width of an action by the end of its name.
fn bits(function: &str) -> u32 {
    function.trim_start_matches(|letter: char| !letter.is_ascii_digit()).parse().unwrap_or(0)
}

fn low(value: Term, width: u32) -> Term {
    extract(value, 0, width)
}

/// The upper and the lower half of a number in two registers.
fn halves(high: Term, low: Term) -> Term {
    concat(extract(high, 0, 32), extract(low, 0, 32))
}

impl Engine<'_> {
    /// The term's action, at which the machine waits. False if the machine is at something else.
    pub fn action(
        &mut self,
        state: &mut State,
        function: &str,
        arguments: &[Term],
        result: Option<usize>,
        event: &Event,
    ) -> Result<bool, Stop> {
        let none = constant(0, 64);
        let value = match (event, arguments) {
            (Event::Blocked(_), _) if function.starts_with("machine_read") || function.starts_with("machine_write") => {
                match self.device(state, function, arguments)? {
                    Some(value) => value,
                    None => return Ok(false),
                }
            }
            (_, [stack]) if function == "machine_continue" => return self.continues(state, event, *stack),
            (Event::System(text), _) => {
                let (name, operands) = text.split_once(' ').unwrap_or((text, ""));
                let operands: Vec<&str> = operands.split(',').map(str::trim).filter(|one| !one.is_empty()).collect();
                let before = state.clone();
                let Some(value) = self.instruction(state, function, arguments, name, &operands)? else {
                    *state = before;
                    return Ok(false);
                };
                self.memory_agrees(state)?;
                self.pass(state)?;
                value.unwrap_or(none)
            }
            _ => return Ok(false),
        };
        self.finish(state, result, value)?;
        if let Some(cells) = writes(function).filter(|cells| !cells.is_empty()) {
            let cells = cells.iter().filter_map(|(object, field)| self.program.place(object, field)).collect();
            self.havoc(state, Some(&cells));
        }
        Ok(true)
    }

    /// What the action returns, if the instruction is the action's; none within if it returns nothing.
    fn instruction(
        &mut self,
        state: &mut State,
        function: &str,
        arguments: &[Term],
        name: &str,
        operands: &[&str],
    ) -> Result<Option<Option<Term>>, Stop> {
        let given = |state: &State, name: &str| register(name).map(|number| state.registers[number]);
        Ok(Some(match (function, arguments, name, operands) {
            ("machine_in8" | "machine_in16" | "machine_in32", [port], "in", [to, from]) => {
                let width = bits(function);
                if accumulator(width) != *to {
                    return Ok(None);
                }
                self.is_port(state, from, *port)?;
                let value = fresh("input", width);
                let old = state.registers[RAX];
                state.registers[RAX] = if width == 32 { zero_extend(value, 64) } else { insert(old, value, 0) };
                Some(zero_extend(value, 32))
            }
            ("machine_out8" | "machine_out16" | "machine_out32", [port, value], "out", [to, from]) => {
                let width = bits(function);
                if accumulator(width) != *from {
                    return Ok(None);
                }
                self.is_port(state, to, *port)?;
                self.require(
                    state,
                    "what is written to the port",
                    low(state.registers[RAX], width),
                    low(*value, width),
                )?;
                None
            }
            ("machine_read_msr", [msr], "rdmsr", []) => {
                self.require(state, "the MSR's number", low(state.registers[RCX], 32), *msr)?;
                let value = fresh("msr", 64);
                state.registers[RAX] = zero_extend(extract(value, 0, 32), 64);
                state.registers[RDX] = zero_extend(extract(value, 32, 32), 64);
                Some(value)
            }
            ("machine_write_msr", [msr, value], "wrmsr", []) => {
                self.require(state, "the MSR's number", low(state.registers[RCX], 32), *msr)?;
                let meant = halves(state.registers[RDX], state.registers[RAX]);
                self.require(state, "what is written to the MSR", meant, *value)?;
                let number = |at: u128| constant(at, 32);
                let below = less(*msr, number(SEGMENT_BASES.0));
                let apart = or(below, not(less(*msr, number(SEGMENT_BASES.1))));
                if !state.path.always(apart, &mut self.solver)? {
                    return refuse("a write of a segment's base");
                }
                None
            }
            ("machine_read_tsc", [], "rdtsc", []) => {
                let ticks = fresh("ticks", 64);
                state.registers[RAX] = zero_extend(extract(ticks, 0, 32), 64);
                state.registers[RDX] = zero_extend(extract(ticks, 32, 32), 64);
                Some(ticks)
            }
            ("machine_read_cr0" | "machine_read_cr2" | "machine_read_cr3", [], "mov", [to, from])
                if function.ends_with(from) =>
            {
                let Some(number) = register(to) else { return Ok(None) };
                state.registers[number] = fresh("control", 64);
                Some(state.registers[number])
            }
            ("machine_write_cr0" | "machine_write_cr3", [value], "mov", [to, from]) if function.ends_with(to) => {
                let Some(held) = given(state, from) else { return Ok(None) };
                self.require(state, to, held, *value)?;
                None
            }
            ("machine_save_vector" | "machine_load_vector", [area, parts], "xsave64" | "xrstor64", [_])
                if (function == "machine_save_vector") == (name == "xsave64") =>
            {
                let mask = halves(state.registers[RDX], state.registers[RAX]);
                self.require(state, "the components", mask, *parts)?;
                self.operand_at(state, *area)?;
                None
            }
            ("machine_save_vector_old" | "machine_load_vector_old", [area], "fxsave64" | "fxrstor64", [_])
                if (function == "machine_save_vector_old") == (name == "fxsave64") =>
            {
                self.operand_at(state, *area)?;
                None
            }
            ("machine_load_mxcsr", [value], "ldmxcsr", [_]) => {
                let address = self.operand(state)?;
                let held = self.load(state, address, 4)?;
                self.require(state, "MXCSR", held, *value)?;
                None
            }
            ("machine_clear_x87", [], "fninit", []) => {
                self.sequence(state, "pxor", "mm", 8)?;
                None
            }
            ("machine_clear_xmm", [], "xorps", _) => {
                self.sequence(state, "xorps", "xmm", 16)?;
                None
            }
            ("machine_invalidate_page", [address], "invlpg", [place])
            | ("machine_flush_line", [address], "clflush", [place]) => {
                let place = place.trim_start_matches("byte ").trim_start_matches("ptr ");
                let held = given(state, place.trim_start_matches('[').trim_end_matches(']'));
                let Some(held) = held else { return Ok(None) };
                self.require(state, "the address", held, *address)?;
                None
            }
            (
                "machine_load_ds" | "machine_load_es" | "machine_load_fs" | "machine_load_gs",
                [selector],
                "mov",
                [to, from],
            ) if function.ends_with(to) => {
                let Some(held) = wide(from).and_then(|name| given(state, name)) else { return Ok(None) };
                self.require(state, "the selector", low(held, 16), low(*selector, 16))?;
                if *to == "gs" && state.registers[GS] != self.entry.user {
                    return refuse("a load of GS that takes the CPU's record away");
                }
                None
            }
            ("machine_window", [], "sti", []) => {
                self.follow(state, &["nop", "cli"])?;
                None
            }
            ("machine_wait", [], "sti", []) => {
                self.follow(state, &["hlt", "cli"])?;
                None
            }
            ("machine_swap_gs", [], "swapgs", []) => {
                self.swap_gs(state)?;
                None
            }
            ("machine_sysret", registers, "sysretq", []) => {
                self.leaves_for_user(state, registers, &[])?;
                None
            }
            ("machine_iret", values, "iretq", []) if values.len() == 20 => {
                self.leaves_for_user(state, &values[..15], &values[15..])?;
                None
            }
            ("machine_close_window" | "machine_resume", [], "iretq", []) => {
                self.resumes(state, function == "machine_close_window")?;
                None
            }
            ("machine_clear_buffers", [], "verw", [place]) => {
                // Only with a selector of a writable segment does it overwrite buffers.
                let at = place.trim_start_matches(|letter| letter != '[').trim_matches(['[', ']']);
                let at = u64::from_str_radix(at.trim_end_matches('h'), 16).ok();
                if at.and_then(|at| self.image.program().constant(at, 2)) != Some(KERNEL_DATA) {
                    return refuse("verw, not of the kernel's data segment");
                }
                None
            }
            ("machine_undefined", [], "ud2", [])
            | ("machine_fence", [], "mfence", [])
            | ("machine_interrupts_off", [], "cli", [])
            | ("machine_halt", [], "hlt", [])
            | ("machine_unlock_vector", [], "clts", [])
            | ("machine_clear_upper", [], "vzeroupper", []) => None,
            _ => return Ok(None),
        }))
    }

    /// The address of the instruction's only operand in memory.
    fn operand(&self, state: &State) -> Result<Term, Stop> {
        let instruction = self.image.instruction(state.address).map_err(Stop::Refused)?;
        // Of an area that is saved in parts the first has its address.
        let lowest = |form: &AddressForm| match form {
            AddressForm::Known { displacement, .. } => *displacement,
            AddressForm::Any => i64::MIN,
        };
        let form = instruction.accesses.iter().map(|access| access.address).min_by_key(lowest);
        let Some(AddressForm::Known { base, index, displacement, segment: None }) = form else {
            return refuse("an operand whose address is not known");
        };
        let held = |register: Register| state.registers.get(usize::from(register.0)).copied();
        let mut sum = constant(u128::from(displacement as u64), 64);
        for (register, times) in base.map(|base| (base, 1)).into_iter().chain(index) {
            let Some(value) = held(register) else { return refuse("an operand at an unknown register") };
            sum = add(sum, crate::term::build::times(value, u128::from(times)));
        }
        Ok(sum)
    }

    fn operand_at(&mut self, state: &mut State, meant: Term) -> Result<(), Stop> {
        let given = self.operand(state)?;
        self.require(state, "the operand's address", given, meant)
    }

    /// Behind the instruction at the state's address stand these: the state is left at the last of them. An interrupt that is taken
    /// between them overwrites what lies below the stack pointer.
    fn follow(&mut self, state: &mut State, names: &[&str]) -> Result<(), Stop> {
        let Some(top) = crate::memory::offset(state.registers[RSP], self.entry.stack) else {
            return refuse("the stack pointer is at an unknown place");
        };
        state.frame.drop_below(top);
        for name in names {
            self.pass(state)?;
            let instruction = self.image.instruction(state.address).map_err(Stop::Refused)?;
            if instruction.mnemonic != *name {
                return refuse(format!("{} where {name} is meant", self.image.text(&instruction)));
            }
        }
        Ok(())
    }

    /// Each of so many vector registers is combined with itself by this operation, from number 0 on: it becomes 0. The state is
    /// left at the last of these instructions; where the first is at the state's address, it is one of them.
    fn sequence(&mut self, state: &mut State, operation: &str, register: &str, count: u32) -> Result<(), Stop> {
        let mut at = state.address;
        for number in 0..count {
            let instruction = self.image.instruction(at).map_err(Stop::Refused)?;
            // The first action of such a sequence may be another instruction.
            let instruction = match instruction.mnemonic == operation {
                true => instruction,
                false if number == 0 => self.image.instruction(instruction.next()).map_err(Stop::Refused)?,
                false => return refuse(format!("{register}{number} is not cleared")),
            };
            let meant = format!("{operation} {register}{number},{register}{number}");
            if self.image.text(&instruction) != meant {
                return refuse(format!("{} where {meant} is meant", self.image.text(&instruction)));
            }
            self.covered.extend([state.address, instruction.address]);
            state.address = instruction.address;
            at = instruction.next();
        }
        Ok(())
    }

    /// The operand of an instruction is this port: a number, or the register dx.
    fn is_port(&mut self, state: &mut State, operand: &str, port: Term) -> Result<(), Stop> {
        let given = match operand {
            "dx" => low(state.registers[RDX], 16),
            number => {
                let digits = number.trim_end_matches('h').trim_start_matches("0x");
                let Ok(number) = u16::from_str_radix(digits, 16) else { return refuse(format!("port {number}")) };
                constant(u128::from(number), 16)
            }
        };
        self.require(state, "the port", given, low(port, 16))
    }

    /// What a load at an address gives, if an instruction is executed that accesses a device.
    pub fn device_load(&mut self, address: Term, bytes: u32) -> Option<Term> {
        let held = self.device.filter(|_| !is_stack(self, address))?;
        self.touched.push(Touch { address, value: None, bytes });
        Some(if held.width() < bytes * 8 { zero_extend(held, bytes * 8) } else { extract(held, 0, bytes * 8) })
    }

    /// Whether a store went to a device.
    pub fn device_store(&mut self, address: Term, value: Term) -> bool {
        if self.device.is_none() || is_stack(self, address) {
            return false;
        }
        self.touched.push(Touch { address, value: Some(value), bytes: value.width() / 8 });
        true
    }

    /// One instruction that reads or writes a device's register, which is in no object that the terms know.
    fn device(&mut self, state: &mut State, function: &str, arguments: &[Term]) -> Result<Option<Term>, Stop> {
        let width = bits(function);
        let (address, written) = match (function.starts_with("machine_read"), arguments) {
            (true, [address]) => (*address, None),
            (false, [address, value]) => (*address, Some(*value)),
            _ => return Ok(None),
        };
        self.memory_agrees(state)?;
        let held = fresh("device", width);
        self.device = Some(held);
        self.touched.clear();
        let step = self.step_machine(state);
        self.device = None;
        let Step::Next(next) = step? else { return refuse("a jump that accesses a device") };
        let touched: Vec<Touch> = std::mem::take(&mut self.touched);
        let [touch] = touched.as_slice() else {
            return refuse(format!("{function}: {} accesses by one instruction", touched.len()));
        };
        if touch.bytes * 8 != width || touch.value.is_some() != written.is_some() {
            return refuse(format!("the term does {function}, the machine accesses {} bytes", touch.bytes));
        }
        self.require(state, "the device's address", touch.address, address)?;
        if let (Some(stored), Some(value)) = (touch.value, written) {
            self.require(state, "what is written to the device", stored, value)?;
        }
        state.address = next;
        Ok(Some(if written.is_some() { constant(0, 64) } else { held }))
    }
}

/// The stack is no device.
fn is_stack(engine: &Engine<'_>, address: Term) -> bool {
    crate::memory::offset(address, engine.entry.stack).is_some()
}

/// The whole of a register of 16 or 32 bits.
fn wide(name: &str) -> Option<&'static str> {
    const NAMES: [&str; 6] = ["rax", "rcx", "rdx", "rbx", "rsi", "rdi"];
    let short = name.strip_prefix('e').unwrap_or(name);
    NAMES.into_iter().find(|whole| whole.strip_prefix('r') == Some(short))
}

/// The register that a port is read into.
fn accumulator(width: u32) -> &'static str {
    match width {
        8 => "al",
        16 => "ax",
        _ => "eax",
    }
}
