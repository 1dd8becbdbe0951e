//! Mitigations: their names, and whether the machine has them.

use crate::codes::Code;
use crate::description::{Description, Machine};
use crate::table::records::{
    MITIGATION_IBPB, MITIGATION_SELECTORS, MITIGATION_STIBP, MITIGATION_VECTOR_STATE, MITIGATION_VERW,
};
use diagnostics::{suggest, Diagnostic, Report};

struct Mitigation {
    name: &'static str,
    bit: u32,
    /// Processors may lack it.
    needs_processor: bool,
}

const MITIGATIONS: [Mitigation; 5] = [
    Mitigation { name: "verw", bit: MITIGATION_VERW, needs_processor: true },
    Mitigation { name: "ibpb", bit: MITIGATION_IBPB, needs_processor: true },
    Mitigation { name: "stibp", bit: MITIGATION_STIBP, needs_processor: true },
    Mitigation { name: "selectors", bit: MITIGATION_SELECTORS, needs_processor: false },
    Mitigation { name: "vector-state", bit: MITIGATION_VECTOR_STATE, needs_processor: false },
];

fn find(name: &str) -> Option<&'static Mitigation> {
    MITIGATIONS.iter().find(|mitigation| mitigation.name == name)
}

/// The flags of the boot table. Names that the check has refused are left out.
pub fn bits(description: &Description) -> u32 {
    description
        .mitigations
        .iter()
        .filter_map(|name| find(&name.value))
        .fold(0, |bits, mitigation| bits | mitigation.bit)
}

pub fn check(description: &Description, machine: Option<&Machine>, report: &mut Report) {
    for name in &description.mitigations {
        let Some(mitigation) = find(&name.value) else {
            let known: Vec<&str> = MITIGATIONS.iter().map(|mitigation| mitigation.name).collect();
            let remedy = suggest::remedy(&name.value, "mitigation", &known);
            let message = format!("there is no mitigation `{}`", name.value);
            report.push(Diagnostic::new(Code::NoMitigation, message, remedy).at(
                &description.source,
                &name.span,
                "unknown",
            ));
            continue;
        };
        let Some(machine) = machine.filter(|_| mitigation.needs_processor) else { continue };
        if machine.mitigations.iter().all(|has| has.value != name.value) {
            let message = format!("the processors of the machine `{}` have no `{}`", machine.name, name.value);
            let remedy = "remove it; or, if they have it, name it in `mitigations` of the machine's file";
            report.push(Diagnostic::new(Code::NoMitigation, message, remedy).at(
                &description.source,
                &name.span,
                "not there",
            ));
        }
    }
}
