//! A machine and the gdb that controls it: consoles are shown while it runs, the terminal's input is gdb's.

use builder::Built;
use consoles::view::Style;
use consoles::{terminal, View};
use emulator::session::Raw;
use emulator::{Event, Session};
use output::Failure;
use rustix::process::{kill_process, Pid, Signal};
use std::io::stdout;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;

/// What ended it.
#[derive(Debug)]
pub enum Over {
    Gdb(ExitStatus),
    Signal(i32),
}

/// Lets gdb control the machine until gdb ends, or a signal asks this process to end.
pub fn converse(mut gdb: Command, built: &Built, session: &mut Session<'_>) -> Result<Over, Failure> {
    terminal::watch_signals(session.sender())
        .map_err(|error| Failure::unable(format!("signals cannot be watched: {error}"), ""))?;
    let started = |error| Failure::unable(format!("gdb cannot be started: {error}"), "run ./ashlar doctor");
    let child = gdb.spawn().map_err(started)?;
    let process = Pid::from_child(&child);
    let waiting = wait_for(child, session.sender());
    let names: Vec<String> = built.system.consoles.iter().map(|console| console.name.clone()).collect();
    let mut view = View::new(Box::new(stdout()), &names, Style::PLAIN);
    let signal = loop {
        match session.next(None) {
            Some(Event::Output { console, bytes }) => view.feed(console, &bytes),
            // The machine's end is not gdb's: what it knows can still be looked at.
            Some(Event::Ended(_) | Event::TypedEnd) => break None,
            // Ctrl-C at the terminal is for gdb, which then stops the machine.
            Some(Event::Signal(2)) | Some(Event::Typed(_)) | None => {}
            Some(Event::Signal(signal)) => break Some(signal),
        }
    };
    view.end();
    if let Some(signal) = signal {
        // If it has just ended there is nothing to do.
        let _ = kill_process(process, Signal::TERM);
        return Ok(Over::Signal(signal));
    }
    match waiting.join() {
        Ok(Ok(status)) => Ok(Over::Gdb(status)),
        Ok(Err(error)) => Err(Failure::unable(format!("gdb cannot be waited for: {error}"), "")),
        Err(_) => Err(Failure::unable("the thread that waits for gdb ended", "")),
    }
}

/// gdb has the keyboard, so its end is reported as the keyboard's.
fn wait_for(mut child: Child, sender: Sender<Raw>) -> JoinHandle<std::io::Result<ExitStatus>> {
    std::thread::spawn(move || {
        let status = child.wait();
        // The receiver is gone if the machine has ended before.
        let _ = sender.send(Raw::Other(Event::TypedEnd));
        status
    })
}
