//! Boots an image in QEMU's emulator with the plugin that traces it.

use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{channel, RecvTimeoutError};
use std::time::{Duration, Instant};

use wcet_binary::load::Program;

use crate::observe::error::Error;

/// The plugin's source: it is compiled where it is used.
const PLUGIN: &str = include_str!("../../plugin/trace.c");

/// What to boot, and how much of it to trace.
#[derive(Debug, Clone)]
pub struct Run {
    pub kernel: PathBuf,
    /// The system image.
    pub system: PathBuf,
    pub processors: u32,
    pub memory_mib: u64,
    /// Further arguments of the emulator: devices.
    pub arguments: Vec<String>,
    /// Entries by system calls after which tracing ends.
    pub entries: u64,
    pub timeout: Duration,
    /// Where the traces go.
    pub folder: PathBuf,
}

/// The kernel's symbols that the plugin is told.
struct Places {
    from: u64,
    to: u64,
    entry: u64,
    /// The instruction that stores the number of a system call.
    calls: u64,
    base: u64,
    /// What belongs to processors, of which values are told too.
    values: (u64, u64),
}

fn run_error(what: &str, cause: impl ToString) -> Error {
    Error::Run { what: what.to_string(), cause: cause.to_string() }
}

/// Compiles the plugin; its path.
fn plugin(folder: &Path) -> Result<PathBuf, Error> {
    let (source, shared) = (folder.join("trace.c"), folder.join("trace.so"));
    std::fs::write(&source, PLUGIN).map_err(|cause| run_error("the plugin", cause))?;
    let compiler = Command::new("gcc")
        .args(["-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-o"])
        .args([&shared, &source])
        .output()
        .map_err(|cause| run_error("gcc", cause))?;
    if !compiler.status.success() {
        return Err(run_error("gcc", String::from_utf8_lossy(&compiler.stderr)));
    }
    Ok(shared)
}

fn places(program: &Program, entry: &str, values: Option<&str>, base: u64) -> Result<Places, Error> {
    let symbol = |name: &str| {
        let found = program.symbol(name).map(|found| found.address);
        found.ok_or_else(|| run_error("the trace", format!("the kernel has no symbol `{name}`")))
    };
    let (from, to, entry) = (symbol("kernel_text_start")?, symbol("kernel_text_end")?, symbol(entry)?);
    // `mov %rax, (%rsp)`: the number goes to the first word of the thread's record.
    let code = program.code(entry, 256).unwrap_or_default();
    let store = code.windows(4).position(|bytes| bytes == [0x48, 0x89, 0x04, 0x24]);
    let calls = entry + store.ok_or_else(|| run_error("the trace", "no store of the system call's number"))? as u64;
    let values = values.and_then(|name| program.symbol(name)).map_or((0, 0), |found| (found.address, found.size));
    Ok(Places { from, to, entry, calls, base, values })
}

/// Boots and traces; the files of the traces, one for each processor. Values are those of the object so named.
pub fn trace(
    run: &Run,
    program: &Program,
    entry: &str,
    values: Option<&str>,
    base: u64,
) -> Result<Vec<PathBuf>, Error> {
    let _ = std::fs::remove_dir_all(&run.folder);
    std::fs::create_dir_all(&run.folder).map_err(|cause| run_error("the trace", cause))?;
    let plugin = plugin(&run.folder)?;
    let places = places(program, entry, values, base)?;
    let (ram, out) = (run.folder.join("ram"), run.folder.join("trace"));
    let mut command = Command::new("qemu-system-x86_64");
    command
        .args(["-machine", "q35,memory-backend=ram", "-accel", "tcg,thread=single", "-cpu", "EPYC,+svm"])
        // Time goes by instructions, on all processors in turn: every run is the same.
        .args(["-icount", "shift=0,sleep=off", "-rtc", "base=2000-01-01,clock=vm"])
        .args(["-display", "none", "-monitor", "none", "-serial", "null", "-no-reboot"])
        .args(["-smp", &run.processors.to_string(), "-m", &format!("{}M", run.memory_mib)])
        .arg("-object")
        .arg(format!("memory-backend-file,id=ram,share=on,size={}M,mem-path={}", run.memory_mib, ram.display()))
        .args(["-device", "isa-debug-exit,iobase=0xf4,iosize=0x04"])
        .args(&run.arguments)
        .arg("-kernel")
        .arg(&run.kernel)
        .arg("-initrd")
        .arg(&run.system)
        .arg("-plugin")
        .arg(format!(
            "{},out={},ram={},from={:#x},to={:#x},count={:#x},calls={:#x},base={:#x},values={:#x},bytes={},limit={}",
            plugin.display(),
            out.display(),
            ram.display(),
            places.from,
            places.to,
            places.entry,
            places.calls,
            places.base,
            places.values.0,
            places.values.1,
            run.entries
        ))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let said = watch(&mut command, run.timeout)?;
    let files: Vec<PathBuf> = (0..run.processors)
        .map(|number| run.folder.join(format!("trace.{number}")))
        .filter(|file| file.exists())
        .collect();
    let _ = std::fs::remove_file(&ram);
    if files.is_empty() {
        return Err(Error::Short { wanted: run.entries, said });
    }
    Ok(files)
}

/// Runs the emulator until the plugin has traced enough, the system ends, or time is up; what it said.
fn watch(command: &mut Command, timeout: Duration) -> Result<String, Error> {
    let mut emulator = command.spawn().map_err(|cause| run_error("qemu-system-x86_64", cause))?;
    let (send, receive) = channel();
    let errors: Option<Box<dyn Read + Send>> = emulator.stderr.take().map(|errors| Box::new(errors) as _);
    let reader = std::thread::spawn(move || {
        for line in errors.into_iter().flat_map(|errors| BufReader::new(errors).lines()).map_while(Result::ok) {
            let _ = send.send(line);
        }
    });
    let until = Instant::now() + timeout;
    let mut said = String::new();
    loop {
        match receive.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) if line.contains("limit reached") => break,
            Ok(line) => said += &(line + "\n"),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => break,
        }
    }
    // A request, not a kill: the plugin writes what it still holds.
    let _ = Command::new("kill").arg(emulator.id().to_string()).status();
    let _ = emulator.wait();
    let _ = reader.join();
    Ok(said)
}
