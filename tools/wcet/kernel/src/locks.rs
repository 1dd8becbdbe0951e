//! Where the locks of a kernel are, and which one an instruction takes or gives back.
//!
//! A lock is drawn for by an exchange-and-add on the first half of its tickets, and given back by a store to the second: both
//! are recognised by the addresses that the values of the region give. Where they give no numbers, but the function computes the
//! address from a constant (`base_address_analysis.rs`), it is a lock of the family that begins there. Other exchanges-and-add draw for
//! an unknown lock; other stores give none back, so that the lock stays held, which is reported where the region ends.

use std::collections::BTreeMap;

use wcet_binary::lift::il::Access;
use wcet_binary::lift::Lifter;
use wcet_flow::context::{Expanded, NodeId};
use wcet_flow::Graph;
use wcet_hardware::cache::Target;
use wcet_values::Values;

use crate::base_address::Form;
use crate::base_address_analysis::written;
use crate::description::{Count, Description};
use crate::error::Error;
use crate::points::lookup;

/// Where the tickets of locks are, and families of locks by their first number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Locks {
    first: u64,
    bytes: u64,
    count: u64,
    families: Vec<(u64, String)>,
    /// Processors for which the description wants waits.
    pub processors: u64,
    /// Which locks an instruction's access goes to, whatever the region, and to which half.
    places: BTreeMap<(u64, usize), Where>,
}

/// Families to one of which a lock belongs, first and last.
pub type Family = (usize, usize);

/// An instruction that takes or gives a lock of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Event {
    Take { of: Family, address: u64 },
    Give { of: Family, address: u64 },
}

/// Where an access goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Where {
    Unknown,
    Elsewhere,
    /// To tickets of locks of these families, at this distance behind the lock's first byte.
    Of(Family, u64),
}

impl Locks {
    pub(crate) fn new(lifter: &Lifter<'_>, description: &Description, graph: &Graph) -> Result<Option<Locks>, Error> {
        let Some(locks) = &description.locks else { return Ok(None) };
        let symbol = lifter.program().symbol(&locks.symbol);
        let missing = || Error::NoSymbol { symbol: locks.symbol.clone(), part: "the tickets of locks" };
        let symbol = symbol.ok_or_else(missing)?;
        let mut families: Vec<(u64, String)> =
            locks.numbers.iter().map(|(name, number)| (*number, name.clone())).collect();
        families.sort();
        let number = |count: &Count| match count {
            Count::Number(count) => *count,
            Count::Name(_) => 0,
        };
        let (count, processors) = (number(&locks.count), number(&locks.processors));
        let fits = locks.bytes > 1 && count.checked_mul(locks.bytes).is_some_and(|bytes| bytes <= symbol.size);
        let numbered = families.first().is_some_and(|(first, _)| *first == 0)
            && families.windows(2).all(|pair| pair[0].0 < pair[1].0)
            && families.last().is_some_and(|(last, _)| *last < count);
        if !fits || !numbered || processors == 0 {
            let what = format!(
                "hold the tickets of {count} locks with families of numbers from 0 on, for {processors} processors"
            );
            return Err(Error::NotSo { function: locks.symbol.clone(), what });
        }
        let (first, bytes) = (symbol.address, locks.bytes);
        let mut found = Locks { first, bytes, count, families, processors, places: BTreeMap::new() };
        let switch = lookup(lifter.program(), &description.switch.function, "the switch between threads")?;
        let all = written(graph, lifter.registers(), switch).into_iter();
        found.places = all.map(|(place, form)| (place, found.by_form(&form))).collect();
        Ok(Some(found))
    }

    /// How many families there are.
    pub fn len(&self) -> usize {
        self.families.len()
    }

    pub fn is_empty(&self) -> bool {
        self.families.is_empty()
    }

    /// The name of a family.
    pub fn name(&self, family: usize) -> &str {
        &self.families[family].1
    }

    /// The names of families to one of which a lock belongs.
    pub fn names(&self, (first, last): Family) -> String {
        self.families[first..=last].iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(" or ")
    }

    /// How many locks are of a family.
    pub fn members(&self, family: usize) -> u64 {
        let end = self.families.get(family + 1).map_or(self.count, |(next, _)| *next);
        end - self.families[family].0
    }

    fn family(&self, number: u64) -> usize {
        self.families.partition_point(|(first, _)| *first <= number).saturating_sub(1)
    }

    /// What instructions of a node do with locks, in order.
    pub(crate) fn events(&self, expanded: &Expanded<'_>, values: &Values, node: NodeId) -> Result<Vec<Event>, String> {
        let (mut events, mut number) = (Vec::new(), 0);
        for instruction in expanded.instructions(node) {
            let draws = instruction.mnemonic.contains("xadd");
            for (index, access) in instruction.accesses.iter().enumerate() {
                let target = values.targets(node).get(number).copied();
                number += 1;
                let address = instruction.address;
                let half = match (access.write, self.accessed(target, access, address, index)) {
                    (false, _) | (_, Where::Elsewhere) => continue,
                    (true, Where::Of(of, rest)) => Some((of, rest)),
                    (true, Where::Unknown) => None,
                };
                match half {
                    Some((of, 0)) if draws => events.push(Event::Take { of, address }),
                    Some((of, rest)) if !draws && rest == self.bytes / 2 => events.push(Event::Give { of, address }),
                    None if !draws => {}
                    None => return Err(format!("{}: which lock is taken here is not known", expanded.place(node))),
                    Some(_) => {
                        return Err(format!(
                            "{}: changes a lock's tickets otherwise than by turns",
                            expanded.place(node)
                        ));
                    }
                }
            }
        }
        Ok(events)
    }

    /// Where an access goes, by its values or else by how its function computes the address.
    fn accessed(&self, target: Option<Target>, access: &Access, address: u64, index: usize) -> Where {
        let bytes = match target {
            Some(Target::At(address)) => Some((address, address)),
            Some(Target::Within(first, last)) => {
                Some((first, last.saturating_sub(u64::from(access.size.max(1)) - 1).max(first)))
            }
            Some(Target::Stack(..) | Target::OnPage { .. }) => return Where::Elsewhere,
            _ => None,
        };
        let by_form = self.places.get(&(address, index)).copied();
        match (bytes.map_or(Where::Unknown, |(first, last)| self.tickets(first, last)), by_form) {
            (Where::Unknown, by_form) => by_form.unwrap_or(Where::Unknown),
            // A range of numbers that goes beyond the family that it begins in.
            (Where::Of((first, last), rest), Some(Where::Of(form, same)))
                if rest == same && first <= form.0 && form.1 <= last =>
            {
                Where::Of(form, rest)
            }
            (known, _) => known,
        }
    }

    /// Which locks have tickets at these addresses, the first and the last.
    fn tickets(&self, first: u64, last: u64) -> Where {
        let end = self.first + self.bytes * self.count;
        if last < self.first || first >= end {
            return Where::Elsewhere;
        }
        if first < self.first || last >= end || last < first {
            return Where::Unknown;
        }
        let (from, to) = (first - self.first, last - self.first);
        Where::Of((self.family(from / self.bytes), self.family(to / self.bytes)), from % self.bytes)
    }

    /// Locks whose number is a constant, or one plus an unknown number: of the family that begins with the constant, or if
    /// none does, of any from the one on in which it is.
    fn by_form(&self, form: &Form) -> Where {
        let Some(constants) = form.constants() else { return Where::Unknown };
        let mut all: Option<(Family, u64)> = None;
        for (constant, open) in constants {
            let Where::Of((family, _), rest) = self.tickets(constant, constant) else { return Where::Unknown };
            let number = (constant - self.first) / self.bytes;
            let begins = self.families[family].0 == number && self.members(family) > 1;
            let last = if open && !begins { self.len() - 1 } else { family };
            all = match all {
                None => Some(((family, last), rest)),
                Some(((first, end), known)) if known == rest => Some(((first.min(family), end.max(last)), rest)),
                Some(_) => return Where::Unknown,
            };
        }
        all.map_or(Where::Unknown, |(families, rest)| Where::Of(families, rest))
    }
}

/// Whether a lock may be of families of both.
pub(crate) fn meet(one: Family, other: Family) -> bool {
    one.0 <= other.1 && other.0 <= one.1
}
