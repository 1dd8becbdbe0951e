//! Safety: rules 1, 3, 5, 6 and 7, by predicate abstraction that counterexamples refine.
//!
//! An abstract path to an error may be spurious for one of three reasons, each with its own refinement: it is infeasible in
//! the program (predicates are added), a component's state was not tracked (it is from now on), or the client breaks the
//! protocols on it (the subprotocol that forbids it is added as an assumption).

use crate::abstraction::explore::{Found, Space};
use crate::counterexample::feasibility::{self, Feasible};
use crate::counterexample::replay::{covering, replay, Replay};
use crate::counterexample::search::{self, Search};
use crate::counterexample::trace::{name, trace, Trace};
use crate::cpu_time::Clock;
use crate::expr::Expr;
use crate::loops::ranking::Ending;
use crate::loops::summary::Summarised;
use crate::program::{Claim, Message, Op, Program, Step, Wrong};
use crate::rules::component::{Component, Next, Protocols, WHOLE};
use crate::rules::grant::{grant, grant_own, track};
use crate::rules::violation::{blocked, broken};
use crate::solver::{Solver, SolverError};
use std::collections::BTreeSet;
use std::time::Duration;

/// Abstract states; beyond, the check gives up.
pub const LIMIT: usize = 7_000_000;
/// Protocols of at most so many states are taken for granted whole.
pub const SMALL: usize = 256;
/// Unroller of refinement.
pub const ROUNDS: usize = 400;

#[derive(Debug, Clone)]
pub enum Goal {
    /// Rule 1: the first component refuses no message that is sent.
    Emit,
    /// Rule 1: these messages are sent only while the first component is in a final state, whose name is given.
    Needs(Vec<Message>, String),
    /// Rule 3: this AWAIT ends, or may last for ever.
    Wait(usize),
    /// A part of it: this AWAIT ends, or what one protocol says of waiting for ever.
    WaitOf(usize, Rest),
    /// Rule 5: the first component is in a final state at the end.
    Final,
    /// Rules 6 and 7: no run comes to a place where this does not hold, or, if doubts count, is doubtful.
    Holds(Claim, bool),
}

/// What a protocol says of an AWAIT that may last for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// Nothing speaks against it.
    Agrees(usize),
    /// It lets the driver wait for some of the messages.
    Allows(usize),
}

#[derive(Debug, Clone)]
pub enum Verdict {
    Proved,
    Violated(Box<Trace>),
    /// A run that rests on a value which the model does not follow: the program may not be able to take it.
    Doubted(Box<Trace>),
    Unknown(String),
    /// Nothing is wrong yet at the end of the run that was found, but the checker cannot follow what comes then.
    Doubtful(String),
    /// A run was found that could not be concretised: the summaries of the loops with these heads are too coarse.
    Coarse(BTreeSet<usize>, String),
}

impl Verdict {
    pub fn of(trace: Trace, is_doubtful: bool) -> Verdict {
        if is_doubtful {
            Verdict::Doubted(Box::new(trace))
        } else {
            Verdict::Violated(Box::new(trace))
        }
    }
}

pub struct Outcome {
    pub verdict: Verdict,
    pub predicates: usize,
    pub refinements: usize,
    pub states: usize,
    /// Subprotocols that were taken for granted.
    pub granted: Vec<(usize, usize)>,
    /// Where the path ends that was looked at last.
    pub end: Option<Step>,
}

#[derive(Clone, Copy)]
pub struct Context<'a> {
    /// What is explored: loops without messages are summarised.
    pub program: &'a Program,
    /// The program before that.
    pub base: &'a Program,
    pub summarised: &'a Summarised,
    pub protocols: &'a Protocols,
    pub seed: bool,
    /// The time that the check has taken, and its limit.
    pub limit: Option<(Clock, Duration)>,
    pub ending: &'a [Ending],
}

impl Context<'_> {
    pub fn is_late(&self, solver: &Solver) -> bool {
        self.limit.is_some_and(|(clock, limit)| clock.is_over(limit, solver))
    }
}

impl Goal {
    fn is_error(&self, space: &Space, context: &Context, states: &[u16], op: &Op) -> bool {
        let program = context.program;
        let any = |test: &dyn Fn(&Component, usize) -> bool| {
            space.concrete(0, states[0]).into_iter().any(|state| test(&space.components[0], state))
        };
        match (self, op) {
            (Goal::Emit, Op::Emit(message)) => any(&|one, state| one.next(state, *message) == Next::Illegal),
            (Goal::Needs(messages, _), Op::Emit(message)) if messages.contains(message) => {
                any(&|one, state| !one.automaton.states[state].is_final)
            }
            (Goal::Holds(claim, doubts), Op::Fail(own, wrong)) => {
                claim == own && (*doubts || *wrong != Wrong::Elsewhere)
            }
            (Goal::Final, Op::Return) => any(&|one, state| !one.automaton.states[state].is_final),
            (Goal::Wait(site), Op::Await(own)) if site == own => {
                let messages = &program.awaits[*site].messages;
                let certain = |test: &dyn Fn(&Component, usize) -> bool| {
                    space.components.iter().enumerate().any(|(index, component)| {
                        space.concrete(index, states[index]).into_iter().all(|state| test(component, state))
                    })
                };
                // To wait for what need never come, all protocols have to agree.
                let agrees = |protocol: usize| {
                    certain(&|component, state| {
                        (component.protocol, component.part) == (protocol, WHOLE)
                            && context.protocols.may_wait(protocol, state, messages)
                    })
                };
                let is_promised = certain(&|component, state| component.covers(state, messages));
                let may_rest = certain(&|component, state| component.rests(state, messages))
                    && (0..context.protocols.all.len()).all(agrees);
                !is_promised && !may_rest
            }
            (Goal::WaitOf(site, rest), Op::Await(own)) if site == own => {
                let messages = &program.awaits[*site].messages;
                let certain = |test: &dyn Fn(&Component, usize) -> bool| {
                    space.components.iter().enumerate().any(|(index, component)| {
                        space.concrete(index, states[index]).into_iter().all(|state| test(component, state))
                    })
                };
                let is_so = |component: &Component, state: usize| match *rest {
                    Rest::Agrees(protocol) => {
                        (component.protocol, component.part) == (protocol, WHOLE)
                            && context.protocols.may_wait(protocol, state, messages)
                    }
                    Rest::Allows(protocol) => component.protocol == protocol && component.rests(state, messages),
                };
                !certain(&|component, state| component.covers(state, messages)) && !certain(&is_so)
            }
            _ => false,
        }
    }
}

/// Checks a goal. `components` begins with the one that the goal is about, if there is one.
pub fn check(
    context: &Context,
    solver: &mut Solver,
    goal: &Goal,
    components: Vec<Component>,
) -> Result<Outcome, SolverError> {
    let program = context.program;
    let own = components.len();
    let mut space = Space::new(program, components, context.seed);
    let mut refinements = 0;
    let done = |space: &Space, refinements, states, verdict| Outcome {
        verdict,
        predicates: space.abstraction.predicates.len(),
        refinements,
        states,
        granted: space.components[own.min(space.components.len())..]
            .iter()
            .map(|one| (one.protocol, one.part))
            .collect(),
        end: space.end.clone(),
    };
    loop {
        if refinements > ROUNDS || context.is_late(solver) {
            let reason = format!("no verdict after {refinements} refinements");
            return Ok(done(&space, refinements, 0, Verdict::Unknown(reason)));
        }
        let is_error = |space: &Space, states: &[u16], op: &Op| goal.is_error(space, context, states, op);
        let (edges, last) = match space.explore(program, solver, LIMIT, false, &is_error)? {
            Found::Nothing(graph) => return Ok(done(&space, refinements, graph.states.len(), Verdict::Proved)),
            Found::TooMuch => {
                let reason = format!("more than {LIMIT} abstract states");
                return Ok(done(&space, refinements, LIMIT, Verdict::Unknown(reason)));
            }
            Found::Error(edges, last) => (edges, last),
        };
        // Up to and including the step that is wrong.
        let steps = feasibility::steps(program, &edges, last + 1);
        space.end = steps.last().map(|step| (*step).clone());
        refinements += 1;
        if grant_own(context, &mut space, &steps) {
            continue;
        }
        let feasible = feasibility::check(program, solver, &steps, None)?;
        match feasible {
            Feasible::Unknown => {
                return Ok(done(&space, refinements, 0, Verdict::Unknown("the solver gave up on a path".to_string())))
            }
            Feasible::No(cores) => {
                let own = space.components.first().map_or(usize::MAX, |own| own.protocol);
                let distance = |all: &[Expr]| program.distance(all, own);
                let is_new = feasibility::predicates(&steps, &cores, &distance, &mut |one, is_wanted| {
                    space.abstraction.offer(one, is_wanted)
                });
                if !is_new {
                    let reason = "a path is impossible, but no further predicate shows it".to_string();
                    return Ok(done(&space, refinements, 0, Verdict::Unknown(reason)));
                }
                continue;
            }
            Feasible::Yes(_) => {}
        }
        let replayed = replay(context.protocols, &steps);
        if let (Op::Fail(_, Wrong::Elsewhere), None) = (&steps[steps.len() - 1].op, replayed.refused) {
            let place = &steps[steps.len() - 1].place;
            let reason = format!("{place}: the cookie of a request is read where the driver has not stored it last");
            return Ok(done(&space, refinements, 0, Verdict::Doubtful(reason)));
        }
        if let Some(finding) = is_real(context, goal, space.components.first(), &steps, &replayed) {
            if program.is_part {
                let reason = "a run of a part of the program".to_string();
                return Ok(done(&space, refinements, 0, Verdict::Unknown(reason)));
            }
            let run = match search::find(context, solver, &edges, last + 1, None)? {
                Search::Found(run) => run,
                Search::Nothing(heads) => return Ok(done(&space, refinements, 0, Verdict::Coarse(heads, finding))),
            };
            let trace = trace(context.base, context.protocols, &run, finding);
            return Ok(done(&space, refinements, 0, Verdict::of(trace, run.is_doubtful)));
        }
        if track(&mut space, &steps) || grant(context, goal, &mut space, &steps, &replayed) {
            continue;
        }
        let reason = "a counterexample does not replay, and nothing refutes it".to_string();
        return Ok(done(&space, refinements, 0, Verdict::Unknown(reason)));
    }
}

/// Rule 3 of an AWAIT, protocol by protocol: an AWAIT that always ends or that a protocol agrees with, for each of them, and one that
/// always ends or that some protocol lets last, is right. The states of all protocols together are many more.
pub fn check_wait(context: &Context, solver: &mut Solver, site: usize) -> Result<Outcome, SolverError> {
    let all = 0..context.protocols.all.len();
    let mut sum: Option<Outcome> = None;
    let mut part = |rest: Rest| {
        let (Rest::Agrees(protocol) | Rest::Allows(protocol)) = rest;
        let own = check(context, solver, &Goal::WaitOf(site, rest), vec![context.protocols.whole(protocol)])?;
        let before = sum.take();
        let of = |field: fn(&Outcome) -> usize| before.as_ref().map_or(0, field);
        let (predicates, refinements) = (of(|one| one.predicates), of(|one| one.refinements));
        let own = Outcome {
            predicates: own.predicates.max(predicates),
            refinements: own.refinements + refinements,
            states: own.states.max(of(|one| one.states)),
            ..own
        };
        let is_proved = matches!(own.verdict, Verdict::Proved);
        sum = Some(own);
        Ok::<bool, SolverError>(is_proved)
    };
    let mut is_right = true;
    for protocol in all.clone() {
        is_right = is_right && part(Rest::Agrees(protocol))?;
    }
    for protocol in all {
        if !is_right || part(Rest::Allows(protocol))? {
            break;
        }
    }
    match sum {
        Some(sum) => Ok(sum),
        None => check(context, solver, &Goal::Wait(site), Vec::new()),
    }
}

/// The finding at the end of a run that the whole protocols allow up to there.
fn is_real(
    context: &Context,
    goal: &Goal,
    own: Option<&Component>,
    steps: &[&Step],
    replayed: &Replay,
) -> Option<String> {
    let protocols = context.protocols;
    let last = steps.len() - 1;
    match (goal, &steps[last].op, replayed.refused) {
        (Goal::Emit, Op::Emit(_), Some((at, message))) if at == last => Some(format!(
            "rule 1: `{}` is sent, which is not enabled in state {}",
            name(protocols, message),
            protocols.automaton(message.0).states[replayed.states[message.0]].name
        )),
        (Goal::Needs(_, needs), Op::Emit(message), None) => {
            let own = own?;
            let is_there = own.automaton.states[own.after(&steps[..last])?].is_final;
            (!is_there).then(|| format!("rule 1: `{}` is sent, but it needs {needs}", name(protocols, *message)))
        }
        (Goal::Holds(..), Op::Fail(claim, wrong), None) => Some(broken(protocols, *claim, *wrong, steps)),
        (Goal::Final, Op::Return, None) => {
            let open: Vec<String> = (0..protocols.all.len())
                .filter(|one| !protocols.automaton(*one).states[replayed.states[*one]].is_final)
                .map(|one| {
                    let state = &protocols.automaton(one).states[replayed.states[one]].name;
                    format!("{} is in state {state}", protocols.all[one].protocol.name)
                })
                .collect();
            (!open.is_empty()).then(|| format!("rule 5: the driver returns while {}", open.join(", ")))
        }
        (Goal::Wait(site) | Goal::WaitOf(site, _), Op::Await(_), None) => {
            let wait = &context.program.awaits[*site];
            let covering = covering(protocols, &replayed.states, wait);
            if covering.iter().any(|(protocol, promise)| protocols.is_owed(*protocol, promise)) {
                return None;
            }
            let rests = !covering.is_empty();
            let against = |one: &usize| !protocols.may_wait(*one, replayed.states[*one], &wait.messages);
            let against: Vec<usize> = (0..protocols.all.len()).filter(against).collect();
            (!rests || !against.is_empty()).then(|| blocked(protocols, &replayed.states, wait, rests))
        }
        _ => None,
    }
}
