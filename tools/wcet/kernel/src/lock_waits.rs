//! What waits for locks add to a bound, for any number of processors.
//!
//! Ticket locks are FIFO: a processor that draws a ticket waits for one critical section of each other processor at most.
//! Such a section may wait for further locks that are taken in it. A waiting processor does nothing else: of those that
//! wait for the same lock, the first to get it may be delayed in its section only by processors that do not wait there, the
//! next also by the one that has been before it, and so on. With so many processors free to get in the way, in a section
//!
//!   C(x, free) = len(x) + sum over the locks l taken in x of W(l, free),
//!   W(l, n) = C(x, 0) + C(x, 1) + ... + C(x, n - 1), each of the section x of l that is the longest then:
//!
//! all n wait for l, and the one that gets it as number i + 1 can be delayed by the i before it. If fewer wait there, more are
//! free, but that is less in sum: W(l, n) with k of them is the sum of the last k terms. It gives a number only if the locks
//! are taken in one order: a cycle would be a deadlock.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysed::Analysed;
use crate::critical_sections::{longest, Holding, Section, Taken};
use crate::kernel::Kernel;
use crate::lock_paths::Paths;
use crate::locks::{Family, Locks};
use crate::response::{Costs, Handler, Order, Question};

/// The longest sections of all regions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sections {
    all: BTreeMap<(Family, Taken), Section>,
    families: usize,
}

/// Waits for locks among so many processors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locking {
    pub processors: u64,
    /// Families of locks that regions take.
    pub locks: Vec<Waited>,
    /// Of each region, by its index in the kernel.
    pub regions: Vec<u64>,
    /// Of all regions that a response is made of; None if there is no response.
    pub response_cycles: Option<u64>,
    /// The same among fewer processors.
    pub fewer: Vec<(u64, u64)>,
}

/// A family of locks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waited {
    pub family: usize,
    /// The longest section, waits in it apart.
    pub section: Section,
    /// How long one is held at most while another processor waits for it, including the waits of its holder.
    pub held_cycles: u64,
    /// How long taking one waits: a section of each other processor.
    pub wait_cycles: u64,
    /// Sections in which others are taken, the longest of each kind: which and how often.
    pub around: Vec<(Taken, Section)>,
}

impl Sections {
    /// Why it is unknown what some region does with locks.
    pub fn new(locks: &Locks, regions: &[Analysed]) -> Result<Sections, Vec<String>> {
        let mut all: BTreeMap<(Family, Taken), Section> = BTreeMap::new();
        let mut reasons: BTreeSet<String> = BTreeSet::new();
        for region in regions {
            match &region.holding {
                Some(holding) => {
                    for (kind, section) in &holding.sections {
                        longest(&mut all, kind.clone(), section.clone());
                    }
                }
                None => reasons.extend(region.unknown_locks.iter().chain(&region.errors).cloned()),
            }
        }
        if regions.iter().any(|region| region.holding.is_none()) {
            return Err(reasons.into_iter().collect());
        }
        Ok(Sections::of_kinds(all, locks.len()))
    }

    /// Of so many families: the longest section of each, by what is taken in it.
    pub fn of_kinds(all: BTreeMap<(Family, Taken), Section>, families: usize) -> Sections {
        Sections { all, families }
    }

    /// The longest section of a family, waits in it apart; it names what is waited for in any of them.
    pub fn longest(&self, family: usize) -> Option<Section> {
        let longest = self.of(family).map(|(_, section)| section).max()?;
        let waits = self.of(family).flat_map(|(_, section)| section.waits.iter().cloned()).collect();
        Some(Section { waits, ..longest.clone() })
    }

    fn of(&self, family: usize) -> impl Iterator<Item = (&Taken, &Section)> {
        let of = self.all.iter().filter(move |(((first, last), _), _)| (*first..=*last).contains(&family));
        of.map(|((_, taken), section)| (taken, section))
    }

    /// How long a lock of each family is held at most while another processor waits for it, including the waits of its holder;
    /// or families of which one is taken while one of the next is held, in a circle.
    pub fn held(&self, processors: u64) -> Result<Vec<u64>, Vec<usize>> {
        // Neither who waits nor who holds the lock comes before the latter elsewhere.
        Ok(self.with_waits(&self.one_wait(processors.saturating_sub(1))?))
    }

    /// How long taking a lock of each family waits at most among so many processors; or such a circle.
    pub fn one_wait(&self, processors: u64) -> Result<Vec<u64>, Vec<usize>> {
        self.ordered()?;
        let one_more = |waits: Vec<u64>, _| -> Vec<u64> {
            let held = self.with_waits(&waits);
            waits.iter().zip(held).map(|(wait, held)| wait.saturating_add(held)).collect()
        };
        Ok((1..processors).fold(vec![0; self.families], one_more))
    }

    /// The sections of each family when taking others waits so long.
    fn with_waits(&self, waits: &[u64]) -> Vec<u64> {
        let of = |(taken, section): (&Taken, &Section)| section.cycles.saturating_add(wait(waits, taken));
        (0..self.families).map(|family| self.of(family).map(of).max().unwrap_or(0)).collect()
    }

    /// That no family is taken while one of it is held, by way of others or not; else such a circle.
    fn ordered(&self) -> Result<(), Vec<usize>> {
        let mut known = vec![false; self.families];
        // One family at least comes after those known in each round, or none ever will.
        for _ in 0..self.families {
            for family in 0..self.families {
                let mut inner = self.of(family).flat_map(|(taken, _)| taken.keys());
                known[family] |= inner.all(|(first, last)| known[*first..=*last].iter().all(|known| *known));
            }
        }
        if known.contains(&false) {
            return Err(self.circle(&known));
        }
        Ok(())
    }

    /// In each of the families that are not known another of them is taken: following that comes back.
    fn circle(&self, known: &[bool]) -> Vec<usize> {
        let mut way: Vec<usize> = known.iter().position(|known| !known).into_iter().collect();
        while let Some(last) = way.last() {
            let inner = self.of(*last).flat_map(|(taken, _)| taken.keys()).flat_map(|(first, last)| *first..=*last);
            let Some(next) = inner.into_iter().find(|family| !known[*family]) else { break };
            if let Some(place) = way.iter().position(|family| *family == next) {
                return way.split_off(place);
            }
            way.push(next);
        }
        way
    }

    /// What each region waits for locks at most.
    fn waits(&self, regions: &[Analysed], processors: u64) -> Option<Vec<u64>> {
        let waits = self.one_wait(processors).ok()?;
        let of = |holding: &Holding| least(&waits, &holding.taken, &holding.paths);
        regions.iter().map(|region| Some(of(region.holding.as_ref()?))).collect()
    }

    /// What a region waits for locks at most that it takes so often.
    pub fn wait(&self, taken: &Taken, processors: u64) -> Option<u64> {
        Some(wait(&self.one_wait(processors).ok()?, taken))
    }
}

/// What is waited for locks that are taken so often, if taking one of each family waits so long.
fn wait(waits: &[u64], taken: &Taken) -> u64 {
    taken.iter().fold(0u64, |sum, ((first, last), count)| {
        let longest = waits[*first..=*last].iter().copied().max().unwrap_or(0);
        sum.saturating_add(count.saturating_mul(longest))
    })
}

/// What a region waits that takes so many locks in all, and these on its paths.
fn least(waits: &[u64], taken: &Taken, paths: &Paths) -> u64 {
    wait(waits, taken).min(paths.most(|taken| wait(waits, taken)))
}

/// Numbers of processors that are told besides, if the kernel is made for more.
const FEWER: [u64; 2] = [2, 4];

/// The waits of a kernel whose description says where locks are, or why they are not known.
pub fn locking(kernel: &Kernel<'_>, regions: &[Analysed]) -> Option<Result<Locking, Vec<String>>> {
    let locks = kernel.locks.as_ref()?;
    Some(Sections::new(locks, regions).and_then(|sections| of_kernel(kernel, locks, &sections, regions)))
}

fn of_kernel(
    kernel: &Kernel<'_>,
    locks: &Locks,
    sections: &Sections,
    regions: &[Analysed],
) -> Result<Locking, Vec<String>> {
    let processors = locks.processors;
    let held = sections.held(processors).map_err(|circle| {
        let names: Vec<&str> = circle.iter().chain(circle.first()).map(|family| locks.name(*family)).collect();
        vec![format!("locks are taken in a circle, each while one of the next is held: {}", names.join(" < "))]
    })?;
    let unknown = || vec!["how often a region takes locks is not known".to_string()];
    let wait = sections.one_wait(processors).map_err(|_| unknown())?;
    let waited = (0..locks.len()).filter_map(|family| {
        let (held_cycles, wait_cycles) = (held[family], wait[family]);
        let around = sections.of(family).filter(|(taken, _)| !taken.is_empty());
        let around = around.map(|(taken, section)| (taken.clone(), section.clone())).collect();
        Some(Waited { family, section: sections.longest(family)?, held_cycles, wait_cycles, around })
    });
    let waits = sections.waits(regions, processors).ok_or_else(unknown)?;
    let fewer = FEWER.iter().filter(|fewer| **fewer < processors);
    let fewer = fewer.filter_map(|fewer| Some((*fewer, of_response(kernel, sections, regions, *fewer)?)));
    Ok(Locking {
        processors,
        locks: waited.collect(),
        response_cycles: of_response(kernel, sections, regions, processors),
        regions: waits,
        fewer: fewer.collect(),
    })
}

/// What regions wait for locks at most, among so many processors.
pub(crate) struct Waits<'a> {
    regions: &'a [Analysed],
    all: Vec<u64>,
    one: Vec<u64>,
}

impl<'a> Waits<'a> {
    /// None if locks are taken in a circle, or it is not known how often.
    pub fn new(sections: &Sections, regions: &'a [Analysed], processors: u64) -> Option<Waits<'a>> {
        let (one, all) = (sections.one_wait(processors).ok()?, sections.waits(regions, processors)?);
        Some(Waits { regions, all, one })
    }
}

impl Costs for Waits<'_> {
    fn all(&self, region: usize) -> Option<u64> {
        self.all.get(region).copied()
    }

    /// Where a region asks whether an interrupt waits it has waited for no more locks than in all.
    fn asking(&self, region: usize) -> Option<u64> {
        self.all(region)
    }

    /// Nor where it enters a guest.
    fn entering(&self, region: usize) -> Option<u64> {
        self.all(region)
    }

    fn serving(&self, region: usize, interrupt: usize) -> Option<u64> {
        let apart = self.regions[region].serving.get(&interrupt);
        apart.map(|serving| least(&self.one, &serving.taken, &serving.paths)).or(self.all(region))
    }

    fn unserved(&self, region: usize) -> Option<u64> {
        let apart = self.regions[region].unserved.as_ref();
        apart.map(|unserved| least(&self.one, &unserved.taken, &unserved.paths)).or(self.all(region))
    }

    fn told(&self, region: usize) -> Option<u64> {
        let apart = self.regions[region].told.as_ref();
        apart.map(|told| least(&self.one, &told.taken, &told.paths)).or(self.all(region))
    }

    /// No more than if it did not switch.
    fn deciding(&self, region: usize) -> Option<u64> {
        self.unserved(region)
    }
}

/// The waits of all that a response is made of; None if there is no response.
fn of_response(kernel: &Kernel<'_>, sections: &Sections, regions: &[Analysed], processors: u64) -> Option<u64> {
    let order = Order::with_end(kernel, regions)?;
    let question = Question { interrupt: None, handler: &Handler::Any, within: None };
    Some(order.costliest(&Waits::new(sections, regions, processors)?, &question)?.cycles())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The family, what is taken in the section, its cycles.
    type Row<'a> = (Family, &'a [(Family, u64)], u64);

    fn sections(all: &[Row<'_>]) -> Sections {
        let section = |cycles| Section { cycles, ..Section::default() };
        let one = |(family, taken, cycles): &Row<'_>| ((*family, taken.iter().copied().collect()), section(*cycles));
        Sections { all: all.iter().map(one).collect(), families: 3 }
    }

    #[test]
    fn what_is_waited_for_in_a_section_is_part_of_it() {
        let all = sections(&[((0, 0), &[], 10), ((1, 1), &[((0, 0), 2)], 100), ((1, 1), &[], 130)]);
        assert_eq!(all.held(1), Ok(vec![10, 130, 0]));
        // Of two processors, the one that waits delays no other.
        assert_eq!(all.held(2), Ok(vec![10, 130, 0]));
        assert_eq!(all.held(5), Ok(vec![10, 100 + 2 * 3 * 10, 0]));
        // The first of four that wait for the outer lock is alone in its section, and the fourth can be delayed by three.
        assert_eq!(all.one_wait(5), Ok(vec![40, 130 + 130 + 140 + 160, 0]));
        assert_eq!(all.longest(1).map(|one| one.cycles), Some(130));
        assert_eq!(all.wait(&[((1, 1), 3)].into(), 5), Some(3 * 560));
        // One less at each lock further in.
        let deep = sections(&[((0, 0), &[], 1), ((1, 1), &[((0, 0), 1)], 10), ((2, 2), &[((1, 1), 1)], 100)]);
        assert_eq!(deep.held(5), Ok(vec![1, 10 + 3, 100 + 10 + 11 + 12]));
        // One that may be of several families is held as long as the longest of them, and makes all of them so long.
        assert_eq!(all.wait(&[((0, 1), 1)].into(), 2), Some(130));
        assert_eq!(sections(&[((0, 1), &[], 7)]).held(2), Ok(vec![7, 7, 0]));
    }

    #[test]
    fn a_circle_has_no_number() {
        let circle =
            [((1, 1), &[((2, 2), 1)][..], 1), ((2, 2), &[((1, 1), 1)][..], 1), ((0, 0), &[((1, 1), 1)][..], 1)];
        assert_eq!(sections(&circle).held(2), Err(vec![1, 2]));
        assert_eq!(sections(&[((0, 0), &[((0, 0), 1)], 1)]).held(2), Err(vec![0]));
    }
}
