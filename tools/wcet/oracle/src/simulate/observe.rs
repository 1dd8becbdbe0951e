//! Passages of a long trace through named regions, each timed from a standstill with the caches as the trace left
//! them.

use crate::simulate::{SimulateError, Simulator, Step};

/// A stretch of execution: from an instruction at `start` to the next one at an address of `ends`, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Region {
    pub name: String,
    pub start: u64,
    pub ends: Vec<u64>,
}

/// One passage.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// Index into the regions.
    pub region: usize,
    /// Index of its first step, and how many there are.
    pub first: usize,
    pub steps: usize,
    pub cycles: u64,
}

/// All passages of `trace` through `regions`, in order. A passage that the trace leaves unfinished is not told. Where
/// regions start at one address or one starts inside another, each is timed by itself.
pub fn observe(
    simulator: &mut Simulator,
    trace: &[Step],
    regions: &[Region],
) -> Result<Vec<Observation>, SimulateError> {
    let mut observations = Vec::new();
    for (first, step) in trace.iter().enumerate() {
        for (number, region) in regions.iter().enumerate().filter(|(_, region)| region.start == step.address) {
            let Some(length) = trace[first..].iter().position(|step| region.ends.contains(&step.address)) else {
                continue;
            };
            // On a copy, so that the caches see each step once.
            let cycles = simulator.clone().run(&trace[first..=first + length])?;
            observations.push(Observation { region: number, first, steps: length + 1, cycles });
        }
        simulator.pass(std::slice::from_ref(step));
    }
    Ok(observations)
}
