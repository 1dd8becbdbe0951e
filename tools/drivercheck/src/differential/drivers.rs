//! Random small drivers of given protocols, as text. Most keep to their protocols, as they follow the automata; each choice
//! is a wrong one now and then.

use protocol::automaton::Automaton;
use protocol::model::{Cookie, Field, Message};
use protocol::Checked;
use std::fmt::Write;
use testing::Random;

/// A driver's text, and the names of its objects.
pub struct Text {
    pub text: String,
    pub objects: Vec<String>,
}

/// How a driver remembers the state of a protocol.
#[derive(Clone, Copy, PartialEq)]
enum Memory {
    Scalar,
    Field,
    Element,
    /// An element with an index that is a variable.
    Indexed,
    /// An element of an array that is too large for the model.
    Large,
}

struct Driver<'a> {
    random: &'a mut Random,
    protocols: &'a [Checked],
    /// Makes names unique among all drivers of a program.
    number: usize,
    objects: Vec<String>,
    declarations: String,
    functions: String,
    memory: Vec<Memory>,
    has_set: bool,
    has_counter: bool,
    /// Wrong choices so far.
    wrong: usize,
}

/// One in so many choices is wrong.
const WRONG: usize = 40;

pub fn driver(random: &mut Random, protocols: &[Checked], number: usize) -> Text {
    let memory = protocols.iter().map(|_| match random.below(40) {
        0..=19 => Memory::Scalar,
        20..=29 => Memory::Field,
        30..=37 => Memory::Element,
        38 => Memory::Indexed,
        _ => Memory::Large,
    });
    let memory = memory.collect();
    let mut driver = Driver {
        random,
        protocols,
        number,
        objects: Vec::new(),
        declarations: String::new(),
        functions: String::new(),
        memory,
        has_set: false,
        has_counter: false,
        wrong: 0,
    };
    let body = if protocols.len() == 1 && !driver.random.one_in(3) { driver.staged() } else { driver.flat() };
    let mut text = format!("static uint32_t input_{number}(void)\n{{\n    return (uint32_t)dma_size(1) & 3u;\n}}\n");
    text.push_str(&driver.declarations);
    text.push_str(&driver.functions);
    let _ = write!(text, "void driver(void)\n{{\n{body}}}\n");
    Text { text, objects: driver.objects }
}

impl Driver<'_> {
    fn is_wrong(&mut self) -> bool {
        let is_wrong = self.wrong < 2 && self.random.one_in(WRONG);
        self.wrong += usize::from(is_wrong);
        is_wrong
    }

    fn object(&mut self, declaration: &str, name: &str) {
        let _ = writeln!(self.declarations, "static {declaration};");
        self.objects.push(name.to_string());
    }

    fn automaton(&self, protocol: usize) -> &Automaton {
        &self.protocols[protocol].flat.automaton
    }

    fn message(&self, protocol: usize, message: usize) -> &Message {
        &self.protocols[protocol].protocol.messages[message]
    }

    fn mailbox(&self, protocol: usize, message: usize) -> String {
        let own = &self.protocols[protocol].protocol;
        format!("{}_{}", own.name, own.messages[message].name).to_uppercase()
    }

    fn enabled(&self, protocol: usize, state: usize, incoming: bool) -> Vec<usize> {
        let messages = &self.protocols[protocol].protocol.messages;
        self.automaton(protocol).enabled(state).filter(|message| messages[*message].incoming == incoming).collect()
    }

    fn input(&self) -> String {
        format!("input_{}()", self.number)
    }

    /// A condition that may hold or not.
    fn chance(&mut self) -> String {
        let input = self.input();
        let number = self.random.below(4);
        match self.random.below(5) {
            0 => format!("({input} & {}u) != 0u", 1 + number % 2),
            1 => format!("{input} < {}u", 1 + number % 3),
            2 => format!("{input} % 2u == {}u", number % 2),
            3 => format!("(int32_t){input} - 2 >= {}", number % 2),
            _ => format!("{input} == {number}u"),
        }
    }

    /// The object that holds a protocol's state, as an expression.
    fn state(&mut self, protocol: usize) -> String {
        let (number, memory) = (self.number, self.memory[protocol]);
        let (name, place) = match memory {
            Memory::Scalar => (format!("s{protocol}_{number}"), format!("s{protocol}_{number}")),
            Memory::Field => (format!("s{protocol}_{number}"), format!("s{protocol}_{number}.now")),
            Memory::Element => (format!("s{protocol}_{number}"), format!("s{protocol}_{number}[1]")),
            Memory::Indexed => (format!("s{protocol}_{number}"), format!("s{protocol}_{number}[k{protocol}_{number}]")),
            Memory::Large => (format!("s{protocol}_{number}"), format!("s{protocol}_{number}[k{protocol}_{number}]")),
        };
        if !self.objects.contains(&name) {
            match memory {
                Memory::Scalar => self.object(&format!("uint32_t {name}"), &name),
                Memory::Field => {
                    let _ = writeln!(
                        self.declarations,
                        "struct state_{protocol}_{number} {{ uint8_t spare; uint8_t now; }};"
                    );
                    self.object(&format!("struct state_{protocol}_{number} {name}"), &name);
                }
                Memory::Element => self.object(&format!("uint8_t {name}[3]"), &name),
                Memory::Indexed | Memory::Large => {
                    let length = if memory == Memory::Indexed { 4 } else { 24 };
                    let index = format!("k{protocol}_{number}");
                    self.object(&format!("uint32_t {name}[{length}]"), &name);
                    self.object(&format!("uint32_t {index} = 2"), &index);
                }
            }
        }
        place
    }

    /// The set of open requests that are kept, and the function that completes them.
    fn set(&mut self, protocol: usize) -> String {
        let number = self.number;
        let name = format!("open_{number}");
        if !self.has_set {
            self.has_set = true;
            let messages = &self.protocols[protocol].protocol.messages;
            let done = messages.iter().position(|one| matches!(one.cookie, Some((Cookie::Closes, _)))).unwrap_or(0);
            let done = self.mailbox(protocol, done);
            self.object(&format!("uint32_t {name}"), &name);
            let next = if self.is_wrong() { format!("{name} >> 1") } else { format!("{name} & ({name} - 1u)") };
            let _ = write!(
                self.functions,
                "static void finish_one_{number}(void)\n{{\n    uint32_t bit = (uint32_t)__builtin_ctz({name});\n    \
                 {name} = {next};\n    EMIT({done}, bit);\n}}\nstatic void finish_{number}(void)\n{{\n    \
                 while ({name} != 0u) {{\n        finish_one_{number}();\n    }}\n}}\n"
            );
        }
        name
    }

    fn counter(&mut self) -> String {
        let name = format!("count_{}", self.number);
        if !self.has_counter {
            self.has_counter = true;
            self.object(&format!("uint8_t {name}"), &name);
        }
        name
    }

    /// A value for a field. `received` is the message whose payload is there to be read.
    fn value(&mut self, protocol: usize, field: &Field, received: Option<usize>) -> String {
        let (least, most) = (field.least, field.most);
        let form = format!("uint{}_t", field.bits);
        if self.is_wrong() {
            let near = if least > 0 && self.random.one_in(2) { least - 1 } else { most + 1 };
            return near.to_string();
        }
        let known = received.and_then(|one| {
            let name = format!("{}_{}", self.protocols[protocol].protocol.name, self.message(protocol, one).name);
            let own = self.message(protocol, one).fields.first()?;
            Some((name, own.least, own.most))
        });
        match (self.random.below(6), known) {
            (0..=2, Some((name, own_least, own_most))) if own_most - own_least <= most - least => {
                // Shifted into the range.
                format!("({form})(MAIL({name})->f - {own_least}u + {least}u)")
            }
            (3, Some((name, ..))) => {
                format!(
                    "({form})(MAIL({name})->f >= {least}u && MAIL({name})->f <= {most}u ? MAIL({name})->f : {most}u)"
                )
            }
            (0..=1, None) => {
                let count = self.counter();
                let span = most - least + 1;
                format!("({form})({least}u + {count} % {span}u)")
            }
            (4, _) if most - least >= 3 => format!("({form})({least}u + {})", self.input()),
            (5, _) if most > least => format!("({form})({least}u + ({} & 1u))", self.input()),
            _ => (least + self.random.below((most - least + 1) as usize) as u64).to_string(),
        }
    }

    /// Statements that send a message. `received`: the message taken last, if its cookie and payload are there.
    fn send(&mut self, protocol: usize, message: usize, received: Option<usize>, indent: &str) -> String {
        let own = self.message(protocol, message).clone();
        let mailbox = self.mailbox(protocol, message);
        let mut out = String::new();
        if !own.drained.is_empty() && !self.is_wrong() {
            self.set(protocol);
            let _ = writeln!(out, "{indent}finish_{}();", self.number);
        }
        let cookie = match (own.cookie, received.and_then(|one| self.message(protocol, one).cookie)) {
            (Some(_), Some(_)) => "COOKIE()".to_string(),
            (Some(_), None) => self.random.below(2).to_string(),
            _ => "0".to_string(),
        };
        if own.fields.is_empty() {
            let cookie = if own.cookie.is_some() { format!(", {cookie}") } else { String::new() };
            let _ = writeln!(out, "{indent}EMIT({mailbox}{cookie});");
        } else {
            let name = format!("{}_{}", self.protocols[protocol].protocol.name, own.name);
            let values: Vec<String> = own.fields.iter().map(|field| self.value(protocol, field, received)).collect();
            let values = values.join(", ");
            let _ = writeln!(out, "{indent}{{");
            let _ = writeln!(out, "{indent}    struct {name} body = {{{values}}};");
            let _ = writeln!(out, "{indent}    EMIT({mailbox}, {cookie}, &body);");
            let _ = writeln!(out, "{indent}}}");
        }
        if self.has_counter && self.random.one_in(2) {
            let count = self.counter();
            let _ = writeln!(out, "{indent}{count} = {count} + 1u;");
        }
        out
    }

    /// What is done about a message beside its step: a request is completed or kept.
    fn react(&mut self, protocol: usize, message: usize, after: usize, indent: &str) -> String {
        let number = self.number;
        let mut out = String::new();
        if let Some((Cookie::Opens, _)) = self.message(protocol, message).cookie {
            let messages = &self.protocols[protocol].protocol.messages;
            let done = messages.iter().position(|one| matches!(one.cookie, Some((Cookie::Closes, _))));
            let stays = |done: usize| self.automaton(protocol).states[after].next[done] == Some(after);
            let done = done.filter(|done| stays(*done));
            if self.is_wrong() {
                return out;
            }
            match done {
                Some(done) if !self.random.one_in(3) => {
                    out.push_str(&self.send(protocol, done, Some(message), indent));
                }
                Some(done) if self.random.one_in(2) => {
                    let set = self.set(protocol);
                    let chance = self.chance();
                    let inner = format!("{indent}    ");
                    let send = self.send(protocol, done, Some(message), &inner);
                    let _ = write!(
                        out,
                        "{indent}if ({chance}) {{\n{send}{indent}}} else {{\n{inner}{set} = {set} | 1u << COOKIE();\n{indent}}}\n"
                    );
                }
                _ => {
                    let set = self.set(protocol);
                    let _ = writeln!(out, "{indent}{set} = {set} | 1u << COOKIE();");
                }
            }
        } else if self.random.one_in(12) {
            let _ = writeln!(
                out,
                "{indent}for (uint32_t k = 0; k < {}u && input_{number}() != 0u; k = k + 1u) {{\n{indent}}}",
                1 + self.random.below(3)
            );
        } else if self.random.one_in(60) {
            let _ = writeln!(out, "{indent}while (input_{number}() != 0u) {{\n{indent}}}");
        }
        out
    }

    fn next(&mut self, protocol: usize, state: usize, message: usize) -> usize {
        let next = self.automaton(protocol).states[state].next[message].unwrap_or(state);
        if self.is_wrong() {
            let count = self.automaton(protocol).states.len();
            return self.random.below(count);
        }
        next
    }

    fn await_of(&self, all: &[(usize, usize)]) -> String {
        let names: Vec<String> = all.iter().map(|(protocol, message)| self.mailbox(*protocol, *message)).collect();
        format!("AWAIT({})", names.join(", "))
    }

    /// Outputs that are sent by themselves: not those that complete requests.
    fn outputs(&self, protocol: usize, state: usize) -> Vec<usize> {
        let all = self.enabled(protocol, state, false).into_iter();
        all.filter(|message| self.message(protocol, *message).cookie.is_none()).collect()
    }

    /// A function for each state, which returns the next one.
    fn staged(&mut self) -> String {
        let number = self.number;
        let count = self.automaton(0).states.len();
        let mut all = String::new();
        for state in 0..count {
            let (inputs, outputs) = (self.enabled(0, state, true), self.outputs(0, state));
            let is_timed = !self.automaton(0).states[state].timed.is_empty();
            let mut body = String::new();
            if self.automaton(0).states[state].is_final && self.random.one_in(4) {
                let chance = self.chance();
                let finish = if self.has_set && !self.is_wrong() {
                    format!("        finish_{number}();\n")
                } else {
                    String::new()
                };
                let _ = write!(body, "    if ({chance}) {{\n{finish}        return 99;\n    }}\n");
            }
            let acts = is_timed || inputs.is_empty();
            let listens_first = is_timed && !inputs.is_empty() && self.random.one_in(4);
            if !outputs.is_empty() && (acts || self.random.one_in(2)) && !listens_first {
                for (index, output) in outputs.iter().enumerate() {
                    let next = self.next(0, state, *output);
                    let is_last = index + 1 == outputs.len() && acts;
                    let indent = if is_last { "    " } else { "        " };
                    let mut act = self.send(0, *output, None, indent);
                    if self.is_wrong() {
                        act.clear();
                    }
                    if is_last {
                        let _ = writeln!(body, "{act}    return {next};");
                    } else {
                        let chance = self.chance();
                        let _ = write!(body, "    if ({chance}) {{\n{act}        return {next};\n    }}\n");
                    }
                }
            }
            if !inputs.is_empty() {
                let mut awaited: Vec<(usize, usize)> = inputs.iter().map(|message| (0, *message)).collect();
                if awaited.len() > 1 && self.is_wrong() {
                    awaited.remove(self.random.below(awaited.len()));
                }
                let set = self.await_of(&awaited);
                let _ = writeln!(body, "    uint32_t m = {set};");
                body.push_str(&self.answers(state, &inputs));
            }
            let _ = writeln!(body, "    return {state};");
            let _ = write!(all, "static uint32_t stage_{number}_{state}(void)\n{{\n{body}}}\n");
        }
        self.functions.push_str(&all);
        let is_local = self.random.one_in(2);
        let place = if is_local { format!("now_{number}") } else { self.state(0) };
        let mut out = String::new();
        if is_local {
            let _ = writeln!(out, "    uint32_t {place} = 0;");
        }
        out.push_str("    for (;;) {\n");
        if self.random.one_in(2) {
            let _ = writeln!(out, "        switch ({place}) {{");
            for state in 0..count {
                let _ = writeln!(
                    out,
                    "        case {state}:\n            {place} = stage_{number}_{state}();\n            break;"
                );
            }
            out.push_str("        default:\n            return;\n        }\n");
        } else {
            for state in 0..count {
                let word = if state == 0 { "if" } else { "} else if" };
                let _ = writeln!(
                    out,
                    "        {word} ({place} == {state}u) {{\n            {place} = stage_{number}_{state}();"
                );
            }
            out.push_str("        } else {\n            return;\n        }\n");
        }
        out.push_str("    }\n");
        out
    }

    /// What follows from the message `m` in a state.
    fn answers(&mut self, state: usize, inputs: &[usize]) -> String {
        let mut body = String::new();
        if self.random.one_in(5) {
            // A table of the next states.
            let number = self.number;
            let nexts: Vec<String> = (0..self.protocols[0].protocol.messages.len())
                .map(|message| if inputs.contains(&message) { self.next(0, state, message) } else { state }.to_string())
                .collect();
            let _ = writeln!(
                self.declarations,
                "static const uint8_t next_{number}_{state}[{}] = {{{}}};",
                nexts.len(),
                nexts.join(", ")
            );
            for input in inputs.iter().copied() {
                let after = self.automaton(0).states[state].next[input].unwrap_or(state);
                let react = self.react(0, input, after, "        ");
                if !react.is_empty() {
                    let _ = write!(body, "    if (m == {}) {{\n{react}    }}\n", self.mailbox(0, input));
                }
            }
            let _ = writeln!(body, "    return next_{number}_{state}[m & 0xffu];");
            return body;
        }
        let is_switch = self.random.one_in(2);
        if is_switch {
            body.push_str("    switch (m) {\n");
        }
        for input in inputs.iter().copied() {
            let after = self.automaton(0).states[state].next[input].unwrap_or(state);
            let next = self.next(0, state, input);
            let react = self.react(0, input, after, "        ");
            // An answer at once, if there is one.
            let outputs = self.outputs(0, after);
            let mut at_once = String::new();
            let mut last = next;
            if next == after && !outputs.is_empty() && self.random.one_in(3) {
                let output = outputs[self.random.below(outputs.len())];
                at_once = self.send(0, output, Some(input), "        ");
                last = self.next(0, after, output);
            }
            let mailbox = self.mailbox(0, input);
            if is_switch {
                let _ = write!(body, "    case {mailbox}:\n{react}{at_once}        return {last};\n");
            } else {
                let _ = write!(body, "    if (m == {mailbox}) {{\n{react}{at_once}        return {last};\n    }}\n");
            }
        }
        if is_switch {
            body.push_str("    default:\n        break;\n    }\n");
        }
        body
    }

    /// One AWAIT for everything, and variables that hold the states.
    fn flat(&mut self) -> String {
        let mut awaited = Vec::new();
        for protocol in 0..self.protocols.len() {
            let messages = &self.protocols[protocol].protocol.messages;
            awaited.extend((0..messages.len()).filter(|one| messages[*one].incoming).map(|one| (protocol, one)));
        }
        if awaited.len() > 1 && self.is_wrong() {
            awaited.remove(self.random.below(awaited.len()));
        }
        let mut out =
            format!("    for (;;) {{\n        uint32_t m = {};\n        switch (m) {{\n", self.await_of(&awaited));
        for (protocol, message) in awaited.clone() {
            let _ = writeln!(out, "        case {}:", self.mailbox(protocol, message));
            let place = self.state(protocol);
            let states: Vec<usize> = (0..self.automaton(protocol).states.len())
                .filter(|state| self.automaton(protocol).states[*state].next[message].is_some())
                .collect();
            for (index, state) in states.iter().enumerate() {
                let after = self.automaton(protocol).states[*state].next[message].unwrap_or(*state);
                let next = self.next(protocol, *state, message);
                let react = self.react(protocol, message, after, "                ");
                let head = if index == 0 { "            if" } else { "            } else if" };
                let _ = write!(out, "{head} ({place} == {state}u) {{\n{react}                {place} = {next}u;\n");
            }
            out.push_str(if states.is_empty() {
                "            break;\n"
            } else {
                "            }\n            break;\n"
            });
        }
        out.push_str("        default:\n            break;\n        }\n");
        // Outputs that are due; some lead to states with further ones.
        for round in 0..2 {
            for protocol in 0..self.protocols.len() {
                for state in 0..self.automaton(protocol).states.len() {
                    let outputs = self.outputs(protocol, state);
                    let is_timed = !self.automaton(protocol).states[state].timed.is_empty();
                    if outputs.is_empty() || (!is_timed && (round == 1 || self.random.one_in(2))) {
                        continue;
                    }
                    let output = outputs[self.random.below(outputs.len())];
                    let place = self.state(protocol);
                    let act = self.send(protocol, output, None, "            ");
                    let next = self.next(protocol, state, output);
                    let chance = if is_timed { String::new() } else { format!(" && {}", self.chance()) };
                    if self.is_wrong() {
                        continue;
                    }
                    let _ = write!(
                        out,
                        "        if ({place} == {state}u{chance}) {{\n{act}            {place} = {next}u;\n        }}\n"
                    );
                }
            }
        }
        out.push_str("    }\n");
        out
    }
}
