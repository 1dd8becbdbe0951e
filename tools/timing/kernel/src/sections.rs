//! What waits for locks add, for any number of processors.
//!
//! Locks are handed on in turn: whoever draws a ticket comes after one section of each other processor at most. In such a
//! section others may be waited for, of locks that are taken in it; those are known first, as the order of locks allows no
//! circle. A circle gives no number.

use std::collections::BTreeMap;

use crate::bound::Analysed;
use crate::kernel::Kernel;
use crate::locks::{Family, Section, Taken};

/// The longest sections of all regions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sections {
    all: BTreeMap<(Family, Taken), Section>,
    families: usize,
}

impl Sections {
    /// None if locks are not described, or nobody knows what a region does with them.
    pub fn new(kernel: &Kernel<'_>, regions: &[Analysed]) -> Option<Sections> {
        let families = kernel.locks.as_ref()?.len();
        let mut all: BTreeMap<(Family, Taken), Section> = BTreeMap::new();
        for region in regions {
            for (kind, section) in &region.holding.as_ref()?.sections {
                let longest = all.entry(kind.clone()).or_default();
                if section.cycles > longest.cycles {
                    *longest = section.clone();
                }
            }
        }
        Some(Sections { all, families })
    }

    /// The longest section of a family, waits in it apart.
    pub fn longest(&self, family: usize) -> Option<&Section> {
        let of = self.all.iter().filter(|(((first, last), _), _)| (*first..=*last).contains(&family));
        of.map(|(_, section)| section).max()
    }

    /// How long a lock of each family is held at most, with the waits of whoever holds it; None if a lock is taken while one
    /// of its own family is held, by way of others or not.
    pub fn held(&self, processors: u64) -> Option<Vec<u64>> {
        let mut held: Vec<Option<u64>> = vec![None; self.families];
        // One family at least is known after each round, or none ever will.
        for _ in 0..self.families {
            for family in 0..self.families {
                let of = self.all.iter().filter(|(((first, last), _), _)| (*first..=*last).contains(&family));
                let with_waits = of
                    .map(|((_, taken), section)| Some(section.cycles.saturating_add(wait(&held, taken, processors)?)));
                if held[family].is_none() {
                    held[family] =
                        with_waits.collect::<Option<Vec<u64>>>().map(|all| all.into_iter().max().unwrap_or(0));
                }
            }
        }
        held.into_iter().collect()
    }

    /// What a region waits for locks at most that it takes so often.
    pub fn wait(&self, taken: &Taken, processors: u64) -> Option<u64> {
        wait(&self.held(processors)?.into_iter().map(Some).collect::<Vec<_>>(), taken, processors)
    }
}

fn wait(held: &[Option<u64>], taken: &Taken, processors: u64) -> Option<u64> {
    taken.iter().try_fold(0u64, |sum, ((first, last), count)| {
        let longest = held[*first..=*last].iter().copied().collect::<Option<Vec<u64>>>()?.into_iter().max()?;
        let others = processors.saturating_sub(1);
        Some(sum.saturating_add(count.saturating_mul(others).saturating_mul(longest)))
    })
}
