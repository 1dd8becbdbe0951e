//! What was found of a kernel's responses, in the form of reports.

use std::collections::{BTreeMap, BTreeSet};

use wcet_kernel::{ByVector, Handler, Kernel, LoopFound, Whole};
use wcet_report::{ResponseLoop, VectorResponse};

pub(crate) fn response(kernel: &Kernel<'_>, one: &ByVector) -> VectorResponse {
    let name = |region: &usize| kernel.regions[*region].name.clone();
    let response = &one.response;
    VectorResponse {
        vector: one.vector,
        name: one.name.clone(),
        handler: match (&one.handler, &one.calls) {
            (Handler::Kernel, _) => None,
            (Handler::In(_), Some(calls)) => Some(calls.join(", ")),
            (Handler::In(_), None) | (Handler::Any, _) => Some("any thread".to_string()),
        },
        cycles: response.cycles(),
        lock_wait_cycles: one.waits.iter().map(|(among, cycles)| (among.to_string(), *cycles)).collect(),
        closed_cycles: response.closed_cycles,
        closed: response.closed.iter().map(name).collect(),
        service_cycles: response.interrupt_cycles,
        service: name(&response.served),
        decision: response.decided.as_ref().map(name),
        handler_cycles: response.handler_cycles,
        handler_regions: response.handler.iter().map(name).collect(),
    }
}

/// Loops of all regions that a response is made of, those with most cycles first.
pub(crate) fn response_loops(kernel: &Kernel<'_>, found: &Whole) -> Vec<ResponseLoop> {
    let made_of = |one: &ByVector| {
        let response = &one.response;
        response
            .closed
            .iter()
            .chain(&response.window)
            .chain([&response.served])
            .chain(&response.decided)
            .chain(&response.handler)
            .copied()
            .collect::<Vec<_>>()
    };
    let regions: BTreeSet<usize> = found.by_vector.iter().flat_map(made_of).collect();
    let mut loops: BTreeMap<(u64, &str), ResponseLoop> = BTreeMap::new();
    for region in regions {
        let mut here: BTreeMap<(u64, &str), Vec<&LoopFound>> = BTreeMap::new();
        for one in &found.regions[region].loops {
            here.entry((one.address, &one.function)).or_default().push(one);
        }
        for (place, contexts) in here {
            let bound = contexts.iter().map(|one| one.bound).collect::<Option<Vec<u64>>>();
            let sum =
                |of: &dyn Fn(&LoopFound) -> u64| contexts.iter().fold(0u64, |sum, one| sum.saturating_add(of(one)));
            let new = ResponseLoop {
                function: place.1.to_string(),
                address: format!("{:#x}", place.0),
                bound: bound.and_then(|bounds| bounds.into_iter().max()),
                times: sum(&|one| one.times),
                cycles: sum(&|one| one.cycles),
                region: kernel.regions[region].name.clone(),
            };
            match loops.get_mut(&place) {
                Some(known) => {
                    let bound = known.bound.zip(new.bound).map(|(some, other)| some.max(other));
                    if new.cycles > known.cycles {
                        *known = new;
                    }
                    known.bound = bound;
                }
                None => drop(loops.insert(place, new)),
            }
        }
    }
    let mut loops: Vec<ResponseLoop> = loops.into_values().collect();
    loops.sort_by_key(|one| std::cmp::Reverse(one.cycles));
    loops
}
