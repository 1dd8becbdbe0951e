//! Executes regions: everything, or one iteration of a loop. Inner loops are executed whole.
//!
//! A loop is executed iteration by iteration as long as that promises an end: the state at the header in iteration k
//! covers what executions can be there the k-th time, so when no execution can come back any more, k is a bound. Where
//! it does not end, an invariant of the header takes the place of the iterations (`invariant`).

use std::collections::{BTreeMap, HashSet};

use timing_context::{EdgeId, LoopId, NodeId};

use crate::execute::Engine;
use crate::recurrence;
use crate::state::State;
use crate::values::Run;

/// Iterations that may be the last ones, each of them, before this gives up.
const UNCERTAIN: u64 = 100_000;
/// Instructions that those may take.
const UNCERTAIN_STEPS: u64 = 100_000;
/// Ends without success after which a loop is no longer tried.
const PATIENCE: u32 = 2;
/// Rounds towards an invariant; widening makes it few.
const ROUNDS: usize = 100;

/// What comes out of a region.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Back at the header.
    pub back: Option<State>,
    pub exits: BTreeMap<EdgeId, State>,
}

/// How often a loop ran so far.
#[derive(Debug, Clone, Default)]
pub(crate) struct Count {
    pub run: Run,
    pub failures: u32,
    pub successes: u32,
    /// Header executions since the loop around it was entered; None: not known.
    pub since: Option<u64>,
    /// The most of those for one entry of the loop around it; None: never entered, Some(None): not known.
    pub total: Option<Option<u64>>,
    pub entered: bool,
}

impl Engine<'_> {
    /// Executes the whole region.
    pub fn everything(&mut self, counts: &mut [Count]) {
        let state = self.entry();
        let entry = self.expanded.entry;
        self.region(None, entry, state, counts);
    }

    /// Executes what is in a loop, once, or everything.
    pub fn region(&mut self, scope: Option<LoopId>, start: NodeId, state: State, counts: &mut [Count]) -> Outcome {
        let mut outcome = Outcome::default();
        let mut pending: BTreeMap<NodeId, State> = BTreeMap::from([(start, state)]);
        let mut first = true;
        while let Some((node, state)) = pending.pop_first() {
            let inner = self.header_of.get(&node).copied().filter(|inner| !first || Some(*inner) != scope);
            first = false;
            let ways = match inner {
                Some(inner) => self.whole_loop(inner, state, counts),
                None => self.block(node, state),
            };
            for (edge, state) in ways {
                let to = self.expanded.edges[edge].to;
                match scope {
                    Some(one) if to == self.expanded.loops[one].header => {
                        let back = outcome.back.take();
                        outcome.back = Some(match back {
                            Some(other) => other.join(&state, &self.world),
                            None => state,
                        });
                    }
                    Some(one) if !self.expanded.inside(to, one) => {
                        self.merge(&mut outcome.exits, edge, state);
                    }
                    _ => self.merge(&mut pending, to, state),
                }
            }
        }
        outcome
    }

    fn merge(&self, into: &mut BTreeMap<usize, State>, key: usize, state: State) {
        let state = match into.remove(&key) {
            Some(other) => other.join(&state, &self.world),
            None => state,
        };
        into.insert(key, state);
    }

    fn whole_loop(&mut self, one: LoopId, entry: State, counts: &mut [Count]) -> Vec<(EdgeId, State)> {
        let watching = self.watching.take();
        let watched = std::mem::take(&mut self.watched);
        let ways = self.iterate(one, entry, counts);
        self.watching = watching;
        self.watched = watched;
        ways
    }

    fn iterate(&mut self, one: LoopId, entry: State, counts: &mut [Count]) -> Vec<(EdgeId, State)> {
        let tried = counts[one].failures < PATIENCE || counts[one].successes > counts[one].failures;
        if self.shapes[one].leaves && tried && self.steps < self.options.steps {
            let before = self.children(one, counts);
            if let Some(exits) = self.unroll(one, &entry, counts) {
                return exits;
            }
            counts[one].failures += 1;
            for (inner, since) in before {
                counts[inner].since = since;
            }
        }
        self.invariant(one, entry, counts)
    }

    /// The loops right inside one, and how often they ran; they start anew.
    fn children(&self, one: LoopId, counts: &mut [Count]) -> Vec<(LoopId, Option<u64>)> {
        let inner = self.shapes[one].children.iter();
        inner.map(|inner| (*inner, counts[*inner].since.replace(0))).collect()
    }

    /// Iteration by iteration. None if no end is in sight.
    fn unroll(&mut self, one: LoopId, entry: &State, counts: &mut [Count]) -> Option<Vec<(EdgeId, State)>> {
        let header = self.expanded.loops[one].header;
        let begin = self.steps;
        let limit = begin + (self.options.steps.saturating_sub(begin)) / 2;
        let mut exits: BTreeMap<EdgeId, State> = BTreeMap::new();
        let mut left: BTreeMap<EdgeId, (u64, u64)> = BTreeMap::new();
        let mut state = entry.clone();
        let mut uncertain = 0;
        let mut states = recurrence::Sample::new(entry);
        for iteration in 1.. {
            let outcome = self.region(Some(one), header, state.clone(), counts);
            let may_leave = !outcome.exits.is_empty();
            for (edge, state) in outcome.exits {
                left.entry(edge).and_modify(|(_, last)| *last = iteration).or_insert((iteration, iteration));
                self.merge(&mut exits, edge, state);
            }
            let Some(next) = outcome.back else {
                if self.recording {
                    self.ended(one, iteration, &left, &states, counts);
                }
                counts[one].successes += 1;
                return Some(exits.into_iter().collect());
            };
            uncertain += u64::from(may_leave);
            let same = may_leave && (iteration < 8 || iteration.is_power_of_two()) && next.is_like(&state);
            let tired = uncertain > UNCERTAIN
                || uncertain > 0
                    && self.steps - begin > UNCERTAIN_STEPS.min(self.options.steps)
                    && uncertain * 2 > iteration
                || self.steps > limit;
            if same || tired {
                return None;
            }
            state = next;
            states.push(iteration, &state);
            state.forget_dead();
        }
        None
    }

    /// Notes that a loop ended after that many iterations.
    fn ended(
        &self,
        one: LoopId,
        iterations: u64,
        left: &BTreeMap<EdgeId, (u64, u64)>,
        states: &recurrence::Sample,
        counts: &mut [Count],
    ) {
        let count = &mut counts[one];
        let first = !count.entered;
        count.entered = true;
        count.since = count.since.map(|since| since.saturating_add(iterations));
        if first || count.run.most.is_some_and(|most| iterations > most) {
            count.run.most = Some(iterations);
            count.run.counters = states.counters(self);
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
        let mut state = entry.clone();
        for round in 0..ROUNDS {
            let Some(back) = self.region(Some(one), header, state.clone(), counts).back else { break };
            let thresholds = std::mem::take(&mut self.thresholds);
            let widening = (round >= 2).then_some(if round < ROUNDS / 2 { thresholds.as_slice() } else { &[] });
            let next = state.widen(&back, &self.world, &mut phis, widening);
            self.thresholds = thresholds;
            match next {
                Some(next) if round + 1 < ROUNDS => state = next,
                Some(_) => state = self.anything(&entry),
                None => break,
            }
        }
        // What widening gave away, two more rounds may bring back: each gives a state that covers all.
        for _ in 0..2 {
            let Some(back) = self.region(Some(one), header, state.clone(), counts).back else { break };
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
        let outcome = self.region(Some(one), header, state.clone(), counts);
        self.watching = None;
        if self.recording {
            let watched = std::mem::take(&mut self.watched);
            let run = recurrence::infer(self, one, &entry, &state, &phis, outcome.back.as_ref(), &watched);
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
        outcome.exits.into_iter().collect()
    }

    /// A state that covers everything, for want of an invariant.
    fn anything(&self, entry: &State) -> State {
        let mut state = self.entry();
        for (index, term) in state.registers.iter_mut().enumerate() {
            *term = self.world.symbols.unknown(entry.registers[index].size);
        }
        state.memory.loaded = false;
        state.escaped = true;
        state
    }
}
