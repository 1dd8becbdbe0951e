//! A kernel's tables and a driver's states, read from a machine that is an array of bytes behind a monitor of its own.

use inspect::kernel::{Life, State, Wait};
use inspect::{Followed, Kernel, Memory, Program};
use object::{Object, ObjectSegment};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::Command;

const KERNEL: &str = r#"
#include <stdint.h>
struct container { uint32_t exists, parent, quota, usage, granted, children; };
struct process { uint32_t state, alive, cause; uint64_t cpus; };
struct thread { uint32_t process, cpu, state, wait_kind; };
struct sched_reservation { uint64_t period, budget, left, end; };
struct pagemap { uint32_t exists, root; };
struct container container[] = {{1, 2, 100, 40, 10, 1}, {0, 0, 7, 7, 0, 0}, {1, 9, 1000, 160, 100, 1}};
struct process process[] = {{2, 1, 0, 1}, {0, 0, 0x0e02, 1}};
struct thread thread[] = {{9, 0, 2, 0}, {0, 0, 3, 4}, {1, 0, 4, 0}};
struct sched_reservation sched_reservation[] = {{0}, {10000, 2000, 500, 0}, {0}};
struct pagemap pagemap[] = {{1, 2}, {0, 0}};
"#;

/// With the structures of programs as they are.
const DRIVER: &str = r#"
#include <stddef.h>
#include "ashlar/domain.h"
static const struct protocol_state states[] = {{.name = "Stopped"}, {.name = "Active"}};
static const struct protocol sata = {.name = "sata", .num_state = 2, .states = states};
struct mail_port domain_ports[DOMAIN_PORTS] __attribute__((section(".domain"))) =
    {[1] = {.protocol = &sata, .is_driver = 1, .monitor = {&sata, 0, 1, 0}}, [2] = {.protocol = &sata}};
"#;

fn folder(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("ashlar-inspect-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&path).unwrap();
    path
}

fn compiled(source: &str, options: &[&str], folder: &Path) -> Vec<u8> {
    let (text, elf) = (folder.join("program.c"), folder.join("program"));
    std::fs::write(&text, source).unwrap();
    let status = Command::new("gcc")
        .args(["-g", "-O1", "-nostdlib", "-static", "-no-pie", "-fno-pie", "-mcmodel=kernel", "-Wl,-e,0", "-o"])
        .args([&elf, &text])
        .args(options)
        .status()
        .unwrap();
    assert!(status.success());
    std::fs::read(elf).unwrap()
}

/// Copies what the file loads to where `place` puts it.
fn load(elf: &[u8], bytes: &mut Vec<u8>, place: impl Fn(u64) -> u64) {
    for segment in object::File::parse(elf).unwrap().segments() {
        let (at, data) = (place(segment.address()) as usize, segment.data().unwrap());
        bytes.resize(bytes.len().max(at + data.len() + 4096), 0);
        bytes[at..at + data.len()].copy_from_slice(data);
    }
}

/// Answers as the emulator's monitor does, until the test ends.
fn machine(bytes: Vec<u8>, folder: &Path) -> Memory {
    let socket = folder.join("monitor");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || listener.incoming().for_each(|stream| answer(stream.unwrap(), &bytes)));
    Memory::new(socket, folder.to_path_buf())
}

fn answer(mut stream: UnixStream, bytes: &[u8]) {
    stream.write_all(b"QEMU 7.2\r\n(qemu) ").unwrap();
    let mut line = String::new();
    BufReader::new(stream.try_clone().unwrap()).read_line(&mut line).unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let start = usize::from_str_radix(words[1].trim_start_matches("0x"), 16).unwrap();
    let size: usize = words[2].parse().unwrap();
    let said = match bytes.get(start..start + size) {
        Some(piece) => {
            std::fs::write(words[3].trim_matches('"'), piece).unwrap();
            "".to_string()
        }
        None => "Error: Invalid addr\r\n".to_string(),
    };
    stream.write_all(format!("{line}\r\n{said}(qemu) ").as_bytes()).unwrap();
}

#[test]
fn the_tables_of_a_kernel() {
    let folder = folder("kernel");
    let elf = compiled(KERNEL, &["-Wl,-Ttext-segment=0xffffffff80100000"], &folder);
    let mut bytes = Vec::new();
    load(&elf, &mut bytes, |address| address - inspect::KERNEL_BASE);
    let snapshot = Kernel::of(&elf).unwrap().read(&machine(bytes, &folder)).unwrap();
    let [running, ended] = &snapshot.processes[..] else { panic!("not two processes") };
    assert_eq!((running.life, running.pages, running.quota, running.root), (Life::Running, 30, 100, Some(0x2000)));
    assert_eq!((ended.life, ended.cause, ended.pages, ended.root), (Life::Empty, 0x0e02, 0, None));
    let states: Vec<State> = snapshot.threads.iter().map(|thread| thread.state).collect();
    assert_eq!(states, [State::Running, State::Blocked(Wait::Reply), State::Parked]);
    let reservation = snapshot.threads[1].reservation.map(|one| (one.period, one.budget, one.left));
    assert_eq!(reservation, Some((10000, 2000, 500)));
    // Of the system's 1000 pages 60 are its own and 30 the process's; 100 it has given away.
    assert_eq!((snapshot.used, snapshot.all), (90, 1000));
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_kernel_without_the_tables_is_refused() {
    let folder = folder("wrong");
    let elf = compiled("int x = 1;", &[], &folder);
    assert_eq!(Kernel::of(&elf).unwrap_err().to_string(), "it has no table container");
    let elf = compiled(&KERNEL.replace("budget", "money"), &[], &folder);
    assert_eq!(Kernel::of(&elf).unwrap_err().to_string(), "its table sched_reservation has no field budget");
    std::fs::remove_dir_all(folder).unwrap();
}

#[test]
fn the_states_of_a_driver() {
    let folder = folder("driver");
    let headers = format!("-I{}/../../user/include", env!("CARGO_MANIFEST_DIR"));
    let options = ["-Wl,--section-start=.domain=0x40201000", "-mcmodel=small", "-DDOMAIN_ELSEWHERE", &headers];
    let elf = compiled(DRIVER, &options, &folder);
    let mut bytes = vec![0; 0x10000];
    // Its page of variables is at 0x5000; root, two tables and the last one are from 0x1000 on.
    let file = object::File::parse(&*elf).unwrap();
    let data = file.segments().find(|segment| segment.address() == 0x4020_1000).unwrap().data().unwrap();
    bytes[0x5000..0x5000 + data.len()].copy_from_slice(data);
    for (at, entry) in [(0x1000, 0x2007_u64), (0x2008, 0x3007), (0x3008, 0x4007), (0x4008, 0x8000_0000_0000_5067)] {
        bytes[at..at + 8].copy_from_slice(&entry.to_le_bytes());
    }
    let memory = machine(bytes, &folder);
    let program = Program::of(&elf).unwrap().unwrap();
    let followed = program.read(&memory, 0x1000).unwrap();
    let active = Followed { protocol: "sata".into(), state: "Active".into() };
    assert_eq!(followed, [active], "a port of which it is the client is not its own");
    assert_eq!(program.read(&memory, 0x6000).unwrap(), [], "nothing is mapped there");
    assert!(Program::of(&compiled("int x = 1;", &[], &folder)).unwrap().is_none());
    std::fs::remove_dir_all(folder).unwrap();
}

/// What the kernel calls its states in numbers.
#[test]
fn the_numbers_are_the_kernel_s() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel");
    let read = |path: &str| std::fs::read_to_string(root.join(path)).unwrap();
    let (thread, abi) = (read("layers/thread/thread.h"), read("abi.h"));
    let states = ["UNUSED", "READY", "RUNNING", "BLOCKED", "PARKED", "EXITED"];
    let waits = ["NONE", "SLEEP", "ENDPOINT_SEND", "ENDPOINT_RECV", "REPLY", "NOTIFICATION", "CV", "PROCESS"];
    let lives = ["EMPTY", "LOADING", "RUNNING", "DYING"];
    let is_defined = |header: &str, name: String, number: usize| {
        let line = format!("#define {name} {number}u");
        assert!(header.lines().any(|one| one == line || one.starts_with(&format!("{line} "))), "{line}");
    };
    states.iter().enumerate().for_each(|(number, name)| is_defined(&thread, format!("THREAD_{name}"), number));
    waits.iter().enumerate().for_each(|(number, name)| is_defined(&thread, format!("WAIT_{name}"), number));
    lives.iter().enumerate().for_each(|(number, name)| is_defined(&abi, format!("PROCESS_{name}"), number));
}
