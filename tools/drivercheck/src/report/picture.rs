//! The statechart of each protocol, with what a driver never takes greyed and the run of a violation shown.

use crate::check::Report;
use crate::driver::Driver;
use picture::canvas::Picture;
use protocol::generate::statechart::{statechart, Highlight};

/// By protocol: its name and its picture.
///
/// # Errors
/// Graphviz is not installed, or fails.
pub fn pictures(driver: &Driver, report: &Report) -> Result<Vec<(String, Picture)>, picture::graph::Error> {
    let trace = report.rows.iter().filter(|row| row.verdict == "VIOLATED").find_map(|row| row.trace.as_ref());
    let mut all = Vec::new();
    for (index, checked) in driver.protocols.iter().enumerate() {
        let edge = |(state, message): (usize, usize)| checked.flat.edges[state][message];
        let mut highlight = Highlight::default();
        let covered = report.covered.get(index);
        let touched: std::collections::BTreeSet<usize> =
            covered.into_iter().flatten().filter_map(|one| edge(*one)).collect();
        if covered.is_some() {
            highlight.untouched = (0..checked.protocol.edges.len()).filter(|one| !touched.contains(one)).collect();
        }
        let taken = trace.into_iter().flat_map(|trace| &trace.taken);
        let own = taken.filter(|(protocol, _, _)| *protocol == index);
        highlight.trace = own.filter_map(|(_, state, message)| edge((*state, *message))).collect();
        all.push((checked.protocol.name.clone(), statechart(&checked.protocol, &highlight)?));
    }
    Ok(all)
}

/// Edges of each protocol that no run of the driver takes, as text.
pub fn untouched(driver: &Driver, report: &Report) -> Vec<String> {
    let mut all = Vec::new();
    for (checked, covered) in std::iter::zip(&driver.protocols, &report.covered) {
        let own = &checked.protocol;
        let touched: Vec<usize> =
            covered.iter().filter_map(|(state, message)| checked.flat.edges[*state][*message]).collect();
        for (index, edge) in own.edges.iter().enumerate().filter(|(index, _)| !touched.contains(index)) {
            let _ = index;
            all.push(format!(
                "{}: {} in {}",
                own.name,
                own.messages[edge.message].label(),
                own.states[edge.source].name
            ));
        }
    }
    all
}
