//! What may change between a branch and the place where its paths merge.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use wcet_flow::context::{EdgeId, Expanded, NodeId};
use wcet_symbolic::scope::{entries, first, header, nodes, part, Part, Scope};
use wcet_symbolic::{written, Effects, Region};

/// The acyclic graph of one scope.
pub struct Meetings {
    scope: Scope,
    /// The last part that every path from the header to a part passes before it.
    dominator: HashMap<Part, Part>,
    predecessors: HashMap<Part, Vec<Part>>,
    known: HashMap<Part, Option<Effects>>,
}

impl Meetings {
    pub fn of(graph: &Expanded<'_>, scope: Scope, dead: &BTreeSet<EdgeId>) -> Meetings {
        let head = header(graph, scope);
        let members: Vec<NodeId> = match scope {
            Some(one) => graph.loops[one].nodes.clone(),
            None => graph.order().collect(),
        };
        // In topological order, by the parts' first nodes.
        let parts: BTreeMap<NodeId, Part> = members
            .into_iter()
            .filter_map(|node| part(graph, scope, node))
            .map(|part| (first(graph, part), part))
            .collect();
        let mut found =
            Meetings { scope, dominator: HashMap::new(), predecessors: HashMap::new(), known: HashMap::new() };
        let Some(start) = part(graph, scope, head) else { return found };
        found.dominator.insert(start, start);
        for here in parts.values().copied().filter(|part| *part != start) {
            let from = entries(graph, scope, here).into_iter().filter(|edge| !dead.contains(edge));
            let from = from.filter_map(|edge| part(graph, scope, graph.edges[edge].from));
            let mut from: Vec<Part> = from.filter(|part| found.dominator.contains_key(part)).collect();
            from.sort();
            from.dedup();
            let dominator = from.iter().copied().reduce(|a, b| found.common(graph, a, b));
            if let Some(dominator) = dominator {
                found.dominator.insert(here, dominator);
                found.predecessors.insert(here, from);
            }
        }
        found
    }

    fn common(&self, graph: &Expanded<'_>, mut a: Part, mut b: Part) -> Part {
        while a != b {
            if first(graph, a) > first(graph, b) {
                a = self.dominator[&a];
            } else {
                b = self.dominator[&b];
            }
        }
        a
    }

    /// What the ways to a part may change since they parted; none if there is only one way.
    pub fn effects(&mut self, region: &mut Region<'_, '_>, here: Part, dead: &BTreeSet<EdgeId>) -> Option<Effects> {
        if let Some(known) = self.known.get(&here) {
            return known.clone();
        }
        let found = self.compute(region, here, dead);
        self.known.insert(here, found.clone());
        found
    }

    fn compute(&self, region: &mut Region<'_, '_>, here: Part, dead: &BTreeSet<EdgeId>) -> Option<Effects> {
        let graph = region.setting.graph;
        let ways = entries(graph, self.scope, here).into_iter().filter(|edge| !dead.contains(edge)).count();
        if ways < 2 {
            return None;
        }
        let parted = *self.dominator.get(&here)?;
        let mut between = BTreeSet::new();
        let mut open = self.predecessors.get(&here).cloned().unwrap_or_default();
        while let Some(part) = open.pop() {
            if part != parted && between.insert(part) {
                open.extend(self.predecessors.get(&part).into_iter().flatten());
            }
        }
        let mut all: Vec<NodeId> = between.into_iter().flat_map(|part| nodes(graph, part)).collect();
        all.sort_unstable();
        let end = first(graph, here);
        let mut effects = region.effects_of(&all, end);
        // What differs among the ways out of the place where they part.
        match parted {
            Part::Node(node) => {
                if let Some(last) = graph.instructions(node).last().filter(|last| last.flow.condition().is_some()) {
                    effects.registers |= written(last);
                    effects.touched.join(&region.effects(node).touched);
                }
                if region.switched(node) {
                    effects.registers = u64::MAX;
                    effects.touched = wcet_symbolic::Touched::anything();
                }
            }
            Part::Loop(one) => {
                let whole = region.effects_of(&graph.loops[one].nodes, end);
                effects.registers |= whole.registers;
                effects.touched.join(&whole.touched);
            }
        }
        Some(effects)
    }
}
