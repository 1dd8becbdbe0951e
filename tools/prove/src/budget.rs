//! The budget of processor time for the proofs.

use crate::coq::compile::Cost;
use crate::finding::Finding;

/// A file that takes longer is split or sped up.
const FILE_SECONDS: f64 = 60.0;
const QED_SECONDS: f64 = 5.0;
const ALL_SECONDS: f64 = 2.0 * 30.0 * 60.0;

pub fn over_budget(costs: &[Cost]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |file: &str, line: Option<usize>, text: String| {
        findings.push(Finding::at("over-budget", &format!("proof/{file}"), line, text));
    };
    for cost in costs {
        if cost.seconds > FILE_SECONDS {
            find(&cost.file, None, format!("takes {:.0} s, more than {FILE_SECONDS} s", cost.seconds));
        }
        if let Some((line, seconds)) = cost.longest_qed.filter(|(_, seconds)| *seconds > QED_SECONDS) {
            find(
                &cost.file,
                Some(line),
                format!("this end of a proof takes {seconds:.0} s, more than {QED_SECONDS} s"),
            );
        }
    }
    let all: f64 = costs.iter().map(|cost| cost.seconds).sum();
    if all > ALL_SECONDS {
        find("_CoqProject", None, format!("all files take {all:.0} s, more than {ALL_SECONDS} s"));
    }
    findings
}
