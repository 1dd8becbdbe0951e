//! Runs all checks of a driver on several threads and reports their results.

use crate::counterexample::trace::Trace;
use crate::cpu_time::{self, Clock};
use crate::driver::Driver;
use crate::loops::prepare::{Prepared, Preparer};
use crate::lower::Asked;
use crate::program::{Claim, Program};
use crate::report::coverage;
use crate::rules::component::Protocols;
use crate::rules::doubt::{self, Doubt, Why};
use crate::rules::liveness;
use crate::rules::obligations::{checks, claims, Check, Group, Task};
use crate::rules::safety::{self, Goal, Outcome, Verdict};
use crate::simplify::simplify;
use crate::slice::slice;
use crate::solver::{Solver, SolverError};
use crate::transform::transform;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::{Duration, Instant};

#[derive(Debug, Clone)]
pub struct Options {
    pub decompose: bool,
    pub seed: bool,
    pub transform: bool,
    /// Take for granted whole protocols, not subprotocols.
    pub grant_whole: bool,
    /// Of processor time, for each check.
    pub limit: Duration,
    /// Only these rules; all if empty.
    pub rules: Vec<u8>,
    /// Only checks whose name contains this.
    pub subprotocol: String,
    pub threads: usize,
    /// Stop at the first violation of this rule.
    pub until: Option<u8>,
    /// Compute which transitions of the protocols the driver may take.
    pub coverage: bool,
    /// Measure memory.
    pub memory: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            decompose: true,
            seed: true,
            transform: true,
            grant_whole: true,
            limit: Duration::from_secs(60),
            rules: Vec::new(),
            subprotocol: String::new(),
            threads: 2,
            until: None,
            coverage: false,
            memory: true,
        }
    }
}

/// The result of one check.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Row {
    pub driver: String,
    pub protocol: String,
    pub subprotocol: String,
    pub rule: u8,
    pub verdict: &'static str,
    /// Of processor time, of the thread and its solver.
    pub seconds: f64,
    /// On the wall.
    pub elapsed: f64,
    pub memory_mb: f64,
    pub predicates: usize,
    pub refinements: usize,
    /// The limit of time was reached.
    pub is_late: bool,
    /// Abstract states of the last round.
    pub states: usize,
    /// Other subprotocols that it takes for granted.
    pub granted: Vec<String>,
    /// Of a violation: the run-time monitor says the same of its run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replays: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Of an UNKNOWN: where, what, and what may help.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub doubt: Option<Doubt>,
    /// Of a violation, or of a run that is in doubt.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Trace>,
}

/// What the checks of a driver gave.
#[derive(Debug, Default)]
pub struct Report {
    pub rows: Vec<Row>,
    /// What was taken for granted in making the model.
    pub assumptions: Vec<String>,
    /// By protocol: its states and messages that some run of the driver may take.
    pub covered: Vec<BTreeSet<(usize, usize)>>,
    /// Of processor time, of all threads and solvers.
    pub seconds: f64,
    /// On the wall.
    pub elapsed: f64,
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
pub(crate) struct Shared<'a> {
    driver: &'a Driver,
    protocols: &'a Protocols,
    pub(crate) options: &'a Options,
    next: AtomicUsize,
    /// A violation was found, and one is enough.
    stop: AtomicBool,
    rows: Mutex<Vec<(usize, Row)>>,
    tell: &'a (dyn Fn(&Row) + Sync),
}

impl<'a> Shared<'a> {
    fn new(
        driver: &'a Driver,
        protocols: &'a Protocols,
        options: &'a Options,
        tell: &'a (dyn Fn(&Row) + Sync),
    ) -> Shared<'a> {
        let (next, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        Shared { driver, protocols, options, next, stop, rows: Mutex::default(), tell }
    }
}

/// Runs all checks and passes each result to `tell`.
pub fn run(driver: &Driver, options: &Options, tell: &(dyn Fn(&Row) + Sync)) -> Result<Report, CheckError> {
    // Parsing and lowering recurse with the nesting of the C program.
    const STACK: usize = 256 << 20;
    let (start, before) = (Instant::now(), cpu_time::everything());
    let protocols = Protocols::new(driver.protocols.clone(), options.decompose, options.grant_whole);
    let shared = Shared::new(driver, &protocols, options, tell);
    let workers = std::thread::scope(|scope| {
        let spawn = |number| {
            let shared = &shared;
            let work = move || work(shared, number == 0, &mut Solver::new()?);
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
    report.elapsed = start.elapsed().as_secs_f64();
    report.seconds = (cpu_time::everything() - before).as_secs_f64();
    Ok(report)
}

/// Runs all checks in this thread, whose stack must be large, with a solver that has the thread's expressions.
pub fn run_here(driver: &Driver, options: &Options, solver: &mut Solver) -> Result<Vec<Row>, CheckError> {
    let protocols = Protocols::new(driver.protocols.clone(), options.decompose, options.grant_whole);
    let shared = Shared::new(driver, &protocols, options, &|_| {});
    work(&shared, false, solver)?;
    let rows = shared.rows.into_inner().map_err(|_| CheckError::Worker)?;
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}

/// Where one violation is enough: the time that a check has at first.
const SLICE: Duration = Duration::from_secs(2);

/// What part of a check's time its part of the program may take.
const FOR_PART: u32 = 4;

/// How long a doubtful check may take on the model of one client.
const FOR_ONE_CLIENT: Duration = Duration::from_secs(20);

type Extra = (Vec<String>, Vec<BTreeSet<(usize, usize)>>);

/// One thread: its own model of the program and its own solver, and checks as long as there are any.
fn work(shared: &Shared, is_first: bool, solver: &mut Solver) -> Result<Option<Extra>, CheckError> {
    let Shared { protocols, options, .. } = *shared;
    let model = |asked: Asked| -> Result<Program, CheckError> {
        let lowered = shared.driver.model_for(asked).map_err(|error| CheckError::Driver(error.to_string()))?;
        let mut model = if options.transform { transform(&lowered) } else { lowered };
        model.forget_unread();
        Ok(model)
    };
    let program = &model(Asked::States)?;
    let mut preparer = Preparer::new(program, protocols, solver)?;
    let mut first = preparer.prepare(&BTreeSet::new(), &BTreeSet::new());
    let mut all: Vec<Group> = checks(program, protocols)
        .into_iter()
        .map(|check| Group { asked: Asked::States, checks: vec![check] })
        .chain(claims(program, protocols))
        .collect();
    // Where one violation is enough, those of its rule come first.
    let is_later = |group: &Group| options.until.is_some_and(|rule| group.checks.iter().all(|one| one.rule != rule));
    all.sort_by_key(is_later);
    let own = all.iter().filter(|group| !is_later(group)).count();
    // Where one violation is enough, checks of its rule that take long wait until all others of the rule were made.
    let mut later: VecDeque<(usize, Duration)> = VecDeque::new();
    loop {
        let is_due = shared.next.load(Ordering::Relaxed) >= own;
        let due = if is_due { later.pop_front() } else { None };
        let (index, limit) = match due {
            Some(one) => one,
            None => {
                let index = shared.next.fetch_add(1, Ordering::Relaxed);
                if index >= all.len() {
                    break;
                }
                // A model of its own, for a check that takes long, is made once.
                let is_first = options.until.is_some() && index < own && all[index].asked == Asked::States;
                (index, if is_first { SLICE.min(options.limit) } else { options.limit })
            }
        };
        let is_asked = |check: &&Check| {
            let is_rule = options.rules.is_empty() || options.rules.contains(&check.rule);
            is_rule && check.subprotocol.contains(&options.subprotocol)
        };
        let checks: Vec<&Check> = all[index].checks.iter().filter(is_asked).collect();
        if checks.is_empty() || shared.stop.load(Ordering::Relaxed) {
            continue;
        }
        let asked = all[index].asked;
        let rows = if asked == Asked::States {
            perform_all(shared, &mut preparer, solver, &mut first, &checks, limit)?
        } else {
            // A model that is made for these checks; its part that speaks of the claims, if that says enough.
            let whole = model(asked)?;
            let mut of = |program: &Program, checks: &[&Check], limit: Duration| -> Result<Vec<Row>, CheckError> {
                let program = simplify(program, solver)?;
                let mut preparer = Preparer::new(&program, protocols, solver)?;
                let mut first = preparer.prepare(&preparer.hinted(), &BTreeSet::new());
                perform_all(shared, &mut preparer, solver, &mut first, checks, limit)
            };
            let part = slice(&whole).map(|part| of(&part, &checks, limit / FOR_PART)).transpose()?.unwrap_or_default();
            // A row for each check, in their order; checks may have one name.
            let is_proved: Vec<bool> = part.iter().map(|row| row.verdict == "PROVED").collect();
            let mut rows: Vec<Row> = part.into_iter().filter(|row| row.verdict == "PROVED").collect();
            let open = checks.iter().enumerate().filter(|(at, _)| is_proved.get(*at) != Some(&true));
            let open: Vec<&Check> = open.map(|(_, check)| *check).collect();
            if !open.is_empty() {
                rows.extend(of(&whole, &open, limit)?);
            }
            rows
        };
        let is_late = |row: &Row| row.verdict == "UNKNOWN" && row.seconds > limit.as_secs_f64();
        if rows.iter().any(is_late) && limit < options.limit {
            later.push_back((index, (limit * 4).min(options.limit)));
            continue;
        }
        for mut row in rows {
            if row.reason.as_deref() == Some(GUESS) && program.client.is_some() {
                let is_its = |check: &&&Check| check.protocol == row.protocol && check.subprotocol == row.subprotocol;
                if let Some(check) = checks.iter().find(is_its) {
                    row = with_one_client(shared, solver, asked, check, row)?;
                }
            }
            if row.verdict == "VIOLATED" && options.until == Some(row.rule) {
                shared.stop.store(true, Ordering::Relaxed);
            }
            (shared.tell)(&row);
            shared.rows.lock().map_err(|_| CheckError::Worker)?.push((index, row));
        }
    }
    if !is_first {
        return Ok(None);
    }
    let covered =
        if options.coverage { coverage::covered(&preparer.safety(&first, shared, None))? } else { Vec::new() };
    Ok(Some((program.assumptions.iter().cloned().collect(), covered)))
}

/// A doubtful check of a server of several clients once more, on the model in which one client alone says anything: what goes wrong there
/// goes wrong in the program. Gives that row if something does, else the doubtful one.
fn with_one_client(
    shared: &Shared,
    solver: &mut Solver,
    asked: Asked,
    check: &Check,
    doubtful: Row,
) -> Result<Row, CheckError> {
    let Shared { protocols, options, .. } = *shared;
    if matches!(check.task, Task::Safety(Goal::Wait(_), _)) {
        return Ok(doubtful); // its AWAITs may have other numbers
    }
    let lowered = shared.driver.model_of_one_client(asked).map_err(|error| CheckError::Driver(error.to_string()))?;
    let mut model = if options.transform { transform(&lowered) } else { lowered };
    model.forget_unread();
    let is_claim = asked != Asked::States;
    let model = if is_claim { simplify(&model, solver)? } else { model };
    let mut preparer = Preparer::new(&model, protocols, solver)?;
    let kept = if is_claim { preparer.hinted() } else { BTreeSet::new() };
    let mut first = preparer.prepare(&kept, &BTreeSet::new());
    let limit = options.limit.min(FOR_ONE_CLIENT);
    let row = perform(shared, &mut preparer, solver, &mut first, check, limit)?;
    Ok(if row.verdict == "VIOLATED" { row } else { doubtful })
}

fn perform_all(
    shared: &Shared,
    preparer: &mut Preparer,
    solver: &mut Solver,
    first: &mut Prepared,
    checks: &[&Check],
    limit: Duration,
) -> Result<Vec<Row>, CheckError> {
    let mut rows = Vec::new();
    for check in checks {
        if shared.stop.load(Ordering::Relaxed) {
            break;
        }
        rows.push(perform(shared, preparer, solver, first, check, limit)?);
    }
    Ok(rows)
}

fn perform(
    shared: &Shared,
    preparer: &mut Preparer,
    solver: &mut Solver,
    first: &mut Prepared,
    check: &Check,
    limit: Duration,
) -> Result<Row, CheckError> {
    let Shared { protocols, options, driver, .. } = *shared;
    let start = Instant::now();
    let clock = Clock::start(solver);
    let limit = Some((clock, limit));
    let mut kept = if matches!(check.task, Task::Claim(_)) { preparer.hinted() } else { BTreeSet::new() };
    let mut split = BTreeSet::new();
    let mut again: Option<Prepared> = None;
    let mut before = 0;
    let mut doubt = None;
    let mut why = Why::Path;
    let outcome = loop {
        let prepared = again.as_mut().unwrap_or(first);
        let outcome = match &check.task {
            Task::Safety(Goal::Wait(site), _) if preparer.has_clients() => {
                safety::check_wait(&preparer.safety(prepared, shared, limit), solver, *site)?
            }
            Task::Safety(goal, components) => {
                safety::check(&preparer.safety(prepared, shared, limit), solver, goal, components.clone())?
            }
            Task::Claim(claim) => {
                let goal = Goal::Holds(*claim, doubt.is_none());
                // What the client keeps to is needed anyway.
                let (Claim::Requests(protocol, _) | Claim::Payload((protocol, _)) | Claim::Turn(protocol)) = *claim;
                let components = vec![protocols.whole(protocol)];
                safety::check(&preparer.safety(prepared, shared, limit), solver, &goal, components)?
            }
            Task::Liveness(demand, components) => {
                let context = preparer.liveness(prepared, solver, shared, limit)?;
                liveness::check(&context, solver, demand, components.clone())?
            }
        };
        match outcome.verdict {
            Verdict::Coarse(heads, reason) if heads.is_subset(&kept) => {
                why = Why::Loop;
                let reason = format!("a run through a loop that could not be concretised: {reason}");
                break Outcome { verdict: Verdict::Unknown(reason), ..outcome };
            }
            Verdict::Coarse(heads, _) => {
                // Finer summaries of those loops, then none.
                if heads.is_subset(&split) { &mut kept } else { &mut split }.extend(heads);
                before += outcome.refinements;
                again = Some(preparer.prepare(&kept, &split));
            }
            // Is there a run that breaks the rule, or only one that cannot be followed?
            Verdict::Doubtful(reason) => {
                doubt = Some((reason, outcome.end));
                before += outcome.refinements;
            }
            Verdict::Proved => {
                let Some((reason, end)) = doubt else { break outcome };
                why = Why::Cookie;
                break Outcome { verdict: Verdict::Unknown(reason), end, ..outcome };
            }
            _ => break outcome,
        }
    };
    let memory = if options.memory { memory(None) + memory(Some(solver.process())) } else { 0.0 };
    let name = |(protocol, part): &(usize, usize)| {
        format!("{} {}", protocols.all[*protocol].protocol.name, protocols.title(*protocol, *part))
    };
    let Outcome { verdict, predicates, refinements, states, granted, end } = outcome;
    let refinements = refinements + before;
    if matches!(verdict, Verdict::Doubted(_)) {
        why = Why::Memory;
    }
    let (verdict, trace, reason) = match verdict {
        Verdict::Proved => ("PROVED", None, None),
        Verdict::Violated(trace) => ("VIOLATED", Some(*trace), None),
        Verdict::Doubted(trace) => ("UNKNOWN", Some(*trace), Some(GUESS.to_string())),
        Verdict::Unknown(reason) | Verdict::Doubtful(reason) | Verdict::Coarse(_, reason) => {
            ("UNKNOWN", None, Some(reason))
        }
    };
    let is_late = verdict == "UNKNOWN" && clock.is_over(options.limit, solver);
    let why = if is_late { Why::Time } else { why };
    let say = || doubt::doubt(preparer.program(), protocols, &check.task, end.as_ref(), why);
    let doubt = (verdict == "UNKNOWN").then(say);
    Ok(Row {
        driver: driver.name.clone(),
        protocol: check.protocol.clone(),
        subprotocol: check.subprotocol.clone(),
        rule: check.rule,
        verdict,
        seconds: clock.spent(solver).as_secs_f64(),
        elapsed: start.elapsed().as_secs_f64(),
        memory_mb: memory,
        predicates,
        refinements,
        is_late,
        states,
        granted: granted.iter().map(name).collect(),
        replays: None,
        reason,
        doubt,
        trace,
    })
}

/// Why a run is no violation, though all else speaks for it.
const GUESS: &str =
    "the program can perhaps not take this run: it rests on what stands in memory that the checker does not \
                     follow, such as an element of a large array, or an object whose address is kept elsewhere";

/// Most memory that a process has had, in MiB.
fn memory(process: Option<u32>) -> f64 {
    let path = process.map_or("/proc/self/status".to_string(), |process| format!("/proc/{process}/status"));
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib: f64 = line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0.0);
    (kib / 1024.0 * 10.0).round() / 10.0
}
