//! Which nodes can be executed again.

use crate::cache::graph::Graph;

/// Whether each node is on a cycle.
pub fn on_cycles(graph: &Graph) -> Vec<bool> {
    let count = graph.nodes.len();
    let (mut next, mut before) = (vec![Vec::new(); count], vec![Vec::new(); count]);
    let mut cyclic = vec![false; count];
    for &(from, to) in &graph.edges {
        next[from].push(to);
        before[to].push(from);
        cyclic[from] |= from == to;
    }
    // Nodes in the order in which a search leaves them; then backwards from the last, what is reached is one component.
    let (mut left, mut seen) = (Vec::with_capacity(count), vec![false; count]);
    for start in 0..count {
        let mut open = vec![(start, 0)];
        if std::mem::replace(&mut seen[start], true) {
            continue;
        }
        while let Some((node, edge)) = open.pop() {
            let Some(&to) = next[node].get(edge) else {
                left.push(node);
                continue;
            };
            open.push((node, edge + 1));
            if !std::mem::replace(&mut seen[to], true) {
                open.push((to, 0));
            }
        }
    }
    let mut taken = vec![false; count];
    for &start in left.iter().rev() {
        if std::mem::replace(&mut taken[start], true) {
            continue;
        }
        let (mut component, mut open) = (vec![start], vec![start]);
        while let Some(node) = open.pop() {
            for &from in &before[node] {
                if !std::mem::replace(&mut taken[from], true) {
                    component.push(from);
                    open.push(from);
                }
            }
        }
        if component.len() > 1 {
            component.into_iter().for_each(|node| cyclic[node] = true);
        }
    }
    cyclic
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::graph::Node;

    #[test]
    fn two_cycles_and_what_is_around_them() {
        let edges = vec![(0, 1), (1, 2), (2, 1), (2, 3), (3, 4), (4, 4), (4, 5), (0, 5)];
        let graph = Graph { nodes: vec![Node::default(); 6], edges, entry: 0, scopes: Vec::new() };
        assert_eq!(on_cycles(&graph), [false, true, true, false, true, false]);
    }
}
