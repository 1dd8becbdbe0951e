//! Code that may change: the other stages take instructions from the file, so a program that can write them is refused.
//!
//! A segment of the file that is both writable and executable is fine only if every store of what was analysed stays
//! out of its code. Stores relative to the stack pointer do: the stack is not in code, which is an assumption of every
//! stage. In segments that are not writable stores trap; one that goes to code for sure is an error, since the program
//! cannot go on behind it.

use std::collections::{BTreeMap, BTreeSet};

use object::elf;
use object::read::elf::{FileHeader, ProgramHeader};
use object::Endianness;
use wcet_binary::lift::il::{AddressForm, Register};
use wcet_binary::load::{Lines, Program};
use wcet_flow::context::Expanded;
use wcet_hardware::cache::Target;
use wcet_report::Error;
use wcet_values::Values;

use crate::analysis::code::Code;
use crate::analysis::faults::{fault, fault_at, hex};

const REMEDY: &str =
    "link code apart from data (-z separate-code, without -N or --omagic); if nothing writes it, say so \
                      with --fixed-code, and the report names the assumption";

/// Everything in the way of taking code from the file.
pub fn check(
    data: &[u8],
    program: &Program,
    lines: &Lines,
    expanded: &Expanded<'_>,
    values: &Values,
    stack_pointer: Option<Register>,
    stated: bool,
) -> Vec<Error> {
    let writable = writable_code(data);
    let in_writable = |address: u64| writable.iter().any(|(first, last)| (*first..=*last).contains(&address));
    let code = code(program);
    let open: Vec<(u64, u64)> = code.iter().copied().filter(|(first, _)| in_writable(*first)).collect();
    let runs_open = expanded.order().any(|node| in_writable(expanded.block(node).start()));
    let mut found: BTreeMap<u64, String> = BTreeMap::new();
    for node in expanded.order().filter(|node| values.reached(*node)) {
        let mut targets = values.targets(node).iter();
        for instruction in &expanded.block(node).instructions {
            for (access, target) in instruction.accesses.iter().zip(targets.by_ref()).filter(|(one, _)| one.write) {
                let size = u64::from(access.size.max(1));
                let on_stack = matches!(access.address, AddressForm::Known { base: Some(base), index: None, .. }
                    if Some(base) == stack_pointer);
                let range = match *target {
                    Target::At(address) => Some((address, address.saturating_add(size - 1))),
                    Target::Within(first, last) => Some((first, last)),
                    _ => None,
                };
                let problem = match range {
                    None if runs_open && !stated && !on_stack && !matches!(target, Target::Stack(..)) => {
                        Some("this store may go anywhere, also to code, which is in a writable segment".to_string())
                    }
                    Some((first, last)) if runs_open && !stated && overlaps(&open, first, last) => {
                        Some(format!("this store may write code at {}", within(&open, first, last)))
                    }
                    Some((first, last)) if inside(&code, first, last) && !in_writable(first) => {
                        Some(format!("this store writes code at {}, which traps", hex(first)))
                    }
                    _ => None,
                };
                if let Some(problem) = problem {
                    found.entry(instruction.address).or_insert(problem);
                }
            }
        }
    }
    let one = |(address, problem)| fault_at(Code::SelfModifying, program, lines, address, problem, REMEDY);
    found.into_iter().map(one).collect()
}

/// Errors for a program without any code that is fixed.
pub fn unloaded(data: &[u8]) -> Vec<Error> {
    let open = writable_code(data).into_iter();
    open.map(|(first, last)| Error {
        address: Some(hex(first)),
        ..fault(Code::SelfModifying, format!("the code up to {} is writable as a whole", hex(last)), REMEDY)
    })
    .collect()
}

/// Segments of the file that are writable and executable: first and last address.
pub fn writable_code(data: &[u8]) -> Vec<(u64, u64)> {
    match data.get(4) {
        Some(&class) if class == elf::ELFCLASS32.0 => headers::<elf::FileHeader32<Endianness>>(data),
        _ => headers::<elf::FileHeader64<Endianness>>(data),
    }
}

fn headers<Elf: FileHeader<Endian = Endianness>>(data: &[u8]) -> Vec<(u64, u64)> {
    let read = || {
        let header = Elf::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, data).ok()?.iter();
        let both = elf::PF_W | elf::PF_X;
        let open = segments
            .filter(|segment| segment.p_type(endian) == elf::PT_LOAD && segment.p_flags(endian) & both == both)
            .map(|segment| (segment.p_vaddr(endian).into(), segment.p_memsz(endian).into()))
            .filter(|(_, size)| *size > 0);
        Some(open.map(|(address, size): (u64, u64)| (address, address.saturating_add(size - 1))).collect())
    };
    read().unwrap_or_default()
}

/// First and last addresses of code.
fn code(program: &Program) -> BTreeSet<(u64, u64)> {
    let executable = program.segments().iter().filter(|segment| segment.permissions.execute && segment.size > 0);
    executable.map(|segment| (segment.address, segment.address + (segment.size - 1))).collect()
}

fn overlaps(ranges: &[(u64, u64)], first: u64, last: u64) -> bool {
    // A range that wraps around may be anything.
    last < first || ranges.iter().any(|(start, end)| first <= *end && *start <= last)
}

fn inside(ranges: &BTreeSet<(u64, u64)>, first: u64, last: u64) -> bool {
    first <= last && ranges.iter().any(|(start, end)| *start <= first && last <= *end)
}

fn within(ranges: &[(u64, u64)], first: u64, last: u64) -> String {
    let met = ranges.iter().find(|(start, end)| first <= *end && *start <= last);
    met.map_or_else(|| hex(first), |(start, _)| hex(first.max(*start)))
}
