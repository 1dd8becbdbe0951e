//! Loop bounds by executing each path of the region by itself, from its entry to its end.
//!
//! Where paths meet, [`follow`](crate::follow) goes on with one state for all, whose numbers are choices. What then stands at which
//! place of memory is a choice too, and one step more asks for all of them together. On a path by itself most numbers are known,
//! so questions are small; but each path asks them anew. It is for regions of few paths, of which the data decide.
//!
//! # Why it is sound
//! At each branch the ways on are taken of which it is not shown that no execution of this path takes them. So every execution of
//! the region is one of the paths, and a header executes for one entry of its loop at most as often as on one of them. If the
//! paths are too many to be executed all, nothing is said.

use std::collections::HashMap;
use std::time::Instant;

use wcet_flow::context::{ContextId, EdgeId, LoopId, NodeId};

use crate::memory::Version;
use crate::model::{leaves, Witnesses};
use crate::region::{Point, Region, Setting};
use crate::solver::{Answer, Solver, SolverError};
use crate::term::{Term, Terms};
use crate::unroll::{is_exact, Checked};
use crate::whole_region::{CASES, CHOICES};

/// How much to try. All but the last are counted, so the same question has the same answer on every machine.
#[derive(Debug, Clone)]
pub struct Walking {
    /// Executions of nodes, on all paths together.
    pub nodes: usize,
    /// Executions of one header for one entry of its loop.
    pub iterations: u64,
    pub terms: usize,
    /// What a question may cost, in the solver's own steps; and all of them together.
    pub steps: u64,
    pub all_steps: u64,
    /// Terms that are computed where few bits decide.
    pub trials: usize,
    /// When to give up.
    pub deadline: Option<Instant>,
}

impl Default for Walking {
    fn default() -> Walking {
        Walking {
            nodes: 150_000,
            iterations: 1_000,
            terms: 1_000_000,
            steps: 1_000_000,
            all_steps: 60_000_000,
            trials: 100_000_000,
            deadline: None,
        }
    }
}

/// A path so far.
#[derive(Clone)]
struct Path {
    node: NodeId,
    /// Holds exactly if the execution is on the path.
    guard: Term,
    registers: Vec<Term>,
    memory: Version,
    calls: HashMap<ContextId, Vec<Term>>,
    /// How often the header of each loop was executed since the loop was entered last.
    executed: Vec<u64>,
}

/// For each loop its least bound; none if the paths are too many, with the reason.
pub fn walk(setting: &Setting<'_, '_>, effort: &Walking) -> Result<Result<Vec<Checked>, String>, SolverError> {
    let mut region = Region::new(setting, true);
    region.dead = setting.values.map(|values| values.dead().iter().copied().collect()).unwrap_or_default();
    region.executor.memory.choices = CHOICES;
    region.executor.memory.cases = CASES;
    let start = region.start(setting.graph.entry);
    let mut search = Search {
        solver: None,
        effort,
        witnesses: Witnesses::new(region.facts.clone(), MODELS, effort.trials),
        cells: 0,
        most: vec![(0, Terms::FALSE); setting.graph.loops.len()],
        spent: 0,
        nodes: 0,
        undecided: false,
    };
    let path = Path {
        node: setting.graph.entry,
        guard: Terms::TRUE,
        registers: start.registers,
        memory: region.memory,
        calls: HashMap::new(),
        executed: vec![0; setting.graph.loops.len()],
    };
    if let Some(why) = search.all(&mut region, path)? {
        return Ok(Err(why));
    }
    let terms = &region.executor.terms;
    let decided = !search.undecided;
    let found = |(bound, guard): &(u64, Term)| Checked {
        bound: *bound,
        reached: *bound > 0 && decided && is_exact(terms, *guard),
        evidence: match *bound {
            0 => "model-checked: no execution reaches the loop".to_string(),
            _ => format!("model-checked: each path from the entry was executed, and none has {} iterations", bound + 1),
        },
    };
    Ok(Ok(search.most.iter().map(found).collect()))
}

/// Assignments that are remembered.
const MODELS: usize = 24;

/// Terms that one solver is told: each question looks through all of them.
const TOLD: usize = 6_000;

struct Search<'e> {
    solver: Option<Solver>,
    effort: &'e Walking,
    witnesses: Witnesses,
    /// Parts of memory of which it is known that equal addresses hold equal values.
    cells: usize,
    /// For each loop, most executions of its header for one entry, and the guard of a path on which they happen.
    most: Vec<(u64, Term)>,
    /// Steps of solvers that are done.
    spent: u64,
    nodes: usize,
    /// Whether some way was taken of which it is not known that it can be.
    undecided: bool,
}

impl Search<'_> {
    /// Executes all paths that begin so; says why, if they are too many.
    fn all(&mut self, region: &mut Region<'_, '_>, path: Path) -> Result<Option<String>, SolverError> {
        let mut open = vec![path];
        while let Some(mut path) = open.pop() {
            let graph = region.setting.graph;
            if let Some(one) = graph.loops.iter().position(|one| one.header == path.node) {
                path.executed[one] += 1;
                if path.executed[one] > self.most[one].0 {
                    self.most[one] = (path.executed[one], path.guard);
                }
            }
            self.nodes += 1;
            if let Some(why) = self.is_over(region, &path) {
                return Ok(Some(why.to_string()));
            }
            region.memory = path.memory;
            region.calls = std::mem::take(&mut path.calls);
            let ways = region.node(path.node, Point { guard: Terms::TRUE, registers: path.registers });
            // Only the path itself is looked at here.
            (region.taken, region.executed) = Default::default();
            region.trace.clear();
            let (memory, calls) = (region.memory, std::mem::take(&mut region.calls));
            for (edge, point) in ways {
                if region.dead.contains(&edge) || point.guard == Terms::FALSE {
                    continue;
                }
                let guard = region.executor.terms.both(path.guard, point.guard);
                if guard != path.guard && !self.possible(region, guard)? {
                    continue;
                }
                let next = Path {
                    node: graph.edges[edge].to,
                    guard,
                    registers: point.registers,
                    memory,
                    calls: calls.clone(),
                    executed: counted(region, edge, &path.executed),
                };
                open.push(next);
            }
        }
        Ok(None)
    }

    fn is_over(&self, region: &Region<'_, '_>, path: &Path) -> Option<&'static str> {
        let spent = self.spent + self.solver.as_ref().map_or(0, Solver::spent);
        if path.executed.iter().any(|times| *times > self.effort.iterations) {
            return Some("a path is too long");
        }
        let over = self.nodes > self.effort.nodes
            || region.executor.terms.len() > self.effort.terms
            || spent > self.effort.all_steps
            || self.effort.deadline.is_some_and(|deadline| Instant::now() >= deadline);
        over.then_some("there are too many")
    }

    /// Whether a guard can hold; also where that is not decided.
    fn possible(&mut self, region: &mut Region<'_, '_>, guard: Term) -> Result<bool, SolverError> {
        if guard == Terms::FALSE {
            return Ok(false);
        }
        let (terms, memory) = (&mut region.executor.terms, &region.executor.memory);
        let new = memory.equal_cells(terms, self.cells);
        self.cells = memory.all.len();
        for fact in &new {
            if let Some(solver) = &mut self.solver {
                solver.assert(terms, *fact)?;
            }
        }
        self.witnesses.facts.extend(new);
        if let Some(can) = self.witnesses.answer(terms, guard) {
            return Ok(can);
        }
        if self.solver.as_ref().is_some_and(|solver| solver.told() > TOLD) {
            self.spent += self.solver.take().map_or(0, |solver| solver.spent());
        }
        let solver = match &mut self.solver {
            Some(solver) => solver,
            none => {
                let mut solver = Solver::start()?;
                solver.limit(self.effort.steps)?;
                solver.until(self.effort.deadline);
                for fact in &self.witnesses.facts {
                    solver.assert(terms, *fact)?;
                }
                none.insert(solver)
            }
        };
        match solver.check(terms, &[guard])? {
            Answer::Satisfiable => {
                let model = solver.model(terms, &leaves(terms, &[guard]))?;
                self.witnesses.remember(model);
                Ok(true)
            }
            Answer::Unsatisfiable(_) => Ok(false),
            Answer::Undecided => {
                self.undecided = true;
                Ok(true)
            }
        }
    }
}

/// How often headers were executed, behind an edge: a loop that is entered begins anew.
fn counted(region: &Region<'_, '_>, edge: EdgeId, executed: &[u64]) -> Vec<u64> {
    let graph = region.setting.graph;
    let (from, to) = (graph.edges[edge].from, graph.edges[edge].to);
    let enters = |one: LoopId| graph.inside(to, one) && !graph.inside(from, one);
    executed.iter().enumerate().map(|(one, times)| if enters(one) { 0 } else { *times }).collect()
}
