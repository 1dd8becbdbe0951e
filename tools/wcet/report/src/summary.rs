//! What follows from the worst path: its waterfall, and the cost of each function.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Bar, Callee, Function, Report};

/// A call that takes more than this share of its caller is cut at its own calls instead.
const SHARE_CUT: f64 = 0.8;

/// Fills `waterfall` and `functions` from `path` and `contexts`.
pub fn summarise(report: &mut Report) {
    report.waterfall = waterfall(report);
    report.functions = functions(report);
}

/// Contexts from the outermost to `context`.
pub fn chain(report: &Report, context: usize) -> Vec<usize> {
    let mut chain = Vec::new();
    let mut next = Some(context);
    // A caller stands before its callees, so that this ends whatever the report says.
    while let Some(index) = next {
        chain.push(index);
        next = report.contexts.get(index).and_then(|context| context.caller).filter(|caller| *caller < index);
    }
    chain.reverse();
    chain
}

fn waterfall(report: &Report) -> Vec<Bar> {
    let chains: Vec<Vec<usize>> = report.path.iter().map(|step| chain(report, step.context)).collect();
    let mut cut: BTreeSet<usize> = chains.iter().filter_map(|chain| chain.first().copied()).collect();
    loop {
        let bars = bars(report, &chains, &cut);
        let total: u64 = bars.iter().map(|(_, bar)| bar.cycles).sum();
        let mut shares: BTreeMap<usize, u64> = BTreeMap::new();
        bars.iter().for_each(|(context, bar)| *shares.entry(*context).or_default() += bar.cycles);
        let large = shares
            .iter()
            .find(|(context, cycles)| !cut.contains(context) && **cycles as f64 > SHARE_CUT * total as f64)
            .map(|(context, _)| *context);
        match large {
            Some(context) => cut.insert(context),
            None => return bars.into_iter().map(|(_, bar)| bar).collect(),
        };
    }
}

/// The path cut at the calls of the contexts in `cut`, each with the context that it is in.
fn bars(report: &Report, chains: &[Vec<usize>], cut: &BTreeSet<usize>) -> Vec<(usize, Bar)> {
    let mut bars: Vec<(usize, Bar)> = Vec::new();
    let mut start = 0_u64;
    for (step, chain) in report.path.iter().zip(chains) {
        let inside = chain.iter().copied().find(|context| !cut.contains(context));
        let owner = inside.or(chain.last().copied()).unwrap_or_default();
        match bars.last_mut() {
            Some((before, bar)) if *before == owner => bar.cycles = bar.cycles.saturating_add(step.cycles),
            _ => {
                let context = report.contexts.get(owner);
                let name = context.map_or_else(|| step.function.clone(), |context| context.function.clone());
                let address = context.map_or_else(|| step.address.clone(), |context| context.address.clone());
                let bar = Bar { function: name, address, source: step.source.clone(), start, cycles: step.cycles };
                bars.push((owner, bar));
            }
        }
        start = start.saturating_add(step.cycles);
    }
    bars
}

fn functions(report: &Report) -> Vec<Function> {
    let mut found: BTreeMap<&str, Function> = BTreeMap::new();
    let mut calls: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    for context in &report.contexts {
        found.entry(&context.address).or_insert_with(|| Function {
            function: context.function.clone(),
            address: context.address.clone(),
            ..Function::default()
        });
    }
    let mut on_path: BTreeSet<&str> = BTreeSet::new();
    for step in &report.path {
        let chain = chain(report, step.context);
        let addresses: Vec<&str> =
            chain.iter().filter_map(|index| report.contexts.get(*index)).map(|one| one.address.as_str()).collect();
        if let Some(own) = addresses.last().and_then(|address| found.get_mut(address)) {
            own.self_cycles = own.self_cycles.saturating_add(step.cycles);
            if own.address == step.address {
                own.entered = own.entered.saturating_add(step.count);
                own.source = step.source.clone();
            }
        }
        // Once each, also where a function calls itself.
        for address in addresses.iter().copied().collect::<BTreeSet<_>>() {
            on_path.insert(address);
            if let Some(function) = found.get_mut(address) {
                function.total_cycles = function.total_cycles.saturating_add(step.cycles);
            }
        }
        for pair in addresses.windows(2).map(|pair| (pair[0], pair[1])).collect::<BTreeSet<_>>() {
            let cycles = calls.entry(pair).or_default();
            *cycles = cycles.saturating_add(step.cycles);
        }
    }
    let names: BTreeMap<&str, String> =
        found.iter().map(|(address, function)| (*address, function.function.clone())).collect();
    for ((caller, callee), cycles) in calls {
        if let (Some(function), Some(name)) = (found.get_mut(caller), names.get(callee)) {
            function.callees.push(Callee { function: name.clone(), address: callee.to_string(), cycles });
        }
    }
    let mut functions: Vec<Function> =
        found.into_iter().filter(|(address, _)| on_path.contains(address)).map(|(_, function)| function).collect();
    for function in &mut functions {
        function.callees.sort_by_key(|callee| std::cmp::Reverse(callee.cycles));
    }
    functions.sort_by_key(|function| std::cmp::Reverse((function.self_cycles, function.total_cycles)));
    functions
}
