//! From offsets in the preprocessed text to lines of the source files, and whether these are the driver's own.

use crate::preprocess::is_inside;
use crate::program::Place;
use std::rc::Rc;

/// Line markers of a preprocessed text.
pub struct Lines<'a> {
    text: &'a str,
    /// By line of the preprocessed text: where it starts, its file, its line there.
    lines: Vec<Line>,
}

struct Line {
    start: usize,
    file: Rc<str>,
    number: usize,
    is_framework: bool,
}

impl<'a> Lines<'a> {
    /// `name` is the file before the first marker. Relative names of markers are shown below `base`; files in the
    /// directories `framework` are not the driver's.
    pub fn new(text: &'a str, name: &str, base: &str, framework: &[String]) -> Self {
        let (mut file, mut line): (Rc<str>, usize) = (name.into(), 1);
        let mut is_framework = false;
        let mut lines = Vec::new();
        let mut start = 0;
        for one in text.split_inclusive('\n') {
            match marker(one) {
                Some((number, path)) => {
                    is_framework = is_inside(framework, &path);
                    let shown = if path.starts_with(['/', '<']) { path } else { format!("{base}{path}") };
                    (file, line) = (shown.into(), number);
                }
                None => {
                    lines.push(Line { start, file: file.clone(), number: line, is_framework });
                    line += 1;
                }
            }
            start += one.len();
        }
        Lines { text, lines }
    }

    /// Names files in `folder` relative to it.
    pub fn relative_to(mut self, folder: &str) -> Self {
        let mut last: Option<(Rc<str>, Rc<str>)> = None;
        for line in self.lines.iter_mut().filter(|_| !folder.is_empty()) {
            let shown = match &last {
                Some((file, shown)) if *file == line.file => shown.clone(),
                _ => line.file.strip_prefix(folder).map_or_else(|| line.file.clone(), Rc::from),
            };
            last = Some((line.file.clone(), shown.clone()));
            line.file = shown;
        }
        self
    }

    fn line(&self, offset: usize) -> Option<&Line> {
        let index = self.lines.partition_point(|line| line.start <= offset);
        self.lines.get(index.saturating_sub(1))
    }

    /// Whether the text belongs to the framework or the compiler.
    pub fn is_framework(&self, offset: usize) -> bool {
        self.line(offset).is_some_and(|line| line.is_framework)
    }

    /// A part of the text, without markers and with single blanks.
    pub fn words(&self, start: usize, end: usize) -> String {
        words(&self.text[start.min(self.text.len())..end.min(self.text.len())])
    }

    pub fn place(&self, offset: usize) -> Place {
        match self.line(offset) {
            Some(line) => Place { file: line.file.clone(), line: line.number },
            None => Place::default(),
        }
    }
}

/// A text without markers and with single blanks.
pub fn words(text: &str) -> String {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.flat_map(str::split_whitespace).collect::<Vec<_>>().join(" ")
}

/// `# 12 "file.c" 1` as 12 and `file.c`.
pub fn marker(line: &str) -> Option<(usize, String)> {
    let rest = line.strip_prefix("# ")?;
    let (number, rest) = rest.split_once(' ')?;
    let path = rest.strip_prefix('"')?;
    Some((number.parse().ok()?, path.split('"').next()?.to_string()))
}
