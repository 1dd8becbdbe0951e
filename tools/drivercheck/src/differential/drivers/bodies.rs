//! Two shapes of a driver's body: a function for each state, or one AWAIT for everything.

use super::Driver;
use std::fmt::Write;

impl Driver<'_> {
    /// A function for each state, which returns the next one.
    pub(super) fn staged(&mut self) -> String {
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
    pub(super) fn flat(&mut self) -> String {
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

    /// Outputs that are sent by themselves: not those that complete requests.
    pub(super) fn outputs(&self, protocol: usize, state: usize) -> Vec<usize> {
        let all = self.enabled(protocol, state, false).into_iter();
        all.filter(|message| self.message(protocol, *message).cookie.is_none()).collect()
    }

    pub(super) fn next(&mut self, protocol: usize, state: usize, message: usize) -> usize {
        let next = self.automaton(protocol).states[state].next[message].unwrap_or(state);
        if self.is_wrong() {
            let count = self.automaton(protocol).states.len();
            return self.random.below(count);
        }
        next
    }
}
