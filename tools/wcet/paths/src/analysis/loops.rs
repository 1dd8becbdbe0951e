//! Loops for the report: one entry for each loop of each function, over all its contexts.

use std::collections::BTreeMap;

use crate::loop_bounds::LoopBound;
use wcet_binary::load::Lines;
use wcet_flow::context::{Expanded, LoopId};
use wcet_report::{Error, Evidence, Loop, LoopContext};

use crate::analysis::code::Code;
use crate::analysis::faults::{fault, hex};

/// Contexts that are listed for one loop.
const CONTEXTS: usize = 64;

/// All loops in the order of their addresses.
/// `evidence` says of those that are not inferred how they are known.
pub fn describe(
    expanded: &Expanded<'_>,
    bounds: &[LoopBound],
    evidence: &BTreeMap<LoopId, Evidence>,
    lines: &Lines,
) -> Vec<Loop> {
    let mut by_place: BTreeMap<(u64, u64), Vec<(LoopId, &LoopBound)>> = BTreeMap::new();
    for bound in bounds {
        let found = &expanded.loops[bound.loop_id];
        let function = expanded.function(found.context);
        let header = expanded.block(found.header).start();
        by_place.entry((function.entry, header)).or_default().push((bound.loop_id, bound));
    }
    let mut loops: Vec<(u64, Loop)> = by_place
        .into_iter()
        .map(|((_, header), found)| (header, one(expanded, header, &found, evidence, lines)))
        .collect();
    loops.sort_by_key(|(header, _)| *header);
    loops.into_iter().map(|(_, found)| found).collect()
}

/// An error for each loop without a bound.
pub fn errors(loops: &[Loop]) -> Vec<Error> {
    let open = loops.iter().filter(|found| found.bound.is_none());
    let error = |found: &Loop| {
        let reason = found.reason.clone().unwrap_or_else(|| "nothing bounds it".to_string());
        let remedy = match &found.least_fact {
            Some(fact) => format!("it would take this: {fact}"),
            None => {
                "bound it in the program, or state how often it runs: --loop ADDRESS=NUMBER, or shown in a file for \
                     --constraints"
                    .to_string()
            }
        };
        Error {
            address: Some(found.address.clone()),
            symbol: Some(found.function.clone()),
            source: found.source.clone(),
            ..fault(Code::Unbounded, format!("this loop has no bound: {reason}"), remedy)
        }
    };
    open.map(error).collect()
}

fn one(
    expanded: &Expanded<'_>,
    header: u64,
    found: &[(LoopId, &LoopBound)],
    known: &BTreeMap<LoopId, Evidence>,
    lines: &Lines,
) -> Loop {
    let evidence = |bound: &LoopBound| match bound.bound? {
        0 => Some(Evidence::Unreached),
        _ => Some(known.get(&bound.loop_id).copied().unwrap_or(Evidence::Inferred)),
    };
    let function = expanded.function(expanded.loops[found[0].0].context);
    let all_bounded = found.iter().all(|(_, bound)| bound.bound.is_some());
    // The context that decides: one without a bound, else one with the largest.
    let worst = found.iter().max_by_key(|(_, bound)| (bound.bound.is_none(), bound.bound)).map(|(_, bound)| *bound);
    let bound = if all_bounded { worst.and_then(|worst| worst.bound) } else { None };
    let differ = found.windows(2).any(|pair| pair[0].1.bound != pair[1].1.bound);
    let context = |(id, bound): &(LoopId, &LoopBound)| LoopContext {
        calls: expanded.chain(expanded.loops[*id].context).iter().map(ToString::to_string).collect(),
        bound: bound.bound,
        evidence: evidence(bound),
    };
    Loop {
        function: function.name.clone(),
        address: hex(header),
        source: lines.place(header).map(|place| place.to_string()),
        bound,
        evidence: worst.filter(|_| bound.is_some()).and_then(evidence),
        detail: worst.filter(|_| bound.is_some()).and_then(detail),
        reason: worst.filter(|_| bound.is_none()).and_then(|worst| worst.reason.clone()),
        least_fact: worst.filter(|_| bound.is_none()).and_then(|worst| worst.least.clone()),
        contexts: if differ { found.iter().take(CONTEXTS).map(context).collect() } else { Vec::new() },
    }
}

fn detail(bound: &LoopBound) -> Option<String> {
    let total = bound.total.map(|(_, total)| format!("at most {total} times for each entry of the loop around it"));
    let texts: Vec<String> =
        [Some(bound.evidence.clone()), total].into_iter().flatten().filter(|text| !text.is_empty()).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}
