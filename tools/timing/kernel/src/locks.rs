//! Which locks a region takes, and how long it holds them.
//!
//! A lock is drawn for by an exchange-and-add on the first half of its tickets, and given back by a store to the second: both
//! are told by the addresses that the values of the region give. Where they give no numbers, but how the address is computed,
//! it is taken for one of the family of locks that begins with the constant in it. Other exchanges-and-add draw for any lock;
//! other stores give none back, so that a lock stays held which the end of the region then complains of.
//!
//! At each node the locks held are a stack, the same on all paths to it. A *section* goes from where a ticket is drawn to where
//! that lock is given back, with the nodes of both as a whole: it is priced with the costs of its region, in which nothing is
//! known of the caches at the beginning. So a section's bound holds wherever the region comes from.

use std::collections::{BTreeMap, BTreeSet};

use timing_cache::Target;
use timing_context::{EdgeId, Expanded, NodeId};
use timing_solve::{Constraints, Prepared, Total};
use timing_values::{Element, Values};

use crate::description::{Count, Description};
use crate::error::Error;
use crate::kernel::Kernel;
use crate::points::End;

/// Where the tickets of locks are, and families of locks by their first number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locks {
    first: u64,
    bytes: u64,
    count: u64,
    families: Vec<(u64, String)>,
}

/// Families to one of which a lock belongs, first and last.
pub type Family = (usize, usize);

/// Sections of one family, in which certain locks are taken so often at most.
pub type Taken = BTreeMap<Family, u64>;

/// How long a lock is held, waits in it apart, and where that begins.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Section {
    pub cycles: u64,
    pub place: String,
}

/// What a region does with locks.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Holding {
    /// How often it takes locks at most.
    pub taken: Taken,
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
        self.with(other)
    }

    /// One after the other.
    pub(crate) fn then(mut self, other: Holding) -> Holding {
        for (family, count) in &other.taken {
            let all = self.taken.entry(*family).or_default();
            *all = all.saturating_add(*count);
        }
        self.with(other)
    }

    fn with(mut self, other: Holding) -> Holding {
        other.sections.into_iter().for_each(|(kind, section)| self.add(kind, section));
        self
    }

    fn add(&mut self, kind: (Family, Taken), section: Section) {
        let longest = self.sections.entry(kind).or_default();
        if section.cycles > longest.cycles {
            *longest = section;
        }
    }
}

/// Which lock it may be.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Lock {
    /// Its number, first and last.
    numbers: (u64, u64),
    /// How its number is computed, where it is not known: what the same computation gives is the same lock.
    form: Option<Element>,
}

/// An instruction that takes or gives a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Event {
    Take(Lock),
    Give(Lock),
}

/// Where a lock is taken: the node, and which of its events.
type Site = (NodeId, usize);

/// A lock that is held.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Held {
    lock: Lock,
    sites: BTreeSet<Site>,
}

/// What belongs to one section.
#[derive(Debug, Default)]
struct Extent {
    edges: BTreeSet<EdgeId>,
    /// Nodes where the lock is given back, and by which of their events.
    ends: BTreeMap<NodeId, usize>,
}

impl Locks {
    pub(crate) fn new(program: &timing_load::Program, description: &Description) -> Result<Option<Locks>, Error> {
        let Some(locks) = &description.locks else { return Ok(None) };
        let symbol = program.symbol(&locks.symbol);
        let missing = || Error::NoSymbol { symbol: locks.symbol.clone(), part: "the tickets of locks" };
        let symbol = symbol.ok_or_else(missing)?;
        let mut families: Vec<(u64, String)> =
            locks.numbers.iter().map(|(name, number)| (*number, name.clone())).collect();
        families.sort();
        let count = match locks.count {
            Count::Number(count) => count,
            Count::Name(_) => 0,
        };
        let fits = locks.bytes > 1 && count.checked_mul(locks.bytes).is_some_and(|bytes| bytes <= symbol.size);
        if !fits || families.first().is_none_or(|(first, _)| *first != 0) {
            let what = format!("hold the tickets of {count} locks with numbers from 0 on");
            return Err(Error::NotSo { function: locks.symbol.clone(), what });
        }
        Ok(Some(Locks { first: symbol.address, bytes: locks.bytes, count, families }))
    }

    /// How many families there are.
    pub fn len(&self) -> usize {
        self.families.len()
    }

    pub fn is_empty(&self) -> bool {
        self.families.is_empty()
    }

    /// The name of a family, which for more than one lock says how many.
    pub fn name(&self, family: usize) -> String {
        let (first, name) = &self.families[family];
        let end = self.families.get(family + 1).map_or(self.count, |(next, _)| *next);
        if end - first > 1 {
            format!("{name} ({} locks)", end - first)
        } else {
            name.clone()
        }
    }

    fn family(&self, lock: &Lock) -> Family {
        let of = |number: u64| self.families.partition_point(|(first, _)| *first <= number).saturating_sub(1);
        (of(lock.numbers.0), of(lock.numbers.1))
    }

    /// What instructions of a node do with locks, in order.
    fn events(&self, expanded: &Expanded<'_>, values: &Values, node: NodeId) -> Result<Vec<Event>, String> {
        let (mut events, mut number) = (Vec::new(), 0);
        for instruction in expanded.instructions(node) {
            let draws = instruction.mnemonic.contains("xadd");
            for access in &instruction.accesses {
                let target = values.targets(node).get(number).copied();
                let name = values.names(node).get(number).copied().flatten();
                number += 1;
                if !access.write {
                    continue;
                }
                let bytes = match target {
                    Some(Target::At(address)) => Some((address, address)),
                    Some(Target::Within(first, last)) => {
                        Some((first, last.saturating_sub(u64::from(access.size.max(1)) - 1).max(first)))
                    }
                    Some(Target::Stack(..) | Target::OnPage { .. }) => continue,
                    _ => None,
                };
                let form = name.and_then(|name| values.element(&name, self.first, self.bytes / 2));
                let half = match bytes.map_or(Where::Unknown, |(first, last)| self.tickets(first, last)) {
                    Where::Elsewhere => None,
                    Where::Of(numbers, rest) => {
                        let form = form.map(|form| Element { number: form.number / 2, ..form });
                        Some((Lock { numbers, form }, rest))
                    }
                    Where::Unknown => form.and_then(|form| self.computed(form)),
                };
                match half {
                    Some((lock, 0)) if draws => events.push(Event::Take(lock)),
                    Some((lock, rest)) if !draws && rest == self.bytes / 2 => events.push(Event::Give(lock)),
                    None if draws && bytes.is_some() => {}
                    _ if draws => events.push(Event::Take(Lock { numbers: (0, self.count - 1), form: None })),
                    Some((_, 0)) => {
                        return Err(format!("{}: changes the ticket that is drawn next", expanded.place(node)));
                    }
                    _ => {}
                }
            }
        }
        Ok(events)
    }

    /// Which locks have tickets at these addresses, the first and the last, and how far behind a lock's first byte the first
    /// is.
    fn tickets(&self, first: u64, last: u64) -> Where {
        let end = self.first + self.bytes * self.count;
        if last < self.first || first >= end {
            return Where::Elsewhere;
        }
        if first < self.first || last >= end || last < first {
            return Where::Unknown;
        }
        let (from, to) = (first - self.first, last - self.first);
        Where::Of((from / self.bytes, to / self.bytes), from % self.bytes)
    }

    /// The lock of a number that is computed from what nobody knows: one of the family that begins with the number added.
    fn computed(&self, form: Element) -> Option<(Lock, u64)> {
        if form.parts.iter().any(|(_, factor)| factor % 2 != 0) {
            return None;
        }
        let (number, half) = (u64::from(form.number / 2), u64::from(form.number % 2));
        let family = self.families.iter().position(|(first, _)| *first == number).filter(|family| *family > 0)?;
        let end = self.families.get(family + 1).map_or(self.count, |(next, _)| *next);
        let form = Element { number: form.number / 2, ..form };
        Some((Lock { numbers: (number, end - 1), form: Some(form) }, half * (self.bytes / 2)))
    }
}

/// Where an access goes.
enum Where {
    Unknown,
    Elsewhere,
    /// To tickets of locks of these numbers, at this distance behind the lock's first byte.
    Of((u64, u64), u64),
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
    let extents = extents(kernel, expanded, &constraints.dead, &events)?;
    let take = |site: &Site| match &events[&site.0][site.1] {
        Event::Take(lock) | Event::Give(lock) => locks.family(lock),
    };
    let mut holding = Holding::default();
    let all: BTreeSet<Family> = extents.keys().map(take).collect();
    let takes = |events: &[Event], family: Family| {
        let of = |event: &&Event| matches!(event, Event::Take(lock) if locks.family(lock) == family);
        events.iter().filter(of).count() as u64
    };
    for family in all {
        let weight = |node: NodeId| events.get(&node).map_or(0, |events| takes(events, family));
        let most = prepared.heaviest(constraints, weight).ok().flatten();
        holding.taken.insert(family, most.ok_or_else(|| vec!["nobody knows how often locks are taken".to_string()])?);
    }
    let totals: &[Total] = &constraints.totals;
    for (site, extent) in &extents {
        let (node, number) = *site;
        let ends: BTreeSet<NodeId> = extent.ends.keys().copied().collect();
        let place = expanded.place(node);
        let stretch = prepared.stretch(node, &extent.edges, &ends, totals);
        let open = || vec![format!("{place}: the section of the lock that is taken here has no bound")];
        let stretch = stretch.ok_or_else(open)?;
        // Locks that are taken within.
        let within = |node: NodeId| -> &[Event] {
            let Some(events) = events.get(&node) else { return &[] };
            let from = if node == site.0 { number + 1 } else { 0 };
            let to = extent.ends.get(&node).copied().unwrap_or(events.len());
            events.get(from..to).unwrap_or_default()
        };
        let targets = extent.edges.iter().map(|edge| expanded.edges[*edge].to);
        let inner: BTreeSet<Family> = std::iter::once(node)
            .chain(targets)
            .flat_map(|node| within(node).iter())
            .filter_map(|event| match event {
                Event::Take(lock) => Some(locks.family(lock)),
                Event::Give(_) => None,
            })
            .collect();
        let mut taken = Taken::new();
        for family in inner {
            taken.insert(family, stretch.heaviest(|node| takes(within(node), family)).ok_or_else(open)?);
        }
        let cycles = stretch.cycles().ok_or_else(open)?;
        holding.add((take(site), taken), Section { cycles, place });
    }
    Ok(holding)
}

/// Follows the locks held through the graph, and says what belongs to the section of each place where one is taken.
fn extents(
    kernel: &Kernel<'_>,
    expanded: &Expanded<'_>,
    dead: &BTreeSet<EdgeId>,
    events: &BTreeMap<NodeId, Vec<Event>>,
) -> Result<BTreeMap<Site, Extent>, Vec<String>> {
    let mut before: BTreeMap<NodeId, Vec<Held>> = BTreeMap::from([(expanded.entry, Vec::new())]);
    let mut open = BTreeSet::from([expanded.entry]);
    let ways = |node: NodeId| expanded.successors(node).iter().copied().filter(|edge| !dead.contains(edge));
    let none = Vec::new();
    while let Some(node) = open.pop_first() {
        let mut held = before[&node].clone();
        for (number, event) in events.get(&node).unwrap_or(&none).iter().enumerate() {
            step(&mut held, (node, number), event).map_err(|why| vec![format!("{}: {why}", expanded.place(node))])?;
        }
        for edge in ways(node) {
            let to = expanded.edges[edge].to;
            let changed = match before.get_mut(&to) {
                None => {
                    before.insert(to, held.clone());
                    true
                }
                Some(known) if known.len() != held.len() => {
                    let (one, other) = (known.len(), held.len());
                    let place = expanded.place(to);
                    return Err(vec![format!("{place}: {one} or {other} locks are held, depending on the path")]);
                }
                Some(known) => {
                    let mut changed = false;
                    for (known, held) in known.iter_mut().zip(&held) {
                        let (one, other) = (known.lock.numbers, held.lock.numbers);
                        let lock = Lock {
                            numbers: (one.0.min(other.0), one.1.max(other.1)),
                            form: known.lock.form.clone().filter(|form| Some(form) == held.lock.form.as_ref()),
                        };
                        changed |= lock != known.lock || !held.sites.is_subset(&known.sites);
                        known.lock = lock;
                        known.sites.extend(&held.sites);
                    }
                    changed
                }
            };
            if changed {
                open.insert(to);
            }
        }
    }
    let mut found: BTreeMap<Site, Extent> = BTreeMap::new();
    for (node, held) in &before {
        let mut held = held.clone();
        for (number, event) in events.get(node).unwrap_or(&none).iter().enumerate() {
            let given = step(&mut held, (*node, number), event).map_err(|why| vec![why])?;
            for site in given.into_iter().flat_map(|given| given.sites) {
                found.entry(site).or_default().ends.insert(*node, number);
            }
        }
        let sites: BTreeSet<Site> = held.iter().flat_map(|held| &held.sites).copied().collect();
        for site in &sites {
            found.entry(*site).or_default().edges.extend(ways(*node));
        }
        // Where the run ends nobody waits any more.
        let last = expanded.instructions(*node).last();
        let run = last.is_some_and(|last| kernel.points.ends.get(&last.address) == Some(&End::Run));
        let ends = expanded.exits.contains(node) || expanded.stops.contains_key(node);
        if ends && !run && !held.is_empty() {
            let site = sites.first().map_or_else(String::new, |site| expanded.place(site.0));
            let place = expanded.place(*node);
            return Err(vec![format!("{place}: the region ends, but a lock is held that {site} has taken")]);
        }
    }
    Ok(found)
}

/// What an instruction changes of the locks held; the one that it gives back. Which one that is, if numbers do not tell: the
/// one taken last.
fn step(held: &mut Vec<Held>, site: Site, event: &Event) -> Result<Option<Held>, String> {
    match event {
        Event::Take(lock) => {
            held.push(Held { lock: lock.clone(), sites: BTreeSet::from([site]) });
            Ok(None)
        }
        Event::Give(lock) => {
            let same = |held: &Held| {
                let one = |lock: &Lock| lock.numbers.0 == lock.numbers.1;
                held.lock.numbers == lock.numbers && (one(lock) || lock.form.is_some() && held.lock.form == lock.form)
            };
            let (of, to) = lock.numbers;
            let may = |held: &Held| held.lock.numbers.0 <= to && of <= held.lock.numbers.1;
            let last = held.iter().rposition(same).or_else(|| held.iter().rposition(may));
            Ok(Some(held.remove(last.ok_or("a lock is given back that is not held")?)))
        }
    }
}
