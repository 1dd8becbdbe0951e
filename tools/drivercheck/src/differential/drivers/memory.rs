//! What a driver remembers: the states of its protocols, open requests, a counter.

use super::Driver;
use protocol::model::Cookie;
use std::fmt::Write;
use testing::Random;

/// How a driver remembers the state of a protocol.
#[derive(Clone, Copy, PartialEq)]
pub enum Memory {
    Scalar,
    Field,
    Element,
    /// An element with an index that is a variable.
    Indexed,
    /// An element of an array that is too large for the model.
    Large,
}

impl Memory {
    pub fn draw(random: &mut Random) -> Memory {
        match random.below(40) {
            0..=19 => Memory::Scalar,
            20..=29 => Memory::Field,
            30..=37 => Memory::Element,
            38 => Memory::Indexed,
            _ => Memory::Large,
        }
    }
}

impl Driver<'_> {
    /// The object that holds a protocol's state, as an expression.
    pub(super) fn state(&mut self, protocol: usize) -> String {
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
    pub(super) fn set(&mut self, protocol: usize) -> String {
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

    pub(super) fn counter(&mut self) -> String {
        let name = format!("count_{}", self.number);
        if !self.has_counter {
            self.has_counter = true;
            self.object(&format!("uint8_t {name}"), &name);
        }
        name
    }
}
