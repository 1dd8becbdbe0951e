//! The steps of a case, taken on a machine that runs.

use super::case::Step;
use super::play::Prepared;
use super::sound::Sound;
use builder::Built;
use emulator::session::WaitError;
use emulator::transcript::line_regex;
use emulator::{monitor, End, Session};
use regex::bytes::Regex;
use std::path::Path;
use std::time::{Duration, Instant};

/// An emulator that dies closes its monitor before it has ended.
const HANGS_UP_WITHIN: Duration = Duration::from_secs(5);

/// Takes one step.
pub fn take(step: &Step, prepared: &Prepared, session: &mut Session<'_>, deadline: Instant) -> Result<(), String> {
    let built = &prepared.built;
    let left = deadline.saturating_duration_since(Instant::now());
    if step.up {
        return all_up(built, session, deadline);
    }
    if let Some(code) = step.end {
        let end = session.wait_end(left).map_err(|_| format!("the system has not ended itself with code {code}"))?;
        // The debug-exit device turns code N into status 2N+1.
        return match end {
            End::Exit(status) if status == 2 * code + 1 || (status == 0 && code == 0) => Ok(()),
            other => Err(format!("the emulator ended with {other}, not the system with code {code}")),
        };
    }
    if let (Some(hertz), Some(file), Some(seconds)) = (step.tone, &step.file, step.seconds) {
        return find_tone(&built.image.with_file_name(file), hertz, seconds);
    }
    if let Some(line) = &step.monitor {
        return monitor::obey(&prepared.socket, line).map_err(|text| match session.wait_end(HANGS_UP_WITHIN) {
            Ok(end) => format!("{text}: the emulator ended ({end})"),
            Err(_) => text,
        });
    }
    let name = step.console.as_deref().unwrap_or_default();
    let console = number_of(name, built)?;
    if let Some(pattern) = &step.wait {
        let within = step.seconds.map_or(left, |seconds| left.min(Duration::from_secs(seconds)));
        return wait(session, console, name, pattern, within);
    }
    if let Some(text) = &step.send {
        session.send(console, text.as_bytes());
    }
    if let (Some(pattern), Some(seconds)) = (&step.quiet, step.seconds) {
        return match session.wait_for(console, &compile(pattern)?, Duration::from_secs(seconds)) {
            Err(WaitError::Timeout) => Ok(()),
            Err(ended) => Err(format!("while {name} was watched, {ended}")),
            Ok(found) => Err(format!("{name} said: {}", found.line)),
        };
    }
    Ok(())
}

fn wait(session: &mut Session<'_>, console: usize, name: &str, pattern: &str, left: Duration) -> Result<(), String> {
    match session.wait_for(console, &compile(pattern)?, left) {
        Ok(_) => Ok(()),
        Err(error) => Err(format!("{name} has not said /{pattern}/: {error}")),
    }
}

/// The emulator may still be writing the file: what it has played long ago is there.
fn find_tone(path: &Path, hertz: u32, seconds: u64) -> Result<(), String> {
    let fault = |text: String| format!("{}: {text}", path.display());
    let sound = Sound::parse(&std::fs::read(path).map_err(|error| fault(error.to_string()))?).map_err(fault)?;
    let found = sound.seconds_of(f64::from(hertz));
    if found >= seconds as f64 {
        return Ok(());
    }
    Err(fault(format!("{found:.1} s of {hertz} Hz in {:.1} s of sound, not {seconds} s", sound.seconds())))
}

fn all_up(built: &Built, session: &mut Session<'_>, deadline: Instant) -> Result<(), String> {
    let mut any = false;
    for (index, console) in built.system.consoles.iter().enumerate() {
        if let Some(pattern) = &console.up {
            any = true;
            wait(session, index, &console.name, pattern, deadline.saturating_duration_since(Instant::now()))?;
        }
    }
    if any {
        Ok(())
    } else {
        Err("the description gives no console an `up`".into())
    }
}

pub fn number_of(console: &str, built: &Built) -> Result<usize, String> {
    let place = built.system.consoles.iter().position(|known| known.name == console);
    place.ok_or_else(|| format!("the system has no console {console}"))
}

pub fn compile(pattern: &str) -> Result<Regex, String> {
    line_regex(pattern).map_err(|error| error.to_string())
}
