//! Functions that call themselves at several places: most chains of calls that the stated depth allows are none that are executed.

use crate::analysed::{build, request, Target, ARM, X86};
use wcet_paths::analysis::{analyse, Request};
use wcet_report::{Report, Verdict};

/// Eight calls at each level: a depth of 7 allows more than 2,000,000 of them.
const SOURCE: &str = "
    volatile int sink;
    __attribute__((noipa)) void walk(int n) {
        sink++;
        for (int i = 0; i < n; i++) sink ^= i;
        if (n < 2) return;
        walk(n / 2); walk(n / 2); walk(n / 2); walk(n / 2); walk(n / 2); walk(n / 2); walk(n / 2); walk(n / 2);
        sink--;
    }
    void _start(void) { }
    void region(void) { walk(ARGUMENT); sink = 0; }";

fn walked(target: Target, argument: &str, depth: u32) -> Report {
    let data = build(target, "c", &SOURCE.replace("ARGUMENT", argument), &["-O1", "-fno-asynchronous-unwind-tables"]);
    let mut request = Request { entry: Some("region".to_string()), ..request(target, data) };
    request.stated.recursion = vec![format!("walk={depth}")];
    analyse(&request, &mut |_, _, _| {})
}

/// The bound is that of the depth which is reached.
#[test]
fn a_stated_depth_that_is_not_reached() {
    for target in [X86, ARM] {
        let (stated, least) = (walked(target, "3", 7), walked(target, "3", 1));
        assert_eq!(stated.verdict, Verdict::Bounded, "{target:?}: {:?}", stated.errors);
        assert!(stated.wcet_cycles.is_some_and(|cycles| cycles > 1000));
        assert_eq!(stated.wcet_cycles, least.wcet_cycles, "{target:?}");
        assert_eq!(stated.program.nodes, least.program.nodes);
    }
}

/// Where the argument is not known, all of them may be executed.
#[test]
fn a_stated_depth_that_may_be_reached_is_refused_as_too_large() {
    let refused = walked(ARM, "sink", 7);
    assert_eq!(refused.verdict, Verdict::Refused);
    assert!(refused.errors.iter().any(|error| error.code == "ASH-T010"), "{:?}", refused.errors);
}
