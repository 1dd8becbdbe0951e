//! The iteration.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::advice::advice;

/// A thread. Times are in nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    pub name: String,
    /// The table of the description in which its keys stand.
    pub table: String,
    pub cpu: u64,
    pub priority: u64,
    /// Period and budget; none: it runs as long as it likes.
    pub reservation: Option<(u64, u64)>,
    /// If none, the period.
    pub deadline: Option<u64>,
    /// Threads without a reservation that may run on its time.
    pub lends_to: Vec<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Met,
    Missed,
    /// There is no bound.
    Unbounded,
}

/// What a response is made of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    pub what: String,
    pub ns: u64,
}

/// The worst response of a thread with a reservation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Response {
    pub thread: String,
    pub cpu: u64,
    /// The lowest at which its work may be done.
    pub priority: u64,
    pub period_ns: u64,
    pub budget_ns: u64,
    pub deadline_ns: u64,
    pub verdict: Verdict,
    /// Null if there is no bound.
    pub response_ns: Option<u64>,
    /// The deadline less the response.
    pub slack_ns: Option<i64>,
    /// The longest first; empty without a bound.
    pub parts: Vec<Part>,
    /// Why there is no bound.
    pub reason: Option<String>,
    /// An edit of the description that would help, if the deadline is not met.
    pub remedy: Option<String>,
}

/// Iterations beyond which a response is taken for endless, as a multiple of the longest period.
const PERIODS: u64 = 1000;

/// The response of each thread that has a reservation, in their order.
pub fn respond(threads: &[Thread], latency: u64) -> Vec<Response> {
    (0..threads.len()).filter_map(|number| one(threads, latency, number)).collect()
}

fn one(threads: &[Thread], latency: u64, number: usize) -> Option<Response> {
    let thread = &threads[number];
    let (period, budget) = thread.reservation?;
    let deadline = thread.deadline.unwrap_or(period);
    let mut response = Response {
        thread: thread.name.clone(),
        cpu: thread.cpu,
        priority: lowest_priority(threads, number),
        period_ns: period,
        budget_ns: budget,
        deadline_ns: deadline,
        verdict: Verdict::Unbounded,
        response_ns: None,
        slack_ns: None,
        parts: Vec::new(),
        reason: None,
        remedy: None,
    };
    let unlimited: Vec<&Thread> =
        others(threads, number).map(|one| &threads[one]).filter(|one| one.reservation.is_none()).collect();
    if let Some(first) = unlimited.first() {
        let names: Vec<String> = unlimited.iter().map(|one| format!("`{}`", one.name)).collect();
        response.reason = Some(format!(
            "{} of its processor may run as long as they like at its priority or a higher one: {}",
            if names.len() == 1 { "a thread" } else { "threads" },
            names.join(", ")
        ));
        let below = response.priority.saturating_sub(1);
        response.remedy = Some(format!(
            "give [{}] a `period` and a `budget`, or a `priority` of at most {below}, or another `cpu`",
            first.table
        ));
        return Some(response);
    }
    match bound(threads, latency, number) {
        Some((total, parts)) => {
            response.verdict = if total <= deadline { Verdict::Met } else { Verdict::Missed };
            response.response_ns = Some(total);
            response.slack_ns = Some(deadline as i64 - total as i64);
            response.parts = parts;
        }
        None => {
            response.reason =
                Some("what threads of its priority or a higher one may take leaves it no time".to_string());
        }
    }
    if response.verdict != Verdict::Met {
        response.remedy = Some(advice(threads, latency, number, &response));
    }
    Some(response)
}

/// The lowest priority at which the work of a thread may be done.
fn lowest_priority(threads: &[Thread], number: usize) -> u64 {
    let lent = threads[number].lends_to.iter().map(|one| threads[*one].priority);
    lent.fold(threads[number].priority, u64::min)
}

/// Threads of the same processor that may run instead of it, but for those that do its work.
pub(crate) fn others(threads: &[Thread], number: usize) -> impl Iterator<Item = usize> + '_ {
    let (own, priority) = (&threads[number], lowest_priority(threads, number));
    (0..threads.len()).filter(move |one| {
        let other = &threads[*one];
        // The work of one that lends may be done at the priority of whom it lends to.
        let lent = other.lends_to.iter().map(|one| threads[*one].priority).max();
        *one != number && other.cpu == own.cpu && lent.unwrap_or(0).max(other.priority) >= priority
    })
}

/// What a reservation may give in an interval of this length.
fn demand(period: u64, budget: u64, length: u64) -> u64 {
    let more = length.saturating_sub(budget).div_ceil(period.max(1));
    budget.saturating_mul(more.saturating_add(1))
}

/// The response and its parts; none if there is no end to it.
pub(crate) fn bound(threads: &[Thread], latency: u64, number: usize) -> Option<(u64, Vec<Part>)> {
    let (_, budget) = threads[number].reservation?;
    let others: Vec<(&str, u64, u64)> = others(threads, number)
        .map(|one| threads[one].reservation.map(|(period, budget)| (threads[one].name.as_str(), period, budget)))
        .collect::<Option<_>>()?;
    let longest = others.iter().map(|(_, period, _)| *period).chain([threads[number].reservation?.0]).max()?;
    let kernel = latency.saturating_mul(2);
    let mut total = kernel.saturating_add(budget);
    loop {
        let taken = |(_, period, budget): &(&str, u64, u64)| demand(*period, *budget, total).saturating_add(latency);
        let next = others.iter().map(taken).fold(kernel.saturating_add(budget), u64::saturating_add);
        if next == total {
            break;
        }
        if next > longest.saturating_mul(PERIODS) {
            return None;
        }
        total = next;
    }
    let mut parts = vec![
        Part { what: "the kernel".to_string(), ns: kernel },
        Part { what: "its own budget".to_string(), ns: budget },
    ];
    parts.extend(others.iter().map(|(name, period, budget)| Part {
        what: name.to_string(),
        ns: demand(*period, *budget, total).saturating_add(latency),
    }));
    parts.sort_by(|a, b| b.ns.cmp(&a.ns).then_with(|| a.what.cmp(&b.what)));
    Some((total, parts))
}
