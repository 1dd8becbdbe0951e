//! What the tool has started ends with it, however the tool ends.
//!
//! A signal that kills the tool reaches only the processes that it started itself, if any, and not the compilers,
//! solvers and emulators that those started. So every process below the tool carries a mark in its environment, and a
//! second process, the guardian, waits until the tool is gone, by the end of a pipe that the tool holds, and then ends
//! every process with that mark.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Marks of the tools above a process, separated by spaces: a tool may run another.
const MARKS: &str = "ASHLAR_MARKS";
/// Makes this program a guardian: the mark of its tool.
const GUARDED: &str = "ASHLAR_GUARDED";
/// Time between SIGTERM and SIGKILL, in which a process can remove half-written files.
const GRACE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(20);

/// A mark that no other tool has now.
pub fn new_mark() -> String {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    format!("{}-{}", std::process::id(), now.as_nanos())
}

/// Gives a command and what it starts a mark beside those of this process.
pub fn mark(command: &mut Command, mark: &str) {
    command.env(MARKS, with(mark));
}

fn with(mark: &str) -> String {
    format!("{} {mark}", std::env::var(MARKS).unwrap_or_default())
}

/// Marks all that this process starts from now on, and starts the guardian. Called before there are threads.
pub fn start() -> std::io::Result<()> {
    let mark = new_mark();
    // The guardian has no mark, so that no other guardian ends it, and is in a group of its own, where Ctrl-C does not
    // reach it.
    let mut guardian = Command::new(std::env::current_exe()?);
    std::os::unix::process::CommandExt::process_group(&mut guardian, 0);
    guardian.env_clear().env(GUARDED, &mark).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // The end of this process closes the pipe, and nothing else does.
    std::mem::forget(guardian.spawn()?);
    std::env::set_var(MARKS, with(&mark));
    Ok(())
}

/// Is this process to be a guardian? Then it has done its work when this returns.
pub fn is_guardian() -> bool {
    let Ok(mark) = std::env::var(GUARDED) else { return false };
    // The tool never writes; the end and an error both say that it is gone.
    let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    end_marked(&mark);
    true
}

/// Ends all processes with this mark, by SIGTERM, then by SIGKILL; those that are started meanwhile too.
pub fn end_marked(mark: &str) {
    let begun = Instant::now();
    loop {
        let marked = marked(mark);
        if marked.is_empty() {
            return;
        }
        let signal =
            if begun.elapsed() < GRACE { rustix::process::Signal::TERM } else { rustix::process::Signal::KILL };
        for (process, _) in marked {
            // It may have ended since; then there is nothing to do.
            let _ = rustix::process::kill_process(process, signal);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Processes with this mark, and their names.
pub fn marked(mark: &str) -> Vec<(rustix::process::Pid, String)> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    let processes = entries.filter_map(|entry| {
        let path = entry.ok()?.path();
        let process = rustix::process::Pid::from_raw(path.file_name()?.to_str()?.parse().ok()?)?;
        has_mark(&path, mark).then(|| (process, std::fs::read_to_string(path.join("comm")).unwrap_or_default()))
    });
    processes.map(|(process, name)| (process, name.trim().to_string())).collect()
}

/// A process that has ended but was not waited for has no environment any more.
fn has_mark(process: &Path, mark: &str) -> bool {
    let environment = std::fs::read(process.join("environ")).unwrap_or_default();
    let mut variables = environment.split(|&byte| byte == 0);
    let marks = variables.find_map(|variable| variable.strip_prefix(MARKS.as_bytes())?.strip_prefix(b"="));
    marks.is_some_and(|marks| marks.split(|&byte| byte == b' ').any(|own| own == mark.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marked_processes_and_what_they_started_end() {
        let own = new_mark();
        let mut shell = Command::new("sh");
        mark(&mut shell, &own);
        // The second one ignores SIGTERM.
        shell.args(["-c", "sleep 1000 & (trap '' TERM; while :; do sleep 1000; done) & wait"]);
        let mut shell = shell.spawn().unwrap();
        while marked(&own).len() < 4 {
            std::thread::sleep(PAUSE);
        }
        assert!(marked(&(own.clone() + "0")).is_empty(), "a mark is compared as a whole");
        let waits = std::thread::spawn(move || shell.wait());
        end_marked(&own);
        waits.join().unwrap().unwrap();
        assert!(marked(&own).is_empty());
    }
}
