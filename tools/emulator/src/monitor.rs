//! The emulator's own console, on which devices are plugged and unplugged.

use super::CommandLine;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

/// How it says that it waits for a command.
const PROMPT: &str = "(qemu) ";
/// How it says that it cannot.
const ERROR: &str = "Error: ";
/// It answers at once, or hangs.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Lets the monitor be reached at `socket`, which need not be there yet.
pub fn reachable(command: CommandLine, socket: &Path) -> CommandLine {
    command.setting("-monitor", &format!("unix:{},server=on,wait=off", socket.display()))
}

/// Has the monitor at `socket` do `line`; what it says is an error.
pub fn obey(socket: &Path, line: &str) -> Result<(), String> {
    let said = ask(socket, line)?;
    match said.find(ERROR) {
        Some(at) => Err(format!("{line}: {}", said[at + ERROR.len()..].lines().next().unwrap_or_default().trim())),
        None => Ok(()),
    }
}

/// What the monitor at `socket` says to `line`, behind the line itself.
pub fn ask(socket: &Path, line: &str) -> Result<String, String> {
    let fault = |error: std::io::Error| format!("the emulator's monitor {}: {error}", socket.display());
    let mut stream = UnixStream::connect(socket).map_err(fault)?;
    stream.set_read_timeout(Some(TIMEOUT)).map_err(fault)?;
    until_prompt(&mut stream).map_err(fault)?;
    stream.write_all(format!("{line}\n").as_bytes()).map_err(fault)?;
    let said = until_prompt(&mut stream).map_err(fault)?;
    let answer = said.split_once('\n').map_or("", |(_, answer)| answer);
    Ok(answer.trim_end_matches(PROMPT).to_owned())
}

/// What is said up to the next prompt. What was typed is part of it, letter by letter, and so never ends in a prompt.
fn until_prompt(stream: &mut UnixStream) -> std::io::Result<String> {
    let mut said = Vec::new();
    let mut byte = [0];
    while !said.ends_with(PROMPT.as_bytes()) {
        stream.read_exact(&mut byte)?;
        said.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&said).into_owned())
}

#[cfg(test)]
mod tests {
    use super::{ask, obey};
    use std::io::{BufRead, BufReader, Write};
    use std::os::unix::net::UnixListener;

    #[test]
    fn an_error_is_told_and_an_answer_is_given() {
        let path = std::env::temp_dir().join(format!("ashlar-monitor-{}", std::process::id()));
        let listener = UnixListener::bind(&path).unwrap();
        let server = std::thread::spawn(move || {
            for answer in ["", "Error: Bus 'port0' does not support hotplugging\r\n", "said\r\n"] {
                let (mut stream, _) = listener.accept().unwrap();
                stream.write_all(b"QEMU 7.2\r\n(qemu) ").unwrap();
                let mut line = String::new();
                BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
                assert_eq!(line, "device_del card0\n");
                stream.write_all(format!("device_del card0\r\n{answer}(qemu) ").as_bytes()).unwrap();
            }
        });
        assert_eq!(obey(&path, "device_del card0"), Ok(()));
        let error = obey(&path, "device_del card0").unwrap_err();
        assert_eq!(error, "device_del card0: Bus 'port0' does not support hotplugging");
        assert_eq!(ask(&path, "device_del card0"), Ok("said\r\n".to_owned()));
        server.join().unwrap();
        std::fs::remove_file(path).unwrap();
    }
}
