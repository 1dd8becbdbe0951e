//! Loop bounds from a measure: a number that each iteration makes smaller and that is never negative.
//!
//! One iteration is executed on terms, from any state that is possible at the header. For each register the solver is asked
//! whether an iteration can come back to the header without the register having changed in one direction: bits are only
//! cleared, or the number only falls, or only rises up to a limit. Where none can, the number of iterations is limited by the
//! register's bits, or by the numbers that it can pass. How the iteration computes the register does not matter, nor what
//! it was at first: so this bounds loops that no recurrence describes.
//!
//! # Why it is sound
//! The terms cover every iteration that comes back, since the state at the header is any that can be there; inner loops are
//! executed as often as their proven bounds say, or replaced by what they may change. Let the header execute n times for an
//! entry: then n - 1 iterations come back, each with a smaller measure than the one before, and no measure is negative.

use std::collections::BTreeMap;

use wcet_binary::lift::il::Register;
use wcet_flow::context::LoopId;

use crate::region::{Point, Region, Setting};
use crate::solver::{Answer, Solver, SolverError};
use crate::term::{Operation, Term, Terms};
use crate::unroll::{Checked, Effort};

/// Numbers beyond this make no bound of use.
const LARGEST: u128 = 4095;
/// Iterations that may be executed before the one that is looked at.
const MOST_BEFORE: u64 = 1;

/// A bound that one register gives, the least of those found; none if no register does. `known` gives bounds of other loops,
/// which must be right.
///
/// # Errors
/// The solver cannot be used.
pub fn bound_by_measure(
    setting: &Setting<'_, '_>,
    one: LoopId,
    known: &dyn Fn(LoopId) -> Option<u64>,
    effort: &Effort,
) -> Result<Option<Checked>, SolverError> {
    // What registers have to do with each other at the header may only be known once an iteration has come back to it.
    for before in 0..=MOST_BEFORE {
        if let Some(found) = after(setting, one, before, known, effort)? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A bound from the measures of iterations that have so many before them.
fn after(
    setting: &Setting<'_, '_>,
    one: LoopId,
    before: u64,
    known: &dyn Fn(LoopId) -> Option<u64>,
    effort: &Effort,
) -> Result<Option<Checked>, SolverError> {
    let graph = setting.graph;
    let header = graph.loops[one].header;
    let mut region = Region::new(setting, header == graph.entry);
    region.budget = effort.terms;
    region.dead = setting.values.map(|values| values.dead().iter().copied().collect()).unwrap_or_default();
    let inside = |id: &LoopId| *id != one && graph.inside(graph.loops[*id].header, one);
    let inner = (0..graph.loops.len()).filter(inside);
    region.unroll = inner
        .filter_map(|id| Some((id, known(id).filter(|bound| *bound <= effort.inner)?)))
        .collect::<BTreeMap<LoopId, u64>>();
    let mut next = region.start(header);
    let mut from = Vec::new();
    for _ in 0..=before {
        from.clone_from(&next.registers);
        let Ok(outcome) = region.pass(Some(one), header, next, &|_| true, None) else { return Ok(None) };
        match region.merge(outcome.back.into_iter().map(|(_, point)| point).collect()) {
            Some(back) => next = back,
            None => return Ok(None),
        }
    }
    let mut search = Search::new(region, next, effort)?;
    let mut best: Option<Checked> = None;
    for register in search.region.executor.table.all().collect::<Vec<_>>() {
        if search.region.executor.table.is_flag(register) {
            continue;
        }
        for (from, to) in search.parts(register, &from) {
            if search.solver.spent() > effort.all_steps {
                return Ok(best);
            }
            let Some((bound, how)) = search.register(from, to)? else { continue };
            let bound = bound + before;
            if best.as_ref().is_none_or(|best| bound < best.bound) {
                let name = search.region.executor.table.name(register).to_lowercase();
                let which = if before == 0 { "each iteration" } else { "each iteration but the first" };
                let evidence = format!("model-checked: {which} that comes back {}", how.replace("REGISTER", &name));
                best = Some(Checked { bound, reached: false, evidence });
            }
        }
    }
    Ok(best)
}

struct Search<'a, 'g> {
    region: Region<'a, 'g>,
    solver: Solver,
    back: Point,
}

impl<'a, 'g> Search<'a, 'g> {
    fn new(region: Region<'a, 'g>, back: Point, effort: &Effort) -> Result<Search<'a, 'g>, SolverError> {
        let mut solver = Solver::start()?;
        solver.limit(effort.steps)?;
        solver.until(effort.deadline);
        let mut search = Search { region, solver, back };
        for fact in search.region.facts.clone() {
            search.solver.assert(&search.region.executor.terms, fact)?;
        }
        let guard = search.back.guard;
        search.solver.assert(&search.region.executor.terms, guard)?;
        Ok(search)
    }

    /// The register at the header and where an iteration comes back, if it changes; of a wide one also the low half alone.
    fn parts(&mut self, register: Register, before: &[Term]) -> Vec<(Term, Term)> {
        let index = usize::from(register.0);
        let (from, to) = (before[index], self.back.registers[index]);
        let terms = &mut self.region.executor.terms;
        let width = terms.width(from);
        if from == to || width == 0 || width > 64 {
            return Vec::new();
        }
        let mut found = vec![(from, to)];
        if width == 64 {
            found.insert(0, (terms.extract(from, 0, 32), terms.extract(to, 0, 32)));
        }
        found
    }

    /// Whether every iteration that comes back makes this true.
    fn always(&mut self, holds: Term) -> Result<bool, SolverError> {
        let terms = &mut self.region.executor.terms;
        let fails = terms.not(holds);
        if fails == Terms::FALSE {
            return Ok(true);
        }
        let cone: std::collections::HashSet<Term> = terms.cone(&[fails, self.back.guard]).into_iter().collect();
        for fact in self.region.executor.memory.consistency(terms, &|leaf| cone.contains(&leaf)) {
            self.solver.assert(terms, fact)?;
        }
        Ok(matches!(self.solver.check(terms, &[fails])?, Answer::Unsatisfiable(_)))
    }

    fn register(&mut self, from: Term, to: Term) -> Result<Option<(u64, String)>, SolverError> {
        let terms = &mut self.region.executor.terms;
        let width = terms.width(from);
        let zero = terms.number(0, width);
        let (falls, rises) = (terms.less(to, from), terms.less(from, to));
        if self.always(falls)? {
            let terms = &mut self.region.executor.terms;
            let kept = terms.complement(from);
            let new = terms.binary(Operation::And, to, kept);
            let none = terms.equal(new, zero);
            // Falling from something, it loses at least one bit if it gains none.
            if self.always(none)? {
                let gone = self.region.executor.terms.equal(to, zero);
                let left = self.region.executor.terms.not(gone);
                let bound = u64::from(width) + u64::from(!self.always(left)?);
                return Ok(Some((
                    bound,
                    format!("clears bits of REGISTER, of which {width} are looked at, and sets none"),
                )));
            }
            // It comes back with this or less, and at the end with 0.
            return Ok(self
                .limit(to)?
                .map(|most| (most + 2, format!("makes REGISTER smaller, which then is {most:#x} at most"))));
        }
        if self.always(rises)? {
            return Ok(self
                .limit(to)?
                .map(|most| (most + 1, format!("makes REGISTER larger, which then is {most:#x} at most"))));
        }
        Ok(None)
    }

    /// The largest number with which iterations come back.
    fn limit(&mut self, to: Term) -> Result<Option<u64>, SolverError> {
        let at_most = |search: &mut Self, most: u128| {
            let terms = &mut search.region.executor.terms;
            let most = terms.number(most, terms.width(to));
            let beyond = terms.less(most, to);
            let holds = terms.not(beyond);
            search.always(holds)
        };
        if !at_most(self, LARGEST)? {
            return Ok(None);
        }
        let (mut low, mut high) = (0, LARGEST);
        while low < high {
            let middle = low + (high - low) / 2;
            if at_most(self, middle)? {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        Ok(Some(high as u64))
    }
}
