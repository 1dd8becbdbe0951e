//! Strongly connected components and walks, for graphs given as lists of successors.

/// Components of the nodes for which `inside` holds, each with at least one edge of its own; Tarjan's algorithm.
pub fn cycles(next: &[Vec<usize>], inside: &dyn Fn(usize) -> bool) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let (mut number, mut low) = (vec![NEW; next.len()], vec![NEW; next.len()]);
    let mut on_stack = vec![false; next.len()];
    let (mut stack, mut count, mut found) = (Vec::new(), 0, Vec::new());
    for root in (0..next.len()).filter(|node| inside(*node)) {
        if number[root] != NEW {
            continue;
        }
        // Calls of the recursive formulation: a node, and how many of its successors were looked at.
        let mut calls = vec![(root, 0usize)];
        while let Some((node, at)) = calls.pop() {
            if at == 0 {
                (number[node], low[node]) = (count, count);
                count += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(&to) = next[node].get(at) {
                calls.push((node, at + 1));
                if inside(to) && number[to] == NEW {
                    calls.push((to, 0));
                } else if inside(to) && on_stack[to] {
                    low[node] = low[node].min(number[to]);
                }
                continue;
            }
            if let Some((caller, _)) = calls.last() {
                low[*caller] = low[*caller].min(low[node]);
            }
            if low[node] == number[node] {
                let mut component = Vec::new();
                while let Some(one) = stack.pop() {
                    on_stack[one] = false;
                    component.push(one);
                    if one == node {
                        break;
                    }
                }
                if component.len() > 1 || next[node].contains(&node) {
                    component.sort_unstable();
                    found.push(component);
                }
            }
        }
    }
    found
}
