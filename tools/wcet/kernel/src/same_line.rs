//! Accesses to a line at an unknown address that was accessed shortly before.
//!
//! Within a block, two accesses go to one line if their addresses are the same sum of registers that did not change in
//! between; if the values of their addresses say so ([`wcet_values::Values::alike`]); or if both go to one object that stands at a multiple of its size and their places in it are in one line: what
//! belongs to the processor, and the registers of its thread (`own` in `kernel/timing.toml`). Between them may be only other
//! accesses of which nothing is known, so that nothing known grows older by the second ([`wcet_hardware::cache::Target::Again`]).

use std::rc::Rc;

use wcet_binary::lift::il::{Access, AddressForm, Flow, Kind, Op, Operand, Register};
use wcet_binary::lift::Instruction;
use wcet_hardware::machine::Machine;

use crate::description::Element;
use crate::kernel::Kernel;

pub struct Again {
    line: u64,
    /// The first cache of data is one of data alone, so that fetches are nothing to it, and writes load lines.
    apart: bool,
    own: Option<Own>,
}

/// The description's objects, where the binary bears out that they stand at multiples of their size.
struct Own {
    segment: Register,
    processor_bytes: u64,
    pointer: i64,
    thread_bytes: u64,
}

/// More accesses in between are too many for any cache.
const FAR: u64 = 16;

impl Again {
    pub fn new(kernel: &Kernel<'_>, machine: &Machine) -> Again {
        let line = machine.line();
        let first = machine.caches.iter().find(|cache| cache.holds_data());
        let apart = first.is_some_and(|cache| !cache.holds_instructions() && cache.allocate_on_write);
        let own = kernel.description.own.as_ref().and_then(|own| {
            let aligned = |element: &Element| {
                let symbol = kernel.lifter.program().symbol(&element.symbol);
                let fits = |address: u64, size: u64| address % element.bytes == 0 && size % element.bytes == 0;
                let lines = element.bytes > 0 && element.bytes % line == 0;
                symbol.is_some_and(|symbol| lines && symbol.size > 0 && fits(symbol.address, symbol.size))
            };
            (aligned(&own.processor) && aligned(&own.thread)).then_some(())?;
            Some(Own {
                segment: kernel.lifter.registers().named("GS_OFFSET")?,
                processor_bytes: own.processor.bytes,
                pointer: i64::try_from(own.pointer).ok()?,
                thread_bytes: own.thread.bytes,
            })
        });
        Again { line, apart, own }
    }

    /// How many accesses before it the last instruction's access meets its line again. `alike`, if any, goes to its line: one
    /// before, by its number among all. `any` says of an access, by its instruction and number, that nothing is known of where
    /// in memory it goes.
    pub fn back(
        &self,
        instructions: &[Rc<Instruction>],
        access: usize,
        alike: Option<usize>,
        any: impl Fn(usize, usize) -> bool,
    ) -> Option<u64> {
        let last = instructions.len().checked_sub(1)?;
        let wanted = instructions[last].accesses.get(access).filter(|_| self.apart)?;
        // Those of its own instruction are not put in order.
        if instructions[last].accesses.len() != 1 || repeats(&instructions[last]) {
            return None;
        }
        let mut back = 0;
        let mut place: usize = instructions[..last].iter().map(|one| one.accesses.len()).sum();
        for number in (0..last).rev() {
            let one = &instructions[number];
            if one.kind != Kind::Ordinary || repeats(one) {
                return None;
            }
            for (index, before) in one.accesses.iter().enumerate().rev() {
                if !any(number, index) {
                    return None;
                }
                back += u64::from(before.read) + u64::from(before.write);
                if back > FAR {
                    return None;
                }
                let alone = one.accesses.len() == 1 && !before.conditional;
                place -= 1;
                if alone && (alike == Some(place) || self.same_line(&instructions[..last], number, before, wanted)) {
                    return Some(back);
                }
            }
        }
        None
    }

    /// Whether the access of an instruction, and one behind all these, go to one line.
    fn same_line(&self, instructions: &[Rc<Instruction>], number: usize, before: &Access, wanted: &Access) -> bool {
        let kept = |register: Register| !instructions[number..].iter().any(|one| writes(one, register));
        if before.address == wanted.address {
            let AddressForm::Known { base, index, segment, .. } = wanted.address else { return false };
            return [base, index.map(|(index, _)| index), segment].into_iter().flatten().all(kept);
        }
        let Some(own) = &self.own else { return false };
        let (first, second) = (own.place(before), own.place(wanted));
        let (Some((some, at)), Some((other, to))) = (first, second) else { return false };
        let (bytes, object) = match some {
            None => (own.processor_bytes, true),
            Some(register) => (own.thread_bytes, own.loaded(&instructions[..number], register) && kept(register)),
        };
        // GS itself changes only with instructions of the system.
        let inside = |at: u64, access: &Access| at.saturating_add(u64::from(access.size.max(1))) <= bytes;
        some == other && object && at / self.line == to / self.line && inside(at, before) && inside(to, wanted)
    }
}

impl Own {
    /// A place in the processor's object, or behind a register.
    fn place(&self, access: &Access) -> Option<(Option<Register>, u64)> {
        let AddressForm::Known { base, index: None, displacement, segment } = access.address else { return None };
        let at = u64::try_from(displacement).ok()?;
        match (base, segment) {
            (None, Some(segment)) if segment == self.segment => Some((None, at)),
            (Some(register), None) => Some((Some(register), at)),
            _ => None,
        }
    }

    /// Whether a register holds what was loaded from the pointer's place: its last change in the block is that load.
    fn loaded(&self, before: &[Rc<Instruction>], register: Register) -> bool {
        let Some(last) = before.iter().rev().find(|one| writes(one, register)) else { return false };
        let [Access { address, size: 8, read: true, write: false, conditional: false }] = last.accesses.as_slice()
        else {
            return false;
        };
        let segment = Some(self.segment);
        let pointer = AddressForm::Known { base: None, index: None, displacement: self.pointer, segment };
        last.mnemonic == "mov" && *address == pointer
    }
}

fn writes(instruction: &Instruction, register: Register) -> bool {
    let sets = |op: &Op| matches!(op, Op::Set { to, .. } if to.operand == Operand::Register(register));
    instruction.ops.iter().any(sets)
}

fn repeats(instruction: &Instruction) -> bool {
    matches!(instruction.flow, Flow::Repeat { .. })
}

#[cfg(test)]
mod tests {
    use wcet_binary::lift::Lifter;
    use wcet_binary::load::{Architecture, Program};

    use super::*;

    fn lifted(code: &[u8]) -> (Vec<Rc<Instruction>>, Option<Register>) {
        let program = Program::from_code(Architecture::X86_64, 0x1000, code);
        let lifter = Lifter::new(&program).unwrap();
        let (mut address, mut found) = (0x1000, Vec::new());
        while address < 0x1000 + code.len() as u64 {
            let instruction = lifter.lift(address).unwrap();
            address = instruction.next();
            found.push(Rc::new(instruction));
        }
        (found, lifter.registers().named("GS_OFFSET"))
    }

    #[test]
    fn the_same_address_again() {
        // mov rax, [rbx+8]; mov rcx, [rdx]; mov rsi, [rbx+8]; mov rbx, [rbx]; mov rdi, [rbx+8]
        let code = [0x48, 0x8b, 0x43, 8, 0x48, 0x8b, 0x0a, 0x48, 0x8b, 0x73, 8, 0x48, 0x8b, 0x1b, 0x48, 0x8b, 0x7b, 8];
        let (code, _) = lifted(&code);
        let again = Again { line: 64, apart: true, own: None };
        let back = |last: usize| again.back(&code[..=last], 0, None, |_, _| true);
        assert_eq!([back(0), back(1), back(2), back(3), back(4)], [None, None, Some(2), None, None]);
        // Where something is known of what comes between, that grows older.
        assert_eq!(again.back(&code[..=2], 0, None, |number, _| number != 1), None);
        // The second and the fourth access are told to be alike.
        assert_eq!(again.back(&code[..=3], 0, Some(1), |_, _| true), Some(2));
        assert_eq!(again.back(&code[..=3], 0, Some(1), |number, _| number != 2), None);
        let unified = Again { apart: false, ..again };
        assert_eq!(unified.back(&code[..=2], 0, None, |_, _| true), None);
    }

    #[test]
    fn the_same_line_of_the_thread() {
        // mov rsp, gs:[8]; mov [rsp+8], rax; mov [rsp+40h], rbx; mov [rsp+38h], rcx; mov rsp, [rsp]; mov [rsp+10h], rcx
        let mut code = vec![0x65, 0x48, 0x8b, 0x24, 0x25, 8, 0, 0, 0, 0x48, 0x89, 0x44, 0x24, 8];
        code.extend([0x48, 0x89, 0x5c, 0x24, 0x40, 0x48, 0x89, 0x4c, 0x24, 0x38]);
        code.extend([0x48, 0x8b, 0x24, 0x24, 0x48, 0x89, 0x4c, 0x24, 0x10]);
        let (code, segment) = lifted(&code);
        let own = Own { segment: segment.unwrap(), processor_bytes: 512, pointer: 8, thread_bytes: 256 };
        let again = Again { line: 64, apart: true, own: Some(own) };
        let back = |last: usize| again.back(&code[..=last], 0, None, |_, _| true);
        assert_eq!([back(1), back(2), back(3), back(4), back(5)], [None, None, Some(2), Some(1), None]);
        // Elsewhere the register's value is not known to be a multiple of its object's size.
        assert_eq!(again.back(&code[1..=3], 0, None, |_, _| true), None);
    }
}
