//! Executes regions: everything, or one iteration of a loop. Inner loops are executed whole.
//!
//! A loop is executed iteration by iteration as long as that promises an end: the state at the header in iteration k
//! covers what executions can be there the k-th time, so when no execution can come back any more, k is a bound. Where
//! it does not end, an invariant of the header takes the place of the iterations (`invariant`).

use std::collections::{BTreeMap, HashSet};

use wcet_flow::context::{EdgeId, LoopId, NodeId};

use crate::counters::Sample;
use crate::execute::Engine;
use crate::recurrence;
use crate::state::State;
use crate::term::Root;
use crate::values::Run;

/// Iterations that may be the last ones, each of them, before this gives up.
const UNCERTAIN: u64 = 100_000;
/// Instructions that those may take.
const UNCERTAIN_STEPS: u64 = 40_000;
/// What joining two states costs, in instructions.
const JOIN: u64 = 40;
/// Ends without success after which a loop is no longer tried.
const PATIENCE: u32 = 2;
/// Rounds in which widening stops at numbers that the loop compares with.
const CAREFUL: usize = 16;
/// Loops inside as many others go on from the invariant that they had, while one of those is sought: else the rounds of all would multiply.
const DEEP: usize = 2;
/// Rounds towards an invariant; widening makes it few.
const ROUNDS: usize = 100;

/// How attempts to execute a loop iteration by iteration ended, in all of its contexts.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Fate {
    pub failures: [u32; 2],
    pub successes: u32,
}

/// What comes out of a region.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Back at the header.
    pub back: Vec<State>,
    pub exits: BTreeMap<EdgeId, Vec<State>>,
}

/// How often a loop ran so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Count {
    pub run: Run,
    /// With several kinds of executions apart, and with all joined.
    pub failures: [u32; 2],
    pub successes: u32,
    /// Header executions since the loop around it was entered; None: not known.
    pub since: Option<u64>,
    /// The most of those for one entry of the loop around it; None: never entered, Some(None): not known.
    pub total: Option<Option<u64>>,
    pub entered: bool,
}

impl Engine<'_> {
    /// Whether this takes longer than it is worth: the region's one run says where accesses go, and how often loops run.
    pub fn is_given_up(&self) -> bool {
        self.options.run.is_some() && self.steps > self.options.beside_one_run()
    }

    /// Executes the whole region.
    pub fn everything(&mut self, counts: &mut [Count]) {
        let state = self.entry();
        let entry = self.expanded.entry;
        self.region(None, entry, vec![state], counts);
    }

    /// Executes what is in a loop, once, or everything. Several states at a node are several kinds of executions, which
    /// are followed apart as long as they are few.
    pub fn region(
        &mut self,
        scope: Option<LoopId>,
        start: NodeId,
        states: Vec<State>,
        counts: &mut [Count],
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let mut pending: BTreeMap<NodeId, Vec<State>> = BTreeMap::from([(start, states)]);
        let mut first = true;
        while let Some((node, states)) = pending.pop_first() {
            if self.is_given_up() {
                break;
            }
            let inner = self.header_of.get(&node).copied().filter(|inner| !first || Some(*inner) != scope);
            first = false;
            let states = self.few(node, states);
            let ways = match inner {
                Some(inner) => self.whole_loop(inner, states, counts),
                None => states.into_iter().flat_map(|state| self.block(node, state)).collect(),
            };
            for (edge, state) in ways {
                let to = self.expanded.edges[edge].to;
                match scope {
                    Some(one) if to == self.expanded.loops[one].header => outcome.back.push(state),
                    Some(one) if !self.expanded.inside(to, one) => {
                        outcome.exits.entry(edge).or_default().push(state);
                    }
                    _ => pending.entry(to).or_default().push(state),
                }
            }
        }
        outcome
    }

    /// Joins states at a node that do not differ in what matters, and all of them if there are too many.
    fn few(&mut self, node: NodeId, states: Vec<State>) -> Vec<State> {
        if states.len() < 2 {
            return states;
        }
        let mut kinds: Vec<State> = Vec::new();
        let mut width = self.width;
        for state in states {
            self.steps += kinds.len() as u64;
            let live = self.live[node];
            let kin = kinds.iter_mut().find(|kind| width == 1 || kind.is_kin(&state, live));
            match kin {
                Some(kind) => {
                    *kind = kind.join(&state, &self.world);
                    self.steps += JOIN;
                }
                None => kinds.push(state),
            }
            if kinds.len() > width {
                width = 1;
                self.steps += JOIN * kinds.len() as u64;
                kinds = self.one(kinds).into_iter().collect();
            }
        }
        kinds
    }

    /// What covers all of the states.
    fn one(&self, states: Vec<State>) -> Option<State> {
        states.into_iter().reduce(|a, b| a.join(&b, &self.world))
    }

    fn whole_loop(&mut self, one: LoopId, entry: Vec<State>, counts: &mut [Count]) -> Vec<(EdgeId, State)> {
        let watching = self.watching.take();
        let watched = std::mem::take(&mut self.watched);
        let ways = self.iterate(one, entry, counts);
        self.watching = watching;
        self.watched = watched;
        ways
    }

    fn iterate(&mut self, one: LoopId, entry: Vec<State>, counts: &mut [Count]) -> Vec<(EdgeId, State)> {
        if self.recording {
            let now = self.world.symbols.count();
            self.born[one] = self.born[one].min(now);
        }
        // Outside loops all are joined: there are too many paths through a program.
        let widths = if self.options.width > 1 { vec![self.options.width, 1] } else { vec![1] };
        let place = (self.expanded.contexts[self.expanded.loops[one].context].function, self.expanded.loops[one].index);
        for (attempt, width) in widths.into_iter().enumerate() {
            let Count { failures, successes, .. } = counts[one];
            let elsewhere = self.fates.get(&place).copied().unwrap_or_default();
            let tried = (failures[attempt] < PATIENCE || successes > failures[attempt])
                && (elsewhere.failures[attempt] < 2 * PATIENCE || elsewhere.successes >= elsewhere.failures[attempt]);
            let ends = self.shapes[one].leaves || self.shapes[one].ends;
            if !ends || !tried || self.steps >= self.options.steps {
                continue;
            }
            let around = std::mem::replace(&mut self.width, width);
            let before = self.children(one, counts);
            let nodes = self.expanded.loops[one].nodes.as_slice();
            let names = self.record.names_in(nodes);
            let exits = self.unroll(one, &entry, counts);
            self.width = around;
            if let Some(exits) = exits {
                self.fates.entry(place).or_default().successes += 1;
                return exits;
            }
            self.record.restore(nodes, names);
            counts[one].failures[attempt] += 1;
            self.fates.entry(place).or_default().failures[attempt] += 1;
            for (inner, since) in before {
                counts[inner].since = since;
            }
        }
        let around = std::mem::replace(&mut self.width, 1);
        let exits = match self.one(entry) {
            Some(entry) => self.invariant(one, entry, counts),
            None => Vec::new(),
        };
        self.width = around;
        exits
    }

    /// The loops right inside one, and how often they ran; they start anew.
    fn children(&self, one: LoopId, counts: &mut [Count]) -> Vec<(LoopId, Option<u64>)> {
        let inner = self.shapes[one].children.iter();
        inner.map(|inner| (*inner, counts[*inner].since.replace(0))).collect()
    }

    /// Iteration by iteration. None if no end is in sight.
    fn unroll(&mut self, one: LoopId, entry: &[State], counts: &mut [Count]) -> Option<Vec<(EdgeId, State)>> {
        let header = self.expanded.loops[one].header;
        let begin = self.steps;
        let limit = begin + (self.options.steps.saturating_sub(begin)) / 2;
        let mut exits: BTreeMap<EdgeId, Vec<State>> = BTreeMap::new();
        let mut left: BTreeMap<EdgeId, (u64, u64)> = BTreeMap::new();
        let mut states = entry.to_vec();
        let mut uncertain = 0;
        let mut sample = Sample::new(entry.first()?);
        for iteration in 1.. {
            let outcome = self.region(Some(one), header, states.clone(), counts);
            let may_leave = !outcome.exits.is_empty() || self.shapes[one].ends;
            for (edge, states) in outcome.exits {
                left.entry(edge).and_modify(|(_, last)| *last = iteration).or_insert((iteration, iteration));
                let all = exits.entry(edge).or_default();
                all.extend(states);
                *all = self.few(self.expanded.edges[edge].to, std::mem::take(all));
            }
            let next = self.few(header, outcome.back);
            let Some(some) = next.first() else {
                if self.recording {
                    self.ended(one, iteration, &left, &sample, counts);
                }
                counts[one].successes += 1;
                let ways = exits.into_iter();
                return Some(ways.flat_map(|(edge, states)| states.into_iter().map(move |one| (edge, one))).collect());
            };
            uncertain += u64::from(may_leave);
            let same = may_leave
                && (iteration < 8 || iteration.is_power_of_two())
                && next.len() == states.len()
                && next.iter().zip(&states).all(|(now, before)| now.is_like(before));
            let tired = uncertain > UNCERTAIN
                || uncertain * 2 > iteration
                    && self.steps - begin > UNCERTAIN_STEPS
                    && !self.is_in_sight(one, entry.first()?, some, iteration)
                || self.steps > limit;
            if same || tired {
                return None;
            }
            sample.push(some);
            states = next;
            states.iter_mut().for_each(State::forget_dead);
        }
        None
    }

    /// Whether some register has come at least half of the way to a number that the loop compares with: no proof that it ends there, but
    /// worth going on for.
    fn is_in_sight(&self, one: LoopId, first: &State, now: &State, iterations: u64) -> bool {
        let far = |from: u128, to: u128, limit: u128| {
            let moved = from.abs_diff(to);
            let left = limit.abs_diff(to);
            moved >= u128::from(iterations) && left <= moved && (limit > to) == (to > from)
        };
        self.registers.all().filter(|register| !self.registers.is_flag(*register)).any(|register| {
            let index = usize::from(register.0);
            let ((a, from), (b, to)) = (first.range(&first.registers[index]), now.range(&now.registers[index]));
            let thresholds = self.shapes[one].thresholds.iter();
            (a, b) == (Root::Zero, Root::Zero)
                && thresholds.clone().any(|limit| far(from.low, to.low, *limit) || far(from.high, to.high, *limit))
        })
    }

    /// Notes that a loop ended after that many iterations.
    fn ended(
        &self,
        one: LoopId,
        iterations: u64,
        left: &BTreeMap<EdgeId, (u64, u64)>,
        sample: &Sample,
        counts: &mut [Count],
    ) {
        let count = &mut counts[one];
        let first = !count.entered;
        count.entered = true;
        count.since = count.since.map(|since| since.saturating_add(iterations));
        if first || count.run.most.is_some_and(|most| iterations > most) {
            count.run.most = Some(iterations);
            count.run.counters = sample.counters(self);
        }
        for (edge, (from, to)) in left {
            match count.run.exits.iter_mut().find(|(other, ..)| other == edge) {
                Some((_, least, most)) => (*least, *most) = ((*least).min(*from), (*most).max(*to)),
                None => count.run.exits.push((*edge, *from, *to)),
            }
        }
        self.totals(one, counts);
    }

    /// Notes how often the loops inside ran while this one did.
    fn totals(&self, one: LoopId, counts: &mut [Count]) {
        for inner in &self.shapes[one].children {
            let Count { since, total, .. } = &mut counts[*inner];
            *total = Some(match *total {
                None => *since,
                Some(known) => known.zip(*since).map(|(a, b)| a.max(b)),
            });
        }
    }

    /// Without counting iterations: a state that covers the header each time it is reached.
    fn invariant(&mut self, one: LoopId, entry: State, counts: &mut [Count]) -> Vec<(EdgeId, State)> {
        let header = self.expanded.loops[one].header;
        let recording = std::mem::replace(&mut self.recording, false);
        let mut phis = HashSet::new();
        // Whatever it had covers the entry with it; what it covers too much is a loss only while that is sought. What is noted begins anew.
        let deep = !recording && self.expanded.around(header).count() > DEEP;
        let mut state = match self.invariants.get(&one).filter(|_| deep) {
            Some(before) => entry.join(before, &self.world),
            None => entry.clone(),
        };
        if recording {
            self.forget_invariants(one);
        }
        for round in 0..ROUNDS {
            let back = self.region(Some(one), header, vec![state.clone()], counts).back;
            let Some(back) = self.one(back) else { break };
            let thresholds = self.shapes[one].thresholds.as_slice();
            let widening = (round >= 2).then_some(if round < CAREFUL { thresholds } else { &[] });
            let next = state.widen(&back, &self.world, &mut phis, widening);
            match next {
                Some(next) if round + 1 < ROUNDS => state = next,
                Some(_) => state = self.anything(&entry),
                None => break,
            }
        }
        self.forget_invariants(one);
        if deep {
            self.invariants.insert(one, state.clone());
        }
        // What widening gave away, two more rounds may bring back: each gives a state that covers all.
        for _ in 0..2 {
            let back = self.region(Some(one), header, vec![state.clone()], counts).back;
            let Some(back) = self.one(back) else { break };
            let mut fresh = HashSet::new();
            match entry.widen(&back, &self.world, &mut fresh, None) {
                Some(next) => (state, phis) = (next, fresh),
                None => {
                    (state, phis) = (entry.clone(), HashSet::new());
                    break;
                }
            }
        }
        self.recording = recording;
        self.watching = Some(one);
        self.watched.clear();
        let outcome = self.region(Some(one), header, vec![state.clone()], counts);
        let back = self.one(outcome.back);
        self.watching = None;
        if self.recording {
            let watched = std::mem::take(&mut self.watched);
            let run = recurrence::infer(self, one, &entry, &state, &phis, back.as_ref(), &watched);
            let count = &mut counts[one];
            count.since = None;
            let known = if count.entered { count.run.most } else { Some(0) };
            count.entered = true;
            count.run.most = known.zip(run.most).map(|(a, b)| a.max(b));
            count.run.counters = run.counters;
            if count.run.most.is_none() && count.run.reason.is_none() {
                (count.run.reason, count.run.least) = (run.reason, run.least);
            }
            if let Some(most) = count.run.most {
                for (edge, ..) in run.exits {
                    if !count.run.exits.iter().any(|(other, ..)| *other == edge) {
                        count.run.exits.push((edge, 1, most));
                    }
                }
            }
            for inner in &self.shapes[one].children {
                counts[*inner].total = Some(None);
            }
        }
        outcome.exits.into_iter().flat_map(|(edge, states)| states.into_iter().map(move |one| (edge, one))).collect()
    }

    /// Loops inside this one have to be looked at anew.
    fn forget_invariants(&mut self, one: LoopId) {
        let (loops, expanded) = (&mut self.invariants, self.expanded);
        loops.retain(|inner, _| !expanded.inside(expanded.loops[*inner].header, one));
    }

    /// A state that covers everything, for want of an invariant.
    fn anything(&self, entry: &State) -> State {
        let mut state = self.entry();
        for (index, term) in state.registers.iter_mut().enumerate() {
            let own = self.own(wcet_binary::lift::il::Register(index as u8));
            *term = own.unwrap_or_else(|| self.world.symbols.unknown(entry.registers[index].size));
        }
        state.memory.loaded = false;
        state.escaped = true;
        state
    }
}
