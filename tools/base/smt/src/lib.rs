//! A client of the SMT solver z3, a separate process, in SMT-LIB 2 over pipes.
//!
//! A [`Session`] is one process with its declarations and assertions. Each question has a limit that the solver counts in its own steps,
//! not in time, so that answers are the same on every machine; a question over its limit is answered by [`Answer::Unknown`].
//! Some of the solver's work is not counted in steps. So there are limits on its processor time and memory too, far above
//! what questions need. A solver that exceeds them, or is at work at the deadline, is killed: the session is then *lost*,
//! and answers `Unknown` from there on. A caller thus gets a weaker result, not an error.
//!
//! Answers can be kept in a file, for programs that ask the same again ([`keep_answers`]): the solver then first hears of a session
//! at its first question without an answer, all that was said before included.
//!
//! [`Second`] is another solver, which is asked what z3 has answered already.
//!
//! The process ends with the session, and with the thread that started it: a session does not outlive that thread.

mod answers;
mod process;
mod second;

use std::time::{Duration, Instant};

use answers::Conversation;
pub use answers::{keep_answers, questions, Questions};
use process::{Line, Process};
pub use second::Second;

#[derive(Debug, thiserror::Error)]
pub enum SmtError {
    #[error("the solver `z3` cannot be started ({0}); install it, on Debian by `apt-get install z3`")]
    Start(#[source] std::io::Error),
    #[error("the solver ended before its first answer; its memory may have been too small")]
    Ended,
    #[error("the second solver `{0}` cannot be started ({1}); remove build/bitwuzla, and it is installed again")]
    StartSecond(String, #[source] std::io::Error),
    #[error("the solver refused a command: {0}")]
    Refused(String),
    #[error("the solver answers `{now}` where its answer was kept as `{before}`; delete the file of kept answers")]
    Changed { before: String, now: String },
}

/// The solver's answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    Sat,
    Unsat,
    /// Over a limit, or the session is lost.
    Unknown,
}

/// How a solver is set up.
#[derive(Debug, Clone)]
pub struct Options {
    /// The logic of the questions, in SMT-LIB's words.
    pub logic: &'static str,
    /// What each question may cost, in the solver's own steps.
    pub steps: u64,
    /// Memory of the process in MiB; without it the solver is not limited.
    pub memory: Option<u32>,
    /// Unsatisfiable cores are made small, which takes further searches.
    pub small_cores: bool,
    /// Whether cores can be asked for. Some procedures have no answers where they can.
    pub cores: bool,
    /// The longest that one answer may take of a processor.
    pub longest: Duration,
}

impl Default for Options {
    fn default() -> Options {
        let longest = Duration::from_secs(60);
        Options { logic: "QF_BV", steps: 30_000_000, memory: Some(1500), small_cores: false, cores: true, longest }
    }
}

/// One solver process in the logic of bit vectors without quantifiers. Models and unsatisfiable cores are available.
#[derive(Debug)]
pub struct Session {
    process: Process,
    is_lost: bool,
    has_answered: bool,
    steps: u64,
    longest: Duration,
    deadline: Option<Instant>,
    conversation: Option<Conversation>,
}

impl Session {
    pub fn start(options: &Options) -> Result<Session, SmtError> {
        let process = Process::z3(options.memory).map_err(SmtError::Start)?;
        let (longest, steps) = (options.longest, 0);
        let conversation = Conversation::start(options.memory);
        let mut session =
            Session { process, is_lost: false, has_answered: false, steps, longest, deadline: None, conversation };
        session.tell("(set-option :print-success false)")?;
        session.tell("(set-option :produce-models true)")?;
        if options.cores {
            session.tell("(set-option :produce-unsat-cores true)")?;
        }
        if options.small_cores {
            session.tell("(set-option :smt.core.minimize true)")?;
        }
        session.tell(&format!("(set-logic {})", options.logic))?;
        session.limit(options.steps)?;
        Ok(session)
    }

    /// Forgets all declarations and assertions. What follows is solved by itself, with the solver's best procedure for the
    /// logic, without cores: that suits many small questions that share little.
    pub fn begin(&mut self, options: &Options) -> Result<(), SmtError> {
        self.tell("(reset)\n(set-option :produce-models true)")?;
        self.tell(&format!("(set-logic {})\n(set-option :rlimit {})", options.logic, options.steps))?;
        self.steps = options.steps;
        Ok(())
    }

    /// The solver's process, so that a caller can measure its time and memory.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    /// The solver was killed, or died at a question.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// What each question may cost from now on, in the solver's own steps.
    pub fn limit(&mut self, steps: u64) -> Result<(), SmtError> {
        if self.steps != steps {
            self.tell(&format!("(set-option :rlimit {steps})"))?;
            self.steps = steps;
        }
        Ok(())
    }

    /// Kills the solver if it is at work at that time.
    pub fn until(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// Sends commands that have no answer: declarations, assertions, `push`, `pop`.
    pub fn tell(&mut self, commands: &str) -> Result<(), SmtError> {
        if let Some(conversation) = self.conversation.as_mut().filter(|_| !self.is_lost) {
            conversation.say(commands);
            conversation.held.push((commands.to_string(), None));
            return Ok(());
        }
        self.write(commands)
    }

    fn write(&mut self, commands: &str) -> Result<(), SmtError> {
        if !self.is_lost && self.process.write(commands).is_err() {
            self.ended()?;
        }
        Ok(())
    }

    /// Whether everything asserted can hold together.
    pub fn check(&mut self) -> Result<Answer, SmtError> {
        self.question("(check-sat)")
    }

    /// The same by a procedure of z3, as `(then simplify smt)`, not the one that it chooses.
    pub fn check_using(&mut self, procedure: &str) -> Result<Answer, SmtError> {
        self.question(&format!("(check-sat-using {procedure})"))
    }

    /// Whether everything asserted and the assumptions, names of Boolean constants, can hold together.
    pub fn check_assuming(&mut self, assumptions: &[String]) -> Result<Answer, SmtError> {
        self.question(&format!("(check-sat-assuming ({}))", assumptions.join(" ")))
    }

    /// After `Unsat`: names of assumptions and of named assertions that contradict each other; not always the fewest.
    pub fn core(&mut self) -> Result<Vec<String>, SmtError> {
        let core = self.ask("(get-unsat-core)")?;
        Ok(core.trim_matches(['(', ')']).split_whitespace().map(str::to_string).collect())
    }

    /// After `Sat`: values of constants in their order, 1 for a true one; fewer if the session is lost meanwhile.
    pub fn values(&mut self, names: &[String]) -> Result<Vec<u128>, SmtError> {
        let mut values = Vec::new();
        // Answers that a pipe holds.
        for some in names.chunks(64) {
            let answer = self.ask(&format!("(get-value ({}))", some.join(" ")))?;
            if self.is_lost {
                break;
            }
            let mut words = answer.split(|letter: char| letter.is_whitespace() || "()".contains(letter));
            for name in some {
                let value = words.find(|word| word == name).and_then(|_| words.next());
                values.push(value.and_then(number).ok_or_else(|| SmtError::Refused(answer.clone()))?);
            }
        }
        Ok(values)
    }

    /// Steps that the questions have taken together, as the solver counts them; none if the session is lost.
    pub fn steps(&mut self) -> Result<Option<u64>, SmtError> {
        let answer = self.ask("(get-info :rlimit)")?;
        let mut words = answer.trim_matches(['(', ')']).split_whitespace();
        Ok(words.nth(1).and_then(|number| number.parse().ok()))
    }

    fn question(&mut self, command: &str) -> Result<Answer, SmtError> {
        Ok(match self.ask(command)?.as_str() {
            "sat" => Answer::Sat,
            "unsat" => Answer::Unsat,
            _ => Answer::Unknown,
        })
    }

    /// Sends a command and returns its answer; an empty one if the session is lost.
    fn ask(&mut self, command: &str) -> Result<String, SmtError> {
        let Some(conversation) = self.conversation.as_mut().filter(|_| !self.is_lost) else {
            return self.ask_solver(command);
        };
        conversation.say(command);
        if let Some(answer) = conversation.answer() {
            conversation.held.push((command.to_string(), Some(answer.clone())));
            self.has_answered = true;
            return Ok(answer);
        }
        for (command, kept) in std::mem::take(&mut conversation.held) {
            let Some(before) = kept else {
                self.write(&command)?;
                continue;
            };
            let now = self.ask_solver(&command)?;
            if !self.is_lost && now != before {
                self.conversation.iter().for_each(Conversation::contradict);
                return Err(SmtError::Changed { before, now });
            }
        }
        let answer = self.ask_solver(command)?;
        if let Some(conversation) = self.conversation.as_ref().filter(|_| !self.is_lost) {
            conversation.keep(&answer);
        }
        Ok(answer)
    }

    fn ask_solver(&mut self, command: &str) -> Result<String, SmtError> {
        self.write(command)?;
        if !self.is_lost && self.process.flush().is_err() {
            self.ended()?;
        }
        let mut answer = String::new();
        while !self.is_lost {
            match self.process.line(self.longest, self.deadline) {
                Line::Read(line) => {
                    answer.push_str(&line);
                    answer.push('\n');
                    if answer.matches('(').count() <= answer.matches(')').count() {
                        break;
                    }
                }
                Line::Late => self.lose(),
                Line::Ended => self.ended()?,
            }
        }
        let answer = if self.is_lost { "" } else { answer.trim() };
        if answer.starts_with("(error") && answer.contains("memory") {
            self.lose();
            return Ok(String::new());
        }
        if answer.starts_with("(error") {
            return Err(SmtError::Refused(answer.to_string()));
        }
        self.has_answered |= !self.is_lost;
        Ok(answer.to_string())
    }

    /// The pipe is closed: a solver that has answered before works, and this question was too much for its memory.
    fn ended(&mut self) -> Result<(), SmtError> {
        if !self.has_answered {
            return Err(SmtError::Ended);
        }
        self.lose();
        Ok(())
    }

    fn lose(&mut self) {
        self.is_lost = true;
        self.process.kill();
    }
}

/// A value as the solver writes it.
fn number(value: &str) -> Option<u128> {
    match (value.strip_prefix("#x"), value.strip_prefix("#b"), value) {
        (Some(digits), _, _) => u128::from_str_radix(digits, 16).ok(),
        (_, Some(digits), _) => u128::from_str_radix(digits, 2).ok(),
        (_, _, "true") => Some(1),
        (_, _, "false") => Some(0),
        _ => None,
    }
}
