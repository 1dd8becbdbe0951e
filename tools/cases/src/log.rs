//! The whole output of a test that failed: in a file of its own, its last lines for people.

use project::Project;
use std::path::PathBuf;

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

    /// Adds a part, with a title if that is not empty; its last lines are shown.
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
        for line in &lines[cut..] {
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
