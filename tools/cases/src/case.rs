//! What may stand in a case: `tests/cases/NAME.toml`, and `tests/NAME.toml` of a project of the user's own.
//!
//! ```toml
//! about = "one line for people"
//! system = "hello"              # a name that `ashlar run` knows, or a path relative to the case
//! cpus = [1, 2, 4, 8]           # one test for each; otherwise as many CPUs as the system needs
//! locks = ["ticket", "big"]     # one test for each; otherwise ticket
//! debug = true                  # a kernel that asserts, default false
//! icount = true                 # counted instructions, default false
//! memory = 64                   # MiB, default the machine's
//! emulator = ["-cpu", "qemu64"] # further arguments of the emulator
//! boot = "uefi"                 # or "bios": from the disc image instead of directly
//! timeout = 60                  # seconds for the whole case
//! bochs = 600                   # the same on Bochs, where `ashlar test --emulator bochs` runs it; otherwise it does not
//! qemu = false                  # only there
//! needs = { cores = 2 }         # see `needs`
//! signal = { file = "signal.raw", seconds = 10 }   # beside the image: what the emulated microphone hears, see `signal`
//! damage = [{ file = "image", at = 0, with = "00" }]   # bytes of a copy of the image or kernel; or { file, keep = N }
//!
//! [forbid]                      # console = regular expression that must never appear on it
//! kernel = "panic"
//!
//! [[step]]                      # one after the other
//! console = "hello"
//! wait = "regex of one line"
//! seconds = 5                   # within so many seconds of the step's begin; otherwise as `timeout` leaves
//! [[step]]
//! console = "guest0"
//! send = "poweroff\n"
//! [[step]]
//! up = true                     # every console's own `up` of the description
//! [[step]]
//! quiet = "regex"               # must not appear on the console for so many `seconds`
//! console = "guest0"
//! seconds = 3
//! [[step]]
//! tone = 440                    # Hz: the WAV `file` beside the image holds it for so many `seconds`, or more
//! file = "sound.wav"
//! seconds = 2
//! [[step]]
//! monitor = "device_del card0"  # what the emulator itself is told
//! [[step]]
//! end = 0                       # the system ends the run with this code
//! ```

use super::needs::Needs;
use builder::{EmulatorName, Lock};
use output::Failure;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    pub about: String,
    pub system: String,
    #[serde(default)]
    pub cpus: Vec<u32>,
    #[serde(default)]
    pub locks: Vec<Lock>,
    #[serde(default)]
    pub debug: bool,
    #[serde(default)]
    pub icount: bool,
    pub memory: Option<u64>,
    #[serde(default)]
    pub emulator: Vec<String>,
    pub boot: Option<Boot>,
    pub timeout: u64,
    pub bochs: Option<u64>,
    #[serde(default = "yes")]
    pub qemu: bool,
    #[serde(default)]
    pub needs: Needs,
    #[serde(default)]
    pub damage: Vec<Damage>,
    pub signal: Option<Signal>,
    #[serde(default)]
    pub forbid: BTreeMap<String, String>,
    #[serde(default, rename = "step")]
    pub steps: Vec<Step>,
    #[serde(skip)]
    pub ran_on: EmulatorName,
    /// The case's own folder, for paths in it.
    #[serde(skip)]
    pub folder: PathBuf,
}

fn yes() -> bool {
    true
}

/// Firmware that starts the disc image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Boot {
    Bios,
    Uefi,
}

/// Sound for the emulator to record from: of 48 kHz and two channels of 16 bits, each frame, as a number of 32 bits, the one before
/// plus one, from 1. So a program that records knows of each word which one must follow.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signal {
    /// Beside the image.
    pub file: String,
    pub seconds: u32,
}

impl Signal {
    pub fn bytes(&self) -> Vec<u8> {
        const RATE: u32 = 48_000;
        (1..=self.seconds.saturating_mul(RATE)).flat_map(u32::to_le_bytes).collect()
    }
}

/// What to break in a copy of a file before it is booted.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Damage {
    pub file: DamagedFile,
    /// First byte to overwrite; counted from the end if negative.
    pub at: Option<i64>,
    /// Bytes to write there, in hexadecimal.
    pub with: Option<String>,
    /// Bytes to keep of the file.
    pub keep: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DamagedFile {
    Image,
    Kernel,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub console: Option<String>,
    pub wait: Option<String>,
    pub send: Option<String>,
    pub quiet: Option<String>,
    pub seconds: Option<u64>,
    pub tone: Option<u32>,
    pub file: Option<String>,
    pub monitor: Option<String>,
    pub end: Option<i32>,
    #[serde(default)]
    pub up: bool,
}

impl Case {
    /// The case as it is run on that emulator, if it is.
    pub fn on(self, emulator: EmulatorName) -> Option<Case> {
        match emulator {
            EmulatorName::Own => self.qemu.then_some(self),
            EmulatorName::Bochs => Some(Case { timeout: self.bochs?, ran_on: emulator, ..self }),
        }
    }

    /// Reads a case; a fault in it is one of the test suite, not of what it tests.
    pub fn read(path: &Path) -> Result<Case, Failure> {
        let fault = |text: String| {
            Failure::unable(
                format!("{}: {text}", path.display()),
                "the page \"Your own system\" of the book lists what may stand in a test",
            )
        };
        let text = diagnostics::input_file::text(path).map_err(|error| fault(error.to_string()))?;
        let mut case: Case = toml::from_str(&text).map_err(|error| fault(error.to_string()))?;
        case.folder = path.parent().unwrap_or(Path::new("")).to_path_buf();
        if case.steps.is_empty() {
            return Err(fault("a case without steps cannot fail".into()));
        }
        for (index, step) in case.steps.iter().enumerate() {
            step.check().map_err(|text| fault(format!("step {}: {text}", index + 1)))?;
        }
        Ok(case)
    }
}

/// What the kernel keeps of a console's input for a program that does not read, `CONSOLE_INPUT_RING` of its `config.h`, in bytes. The rest
/// of what comes at once is lost.
const MOST_SENT: usize = 256;

impl Step {
    /// A step does one thing, and at a console if that thing needs one.
    fn check(&self) -> Result<(), String> {
        let at_console = [self.wait.is_some(), self.send.is_some(), self.quiet.is_some()];
        let elsewhere = [self.end.is_some(), self.up, self.tone.is_some(), self.monitor.is_some()];
        let count = at_console.iter().chain(&elsewhere).filter(|&&there| there).count();
        if count != 1 {
            return Err("give one of wait, send, quiet, tone, monitor, end, up".into());
        }
        if at_console.contains(&true) != self.console.is_some() {
            return Err("wait, send and quiet, and only they, need a console".into());
        }
        let needs_seconds = self.quiet.is_some() || self.tone.is_some();
        if needs_seconds != self.seconds.is_some() && self.wait.is_none() {
            return Err("quiet and tone need seconds; beside them only wait may have them".into());
        }
        if let Some(text) = self.send.as_ref().filter(|text| text.len() > MOST_SENT) {
            return Err(format!(
                "send has {} bytes, and a console keeps {MOST_SENT} for a program that is busy: make it several steps, with a wait \
                 between them",
                text.len()
            ));
        }
        if self.tone.is_some() != self.file.is_some() {
            return Err("tone, and only it, needs a file".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{Case, Step, MOST_SENT};

    #[test]
    fn a_step_does_one_thing() {
        let console = Some("c".to_string());
        let text = Some("t".to_string());
        assert!(Step { up: true, ..Step::default() }.check().is_ok());
        assert!(Step { console: console.clone(), wait: text.clone(), ..Step::default() }.check().is_ok());
        assert!(Step { console: console.clone(), wait: text.clone(), seconds: Some(1), ..Step::default() }
            .check()
            .is_ok());
        assert!(Step { console: console.clone(), send: text.clone(), seconds: Some(1), ..Step::default() }
            .check()
            .is_err());
        assert!(Step { wait: text.clone(), ..Step::default() }.check().is_err());
        assert!(Step { console: console.clone(), wait: text.clone(), send: text.clone(), ..Step::default() }
            .check()
            .is_err());
        assert!(Step { console: console.clone(), quiet: text, ..Step::default() }.check().is_err());
        let long = |bytes: usize| Step { console: console.clone(), send: Some("t".repeat(bytes)), ..Step::default() };
        assert!(long(MOST_SENT).check().is_ok());
        assert!(long(MOST_SENT + 1).check().unwrap_err().starts_with("send has 257 bytes"));
        assert!(Step::default().check().is_err());
    }

    #[test]
    fn the_kernel_keeps_as_much_as_is_said() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/config.h");
        let text = std::fs::read_to_string(path).unwrap();
        assert!(text.contains(&format!("#define CONSOLE_INPUT_RING {MOST_SENT}u")));
    }

    #[test]
    fn every_case_of_the_tree_can_be_read() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases");
        for name in project::stems(&folder, "toml") {
            Case::read(&folder.join(format!("{name}.toml"))).unwrap();
        }
    }
}
