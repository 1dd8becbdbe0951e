//! Faults: what the checker refuses, where, and what to write instead.

use std::collections::HashSet;

use crate::rule::Rule;
use crate::source::{Sources, Span};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub rule: Rule,
    pub span: Span,
    /// The construct, in the names of this file.
    pub message: String,
    /// What to write instead, where something better than the rule's general remedy is known.
    pub remedy: Option<String>,
}

impl Fault {
    pub fn remedy(&self) -> &str {
        self.remedy.as_deref().unwrap_or(self.rule.info().remedy)
    }
}

/// Collects faults. The same fault of a header seen through two sources is kept once.
#[derive(Debug, Default)]
pub struct Faults {
    list: Vec<Fault>,
    seen: HashSet<(Span, Rule)>,
}

impl Faults {
    pub fn push(&mut self, sources: &Sources, fault: Fault) {
        if sources.trusted(fault.span.file) || !self.seen.insert((fault.span, fault.rule)) {
            return;
        }
        self.list.push(fault);
    }

    pub fn len(&self) -> usize {
        self.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// All faults in the order of files and places.
    pub fn into_sorted(mut self) -> Vec<Fault> {
        self.list.sort_by_key(|fault| (fault.span, fault.rule));
        self.list
    }
}
