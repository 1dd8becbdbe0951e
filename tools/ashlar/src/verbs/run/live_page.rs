//! The live page while a system runs.

use super::interactive::Asked;
use super::observer::{Latest, Observer};
use super::out::Out;
use consoles::keys::key_of;
use consoles::View;
use live::{Screen, Shown, Tab};
use output::Failure;
use std::io::{stdin, stdout, IsTerminal};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The page is drawn at most so often.
const LEAST: Duration = Duration::from_millis(40);
/// ... and at least so often, because the numbers change.
const MOST: Duration = Duration::from_millis(250);

pub struct LivePage {
    screen: Screen,
    latest: Arc<Mutex<Latest>>,
    number: u64,
    drawn: Instant,
    has_changed: bool,
    first_row: usize,
    turn: bool,
    colour: bool,
}

/// Refuses a run whose input or output is no terminal, or one that cannot be drawn on.
pub fn check_terminal() -> Result<(), Failure> {
    if !stdin().is_terminal() || !stdout().is_terminal() {
        return Err(Failure::unable("--view draws on a terminal, and this is none", "leave it out, or use --headless"));
    }
    match std::env::var("TERM") {
        Ok(term) if term != "dumb" => Ok(()),
        _ => Err(Failure::unable(
            "--view cannot draw on this terminal: TERM is dumb or not set",
            "leave it out, or set TERM",
        )),
    }
}

impl LivePage {
    /// Takes the whole terminal, and lets the observer begin. Raw mode is entered already.
    pub fn enter(observer: Observer, colour: bool, started: Instant) -> Result<LivePage, Failure> {
        let screen = Screen::enter().map_err(unusable)?;
        let latest = observer.start(started);
        let drawn = Instant::now();
        Ok(LivePage { screen, latest, number: 0, drawn, has_changed: true, first_row: 0, turn: false, colour })
    }

    /// There is something new to draw.
    pub fn has_changed(&mut self) {
        self.has_changed = true;
    }

    /// When it is to be drawn again.
    pub fn due(&self) -> Instant {
        self.drawn + if self.has_changed { LEAST } else { MOST }
    }

    /// Does what keys ask of the page. Whatever else is typed brings the consoles' end back.
    pub fn typed(&mut self, asked: &[Asked], view: &mut View<Out>) {
        let Out::Pane(pane) = view.out() else { return };
        if asked.is_empty() {
            pane.follow();
        }
        for asked in asked {
            match asked {
                Asked::Back => pane.scroll(true),
                Asked::Forward => pane.scroll(false),
                Asked::Next => self.turn = true,
                Asked::Quit => {}
            }
        }
        self.has_changed = true;
    }

    pub fn draw_if_due(&mut self, view: &mut View<Out>) -> Result<(), Failure> {
        if Instant::now() < self.due() {
            return Ok(());
        }
        let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
        if latest.number == self.number && !self.has_changed {
            self.drawn = Instant::now();
            return Ok(());
        }
        self.number = latest.number;
        let tabs = tabs(view);
        let Out::Pane(pane) = view.out() else { return Ok(()) };
        let mut shown = Shown {
            page: &latest.page,
            tabs: &tabs,
            pane,
            first_row: &mut self.first_row,
            turn: std::mem::take(&mut self.turn),
            colour: self.colour,
        };
        self.screen.draw(&mut shown).map_err(unusable)?;
        let columns = pane.size().1;
        drop(latest);
        view.set_columns(usize::from(columns));
        (self.drawn, self.has_changed) = (Instant::now(), false);
        Ok(())
    }
}

fn tabs(view: &mut View<Out>) -> Vec<Tab> {
    let selected = view.selected();
    (0..view.count())
        .map(|console| Tab {
            name: view.name(console),
            key: key_of(console),
            is_selected: selected == Some(console),
            is_muted: view.is_hidden(console),
        })
        .collect()
}

fn unusable(error: std::io::Error) -> Failure {
    Failure::unable(format!("the terminal cannot be drawn on: {error}"), "leave --view out")
}
