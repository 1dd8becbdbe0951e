//! What was measured, for people.

use crate::results::{MissedResult, TraceResult};
use output::Output;
use project::Project;

use super::unit;

pub fn show(output: &Output, project: &Project, result: &TraceResult, icount: bool) {
    let unit = unit(icount);
    let bounded =
        result.waits.iter().any(|one| one.bound.is_some()) || result.deadlines.iter().any(|one| one.bound.is_some());
    output.human(&format!("{} events, {} lost", result.events, result.lost));
    if !result.waits.is_empty() {
        output.human(&format!("waits for a processor, in {unit}"));
        output.human(&format!(
            "{:24} {:20} {:>8} {:>10} {:>10} {:>10}{}",
            "thread",
            "woken by",
            "count",
            "median",
            "99 %",
            "longest",
            if bounded { format!(" {:>10}", "bound") } else { String::new() }
        ));
    }
    for wait in &result.waits {
        let cause = wait.interrupt.as_ref().map_or("a thread".to_string(), |name| format!("interrupt {name}"));
        output.human(&format!(
            "{:24} {cause:20} {:>8} {:>10} {:>10} {:>10}{}",
            wait.thread,
            wait.count,
            wait.median,
            wait.percent_99,
            wait.longest,
            bound(bounded, wait.bound, 10)
        ));
    }
    if !result.deadlines.is_empty() {
        output.human(&format!("jobs of threads with a deadline, in {unit}"));
        let bound = if bounded { format!(" {:>12}", "bound") } else { String::new() };
        let head = format!("{:24} {:>12} {:>8} {:>12} {:>8}", "thread", "deadline", "count", "longest", "missed");
        output.human(&format!("{head}{bound}"));
    }
    for one in &result.deadlines {
        output.human(&format!(
            "{:24} {:>12} {:>8} {:>12} {:>8}{}",
            one.thread,
            one.deadline,
            one.jobs,
            one.longest,
            one.missed,
            bound(bounded, one.bound, 12)
        ));
    }
    for one in &result.deadlines {
        let tell = |missed: &MissedResult, what: &str| output.human(&told(&one.thread, missed, what));
        one.first.iter().for_each(|missed| tell(missed, "missed it"));
        one.first_beyond.iter().for_each(|missed| tell(missed, "took longer than its bound"));
    }
    for wait in result.waits.iter().filter(|wait| wait.beyond > 0) {
        output.human(&format!(
            "{} waited longer than its bound {} times: longest began at {}, took {}",
            wait.thread, wait.beyond, wait.longest_began, wait.longest
        ));
    }
    output.human(&format!("trace   {}", project.shown(&result.file)));
}

/// The column of bounds, if there is one.
fn bound(bounded: bool, bound: Option<u64>, width: usize) -> String {
    match (bounded, bound) {
        (false, _) => String::new(),
        (true, Some(bound)) => format!(" {bound:>width$}"),
        (true, None) => format!(" {:>width$}", "none"),
    }
}

fn told(thread: &str, missed: &MissedResult, what: &str) -> String {
    let others: Vec<String> = missed.others.iter().map(|(other, time)| format!("{other} {time}")).collect();
    let others = if others.is_empty() { "no other thread".to_string() } else { others.join(", ") };
    format!("{thread} {what}: began at {}, took {}; the processor had {others}", missed.began, missed.took)
}
