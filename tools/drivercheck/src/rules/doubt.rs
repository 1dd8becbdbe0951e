//! What is said of a check without a verdict: where, what was neither proved nor refuted there, and what may help.

use crate::counterexample::trace::name;
use crate::program::{Claim, Message, Op, Place, Program, Step, Wrong};
use crate::rules::component::Protocols;
use crate::rules::liveness::Demand;
use crate::rules::obligations::Task;
use crate::rules::safety::Goal;
use protocol::model::Field;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// What the checker could neither prove nor find a run against. It may hold, or not.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Doubt {
    /// Where the program is at the end of the path that was looked at last: an EMIT, an AWAIT, a loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The field of the message that is sent there, of rule 7.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// As `whether this AWAIT always ends, or may last`.
    pub question: String,
    /// How the program may be written for the checker to follow it.
    pub remedy: String,
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let (Some(file), Some(line)) = (&self.file, self.line) {
            write!(f, "{file}:{line}: ")?;
        }
        write!(f, "neither proved nor refuted: {}", self.question)
    }
}

/// Why there is no verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A path could be neither excluded nor taken.
    Path,
    /// A run through a loop could not be made concrete.
    Loop,
    /// A run rests on memory that is not followed.
    Memory,
    /// A cookie is read where it is not followed.
    Cookie,
    /// Time is up.
    Time,
}

pub fn doubt(program: &Program, protocols: &Protocols, task: &Task, end: Option<&Step>, why: Why) -> Doubt {
    let place = end.map(|step| &step.place).or_else(|| only_place(program, task));
    let field = field_at(protocols, task, end);
    Doubt {
        file: place.map(|place| place.file.to_string()),
        line: place.map(|place| place.line),
        field: field.map(|field| field.name.clone()),
        question: format!("whether {}", question(protocols, task, end, field)),
        remedy: remedy(task, why).to_string(),
    }
}

/// The only place of a check that looked at no path.
fn only_place<'a>(program: &'a Program, task: &Task) -> Option<&'a Place> {
    match task {
        Task::Safety(Goal::Wait(site) | Goal::WaitOf(site, _), _) => program.awaits.get(*site).map(|wait| &wait.place),
        Task::Claim(claim) => {
            let steps = program.edges.iter().flat_map(|edge| &edge.steps);
            let places =
                steps.filter(|step| matches!(&step.op, Op::Fail(own, _) if own == claim)).map(|step| &step.place);
            let places: BTreeSet<&Place> = places.collect();
            places.first().copied().filter(|_| places.len() == 1)
        }
        _ => None,
    }
}

fn field_at<'a>(protocols: &'a Protocols, task: &Task, end: Option<&Step>) -> Option<&'a Field> {
    match (task, &end?.op) {
        (Task::Claim(Claim::Payload((protocol, message))), Op::Fail(_, Wrong::Range(field))) => {
            protocols.all[*protocol].protocol.messages[*message].fields.get(*field)
        }
        _ => None,
    }
}

fn question(protocols: &Protocols, task: &Task, end: Option<&Step>, field: Option<&Field>) -> String {
    let sent = || match end.map(|step| &step.op) {
        Some(Op::Emit(message)) => format!("`{}`", name(protocols, *message)),
        _ => "what is sent".to_string(),
    };
    let named = |protocol: usize| &protocols.all[protocol].protocol.name;
    match task {
        Task::Safety(Goal::Emit, _) => format!("{} is always enabled where it is sent", sent()),
        Task::Safety(Goal::Needs(_, text), _) => format!("{} is sent only in {text}", sent()),
        Task::Safety(Goal::Wait(_) | Goal::WaitOf(..), _) => "this AWAIT always ends, or may last".to_string(),
        Task::Safety(Goal::Final, _) => "all is at its end where the driver returns".to_string(),
        Task::Liveness(Demand::Await(message), _) => {
            format!("`{}` is always waited for again", name(protocols, *message))
        }
        Task::Liveness(Demand::Leave(protocol, mark), _) => {
            format!(
                "`{}` always leaves the timed state {}",
                named(*protocol),
                protocols.automaton(*protocol).timed[*mark]
            )
        }
        Task::Claim(Claim::Payload(message)) | Task::Safety(Goal::Holds(Claim::Payload(message), _), _) => {
            payload(protocols, *message, field)
        }
        Task::Claim(Claim::Requests(protocol, request))
        | Task::Safety(Goal::Holds(Claim::Requests(protocol, request), _), _) => {
            let request = &protocols.all[*protocol].protocol.requests[*request].name;
            format!("each `{request}` of `{}` is completed once, with its cookie", named(*protocol))
        }
        Task::Claim(Claim::Turn(protocol)) | Task::Safety(Goal::Holds(Claim::Turn(protocol), _), _) => {
            format!("a client of `{}` always has its turn where one is meant", named(*protocol))
        }
    }
}

fn payload(protocols: &Protocols, message: Message, field: Option<&Field>) -> String {
    let name = name(protocols, message);
    match field {
        Some(field) => format!("`{}` of `{name}` is always {} to {}", field.name, field.least, field.most),
        None => format!("the payload of `{name}` always fits"),
    }
}

fn remedy(task: &Task, why: Why) -> &'static str {
    match (why, task) {
        (Why::Time, _) => "give the check more time by `--limit SECONDS`, or let fewer variables decide what comes here",
        (Why::Memory, _) => {
            "test what decides right before it matters, or keep it in a variable, a field or an array of at most 16 \
             elements"
        }
        (Why::Cookie, _) => "keep each open request's cookie in a variable, a field or an array, and read it from there",
        (Why::Loop, _) | (_, Task::Liveness(..)) => {
            "let each loop on the way end by a counter that is compared with a constant, and write `if` in place of `? :`"
        }
        (Why::Path, Task::Claim(Claim::Payload(_))) => {
            "write `if` in place of `? :`, a constant mask in place of a variable one, or test the value right before \
             the EMIT"
        }
        (Why::Path, _) => {
            "write `if` in place of `? :`, a constant mask in place of a variable one, or test right before this place \
             what it rests on"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{doubt, Why};
    use crate::program::{Await, Claim, Op, Place, Program, Step, Wrong};
    use crate::rules::liveness::Demand;
    use crate::rules::obligations::Task;
    use crate::rules::safety::Goal;
    use crate::testing::protocol;
    use std::collections::BTreeSet;

    const TOLD: (usize, usize) = (0, 1);

    fn step(op: Op, line: usize) -> Step {
        Step { op, place: Place { file: "driver.c".into(), line } }
    }

    #[test]
    fn says_where_and_what() {
        let protocols = protocol(
            "# One question.\nprotocol gauge 1\n\nin  ask\nout told\n  value u8 1..10\n\nstate Idle initial fair final\n  \
             ?ask -> Asked\nstate Asked timed\n  !told -> Idle\n",
        );
        let wait = Await { place: step(Op::Return, 6).place, messages: BTreeSet::new() };
        let program = Program { awaits: vec![wait], ..Program::default() };
        let of = |task: &Task, end: Option<&Step>, why| {
            let doubt = doubt(&program, &protocols, task, end, why);
            (doubt.to_string(), doubt.field, doubt.remedy)
        };
        let claim = Claim::Payload(TOLD);
        let payload = Task::Claim(claim);
        let (text, field, remedy) = of(&payload, Some(&step(Op::Fail(claim, Wrong::Range(0)), 7)), Why::Path);
        assert_eq!(text, "driver.c:7: neither proved nor refuted: whether `value` of `gauge told` is always 1 to 10");
        assert_eq!(field.as_deref(), Some("value"));
        assert!(remedy.contains("`if` in place of `? :`") && remedy.contains("right before the EMIT"), "{remedy}");
        let (text, field, _) = of(&payload, None, Why::Path);
        assert_eq!(text, "neither proved nor refuted: whether the payload of `gauge told` always fits");
        assert_eq!(field, None);
        let (text, ..) = of(&Task::Safety(Goal::Emit, Vec::new()), Some(&step(Op::Emit(TOLD), 8)), Why::Path);
        assert_eq!(
            text,
            "driver.c:8: neither proved nor refuted: whether `gauge told` is always enabled where it is sent"
        );
        let leave = Task::Liveness(Demand::Leave(0, 0), Vec::new());
        let (text, _, remedy) = of(&leave, Some(&step(Op::Await(0), 9)), Why::Path);
        assert_eq!(text, "driver.c:9: neither proved nor refuted: whether `gauge` always leaves the timed state Asked");
        assert!(remedy.contains("counter"), "{remedy}");
        // An AWAIT is a place though no path was looked at.
        let (text, _, remedy) = of(&Task::Safety(Goal::Wait(0), Vec::new()), None, Why::Time);
        assert_eq!(text, "driver.c:6: neither proved nor refuted: whether this AWAIT always ends, or may last");
        assert!(remedy.contains("--limit SECONDS"), "{remedy}");
    }
}
