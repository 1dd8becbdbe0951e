//! The whole output of a test that failed: in a file of its own, its last lines for people.

use project::Project;
use std::path::PathBuf;

/// What marks a line that tells of a fault: one of those is shown where it stands before the last lines too.
const FAULTS: [&str; 3] = ["panicked at", "FAILED", "error: "];
/// Lines shown from such a line on: cargo says what was expected below the place.
const LINES_OF_FAULT: usize = 4;
/// Lines of faults shown at most.
const MOST_LINES_OF_FAULTS: usize = 40;

#[derive(Debug)]
pub struct Log {
    path: PathBuf,
    whole: Vec<u8>,
    shown: String,
    is_cut: bool,
}

impl Log {
    /// The log of the test called `name`.
    pub fn new(name: &str, project: &Project) -> Log {
        let path = project.out().join("tests").join(format!("{name}.log"));
        Log { path, whole: Vec::new(), shown: String::new(), is_cut: false }
    }

    /// Adds a part, with a title if that is not empty; its last lines are shown, and those before that tell of a fault.
    pub fn part(&mut self, title: &str, bytes: &[u8], last: usize) {
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = text.lines().collect();
        let cut = lines.len().saturating_sub(last);
        if !title.is_empty() {
            self.whole.extend(format!("--- {title}\n").as_bytes());
            self.shown += &format!("\n--- {title}");
        }
        self.whole.extend(bytes);
        self.is_cut |= cut > 0;
        for line in of_faults(&lines[..cut]).into_iter().chain(lines[cut..].iter().copied()) {
            self.shown += &format!("\n{line}");
        }
    }

    /// Writes the file, and gives what is shown: it begins with a new line and names the file if lines are left out.
    pub fn finish(self) -> String {
        let Log { path, whole, mut shown, is_cut } = self;
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        match folder.and_then(|()| std::fs::write(&path, whole)) {
            Ok(()) if is_cut => shown += &format!("\n--- the whole output: {}", path.display()),
            Ok(()) => {}
            Err(error) => shown += &format!("\n--- {} cannot be written: {error}", path.display()),
        }
        shown
    }
}

/// The lines that tell of a fault, each with some that follow it.
fn of_faults<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut shown = Vec::new();
    let mut next = 0;
    for (number, line) in lines.iter().enumerate() {
        if FAULTS.iter().any(|mark| line.contains(mark)) {
            next = number + LINES_OF_FAULT;
        }
        if number < next && shown.len() < MOST_LINES_OF_FAULTS {
            shown.push(*line);
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::{of_faults, LINES_OF_FAULT, MOST_LINES_OF_FAULTS};

    #[test]
    fn a_fault_is_shown_with_what_follows_it() {
        let lines = ["fine", "thread 'x' panicked at y.rs:1:", "assertion", "left", "right", "fine"];
        assert_eq!(of_faults(&lines), lines[1..=LINES_OF_FAULT]);
        assert!(of_faults(&["fine"; 100]).is_empty());
        assert_eq!(of_faults(&["FAILED"; 100]).len(), MOST_LINES_OF_FAULTS);
    }
}
