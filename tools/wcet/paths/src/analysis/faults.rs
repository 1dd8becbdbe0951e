//! Errors of the stages as errors of the report: code, address, symbol, message, remedy.

use wcet_binary::load::{Lines, Program};
use wcet_report::Error;

use crate::analysis::code::Code;

/// What was asked for, or everything that stands in its way.
pub type Found<T> = Result<T, Vec<Error>>;

/// An error without a place in the program.
pub fn fault(code: Code, message: impl Into<String>, remedy: impl Into<String>) -> Error {
    Error { code: code.name().into(), message: message.into(), remedy: remedy.into(), ..Error::default() }
}

/// An error at an address.
pub fn fault_at(
    code: Code,
    program: &Program,
    lines: &Lines,
    address: u64,
    message: impl Into<String>,
    remedy: impl Into<String>,
) -> Error {
    Error {
        address: Some(hex(address)),
        symbol: Some(program.describe(address)),
        source: lines.place(address).map(|place| place.to_string()),
        ..fault(code, message, remedy)
    }
}

/// An address as reports have it.
pub fn hex(address: u64) -> String {
    format!("{address:#x}")
}

pub fn loading(error: &wcet_binary::load::Error) -> Error {
    let remedy =
        "give an ELF file for x86-64, 32-bit ARM or RISC-V, linked statically (-static -no-pie or -static-pie)";
    fault(Code::Executable, error.to_string(), remedy)
}

pub fn flow(error: &wcet_flow::Error, program: &Program, lines: &Lines) -> Error {
    use wcet_flow::Problem;
    let code = match error.problem {
        Problem::Instruction(_) => Code::Instruction,
        Problem::Unresolved { .. } => Code::Unresolved,
        Problem::Late => Code::TimedOut,
        Problem::StrangeReturn { .. } => Code::StrangeReturn,
        Problem::Recursion { .. } => Code::Recursion,
        Problem::Irreducible { .. } => Code::Irreducible,
    };
    let (message, remedy) = parts(&error.problem.to_string());
    let remedy = remedy.unwrap_or_else(|| {
        "compile without this instruction, or keep its code out of what the entry reaches".to_string()
    });
    fault_at(code, program, lines, error.address, message, remedy)
}

pub fn context(error: &wcet_flow::context::Error, program: &Program, lines: &Lines) -> Error {
    use wcet_flow::context::Problem;
    let code = match error.problem {
        Problem::TooLarge { .. } => Code::TooLarge,
        Problem::Recursion { .. } => Code::Recursion,
        Problem::Irreducible { .. } => Code::Irreducible,
        _ => Code::NoSymbol,
    };
    let (message, remedy) = parts(&error.problem.to_string());
    let remedy = remedy.unwrap_or_else(|| "write the loop without jumps into it".to_string());
    fault_at(code, program, lines, error.address, message, remedy)
}

pub fn solver(error: &wcet_symbolic::SolverError) -> Error {
    let (message, remedy) = parts(&error.to_string());
    fault(Code::Tool, message, remedy.unwrap_or_else(|| "is the solver `z3` the one of Debian?".to_string()))
}

/// The stages' messages say what is wrong, then after a semicolon what to do about it.
pub fn parts(text: &str) -> (String, Option<String>) {
    match text.rsplit_once("; ") {
        Some((message, remedy)) => (message.to_string(), Some(remedy.to_string())),
        None => (text.to_string(), None),
    }
}
