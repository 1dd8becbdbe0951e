//! The response to an interrupt: which regions follow each other until its handler is in its program.
//!
//! * *Closed*: the interrupt arrives in a region. That may end where it asks whether an interrupt waits; the region behind,
//!   which is told so, asks no more, or there is no response. It may end in a switch; the thread that goes on then keeps
//!   interrupts out as well, until its own region ends. Threads go on wherever one has switched away: a switch leads to each of these
//!   places. It may end in the entry into a guest, which a pending interrupt leaves at once; the region behind the guest's exit
//!   then keeps interrupts out: that is told apart, as most systems run none. So if behind one of those places another switch is reached before a window, nothing says that there is an end to it, and
//!   there is no response ([`endless`] says where). If not, there is one switch between two windows.
//! * *Interrupt*: the region in which it is taken, up to the switch to the handler's thread. Where it is taken in a window, or
//!   ends a wait, what closes the window comes before that, a region of its own. The kernel may let in others that
//!   wait before it decides who runs; then the region behind that window follows, in which it must decide before the next one.
//! * *Handler*: that thread goes on, through windows of its own if it comes to some, until it is in its program. That the
//!   handler is the most important thread, and that no interrupt comes but this one, is what a response is about: nothing is
//!   served in the regions behind windows, and there is no switch to others.

use std::collections::{BTreeMap, BTreeSet};

use crate::analysed::Analysed;
use crate::call_chains::Chain;
use crate::continuations::Continuation;
use crate::kernel::Kernel;
use crate::points::End;
use crate::regions::Kind;
use crate::returns::Returning;

/// From the arrival of an interrupt to the first user instruction of its handler, without waits for others.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    /// Until interrupts are taken: a region, and that of a thread that gets the processor within.
    pub closed_cycles: u64,
    /// The interrupt itself, wherever it is taken, until the handler's thread is switched to.
    pub interrupt_cycles: u64,
    /// The handler's thread, until it is in its program.
    pub handler_cycles: u64,
    /// The region in which it arrives, and the one that a switch leads to.
    pub closed: Vec<usize>,
    /// The same where a guest is entered while the interrupt arrives, which it leaves at once, and those regions; None if no guest
    /// is entered. `closed_cycles` covers that only where it is known which calls are made.
    pub guest: Option<(u64, Vec<usize>)>,
    /// The one that closes the window in which it is taken, if it is.
    pub window: Option<usize>,
    /// The one in which it is served.
    pub served: usize,
    /// The one in which it is decided who runs, if that is another.
    pub decided: Option<usize>,
    /// Those of the handler's thread.
    pub handler: Vec<usize>,
    /// That thread's, if it comes to no window on its way.
    pub direct_cycles: u64,
}

impl Response {
    pub fn cycles(&self) -> u64 {
        self.closed_cycles.saturating_add(self.interrupt_cycles).saturating_add(self.handler_cycles)
    }
}

/// Regions that follow each other, and their time.
type Run = (u64, Vec<usize>);

/// What regions cost at most, by their number; None if that is not known.
pub(crate) trait Costs {
    fn all(&self, region: usize) -> Option<u64>;
    /// Up to where it asks whether an interrupt waits.
    fn asking(&self, region: usize) -> Option<u64>;
    /// Up to where it enters a guest.
    fn entering(&self, region: usize) -> Option<u64>;
    /// If these interrupts are served in it.
    fn serving(&self, region: usize, interrupt: usize) -> Option<u64>;
    /// If none is served in it.
    fn unserved(&self, region: usize) -> Option<u64>;
    /// If it begins with the answer that an interrupt waits.
    fn told(&self, region: usize) -> Option<u64>;
    /// If none is served in it, up to the switch to another thread; 0 if there is none.
    fn deciding(&self, region: usize) -> Option<u64>;
}

/// Cycles, waits apart.
struct Cycles<'a>(&'a [Analysed]);

impl Costs for Cycles<'_> {
    fn all(&self, region: usize) -> Option<u64> {
        self.0[region].wcet_cycles
    }

    fn asking(&self, region: usize) -> Option<u64> {
        Some(self.0[region].asking_cycles)
    }

    fn entering(&self, region: usize) -> Option<u64> {
        Some(self.0[region].entering_cycles)
    }

    fn serving(&self, region: usize, interrupt: usize) -> Option<u64> {
        let apart = self.0[region].serving.get(&interrupt).map(|serving| serving.wcet_cycles);
        apart.or(self.all(region))
    }

    fn unserved(&self, region: usize) -> Option<u64> {
        let apart = self.0[region].unserved.as_ref().map(|unserved| unserved.wcet_cycles);
        apart.or(self.all(region))
    }

    fn told(&self, region: usize) -> Option<u64> {
        let apart = self.0[region].told.as_ref().map(|told| told.wcet_cycles);
        apart.or(self.all(region))
    }

    fn deciding(&self, region: usize) -> Option<u64> {
        let apart = self.0[region].unserved.as_ref().map(|unserved| unserved.switch_cycles.unwrap_or(0));
        apart.or(self.all(region))
    }
}

/// Who waits for an interrupt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handler {
    /// The kernel does all that is to be done.
    Kernel,
    /// A thread that goes on in one of these regions.
    In(BTreeSet<usize>),
    /// Any thread.
    Any,
}

/// What a response is asked for: certain interrupts, by their number in the description, or any; and who waits.
pub(crate) struct Question<'a> {
    pub interrupt: Option<usize>,
    pub handler: &'a Handler,
    /// The regions that the processor can be in; any if that is not said.
    pub within: Option<&'a BTreeSet<usize>>,
}

/// What follows what.
pub(crate) struct Order<'a> {
    kernel: &'a Kernel<'a>,
    regions: &'a [Analysed],
    /// The regions behind the windows of each, where interrupts that wait are let in, and behind the places where they are
    /// asked for; None for one that is not known.
    behind: Vec<Vec<Next>>,
    /// Those behind the guests that each enters.
    guests: Vec<Vec<Next>>,
    /// The same if no interrupt is served in it.
    unserved: Vec<Vec<Next>>,
    /// Those that follow the service of an interrupt before it is decided who runs.
    undecided: Vec<Vec<Next>>,
    /// The same of certain interrupts, by their number in the description, where something is known of them apart.
    undecided_of: Vec<BTreeMap<usize, Vec<Next>>>,
}

/// A region that follows another: how that ends, and the number of the one that follows; None for one that is not known.
type Next = (End, Option<usize>);

impl<'a> Order<'a> {
    fn new(kernel: &'a Kernel<'_>, regions: &'a [Analysed]) -> Order<'a> {
        let returning = Returning::new(&kernel.graph, &kernel.points);
        let after = |ways: &dyn Fn(&'a Analysed) -> &'a BTreeSet<Continuation>| -> Vec<Vec<Next>> {
            regions.iter().map(|region| behind(kernel, &returning, ways(region), &INTERRUPTED)).collect()
        };
        let of = |region: &'a Analysed| -> BTreeMap<usize, Vec<Next>> {
            let serving = region.serving.iter();
            serving.map(|(number, one)| (*number, behind(kernel, &returning, &one.undecided, &INTERRUPTED))).collect()
        };
        let unserved = |region: &'a Analysed| region.unserved.as_ref().map_or(&region.ways, |one| &one.ways);
        let guests = regions.iter().map(|region| behind(kernel, &returning, &region.ways, &[End::Guest]));
        Order {
            kernel,
            regions,
            guests: guests.collect(),
            behind: after(&|region| &region.ways),
            unserved: after(&unserved),
            undecided: after(&|region| &region.undecided),
            undecided_of: regions.iter().map(of).collect(),
        }
    }

    /// None if not all regions are known, or there is no end to what follows what.
    pub fn with_end(kernel: &'a Kernel<'_>, regions: &'a [Analysed]) -> Option<Order<'a>> {
        let all = regions.len() == kernel.regions.len();
        (all && endless(kernel, regions).is_empty()).then(|| Order::new(kernel, regions))
    }

    /// Those in which a thread goes on that has the processor again, or for the first time.
    fn resumed(&self) -> impl Iterator<Item = usize> + '_ {
        let goes_on = |kind| matches!(kind, Kind::Resumed | Kind::ThreadStart);
        (0..self.regions.len()).filter(move |number| goes_on(self.kernel.regions[*number].kind))
    }

    /// Where a region switches to another thread.
    fn switches(&self, number: usize) -> Option<&Chain> {
        self.regions[number].ways.iter().find_map(|way| match way {
            Continuation::Switch(place) => Some(place),
            _ => None,
        })
    }

    /// Regions from which a thread comes to its program without another switch.
    fn reaches_user(&self) -> Vec<bool> {
        let mut found: Vec<bool> = self.regions.iter().map(|region| region.ways.contains(&Continuation::Out)).collect();
        loop {
            let comes = |number: &usize| {
                !found[*number] && self.unserved[*number].iter().any(|(_, next)| next.is_none_or(|next| found[next]))
            };
            let more: Vec<usize> = (0..found.len()).filter(comes).collect();
            if more.is_empty() {
                return found;
            }
            more.into_iter().for_each(|number| found[number] = true);
        }
    }

    /// Where interrupts are let in behind one that is served in a region, so that others may come again and again before it is
    /// decided who runs: anywhere but in one window, behind which that is decided if nothing has come in it.
    fn not_decided(&self, number: usize) -> Vec<Chain> {
        let region = &self.regions[number];
        let mut found = Vec::new();
        for way in &region.undecided {
            match way {
                Continuation::On(End::Window, _) => {}
                Continuation::On(_, place) | Continuation::Switch(place) => found.push(place.clone()),
                Continuation::Out => {}
            }
        }
        for next in self.undecided[number].iter().filter_map(|(_, next)| *next) {
            let again =
                self.regions[next].unserved.as_ref().map_or(&self.regions[next].undecided, |one| &one.undecided);
            found.extend(again.iter().filter_map(|way| match way {
                Continuation::On(_, place) => Some(place.clone()),
                _ => None,
            }));
        }
        found
    }

    /// The longest path of a thread from a region to its program; Err if it has no end, with the regions that follow each
    /// other, None without a bound.
    fn path_to_user(
        &self,
        costs: &dyn Costs,
        number: usize,
        reaches_user: &[bool],
        on: &mut Vec<usize>,
    ) -> Result<Option<Run>, Vec<usize>> {
        if let Some(first) = on.iter().position(|one| *one == number) {
            return Err(on[first..].to_vec());
        }
        on.push(number);
        let mut longest: Option<Run> = Some((0, Vec::new()));
        for &(_, next) in &self.unserved[number] {
            // A region that is not known: nothing is known of the way either.
            let Some(next) = next else {
                longest = None;
                break;
            };
            if reaches_user[next] {
                longest = match (longest, self.path_to_user(costs, next, reaches_user, on)?) {
                    (Some(one), Some(other)) => Some(one.max(other)),
                    _ => None,
                };
            }
        }
        on.pop();
        Ok(longest.zip(costs.unserved(number)).map(|((after, mut rest), cycles)| {
            rest.insert(0, number);
            (after.saturating_add(cycles), rest)
        }))
    }
}

/// Where a region ends and an interrupt is taken, or asked for.
const INTERRUPTED: [End; 2] = [End::Window, End::Pending];

/// The regions behind one's windows, or other ends. A region that is the same for all callers does not distinguish them: what comes behind it is,
/// then, as with any of them.
fn behind(kernel: &Kernel<'_>, returning: &Returning<'_>, ways: &BTreeSet<Continuation>, ends: &[End]) -> Vec<Next> {
    let entered = |kind| matches!(kind, Kind::SystemCall | Kind::Exception | Kind::Interrupt | Kind::Inside);
    let mut found = Vec::new();
    for way in ways {
        let Continuation::On(end, chain) = way else { continue };
        if !ends.contains(end) {
            continue;
        }
        let chain = returning.shorten(chain);
        let of_any = kernel.regions.iter().enumerate();
        let of_any = of_any.filter(|(_, one)| !entered(one.kind) && ends_with(kernel, &one.chain, &chain));
        let before = found.len();
        found.extend(of_any.map(|(number, _)| (*end, Some(number))));
        if found.len() == before {
            found.push((*end, None));
        }
    }
    found
}

/// Whether a chain of calls ends with these. Entries of interrupts share code: it is the same code that goes on behind each of them.
fn ends_with(kernel: &Kernel<'_>, chain: &Chain, last: &Chain) -> bool {
    let start = |(function, block): &(u64, usize)| kernel.graph.functions[function].blocks[*block].start();
    let count = last.len();
    chain.len() >= count && chain.iter().rev().zip(last.iter().rev()).all(|(one, other)| start(one) == start(other))
}

/// Why there is no end to what may happen before interrupts are taken, or before a handler is in its program; or why nothing is
/// known of that. Requires all regions of the kernel.
pub fn endless(kernel: &Kernel<'_>, regions: &[Analysed]) -> BTreeSet<String> {
    let order = Order::new(kernel, regions);
    let program = kernel.lifter.program();
    let names = |chain: &Chain| -> String {
        let names: Vec<String> = chain.iter().map(|(function, _)| program.describe(*function)).collect();
        names.join(" > ")
    };
    let mut found = BTreeSet::new();
    for number in order.resumed() {
        if let Some(place) = order.switches(number) {
            let (name, place) = (&kernel.regions[number].name, names(place));
            found.insert(format!(
                "a thread that goes on in the region `{name}` may switch to another in {place} before an interrupt window, and \
                 that one, which may go on there too, to a third, and so on without end"
            ));
        }
    }
    for (number, region) in kernel.regions.iter().enumerate() {
        found.extend(order.not_decided(number).into_iter().map(|place| {
            let (name, place) = (&region.name, names(&place));
            format!(
                "behind an interrupt that is served in the region `{name}`, others are let in at {place} before it is decided \
                 who runs"
            )
        }));
    }
    for (region, analysed) in kernel.regions.iter().zip(regions) {
        let again = analysed.told.iter().flat_map(|told| &told.ways).find_map(|way| match way {
            Continuation::On(End::Pending, place) => Some(names(place)),
            _ => None,
        });
        found.extend(again.map(|place| {
            format!(
                "who is told in the region `{}` that an interrupt waits may go on and ask again in {place}",
                region.name
            )
        }));
    }
    let reaches_user = order.reaches_user();
    for number in order.resumed().filter(|number| reaches_user[*number]) {
        if let Err(cycle) = order.path_to_user(&Cycles(regions), number, &reaches_user, &mut Vec::new()) {
            let names: Vec<String> = cycle.iter().map(|one| format!("`{}`", kernel.regions[*one].name)).collect();
            let names = names.join(", ");
            found.insert(format!("a thread may open one window after the other on its way to its program: {names}"));
        }
    }
    let lost = (0..regions.len()).filter(|number| order.behind[*number].iter().any(|(_, next)| next.is_none()));
    found.extend(lost.map(|number| format!("where the region `{}` goes on is not known", kernel.regions[number].name)));
    if kernel.points.serves.is_some() {
        let serves = |kind| matches!(kind, Kind::Interrupt | Kind::Window | Kind::Idle);
        let idle = kernel.regions.iter().zip(regions).filter(|(region, _)| serves(region.kind));
        let never = idle.filter(|(_, analysed)| !analysed.serves);
        found.extend(never.map(|(region, _)| format!("no interrupt is served in the region `{}`", region.name)));
    }
    found
}

/// The response to any interrupt, for any thread; None if a region that counts has no bound, or there is no end to them.
pub fn response(kernel: &Kernel<'_>, regions: &[Analysed]) -> Option<Response> {
    Order::with_end(kernel, regions)?.response(&Question { interrupt: None, handler: &Handler::Any, within: None })
}

impl Order<'_> {
    pub fn response(&self, question: &Question<'_>) -> Option<Response> {
        self.costliest(&Cycles(self.regions), question)
    }

    /// The same of whatever regions cost.
    pub fn costliest(&self, costs: &dyn Costs, question: &Question<'_>) -> Option<Response> {
        let longest = |runs: Vec<Option<Run>>| runs.into_iter().collect::<Option<Vec<Run>>>()?.into_iter().max();
        let alone = |number: usize| Some((costs.all(number)?, vec![number]));
        let within = |number: &usize| question.within.is_none_or(|within| within.contains(number));
        let resumed = longest(self.resumed().filter(within).map(alone).collect())?;
        let to_switch = |number: usize, cycles: Option<u64>| {
            let (mut cycles, mut run) = (cycles?, vec![number]);
            if self.switches(number).is_some() {
                cycles = cycles.saturating_add(resumed.0);
                run.extend(&resumed.1);
            }
            Some((cycles, run))
        };
        let closed = |number: usize| {
            let mut longest = to_switch(number, costs.all(number))?;
            for (_, next) in self.behind[number].iter().filter(|(end, _)| *end == End::Pending) {
                let (cycles, mut run) = to_switch((*next)?, costs.told((*next)?))?;
                run.insert(0, number);
                longest = longest.max((cycles.saturating_add(costs.asking(number)?), run));
            }
            Some(longest)
        };
        // An interrupt that comes behind the last question before a guest is entered ends that guest's run at once.
        let mut guests = Vec::new();
        for number in (0..self.regions.len()).filter(within) {
            for (_, next) in &self.guests[number] {
                let (cycles, mut run) = closed((*next)?)?;
                run.insert(0, number);
                guests.push((cycles.saturating_add(costs.entering(number)?), run));
            }
        }
        let guest = guests.into_iter().max();
        let until_taken = longest((0..self.regions.len()).filter(within).map(closed).collect())?;
        // A system that is known is known to run guests, or not to: of all that may, the time is told apart.
        let also = guest.clone().filter(|_| question.within.is_some());
        let (closed_cycles, closed) = also.into_iter().fold(until_taken, Run::max);
        // One that waits while a window opens, or that ends the idle loop's wait, is served behind it.
        let serves = |number: &usize| {
            let region = &self.kernel.regions[*number];
            match region.kind {
                Kind::Interrupt => question.interrupt.is_none_or(|interrupt| region.interrupt == Some(interrupt)),
                kind => matches!(kind, Kind::Window | Kind::Idle),
            }
        };
        // In the kernel it is taken in a window, which that closes.
        let kind = |number: &usize| self.kernel.regions[*number].kind;
        let closing: Option<Vec<Run>> =
            (0..self.regions.len()).filter(|number| kind(number) == Kind::Inside).map(alone).collect();
        let closing = closing?.into_iter().max();
        let serving = |number: usize| {
            let mut cost = match question.interrupt {
                Some(interrupt) => costs.serving(number, interrupt)?,
                None => costs.all(number)?,
            };
            if kind(&number) != Kind::Interrupt {
                cost = cost.saturating_add(closing.as_ref().map_or(0, |(cycles, _)| *cycles));
            }
            // Others may be let in before it is decided who runs; then nothing is served there.
            let mut after: Option<Run> = Some((0, Vec::new()));
            let apart = question.interrupt.and_then(|interrupt| self.undecided_of[number].get(&interrupt));
            for (_, next) in apart.unwrap_or(&self.undecided[number]) {
                let next = (*next)?;
                after = after.max(Some((costs.deciding(next)?, vec![next])));
            }
            let (decision, rest) = after?;
            Some((cost.saturating_add(decision), [vec![number], rest].concat()))
        };
        let (interrupt_cycles, served) =
            longest((0..self.regions.len()).filter(within).filter(serves).map(serving).collect())?;
        let (served, decided) = (*served.first()?, served.get(1).copied());
        let window = closing.filter(|_| kind(&served) != Kind::Interrupt).and_then(|(_, run)| run.first().copied());
        let reaches_user = self.reaches_user();
        let handles = |number: &usize| match question.handler {
            Handler::Kernel => false,
            Handler::In(regions) => regions.contains(number),
            Handler::Any => true,
        };
        let goes_on = self.resumed().filter(within).filter(handles);
        let goes_on: Vec<usize> = goes_on.filter(|number| reaches_user[*number]).collect();
        let home = |number| self.path_to_user(costs, number, &reaches_user, &mut Vec::new()).ok().flatten();
        let straight = |number: &&usize| self.regions[**number].ways.contains(&Continuation::Out);
        let nothing = (0, Vec::new());
        let (handler_cycles, handler) = match question.handler {
            Handler::Kernel => nothing,
            _ => longest(goes_on.iter().map(|number| home(*number)).collect())?,
        };
        let direct_cycles = longest(goes_on.iter().filter(straight).map(|number| alone(*number)).collect());
        let direct_cycles = direct_cycles.map_or(0, |(cycles, _)| cycles);
        Some(Response {
            closed_cycles,
            interrupt_cycles,
            handler_cycles,
            closed,
            guest,
            window,
            served,
            decided,
            handler,
            direct_cycles,
        })
    }

    /// The regions behind one's windows, preemption points and guests; None for one that is not known.
    pub(crate) fn follows(&self, number: usize) -> impl Iterator<Item = Option<usize>> + '_ {
        self.behind[number].iter().chain(&self.guests[number]).map(|(_, next)| *next)
    }

    /// The regions in which a thread goes on that has switched to another at this place; None if there is none, though it
    /// does not end there.
    pub(crate) fn resumed_at(&self, returning: &Returning<'_>, place: &Chain) -> Option<Vec<usize>> {
        let mut place = place.clone();
        let (function, _) = place.pop()?;
        let place = returning.shorten(&crate::call_chains::behind(&self.kernel.graph, &place, function)?);
        let goes_on = self.resumed().filter(|one| ends_with(self.kernel, &self.kernel.regions[*one].chain, &place));
        let goes_on: Vec<usize> = goes_on.collect();
        (!goes_on.is_empty()).then_some(goes_on)
    }

    /// Regions in which threads go on that wait in a system call, wherever in it they wait; None if one is not known.
    pub fn waiting_in(&self, call: u64) -> Option<BTreeSet<usize>> {
        let begins = |number: &usize| self.kernel.regions[*number].numbers == Some((call, call));
        let mut open: Vec<usize> = (0..self.regions.len()).filter(begins).collect();
        let mut seen: BTreeSet<usize> = open.iter().copied().collect();
        let returning = Returning::new(&self.kernel.graph, &self.kernel.points);
        let mut found = BTreeSet::new();
        while let Some(number) = open.pop() {
            for way in &self.regions[number].ways {
                let Continuation::Switch(place) = way else { continue };
                // A thread that ends goes on nowhere, and one that is preempted does not wait.
                let points = &self.kernel.points;
                let waits = |function: &u64| *function != points.ended && !points.preempts.contains(function);
                if !place.iter().all(|(function, _)| waits(function)) {
                    continue;
                }
                let goes_on = self.resumed_at(&returning, place)?;
                found.extend(goes_on);
            }
            for (_, next) in &self.behind[number] {
                open.extend(Some((*next)?).filter(|next| seen.insert(*next)));
            }
        }
        Some(found)
    }
}
