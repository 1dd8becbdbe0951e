//! Statements that bounds rest on, and how often what happens agreed with each.

use serde::Serialize;

/// Contradictions of a statement that are told one by one.
const EXAMPLES: usize = 8;

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Statement {
    pub statement: String,
    /// How often it was held against what happened; never, if nothing happened of which it speaks.
    pub checked: u64,
    pub contradicted: u64,
    /// The first contradictions, one for each instruction: its place, and what it accessed.
    pub examples: Vec<String>,
}

/// A statement's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row(usize);

#[derive(Debug, Clone, Default)]
pub struct Ledger {
    rows: Vec<Statement>,
}

impl Ledger {
    /// The place of a statement, which it gets if it has none.
    pub fn row(&mut self, statement: impl Into<String>) -> Row {
        let statement = statement.into();
        let known = self.rows.iter().position(|row| row.statement == statement);
        Row(known.unwrap_or_else(|| {
            self.rows.push(Statement { statement, ..Statement::default() });
            self.rows.len() - 1
        }))
    }

    pub fn hold(&mut self, row: Row, holds: bool, told: impl FnOnce() -> String) {
        let row = &mut self.rows[row.0];
        row.checked += 1;
        if !holds {
            row.contradicted += 1;
            if row.examples.len() < EXAMPLES {
                // Once for each instruction.
                let text = told();
                let of = |text: &str| text.split(')').next().unwrap_or_default().to_string();
                if row.examples.iter().all(|one| of(one) != of(&text)) {
                    row.examples.push(text);
                }
            }
        }
    }

    /// How often something was contrary to a statement.
    pub fn contradictions(&self) -> u64 {
        self.rows.iter().map(|row| row.contradicted).sum()
    }

    pub fn statements(self) -> Vec<Statement> {
        self.rows
    }
}
