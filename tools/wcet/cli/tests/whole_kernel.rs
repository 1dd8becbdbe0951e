//! The report about Ashlar's kernel as it is built: nothing of it is open, it has the form that it promises, and the page of
//! the documentation says the same. The report is that of `ashlar timing --system`: `./ashlar test timing-kernel` makes it before.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use serde_json::Value;
use wcet_kernel::Description;
use wcet_report::{Report, Verdict};

#[path = "../src/page.rs"]
mod page;

const PAGE: &str = "docs/src/reference/timing-kernel.md";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..").canonicalize().expect("the tree's root")
}

/// The report, as it is and as its types.
fn report() -> (Value, Report) {
    let text = std::fs::read_to_string(root().join("build/timing/kernel.json")).expect("a report");
    let value: Value = serde_json::from_str(&text).expect("one JSON object");
    let report: Report = serde_json::from_value(value.clone()).expect("a report");
    let kernel = std::fs::read(&report.program.file).expect("the kernel");
    assert_eq!(report.program.sha256, wcet_paths::analysis::hash(&kernel), "it is of another kernel");
    (value, report)
}

#[test]
#[ignore = "the kernel has to be bounded first: ./ashlar test timing-kernel"]
fn everything_of_the_kernel_is_bounded_and_the_page_says_so() {
    let (value, report) = report();
    let schema = schema::Schema::read(&root().join("docs/src/reference/schemas/timing.schema.json"));
    schema.expect("a schema").check(&value).expect("a report as the schema says");
    assert!(report.errors.is_empty(), "{:#}", value["errors"]);
    assert_eq!(report.verdict, Verdict::Bounded);
    let unbounded: Vec<&str> =
        report.loops.iter().filter(|one| one.bound.is_none()).map(|one| one.function.as_str()).collect();
    assert!(unbounded.is_empty() && report.loops.len() > 50, "loops without a bound: {unbounded:?}");

    let regions = report.regions.as_ref().expect("regions");
    let response = report.worst_response_cycles.expect("a response");
    for region in regions {
        let cycles = region.wcet_cycles.unwrap_or_else(|| panic!("{} has no bound", region.name));
        assert!(cycles > 0 && cycles < response, "{}: {cycles}", region.name);
    }
    assert!(report.stack_bytes.is_some_and(|bytes| bytes > 0 && bytes <= 4096));

    let responses = report.responses.as_ref().expect("responses");
    for one in responses {
        assert!(one.cycles <= response && one.cycles == one.closed_cycles + one.service_cycles + one.handler_cycles);
        assert_eq!(one.lock_wait_cycles.keys().map(String::as_str).collect::<Vec<_>>(), ["2", "4"], "{}", one.name);
        assert!(one.lock_wait_cycles["2"] <= one.lock_wait_cycles["4"], "{}", one.name);
    }
    let of = |name: &str| responses.iter().find(|one| one.name == name).unwrap_or_else(|| panic!("{name}"));
    // A thread that waits for a line waits in one place; a message to another processor may wake any thread.
    assert_eq!(of("line 5").handler.as_deref(), Some("wait"));
    assert!(of("line 5").cycles < of("serial").cycles && of("line 5").handler_cycles < of("reschedule").handler_cycles);
    assert_eq!((of("translation").handler.as_deref(), of("translation").handler_cycles), (None, 0));
    let loops = report.response_loops.as_ref().expect("loops of responses");
    assert!(!loops.is_empty() && loops.iter().all(|one| one.bound.is_some()), "{loops:?}");

    let locks = report.locks.as_ref().expect("how long locks are held is known");
    let wait = |region: &wcet_report::Region| region.lock_wait_cycles.expect("so are the waits of every region");
    assert!(report.lock_wait_cycles >= regions.iter().map(wait).max());
    assert!(report.lock_processors.is_some_and(|processors| processors > 1));
    let families: BTreeSet<&str> = locks.iter().map(|lock| lock.name.as_str()).collect();
    for family in ["console", "container", "frame", "pagemap", "sched_pending", "endpoint", "notify", "process", "irq"]
    {
        assert!(families.contains(family), "no region takes a lock of {family}");
    }
    let longest = regions.iter().filter_map(|region| region.wcet_cycles).max();
    for lock in locks {
        assert!(lock.section_cycles > 0 && Some(lock.section_cycles) < longest, "{lock:?}");
        assert!(lock.section_cycles <= lock.held_cycles && lock.held_cycles <= lock.wait_cycles, "{lock:?}");
    }

    let description = Description::load(&root().join("kernel/timing.toml")).expect("the description is well formed");
    let names: BTreeSet<&str> = regions.iter().map(|region| region.name.as_str()).collect();
    let calls = description.calls.expect("system calls are described").numbers;
    let calls = calls.keys().map(|name| format!("system call {name}"));
    let exceptions = description.vectors.exceptions.iter().map(|vector| format!("exception {vector}"));
    let vectors: BTreeSet<u64> = report.responses.iter().flatten().map(|one| one.vector).collect();
    let described = description.vectors.interrupts.iter().flat_map(|one| one.vectors());
    assert_eq!(vectors, described.collect::<BTreeSet<u64>>());
    let others = ["system call with another number", "thread start", "interrupt timer", "interrupt iommu"];
    for name in calls.chain(exceptions).chain(others.map(String::from)) {
        assert!(names.contains(name.as_str()), "{name} is missing");
    }

    let made = page::page(&report).expect("a page");
    let committed = std::fs::read_to_string(root().join(PAGE)).expect("the page is there");
    let differ = made.lines().zip(committed.lines()).find(|(made, committed)| made != committed);
    assert!(
        made == committed,
        "make {PAGE} anew, by the command in its first line with -o {PAGE}; first difference, made and committed: {differ:?}"
    );
}
