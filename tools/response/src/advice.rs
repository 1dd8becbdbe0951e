//! Edits that would make a thread meet its deadline, each tried before it is told.

use crate::response::{bound, others, Response, Thread};

/// Budgets and deadlines are told in whole steps of this many nanoseconds, the least budget that a description takes.
const STEP: u64 = 10_000;

/// What would help; the smaller change of a budget first.
pub fn advice(threads: &[Thread], latency: u64, number: usize, response: &Response) -> String {
    let thread = &threads[number];
    if latency.saturating_mul(2) >= response.deadline_ns {
        return "no edit of a thread: the kernel alone takes longer; see the longest regions and waits for locks that \
                `ashlar timing --kernel` lists, which are shorter where fewer `cpus` take its locks"
            .to_string();
    }
    let mut edits = Vec::new();
    if let Some(total) = response.response_ns {
        let deadline = total.div_ceil(STEP) * STEP;
        if deadline <= response.period_ns {
            edits.push(format!("`deadline = \"{}\"` in [{}]", shown(deadline), thread.table));
        }
    }
    let most = others(threads, number).filter_map(|one| Some((threads[one].reservation?.1, one))).max();
    let shrunk = |of: usize| {
        let budget = largest_budget(threads, latency, number, of, response.deadline_ns)?;
        let whole = threads[of].reservation?.1;
        Some((whole * 1000 / budget, format!("`budget = \"{}\"` in [{}]", shown(budget), threads[of].table)))
    };
    let mut budgets: Vec<(u64, String)> =
        most.and_then(|(_, one)| shrunk(one)).into_iter().chain(shrunk(number)).collect();
    budgets.sort();
    edits.extend(budgets.into_iter().map(|(_, text)| text));
    if edits.is_empty() {
        return format!(
            "no single budget helps: put `{}` on another `cpu`, or above others in `priority`",
            thread.name
        );
    }
    edits.join(", or ")
}

/// The largest budget of thread `of` with which `number` meets its deadline.
fn largest_budget(threads: &[Thread], latency: u64, number: usize, of: usize, deadline: u64) -> Option<u64> {
    let (period, budget) = threads[of].reservation?;
    let mut changed = threads.to_vec();
    let mut meets = |steps: u64| {
        changed[of].reservation = Some((period, steps * STEP));
        bound(&changed, latency, number).is_some_and(|(total, _)| total <= deadline)
    };
    let (mut least, mut most) = (0, budget / STEP);
    while least < most {
        let middle = least + (most - least).div_ceil(2);
        if meets(middle) {
            least = middle;
        } else {
            most = middle - 1;
        }
    }
    (least > 0 && least * STEP < budget).then_some(least * STEP)
}

/// A time as descriptions write it.
fn shown(ns: u64) -> String {
    match (ns % 1_000_000, ns % 1_000) {
        (0, _) => format!("{}ms", ns / 1_000_000),
        (_, 0) => format!("{}us", ns / 1_000),
        _ => format!("{ns}ns"),
    }
}
