//! What a run waits for: one regular expression a console.

use emulator::transcript::line_regex;
use emulator::Session;
use output::Failure;
use regex::bytes::Regex;
use system::System;

#[derive(Debug)]
struct Wanted {
    console: usize,
    name: String,
    regex: Regex,
    /// The line that matched.
    matched: Option<String>,
}

#[derive(Debug, Default)]
pub struct Awaited {
    wanted: Vec<Wanted>,
}

impl Awaited {
    /// What `--until` and `--console` ask for.
    pub fn new(until: Option<&str>, consoles: &[String], system: &System) -> Result<Awaited, Failure> {
        let Some(until) = until else { return Ok(Awaited::default()) };
        let mut awaited = Awaited::default();
        for (index, console) in system.consoles.iter().enumerate() {
            let named = consoles.contains(&console.name);
            let chosen = if consoles.is_empty() { console.up.is_some() } else { named };
            let pattern = if until == "up" { console.up.as_deref() } else { Some(until) };
            if let (true, Some(pattern)) = (chosen, pattern) {
                awaited.add(index, &console.name, pattern)?;
            }
        }
        if awaited.wanted.is_empty() {
            let message =
                format!("{} does not say what `up` means on any console, so nothing can be awaited", system.name);
            return Err(Failure::unable(
                message,
                "give `[console.NAME] up = \"REGEX\"`, or --console NAME and a REGEX",
            ));
        }
        Ok(awaited)
    }

    fn add(&mut self, console: usize, name: &str, pattern: &str) -> Result<(), Failure> {
        let regex = line_regex(pattern)
            .map_err(|error| Failure::unable(format!("not a regular expression: {error}"), "see docs.rs/regex"))?;
        self.wanted.push(Wanted { console, name: name.to_string(), regex, matched: None });
        Ok(())
    }

    /// Looks at what has newly come on `console`.
    pub fn look(&mut self, console: usize, session: &mut Session<'_>) {
        for wanted in self.wanted.iter_mut().filter(|wanted| wanted.console == console && wanted.matched.is_none()) {
            wanted.matched = session.transcript(console).find_new(&wanted.regex).map(|found| found.line);
        }
    }

    /// Something is awaited.
    pub fn is_any(&self) -> bool {
        !self.wanted.is_empty()
    }

    /// Something is awaited and all of it has come.
    pub fn all_matched(&self) -> bool {
        self.is_any() && self.wanted.iter().all(|wanted| wanted.matched.is_some())
    }

    pub fn is_awaited(&self, console: usize) -> bool {
        self.wanted.iter().any(|wanted| wanted.console == console)
    }

    /// The line of `console` that matched.
    pub fn matched(&self, console: usize) -> Option<&str> {
        self.wanted.iter().find(|wanted| wanted.console == console)?.matched.as_deref()
    }

    /// Names of the consoles that have not matched.
    pub fn missing(&self) -> Vec<&str> {
        let missing = self.wanted.iter().filter(|wanted| wanted.matched.is_none());
        missing.map(|wanted| wanted.name.as_str()).collect()
    }
}
