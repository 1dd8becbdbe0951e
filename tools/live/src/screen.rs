//! The person's terminal, as a whole page.

use crate::draw::{draw, Shown};
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use ratatui::crossterm::{cursor, execute};
use ratatui::Terminal;
use std::io::{stdout, Stdout};

/// The terminal's other screen, until dropped; what stood on the first one is there again then. Raw mode is the caller's.
pub struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
}

impl Screen {
    pub fn enter() -> std::io::Result<Screen> {
        execute!(stdout(), EnterAlternateScreen, Clear(ClearType::All))?;
        match Terminal::new(CrosstermBackend::new(stdout())) {
            Ok(terminal) => Ok(Screen { terminal }),
            Err(error) => {
                let _ = execute!(stdout(), LeaveAlternateScreen);
                Err(error)
            }
        }
    }

    /// Draws the page; the pane takes the room that is left of the terminal as it is now.
    pub fn draw(&mut self, shown: &mut Shown<'_>) -> std::io::Result<()> {
        self.terminal.draw(|frame| draw(frame, shown)).map(|_| ())
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        // If the terminal is gone there is nothing to restore.
        let _ = execute!(stdout(), cursor::Show, LeaveAlternateScreen);
    }
}
