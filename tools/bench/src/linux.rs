//! A stock Linux in Ashlar's place: directly on the emulator, and on the same machine.

use builder::machine::MachineOptions;
use builder::Built;
use emulator::CommandLine;
use output::Failure;
use std::path::PathBuf;

/// The timer check fails on an emulator that has to wait for its host.
const COMMAND_LINE: &str = "console=ttyS0 tsc=reliable no_timer_check quiet";

/// The emulator of `built`, with one processor and the same disk, that boots this kernel and ramdisk; `more` ends Linux's command line.
pub fn linux(built: &Built, (kernel, ramdisk): &(PathBuf, PathBuf), more: &str) -> Result<CommandLine, Failure> {
    let disk = built.image.with_file_name("disk.img");
    let linux = Built { kernel: kernel.clone(), image: ramdisk.clone(), ..built.clone() };
    let machine = MachineOptions { cpus: Some(1), disk: Some(disk), ..MachineOptions::default() };
    let command_line = format!("{COMMAND_LINE} {more}");
    Ok(machine.command_line(&linux)?.with(["-append", command_line.trim_end()]))
}
