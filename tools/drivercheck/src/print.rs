//! Results as text for a terminal.

use drivercheck::check::{Report, Row};
use drivercheck::differential::Tally;
use drivercheck::driver::Driver;
use drivercheck::report::picture;
use drivercheck::result::Comparison;
use drivercheck::seeded::Outcome;
use drivercheck_command::Format;
use output::print_line;

/// A line for a check, and what shows a violation.
pub fn row(format: Format, row: &Row, with_trace: bool) {
    if format == Format::Json {
        return;
    }
    let subprotocol: String = if row.subprotocol.chars().count() > 44 {
        row.subprotocol.chars().take(41).chain("...".chars()).collect()
    } else {
        row.subprotocol.clone()
    };
    let mut text = format!(
        "{:<8} rule {}  {:<12} {subprotocol:<44} {:6.2} s {:5.0} MiB {:3} predicates {:3} refinements",
        row.verdict, row.rule, row.protocol, row.seconds, row.memory_mb, row.predicates, row.refinements
    );
    if let Some(reason) = &row.reason {
        text += &format!("\n    {reason}");
    }
    if let Some(doubt) = &row.doubt {
        text += &format!("\n    {doubt}\n    what may help: {}", doubt.remedy);
    }
    if let (Some(trace), true) = (&row.trace, with_trace) {
        text += &format!("\n{trace}");
    }
    // At once, as other threads print rows too.
    print_line(text);
}

/// What was assumed, and what the driver does not use.
pub fn end(format: Format, driver: &Driver, report: &Report) {
    if format == Format::Json {
        return;
    }
    for row in report.rows.iter().filter(|row| row.replays == Some(false)) {
        print_line(format!(
            "rule {} {}: the run-time monitor does not agree with the run found",
            row.rule, row.subprotocol
        ));
    }
    print_line(format!("{}: {} checks in {:.1} s. Assumed:", driver.name, report.rows.len(), report.seconds));
    for assumption in &report.assumptions {
        print_line(format!("    {assumption}"));
    }
    let untouched = picture::untouched(driver, report);
    if !untouched.is_empty() {
        print_line("  Never taken, whatever happens:");
        untouched.iter().for_each(|edge| print_line(format!("    {edge}")));
    }
}

pub fn outcome(format: Format, outcome: &Outcome, with_trace: bool) {
    if format == Format::Json {
        return;
    }
    let good = if outcome.is_good { "good" } else { "BAD" };
    let rule = |rule: Option<u8>| rule.map_or("-".to_string(), |rule| rule.to_string());
    print_line(format!(
        "{good:<4} {:<50} {:<8} rule {} (expected {}) {:6.2} s{}",
        outcome.name,
        outcome.verdict,
        rule(outcome.rule),
        rule(outcome.expected_rule),
        outcome.seconds,
        match outcome.replays {
            Some(true) => "  replays on the monitor",
            Some(false) => "  DOES NOT REPLAY on the monitor",
            None => "",
        }
    ));
    if let Some(reason) = &outcome.reason {
        reason.lines().for_each(|line| print_line(format!("    {line}")));
    }
    let shown = outcome.rows.iter().filter(|row| row.verdict != "PROVED" && (with_trace || !outcome.is_good));
    for one in shown {
        row(format, one, with_trace);
    }
}

/// How many pairs were tried so far, and every disagreement once.
pub fn tally(format: Format, tally: &Tally) {
    if format == Format::Json {
        return;
    }
    print_line(format!(
        "{} pairs ({} with all runs seen, {} of drivers that break no rule): {} proved, {} violated, {} unknown, {} disagreements",
        tally.pairs,
        tally.whole,
        tally.good,
        tally.proved,
        tally.violated,
        tally.unknown,
        tally.disagreements.len()
    ));
    if let Some(found) = tally.disagreements.last() {
        print_line(format!("    the last: pair {}: {}; see {}", found.pair, found.says, found.folder.display()));
    }
}

pub fn comparison(format: Format, line: &Comparison) {
    if format == Format::Json {
        return;
    }
    print_line(format!(
        "{:<10} {:<24} {:3} checks {:3} proved {:3} unknown ({:3} at the limit) {:8.1} s (slowest {:6.1} s) {:5} predicates {:5} refinements {:8} states",
        line.driver,
        line.means,
        line.checks,
        line.proved,
        line.unknown,
        line.at_limit,
        line.seconds,
        line.slowest,
        line.predicates,
        line.refinements,
        line.states
    ));
}
