//! Programs that count instructions and report `BENCH name median min least max most`.
//!
//! The emulator advances time by one step an instruction. The program first measures 1000 nops: if they do not count as
//! 1000, the other counts are wrong too, and the run fails.

use super::measured;
use crate::results::{BenchResult, Figure};
use builder::machine::MachineOptions;
use builder::{Built, KernelOptions};
use output::table::Table;
use output::{Failure, Output};
use project::Project;
use std::collections::BTreeMap;
use std::time::Duration;

const TIMEOUT: Duration = Duration::from_secs(300);
/// The calibration's number of nops.
const NOPS: u64 = 1000;

/// An operation: the name the program prints, for people, references, the aim.
pub struct Operation {
    pub name: &'static str,
    pub about: &'static str,
    pub reference: &'static str,
    pub aim: &'static str,
}

/// Counts of one operation over all rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Count {
    median: u64,
    least: u64,
    most: u64,
}

impl Count {
    fn is_exact(self) -> bool {
        [self.median, self.least, self.most] == [NOPS; 3]
    }
}

/// What a system counted.
pub struct Counts {
    pub table: Table,
    /// The medians, and whether instructions were counted at all.
    pub figures: BTreeMap<String, Figure>,
    pub medians: BTreeMap<String, u64>,
    nops: Count,
}

impl Counts {
    /// What the calibration says.
    pub fn calibration(&self) -> String {
        format!("calibration: {NOPS} nops counted as {} to {}", self.nops.least, self.nops.most)
    }

    /// Fails if these are not counts of instructions.
    pub fn verdict(&self) -> Result<(), Failure> {
        if self.nops.is_exact() {
            Ok(())
        } else {
            Err(Failure::Finding("the calibration failed: these are not counts of instructions".into()))
        }
    }
}

/// Runs `system` and shows what it counted.
pub fn counted(system: &str, operations: &[Operation], project: &Project, output: &Output) -> Result<(), Failure> {
    let progress = output.progress(2);
    progress.step(&format!("building {system}"));
    let built = measured::build(system, &KernelOptions::default(), project, output)?;
    progress.step("counting instructions");
    let counts = count(&built, operations, output)?;
    output.human(&counts.table.render());
    output.human(&counts.calibration());
    output.json(&BenchResult::Figures(counts.figures.clone()));
    counts.verdict()
}

/// Runs a system that was built.
pub fn count(built: &Built, operations: &[Operation], output: &Output) -> Result<Counts, Failure> {
    count_with(built, operations, &[], output)
}

/// The same with more arguments for the emulator.
pub fn count_with(
    built: &Built,
    operations: &[Operation],
    arguments: &[String],
    output: &Output,
) -> Result<Counts, Failure> {
    let machine = MachineOptions { cpus: Some(1), icount: true, ..MachineOptions::default() };
    let mut command = machine.command_line(built)?;
    command.arguments.extend_from_slice(arguments);
    let lines = measured::lines_of(&command, built, TIMEOUT, output)?;
    let count = |name: &str| lines.iter().find_map(|line| parse(line, name));
    let missing = |name: &str| Failure::Finding(format!("the benchmark did not report {name}"));
    let nops = count("calibration").ok_or_else(|| missing("calibration"))?;
    let mut table = Table::new(["instructions", "median", "least", "most", "reference", "aim"]);
    let mut figures = BTreeMap::new();
    let mut medians = BTreeMap::new();
    for operation in operations {
        let found = count(operation.name).ok_or_else(|| missing(operation.name))?;
        figures.insert(operation.name.into(), Figure::Instructions(found.median));
        medians.insert(operation.name.into(), found.median);
        let numbers = [found.median, found.least, found.most].map(|number| number.to_string());
        let [median, least, most] = numbers;
        table.row(vec![operation.about.into(), median, least, most, operation.reference.into(), operation.aim.into()]);
    }
    figures.insert("calibration_ok".into(), Figure::Calibration(nops.is_exact()));
    Ok(Counts { table, figures, medians, nops })
}

/// Reads `BENCH name median min least max most`.
fn parse(line: &str, name: &str) -> Option<Count> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["BENCH", found, median, "min", least, "max", most] if found == name => {
            Some(Count { median: median.parse().ok()?, least: least.parse().ok()?, most: most.parse().ok()? })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, Count};

    #[test]
    fn reads_its_line_only() {
        assert_eq!(
            parse("BENCH rtt_0 410 min 408 max 512", "rtt_0"),
            Some(Count { median: 410, least: 408, most: 512 })
        );
        assert_eq!(parse("BENCH rtt_0 410 min 408 max 512", "rtt_4"), None);
        assert_eq!(parse("BENCH rtt_0 many min 408 max 512", "rtt_0"), None);
    }
}
