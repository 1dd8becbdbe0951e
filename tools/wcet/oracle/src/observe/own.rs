//! What a processor has of its own (`[own]` in `kernel/timing.toml`), held against accesses and against what stands there.

use std::collections::BTreeMap;

use wcet_binary::lift::il::{AddressForm, Register};
use wcet_binary::load::Program;
use wcet_kernel::{Kernel, Own, Region};

use crate::observe::accesses::{which, Which};
use crate::observe::code::{told, Known};
use crate::observe::ledger::{Ledger, Row};
use crate::observe::record::{Access, Executed};

/// Elements of one size, one after the other.
#[derive(Debug, Clone, Copy)]
struct Array {
    first: u64,
    size: u64,
    bytes: u64,
}

impl Array {
    fn of(program: &Program, element: &wcet_kernel::Element) -> Option<Array> {
        let symbol = program.symbol(&element.symbol).filter(|symbol| symbol.size > 0 && element.bytes > 0)?;
        Some(Array { first: symbol.address, size: symbol.size, bytes: element.bytes })
    }

    fn count(&self) -> u64 {
        self.size / self.bytes
    }

    /// The element in which an address is, and how far behind its beginning.
    fn place(&self, address: u64) -> Option<(u64, u64)> {
        let offset = address.checked_sub(self.first).filter(|offset| *offset < self.count() * self.bytes)?;
        Some((offset / self.bytes, offset % self.bytes))
    }

    /// Elements stand at multiples of their size.
    fn begins(&self, address: u64) -> bool {
        address % self.bytes == 0 && self.place(address).is_some_and(|(_, within)| within == 0)
    }
}

/// Where the stack pointer stood before an instruction that accesses the stack, and one of its accesses there.
pub fn stack<'e>(pointer: Register, known: &Known, executed: &'e Executed) -> Option<(&'e Access, u64)> {
    executed.accesses.iter().find_map(|access| {
        let Which::One(number) = which(&known.instruction.accesses, access) else { return None };
        match known.instruction.accesses[number].address {
            AddressForm::Known { base, index: None, displacement, segment: None } if base == Some(pointer) => {
                Some((access, access.address.wrapping_sub(displacement as u64)))
            }
            _ => None,
        }
    })
}

pub struct OwnObjects {
    own: Own,
    segment: Register,
    stack_pointer: Register,
    processors: Array,
    threads: Array,
    rows: [Row; 5],
    /// By the trace's number, the element of each processor.
    elements: BTreeMap<usize, u64>,
    /// By element, the address of its thread's, as it was seen last.
    pointers: BTreeMap<u64, u64>,
}

impl OwnObjects {
    /// None if the description says nothing of them, or the kernel does not have them.
    pub fn new(kernel: &Kernel<'_>, ledger: &mut Ledger) -> Option<OwnObjects> {
        let (own, registers) = (kernel.description.own.clone()?, kernel.lifter.registers());
        let program = kernel.lifter.program();
        Some(OwnObjects {
            segment: registers.named("GS_OFFSET")?,
            stack_pointer: registers.stack_pointer(),
            processors: Array::of(program, &own.processor)?,
            threads: Array::of(program, &own.thread)?,
            rows: own.says().map(|text| ledger.row(text)),
            own,
            elements: BTreeMap::new(),
            pointers: BTreeMap::new(),
        })
    }

    /// What an instruction did on one processor.
    pub fn take(&mut self, processor: usize, known: &Known, executed: &Executed, ledger: &mut Ledger) {
        let accesses = &known.instruction.accesses;
        for access in &executed.accesses {
            let form = match which(accesses, access) {
                Which::One(number) => Some(accesses[number].address),
                _ => None,
            };
            let through = match form {
                Some(AddressForm::Known { base, index, displacement, segment }) if segment == Some(self.segment) => {
                    Some((base.is_none() && index.is_none()).then_some(displacement as u64))
                }
                _ => None,
            };
            if let Some(Some(displacement)) = through {
                let holds = self.is_own(processor, access, displacement);
                ledger.hold(self.rows[0], holds, || told(known, access));
            }
            if let Some((element, at)) = self.processors.place(access.address) {
                self.word(known, access, (element, at), through.is_some(), ledger);
            }
        }
    }

    /// Whether an access through GS alone goes to the processor's own element, whose beginning is where GS leads.
    fn is_own(&mut self, processor: usize, access: &Access, displacement: u64) -> bool {
        let leads = access.address.wrapping_sub(displacement);
        let Some((element, _)) = self.processors.place(leads).filter(|_| self.processors.begins(leads)) else {
            return false;
        };
        let another = self.elements.iter().any(|(other, theirs)| *other != processor && *theirs == element);
        let own = *self.elements.entry(processor).or_insert(element);
        own == element && !another && displacement + access.size <= self.processors.bytes
    }

    /// An access to some processor's element.
    fn word(&mut self, known: &Known, access: &Access, (element, at): (u64, u64), through: bool, ledger: &mut Ledger) {
        let meets = |(place, bytes): &(u64, u64)| at < place + bytes && *place < at + access.size;
        if access.write && self.own.words().iter().any(meets) {
            ledger.hold(self.rows[3], through, || told(known, access));
        }
        let Some(value) = access.value else { return };
        let stands = || format!("{}, where {value:#x} stands", told(known, access));
        if (at, access.size) == (self.own.pointer, 8) {
            ledger.hold(self.rows[1], self.threads.begins(value), stands);
            self.pointers.insert(element, value);
        }
        if (at, access.size) == (self.own.number, 4) {
            ledger.hold(self.rows[2], value == element, stands);
        }
        if (at, access.size) == (self.own.current, 4) {
            ledger.hold(self.rows[2], value < self.threads.count(), stands);
        }
    }

    /// The first instruction of an entry that interrupted a program: where the stack pointer stands says where that was put.
    pub fn interrupted(
        &mut self,
        kernel: &Kernel<'_>,
        region: &Region,
        processor: usize,
        known: &Known,
        executed: &Executed,
        ledger: &mut Ledger,
    ) {
        let Some(frame) = kernel.interrupted(region) else { return };
        let Some((access, stack)) = stack(self.stack_pointer, known, executed) else { return };
        let object = stack.wrapping_sub(frame);
        let holds = self.threads.begins(object) && self.is_current(processor, object);
        ledger.hold(self.rows[4], holds, || told(known, access));
    }

    /// What the processor put away when it interrupted a program, behind the instruction that went there.
    pub fn put(&self, processor: usize, known: &Known, accesses: &[Access], ledger: &mut Ledger) {
        // Six words at most, each write being one.
        let words = self.own.frame.saturating_sub(6 * 8)..self.own.frame;
        for access in accesses.iter().filter(|access| access.write) {
            let place = self.threads.place(access.address);
            let inside = |within: u64| words.contains(&within) && within + access.size <= words.end;
            let holds =
                place.is_some_and(|(_, within)| inside(within) && self.is_current(processor, access.address - within));
            ledger.hold(self.rows[4], holds, || told(known, access));
        }
    }

    /// Whether an object is that of the processor's thread, as far as it is known.
    fn is_current(&self, processor: usize, object: u64) -> bool {
        let pointer = self.elements.get(&processor).and_then(|element| self.pointers.get(element));
        pointer.is_none_or(|pointer| *pointer == object)
    }
}
