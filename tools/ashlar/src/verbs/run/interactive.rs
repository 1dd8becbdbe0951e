//! The user's side of a run: which console the keyboard is at, and what the keys do.

use crate::console::keys::{key_of, Action, Keys};
use crate::console::terminal::{read_keys, RawMode};
use crate::console::View;
use crate::emulator::Session;
use crate::failure::Failure;
use std::io::{stdin, IsTerminal, Write};

/// A keyboard, or none in a headless run.
pub struct Keyboard {
    on: bool,
    /// Restores the terminal when the keyboard is dropped.
    raw: Option<RawMode>,
    keys: Keys,
    selected: usize,
    consoles: usize,
}

impl Keyboard {
    /// Takes the terminal unless the run is headless. Input that is no terminal is passed on as it comes.
    pub fn new(headless: bool, names: &[String], session: &Session<'_>) -> Result<Keyboard, Failure> {
        let mut keyboard = Keyboard {
            on: !headless,
            raw: None,
            keys: Keys::default(),
            selected: names.len().min(2).saturating_sub(1),
            consoles: names.len(),
        };
        if keyboard.on {
            if stdin().is_terminal() {
                let raw = RawMode::enter().map_err(|error| {
                    Failure::unable(format!("the terminal refuses raw mode: {error}"), "use --headless")
                })?;
                keyboard.raw = Some(raw);
            }
            read_keys(session.sender());
        }
        Ok(keyboard)
    }

    pub fn is_on(&self) -> bool {
        self.on
    }

    pub fn is_raw(&self) -> bool {
        self.raw.is_some()
    }

    /// Tells the user where the keyboard is.
    pub fn begin<W: Write>(&self, view: &mut View<W>) {
        if self.is_raw() {
            let name = view.name(self.selected);
            view.notice(&format!("[keyboard at {name}; Ctrl-] l lists the consoles, Ctrl-] q ends]"));
            view.select(self.selected);
        }
    }

    /// Does what the typed bytes ask for; true if that is to end the run.
    pub fn typed<W: Write>(&mut self, bytes: &[u8], view: &mut View<W>, session: &mut Session<'_>) -> bool {
        for action in self.keys.feed(bytes) {
            match action {
                Action::Send(bytes) => session.send(self.selected, &bytes),
                Action::Select(console) if console < self.consoles => {
                    self.selected = console;
                    let name = view.name(console);
                    view.notice(&format!("[keyboard at {name}]"));
                    view.select(console);
                }
                Action::Select(console) => view.notice(&format!("[there is no console {console}]")),
                Action::List => self.list(view),
                Action::Quit => return true,
                Action::Help => {
                    view.notice("[Ctrl-] and: a console's key, l to list them, q to end, Ctrl-] to type it]")
                }
            }
        }
        false
    }

    fn list<W: Write>(&self, view: &mut View<W>) {
        for console in 0..self.consoles {
            let name = view.name(console);
            let here = if console == self.selected { "  <- keyboard" } else { "" };
            let key = key_of(console).unwrap_or(' ');
            view.notice(&format!("[{key}  {name}{here}]"));
        }
    }
}
