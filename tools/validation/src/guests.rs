//! Entry into guests: what the processor exchanges when a guest runs, and what it leaves as it was.
//!
//! While a guest runs, every register belongs to it but those that the processor restores at its exit: on SVM the stack pointer,
//! RAX and the flags, on VT-x the stack pointer and the segments' bases, by what the control structure says of the host. All other
//! general registers hold any values behind it, as does what a guest can write. What the control block or structure says of guest
//! and host beside that is start-up's and the caller's.

use crate::engine::Engine;
use crate::image::{ARGUMENTS, DF, GENERAL, GS, RAX, RSP};
use crate::layout::Place;
use crate::memory::offset;
use crate::operands::named;
use crate::state::{refuse, Event, State, Stop};
use crate::term::build::{add, equal, less, or, read, select, times, zero_extend};
use crate::term::{constant, fresh, Term};

/// Numbers of the flags, as the lifter has them.
const CARRY: usize = GENERAL + 2;
const ZERO: usize = GENERAL + 5;
const FS: usize = GS - 1;
/// The field of the control structure with the stack pointer that an exit loads.
const HOST_STACK: u128 = 0x6c14;
/// `KERNEL_BASE` of layout.h.
const KERNEL_BASE: u64 = 0xffff_ffff_8000_0000;
/// The bytes of `vmrun`.
const RUN: [u8; 3] = [0x0f, 0x01, 0xd8];
/// The most jumps from a refused entry to where exits come to.
const MOST_JUMPS: usize = 4;

/// A parameter that the C passes as the address of a field of an object's element: the contract names the element's number.
struct Passed {
    function: &'static str,
    parameter: usize,
    object: &'static str,
    field: &'static str,
}

const PASSED: [Passed; 2] = [
    Passed { function: "svm_enter", parameter: 1, object: "svm_guest", field: "gpr" },
    Passed { function: "vmx_enter", parameter: 0, object: "vmx_guest", field: "gpr" },
];

/// The parameter with the address of this CPU's block of the host's state.
const HOST_BLOCK: (&str, usize) = ("svm_enter", 2);

/// The element and the address that stand for each other, of a parameter that is passed in this way.
pub struct Meaning {
    pub address: Term,
    /// That there is an element of this number.
    pub exists: Term,
}

impl Engine<'_> {
    /// What is passed for the number of an element; none if the parameter is passed as it is.
    pub fn passed(&self, function: &str, parameter: usize, number: Term) -> Result<Option<Meaning>, Stop> {
        let Some(passed) = PASSED.iter().find(|one| one.function == function && one.parameter == parameter) else {
            return Ok(None);
        };
        let Some(cells) = self.program.place(passed.object, passed.field) else {
            return refuse(format!("no object {}", passed.object));
        };
        let cells = &self.program.cells[cells];
        let object = &self.program.objects[cells.object];
        let Place::At(start) = self.layout.places[cells.object] else {
            return refuse(format!("{} has no place", passed.object));
        };
        let first = constant(u128::from(start + cells.offset), 64);
        let address = add(first, times(zero_extend(number, 64), u128::from(object.stride)));
        let exists = less(number, constant(u128::from(object.count), number.width()));
        Ok(Some(Meaning { address, exists }))
    }

    /// That a parameter is what a function for guests requires; none if it requires nothing.
    pub fn is_host_block(
        &self,
        state: &State,
        function: &str,
        parameter: usize,
        value: Term,
    ) -> Result<Option<Term>, Stop> {
        if (function, parameter) != HOST_BLOCK {
            return Ok(None);
        }
        match self.host_block(state) {
            Some(block) => Ok(Some(equal(value, block))),
            None => refuse("the host's blocks have no place"),
        }
    }

    /// The physical address of this CPU's block of the host's state, which start-up has saved there.
    fn host_block(&self, state: &State) -> Option<Term> {
        let start = self.layout.address(self.program, "host_block")?.checked_sub(KERNEL_BASE)?;
        let object = self.program.objects.iter().find(|object| object.name == "host_block")?;
        let cpu = read(state.memory[self.program.place("percpu", "cpu")?], constant(0, 32));
        Some(add(constant(u128::from(start), 64), times(zero_extend(cpu, 64), u128::from(object.stride))))
    }

    /// Parameters that are passed as addresses, and what of the arguments holds, at the entry of the function that is validated.
    pub fn enter_with_addresses(&self, state: &mut State) -> Result<(), Stop> {
        let name = &self.function.name;
        for (parameter, register) in ARGUMENTS.into_iter().enumerate().take(self.function.parameters) {
            let number = fresh("number", state.locals[parameter].width());
            if let Some(meaning) = self.passed(name, parameter, number)? {
                state.locals[parameter] = number;
                state.registers[register] = meaning.address;
                state.path.assume(meaning.exists);
            }
            if let Some(holds) = self.is_host_block(state, name, parameter, state.locals[parameter])? {
                state.path.assume(holds);
            }
        }
        Ok(())
    }

    /// What a general register holds directly behind the run of a guest; none at any other place.
    pub fn held_by_guest(&self, state: &State, number: Term) -> Option<Term> {
        let number = usize::try_from(number.value()?).ok().filter(|number| *number < GENERAL)?;
        let before = state.address.checked_sub(RUN.len() as u64)?;
        let is_behind_run = self.image.program().code(before, RUN.len()) == Some(&RUN);
        (is_behind_run || self.exit_point() == Some(state.address)).then(|| state.registers[number])
    }

    /// Where exits of VT-x come to.
    fn exit_point(&self) -> Option<u64> {
        let program = self.image.program();
        program.constant(program.symbol("vmx_exit_point")?.address, 8)
    }

    /// An instruction of an entry on SVM, or of the way there; false if it is not the action's.
    pub fn guest_instruction(
        &mut self,
        state: &mut State,
        function: &str,
        arguments: &[Term],
        name: &str,
        operands: &[&str],
    ) -> Result<bool, Stop> {
        match (function, arguments, name) {
            ("machine_global_interrupts_off", [], "clgi")
            | ("machine_global_interrupts_on", [], "stgi")
            | ("machine_interrupts_on", [], "sti") => {}
            ("machine_load_guest", [block], "vmload") => {
                self.require(state, "the control block", state.registers[RAX], *block)?;
                state.registers[FS] = fresh("guest", 64);
                state.registers[GS] = fresh("guest", 64);
            }
            ("machine_load_host", [block], "vmload") => {
                self.require(state, "the host's block", state.registers[RAX], *block)?;
                let Some(own) = self.host_block(state) else { return refuse("the host's blocks have no place") };
                self.require(state, "this CPU's block", *block, own)?;
                state.registers[FS] = fresh("host", 64);
                state.registers[GS] = self.entry.percpu;
            }
            ("machine_save_guest", [block], "vmsave") => {
                self.require(state, "the control block", state.registers[RAX], *block)?;
            }
            ("machine_run_guest", [block, values @ ..], "vmrun") => {
                self.require(state, "the control block", state.registers[RAX], *block)?;
                self.has_guest_registers(state, RAX, values)?;
                for number in (0..GENERAL).filter(|number| *number != RSP && *number != RAX) {
                    state.registers[number] = fresh("guest", 64);
                }
                any_flags(state);
            }
            ("machine_write_host_stack", [], "vmwrite") => {
                let [field, "rsp"] = operands else { return Ok(false) };
                let Some(field) = named(state, field) else { return Ok(false) };
                self.require(state, "the field", field, constant(HOST_STACK, 64))?;
                state.host_stack = offset(state.registers[RSP], self.entry.stack);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// All general registers but the stack pointer, and but `without`, are the guest's, in the order of their numbers.
    fn has_guest_registers(&mut self, state: &mut State, without: usize, values: &[Term]) -> Result<(), Stop> {
        let numbers: Vec<usize> = (0..GENERAL).filter(|number| *number != RSP && *number != without).collect();
        if numbers.len() != values.len() {
            return refuse("another number of registers of the guest");
        }
        for (number, meant) in numbers.into_iter().zip(values) {
            let given = state.registers[number];
            self.require(state, &format!("register {number} of the guest"), given, *meant)?;
        }
        Ok(())
    }

    /// `vmlaunch` or `vmresume`: 1 if the processor refuses it, which two flags say, and nothing has changed; else the guest has
    /// run. Both go on at the same place, where exits come to. None if the machine is at something else.
    pub fn enters_by_structure(
        &mut self,
        state: &mut State,
        function: &str,
        values: &[Term],
        event: &Event,
    ) -> Result<Option<Term>, Stop> {
        let meant = if function == "machine_launch_guest" { "vmlaunch" } else { "vmresume" };
        match event {
            Event::System(text) if text == meant => {}
            _ => return Ok(None),
        }
        self.has_guest_registers(state, RSP, values)?;
        let top = offset(state.registers[RSP], self.entry.stack);
        if top.is_none() || state.host_stack != top {
            return refuse("the stack pointer is not what the control structure has for the host");
        }
        self.memory_agrees(state)?;
        self.pass(state)?;
        self.goes_on_at_exit_point(state)?;
        let (carry, zero) = (fresh("flag", 1), fresh("flag", 1));
        let refused = or(carry, zero);
        for number in (0..GENERAL).filter(|number| *number != RSP) {
            state.registers[number] = select(refused, state.registers[number], fresh("guest", 64));
        }
        state.registers[DF] = select(refused, state.registers[DF], constant(0, 8));
        any_flags(state);
        state.registers[CARRY] = zero_extend(carry, 8);
        state.registers[ZERO] = zero_extend(zero, 8);
        Ok(Some(zero_extend(refused, 32)))
    }

    /// From the instruction behind a refused entry, by jumps alone.
    fn goes_on_at_exit_point(&mut self, state: &mut State) -> Result<(), Stop> {
        use wcet_binary::lift::il::{Flow, Target};
        let Some(point) = self.exit_point() else { return refuse("no vmx_exit_point") };
        for _ in 0..MOST_JUMPS {
            if state.address == point {
                return Ok(());
            }
            let instruction = self.image.instruction(state.address).map_err(Stop::Refused)?;
            let Flow::Jump { to: Target::Direct(to), when: None } = instruction.flow else { break };
            self.covered.insert(state.address);
            state.address = to;
        }
        refuse("a refused entry does not go on where exits come to")
    }
}

/// Flags of arithmetic hold anything.
fn any_flags(state: &mut State) {
    for flag in GENERAL + 2..DF {
        state.registers[flag] = fresh("flag", 8);
    }
}
