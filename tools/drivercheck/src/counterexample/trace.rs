//! A counterexample for people: source lines with the values of branches, messages, states before and after.

use crate::counterexample::feasibility::Values;
use crate::counterexample::replay::{replay, Moment};
use crate::counterexample::search::Found;
use crate::hash::HashMap;
use crate::program::{Message, Op, Place, Program, Wrong};
use crate::rules::component::Protocols;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Line {
    pub file: String,
    pub line: usize,
    /// What the branch looked at, as `nic.open = 1`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// As `?open`, or `AWAIT`, or `return`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<String>,
}

#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Trace {
    pub lines: Vec<Line>,
    /// Of a run without end: the line from which it repeats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repeats_from: Option<usize>,
    /// What is wrong at its end.
    pub finding: String,
    /// Transitions it takes: protocol, state, message.
    #[serde(skip)]
    pub taken: Vec<(usize, usize, usize)>,
    /// What the run-time monitor sees of it; of a run without end, up to the end of its first repetition.
    #[serde(skip)]
    pub events: Vec<Event>,
    /// The event from which it repeats.
    #[serde(skip)]
    pub turn: Option<usize>,
    /// Why a claim does not hold at its end.
    #[serde(skip)]
    pub wrong: Option<Wrong>,
    /// The value that is out of its range.
    #[serde(skip)]
    pub value: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The message, and whether its cookie is that of the request that the run is about.
    Send(Message, bool),
    Receive(Message, bool),
    Wait(BTreeSet<Message>),
    Return,
    /// The last so many events come so many times more.
    Again(usize, u64),
}

/// Builds a trace.
pub fn trace(program: &Program, protocols: &Protocols, run: &Found, finding: String) -> Trace {
    let (steps, values) = (&run.path.steps, &run.values);
    let replay = replay(protocols, steps);
    let moments: HashMap<usize, &Moment> = replay.moments.iter().map(|moment| (moment.step, moment)).collect();
    let taken = replay.moments.iter().map(|moment| (moment.message.0, moment.before, moment.message.1)).collect();
    let mut made = Trace { finding, taken, ..Trace::default() };
    let line = |place: &Place| Line {
        file: place.file.to_string(),
        line: place.line,
        values: Vec::new(),
        message: None,
        protocol: None,
        before: None,
        after: None,
    };
    let mut iterations = run.path.iterations.iter().peekable();
    let mut repeats = run.path.repeats.iter().peekable();
    let mut begun = 0;
    let mut is_followed = false;
    for (index, step) in steps.iter().enumerate() {
        if run.first == Some(index) {
            made.repeats_from = Some(made.lines.len());
            made.turn = Some(made.events.len());
        }
        if let Some(repeat) = repeats.peek() {
            if repeat.steps.start == index {
                begun = made.events.len();
            }
            if repeat.steps.end == index {
                made.events.push(Event::Again(made.events.len() - begun, repeat.times));
                repeats.next();
            }
        }
        let is_message = matches!(step.op, Op::Emit(_) | Op::Receive(_));
        let own = is_message && std::mem::take(&mut is_followed);
        match &step.op {
            Op::Followed => is_followed = true,
            Op::Emit(message) => made.events.push(Event::Send(*message, own)),
            Op::Receive(message) => made.events.push(Event::Receive(*message, own)),
            Op::Fail(_, wrong) => made.wrong = Some(*wrong),
            Op::Show(_) => made.value = shown(values, index),
            Op::Await(site) => made.events.push(Event::Wait(program.awaits[*site].messages.clone())),
            Op::Return => made.events.push(Event::Return),
            _ => {}
        }
        while iterations.peek().is_some_and(|iteration| iteration.end <= index) {
            iterations.next();
        }
        // Of a loop's iterations that do not matter by themselves, one line.
        if let Some(iteration) = iterations.peek().filter(|iteration| iteration.contains(&index)) {
            if iteration.start == index {
                let many = repeats.peek().filter(|repeat| iteration.contains(&repeat.steps.start));
                let text = match many {
                    Some(repeat) => format!("(round the loop, more than {} times)", repeat.times),
                    None => "(round the loop)".to_string(),
                };
                made.lines.push(Line { values: vec![text], ..line(&step.place) });
            }
            continue;
        }
        match &step.op {
            Op::Assume(_) => {
                let is_named = |(var, _): &&(u32, u64)| program.vars[*var as usize].name != "(address)";
                let read: Vec<(u32, u64)> =
                    values.read.get(&index).into_iter().flatten().filter(is_named).copied().collect();
                if read.is_empty() {
                    continue;
                }
                let shown = |(var, value): &(u32, u64)| {
                    let name = &program.vars[*var as usize].name;
                    format!("{name} = {}", number(*value))
                };
                let all: Vec<String> = read.iter().map(shown).collect();
                match made.lines.last_mut() {
                    Some(last) if last.line == step.place.line && last.message.is_none() => {
                        let fresh: Vec<String> = all.into_iter().filter(|one| !last.values.contains(one)).collect();
                        last.values.extend(fresh);
                    }
                    _ => made.lines.push(Line { values: all, ..line(&step.place) }),
                }
            }
            Op::Show(_) => {
                let Some(value) = made.value else { continue };
                made.lines.push(Line { values: vec![format!("the field is {}", number(value))], ..line(&step.place) });
            }
            Op::Await(site) => {
                let names: Vec<String> =
                    program.awaits[*site].messages.iter().map(|message| name(protocols, *message)).collect();
                made.lines.push(Line { message: Some(format!("AWAIT {}", names.join(", "))), ..line(&step.place) });
            }
            Op::Return => made.lines.push(Line { message: Some("return".to_string()), ..line(&step.place) }),
            Op::Emit(message) | Op::Receive(message) => {
                let Some(moment) = moments.get(&index) else { continue };
                let states = &protocols.automaton(message.0).states;
                // Of a run about a request, its messages are marked.
                let mark = if own { " [the request]" } else { "" };
                let label = protocols.label(*message) + mark;
                // Registers are touched often; once is enough to see it.
                if made.repeats_from != Some(made.lines.len()) {
                    let state = &states[moment.before].name;
                    let same =
                        |last: &Line| last.message.as_ref() == Some(&label) && last.after.as_ref() == Some(state);
                    if moment.after == Some(moment.before) && made.lines.last().is_some_and(same) {
                        continue;
                    }
                }
                made.lines.push(Line {
                    message: Some(label),
                    protocol: Some(protocols.all[message.0].protocol.name.clone()),
                    before: Some(states[moment.before].name.clone()),
                    after: Some(moment.after.map_or("not enabled".to_string(), |after| states[after].name.clone())),
                    ..line(&step.place)
                });
            }
            _ => {}
        }
    }
    made
}

fn number(value: u64) -> String {
    if value > 9 {
        format!("{value:#x}")
    } else {
        value.to_string()
    }
}

/// The value that a step shows.
fn shown(values: &Values, step: usize) -> Option<u64> {
    values.read.get(&step).and_then(|all| all.first()).map(|(_, value)| *value)
}

pub fn name(protocols: &Protocols, (protocol, message): crate::program::Message) -> String {
    let own = &protocols.all[protocol].protocol;
    format!("{} {}", own.name, own.messages[message].name)
}

impl std::fmt::Display for Trace {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, line) in self.lines.iter().enumerate() {
            if self.repeats_from == Some(index) {
                writeln!(f, "  from here on for ever:")?;
            }
            write!(f, "    {}:{}", line.file, line.line)?;
            if !line.values.is_empty() {
                write!(f, "  {}", line.values.join(", "))?;
            }
            if let Some(message) = &line.message {
                write!(f, " | {message}")?;
            }
            if let (Some(before), Some(after)) = (&line.before, &line.after) {
                write!(f, " | {before} -> {after}")?;
            }
            writeln!(f)?;
        }
        if self.repeats_from == Some(self.lines.len()) {
            writeln!(f, "  from here on for ever, without a message")?;
        }
        write!(f, "  {}", self.finding)
    }
}
