//! The text in the box of a state: its name with its marks, then its edges, those with one consequence together.

use super::chart::{consequence, marks, rows, Row};
use crate::model::{Protocol, StateId};

/// Messages of a row are broken into lines of at most so many letters.
const MAX_LETTERS: usize = 34;

/// A line of text in a box: messages of one row, and its consequence on the row's last line.
#[derive(Debug, Clone)]
pub struct TextLine {
    pub edges: Vec<usize>,
    pub consequence: Option<String>,
    pub target: Option<StateId>,
}

pub fn lines(protocol: &Protocol, state: StateId) -> Vec<TextLine> {
    rows(protocol, state).iter().flat_map(|row| broken(protocol, row)).collect()
}

/// Letters of the longest line of a state's box.
pub fn letters(protocol: &Protocol, state: StateId) -> usize {
    let line = |line: &TextLine| {
        let messages: usize = line.edges.iter().map(|edge| label(protocol, *edge).chars().count() + 1).sum();
        messages + line.consequence.as_ref().map_or(0, |text| text.chars().count())
    };
    let name = protocol.states[state].name.chars().count();
    let title = name + marks(protocol, state).iter().map(|mark| mark.len() + 2).sum::<usize>();
    lines(protocol, state).iter().map(line).chain([title]).max().unwrap_or(0)
}

pub fn label(protocol: &Protocol, edge: usize) -> String {
    protocol.messages[protocol.edges[edge].message].label()
}

fn broken(protocol: &Protocol, row: &Row) -> Vec<TextLine> {
    let mut lines: Vec<TextLine> = Vec::new();
    let mut length = MAX_LETTERS;
    for edge in &row.edges {
        let letters = label(protocol, *edge).chars().count() + 1;
        match lines.last_mut().filter(|_| length + letters <= MAX_LETTERS) {
            Some(line) => line.edges.push(*edge),
            None => {
                lines.push(TextLine { edges: vec![*edge], consequence: None, target: None });
                length = 0;
            }
        }
        length += letters;
    }
    if let Some(last) = lines.last_mut() {
        last.consequence = Some(consequence(protocol, row));
        last.target = row.target;
    }
    lines
}
