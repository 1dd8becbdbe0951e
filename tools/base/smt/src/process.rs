//! The process: its pipes, its time, its end.

use std::io::{BufRead, BufReader, BufWriter, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{channel, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct Process {
    child: Child,
    input: BufWriter<ChildStdin>,
    /// Lines, from a thread that reads them.
    output: Receiver<String>,
}

/// The next line of the solver's output.
pub enum Line {
    Read(String),
    /// It takes too long.
    Late,
    /// There is none: the process has ended.
    Ended,
}

impl Process {
    pub fn z3(memory: Option<u32>) -> std::io::Result<Process> {
        let mut command = Command::new("z3");
        command.args(["-in", "-smt2"]).args(memory.map(|size| format!("-memory:{size}")));
        Process::start(command)
    }

    pub fn start(mut command: Command) -> std::io::Result<Process> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // SAFETY: the closure runs between fork and exec and only makes one system call; it neither allocates nor locks.
        unsafe {
            command.pre_exec(|| {
                rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
                Ok(())
            });
        }
        let mut child = command.spawn()?;
        let missing = || std::io::Error::other("it has no pipes");
        let input = BufWriter::new(child.stdin.take().ok_or_else(missing)?);
        let output = lines(child.stdout.take().ok_or_else(missing)?);
        Ok(Process { child, input, output })
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    pub fn write(&mut self, text: &str) -> std::io::Result<()> {
        writeln!(self.input, "{text}")
    }

    pub fn flush(&mut self) -> std::io::Result<()> {
        self.input.flush()
    }

    /// Waits for a line as long as the process takes no more than `longest` of a processor for it, and until the deadline.
    pub fn line(&mut self, longest: Duration, deadline: Option<Instant>) -> Line {
        let (start, before) = (Instant::now(), processor_time(self.id()));
        loop {
            match self.output.recv_timeout(Duration::from_secs(1)) {
                Ok(line) => return Line::Read(line),
                Err(RecvTimeoutError::Disconnected) => return Line::Ended,
                Err(RecvTimeoutError::Timeout) => {
                    let taken = before.zip(processor_time(self.id())).map(|(before, now)| now.saturating_sub(before));
                    let is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
                    if is_late || taken.unwrap_or_else(|| start.elapsed()) > longest {
                        return Line::Late;
                    }
                }
            }
        }
    }

    pub fn kill(&mut self) {
        // One that has ended already needs no killing.
        let _ = self.child.kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        let _ = self.child.wait();
    }
}

/// Processor time that a process has taken, where the system reports it.
fn processor_time(process: u32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name, in parentheses, may hold anything; user and system time are the 12th and 13th field behind it.
    let mut fields = text.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks: u64 = fields.next()?.parse::<u64>().ok()?.checked_add(fields.next()?.parse().ok()?)?;
    // Linux shows hundredths of a second on every machine.
    Some(Duration::from_millis(10 * ticks))
}

/// The lines of a pipe, read by a thread that ends with the pipe or with the receiver.
fn lines(pipe: ChildStdout) -> Receiver<String> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(pipe).lines().map_while(Result::ok) {
            if send.send(line).is_err() {
                return;
            }
        }
    });
    receive
}
