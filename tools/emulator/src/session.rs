//! One run of an emulator.
//!
//! Everything that can happen (output, the end, a key, a signal) arrives as an event in one queue; nothing polls and
//! nothing sleeps. A session that is dropped ends the emulator and waits for its process, so none is left behind, and
//! should this process be killed outright, the system kills the emulator with it.

use super::command::CommandLine;
use super::mux::{Decoder, Encoder};
use super::transcript::{Found, Transcript};
use regex::bytes::Regex;
use std::io::{Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Consoles the stream can address.
pub const MAX_CONSOLES: usize = 64;
/// Bytes kept of what the emulator itself says on its standard error.
const COMPLAINTS_KEPT: usize = 8192;
/// An emulated CPU never has all features of the processor it is called after, and says so once a feature and CPU.
const NO_COMPLAINT: &str = "TCG doesn't support requested feature";

#[derive(Debug, thiserror::Error)]
#[error("{program} cannot be started: {error}")]
pub struct StartError {
    pub program: String,
    pub error: std::io::Error,
}

/// Why what was awaited did not come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum WaitError {
    #[error("time is up")]
    Timeout,
    #[error("the emulator ended first ({0})")]
    Ended(End),
}

/// How the emulator ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With this exit status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Exit(status) => write!(f, "exit status {status}"),
            End::Signal(signal) => write!(f, "signal {signal}"),
        }
    }
}

/// Something that happened.
#[derive(Debug)]
pub enum Event {
    /// Output of a console. It is in the transcript already.
    Output { console: usize, bytes: Vec<u8> },
    /// The emulator has ended, and all its output has been reported.
    Ended(End),
    /// Bytes from the user's keyboard.
    Typed(Vec<u8>),
    /// The keyboard's end.
    TypedEnd,
    /// A signal asks this process to end.
    Signal(i32),
}

/// Events as they arrive, before the stream is taken apart.
#[derive(Debug)]
pub enum Raw {
    Stream(Vec<u8>),
    StreamEnd,
    Other(Event),
}

/// Sees all output while a session waits.
pub type Observer<'a> = Box<dyn FnMut(usize, &[u8]) + 'a>;

pub struct Session<'a> {
    child: Child,
    stdin: Option<Sender<Vec<u8>>>,
    complaints: Option<JoinHandle<Vec<u8>>>,
    sender: Sender<Raw>,
    receiver: Receiver<Raw>,
    decoder: Decoder,
    encoder: Encoder,
    transcripts: Vec<Transcript>,
    queued: std::collections::VecDeque<Event>,
    end: Option<End>,
    observer: Option<Observer<'a>>,
    started: Instant,
}

impl<'a> Session<'a> {
    /// Starts the emulator. Its standard input and output must be the machine's serial line.
    pub fn start(command: &CommandLine) -> Result<Session<'a>, StartError> {
        let mut child = spawn(command).map_err(|error| StartError { program: command.program.clone(), error })?;
        let (sender, receiver) = channel();
        let stdin = child.stdin.take().map(writer);
        if let Some(stdout) = child.stdout.take() {
            let sender = sender.clone();
            std::thread::spawn(move || read_stream(stdout, &sender));
        }
        let complaints = child.stderr.take().map(|stderr| std::thread::spawn(move || keep_last(stderr)));
        Ok(Session {
            child,
            stdin,
            complaints,
            sender,
            receiver,
            decoder: Decoder::default(),
            encoder: Encoder::default(),
            transcripts: (0..MAX_CONSOLES).map(|_| Transcript::default()).collect(),
            queued: Default::default(),
            end: None,
            observer: None,
            started: Instant::now(),
        })
    }

    /// Lets `observer` see all output from now on.
    pub fn observe(&mut self, observer: Observer<'a>) {
        self.observer = Some(observer);
    }

    /// Where others can report events.
    pub fn sender(&self) -> Sender<Raw> {
        self.sender.clone()
    }

    /// When the emulator was started.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// What `console` has said.
    pub fn transcript(&mut self, console: usize) -> &mut Transcript {
        &mut self.transcripts[console]
    }

    /// The next event; none if `deadline` comes first. After the end there is only the end.
    pub fn next(&mut self, deadline: Option<Instant>) -> Option<Event> {
        loop {
            if let Some(event) = self.queued.pop_front() {
                return Some(event);
            }
            if let Some(end) = self.end {
                return Some(Event::Ended(end));
            }
            match self.receive(deadline) {
                Ok(Raw::Stream(bytes)) => self.take_apart(&bytes),
                Ok(Raw::StreamEnd) => self.reap(),
                Ok(Raw::Other(event)) => return Some(event),
                Err(RecvTimeoutError::Timeout) => return None,
                // Cannot happen while `self.sender` lives; the end is the safe answer.
                Err(RecvTimeoutError::Disconnected) => self.reap(),
            }
        }
    }

    fn receive(&self, deadline: Option<Instant>) -> Result<Raw, RecvTimeoutError> {
        match deadline {
            None => self.receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(deadline) => self.receiver.recv_timeout(deadline.saturating_duration_since(Instant::now())),
        }
    }

    fn take_apart(&mut self, bytes: &[u8]) {
        let Session { decoder, transcripts, queued, observer, .. } = self;
        decoder.feed(bytes, |console, bytes| {
            transcripts[console].push(bytes);
            if let Some(observer) = observer {
                observer(console, bytes);
            }
            queued.push_back(Event::Output { console, bytes: bytes.to_vec() });
        });
    }

    /// Waits for the process, which has closed its output.
    fn reap(&mut self) {
        self.end = Some(match self.child.wait() {
            Ok(status) => end_of(status),
            Err(_) => End::Signal(0),
        });
    }

    /// Waits until `console` shows `regex` on a line behind the last match there. Waiting for time passes over events
    /// that are not output.
    pub fn wait_for(&mut self, console: usize, regex: &Regex, timeout: Duration) -> Result<Found, WaitError> {
        let deadline = Instant::now() + timeout;
        loop {
            if let Some(found) = self.transcripts[console].find(regex) {
                return Ok(found);
            }
            match self.next_output(console, deadline)? {
                Event::Ended(end) => return Err(WaitError::Ended(end)),
                _ => continue,
            }
        }
    }

    /// The next event that can change what `console` has said: its output or the end.
    fn next_output(&mut self, console: usize, deadline: Instant) -> Result<Event, WaitError> {
        loop {
            match self.next(Some(deadline)) {
                None => return Err(WaitError::Timeout),
                Some(event @ Event::Ended(_)) => return Ok(event),
                Some(event @ Event::Output { .. }) => {
                    if matches!(event, Event::Output { console: from, .. } if from == console) {
                        return Ok(event);
                    }
                }
                Some(_) => {}
            }
        }
    }

    /// Waits until the emulator ends by itself.
    pub fn wait_end(&mut self, timeout: Duration) -> Result<End, WaitError> {
        let deadline = Instant::now() + timeout;
        loop {
            match self.next(Some(deadline)) {
                None => return Err(WaitError::Timeout),
                Some(Event::Ended(end)) => return Ok(end),
                Some(_) => {}
            }
        }
    }

    /// Types `bytes` at `console`.
    pub fn send(&mut self, console: usize, bytes: &[u8]) {
        let stream = self.encoder.encode(console, bytes);
        if let Some(stdin) = &self.stdin {
            // The writer is gone only if the emulator is; the end is then the next event.
            let _ = stdin.send(stream);
        }
    }

    /// Processor time that the emulator has taken so far, in whole ticks of the host; none where the host does not say.
    pub fn processor_time(&self) -> Option<Duration> {
        let text = std::fs::read_to_string(format!("/proc/{}/stat", self.child.id())).ok()?;
        processor_time(&text, rustix::param::clock_ticks_per_second())
    }

    /// Ends the emulator if it still runs, and gives what it wrote to standard error last, save what it always says.
    pub fn finish(&mut self) -> String {
        self.stop();
        let kept = self.complaints.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let text = String::from_utf8_lossy(&kept);
        text.lines().filter(|line| !line.contains(NO_COMPLAINT)).map(|line| format!("{line}\n")).collect()
    }

    fn stop(&mut self) {
        self.stdin = None;
        if self.end.is_none() {
            // Fails only if the process has ended already; waiting for it is right in both cases.
            let _ = self.child.kill();
            self.reap();
        }
    }
}

impl Drop for Session<'_> {
    fn drop(&mut self) {
        self.stop();
    }
}

fn spawn(command: &CommandLine) -> std::io::Result<Child> {
    let mut process = Command::new(&command.program);
    process.args(&command.arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    // A group of its own: Ctrl-C at the terminal is for this process, which then ends the emulator in good order.
    process.process_group(0);
    // SAFETY: the closure runs between fork and exec and only makes one system call; it neither allocates nor locks.
    unsafe {
        process.pre_exec(|| {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            Ok(())
        });
    }
    process.spawn()
}

/// User and system time in a process's `stat`: fields 14 and 15, counted behind the name, which may hold anything.
fn processor_time(stat: &str, ticks_per_second: u64) -> Option<Duration> {
    let (_, behind) = stat.rsplit_once(") ")?;
    let ticks: u64 = behind.split(' ').skip(11).take(2).map(|field| field.parse::<u64>().ok()).sum::<Option<u64>>()?;
    Some(Duration::from_millis(ticks * 1000 / ticks_per_second.max(1)))
}

fn end_of(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exit(code),
        (None, signal) => End::Signal(signal.unwrap_or(0)),
    }
}

/// A thread of its own writes, so that a full pipe never stops the one that reads.
fn writer(mut stdin: ChildStdin) -> Sender<Vec<u8>> {
    let (sender, receiver) = channel::<Vec<u8>>();
    std::thread::spawn(move || {
        for bytes in receiver {
            if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
                return;
            }
        }
    });
    sender
}

fn read_stream(mut stdout: impl Read, sender: &Sender<Raw>) {
    let mut buffer = vec![0; 65536];
    loop {
        let read = match stdout.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            Err(_) => break,
        };
        if sender.send(Raw::Stream(buffer[..read].to_vec())).is_err() {
            return;
        }
    }
    let _ = sender.send(Raw::StreamEnd);
}

fn keep_last(mut stderr: impl Read) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(read) = stderr.read(&mut buffer) {
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

#[cfg(test)]
mod tests;
