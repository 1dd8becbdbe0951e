//! What a region is if an interrupt is served in it, if none is, and if one is known to wait.

use std::collections::{BTreeMap, BTreeSet};

use wcet_flow::context::{EdgeId, Expanded};
use wcet_paths::ipet::{Constraints, Options, Prepared};

use crate::analysed::{Serving, Told, Unserved};
use crate::bound::code;
use crate::continuations::{elsewhere, undecided, undecided_from_start, ways, Continuation};
use crate::critical_sections::Taken;
use crate::entry::{values, Entry, ANSWER};
use crate::kernel::Kernel;
use crate::lock_paths::Paths;
use crate::points::End;
use crate::service::{into_service, into_waiting};

/// What a region costs if a certain interrupt is served in it, of all those of which something is known: by the interrupt, the
/// edges that are not taken then.
pub(crate) fn serving(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    prepared: &Prepared<'_, '_>,
    constraints: &Constraints,
    not_taken: &BTreeMap<usize, BTreeSet<EdgeId>>,
) -> BTreeMap<usize, Serving> {
    let one = |(interrupt, not_taken): (&usize, &BTreeSet<EdgeId>)| {
        let mut constraints = constraints.clone();
        constraints.dead.extend(not_taken);
        constraints.dead.extend(into_waiting(kernel, expanded, *interrupt));
        let bound = prepared.bound(&constraints, &Options::default()).ok()?;
        let undecided = undecided(kernel, expanded, &constraints.dead);
        let (wcet_cycles, code) = (bound.wcet_cycles, code(expanded, &bound));
        Some((*interrupt, Serving { wcet_cycles, code, undecided, ..Serving::default() }))
    };
    not_taken.iter().filter_map(one).collect()
}

/// What a region is that begins with the answer that an interrupt waits, and the edges that are not taken then; None if that
/// has no bound.
pub(crate) fn told(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    entry: &Entry,
    prepared: &Prepared<'_, '_>,
    constraints: &Constraints,
) -> Option<(Told, BTreeSet<EdgeId>)> {
    let mut entry = entry.clone();
    entry.registers.extend(kernel.lifter.registers().named(ANSWER).map(|answer| (answer, (1, 1))));
    let left_out = values(kernel, expanded, &entry).dead().clone();
    let mut constraints = constraints.clone();
    constraints.dead.extend(left_out.iter().copied());
    let wcet_cycles = prepared.bound(&constraints, &Options::default()).ok()?.wcet_cycles;
    let ways = ways(kernel, expanded, &constraints.dead, &BTreeSet::new());
    Some((Told { wcet_cycles, ways, ..Told::default() }, left_out))
}

/// What a region is in which no interrupt is served; None if that has no bound.
pub(crate) fn unserved(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    entry: &Entry,
    prepared: &Prepared<'_, '_>,
    constraints: &Constraints,
) -> Option<Unserved> {
    let mut constraints = constraints.clone();
    constraints.dead.extend(into_service(kernel, expanded));
    let wcet_cycles = prepared.bound(&constraints, &Options::default()).ok()?.wcet_cycles;
    let ways = ways(kernel, expanded, &constraints.dead, &BTreeSet::new());
    // The interrupt that was served before has made a thread ready that must run.
    let marked = Entry { marked: true, woken: true, ..entry.clone() };
    let mut switching = constraints.clone();
    switching.dead.extend(values(kernel, expanded, &marked).dead());
    let undecided = switching.dead.clone();
    switching.dead.extend(elsewhere(kernel, expanded, End::Switch));
    let switch_cycles = ways.iter().any(|way| matches!(way, Continuation::Switch(_))).then(|| {
        let bound = prepared.bound(&switching, &Options::default());
        bound.map_or(wcet_cycles, |bound| bound.wcet_cycles)
    });
    Some(Unserved {
        wcet_cycles,
        switch_cycles,
        taken: Taken::new(),
        paths: Paths::default(),
        ways,
        undecided: undecided_from_start(kernel, expanded, &undecided),
    })
}
