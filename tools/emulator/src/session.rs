//! One run of an emulator.
//!
//! Everything that can happen (output, the end, a key, a signal) arrives as an event in one queue; nothing polls and
//! nothing sleeps. A session that is dropped ends the emulator and waits for its process, so none is left behind, and
//! should this process be killed outright, the system kills the emulator with it.

use super::command::CommandLine;
use super::mux::{Decoder, Encoder};
use super::start::{start, Started};
use super::transcript::{Found, Transcript};
use regex::bytes::Regex;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Consoles the stream can address.
pub const MAX_CONSOLES: usize = 64;
/// An emulated CPU never has all features of the processor it is called after, and says so once a feature and CPU.
const NO_COMPLAINT: &str = "TCG doesn't support requested feature";
/// What Bochs says last, and then why. It ends with the same status whether the machine is powered off or cannot go on.
const LAST_WORDS: &str = "Bochs is exiting with the following message:";
const POWERED_OFF: &str = "soft power off";

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
    #[error("a line has come that must not")]
    Forbidden,
}

/// How the emulator ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// With this exit status.
    Exit(i32),
    /// With this exit status, and the machine was not powered off.
    Failed(i32),
    /// By this signal.
    Signal(i32),
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            End::Exit(status) | End::Failed(status) => write!(f, "exit status {status}"),
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
    /// What it said, where that tells how the machine ended.
    said: Option<String>,
    terminal: bool,
    sender: Sender<Raw>,
    receiver: Receiver<Raw>,
    decoder: Decoder,
    encoder: Encoder,
    transcripts: Vec<Transcript>,
    /// The console that was the first to say what it must not.
    forbidden: Option<usize>,
    queued: std::collections::VecDeque<Event>,
    end: Option<End>,
    observer: Option<Observer<'a>>,
    started: Instant,
}

impl<'a> Session<'a> {
    /// Starts the emulator.
    pub fn start(command: &CommandLine) -> Result<Session<'a>, StartError> {
        let Started { child, input, output, complaints } =
            start(command).map_err(|error| StartError { program: command.program.clone(), error })?;
        let (sender, receiver) = channel();
        let stdin = input.map(writer);
        if let Some(output) = output {
            let sender = sender.clone();
            std::thread::spawn(move || read_stream(output, &sender));
        }
        Ok(Session {
            child,
            stdin,
            complaints,
            said: None,
            terminal: command.terminal,
            sender,
            receiver,
            decoder: Decoder::default(),
            encoder: Encoder::default(),
            transcripts: (0..MAX_CONSOLES).map(|_| Transcript::default()).collect(),
            forbidden: None,
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
        let Session { decoder, transcripts, forbidden, queued, observer, .. } = self;
        decoder.feed(bytes, |console, bytes| {
            transcripts[console].push(bytes);
            if transcripts[console].forbidden().is_some() {
                forbidden.get_or_insert(console);
            }
            if let Some(observer) = observer {
                observer(console, bytes);
            }
            queued.push_back(Event::Output { console, bytes: bytes.to_vec() });
        });
    }

    /// Waits for the process, which has closed its output.
    fn reap(&mut self) {
        let end = match self.child.wait() {
            Ok(status) => end_of(status),
            Err(_) => End::Signal(0),
        };
        self.end = Some(match end {
            End::Exit(status) if self.terminal && status != 0 => {
                let said = self.said();
                let off = said.contains(POWERED_OFF);
                self.said = Some(said);
                if off {
                    End::Exit(0)
                } else {
                    End::Failed(status)
                }
            }
            end => end,
        });
    }

    /// From now on no line of `console` may match `regex`: one that does ends every wait, whatever that waits for.
    pub fn forbid(&mut self, console: usize, regex: Regex) {
        self.transcripts[console].forbid(regex);
    }

    /// Which console has said what it must not, and that line; one that is not yet whole where there is no other.
    pub fn forbidden(&self) -> Option<(usize, Found)> {
        let console = self.forbidden.into_iter().chain(0..MAX_CONSOLES);
        console.filter_map(|console| Some((console, self.transcripts[console].forbidden_so_far()?))).next()
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
            if self.forbidden.is_some() {
                return Err(WaitError::Forbidden);
            }
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
                Some(_) if self.forbidden.is_some() => return Err(WaitError::Forbidden),
                Some(_) => {}
            }
        }
    }

    /// How the emulator has ended, if it has.
    pub fn ended(&mut self) -> Option<End> {
        let now = Instant::now();
        loop {
            if let Event::Ended(end) = self.next(Some(now))? {
                return Some(end);
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
        let text = self.said.take().unwrap_or_else(|| self.said());
        if self.terminal {
            // The rest is what it has drawn.
            let said = text.rsplit_once(LAST_WORDS).map_or("", |(_, behind)| behind);
            return said.lines().filter(|line| line.starts_with('[')).map(|line| format!("{line}\n")).collect();
        }
        text.lines().filter(|line| !line.contains(NO_COMPLAINT)).map(|line| format!("{line}\n")).collect()
    }

    /// What the emulator, which has ended, wrote last.
    fn said(&mut self) -> String {
        let kept = self.complaints.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        String::from_utf8_lossy(&kept).into_owned()
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
fn writer(mut stdin: Box<dyn Write + Send>) -> Sender<Vec<u8>> {
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

#[cfg(test)]
mod tests;
