//! Coq's independent checker, which reads only the compiled files and reports the axioms that they use.

use crate::coq::compile::Copy;
use crate::error::Error;
use crate::finding::Finding;
use crate::sources::tree::ROOT;
use std::process::Command;

/// Checks `modules` and all they need; whatever its summary does not call empty is a finding.
pub fn check(copy: &Copy, modules: &[String]) -> Result<Vec<Finding>, Error> {
    let mut command = Command::new("coqchk");
    command.args(["-silent", "-o", "-Q", ".", ROOT]).args(modules).current_dir(&copy.folder);
    let done = command.output().map_err(|error| Error::not_started("coqchk", error))?;
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    if !done.status.success() {
        return Ok(vec![Finding::of("checker", format!("coqchk refuses the compiled proofs:\n{}", said.trim()))]);
    }
    Ok(summary(&said))
}

/// Reads `* Axioms: <none>`, or the names below such a line.
fn summary(said: &str) -> Vec<Finding> {
    const SECTIONS: [&str; 4] = ["Axioms", "type-in-type", "unsafe (co)fixpoints", "positivity is assumed"];
    let mut findings = Vec::new();
    let mut seen = 0;
    let mut current: Option<String> = None;
    for line in said.lines() {
        if let Some(title) = line.strip_prefix("* ") {
            let (title, rest) = title.split_once(':').unwrap_or((title, ""));
            let known = SECTIONS.iter().any(|section| title.contains(section));
            seen += usize::from(known);
            current = (known && rest.trim() != "<none>").then(|| title.to_string());
        } else if let (Some(title), false) = (&current, line.trim().is_empty()) {
            findings.push(Finding::of("checker", format!("coqchk: {title}: {}", line.trim())));
        }
    }
    if seen != SECTIONS.len() {
        findings.push(Finding::of("checker", format!("coqchk's summary is not understood:\n{}", said.trim())));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::summary;

    const GOOD: &str = "CONTEXT SUMMARY\n===============\n\n* Theory: Set is predicative\n  \n* Axioms: <none>\n  \n\
        * Constants/Inductives relying on type-in-type: <none>\n  \n\
        * Constants/Inductives relying on unsafe (co)fixpoints: <none>\n  \n* Inductives whose positivity is assumed: <none>\n";

    #[test]
    fn only_an_empty_summary_is_good() {
        assert!(summary(GOOD).is_empty());
        let bad = GOOD.replace("* Axioms: <none>", "* Axioms:\n    T.A.foo\n    T.A.bar");
        assert_eq!(summary(&bad).len(), 2);
        assert!(summary(&bad)[0].message.ends_with("T.A.foo"));
        assert_eq!(summary("").len(), 1);
    }
}
