//! Critical sections of a region: how often it takes each lock, and how long it holds it.
//!
//! A *section* goes from where a ticket is drawn to where that lock is released, with the nodes of both as a whole: its bound
//! uses the costs of its region, in which nothing is known of the caches at the beginning. So a section's bound holds
//! wherever the region comes from.

use std::collections::{BTreeMap, BTreeSet};

use wcet_flow::context::{EdgeId, Expanded, NodeId};
use wcet_paths::ipet::{Constraints, Prepared};
use wcet_values::Values;

use crate::description::Whom;
use crate::held_locks::{Extent, Held, Site};
use crate::kernel::Kernel;
use crate::lock_paths::Paths;
use crate::locks::{Event, Family};

/// Sections of families, in which locks of others are taken so often at most.
pub type Taken = BTreeMap<Family, u64>;

/// How long a lock is held, waits in it apart, and which instruction takes it.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Section {
    pub cycles: u64,
    /// The function and the distance of the instruction in it.
    pub place: String,
    /// Functions in which it waits for others than those who hold locks: that time is not counted.
    pub waits: BTreeSet<String>,
}

/// What a region does with locks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holding {
    /// How often it takes locks at most.
    pub taken: Taken,
    /// Which of them on one path.
    pub paths: Paths,
    /// The longest of its sections of each kind.
    pub sections: BTreeMap<(Family, Taken), Section>,
}

impl Holding {
    /// One way or the other.
    pub(crate) fn or(mut self, other: Holding) -> Holding {
        for (family, count) in &other.taken {
            let all = self.taken.entry(*family).or_default();
            *all = (*all).max(*count);
        }
        self.paths = std::mem::take(&mut self.paths).or(other.paths.clone());
        self.with(other)
    }

    /// One after the other.
    pub(crate) fn then(mut self, other: Holding) -> Holding {
        for (family, count) in &other.taken {
            let all = self.taken.entry(*family).or_default();
            *all = all.saturating_add(*count);
        }
        self.paths = std::mem::take(&mut self.paths).then(other.paths.clone());
        self.with(other)
    }

    fn with(mut self, other: Holding) -> Holding {
        other.sections.into_iter().for_each(|(kind, section)| longest(&mut self.sections, kind, section));
        self
    }
}

/// Keeps the longest of each kind.
pub(crate) fn longest(sections: &mut BTreeMap<(Family, Taken), Section>, kind: (Family, Taken), section: Section) {
    let known = sections.entry(kind).or_default();
    let waits = &known.waits | &section.waits;
    if section.cycles > known.cycles {
        *known = section;
    }
    known.waits = waits;
}

/// Everything that a graph does with locks; errors name places.
pub(crate) fn holding(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    values: &Values,
    prepared: &Prepared<'_, '_>,
    constraints: &Constraints,
) -> Result<Holding, Vec<String>> {
    let Some(locks) = &kernel.locks else { return Ok(Holding::default()) };
    let live = crate::loops::reached(expanded, &constraints.dead);
    let mut events: BTreeMap<NodeId, Vec<Event>> = BTreeMap::new();
    for node in expanded.order().filter(|node| live[*node] && values.reached(*node)) {
        let found = locks.events(expanded, values, node).map_err(|error| vec![error])?;
        if !found.is_empty() {
            events.insert(node, found);
        }
    }
    if events.is_empty() {
        return Ok(Holding::default());
    }
    let held = Held { kernel, locks, expanded, dead: &constraints.dead, events: &events };
    let extents = held.extents()?;
    let mut holding = Holding::default();
    let all: BTreeSet<Family> = extents.keys().map(|site| held.of(*site)).collect();
    for family in all {
        let weight = |node: NodeId| events.get(&node).map_or(0, |events| takes(events, family));
        let most = prepared.heaviest(constraints, weight).ok().flatten();
        let unknown = || vec![format!("how often locks of {} are taken is not known", locks.names(family))];
        holding.taken.insert(family, most.ok_or_else(unknown)?);
    }
    holding.paths = Paths::new(expanded, &constraints.dead, &taken_by_node(&events), &holding.taken);
    for (site, extent) in &extents {
        let place = held.place(*site);
        let (taken, cycles) = section(expanded, prepared, constraints, &events, *site, extent)
            .ok_or_else(|| vec![format!("{place}: the section of the lock that is taken here has no bound")])?;
        let waits = waits(kernel, expanded, *site, extent);
        longest(&mut holding.sections, (held.of(*site), taken), Section { cycles, place, waits });
    }
    Ok(holding)
}

fn taken_by_node(events: &BTreeMap<NodeId, Vec<Event>>) -> BTreeMap<NodeId, Taken> {
    let mut found: BTreeMap<NodeId, Taken> = BTreeMap::new();
    for (node, events) in events {
        for event in events {
            if let Event::Take { of, .. } = event {
                *found.entry(*node).or_default().entry(*of).or_default() += 1;
            }
        }
    }
    found
}

/// How often locks are taken at most where some edges are left out besides: of those that are taken nowhere then, never.
pub(crate) fn taken_without(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    values: &Values,
    constraints: &Constraints,
    left_out: &BTreeSet<EdgeId>,
    taken: &Taken,
) -> (Taken, Paths) {
    let Some(locks) = &kernel.locks else { return (taken.clone(), Paths::default()) };
    let left_out = &constraints.dead | left_out;
    let live = crate::loops::reached(expanded, &left_out);
    let mut events: BTreeMap<NodeId, Vec<Event>> = BTreeMap::new();
    for node in expanded.order().filter(|node| live[*node] && values.reached(*node)) {
        events.insert(node, locks.events(expanded, values, node).unwrap_or_default());
    }
    let by_node = taken_by_node(&events);
    let somewhere: BTreeSet<Family> = by_node.values().flat_map(|taken| taken.keys().copied()).collect();
    let taken = taken.iter().filter(|(family, _)| somewhere.contains(family));
    let taken: Taken = taken.map(|(family, count)| (*family, *count)).collect();
    let paths = Paths::new(expanded, &left_out, &by_node, &taken);
    (taken, paths)
}

fn takes(events: &[Event], family: Family) -> u64 {
    events.iter().filter(|event| matches!(event, Event::Take { of, .. } if *of == family)).count() as u64
}

/// Locks taken in a section, and how long it lasts without waits for them.
fn section(
    expanded: &Expanded<'_>,
    prepared: &Prepared<'_, '_>,
    constraints: &Constraints,
    events: &BTreeMap<NodeId, Vec<Event>>,
    site: Site,
    extent: &Extent,
) -> Option<(Taken, u64)> {
    let ends: BTreeSet<NodeId> = extent.ends.keys().copied().collect();
    let stretch = prepared.stretch(site.0, &extent.edges, &ends, &constraints.totals)?;
    let goes_on: BTreeSet<NodeId> = extent.edges.iter().map(|edge| expanded.edges[*edge].from).collect();
    let within = |node: NodeId| -> &[Event] {
        let Some(events) = events.get(&node) else { return &[] };
        let from = if node == site.0 { site.1 + 1 } else { 0 };
        let end = extent.ends.get(&node).filter(|_| !goes_on.contains(&node));
        let to = end.map_or(events.len(), |end| (*end).min(events.len()));
        // Where it ends before the place where it began, it came round a loop: then all of the block counts.
        events.get(from..to).unwrap_or(events)
    };
    let inner: BTreeSet<Family> = nodes(expanded, site, extent)
        .flat_map(|node| within(node).iter())
        .filter_map(|event| match event {
            Event::Take { of, .. } => Some(*of),
            Event::Give { .. } => None,
        })
        .collect();
    let mut taken = Taken::new();
    for family in inner {
        taken.insert(family, stretch.heaviest(|node| takes(within(node), family))?);
    }
    Some((taken, stretch.cycles()?))
}

fn nodes<'a>(expanded: &'a Expanded<'_>, site: Site, extent: &'a Extent) -> impl Iterator<Item = NodeId> + 'a {
    std::iter::once(site.0).chain(extent.edges.iter().map(|edge| expanded.edges[*edge].to))
}

/// Functions in which a section waits for others, those who hold locks apart.
fn waits(kernel: &Kernel<'_>, expanded: &Expanded<'_>, site: Site, extent: &Extent) -> BTreeSet<String> {
    let functions = nodes(expanded, site, extent).map(|node| expanded.contexts[expanded.nodes[node].context].function);
    let others = functions.filter(|one| kernel.waits.get(one).is_some_and(|(whom, _)| *whom != Whom::Lock));
    others.map(|function| kernel.lifter.program().describe(function)).collect()
}
