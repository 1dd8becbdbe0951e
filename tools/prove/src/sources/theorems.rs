//! The main theorems (`proof/Main.v`), those about clients without threads (`proof/Cpus.v`), those that show that they are not vacuous
//! (`proof/NonVacuous.v`), and the committed list of axioms that they use (`proof/assumptions.txt`).

use crate::coq::query::{module, Answer};
use crate::finding::Finding;
use crate::sources::words::without_comments;
use std::collections::{BTreeMap, BTreeSet};

/// The file of the theorems about threads.
pub const MAIN: &str = "Main.v";
/// The file of the theorems that show that the main ones are not vacuous.
pub const NON_VACUOUS: &str = "NonVacuous.v";
/// The file of the theorems about clients that have a CPU each.
pub const CPUS: &str = "Cpus.v";
/// All files whose theorems are shown, below `proof`.
pub const FILES: [&str; 3] = [MAIN, CPUS, NON_VACUOUS];
pub const LIST: &str = "proof/assumptions.txt";
pub const SCRIPT: &str = "proof/Assumptions.v";
/// More theorems in [`MAIN`] are too many to read.
const MOST: usize = 10;
const CLOSED: &str = "Closed under the global context";
const HEAD: &str =
    "# What each theorem of proof/Main.v, proof/Cpus.v and proof/NonVacuous.v rests on, as Coq prints it.\n# Written by `ashlar prove --write`; a \
                    difference is a finding.\n";

/// One of them, as the file has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theorem {
    /// Qualified.
    pub name: String,
    pub line: usize,
    /// The heading in the comment before it, if it has one; otherwise its name.
    pub title: String,
    /// The rest of that comment.
    pub english: String,
    /// From `Theorem` to the period.
    pub statement: String,
    /// The premises and notations between the theorem before it, or the beginning of its section, and this one, with their comments.
    pub setting: String,
    /// Those of the theorem before it hold for it, too.
    pub further: bool,
}

impl Theorem {
    /// The file it stands in, below `proof`.
    pub fn file(&self) -> String {
        format!("{}.v", module(&self.name).trim_start_matches("Ashlar."))
    }
}

/// Reads the theorems of one of the files; what is wrong with how they stand there.
pub fn read(file: &str, text: &str) -> (Vec<Theorem>, Vec<Finding>) {
    let plain = without_comments(text);
    let (lines, plain): (Vec<&str>, Vec<&str>) = (text.lines().collect(), plain.lines().collect());
    let mut theorems = Vec::new();
    let mut findings = Vec::new();
    let mut find =
        |line: usize, text: String| findings.push(Finding::at("bad-main", &format!("proof/{file}"), Some(line), text));
    let (mut since, mut further) = (0, false);
    for (index, line) in plain.iter().enumerate() {
        let mut words = line.trim_start().split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '\''));
        if line.trim_start().starts_with("Section ") {
            (since, further) = (index, false);
        }
        if !words.next().is_some_and(|word| ["Theorem", "Corollary", "Lemma", "Proposition"].contains(&word)) {
            continue;
        }
        let name = words.next().unwrap_or_default();
        let end = plain[index..].iter().position(|line| line.trim_end().ends_with('.')).map_or(0, |length| length + 1);
        let comment = comment_before(&lines[..index]);
        let (title, english) = match comment.strip_prefix("* ") {
            Some(rest) => rest.split_once('\n').unwrap_or((rest, "")),
            None => (name, comment.as_str()),
        };
        if english.trim().is_empty() {
            find(index + 1, format!("{name} is not preceded by what it says in English"));
        }
        theorems.push(Theorem {
            name: format!("Ashlar.{}.{name}", file.trim_end_matches(".v")),
            line: index + 1,
            title: title.trim().to_string(),
            english: english.trim().to_string(),
            statement: unindented(&lines[index..index + end]),
            setting: setting(&lines[since..index], &plain[since..index]),
            further,
        });
        (since, further) = (index + end, true);
    }
    if file == MAIN && theorems.len() > MOST {
        find(theorems[MOST].line, format!("{} theorems; at most {MOST} are to be read", theorems.len()));
    }
    (theorems, findings)
}

/// The premises and notations among some lines, with their comments; `plain`: the lines without comments.
fn setting(lines: &[&str], plain: &[&str]) -> String {
    let mut parts: Vec<String> = Vec::new();
    let mut index = 0;
    while index < plain.len() {
        let first = plain[index].split_whitespace().next().unwrap_or_default();
        let end = plain[index..].iter().position(|line| line.trim_end().ends_with('.')).map_or(1, |length| length + 1);
        if ["Context", "Notation", "Definition", "Inductive"].contains(&first) {
            let comment = lines[..index].iter().rposition(|line| line.trim_start().starts_with("(*"));
            let open = |start: &usize| plain[*start..index].iter().all(|line| line.trim().is_empty());
            let start = comment.filter(|start| open(start) && !lines[index - 1].trim().is_empty()).unwrap_or(index);
            parts.push(unindented(&lines[start..index + end]));
            index += end;
        } else {
            index += 1;
        }
    }
    parts.join("\n")
}

/// Lines without the indentation of the first.
fn unindented(lines: &[&str]) -> String {
    let indent = lines.first().map_or(0, |line| line.len() - line.trim_start().len());
    let cut = |line: &&str| {
        line.get(indent..).filter(|_| line[..indent].trim().is_empty()).unwrap_or(line.trim_start()).to_string()
    };
    lines.iter().map(cut).collect::<Vec<_>>().join("\n")
}

/// The words of the comment that ends on the last of `lines`.
fn comment_before(lines: &[&str]) -> String {
    if !lines.last().is_some_and(|line| line.trim_end().ends_with("*)")) {
        return String::new();
    }
    let Some(start) = lines.iter().rposition(|line| line.trim_start().starts_with("(*")) else { return String::new() };
    let strip = |line: &&str| {
        let line = line.trim().trim_end_matches("*)");
        line.trim_start_matches("(**").trim_start_matches("(*").trim().to_string()
    };
    lines[start..].iter().map(strip).collect::<Vec<_>>().join("\n").trim().to_string()
}

/// The committed list as it should be.
pub fn list(theorems: &[Theorem], answers: &BTreeMap<String, Answer>) -> String {
    let mut out = HEAD.to_string();
    for theorem in theorems {
        out += &format!("\n{}\n", theorem.name);
        match answers.get(&theorem.name).map(|answer| &answer.assumptions) {
            Some(assumptions) if !assumptions.is_empty() => {
                assumptions.iter().for_each(|name| out += &format!("    {name}\n"));
            }
            Some(_) => out += &format!("    {CLOSED}\n"),
            None => {}
        }
    }
    out
}

/// `proof/Assumptions.v` as it should be: the same question for who reads the proofs in an editor, about all theorems at
/// once, as it takes Coq as long as about one.
pub fn script(theorems: &[Theorem]) -> String {
    let modules: BTreeSet<&str> = theorems.iter().map(|theorem| module(&theorem.name)).collect();
    let modules: Vec<&str> = modules.iter().map(|module| module.trim_start_matches("Ashlar.")).collect();
    let names: Vec<String> =
        theorems.iter().map(|theorem| format!("  @{}", theorem.name.trim_start_matches("Ashlar."))).collect();
    format!(
        "(* Generated by `ashlar prove --write`; changes here are lost. *)\n\n(** What the theorems rest on, all together: \
         [assumptions.txt] has the answer for each. *)\nFrom Ashlar Require {}.\n\nDefinition theorems := (\n{}).\n\
         Print Assumptions theorems.\n",
        modules.join(" "),
        names.join(",\n")
    )
}

/// Holds Coq's answers against the committed list.
pub fn hold(theorems: &[Theorem], answers: &BTreeMap<String, Answer>, committed: &str) -> Vec<Finding> {
    let committed = entries(committed);
    let mut findings = Vec::new();
    let mut find = |text: String| findings.push(Finding::at("assumption", LIST, None, text));
    for theorem in theorems {
        let Some(answer) = answers.get(&theorem.name) else {
            find(format!("{} is in proof/{}, and Coq does not know it", theorem.name, theorem.file()));
            continue;
        };
        match committed.get(&theorem.name) {
            None => find(format!("{} is not listed; `ashlar prove --write` lists it", theorem.name)),
            Some(listed) if *listed != answer.assumptions => {
                let shown = |names: &[String]| if names.is_empty() { "no axiom".into() } else { names.join(", ") };
                find(format!("{} rests on {}, not on {}", theorem.name, shown(&answer.assumptions), shown(listed)));
            }
            Some(_) => {}
        }
    }
    for name in committed.keys() {
        if !theorems.iter().any(|theorem| theorem.name == *name) {
            find(format!("{name} is listed, and is in none of {}", FILES.join(", ")));
        }
    }
    findings
}

fn entries(committed: &str) -> BTreeMap<String, Vec<String>> {
    let mut entries: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut current = String::new();
    for line in committed.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty()) {
        if !line.starts_with(' ') {
            current = line.trim().to_string();
            entries.entry(current.clone()).or_default();
        } else if line.trim() != CLOSED {
            entries.entry(current.clone()).or_default().push(line.trim().to_string());
        }
    }
    entries
}

#[cfg(test)]
mod tests {
    use super::{hold, list, read, script, Answer, MAIN as FILE, NON_VACUOUS};
    use std::collections::BTreeMap;

    const MAIN: &str =
        "(** The idea. *)\nFrom X Require Y.\n\n(** Nothing goes\n    wrong. *)\nTheorem good : forall x,\n  x = x.\n\
                        Proof. easy. Qed.\n(* Theorem old : False. *)\n";

    fn answers(assumptions: &[&str]) -> BTreeMap<String, Answer> {
        let assumptions = assumptions.iter().map(|name| name.to_string()).collect();
        BTreeMap::from([("Ashlar.Main.good".into(), Answer { statement: String::new(), assumptions })])
    }

    #[test]
    fn a_theorem_has_english_before_it() {
        let (theorems, findings) = read(FILE, MAIN);
        assert!(findings.is_empty());
        assert_eq!(theorems.len(), 1);
        assert_eq!((theorems[0].name.as_str(), theorems[0].line), ("Ashlar.Main.good", 6));
        assert_eq!(theorems[0].english, "Nothing goes\nwrong.");
        assert_eq!(theorems[0].statement, "Theorem good : forall x,\n  x = x.");
        assert!(script(&theorems).contains("From Ashlar Require Main.\n\nDefinition theorems := (\n  @Main.good).\n"));
        assert_eq!(read(FILE, "\nTheorem bare : True.\n").1[0].line, Some(2));
    }

    #[test]
    fn theorems_in_a_section_have_a_setting_and_a_heading() {
        let text = "(** The idea. *)\nSection s.\n  (** Any x. *)\n  Context (x : nat)\n    (y : nat).\n\n  Local Lemma l : x = x.\n\
                    \x20 Proof. easy. Qed.\n  Notation z := 1.\n  (** * 1. Refinement\n\n      All is\n      well. *)\n  Theorem t :\n    \
                    x = x.\n  Proof. easy. Qed.\n  Context (late : nat).\nEnd s.\nSection other.\n  \
                    (** Any w. *)\n  Context (w : nat).\n  (** w. *)\n  Theorem u : w = w.\n";
        let (theorems, findings) = read(FILE, text);
        assert!(findings.is_empty());
        assert_eq!((theorems.len(), theorems[0].title.as_str()), (2, "1. Refinement"));
        assert_eq!(theorems[0].english, "All is\nwell.");
        assert_eq!(theorems[0].statement, "Theorem t :\n  x = x.");
        assert_eq!(theorems[0].setting, "(** Any x. *)\nContext (x : nat)\n  (y : nat).\nNotation z := 1.");
        assert_eq!(theorems[1].setting, "(** Any w. *)\nContext (w : nat).");
        assert!(!theorems[0].further && !theorems[1].further);
    }

    #[test]
    fn at_most_ten() {
        let many = |count: usize| (0..count).map(|n| format!("(* a *)\nTheorem t{n} : True.\n")).collect::<String>();
        assert!(read(FILE, &many(10)).1.is_empty());
        assert_eq!(read(FILE, &many(11)).1.len(), 1);
        let (theorems, findings) = read(NON_VACUOUS, &many(11));
        assert!(findings.is_empty());
        assert_eq!((theorems[0].name.as_str(), theorems[0].file().as_str()), ("Ashlar.NonVacuous.t0", NON_VACUOUS));
    }

    #[test]
    fn the_committed_list_is_compared() {
        let (theorems, _) = read(FILE, MAIN);
        let closed = list(&theorems, &answers(&[]));
        assert!(closed.contains("\nAshlar.Main.good\n    Closed under the global context\n"));
        assert!(hold(&theorems, &answers(&[]), &closed).is_empty());
        let found = hold(&theorems, &answers(&["foo"]), &closed);
        assert_eq!(found[0].message, "Ashlar.Main.good rests on foo, not on no axiom");
        assert!(hold(&theorems, &answers(&["foo"]), &list(&theorems, &answers(&["foo"]))).is_empty());
        assert_eq!(hold(&theorems, &answers(&[]), "").len(), 1);
        assert_eq!(hold(&theorems, &BTreeMap::new(), &closed).len(), 1);
        assert_eq!(hold(&[], &answers(&[]), &closed).len(), 1);
    }
}
