//! One thing followed through the tree, file by file: `docs/walkthroughs/NAME.toml`.

use crate::{has_word, read, Error, Finding};
use picture::canvas::{Canvas, Picture, Rect};
use picture::{text_width, LINE};
use serde::Deserialize;
use std::path::{Path, PathBuf};

const MARGIN: f64 = 12.0;
const GAP: f64 = 18.0;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    title: String,
    step: Vec<Step>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    /// Relative to the tree.
    file: PathBuf,
    /// Stands in the file.
    name: String,
    does: String,
    /// Whose it is: drawn in one colour for each.
    room: Room,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Room {
    User,
    Hardware,
    Kernel,
    Tool,
}

#[derive(Debug)]
pub struct Walkthrough {
    pub name: String,
    path: PathBuf,
    written: Written,
    /// The line of each step.
    lines: Vec<usize>,
}

pub fn all(root: &Path) -> Result<Vec<Walkthrough>, Error> {
    let mut all = Vec::new();
    for path in crate::files_below(&root.join("docs/walkthroughs"), &[".toml"])? {
        let text = read(&path)?;
        let written = toml::from_str(&text).map_err(|error| Error::Toml { path: path.clone(), error })?;
        let lines =
            text.lines().enumerate().filter(|(_, line)| line.trim() == "[[step]]").map(|(line, _)| line + 1).collect();
        let name = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
        let path = path.strip_prefix(root).map(Path::to_path_buf).unwrap_or(path);
        all.push(Walkthrough { name, path, written, lines });
    }
    Ok(all)
}

impl Walkthrough {
    pub fn picture(&self) -> Picture {
        let steps = &self.written.step;
        let place = |step: &Step| format!("   {}", step.file.display());
        let widths = steps.iter().map(|step| text_width(&step.name) + text_width(&place(step)).max(0.0));
        let says = steps.iter().map(|step| text_width(&step.does));
        let width = widths.chain(says).fold(0.0, f64::max) + 24.0;
        let height = 2.0 * LINE + 8.0;
        let mut canvas = Canvas::default();
        let mut y = MARGIN;
        for (index, step) in steps.iter().enumerate() {
            let class = match step.room {
                Room::User => "yellow",
                Room::Hardware => "grey",
                Room::Kernel => "green",
                Room::Tool => "paper",
            };
            canvas.rect(class, Rect { x: MARGIN, y, width, height }, 6.0);
            canvas.text(MARGIN + 10.0, y + LINE, &[("bold", &step.name), ("dim", &place(step))]);
            canvas.text(MARGIN + 10.0, y + 2.0 * LINE, &[("", &step.does)]);
            y += height;
            if index + 1 < steps.len() {
                canvas.curve("", &[(MARGIN + 30.0, y), (MARGIN + 30.0, y + GAP)], true);
                y += GAP;
            }
        }
        canvas.finish(&self.written.title, width + 2.0 * MARGIN, y + MARGIN)
    }

    /// Every step's file has its name.
    pub fn check(&self, root: &Path) -> Result<Vec<Finding>, Error> {
        let mut findings = Vec::new();
        for (step, line) in self.written.step.iter().zip(&self.lines) {
            let there = std::fs::read_to_string(root.join(&step.file));
            let message = match there {
                Err(error) => format!("{}: {error}", step.file.display()),
                Ok(text) if has_word(&text, &step.name) => continue,
                Ok(_) => format!("{} has no `{}`", step.file.display(), step.name),
            };
            findings.push(Finding { file: self.path.clone(), line: *line, message });
        }
        Ok(findings)
    }
}
