//! Programs on a processor that exists: the Verilog of VexRiscv, compiled by Verilator to a program that steps its clock.
//!
//! **Takes** a program compiled for [`Target::RiscV32Core`](crate::measure::build::Target), which starts at `core_start`
//! (`start.S`). **Returns** the cycles that `entry` takes in each of its cases, from empty caches on, between the instructions that
//! leave the core's last stage (`bench.cpp`).
//!
//! The Verilog is fetched from the archive of Python packages, in the version and with the hash of `package.txt`. It is MIT-licensed, used as a
//! separate program, and no part of what is shipped.
//!
//! **Assumes** of the memory what `bench.cpp` does: it is one cycle away, and code and data do not share a bus.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

use wcet_binary::load::Program;

use crate::measure::set::directory;
use crate::measure::subject::ENTRY;
use crate::measure::Error;

const PACKAGE: &str = include_str!("package.txt");
const BENCH: &str = include_str!("bench.cpp");
/// In the package.
const VERILOG: &str = "pythondata_cpu_vexriscv/verilog/VexRiscv.v";
const TOP: &str = "VexRiscv";
const START: &str = "core_start";
/// Behind the call of `entry`.
const LEFT: &str = "core_left";

/// What a program for the core is compiled from besides its own source.
pub fn start_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/core/start.S")
}

/// The program that steps the core's clock; made when it is not there.
pub fn bench() -> Result<PathBuf, Error> {
    static MAKING: Mutex<()> = Mutex::new(());
    let _alone = MAKING.lock().map_err(|error| Error::Setup(error.to_string()))?;
    let folder = directory().join("../../build/core");
    let bench = folder.join("bench");
    let (text, known) = (format!("{PACKAGE}{BENCH}"), folder.join("bench.made-of"));
    if bench.exists() && std::fs::read_to_string(&known).is_ok_and(|made_of| made_of == text) {
        return Ok(bench);
    }
    // Several processes may make it at once; each puts the whole in place.
    let own = folder.join(std::process::id().to_string());
    let failed = |cause| Error::Read { path: folder.clone(), cause };
    std::fs::create_dir_all(&own).map_err(failed)?;
    std::fs::write(own.join("package.txt"), PACKAGE).map_err(failed)?;
    std::fs::write(own.join("bench.cpp"), BENCH).map_err(failed)?;
    run(&own, "pip3", &["download", "--quiet", "--no-deps", "--require-hashes", "-r", "package.txt", "-d", "."])?;
    let files = std::fs::read_dir(&own).map_err(failed)?.filter_map(|file| file.ok()?.file_name().into_string().ok());
    let wheel = files.into_iter().find(|name| name.ends_with(".whl")).unwrap_or_default();
    run(&own, "python3", &["-m", "zipfile", "-e", &wheel, "."])?;
    let options = ["--cc", "--exe", "--build", "-O3", "-CFLAGS", "-O2", "-Wno-lint", "-Wno-fatal", "--top-module", TOP];
    run(&own, "verilator", &[&options[..], &["-o", "bench", VERILOG, "bench.cpp"]].concat())?;
    std::fs::rename(own.join("obj_dir/bench"), &bench).map_err(failed)?;
    std::fs::write(&known, text).map_err(failed)?;
    std::fs::remove_dir_all(&own).map_err(failed)?;
    Ok(bench)
}

/// Cycles that `entry` takes, in each case of the compiled program in `file`.
pub fn cycles(file: &Path, data: &[u8]) -> Result<Vec<u64>, Error> {
    let refused = |errors: Vec<_>| Error::Refused(errors.iter().map(ToString::to_string).collect());
    let program = Program::parse(data).map_err(refused)?;
    let address = |name: &str| {
        let symbol = program.symbol(name).ok_or_else(|| Error::Setup(format!("{} has no {name}", file.display())))?;
        Ok(format!("{:#x}", symbol.address))
    };
    let bench = bench()?;
    let name = bench.display().to_string();
    let path = file.display().to_string();
    let text = run(Path::new("."), &name, &[&path, &address(START)?, &address(ENTRY)?, &address(LEFT)?])?;
    let wrong = |line: &str| Error::Setup(format!("{name} says `{line}`"));
    text.lines().map(|line| line.parse().map_err(|_| wrong(line))).collect()
}

/// Runs a program in `folder`; gives what it prints.
fn run(folder: &Path, program: &str, arguments: &[&str]) -> Result<String, Error> {
    let done = Command::new(program).args(arguments).current_dir(folder).output();
    let done = done.map_err(|cause| {
        Error::Setup(format!("{program} cannot be run: {cause}; install it: apt-get install python3-pip verilator g++"))
    })?;
    if done.status.success() {
        return Ok(String::from_utf8_lossy(&done.stdout).into_owned());
    }
    let message = format!("{}: {}", done.status, String::from_utf8_lossy(&done.stderr).trim_end());
    Err(Error::Failed { program: program.to_string(), path: folder.to_path_buf(), message })
}
