//! What is asked for.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;
use std::time::Duration;

use wcet_binary::load::Program;

use crate::analysis::code::Code;
use crate::analysis::faults::{fault, Found};
use crate::analysis::machine::Loaded;

/// A program, a place to start from, a machine, and what a person states.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// The name of the executable, for people.
    pub file: String,
    /// Its bytes.
    pub data: Vec<u8>,
    /// A symbol, a symbol and an offset, or an address; without it the executable's entry point.
    pub entry: Option<String>,
    /// Without it, only loops are bounded.
    pub machine: Option<Loaded>,
    pub stated: Stated,
    /// Cycles or a time, as in `50us`.
    pub budget: Option<String>,
    /// After this, paths are not refined further.
    pub timeout: Option<Duration>,
    /// An address or symbol to explain.
    pub explain: Option<String>,
    /// The command line, for the report.
    pub command: Vec<String>,
}

/// What a person states about a program, with symbols not yet looked up.
#[derive(Debug, Clone, Default)]
pub struct Stated {
    /// `ADDRESS=SYMBOL,...`: targets of an indirect jump, call or return.
    pub targets: Vec<String>,
    /// `SYMBOL=DEPTH`: how deep a function calls itself.
    pub recursion: Vec<String>,
    /// `ADDRESS=NUMBER`: how often a loop's header is executed for each entry of the loop, at most. Nothing validates it.
    pub loops: Vec<String>,
    /// `ADDRESS,...=NUMBER`: how often instructions are executed in the whole region at most, all of them together. Nothing
    /// validates it.
    pub executes: Vec<String>,
    /// `SYMBOL=SYMBOL,...`: a function that switches stacks, and where new stacks begin.
    pub switches: Vec<String>,
    /// Most blocks of a function that may be copied so that a loop with several entries has one.
    pub copies: usize,
    /// Where the region ends: instructions before which nothing more is counted.
    pub stops: Vec<String>,
    /// Memory at the entry is as the executable says.
    pub as_loaded: bool,
    /// Other processors, interrupts or devices write memory, apart from the stack.
    pub shared: bool,
    /// `SYMBOL` or `ADDRESS..ADDRESS`, the last byte included: memory that they write at any time.
    pub volatile: Vec<String>,
    /// Addresses that are not known may lead to registers of devices.
    pub devices: bool,
    /// Where the stack pointer stands at the entry.
    pub stack: Option<String>,
    /// `NAME=FIRST..LAST`: what a register holds at the entry.
    pub registers: Vec<String>,
    /// Code in writable memory is never written.
    pub fixed_code: bool,
    /// Name and text of a file of constraints on paths.
    pub constraints: Option<(String, String)>,
}

/// The address that a symbol, a symbol and an offset (`name+0x10`), or a number names.
pub fn address(program: &Program, name: &str) -> Found<u64> {
    let number = |text: &str| text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    let symbol = |text: &str| program.symbol(text).map(|symbol| symbol.address);
    let offset = || {
        let (base, offset) = name.rsplit_once('+')?;
        Some(symbol(base)?.wrapping_add(number(offset)?))
    };
    number(name).or_else(|| symbol(name)).or_else(offset).ok_or_else(|| {
        let message = format!("the executable has no symbol `{name}`, nor is that a number such as 0x1000");
        vec![fault(Code::NoSymbol, message, "name one that `nm` prints, an offset as in `name+0x10`, or an address")]
    })
}

/// What is stated about control flow, with symbols looked up; or everything that cannot be understood.
pub fn flow_options(program: &Program, stated: &Stated) -> Found<wcet_flow::Options> {
    let mut errors = Vec::new();
    let mut options = wcet_flow::Options { copies: stated.copies, ..wcet_flow::Options::default() };
    for (texts, into) in [(&stated.targets, &mut options.targets), (&stated.switches, &mut options.switches)] {
        for text in texts {
            match list(program, text) {
                Ok((place, names)) => into.entry(place).or_insert_with(BTreeSet::new).extend(names),
                Err(found) => errors.extend(found),
            }
        }
    }
    for text in &stated.recursion {
        match number(program, text) {
            Ok((function, depth)) => drop::<Option<u32>>(BTreeMap::insert(&mut options.recursion, function, depth)),
            Err(found) => errors.extend(found),
        }
    }
    match addresses(program, &stated.stops) {
        Ok(stops) => options.stops.extend(stops),
        Err(found) => errors.extend(found),
    }
    if errors.is_empty() {
        Ok(options)
    } else {
        Err(errors)
    }
}

/// Bounds of loops that are stated, by the address of the loop's header; or everything that cannot be understood.
pub fn loops(program: &Program, texts: &[String]) -> Found<BTreeMap<u64, u64>> {
    let (mut found, mut errors) = (BTreeMap::new(), Vec::new());
    for text in texts {
        match number(program, text) {
            Ok((header, bound)) => drop(found.insert(header, bound)),
            Err(more) => errors.extend(more),
        }
    }
    if errors.is_empty() {
        Ok(found)
    } else {
        Err(errors)
    }
}

/// Instructions and how often all of them together are executed, as stated; or everything that cannot be understood.
pub fn executions(program: &Program, texts: &[String]) -> Found<Vec<(Vec<u64>, u64)>> {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for text in texts {
        let one = pair(text).and_then(|(places, most)| {
            let places: Vec<String> = places.split(',').map(ToString::to_string).collect();
            Ok((addresses(program, &places)?, whole(text, most)?))
        });
        match one {
            Ok(one) => found.push(one),
            Err(more) => errors.extend(more),
        }
    }
    if errors.is_empty() {
        Ok(found)
    } else {
        Err(errors)
    }
}

pub(crate) fn pair(text: &str) -> Found<(&str, &str)> {
    text.split_once('=').ok_or_else(|| {
        let message = format!("`{text}` is not of the form NAME=VALUE");
        vec![fault(Code::Statement, message, "write NAME=VALUE without spaces")]
    })
}

fn list(program: &Program, text: &str) -> Found<(u64, BTreeSet<u64>)> {
    let (place, names) = pair(text)?;
    let (mut errors, mut found) = (Vec::new(), BTreeSet::new());
    for name in names.split(',') {
        match address(program, name) {
            Ok(address) => drop(found.insert(address)),
            Err(found) => errors.extend(found),
        }
    }
    match address(program, place) {
        Ok(place) if errors.is_empty() => return Ok((place, found)),
        Ok(_) => {}
        Err(found) => errors.extend(found),
    }
    Err(errors)
}

/// `PLACE=NUMBER`.
fn number<Number: FromStr>(program: &Program, text: &str) -> Found<(u64, Number)> {
    let (place, number) = pair(text)?;
    let number = whole(text, number)?;
    Ok((address(program, place)?, number))
}

/// The number in a text.
fn whole<Number: FromStr>(text: &str, number: &str) -> Found<Number> {
    number.parse().map_err(|_| {
        vec![fault(Code::Statement, format!("`{number}` in `{text}` is no number"), "write a whole number")]
    })
}

/// The first and last bytes of what others write; or everything that cannot be.
pub fn volatile(program: &Program, texts: &[String]) -> Found<Vec<(u64, u64)>> {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for text in texts {
        match place(program, text) {
            Ok(place) => found.push(place),
            Err(more) => errors.extend(more),
        }
    }
    if errors.is_empty() {
        Ok(found)
    } else {
        Err(errors)
    }
}

fn place(program: &Program, text: &str) -> Found<(u64, u64)> {
    let wrong = |message: String, remedy: &str| Err(vec![fault(Code::Statement, message, remedy)]);
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (address(program, first)?, address(program, last)?),
        None => match program.symbol(text) {
            Some(symbol) if symbol.size > 0 => (symbol.address, symbol.address.saturating_add(symbol.size - 1)),
            Some(_) => {
                return wrong(format!("`{text}` has no size"), "give its first and last byte, as in 0x1000..0x1fff")
            }
            None => return Err(address(program, text).err().unwrap_or_default()),
        },
    };
    if first > last {
        return wrong(format!("`{text}` ends before it begins"), "give the first byte, then the last");
    }
    // What cannot be written is taken as the file has it, by all that follows.
    let fixed = program
        .segments()
        .iter()
        .find(|one| !one.permissions.write && first < one.address.saturating_add(one.size) && one.address <= last);
    match fixed {
        Some(_) => wrong(
            format!("`{text}` is in memory that the file makes read-only"),
            "put it into a section that may be written",
        ),
        None => Ok((first, last)),
    }
}

/// The addresses that names stand for.
pub fn addresses(program: &Program, names: &[String]) -> Found<Vec<u64>> {
    let (mut found, mut errors) = (Vec::new(), Vec::new());
    for name in names {
        match address(program, name) {
            Ok(address) => found.push(address),
            Err(more) => errors.extend(more),
        }
    }
    if errors.is_empty() {
        Ok(found)
    } else {
        Err(errors)
    }
}
