//! Damaged debug information: lines or none, never a panic, and never long.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use wcet_binary::load::{Lines, Program};

fn sample() -> Vec<u8> {
    let directory = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (source, file) = (directory.join("lines.c"), directory.join("lines.elf"));
    let text = "static inline int twice(int x) {\n    return x + x;\n}\nvolatile int a;\nvoid start(void) {\n    a = twice(a);\n}\n";
    std::fs::write(&source, text).unwrap();
    let options = ["-O2", "-g", "-ffreestanding", "-nostdlib", "-static", "-no-pie", "-fno-pie", "-Wl,-e,start", "-o"];
    assert!(Command::new("gcc").args(options).args([&file, &source]).status().unwrap().success());
    std::fs::read(&file).unwrap()
}

#[test]
fn lines_of_whole_and_of_damaged_files() {
    let whole = sample();
    let program = Program::parse(&whole).unwrap();
    let start = program.symbol("start").unwrap().address;
    let lines: Vec<u32> = (start..start + 12).filter_map(|at| Some(Lines::parse(&whole).place(at)?.line)).collect();
    assert!(lines.contains(&6) && lines.contains(&2), "{lines:?}");

    let mut seed = 7_u64;
    let mut random = |limit: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % limit
    };
    let clock = Instant::now();
    for _ in 0..1000 {
        let mut file = whole.clone();
        for _ in 0..=random(8) {
            let at = random(file.len());
            file[at] = if random(2) == 0 { 0xff } else { random(256) as u8 };
        }
        let lines = Lines::parse(&file);
        (start..start + 12).for_each(|at| drop(lines.place(at)));
        let _ = Program::parse(&file);
    }
    assert!(clock.elapsed() < Duration::from_secs(20));
}
