//! Executed instructions as a walk of a graph.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use wcet_flow::context::{EdgeId, Expanded, LoopId, NodeId};

/// A node that was entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Visit {
    pub node: NodeId,
    /// The edge by which; none for the first.
    pub by: Option<EdgeId>,
    /// Which of the executed instructions is its first.
    pub first: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Walk {
    pub visits: Vec<Visit>,
    /// Instructions that belong to it: all, or those up to a stop.
    pub length: usize,
}

/// Follows instructions by their addresses, until they end or the graph does. Where the graph does not go on as they do, the
/// number of the first that it does not have.
pub fn follow(expanded: &Expanded<'_>, addresses: &[u64]) -> Result<Walk, usize> {
    let mut walk = Walk::default();
    let mut here = Visit { node: expanded.entry, by: None, first: 0 };
    loop {
        for instruction in expanded.instructions(here.node) {
            match addresses.get(walk.length) {
                Some(address) if *address == instruction.address => walk.length += 1,
                Some(_) => return Err(walk.length),
                None => break,
            }
        }
        walk.visits.push(here);
        let Some(next) = addresses.get(walk.length) else { return Ok(walk) };
        let leads = |edge: &&EdgeId| expanded.block(expanded.edges[**edge].to).start() == *next;
        match expanded.successors(here.node).iter().find(leads) {
            Some(edge) => here = Visit { node: expanded.edges[*edge].to, by: Some(*edge), first: walk.length },
            None if expanded.stops.contains_key(&here.node) => return Ok(walk),
            None => return Err(walk.length),
        }
    }
}

impl Walk {
    pub fn edges(&self) -> BTreeSet<EdgeId> {
        self.visits.iter().filter_map(|visit| visit.by).collect()
    }

    pub fn last(&self) -> Option<Visit> {
        self.visits.last().copied()
    }

    /// The visits of each loop's header, for each entry of the loop.
    pub fn entries(&self, expanded: &Expanded<'_>) -> BTreeMap<LoopId, Vec<Vec<usize>>> {
        let headers: BTreeMap<NodeId, LoopId> =
            expanded.loops.iter().enumerate().map(|(number, one)| (one.header, number)).collect();
        let mut found: BTreeMap<LoopId, Vec<Vec<usize>>> = BTreeMap::new();
        for (number, visit) in self.visits.iter().enumerate() {
            let Some(one) = headers.get(&visit.node) else { continue };
            let entries = found.entry(*one).or_default();
            let again = visit.by.is_some_and(|edge| expanded.loops[*one].back.contains(&edge));
            match entries.last_mut().filter(|_| again) {
                Some(entry) => entry.push(number),
                None => entries.push(vec![number]),
            }
        }
        found
    }

    /// The largest number of times that each loop's header was executed for one entry of it.
    pub fn rounds(&self, expanded: &Expanded<'_>) -> BTreeMap<LoopId, u64> {
        let most = |entries: Vec<Vec<usize>>| entries.iter().map(|entry| entry.len() as u64).max().unwrap_or(0);
        self.entries(expanded).into_iter().map(|(one, entries)| (one, most(entries))).collect()
    }

    /// How often each loop's header was executed in all, of loops that were entered more than once.
    pub fn totals(&self, expanded: &Expanded<'_>) -> BTreeMap<LoopId, u64> {
        let entered = self.entries(expanded).into_iter().filter(|(_, entries)| entries.len() > 1);
        entered.map(|(one, entries)| (one, entries.iter().map(|entry| entry.len() as u64).sum())).collect()
    }

    /// Instructions of iterations beyond those that count, of loops that wait for others: `looks` says of which, and how many
    /// executions of the header count. The last iteration always does.
    pub fn waited(&self, expanded: &Expanded<'_>, looks: impl Fn(LoopId) -> Option<u64>) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for (one, entries) in self.entries(expanded) {
            let Some(looks) = looks(one) else { continue };
            let looks = usize::try_from(looks.max(1)).unwrap_or(usize::MAX);
            for entry in entries.iter().filter(|entry| entry.len() > looks) {
                found.push(self.visits[entry[looks - 1]].first..self.visits[entry[entry.len() - 1]].first);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use wcet_binary::lift::Lifter;
    use wcet_binary::load::{Architecture, Program};
    use wcet_flow::context::expand;

    use super::*;

    /// mov ecx, 3; dec ecx; jne to the one before; ret
    const CODE: [u8; 10] = [0xb9, 3, 0, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3];
    const PASSAGE: [u64; 8] = [0x1000, 0x1005, 0x1007, 0x1005, 0x1007, 0x1005, 0x1007, 0x1009];

    #[test]
    fn a_loop_is_followed_counted_and_cut() {
        let program = Program::from_code(Architecture::X86_64, 0x1000, &CODE);
        let lifter = Lifter::new(&program).unwrap();
        let graph = wcet_flow::analyse(&lifter, &[0x1000], &wcet_flow::Options::default()).unwrap();
        let expanded = expand(&graph, 0x1000, &wcet_flow::context::Options::default()).unwrap();
        let walk = follow(&expanded, &PASSAGE).unwrap();
        assert_eq!(walk.length, 8);
        assert_eq!(walk.rounds(&expanded), BTreeMap::from([(0, 3)]));
        assert!(walk.waited(&expanded, |_| None).is_empty());
        // Of three looks the last counts, and as many before it as are stated.
        let waited = |looks| walk.waited(&expanded, |_| Some(looks)).first().cloned();
        assert_eq!((waited(1), waited(2), waited(3)), (Some(1..5), Some(3..5), None));
        // Elsewhere than the graph goes.
        assert_eq!(follow(&expanded, &[0x1000, 0x1007]).err(), Some(1));
        assert_eq!(follow(&expanded, &[0x1000, 0x1005, 0x1007, 0x1000]).err(), Some(3));

        // Without a second round there is no loop left, and the path is the same.
        let once: Vec<u64> = PASSAGE[..3].iter().chain(&PASSAGE[7..]).copied().collect();
        let walk = follow(&expanded, &once).unwrap();
        let exits: BTreeSet<NodeId> = walk.last().map(|last| last.node).into_iter().collect();
        let part = expanded.part(&walk.edges(), &exits).unwrap();
        assert!(part.loops.is_empty() && part.exits.len() == 1 && part.edges.len() == walk.edges().len());
        assert_eq!(follow(&part, &once).unwrap().length, 4);
        assert_eq!(follow(&part, &PASSAGE).err(), Some(3));
    }
}
