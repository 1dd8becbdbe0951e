//! Which locks are held at each node, and so which nodes belong to the critical section of each acquisition.
//!
//! At each node it is known which locks may be held together, each by the place that has taken it: one set for each kind of
//! path. Of one family only one lock is held at a time, or that is an error; so what is given back is known by its family.
//! Where a region ends none may be left.

use std::collections::{BTreeMap, BTreeSet};

use wcet_flow::context::{EdgeId, Expanded, NodeId};

use crate::kernel::Kernel;
use crate::locks::{meet, Event, Family, Locks};
use crate::points::End;

/// Locks that are held together, by where they were taken.
type Together = BTreeSet<Site>;

/// Kinds of paths that are followed apart.
const KINDS: usize = 64;

/// Where a lock is taken: the node, and which of its events.
pub(crate) type Site = (NodeId, usize);

/// What belongs to one section.
#[derive(Debug, Default)]
pub(crate) struct Extent {
    pub edges: BTreeSet<EdgeId>,
    /// Nodes where the lock is given back, and by which of their events.
    pub ends: BTreeMap<NodeId, usize>,
}

/// What events of nodes do with the locks held.
pub(crate) struct Held<'a> {
    pub kernel: &'a Kernel<'a>,
    pub locks: &'a Locks,
    pub expanded: &'a Expanded<'a>,
    pub dead: &'a BTreeSet<EdgeId>,
    pub events: &'a BTreeMap<NodeId, Vec<Event>>,
}

impl Held<'_> {
    /// Sections by the place where they begin; or places where locks are not held as they should be.
    pub fn extents(&self) -> Result<BTreeMap<Site, Extent>, Vec<String>> {
        let nothing = BTreeSet::from([Together::new()]);
        let mut before: BTreeMap<NodeId, BTreeSet<Together>> = BTreeMap::from([(self.expanded.entry, nothing)]);
        let mut open = BTreeSet::from([self.expanded.entry]);
        let mut errors = BTreeSet::new();
        while let Some(node) = open.pop_first() {
            let after: BTreeSet<Together> =
                before[&node].iter().map(|held| self.through(node, held, |_, _| {}, &mut errors)).collect();
            for edge in self.ways(node) {
                let to = self.expanded.edges[edge].to;
                let known = before.entry(to).or_default();
                if !after.is_subset(known) {
                    known.extend(after.iter().cloned());
                    open.insert(to);
                }
                if known.len() > KINDS {
                    return Err(vec![format!("{}: too many locks may be held here", self.expanded.place(to))]);
                }
            }
        }
        let mut found: BTreeMap<Site, Extent> = BTreeMap::new();
        for (node, kinds) in &before {
            for held in kinds {
                let end = |site: Site, number: usize| {
                    let last = found.entry(site).or_default().ends.entry(*node).or_default();
                    *last = number.max(*last);
                };
                let held = self.through(*node, held, end, &mut errors);
                for site in &held {
                    found.entry(*site).or_default().edges.extend(self.ways(*node));
                }
                let Some(site) = held.first().filter(|_| self.is_end(*node)) else { continue };
                if self.is_run(*node) {
                    // No processor waits any more.
                    for site in &held {
                        found.entry(*site).or_default().ends.insert(*node, usize::MAX);
                    }
                } else {
                    let (place, taken) = (self.expanded.place(*node), self.place(*site));
                    errors.insert(format!("{place}: the region ends, but a lock is held that {taken} has taken"));
                }
            }
        }
        if errors.is_empty() {
            Ok(found)
        } else {
            Err(errors.into_iter().collect())
        }
    }

    fn ways(&self, node: NodeId) -> impl Iterator<Item = EdgeId> + '_ {
        self.expanded.successors(node).iter().copied().filter(|edge| !self.dead.contains(edge))
    }

    fn is_end(&self, node: NodeId) -> bool {
        self.expanded.exits.contains(&node) || self.expanded.stops.contains_key(&node)
    }

    fn is_run(&self, node: NodeId) -> bool {
        let (block, ends) = (self.expanded.block(node), &self.kernel.points.ends);
        [block.start(), block.last().address].iter().any(|address| ends.get(address) == Some(&End::Run))
    }

    /// Goes through what a node does; `end` is told which sections end, and with which event.
    fn through(
        &self,
        node: NodeId,
        held: &Together,
        mut end: impl FnMut(Site, usize),
        errors: &mut BTreeSet<String>,
    ) -> Together {
        let mut held = held.clone();
        for (number, event) in self.events.get(&node).into_iter().flatten().enumerate() {
            match *event {
                Event::Take { of, address } => {
                    if let Some(site) = held.iter().find(|site| meet(self.of(**site), of)) {
                        let names = self.locks.names(of);
                        errors.insert(format!(
                            "{}: a lock of {names} is taken, but one may be held that {} has taken",
                            self.describe(address),
                            self.place(*site)
                        ));
                    }
                    held.insert((node, number));
                }
                Event::Give { of, address } => {
                    let given: Vec<Site> = held.iter().copied().filter(|site| meet(self.of(*site), of)).collect();
                    let [site] = given[..] else {
                        let names = self.locks.names(of);
                        let what = if given.is_empty() { "is not held" } else { "may be one of several" };
                        errors
                            .insert(format!("{}: a lock of {names} is given back that {what}", self.describe(address)));
                        continue;
                    };
                    held.remove(&site);
                    end(site, number);
                }
            }
        }
        held
    }

    pub fn of(&self, site: Site) -> Family {
        let (Event::Take { of, .. } | Event::Give { of, .. }) = self.events[&site.0][site.1];
        of
    }

    pub fn place(&self, site: Site) -> String {
        let (Event::Take { address, .. } | Event::Give { address, .. }) = self.events[&site.0][site.1];
        self.describe(address)
    }

    fn describe(&self, address: u64) -> String {
        self.kernel.lifter.program().describe(address)
    }
}
