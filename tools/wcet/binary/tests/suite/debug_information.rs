//! Damaged debug information: lines or none, never a panic, and never long.

use std::time::{Duration, Instant};

use testing::Random;
use wcet_binary::load::{Lines, Program};

fn sample() -> Vec<u8> {
    let text = "static inline int twice(int x) {\n    return x + x;\n}\nvolatile int a;\nvoid start(void) {\n    a = twice(a);\n}\n";
    let options = ["-O2", "-g", "-ffreestanding", "-nostdlib", "-static", "-no-pie", "-fno-pie", "-Wl,-e,start"];
    testing::compile("gcc", &options, "c", text)
}

#[test]
fn lines_of_whole_and_of_damaged_files() {
    let whole = sample();
    let program = Program::parse(&whole).unwrap();
    let start = program.symbol("start").unwrap().address;
    let lines: Vec<u32> = (start..start + 12).filter_map(|at| Some(Lines::parse(&whole).place(at)?.line)).collect();
    assert!(lines.contains(&6) && lines.contains(&2), "{lines:?}");

    let mut random = Random(7);
    let clock = Instant::now();
    for _ in 0..1000 {
        let mut file = whole.clone();
        for _ in 0..=random.below(8) {
            let at = random.below(file.len());
            file[at] = if random.one_in(2) { 0xff } else { random.byte() };
        }
        let lines = Lines::parse(&file);
        (start..start + 12).for_each(|at| drop(lines.place(at)));
        let _ = Program::parse(&file);
    }
    assert!(clock.elapsed() < Duration::from_secs(20));
}
