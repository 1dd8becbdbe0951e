//! All checks of a driver: which there are, and their results.

use crate::component::{Component, Protocols};
use crate::coverage;
use crate::driver::Driver;
use crate::liveness::{self, Demand};
use crate::program::{Message, Op, Program};
use crate::safety::{self, Context, Goal, Outcome, Verdict};
use crate::solver::{Solver, SolverError};
use crate::summary::{summarise, Summarised};
use crate::terminate::{analyse, ending, Known};
use crate::trace::Trace;
use crate::transform::transform;
use protocol::decompose::Purpose;
use serde::Serialize;
use std::collections::{BTreeSet, HashSet};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

#[derive(Debug, Clone)]
pub struct Options {
    pub decompose: bool,
    pub seed: bool,
    pub transform: bool,
    /// For each check.
    pub limit: Duration,
    /// Only these rules; all if empty.
    pub rules: Vec<u8>,
    pub threads: usize,
    /// Stop at the first violation of this rule.
    pub until: Option<u8>,
    /// Compute which transitions of the protocols the driver may take.
    pub coverage: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            decompose: true,
            seed: true,
            transform: true,
            limit: Duration::from_secs(60),
            rules: Vec::new(),
            threads: 2,
            until: None,
            coverage: false,
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    pub driver: String,
    pub protocol: String,
    pub subprotocol: String,
    pub rule: u8,
    pub verdict: &'static str,
    pub seconds: f64,
    pub memory_mb: f64,
    pub predicates: usize,
    pub refinements: usize,
    /// Abstract states of the last round.
    pub states: usize,
    /// Other subprotocols that it takes for granted.
    pub granted: Vec<String>,
    /// Of a violation: the run-time monitor says the same of its run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replays: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

enum Task {
    Safety(Goal, Vec<Component>),
    Liveness(Demand, Vec<Component>),
}

struct Check {
    protocol: String,
    subprotocol: String,
    rule: u8,
    task: Task,
}

/// What the checks of a driver gave.
#[derive(Debug, Default)]
pub struct Report {
    pub rows: Vec<Row>,
    /// What was taken for granted in making the model.
    pub assumptions: Vec<String>,
    /// By protocol: its states and messages that some run of the driver may take.
    pub covered: Vec<BTreeSet<(usize, usize)>>,
    pub seconds: f64,
}

#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    #[error("{0}")]
    Driver(String),
    #[error(transparent)]
    Solver(#[from] SolverError),
    #[error("a worker has failed")]
    Worker,
}

/// Work shared by the threads.
struct Shared<'a> {
    driver: &'a Driver,
    protocols: &'a Protocols,
    options: &'a Options,
    next: AtomicUsize,
    /// A violation was found, and one is enough.
    stop: AtomicBool,
    rows: Mutex<Vec<(usize, Row)>>,
    tell: &'a (dyn Fn(&Row) + Sync),
}

/// Runs all checks; `tell` hears of each result.
pub fn run(driver: &Driver, options: &Options, tell: &(dyn Fn(&Row) + Sync)) -> Result<Report, CheckError> {
    // Parsing and lowering recurse with the nesting of the C program.
    const STACK: usize = 256 << 20;
    let start = Instant::now();
    let protocols = Protocols::new(driver.protocols.clone(), options.decompose);
    let shared = Shared {
        driver,
        protocols: &protocols,
        options,
        next: AtomicUsize::new(0),
        stop: AtomicBool::new(false),
        rows: Mutex::default(),
        tell,
    };
    let workers = std::thread::scope(|scope| {
        let spawn = |number| {
            let shared = &shared;
            let work = move || work(shared, number == 0);
            std::thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work)
        };
        let handles: Vec<_> = (0..options.threads.max(1)).map(spawn).collect();
        let join = |handle: std::io::Result<std::thread::ScopedJoinHandle<'_, _>>| {
            handle.map_err(|_| CheckError::Worker)?.join().map_err(|_| CheckError::Worker)?
        };
        handles.into_iter().map(join).collect::<Result<Vec<_>, CheckError>>()
    })?;
    let mut rows = shared.rows.into_inner().map_err(|_| CheckError::Worker)?;
    rows.sort_by_key(|(index, _)| *index);
    let mut report = Report { rows: rows.into_iter().map(|(_, row)| row).collect(), ..Report::default() };
    for (assumptions, covered) in workers.into_iter().flatten() {
        (report.assumptions, report.covered) = (assumptions, covered);
    }
    report.seconds = start.elapsed().as_secs_f64();
    Ok(report)
}

type Extra = (Vec<String>, Vec<BTreeSet<(usize, usize)>>);

/// One thread: its own model of the program, and checks as long as there are any.
fn work(shared: &Shared, is_first: bool) -> Result<Option<Extra>, CheckError> {
    let Shared { protocols, options, .. } = *shared;
    let lowered = shared.driver.model().map_err(|error| CheckError::Driver(error.to_string()))?;
    let program = &if options.transform { transform(&lowered) } else { lowered };
    let mut solver = Solver::new()?;
    let mut known = Known::new();
    let loops = analyse(program, &mut solver, &mut known)?;
    let is_idle = |(protocol, message): Message| {
        let states = &protocols.automaton(protocol).states;
        states.iter().enumerate().all(|(state, own)| own.next[message].is_none_or(|next| next == state))
    };
    let mut prepare = |solver: &mut Solver, kept: &BTreeSet<usize>| -> Result<Prepared, SolverError> {
        let summarised = summarise(program, &loops, &is_idle, kept);
        // Liveness looks at single messages; its graph has a node behind each.
        let fine = summarised.program.split();
        let ending = ending(&analyse(&fine, solver, &mut known)?);
        Ok(Prepared { summarised, fine, ending })
    };
    let first = prepare(&mut solver, &BTreeSet::new())?;
    let all = checks(program, protocols);
    loop {
        let index = shared.next.fetch_add(1, Ordering::Relaxed);
        let Some(check) = all.get(index) else { break };
        if shared.stop.load(Ordering::Relaxed) {
            break;
        }
        if !options.rules.is_empty() && !options.rules.contains(&check.rule) {
            continue;
        }
        let row = perform(shared, program, &mut solver, &first, &mut prepare, check)?;
        if row.verdict == "VIOLATED" && options.until == Some(row.rule) {
            shared.stop.store(true, Ordering::Relaxed);
        }
        (shared.tell)(&row);
        shared.rows.lock().map_err(|_| CheckError::Worker)?.push((index, row));
    }
    if !is_first {
        return Ok(None);
    }
    let covered = if options.coverage { coverage::covered(&first.context(program, shared, None))? } else { Vec::new() };
    Ok(Some((program.assumptions.iter().cloned().collect(), covered)))
}

/// The program as it is explored.
struct Prepared {
    summarised: Summarised,
    fine: Program,
    ending: Vec<HashSet<usize>>,
}

impl Prepared {
    fn context<'a>(&'a self, base: &'a Program, shared: &'a Shared, deadline: Option<Instant>) -> Context<'a> {
        Context {
            program: &self.summarised.program,
            base,
            summarised: &self.summarised,
            protocols: shared.protocols,
            seed: shared.options.seed,
            deadline,
            ending: &self.ending,
        }
    }
}

/// Prepares the program anew, with loops that are not to be summarised.
type Prepare<'a> = dyn FnMut(&mut Solver, &BTreeSet<usize>) -> Result<Prepared, SolverError> + 'a;

fn perform(
    shared: &Shared,
    program: &Program,
    solver: &mut Solver,
    first: &Prepared,
    prepare: &mut Prepare,
    check: &Check,
) -> Result<Row, CheckError> {
    let Shared { protocols, options, driver, .. } = *shared;
    let start = Instant::now();
    let deadline = Some(start + options.limit);
    let mut kept = BTreeSet::new();
    let mut again: Option<Prepared> = None;
    let mut before = 0;
    let outcome = loop {
        let prepared = again.as_ref().unwrap_or(first);
        let context = prepared.context(program, shared, deadline);
        let outcome = match &check.task {
            Task::Safety(goal, components) => safety::check(&context, solver, goal, components.clone())?,
            Task::Liveness(demand, components) => {
                let context = Context { program: &prepared.fine, ..context };
                liveness::check(&context, solver, demand, components.clone())?
            }
        };
        match outcome.verdict {
            Verdict::Coarse(heads, reason) if heads.is_subset(&kept) => {
                let reason = format!("a run with a loop that could not be made whole: {reason}");
                break Outcome { verdict: Verdict::Unknown(reason), ..outcome };
            }
            Verdict::Coarse(heads, _) => {
                kept.extend(heads);
                before += outcome.refinements;
                again = Some(prepare(solver, &kept)?);
            }
            _ => break outcome,
        }
    };
    let memory = memory(None) + memory(Some(solver.process()));
    let name = |(protocol, part): &(usize, usize)| {
        format!("{} {}", protocols.all[*protocol].protocol.name, protocols.title(*protocol, *part))
    };
    let Outcome { verdict, predicates, refinements, states, granted } = outcome;
    let refinements = refinements + before;
    let (verdict, trace, reason) = match verdict {
        Verdict::Proved => ("PROVED", None, None),
        Verdict::Violated(trace) => ("VIOLATED", Some(*trace), None),
        Verdict::Unknown(reason) | Verdict::Coarse(_, reason) => ("UNKNOWN", None, Some(reason)),
    };
    Ok(Row {
        driver: driver.name.clone(),
        protocol: check.protocol.clone(),
        subprotocol: check.subprotocol.clone(),
        rule: check.rule,
        verdict,
        seconds: start.elapsed().as_secs_f64(),
        memory_mb: memory,
        predicates,
        refinements,
        states,
        granted: granted.iter().map(name).collect(),
        replays: None,
        reason,
        trace,
    })
}

fn checks(program: &Program, protocols: &Protocols) -> Vec<Check> {
    let mut all = Vec::new();
    for (protocol, decomposition) in protocols.parts.iter().enumerate() {
        let automaton = protocols.automaton(protocol);
        for (part, sub) in decomposition.subprotocols.iter().enumerate() {
            let component = || vec![protocols.component(protocol, part)];
            let mut add = |rule, task| {
                all.push(Check {
                    protocol: protocols.all[protocol].protocol.name.clone(),
                    subprotocol: protocols.title(protocol, part),
                    rule,
                    task,
                });
            };
            if sub.guards().any(|message| !automaton.letters[message].incoming) {
                add(1, Task::Safety(Goal::Emit, component()));
            }
            for message in sub.guards().filter(|message| automaton.letters[*message].incoming) {
                add(2, Task::Liveness(Demand::Await((protocol, message)), component()));
            }
            for purpose in &sub.purposes {
                if let Purpose::Timed(mark) = purpose {
                    add(4, Task::Liveness(Demand::Leave(protocol, *mark), component()));
                }
            }
            if sub.purposes.contains(&Purpose::Final) {
                add(5, Task::Safety(Goal::Final, component()));
            }
        }
        needs(protocols, protocol, &mut all);
    }
    let reached: BTreeSet<usize> = program
        .edges
        .iter()
        .flat_map(|edge| &edge.steps)
        .filter_map(|step| match step.op {
            Op::Await(site) => Some(site),
            _ => None,
        })
        .collect();
    for site in reached {
        let place = &program.awaits[site].place;
        let spoken: BTreeSet<usize> = program.awaits[site].messages.iter().map(|(protocol, _)| *protocol).collect();
        let names: Vec<&str> = spoken.iter().map(|one| protocols.all[*one].protocol.name.as_str()).collect();
        all.push(Check {
            protocol: names.join("+"),
            subprotocol: format!("AWAIT {place}"),
            rule: 3,
            task: Task::Safety(Goal::Wait(site), Vec::new()),
        });
    }
    all
}

/// What states of a protocol need of other protocols: part of rule 1.
fn needs(protocols: &Protocols, protocol: usize, all: &mut Vec<Check>) {
    let checked = &protocols.all[protocol];
    for (id, state) in checked.protocol.states.iter().enumerate() {
        for need in &state.needs {
            let Some(other) = protocols.all.iter().position(|one| one.protocol.name == need.protocol) else { continue };
            let Some(wanted) = protocols.all[other].protocol.state(&need.state) else { continue };
            // Outputs that enter the state.
            let mut messages = BTreeSet::new();
            let flat = &checked.flat;
            for (from, one) in flat.automaton.states.iter().enumerate() {
                for (message, to) in one.next.iter().enumerate() {
                    let enters = to.is_some_and(|to| {
                        flat.active(&checked.protocol, to).contains(&id)
                            && !flat.active(&checked.protocol, from).contains(&id)
                    });
                    if enters && !flat.automaton.letters[message].incoming {
                        messages.insert((protocol, message));
                    }
                }
            }
            // The other protocol, final where it is in the state.
            let mut component = protocols.whole(other);
            let flat = &protocols.all[other].flat;
            component.mark(|state| flat.active(&protocols.all[other].protocol, state).contains(&wanted));
            let text = format!("{} {}", need.protocol, need.state);
            all.push(Check {
                protocol: checked.protocol.name.clone(),
                subprotocol: format!("{} needs {text}", state.name),
                rule: 1,
                task: Task::Safety(Goal::Needs(messages.into_iter().collect(), text), vec![component]),
            });
        }
    }
}

/// Most memory that a process has had, in MiB.
fn memory(process: Option<u32>) -> f64 {
    let path = process.map_or("/proc/self/status".to_string(), |process| format!("/proc/{process}/status"));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: f64 = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0);
    (kib / 1024.0 * 10.0).round() / 10.0
}
