//! The user's side of a run: which console the keyboard is at, and what the keys do.

use consoles::keys::{key_of, Action, Keys};
use consoles::terminal::{read_keys, RawMode};
use consoles::View;
use emulator::Session;
use output::Failure;
use std::io::{stdin, IsTerminal, Write};
use system::ConsoleInfo;

/// A keyboard, or none in a headless run.
pub struct Keyboard<'a> {
    on: bool,
    /// Restores the terminal when the keyboard is dropped.
    raw: Option<RawMode>,
    keys: Keys,
    selected: usize,
    consoles: &'a [ConsoleInfo],
    /// It has been said that the selected console has no reader.
    warned: bool,
    help: &'static str,
}

/// What the typed keys ask of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    Quit,
    /// Of the live page.
    Back,
    Forward,
    Next,
}

impl<'a> Keyboard<'a> {
    /// Takes the terminal unless the run is headless. Input that is no terminal is passed on as it comes. The keyboard
    /// is first at the console `selected`.
    pub fn new(
        headless: bool,
        consoles: &'a [ConsoleInfo],
        selected: usize,
        session: &Session<'_>,
    ) -> Result<Keyboard<'a>, Failure> {
        let mut keyboard =
            Keyboard { on: !headless, raw: None, keys: Keys::default(), selected, consoles, warned: false, help: HELP };
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

    /// The keyboard of a live page, which has further keys.
    pub fn of_page(mut self) -> Keyboard<'a> {
        self.help = HELP_OF_PAGE;
        self
    }

    pub fn is_on(&self) -> bool {
        self.on
    }

    pub fn is_raw(&self) -> bool {
        self.raw.is_some()
    }

    /// Says where the keyboard is.
    pub fn begin<W: Write>(&self, view: &mut View<W>) {
        if self.is_raw() {
            let name = view.name(self.selected);
            view.notice(&format!("[typing at {name}; Ctrl-] l lists the consoles and keys, Ctrl-] q ends]"));
            view.select(self.selected);
        }
    }

    /// Does what the typed bytes ask of consoles, and returns what else they ask for.
    pub fn typed<W: Write>(&mut self, bytes: &[u8], view: &mut View<W>, session: &mut Session<'_>) -> Vec<Asked> {
        let mut asked = Vec::new();
        for action in self.keys.feed(bytes) {
            match action {
                Action::Send(bytes) => {
                    self.warn(view);
                    session.send(self.selected, &bytes);
                }
                Action::Select(console) | Action::Mute(console) if console >= self.consoles.len() => {
                    view.notice(&format!("[there is no console {console}]"));
                }
                Action::Select(console) => self.select(console, view),
                Action::Mute(console) => {
                    let name = view.name(console);
                    let muted = !view.is_muted(console);
                    view.mute(console, muted);
                    view.notice(&format!("[{name} is {}]", if muted { "hidden" } else { "shown again" }));
                }
                Action::Only => {
                    let only = (!view.shows_only_one()).then_some(self.selected);
                    view.show_only(only);
                    let name = view.name(self.selected);
                    view.notice(&only.map_or("[all are shown again]".into(), |_| format!("[only {name} is shown]")));
                }
                Action::List => self.list(view),
                Action::Quit => asked.push(Asked::Quit),
                Action::Back => asked.push(Asked::Back),
                Action::Forward => asked.push(Asked::Forward),
                Action::Next => asked.push(Asked::Next),
                Action::Help => view.notice(self.help),
            }
        }
        asked
    }

    /// Moves the keyboard. A console that is typed at is one to look at, so it is shown.
    fn select<W: Write>(&mut self, console: usize, view: &mut View<W>) {
        self.selected = console;
        self.warned = false;
        view.mute(console, false);
        let name = view.name(console);
        view.notice(&format!("[typing at {name}]"));
        view.select(console);
    }

    /// Says, once, that the console typed at has no reader. The kernel keeps what is typed until its ring is full, so a
    /// program that polls its console still gets it.
    fn warn<W: Write>(&mut self, view: &mut View<W>) {
        let console = &self.consoles[self.selected];
        if !self.warned && !console.has_reader {
            self.warned = true;
            let name = &console.name;
            view.notice(&format!(
                "[{name} has no reader: the description gives it no `input`; Ctrl-] l lists the consoles]"
            ));
        }
    }

    fn list<W: Write>(&self, view: &mut View<W>) {
        for (index, console) in self.consoles.iter().enumerate() {
            let key = key_of(index).unwrap_or(' ');
            let reader = if console.has_reader { "" } else { "  no reader" };
            let hidden = if view.is_muted(index) { "  hidden" } else { "" };
            let here = if index == self.selected { "  <- typing here" } else { "" };
            view.notice(&format!("[{key}  {}{reader}{hidden}{here}]", console.name));
        }
        view.notice(self.help);
    }
}

const HELP: &str =
    "[Ctrl-] and: a console's key to type there, m and such a key to hide or show it, o to show only the \
                    console typed at, l to list them, q to end, Ctrl-] to type it]";
const HELP_OF_PAGE: &str = "[Ctrl-] and: a console's key to type there, m and such a key to hide or show it, o to show only the \
                            console typed at, p and n to scroll back and forward, t for the next processes, l to list the \
                            consoles, q to end, Ctrl-] to type it]";
