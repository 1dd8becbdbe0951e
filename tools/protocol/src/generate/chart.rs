//! The edges of a state as text: those with the same target and guards in one row.

use crate::model::{Protocol, StateId};

/// Edges that differ in their message only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    pub edges: Vec<usize>,
    pub target: Option<StateId>,
    pub when: Vec<StateId>,
    pub unless: Vec<StateId>,
}

/// The rows of a state, in the order of the file.
pub fn rows(protocol: &Protocol, state: StateId) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for (id, edge) in protocol.edges.iter().enumerate().filter(|(_, edge)| edge.source == state) {
        let same = |row: &&mut Row| row.target == edge.target && row.when == edge.when && row.unless == edge.unless;
        match rows.iter_mut().find(same) {
            Some(row) => row.edges.push(id),
            None => {
                let (when, unless) = (edge.when.clone(), edge.unless.clone());
                rows.push(Row { edges: vec![id], target: edge.target, when, unless });
            }
        }
    }
    rows
}

/// Where a row leads and under which guards, as `→ Running when Enabled`.
pub fn consequence(protocol: &Protocol, row: &Row) -> String {
    let name = |state: &StateId| protocol.states[*state].name.as_str();
    let mut text = row.target.as_ref().map_or("stays".to_string(), |target| format!("→ {}", name(target)));
    for guard in &row.when {
        text.push_str(&format!(" when {}", name(guard)));
    }
    for guard in &row.unless {
        text.push_str(&format!(" unless {}", name(guard)));
    }
    text
}

/// The marks of a state, as `timed, needs pci Bound`.
pub fn marks(protocol: &Protocol, state: StateId) -> Vec<String> {
    let own = &protocol.states[state];
    let is_initial = own.parent.is_some_and(|parent| protocol.states[parent].initial == Some(state));
    let named =
        [(is_initial && !own.is_region, "initial"), (own.timed, "timed"), (own.fair, "fair"), (own.is_final, "final")];
    let marks = named.iter().filter(|(is, _)| *is).map(|(_, name)| name.to_string());
    let needs = own.needs.iter().map(|need| format!("needs {} {}", need.protocol, need.state));
    marks.chain(needs).collect()
}
