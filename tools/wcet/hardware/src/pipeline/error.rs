//! Why a program cannot be analysed.

use crate::machine::Class;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PipelineError {
    #[error(
        "instruction at {address:#x}: the machine {machine} gives no cost to class {class}; add [class.{class}] to it"
    )]
    NoClass { address: u64, class: Class, machine: String },
    #[error("block {block} has no instructions; leave it out and join its edges")]
    EmptyBlock { block: usize },
    #[error("edge {edge} or the entry names a block that does not exist")]
    NoBlock { edge: usize },
    #[error("edge {edge} leaves block {block} as {left}, but its last instruction {does}")]
    Left { edge: usize, block: usize, left: &'static str, does: &'static str },
    #[error("scope {scope} names a block that does not exist")]
    NoScopeBlock { scope: usize },
}
