//! Starting an emulator, with its serial line and its complaints at this process's end.

use super::command::CommandLine;
use super::terminal::Terminal;
use std::io::{Read, Result, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

/// Bytes kept of what the emulator itself says.
const COMPLAINTS_KEPT: usize = 8192;
/// The terminal that it draws on: a simple one, whose description every Debian has.
const TERM: &str = "vt100";

/// An emulator that runs.
pub struct Started {
    pub child: Child,
    /// Its serial line.
    pub input: Option<Box<dyn Write + Send>>,
    pub output: Option<Box<dyn Read + Send>>,
    /// What it said last, once it has ended.
    pub complaints: Option<JoinHandle<Vec<u8>>>,
}

pub fn start(command: &CommandLine) -> Result<Started> {
    if command.terminal {
        on_terminals(command)
    } else {
        on_pipes(command)
    }
}

fn on_pipes(command: &CommandLine) -> Result<Started> {
    let mut process = process(command);
    let mut child = process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let complaints = child.stderr.take().map(|stderr| std::thread::spawn(move || keep_last(stderr)));
    Ok(Started {
        input: child.stdin.take().map(|stdin| Box::new(stdin) as Box<dyn Write + Send>),
        output: child.stdout.take().map(|stdout| Box::new(stdout) as Box<dyn Read + Send>),
        child,
        complaints,
    })
}

/// The emulator's end of the serial line stays open here until the emulator has ended. So this end is there before the
/// emulator opens its own, and what it has written is read to the end.
fn on_terminals(command: &CommandLine) -> Result<Started> {
    let (screen, serial) = (Terminal::new()?, Terminal::new()?);
    let child = process(command)
        .env("SERIAL", &serial.path)
        .env("TERM", TERM)
        .stdin(screen.other.try_clone()?)
        .stdout(screen.other.try_clone()?)
        .stderr(screen.other)
        .spawn()?;
    let (own, other) = (screen.own, serial.other);
    let complaints = std::thread::spawn(move || {
        let kept = keep_last(own);
        drop(other);
        kept
    });
    Ok(Started {
        child,
        input: Some(Box::new(serial.own.try_clone()?)),
        output: Some(Box::new(serial.own)),
        complaints: Some(complaints),
    })
}

fn process(command: &CommandLine) -> Command {
    let mut process = Command::new(&command.program);
    process.args(&command.arguments).envs(command.variables());
    // A group of its own: Ctrl-C at the terminal is for this process, which then ends the emulator in good order.
    process.process_group(0);
    // SAFETY: the closure runs between fork and exec and only makes one system call; it neither allocates nor locks.
    unsafe {
        process.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            Ok(())
        });
    }
    process
}

fn keep_last(mut said: impl Read) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(read) = said.read(&mut buffer) {
        if read == 0 {
            break;
        }
        kept.extend(&buffer[..read]);
        if kept.len() > COMPLAINTS_KEPT {
            kept.drain(..kept.len() - COMPLAINTS_KEPT);
        }
    }
    kept
}
