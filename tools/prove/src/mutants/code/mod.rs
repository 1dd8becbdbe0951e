//! Mutants of the C, each of which must break a proof.
//!
//! `c2coq mutate` makes them. `proof/survivors.toml` (description = "why it is equivalent") lists equivalent mutants.

mod choice;
mod excerpt;
mod mutant;
mod outcome;
pub mod trial;
pub mod verdicts;

use crate::coq::compile::{jobs, make_folder};
use crate::error::Error;
use crate::mutants::code::trial::Trials;
use crate::mutants::code::verdicts::Verdict;
use crate::progress::Progress;
use crate::sources::certified::Layer;
pub use choice::Choice;
use choice::{batches, certified, choose, Certified};
pub use mutant::Mutant;
pub use outcome::{survives, Benign, Campaign};
use project::Project;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::Mutex;
use std::time::Instant;

pub const SURVIVORS: &str = "proof/survivors.toml";

/// Known survivors: description to reason.
pub fn reasons(project: &Project) -> Result<BTreeMap<String, String>, Error> {
    super::reasons(project, SURVIVORS, "description = \"why it is equivalent\"")
}

/// Tries the chosen mutants: every one with its function's theorem; then those that it takes, and for which no reason is
/// known, with all proofs.
pub fn campaign(
    trials: &Trials<'_>,
    layers: &[Layer],
    choice: &Choice<'_>,
    reasons: &BTreeMap<String, String>,
    progress: &dyn Progress,
) -> Result<Campaign, Error> {
    let (mutants, uncertified) = certified(trials.project, layers)?;
    let chosen = choose(mutants, choice, reasons);
    let root = trials.project.build().join("mutants-c");
    let batches = batches(&chosen, &|one| trials.near_known(&one.mutant, &one.theorem).is_some());
    let batch = |batch: &Vec<Certified>, folder: &Path| {
        let mutants: Vec<&Mutant> = batch.iter().map(|one| &one.mutant).collect();
        trials.near_all(&mutants, batch.first().map_or("", |one| &one.theorem), folder)?;
        for one in batch {
            if let Some(verdict) = trials.near_known(&one.mutant, &one.theorem) {
                progress.note(&line(&one.mutant, &verdict));
            }
        }
        Ok(())
    };
    each(&batches, &root, &batch)?;
    let near = |one: &Certified, folder: &Path| {
        let known = trials.near_known(&one.mutant, &one.theorem);
        Ok((trials.near(&one.mutant, &one.theorem, folder)?, known.is_some()))
    };
    let mut tried = ask(&chosen, &root, &near, progress)?;
    let open = |(one, verdict): &(&Certified, &Verdict)| {
        **verdict == Verdict::Holds && !one.mutant.benign && !reasons.contains_key(&one.mutant.description())
    };
    let left: Vec<Certified> = chosen.iter().zip(&tried).filter(open).map(|(one, _)| one.clone()).collect();
    if !left.is_empty() {
        progress.note(&format!("{} survived so far; now with all proofs", left.len()));
    }
    let far = |one: &Certified, folder: &Path| {
        let known = trials.far_known(&one.mutant);
        Ok((trials.far(&one.mutant, folder)?, known.is_some()))
    };
    for (one, verdict) in left.iter().zip(ask(&left, &root, &far, progress)?) {
        if let Some(at) = chosen.iter().position(|other| other == one) {
            tried[at] = verdict;
        }
    }
    Ok(Campaign { tried: chosen.into_iter().map(|one| one.mutant).zip(tried).collect(), uncertified })
}

/// Every mutant of a certified function with what is known of it, now or from earlier runs.
pub fn known(
    trials: &Trials<'_>,
    layers: &[Layer],
    reasons: &BTreeMap<String, String>,
) -> Result<Vec<(Mutant, Option<Verdict>)>, Error> {
    let (mutants, _) = certified(trials.project, layers)?;
    let known = |Certified { mutant, theorem }: Certified| {
        let enough = mutant.benign || reasons.contains_key(&mutant.description());
        let verdict = match trials.near_known(&mutant, &theorem) {
            Some(Verdict::Holds) if !enough => trials.far_known(&mutant),
            near => near,
        };
        (mutant, verdict)
    };
    Ok(mutants.into_iter().map(known).collect())
}

/// A verdict, and whether it was known before.
type Asked = Result<(Verdict, bool), Error>;

/// Asks about each mutant.
fn ask(
    chosen: &[Certified],
    root: &Path,
    ask: &(dyn Fn(&Certified, &Path) -> Asked + Sync),
    progress: &dyn Progress,
) -> Result<Vec<Verdict>, Error> {
    let done = AtomicUsize::new(0);
    each(chosen, root, &|one: &Certified, folder: &Path| {
        let started = Instant::now();
        let (verdict, known) = ask(one, folder)?;
        let count = done.fetch_add(1, Ordering::Relaxed) + 1;
        if !known {
            let seconds = started.elapsed().as_secs_f64();
            progress.step(count, chosen.len(), &format!("{} {seconds:.1} s", line(&one.mutant, &verdict)));
        }
        Ok(verdict)
    })
}

/// Does something with each, several at a time, each worker with a folder of its own; the results are in the same order.
fn each<T: Sync, R: Send>(
    all: &[T],
    root: &Path,
    act: &(dyn Fn(&T, &Path) -> Result<R, Error> + Sync),
) -> Result<Vec<R>, Error> {
    let (queue, results) = (Mutex::new(all.iter().enumerate()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        let (queue, results) = (&queue, &results);
        let worker = move |slot: usize| {
            let folder = root.join(slot.to_string());
            make_folder(&folder)?;
            loop {
                let next = queue.lock().ok().and_then(|mut queue| queue.next());
                let Some((index, one)) = next else { return Ok(()) };
                let result = act(one, &folder)?;
                if let Ok(mut results) = results.lock() {
                    results.push((index, result));
                }
            }
        };
        let workers: Vec<_> = (0..jobs()).map(|slot| scope.spawn(move || worker(slot))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Err(Error::Worker)))
    })?;
    let mut results = results.into_inner().unwrap_or_default();
    results.sort_by_key(|(index, _)| *index);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

fn line(mutant: &Mutant, verdict: &Verdict) -> String {
    let what = if mutant.benign { "benign rewriting" } else { "mutant" };
    let end = match verdict {
        Verdict::Breaks(place) => format!("breaks {place}"),
        Verdict::Holds => "SURVIVED".to_string(),
        Verdict::SameTerms => "has the same terms".to_string(),
        Verdict::NoCode(_) => "IS NO CODE".to_string(),
    };
    format!("{what} {} {} {end}", mutant.number, mutant.description())
}
