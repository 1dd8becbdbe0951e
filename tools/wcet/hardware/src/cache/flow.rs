//! Data-flow analysis of one set: the states before each event, by passes in reverse postorder.

use crate::cache::event::Event;
use crate::cache::graph::Graph;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::rc::Rc;

/// Spreads the numbers of nodes, which is all that a table of them needs.
#[derive(Default)]
pub struct Spread(u64);

impl Hasher for Spread {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_usize(usize::from(*byte)));
    }

    fn write_usize(&mut self, number: usize) {
        self.0 = (self.0 ^ number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(31);
    }
}

/// An abstract domain of one set's contents.
pub trait Domain {
    type State: Clone + PartialEq;
    /// The state at the entry.
    fn start(&self) -> Self::State;
    fn apply(&self, state: &mut Self::State, event: &Event);
    /// The least state that covers both.
    fn join(&self, a: &Self::State, b: &Self::State) -> Self::State;
}

/// A graph or a scope of it as the analysis walks it: nodes by rank in reverse postorder from the starts.
pub struct Order {
    rank: HashMap<usize, usize, BuildHasherDefault<Spread>>,
    /// By rank.
    successors: Vec<Vec<usize>>,
    /// Ranks.
    starts: Vec<usize>,
}

impl Order {
    pub fn whole(graph: &Graph) -> Self {
        let mut successors = vec![Vec::new(); graph.nodes.len()];
        for &(from, to) in &graph.edges {
            successors[from].push(to);
        }
        let starts = if graph.nodes.is_empty() { Vec::new() } else { vec![graph.entry] };
        Order::new(&starts, |node| &successors[node], |_| true)
    }

    /// A part of the graph that is entered at `starts`.
    pub fn part(successors: &[Vec<usize>], starts: &[usize], inside: impl Fn(usize) -> bool) -> Self {
        Order::new(starts, |node| &successors[node], inside)
    }

    fn new<'a>(starts: &[usize], successors: impl Fn(usize) -> &'a Vec<usize>, inside: impl Fn(usize) -> bool) -> Self {
        let mut rank = HashMap::default();
        let mut nodes = Vec::new();
        for &start in starts {
            if rank.insert(start, 0).is_some() {
                continue;
            }
            let mut stack = vec![(start, 0)];
            while let Some((node, next)) = stack.pop() {
                let Some(&to) = successors(node).get(next) else {
                    nodes.push(node);
                    continue;
                };
                stack.push((node, next + 1));
                if inside(to) && rank.insert(to, 0).is_none() {
                    stack.push((to, 0));
                }
            }
        }
        nodes.reverse();
        for (place, node) in nodes.iter().enumerate() {
            rank.insert(*node, place);
        }
        let ranked = |node: &usize| successors(*node).iter().filter_map(|to| rank.get(to).copied()).collect();
        let successors = nodes.iter().map(ranked).collect();
        let starts = starts.iter().map(|start| rank[start]).collect();
        Order { rank, successors, starts }
    }

    /// How many nodes are reached.
    pub fn len(&self) -> usize {
        self.successors.len()
    }

    /// The rank of a node that is reached.
    pub fn rank(&self, node: usize) -> Option<usize> {
        self.rank.get(&node).copied()
    }

    /// Ranks of the successors, by rank.
    pub fn successors(&self, place: usize) -> &[usize] {
        &self.successors[place]
    }

    /// Ranks.
    pub fn starts(&self) -> &[usize] {
        &self.starts
    }
}

/// Runs `domain` to its fixpoint; calls `visit` with the state before each event. Events are in the order of nodes
/// and accesses; those of nodes that are not reached are left out.
pub fn solve<D: Domain>(order: &Order, domain: &D, events: &[&Event], mut visit: impl FnMut(&D::State, &Event)) {
    const NONE: usize = usize::MAX;
    let groups: Vec<&[&Event]> = events.chunk_by(|a, b| a.node == b.node).collect();
    let mut group_at = vec![NONE; order.successors.len()];
    for (number, group) in groups.iter().enumerate() {
        if let Some(&place) = order.rank.get(&group[0].node) {
            group_at[place] = number;
        }
    }
    let mut before: Vec<Option<Rc<D::State>>> = vec![None; order.successors.len()];
    let mut dirty = vec![false; order.successors.len()];
    let start = Rc::new(domain.start());
    for &place in &order.starts {
        before[place] = Some(start.clone());
        dirty[place] = true;
    }
    let mut again = true;
    while again {
        again = false;
        for place in 0..dirty.len() {
            if !std::mem::take(&mut dirty[place]) {
                continue;
            }
            let Some(mut after) = before[place].clone() else { continue };
            if let Some(group) = groups.get(group_at[place]) {
                let mut state = (*after).clone();
                group.iter().for_each(|event| domain.apply(&mut state, event));
                if state != *after {
                    after = Rc::new(state);
                }
            }
            for &to in &order.successors[place] {
                let joined = match &before[to] {
                    None => after.clone(),
                    Some(old) if Rc::ptr_eq(old, &after) || **old == *after => continue,
                    Some(old) => {
                        let joined = domain.join(old, &after);
                        if joined == **old {
                            continue;
                        }
                        Rc::new(joined)
                    }
                };
                before[to] = Some(joined);
                dirty[to] = true;
                again |= to <= place;
            }
        }
    }
    for (place, number) in group_at.iter().enumerate().filter(|(_, number)| **number != NONE) {
        let Some(state) = &before[place] else { continue };
        let mut state = (**state).clone();
        for event in groups[*number] {
            visit(&state, event);
            domain.apply(&mut state, event);
        }
    }
}
