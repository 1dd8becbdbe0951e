//! Loop bounds by symbolic execution of the whole region from its entry: every loop iteration by iteration, all at once.
//!
//! What an inner loop does in one iteration of the loop around it depends on what memory holds by then, and so does how
//! often the outer one runs. Here nothing of that is forgotten: the region is executed on terms from its entry, each
//! execution of a header has its guard, and a loop goes on as long as that can be satisfied. Small regions only: what
//! exceeds the effort is replaced by what it may change, and the loops in it get no bound.
//!
//! # Why it is sound
//! Every execution of the region is covered. An iteration is left out only if its guard is unsatisfiable, or if a proven
//! bound says that it does not happen. The guards of a header's n-th executions, over all entries of the loop, therefore
//! hold for some execution of the region if there is one in which the header executes n times for an entry; where none
//! of them can hold there is none.

use std::time::Instant;

use wcet_flow::context::{EdgeId, LoopId, NodeId};

use crate::model::{leaves, Witnesses};
use crate::region::{AtLoop, Point, Region, Setting, TooLarge};
use crate::solver::{Answer, Solver, SolverError};
use crate::term::{Shape, Term, Terms};
use crate::unroll::{is_exact, Checked};

/// How much to try. All limits but the last are counted, so the same question has the same answer on every machine.
#[derive(Debug, Clone)]
pub struct Following {
    /// Iterations of loops, all together.
    pub iterations: usize,
    pub terms: usize,
    /// What a question may cost, in the solver's own steps; and all of them together.
    pub steps: u64,
    pub all_steps: u64,
    /// Terms that are computed where few bits decide.
    pub trials: usize,
    /// When to be content with what was found by then.
    pub deadline: Option<Instant>,
}

impl Default for Following {
    fn default() -> Following {
        Following {
            iterations: 3_000,
            terms: 1_500_000,
            steps: 16_000_000,
            all_steps: 120_000_000,
            trials: 400_000_000,
            deadline: None,
        }
    }
}

impl Following {
    /// What is worth trying to make bounds smaller that are there.
    pub fn little() -> Following {
        Following {
            steps: 2_000_000,
            all_steps: 15_000_000,
            terms: 600_000,
            trials: 50_000_000,
            ..Following::default()
        }
    }
}

/// For each loop its least bound, or why it has none. `known` gives bounds that are proven.
pub fn follow(
    setting: &Setting<'_, '_>,
    known: &dyn Fn(LoopId) -> Option<u64>,
    effort: &Following,
) -> Result<Vec<Result<Checked, String>>, SolverError> {
    let loops = setting.graph.loops.len();
    let mut region = Region::new(setting, true);
    region.budget = effort.terms;
    region.executor.memory.choices = CHOICES;
    region.executor.memory.cases = CASES;
    region.dead = setting.values.map(|values| values.dead().iter().copied().collect()).unwrap_or_default();
    let mut solver = Solver::start()?;
    solver.limit(effort.steps)?;
    solver.until(effort.deadline);
    let point = region.start(setting.graph.entry);
    let mut facts = region.facts.clone();
    for fact in &facts {
        solver.assert(&region.executor.terms, *fact)?;
    }
    facts.retain(|fact| *fact != Terms::TRUE);
    let mut search = Search {
        solver,
        known,
        effort,
        witnesses: Witnesses::new(facts, MODELS, effort.trials),
        cells: 0,
        executions: vec![Vec::new(); loops],
        left: vec![None; loops],
        iterations: 0,
        error: None,
    };
    let outcome = region.pass_with(None, setting.graph.entry, point, &|_| true, None, &mut search);
    if let Some(error) = search.error.take() {
        return Err(error);
    }
    if outcome.is_err() {
        return Ok(vec![Err("the region is too large to be followed".to_string()); loops]);
    }
    (0..loops).map(|one| search.least(&mut region, one)).collect()
}

/// Addresses that are told apart in one access, and stores that one load may distinguish.
pub(crate) const CHOICES: usize = 40;
pub(crate) const CASES: usize = 400;

/// Assignments that are remembered.
const MODELS: usize = 8;

/// Terms up to which the solver is asked for its assignment: it works that out from all that it was told, which with
/// more of it takes longer than to answer the next question.
const ASKED_FOR_MODELS: usize = 3_000;

/// Iterations of a loop that nothing else bounds.
const UNCERTAIN: usize = 150;

/// Iterations of which it is not decided whether they happen, one after the other, before a loop is given up.
const UNDECIDED: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Possible {
    Yes,
    No,
    Undecided,
}

struct Search<'e> {
    solver: Solver,
    known: &'e dyn Fn(LoopId) -> Option<u64>,
    effort: &'e Following,
    witnesses: Witnesses,
    /// Parts of memory of which the solver knows that equal addresses hold equal values.
    cells: usize,
    /// For each loop, the guards of its header's n-th executions.
    executions: Vec<Vec<Vec<Term>>>,
    /// Why a loop was not followed to its end.
    left: Vec<Option<String>>,
    iterations: usize,
    error: Option<SolverError>,
}

impl<'a, 'g> AtLoop<'a, 'g> for Search<'_> {
    fn at_loop(
        &mut self,
        region: &mut Region<'a, 'g>,
        one: LoopId,
        point: Point,
        keep: &dyn Fn(NodeId) -> bool,
    ) -> Result<Vec<(EdgeId, Point)>, TooLarge> {
        let header = region.setting.graph.loops[one].header;
        let (bound, entered) = ((self.known)(one), point.guard);
        let (mut left, mut next, mut undecided) = (Vec::new(), point, 0);
        for count in 0.. {
            if bound == Some(count as u64) {
                self.never(region, next.guard, &mut left).map_err(|error| self.stop(error))?;
                break;
            }
            let possible = match next.guard == entered && count > 0 {
                true => Possible::Yes,
                false => self.possible(region, next.guard).map_err(|error| self.stop(error))?,
            };
            match possible {
                Possible::No => {
                    self.never(region, next.guard, &mut left).map_err(|error| self.stop(error))?;
                    break;
                }
                Possible::Yes => undecided = 0,
                Possible::Undecided => undecided += 1,
            }
            self.iterations += 1;
            let why = if count > UNCERTAIN && bound.is_none() {
                Some("it may go on")
            } else if self.is_over() {
                Some("no effort is left to follow it")
            } else if undecided > UNDECIDED && bound.is_none() {
                Some("the solver does not decide whether it goes on")
            } else {
                None
            };
            if let Some(why) = why {
                self.give_up(region, one, &format!("{why} after {count} iterations"));
                left.extend(region.skip(one, next));
                break;
            }
            let guards = &mut self.executions[one];
            if guards.len() == count {
                guards.push(Vec::new());
            }
            guards[count].push(next.guard);
            let outcome = region.pass_with(Some(one), header, next, keep, None, self)?;
            left.extend(outcome.exits);
            match region.merge(outcome.back.into_iter().map(|(_, point)| point).collect()) {
                Some(point) => next = point,
                None => break,
            }
        }
        Ok(left)
    }
}

impl Search<'_> {
    /// Ends the execution; the error is told behind it.
    fn stop(&mut self, error: SolverError) -> TooLarge {
        self.error = Some(error);
        TooLarge
    }

    fn is_over(&self) -> bool {
        self.iterations > self.effort.iterations
            || self.solver.spent() > self.effort.all_steps
            || self.effort.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// The loop, and those inside it, are not followed to their ends.
    fn give_up(&mut self, region: &Region<'_, '_>, one: LoopId, why: &str) {
        let graph = region.setting.graph;
        for (inner, found) in graph.loops.iter().enumerate() {
            if graph.inside(found.header, one) {
                self.left[inner].get_or_insert_with(|| why.to_string());
            }
        }
    }

    /// Takes note that a loop does not go on: a way out that is all that is left then needs no condition any more.
    fn never(
        &mut self,
        region: &mut Region<'_, '_>,
        guard: Term,
        left: &mut [(EdgeId, Point)],
    ) -> Result<(), SolverError> {
        let terms = &mut region.executor.terms;
        if guard == Terms::TRUE {
            return Ok(());
        }
        if let Shape::Both(before, last) = terms.shape(guard) {
            let not = terms.not(last);
            let way_out = terms.both(before, not);
            if let Some((_, point)) = left.iter_mut().find(|(_, point)| point.guard == way_out) {
                point.guard = before;
            }
        }
        // It follows from what was asserted, and spares the solver the same work for later guards.
        let not = terms.not(guard);
        self.solver.assert(terms, not)
    }

    /// Whether a guard can hold.
    fn possible(&mut self, region: &mut Region<'_, '_>, guard: Term) -> Result<Possible, SolverError> {
        match guard {
            Terms::TRUE => return Ok(Possible::Yes),
            Terms::FALSE => return Ok(Possible::No),
            _ => {}
        }
        self.equal_cells(region)?;
        let terms = &region.executor.terms;
        if let Some(can) = self.witnesses.answer(terms, guard) {
            return Ok(if can { Possible::Yes } else { Possible::No });
        }
        if self.solver.spent() > self.effort.all_steps {
            return Ok(Possible::Undecided);
        }
        match self.solver.check(terms, &[guard])? {
            Answer::Satisfiable => {
                if self.solver.told() < ASKED_FOR_MODELS {
                    let model = self.solver.model(terms, &leaves(terms, &[guard]))?;
                    self.witnesses.remember(model);
                }
                Ok(Possible::Yes)
            }
            Answer::Unsatisfiable(_) => Ok(Possible::No),
            Answer::Undecided => Ok(Possible::Undecided),
        }
    }

    /// Tells the solver of parts of memory that are new.
    fn equal_cells(&mut self, region: &mut Region<'_, '_>) -> Result<(), SolverError> {
        let (terms, memory) = (&mut region.executor.terms, &region.executor.memory);
        let new = memory.equal_cells(terms, self.cells);
        self.cells = memory.all.len();
        for fact in new {
            self.solver.assert(terms, fact)?;
            self.witnesses.facts.push(fact);
        }
        Ok(())
    }

    fn least(&mut self, region: &mut Region<'_, '_>, one: LoopId) -> Result<Result<Checked, String>, SolverError> {
        if let Some(why) = self.left[one].take() {
            return Ok(Err(why));
        }
        let guards: Vec<Term> = (0..self.executions[one].len())
            .map(|count| {
                let guards = &self.executions[one][count];
                guards.iter().fold(Terms::FALSE, |any, guard| region.executor.terms.either(any, *guard))
            })
            .collect();
        // The header may execute `high` times, and surely not more often; `shown` times it does.
        let (mut shown, mut low, mut high) = (0, 0, guards.len());
        while low < high {
            // The largest first: most often it is right.
            let middle = if high == guards.len() { high } else { low + (high - low).div_ceil(2) };
            match self.possible(region, guards[middle - 1])? {
                Possible::No => high = middle - 1,
                Possible::Undecided => low = middle,
                Possible::Yes => (shown, low) = (middle, middle),
            }
        }
        let Some(last) = high.checked_sub(1).map(|at| guards[at]) else {
            let evidence = "model-checked: no execution reaches the loop".to_string();
            return Ok(Ok(Checked { bound: 0, reached: false, evidence }));
        };
        let terms = &region.executor.terms;
        let narrow = || terms.cone(&[last]).into_iter().all(|term| terms.width(term) <= 128);
        let reached = shown == high && is_exact(terms, last) && narrow();
        let how = match (shown == high, reached) {
            (_, true) => "satisfiable",
            (true, false) => "satisfiable where memory is not followed",
            _ => "undecided",
        };
        let evidence = format!(
            "model-checked: with all loops followed from the entry, a path with {} iterations is unsatisfiable, with \
             {high} {how}",
            high + 1
        );
        Ok(Ok(Checked { bound: high as u64, reached, evidence }))
    }
}
