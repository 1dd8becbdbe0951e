//! The solver: a separate process that speaks SMT-LIB 2 over pipes.
//!
//! Each question has a limit that the solver counts in its own steps, not in time, so that answers are the same on every
//! machine. A question over its limit is answered by [`Answer::Undecided`].
//!
//! Some of the solver's work goes on without counting steps. So there is a limit on the processor's time too, far above
//! what questions take: a solver that exceeds it, or its memory, is ended, and all its answers from then on are
//! [`Answer::Undecided`].

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use crate::print::{definition, name};
use crate::term::{Shape, Term, Terms};

#[derive(Debug, thiserror::Error)]
pub enum SolverError {
    #[error("the solver `z3` cannot be started ({0}); install it, on Debian by `apt-get install z3`")]
    Start(std::io::Error),
    #[error("the solver ended, or could not be reached: {0}")]
    Ended(String),
    #[error("the solver does not understand: {0}")]
    Refused(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    Satisfiable,
    /// Positions of assumptions that cannot hold together; not necessarily the fewest.
    Unsatisfiable(Vec<usize>),
    Undecided,
}

#[derive(Debug)]
pub struct Solver {
    process: Child,
    input: Option<ChildStdin>,
    /// Lines, from a thread that waits for them.
    output: Receiver<String>,
    /// It was ended.
    dead: bool,
    /// When whoever asks has no time left.
    deadline: Option<Instant>,
    defined: HashSet<Term>,
    /// Names of assumptions already told to the solver.
    assumptions: HashSet<Term>,
    limit: u64,
    /// Steps taken by the end of the last question; and for what takes time without being counted as steps.
    spent: u64,
    uncounted: u64,
    pub questions: u64,
}

/// What one question may cost, in the solver's own steps: some seconds.
pub const LIMIT: u64 = 30_000_000;

impl Solver {
    pub fn start() -> Result<Solver, SolverError> {
        let mut process = Command::new("z3")
            .args(["-in", "-smt2", "-memory:1500"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(SolverError::Start)?;
        let ended = || SolverError::Ended("no pipe".to_string());
        let input = process.stdin.take().ok_or_else(ended)?;
        let output = lines(process.stdout.take().ok_or_else(ended)?);
        let mut solver = Solver {
            process,
            input: Some(input),
            output,
            dead: false,
            deadline: None,
            defined: HashSet::new(),
            assumptions: HashSet::new(),
            limit: 0,
            spent: 0,
            uncounted: 0,
            questions: 0,
        };
        solver.tell("(set-option :print-success false)")?;
        solver.tell("(set-option :produce-models true)")?;
        solver.tell("(set-option :produce-unsat-cores true)")?;
        solver.tell("(set-logic QF_BV)")?;
        solver.limit(LIMIT)?;
        Ok(solver)
    }

    /// Ends the solver at that time, if it is at work then: what it has not answered is undecided.
    pub fn until(&mut self, deadline: Option<Instant>) {
        self.deadline = deadline;
    }

    /// What each question may cost from now on.
    pub fn limit(&mut self, steps: u64) -> Result<(), SolverError> {
        if self.limit != steps {
            self.tell(&format!("(set-option :rlimit {steps})"))?;
            self.limit = steps;
        }
        Ok(())
    }

    fn tell(&mut self, line: &str) -> Result<(), SolverError> {
        if self.dead {
            return Ok(());
        }
        let input = self.input.as_mut().ok_or_else(|| SolverError::Ended("closed".to_string()))?;
        writeln!(input, "{line}").map_err(|cause| SolverError::Ended(cause.to_string()))
    }

    fn hear(&mut self) -> Result<String, SolverError> {
        if let Some(input) = self.input.as_mut() {
            input.flush().map_err(|cause| SolverError::Ended(cause.to_string()))?;
        }
        let mut heard = String::new();
        loop {
            let Some(line) = self.line()? else { return Ok(String::new()) };
            heard.push_str(&line);
            heard.push('\n');
            let (open, closed) = (heard.matches('(').count(), heard.matches(')').count());
            if open <= closed {
                break;
            }
        }
        let heard = heard.trim().to_string();
        if heard.starts_with("(error") && heard.contains("memory") {
            self.end();
            return Ok(String::new());
        }
        if heard.starts_with("(error") {
            return Err(SolverError::Refused(heard));
        }
        Ok(heard)
    }

    /// The next line; none if the solver had to be ended.
    fn line(&mut self) -> Result<Option<String>, SolverError> {
        let began = (Instant::now(), processor_time(self.process.id()));
        loop {
            match self.output.recv_timeout(Duration::from_secs(1)) {
                Ok(line) => return Ok(Some(line)),
                // One that has answered before is one that works: this question was too much for its memory.
                Err(RecvTimeoutError::Disconnected) if self.spent > 0 => {
                    self.end();
                    return Ok(None);
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Err(SolverError::Ended("its memory may have been too small".to_string()));
                }
                Err(RecvTimeoutError::Timeout) => {
                    let now = processor_time(self.process.id());
                    let spent = began.1.zip(now).map(|(before, now)| now.saturating_sub(before));
                    let late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
                    if late || spent.unwrap_or_else(|| began.0.elapsed()) > LONGEST {
                        self.end();
                        return Ok(None);
                    }
                }
            }
        }
    }

    fn end(&mut self) {
        self.dead = true;
        let _ = self.process.kill();
    }

    /// Tells the solver about a term, so that the next assignment gives values to its leaves.
    pub fn mention(&mut self, terms: &Terms, term: Term) -> Result<(), SolverError> {
        self.define(terms, term)
    }

    /// Tells the solver the terms of which this one is made.
    fn define(&mut self, terms: &Terms, root: Term) -> Result<(), SolverError> {
        let mut open = vec![root];
        let mut found = Vec::new();
        while let Some(term) = open.pop() {
            if self.defined.insert(term) {
                found.push(term);
                open.extend(terms.shape(term).parts());
            }
        }
        found.sort();
        for term in found {
            if let Some(line) = definition(terms, term) {
                self.tell(&line)?;
            }
        }
        Ok(())
    }

    /// Takes it for true from now on.
    pub fn assert(&mut self, terms: &Terms, term: Term) -> Result<(), SolverError> {
        self.define(terms, term)?;
        self.tell(&format!("(assert {})", name(terms, term)))
    }

    /// Whether all assumptions, and what was asserted, can hold together.
    pub fn check(&mut self, terms: &Terms, assumptions: &[Term]) -> Result<Answer, SolverError> {
        self.questions += 1;
        if self.dead {
            return Ok(Answer::Undecided);
        }
        let mut position = HashMap::new();
        let mut names = Vec::new();
        for (index, term) in assumptions.iter().enumerate() {
            if *term == Terms::FALSE {
                return Ok(Answer::Unsatisfiable(vec![index]));
            }
            let name_of = format!("a{}", term.index());
            if self.assumptions.insert(*term) {
                self.define(terms, *term)?;
                self.tell(&format!("(declare-const {name_of} Bool)"))?;
                self.tell(&format!("(assert (=> {name_of} {}))", name(terms, *term)))?;
            }
            position.insert(name_of.clone(), index);
            names.push(name_of);
        }
        self.tell(&format!("(check-sat-assuming ({}))", names.join(" ")))?;
        let answer = match self.hear()?.as_str() {
            "sat" => Answer::Satisfiable,
            "unsat" => {
                self.tell("(get-unsat-core)")?;
                let core = self.hear()?;
                let core = core.trim_matches(['(', ')']).split_whitespace();
                let mut core: Vec<usize> = core.filter_map(|name| position.get(name).copied()).collect();
                core.sort_unstable();
                Answer::Unsatisfiable(core)
            }
            _ => Answer::Undecided,
        };
        self.count()?;
        Ok(answer)
    }

    /// How many terms it was told.
    pub fn told(&self) -> usize {
        self.defined.len()
    }

    /// Steps that all questions together have taken, with what looking through all that was told takes each time.
    pub fn spent(&self) -> u64 {
        self.spent + self.uncounted
    }

    fn count(&mut self) -> Result<(), SolverError> {
        self.uncounted += FOR_A_TERM * self.defined.len() as u64;
        if !self.dead {
            self.tell("(get-info :rlimit)")?;
            let heard = self.hear()?;
            let number =
                heard.trim_matches(['(', ')']).split_whitespace().nth(1).and_then(|number| number.parse().ok());
            self.spent = number.unwrap_or(self.spent).max(self.spent);
        }
        Ok(())
    }

    /// The values of leaves in the assignment just found; leaves the question did not mention are left out.
    pub fn model(&mut self, terms: &Terms, roots: &[Term]) -> Result<BTreeMap<u32, u128>, SolverError> {
        let asked = |term: &Term| self.defined.contains(term) && terms.width(*term) <= 128;
        let leaves = terms.cone(roots).into_iter().filter(asked).filter_map(|term| match terms.shape(term) {
            Shape::Leaf(leaf) => Some((leaf, name(terms, term))),
            _ => None,
        });
        let leaves: Vec<(u32, String)> = leaves.collect();
        let mut found = BTreeMap::new();
        // Short enough answers for the pipe.
        for some in leaves.chunks(64) {
            let names: Vec<&str> = some.iter().map(|(_, name)| name.as_str()).collect();
            self.tell(&format!("(get-value ({}))", names.join(" ")))?;
            let heard = self.hear()?;
            if self.dead {
                break;
            }
            let mut words = heard.split(|letter: char| letter.is_whitespace() || "()".contains(letter));
            for (leaf, name) in some {
                // Each name with its value, in this order.
                words.find(|word| word == name).ok_or_else(|| SolverError::Refused(heard.clone()))?;
                let value = words.next().unwrap_or_default();
                let number = match (value.strip_prefix("#x"), value.strip_prefix("#b")) {
                    (Some(digits), _) => u128::from_str_radix(digits, 16).ok(),
                    (_, Some(digits)) => u128::from_str_radix(digits, 2).ok(),
                    _ => Some(u128::from(value == "true")),
                };
                found.insert(*leaf, number.ok_or_else(|| SolverError::Refused(heard.clone()))?);
            }
        }
        Ok(found)
    }
}

/// Steps that a term which was told counts for in each question.
const FOR_A_TERM: u64 = 20;

/// The longest that a question may take of a processor. Its own limit ends nearly all long before.
const LONGEST: Duration = Duration::from_secs(60);

/// What a process has taken of a processor, where the system says so.
fn processor_time(process: u32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may hold anything; user and system time are the 12th and 13th field behind it.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()?.checked_add(fields.next()?.parse().ok()?)?;
    // Linux shows hundredths of a second on every machine.
    Some(Duration::from_millis(10 * ticks))
}

/// The lines of a pipe, read by a thread that ends with the pipe or with the receiver.
fn lines(pipe: ChildStdout) -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    receive
}

impl Drop for Solver {
    /// Closes the pipe, by which the process ends; stops it where it does not listen.
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
