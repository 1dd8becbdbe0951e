//! From offsets in the preprocessed text to lines of the source files.

use crate::program::Place;
use std::rc::Rc;

/// Line markers of a preprocessed text.
pub struct Lines {
    /// By line of the preprocessed text: where it starts, its file, its line there.
    lines: Vec<(usize, Rc<str>, usize)>,
}

impl Lines {
    pub fn new(text: &str, name: &str) -> Self {
        let (mut file, mut line): (Rc<str>, usize) = (name.into(), 1);
        let mut lines = Vec::new();
        let mut start = 0;
        for one in text.split_inclusive('\n') {
            match marker(one) {
                Some((number, path)) => (file, line) = (path.into(), number),
                None => {
                    lines.push((start, file.clone(), line));
                    line += 1;
                }
            }
            start += one.len();
        }
        Lines { lines }
    }

    pub fn place(&self, offset: usize) -> Place {
        let index = self.lines.partition_point(|(start, _, _)| *start <= offset);
        match self.lines.get(index.saturating_sub(1)) {
            Some((_, file, line)) => Place { file: file.clone(), line: *line },
            None => Place::default(),
        }
    }
}

/// `# 12 "file.c" 1` as 12 and `file.c`.
fn marker(line: &str) -> Option<(usize, String)> {
    let rest = line.strip_prefix("# ")?;
    let (number, rest) = rest.split_once(' ')?;
    let path = rest.strip_prefix('"')?;
    Some((number.parse().ok()?, path.split('"').next()?.to_string()))
}
