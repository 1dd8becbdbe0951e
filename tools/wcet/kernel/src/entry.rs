//! What is known where a region, or a part of one, is entered, and the values that follow from it.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use wcet_binary::lift::il::Register;
use wcet_flow::context::{EdgeId, EdgeKind, Expanded, NodeId};
use wcet_values::{Base, Values};

use crate::kernel::Kernel;
use crate::line_names::stack_pointer;
use crate::stack::HANDLER;

/// Instructions of a region that are executed one by one before loops are described as a whole: regions are many.
const STEPS: u64 = 200_000;

/// What a function returns.
pub(crate) const ANSWER: &str = "RAX";

/// What is known where a graph is entered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Entry {
    pub registers: BTreeMap<Register, (u64, u64)>,
    /// How far below the end of its stack the stack pointer is, if that is known.
    pub below: Option<u64>,
    /// The number of the system call.
    pub numbers: Option<(u64, u64)>,
    /// It leads on into handlers, which begin with an empty stack.
    pub handlers: bool,
    /// How far behind the registers of its thread the stack pointer is.
    pub frame: Option<u64>,
    /// The stack pointer is a multiple of the first, a line, plus the second, and nothing else is known of it.
    pub rest: Option<(u64, u64)>,
    /// The mark stands there which says that who runs must be decided.
    pub marked: bool,
    /// A thread was woken that is to run next.
    pub woken: bool,
}

/// Registers that hold plain numbers before a node, the stack pointer apart.
pub(crate) fn known(kernel: &Kernel<'_>, values: &Values, node: NodeId) -> BTreeMap<Register, (u64, u64)> {
    let registers = kernel.lifter.registers();
    let known = registers.all().filter(|register| *register != registers.stack_pointer()).filter_map(|register| {
        let range = values.register(node, register).filter(|range| range.base == Base::Zero)?;
        (range.low <= range.high && range.size == 8).then_some((register, (range.low, range.high)))
    });
    known.collect()
}

/// Values of one graph.
pub(crate) fn values(kernel: &Kernel<'_>, expanded: &Expanded<'_>, entry: &Entry) -> Values {
    let number = kernel.points.number.zip(entry.numbers);
    let mut own = kernel.own(entry.frame);
    if let Some((own, described)) = own.as_mut().zip(kernel.description.own.as_ref()).filter(|_| entry.marked) {
        own.at_entry.insert(described.mark, 1);
    }
    let mut given: BTreeMap<u64, (Register, (u64, u64))> =
        number.map(|((address, register), range)| (address, (register, range))).into_iter().collect();
    if entry.woken {
        given.extend(told_of_woken(kernel, expanded));
    }
    let options = wcet_values::Options {
        registers: entry.registers.clone(),
        given,
        stack_pointer: if entry.handlers { Some(HANDLER) } else { entry.below }.map(stack_pointer),
        fresh: if entry.handlers { kernel.handlers.clone() } else { BTreeSet::new() },
        shared: kernel.shared.clone(),
        own,
        stack_rest: entry.rest,
        switches: kernel.points.called.keys().copied().collect(),
        steps: STEPS,
        blocks: Rc::clone(&kernel.blocks),
        ..wcet_values::Options::default()
    };
    wcet_values::analyse(kernel.lifter.program(), expanded, &options)
}

/// An address, and what a register holds there: from the first number to the last.
type Returned = (u64, (Register, (u64, u64)));

/// Behind which calls it is known that a thread was woken which is to run next, and the answer.
fn told_of_woken(kernel: &Kernel<'_>, expanded: &Expanded<'_>) -> Vec<Returned> {
    let Some(((woken, last), answer)) = kernel.points.woken.zip(kernel.lifter.registers().named(ANSWER)) else {
        return Vec::new();
    };
    let from_it = |node: NodeId| expanded.contexts[expanded.nodes[node].context].function == woken;
    let returns = expanded.edges.iter().filter(|edge| edge.kind == EdgeKind::Return && from_it(edge.from));
    returns.map(|edge| (expanded.block(edge.to).start(), (answer, (0, last)))).collect()
}

/// Edges that are not taken if a thread was woken which is to run next, beyond those that never are.
pub(crate) fn if_woken(kernel: &Kernel<'_>, expanded: &Expanded<'_>, entry: &Entry) -> BTreeSet<EdgeId> {
    let asks = kernel.points.woken.is_some_and(|(woken, _)| expanded.contexts.iter().any(|one| one.function == woken));
    if !asks {
        return BTreeSet::new();
    }
    values(kernel, expanded, &Entry { woken: true, ..entry.clone() }).dead().clone()
}
