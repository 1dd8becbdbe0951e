//! What the kernel's bounds and the description allow jobs and waits to take, where an instruction is a nanosecond.

use crate::verbs::kernel_bounds::{threads, KernelBounds};
use output::Failure;
use response::{respond, Thread};
use std::collections::BTreeMap;
use std::path::PathBuf;
use system::System;
use trace::Names;

/// By number of the thread. A thread that others may keep from running as long as they like has none.
#[derive(Debug, Default)]
pub struct Bounds {
    pub jobs: BTreeMap<u32, u64>,
    /// Between a wake-up and the thread's first instruction.
    pub waits: BTreeMap<u32, u64>,
}

/// A cycle of the kernel's bounds allows one instruction: no processor of the model does more in a cycle.
pub fn bounds(
    kernel: &KernelBounds,
    system: &System,
    programs: Option<&[PathBuf]>,
    cpus: u32,
    names: &Names,
) -> Result<Bounds, Failure> {
    let latency = kernel.latency(u64::from(cpus), programs)?;
    let latency = latency.response.saturating_add(latency.waits);
    let threads = threads(system);
    let of = |threads: &[Thread]| -> BTreeMap<u32, u64> {
        let all = respond(threads, latency);
        let bound = |name: &str| all.iter().find(|one| one.thread == name)?.response_ns;
        names.threads().filter_map(|(thread, name)| Some((thread, bound(name)?))).collect()
    };
    // A thread that needs no time of its own has waited when it is done.
    let waits = (0..threads.len()).flat_map(|number| {
        let mut without = threads.clone();
        without[number].reservation = without[number].reservation.map(|(period, _)| (period, 0));
        let name = &threads[number].name;
        let of_it: Vec<(u32, u64)> =
            of(&without).into_iter().filter(|(thread, _)| names.thread(*thread) == Some(name)).collect();
        of_it
    });
    Ok(Bounds { jobs: of(&threads), waits: waits.collect() })
}
