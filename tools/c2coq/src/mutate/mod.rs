//! Mutants of certified functions, which the proofs must refuse.
//!
//! A mutant has one place changed; a benign rewriting preserves the meaning and is the control. The trees are changed, not
//! the text, so mutants are printed by the same printers as the kernel.

mod change;
mod depend;
mod expressions;
mod walk;

use serde::Serialize;

use crate::ast::{Function, Unit};
use crate::source::Sources;
use walk::Walk;

/// What is changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    ComparisonChanged,
    StatementDropped,
    StatementRepeated,
    ReleaseDropped,
    ReleaseEarly,
    AcquireDropped,
    IndexOffByOne,
    ConstantChanged,
    OperandsSwapped,
    OperatorChanged,
    ValueChanged,
    ResultChanged,
    BranchNegated,
    ConditionDropped,
    WrongField,
    WrongVariable,
    WrongCallee,
    StatementsExchanged,
    /// Benign from here on.
    OperandsCommuted,
    ComparisonMirrored,
    BranchesExchanged,
    LocalIntroduced,
    IndependentExchanged,
    /// The terms in Coq stay as they are.
    LocalRenamed,
    LoopRespelled,
}

impl Kind {
    pub const ALL: [Kind; 25] = [
        Kind::ComparisonChanged,
        Kind::StatementDropped,
        Kind::StatementRepeated,
        Kind::ReleaseDropped,
        Kind::ReleaseEarly,
        Kind::AcquireDropped,
        Kind::IndexOffByOne,
        Kind::ConstantChanged,
        Kind::OperandsSwapped,
        Kind::OperatorChanged,
        Kind::ValueChanged,
        Kind::ResultChanged,
        Kind::BranchNegated,
        Kind::ConditionDropped,
        Kind::WrongField,
        Kind::WrongVariable,
        Kind::WrongCallee,
        Kind::StatementsExchanged,
        Kind::OperandsCommuted,
        Kind::ComparisonMirrored,
        Kind::BranchesExchanged,
        Kind::LocalIntroduced,
        Kind::IndependentExchanged,
        Kind::LocalRenamed,
        Kind::LoopRespelled,
    ];

    pub fn is_benign(self) -> bool {
        matches!(
            self,
            Kind::OperandsCommuted
                | Kind::ComparisonMirrored
                | Kind::BranchesExchanged
                | Kind::LocalIntroduced
                | Kind::IndependentExchanged
        ) || self.keeps_terms()
    }

    /// A change of the C that the proofs cannot see: the terms are the same.
    pub fn keeps_terms(self) -> bool {
        matches!(self, Kind::LocalRenamed | Kind::LoopRespelled)
    }
}

/// A mutant as it is reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Mutant {
    /// Its place in the list of all mutants of the certified layers.
    pub number: usize,
    /// As the table of certified layers names it: `spinlock-mcs` is spinlock with the other locks.
    pub layer: String,
    /// The generated file that changes, below `proof/`.
    pub code: String,
    pub function: String,
    pub file: String,
    pub line: u32,
    pub kind: Kind,
    pub before: String,
    pub after: String,
    pub benign: bool,
    /// Its place among the mutants of its function.
    #[serde(skip)]
    pub at: usize,
}

/// The changes of one function, in order; number, layer and file are for the caller to fill in.
pub fn function_mutants(unit: &Unit, function: &Function, sources: &Sources) -> Vec<Mutant> {
    let Some(body) = &function.body else { return Vec::new() };
    let mut count = Walk::new(unit, function, None);
    count.body(&mut body.clone());
    let mutant = |at| {
        let mut walk = Walk::new(unit, function, Some(at));
        walk.body(&mut body.clone());
        let hit = walk.hit?;
        Some(Mutant {
            number: 0,
            layer: String::new(),
            code: String::new(),
            function: function.name.clone(),
            file: unit.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            line: sources.position(hit.span.file, hit.span.start).0,
            kind: hit.kind,
            before: hit.before,
            after: hit.after,
            benign: hit.kind.is_benign(),
            at,
        })
    };
    (0..count.met).filter_map(mutant).collect()
}

/// Makes a change. False if the unit has no such function or place.
pub fn apply(unit: &mut Unit, name: &str, at: usize) -> bool {
    let Some(id) = unit.functions.iter().position(|function| function.name == name && function.body.is_some()) else {
        return false;
    };
    let function = &unit.functions[id];
    let Some(mut body) = function.body.clone() else { return false };
    let mut walk = Walk::new(unit, function, Some(at));
    walk.body(&mut body);
    let (locals, made) = (walk.locals, walk.hit.is_some());
    unit.functions[id].locals = locals;
    unit.functions[id].body = Some(body);
    made
}
