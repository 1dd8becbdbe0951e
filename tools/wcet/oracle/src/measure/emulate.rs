//! Runs a compiled program in QEMU's user mode, one instruction at a time.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use wcet_binary::load::Architecture;

use crate::measure::Error;

/// Which cases run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cases {
    All,
    One(u32),
}

/// Calls `see` with the address of each instruction executed, in order, until it fails.
pub fn addresses(
    file: &Path,
    architecture: Architecture,
    cases: Cases,
    mut see: impl FnMut(u64) -> Result<(), Error>,
) -> Result<(), Error> {
    lines(file, architecture, cases, "exec,nochain", |line| address(line).map_or(Ok(()), &mut see))
}

/// The address in a line such as `Trace 0: 0x7f6b50000100 [00000480/00010170/00000000/00000201] run`.
pub(crate) fn address(line: &[u8]) -> Option<u64> {
    let rest = line.strip_prefix(b"Trace ")?;
    let text = std::str::from_utf8(rest.split(|byte| *byte == b'/').nth(1)?).ok()?;
    u64::from_str_radix(text, 16).ok()
}

/// Calls `see` with each line that the emulator logs.
pub(crate) fn lines(
    file: &Path,
    architecture: Architecture,
    cases: Cases,
    items: &str,
    mut see: impl FnMut(&[u8]) -> Result<(), Error>,
) -> Result<(), Error> {
    let emulator = match architecture {
        Architecture::X86_64 => "qemu-x86_64",
        Architecture::Arm => "qemu-arm",
        Architecture::RiscV64 => "qemu-riscv64",
        Architecture::RiscV32 => "qemu-riscv32",
    };
    let mut command = Command::new(emulator);
    // One instruction to a block of translated code, and each block started from the log's point of view.
    command.args(["-singlestep", "-d", items]);
    // Below the program's stack stand its environment and the name it was started by: the same wherever and by whomever it is
    // run, as else its data would fall into other cache lines each time.
    for (variable, _) in std::env::vars_os() {
        command.arg("-U").arg(variable);
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    command.current_dir(folder).arg(file.file_name().unwrap_or(file.as_os_str()));
    if let Cases::One(number) = cases {
        command.arg(number.to_string());
    }
    let missing = |cause| Error::Missing { program: emulator.to_string(), cause };
    let failed = |message: String| Error::Failed { program: emulator.to_string(), path: file.to_path_buf(), message };
    // The log goes to standard error.
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().map_err(missing)?;
    let Some(log) = child.stderr.take() else { return Err(failed("no log".to_string())) };
    let mut log = BufReader::with_capacity(1 << 20, log);
    let (mut line, mut last) = (Vec::new(), String::new());
    let outcome = loop {
        line.clear();
        match log.read_until(b'\n', &mut line) {
            Ok(0) => break Ok(()),
            Ok(_) => {
                if !line.starts_with(b"Trace ") {
                    last = String::from_utf8_lossy(&line).into_owned();
                }
                if let Err(error) = see(&line) {
                    break Err(error);
                }
            }
            Err(cause) => break Err(failed(cause.to_string())),
        }
    };
    if outcome.is_err() {
        let _ = child.kill();
    }
    let status = child.wait().map_err(|cause| failed(cause.to_string()))?;
    outcome?;
    if status.success() {
        Ok(())
    } else {
        Err(failed(format!("{status}: {last}")))
    }
}
