//! `bench scaling`: pairs of server and client, each on a CPU of its own; fine locks against one big lock.

use super::measured;
use super::rounded;
use crate::results::{BenchResult, Scaling};
use builder::machine::MachineOptions;
use builder::{KernelOptions, Lock};
use output::table::Table;
use output::{Failure, Output};
use project::Project;
use std::collections::BTreeMap;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(120);

/// Round trips of one payload in equal windows of time.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Trips {
    /// One pair running alone.
    alone: u64,
    /// All pairs together, summed.
    together: u64,
}

impl Trips {
    fn speed_up(self) -> f64 {
        self.together as f64 / self.alone.max(1) as f64
    }
}

pub fn scaling(project: &Project, output: &Output) -> Result<(), Failure> {
    let progress = output.progress(2);
    let mut results = Vec::new();
    for lock in [Lock::Ticket, Lock::Big] {
        progress.step(&format!("two pairs, {} lock", lock.word()));
        let built = measured::build("bench-scaling", &KernelOptions { lock, debug: false }, project, output)?;
        let lines = measured::lines(&built, &MachineOptions::default(), TIMEOUT, output)?;
        let trips = collect(&lines);
        if trips.is_empty() || trips.values().any(|trips| trips.alone == 0) {
            return Err(Failure::Finding("the benchmark reported no round trips of a single pair".into()));
        }
        results.push((lock, trips));
    }
    let mut table = Table::new(["payload, bytes", "lock", "1 pair", "2 pairs", "speed-up"]);
    let mut results_by_lock = BTreeMap::new();
    for (lock, trips) in &results {
        let mut payloads = BTreeMap::new();
        for (payload, trips) in trips {
            let speed_up = trips.speed_up();
            table.row(vec![
                payload.to_string(),
                lock.word().into(),
                trips.alone.to_string(),
                trips.together.to_string(),
                format!("{speed_up:.2}"),
            ]);
            let Trips { alone, together } = *trips;
            payloads.insert(payload.to_string(), Scaling { alone, together, speedup: rounded(speed_up) });
        }
        results_by_lock.insert(lock.word(), payloads);
    }
    output.human(&table.render());
    output.human("reference: mC2 1.77 to 1.84 with fine locks, 1.45 to 1.66 with one big lock; aim 1.9");
    output.json(&BenchResult::Scaling(results_by_lock));
    Ok(())
}

/// Sums lines `SCALING cpu payload alone|together count` by payload.
fn collect(lines: &[String]) -> BTreeMap<u64, Trips> {
    let mut trips: BTreeMap<u64, Trips> = BTreeMap::new();
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["SCALING", _, payload, kind, count] = words[..] else { continue };
        let (Ok(payload), Ok(count)) = (payload.parse(), count.parse::<u64>()) else { continue };
        let entry = trips.entry(payload).or_default();
        match kind {
            "alone" => entry.alone += count,
            "together" => entry.together += count,
            _ => {}
        }
    }
    trips
}

#[cfg(test)]
mod tests {
    use super::{collect, Trips};

    #[test]
    fn sums_pairs() {
        let lines = ["SCALING 0 80 alone 100", "SCALING 0 80 together 90", "SCALING 1 80 together 95", "BENCH-DONE"];
        let trips = collect(&lines.map(String::from));
        assert_eq!(trips[&80], Trips { alone: 100, together: 185 });
        assert_eq!(trips[&80].speed_up(), 1.85);
    }
}
