//! Actions of the machine, in which contracts of `arch` are written (`proof/arch/machine.h`): each is one instruction at which the
//! machine must wait, with equal operands.

use crate::engine::Engine;
use crate::image::{GS, RAX, RCX, RDX};
use crate::operands::{accumulator, named, wide};
use crate::primitives::register;
use crate::state::{refuse, Event, State, Stop};
use crate::term::build::{binary, concat, extract, insert, less, not, or, zero_extend};
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
        // Other threads run, or anything does.
        "machine_continue" | "machine_report" | "machine_call_on" => None,
        "machine_save_vector" | "machine_save_vector_old" => Some(&[("areas", "word")]),
        // A guest writes its memory, and the processor what it reports of the guest.
        "machine_run_guest" => Some(&[("frame", "word"), ("guest_block", "word")]),
        "machine_save_guest" => Some(&[("guest_block", "word")]),
        "machine_launch_guest" | "machine_resume_guest" => {
            Some(&[("frame", "word"), ("vmx_guest_msr", "value"), ("vmx_virtual_apic", "word")])
        }
        // The stub of an interrupt has run.
        "machine_window" | "machine_wait" => Some(&[("percpu", "vector")]),
        _ if function.starts_with("machine_") => Some(&[]),
        _ => None,
    }
}

/// A value that a contract names, and that no instruction makes; none if the function is no such.
pub fn value(engine: &Engine<'_>, state: &State, function: &str, arguments: &[Term]) -> Option<Term> {
    let number = |address: u64| constant(u128::from(address), 64);
    match (function, arguments) {
        ("machine_kernel_map", []) => {
            engine.layout.address(engine.program, "root")?.checked_sub(KERNEL_BASE).map(number)
        }
        ("machine_thread_start", []) => engine.image.only("arch_thread_start").map(number),
        ("machine_record", [thread]) => engine.record(*thread),
        ("machine_amdvi_done", []) => engine.layout.address(engine.program, "amdvi_done").map(number),
        ("machine_vtd_done", []) => engine.layout.address(engine.program, "vtd_done").map(number),
        ("machine_areas", []) => engine.layout.address(engine.program, "areas").map(number),
        ("machine_scale", [a, b]) => Some(extract(product(*a, *b), 32, 64)),
        ("machine_scale_rest", [a, b]) => Some(zero_extend(extract(product(*a, *b), 96, 32), 64)),
        ("machine_register", [register]) => engine.at_entry(*register),
        ("machine_guest_register", [register]) => engine.held_by_guest(state, *register),
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
pub fn bits(function: &str) -> u32 {
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
            (_, values) if function == "machine_report" => {
                if !self.reports(state, event, values)? {
                    return Ok(false);
                }
                none
            }
            (Event::Blocked(_), [stack, called]) if function == "machine_call_on" => {
                if !self.calls_on(state, *stack, *called)? {
                    return Ok(false);
                }
                none
            }
            (_, values) if ["machine_launch_guest", "machine_resume_guest"].contains(&function) => {
                match self.enters_by_structure(state, function, values, event)? {
                    Some(refused) => refused,
                    None => return Ok(false),
                }
            }
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
        let given = named;
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
            _ if self.guest_instruction(state, function, arguments, name, operands)? => None,
            _ => return Ok(None),
        }))
    }
}
