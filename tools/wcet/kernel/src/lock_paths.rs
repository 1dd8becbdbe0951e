//! In which order a region takes locks, by its paths: locks that it takes on one branch and those of another are not waited for
//! in one passage.
//!
//! What is taken in a block is a *group*; what is taken anywhere in an outermost loop is one group too, as often as in the whole
//! region. Of each group it is known which may be next. That loops are left out makes the rest a graph without circles.

use std::collections::{BTreeMap, BTreeSet};

use wcet_flow::context::{EdgeId, Expanded, LoopId, NodeId};

use crate::critical_sections::Taken;

/// Groups, each before those that may be next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Paths {
    groups: Vec<Group>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Group {
    taken: Taken,
    next: BTreeSet<usize>,
}

/// What a group stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Node(NodeId),
    Loop(LoopId),
}

impl Paths {
    /// Of a graph without some edges, whose nodes take so many locks, and which takes `most` in all.
    pub(crate) fn new(
        expanded: &Expanded<'_>,
        left_out: &BTreeSet<EdgeId>,
        takes: &BTreeMap<NodeId, Taken>,
        most: &Taken,
    ) -> Paths {
        let place = |node: NodeId| match expanded.around(node).last() {
            Some(around) => Place::Loop(around),
            None => Place::Node(node),
        };
        // A loop is entered at its header, the first of its nodes: so the first of each group are in the order of paths.
        let mut numbers: BTreeMap<Place, usize> = BTreeMap::new();
        let mut groups: Vec<Group> = Vec::new();
        let mut firsts: BTreeMap<NodeId, Place> = BTreeMap::new();
        for node in takes.keys() {
            let first = match place(*node) {
                Place::Loop(around) => expanded.loops[around].header,
                Place::Node(node) => node,
            };
            firsts.insert(first, place(*node));
        }
        for at in firsts.values() {
            numbers.insert(*at, groups.len());
            groups.push(Group::default());
        }
        for (node, taken) in takes {
            let at = place(*node);
            let group = &mut groups[numbers[&at]];
            for (family, count) in taken {
                let all = most.get(family).copied().unwrap_or(*count);
                group.taken.insert(*family, if matches!(at, Place::Loop(_)) { all } else { *count });
            }
        }
        // The groups that may be next behind each node, backwards.
        let mut next: BTreeMap<NodeId, BTreeSet<usize>> = BTreeMap::new();
        for node in expanded.order().rev() {
            let mut found = BTreeSet::new();
            for edge in expanded.successors(node).iter().filter(|edge| !left_out.contains(edge)) {
                if expanded.is_back(*edge) {
                    continue;
                }
                let to = expanded.edges[*edge].to;
                match takes.contains_key(&to) {
                    true => drop(found.insert(numbers[&place(to)])),
                    false => found.extend(next.get(&to).into_iter().flatten().copied()),
                }
            }
            if let Some(number) = numbers.get(&place(node)) {
                groups[*number].next.extend(found.iter().filter(|one| *one != number));
            }
            if !found.is_empty() {
                next.insert(node, found);
            }
        }
        Paths { groups }
    }

    /// One way or the other.
    pub(crate) fn or(mut self, other: Paths) -> Paths {
        let before = self.groups.len();
        self.groups.extend(
            other
                .groups
                .into_iter()
                .map(|group| Group { next: group.next.iter().map(|next| next + before).collect(), ..group }),
        );
        self
    }

    /// One after the other.
    pub(crate) fn then(mut self, other: Paths) -> Paths {
        let (before, more) = (self.groups.len(), other.groups.len());
        self.groups.iter_mut().for_each(|group| group.next.extend(before..before + more));
        self.or(other)
    }

    /// The most that any path costs.
    pub fn most(&self, cost: impl Fn(&Taken) -> u64) -> u64 {
        let mut from: Vec<u64> = vec![0; self.groups.len()];
        for (number, group) in self.groups.iter().enumerate().rev() {
            let behind = group.next.iter().map(|next| from[*next]).max().unwrap_or(0);
            from[number] = cost(&group.taken).saturating_add(behind);
        }
        from.into_iter().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a group takes, by family and how often, and the groups that follow it.
    type Row<'a> = (&'a [(usize, u64)], &'a [usize]);

    fn paths(groups: &[Row<'_>]) -> Paths {
        let group = |(taken, next): &Row<'_>| Group {
            taken: taken.iter().map(|(family, count)| ((*family, *family), *count)).collect(),
            next: next.iter().copied().collect(),
        };
        Paths { groups: groups.iter().map(group).collect() }
    }

    fn cost(taken: &Taken) -> u64 {
        taken.iter().map(|((family, _), count)| count * [1, 10, 100][*family]).sum()
    }

    #[test]
    fn branches_are_not_taken_together() {
        // One of two branches, and what follows both.
        let one = paths(&[(&[(0, 2)], &[2]), (&[(1, 1)], &[2]), (&[(2, 1)], &[])]);
        assert_eq!(one.most(cost), 110);
        assert_eq!(one.clone().or(paths(&[(&[(2, 3)], &[])])).most(cost), 300);
        assert_eq!(one.clone().then(one.clone()).most(cost), 220);
        assert_eq!(one.clone().then(Paths::default()).most(cost), 110);
        assert_eq!(Paths::default().then(one).most(cost), 110);
        assert_eq!(Paths::default().most(cost), 0);
    }
}
