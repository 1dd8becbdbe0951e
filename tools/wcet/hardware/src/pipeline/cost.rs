//! Costs of a program's edges and scopes.

use crate::cache::Outcome;
use crate::machine::{Follow, Machine, Transfer};
use crate::pipeline::block::{Edge, Left, Program};
use crate::pipeline::boundary::{after, stores, Entered, Pending, Stored, Stores};
use crate::pipeline::error::PipelineError;
use crate::pipeline::graph::{weigh, weighed, Weighed};
use std::collections::{BTreeMap, BTreeSet};

/// What a path costs, piece by piece.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Costs {
    /// Of the entry block where the program starts.
    pub entry: u64,
    /// Of each edge: of the block that it leads to.
    pub edges: Vec<u64>,
    /// Of each entry of a scope, by an edge from outside or by the start: the sum of its first misses.
    pub scopes: Vec<u64>,
    /// What the scopes' costs consist of.
    pub firsts: Vec<First>,
}

/// A line that misses at most once for each entry of a scope, and only if one of these blocks is executed. So a bound by
/// edge counts may, in place of the scope's cost, have a count for each of these: at most the entries of the scope, and
/// at most the executions of the blocks. It is tighter where a scope has many blocks that paths avoid, and takes longer to solve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct First {
    pub scope: usize,
    /// Index of the cache, and number of the line.
    pub cache: usize,
    pub line: u64,
    pub cycles: u64,
    pub blocks: Vec<usize>,
}

/// Charges by scope, cache and line: cycles, and the blocks that have such accesses.
type Firsts = BTreeMap<(usize, usize, u64), (u64, BTreeSet<usize>)>;

/// Analyses `program` on `machine`; all that stands in the way comes at once.
pub fn analyse(program: &Program, machine: &Machine) -> Result<Costs, Vec<PipelineError>> {
    let errors = check(program, machine);
    if !errors.is_empty() {
        return Err(errors);
    }
    let outcome = crate::cache::analyse(&program.graph(machine), machine);
    let pending = pending(program, machine);
    let blocks = program.blocks.iter().enumerate();
    let blocks: Vec<Vec<Weighed>> =
        blocks.map(|(node, block)| weighed(machine, block, |access| outcome.cost(node, access))).collect();
    let mut first = Firsts::new();
    charges(&outcome, &blocks, &mut first);
    let mut cost = |block: usize, entered: Entered, behind: Stores| {
        let weight = weigh(machine, &blocks[block], (entered, behind), &pending[block]);
        for (access, detour) in weight.detours {
            charge_detour(&outcome, machine, (block, access), detour, &mut first);
        }
        weight.cycles
    };
    // Nothing is in flight at the start, but what was stored last may still be on its way.
    let entry = cost(program.entry, Entered::Start, [Stored::Anything; 2]);
    let mut known: BTreeMap<(usize, Entered, Option<usize>), u64> = BTreeMap::new();
    let edges = program.edges.iter().map(|edge| {
        let entered = Entered::After(follow(program, machine, edge));
        let behind = stores(machine, program, edge);
        let from = behind.iter().any(|one| !matches!(one, Stored::Nothing)).then_some(edge.from);
        *known.entry((edge.to, entered, from)).or_insert_with(|| cost(edge.to, entered, behind))
    });
    let edges = edges.collect();
    let mut scopes = vec![0; program.scopes.len()];
    let whole = |((scope, cache, line), (cycles, blocks)): (_, (u64, BTreeSet<usize>))| First {
        scope,
        cache,
        line,
        cycles,
        blocks: blocks.into_iter().collect(),
    };
    let firsts: Vec<First> = first.into_iter().map(whole).collect();
    firsts.iter().for_each(|first| scopes[first.scope] += first.cycles);
    Ok(Costs { entry, edges, scopes, firsts })
}

/// How an edge lets its block be fetched.
fn follow(program: &Program, machine: &Machine, edge: &Edge) -> Follow {
    match program.blocks[edge.from].instructions.last() {
        Some(last) => machine.branch.follow(last.transfer, last.address, edge.left == Left::Taken),
        None => Follow::Straight,
    }
}

/// All charges without detours.
fn charges(outcome: &Outcome, blocks: &[Vec<Weighed>], first: &mut Firsts) {
    for (node, block) in blocks.iter().enumerate() {
        let accesses: usize = block.iter().map(|weighed| weighed.place.fetches + weighed.place.data).sum();
        for access in 0..accesses {
            for charge in outcome.cost(node, access).charges {
                let (cycles, nodes) = first.entry((charge.scope, charge.cache, charge.line)).or_default();
                *cycles = charge.cycles.max(*cycles);
                nodes.insert(node);
            }
        }
    }
}

/// Adds the detour of a late fetch to the charge for its first-level miss.
fn charge_detour(outcome: &Outcome, machine: &Machine, at: (usize, usize), detour: u64, first: &mut Firsts) {
    let near = machine.caches.iter().position(|cache| cache.holds_instructions());
    for charge in outcome.cost(at.0, at.1).charges.iter().filter(|charge| Some(charge.cache) == near) {
        let (cycles, _) = first.entry((charge.scope, charge.cache, charge.line)).or_default();
        *cycles = (charge.cycles + detour).max(*cycles);
    }
}

/// What is pending before each block, at most over all ways to it.
fn pending(program: &Program, machine: &Machine) -> Vec<Pending> {
    let mut before = vec![[0; 64]; program.blocks.len()];
    let mut successors = vec![Vec::new(); program.blocks.len()];
    program.edges.iter().for_each(|edge| successors[edge.from].push(edge.to));
    let mut work: Vec<usize> = (0..program.blocks.len()).collect();
    while let Some(block) = work.pop() {
        let after = after(machine, &program.blocks[block], &before[block]);
        for &to in &successors[block] {
            let joined: Pending = std::array::from_fn(|register| after[register].max(before[to][register]));
            if joined != before[to] {
                before[to] = joined;
                work.push(to);
            }
        }
    }
    before
}

fn check(program: &Program, machine: &Machine) -> Vec<PipelineError> {
    let mut errors = Vec::new();
    let count = program.blocks.len();
    for (number, block) in program.blocks.iter().enumerate() {
        if block.instructions.is_empty() {
            errors.push(PipelineError::EmptyBlock { block: number });
        }
        let unknown = block.instructions.iter().filter(|one| !machine.classes.contains_key(&one.class));
        errors.extend(unknown.map(|instruction| PipelineError::NoClass {
            address: instruction.address,
            class: instruction.class,
            machine: machine.name.clone(),
        }));
    }
    if program.entry >= count {
        errors.push(PipelineError::NoBlock { edge: program.edges.len() });
    }
    for (number, edge) in program.edges.iter().enumerate() {
        if edge.from >= count || edge.to >= count {
            errors.push(PipelineError::NoBlock { edge: number });
            continue;
        }
        let transfers =
            program.blocks[edge.from].instructions.last().is_some_and(|last| last.transfer != Transfer::None);
        let (left, does) = match (edge.left, transfers) {
            (Left::Fall, true) => ("falling", "transfers control"),
            (Left::Taken, false) => ("taken", "transfers no control"),
            (Left::NotTaken, false) => ("not taken", "transfers no control"),
            _ => continue,
        };
        errors.push(PipelineError::Left { edge: number, block: edge.from, left, does });
    }
    let faulty = program.scopes.iter().enumerate().filter(|(_, scope)| scope.nodes.iter().any(|node| *node >= count));
    errors.extend(faulty.map(|(scope, _)| PipelineError::NoScopeBlock { scope }));
    errors
}
