//! Damaged executables through the whole pipeline: an error or a valid report each, no panic, no endless search. `TIMING_CASES`
//! sets their number for each instruction set. What an analysis may take is limited by construction (sizes are checked against the
//! file, graphs, steps and solver have limits), so that no clock is asked here: a search without end would end this test by never
//! ending.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use testing::{cases, Random};

use crate::analysed::{build, request, Target, ARM, THUMB, X86};
use wcet_paths::analysis::{analyse, status};
use wcet_report::{Report, Verdict};

/// Loops, a jump table, calls, a table of constants and a recursion that is never taken: something of everything.
const SOURCE: &str = "
static const unsigned char table[16] = { 3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3 };
volatile int input;
int data[32];
__attribute__((noinline)) int sum(int count) {
    int total = 0;
    for (int i = 0; i < count; i++)
        total += table[i & 15];
    return total;
}
__attribute__((noinline)) int choose(int which) {
    switch (which) {
    case 0: return sum(3);
    case 1: return data[1] + 7;
    case 2: input = 5; return 2;
    case 3: return sum(9);
    case 4: return input * 3;
    case 5: data[3] = 4; return 11;
    default: return -1;
    }
}
void _start(void) {
    int total = 0;
    for (int i = 0; i < 4; i++)
        total += choose(i & 7);
    for (int i = 31; i >= 0; i--)
        data[i] = total;
    input = total;
    for (;;) {
    }
}
__attribute__((noinline)) int entry(int which) { return choose(which) + sum(8); }
int keep(void) { return entry(input); }
";

/// A copy of `whole` with some of it changed: anywhere, in its headers, or in its code.
fn damaged(whole: &[u8], code: (usize, usize), seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let mut file = whole.to_vec();
    let (start, size) = match random.below(4) {
        0 => (0, 64 + 56 * 4),
        1 => code,
        2 => (whole.len() * 3 / 4, whole.len() / 4),
        _ => (0, whole.len()),
    };
    for _ in 0..=random.below(6) {
        let at = (start + random.below(size)).min(file.len() - 1);
        match random.below(5) {
            0 => file[at] = 0xff,
            1 => file[at] = random.below(256) as u8,
            2 => file[at] ^= 1 << random.below(8),
            3 => {
                let number = [0, u64::MAX, 1 << 63, 0x7fff_ffff, 0xffff_fff0, 1 << 40][random.below(6)];
                file.iter_mut().skip(at).zip(number.to_le_bytes()).for_each(|(byte, new)| *byte = new);
            }
            _ => {
                let from = random.below(file.len());
                let piece: Vec<u8> = file.iter().skip(from).take(16).copied().collect();
                file.iter_mut().skip(at).zip(piece).for_each(|(byte, new)| *byte = new);
            }
        }
    }
    if random.below(16) == 0 {
        file.truncate(random.below(file.len()));
    }
    file
}

/// Where the program's code stands in the file: the bytes of the executable segment.
fn code(data: &[u8]) -> (usize, usize) {
    let program = wcet_binary::load::Program::parse(data).unwrap();
    let segment = program.segments().iter().find(|segment| segment.permissions.execute).unwrap();
    let at = data.windows(32).position(|window| segment.bytes.get(..32) == Some(window)).unwrap();
    (at, segment.bytes.len())
}

/// Checks that a report is whole: a number and no error, or errors and no number.
fn check(report: &Report) {
    match report.verdict {
        Verdict::Bounded | Verdict::Late => {
            assert!(report.wcet_cycles.is_some() && report.errors.is_empty());
            assert_eq!(status(report), 0);
        }
        Verdict::Unbounded | Verdict::Refused => {
            assert!(report.wcet_cycles.is_none() && report.path.is_empty() && !report.errors.is_empty());
            assert!(status(report) > 0);
        }
    }
    let json = wcet_report::json(report).unwrap();
    assert!(&wcet_report::from_json(&json).unwrap() == report, "JSON loses something");
    wcet_report::html(report);
    wcet_report::csv(report);
    wcet_report::sarif(report);
    wcet_report::human(report);
}

fn campaign(target: Target, count: usize) -> (usize, usize) {
    let whole = build(target, "c", SOURCE, &["-O2", "-g"]);
    let code = code(&whole);
    let (bounded, refused) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let next = AtomicUsize::new(0);
    let work = || loop {
        let number = next.fetch_add(1, Ordering::Relaxed);
        if number >= count {
            return;
        }
        let mut request = request(target, damaged(&whole, code, number as u64));
        request.entry = Some("entry".into());
        // The solver has limits of its own, which are the subject of its tests; a few files go there too.
        request.timeout = Some(Duration::from_secs(if number % 16 == 0 { 2 } else { 0 }));
        let done = catch_unwind(AssertUnwindSafe(|| {
            let report = analyse(&request, &mut |_, _, _| {});
            check(&report);
            report.wcet_cycles.is_some()
        }));
        match done {
            Ok(true) => bounded.fetch_add(1, Ordering::Relaxed),
            Ok(false) => refused.fetch_add(1, Ordering::Relaxed),
            Err(_) => panic!("the file damaged with seed {number} makes the analysis panic"),
        };
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            // Deep call chains in damaged code must not need a deep stack either: threads have 2 MiB.
            scope.spawn(work);
        }
    });
    (bounded.into_inner(), refused.into_inner())
}

#[test]
fn damaged_executables_are_refused_or_analysed() {
    for target in [X86, ARM, THUMB] {
        let count = cases(150) as usize;
        let (bounded, refused) = campaign(target, count);
        assert_eq!(bounded + refused, count);
        assert!(bounded > count / 25 && refused > count / 25, "{target:?}: {bounded} bounded, {refused} refused");
    }
}
