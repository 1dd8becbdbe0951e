//! What a bound of the kernel rests on and nothing here shows: to be read beside the number.

use std::collections::BTreeSet;

use crate::analysed::Analysed;
use crate::checked_statements::{NO_LINE_CROSSED, VECTOR_STATE};
use crate::described_calls::Calls;
use crate::description::{Imported, Interrupt, Memory, Own, Whom, Woken};
use crate::kernel::Kernel;
use crate::loops::Means;

/// What theorems say that bounds rest on.
pub fn imported(kernel: &Kernel<'_>) -> Vec<String> {
    let one = |one: &Imported| format!("theorem {}: {}", one.theorem, one.says);
    kernel.description.imported.iter().map(one).collect()
}

/// Every statement that bounds rest on and that is not shown; some are tested ([`crate::Description::tested`]). Of loops, those
/// that a region made use of.
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
        let function = &wait.function;
        found.push(match wait.whom {
            Whom::Device => wait.says().unwrap_or_default(),
            Whom::Lock => format!("no time is waited for locks in {function}"),
            Whom::Processors => format!("no time is waited for other processors in {function}"),
        });
    }
    found.extend(description.calls.iter().map(Calls::says));
    let switch = &description.switch;
    if description.preemption.serves.is_none() || description.own.is_none() {
        found.push(
            "after an interrupt that is taken in a window the scheduler chooses a thread before the next window"
                .to_string(),
        );
    }
    found.extend([switch.returns_says(), switch.ended_says()]);
    found.extend(switch.preempts_says());
    found.push(format!("no response to an interrupt is due in {}", description.ends.run.join(", ")));
    if let Some(serves) = &description.preemption.serves {
        found.push(format!("the first argument of {serves} is the vector of the interrupt that it serves"));
        found.push(format!("every interrupt that a window lets in is served by {serves} before the next window"));
    }
    if let Some((serves, parks)) = description.preemption.serves.as_ref().zip(description.preemption.parks.as_ref()) {
        found
            .push(format!("a response is that of a handler that has time left: {serves} does not call {parks} for it"));
    }
    if let Some((serves, shares)) = description.preemption.serves.as_ref().zip(description.preemption.shares.as_ref()) {
        found.push(format!(
            "a response is that of a handler that is more important than what runs: {serves} does not call {shares} for it"
        ));
    }
    found.extend(description.preemption.woken.iter().map(Woken::says));
    let wakes: BTreeSet<String> = description.vectors.interrupts.iter().filter_map(Interrupt::says).collect();
    found.extend(wakes);
    for device in &description.device {
        found.extend(description.only_says(device).into_iter().chain(device.alone_says()));
    }
    found.extend(description.memory.iter().map(Memory::says));
    found.extend(description.overlaps().into_iter().map(|(one, other)| one.apart_says(other)));
    found.extend(description.imported.iter().map(Imported::leaves_says));
    found.extend(description.own.iter().flat_map(Own::says));
    found.extend([description.handlers_says(), VECTOR_STATE.to_string(), NO_LINE_CROSSED.to_string()]);
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
