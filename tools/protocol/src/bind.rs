//! Bindings: what a protocol needs of another one that the same driver speaks.
//!
//! `state Open needs pci Bound` says that an output may enter `Open` only while the protocol `pci` is in `Bound`. It says
//! nothing of what comes later: the device may disappear, and its own protocol says what is allowed then.
//! Automata and subprotocols describe one protocol and leave bindings out; the checker reads them from the JSON.

use crate::codes::Code;
use crate::findings::Findings;
use crate::model::Protocol;
use diagnostics::{suggest, Diagnostic};
use std::path::Path;

/// Looks up the other protocols beside this one's file, else in the folder `further`.
pub fn check(protocol: &Protocol, further: Option<&Path>, report: &mut Findings) {
    for need in protocol.states.iter().flat_map(|state| &state.needs) {
        let name = format!("{}.proto", need.protocol);
        let beside = protocol.source.path.with_file_name(&name);
        let further = further.map(|folder| folder.join(&name)).filter(|path| path.is_file() && !beside.is_file());
        let path = further.unwrap_or(beside);
        let Ok(text) = std::fs::read_to_string(&path) else {
            let message = format!("the protocol `{}` is not in {}", need.protocol, path.display());
            let remedy = "name a protocol whose file stands beside this one";
            report.push(Diagnostic::new(Code::Binding, message, remedy).at(&report.source, &need.span, "needed here"));
            continue;
        };
        // Faults of the other protocol are reported when its own file is checked.
        let Ok(other) = crate::check_text(&path, text) else {
            let message = format!("the protocol `{}` has faults of its own", need.protocol);
            let remedy = format!("check {} first", path.display());
            report.push(Diagnostic::new(Code::Binding, message, remedy).at(&report.source, &need.span, "needed here"));
            continue;
        };
        if other.protocol.state(&need.state).is_none() {
            let known: Vec<&str> = other.protocol.states.iter().skip(1).map(|state| state.name.as_str()).collect();
            let message = format!("the protocol `{}` has no state `{}`", need.protocol, need.state);
            let remedy = suggest::remedy(&need.state, "state", &known);
            report.push(Diagnostic::new(Code::Binding, message, remedy).at(&report.source, &need.span, "needed here"));
        }
        if other.protocol.number == protocol.number {
            let message = format!("`{}` and `{}` have the same number", protocol.name, need.protocol);
            let remedy = "give each its own number after its name: `protocol ethernet 2`";
            report.push(Diagnostic::new(Code::Binding, message, remedy).at(&report.source, &need.span, "bound here"));
        }
    }
}
