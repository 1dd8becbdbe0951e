//! How numbers and places are written.

use crate::model::{Lock, Loop, Report, VectorResponse};

/// Digits in groups of three.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A time in the unit that leaves the fewest digits.
pub fn duration(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s >= 1.0 => (s, "s"),
        s if s >= 1e-3 => (s * 1e3, "ms"),
        s if s >= 1e-6 => (s * 1e6, "µs"),
        s => (s * 1e9, "ns"),
    };
    format!("{value:.3} {unit}")
}

/// A kind of lock, with how many there are.
pub fn lock(lock: &Lock) -> String {
    if lock.members > 1 {
        format!("{} ({})", lock.name, grouped(lock.members))
    } else {
        lock.name.clone()
    }
}

/// How many, with the noun in its number.
pub fn count(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number as u64))
}

/// The verdict in a sentence.
pub fn verdict(report: &Report) -> String {
    use crate::model::Verdict;
    match (report.verdict, report.wcet_cycles) {
        (Verdict::Refused, _) => format!("no bound: {}", count(report.errors.len(), "error")),
        (Verdict::Unbounded, _) | (_, None) => {
            let open = report.loops.iter().filter(|found| found.bound.is_none()).count();
            format!("no bound: {} without a bound", count(open, "loop"))
        }
        (_, Some(cycles)) => {
            let time = report.seconds.map(|seconds| format!(" ({})", duration(seconds))).unwrap_or_default();
            format!("at most {} cycles{time}", grouped(cycles))
        }
    }
}

/// Budget and slack in a sentence.
pub fn slack(report: &Report) -> Option<String> {
    let budget = report.budget.as_ref()?;
    let slack = match budget.slack_cycles {
        Some(slack) if slack < 0 => format!("missed by {} cycles", grouped(slack.unsigned_abs())),
        Some(slack) => format!("met with {} cycles to spare", grouped(slack.unsigned_abs())),
        None => "not shown to be met".into(),
    };
    Some(format!("budget {} ({} cycles): {slack}", budget.text, grouped(budget.cycles)))
}

/// What keeps the bound from being the best one, if anything does.
pub fn reservation(report: &Report) -> Option<String> {
    let cycles = report.wcet_cycles?;
    let path = report.analysis.path_cycles.unwrap_or(cycles);
    if !report.analysis.complete {
        return Some(
            "paths were not refined to the end, for want of time or of a solver: the bound holds, a lower one may too"
                .into(),
        );
    }
    (path < cycles).then(|| format!("the worst path that was found takes {} cycles", grouped(path)))
}

/// Interrupts of the same response are one row: vectors that follow each other, by the first and last.
pub fn responses(report: &Report) -> Vec<(String, &VectorResponse)> {
    let mut rows: Vec<(u64, u64, &VectorResponse)> = Vec::new();
    for one in report.responses.iter().flatten() {
        let alike = VectorResponse { vector: 0, name: first_word(&one.name), ..one.clone() };
        let like =
            |row: &VectorResponse| alike == VectorResponse { vector: 0, name: first_word(&row.name), ..row.clone() };
        match rows.last_mut().filter(|(_, last, row)| last + 1 == one.vector && like(row)) {
            Some((_, last, _)) => *last = one.vector,
            None => rows.push((one.vector, one.vector, one)),
        }
    }
    let vectors = |first: u64, last: u64| if first == last { first.to_string() } else { format!("{first} to {last}") };
    rows.into_iter().map(|(first, last, one)| (vectors(first, last), one)).collect()
}

/// The name of interrupts of a kind, without the number among them.
pub fn first_word(name: &str) -> String {
    name.trim_end_matches(|letter: char| letter.is_ascii_digit()).trim_end().to_string()
}

/// What waits for locks add to a response.
pub fn lock_waits(one: &VectorResponse) -> String {
    let among = |(among, cycles): (&String, &u64)| format!("{} among {among}", grouped(*cycles));
    one.lock_wait_cycles.iter().map(among).collect::<Vec<_>>().join(", ")
}

/// A loop's bound, or why there is none.
pub fn bound(found: &Loop) -> String {
    found.bound.map_or_else(|| "none".into(), grouped)
}

/// The name of a loop's evidence as in JSON.
pub fn evidence(evidence: crate::model::Evidence) -> &'static str {
    use crate::model::Evidence;
    match evidence {
        Evidence::Unreached => "unreached",
        Evidence::Inferred => "inferred",
        Evidence::ModelChecked => "model-checked",
        Evidence::Validated => "validated",
        Evidence::Stated => "stated",
        Evidence::Imported => "imported",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(1_234_567), "1,234,567");
    }

    #[test]
    fn times_have_a_fitting_unit() {
        assert_eq!(duration(0.000_05), "50.000 µs");
        assert_eq!(duration(2.5), "2.500 s");
        assert_eq!(duration(1.5e-9), "1.500 ns");
    }
}
