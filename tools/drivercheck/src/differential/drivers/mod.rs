//! Random small drivers of given protocols, as text. Most keep to their protocols, as they follow the automata; each choice
//! is a wrong one now and then.

mod bodies;
mod memory;
mod messages;

use memory::Memory;
use protocol::automaton::Automaton;
use protocol::model::Message;
use protocol::Checked;
use std::fmt::Write;
use testing::Random;

/// A driver's text, and the names of its objects.
pub struct Text {
    pub text: String,
    pub objects: Vec<String>,
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
    let memory = protocols.iter().map(|_| Memory::draw(random)).collect();
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
}
