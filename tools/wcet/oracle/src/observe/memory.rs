//! Accesses held against what `kernel/timing.toml` says of memory and of devices.

use std::collections::{BTreeMap, HashMap};

use wcet_hardware::machine::Machine;
use wcet_kernel::{Device, Kernel, NO_LINE_CROSSED, VECTOR_STATE};

use crate::observe::accesses::{which, Which};
use crate::observe::code::{told, Known};
use crate::observe::ledger::{Ledger, Row};
use crate::observe::record::{Access, Executed};

/// What is not said in so many words: `[stacks]`.
const STACKS: &str =
    "stacks stand for the frames at their symbol, in order, each behind a page that stands for nothing";

const WORD: u64 = 8;
const PAGE: u64 = 4096;

pub struct Memories<'k, 'p> {
    kernel: &'k Kernel<'p>,
    machine: &'k Machine,
    /// The entry of `[[memory]]` by which the kernel's image is named.
    image: Option<usize>,
    /// Physical addresses of the image, first and last.
    segments: Vec<(u64, u64)>,
    mapped: Vec<Row>,
    stacks: Row,
    /// Entries that stand for the same memory, and what is said of them.
    apart: Vec<(usize, usize, Row)>,
    imported: Vec<Row>,
    only: Vec<(&'k str, Row)>,
    lines: Row,
    vectors: Row,
    /// Of words of physical memory, through which entries they were read and written: two bits for each.
    words: HashMap<u64, u8>,
}

impl<'k, 'p> Memories<'k, 'p> {
    pub fn new(kernel: &'k Kernel<'p>, machine: &'k Machine, ledger: &mut Ledger) -> Memories<'k, 'p> {
        let description = kernel.description;
        let entry = |address: u64| {
            let holds = |memory: &wcet_kernel::Memory| address.wrapping_sub(memory.first) < memory.bytes;
            description.memory.iter().position(holds)
        };
        let segments = kernel.lifter.program().segments().iter().filter_map(|segment| {
            let last = segment.address.checked_add(segment.size.checked_sub(1)?)?;
            Some((kernel.physical(segment.address)?, kernel.physical(last)?))
        });
        let index = |memory: &wcet_kernel::Memory| description.memory.iter().position(|one| std::ptr::eq(one, memory));
        let pairs = description.overlaps();
        let apart = pairs.into_iter().filter_map(|(one, other)| {
            // No more bits than that: a description with more entries would be told less of.
            let both = (index(one)?, index(other)?);
            (both.0 < 4 && both.1 < 4).then(|| (both.0, both.1, ledger.row(one.apart_says(other))))
        });
        let apart = apart.collect();
        let only = |device: &'k Device| Some((device.region.as_str(), description.only_says(device)?));
        let only: Vec<(&str, String)> = description.device.iter().filter_map(only).collect();
        Memories {
            kernel,
            machine,
            image: entry(kernel.stacks),
            segments: segments.collect(),
            mapped: description.memory.iter().map(|memory| ledger.row(memory.says())).collect(),
            stacks: ledger.row(STACKS),
            apart,
            imported: description.imported.iter().map(|one| ledger.row(one.leaves_says())).collect(),
            only: only.into_iter().map(|(region, text)| (region, ledger.row(text))).collect(),
            lines: ledger.row(NO_LINE_CROSSED),
            vectors: ledger.row(VECTOR_STATE),
            words: HashMap::new(),
        }
    }

    /// Another run begins.
    pub fn forget(&mut self) {
        self.words.clear();
    }

    pub fn take(&mut self, known: &Known, executed: &Executed, ledger: &mut Ledger) {
        let line = self.machine.line();
        for access in &executed.accesses {
            let last = access.address + access.size.max(1) - 1;
            if access.size <= line {
                let holds = access.address / line == last / line;
                ledger.hold(self.lines, holds, || told(known, access));
            }
            if !known.physical {
                self.virtually(known, access, ledger);
            }
        }
        if known.instruction.mnemonic.starts_with("xsave") || known.instruction.mnemonic.starts_with("xrstor") {
            self.state(known, executed, ledger);
        }
    }

    fn virtually(&mut self, known: &Known, access: &Access, ledger: &mut Ledger) {
        let description = self.kernel.description;
        let of = |memory: &wcet_kernel::Memory| access.address.wrapping_sub(memory.first) < memory.bytes;
        let is_stack = access.address >= description.stacks.first;
        let through = if is_stack { self.image } else { description.memory.iter().position(of) };
        let physical = self.kernel.physical(access.address);
        if let Some(page) = access.page {
            let row = if is_stack { Some(self.stacks) } else { through.map(|entry| self.mapped[entry]) };
            let holds = self.kernel.physical(access.address / PAGE * PAGE) == Some(page);
            let stands = || format!("{}, and its page stands for {page:#x}", told(known, access));
            row.into_iter().for_each(|row| ledger.hold(row, holds, stands));
        }
        let (Some(through), Some(physical)) = (through, physical) else { return };
        if let Some(region) = self.machine.region_at(physical) {
            let named = |device: &Device| device.region == region.name && device.functions.contains(&known.function);
            let holds = description.device.iter().any(named);
            let row = self.only.iter().find(|(name, _)| *name == region.name);
            match row {
                Some((_, row)) => ledger.hold(*row, holds, || told(known, access)),
                None => {
                    let row = ledger.row(format!("{} is not accessed", region.name));
                    ledger.hold(row, false, || told(known, access));
                }
            }
            return;
        }
        if access.write && Some(through) != self.image {
            let last = physical + access.size.max(1) - 1;
            let holds = !self.segments.iter().any(|(first, end)| physical <= *end && last >= *first);
            self.imported.iter().for_each(|row| ledger.hold(*row, holds, || told(known, access)));
        }
        self.overlapping(through, physical, (known, access), ledger);
    }

    /// What is stored through one entry, and read through another.
    fn overlapping(&mut self, through: usize, physical: u64, (known, access): (&Known, &Access), ledger: &mut Ledger) {
        if through >= 4 || !self.apart.iter().any(|(one, other, _)| [*one, *other].contains(&through)) {
            return;
        }
        let bit = |entry: usize, write: bool| 1u8 << (2 * entry + usize::from(write));
        let words = physical / WORD..=(physical + access.size.max(1) - 1) / WORD;
        let mut seen = 0;
        for word in words {
            let all = self.words.entry(word).or_default();
            *all |= bit(through, access.write);
            seen |= *all;
        }
        for (one, other, row) in &self.apart {
            if ![*one, *other].contains(&through) {
                continue;
            }
            let both = |reader: usize, writer: usize| seen & bit(reader, false) != 0 && seen & bit(writer, true) != 0;
            let holds = !both(*one, *other) && !both(*other, *one);
            ledger.hold(*row, holds, || told(known, access));
        }
    }

    /// All that an instruction saves or restores is within as many bytes as its access has.
    fn state(&mut self, known: &Known, executed: &Executed, ledger: &mut Ledger) {
        let accesses = &known.instruction.accesses;
        let mut spans: BTreeMap<usize, (u64, u64)> = BTreeMap::new();
        for access in &executed.accesses {
            if let Which::One(number) = which(accesses, access) {
                let span = spans.entry(number).or_insert((access.address, access.address));
                *span = (span.0.min(access.address), span.1.max(access.address + access.size));
            }
        }
        for (number, (first, end)) in spans {
            let whole = executed.accesses.first().copied().unwrap_or_default();
            let holds = end - first <= u64::from(accesses[number].size);
            ledger.hold(self.vectors, holds, || format!("{}: {} bytes", told(known, &whole), end - first));
        }
    }
}
