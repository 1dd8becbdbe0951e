//! The kernel's instructions, as the machine sees them.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::simulate::{Control, DataAccess, Step};
use wcet_binary::lift::il::Flow;
use wcet_binary::lift::{Instruction, Lifter};
use wcet_binary::load::Program;
use wcet_hardware::machine::{Class, Machine, Transfer};
use wcet_kernel::{Description, Kernel};
use wcet_paths::ipet::{class, used};

use crate::observe::error::Error;
use crate::observe::passage::Passage;
use crate::observe::record::{Access, Executed};

/// An instruction as far as its time is concerned.
#[derive(Debug)]
pub struct Known {
    pub length: u64,
    class: Class,
    reads: u64,
    writes: u64,
    transfer: Transfer,
    forgets: bool,
    /// What it accesses it names by physical addresses: blocks of guests.
    pub physical: bool,
    pub flow: Flow,
    /// The function that it belongs to.
    pub function: String,
    /// The place in it.
    place: String,
    pub instruction: Instruction,
}

/// What an instruction did, for people.
pub fn told(known: &Known, access: &Access) -> String {
    text(&known.place, &known.instruction, access)
}

pub fn describe(program: &Program, instruction: &Instruction, access: &Access) -> String {
    text(&program.describe(instruction.address), instruction, access)
}

fn text(place: &str, instruction: &Instruction, access: &Access) -> String {
    let (at, mnemonic) = (instruction.address, &instruction.mnemonic);
    let (bytes, address, verb) = (access.size, access.address, if access.write { "writes" } else { "reads" });
    format!("{place} ({at:#x}, {mnemonic}) {verb} {bytes} bytes at {address:#x}")
}

/// The accesses that an instruction made itself, and those with which the processor took an interrupt behind it: they are traced
/// as if it had made them. It is only the last of a region behind which that may be, and the writes tell.
pub fn own<'e>(instruction: &Instruction, executed: &'e Executed, last: bool) -> (&'e [Access], &'e [Access]) {
    let writes = executed.accesses.iter().any(|access| access.write);
    if !last || !writes || instruction.accesses.iter().any(|access| access.write) {
        return (&executed.accesses, &[]);
    }
    let mut bytes: u64 = instruction.accesses.iter().map(|access| u64::from(access.size)).sum();
    let mut fits = |access: &Access| {
        let left = bytes.checked_sub(access.size);
        bytes = left.unwrap_or(0);
        left.is_some()
    };
    executed.accesses.split_at(executed.accesses.iter().take_while(|access| fits(access)).count())
}

pub struct Code<'k, 'p> {
    kernel: &'k Kernel<'p>,
    machine: &'k Machine,
    /// Names of system calls.
    calls: BTreeMap<u64, String>,
    known: BTreeMap<u64, Rc<Known>>,
    /// What the traces show that the analysis takes for impossible.
    pub surprises: BTreeMap<String, u64>,
}

impl<'k, 'p> Code<'k, 'p> {
    pub fn new(kernel: &'k Kernel<'p>, machine: &'k Machine, calls: BTreeMap<u64, String>) -> Code<'k, 'p> {
        Code { kernel, machine, calls, known: BTreeMap::new(), surprises: BTreeMap::new() }
    }

    fn lifter(&self) -> &'k Lifter<'p> {
        self.kernel.lifter
    }

    fn description(&self) -> &'k Description {
        self.kernel.description
    }

    pub fn known(&mut self, address: u64) -> Result<Rc<Known>, Error> {
        if let Some(known) = self.known.get(&address) {
            return Ok(known.clone());
        }
        let lifter = self.lifter();
        let program = lifter.program();
        let instruction = lifter.lift(address).map_err(|error| Error::Trace(error.to_string()))?;
        let sort = class::sort(program.architecture, &instruction).map_err(Error::Trace)?;
        let used = used(program.architecture, &instruction);
        let function = program.describe(address);
        let known = Rc::new(Known {
            length: instruction.bytes.len() as u64,
            class: sort.class,
            reads: used.reads,
            writes: used.writes,
            transfer: class::transfer(&instruction, sort.class),
            forgets: sort.forgets,
            physical: ["vmrun", "vmload", "vmsave"].contains(&instruction.mnemonic.as_str()),
            flow: instruction.flow,
            function: function.split('+').next().unwrap_or_default().to_string(),
            place: function,
            instruction,
        });
        self.known.insert(address, known.clone());
        Ok(known)
    }

    /// The instruction as the simulator takes it; `next` is the address of the one that was executed after it.
    pub fn step(&mut self, executed: &Executed, next: Option<u64>) -> Result<Step, Error> {
        let known = self.known(executed.address)?;
        let line = self.machine.line();
        let mut memory = Vec::new();
        let last = self.kernel.points.ends.contains_key(&executed.address) || known.flow == Flow::Leave;
        let own = if known.physical { &executed.accesses } else { own(&known.instruction, executed, last).0 };
        for access in own {
            let physical = self.physical(access.address, executed.address, &known);
            let (first, last) = (physical / line, (physical + access.size.max(1) - 1) / line);
            memory.extend((first..=last).map(|number| DataAccess { address: number * line, write: access.write }));
        }
        let control = match known.transfer {
            Transfer::None => Control::None,
            _ if next == Some(executed.address + known.length) => Control::NotTaken,
            _ => Control::Taken,
        };
        Ok(Step {
            address: executed.address,
            length: known.length,
            class: known.class,
            reads: known.reads,
            writes: known.writes,
            transfer: known.transfer,
            control,
            memory,
            forgets: known.forgets,
        })
    }

    /// The physical address; notes what the kernel's description rules out.
    fn physical(&mut self, address: u64, at: u64, known: &Known) -> u64 {
        let named =
            if known.physical { Some(address) } else { self.description().physical(address, self.kernel.stacks) };
        let Some(physical) = named else {
            self.surprise(format!(
                "{} at {at:#x} accesses memory that kernel/timing.toml does not name",
                known.function
            ));
            return address;
        };
        physical
    }

    /// Of the regions that a passage may be one of, that of its system call, or those whose callers are the ones to which it
    /// returns.
    pub fn regions(&mut self, passage: &Passage) -> Result<Vec<usize>, Error> {
        if passage.regions.len() == 1 {
            return Ok(passage.regions.clone());
        }
        if let Some(number) = passage.call {
            let name = self.calls.get(&number).map_or("with another number", String::as_str);
            let name = format!("system call {name}");
            let named = passage.regions.iter().copied().find(|region| self.kernel.regions[*region].name == name);
            return Ok(named.map_or_else(|| passage.regions.clone(), |region| vec![region]));
        }
        let mut returned = Vec::new();
        let mut depth = 0u32;
        for (number, executed) in passage.instructions.iter().enumerate() {
            let next = passage.instructions.get(number + 1).map(|next| next.address).or(passage.next);
            match self.known(executed.address)?.flow {
                Flow::Call { .. } => depth += 1,
                Flow::Return { .. } if depth == 0 => returned.extend(next),
                Flow::Return { .. } => depth -= 1,
                _ => {}
            }
        }
        let kernel = self.kernel;
        let fits = |number: &usize| kernel.returns(&kernel.regions[*number]).starts_with(&returned);
        let fitting: Vec<usize> = passage.regions.iter().copied().filter(fits).collect();
        Ok(if fitting.is_empty() { passage.regions.clone() } else { fitting })
    }

    pub fn surprise(&mut self, text: String) {
        *self.surprises.entry(text).or_default() += 1;
    }
}
