//! The person's terminal: raw mode, size, keyboard, and signals that ask this process to end.

use emulator::session::{Event, Raw};
use rustix::termios::{tcgetattr, tcgetwinsize, tcsetattr, OptionalActions, Termios};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{stdin, stdout, Read};
use std::sync::mpsc::Sender;

/// Raw mode of the terminal at standard input, until dropped.
pub struct RawMode {
    before: Termios,
}

impl RawMode {
    /// Enters raw mode: each key arrives at once, and Ctrl-C is a key like others.
    pub fn enter() -> std::io::Result<RawMode> {
        let before = tcgetattr(stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(stdin(), OptionalActions::Flush, &raw)?;
        Ok(RawMode { before })
    }
}

impl Drop for RawMode {
    fn drop(&mut self) {
        // If the terminal is gone there is nothing to restore.
        let _ = tcsetattr(stdin(), OptionalActions::Flush, &self.before);
    }
}

/// Columns of the terminal at standard output.
pub fn columns() -> usize {
    tcgetwinsize(stdout()).map_or(80, |size| usize::from(size.ws_col)).max(20)
}

/// Reports every key to `sender` from now on.
pub fn read_keys(sender: Sender<Raw>) {
    std::thread::spawn(move || {
        let mut buffer = [0; 1024];
        loop {
            let event = match stdin().read(&mut buffer) {
                Ok(0) | Err(_) => Event::TypedEnd,
                Ok(read) => Event::Typed(buffer[..read].to_vec()),
            };
            let last = matches!(event, Event::TypedEnd);
            if sender.send(Raw::Other(event)).is_err() || last {
                return;
            }
        }
    });
}

/// Reports signals that ask for the end to `sender`, instead of dying from them.
pub fn watch_signals(sender: Sender<Raw>) -> std::io::Result<()> {
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    std::thread::spawn(move || {
        for signal in signals.forever() {
            if sender.send(Raw::Other(Event::Signal(signal))).is_err() {
                return;
            }
        }
    });
    Ok(())
}
