//! Lines of memory as the caches see them.
//!
//! * *The image.* Code is fetched by virtual addresses, and data of the image has them too; physical addresses of the image
//!   are translated back. Caches find the same sets either way, if the difference is a multiple of all their spans: else
//!   nothing has a name. Two virtual addresses of one physical one would get one name.
//! * *The stack.* A kernel stack is one page, which is another one for each thread. What is on it is
//!   [`Target::OnPage`]: which sets of a cache a line may be in follows from its place in the page. Stacks have no other
//!   name: accesses to them by other addresses are to any line.
//! * *Devices.* Only functions that the description names reach them; all other accesses that are not known go to memory. Of some
//!   it says that they access nothing else by addresses that are not known.
//! * *Before the entry.* Where it is known what was executed last (`just_before.rs`), the line that this accessed of the processor's
//!   record, through GS, is the one that the graph accesses so, and the stack is the same.
//! * *The rest* is any memory. Where the values name its address ([`wcet_values::Name`]), its line has that name, or the
//!   name of the line of the sum if it is known how that stands in a line. What has no name may still go to the line of an
//!   access shortly before it (`same_line.rs`).

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use wcet_binary::lift::il::{Access, AddressForm};
use wcet_binary::lift::Instruction;
use wcet_flow::context::{Expanded, LoopId, NodeId};
use wcet_hardware::cache::{self, Kind, Sets, Target};
use wcet_hardware::machine::Machine;
use wcet_paths::ipet::Targets;
use wcet_values::Values;

use crate::description::Memory;
use crate::just_before::Step;
use crate::kernel::Kernel;
use crate::same_line::Again;

/// The smallest page of the processor.
const PAGE: u64 = 4096;

/// The end of the stack's page, in addresses that no memory has.
const STACK_END: u64 = 1 << 60;

/// The stack pointer so many bytes below the end of the stack.
pub fn stack_pointer(below: u64) -> (u64, u64) {
    (STACK_END - below, STACK_END - below)
}

/// How far behind the beginning of the stack's page an address is by which values know the stack.
pub fn stack_offset(address: u64, page: u64) -> Option<u64> {
    address.checked_sub(STACK_END - page).filter(|offset| *offset < page)
}

/// Targets of a region.
pub struct Named<'e, 'g, 'p> {
    kernel: &'e Kernel<'p>,
    expanded: &'e Expanded<'g>,
    values: &'e Values,
    /// Functions whose accesses may go to devices, with the first and last address of those, and whether what is not known
    /// goes nowhere else.
    devices: BTreeMap<u64, (u64, u64, bool)>,
    /// The image, if caches find its lines by either address.
    image: Option<&'e Memory>,
    /// Physical addresses of all stacks, first and last.
    stacks: Option<(u64, u64)>,
    line: u64,
    again: Again,
    /// The loop of each header.
    headers: BTreeMap<NodeId, LoopId>,
    /// Of each node, whether it is in a loop.
    looping: Vec<bool>,
    /// Names of lines, with the number of the newest symbol that each is made of.
    lines: RefCell<BTreeMap<Line, (u64, u64)>>,
    /// What was executed just before the entry.
    before: &'e [Step],
    /// By the number of a line in the processor's record, its name, if it is accessed by one through GS alone.
    of_processor: RefCell<BTreeMap<u64, Option<u64>>>,
}

/// A line that has no number: [`wcet_values::Name::part`].
type Line = (u32, u64, i64);

impl<'e, 'g, 'p> Named<'e, 'g, 'p> {
    pub fn new(
        kernel: &'e Kernel<'p>,
        expanded: &'e Expanded<'g>,
        values: &'e Values,
        machine: &Machine,
        before: &'e [Step],
    ) -> Named<'e, 'g, 'p> {
        let program = kernel.lifter.program();
        let mut devices = BTreeMap::new();
        for device in &kernel.description.device {
            let Some(region) = machine.regions.iter().find(|region| region.name == device.region) else { continue };
            let symbols = device.functions.iter().filter_map(|name| program.symbol(name));
            let (first, last) = region.range;
            devices.extend(symbols.map(|symbol| (symbol.address, (first, last, device.alone))));
        }
        let holds = |memory: &&Memory| memory.first <= kernel.stacks && kernel.stacks - memory.first < memory.bytes;
        let same_sets = |memory: &&Memory| {
            let apart = memory.first.wrapping_sub(memory.physical);
            machine.caches.iter().all(|cache| apart % (cache.sets * cache.line).max(1) == 0)
        };
        let stacks = program.symbol(&kernel.description.stacks.symbol).filter(|symbol| symbol.size > 0);
        let stacks = stacks.and_then(|symbol| {
            let first = kernel.physical(symbol.address)?;
            Some((first, first + symbol.size - 1))
        });
        let mut looping = vec![false; expanded.nodes.len()];
        expanded.loops.iter().flat_map(|one| &one.nodes).for_each(|node| looping[*node] = true);
        Named {
            kernel,
            expanded,
            values,
            devices,
            image: kernel.description.memory.iter().find(holds).filter(same_sets),
            stacks,
            line: machine.line(),
            again: Again::new(kernel, machine),
            headers: expanded.loops.iter().enumerate().map(|(number, one)| (one.header, number)).collect(),
            looping,
            lines: RefCell::default(),
            before,
            of_processor: RefCell::default(),
        }
    }

    /// The line of an access of which no number is known, but how its address was computed.
    fn line(&self, node: NodeId, instruction: usize, access: usize) -> Option<Target> {
        let block = self.expanded.block(node);
        let before: usize = block.instructions[..instruction].iter().map(|one| one.accesses.len()).sum();
        let name = (*self.values.names(node).get(before + access)?)?;
        let line = name.part(self.line);
        let mut lines = self.lines.borrow_mut();
        let next = lines.len() as u64;
        Some(Target::Line(lines.entry(line).or_insert((next, name.newest)).0, self.sets(&name)))
    }

    /// Where caches may have the line of an address: pages stand at multiples of their size, virtual and physical ones alike.
    fn sets(&self, name: &wcet_values::Name) -> Sets {
        let known = name.modulus.min(PAGE);
        if known <= self.line {
            return Sets::ANY;
        }
        let rest = name.rest.wrapping_add(name.offset) % known;
        Sets { modulus: known / self.line, rest: rest / self.line }
    }

    /// All memory: what lies below the first device.
    fn memory(&self) -> Target {
        let end = self.devices.values().map(|(first, ..)| *first).min().unwrap_or(1 << 32);
        Target::Within(0, end - 1)
    }

    /// On the stack, if that is where the bytes are.
    fn on_stack(&self, first: u64, last: u64, size: u64) -> Option<Target> {
        let page = self.kernel.description.stacks.bytes;
        let inside = first >= STACK_END - page && last < STACK_END && first <= last;
        let one_line = first / self.line == last / self.line || last - first + 1 == size;
        (inside && one_line).then_some(Target::OnPage { address: first, page })
    }

    /// Bytes of the image or of other memory or devices by the addresses that fetches have, or by physical ones. None for
    /// stacks, and for what is not known.
    fn elsewhere(&self, first: u64, last: u64) -> Option<Target> {
        let (image, stacks) = (self.image?, self.stacks?);
        let (low, high) = (self.kernel.physical(first)?, self.kernel.physical(last)?);
        let straight = high.checked_sub(low) == last.checked_sub(first);
        if !straight || low <= stacks.1 && high >= stacks.0 {
            return None;
        }
        let inside = |address: u64| address.checked_sub(image.physical).filter(|offset| *offset < image.bytes);
        match (inside(low), inside(high)) {
            (Some(from), Some(to)) => Some(Target::Within(image.first + from, image.first + to)),
            (None, None) => Some(Target::Within(low, high)),
            _ => None,
        }
    }

    /// The number of a line in the processor's record, if that is where an access goes.
    fn line_of_processor(&self, access: &Access) -> Option<u64> {
        let AddressForm::Known { base: None, index: None, displacement, segment: Some(segment) } = access.address
        else {
            return None;
        };
        let own = self.kernel.description.own.as_ref().filter(|own| own.processor.bytes % self.line == 0)?;
        let at = u64::try_from(displacement).ok()?;
        let inside = at.saturating_add(u64::from(access.size.max(1))) <= own.processor.bytes;
        let gs = self.kernel.lifter.registers().named("GS_OFFSET") == Some(segment);
        (gs && inside).then_some(at / self.line)
    }

    fn keep_of_processor(&self, node: NodeId, instruction: usize, access: usize, line: Target) {
        let accesses = &self.expanded.block(node).instructions[instruction].accesses;
        let (Some(number), Target::Line(name, _)) = (self.line_of_processor(&accesses[access]), line) else { return };
        let mut all = self.of_processor.borrow_mut();
        let known = all.entry(number).or_insert(Some(name));
        *known = known.filter(|known| *known == name);
    }

    /// Whether it is so much memory that caches know no more than that it is memory; or that it is one of several lines, where
    /// no loop makes use of that.
    fn is_vague(&self, node: NodeId, target: Target) -> bool {
        const MANY: u64 = 64;
        let Target::Within(first, last) = target else { return false };
        let lines = last / self.line - first / self.line;
        (lines >= MANY || lines > 0 && !self.looping[node]) && self.is_memory(first, last)
    }

    fn is_memory(&self, first: u64, last: u64) -> bool {
        self.devices.values().all(|(from, to, _)| last < *from || first > *to)
    }

    fn place(&self, node: NodeId, instruction: usize, access: usize) -> Target {
        let block = self.expanded.block(node);
        let before: usize = block.instructions[..instruction].iter().map(|one| one.accesses.len()).sum();
        let size = u64::from(block.instructions[instruction].accesses[access].size.max(1));
        let bytes = match self.values.targets(node).get(before + access).copied().unwrap_or(Target::Anywhere) {
            Target::At(address) => Some((address, address.saturating_add(size - 1))),
            Target::Within(first, last) => Some((first, last)),
            _ => None,
        };
        let known =
            bytes.and_then(|(first, last)| self.on_stack(first, last, size).or_else(|| self.elsewhere(first, last)));
        let function = self.expanded.contexts[self.expanded.nodes[node].context].function;
        match (known, self.devices.get(&function)) {
            (Some(Target::Within(first, last)), Some(_)) if first / self.line == last / self.line => {
                Target::Within(first, last)
            }
            (Some(Target::Within(first, last)), _) if self.is_memory(first, last) => Target::Within(first, last),
            (Some(Target::OnPage { address, page }), _) => Target::OnPage { address, page },
            // The stack, wherever it stands, is no device.
            (None, _) if matches!(self.values.targets(node).get(before + access), Some(Target::Stack(..))) => {
                self.memory()
            }
            // A device's registers, or one of the kernel's objects: they are not told apart.
            (_, Some((first, last, true))) => Target::Within(*first, *last),
            (_, Some((first, last, false))) => Target::Device(*first, *last),
            _ => self.memory(),
        }
    }
}

impl Targets for Named<'_, '_, '_> {
    fn target(&self, node: NodeId, instruction: usize, access: usize) -> Target {
        let target = self.place(node, instruction, access);
        if target != self.memory() && !self.is_vague(node, target) {
            return target;
        }
        if let Some(line) = self.line(node, instruction, access) {
            self.keep_of_processor(node, instruction, access, line);
            return line;
        }
        let instructions = &self.expanded.block(node).instructions[..=instruction];
        let any = |instruction, access| {
            let place = self.place(node, instruction, access);
            (place == self.memory() || self.is_vague(node, place)) && self.line(node, instruction, access).is_none()
        };
        let before: usize = instructions[..instruction].iter().map(|one| one.accesses.len()).sum();
        let alike = self.values.alike(node).get(before + access).copied().flatten();
        let alike = alike.filter(|_| self.line % wcet_values::LINE == 0);
        self.again.back(instructions, access, alike, any).map_or(target, Target::Again)
    }

    /// Where a loop goes on to its header, or begins, what its iterations change is changed.
    fn renewed(&self, node: NodeId) -> Vec<u64> {
        let edges = self.expanded.successors(node).iter();
        let loops = edges.filter_map(|edge| self.headers.get(&self.expanded.edges[*edge].to));
        let Some(born) = loops.map(|one| self.values.born(*one)).min() else { return Vec::new() };
        let lines = self.lines.borrow();
        lines.values().filter(|(_, newest)| *newest >= born).map(|(name, _)| *name).collect()
    }

    fn before(&self) -> Vec<(Rc<Instruction>, Vec<cache::Access>)> {
        let names = self.of_processor.borrow();
        let data = |Step { address, stack }: &Step| {
            let instruction = self.kernel.lifter.lift(*address).ok()?;
            let mut all = Vec::new();
            for access in &instruction.accesses {
                let own = self.line_of_processor(access).and_then(|number| names.get(&number).copied().flatten());
                let page = self.kernel.description.stacks.bytes;
                let target = match (own, stack.filter(|_| instruction.accesses.len() == 1)) {
                    (Some(name), _) => Target::Line(name, Sets::ANY),
                    (None, Some(at)) => Target::OnPage { address: STACK_END - at, page },
                    (None, None) => Target::Memory,
                };
                // One that may cross the end of a line is of two.
                let most = if u64::from(access.size) > 8 { u64::from(access.size).div_ceil(self.line) + 1 } else { 1 };
                let certain = !access.conditional && most == 1;
                let kinds = [(access.read, Kind::Read), (access.write, Kind::Write)];
                for (_, kind) in kinds.into_iter().filter(|(happens, _)| *happens) {
                    let target = if most == 1 { target } else { Target::Memory };
                    all.extend((0..most).map(|_| cache::Access { kind, target, certain }));
                }
            }
            Some((Rc::new(instruction), all))
        };
        self.before.iter().map(data).collect::<Option<_>>().unwrap_or_default()
    }

    /// That no access of the kernel crosses a line is stated, not shown ([`crate::statements`]).
    fn aligned(&self, _: NodeId, _: usize, _: usize) -> bool {
        true
    }
}
