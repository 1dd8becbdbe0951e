//! The part of the screen on which the consoles' lines appear, and what has left it at the top.

use std::io::Write;
use vt100::Parser;

/// Bytes kept for scrolling.
const KEPT: usize = 512 << 10;
const DROPPED_AT_ONCE: usize = 64 << 10;
/// Lines that can be scrolled back.
const LINES: u16 = 5000;

/// No smaller ones are laid out; of a smaller place the top left of this is seen.
const LEAST_ROWS: u16 = 2;
const LEAST_COLUMNS: u16 = 20;

/// What is written to it is shown at its end unless it is scrolled back; then it stands still.
pub struct Pane {
    rows: u16,
    columns: u16,
    written: Vec<u8>,
    live: Parser,
    back: Option<Back>,
}

/// All lines as they were when scrolling began, and the first of them that is seen.
struct Back {
    lines: Parser,
    count: u16,
    top: u16,
}

impl Pane {
    pub fn new(rows: u16, columns: u16) -> Pane {
        let (rows, columns) = (rows.max(LEAST_ROWS), columns.max(LEAST_COLUMNS));
        Pane { rows, columns, written: Vec::new(), live: Parser::new(rows, columns, 0), back: None }
    }

    /// Makes it this large; what it shows is laid out anew.
    pub fn resize(&mut self, rows: u16, columns: u16) {
        let (rows, columns) = (rows.max(LEAST_ROWS), columns.max(LEAST_COLUMNS));
        if (rows, columns) != (self.rows, self.columns) {
            (self.rows, self.columns, self.back) = (rows, columns, None);
            self.live = Parser::new(rows, columns, 0);
            self.live.process(&self.written);
        }
    }

    /// Moves by a page, back or forward again.
    pub fn scroll(&mut self, is_back: bool) {
        if self.back.is_none() && is_back {
            let mut lines = Parser::new(LINES, self.columns, 0);
            lines.process(&self.written);
            let count = lines.screen().cursor_position().0 + 1;
            self.back = Some(Back { lines, count, top: count.saturating_sub(self.rows) });
        }
        let page = self.rows.saturating_sub(1).max(1);
        let Some(back) = &mut self.back else { return };
        let end = back.count.saturating_sub(self.rows);
        if is_back {
            back.top = back.top.saturating_sub(page);
        } else if back.top + page < end {
            back.top += page;
        } else {
            self.back = None;
        }
    }

    /// Shows the end again.
    pub fn follow(&mut self) {
        self.back = None;
    }

    /// Lines below those that are seen; none while the end is shown.
    pub fn below(&self) -> Option<u16> {
        self.back.as_ref().map(|back| back.count.saturating_sub(back.top + self.rows))
    }

    /// The cell at a place, and where the cursor is unless it is scrolled back.
    pub fn cell(&self, row: u16, column: u16) -> Option<&vt100::Cell> {
        match &self.back {
            Some(back) => back.lines.screen().cell(back.top + row, column),
            None => self.live.screen().cell(row, column),
        }
    }

    pub fn cursor(&self) -> Option<(u16, u16)> {
        self.back.is_none().then(|| self.live.screen().cursor_position())
    }

    pub fn size(&self) -> (u16, u16) {
        (self.rows, self.columns)
    }
}

impl Write for Pane {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.live.process(bytes);
        self.written.extend_from_slice(bytes);
        if self.written.len() > KEPT {
            // Whole lines go, so that no sequence is cut.
            let cut = self.written[DROPPED_AT_ONCE..].iter().position(|byte| *byte == b'\n');
            self.written.drain(..cut.map_or(self.written.len(), |at| DROPPED_AT_ONCE + at + 1));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::Pane;
    use std::io::Write;

    fn line(pane: &Pane, row: u16) -> String {
        (0..pane.size().1).filter_map(|column| pane.cell(row, column)).map(vt100::Cell::contents).collect()
    }

    #[test]
    fn scrolling_shows_what_has_left_and_stands_still() {
        let mut pane = Pane::new(4, 20);
        for number in 0..20 {
            write!(pane, "line {number}\r\n").unwrap();
        }
        assert_eq!(line(&pane, 0), "line 17");
        pane.scroll(true);
        assert_eq!((line(&pane, 0), pane.below(), pane.cursor()), ("line 14".to_string(), Some(3), None));
        write!(pane, "more\r\n").unwrap();
        assert_eq!(line(&pane, 0), "line 14");
        (0..9).for_each(|_| pane.scroll(true));
        assert_eq!(line(&pane, 0), "line 0", "not beyond the first");
        (0..9).for_each(|_| pane.scroll(false));
        assert_eq!((line(&pane, 0), line(&pane, 2), pane.below()), ("line 18".to_string(), "more".to_string(), None));
    }

    #[test]
    fn another_size_lays_out_anew() {
        let mut pane = Pane::new(3, 20);
        write!(pane, "01234567890123456789abc\r\nx").unwrap();
        assert_eq!(line(&pane, 1), "abc");
        pane.resize(3, 40);
        assert_eq!((line(&pane, 0), line(&pane, 1)), ("01234567890123456789abc".to_string(), "x".to_string()));
    }

    #[test]
    fn a_run_without_end_does_not_fill_the_memory() {
        let mut pane = Pane::new(3, 20);
        for _ in 0..100_000 {
            pane.write_all(b"01234567890123456789\r\n").unwrap();
        }
        assert!(pane.written.len() <= super::KEPT && pane.written.starts_with(b"0123"));
    }
}
