//! Compiles the proofs in a copy of their sources below `build`, so that `proof/` stays clean.
//!
//! A file is compiled only if its text, Coq's version or options, or anything that it depends on has changed.

use crate::coq::COLLECTOR;
use crate::error::Error;
use crate::finding::Finding;
use crate::progress::Progress;
use crate::sources::tree::{read, Tree, ROOT};
use project::{folders, stems};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

/// Files by their dependencies, all relative to the folder of the copy.
pub type Graph = BTreeMap<String, Vec<String>>;

/// The copy in which the proofs are compiled.
#[derive(Debug, Clone)]
pub struct Copy {
    pub folder: PathBuf,
    pub options: Vec<String>,
    /// In the order of `_CoqProject`.
    pub files: Vec<String>,
    pub graph: Graph,
}

/// What a compiled file took.
#[derive(Debug, Clone, PartialEq)]
pub struct Cost {
    pub file: String,
    /// Of a processor, so that a busy machine changes nothing.
    pub seconds: f64,
    /// Line and seconds of the proof whose end took longest.
    pub longest_qed: Option<(usize, f64)>,
    /// Compiled just now.
    pub fresh: bool,
}

/// A file that coqc refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    pub file: String,
    pub line: Option<usize>,
    pub message: String,
}

impl Copy {
    /// Brings the copy of the listed files up to date and finds their dependencies.
    pub fn make(tree: &Tree, folder: &Path) -> Result<Copy, Error> {
        let files: Vec<String> = tree.files.iter().filter(|file| tree.folder.join(file).is_file()).cloned().collect();
        for file in &files {
            let (source, target) = (tree.folder.join(file), folder.join(file));
            let text = read(&source)?;
            if std::fs::read_to_string(&target).is_ok_and(|old| old == text) {
                continue;
            }
            make_folder(target.parent().unwrap_or(folder))?;
            std::fs::write(&target, text).map_err(|error| Error::unwritable(&target, error))?;
        }
        remove_others(folder, "", &files)?;
        let mut copy = Copy { folder: folder.to_path_buf(), options: tree.options.clone(), files, graph: Graph::new() };
        copy.graph = copy.dependencies()?;
        Ok(copy)
    }

    fn dependencies(&self) -> Result<Graph, Error> {
        let mut command = Command::new("coqdep");
        command.args(["-Q", ".", ROOT]).args(&self.files).current_dir(&self.folder);
        let done = command.output().map_err(|error| Error::not_started("coqdep", error))?;
        if !done.status.success() {
            let text = String::from_utf8_lossy(&done.stderr).into_owned();
            return Err(Error::Refused { what: "coqdep could not read the proofs", output: text.trim().into() });
        }
        Ok(parse_dependencies(&String::from_utf8_lossy(&done.stdout), &self.files))
    }

    /// Files that depend on `file`, nearest first, in an order in which they can be compiled.
    pub fn dependents(&self, file: &str) -> Vec<String> {
        let mut affected = vec![file.to_string()];
        for candidate in self.sorted() {
            let needs = self.graph.get(&candidate).is_some_and(|all| all.iter().any(|one| affected.contains(one)));
            if needs && !affected.contains(&candidate) {
                affected.push(candidate);
            }
        }
        affected.remove(0);
        affected
    }

    /// All files, each after what it depends on; those in a circle are left out.
    pub fn sorted(&self) -> Vec<String> {
        let mut sorted: Vec<String> = Vec::new();
        loop {
            let ready = |file: &&String| {
                let needs = self.graph.get(*file).map_or(&[][..], Vec::as_slice);
                !sorted.contains(*file) && needs.iter().all(|one| sorted.contains(one))
            };
            match self.files.iter().find(ready) {
                Some(file) => sorted.push(file.clone()),
                None => return sorted,
            }
        }
    }

    /// Compiles one file of the copy, given up after `limit` of a processor's time: a busy machine is no reason.
    pub fn compile(&self, file: &str, limit: Duration) -> Result<Result<Cost, Refused>, Error> {
        // `timeout` ends coqc, should it wait for something, with whatever it has started.
        let seconds = limit.as_secs();
        let mut command = Command::new("timeout");
        command.args([(20 * seconds).to_string(), "prlimit".into(), format!("--cpu={seconds}")]);
        command.args(["coqc", "-q", "-time", "-Q", ".", ROOT]);
        command.args(&self.options).arg(file).current_dir(&self.folder).env(COLLECTOR.0, COLLECTOR.1);
        let done = command.output().map_err(|error| Error::not_started("coqc", error))?;
        if done.status.success() {
            let text = read(&self.folder.join(file))?;
            let said = String::from_utf8_lossy(&done.stdout);
            let seconds = processor_seconds(&said);
            return Ok(Ok(Cost { file: file.into(), seconds, longest_qed: longest_qed(&said, &text), fresh: true }));
        }
        // By `timeout`, or at the limit: SIGKILL, SIGXCPU.
        if matches!(done.status.code(), None | Some(124 | 137 | 152)) {
            let message = format!("not done after {} s", limit.as_secs());
            return Ok(Err(Refused { file: file.into(), line: None, message }));
        }
        Ok(Err(refusal(file, &String::from_utf8_lossy(&done.stderr))))
    }

    /// Compiles what has changed, `jobs` files at a time; goes on with what does not depend on a refused file.
    pub fn build(&self, limit: Duration, progress: &dyn Progress) -> Result<(Vec<Cost>, Vec<Refused>), Error> {
        let version = version()?;
        let keys = self.keys(&version)?;
        let total = self.files.len();
        let jobs = jobs();
        let (mut done, mut costs, mut refused): (Vec<String>, Vec<Cost>, Vec<Refused>) = Default::default();
        let mut begun: Vec<String> = Vec::new();
        let (send, receive) = mpsc::channel();
        let mut counted = 0;
        std::thread::scope(|scope| loop {
            let next = self.files.iter().find(|file| {
                let needs = self.graph.get(*file).map_or(&[][..], Vec::as_slice);
                !begun.contains(file) && needs.iter().all(|one| done.contains(one))
            });
            let running = begun.len() - done.len() - refused.len();
            if let Some(file) = next.filter(|_| running < jobs).cloned() {
                begun.push(file.clone());
                if let Some(cost) = self.known(&file, &keys) {
                    counted += 1;
                    done.push(file);
                    costs.push(cost);
                    continue;
                }
                let send = send.clone();
                // The receiver outlives every sender.
                scope.spawn(move || drop(send.send(self.compile(&file, limit))));
                continue;
            }
            if running == 0 {
                return Ok::<(), Error>(());
            }
            let Ok(result) = receive.recv() else { return Ok(()) };
            counted += 1;
            match result? {
                Ok(cost) => {
                    progress.step(counted, total, &format!("proof/{} {:.1} s", cost.file, cost.seconds));
                    self.remember(&cost, &keys)?;
                    done.push(cost.file.clone());
                    costs.push(cost);
                }
                Err(fault) => {
                    progress.step(counted, total, &format!("proof/{} REFUSED", fault.file));
                    refused.push(fault);
                }
            }
        })?;
        Ok((costs, refused))
    }

    /// For each file a number of its text, Coq's version and options, and of all that it depends on.
    pub fn keys(&self, version: &str) -> Result<BTreeMap<String, String>, Error> {
        let mut keys: BTreeMap<String, String> = BTreeMap::new();
        for file in self.sorted() {
            let mut hash = Sha256::new();
            hash.update(format!("{version}\n{:?}\n", self.options));
            hash.update(read(&self.folder.join(&file))?);
            for need in self.graph.get(&file).map_or(&[][..], Vec::as_slice) {
                hash.update(format!("\n{need} {}", keys.get(need).map_or("", String::as_str)));
            }
            keys.insert(file, hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        }
        Ok(keys)
    }

    /// What the file took when it was last compiled, if it would be the same again.
    fn known(&self, file: &str, keys: &BTreeMap<String, String>) -> Option<Cost> {
        let text = std::fs::read_to_string(self.folder.join(record(file))).ok()?;
        let mut words = text.split_whitespace();
        let same = words.next()? == keys.get(file)? && self.folder.join(compiled(file)).is_file();
        let seconds = words.next()?.parse().ok()?;
        let longest_qed = words.next().zip(words.next()).and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
        same.then(|| Cost { file: file.to_string(), seconds, longest_qed, fresh: false })
    }

    fn remember(&self, cost: &Cost, keys: &BTreeMap<String, String>) -> Result<(), Error> {
        let key = keys.get(&cost.file).map_or("", String::as_str);
        let qed = cost.longest_qed.map_or(String::new(), |(line, seconds)| format!("{line} {seconds}"));
        let path = self.folder.join(record(&cost.file));
        std::fs::write(&path, format!("{key} {} {qed}\n", cost.seconds))
            .map_err(|error| Error::unwritable(&path, error))
    }
}

impl From<Refused> for Finding {
    fn from(refused: Refused) -> Finding {
        Finding::at("broken-proof", &format!("proof/{}", refused.file), refused.line, refused.message)
    }
}

pub fn compiled(file: &str) -> String {
    format!("{file}o")
}

/// Where it stands what compiling a file took.
fn record(file: &str) -> String {
    format!("{file}.done")
}

/// Removes from the copy what belongs to none of `files`, lest another file finds it.
fn remove_others(root: &Path, below: &str, files: &[String]) -> Result<(), Error> {
    let folder = root.join(below);
    for name in folders(&folder).iter().filter(|name| !name.starts_with('.')) {
        remove_others(root, &format!("{below}{name}/"), files)?;
    }
    for stem in stems(&folder, "v").into_iter().chain(stems(&folder, "vo")) {
        let file = format!("{below}{stem}.v");
        for gone in [folder.join(format!("{stem}.v")), folder.join(format!("{stem}.vo"))] {
            if !files.contains(&file) && gone.exists() {
                std::fs::remove_file(&gone).map_err(|error| Error::unwritable(&gone, error))?;
            }
        }
    }
    Ok(())
}

/// How many things run at a time.
pub fn jobs() -> usize {
    std::thread::available_parallelism().map_or(1, |count| count.get())
}

/// Coq's version, as it prints it.
pub fn version() -> Result<String, Error> {
    let done = Command::new("coqc").arg("--version").output().map_err(|error| Error::not_started("coqc", error))?;
    Ok(String::from_utf8_lossy(&done.stdout).into_owned())
}

pub fn make_folder(folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(|error| Error::unwritable(folder, error))
}

/// Reads coqdep's rules `A.vo ...: A.v B.vo`; only files of the tree count.
fn parse_dependencies(text: &str, files: &[String]) -> Graph {
    let mut graph = Graph::new();
    for line in text.lines() {
        let Some((targets, needs)) = line.split_once(':') else { continue };
        let Some(target) = targets.split_whitespace().find_map(|word| word.strip_suffix(".vo")) else { continue };
        let source = |word: &str| files.iter().find(|file| compiled(file) == word.trim_start_matches("./")).cloned();
        graph.insert(
            format!("{}.v", target.trim_start_matches("./")),
            needs.split_whitespace().filter_map(source).collect(),
        );
    }
    graph
}

/// Sum of the processor's time that coqc says each sentence took.
fn processor_seconds(said: &str) -> f64 {
    let all: f64 = said.lines().filter_map(sentence_seconds).sum();
    (all * 1000.0).round() / 1000.0
}

/// The processor's time in one line of coqc's list, `Chars 0 - 6 [Proof.] 0.1 secs (0.05u,0.01s)`: what stands before it
/// is the time that passed, which a busy machine stretches.
fn sentence_seconds(line: &str) -> Option<f64> {
    let (user, system) = line.strip_prefix("Chars ")?.rsplit_once('(')?.1.strip_suffix("s)")?.split_once("u,")?;
    Some(user.parse::<f64>().ok()? + system.parse::<f64>().ok()?)
}

/// The `Qed` (or `Defined`) that took longest: line and seconds, out of coqc's list of times.
fn longest_qed(said: &str, text: &str) -> Option<(usize, f64)> {
    let times = said.lines().filter_map(|line| {
        let (place, rest) = line.strip_prefix("Chars ")?.split_once(" [")?;
        let (sentence, _) = rest.split_once("] ")?;
        let start: usize = place.split_whitespace().next()?.parse().ok()?;
        ["Qed.", "Defined."].contains(&sentence).then_some((start, sentence_seconds(line)?))
    });
    let (start, seconds) = times.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let line = text.bytes().take(start).filter(|&byte| byte == b'\n').count() + 1;
    Some((line, seconds))
}

/// Reads `File "./a.v", line 3, characters 0-1:` and the words after it; warnings before it do not count.
pub fn refusal(file: &str, complaint: &str) -> Refused {
    let lines: Vec<&str> = complaint.lines().collect();
    let error = lines.iter().position(|line| line.starts_with("Error")).unwrap_or(0);
    let place = lines[..error].iter().rev().find_map(|line| line.strip_prefix("File ")?.split_once("line "));
    let line = place.and_then(|(_, rest)| rest.split(',').next()?.trim().parse().ok());
    let message = lines.get(error..).unwrap_or_default().join("\n");
    Refused { file: file.to_string(), line, message: message.trim().to_string() }
}

#[cfg(test)]
mod tests {
    use super::{longest_qed, parse_dependencies, processor_seconds, refusal, Copy, Refused};
    use crate::finding::Finding;

    fn files() -> Vec<String> {
        ["a/A.v", "B.v", "C.v"].map(String::from).to_vec()
    }

    #[test]
    fn dependencies_stay_within_the_tree() {
        let text = "a/A.vo a/A.glob a/A.v.beautified a/A.required_vo: a/A.v /usr/lib/x.vo\na/A.vio: a/A.v\n\
                    B.vo B.glob: B.v ./a/A.vo\nC.vo C.glob: C.v B.vo a/A.vo\n";
        let graph = parse_dependencies(text, &files());
        assert_eq!(graph["a/A.v"], Vec::<String>::new());
        assert_eq!(graph["B.v"], ["a/A.v"]);
        let copy = Copy {
            folder: "x".into(),
            options: vec![],
            files: ["C.v", "B.v", "a/A.v"].map(String::from).to_vec(),
            graph,
        };
        assert_eq!(copy.sorted(), ["a/A.v", "B.v", "C.v"]);
        assert_eq!(copy.dependents("a/A.v"), ["B.v", "C.v"]);
        assert_eq!(copy.dependents("C.v"), Vec::<String>::new());
    }

    #[test]
    fn the_longest_end_of_a_proof() {
        let text = "Lemma a.\nQed.\nLemma b.\nQed.\n";
        let said = "Chars 9 - 13 [Qed.] 10. secs (0.5u,0.s)\nChars 23 - 27 [Qed.] 8. secs (7.u,0.25s)\nChars 1 - 2 [auto.] 9. secs (9.u,0.s)\nnoise";
        assert_eq!(longest_qed(said, text), Some((4, 7.25)));
        assert_eq!(longest_qed("", text), None);
        assert_eq!(
            processor_seconds(
                "Chars 9 - 13 [Qed.] 0.5 secs (0.5u,0.s)\nnoise (1.u,1.s)\nChars 1 - 2 [a.] 3. secs (2.u,0.25s)"
            ),
            2.75
        );
    }

    #[test]
    fn a_refusal_has_its_place() {
        let text = "File \"./a.v\", line 1, characters 0-1:\nWarning: old\nFile \"./a.v\", line 7, characters 18-26:\n\
                    Error: Unable to unify \"4\" with \"3\".\n\n";
        let refused = refusal("a.v", text);
        assert_eq!(
            refused,
            Refused { file: "a.v".into(), line: Some(7), message: "Error: Unable to unify \"4\" with \"3\".".into() }
        );
        assert_eq!(Finding::from(refused).to_string(), "proof/a.v:7: Error: Unable to unify \"4\" with \"3\".");
        assert_eq!(refusal("a.v", "").line, None);
    }
}
