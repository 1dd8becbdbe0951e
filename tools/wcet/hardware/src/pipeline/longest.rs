//! Longest paths in a graph whose nodes are made in topological order.

/// No path.
pub const NEVER: i64 = i64::MIN;

/// Edges into each node: from, weight. Node 0 is the reference.
#[derive(Debug, Clone, Default)]
pub struct Paths {
    into: Vec<Vec<(usize, i64)>>,
}

impl Paths {
    /// With the reference alone.
    pub fn new() -> Self {
        Paths { into: vec![Vec::new()] }
    }

    /// Adds a node after those that are there.
    pub fn node(&mut self, into: Vec<(usize, i64)>) -> usize {
        self.into.push(into);
        self.into.len() - 1
    }

    /// Length of the longest path from `source` to each node, or `NEVER`.
    pub fn from(&self, source: usize) -> Vec<i64> {
        let mut longest = vec![NEVER; self.into.len()];
        longest[source] = 0;
        for node in source + 1..self.into.len() {
            let paths = self.into[node].iter().filter(|(from, _)| longest[*from] != NEVER);
            longest[node] = paths.map(|(from, weight)| longest[*from] + weight).max().unwrap_or(NEVER);
        }
        longest
    }
}
