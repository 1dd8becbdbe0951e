//! What one console has said so far, as text to search.
//!
//! Control sequences and carriage returns are left out; how a line looks on a screen is for `console::line`. A search
//! begins behind the last match.

use regex::bytes::{Regex, RegexBuilder};

/// Text kept of one console; older text is dropped, so that a console that never stops cannot fill the memory.
const KEPT: usize = 8 << 20;
const DROPPED_AT_ONCE: usize = 1 << 20;

/// A regular expression for console lines: `^` and `$` are ends of a line.
pub fn line_regex(pattern: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(pattern).multi_line(true).build()
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
enum Escape {
    #[default]
    None,
    Started,
    Sequence,
}

#[derive(Debug, Default)]
pub struct Transcript {
    text: Vec<u8>,
    escape: Escape,
    /// Where the next search begins: behind the last match.
    consumed: usize,
    /// Start of the first line that the last unsuccessful search has not seen whole.
    searched: usize,
    /// What no line may match.
    forbidden: Vec<Regex>,
    /// Start of the first line that was not yet whole when the last output came: those before were held against `forbidden`.
    watched: usize,
    /// The first line that matched.
    said_forbidden: Option<Found>,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The whole line with the match, without its end.
    pub line: String,
    /// The expression's groups; 0 is the match itself.
    pub groups: Vec<Option<String>>,
}

impl Transcript {
    /// Appends output of the console.
    pub fn push(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            match (self.escape, byte) {
                (Escape::None, 0x1b) => self.escape = Escape::Started,
                (Escape::None, b'\r' | 0) => {}
                (Escape::None, _) => self.text.push(byte),
                (Escape::Started, b'[') => self.escape = Escape::Sequence,
                (Escape::Started, _) => self.escape = Escape::None,
                (Escape::Sequence, 0x40..=0x7e) => self.escape = Escape::None,
                (Escape::Sequence, _) => {}
            }
        }
        if bytes.contains(&b'\n') {
            self.watch();
        }
        if self.text.len() > KEPT {
            self.text.drain(..DROPPED_AT_ONCE);
            self.consumed = self.consumed.saturating_sub(DROPPED_AT_ONCE);
            self.searched = self.searched.saturating_sub(DROPPED_AT_ONCE);
            self.watched = self.watched.saturating_sub(DROPPED_AT_ONCE);
        }
    }

    /// From now on no line that comes may match `regex`.
    pub fn forbid(&mut self, regex: Regex) {
        self.forbidden.push(regex);
    }

    /// The first whole line that has come and was forbidden. It stays known when its text is dropped.
    pub fn forbidden(&self) -> Option<&Found> {
        self.said_forbidden.as_ref()
    }

    /// Like `forbidden`, but of the line that is not yet whole, too.
    pub fn forbidden_so_far(&self) -> Option<Found> {
        self.said_forbidden.clone().or_else(|| self.first_forbidden(self.text.len()))
    }

    /// Holds the lines that have become whole against what is forbidden.
    fn watch(&mut self) {
        let Some(end) = self.text[self.watched..].iter().rposition(|&byte| byte == b'\n') else { return };
        let end = self.watched + end;
        if self.said_forbidden.is_none() {
            self.said_forbidden = self.first_forbidden(end);
        }
        self.watched = end + 1;
    }

    /// The first forbidden match in what was not watched yet, up to `end`.
    fn first_forbidden(&self, end: usize) -> Option<Found> {
        let found = self.forbidden.iter().filter_map(|regex| search(&self.text[..end], regex, self.watched));
        found.min_by_key(|(end, _)| *end).map(|(_, found)| found)
    }

    /// The first match behind the last one found; consumed by being found. A match lies within a line.
    pub fn find(&mut self, regex: &Regex) -> Option<Found> {
        let found = search(&self.text, regex, self.consumed)?;
        self.consumed = found.0;
        Some(found.1)
    }

    /// Like `find`, but of text not yet seen by an earlier `find_new`, and without consuming: for an expression that
    /// is looked for again and again while output comes in.
    pub fn find_new(&mut self, regex: &Regex) -> Option<Found> {
        let found = search(&self.text, regex, self.searched);
        self.searched = self.partial_start();
        found.map(|found| found.1)
    }

    fn partial_start(&self) -> usize {
        self.text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1)
    }

    /// All that is kept.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// The last `count` lines, an unfinished one included.
    pub fn last_lines(&self, count: usize) -> Vec<String> {
        let text = self.text.strip_suffix(b"\n").unwrap_or(&self.text);
        if text.is_empty() {
            return Vec::new();
        }
        let lines: Vec<&[u8]> = text.rsplit(|&byte| byte == b'\n').take(count).collect();
        lines.iter().rev().map(|line| String::from_utf8_lossy(line).into_owned()).collect()
    }

    /// Every line so far, an unfinished one included.
    #[cfg(test)]
    pub fn lines(&self) -> Vec<String> {
        self.last_lines(usize::MAX)
    }
}

/// The first match in `text` that begins at `from` or behind, and where it ends.
fn search(text: &[u8], regex: &Regex, from: usize) -> Option<(usize, Found)> {
    // Behind a match in the middle of a line the line is still the same one: `^` must not match there.
    let captures = regex.captures_at(text, from)?;
    let whole = captures.get(0)?;
    let start = text[..whole.start()].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
    let end = text[whole.end()..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |end| whole.end() + end);
    let string = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let groups = captures.iter().map(|group| group.map(|group| string(group.as_bytes()))).collect();
    Some((whole.end(), Found { line: string(&text[start..end]), groups }))
}

#[cfg(test)]
mod tests {
    use super::{line_regex, Transcript};

    #[test]
    fn finds_lines_in_order_and_once() {
        let mut transcript = Transcript::default();
        transcript.push(b"one 1\r\ntwo 2\r\none 3\r\n");
        let regex = line_regex(r"^one (\d)$").unwrap();
        assert_eq!(transcript.find(&regex).unwrap().groups[1].as_deref(), Some("1"));
        assert_eq!(transcript.find(&regex).unwrap().line, "one 3");
        assert!(transcript.find(&regex).is_none());
        assert!(transcript.find(&line_regex("two").unwrap()).is_none(), "what was passed over is gone");
    }

    #[test]
    fn leaves_out_control_sequences() {
        let mut transcript = Transcript::default();
        transcript.push(b"\x1b[1;32mgr");
        transcript.push(b"een\x1b[");
        transcript.push(b"0m\x1bc ~ # \x1b[6n");
        assert_eq!(transcript.lines(), ["green ~ # "]);
    }

    #[test]
    fn finds_a_match_in_a_line_that_grows() {
        let mut transcript = Transcript::default();
        let regex = line_regex("login: $").unwrap();
        transcript.push(b"hello\nlog");
        assert!(transcript.find_new(&regex).is_none());
        transcript.push(b"in: ");
        assert_eq!(transcript.find_new(&regex).unwrap().line, "login: ");
    }

    #[test]
    fn a_forbidden_line_is_known_when_it_is_whole() {
        let mut transcript = Transcript::default();
        transcript.push(b"error 1\n");
        transcript.forbid(line_regex("^error$|panic").unwrap());
        transcript.forbid(line_regex("^oops").unwrap());
        transcript.push(b"an error\nerror");
        assert!(transcript.forbidden().is_none());
        assert_eq!(transcript.forbidden_so_far().unwrap().line, "error", "so it would be if nothing followed");
        transcript.push(b"s: 0\noop");
        assert!(transcript.forbidden_so_far().is_none());
        transcript.push(b"s\npanic\n");
        assert_eq!(transcript.forbidden().unwrap().line, "oops");
        let dots = vec![b'.'; super::KEPT];
        transcript.push(&dots);
        assert!(!transcript.text().starts_with(b"error"));
        assert_eq!(transcript.forbidden().unwrap().line, "oops", "though its text is gone");
    }

    #[test]
    fn lines_behind_dropped_text_are_watched() {
        let mut transcript = Transcript::default();
        transcript.forbid(line_regex("^panic$").unwrap());
        for _ in 0..200 {
            transcript.push(&[b'x'; 65535]);
            transcript.push(b"\n");
        }
        assert!(transcript.forbidden().is_none());
        transcript.push(b"panic\n");
        assert_eq!(transcript.forbidden().unwrap().line, "panic");
    }

    #[test]
    fn keeps_the_last_lines() {
        let mut transcript = Transcript::default();
        assert!(transcript.last_lines(3).is_empty());
        transcript.push(b"a\nb\nc\nd");
        assert_eq!(transcript.last_lines(2), ["c", "d"]);
        transcript.push(b"\n");
        assert_eq!(transcript.last_lines(2), ["c", "d"]);
    }

    #[test]
    fn an_endless_console_does_not_fill_the_memory() {
        let mut transcript = Transcript::default();
        for _ in 0..200 {
            transcript.push(&[b'x'; 65536]);
        }
        assert!(transcript.text.len() <= super::KEPT);
    }
}
