//! The calling contexts of a region, also where a stated recursion would have too many.
//!
//! A depth is stated of a function, and holds for each of its calls of itself. Where it has several, most chains of calls that the
//! depth allows may be none that are executed: they are left out where the values of arguments say so.

use std::collections::BTreeSet;
use std::time::Instant;

use wcet_binary::load::{Lines, Program};
use wcet_flow::context::{Error, Expanded, Options, Problem};
use wcet_flow::Graph;

use crate::analysis::faults;

/// Most blocks where each level's values are looked at.
const MOST: usize = 50_000;
/// Most blocks where the region may have one run, which is executed in any graph, while what values stand for is not.
const MOST_OF_ONE_RUN: usize = 8_000_000;

/// What is said of a graph that is too large.
pub(crate) fn too_large(
    graph: &Graph,
    entry: u64,
    options: &Options,
    program: &Program,
    lines: &Lines,
) -> Vec<wcet_report::Error> {
    let found = wcet_flow::context::expand(graph, entry, options).err().unwrap_or_default();
    found.iter().map(|error| faults::context(error, program, lines)).collect()
}

/// Whether a graph is too large for all but its one run.
pub(crate) fn is_large(expanded: &Expanded<'_>) -> bool {
    expanded.nodes.len() > Options::default().limit
}

/// The flow of the function at `entry` with all that it calls. Where that is too large, calls by which a function calls itself are
/// followed one level after the other, as long as what is known says that they may be executed.
pub(crate) fn expand<'g>(
    program: &Program,
    graph: &'g Graph,
    entry: u64,
    options: Options,
    known: &wcet_values::Options,
    deadline: Option<Instant>,
) -> Result<Expanded<'g>, Vec<Error>> {
    let limit = if known.memory_as_loaded { MOST_OF_ONE_RUN } else { options.limit };
    let errors = match wcet_flow::context::expand(graph, entry, &Options { limit, ..options.clone() }) {
        Ok(expanded) => return Ok(expanded),
        Err(errors) => errors,
    };
    let is_large = errors.iter().any(|error| matches!(error.problem, Problem::TooLarge { .. }));
    if !is_large || options.recursion.is_empty() {
        return Err(errors);
    }
    // Which calls the arguments rule out takes fewer steps to find than bounds of loops.
    let known = wcet_values::Options { steps: known.steps / 16, ..known.clone() };
    let mut followed = BTreeSet::new();
    while deadline.is_none_or(|deadline| Instant::now() < deadline) {
        let limit = options.limit.min(MOST);
        let options = Options { followed: Some(followed.clone()), limit, ..options.clone() };
        let Ok(expanded) = wcet_flow::context::expand(graph, entry, &options) else { break };
        let values = wcet_values::analyse(program, &expanded, &known);
        let known_before = followed.len();
        let reached = expanded.cuts.iter().filter(|(node, _)| values.reached(*node));
        followed.extend(reached.map(|(node, callee)| expanded.call_chain(*node, *callee)));
        // What is cut still is never executed, or deeper than stated.
        if followed.len() == known_before {
            return Ok(expanded);
        }
    }
    Err(errors)
}
