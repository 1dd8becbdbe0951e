//! Tries mutants of the C: first with the proofs that lead to their function's theorem, then, if those hold, with all proofs.
//!
//! The first step uses an excerpt: the proofs that concern the function, then all that its theorem depends on. A refusal counts
//! only if Coq accepts the same excerpt with the real code. One run of Coq checks several mutants of a function. The second step
//! compiles every file that depends on the code, in an overlay.

use crate::coq::compile::{make_folder, refusal, Copy};
use crate::coq::overlay::Links;
use crate::coq::COLLECTOR;
use crate::error::Error;
use crate::mutants::code::excerpt::{excerpt, marks, said, About, Excerpt, Form, Keep, DONE};
use crate::mutants::code::verdicts::{key, Verdict, Verdicts};
use crate::mutants::code::Mutant;
use crate::sources::generated::c2coq;
use crate::sources::tree::{read, ROOT};
use crate::sources::words::without_comments;
use project::Project;
use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

/// Processor seconds for an excerpt: a proof that takes longer has not been found.
const SECONDS: u64 = 60;
/// For each further one in the same run.
const MORE_SECONDS: u64 = 10;
/// For a file, on a busy machine.
const FILE_LIMIT: Duration = Duration::from_secs(300);
/// The signal to a program that has had its seconds.
const PROCESSOR_TIME: i32 = 24;

/// What all trials of a campaign share.
pub struct Trials<'a> {
    pub project: &'a Project,
    pub copy: &'a Copy,
    /// Numbers of the proofs' texts, by file.
    pub keys: BTreeMap<String, String>,
    pub results: Verdicts,
}

impl Trials<'_> {
    fn key_of(&self, file: &str) -> &str {
        self.keys.get(file).map_or("", String::as_str)
    }

    /// Of what decides whether a function's theorem takes a mutant.
    fn near_key(&self, mutant: &Mutant, theorem: &str) -> String {
        let about = About { code: &mutant.code, function: &mutant.function, theorem };
        key(&["theorem", theorem, self.key_of(&about.target()), &mutant.description()])
    }

    fn far_key(&self, mutant: &Mutant) -> String {
        let mut parts = vec!["all".to_string(), mutant.description()];
        parts.extend(self.copy.dependents(&mutant.code).iter().map(|file| self.key_of(file).to_string()));
        key(&parts.iter().map(String::as_str).collect::<Vec<_>>())
    }

    /// What an earlier trial said.
    pub fn near_known(&self, mutant: &Mutant, theorem: &str) -> Option<Verdict> {
        self.results.known(&self.near_key(mutant, theorem))
    }

    pub fn far_known(&self, mutant: &Mutant) -> Option<Verdict> {
        self.results.known(&self.far_key(mutant))
    }

    /// As `near` for mutants of one function; what one run of Coq does not decide stays open.
    pub fn near_all(&self, mutants: &[&Mutant], theorem: &str, folder: &Path) -> Result<(), Error> {
        let Some(first) = mutants.first() else { return Ok(()) };
        let about = About { code: &first.code, function: &first.function, theorem };
        let real = read(&self.copy.folder.join(about.code))?;
        let texts = self.all_mutated(mutants, folder)?;
        let mut open: Vec<(&Mutant, &String)> = Vec::new();
        for (mutant, text) in mutants.iter().copied().zip(&texts) {
            if same_terms(text, &real) {
                self.results.remember(&self.near_key(mutant, theorem), &Verdict::SameTerms)?;
            } else {
                open.push((mutant, text));
            }
        }
        for keep in [Keep::Function, Keep::All] {
            let texts: Vec<&str> = open.iter().map(|(_, text)| text.as_str()).collect();
            let verdicts = self.check_all(&about, keep, &real, &texts, folder)?;
            let mut left = Vec::new();
            for (one, verdict) in open.into_iter().zip(verdicts) {
                match verdict {
                    Some(Verdict::Holds) if keep == Keep::Function => left.push(one),
                    Some(verdict) => self.results.remember(&self.near_key(one.0, theorem), &verdict)?,
                    None => {}
                }
            }
            open = left;
        }
        Ok(())
    }

    /// Loads excerpts one after the other: first one with the real code, then one for each text, then the first again.
    fn check_all(
        &self,
        about: &About<'_>,
        keep: Keep,
        real: &str,
        texts: &[&str],
        folder: &Path,
    ) -> Result<Vec<Option<Verdict>>, Error> {
        let mut verdicts = vec![None; texts.len()];
        if texts.is_empty() {
            return Ok(verdicts);
        }
        let write = |name: &str, text: &str| {
            let path = folder.join(name);
            std::fs::write(&path, text).map_err(|error| Error::unwritable(&path, error))
        };
        let (mut script, mut made) = (String::new(), Vec::new());
        for (at, text) in std::iter::once(&real).chain(texts).chain([&real]).enumerate() {
            let one = excerpt(self.copy, about, keep, Form::Shared, text)?;
            if at == 0 {
                script.clone_from(&one.head);
            }
            // Whether it is taken or not, loading it fails, and Coq is where it was before.
            write(&format!("load{at}.v"), &format!("{}\nCheck this_fails_on_purpose.\n", one.text))?;
            script += &format!("{}\nFail Load \"load{at}\".\n", said(&format!("load_{at}")));
            made.push(one);
        }
        script += &format!("{}\n", said("load_end"));
        write("Batch.v", &script)?;
        let seconds = SECONDS + MORE_SECONDS * texts.len() as u64;
        let done = self.coqc("Batch.v", seconds, folder)?;
        let printed = String::from_utf8_lossy(&done.stdout).into_owned();
        let loads = loads(&marks(&printed));
        // The last mark of each load says how far it came; of a load that did not come to its end nothing is known.
        let real_again = loads.get(texts.len() + 1).is_none_or(|last| last == DONE);
        if loads.first().is_none_or(|last| last != DONE) || !real_again {
            return Ok(verdicts);
        }
        for (at, last) in loads.iter().enumerate().skip(1).take(texts.len()) {
            let place = last.parse().ok().and_then(|line| made[at].place(line));
            verdicts[at - 1] = match place {
                _ if last == DONE => Some(Verdict::Holds),
                Some((file, line)) if file != about.code => Some(Verdict::Breaks(format!("proof/{file}:{line}"))),
                _ => None,
            };
        }
        Ok(verdicts)
    }

    /// Whether the theorem of the mutant's function, and all on the way to it, holds of the mutant.
    pub fn near(&self, mutant: &Mutant, theorem: &str, folder: &Path) -> Result<Verdict, Error> {
        if let Some(known) = self.near_known(mutant, theorem) {
            return Ok(known);
        }
        let verdict = self.ask_near(mutant, theorem, folder)?;
        self.results.remember(&self.near_key(mutant, theorem), &verdict)?;
        Ok(verdict)
    }

    fn ask_near(&self, mutant: &Mutant, theorem: &str, folder: &Path) -> Result<Verdict, Error> {
        let text = match self.mutated(mutant, folder)? {
            Ok(text) => text,
            Err(complaint) => return Ok(Verdict::NoCode(complaint)),
        };
        let real = read(&self.copy.folder.join(&mutant.code))?;
        if same_terms(&text, &real) {
            return Ok(Verdict::SameTerms);
        }
        let about = About { code: &mutant.code, function: &mutant.function, theorem };
        for keep in [Keep::Function, Keep::All] {
            let verdict = self.check(&about, keep, &text, folder)?;
            let refused = matches!(verdict, Verdict::Breaks(_));
            if verdict == Verdict::Holds {
                continue;
            }
            if !refused || self.real_holds(&about, keep, &real, folder)? {
                return Ok(verdict);
            }
        }
        Ok(Verdict::Holds)
    }

    /// Whether the excerpt with the real code is taken.
    fn real_holds(&self, about: &About<'_>, keep: Keep, real: &str, folder: &Path) -> Result<bool, Error> {
        let kept = format!("{keep:?}");
        let key = key(&["real", about.theorem, about.function, &kept, self.key_of(&about.target())]);
        if let Some(known) = self.results.known(&key) {
            return Ok(known == Verdict::Holds);
        }
        let verdict = self.check(about, keep, real, folder)?;
        self.results.remember(&key, &verdict)?;
        Ok(verdict == Verdict::Holds)
    }

    fn check(&self, about: &About<'_>, keep: Keep, text: &str, folder: &Path) -> Result<Verdict, Error> {
        let made = excerpt(self.copy, about, keep, Form::Alone, text)?;
        let file = folder.join("Excerpt.v");
        // In one line with the text's first, so that its lines have their numbers.
        std::fs::write(&file, made.head.replace('\n', " ") + &made.text)
            .map_err(|error| Error::unwritable(&file, error))?;
        let done = self.coqc("Excerpt.v", SECONDS, folder)?;
        if done.status.success() {
            return Ok(Verdict::Holds);
        }
        if done.status.signal() == Some(PROCESSOR_TIME) {
            return Ok(Verdict::Breaks(format!("not done after {SECONDS} s")));
        }
        let refused = refusal("Excerpt.v", &String::from_utf8_lossy(&done.stderr));
        verdict(&made, about, refused.line, refused.message)
    }

    /// Runs coqc in `folder` for so many seconds of a processor at most, so that a busy machine changes nothing.
    fn coqc(&self, file: &str, seconds: u64, folder: &Path) -> Result<Output, Error> {
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -S -t $0 && exec \"$@\"", &seconds.to_string(), "coqc", "-q", "-w", "none", "-Q"]);
        command.arg(&self.copy.folder).args([ROOT, file]).current_dir(folder).env(COLLECTOR.0, COLLECTOR.1);
        command.output().map_err(|error| Error::not_started("coqc", error))
    }

    /// Whether all proofs that depend on the code hold with the mutant.
    pub fn far(&self, mutant: &Mutant, folder: &Path) -> Result<Verdict, Error> {
        let key = self.far_key(mutant);
        if let Some(known) = self.results.known(&key) {
            return Ok(known);
        }
        let text = match self.mutated(mutant, folder)? {
            Ok(text) => text,
            Err(complaint) => return Ok(Verdict::NoCode(complaint)),
        };
        let links = Links::make(self.copy, &folder.join("proof"))?;
        let changed = links.replace(&mutant.code, &text)?;
        let verdict = compile(&links, &changed)?;
        self.results.remember(&key, &verdict)?;
        Ok(verdict)
    }

    /// The generated code of several mutants; of none if one of them has none.
    fn all_mutated(&self, mutants: &[&Mutant], folder: &Path) -> Result<Vec<String>, Error> {
        let out = folder.join("code");
        make_folder(&out)?;
        let mut arguments = vec!["mutate".to_string(), "--out".into(), out.display().to_string()];
        for mutant in mutants {
            arguments.extend(["--number".to_string(), mutant.number.to_string()]);
        }
        let done = c2coq(self.project, &arguments.iter().map(String::as_str).collect::<Vec<_>>())?;
        if !done.status.success() {
            return Ok(vec![]);
        }
        let of = |mutant: &&Mutant| match mutants.len() {
            1 => out.join("Code.v"),
            _ => out.join(mutant.number.to_string()).join("Code.v"),
        };
        let texts = mutants.iter().map(|mutant| read(&of(mutant))).collect();
        std::fs::remove_dir_all(&out).map_err(|error| Error::unwritable(&out, error))?;
        texts
    }

    /// The mutant's generated code, or why there is none.
    fn mutated(&self, mutant: &Mutant, folder: &Path) -> Result<Result<String, String>, Error> {
        let out = folder.join("code");
        make_folder(&out)?;
        let (number, shown) = (mutant.number.to_string(), out.display().to_string());
        let done = c2coq(self.project, &["mutate", "--number", &number, "--out", &shown])?;
        if !done.status.success() {
            return Ok(Err(String::from_utf8_lossy(&done.stderr).trim().to_string()));
        }
        read(&out.join("Code.v")).map(Ok)
    }
}

/// Whether two generated files differ in remarks and blanks at most.
fn same_terms(one: &str, other: &str) -> bool {
    let (one, other) = (without_comments(one), without_comments(other));
    one.split_whitespace().eq(other.split_whitespace())
}

/// The last mark within each load that came to its end.
fn loads(marks: &[&str]) -> Vec<String> {
    let mut loads: Vec<String> = Vec::new();
    let mut begun = false;
    for pair in marks.windows(2) {
        begun |= pair[0].starts_with("load_");
        if pair[1].starts_with("load_") && begun {
            loads.push(pair[0].to_string());
        }
    }
    loads
}

/// A refusal without a place says nothing about proofs: Coq itself failed.
fn verdict(made: &Excerpt, about: &About<'_>, line: Option<usize>, message: String) -> Result<Verdict, Error> {
    match line.and_then(|line| made.place(line)) {
        Some((file, _)) if file == about.code => Ok(Verdict::NoCode(message)),
        Some((file, line)) => Ok(Verdict::Breaks(format!("proof/{file}:{line}"))),
        None => Err(Error::Excerpt(message)),
    }
}

/// Compiles the mutated code and what depends on it, up to the first that is refused.
fn compile(links: &Links, changed: &[String]) -> Result<Verdict, Error> {
    for (index, file) in changed.iter().enumerate() {
        match links.copy.compile(file, FILE_LIMIT)? {
            Ok(_) => {}
            Err(refused) if index == 0 => return Ok(Verdict::NoCode(refused.message)),
            Err(refused) => {
                let place = refused.line.map_or(String::new(), |line| format!(":{line}"));
                return Ok(Verdict::Breaks(format!("proof/{file}{place}")));
            }
        }
    }
    Ok(Verdict::Holds)
}

#[cfg(test)]
mod tests {
    use super::{loads, same_terms};

    #[test]
    fn remarks_are_no_terms() {
        assert!(same_terms("(* f: 0 lock *)\nDefinition f := 1.", "(* f: 0 renamed *)\nDefinition f :=\n  1."));
        assert!(!same_terms("Definition f := 1.", "Definition f := 2."));
    }

    #[test]
    fn the_last_mark_says_how_far_a_load_came() {
        let marks = ["load_0", "3", "done", "load_1", "3", "17", "load_2", "load_3", "3"];
        assert_eq!(loads(&marks), ["done", "17", "load_2"]);
        assert!(loads(&[]).is_empty());
    }
}
