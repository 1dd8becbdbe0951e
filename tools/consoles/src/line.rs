//! One console's current line, as a terminal would show it.
//!
//! It follows the few control characters with which shells and kernels edit a line. Everything else that moves about
//! the screen is left out, because a line of one console shares the screen with those of others.

#[derive(Debug, Default)]
pub struct Line {
    cells: Vec<char>,
    cursor: usize,
    escape: Option<Vec<u8>>,
    /// Bytes of a character that is not complete yet.
    utf8: Vec<u8>,
}

impl Line {
    /// Takes one byte; true if it ended the line, whose text `take` then gives.
    pub fn push(&mut self, byte: u8) -> bool {
        if let Some(sequence) = &mut self.escape {
            sequence.push(byte);
            let complete = if sequence[0] == b'[' { sequence.len() > 1 && (0x40..=0x7e).contains(&byte) } else { true };
            if complete {
                let sequence = self.escape.take().unwrap_or_default();
                self.control(&sequence);
            }
            return false;
        }
        match byte {
            b'\n' => return true,
            b'\r' => self.cursor = 0,
            8 => self.cursor = self.cursor.saturating_sub(1),
            b'\t' => self.put_text("    "),
            0x1b => self.escape = Some(Vec::new()),
            0x20..=0x7e => self.put(char::from(byte)),
            0x80..=0xff => self.push_utf8(byte),
            _ => {}
        }
        false
    }

    fn push_utf8(&mut self, byte: u8) {
        self.utf8.push(byte);
        match std::str::from_utf8(&self.utf8) {
            Ok(text) => {
                let text = text.to_string();
                self.utf8.clear();
                self.put_text(&text);
            }
            Err(error) if error.error_len().is_some() || self.utf8.len() >= 4 => {
                self.utf8.clear();
                self.put(char::REPLACEMENT_CHARACTER);
            }
            Err(_) => {}
        }
    }

    fn put_text(&mut self, text: &str) {
        text.chars().for_each(|c| self.put(c));
    }

    fn put(&mut self, c: char) {
        if self.cursor < self.cells.len() {
            self.cells[self.cursor] = c;
        } else {
            self.cells.resize(self.cursor, ' ');
            self.cells.push(c);
        }
        self.cursor += 1;
    }

    /// Obeys `[ parameters final`: moving along the line and erasing in it.
    fn control(&mut self, sequence: &[u8]) {
        let [b'[', parameters @ .., last] = sequence else { return };
        let text = std::str::from_utf8(parameters).unwrap_or("");
        let count: usize = text.parse().unwrap_or(0);
        match last {
            b'C' => self.cursor += count.clamp(1, 1000),
            b'D' => self.cursor = self.cursor.saturating_sub(count.max(1)),
            b'G' => self.cursor = count.clamp(1, 1000) - 1,
            b'J' | b'K' if count == 0 => self.cells.truncate(self.cursor),
            b'J' | b'K' if count == 2 => self.cells.clear(),
            b'P' => {
                let start = self.cursor.min(self.cells.len());
                let end = (start + count.max(1)).min(self.cells.len());
                self.cells.drain(start..end);
            }
            b'@' => {
                let start = self.cursor.min(self.cells.len());
                self.cells.splice(start..start, std::iter::repeat_n(' ', count.clamp(1, 1000)));
            }
            _ => {}
        }
    }

    /// The line as it stands.
    pub fn text(&self) -> String {
        self.cells.iter().collect()
    }

    pub fn is_empty(&self) -> bool {
        self.cells.is_empty()
    }

    /// Where the next character goes.
    pub fn cursor(&self) -> usize {
        self.cursor
    }

    /// The finished line; the next one begins.
    pub fn take(&mut self) -> String {
        let text = self.text();
        self.cells.clear();
        self.cursor = 0;
        self.utf8.clear();
        text.trim_end().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::Line;

    fn shown(bytes: &[u8]) -> String {
        let mut line = Line::default();
        bytes.iter().for_each(|&byte| assert!(!line.push(byte)));
        line.text()
    }

    #[test]
    fn edits_as_a_terminal_does() {
        assert_eq!(shown(b"abc\x08\x08X"), "aXc");
        assert_eq!(shown(b"~ # ls\x1b[J"), "~ # ls");
        assert_eq!(shown(b"~ # lsx\x08\x1b[J"), "~ # ls");
        assert_eq!(shown(b"10%\r20%"), "20%");
        assert_eq!(shown(b"\x1b[1;31mred\x1b[0m\x1b[6n"), "red");
        assert_eq!(shown("grün ✓".as_bytes()), "grün ✓");
        assert_eq!(shown(b"a\xffb"), "a\u{fffd}b");
    }

    #[test]
    fn ends_at_a_newline() {
        let mut line = Line::default();
        assert!(b"one \r".iter().all(|&byte| !line.push(byte)));
        assert!(line.push(b'\n'));
        assert_eq!(line.take(), "one");
        assert!(line.is_empty());
    }
}
