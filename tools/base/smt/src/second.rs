//! A second solver, another program by others: what two solvers say that share no code is not the fault of one.
//!
//! Questions are whole texts in SMT-LIB 2, without a logic and without `check-sat`. The program reads each as a line with the number
//! of its bytes and these bytes, and answers with a line; its first line is its version.

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use sha2::{Digest, Sha256};

use crate::process::{Line, Process};
use crate::{Answer, SmtError};

/// The longest that an answer may take of a processor; the program has a limit of its own below it.
const LONGEST: Duration = Duration::from_secs(400);

/// One process of the second solver.
#[derive(Debug)]
pub struct Second {
    process: Process,
    version: String,
    /// Texts that cannot hold together, by their hashes.
    never: HashSet<String>,
    /// Where these are kept.
    kept: Option<File>,
}

impl Second {
    /// Starts the program with these arguments. What it finds to be impossible is kept in the file, for runs that ask the same again.
    ///
    /// # Errors
    /// The program cannot be started, or says nothing.
    pub fn start(program: &Path, arguments: &[&Path], kept: Option<&Path>) -> Result<Second, SmtError> {
        let failed = |error| SmtError::StartSecond(program.display().to_string(), error);
        let mut command = Command::new(program);
        command.args(arguments);
        let mut process = Process::start(command).map_err(failed)?;
        let Line::Read(version) = process.line(LONGEST, None) else {
            return Err(failed(std::io::Error::other("it ended at once")));
        };
        let mut second = Second { process, version, never: HashSet::new(), kept: None };
        if let Some(path) = kept {
            if let Ok(file) = File::open(path) {
                // A line that was cut off is no hash, and no question has it.
                second.never.extend(BufReader::new(file).lines().map_while(Result::ok));
            }
            // A run that cannot keep answers is only slower next time.
            second.kept = OpenOptions::new().create(true).append(true).open(path).ok();
        }
        Ok(second)
    }

    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether everything that the text asserts can hold together.
    ///
    /// # Errors
    /// The program refuses the text, or ends.
    pub fn check(&mut self, text: &str) -> Result<Answer, SmtError> {
        let key = format!("{:x}", Sha256::digest(format!("{}\n{text}", self.version)));
        if self.never.contains(&key) {
            return Ok(Answer::Unsat);
        }
        let sent = self.process.write(&format!("{}\n{text}", text.len() + 1)).and_then(|()| self.process.flush());
        let answer = match (sent, self.process.line(LONGEST, None)) {
            (Ok(()), Line::Read(answer)) => answer,
            (_, Line::Late) => {
                self.process.kill();
                return Ok(Answer::Unknown);
            }
            _ => return Err(SmtError::Ended),
        };
        match answer.as_str() {
            "unsat" => {
                if let Some(file) = &mut self.kept {
                    let _ = file.write_all(format!("{key}\n").as_bytes());
                }
                self.never.insert(key);
                Ok(Answer::Unsat)
            }
            "sat" => Ok(Answer::Sat),
            "unknown" => Ok(Answer::Unknown),
            _ => Err(SmtError::Refused(answer)),
        }
    }
}
