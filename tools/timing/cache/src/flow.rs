//! Data-flow analysis of one set: the states before each event, by a worklist in reverse postorder.

use crate::event::Event;
use crate::graph::Graph;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// An abstract domain of one set's contents.
pub trait Domain {
    type State: Clone + PartialEq;
    /// The state at the entry.
    fn start(&self) -> Self::State;
    fn apply(&self, state: &mut Self::State, event: &Event);
    /// The least state that covers both.
    fn join(&self, a: &Self::State, b: &Self::State) -> Self::State;
}

/// The graph as the analysis walks it.
pub struct Order {
    /// Nodes that the entry reaches, in reverse postorder.
    pub nodes: Vec<usize>,
    /// Place of each node in `nodes`.
    rank: Vec<usize>,
    successors: Vec<Vec<usize>>,
}

impl Order {
    pub fn new(graph: &Graph) -> Self {
        let mut successors = vec![Vec::new(); graph.nodes.len()];
        for &(from, to) in &graph.edges {
            successors[from].push(to);
        }
        let mut nodes = Vec::new();
        let mut seen = vec![false; graph.nodes.len()];
        let mut stack = Vec::new();
        if graph.entry < graph.nodes.len() {
            seen[graph.entry] = true;
            stack.push((graph.entry, 0));
        }
        while let Some((node, next)) = stack.pop() {
            match successors[node].get(next) {
                Some(&to) => {
                    stack.push((node, next + 1));
                    if !seen[to] {
                        seen[to] = true;
                        stack.push((to, 0));
                    }
                }
                None => nodes.push(node),
            }
        }
        nodes.reverse();
        let mut rank = vec![usize::MAX; graph.nodes.len()];
        for (place, &node) in nodes.iter().enumerate() {
            rank[node] = place;
        }
        Order { nodes, rank, successors }
    }

    pub fn reaches(&self, node: usize) -> bool {
        self.rank[node] != usize::MAX
    }
}

/// Runs `domain` over the nodes that `inside` admits, from `starts`; calls `visit` with the final state before each event.
pub fn solve<D: Domain>(
    order: &Order,
    domain: &D,
    events: &[&Event],
    starts: &[usize],
    inside: impl Fn(usize) -> bool,
    mut visit: impl FnMut(&D::State, &Event),
) {
    let mut of_node: BTreeMap<usize, Vec<&Event>> = BTreeMap::new();
    for event in events {
        of_node.entry(event.node).or_default().push(event);
    }
    let none = Vec::new();
    let mut before: Vec<Option<Rc<D::State>>> = vec![None; order.rank.len()];
    let mut work = BTreeSet::new();
    let start = Rc::new(domain.start());
    for &node in starts.iter().filter(|&&node| order.reaches(node)) {
        before[node] = Some(start.clone());
        work.insert(order.rank[node]);
    }
    while let Some(place) = work.pop_first() {
        let node = order.nodes[place];
        let Some(state) = before[node].clone() else { continue };
        let after = match of_node.get(&node) {
            None => state,
            Some(events) => {
                let mut state = (*state).clone();
                events.iter().for_each(|event| domain.apply(&mut state, event));
                Rc::new(state)
            }
        };
        for &to in order.successors[node].iter().filter(|&&to| inside(to)) {
            let joined = match &before[to] {
                None => after.clone(),
                Some(old) if Rc::ptr_eq(old, &after) => continue,
                Some(old) => {
                    let joined = domain.join(old, &after);
                    if joined == **old {
                        continue;
                    }
                    Rc::new(joined)
                }
            };
            before[to] = Some(joined);
            work.insert(order.rank[to]);
        }
    }
    for (node, state) in before.iter().enumerate() {
        let Some(state) = state else { continue };
        let mut state = (**state).clone();
        for event in of_node.get(&node).unwrap_or(&none) {
            visit(&state, event);
            domain.apply(&mut state, event);
        }
    }
}
