//! What a bound of the kernel rests on and nothing here shows: to be read beside the number.

use std::collections::BTreeSet;

use crate::bound::Analysed;
use crate::description::{Imported, Memory, Whom};
use crate::kernel::Kernel;
use crate::loops::Means;

/// What theorems say that bounds rest on.
pub fn imported(kernel: &Kernel<'_>) -> Vec<String> {
    let one = |one: &Imported| format!("theorem {}: {}", one.theorem, one.says);
    kernel.description.imported.iter().map(one).collect()
}

/// Every statement that bounds rest on and that is not validated. Of loops, those that a region made use of.
pub fn statements(kernel: &Kernel<'_>, regions: &[Analysed]) -> Vec<String> {
    let description = kernel.description;
    let mut found = Vec::new();
    let used: BTreeSet<(&str, u64)> = regions
        .iter()
        .flat_map(|region| &region.loops)
        .filter(|one| one.means == Means::Stated)
        .map(|one| (one.function.as_str(), one.address))
        .collect();
    for one in &description.loops {
        let address = kernel.lifter.program().symbol(&one.function).and_then(|symbol| {
            let function = kernel.graph.functions.get(&symbol.address)?;
            Some(function.blocks[function.loops.get(one.which)?.header].start())
        });
        if let Some(address) = address.filter(|address| used.contains(&(one.function.as_str(), *address))) {
            let (function, executes, source) = (&one.function, one.executes, &one.source);
            found.push(format!("the loop at {address:#x} in {function} executes {executes} times at most: {source}"));
        }
    }
    for wait in &description.wait {
        let (function, looks) = (&wait.function, wait.looks);
        let source = wait.source.as_deref().unwrap_or("no source is given");
        found.push(match wait.whom {
            Whom::Device => format!("{function} looks {looks} times at most: {source}"),
            Whom::Lock => format!("no time is waited for locks in {function}"),
            Whom::Processors => format!("no time is waited for other processors in {function}"),
        });
    }
    if let Some(calls) = &description.calls {
        let (function, object) = (&calls.function, &calls.object);
        found.push(format!("what {function} first reads of {object} is the number of the system call; without it, bounds of calls hold with their names exchanged"));
    }
    let switch = &description.switch;
    if description.preemption.serves.is_none() || description.own.is_none() {
        found.push(
            "an interrupt that is taken in a window is followed by the decision who runs before the next window"
                .to_string(),
        );
    }
    found.push(format!("{} returns without a switch only to {}", switch.run, switch.returns_to.join(", ")));
    found.push(format!("nobody goes on behind {}", switch.ended));
    found.push(format!("nobody waits for an answer in {}", description.ends.run.join(", ")));
    for device in &description.device {
        // Those that may access other memory too, and those that do not.
        let same = || description.device.iter().filter(|one| one.region == device.region);
        if same().next().is_some_and(|first| std::ptr::eq(first, device)) {
            let functions: Vec<&str> = same().flat_map(|one| &one.functions).map(String::as_str).collect();
            found.push(format!("only {} access {}", functions.join(", "), device.region));
        }
        if device.alone {
            let functions = device.functions.join(", ");
            found.push(format!("what {functions} access at addresses that are not known is {}", device.region));
        }
    }
    for memory in &description.memory {
        let (about, first, physical) = (&memory.about, memory.first, memory.physical);
        found.push(format!("{about}: {first:#x} and what follows stands for {physical:#x} and what follows"));
    }
    for (index, a) in description.memory.iter().enumerate() {
        let meets = |b: &&Memory| a.physical < b.physical + b.bytes && b.physical < a.physical + a.bytes;
        for b in description.memory[..index].iter().filter(meets) {
            let (one, other) = (&b.about, &a.about);
            found.push(format!("what is stored through {other} is nothing that is read through {one}, or the other way about, though both stand for the same memory"));
        }
    }
    found.extend(description.imported.iter().map(|one| one.leaves.clone()));
    if let Some(own) = &description.own {
        let (processor, thread) = (&own.processor.symbol, &own.thread.symbol);
        found.push(format!("what is accessed through GS alone is an element of {processor}"));
        found.push(format!("an address loaded from {} bytes behind GS is one of an element of {thread}", own.pointer));
        found.push(format!(
            "the numbers {} and {} bytes behind GS are those of elements of {processor} and {thread}",
            own.number, own.current
        ));
        found.push(format!("these three, and the mark {} bytes behind it, change only through GS", own.mark));
        found.push(format!(
            "what interrupts a program puts its registers below byte {} of its element of {thread}",
            own.frame
        ));
    }
    let handlers = description.entries.handlers.join(", ");
    found.push(format!("{handlers} begin with an empty stack, at the end of a page of its own"));
    found.push("the vector state that is saved and restored is that of x87, SSE and AVX: 832 bytes".to_string());
    found.push("no access crosses a line that is no longer than one".to_string());
    found.push("of memory, nobody changes between two reads of a region what is not named as shared".to_string());
    match &kernel.locks {
        None => found.push("no lock is held from one region to the next".to_string()),
        Some(_) => {
            found.push(
                "a lock whose number is a constant plus what is not known is of the family that begins there, or if none \
                 does, has that number or a larger one"
                    .to_string(),
            );
            found.push("what is given back is a lock that is held".to_string());
            found.push(
                "a lock is handed over in no more time than it takes to draw a ticket and to look once".to_string(),
            );
        }
    }
    found.extend(regions.iter().flat_map(|region| region.assumptions.iter().cloned()).collect::<BTreeSet<_>>());
    found
}
