//! Where each emulated processor is: of a test that waits in vain, this tells one that loops from one that was never woken.

use emulator::{monitor, CommandLine};
use std::path::Path;

/// A socket's path is no longer than this (`sockaddr_un` of unix(7)).
const LONGEST_PATH: usize = 107;

/// Whether the emulator can be asked at `socket`.
pub fn can_be_asked(command: &CommandLine, socket: &Path) -> bool {
    command.program.starts_with("qemu") && socket.as_os_str().len() <= LONGEST_PATH
}

/// A line for each processor of the emulator whose monitor is at `socket`, or why that does not answer. Requires: it can be asked.
pub fn describe(socket: &Path) -> String {
    let registers = match monitor::ask(socket, "info registers -a") {
        Ok(registers) => registers,
        Err(fault) => return fault,
    };
    let line = |(number, state): (usize, &str)| {
        let interrupts = match monitor::ask(socket, &format!("info lapic {number}")) {
            Ok(lapic) => of_interrupts(&lapic),
            Err(fault) => format!("; {fault}"),
        };
        format!("CPU {number}: {}{interrupts}\n", of_state(state))
    };
    // What stands before the first processor names none.
    registers.split("CPU#").skip(1).enumerate().map(line).collect()
}

/// Where it is, at which privilege, and whether it is halted.
fn of_state(state: &str) -> String {
    const SHOWN: [&str; 3] = ["RIP=", "CPL=", "HLT="];
    let of_one = |word: &&str| SHOWN.iter().any(|name| word.starts_with(name));
    state.split_whitespace().filter(of_one).collect::<Vec<_>>().join(" ")
}

/// The local timer, and the interrupts that are served and that wait.
fn of_interrupts(lapic: &str) -> String {
    const SHOWN: [&str; 3] = ["Timer", "ISR", "IRR"];
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let of_one = |line: &&str| SHOWN.iter().any(|name| line.starts_with(name));
    lapic.lines().filter(of_one).map(|line| format!("; {}", words(line))).collect()
}

#[cfg(test)]
mod tests {
    use super::{of_interrupts, of_state};

    #[test]
    fn the_words_that_tell_are_found() {
        let state =
            "0\r\nRAX=0 RBX=1\r\nRIP=ffffffff8020ac4d RFL=00000286 [--S--P-] CPL=0 II=0 A20=1 SMM=0 HLT=1\r\nES =0";
        assert_eq!(of_state(state), "RIP=ffffffff8020ac4d CPL=0 HLT=1");
        let lapic = "LVTT\t 0x38 one-shot\r\nTimer\t DCR=0xb initial_count = 5 current_count = 4\r\nISR\t (none)\r\nIRR\t 56\r\n";
        assert_eq!(of_interrupts(lapic), "; Timer DCR=0xb initial_count = 5 current_count = 4; ISR (none); IRR 56");
    }
}
