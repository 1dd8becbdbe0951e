//! The texts of the statements that `timing observe` checks against runs of the kernel. That no run contradicts one is a test,
//! not a proof.

use crate::described_calls::Calls;
use crate::description::{Description, Device, Imported, Memory, Own, Switch, Wait, Whom};

pub const NO_LINE_CROSSED: &str = "no access crosses a line that is no longer than one";
pub const VECTOR_STATE: &str = "the vector state that is saved and restored is that of x87, SSE and AVX: 832 bytes";

impl Description {
    /// All of them.
    pub fn tested(&self) -> Vec<String> {
        let mut found: Vec<String> = self.wait.iter().filter_map(Wait::says).collect();
        found.extend(self.calls.iter().map(Calls::says));
        found.extend([self.switch.returns_says(), self.switch.ended_says()]);
        for device in &self.device {
            found.extend(self.only_says(device).into_iter().chain(device.alone_says()));
        }
        found.extend(self.memory.iter().map(Memory::says));
        found.extend(self.overlaps().into_iter().map(|(one, other)| one.apart_says(other)));
        found.extend(self.imported.iter().map(Imported::leaves_says));
        found.extend(self.own.iter().flat_map(Own::says));
        found.extend([self.handlers_says(), VECTOR_STATE.to_string(), NO_LINE_CROSSED.to_string()]);
        found
    }

    /// Entries of `memory` that stand for the same physical memory, an earlier one first.
    pub fn overlaps(&self) -> Vec<(&Memory, &Memory)> {
        let mut found = Vec::new();
        for (index, a) in self.memory.iter().enumerate() {
            let meets = |b: &&Memory| a.physical < b.physical + b.bytes && b.physical < a.physical + a.bytes;
            found.extend(self.memory[..index].iter().filter(meets).map(|b| (b, a)));
        }
        found
    }

    /// That only some functions access the registers of a device; said once of each.
    pub fn only_says(&self, device: &Device) -> Option<String> {
        let same = || self.device.iter().filter(|one| one.region == device.region);
        same().next().filter(|first| std::ptr::eq(*first, device))?;
        let functions: Vec<&str> = same().flat_map(|one| &one.functions).map(String::as_str).collect();
        Some(format!("only {} access {}", functions.join(", "), device.region))
    }

    pub fn handlers_says(&self) -> String {
        format!("{} begin with an empty stack, at the end of a page of its own", self.entries.handlers.join(", "))
    }
}

impl Device {
    pub fn alone_says(&self) -> Option<String> {
        let functions = self.functions.join(", ");
        self.alone.then(|| format!("what {functions} access at addresses that are not known is {}", self.region))
    }
}

impl Wait {
    /// Of waits for devices; that for others no time is waited is no statement about runs.
    pub fn says(&self) -> Option<String> {
        let source = self.source.as_deref().unwrap_or("no source is given");
        let text = format!("{} looks {} times at most: {source}", self.function, self.looks);
        (self.whom == Whom::Device).then_some(text)
    }
}

impl Calls {
    pub fn says(&self) -> String {
        let (function, object) = (&self.function, &self.object);
        format!("what {function} first reads of {object} is the number of the system call; without it, bounds of calls hold with their names exchanged")
    }
}

impl Switch {
    pub fn returns_says(&self) -> String {
        format!("{} returns without a switch only to {}", self.run, self.returns_to.join(", "))
    }

    pub fn ended_says(&self) -> String {
        format!("{} never returns", self.ended)
    }

    pub fn preempts_says(&self) -> Option<String> {
        let functions = self.preempts.join(", ");
        (!self.preempts.is_empty()).then(|| format!("who gives up the processor in {functions} waits for no interrupt"))
    }
}

impl Memory {
    pub fn says(&self) -> String {
        let (about, first, physical) = (&self.about, self.first, self.physical);
        format!("{about}: {first:#x} and what follows stands for {physical:#x} and what follows")
    }

    pub fn apart_says(&self, other: &Memory) -> String {
        let (one, other) = (&self.about, &other.about);
        format!("what is stored through {other} is nothing that is read through {one}, or the other way about, though both stand for the same memory")
    }
}

impl Imported {
    pub fn leaves_says(&self) -> String {
        self.leaves.clone()
    }
}

impl Own {
    /// In turn of what is accessed through GS alone, the address of the thread's registers, the numbers, that these
    /// and the marks change in no other way, and where an interrupted program's registers go.
    pub fn says(&self) -> [String; 5] {
        let (processor, thread) = (&self.processor.symbol, &self.thread.symbol);
        [
            format!("what is accessed through GS alone is an element of {processor}"),
            format!("an address loaded from {} bytes behind GS is one of an element of {thread}", self.pointer),
            format!(
                "the numbers {} and {} bytes behind GS are those of elements of {processor} and {thread}",
                self.number, self.current
            ),
            format!(
                "these three, and the marks {} and {} bytes behind it, change only through GS",
                self.mark, self.vector
            ),
            format!(
                "what interrupts a program puts its registers below byte {} of its element of {thread}",
                self.frame
            ),
        ]
    }
}
