//! An excerpt of the proofs for one function's theorem: the statements of all files from the generated code to the theorem, and
//! of their proofs only those that concern the function; the others are admitted.
//!
//! So a mutant costs a few proofs. Files become modules; several excerpts can share what lies outside them. What Coq refuses
//! here it also refuses in the whole, since each statement and each kept proof is as in its file; checking the excerpt with
//! the real code excludes other reasons. What Coq accepts here is not yet accepted in the whole.

use crate::coq::compile::Copy;
use crate::error::Error;
use crate::sources::tree::{logical, read, ROOT};
use crate::sources::words::is_word;

/// Which proofs are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Those of statements and proofs that name the function, and the theorem's own.
    Function,
    All,
}

/// How files become one text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Form {
    /// By itself.
    #[default]
    Alone,
    /// One of several: what is outside is imported before all of them. At the beginning of a file and of each proof that
    /// is kept it prints where it is, at its end that it is done.
    Shared,
}

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub struct About<'a> {
    /// The file of generated code.
    pub code: &'a str,
    pub function: &'a str,
    /// Qualified name of the theorem.
    pub theorem: &'a str,
}

impl About<'_> {
    /// The theorem's file.
    pub fn target(&self) -> String {
        let module = crate::coq::query::module(self.theorem);
        format!("{}.v", module.trim_start_matches(ROOT).trim_start_matches('.').replace('.', "/"))
    }

    fn concerns(&self, passage: &str) -> bool {
        let theorem = self.theorem.rsplit('.').next().unwrap_or_default();
        let names = [self.function.to_string(), format!("{}_code", self.function), theorem.to_string()];
        passage.split(|c| !is_word(c)).any(|word| names.iter().any(|name| name == word))
    }
}

/// A text made of several files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excerpt {
    /// What is required and imported before it.
    pub head: String,
    pub text: String,
    /// Of each file the number of lines before it.
    begins: Vec<(usize, String)>,
}

impl Excerpt {
    /// The file and line that stand at a line of the text.
    pub fn place(&self, line: usize) -> Option<(&str, usize)> {
        let (before, file) = self.begins.iter().rev().find(|(before, _)| *before < line)?;
        Some((file, line - before))
    }
}

/// Makes an excerpt with `text` in the place of the generated code.
pub fn excerpt(copy: &Copy, about: &About<'_>, keep: Keep, form: Form, text: &str) -> Result<Excerpt, Error> {
    let files = between(copy, about.code, &about.target());
    let needs = |file: &String| copy.graph.get(file).cloned().unwrap_or_default();
    let needed: Vec<String> = files.iter().flat_map(needs).collect();
    let sorted = copy.sorted();
    let outside = sorted.iter().filter(|file| needed.contains(file) && !files.contains(file));
    let head = outside.map(|file| format!("Require {}.\n", logical(file))).collect();
    let mut out = Excerpt { head, text: String::new(), begins: Vec::new() };
    for file in &files {
        let source = if file == about.code { text.to_string() } else { read(&copy.folder.join(file))? };
        let (name, inner) = (stem(file), module(file));
        out.text += &format!("Module {inner}.\n");
        let line = lines(&out.text);
        out.begins.push((line, file.clone()));
        let keeps = |passage: &str| keep == Keep::All || about.concerns(passage);
        let mut shortened = Shortened { form, line, ..Shortened::default() };
        shortened.make(&source, &files, &keeps);
        out.text += &format!("{}\n", shortened.text);
        for import in &shortened.imports {
            if !out.head.contains(import) {
                out.head += import;
            }
        }
        // The second name is for places that name the file.
        out.text += &format!("End {inner}.\nModule {name} := {inner}.\n");
    }
    if form == Form::Shared {
        out.text += &format!("{}\n", said(DONE));
    }
    Ok(out)
}

/// What a shared excerpt says at its end.
pub const DONE: &str = "done";

/// A sentence that prints a mark.
pub fn said(mark: &str) -> String {
    format!("Check (fun mark__{mark} : Set => mark__{mark}).")
}

/// The marks in what Coq printed.
pub fn marks(printed: &str) -> Vec<&str> {
    // Coq may print the function with a lambda.
    printed.lines().filter_map(|line| line.split_once(" mark__")?.1.split([' ', ',']).next()).collect()
}

/// `target`, and what it needs of `code` and of files that need `code`, each after what it needs.
pub fn between(copy: &Copy, code: &str, target: &str) -> Vec<String> {
    let mut needed = vec![target.to_string()];
    let mut at = 0;
    while at < needed.len() {
        for file in copy.graph.get(&needed[at]).into_iter().flatten() {
            if !needed.contains(file) {
                needed.push(file.clone());
            }
        }
        at += 1;
    }
    let mut files = vec![code.to_string()];
    files.extend(copy.dependents(code).into_iter().filter(|file| needed.contains(file)));
    files
}

fn stem(file: &str) -> &str {
    file.rsplit('/').next().unwrap_or(file).trim_end_matches(".v")
}

fn module(file: &str) -> String {
    format!("File_{}", stem(file))
}

fn lines(text: &str) -> usize {
    text.matches('\n').count()
}

/// A source whose lines stay where they are: imports are of modules, or go to the head, and proofs are left out.
#[derive(Default)]
struct Shortened {
    form: Form,
    /// Lines before it in the excerpt.
    line: usize,
    text: String,
    /// For the head of a shared excerpt.
    imports: Vec<String>,
}

impl Shortened {
    fn make(&mut self, source: &str, files: &[String], keeps: &dyn Fn(&str) -> bool) {
        let sentences = sentences(source);
        let words = |at: usize| -> &[&str] { sentences.get(at).map_or(&[], |one| &one.words) };
        let (mut at, mut sections) = (0, 0_usize);
        self.mark();
        while at < sentences.len() {
            let sentence = &sentences[at];
            let passage = &source[sentence.start..sentence.end];
            at += 1;
            match sentence.words[..] {
                ["From", ROOT, "Require", ref names @ ..] => {
                    self.import(names, files);
                    self.text += &"\n".repeat(lines(passage));
                    continue;
                }
                ["Section", _] => sections += 1,
                ["End", _] => sections = sections.saturating_sub(1),
                _ => {}
            }
            self.text += passage;
            if sentence.words.first() != Some(&"Proof") {
                continue;
            }
            let Some(length) = (at..sentences.len()).position(|end| matches!(words(end), ["Qed" | "Defined"])) else {
                continue;
            };
            let end = at + length;
            let proof = &source[sentence.end..sentences[end].end];
            let statement = at.checked_sub(2).map_or(0, |statement| sentences[statement].start);
            // Without a word about it, the proof decides on which of a section's variables the statement rests.
            let decides = sections > 0 && sentence.words.get(1) != Some(&"using");
            if *words(end) == ["Defined"] || decides || keeps(&source[statement..sentences[end].end]) {
                self.mark();
                self.text += proof;
            } else {
                self.text += &"\n".repeat(lines(proof));
                self.text += " Admitted.";
            }
            at = end + 1;
        }
    }

    fn mark(&mut self) {
        if self.form == Form::Shared {
            let line = self.line + lines(&self.text) + 1;
            self.text += &format!(" {}", said(&line.to_string()));
        }
    }

    /// `Require Import a.B c.D`, with modules for those files that stand in the excerpt.
    fn import(&mut self, names: &[&str], files: &[String]) {
        // What is outside has been required at the beginning.
        let [how @ ("Import" | "Export"), names @ ..] = names else { return };
        for name in names {
            let whole = format!("{ROOT}.{name}");
            match (files.iter().find(|file| logical(file) == whole), self.form) {
                (Some(file), _) => self.text += &format!(" {how} {}.", module(file)),
                (None, Form::Alone) => self.text += &format!(" {how} {whole}."),
                (None, Form::Shared) => self.imports.push(format!("Import {whole}.\n")),
            }
        }
    }
}

/// A sentence of Coq with the blanks and remarks before it.
struct Sentence<'a> {
    start: usize,
    end: usize,
    /// Its first words, without remarks, bullets and the full stop; of an import all of them.
    words: Vec<&'a str>,
}

/// Most words that matter of a sentence that is no import.
const WORDS: usize = 3;

fn sentences(source: &str) -> Vec<Sentence<'_>> {
    let bytes = source.as_bytes();
    let mut found = Vec::new();
    let mut words: Vec<&str> = Vec::new();
    let (mut at, mut start, mut remarks, mut word) = (0, 0, 0_usize, None::<usize>);
    let mut quoted = false;
    while at < bytes.len() {
        let two = bytes.get(at..at + 2).unwrap_or_default();
        let byte = bytes[at];
        let plain = !quoted && remarks == 0 && two != b"(*";
        let ends = plain && byte == b'.' && bytes.get(at + 1).is_none_or(u8::is_ascii_whitespace);
        if !plain || byte.is_ascii_whitespace() || ends {
            if let Some(from) = word.take() {
                let text = &source[from..at];
                let is_mark = words.is_empty() && text.bytes().all(|byte| b"-+*{}".contains(&byte));
                if !is_mark && (words.len() < WORDS || words.get(2) == Some(&"Require")) {
                    words.push(text);
                }
            }
        } else {
            word.get_or_insert(at);
        }
        if quoted {
            quoted = byte != b'"';
        } else if two == b"(*" {
            remarks += 1;
            at += 1;
        } else if remarks > 0 && two == b"*)" {
            remarks -= 1;
            at += 1;
        } else if byte == b'"' {
            quoted = true;
        } else if ends {
            found.push(Sentence { start, end: at + 1, words: std::mem::take(&mut words) });
            start = at + 1;
        }
        at += 1;
    }
    found.push(Sentence { start, end: source.len(), words });
    found
}

#[cfg(test)]
mod tests {
    use super::{between, excerpt, marks, sentences, About, Form, Keep, Shortened};
    use crate::coq::compile::Copy;
    use std::collections::BTreeMap;

    #[test]
    fn sentences_end_at_full_stops() {
        let text = "(* a. b *) Lemma f : x.y = \"a. b\". Proof using H. { auto. }\n - Qed. Rest.";
        let words: Vec<Vec<&str>> = sentences(text).into_iter().map(|one| one.words).collect();
        assert_eq!(words[..2], [vec!["Lemma", "f", ":"], vec!["Proof", "using", "H"]]);
        assert_eq!(words[2..5], [vec!["auto"], vec!["Qed"], vec!["Rest"]]);
        let whole: String = sentences(text).iter().map(|one| &text[one.start..one.end]).collect();
        assert_eq!(whole, text);
    }

    #[test]
    fn proofs_are_left_out_and_lines_stay() {
        let files = ["layers/a/Code.v".to_string()];
        let text = "From Ashlar Require Import layers.a.Code\n  lang.Wp.\nLemma f : A.\nProof.\n  one.\nQed.\n\
                    Lemma g : B. Proof. two. Qed.\nDefinition d : C.\nProof. three. Defined.\n\
                    Section s.\nLemma h : D. Proof. four. Qed.\nLemma i : E.\nProof using X. five. Qed.\nEnd s.\n";
        let shortened = |form: Form, files: &[String], keeps: &dyn Fn(&str) -> bool| {
            let mut shortened = Shortened { form, ..Shortened::default() };
            shortened.make(text, files, keeps);
            (shortened.text, shortened.imports)
        };
        let (short, _) = shortened(Form::Alone, &files, &|passage| passage.contains("Lemma g"));
        assert_eq!(short.matches('\n').count(), text.matches('\n').count());
        assert!(short.starts_with(" Import File_Code. Import Ashlar.lang.Wp."));
        let kept: Vec<bool> = ["one", "two", "three", "four", "five"].iter().map(|word| short.contains(word)).collect();
        assert_eq!(kept, [false, true, true, true, false]);
        assert!(short.contains("Proof using X. Admitted."));
        assert_eq!(shortened(Form::Alone, &[], &|_| true).0.matches("Qed").count(), 4);
        let (flat, imports) = shortened(Form::Shared, &files, &|passage| passage.contains("Lemma g"));
        assert_eq!(imports, ["Import Ashlar.lang.Wp.\n"]);
        let printed = flat.replace("Check (", "\n");
        assert_eq!(marks(&printed), ["1", "7", "9", "11"]);
        assert_eq!(marks("λ mark__load_1 : Set, mark__load_1\n     : Set → Set\n"), ["load_1"]);
    }

    #[test]
    fn a_line_has_its_file() {
        let folder = testing::Folder::new("excerpt");
        folder.write("P.v", "From Ashlar Require Import C W.\nLemma t : x.\nProof. a. Qed.");
        let files = ["W.v", "C.v", "P.v", "M.v"].map(String::from).to_vec();
        let needs = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<String>>();
        let graph = BTreeMap::from([
            ("C.v".to_string(), needs(&["W.v"])),
            ("P.v".to_string(), needs(&["C.v", "W.v"])),
            ("M.v".to_string(), needs(&["P.v"])),
        ]);
        let copy = Copy { folder: folder.to_path_buf(), options: vec![], files, graph };
        let about = About { code: "C.v", function: "f", theorem: "Ashlar.P.t" };
        assert_eq!(about.target(), "P.v");
        assert_eq!(between(&copy, "C.v", "P.v"), ["C.v", "P.v"]);
        let made = excerpt(&copy, &about, Keep::Function, Form::Alone, "Definition f := 1.").unwrap();
        let line = |words: &str| made.text.lines().position(|line| line.contains(words)).unwrap() + 1;
        assert_eq!(made.place(line("Definition f")), Some(("C.v", 1)));
        assert_eq!(made.place(line("Lemma t")), Some(("P.v", 2)));
        assert!(made.head == "Require Ashlar.W.\n" && made.text.contains("a. Qed."));
    }
}
