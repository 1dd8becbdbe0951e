//! Loops that only a measure bounds, through all stages.

use crate::analysed::{build, request, RISC_V};
use wcet_paths::analysis::{analyse, Request, Stated};

/// gcc enters the loop around that for the place in its midst, so what is left of the word is known only behind one iteration;
/// and that a bit goes follows from the place that the inner loop has counted.
#[test]
fn bits_that_are_cleared_by_their_places() {
    let source = "
        unsigned set[3]; volatile unsigned char member;
        void work(void) {
            for (unsigned word = 0; word < 3; word++) {
                unsigned rest = set[word];
                while (rest != 0) {
                    unsigned low = rest & -rest, bit = 0;
                    while (low >>= 1) bit++;
                    member = (unsigned char)(32 * word + bit);
                    rest ^= 1u << bit;
                }
            }
        }
        void _start(void) { set[1] = 5; work(); }";
    let data = build(RISC_V, "c", source, &["-O2"]);
    let report = analyse(
        &Request {
            entry: Some("work".into()),
            stated: Stated { copies: 64, ..Stated::default() },
            ..request(RISC_V, data)
        },
        &mut |_, _, _| {},
    );
    let bounds: Vec<_> = report.loops.iter().map(|one| one.bound).collect();
    assert_eq!(bounds.iter().flatten().filter(|bound| **bound == 33).count(), 1, "{bounds:?}");
    assert!(bounds.iter().all(Option::is_some), "{bounds:?}");
}
