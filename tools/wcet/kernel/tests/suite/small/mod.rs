//! The regions of a small kernel, assembled here, and their bounds.

use std::path::{Path, PathBuf};

use wcet_binary::lift::Lifter;
use wcet_binary::load::Program;
use wcet_hardware::machine::Machine;
use wcet_kernel::{
    analyse, locking, response, statements, waiting, whole, Analysed, Description, Error, Kernel, Kind, Sections,
};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/small")
}

fn description() -> String {
    std::fs::read_to_string(folder().join("timing.toml")).expect("the description is there")
}

fn machine() -> Machine {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../machines/timing/x86-inorder.toml");
    wcet_hardware::machine::load(&file).expect("the machine is sound")
}

/// What a description says of the small kernel, handed to a test.
fn with(text: &str, test: impl FnOnce(Result<Kernel<'_>, Vec<Error>>)) {
    with_options(&[], text, test);
}

/// The same of the kernel as the compiler's options make it.
fn with_options(options: &[&str], text: &str, test: impl FnOnce(Result<Kernel<'_>, Vec<Error>>)) {
    let data = testing::kernel(&folder().join("kernel.S"), options);
    let program = Program::parse(&data).expect("the kernel is an executable");
    let lifter = Lifter::new(&program).expect("its instructions are known");
    let description = Description::parse(text).expect("the description is well formed");
    test(Kernel::new(&lifter, &description));
}

fn one(kernel: &Kernel<'_>, kind: Kind) -> Analysed {
    let region = kernel.regions.iter().find(|region| region.kind == kind).expect("there is such a region");
    analyse(kernel, region, &machine()).expect("the region is understood")
}

#[test]
fn all_kinds_of_regions_are_found_with_the_depth_of_their_stacks() {
    with(&description(), |kernel| {
        let kernel = kernel.expect("the description fits");
        let below = |kind| {
            let mut all = kernel.regions.iter().filter(|region| region.kind == kind);
            all.next().map(|region| region.below)
        };
        for kind in [Kind::SystemCall, Kind::Exception, Kind::Interrupt, Kind::Inside, Kind::ThreadStart, Kind::Idle] {
            assert_eq!(below(kind), Some(None), "{kind:?}");
        }
        // The handler's return address and one register; in the window that function's return address besides; where the
        // thread was switched from, those of `decide` and `run`.
        assert_eq!(below(Kind::Pending), Some(Some(16)));
        assert_eq!(below(Kind::Window), Some(Some(24)));
        assert_eq!(below(Kind::Resumed), Some(Some(32)));
        assert_eq!(below(Kind::Guest), None);
    });
}

#[test]
fn lines_of_a_stack_whose_place_is_known_cost_less() {
    with(&description(), |kernel| {
        let mut kernel = kernel.expect("the description fits");
        let known = one(&kernel, Kind::Resumed).wcet_cycles.expect("a bound");
        for region in &mut kernel.regions {
            region.below = None;
        }
        let unknown = one(&kernel, Kind::Resumed).wcet_cycles.expect("a bound");
        assert!(known < unknown, "{known} {unknown}");
    });
}

#[test]
fn loops_are_bounded_and_locks_counted() {
    with(&description(), |kernel| {
        let kernel = kernel.expect("the description fits");
        let call = one(&kernel, Kind::SystemCall);
        assert!(call.wcet_cycles.is_some_and(|cycles| cycles > 1000), "{:?}", call.errors);
        let bound = |function: &str| call.loops.iter().find(|one| one.function == function).and_then(|one| one.bound);
        assert_eq!((bound("handler"), bound("chase"), bound("wait")), (Some(10), Some(7), Some(1)));
        assert_eq!(call.locks, Some(2));
        let said = statements(&kernel, std::slice::from_ref(&call));
        assert!(said.iter().any(|text| text.contains("in chase") && text.contains("7 times")), "{said:#?}");
        // A region that does not come by the list rests on nothing said of it.
        let start = one(&kernel, Kind::ThreadStart);
        assert!(!statements(&kernel, &[start]).iter().any(|text| text.contains("in chase")));
    });
}

#[test]
fn response_is_made_of_the_longest_regions_and_waits_of_their_locks() {
    with(&description(), |kernel| {
        let kernel = kernel.expect("the description fits");
        let machine = machine();
        let all: Vec<Analysed> =
            kernel.regions.iter().map(|region| analyse(&kernel, region, &machine).expect("understood")).collect();
        let longest = all.iter().filter_map(|region| region.wcet_cycles).max().expect("bounds");
        let response = response(&kernel, &all).expect("all are bounded");
        let cycles = |regions: &[usize]| -> u64 { regions.iter().filter_map(|one| all[*one].wcet_cycles).sum() };
        assert!(response.closed_cycles >= longest);
        let asks = |region: usize| kernel.regions[region].kind == Kind::Pending;
        let first = match response.closed[..] {
            [first, next, ..] if asks(next) => all[first].asking_cycles,
            [first, ..] => cycles(&[first]),
            [] => 0,
        };
        assert_eq!(response.closed_cycles, first + cycles(&response.closed[1..]));
        assert_eq!(response.handler_cycles, cycles(&response.handler));
        let window: Vec<usize> = response.window.into_iter().collect();
        assert_eq!(response.interrupt_cycles, cycles(&window) + cycles(&[response.served]));
        // What is taken in a window closes that first.
        let kind = |region: usize| kernel.regions[region].kind;
        assert_eq!(response.window.is_some(), matches!(kind(response.served), Kind::Window | Kind::Idle));
        let closing = (0..all.len()).filter(|one| kind(*one) == Kind::Inside).filter_map(|one| all[one].wcet_cycles);
        let closing = closing.max().filter(|cycles| *cycles > 0).expect("interrupts come in windows");
        for region in (0..all.len()).filter(|one| matches!(kind(*one), Kind::Window | Kind::Idle)) {
            assert!(closing + cycles(&[region]) <= response.interrupt_cycles);
        }
        let waiting = waiting(&all).expect("all are bounded");
        assert_eq!((waiting.cycles(1), waiting.cycles(3)), (0, 2 * 2 * longest));
    });
}

#[test]
fn entries_taken_together_are_bounded_as_each_alone() {
    with(&description(), |kernel| {
        let kernel = kernel.expect("the description fits");
        let (machine, told) = (machine(), std::sync::atomic::AtomicUsize::new(0));
        let tell = |_: usize, _: usize, _: &str| {
            told.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        };
        let found = whole(&kernel, &machine, 2, &tell).expect("understood");
        assert_eq!(found.regions.len(), kernel.regions.len());
        assert!(told.into_inner() > 0);
        for (region, together) in kernel.regions.iter().zip(&found.regions) {
            let alone = analyse(&kernel, region, &machine).expect("understood");
            // Their handler asks nothing about its registers but one, of which either way knows nothing.
            assert_eq!(together.wcet_cycles, alone.wcet_cycles, "{}", region.name);
            assert!(together.wcet_cycles.is_some(), "{}", region.name);
        }
        assert!(found.response.is_some() && found.stack.is_some() && found.waiting.is_some());
    });
}

const LOCKS: &str = r#"
[locks]
symbol = "tickets"
bytes = 128
count = 2
processors = 3
numbers = { inner = 0, outer = 1 }
"#;

#[test]
fn sections_of_locks_and_what_waits_for_them_add() {
    with_options(&["-DLOCKS=2"], &(description() + LOCKS), |kernel| {
        let kernel = kernel.expect("the description fits");
        let (inner, outer) = ((0, 0), (1, 1));
        let start = one(&kernel, Kind::ThreadStart);
        let holding = start.holding.clone().unwrap_or_else(|| panic!("{:?}", start.unknown_locks));
        assert_eq!(holding.taken, [(inner, 1), (outer, 1)].into());
        let section = |family, taken| holding.sections.get(&(family, taken)).map(|one| one.cycles);
        let within = section(inner, [].into()).expect("the inner section");
        let around = section(outer, [(inner, 1)].into()).expect("the outer section");
        assert_eq!(holding.sections.len(), 2);
        let all = start.wcet_cycles.expect("a bound");
        // Each lacks blocks of what is around it.
        assert!(0 < within && within < around && around < all, "{within} {around} {all}");
        let locks = kernel.locks.as_ref().expect("locks are described");
        let sections = Sections::new(locks, std::slice::from_ref(&start)).expect("all is known");
        assert_eq!(sections.longest(1).map(|one| one.cycles), Some(around));
        assert_eq!(sections.held(1), Ok(vec![within, around]));
        // The holder of the outer lock waits for the holder of the inner one: the third processor waits for the outer one.
        assert_eq!(sections.held(3), Ok(vec![within, around + within]));
        // Of two that wait before, the first is alone in its section.
        let all_waits = 2 * within + 2 * around + within;
        assert_eq!(sections.wait(&holding.taken, 3), Some(all_waits));
        assert!(!statements(&kernel, &[start]).iter().any(|text| text.contains("from one region to the next")));
        // Nothing else takes any.
        assert_eq!(one(&kernel, Kind::SystemCall).holding, Some(Default::default()));
        let found = whole(&kernel, &machine(), 1, &|_, _, _| {}).expect("understood");
        let locking = found.locking.expect("locks are described").expect("all is known");
        let waits: Vec<u64> = locking.locks.iter().map(|one| one.wait_cycles).collect();
        assert_eq!((locking.processors, waits), (3, vec![2 * within, 2 * around + within]));
        assert!(locking.locks[1].section.place.starts_with("thread_start+"), "{locking:?}");
        for (region, wait) in kernel.regions.iter().zip(&locking.regions) {
            let expected = if region.kind == Kind::ThreadStart { all_waits } else { 0 };
            assert_eq!(*wait, expected, "{}", region.name);
        }
        // A thread starts before interrupts are open, and the handler's.
        assert_eq!(locking.response_cycles, Some(2 * all_waits));
    });
}

#[test]
fn a_lock_whose_number_is_not_known_counts_for_its_family() {
    let text = description() + &LOCKS.replace("inner = 0, outer = 1", "any = 0");
    with_options(&["-DUNKNOWN"], &text, |kernel| {
        let start = one(&kernel.expect("the description fits"), Kind::ThreadStart);
        let holding = start.holding.clone().unwrap_or_else(|| panic!("{:?}", start.unknown_locks));
        assert_eq!(holding.taken, [((0, 0), 1)].into());
        let sections: Vec<_> = holding.sections.values().collect();
        assert!(sections.len() == 1 && sections[0].cycles > 0 && Some(sections[0].cycles) <= start.wcet_cycles);
    });
    // A number from 0 on may be one of the second family as well; that is still one lock, and still a number.
    with_options(&["-DUNKNOWN"], &(description() + LOCKS), |kernel| {
        let start = one(&kernel.expect("the description fits"), Kind::ThreadStart);
        let holding = start.holding.clone().unwrap_or_else(|| panic!("{:?}", start.unknown_locks));
        assert_eq!(holding.taken, [((0, 1), 1)].into());
    });
    // One from 0 to 3 is of the family of two that begins with 0: the description says so, whatever the range.
    let pairs = LOCKS.replace("count = 2", "count = 4").replace("inner = 0, outer = 1", "pair = 0, last = 2");
    with_options(&["-DUNKNOWN", "-DRANGE"], &(description() + &pairs), |kernel| {
        let start = one(&kernel.expect("the description fits"), Kind::ThreadStart);
        let holding = start.holding.clone().unwrap_or_else(|| panic!("{:?}", start.unknown_locks));
        assert_eq!(holding.taken, [((0, 0), 1)].into());
    });
}

#[test]
fn what_is_not_known_of_locks_is_told_with_its_place() {
    for (options, what) in [
        ("-DLOCKS=1", "the region ends, but a lock is held that thread_start+"),
        ("-DLOCKS=-1", "the region ends, but a lock is held that thread_start+"),
        ("-DHIDDEN", "thread_start: which lock is taken here is not known"),
    ] {
        with_options(&[options], &(description() + LOCKS), |kernel| {
            let kernel = kernel.expect("the description fits");
            let start = one(&kernel, Kind::ThreadStart);
            assert!(start.holding.is_none() && start.wcet_cycles.is_some());
            assert!(start.unknown_locks.iter().any(|reason| reason.contains(what)), "{:?}", start.unknown_locks);
            let locking = locking(&kernel, std::slice::from_ref(&start)).expect("locks are described");
            assert_eq!(locking, Err(start.unknown_locks));
        });
    }
    with_options(&["-DCIRCLE"], &(description() + LOCKS), |kernel| {
        let kernel = kernel.expect("the description fits");
        let start = one(&kernel, Kind::ThreadStart);
        let locking = locking(&kernel, std::slice::from_ref(&start)).expect("locks are described");
        assert!(locking.is_err_and(|why| why[0].ends_with("inner < outer < inner")));
    });
    for (from, to) in [("count = 2", "count = 3"), ("inner = 0", "inner = 1"), ("processors = 3", "processors = 0")] {
        with(&(description() + &LOCKS.replace(from, to)), |kernel| {
            let errors = kernel.err().expect("there are tickets of two");
            assert!(errors.iter().any(|error| error.to_string().contains("tickets")), "{errors:?}");
        });
    }
}

#[test]
fn a_loop_that_nothing_bounds_has_no_number() {
    let text = description();
    let without = &text[..text.find("[[loop]]").expect("a loop is stated")];
    with(without, |kernel| {
        let kernel = kernel.expect("the description fits");
        let call = one(&kernel, Kind::SystemCall);
        assert_eq!((call.wcet_cycles, call.locks), (None, None));
        assert!(call.errors.iter().any(|error| error.contains("chase")), "{:?}", call.errors);
        assert!(response(&kernel, &[call]).is_none());
    });
}

#[test]
fn a_statement_about_other_loops_is_refused() {
    with(&description().replace("of = 1", "of = 2"), |kernel| {
        let errors = kernel.err().expect("the statement fits no loop");
        assert!(errors.iter().any(|error| error.to_string().contains("chase has 1 loops")), "{errors:?}");
    });
}

#[test]
fn names_that_are_gone_are_refused() {
    for (from, part) in [("\"pending\"", "interrupt waits"), ("\"handler\"", "a handler"), ("\"switch\"", "switch")] {
        with(&description().replace(from, "\"nowhere\""), |kernel| {
            let errors = kernel.err().expect("the symbol is missing");
            assert!(errors.iter().any(|error| error.to_string().contains(part)), "{errors:?}");
        });
    }
}
