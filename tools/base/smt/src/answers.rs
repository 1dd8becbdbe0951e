//! Answers of earlier sessions, kept in a file by all that was said to the solver before them.
//!
//! The solver's steps are counted and its limits are in steps, so a conversation has one answer. What is kept is looked up by a
//! hash of the solver's version, its memory, and everything that it was told and asked, the question included: whatever
//! changes on the way to a question makes it another one. What a session was killed for is not kept.

use std::collections::HashMap;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};

use sha2::{Digest, Sha256};

static KEPT: OnceLock<Answers> = OnceLock::new();

/// From now on, sessions of this process take answers from this file, which is made if it is missing, and add theirs to it.
/// Only the first call of a process counts.
///
/// # Errors
/// The file cannot be read or written, or the solver does not say its version.
pub fn keep_answers(file: &Path) -> std::io::Result<()> {
    let answers = Answers::open(file)?;
    // A second file would be of no use to the sessions that have the first.
    let _ = KEPT.set(answers);
    Ok(())
}

/// Questions of all sessions so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Questions {
    /// Answered from the file.
    pub kept: u64,
    /// That were not in the file.
    pub new: u64,
    /// That the solver was asked again and answered otherwise than the file has it: the file is not to be believed.
    pub contradicted: u64,
}

/// None where no answers are kept.
pub fn questions() -> Option<Questions> {
    KEPT.get().map(|answers| answers.lock().questions)
}

#[derive(Debug)]
struct Answers {
    version: String,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    known: HashMap<[u8; 32], Box<str>>,
    file: File,
    questions: Questions,
}

impl Answers {
    fn open(path: &Path) -> std::io::Result<Answers> {
        let version = Command::new("z3").arg("--version").output()?;
        let version = String::from_utf8_lossy(&version.stdout).into_owned();
        let mut known = HashMap::new();
        if path.exists() {
            for line in BufReader::new(File::open(path)?).split(b'\n') {
                // A line that was cut off is of a run that was ended.
                if let Some((key, answer)) = parse(&String::from_utf8_lossy(&line?)) {
                    known.insert(key, answer.into());
                }
            }
        }
        let mut file = OpenOptions::new().create(true).append(true).open(path)?;
        // What was cut off does not go into what follows.
        file.write_all(b"\n")?;
        Ok(Answers { version, inner: Mutex::new(Inner { known, file, questions: Questions::default() }) })
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A line of the file: the key, the answer, and a mark that the line is whole.
fn parse(line: &str) -> Option<([u8; 32], String)> {
    let (key, answer) = line.strip_suffix('.')?.split_once(' ')?;
    let mut bytes = [0; 32];
    if key.len() != 64 {
        return None;
    }
    for (byte, digits) in bytes.iter_mut().zip(key.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some((bytes, answer.replace('\t', "\n")))
}

fn line(key: &[u8; 32], answer: &str) -> String {
    let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{key} {}.\n", answer.replace('\n', "\t"))
}

/// What was said so far in one session.
#[derive(Debug)]
pub struct Conversation {
    answers: &'static Answers,
    said: Sha256,
    /// What the solver does not know of yet: commands, and with questions the answers that were kept.
    pub held: Vec<(String, Option<String>)>,
}

impl Conversation {
    /// None where no answers are kept.
    pub fn start(memory: Option<u32>) -> Option<Conversation> {
        let answers = KEPT.get()?;
        let mut conversation = Conversation { answers, said: Sha256::new(), held: Vec::new() };
        conversation.say(&answers.version);
        conversation.say(&format!("{memory:?}"));
        Some(conversation)
    }

    /// Notes what the solver is told or asked.
    pub fn say(&mut self, text: &str) {
        self.said.update((text.len() as u64).to_le_bytes());
        self.said.update(text);
    }

    fn key(&self) -> [u8; 32] {
        self.said.clone().finalize().into()
    }

    /// The answer to the question that was said last.
    pub fn answer(&self) -> Option<String> {
        let mut inner = self.answers.lock();
        let found = inner.known.get(&self.key()).map(|answer| answer.to_string());
        match found {
            Some(_) => inner.questions.kept += 1,
            None => inner.questions.new += 1,
        }
        found
    }

    /// Notes that the solver contradicts the file.
    pub fn contradict(&self) {
        self.answers.lock().questions.contradicted += 1;
    }

    /// Keeps the answer to the question that was said last. A file that is full costs later sessions time, and nothing else.
    pub fn keep(&self, answer: &str) {
        let (key, mut inner) = (self.key(), self.answers.lock());
        let _ = inner.file.write_all(line(&key, answer).as_bytes());
        inner.known.insert(key, answer.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_off_is_no_answer() {
        let (key, answer) = ([0xa5; 32], "((x #xa5)\n (y #b1))");
        let whole = line(&key, answer);
        assert_eq!(parse(whole.trim_end()), Some((key, answer.to_string())));
        for end in 0..whole.len() - 1 {
            assert_eq!(parse(&whole[..end]), None, "{}", &whole[..end]);
        }
    }
}
