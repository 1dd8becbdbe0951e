//! Compiles mutated files of the proofs, in parallel, and decides their fate.
//!
//! A mutant is killed if Coq accepts every definition and statement and refuses a proof. If it refuses a definition or a
//! statement, the mutant is discarded.

use crate::coq::compile::{jobs, Copy, Refused};
use crate::coq::overlay::Links;
use crate::error::Error;
use crate::progress::Progress;
use crate::sources::tree::read;
use campaign::Record;
use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// A proof that takes longer than any file may has not been found.
pub const LIMIT: Duration = Duration::from_secs(120);

/// A file of the proofs with another text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// Below `proof/`.
    pub file: String,
    pub line: usize,
    pub text: String,
    /// What is changed, in words that stay when lines move.
    pub description: String,
}

/// What became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// What Coq refused first.
    Killed(Refused),
    Survived,
    /// The changed text is no Coq, or another file's definitions and statements are none with it.
    Discarded(String),
}

/// Those tried, and the fate of each.
#[derive(Debug, Default)]
pub struct Trials {
    pub tried: Vec<(Wrong, Fate)>,
}

impl Trials {
    pub fn killed(&self) -> Vec<&Wrong> {
        self.tried.iter().filter(|(_, fate)| matches!(fate, Fate::Killed(_))).map(|(wrong, _)| wrong).collect()
    }

    pub fn survived(&self) -> usize {
        self.tried.iter().filter(|(_, fate)| *fate == Fate::Survived).count()
    }

    pub fn discarded(&self) -> usize {
        self.tried.iter().filter(|(_, fate)| matches!(fate, Fate::Discarded(_))).count()
    }

    /// Every mutant with its fate; `good` says which fates are wanted.
    pub fn record(&self, mut record: Record, good: impl Fn(&Wrong, &Fate) -> bool) -> Record {
        for (wrong, fate) in &self.tried {
            let word = match fate {
                Fate::Killed(_) => "killed",
                Fate::Survived => "survived",
                Fate::Discarded(_) => "discarded",
            };
            let item = record.push(wrong.description.as_str(), word, good(wrong, fate));
            item.detail.insert("place".into(), format!("proof/{}:{}", wrong.file, wrong.line).into());
        }
        record
    }
}

/// What the workers share.
#[derive(Default)]
struct State {
    next: usize,
    running: usize,
    /// Whose changed text is Coq.
    counted: usize,
    tried: Vec<(usize, Fate)>,
}

/// Tries them in their order in folders below `root`, several at a time, until `enough` were Coq.
pub fn trials(
    root: &Path,
    copy: &Copy,
    all: &[Wrong],
    enough: usize,
    progress: &dyn Progress,
) -> Result<Trials, Error> {
    let state = Mutex::new(State::default());
    let (shared, total) = (&state, all.len().min(enough));
    let worker = |slot: usize| -> Result<(), Error> {
        let links = Links::make(copy, &root.join(slot.to_string()))?;
        loop {
            let Ok(mut state) = shared.lock() else { return Ok(()) };
            if state.next == all.len() || state.counted >= enough {
                return Ok(());
            }
            if state.counted + state.running >= enough {
                // Only if one of those that run is no Coq, another is needed.
                drop(state);
                std::thread::sleep(Duration::from_millis(50));
                continue;
            }
            let index = state.next;
            state.next += 1;
            state.running += 1;
            drop(state);
            let started = Instant::now();
            let fate = attempt(&links, &all[index]);
            let Ok(mut state) = shared.lock() else { return Ok(()) };
            state.running -= 1;
            // A failure ends the others too.
            let fate = fate.inspect_err(|_| state.next = all.len())?;
            state.counted += usize::from(!matches!(fate, Fate::Discarded(_)));
            let (counted, seconds) = (state.counted, started.elapsed().as_secs_f64());
            progress.step(counted, total, &format!("{} {seconds:.1} s", line(&all[index], &fate)));
            state.tried.push((index, fate));
        }
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs().min(total.max(1))).map(|slot| scope.spawn(move || worker(slot))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Err(Error::Worker)))
    })?;
    let mut tried = state.into_inner().unwrap_or_default().tried;
    tried.sort_by_key(|(index, _)| *index);
    Ok(Trials { tried: tried.into_iter().map(|(index, fate)| (all[index].clone(), fate)).collect() })
}

fn line(wrong: &Wrong, fate: &Fate) -> String {
    let end = match fate {
        Fate::Killed(refused) => {
            let place = refused.line.map_or(String::new(), |line| format!(":{line}"));
            format!("breaks proof/{}{place}", refused.file)
        }
        Fate::Survived => "SURVIVED".to_string(),
        Fate::Discarded(_) => "is no Coq".to_string(),
    };
    format!("{} {end}", wrong.description)
}

/// Tries one in a folder of links and puts the folder right again.
fn attempt(links: &Links, wrong: &Wrong) -> Result<Fate, Error> {
    let changed = links.replace(&wrong.file, &wrong.text)?;
    let fate = fate(links, &changed);
    links.restore(&changed)?;
    fate
}

/// Compiles the changed file and what depends on it, up to the first that is refused.
fn fate(links: &Links, changed: &[String]) -> Result<Fate, Error> {
    for file in changed {
        let Err(refused) = links.copy.compile(file, LIMIT)? else { continue };
        let text = text_of(&links.copy, file)?;
        let proof = refused.line.is_none_or(|line| super::gallina::in_proof(&text, line));
        let place = || format!("proof/{file}:{}: {}", refused.line.unwrap_or(0), refused.message);
        return Ok(if proof { Fate::Killed(refused) } else { Fate::Discarded(place()) });
    }
    Ok(Fate::Survived)
}

/// The text of a file of the copy.
pub fn text_of(copy: &Copy, file: &str) -> Result<String, Error> {
    read(&copy.folder.join(file))
}

pub fn line_at(text: &str, place: usize) -> usize {
    text[..place].bytes().filter(|&byte| byte == b'\n').count() + 1
}
