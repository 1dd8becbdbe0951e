//! Random reducible graphs, and all their walks.

use std::collections::{BTreeMap, BTreeSet};

use wcet_paths::ipet::{Loop, Problem};

use crate::random::Random;

/// What a program consists of.
enum Part {
    Step,
    Sequence(Vec<Part>),
    Choice(Vec<Part>),
    /// A loop with its bound; the header may leave, and `breaks` too.
    Loop(Box<Part>, u64),
    /// Leaves the loop around, at this distance.
    Break(usize),
    Stop,
}

fn part(random: &mut Random, depth: u32, loops: usize) -> Part {
    let last = depth == 0;
    match random.below_u64(if last { 4 } else { 12 }) {
        0 | 1 => Part::Step,
        2 if loops > 0 => Part::Break(random.below_u64(loops as u64) as usize),
        3 if random.one_in(4) => Part::Stop,
        2 | 3 => Part::Step,
        4..=6 => Part::Sequence((0..2 + random.below_u64(2)).map(|_| part(random, depth - 1, loops)).collect()),
        7..=9 => Part::Choice((0..2 + random.below_u64(2)).map(|_| part(random, depth - 1, loops)).collect()),
        _ => Part::Loop(Box::new(part(random, depth - 1, loops + 1)), 1 + random.below_u64(4)),
    }
}

#[derive(Default)]
struct Draft {
    edges: Vec<(usize, usize)>,
    exits: BTreeSet<usize>,
    nodes: usize,
    /// Header and bound.
    loops: Vec<(usize, u64)>,
    /// Places behind the loops that are open.
    behind: Vec<usize>,
    /// A loop at the start has the entry as its header.
    at_entry: bool,
}

impl Draft {
    fn node(&mut self) -> usize {
        self.nodes += 1;
        self.nodes - 1
    }

    /// Appends a part after node `from`; the node at its end, unless it has none.
    fn add(&mut self, part: &Part, from: usize) -> Option<usize> {
        let step = |draft: &mut Draft| {
            let node = draft.node();
            draft.edges.push((from, node));
            node
        };
        match part {
            Part::Step => Some(step(self)),
            Part::Sequence(parts) => parts.iter().try_fold(from, |from, part| self.add(part, from)),
            Part::Choice(parts) => {
                let fork = step(self);
                let ends: Vec<usize> = parts.iter().filter_map(|part| self.add(part, fork)).collect();
                if ends.is_empty() {
                    return None;
                }
                let join = self.node();
                ends.iter().for_each(|end| self.edges.push((*end, join)));
                Some(join)
            }
            Part::Loop(body, bound) => {
                let header = if self.at_entry && self.edges.is_empty() { from } else { step(self) };
                self.loops.push((header, *bound));
                let behind = self.node();
                self.edges.push((header, behind));
                self.behind.push(behind);
                let end = self.add(body, header);
                self.behind.pop();
                if let Some(end) = end {
                    self.edges.push((end, header));
                }
                Some(behind)
            }
            Part::Break(distance) => {
                let node = step(self);
                let behind = self.behind[self.behind.len() - 1 - distance];
                self.edges.push((node, behind));
                None
            }
            Part::Stop => {
                let node = step(self);
                self.exits.insert(node);
                None
            }
        }
    }
}

/// A random graph with costs and loop bounds.
pub fn graph(random: &mut Random, depth: u32) -> Problem {
    loop {
        let mut draft = Draft { nodes: 1, at_entry: random.one_in(2), ..Draft::default() };
        if let Some(end) = draft.add(&part(random, depth, 0), 0) {
            draft.exits.insert(end);
        }
        if draft.exits.is_empty() || draft.edges.is_empty() {
            continue;
        }
        return number(random, draft);
    }
}

/// Numbers the nodes in reverse postorder, and finds the loops.
fn number(random: &mut Random, draft: Draft) -> Problem {
    let mut order = Vec::new();
    let mut seen = BTreeSet::from([0]);
    let mut open = vec![(0, 0)];
    let successors =
        |node: usize| draft.edges.iter().filter(move |edge| edge.0 == node).map(|edge| edge.1).collect::<Vec<_>>();
    while let Some((node, next)) = open.pop() {
        match successors(node).get(next) {
            None => order.push(node),
            Some(to) => {
                open.push((node, next + 1));
                if seen.insert(*to) {
                    open.push((*to, 0));
                }
            }
        }
    }
    order.reverse();
    let rank: BTreeMap<usize, usize> = order.iter().enumerate().map(|(rank, node)| (*node, rank)).collect();
    let edges: Vec<(usize, usize)> =
        draft.edges.iter().filter_map(|(from, to)| Some((*rank.get(from)?, *rank.get(to)?))).collect();
    let exits = draft.exits.iter().filter_map(|node| rank.get(node).copied()).collect();
    let mut loops: Vec<Loop> = Vec::new();
    for (header, bound) in &draft.loops {
        let Some(&header) = rank.get(header) else { continue };
        let mut nodes = BTreeSet::from([header]);
        let mut open: Vec<usize> =
            edges.iter().filter(|edge| edge.1 == header && edge.0 >= header).map(|edge| edge.0).collect();
        if open.is_empty() {
            continue;
        }
        while let Some(node) = open.pop() {
            if nodes.insert(node) {
                open.extend(edges.iter().filter(|edge| edge.1 == node).map(|edge| edge.0));
            }
        }
        loops.push(Loop { header, nodes: nodes.into_iter().collect(), parent: None, bound: *bound });
    }
    loops.sort_by_key(|one| (std::cmp::Reverse(one.nodes.len()), one.header));
    for inner in 0..loops.len() {
        loops[inner].parent = (0..inner).rev().find(|outer| loops[*outer].nodes.contains(&loops[inner].header));
    }
    let costs = edges.iter().map(|_| random.below_u64(40)).collect();
    let start = random.below_u64(40);
    Problem { nodes: order.len(), edges, exits, loops, start, costs, ..Problem::default() }
}

/// Calls `visit` with every walk from the entry to an exit that keeps the bounds of loops; false if there are too many.
pub fn walks(problem: &Problem, most: usize, mut visit: impl FnMut(&[usize])) -> bool {
    let mut count = 0;
    let mut open: Vec<Vec<usize>> = vec![Vec::new()];
    while let Some(walk) = open.pop() {
        count += 1;
        if count > most {
            return false;
        }
        let node = walk.last().map_or(0, |edge| problem.edges[*edge].1);
        if problem.exits.contains(&node) {
            visit(&walk);
        }
        for edge in (0..problem.edges.len()).filter(|edge| problem.edges[*edge].0 == node) {
            let mut longer = walk.clone();
            longer.push(edge);
            if keeps_bounds(problem, &longer) {
                open.push(longer);
            }
        }
    }
    true
}

/// Whether the last edge of the walk is within the bound of the loop that it closes.
fn keeps_bounds(problem: &Problem, walk: &[usize]) -> bool {
    let Some(&last) = walk.last() else { return true };
    let (from, to) = problem.edges[last];
    if to > from {
        return true;
    }
    let Some(closed) = problem.loops.iter().find(|one| one.header == to) else { return true };
    let entered = walk.iter().rposition(|edge| problem.edges[*edge].1 == to && problem.edges[*edge].0 < to);
    let since = entered.map_or(0, |place| place + 1);
    let back = walk[since..].iter().filter(|edge| problem.edges[**edge].1 == to).count() as u64;
    back < closed.bound
}

/// What a walk costs, each charge paid where it is due.
pub fn cost(problem: &Problem, walk: &[usize]) -> u128 {
    let mut cost = u128::from(problem.start) + walk.iter().map(|edge| u128::from(problem.costs[*edge])).sum::<u128>();
    for charge in &problem.charges {
        let inside = |node: usize| charge.scope.is_none_or(|scope| problem.contains(scope, node));
        let (mut paid, mut before) = (false, None);
        for node in std::iter::once(0).chain(walk.iter().map(|edge| problem.edges[*edge].1)) {
            if inside(node) && before.is_some_and(|before| !inside(before)) {
                paid = false;
            }
            if charge.nodes.contains(&node) && !paid {
                paid = true;
                cost += u128::from(charge.cycles);
            }
            before = Some(node);
        }
    }
    cost
}

/// Whether a walk respects limits and conflicts.
pub fn respects(problem: &Problem, walk: &[usize]) -> bool {
    let count = |edge: &usize| walk.iter().filter(|taken| *taken == edge).count() as i64;
    let limits = problem
        .limits
        .iter()
        .all(|limit| limit.terms.iter().map(|(edge, factor)| factor * count(edge)).sum::<i64>() <= limit.at_most);
    let conflicts = problem.conflicts.iter().all(|conflict| {
        let mut pieces: Vec<Vec<usize>> = vec![Vec::new()];
        for edge in walk {
            let (from, to) = problem.edges[*edge];
            let last = pieces.len() - 1;
            pieces[last].push(*edge);
            let starts = conflict.scope.is_some_and(|scope| problem.loops[scope].header == to);
            let leaves =
                conflict.scope.is_some_and(|scope| problem.contains(scope, from) && !problem.contains(scope, to));
            if starts || leaves {
                pieces.push(Vec::new());
            }
        }
        !pieces.iter().any(|piece| conflict.edges.iter().all(|edge| piece.contains(edge)))
    });
    limits && conflicts
}

/// The smallest loop that holds all edges, but those that leave it.
pub fn common_scope(problem: &Problem, edges: &BTreeSet<usize>) -> Option<usize> {
    let holds = |scope: usize| edges.iter().all(|edge| problem.contains(scope, problem.edges[*edge].0));
    (0..problem.loops.len()).rev().find(|scope| holds(*scope))
}
