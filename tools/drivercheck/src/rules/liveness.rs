//! Liveness: rules 2 and 4. A violation is a run without end in which the demand is never met.
//!
//! A violation is a fair cycle among the abstract states in which the demand is open (`fair_cycle`). The lasso is replayed on
//! the program, where the relevant variables must have equal values at both ends of the cycle, and on the whole protocols.
//! If that fails, the abstraction is refined as for safety.

use crate::abstraction::explore::{Found, Space};
use crate::counterexample::feasibility::{self, Feasible};
use crate::counterexample::replay::replay;
use crate::counterexample::search::{self, Found as Run, Search};
use crate::counterexample::trace::{name, trace};
use crate::expr::Expr;
use crate::hash::HashSet;
use crate::program::{Message, Op, Program, Step};
use crate::rules::component::{Component, Protocols};
use crate::rules::fair_cycle::{self, Lasso};
use crate::rules::grant::{grant_guard, grant_own, grant_promise, track};
use crate::rules::promise::{broken_promise, grant_unfair};
use crate::rules::safety::{Context, Outcome, Verdict, LIMIT, ROUNDS};
use crate::solver::{Solver, SolverError};
use protocol::automaton::State;

#[derive(Debug, Clone)]
pub enum Demand {
    /// Rule 2: while the message is enabled, an AWAIT for it comes.
    Await(Message),
    /// Rule 4: the timed mark of a protocol goes.
    Leave(usize, usize),
}

pub fn check(
    context: &Context,
    solver: &mut Solver,
    demand: &Demand,
    components: Vec<Component>,
) -> Result<Outcome, SolverError> {
    let mut with_others = Some(false);
    let first = refine(context, solver, demand, components.clone(), &mut with_others)?;
    // What was learnt of other cycles saves rounds as a rule, but it may also be what makes the states too many.
    if !matches!(first.verdict, Verdict::Unknown(_)) || with_others == Some(false) || context.is_late(solver) {
        return Ok(first);
    }
    let second = refine(context, solver, demand, components, &mut None)?;
    Ok(Outcome { refinements: first.refinements + second.refinements, ..second })
}

/// Refines until there is a verdict: where `with_others` is there, by several cycles in a round, and then it says whether
/// there were any.
fn refine(
    context: &Context,
    solver: &mut Solver,
    demand: &Demand,
    components: Vec<Component>,
    with_others: &mut Option<bool>,
) -> Result<Outcome, SolverError> {
    let program = context.program;
    let own = components.len();
    let mut space = Space::new(program, components, context.seed);
    let mut refinements = 0;
    // Once a cycle was found that may end or not, others are looked for that do without its counters.
    let mut without: HashSet<usize> = HashSet::default();
    let mut doubt: Option<Verdict> = None;
    let done = |space: &Space, refinements, states, verdict| Outcome {
        verdict,
        predicates: space.abstraction.predicates.len(),
        refinements,
        states,
        granted: space.components[own..].iter().map(|one| (one.protocol, one.part)).collect(),
        end: space.end.clone(),
    };
    loop {
        if refinements > ROUNDS || context.is_late(solver) {
            let reason = format!("no verdict after {refinements} refinements");
            return Ok(done(&space, refinements, 0, Verdict::Unknown(reason)));
        }
        let graph = match space.explore(program, solver, LIMIT, true, &|_, _, _| false)? {
            Found::Nothing(graph) => graph,
            Found::Error(..) | Found::TooMuch => {
                let reason = format!("more than {LIMIT} abstract states");
                return Ok(done(&space, refinements, LIMIT, Verdict::Unknown(reason)));
            }
        };
        let cycles = fair_cycle::find(context, &space, &graph, demand, &without);
        let Some(lasso) = choose(program, solver, &cycles.first)? else {
            let verdict = doubt.unwrap_or(Verdict::Proved);
            return Ok(done(&space, refinements, graph.states.len(), verdict));
        };
        refinements += 1;
        match judge(context, solver, &mut space, demand, lasso)? {
            // What can be said of other cycles at once needs no further exploration.
            Judgement::Refined => {
                let Some(were_any) = with_others else { continue };
                for other in &cycles.others {
                    *were_any = true;
                    let steps = feasibility::steps(program, &[&*other.stem, &*other.cycle].concat(), usize::MAX);
                    let cycle = feasibility::steps(program, &other.cycle, usize::MAX).len();
                    refute_behind(context, solver, &mut space, &steps, cycle)?;
                }
            }
            Judgement::Open(verdict, counting) => {
                let known = without.len();
                without.extend(counting);
                if without.len() == known {
                    return Ok(done(&space, refinements, graph.states.len(), doubt.unwrap_or(verdict)));
                }
                doubt.get_or_insert(verdict);
            }
            Judgement::Verdict(verdict) => return Ok(done(&space, refinements, graph.states.len(), verdict)),
        }
    }
}

/// The first cycle that can be repeated, whatever leads to it; otherwise the first.
fn choose<'a>(program: &Program, solver: &mut Solver, all: &'a [Lasso]) -> Result<Option<&'a Lasso>, SolverError> {
    if all.len() > 1 {
        for lasso in all {
            let steps = feasibility::steps(program, &lasso.cycle, usize::MAX);
            let matter = feasibility::relevant(&steps);
            if let Feasible::Yes(_) = feasibility::check(program, solver, &steps, Some((0, &matter)))? {
                return Ok(Some(lasso));
            }
        }
    }
    Ok(all.first())
}

enum Judgement {
    Refined,
    /// A cycle that the program can take, but not twice with the same values; and its edges that count.
    Open(Verdict, Vec<usize>),
    Verdict(Verdict),
}

fn judge(
    context: &Context,
    solver: &mut Solver,
    space: &mut Space,
    demand: &Demand,
    lasso: &Lasso,
) -> Result<Judgement, SolverError> {
    let (program, protocols) = (context.program, context.protocols);
    let unknown = |text: &str| Ok(Judgement::Verdict(Verdict::Unknown(text.to_string())));
    // Repeated until all protocols return to a state: one turn brings the component back, but not the protocols outside of
    // the check.
    let run = |times: usize| {
        let mut edges = lasso.stem.clone();
        (0..times).for_each(|_| edges.extend(&lasso.cycle));
        feasibility::steps(program, &edges, usize::MAX)
    };
    let (stem, cycle) = (run(0).len(), run(1).len() - run(0).len());
    const MOST: usize = 6;
    let long = run(MOST);
    let turn = &long[stem..stem + cycle];
    let waits = turn.iter().find(|step| matches!(step.op, Op::Await(_)));
    space.end = waits.or(turn.first()).map(|step| (*step).clone());
    if track(space, &long) {
        return Ok(Judgement::Refined);
    }
    if grant_own(context, space, &long) {
        return Ok(Judgement::Refined);
    }
    if grant_unfair(context, space, &long, stem, cycle) {
        return Ok(Judgement::Refined);
    }
    // Two turns by themselves: what leads to the cycle may be impossible too, but that says nothing of the next way there.
    let twice = run(2);
    for steps in [&twice[stem..stem + cycle], &twice[stem..]] {
        if refute(context, solver, space, steps)? == Refuted::Newly {
            return Ok(Judgement::Refined);
        }
    }
    // A protocol that is taken for granted multiplies the states; a predicate splits them only where its variables are live.
    if refute_behind(context, solver, space, &run(1), cycle)? == Refuted::Newly {
        return Ok(Judgement::Refined);
    }
    let replayed = replay(protocols, &long);
    if let Some((at, message)) = replayed.refused {
        if grant_guard(protocols, space, &long[..at], message) {
            return Ok(Judgement::Refined);
        }
        return unknown("a cycle does not replay on the protocols, and no subprotocol shows it");
    }
    // The stem may include some turns of the cycle.
    let at = |times: usize| (stem + times * cycle).checked_sub(1).map(|step| replayed.history[step].clone());
    let repeat = (0..MOST).flat_map(|start| (start + 1..=MOST).map(move |end| (start, end)));
    let Some((start, end)) = repeat.into_iter().find(|(start, end)| at(*start) == at(*end)) else {
        // More and more requests are opened, which ends at their limit, or the driver closes what is not open.
        for component in (0..protocols.all.len()).flat_map(|one| protocols.requests(one)) {
            if !space.has(component.protocol, component.part) {
                space.add(component);
                return Ok(Judgement::Refined);
            }
        }
        return unknown("the protocols do not come back to a state on a cycle");
    };
    let steps = run(end);
    let first = stem + start * cycle;
    if let Some((protocol, promise)) = broken_promise(context, &replayed, &steps, first) {
        if grant_promise(protocols, space, protocol, &promise) {
            return Ok(Judgement::Refined);
        }
        return unknown("a cycle is not fair, and no subprotocol shows it");
    }
    if let Some(name) = protocols.grows(&steps[first..]) {
        return unknown(&format!("a cycle opens more and more of `{name}`, whose number is not counted"));
    }
    let matter = feasibility::relevant(&steps[first..]);
    match feasibility::check(program, solver, &steps, Some((first, &matter)))? {
        Feasible::Yes(_) => {
            let mut edges = lasso.stem.clone();
            (0..end).for_each(|_| edges.extend(&lasso.cycle));
            let turn = lasso.stem.len() + start * lasso.cycle.len();
            let found = match search::find(context, solver, &edges, usize::MAX, Some(turn))? {
                Search::Found(found) => found,
                Search::Nothing(heads) => {
                    let reason = "a run without end".to_string();
                    return Ok(Judgement::Verdict(Verdict::Coarse(heads, reason)));
                }
            };
            return Ok(Judgement::Verdict(violated(context, demand, &found)));
        }
        Feasible::Unknown => return unknown("the solver gave up on a cycle"),
        Feasible::No(_) => {}
    }
    for times in [1, 2, end.max(3)] {
        match refute(context, solver, space, &run(times))? {
            Refuted::Newly => return Ok(Judgement::Refined),
            Refuted::Again => return unknown("a cycle is impossible, but no further predicate shows it"),
            Refuted::Not => {}
        }
    }
    let verdict = Verdict::Unknown(format!("a loop may end or not: {}", steps[first].place));
    let mut counting = Vec::new();
    for var in matter {
        if let Feasible::No(_) = feasibility::check(program, solver, &steps, Some((first, &HashSet::from_iter([var]))))?
        {
            let counts = |step: &Step| matches!(&step.op, Op::Assign(own, value) if *own == var && value.mentions(var));
            let is_counting = |edge: &&usize| program.edges[**edge].steps.iter().any(counts);
            counting.extend(lasso.cycle.iter().filter(is_counting));
        }
    }
    Ok(Judgement::Open(verdict, counting))
}

#[derive(PartialEq, Eq)]
enum Refuted {
    /// The program cannot take the steps, and now the abstraction knows more of it.
    Newly,
    /// ... no more than before.
    Again,
    Not,
}

fn refute(context: &Context, solver: &mut Solver, space: &mut Space, steps: &[&Step]) -> Result<Refuted, SolverError> {
    let Feasible::No(cores) = feasibility::check(context.program, solver, steps, None)? else {
        return Ok(Refuted::Not);
    };
    let own = space.components.first().map_or(usize::MAX, |own| own.protocol);
    let distance = |all: &[Expr]| context.program.distance(all, own);
    let is_new = feasibility::predicates(steps, &cores, &distance, &mut |one, is_wanted| {
        space.abstraction.offer(one, is_wanted)
    });
    Ok(if is_new { Refuted::Newly } else { Refuted::Again })
}

/// Refutes the run by as little of its end as can be, at least so many steps. What leads to a loop is often impossible too, but
/// for reasons that have nothing to do with the loop, one behind the other: the start of a device, for instance.
fn refute_behind(
    context: &Context,
    solver: &mut Solver,
    space: &mut Space,
    steps: &[&Step],
    least: usize,
) -> Result<Refuted, SolverError> {
    let mut count = least.max(1);
    loop {
        let from = steps.len().saturating_sub(count);
        let refuted = refute(context, solver, space, &steps[from..])?;
        if refuted == Refuted::Newly || from == 0 {
            return Ok(refuted);
        }
        count *= 2;
    }
}

fn violated(context: &Context, demand: &Demand, run: &Run) -> Verdict {
    let protocols = context.protocols;
    let finding = match demand {
        Demand::Await(message) => format!(
            "rule 2: `{}` is enabled for ever, but the driver never waits for it again",
            name(protocols, *message)
        ),
        Demand::Leave(protocol, mark) => format!(
            "rule 4: `{}` stays in timed state {} for ever: the answer that leaves it{} is not sent",
            protocols.all[*protocol].protocol.name,
            protocols.automaton(*protocol).timed[*mark],
            answers(protocols, *protocol, *mark)
        ),
    };
    Verdict::of(trace(context.base, protocols, run, finding), run.is_doubtful)
}

/// The messages that a timed state is left by when they are sent, as ` (`done` or `failed`)`; nothing if there are none.
fn answers(protocols: &Protocols, protocol: usize, mark: usize) -> String {
    let automaton = protocols.automaton(protocol);
    let is_timed = |state: &State| state.timed.contains(&mark);
    let leaves = |letter: usize| {
        let next = |state: &State| state.next[letter].map(|next| &automaton.states[next]);
        automaton.states.iter().filter(|state| is_timed(state)).filter_map(next).any(|next| !is_timed(next))
    };
    let messages = protocols.all[protocol].protocol.messages.iter().enumerate();
    let sent = messages.filter(|(letter, message)| !message.incoming && leaves(*letter));
    let names: Vec<String> = sent.map(|(_, message)| format!("`{}`", message.name)).collect();
    if names.is_empty() {
        String::new()
    } else {
        format!(" ({})", names.join(" or "))
    }
}
