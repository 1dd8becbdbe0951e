//! The response to each interrupt: its service, and the threads that wait for it.
//!
//! Where the description says in which system calls those threads wait, they go on where these switch away, also on the way out;
//! the binary tells where that is. What threads do that wait elsewhere is then no part of the response.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysed::Analysed;
use crate::description::Interrupt;
use crate::kernel::Kernel;
use crate::lock_waits::{Sections, Waits};
use crate::response::{Handler, Order, Question, Response};

/// The response to an interrupt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ByVector {
    pub vector: u64,
    pub name: String,
    pub handler: Handler,
    /// The calls in which its handler waits, if that is said.
    pub calls: Option<Vec<String>>,
    pub response: Response,
    /// What waits for locks add, by the number of processors; empty if that is not known.
    pub waits: BTreeMap<u64, u64>,
}

/// Numbers of processors among which waits are told.
const AMONG: [u64; 2] = [2, 4];

/// Of each interrupt that has a response, in the order of vectors.
pub fn by_vector(kernel: &Kernel<'_>, regions: &[Analysed]) -> Vec<ByVector> {
    let Some(order) = Order::with_end(kernel, regions) else { return Vec::new() };
    let waits = waits_among(kernel, regions, &AMONG);
    let mut found = Vec::new();
    for (number, interrupt) in kernel.description.vectors.interrupts.iter().enumerate() {
        let handler = handler(&order, kernel, interrupt);
        found.extend(of_interrupt(&order, interrupt, number, handler, None, &waits).unwrap_or_default());
    }
    found.sort_by_key(|one| one.vector);
    found
}

/// Of each vector of an interrupt, for these handlers: on a processor that can be in any region, or in those `within`. None if there
/// is no response.
pub(crate) fn of_interrupt(
    order: &Order<'_>,
    interrupt: &Interrupt,
    number: usize,
    handler: Handler,
    within: Option<&BTreeSet<usize>>,
    waits: &[(u64, Waits<'_>)],
) -> Option<Vec<ByVector>> {
    let question = Question { interrupt: Some(number), handler: &handler, within };
    let response = order.response(&question)?;
    let wait = |(among, waits): &(u64, Waits<'_>)| Some((*among, order.costliest(waits, &question)?.cycles()));
    let waits: BTreeMap<u64, u64> = waits.iter().filter_map(wait).collect();
    let calls = interrupt.wakes.clone().filter(|_| handler != Handler::Any);
    let one = |vector| ByVector {
        vector,
        name: interrupt.name_of(vector),
        handler: handler.clone(),
        calls: calls.clone(),
        response: response.clone(),
        waits: waits.clone(),
    };
    Some(interrupt.vectors().map(one).collect())
}

/// Waits for locks among so many processors, for each number for which the kernel is made and it is known.
pub(crate) fn waits_among<'a>(kernel: &Kernel<'_>, regions: &'a [Analysed], among: &[u64]) -> Vec<(u64, Waits<'a>)> {
    let Some(locks) = &kernel.locks else { return Vec::new() };
    let Ok(sections) = Sections::new(locks, regions) else { return Vec::new() };
    let among = among.iter().filter(|among| **among <= locks.processors);
    among.filter_map(|among| Some((*among, Waits::new(&sections, regions, *among)?))).collect()
}

/// Anyone, if it is not known where one of its calls waits.
fn handler(order: &Order<'_>, kernel: &Kernel<'_>, interrupt: &Interrupt) -> Handler {
    let Some((calls, names)) = kernel.description.calls.as_ref().zip(interrupt.wakes.as_ref()) else {
        return Handler::Any;
    };
    if names.is_empty() {
        return Handler::Kernel;
    }
    let waiting = |name: &String| order.waiting_in(*calls.numbers.get(name)?);
    let all: Option<Vec<BTreeSet<usize>>> = names.iter().map(waiting).collect();
    let all: Option<BTreeSet<usize>> = all.map(|all| all.into_iter().flatten().collect());
    all.filter(|all| !all.is_empty()).map_or(Handler::Any, Handler::In)
}
