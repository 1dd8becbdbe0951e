//! Functions that call themselves, directly or through others: each needs a stated depth.

use std::collections::BTreeMap;

use wcet_binary::load::Program;

use crate::error::{Error, Problem};
use crate::graph::Graph;
use crate::loops::components;
use crate::Options;

pub(crate) fn check(graph: &Graph, program: &Program, options: &Options) -> Vec<Error> {
    let entries: Vec<u64> = graph.functions.keys().copied().collect();
    let index: BTreeMap<u64, usize> = entries.iter().enumerate().map(|(index, entry)| (*entry, index)).collect();
    let successors: Vec<Vec<usize>> = entries
        .iter()
        .map(|entry| graph.callees(*entry).iter().filter_map(|callee| index.get(callee).copied()).collect())
        .collect();
    let mut errors = Vec::new();
    for component in components(&successors) {
        let cyclic = component.len() > 1 || component.iter().any(|node| successors[*node].contains(node));
        let stated = component.iter().any(|node| options.recursion.contains_key(&entries[*node]));
        let Some(first) = component.first().filter(|_| cyclic && !stated) else { continue };
        let names: Vec<String> = component.iter().map(|node| program.describe(entries[*node])).collect();
        let function = program.describe(entries[*first]);
        let problem = Problem::Recursion { function: function.clone(), cycle: names.join(", ") };
        errors.push(Error { address: entries[*first], place: function, problem });
    }
    errors
}
