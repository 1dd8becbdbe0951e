//! What a person states: constraints, which are read, validated, and used only if all of them hold; bounds of loops, and how
//! often instructions are executed, which are believed.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use crate::infeasible::{apply, parse, validate, Effort, Run, Stated, Verdict};
use crate::ipet::{Constraints, Limit};
use crate::loop_bounds::LoopBound;
use wcet_binary::load::{Lines, Program};
use wcet_flow::context::{EdgeId, Expanded, LoopId, NodeId};
use wcet_report::{Constraint, Error};
use wcet_symbolic::Setting;

use crate::analysis::code::Code;
use crate::analysis::faults::{fault, hex, solver, Found};

/// What the solver may take for one constraint, in its own steps.
const STEPS: u64 = 30_000_000;
/// Branches of a counterexample that are shown.
const SHOWN: usize = 40;

/// Puts the stated bound in the place of one that is not known or larger, and returns the loops for which it did. A statement
/// about what is no loop's header is an error.
pub fn of_loops(
    stated: &BTreeMap<u64, u64>,
    program: &Program,
    expanded: &Expanded<'_>,
    bounds: &mut [LoopBound],
) -> Found<Vec<LoopId>> {
    let header = |found: &LoopBound| expanded.block(expanded.loops[found.loop_id].header).start();
    let headers: BTreeSet<u64> = bounds.iter().map(header).collect();
    let wrong = stated.keys().filter(|address| !headers.contains(address));
    let errors: Vec<Error> = wrong.map(|address| no_loop(*address, &headers, program)).collect();
    if !errors.is_empty() {
        return Err(errors);
    }
    let mut used = Vec::new();
    for found in bounds {
        let Some(most) = stated.get(&header(found)) else { continue };
        if found.bound.is_none_or(|bound| *most < bound) {
            (found.bound, found.evidence) = (Some(*most), "stated, not validated".to_string());
            (found.reason, found.least) = (None, None);
            used.push(found.loop_id);
        }
    }
    Ok(used)
}

/// Limits how often instructions are executed, all those of one statement together, and says so. A statement about an instruction
/// that is not reached is an error: it would limit nothing.
pub fn of_instructions(
    stated: &[(Vec<u64>, u64)],
    program: &Program,
    expanded: &Expanded<'_>,
    constraints: &mut Constraints,
) -> Found<Vec<String>> {
    let (mut said, mut errors) = (Vec::new(), Vec::new());
    for (places, most) in stated {
        let mut terms: BTreeMap<EdgeId, i64> = BTreeMap::new();
        let mut at_most = i64::try_from(*most).unwrap_or(i64::MAX);
        for place in places {
            let there = |node: &NodeId| expanded.instructions(*node).iter().any(|one| one.address == *place);
            let nodes: Vec<NodeId> = expanded.order().filter(there).collect();
            if nodes.is_empty() {
                let message = format!("no instruction at {} is reached", program.describe(*place));
                errors.push(fault(Code::Statement, message, "name the first byte of one that is, or remove it"));
            }
            for node in nodes {
                expanded.predecessors(node).iter().for_each(|edge| *terms.entry(*edge).or_default() += 1);
                at_most -= i64::from(node == expanded.entry);
            }
        }
        constraints.limits.push(Limit { terms, at_most });
        let names: Vec<String> = places.iter().map(|place| program.describe(*place)).collect();
        let together = if names.len() > 1 { ", all of them together" } else { "" };
        said.push(format!("in the whole region {} executes at most {most} times{together}", names.join(", ")));
    }
    if errors.is_empty() {
        Ok(said)
    } else {
        Err(errors)
    }
}

fn no_loop(address: u64, headers: &BTreeSet<u64>, program: &Program) -> Error {
    let near = headers.iter().min_by_key(|header| header.abs_diff(address));
    let remedy = match near {
        Some(near) => {
            format!("name its first instruction; the nearest loop of the region begins at {}", program.describe(*near))
        }
        None => "remove it: the region has no loop".to_string(),
    };
    fault(Code::Statement, format!("no loop of the region begins at {}", program.describe(address)), &remedy)
}

/// The constraints of a file.
pub fn read(file: &(String, String), program: &Program, expanded: &Expanded<'_>, lines: &Lines) -> Found<Vec<Stated>> {
    let (name, text) = file;
    parse(text, program, expanded.graph, lines).map_err(|errors| {
        let one = |error: &crate::infeasible::StatedError| Error {
            source: Some(format!("{name}:{}", error.line)),
            ..fault(
                Code::Statement,
                error.problem.clone(),
                "places are symbols, symbols with an offset, addresses, or file.c:12; see the reference of ashlar timing",
            )
        };
        errors.iter().map(one).collect()
    })
}

/// Asks about each constraint, and adds those that hold; all others are errors, with a run against them if there is one.
pub fn check(
    stated: &[Stated],
    setting: &Setting<'_, '_>,
    bounds: &BTreeMap<LoopId, u64>,
    lines: &Lines,
    file: &str,
    deadline: Option<Instant>,
    constraints: &mut Constraints,
) -> Found<(Vec<Constraint>, Vec<Error>)> {
    let (mut shown, mut errors) = (Vec::new(), Vec::new());
    for one in stated {
        let verdict =
            validate(setting, one, bounds, Effort { steps: STEPS, deadline }).map_err(|cause| vec![solver(&cause)])?;
        let (message, counterexample, remedy) = match verdict {
            Verdict::Proven => {
                apply(setting, &one.claim, constraints);
                shown.push(Constraint { text: one.text.clone(), validated: true, counterexample: None });
                continue;
            }
            Verdict::Refuted(run) => {
                let run = describe(&run, setting.graph, lines);
                (format!("`{}` does not hold: {run}", one.text), Some(run), "remove it, or correct the program")
            }
            Verdict::Open(why) => {
                let remedy = "remove it, or name places that are nearer to each other";
                (format!("`{}` is not shown to hold: {why}", one.text), None, remedy)
            }
        };
        shown.push(Constraint { text: one.text.clone(), validated: false, counterexample });
        errors.push(Error { source: Some(format!("{file}:{}", one.line)), ..fault(Code::Refuted, message, remedy) });
    }
    Ok((shown, errors))
}

/// A run, in words: where it begins, what it needs, where it goes.
fn describe(run: &Run, graph: &Expanded<'_>, lines: &Lines) -> String {
    let mut parts = Vec::new();
    if !run.chain.is_empty() {
        parts.push(format!("called by {}", run.chain.join(" > ")));
    }
    let registers: Vec<String> = run.registers.iter().map(|(name, value)| format!("{name} = {value:#x}")).collect();
    let memory = run.memory.iter().map(|(address, size, value)| format!("{size} bytes at {address:#x} = {value:#x}"));
    let state: Vec<String> = registers.into_iter().chain(memory).collect();
    if !state.is_empty() {
        parts.push(format!("with {}", state.join(", ")));
    }
    let place = |edge: &usize| {
        let address = graph.block(graph.edges[*edge].to).start();
        lines.place(address).map_or_else(|| hex(address), |place| format!("{} ({place})", hex(address)))
    };
    let path: Vec<String> = run.path.iter().take(SHOWN).map(place).collect();
    if !path.is_empty() {
        parts.push(format!("through {}", path.join(", ")));
    }
    if parts.is_empty() {
        return "there is a run against it".to_string();
    }
    format!("a run {}", parts.join("; "))
}
