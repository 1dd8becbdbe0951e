//! Closed systems: responses where the threads of a processor make certain system calls only.
//!
//! An interrupt, an exception and a thread's start may come whatever threads call. From there on it is followed where each
//! region goes on: behind windows and preemption points, and where a thread goes on that has switched away there. What other
//! processors do is not restricted: they hold any lock as long as any region does.

use std::collections::BTreeSet;

use crate::analysed::Analysed;
use crate::by_vector::{of_interrupt, waits_among, ByVector};
use crate::continuations::Continuation;
use crate::description::Interrupt;
use crate::kernel::Kernel;
use crate::regions::Kind;
use crate::response::{Handler, Order};
use crate::returns::Returning;

/// Numbers of processors among which waits are told, up to that for which the kernel is made.
const AMONG: [u64; 4] = [2, 4, 8, 16];

/// The responses to interrupts for which threads may wait that make no other calls than these, in the order of vectors; None if
/// one has none, or it is not known what is executed then.
pub fn closed(kernel: &Kernel<'_>, regions: &[Analysed], calls: &BTreeSet<u64>) -> Option<Vec<ByVector>> {
    let order = Order::with_end(kernel, regions)?;
    let within = order.within(kernel, regions, calls)?;
    let waits = waits_among(kernel, regions, &AMONG);
    let mut found = Vec::new();
    for (number, interrupt) in kernel.description.vectors.interrupts.iter().enumerate() {
        let Some(handler) = handler(&order, kernel, interrupt, calls)? else { continue };
        found.extend(of_interrupt(&order, interrupt, number, handler, Some(&within), &waits)?);
    }
    found.sort_by_key(|one| one.vector);
    Some(found)
}

/// The threads that an interrupt makes run; no handler if it makes none of these run. None if it is not known where they wait.
fn handler(
    order: &Order<'_>,
    kernel: &Kernel<'_>,
    interrupt: &Interrupt,
    calls: &BTreeSet<u64>,
) -> Option<Option<Handler>> {
    let names = match &interrupt.wakes {
        Some(names) if !interrupt.alarms => names,
        _ => return Some(Some(Handler::Any)),
    };
    let numbers = &kernel.description.calls.as_ref()?.numbers;
    let mut waiting = BTreeSet::new();
    for name in names {
        let number = *numbers.get(name)?;
        if calls.contains(&number) {
            waiting.extend(order.waiting_in(number)?);
        }
    }
    Some((!waiting.is_empty()).then_some(Handler::In(waiting)))
}

impl Order<'_> {
    /// The regions that a processor can be in whose threads make no other calls than these, by number; None if it is not known
    /// where one of them goes on.
    fn within(&self, kernel: &Kernel<'_>, all: &[Analysed], calls: &BTreeSet<u64>) -> Option<BTreeSet<usize>> {
        let called = |(first, last): (u64, u64)| calls.range(first..=last).next().is_some();
        let begins = |number: &usize| {
            let region = &kernel.regions[*number];
            match region.kind {
                Kind::SystemCall => region.numbers.is_none_or(called),
                Kind::Exception | Kind::Interrupt | Kind::Inside | Kind::ThreadStart | Kind::Idle => true,
                // What follows a window and a guest is reached from where it is opened and run.
                Kind::Pending | Kind::Window | Kind::Guest | Kind::Resumed => false,
            }
        };
        let mut open: Vec<usize> = (0..all.len()).filter(begins).collect();
        let mut found: BTreeSet<usize> = open.iter().copied().collect();
        let returning = Returning::new(&kernel.graph, &kernel.points);
        while let Some(number) = open.pop() {
            let mut next: Vec<usize> = self.follows(number).collect::<Option<_>>()?;
            for way in &all[number].ways {
                match way {
                    Continuation::Switch(place) if place.iter().any(|(one, _)| *one == kernel.points.ended) => {}
                    Continuation::Switch(place) => next.extend(self.resumed_at(&returning, place)?),
                    Continuation::On(..) | Continuation::Out => {}
                }
            }
            open.extend(next.into_iter().filter(|next| found.insert(*next)));
        }
        Some(found)
    }
}
