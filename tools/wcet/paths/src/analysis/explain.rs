//! What is known of one address: how often it is executed on the worst path, and what the caches do with its accesses.

use crate::ipet::{Bound, Prepared};
use wcet_binary::lift::Lifter;
use wcet_binary::load::Lines;
use wcet_flow::context::Expanded;
use wcet_hardware::cache::{Kind, Outcome, Target, Verdict};
use wcet_hardware::machine::Machine;
use wcet_report::{ExplainedAccess, ExplainedContext, Explanation};

use crate::analysis::faults::hex;

/// Everything about the instruction that stands at, or reaches over, `address`.
pub fn explain(
    address: u64,
    expanded: &Expanded<'_>,
    prepared: &Prepared<'_, '_>,
    bound: &Bound,
    machine: &Machine,
    lifter: &Lifter<'_>,
    lines: &Lines,
) -> Explanation {
    let mut explanation = Explanation {
        address: hex(address),
        symbol: lifter.program().describe(address),
        source: lines.place(address).map(|place| place.to_string()),
        ..Explanation::default()
    };
    let outcome = wcet_hardware::cache::analyse(&prepared.model.program.graph(machine), machine);
    for node in expanded.order() {
        let instructions = expanded.instructions(node);
        let holds = |one: &std::rc::Rc<wcet_binary::lift::Instruction>| one.address <= address && address < one.next();
        let Some(number) = instructions.iter().position(holds) else { continue };
        explanation.instruction = lifter.text(&instructions[number]);
        let context = expanded.nodes[node].context;
        let mut found = ExplainedContext {
            calls: expanded.chain(context).iter().map(ToString::to_string).collect(),
            count: bound.path.iter().find(|visit| visit.node == node).map_or(0, |visit| visit.count),
            loops: expanded.around(node).map(|one| hex(expanded.block(expanded.loops[one].header).start())).collect(),
            ..ExplainedContext::default()
        };
        if let Ok(block) = prepared.model.nodes.binary_search(&node) {
            found.reachable = true;
            found.block_cycles = block_cycles(prepared, block);
            found.accesses = accesses(prepared, &outcome, machine, block, number);
        }
        explanation.contexts.push(found);
    }
    explanation.contexts.sort_by_key(|found| std::cmp::Reverse((found.count, found.reachable)));
    explanation
}

/// Of one execution of a block, entered by its costliest edge.
fn block_cycles(prepared: &Prepared<'_, '_>, block: usize) -> u64 {
    let program = &prepared.model.program;
    let edges = program.edges.iter().zip(&prepared.costs.edges).filter(|(edge, _)| edge.to == block);
    let start = (program.entry == block).then_some(prepared.costs.entry);
    edges.map(|(_, cycles)| *cycles).chain(start).max().unwrap_or(0)
}

fn accesses(
    prepared: &Prepared<'_, '_>,
    outcome: &Outcome,
    machine: &Machine,
    block: usize,
    instruction: usize,
) -> Vec<ExplainedAccess> {
    let (node, places) = prepared.model.program.blocks[block].node(machine);
    let Some(place) = places.get(instruction) else { return Vec::new() };
    let one = |access: usize| {
        let asked = node.accesses[access];
        let (kind, data) = match asked.kind {
            Kind::Fetch => ("fetch", false),
            Kind::Read => ("read", true),
            Kind::Write => ("write", true),
            Kind::Forget => ("cache maintenance", true),
        };
        let target = match asked.target {
            Target::At(address) => hex(address),
            Target::Within(first, last) => format!("{}..{}", hex(first), hex(last)),
            Target::OnPage { address, page } => format!("{} of a page", hex(address % page.max(1))),
            Target::Stack(first, last) => format!("{first}..{last} from the stack pointer at the entry"),
            Target::Again(_) => "the line just read".to_string(),
            Target::Line(name, _) => format!("line {name} at an unknown address"),
            Target::Walk { lines, .. } => format!("a walk through {lines} lines at most"),
            Target::Device(first, last) => format!("a device at {}..{} or memory", hex(first), hex(last)),
            Target::Memory => "an address in memory that is not known".to_string(),
            Target::Anywhere => "an address that is not known".to_string(),
        };
        let looked = machine.caches.iter().enumerate();
        let looked = looked.filter(|(_, cache)| if data { cache.holds_data() } else { cache.holds_instructions() });
        let verdicts: Vec<String> = looked
            .map(|(index, cache)| format!("{} {}", cache.name, word(outcome.verdict(block, access, index))))
            .collect();
        let cost = outcome.cost(block, access);
        ExplainedAccess { kind: kind.into(), target, verdict: verdicts.join(", "), cycles: cost.cycles }
    };
    (place.first..place.first + place.fetches + place.data).map(one).collect()
}

fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict { always_hit: true, .. } => "always hits",
        Verdict { always_miss: true, .. } => "always misses",
        Verdict { persistent: Some(_), .. } => "misses at most once in a scope",
        _ => "may miss each time",
    }
}
