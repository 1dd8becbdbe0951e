//! From explored instructions to functions of basic blocks.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use wcet_binary::lift::il::{Flow, Instruction};

use crate::dominators::dominators;
use crate::error::{Error, Problem};
use crate::explore::{Body, Exits, Explorer};
use crate::graph::{Block, Edge, EdgeKind, Function};
use crate::loops::{loops, Tangle};
use crate::split::split;
use crate::zeros;

/// The function, or where its loops are not reducible.
pub(crate) fn function(explorer: &mut Explorer<'_>, entry: u64) -> Result<Function, Vec<Error>> {
    let name = explorer.program.describe(entry);
    let body = &explorer.bodies[&entry];
    let returns = body.summary.is_some();
    let preserved = body.summary.as_ref().map(|summary| summary.preserved.clone()).unwrap_or_default();
    let mut leaders = leaders(body, entry);
    leaders.extend(explorer.options.boundaries.iter().filter(|address| body.exits.contains_key(address)));
    let exits = body.exits.clone();
    let order = order(&exits, &leaders, entry);
    let index: BTreeMap<u64, usize> = order.iter().enumerate().map(|(index, start)| (*start, index)).collect();
    let mut blocks = Vec::new();
    for start in &order {
        let (addresses, last) = extent(&exits, &leaders, *start);
        let mut instructions = Vec::new();
        for address in addresses {
            // An instruction that cannot be lifted has no exits, and is reported apart.
            instructions.extend(explorer.instruction(address));
        }
        if instructions.is_empty() {
            return Err(Vec::new());
        }
        let edges =
            last.edges.iter().filter_map(|(to, kind)| Some(Edge { to: *index.get(to)?, kind: *kind })).collect();
        if let Some(last_one) = instructions.last_mut() {
            *last_one = called_or_jumped_to(last_one, &last);
        }
        let (calls, tail_calls) = (last.calls.clone(), last.tail_calls.clone());
        blocks.push(Block { instructions, edges, calls, tail_calls, returns: last.returns });
    }
    zeros::fold(explorer.lifter, &mut blocks);
    let mut room = explorer.options.copies;
    loop {
        let successors: Vec<Vec<usize>> =
            blocks.iter().map(|block| block.edges.iter().map(|edge| edge.to).collect()).collect();
        let mut predecessors = vec![Vec::new(); blocks.len()];
        for (from, targets) in successors.iter().enumerate() {
            targets.iter().for_each(|to| predecessors[*to].push(from));
        }
        let dominators = dominators(&predecessors);
        match loops(&successors, &dominators) {
            Ok(loops) => return Ok(Function { entry, name, blocks, dominators, loops, returns, preserved }),
            Err(tangles) => match split(&blocks, &tangles[0], room) {
                Some(wider) => {
                    room -= wider.len() - blocks.len();
                    blocks = wider;
                }
                None => return Err(irreducible(explorer.program, &blocks, tangles)),
            },
        }
    }
}

/// A call whose callees are all a part of the function is a jump that leaves its address.
fn called_or_jumped_to(instruction: &Rc<Instruction>, exits: &Exits) -> Rc<Instruction> {
    let goes = exits.edges.iter().any(|(_, kind)| matches!(kind, EdgeKind::Taken | EdgeKind::Case));
    match instruction.flow {
        Flow::Call { to, when } if goes && exits.calls.is_empty() => {
            Rc::new(Instruction { flow: Flow::Jump { to, when }, ..Instruction::clone(instruction) })
        }
        _ => instruction.clone(),
    }
}

fn irreducible(program: &wcet_binary::load::Program, blocks: &[Block], tangles: Vec<Tangle>) -> Vec<Error> {
    let error = |tangle: Tangle| {
        let starts: Vec<u64> = tangle.entries.into_iter().map(|block| blocks[block].start()).collect();
        let places: Vec<String> = starts.iter().map(|start| program.describe(*start)).collect();
        let address = starts[0];
        let problem = Problem::Irreducible { entries: places.join(" and ") };
        Error { address, place: program.describe(address), problem }
    };
    tangles.into_iter().map(error).collect()
}

/// Addresses at which a block starts.
fn leaders(body: &Body, entry: u64) -> BTreeSet<u64> {
    let mut leaders = BTreeSet::from([entry]);
    let mut seen = BTreeSet::new();
    for exits in body.exits.values() {
        let straight = is_straight(exits);
        for (to, _) in &exits.edges {
            if !straight || !seen.insert(*to) {
                leaders.insert(*to);
            }
        }
    }
    leaders
}

/// Whether the instruction only goes on to the next one.
fn is_straight(exits: &Exits) -> bool {
    let ends = !exits.calls.is_empty() || !exits.tail_calls.is_empty() || exits.returns;
    exits.edges.len() == 1 && !ends && exits.edges.iter().all(|(_, kind)| *kind == EdgeKind::Next)
}

/// The instructions of the block that starts at `start`, and the exits of the last.
fn extent(exits: &BTreeMap<u64, Exits>, leaders: &BTreeSet<u64>, start: u64) -> (Vec<u64>, Exits) {
    let mut addresses = vec![start];
    let mut address = start;
    loop {
        let Some(found) = exits.get(&address) else { return (addresses, Exits::default()) };
        match found.edges.first() {
            Some((next, _)) if is_straight(found) && !leaders.contains(next) => {
                address = *next;
                addresses.push(address);
            }
            _ => return (addresses, found.clone()),
        }
    }
}

/// Starts of the blocks that are reached from the entry, in reverse postorder.
fn order(exits: &BTreeMap<u64, Exits>, leaders: &BTreeSet<u64>, entry: u64) -> Vec<u64> {
    let targets = |start| extent(exits, leaders, start).1.edges.into_iter().map(|(to, _)| to).collect::<Vec<_>>();
    let mut seen = BTreeSet::from([entry]);
    let mut finished = Vec::new();
    let mut open = vec![(entry, targets(entry))];
    while let Some((start, rest)) = open.last_mut() {
        match rest.pop() {
            Some(next) if seen.insert(next) => {
                let after = targets(next);
                open.push((next, after));
            }
            Some(_) => {}
            None => {
                finished.push(*start);
                open.pop();
            }
        }
    }
    finished.reverse();
    finished
}
