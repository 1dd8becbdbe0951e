//! Damaged files: an error or a program, never a panic, and never long.

use std::time::{Duration, Instant};

use testing::Random;
use wcet_binary::load::{Lines, Problem, Program};

/// A small ELF file for x86-64: header, two segments, code, data, sections, symbols. Written by hand, so that the test
/// needs no compiler.
fn sample() -> Vec<u8> {
    let mut file = Vec::new();
    file.extend(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    let half = |file: &mut Vec<u8>, numbers: &[u16]| numbers.iter().for_each(|n| file.extend(n.to_le_bytes()));
    let word = |file: &mut Vec<u8>, numbers: &[u32]| numbers.iter().for_each(|n| file.extend(n.to_le_bytes()));
    let long = |file: &mut Vec<u8>, numbers: &[u64]| numbers.iter().for_each(|n| file.extend(n.to_le_bytes()));
    half(&mut file, &[2, 62]);
    word(&mut file, &[1]);
    long(&mut file, &[0x40_0000, 64, 0x200]);
    word(&mut file, &[0]);
    half(&mut file, &[64, 56, 2, 64, 5, 4]);
    for (flags, offset, address, size) in [(5, 0x100, 0x40_0000, 0x10), (6, 0x110, 0x60_0000, 0x10)] {
        word(&mut file, &[1, flags]);
        long(&mut file, &[offset, address, address, size, size + 0x20, 0x1000]);
    }
    file.resize(0x100, 0);
    file.extend([0xc3; 0x10]);
    file.extend([7; 0x10]);
    // Two symbols, their names, the names of the sections.
    file.resize(0x120 + 24, 0);
    for (name, kind, address) in [(1_u32, 0x12_u8, 0x40_0000_u64), (7, 0x11, 0x60_0000)] {
        word(&mut file, &[name]);
        file.extend([kind, 0]);
        half(&mut file, &[1]);
        long(&mut file, &[address, 8]);
    }
    file.extend(b"\0start\0data\0");
    file.resize(0x180, 0);
    file.extend(b"\0.text\0.symtab\0.strtab\0.shstrtab\0");
    file.resize(0x200, 0);
    let sections: [[u64; 8]; 5] = [
        [0; 8],
        [1, 1, 6, 0x40_0000, 0x100, 0x10, 0, 0],
        [7, 2, 0, 0, 0x120, 72, 3 | 1 << 32, 24],
        [15, 3, 0, 0, 0x168, 12, 0, 0],
        [23, 3, 0, 0, 0x180, 33, 0, 0],
    ];
    for [name, kind, flags, address, offset, size, link, entry] in sections {
        word(&mut file, &[name as u32, kind as u32]);
        long(&mut file, &[flags, address, offset, size, link, 1, entry]);
    }
    file
}

#[test]
fn the_sample_is_whole() {
    let program = Program::parse(&sample()).unwrap();
    assert_eq!(program.symbol("start").unwrap().address, 0x40_0000);
    assert_eq!(program.symbol("data").unwrap().address, 0x60_0000);
    assert_eq!(program.describe(0x40_0003), "start+0x3");
    assert_eq!(program.code(0x40_000e, 15), Some(&[0xc3, 0xc3][..]));
    assert_eq!(program.constant(0x40_0000, 4), Some(0xc3c3_c3c3));
    assert_eq!(program.constant(0x40_002c, 4), Some(0), "zero up to the segment's end");
    assert_eq!(program.constant(0x40_002d, 4), None);
    assert_eq!(program.constant(0x60_0000, 4), None, "writable");
    assert_eq!(program.code(0x60_0000, 1), None);
}

#[test]
fn a_thousand_corruptions() {
    let whole = sample();
    let mut random = Random(1);
    let (mut refused, start) = (0, Instant::now());
    for _ in 0..1000 {
        let mut file = whole.clone();
        for _ in 0..=random.below(4) {
            let at = random.below(file.len());
            file[at] = match random.below(3) {
                0 => 0xff,
                1 => random.byte(),
                _ => file[at] ^ 1 << random.below(8),
            };
        }
        if random.one_in(4) {
            file.truncate(random.below(file.len()));
        }
        match Program::parse(&file) {
            Ok(program) => {
                for segment in program.segments() {
                    program.code(segment.address, 15);
                    program.constant(segment.address + (segment.size - 1), 8);
                    program.describe(segment.address);
                }
            }
            Err(errors) => {
                refused += 1;
                assert!(errors.iter().all(|error| !error.place.is_empty()) && !errors.is_empty());
            }
        }
        Lines::parse(&file).place(0x40_0000);
    }
    assert!(refused > 100, "{refused}");
    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn what_is_wrong_is_said() {
    let damaged = |at: usize, bytes: &[u8]| {
        let mut file = sample();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        Program::parse(&file).map(|_| ()).expect_err("an error")[0].clone()
    };
    assert!(matches!(damaged(0, b"no").problem, Problem::Malformed(_)));
    assert!(matches!(damaged(18, &[183]).problem, Problem::Architecture(_)), "AArch64");
    assert!(matches!(damaged(16, &[1]).problem, Problem::NotExecutable(_)));
    assert_eq!(damaged(24, &[0, 0, 0x60]).problem, Problem::EntryOutsideCode { address: 0x60_0000 });
    let outside = damaged(64 + 8, &[0, 0x10]);
    assert_eq!(outside.to_string(), "segment 0: reaches outside the file: 16 bytes at offset 0x1000 of 832 bytes");
    assert!(matches!(damaged(64 + 32, &[0xff]).problem, Problem::LargerThanMemory { .. }));
    assert!(matches!(damaged(64 + 16, &[0xff; 8]).problem, Problem::WrapsAround { .. }));
    assert!(matches!(damaged(64 + 56 + 16, &[0, 0, 0x40]).problem, Problem::Overlap { .. }));
    assert_eq!(damaged(64 + 4, &[4]).problem, Problem::NoCode);
}
