//! Costs of edges alone, for a walk of which it is known how often it takes each.

use std::collections::{BTreeMap, BTreeSet};

use wcet_binary::load::Program;
use wcet_flow::context::{EdgeId, Expanded};
use wcet_hardware::machine::Machine;

use crate::ipet::access::Targets;
use crate::ipet::bound::{machine_error, Visit};
use crate::ipet::error::{Error, Problem};
use crate::ipet::live::Live;
use crate::ipet::model::Model;

/// The time of a walk, at most.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Walked {
    pub cycles: u64,
    /// Misses that happen once, among these.
    pub first_misses: u64,
    pub visits: Vec<Visit>,
}

/// The walk that takes each edge so often, from the entry on. The graph may have cycles of any kind: its list of loops is not asked for.
pub fn walked(
    program: &Program,
    expanded: &Expanded<'_>,
    machine: &Machine,
    targets: &dyn Targets,
    times: &[u64],
) -> Result<Walked, Vec<Error>> {
    let dead: BTreeSet<EdgeId> = (0..expanded.edges.len()).filter(|edge| times[*edge] == 0).collect();
    let none = BTreeMap::new();
    let live = Live::new(expanded, &dead, &none)?;
    let model = Model::new(expanded, program.architecture, machine, targets, &live, &none)?;
    let costs = wcet_hardware::pipeline::analyse(&model.program, machine)
        .map_err(|errors| errors.into_iter().map(|error| machine_error(program, error)).collect::<Vec<_>>())?;
    // The one scope is everything, and entered once.
    let first_misses = costs.scopes.iter().sum::<u64>();
    let mut visits: Vec<(u64, u128)> = vec![(0, 0); expanded.nodes.len()];
    visits[expanded.entry] = (1, costs.entry.into());
    for (edge, cost) in model.edges.iter().zip(&costs.edges) {
        let (count, cycles) = &mut visits[expanded.edges[*edge].to];
        *count += times[*edge];
        *cycles += u128::from(times[*edge]) * u128::from(*cost);
    }
    let sum = visits.iter().map(|(_, cycles)| cycles).sum::<u128>() + u128::from(first_misses);
    let too_many = |_| vec![Error { address: 0, place: String::new(), problem: Problem::Overflow }];
    let cycles = u64::try_from(sum).map_err(too_many)?;
    // Each of them is at most the sum.
    let visit = |node: usize| Visit { node, count: visits[node].0, cycles: visits[node].1 as u64 };
    Ok(Walked { cycles, first_misses, visits: live.nodes.iter().map(|node| visit(*node)).collect() })
}
