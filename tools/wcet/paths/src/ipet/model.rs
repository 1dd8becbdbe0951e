//! The expanded graph as the pipeline analysis takes it.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use wcet_binary::lift::il::Flow;
use wcet_binary::lift::Instruction;
use wcet_binary::load::Architecture;
use wcet_flow::context::{EdgeId, EdgeKind, Expanded, LoopId, NodeId};
use wcet_hardware::cache::{Access, Kind, Scope, Target};
use wcet_hardware::machine::{Machine, Transfer};
use wcet_hardware::pipeline::{Block, Edge, Left, Program};

use crate::ipet::access::{Accesses, Targets};
use crate::ipet::class::{sort, transfer, Sort};
use crate::ipet::error::{Error, Problem};
use crate::ipet::live::Live;
use crate::ipet::registers::{used, Used};
use crate::ipet::stride::Strides;

/// What can be executed of an expanded graph, and its instructions as the pipeline sees them.
pub struct Model {
    pub program: Program,
    /// The node of each block, ascending, and the edge of each edge.
    pub nodes: Vec<NodeId>,
    pub edges: Vec<EdgeId>,
    /// The block of each node that can be executed.
    pub blocks: BTreeMap<NodeId, usize>,
    /// The loop of each scope; none for the first one, which is everything.
    pub scopes: Vec<Option<LoopId>>,
}

/// An instruction as far as all its contexts agree.
struct Known {
    sort: Sort,
    used: Used,
    transfer: Transfer,
}

impl Model {
    /// The part of an expanded graph that is alive.
    pub fn new(
        expanded: &Expanded<'_>,
        architecture: Architecture,
        machine: &Machine,
        targets: &dyn Targets,
        live: &Live,
        bounds: &BTreeMap<LoopId, u64>,
    ) -> Result<Model, Vec<Error>> {
        let Live { nodes, edges, loops } = live;
        let blocks: BTreeMap<NodeId, usize> = nodes.iter().enumerate().map(|(block, node)| (*node, block)).collect();
        let mut known: BTreeMap<u64, Result<Rc<Known>, Error>> = BTreeMap::new();
        let mut errors = BTreeSet::new();
        let mut program = Program { entry: blocks[&expanded.entry], ..Program::default() };
        let accesses = Accesses { machine, architecture, targets, walks: Cell::new(0) };
        let alone = alone(expanded, loops, bounds);
        for &node in nodes {
            let mut block = Block::default();
            let strides = alone.get(&node).map(|executions| Strides::new(expanded.instructions(node), *executions));
            for (number, instruction) in expanded.instructions(node).iter().enumerate() {
                let place = || place(expanded, node, instruction.address);
                let found = known
                    .entry(instruction.address)
                    .or_insert_with(|| describe(architecture, instruction, place()).map(Rc::new));
                // A region may end with a wait: the time waited is not part of it.
                let ends = expanded.stops.get(&node) == Some(&(number + 1));
                match found {
                    Ok(known) if known.sort.waits && !ends => {
                        let problem = Problem::Waits { address: format!("{:#x}", instruction.address) };
                        errors.insert(Error { address: instruction.address, place: place(), problem });
                    }
                    Ok(known) => {
                        let data = accesses.of(node, number, instruction, known.sort, strides.as_ref());
                        block.instructions.push(timed(instruction, known, data));
                    }
                    Err(error) => {
                        errors.insert(error.clone());
                    }
                }
            }
            program.blocks.push(block);
        }
        if !errors.is_empty() {
            return Err(errors.into_iter().collect());
        }
        for (block, node) in program.blocks.iter_mut().zip(nodes) {
            block.renews = targets.renewed(*node);
        }
        for (instruction, mut data) in targets.before() {
            let known = describe(architecture, &instruction, String::new()).map_err(|error| vec![error])?;
            // How often one is repeated is not known here.
            if known.sort.forgets || known.sort.prefetches || matches!(instruction.flow, Flow::Repeat { .. }) {
                data.push(Access { kind: Kind::Forget, target: Target::Anywhere, certain: true });
            }
            program.before.instructions.push(timed(&instruction, &known, data));
        }
        program.edges = edges
            .iter()
            .map(|edge| {
                let one = &expanded.edges[*edge];
                let left = left(expanded, &program, blocks[&one.from], one);
                Edge { from: blocks[&one.from], to: blocks[&one.to], left }
            })
            .collect();
        let mut scopes = vec![None];
        program.scopes = vec![Scope { nodes: (0..nodes.len()).collect() }];
        for &number in loops {
            let inside = expanded.loops[number].nodes.iter().filter_map(|node| blocks.get(node).copied());
            let inside: Vec<usize> = inside.collect();
            if inside.len() < nodes.len() {
                scopes.push(Some(number));
                program.scopes.push(Scope { nodes: inside });
            }
        }
        Ok(Model { program, nodes: nodes.clone(), edges: edges.clone(), blocks, scopes })
    }
}

/// An instruction as the pipeline sees it.
fn timed(instruction: &Instruction, known: &Known, data: Vec<Access>) -> wcet_hardware::pipeline::Instruction {
    wcet_hardware::pipeline::Instruction {
        address: instruction.address,
        length: instruction.bytes.len() as u64,
        class: known.sort.class,
        reads: known.used.reads,
        writes: known.used.writes,
        surely_writes: known.used.surely_writes,
        transfer: known.transfer,
        data,
    }
}

/// Nodes that are a loop by themselves, and how often it is executed for each entry at most.
fn alone(expanded: &Expanded<'_>, loops: &[LoopId], bounds: &BTreeMap<LoopId, u64>) -> BTreeMap<NodeId, u64> {
    let loops = loops.iter().filter_map(|number| Some((&expanded.loops[*number], *bounds.get(number)?)));
    loops.filter(|(one, _)| one.nodes == [one.header]).map(|(one, bound)| (one.header, bound)).collect()
}

/// Where an instruction stands, for people.
pub fn place(expanded: &Expanded<'_>, node: NodeId, address: u64) -> String {
    let function = expanded.function(expanded.nodes[node].context);
    match address.wrapping_sub(function.entry) {
        0 => function.name.clone(),
        offset if (offset as i64) < 0 => format!("{}-{:#x}", function.name, offset.wrapping_neg()),
        offset => format!("{}+{offset:#x}", function.name),
    }
}

fn describe(architecture: Architecture, instruction: &Instruction, place: String) -> Result<Known, Error> {
    let address = instruction.address;
    let error = |problem| Error { address, place: place.clone(), problem };
    let sort = sort(architecture, instruction).map_err(|why| error(Problem::Class(why)))?;
    let transfer = transfer(instruction, sort.class);
    Ok(Known { sort, used: used(architecture, instruction), transfer })
}

/// How a block is left by an edge.
fn left(expanded: &Expanded<'_>, program: &Program, block: usize, edge: &wcet_flow::context::Edge) -> Left {
    if program.blocks[block].instructions.last().is_none_or(|last| last.transfer == Transfer::None) {
        return Left::Fall;
    }
    // A call into another privilege, or a jump to the next instruction, goes on there by a transfer.
    let decides = expanded.block(edge.from).last().flow != Flow::Next;
    match edge.kind {
        EdgeKind::Next if decides => Left::NotTaken,
        EdgeKind::Next | EdgeKind::Taken | EdgeKind::Case | EdgeKind::Call | EdgeKind::Return => Left::Taken,
    }
}
