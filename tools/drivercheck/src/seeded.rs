//! Seeded faults: patches on drivers, each with the rule that the checker must name; and variations that are correct.

use crate::check::{run, CheckError, Options, Row};
use crate::counterexample::monitor::{self, MonitorError};
use crate::cpu_time;
use crate::driver::{read, Driver, DriverError, Source};
use campaign::{share, Record, Shard};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;

#[derive(Debug, thiserror::Error)]
pub enum SeededError {
    #[error("{0}: {1}")]
    File(PathBuf, std::io::Error),
    #[error("{0}: {1}")]
    List(PathBuf, toml::de::Error),
    #[error("{0} does not apply: {1}")]
    Patch(String, String),
    #[error("{0}: {1}")]
    Driver(String, DriverError),
    #[error("{0}: {1}")]
    Check(String, CheckError),
    #[error("{0}: {1}")]
    Replay(String, MonitorError),
}

/// `tests/faults/faults.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    #[serde(default)]
    fault: Vec<Entry>,
    #[serde(default)]
    variation: Vec<Entry>,
}

/// Which patches of the list are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    All,
    Faults,
    Variations,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    driver: String,
    rule: Option<u8>,
    /// The checker must refuse it.
    #[serde(default)]
    refused: bool,
    #[allow(dead_code)]
    says: String,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct Outcome {
    pub name: String,
    pub expected_rule: Option<u8>,
    /// That of its checks, or REFUSED: the driver is not one that can be checked.
    pub verdict: &'static str,
    pub rule: Option<u8>,
    /// Why it is refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The run-time monitor says the same of the run that was found.
    pub replays: Option<bool>,
    /// Of processor time, from the patch to the replay: of all threads, solvers and compilers.
    pub seconds: f64,
    pub is_good: bool,
    #[serde(skip)]
    pub rows: Vec<Row>,
}

#[derive(Debug, Default)]
pub struct Outcomes {
    pub faults: Vec<Outcome>,
    pub variations: Vec<Outcome>,
}

impl Outcomes {
    /// As the record of a shard of the campaign `variations`, or `faults`.
    pub fn record(&self, kind: Kind, seed: u64, shard: Shard) -> Record {
        let campaign = if kind == Kind::Variations { "variations" } else { "faults" };
        let mut record = Record::new(campaign, seed, shard);
        for outcome in self.faults.iter().chain(&self.variations) {
            let item = record.push(&outcome.name, outcome.verdict, outcome.is_good);
            item.detail.insert("rule".into(), outcome.rule.into());
            item.detail.insert("seconds".into(), outcome.seconds.into());
            if let Some(reason) = &outcome.reason {
                item.detail.insert("reason".into(), reason.as_str().into());
            }
        }
        record
    }
}

/// Runs those of a shard whose name contains `only`. `root` is the root of the sources.
#[allow(clippy::too_many_arguments)]
pub fn seeded(
    root: &Path,
    scratch: &Path,
    options: &Options,
    kind: Kind,
    only: &str,
    seed: u64,
    shard: Shard,
    tell: &dyn Fn(&Outcome),
) -> Result<Outcomes, SeededError> {
    let directory = root.join("tests/faults");
    let path = directory.join("faults.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| SeededError::File(path.clone(), error))?;
    let list: List = toml::from_str(&text).map_err(|error| SeededError::List(path, error))?;
    let mut outcomes = Outcomes::default();
    let entries = list.fault.iter().map(|one| (one, true)).chain(list.variation.iter().map(|one| (one, false)));
    let is_meant = |is_fault: bool| kind == Kind::All || is_fault == (kind == Kind::Faults);
    for (entry, is_fault) in share(entries.filter(|(_, is_fault)| is_meant(*is_fault)).collect(), seed, shard) {
        if !entry.name.contains(only) {
            continue;
        }
        let outcome = one(root, &directory, scratch, options, entry, is_fault)?;
        tell(&outcome);
        if is_fault { &mut outcomes.faults } else { &mut outcomes.variations }.push(outcome);
    }
    Ok(outcomes)
}

fn one(
    root: &Path,
    directory: &Path,
    scratch: &Path,
    options: &Options,
    entry: &Entry,
    is_fault: bool,
) -> Result<Outcome, SeededError> {
    let start = cpu_time::everything();
    let tree = scratch.join(&entry.name);
    let places = ["user/drivers", "user/services"].map(|folder| Path::new(folder).join(&entry.driver));
    let place = places.iter().find(|place| root.join(place).is_dir()).unwrap_or(&places[0]);
    copy(&root.join(place), &tree.join(place))?;
    copy_headers(&root.join(place).join(".."), &tree.join(place).join(".."))?;
    patch(&directory.join(format!("{}.patch", entry.name)), &tree)?;
    let source = source(root, &tree.join(place), &scratch.join("headers"))?;
    let refused = |reason: String| Outcome {
        name: entry.name.clone(),
        expected_rule: entry.rule,
        verdict: "REFUSED",
        rule: None,
        reason: Some(reason),
        replays: None,
        seconds: (cpu_time::everything() - start).as_secs_f64(),
        is_good: entry.refused,
        rows: Vec::new(),
    };
    let driver = match read(&source) {
        Ok(driver) => driver,
        Err(error @ (DriverError::Preprocess(_) | DriverError::Faults(_))) => return Ok(refused(error.to_string())),
        Err(error) => return Err(SeededError::Driver(entry.name.clone(), error)),
    };
    // One thread is enough for one violation, and each makes its own model.
    let threads = if is_fault { 1 } else { options.threads };
    let options = Options { until: entry.rule, coverage: false, threads, ..options.clone() };
    let mut report = match run(&driver, &options, &|_| {}) {
        Ok(report) => report,
        Err(CheckError::Driver(reason)) => return Ok(refused(reason)),
        Err(error) => return Err(SeededError::Check(entry.name.clone(), error)),
    };
    replay_all(root, &tree.join("replay"), &driver, &mut report.rows)?;
    let violated = report.rows.iter().filter(|row| row.verdict == "VIOLATED");
    let found = violated.clone().find(|row| Some(row.rule) == entry.rule).or(violated.clone().next());
    let is_proved = report.rows.iter().all(|row| row.verdict == "PROVED");
    let verdict = match found {
        Some(_) => "VIOLATED",
        None if is_proved => "PROVED",
        None => "UNKNOWN",
    };
    let rule = found.map(|row| row.rule);
    let replays = found.and_then(|row| row.replays);
    let is_good = match is_fault {
        _ if entry.refused => false,
        true => rule.is_some() && rule == entry.rule && replays == Some(true),
        false => is_proved,
    };
    Ok(Outcome {
        name: entry.name.clone(),
        expected_rule: entry.rule,
        verdict,
        rule,
        reason: None,
        replays,
        seconds: (cpu_time::everything() - start).as_secs_f64(),
        is_good,
        rows: report.rows,
    })
}

/// Replays every violation on the run-time monitor.
pub fn replay_all(root: &Path, scratch: &Path, driver: &Driver, rows: &mut [Row]) -> Result<(), SeededError> {
    for row in rows {
        if let Some(trace) = row.trace.as_ref().filter(|_| row.verdict == "VIOLATED") {
            let answer = monitor::replays(root, scratch, driver, row.rule, trace);
            row.replays = Some(answer.map_err(|error| SeededError::Replay(driver.name.clone(), error))?);
        }
    }
    Ok(())
}

/// All C files of a driver, as the build takes them: of its directory and of those in it, but for tests.
pub fn source(root: &Path, directory: &Path, scratch: &Path) -> Result<Source, SeededError> {
    let listed = |directory: &Path| -> Result<Vec<PathBuf>, SeededError> {
        let failed = |error| SeededError::File(directory.to_path_buf(), error);
        let entries = std::fs::read_dir(directory).map_err(failed)?;
        entries.map(|entry| Ok(entry.map_err(failed)?.path())).collect()
    };
    let is_c = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "c");
    let own = listed(directory)?;
    let mut files: Vec<PathBuf> = own.iter().filter(|path| is_c(path)).cloned().collect();
    for inner in own.iter().filter(|path| path.is_dir() && !path.ends_with("tests")) {
        files.extend(listed(inner)?.into_iter().filter(is_c));
    }
    // The file that has the directory's name gives the driver its name.
    let stem = directory.file_name().unwrap_or_default().to_owned();
    files.sort_by_key(|path| (path.file_stem() != Some(&stem), path.clone()));
    Ok(Source {
        root: root.to_path_buf(),
        files,
        protocol_dir: root.join("protocols"),
        scratch: scratch.to_path_buf(),
        ..Source::default()
    })
}

fn copy(from: &Path, to: &Path) -> Result<(), SeededError> {
    let failed = |error| SeededError::File(from.to_path_buf(), error);
    if to.exists() {
        std::fs::remove_dir_all(to).map_err(failed)?;
    }
    std::fs::create_dir_all(to).map_err(failed)?;
    for entry in std::fs::read_dir(from).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.path().is_dir() {
            copy(&entry.path(), &to.join(entry.file_name()))?;
        } else {
            std::fs::copy(entry.path(), to.join(entry.file_name())).map_err(failed)?;
        }
    }
    Ok(())
}

/// What drivers have in common stands beside their folders.
fn copy_headers(from: &Path, to: &Path) -> Result<(), SeededError> {
    let failed = |error| SeededError::File(from.to_path_buf(), error);
    for entry in std::fs::read_dir(from).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "h") {
            std::fs::copy(&path, to.join(path.file_name().unwrap_or_default())).map_err(failed)?;
        }
    }
    Ok(())
}

fn patch(patch: &Path, tree: &Path) -> Result<(), SeededError> {
    let text = std::fs::File::open(patch).map_err(|error| SeededError::File(patch.to_path_buf(), error))?;
    let output = Command::new("patch")
        .args(["-p1", "--batch", "--forward", "-d"])
        .arg(tree)
        .stdin(text)
        .output()
        .map_err(|error| SeededError::File(PathBuf::from("patch"), error))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    Err(SeededError::Patch(patch.display().to_string(), said))
}

#[cfg(test)]
mod tests {
    use super::{one, Entry, Kind, List, Outcome, Outcomes};
    use crate::check::Options;
    use campaign::Shard;
    use serde_json::json;
    use std::path::Path;
    use std::process::Command;

    /// Each entry has its patch, which applies to the driver as it is, and each patch its entry.
    #[test]
    fn every_patch_is_listed_and_applies() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let faults = root.join("tests/faults");
        let list: List = toml::from_str(&std::fs::read_to_string(faults.join("faults.toml")).unwrap()).unwrap();
        let mut listed: Vec<String> = list.fault.iter().chain(&list.variation).map(|one| one.name.clone()).collect();
        listed.sort();
        let stem = |entry: std::io::Result<std::fs::DirEntry>| {
            Some(entry.unwrap().file_name().to_str()?.strip_suffix(".patch")?.to_string())
        };
        let mut there: Vec<String> = std::fs::read_dir(&faults).unwrap().filter_map(stem).collect();
        there.sort();
        assert_eq!(listed, there);
        for one in there {
            let patch = std::fs::File::open(faults.join(format!("{one}.patch"))).unwrap();
            let flags = ["-p1", "--batch", "--forward", "--dry-run", "-d"];
            let output = Command::new("patch").args(flags).arg(&root).stdin(patch).output().unwrap();
            assert!(output.status.success(), "{one}: {}", String::from_utf8_lossy(&output.stdout));
        }
    }

    /// Of each driver there are at least 20 correct variations, among them some with a state in an array, in a struct for each port or
    /// client, with tables, and with answers by helper functions.
    #[test]
    fn every_driver_has_its_variations() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let list: List =
            toml::from_str(&std::fs::read_to_string(root.join("tests/faults/faults.toml")).unwrap()).unwrap();
        for entry in std::fs::read_dir(root.join("user/drivers")).unwrap() {
            let entry = entry.unwrap();
            if !entry.path().is_dir() {
                continue;
            }
            let driver = entry.file_name().into_string().unwrap();
            let own: Vec<&str> =
                list.variation.iter().filter(|one| one.driver == driver).map(|one| one.name.as_str()).collect();
            assert!(own.len() >= 20, "{driver}: {} variations", own.len());
            for form in ["-state-in-array", "-state-in-per-port-struct", "-by-table", "-answers-by-helpers"] {
                assert!(own.iter().any(|name| name.ends_with(form)), "{driver}: none called {driver}…{form}");
            }
        }
    }

    /// A patch whose driver cannot be checked has an outcome, with the reason, which is good only where it is expected.
    #[test]
    fn a_refused_patch_has_an_outcome() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let scratch = std::env::temp_dir().join(format!("drivercheck-refused-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).unwrap();
        // Refused when it is read; when the model is made; by the compiler.
        let texts = [
            ("words", "void pause(void) { __asm__(\"pause\"); }", "more.c:1"),
            ("model", "double more = 1.0;", "more.c:1"),
            ("compiler", "#error not this", "not this"),
        ];
        for (name, text, says) in texts {
            let patch = format!("--- /dev/null\n+++ b/user/drivers/hda/more.c\n@@ -0,0 +1 @@\n+{text}\n");
            std::fs::write(scratch.join(format!("{name}.patch")), patch).unwrap();
            for (is_fault, refused) in [(false, true), (false, false), (true, false)] {
                let (name, driver, says_nothing) = (name.to_string(), "hda".to_string(), String::new());
                let entry = Entry { name, driver, rule: is_fault.then_some(1), refused, says: says_nothing };
                let outcome = one(&root, &scratch, &scratch, &Options::default(), &entry, is_fault).unwrap();
                assert_eq!((outcome.verdict, outcome.is_good), ("REFUSED", refused), "{text}");
                assert!(outcome.reason.as_deref().unwrap_or_default().contains(says), "{:?}", outcome.reason);
            }
        }
        std::fs::remove_dir_all(&scratch).unwrap();
    }

    #[test]
    fn outcomes_become_a_record() {
        let outcome = |name: &str, rule, is_good| Outcome {
            name: name.to_string(),
            expected_rule: Some(3),
            verdict: "VIOLATED",
            rule,
            reason: None,
            replays: None,
            seconds: 1.5,
            is_good,
            rows: Vec::new(),
        };
        let all = Outcomes { faults: vec![outcome("a", Some(3), true)], variations: vec![outcome("b", None, false)] };
        let shard = Shard { index: 2, count: 5 };
        let record = serde_json::to_value(all.record(Kind::All, 7, shard)).unwrap();
        let expected = json!([
            { "id": "a", "verdict": "VIOLATED", "good": true, "rule": 3, "seconds": 1.5 },
            { "id": "b", "verdict": "VIOLATED", "good": false, "rule": null, "seconds": 1.5 },
        ]);
        assert_eq!(record, json!({ "campaign": "faults", "seed": 7, "shard": [2, 5], "items": expected }));
        assert_eq!(all.record(Kind::Variations, 7, shard).campaign, "variations");
    }
}
