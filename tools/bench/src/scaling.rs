//! `bench scaling`: pairs of server and client, each on a CPU of its own; fine locks against one big lock. Programs that
//! share nothing tell what the emulator and the host allow, which is the most that the pairs can reach.

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

/// What the clients of `user/bench/bench_scaling.c` do, as they print it and for people.
const WORKS: [(&str, &str); 7] = [
    ("user", "ceiling: computing only"),
    ("null", "ceiling: null calls only"),
    ("0", "calls, 0 bytes"),
    ("80", "calls, 80 bytes"),
    ("400", "calls, 400 bytes"),
    ("960", "calls, 960 bytes"),
    ("2000", "calls, 2000 bytes"),
];

/// Units of one kind of work in equal windows of time.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
struct Units {
    /// On one CPU, the other one idle.
    alone: u64,
    /// On both CPUs, summed.
    together: u64,
}

impl Units {
    fn speed_up(self) -> f64 {
        self.together as f64 / self.alone.max(1) as f64
    }
}

pub fn scaling(project: &Project, output: &Output) -> Result<(), Failure> {
    let progress = output.progress(2);
    let mut results = Vec::new();
    for lock in [Lock::Ticket, Lock::Big] {
        progress.step(&format!("two pairs, {} lock", lock.word()));
        let built =
            measured::build("bench-scaling", &KernelOptions { lock, ..KernelOptions::default() }, project, output)?;
        let lines = measured::lines(&built, &MachineOptions::default(), TIMEOUT, output)?;
        results.push((lock, collect(&lines)?));
    }
    let mut table = Table::new(["work", "lock", "1 CPU", "2 CPUs", "speed-up"]);
    let mut results_by_lock = BTreeMap::new();
    for (lock, units) in &results {
        let mut by_work = BTreeMap::new();
        for (work, about) in WORKS {
            let units = units[work];
            let speed_up = units.speed_up();
            table.row(vec![
                about.into(),
                lock.word().into(),
                units.alone.to_string(),
                units.together.to_string(),
                format!("{speed_up:.2}"),
            ]);
            let Units { alone, together } = units;
            by_work.insert(work.to_string(), Scaling { alone, together, speedup: rounded(speed_up) });
        }
        results_by_lock.insert(lock.word(), by_work);
    }
    output.human(&table.render());
    output.human(
        "reference: mC2 1.77 to 1.84 with fine locks, 1.45 to 1.66 with one big lock; aim 1.9, at most the ceiling",
    );
    output.json(&BenchResult::Scaling(results_by_lock));
    Ok(())
}

/// Sums lines `SCALING cpu work alone|together count` by work. Fails unless each work was done alone.
fn collect(lines: &[String]) -> Result<BTreeMap<&'static str, Units>, Failure> {
    let mut units: BTreeMap<&str, Units> = WORKS.iter().map(|(work, _)| (*work, Units::default())).collect();
    for line in lines {
        let words: Vec<&str> = line.split_whitespace().collect();
        let ["SCALING", _, work, kind, count] = words[..] else { continue };
        let (Some(entry), Ok(count)) = (units.get_mut(work), count.parse::<u64>()) else { continue };
        match kind {
            "alone" => entry.alone += count,
            "together" => entry.together += count,
            _ => {}
        }
    }
    match units.iter().find(|(_, units)| units.alone == 0) {
        Some((work, _)) => Err(Failure::Finding(format!("the benchmark reported no work `{work}` of a single CPU"))),
        None => Ok(units),
    }
}

#[cfg(test)]
mod tests {
    use super::{collect, Units, WORKS};

    #[test]
    fn sums_pairs() {
        let mut lines: Vec<String> = WORKS.iter().map(|(work, _)| format!("SCALING 0 {work} alone 100")).collect();
        lines.extend(["SCALING 0 80 together 90", "SCALING 1 80 together 95", "BENCH-DONE"].map(String::from));
        let units = collect(&lines).expect("all works");
        assert_eq!(units["80"], Units { alone: 100, together: 185 });
        assert_eq!(units["80"].speed_up(), 1.85);
        lines.retain(|line| !line.contains(" null "));
        assert!(collect(&lines).is_err());
    }
}
