//! Path conditions: a route is executed symbolically, and each step gives the condition under which its edge is taken.
//!
//! # Why conflicts of steps hold for all executions
//! Where ways meet, a register that any of them may change since they parted is a new leaf, and so is memory; that it
//! equals what this route brings along is part of the condition of the *edge* by which the route arrives. So the term
//! of a register at a node is right for every execution that visits the node, whichever way it came: its leaves have the
//! values that they have in that execution. If an execution takes some of the edges, the conditions of just these edges
//! hold for these values. Conditions that cannot hold together are edges that no execution takes together, in one
//! iteration of each loop around them.
//!
//! A loop on the way is replaced by what it may change. A route of an inner loop follows the way to that loop; its
//! header is then met in any iteration.

use std::collections::{BTreeSet, HashMap};

use wcet_binary::lift::il::Register;
use wcet_flow::context::{EdgeId, NodeId};
use wcet_symbolic::scope::{first, header, part, Part, Scope};
use wcet_symbolic::{Memory, Point, Region, Shape, Term};

use crate::infeasible::merge_effects::Meetings;
use crate::infeasible::path_routes::Route;

/// A step of a trail.
#[derive(Debug, Clone)]
pub struct Step {
    pub edge: EdgeId,
    /// The scope whose route takes it.
    pub scope: Scope,
    /// What holds if it is taken.
    pub condition: Term,
}

/// Meetings of all scopes that were asked for.
pub struct Maps {
    dead: BTreeSet<EdgeId>,
    scopes: HashMap<Scope, Meetings>,
}

impl Maps {
    /// `dead` edges are surely never taken, so they lead nowhere.
    pub fn new(dead: BTreeSet<EdgeId>) -> Maps {
        Maps { dead, scopes: HashMap::new() }
    }
}

/// Executes routes, each of a loop on the route before it. The last one's steps come last.
pub fn follow(region: &mut Region<'_, '_>, routes: &[&Route], maps: &mut Maps) -> Vec<Step> {
    region.memory = Memory::START;
    let mut point = region.start(region.setting.graph.entry);
    let mut steps: Vec<Step> = Vec::new();
    for (index, route) in routes.iter().enumerate() {
        let inner = routes.get(index + 1).map(|next| next.scope);
        if let Some(one) = route.scope {
            let before = point.registers.clone();
            point = region.any_iteration(one, point);
            let head = region.setting.graph.loops[one].header;
            for register in region.executor.table.all().collect::<Vec<_>>() {
                let index = usize::from(register.0);
                if point.registers[index] != before[index] {
                    learn(region, head, register, point.registers[index]);
                }
            }
        }
        point = walk(region, route, inner, point, maps, &mut steps);
    }
    // Only now are all equations of memory known.
    for (index, step) in steps.iter_mut().enumerate() {
        let equations = region.executor.memory.equations(index).to_vec();
        for (a, b) in equations {
            let terms = &mut region.executor.terms;
            let equal = terms.equal(a, b);
            step.condition = terms.both(step.condition, equal);
        }
    }
    steps
}

/// What is known of a register at a node, of which its value is a new leaf there. For some value of the leaf that holds,
/// so it may be taken for granted even where the node is not visited.
fn learn(region: &mut Region<'_, '_>, node: NodeId, register: Register, value: Term) {
    let known = region.known_of(node, register, value);
    for fact in known {
        let terms = &region.executor.terms;
        let leaf = |term: &Term| matches!(terms.shape(*term), Shape::Leaf(_));
        if terms.cone(&[fact]).iter().filter(|term| leaf(term)).count() == 1 {
            region.facts.push(fact);
        }
    }
}

fn walk(
    region: &mut Region<'_, '_>,
    route: &Route,
    inner: Option<Scope>,
    mut point: Point,
    maps: &mut Maps,
    steps: &mut Vec<Step>,
) -> Point {
    let graph = region.setting.graph;
    for (here, edge) in &route.steps {
        if inner.is_some_and(|scope| scope.map(Part::Loop) == Some(*here)) {
            return point;
        }
        let Some(edge) = edge else { return point };
        let from = graph.edges[*edge].from;
        if let Part::Loop(one) = here {
            point = region.any_iteration(*one, point);
            point.registers = region.inside(*one, from, &point.registers);
        }
        let (condition, registers) = region.step(from, point.registers, *edge);
        point.registers = registers;
        steps.push(Step { edge: *edge, scope: route.scope, condition });
        let to = graph.edges[*edge].to;
        if to == header(graph, route.scope) {
            return point;
        }
        let Some(next) = part(graph, route.scope, to) else { return point };
        meet(region, route.scope, next, &mut point, maps, steps);
    }
    point
}

/// Where ways meet, what they may have changed is new.
fn meet(region: &mut Region<'_, '_>, scope: Scope, here: Part, point: &mut Point, maps: &mut Maps, steps: &mut [Step]) {
    let graph = region.setting.graph;
    let Maps { dead, scopes } = maps;
    let meetings = scopes.entry(scope).or_insert_with(|| Meetings::of(graph, scope, dead));
    let Some(effects) = meetings.effects(region, here, dead) else { return };
    let Some(step) = steps.len().checked_sub(1) else { return };
    region.memory = region.executor.memory.join(region.memory, effects.touched, step);
    let node = first(graph, here);
    let changed: Vec<Register> =
        region.executor.table.all().filter(|register| effects.registers >> register.0 & 1 == 1).collect();
    for register in changed {
        let index = usize::from(register.0);
        let brought = point.registers[index];
        let new = region.unknown(node, register);
        point.registers[index] = new;
        let terms = &mut region.executor.terms;
        let equal = terms.equal(new, brought);
        steps[step].condition = terms.both(steps[step].condition, equal);
        learn(region, node, register, new);
    }
}
