//! All checks of a driver: which there are, and their results.

use crate::component::{Component, Protocols};
use crate::driver::Driver;
use crate::liveness::{self, Demand};
use crate::program::{Message, Op, Program};
use crate::safety::{self, Context, Goal, Outcome, Verdict};
use crate::solver::{Solver, SolverError};
use crate::summary::summarise;
use crate::terminate::{analyse, ending};
use crate::trace::Trace;
use crate::transform::transform;
use protocol::decompose::Purpose;
use serde::Serialize;
use std::collections::BTreeSet;
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
}

impl Default for Options {
    fn default() -> Self {
        Options { decompose: true, seed: true, transform: true, limit: Duration::from_secs(60), rules: Vec::new() }
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

/// The driver's program as it is checked.
pub fn prepare(driver: &Driver, options: &Options) -> Program {
    if options.transform { transform(&driver.program) } else { driver.program.clone() }
}

/// Runs all checks; `tell` hears of each result.
pub fn run(
    driver: &Driver,
    program: &Program,
    protocols: &Protocols,
    options: &Options,
    tell: &mut dyn FnMut(&Row),
) -> Result<Vec<Row>, SolverError> {
    let mut rows = Vec::new();
    // Liveness looks at single messages; its graph has a node behind each.
    let loops = analyse(program, &mut Solver::new()?)?;
    let is_idle = |(protocol, message): Message| {
        let states = &protocols.automaton(protocol).states;
        states.iter().enumerate().all(|(state, own)| own.next[message].is_none_or(|next| next == state))
    };
    let summarised = summarise(program, &loops, &is_idle);
    let fine = summarised.program.split();
    let ending = ending(&analyse(&fine, &mut Solver::new()?)?);
    for check in checks(program, protocols) {
        if !options.rules.is_empty() && !options.rules.contains(&check.rule) {
            continue;
        }
        let start = Instant::now();
        let deadline = Some(start + options.limit);
        let context = Context {
            program: &summarised.program,
            base: program,
            summarised: &summarised,
            protocols,
            seed: options.seed,
            deadline,
            ending: &ending,
        };
        let mut solver = Solver::new()?;
        let outcome = match check.task {
            Task::Safety(goal, components) => safety::check(&context, &mut solver, &goal, components)?,
            Task::Liveness(demand, components) => {
                let context = Context { program: &fine, ..context };
                liveness::check(&context, &mut solver, &demand, components)?
            }
        };
        let memory = memory(None) + memory(Some(solver.process()));
        let name = |(protocol, part): &(usize, usize)| {
            format!("{} {}", protocols.all[*protocol].protocol.name, protocols.title(*protocol, *part))
        };
        let Outcome { verdict, predicates, refinements, states, granted } = outcome;
        let (verdict, trace, reason) = match verdict {
            Verdict::Proved => ("PROVED", None, None),
            Verdict::Violated(trace) => ("VIOLATED", Some(*trace), None),
            Verdict::Unknown(reason) => ("UNKNOWN", None, Some(reason)),
        };
        let row = Row {
            driver: driver.name.clone(),
            protocol: check.protocol,
            subprotocol: check.subprotocol,
            rule: check.rule,
            verdict,
            seconds: start.elapsed().as_secs_f64(),
            memory_mb: memory,
            predicates,
            refinements,
            states,
            granted: granted.iter().map(name).collect(),
            reason,
            trace,
        };
        tell(&row);
        rows.push(row);
    }
    Ok(rows)
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
