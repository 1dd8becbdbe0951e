//! Constraints that people state, in a TOML file. None of them is believed: `validate.rs` asks the solver.
//!
//! ```toml
//! [[conflicts]]               # not both in one invocation of the function
//! in = "dispatch"
//! places = ["dispatch+0x40", "kernel/queue.c:120"]
//!
//! [[consistent]]              # equally often in one invocation of the function
//! in = "dispatch"
//! places = ["0x8010", "handle"]
//!
//! [[executes]]                # so often at most, in the whole region
//! place = "refill"
//! at_most = 2
//! ```

use std::ops::Range;

use serde::Deserialize;
use toml::Spanned;
use wcet_binary::load::{Lines, Program};
use wcet_flow::{Function, Graph};

#[derive(Debug, Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    conflicts: Vec<Spanned<Pair>>,
    #[serde(default)]
    consistent: Vec<Spanned<Pair>>,
    #[serde(default)]
    executes: Vec<Spanned<Most>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    #[serde(rename = "in")]
    function: String,
    places: [String; 2],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Most {
    place: String,
    at_most: u64,
}

/// What was stated, with addresses of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stated {
    pub claim: Claim,
    /// As the file has it, for people.
    pub text: String,
    /// Line of the file.
    pub line: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// In no invocation of the function both are executed.
    Conflicts { function: u64, a: u64, b: u64 },
    /// In each invocation both are executed equally often.
    Consistent { function: u64, a: u64, b: u64 },
    /// In the whole region it is executed so often at most.
    Executes { place: u64, at_most: u64 },
}

/// What is wrong with a file of constraints.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct StatedError {
    pub line: usize,
    pub problem: String,
}

/// Reads a file. All errors come back together.
pub fn parse(text: &str, program: &Program, graph: &Graph, lines: &Lines) -> Result<Vec<Stated>, Vec<StatedError>> {
    let line_of = |span: &Range<usize>| 1 + text[..span.start.min(text.len())].matches('\n').count();
    let file: File = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_of(&span));
        vec![StatedError { line, problem: error.message().to_string() }]
    })?;
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    let mut add = |line: usize, text: String, claim: Result<Claim, String>| match claim {
        Ok(claim) => found.push(Stated { claim, text, line }),
        Err(problem) => errors.push(StatedError { line, problem }),
    };
    let finder = Finder { program, graph, lines };
    for (pairs, word, together) in [(&file.conflicts, "conflicts", true), (&file.consistent, "is consistent", false)] {
        for pair in pairs {
            let (line, pair) = (line_of(&pair.span()), pair.get_ref());
            let text = format!("{} {word} with {} in {}", pair.places[0], pair.places[1], pair.function);
            let claim = finder.function(&pair.function).and_then(|function| {
                let (a, b) = (finder.place(&pair.places[0])?, finder.place(&pair.places[1])?);
                Ok(match together {
                    true => Claim::Conflicts { function, a, b },
                    false => Claim::Consistent { function, a, b },
                })
            });
            add(line, text, claim);
        }
    }
    for most in &file.executes {
        let (line, most) = (line_of(&most.span()), most.get_ref());
        let text = format!("{} executes at most {} times", most.place, most.at_most);
        let claim = finder.place(&most.place).map(|place| Claim::Executes { place, at_most: most.at_most });
        add(line, text, claim);
    }
    if errors.is_empty() {
        Ok(found)
    } else {
        Err(errors)
    }
}

struct Finder<'a> {
    program: &'a Program,
    graph: &'a Graph,
    lines: &'a Lines,
}

impl Finder<'_> {
    fn function(&self, name: &str) -> Result<u64, String> {
        let address = self.address(name).ok_or_else(|| format!("there is no function {name}"))?;
        match self.graph.functions.contains_key(&address) {
            true => Ok(address),
            false => Err(format!("the entry reaches no function {name}")),
        }
    }

    /// An instruction: `symbol`, `symbol+0x10`, `0x8010`, or `file.c:12` where one block only comes from that line.
    fn place(&self, text: &str) -> Result<u64, String> {
        if let Some(address) = self.address(text) {
            let known = self.instructions().any(|(_, _, known)| known == address);
            return if known { Ok(address) } else { Err(format!("no instruction at {text} is reached")) };
        }
        let line = text.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse::<u32>().ok()?)));
        let Some((file, line)) = line else {
            return Err(format!("{text} is no symbol, no symbol with an offset, no address and no line"));
        };
        let here = |address: u64| {
            let place = self.lines.place(address);
            place.is_some_and(|place| {
                place.line == line && (place.file == file || place.file.ends_with(&format!("/{file}")))
            })
        };
        let mut blocks: Vec<(u64, u64)> = self
            .instructions()
            .filter(|(_, _, address)| here(*address))
            .map(|(_, start, address)| (start, address))
            .collect();
        blocks.sort_unstable();
        blocks.dedup_by_key(|(start, _)| *start);
        match blocks[..] {
            [(_, address)] => Ok(address),
            [] => Err(format!("no instruction that is reached comes from {text}")),
            _ => {
                let places: Vec<String> = blocks.iter().map(|(_, address)| self.program.describe(*address)).collect();
                Err(format!("several blocks come from {text}: name one of {}", places.join(", ")))
            }
        }
    }

    fn address(&self, text: &str) -> Option<u64> {
        let number = |text: &str| text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        let symbol = |text: &str| self.program.symbol(text).map(|symbol| symbol.address);
        let offset = || {
            let (base, offset) = text.rsplit_once('+')?;
            Some(symbol(base)?.wrapping_add(number(offset)?))
        };
        number(text).or_else(|| symbol(text)).or_else(offset)
    }

    /// Function, start of the block, address.
    fn instructions(&self) -> impl Iterator<Item = (&Function, u64, u64)> {
        self.graph.functions.values().flat_map(|function| {
            let blocks = function.blocks.iter();
            blocks
                .flat_map(move |block| block.instructions.iter().map(move |one| (function, block.start(), one.address)))
        })
    }
}
