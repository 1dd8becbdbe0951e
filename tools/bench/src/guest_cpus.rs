//! `bench guest-cpus`: what a second processor is worth to a guest, beside what it is worth to the same Linux directly on the emulator.
//!
//! One run measures all in turn: other load on the machine slows all. The work is two processes that share nothing; the host
//! needs two idle processors.

use super::guests::{bare, guest, measure, Times};
use super::measured::build;
use super::{median, rounded};
use crate::results::{BenchResult, SecondProcessor};
use builder::KernelOptions;
use output::table::Table;
use output::{Failure, Output};
use project::Project;
use std::collections::BTreeMap;

const ONE: &str = "bench-guest";
const TWO: &str = "bench-guest-cpus";
const WORKLOAD: &str = "sort";
const ROUNDS: usize = 3;

pub fn guest_cpus(project: &Project, output: &Output) -> Result<(), Failure> {
    let progress = output.progress(2 + 4 * ROUNDS);
    progress.step("building");
    let one = build(ONE, &KernelOptions::default(), project, output)?;
    let two = build(TWO, &KernelOptions::default(), project, output)?;
    let places = [
        bare("bare, one processor", project, &one, 1)?,
        bare("bare, two processors", project, &one, 2)?,
        guest("guest, one processor", &one)?,
        guest("guest, two processors", &two)?,
    ];
    let mut times = <[Times; 4]>::default();
    for round in 1..=ROUNDS {
        for (place, times) in places.iter().zip(&mut times) {
            progress.step(&format!("{}, round {round}", place.name));
            measure(place, &[WORKLOAD], times, output)?;
        }
    }
    let [bare_one, bare_two, guest_one, guest_two] = times.map(|times| median(&times.wall[WORKLOAD]));
    let row =
        |one: f64, two: f64| SecondProcessor { one: rounded(one), two: rounded(two), speedup: rounded(one / two) };
    let all = BTreeMap::from([("bare", row(bare_one, bare_two)), ("guest", row(guest_one, guest_two))]);
    let mut table = Table::new(["milliseconds", "one processor", "two", "speedup"]);
    for (name, times) in &all {
        let SecondProcessor { one, two, speedup } = times;
        table.row(vec![name.to_string(), format!("{one:.0}"), format!("{two:.0}"), format!("{speedup:.2}")]);
    }
    output.human(&table.render());
    output.human(&format!("the workload {WORKLOAD}, two processes; median of {ROUNDS} rounds"));
    output.json(&BenchResult::GuestCpus(all));
    Ok(())
}
