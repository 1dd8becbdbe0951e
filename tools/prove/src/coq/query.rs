//! Queries to Coq about theorems: the statement of each and the axioms it uses.
//!
//! Answers are kept beside the compiled files, and hold as long as these are of the same sources: as the files are not compiled
//! again, Coq is not asked again.

use crate::coq::compile::{make_folder, version, Copy};
use crate::coq::COLLECTOR;
use crate::error::Error;
use crate::sources::tree::{read, ROOT};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// What Coq says about one theorem.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answer {
    /// Its type, as printed.
    pub statement: String,
    /// Names of axioms and other things taken for granted; empty if it is closed.
    pub assumptions: Vec<String>,
}

/// So that statements come as people write them.
const NOTATIONS: &str = "From Coq Require Import ZArith String List.\nImport ListNotations.\nOpen Scope Z_scope.\n\
                         Set Printing Width 110.\nSet Printing Depth 1000.\n";

/// The module of a qualified name.
pub fn module(theorem: &str) -> &str {
    theorem.rsplit_once('.').map_or("", |(module, _)| module)
}

/// Answers by their theorems.
type Answers = BTreeMap<String, Answer>;

/// Answers that are kept, and what they are about.
#[derive(Serialize, Deserialize)]
struct Kept {
    about: String,
    answers: Answers,
}

const KEPT: &str = "answers.json";

/// Asks about each of `theorems` (qualified names of compiled modules). Those that do not exist are not in the answer.
pub fn ask(copy: &Copy, theorems: &BTreeSet<String>) -> Result<Answers, Error> {
    let about = about(&copy.keys(&version()?)?, theorems);
    let path = copy.folder.join(KEPT);
    let kept = std::fs::read(&path).ok().and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
    if let Some(kept) = kept.filter(|kept| kept.about == about) {
        return Ok(kept.answers);
    }
    let kept = Kept { about, answers: ask_now(copy, theorems)? };
    std::fs::write(&path, serde_json::json!(kept).to_string()).map_err(|error| Error::unwritable(&path, error))?;
    Ok(kept.answers)
}

/// A number of all that was compiled and of the theorems: the answers are the same if it is.
fn about(keys: &BTreeMap<String, String>, theorems: &BTreeSet<String>) -> String {
    let all: Vec<&String> = theorems.iter().collect();
    let hash = Sha256::digest(format!("{keys:?}\n{}", script(&all, true).0));
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn ask_now(copy: &Copy, theorems: &BTreeSet<String>) -> Result<Answers, Error> {
    let folder = copy.folder.join(".ask");
    make_folder(&folder)?;
    let mut asked: Vec<&String> = theorems.iter().collect();
    // What one theorem rests on takes Coq as long as what all of them rest on together, and mostly that is nothing.
    let mut together = true;
    // Each round succeeds, finds one name that does not exist, or finds that not all are closed.
    while !asked.is_empty() {
        let (script, head) = script(&asked, together);
        let path = folder.join("Ask.v");
        std::fs::write(&path, &script).map_err(|error| Error::unwritable(&path, error))?;
        let mut command = Command::new("coqc");
        command.args(["-q", "-Q", ".", ROOT, ".ask/Ask.v"]).current_dir(&copy.folder).env(COLLECTOR.0, COLLECTOR.1);
        let done = command.output().map_err(|error| Error::not_started("coqc", error))?;
        if done.status.success() {
            if together && !assumptions(&read(&folder.join("all.rests.out"))?).is_empty() {
                together = false;
                continue;
            }
            let answer = |(index, theorem): (usize, &&String)| {
                let file = |kind: &str| read(&folder.join(format!("{index}.{kind}.out")));
                let rests = if together { Vec::new() } else { assumptions(&file("rests")?) };
                Ok((theorem.to_string(), Answer { statement: statement(&file("type")?), assumptions: rests }))
            };
            return asked.iter().enumerate().map(answer).collect();
        }
        let complaint = String::from_utf8_lossy(&done.stderr).into_owned();
        let missing = line_of(&complaint).and_then(|line| line.checked_sub(head + 1)).filter(|&at| at < asked.len());
        match missing {
            Some(place) if complaint.contains("was not found") => drop(asked.remove(place)),
            _ => {
                return Err(Error::Refused {
                    what: "Coq could not be asked about theorems",
                    output: complaint.trim().into(),
                })
            }
        }
    }
    Ok(BTreeMap::new())
}

/// The questions, one line for each theorem, and the number of lines before them. `together`: what all rest on is one
/// question about all of them.
fn script(asked: &[&String], together: bool) -> (String, usize) {
    let modules: BTreeSet<&str> = asked.iter().map(|theorem| module(theorem)).collect();
    let requires: Vec<String> = modules.iter().map(|module| format!("Require {module}.\n")).collect();
    let mut script = requires.concat() + NOTATIONS;
    let head = script.lines().count();
    for (index, theorem) in asked.iter().enumerate() {
        script += &format!("Redirect \".ask/{index}.type\" Check @{theorem}.");
        if !together {
            script += &format!(" Redirect \".ask/{index}.rests\" Print Assumptions {theorem}.");
        }
        script += "\n";
    }
    if together {
        // No tuple: its type would repeat the statements at each level.
        let all: Vec<String> = asked.iter().map(|theorem| format!("let _ := @{theorem} in ")).collect();
        script += &format!("Definition asked : True := {}I.\n", all.concat());
        script += "Redirect \".ask/all.rests\" Print Assumptions asked.\n";
    }
    (script, head)
}

fn line_of(complaint: &str) -> Option<usize> {
    complaint.split("line ").nth(1)?.split(',').next()?.trim().parse().ok()
}

/// Reads `name\n     : type`.
fn statement(said: &str) -> String {
    let said = said.trim();
    let after = said.split_once("\n").map_or(said, |(_, rest)| rest).trim_start();
    let lines: Vec<&str> = after.strip_prefix(": ").unwrap_or(after).lines().collect();
    lines.iter().map(|line| line.strip_prefix("       ").unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// Reads `Closed under the global context`, or `Axioms:` and one entry a line with its type.
fn assumptions(said: &str) -> Vec<String> {
    let lines = said.lines().filter(|line| !line.trim().is_empty() && !line.starts_with(char::is_whitespace));
    let entries =
        lines.filter(|line| !line.starts_with("Closed under") && !["Axioms:", "Section Variables:"].contains(line));
    entries.map(|line| line.split(" :").next().unwrap_or(line).to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::{about, assumptions, line_of, module, statement};
    use std::collections::{BTreeMap, BTreeSet};

    #[test]
    fn other_files_and_other_theorems_are_asked_about_again() {
        let keys = |b: &str| BTreeMap::from([("A.v".to_string(), "1".to_string()), ("B.v".into(), b.into())]);
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<BTreeSet<String>>();
        let first = about(&keys("2"), &names(&["A.a", "B.b"]));
        assert_eq!(first, about(&keys("2"), &names(&["B.b", "A.a"])));
        assert_ne!(first, about(&keys("3"), &names(&["A.a", "B.b"])));
        assert_ne!(first, about(&keys("2"), &names(&["A.a"])));
        assert_ne!(first, about(&keys("2"), &names(&["A.a", "B.c"])));
    }

    #[test]
    fn reads_answers() {
        assert!(assumptions("Closed under the global context\n").is_empty());
        let said = "Axioms:\nA.foo : 1 = 2\nfunctional_extensionality_dep\n  : forall A,\n    A\nA.f is assumed to be guarded.\n";
        assert_eq!(assumptions(said), ["A.foo", "functional_extensionality_dep", "A.f is assumed to be guarded."]);
        assert_eq!(statement("A.bar\n     : 3 = 3 /\\\n       1 = 2\n"), "3 = 3 /\\\n1 = 2");
        assert_eq!(line_of("File \"./B.v\", line 5, characters 1-2:\nError: x"), Some(5));
        assert_eq!(module("Ashlar.a.B.c"), "Ashlar.a.B");
    }
}
