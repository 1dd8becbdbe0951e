//! The accesses, edges and loops of a passage, held against what the analysis found of its region.

use std::collections::BTreeMap;
use std::rc::Rc;

use wcet_binary::lift::il::Flow;
use wcet_binary::lift::Instruction;
use wcet_flow::context::Expanded;
use wcet_hardware::cache::Target;
use wcet_hardware::machine::Machine;
use wcet_kernel::{stack_offset, Expected, Kernel, Place, Whom};
use wcet_paths::ipet::class;

use crate::observe::accesses::{same_direction, which, Which};
use crate::observe::code::own;
use crate::observe::follow::Walk;
use crate::observe::ledger::{Ledger, Row};
use crate::observe::record::{Access, Executed};

pub struct Sets<'k, 'p> {
    kernel: &'k Kernel<'p>,
    machine: &'k Machine,
    /// Bounds of loops by the addresses of their headers.
    bounds: BTreeMap<u64, u64>,
    made: Row,
    bytes: Row,
    lines: Row,
    edges: Row,
    loops: Row,
    /// Of waits for devices, by function.
    waits: BTreeMap<u64, Row>,
    /// Functions whose accesses at unknown addresses go to a device alone: its registers, and what is said of them.
    alone: BTreeMap<String, ((u64, u64), Row)>,
    /// Accesses that may go to any memory, as far as is known.
    pub anywhere: u64,
}

/// What is only known from the passage itself.
#[derive(Default)]
struct Seen {
    /// The page of the stack.
    page: Option<u64>,
    /// The stack pointer at the beginning.
    stack: Option<u64>,
    /// Lines by their names.
    names: BTreeMap<u64, u64>,
    /// Accesses that may go anywhere.
    anywhere: u64,
}

impl<'k, 'p> Sets<'k, 'p> {
    pub fn new(
        kernel: &'k Kernel<'p>,
        machine: &'k Machine,
        bounds: BTreeMap<u64, u64>,
        ledger: &mut Ledger,
    ) -> Sets<'k, 'p> {
        let program = kernel.lifter.program();
        let device = kernel.description.wait.iter().filter_map(|wait| {
            let function = program.symbol(&wait.function)?.address;
            Some((function, ledger.row(wait.says()?)))
        });
        let waits = device.collect();
        let mut alone = BTreeMap::new();
        for device in &kernel.description.device {
            let region = machine.regions.iter().find(|region| region.name == device.region);
            if let (Some(text), Some(region)) = (device.alone_says(), region) {
                let row = ledger.row(text);
                alone.extend(device.functions.iter().map(|name| (name.clone(), (region.range, row))));
            }
        }
        Sets {
            kernel,
            machine,
            bounds,
            made: ledger.row("each access is one that its instruction is known to make, or part of its price"),
            bytes: ledger.row("each access goes to bytes that the analysis of its region allows"),
            lines: ledger.row("accesses that the analysis of their region takes to go to one line do"),
            edges: ledger.row("no branch goes where the analysis of its region says that none does"),
            loops: ledger.row("the header of each loop executes as often as its bound says at most, for each entry"),
            waits,
            alone,
            anywhere: 0,
        }
    }

    /// The accesses and edges of a walk through one graph, of instructions of which the first is its first. Returns how many of
    /// the accesses may go anywhere.
    pub fn accesses(
        &self,
        expanded: &Expanded<'_>,
        expected: &Expected,
        walk: &Walk,
        executed: &[Executed],
        ledger: &mut Ledger,
    ) -> u64 {
        let mut seen = Seen::default();
        for visit in &walk.visits {
            if let Some(edge) = visit.by {
                let place =
                    || format!("{} to {}", expanded.place(expanded.edges[edge].from), expanded.place(visit.node));
                ledger.hold(self.edges, !expected.dead.contains(&edge), place);
            }
            let Some(places) = expected.accesses.get(visit.node) else { continue };
            let mut before = 0;
            // Lines of the node's accesses, as far as they are known.
            let mut lines: Vec<Option<u64>> = Vec::new();
            let instructions = expanded.instructions(visit.node);
            for (instruction, executed) in instructions.iter().zip(&executed[visit.first..]) {
                let count = instruction.accesses.len();
                if let Some(places) = places.get(before..before + count) {
                    self.instruction(instruction, places, executed, &mut lines, &mut seen, ledger);
                }
                before += count;
            }
            for name in expected.renewed.get(visit.node).into_iter().flatten() {
                seen.names.remove(name);
            }
        }
        seen.anywhere
    }

    fn instruction(
        &self,
        instruction: &Rc<Instruction>,
        places: &[Place],
        executed: &Executed,
        lines: &mut Vec<Option<u64>>,
        seen: &mut Seen,
        ledger: &mut Ledger,
    ) {
        let mut of: Vec<Vec<&Access>> = vec![Vec::new(); places.len()];
        let last = instruction.flow == Flow::Leave || self.kernel.points.ends.contains_key(&instruction.address);
        for access in own(instruction, executed, last).0 {
            let told = || self.told(instruction, access);
            let which = which(&instruction.accesses, access);
            ledger.hold(self.made, which != Which::None || self.priced(instruction), told);
            match which {
                Which::One(number) => {
                    of[number].push(access);
                    match self.goes(places[number].bytes, access, seen) {
                        Some(holds) => ledger.hold(self.bytes, holds, told),
                        None => seen.anywhere += 1,
                    }
                    self.device(instruction, &places[number], access, ledger);
                }
                Which::Several => {
                    let fitting = instruction.accesses.iter().zip(places);
                    let fitting = fitting.filter(|(one, _)| same_direction(one, access));
                    let goes: Vec<_> = fitting.map(|(_, place)| self.goes(place.bytes, access, seen)).collect();
                    match goes.contains(&None) {
                        true => seen.anywhere += 1,
                        false => ledger.hold(self.bytes, goes.contains(&Some(true)), told),
                    }
                }
                Which::None => {}
            }
        }
        for (number, place) in places.iter().enumerate() {
            let line = self.one_line(&of[number]);
            let told = || of[number].first().map_or_else(String::new, |access| self.told(instruction, access));
            // The line that it should be, if that is known.
            let expected = match place.line {
                Target::Again(back) => {
                    let index = usize::try_from(back).ok().and_then(|back| lines.len().checked_sub(back));
                    index.and_then(|index| lines.get(index).copied().flatten())
                }
                Target::Line(name, _) => seen.names.get(&name).copied(),
                _ => None,
            };
            if let (Some(expected), Some(line)) = (expected, line) {
                ledger.hold(self.lines, expected == line, told);
            }
            if let (Target::Line(name, sets), Some(line)) = (place.line, line) {
                ledger.hold(self.lines, line % sets.modulus == sets.rest, told);
                seen.names.insert(name, line);
            }
            let access = &instruction.accesses[number];
            lines.extend(std::iter::repeat_n(line, usize::from(access.read) + usize::from(access.write)));
        }
    }

    /// The one line to which accesses go; none if there are none, or several lines.
    fn one_line(&self, accesses: &[&Access]) -> Option<u64> {
        let size = self.machine.line();
        let line = |access: &&Access| Some(self.kernel.physical(access.address)? / size);
        let first = line(accesses.first()?)?;
        accesses.iter().all(|access| line(access) == Some(first)).then_some(first)
    }

    /// Whether an access goes where it may; None if it may go anywhere.
    fn goes(&self, target: Target, access: &Access, seen: &mut Seen) -> Option<bool> {
        let (first, last) = match target {
            Target::At(address) => (address, address),
            Target::Within(first, last) => (first, last),
            Target::Stack(first, last) => return self.on_stack(first, last, access, seen),
            _ => return None,
        };
        let stacks = &self.kernel.description.stacks;
        let (Some(from), Some(to)) = (stack_offset(first, stacks.bytes), stack_offset(last, stacks.bytes)) else {
            return Some(access.address >= first && access.address + access.size.max(1) - 1 <= last);
        };
        let Some(offset) = access.address.checked_sub(stacks.first) else { return Some(false) };
        let (page, within) = (offset / stacks.bytes, offset % stacks.bytes);
        let same = *seen.page.get_or_insert(page) == page;
        Some(same && page % 2 == 1 && within >= from && within + access.size.max(1) - 1 <= to)
    }

    /// The same, of distances from where the stack pointer stood: the first access of which the distance is known says where.
    fn on_stack(&self, first: i64, last: i64, access: &Access, seen: &mut Seen) -> Option<bool> {
        let exactly = last.wrapping_sub(first).wrapping_add(1) as u64 == access.size;
        let stack = match seen.stack {
            Some(stack) => stack,
            None if exactly => *seen.stack.insert(access.address.wrapping_sub(first as u64)),
            None => return None,
        };
        let distance = access.address.wrapping_sub(stack) as i64;
        Some(distance >= first && distance + access.size.max(1) as i64 - 1 <= last)
    }

    /// Functions that access a device alone do, where the address is not known.
    fn device(&self, instruction: &Instruction, place: &Place, access: &Access, ledger: &mut Ledger) {
        let program = self.kernel.lifter.program();
        let Some(((first, last), row)) = program
            .symbol_of(instruction.address)
            .and_then(|symbol| self.alone.get(&symbol.name))
            .filter(|((first, last), _)| place.line == Target::Within(*first, *last))
        else {
            return;
        };
        let end = |physical: u64| physical + access.size.max(1) - 1;
        let physical = self.kernel.physical(access.address);
        let holds = physical.is_some_and(|physical| physical >= *first && end(physical) <= *last);
        ledger.hold(*row, holds, || self.told(instruction, access));
    }

    /// The loops of a walk.
    pub fn loops(&self, expanded: &Expanded<'_>, expected: &Expected, walk: &Walk, ledger: &mut Ledger) {
        for (one, entries) in walk.entries(expanded) {
            let found = &expanded.loops[one];
            let function = expanded.contexts[found.context].function;
            let wait = self.kernel.waits.get(&function);
            let (row, most) = match (wait, self.waits.get(&function)) {
                (Some((Whom::Device, looks)), Some(row)) => (*row, Some(*looks)),
                // Time waited for others is not in the bounds.
                (Some(_), _) => continue,
                (None, _) => {
                    let all = self.bounds.get(&expanded.block(found.header).start()).copied();
                    let here = expected.bounds.get(one).copied().flatten();
                    (self.loops, all.into_iter().chain(here).min())
                }
            };
            let Some(most) = most else { continue };
            for entry in entries {
                let times = entry.len() as u64;
                let place =
                    || format!("{} executes {times} times for one entry, not {most}", expanded.place(found.header));
                ledger.hold(row, times <= most, place);
            }
        }
    }

    /// Whether the price of an instruction has its accesses in it, and the analysis of caches forgets all for them.
    fn priced(&self, instruction: &Instruction) -> bool {
        let sort = class::sort(self.kernel.lifter.program().architecture, instruction);
        sort.is_ok_and(|sort| sort.forgets)
    }

    fn told(&self, instruction: &Instruction, access: &Access) -> String {
        crate::observe::code::describe(self.kernel.lifter.program(), instruction, access)
    }
}
