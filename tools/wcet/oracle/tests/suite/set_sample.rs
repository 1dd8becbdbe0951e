//! A sample of the set, quick enough for every run of the tests. The whole set is `wcet-compare`'s.

use std::path::Path;
use std::time::Duration;

use wcet_oracle::compare::{compare, inferred, Sum, Verdict};
use wcet_oracle::measure::build::{build, Target};
use wcet_oracle::measure::set::{programs, Program};

const SAMPLE: [&str; 8] = [
    "insertion_sort",
    "triangle",
    "fir_filter",
    "field_bounds",
    "early_exits",
    "shifts",
    "division_library",
    "prime_sieve",
];

fn program(name: &str) -> Program {
    programs().unwrap().into_iter().find(|program| program.name == name).unwrap()
}

fn into() -> &'static Path {
    Path::new(env!("CARGO_TARGET_TMPDIR"))
}

/// Bounds, totals and dead edges, in every context.
#[test]
fn inference_is_never_below_what_is_measured() {
    let (mut loops, mut bounded, mut exact) = (0, 0, 0);
    for name in SAMPLE {
        for target in Target::ALL {
            let sum = inferred(&build(&program(name), target, into()).unwrap()).unwrap();
            assert!(sum.faults.is_empty(), "{:?}", sum.faults);
            loops += sum.loops;
            bounded += sum.bounded;
            exact += sum.exact;
        }
    }
    println!("{loops} loops, {bounded} bounded, {exact} exact");
    assert!(loops > 120 && 100 * bounded >= 97 * loops && 100 * exact >= 80 * loops);
}

/// The calling convention of RV64 extends the sign of 32-bit arguments: loops that shift them end for that reason alone.
#[test]
fn arguments_of_32_bits_end_loops_on_rv64() {
    for name in ["shifts", "division_steps"] {
        let row = compare(&program(name), Target::RiscV64Speed, into(), Duration::from_secs(60)).unwrap();
        assert!(row.faults().is_empty() && row.errors.is_empty(), "{row:?}");
        assert_eq!(Sum::of([&row]).exact, row.loops.len(), "{row:?}");
        assert!(row.bound.unwrap() >= row.observed.unwrap());
    }
}

/// A word loses its lowest bit, whose place a loop inside counts: no recurrence says that.
#[test]
fn a_walk_along_the_bits_of_a_word_ends_with_them() {
    let row = compare(&program("bit_set"), Target::X86Size, into(), Duration::from_secs(600)).unwrap();
    assert!(row.faults().is_empty() && row.errors.is_empty(), "{row:?}");
    assert_eq!(Sum::of([&row]).exact, row.loops.len(), "{row:?}");
    assert!(row.bound.unwrap() >= row.observed.unwrap());
}

/// The index is read by an address that could be a device's, if the limit of the loop's counter were lost.
#[test]
fn a_jump_table_in_a_loop_is_understood_on_a_machine_with_devices() {
    let row = compare(&program("switch_table"), Target::X86Size, into(), Duration::from_secs(600)).unwrap();
    assert!(row.faults().is_empty() && row.errors.is_empty(), "{row:?}");
    assert_eq!(Sum::of([&row]).exact, 1, "{row:?}");
}

/// The whole analysis: a bound on cycles that is not below any run, and paths excluded that no run takes.
#[test]
fn a_bound_holds_and_knows_branches_that_exclude_each_other() {
    for target in [Target::ArmSpeed, Target::X86Size, Target::RiscV64Speed] {
        let row = compare(&program("conflict_three"), target, into(), Duration::from_secs(60)).unwrap();
        assert!(row.faults().is_empty() && row.errors.is_empty(), "{row:?}");
        let (bound, observed) = (row.bound.unwrap(), row.observed.unwrap());
        assert!(bound >= observed);
        assert!(row.infeasible > 0 && bound < row.bound_without.unwrap(), "{row:?}");
        assert_eq!(Sum::of([&row]).exact, row.loops.len());
        // No two of the three exclude each other, and without the set the bound is what it was.
        let necessity = row.necessity.unwrap();
        assert!(necessity.sets.iter().all(|set| set.edges >= 3), "{necessity:?}");
        assert!(necessity.sets.iter().any(|set| set.without > necessity.with_all), "{necessity:?}");
    }
}

/// A measurement above the bound is a fault.
#[test]
fn a_bound_that_is_too_low_is_a_fault() {
    let mut row = compare(&program("crc_bits"), Target::ArmSpeed, into(), Duration::from_secs(60)).unwrap();
    assert!(row.faults().is_empty());
    row.loops[0].verdict = Verdict::Below;
    row.bound = row.observed.map(|observed| observed - 1);
    assert_eq!(row.faults().len(), 2, "{:?}", row.faults());
}
