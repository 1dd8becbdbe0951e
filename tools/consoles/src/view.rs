//! All consoles on one screen or in one log: each line behind its console's name.
//!
//! An unfinished line, such as a prompt, is shown when `quiet` is called, after a pause in the output; on a terminal it
//! is wiped when another console writes, and drawn again afterwards.

use super::line::Line;
use std::io::Write;

const COLOURS: [u8; 6] = [36, 32, 33, 35, 34, 31];

/// How the screen is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Style {
    pub colour: bool,
    /// A terminal: an unfinished line is drawn again in place. Else nothing already written changes.
    pub terminal: bool,
    /// The terminal is in raw mode: lines end with carriage return and newline.
    pub raw: bool,
    /// Columns of the terminal.
    pub columns: usize,
}

impl Style {
    /// For files and pipes.
    pub const PLAIN: Style = Style { colour: false, terminal: false, raw: false, columns: usize::MAX };
}

#[derive(Debug, Default)]
struct Console {
    name: String,
    line: Line,
    /// The unfinished line has changed since it was shown.
    changed: bool,
    /// Nothing of it is shown.
    muted: bool,
}

pub struct View<W: Write> {
    out: W,
    style: Style,
    width: usize,
    consoles: Vec<Console>,
    selected: Option<usize>,
    /// Only this console is shown.
    only: Option<usize>,
    /// The console whose unfinished line stands at the cursor, and what of it has been written.
    open: Option<(usize, String)>,
}

impl<W: Write> View<W> {
    /// A view of the consoles with these names, in the order of their numbers.
    pub fn new(out: W, names: &[String], style: Style) -> View<W> {
        let consoles = names.iter().map(|name| Console { name: name.clone(), ..Console::default() }).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        View { out, style, width, consoles, selected: None, only: None, open: None }
    }

    /// Where it writes.
    pub fn out(&mut self) -> &mut W {
        &mut self.out
    }

    /// The terminal has so many columns now.
    pub fn set_columns(&mut self, columns: usize) {
        self.style.columns = columns;
    }

    pub fn count(&self) -> usize {
        self.consoles.len()
    }

    /// Whether nothing of it is shown, for whatever reason.
    pub fn is_hidden(&self, console: usize) -> bool {
        !self.is_shown(console)
    }

    pub fn selected(&self) -> Option<usize> {
        self.selected
    }

    /// Hides a console, or shows it again. Lines that come while it is hidden are not kept.
    pub fn mute(&mut self, console: usize, muted: bool) {
        self.close();
        self.console(console).muted = muted;
        self.quiet();
    }

    pub fn is_muted(&self, console: usize) -> bool {
        self.consoles.get(console).is_some_and(|console| console.muted)
    }

    /// Shows only this console, or all that are not hidden again.
    pub fn show_only(&mut self, console: Option<usize>) {
        self.close();
        self.only = console;
        self.quiet();
    }

    pub fn shows_only_one(&self) -> bool {
        self.only.is_some()
    }

    fn is_shown(&self, console: usize) -> bool {
        !self.consoles[console].muted && self.only.is_none_or(|only| only == console)
    }

    /// Shows the unfinished line of this console only, the one that the keyboard is at.
    pub fn select(&mut self, console: usize) {
        self.selected = Some(console);
        self.only = self.only.and(self.selected);
        self.close();
        self.console(console).changed = true;
        self.quiet();
    }

    /// The console's name; consoles without one are numbered.
    pub fn name(&mut self, console: usize) -> String {
        self.console(console).name.clone()
    }

    fn console(&mut self, console: usize) -> &mut Console {
        while self.consoles.len() <= console {
            let name = format!("console{}", self.consoles.len());
            self.consoles.push(Console { name, ..Console::default() });
        }
        &mut self.consoles[console]
    }

    /// Takes output. Finished lines are written at once.
    pub fn feed(&mut self, console: usize, bytes: &[u8]) {
        self.console(console).changed = true;
        for &byte in bytes {
            if self.consoles[console].line.push(byte) {
                let text = self.consoles[console].line.take();
                if self.is_shown(console) {
                    self.finished(console, &text);
                }
            }
        }
        if self.consoles[console].line.is_empty() {
            self.consoles[console].changed = self.open.as_ref().is_some_and(|open| open.0 == console);
        }
        self.flush();
    }

    /// Nothing has come for a while: shows unfinished lines. True if there may be more to show later.
    pub fn quiet(&mut self) {
        let shown: Vec<usize> = (0..self.consoles.len()).filter(|&index| self.is_pending(index)).collect();
        for console in shown {
            self.consoles[console].changed = false;
            self.draw(console);
        }
        self.flush();
    }

    /// An unfinished line waits for `quiet`.
    pub fn has_pending(&self) -> bool {
        (0..self.consoles.len()).any(|index| self.is_pending(index))
    }

    fn is_pending(&self, console: usize) -> bool {
        let selected = self.selected.is_none_or(|selected| selected == console);
        selected && self.consoles[console].changed && self.is_shown(console)
    }

    /// A line of the tool's own.
    pub fn notice(&mut self, text: &str) {
        self.close();
        let end = self.line_end();
        self.write(&format!("{text}{end}"));
        self.quiet();
    }

    /// Writes all that is unfinished, and leaves the cursor at the start of a line.
    pub fn end(&mut self) {
        self.selected = None;
        self.quiet();
        if self.open.take().is_some() {
            let end = self.line_end();
            self.write(end);
        }
        self.flush();
    }

    fn finished(&mut self, console: usize, text: &str) {
        let prefix = self.prefix(console);
        let end = self.line_end();
        let continued = match &self.open {
            Some((open, written)) if *open == console && !self.style.terminal => text.strip_prefix(written.as_str()),
            _ => None,
        };
        if let Some(rest) = continued {
            let rest = format!("{rest}{end}");
            self.open = None;
            self.write(&rest);
        } else {
            self.close();
            self.write(&format!("{prefix}{text}{end}"));
        }
    }

    /// Draws the unfinished line of `console` at the cursor.
    fn draw(&mut self, console: usize) {
        let text = self.consoles[console].line.text();
        let same = self.open.as_ref().is_some_and(|open| open.0 == console);
        if text.is_empty() && !same {
            return;
        }
        let grown = self.open.as_ref().filter(|open| open.0 == console).and_then(|open| text.strip_prefix(&open.1));
        if let (Some(rest), false) = (grown, self.style.terminal) {
            let rest = rest.to_string();
            self.write(&rest);
        } else {
            self.close();
            let line = self.prefix(console) + &self.visible(console, &text);
            self.write(&line);
        }
        self.open = Some((console, text));
    }

    /// What of an unfinished line fits on the terminal, with the cursor where the console has it.
    fn visible(&self, console: usize, text: &str) -> String {
        if !self.style.terminal {
            return text.to_string();
        }
        let room = self.style.columns.saturating_sub(self.width + 4).max(8);
        let length = text.chars().count();
        let skipped = length.saturating_sub(room);
        let mut shown: String = text.chars().skip(skipped).collect();
        let cursor = self.consoles[console].line.cursor();
        if cursor < length {
            shown += &format!("\x1b[{}D", length - cursor.max(skipped));
        }
        shown
    }

    /// Makes the cursor stand at the start of a line.
    fn close(&mut self) {
        if let Some((console, _)) = self.open.take() {
            if self.style.terminal {
                self.write("\r\x1b[K");
                // It was wiped, so it must be drawn again.
                self.consoles[console].changed = true;
            } else {
                let end = self.line_end();
                self.write(end);
            }
        }
    }

    fn prefix(&self, console: usize) -> String {
        let name = format!("{:width$}", self.consoles[console].name, width = self.width);
        if self.style.colour {
            let colour = COLOURS[console % COLOURS.len()];
            format!("\x1b[{colour}m{name} |\x1b[0m ")
        } else {
            format!("{name} | ")
        }
    }

    fn line_end(&self) -> &'static str {
        if self.style.raw {
            "\r\n"
        } else {
            "\n"
        }
    }

    fn write(&mut self, text: &str) {
        // A reader that went away (`| head`) is no reason to stop the machine; the run ends by its own conditions.
        let _ = self.out.write_all(text.as_bytes());
    }

    fn flush(&mut self) {
        let _ = self.out.flush();
    }
}

#[cfg(test)]
mod tests {
    use super::{Style, View};

    fn names() -> Vec<String> {
        ["kernel", "vm0"].map(String::from).to_vec()
    }

    fn log(act: impl Fn(&mut View<&mut Vec<u8>>)) -> String {
        let mut out = Vec::new();
        let mut view = View::new(&mut out, &names(), Style::PLAIN);
        act(&mut view);
        view.end();
        drop(view);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_of_consoles_do_not_mix() {
        let text = log(|view| {
            view.feed(1, b"Linux ver");
            view.feed(0, b"4 CPUs\r\n");
            view.feed(1, b"sion\r\n");
        });
        assert_eq!(text, "kernel | 4 CPUs\nvm0    | Linux version\n");
    }

    #[test]
    fn a_prompt_shows_when_it_is_quiet_and_goes_on() {
        let text = log(|view| {
            view.feed(1, b"~ # ");
            assert!(view.has_pending());
            view.quiet();
            assert!(!view.has_pending());
            view.feed(1, b"ls");
            view.quiet();
            view.feed(0, b"tick\n");
            view.feed(1, b" /\n");
        });
        assert_eq!(text, "vm0    | ~ # ls\nkernel | tick\nvm0    | ~ # ls /\n");
    }

    #[test]
    fn a_muted_console_is_silent_until_it_is_shown_again() {
        let text = log(|view| {
            view.mute(0, true);
            view.feed(0, b"tick 1\ntick");
            assert!(!view.has_pending());
            view.feed(1, b"Linux\n");
            view.mute(0, false);
            view.feed(0, b" 2\n");
        });
        assert_eq!(text, "vm0    | Linux\nkernel | tick 2\n");
    }

    #[test]
    fn only_the_selected_console_is_shown_and_then_all_again() {
        let text = log(|view| {
            view.select(1);
            view.show_only(Some(1));
            view.feed(0, b"tick\n");
            view.feed(1, b"Linux\n");
            view.select(0);
            view.feed(0, b"tock\n");
            view.show_only(None);
            view.feed(1, b"on\n");
        });
        assert_eq!(text, "vm0    | Linux\nkernel | tock\nvm0    | on\n");
    }

    #[test]
    fn what_is_unfinished_shows_at_the_end() {
        assert_eq!(log(|view| view.feed(7, b"panic")), "console7 | panic\n");
    }

    #[test]
    fn a_terminal_draws_the_selected_prompt_again() {
        let mut out = Vec::new();
        let style = Style { colour: false, terminal: true, raw: true, columns: 80 };
        let mut view = View::new(&mut out, &names(), style);
        view.select(1);
        view.feed(1, b"~ # ");
        view.quiet();
        view.feed(0, b"tick\n");
        assert!(view.has_pending());
        view.quiet();
        drop(view);
        assert_eq!(String::from_utf8(out).unwrap(), "vm0    | ~ # \r\x1b[Kkernel | tick\r\nvm0    | ~ # ");
    }
}
