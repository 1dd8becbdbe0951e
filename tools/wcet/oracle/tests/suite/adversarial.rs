//! A sample of the programs that are meant to mislead the analysis. The campaign `timing-adversarial` tries more.

use std::path::Path;
use std::time::Duration;

use wcet_oracle::adversarial::{program, text, TARGETS};
use wcet_oracle::compare::compare;
use wcet_oracle::measure::build::Target;

const SAMPLE: u64 = 8;

/// Of targets other than the first two, fewer.
const FEWER: u64 = 4;

#[test]
fn no_bound_is_below_a_run_and_no_run_takes_what_is_excluded() {
    let into = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let (mut bounded, mut all) = (0, 0);
    for number in 0..SAMPLE {
        for target in TARGETS {
            let first = matches!(target, Target::X86Speed | Target::ArmSpeed);
            if !first && number >= FEWER {
                continue;
            }
            let program = program(campaign::item_seed(1, number), target, into).unwrap();
            let row = compare(&program, target, into, Duration::from_secs(20)).unwrap();
            assert!(row.faults().is_empty(), "{:#?}", row.faults());
            all += 1;
            bounded += usize::from(row.bound.is_some() && row.bound >= row.observed);
        }
    }
    assert!(4 * bounded >= 3 * all, "{bounded} of {all} bounded");
}

#[test]
fn a_seed_gives_the_same_program() {
    for target in TARGETS {
        assert_eq!(text(7, 0, target), text(7, 0, target));
        assert_ne!(text(7, 0, target), text(7, 1, target));
        assert_ne!(text(7, 0, target), text(8, 0, target));
    }
}
