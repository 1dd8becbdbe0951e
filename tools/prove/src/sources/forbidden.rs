//! Forbidden words in proofs: claims without proof, options that disable a check of Coq, and premises outside a section, which
//! are axioms.
//!
//! This textual search is one of three guards: Coq's own list of axioms, and the independent checker, find what words cannot.

use crate::finding::Finding;
use crate::sources::words::{sentences, Word};

/// Words that must not occur at all.
const NEVER: &[(&str, &str)] = &[
    ("Admitted", "a proof is left out"),
    ("admit", "a goal is left out"),
    ("give_up", "a goal is left out"),
    ("Axiom", "a claim without proof"),
    ("Axioms", "a claim without proof"),
    ("Parameter", "a claim without proof"),
    ("Parameters", "a claim without proof"),
    ("Conjecture", "a claim without proof"),
    ("Conjectures", "a claim without proof"),
    ("bypass_check", "a check of the kernel of Coq is switched off"),
    ("native_compute", "its compiler is not part of the checked kernel"),
];

/// Words that must not follow each other.
const NEVER_TOGETHER: &[(&[&str], &str)] = &[
    (&["Guard", "Checking"], "the check of recursion is switched"),
    (&["Positivity", "Checking"], "the check of inductive types is switched"),
    (&["Universe", "Checking"], "the check of universes is switched"),
    (&["Type", "In", "Type"], "the check of universes is switched"),
    (&["Abort", "All"], "proofs are dropped"),
    (&["Add", "LoadPath"], "files outside the tree are taken in"),
    (&["Add", "Rec", "LoadPath"], "files outside the tree are taken in"),
    (&["Declare", "ML"], "a plug-in could do anything"),
];

/// Premises: local to an open section, axioms outside one.
const PREMISES: &[&str] = &["Hypothesis", "Hypotheses", "Variable", "Variables", "Context"];

/// What stands before a command without changing what it is.
const BEFORE: &[&str] = &["Local", "Global", "Polymorphic", "Monomorphic", "Time", "Timeout", "Fail", "Program"];

/// Every forbidden thing in `text`, which is the file `file`.
pub fn forbidden(file: &str, text: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut find = |word: &Word, what: &str, why: &str| {
        findings.push(Finding::at("forbidden-word", file, Some(word.line), format!("{what}: {why}")));
    };
    // Open sections (true) and modules (false), outermost first.
    let mut open: Vec<(bool, String)> = Vec::new();
    for sentence in sentences(text) {
        for (index, word) in sentence.iter().enumerate() {
            for (never, why) in NEVER {
                if word.text.split('.').any(|part| part == *never) {
                    find(word, never, why);
                }
            }
            for (together, why) in NEVER_TOGETHER {
                let follows = |(offset, expected): (usize, &&str)| {
                    sentence.get(index + offset).is_some_and(|word| word.text == **expected)
                };
                if together.iter().enumerate().all(follows) {
                    find(word, &together.join(" "), why);
                }
            }
        }
        let Some((command, rest)) = command(&sentence) else { continue };
        let name = rest.first().map_or(String::new(), |word| word.text.clone());
        match command.text.as_str() {
            "Load" => find(command, "Load", "text of another file is taken in unseen"),
            "Section" => open.push((true, name)),
            // A module that is given by `:=` is no block.
            "Module" if !rest.windows(2).any(|pair| pair[0].text == ":" && pair[1].text == "=") => {
                let name = rest
                    .iter()
                    .map(|word| &word.text)
                    .find(|text| !["Type", "Import", "Export"].contains(&text.as_str()));
                open.push((false, name.cloned().unwrap_or_default()));
            }
            "End" => {
                if let Some(place) = open.iter().rposition(|(_, opened)| *opened == name) {
                    open.truncate(place);
                }
            }
            premise if PREMISES.contains(&premise) && !open.iter().any(|(section, _)| *section) => {
                find(command, premise, "outside a section it is a claim without proof");
            }
            _ => {}
        }
    }
    findings
}

/// The command of a sentence, and the words after it.
fn command(sentence: &[Word]) -> Option<(&Word, &[Word])> {
    let mut place = 0;
    while let Some(word) = sentence.get(place) {
        if word.text == "#" {
            // An attribute: #[...]
            place += sentence[place..].iter().position(|word| word.text == "]")? + 1;
        } else if BEFORE.contains(&word.text.as_str()) || word.text.chars().all(|c| "{}-+*0123456789".contains(c)) {
            place += 1;
        } else {
            return Some((word, &sentence[place + 1..]));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::forbidden;

    fn found(text: &str) -> Vec<(usize, String)> {
        let findings = forbidden("a.v", text);
        findings.into_iter().map(|finding| (finding.line.unwrap(), finding.message)).collect()
    }

    fn lines(text: &str) -> Vec<usize> {
        found(text).into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn words_that_claim_without_proving() {
        for text in [
            "Lemma a : 1 = 2. Proof. Admitted.",
            "Lemma a : 1 = 2. Proof. split; [|admit]. Qed.",
            "Lemma a : 1 = 2. Proof. { give_up. } Qed.",
            "Axiom a : 1 = 2.",
            "Local Axiom a : 1 = 2.",
            "Module Type T. Parameter a : 1 = 2. End T.",
            "Conjecture a : 1 = 2.",
            "Unset Guard Checking.",
            "Local Unset Positivity Checking.",
            "#[bypass_check(guard)] Fixpoint f (n : nat) := f n.",
            "Set Type In Type.",
            "Unset Universe\n Checking.",
            "Lemma a : 1 = 2. Abort All.",
            "Load \"other\".",
            "exact Coq.admit.x.",
        ] {
            assert_eq!(lines(text).len(), 1, "{text}");
        }
    }

    #[test]
    fn words_in_comments_and_strings_do_no_harm() {
        assert!(found("(* Admitted (* admit *) Axiom *) Definition s := \"Admitted. Axiom\".").is_empty());
        assert!(found(
            "Definition admitted_by := 1. Inductive e := Load (x : nat). Lemma loads : True. Proof. exact I. Qed."
        )
        .is_empty());
        assert_eq!(lines("(* x *)\n\nAxiom a : False.\n(* *) admit."), [3, 4]);
    }

    #[test]
    fn a_premise_needs_a_section() {
        assert_eq!(lines("Context (A : Type).\nVariable x : nat.\nHypothesis h : x = 1."), [1, 2, 3]);
        assert!(found("Section s. Context (A : Type). Hypothesis h : 1 = 2. End s.").is_empty());
        assert_eq!(lines("Section s.\nVariable x : nat.\nEnd s.\nVariable y : nat."), [4]);
        assert!(found("Module M. Section s. Variable x : nat. End s. End M.").is_empty());
        assert_eq!(lines("Module M.\nVariable x : nat.\nEnd M."), [2]);
        assert_eq!(lines("Module M := N.\nSection s.\nEnd s.\n#[local] Context (A : Type)."), [4]);
        assert_eq!(lines("Section s.\nEnd s.\nGlobal Variables x y : nat."), [3]);
    }
}
