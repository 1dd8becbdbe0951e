//! Bounds of loops, and of how often instructions are executed, that people state: believed, said to be so, and refused where
//! there is nothing of which they could be true.

use std::sync::LazyLock;
use std::time::Duration;

use wcet_paths::analysis::{analyse, Request};
use wcet_report::{Evidence, Report, Verdict};

use crate::analysed::{build, request, Target, ARM, RISC_V, X86};

/// How long the list is depends on memory.
const LIST: &str = "
    struct item { struct item *next; unsigned value; } *volatile first;
    volatile unsigned sink;
    void _start(void) { }
    void walk(void) {
        unsigned sum = 0;
        for (struct item *at = first; at; at = at->next)
            sum += at->value;
        for (unsigned i = 0; i < 50; i++)
            sink = sum + i;
    }";

/// No search finds a bound.
const SEARCH: Duration = Duration::from_secs(2);

fn bounded(request: &Request) -> Report {
    analyse(request, &mut |_, _, _| {})
}

/// For each target a request and the report about it, with nothing stated: the tests share them, as each takes the whole search.
static UNAIDED: LazyLock<Vec<(Target, Request, Report)>> = LazyLock::new(|| {
    let unaided = |target| {
        let data = build(target, "c", LIST, &["-O1"]);
        let request = Request { entry: Some("walk".to_string()), timeout: Some(SEARCH), ..request(target, data) };
        let unaided = bounded(&request);
        (target, request, unaided)
    };
    [ARM, RISC_V, X86].map(unaided).into()
});

fn cases() -> impl Iterator<Item = (Target, Request, &'static Report)> {
    UNAIDED.iter().map(|(target, request, unaided)| (*target, request.clone(), unaided))
}

#[test]
fn a_stated_bound_is_used_and_said_to_be_stated() {
    for (target, mut request, unaided) in cases() {
        assert_eq!(unaided.verdict, Verdict::Unbounded, "{target:?}");
        let open = unaided.loops.iter().find(|one| one.bound.is_none()).expect("the list has no bound");
        let mut cycles = Vec::new();
        for most in [10, 20] {
            request.stated.loops = vec![format!("{}={most}", open.address)];
            let report = bounded(&request);
            let stated: Vec<_> = report.loops.iter().filter(|one| one.evidence == Some(Evidence::Stated)).collect();
            assert_eq!(stated.len(), 1, "{target:?}");
            assert_eq!((&stated[0].address, stated[0].bound), (&open.address, Some(most)));
            let says = format!("executes its header at most {most} times for each entry of it");
            assert!(report.assumptions.iter().any(|one| one.of == "stated" && one.text.ends_with(&says)), "{target:?}");
            cycles.push(report.wcet_cycles.expect("all loops are bounded"));
        }
        assert!(cycles[0] < cycles[1], "{target:?}: {cycles:?}");
    }
}

#[test]
fn the_smaller_of_what_is_stated_and_inferred_is_used() {
    for (target, mut request, unaided) in cases() {
        let open = unaided.loops.iter().find(|one| one.bound.is_none()).expect("the list has no bound");
        let counted = unaided.loops.iter().find(|one| one.bound.is_some()).expect("the other is counted");
        for (most, used, evidence) in [(3, 3, Evidence::Stated), (1000, counted.bound.unwrap(), Evidence::Inferred)] {
            request.stated.loops = vec![format!("{}=10", open.address), format!("{}={most}", counted.address)];
            let report = bounded(&request);
            let found = report.loops.iter().find(|one| one.address == counted.address).unwrap();
            assert_eq!((found.bound, found.evidence), (Some(used), Some(evidence)), "{target:?}");
        }
    }
}

#[test]
fn what_is_stated_of_no_loop_is_refused() {
    for (target, mut request, unaided) in cases() {
        request.stated.loops = vec!["walk=10".to_string(), "nowhere=10".to_string()];
        let report = bounded(&request);
        assert_eq!((report.verdict, report.wcet_cycles), (Verdict::Refused, None), "{target:?}");
        assert!(report.errors[0].message.contains("no symbol `nowhere`"), "{:?}", report.errors);
        request.stated.loops.pop();
        let report = bounded(&request);
        assert_eq!(report.errors.len(), 1, "{target:?}: {:?}", report.errors);
        assert_eq!(report.errors[0].message, "no loop of the region begins at walk");
        assert!(report.errors[0].remedy.contains("the nearest loop of the region begins at walk+"), "{target:?}");
        assert!(!unaided.loops.is_empty());
    }
}

#[test]
fn what_executes_so_often_at_most_bounds_the_whole() {
    for (target, mut request, unaided) in cases() {
        let open = unaided.loops.iter().find(|one| one.bound.is_none()).expect("the list has no bound");
        let counted = unaided.loops.iter().find(|one| one.bound.is_some()).expect("the other is counted");
        // All loops are stated: what time there is goes to the worst path.
        let mut cycles = |most: u64, executes: &[String], seconds: u64| {
            request.timeout = Some(Duration::from_secs(seconds));
            request.stated.loops = vec![format!("{}={most}", open.address)];
            request.stated.executes = executes.to_vec();
            let report = bounded(&request);
            let says = report.assumptions.iter().filter(|one| one.text.starts_with("in the whole region ")).count();
            assert_eq!(says, executes.len(), "{target:?}: {:?}", report.assumptions);
            report.wcet_cycles.expect("all loops are bounded")
        };
        let (ten, twenty) = (cycles(10, &[], 120), cycles(20, &[], 120));
        let first = |most: u64| format!("{}={most}", open.address);
        // A number for the whole may cost a little that a loop's own bound does not.
        let near = |bound: u64, exact: u64| exact <= bound && bound <= exact + exact / 100;
        let (limited, free) = (cycles(20, &[first(10)], 120), cycles(20, &[first(20)], 120));
        assert!(near(limited, ten) && near(free, twenty), "{target:?}: {limited}, {ten}; {free}, {twenty}");
        let late = cycles(20, &[first(10)], 0);
        assert!(ten <= late && late < twenty, "{target:?}: {ten}, {late}, {twenty}");
        // The other loop may run 50 times, or fewer for all that a bound knows.
        let together = |most: u64| format!("{},{}={most}", open.address, counted.address);
        let (least, less) = (cycles(20, &[together(20)], 120), cycles(20, &[together(60)], 120));
        assert!(least < less && less < twenty, "{target:?}: {least}, {less}, {twenty}");
        assert!(near(cycles(20, &[together(70)], 120), twenty), "{target:?}");
    }
}

#[test]
fn what_is_stated_of_no_instruction_is_refused() {
    for (target, mut request, unaided) in cases() {
        let open = unaided.loops.iter().find(|one| one.bound.is_none()).expect("the list has no bound");
        request.stated.loops = vec![format!("{}=10", open.address)];
        for (stated, message) in [
            ("_start=3", "no instruction at _start is reached"),
            ("nowhere=3", "the executable has no symbol `nowhere`"),
            ("walk=few", "`few` in `walk=few` is no number"),
            ("walk", "`walk` is not of the form NAME=VALUE"),
        ] {
            request.stated.executes = vec![stated.to_string()];
            let report = bounded(&request);
            assert_eq!((report.verdict, report.wcet_cycles), (Verdict::Refused, None), "{target:?}: {stated}");
            assert!(report.errors[0].message.starts_with(message), "{target:?}: {:?}", report.errors);
        }
    }
}
