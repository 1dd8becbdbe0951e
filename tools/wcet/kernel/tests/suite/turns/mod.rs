//! In which order the regions of a small kernel follow each other: how many switches there are between two windows, and what is
//! refused because there may be any number.

use std::path::{Path, PathBuf};

use wcet_binary::lift::Lifter;
use wcet_binary::load::Program;
use wcet_hardware::machine::Machine;
use wcet_kernel::{analyse, endless, response, statements, Analysed, Continuation, Description, Kernel, Kind};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/turns")
}

fn machine() -> Machine {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../machines/timing/x86-inorder.toml");
    wcet_hardware::machine::load(&file).expect("the machine is sound")
}

fn description() -> String {
    std::fs::read_to_string(folder().join("timing.toml")).expect("the description")
}

/// The kernel with these macros, and its regions.
fn with(macros: &[&str], test: impl FnOnce(&Kernel<'_>, &[Analysed])) {
    described(macros, &description(), test);
}

/// The same, described so.
fn described(macros: &[&str], text: &str, test: impl FnOnce(&Kernel<'_>, &[Analysed])) {
    let data = testing::kernel(&folder().join("kernel.S"), macros);
    let program = Program::parse(&data).expect("the kernel is an executable");
    let lifter = Lifter::new(&program).expect("its instructions are known");
    let description = Description::parse(text).expect("the description is well formed");
    let kernel = Kernel::new(&lifter, &description).expect("the description fits");
    let machine = machine();
    let all: Vec<Analysed> =
        kernel.regions.iter().map(|region| analyse(&kernel, region, &machine).expect("understood")).collect();
    for (region, analysed) in kernel.regions.iter().zip(&all) {
        assert!(analysed.wcet_cycles.is_some(), "{}: {:?}", region.name, analysed.errors);
    }
    test(&kernel, &all);
}

/// What is said against a kernel with these macros, of which there is then no response.
fn refused(macros: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    with(macros, |kernel, all| {
        assert_eq!(response(kernel, all), None);
        found = endless(kernel, all).into_iter().collect();
    });
    assert!(!found.is_empty());
    found
}

#[test]
fn between_two_windows_there_is_one_switch() {
    // The second look finds nothing to decide: the mark is cleared behind each switch.
    for macros in [&[][..], &["-DSECOND_LOOK"]] {
        with(macros, |kernel, all| {
            assert_eq!(endless(kernel, all), Default::default());
            let response = response(kernel, all).expect("there is an end to it");
            let cycles = |regions: &[usize]| -> u64 { regions.iter().filter_map(|one| all[*one].wcet_cycles).sum() };
            let switches = |region: usize| {
                all[region].ways.iter().any(|way| matches!(way, Continuation::Switch(_))).then_some(region)
            };
            let resumed = |region: &usize| matches!(kernel.regions[*region].kind, Kind::Resumed | Kind::ThreadStart);
            let longest = (0..all.len()).filter(resumed).filter_map(|one| all[one].wcet_cycles).max();
            let longest = longest.expect("one goes on");
            for region in (0..all.len()).filter_map(switches) {
                assert!(!resumed(&region), "{}", kernel.regions[region].name);
                assert!(cycles(&[region]) + longest <= response.closed_cycles);
            }
            assert!((0..all.len()).all(|one| cycles(&[one]) <= response.closed_cycles));
            assert_eq!(cycles(&response.closed), response.closed_cycles);
            assert!(resumed(response.closed.last().expect("one goes on")));
            // It may arrive before it is asked for, and who is told so may switch.
            let of = |kind| (0..all.len()).find(|one| kernel.regions[*one].kind == kind).expect("there is one");
            let (asks, behind) = (&all[of(Kind::SystemCall)], &all[of(Kind::Pending)]);
            assert!(asks.asking_cycles > 0 && Some(asks.asking_cycles) <= asks.wcet_cycles);
            let told = behind.told.as_ref().expect("it has a bound").wcet_cycles;
            assert!(Some(told) <= behind.wcet_cycles, "{told} {:?}", behind.wcet_cycles);
            assert!(asks.asking_cycles + told + longest <= response.closed_cycles);
            let window: Vec<usize> = response.window.into_iter().collect();
            assert_eq!(cycles(&window) + cycles(&[response.served]), response.interrupt_cycles);
            // Who goes on comes to no window.
            assert_eq!(response.handler_cycles, longest);
            assert_eq!(response.direct_cycles, response.handler_cycles);
            let said = statements(kernel, all);
            assert!(!said.iter().any(|text| text.contains("switches between") || text.contains("is followed by")));
        });
    }
}

/// An interrupt that comes between the last question and a guest's entry is kept out until the region behind the guest's exit ends.
#[test]
fn what_follows_a_guest_is_waited_for_by_who_came_before_it() {
    with(&["-DGUEST"], |kernel, all| {
        assert_eq!(endless(kernel, all), Default::default());
        let of = |kind| (0..all.len()).find(|one| kernel.regions[*one].kind == kind).expect("there is one");
        let (enters, left) = (of(Kind::Pending), of(Kind::Guest));
        let entering = all[enters].entering_cycles;
        assert!(entering > 0 && Some(entering) <= all[enters].wcet_cycles);
        // No other region enters one, and the one behind a guest costs more than all others.
        assert!((0..all.len()).all(|one| one == enters || all[one].entering_cycles == 0));
        let behind = all[left].wcet_cycles.expect("a bound");
        assert!((0..all.len()).all(|one| one == left || all[one].wcet_cycles < Some(behind)));
        let response = response(kernel, all).expect("there is an end to it");
        assert_eq!(response.guest, Some((entering + behind, vec![enters, left])));
        assert!(response.closed_cycles >= behind);
    });
    with(&[], |kernel, all| assert_eq!(response(kernel, all).expect("there is an end to it").guest, None));
}

#[test]
fn who_is_told_of_an_interrupt_does_no_more_work() {
    let closed = |macros: &[&str]| {
        let mut found = (0, 0);
        with(macros, |kernel, all| {
            let behind = kernel.regions.iter().position(|region| region.kind == Kind::Pending).expect("it asks");
            let told = all[behind].told.as_ref().expect("it has a bound").wcet_cycles;
            found = (told, all[behind].wcet_cycles.expect("it has a bound"));
        });
        found
    };
    let (few, much) = (closed(&[]), closed(&["-DWORK"]));
    assert!(much.1 > few.1 + 100 && much.1 > much.0 + 100, "{few:?} {much:?}");
    assert!(much.0 < few.0 + 400, "{few:?} {much:?}");
}

#[test]
fn a_second_switch_before_a_window_is_refused_with_its_place() {
    let found = refused(&["-DSECOND_LOOK", "-DUNSAID"]);
    assert!(found.iter().all(|text| text.contains("may switch to another in")), "{found:#?}");
    let place = "system_call > handler > leave > run > switch before an interrupt window";
    assert!(found.iter().any(|text| text.contains("`resumed thread") && text.contains(place)), "{found:#?}");
}

#[test]
fn who_is_told_of_an_interrupt_and_asks_again_is_refused() {
    let found = refused(&["-DASKED_AGAIN"]);
    let fault = "who is told in the region `preemption point";
    assert!(found.iter().any(|text| text.contains(fault) && text.ends_with("ask again in handler")), "{found:#?}");
}

#[test]
fn windows_without_end_before_a_program_are_refused() {
    let found = refused(&["-DWINDOWS"]);
    let fault =
        "one window after the other on its way to its program: `interrupt window system_call > handler > window";
    assert!(found.iter().any(|text| text.contains(fault)), "{found:#?}");
}

#[test]
fn others_may_be_let_in_once_before_the_decision() {
    with(&["-DWINDOW_FIRST"], |kernel, all| {
        assert_eq!(endless(kernel, all), Default::default());
        let named = |text: &str| {
            let found = kernel.regions.iter().position(|region| region.name.contains(text));
            &all[found.unwrap_or_else(|| panic!("no region has {text} in its name"))]
        };
        // The service ends with the window. Behind it nothing is served, and it is decided.
        let (service, behind) = (named("interrupt line"), named("entered > window"));
        assert_eq!((service.undecided.len(), behind.undecided.len()), (1, 0));
        let unserved = behind.unserved.as_ref().expect("none may come");
        let deciding = unserved.switch_cycles.expect("it switches");
        assert!(unserved.undecided.is_empty() && Some(deciding) <= behind.wcet_cycles);
        let response = response(kernel, all).expect("there is an end to it");
        assert!(response.interrupt_cycles >= service.wcet_cycles.expect("a bound") + deciding);
    });
}

/// Who was woken is switched to in the region that serves, unless it is not said that there is someone: then the window that is
/// opened otherwise is before the decision, although the mark is not looked at.
#[test]
fn a_window_for_others_is_none_of_a_handler_that_was_woken() {
    let interrupt = |text: &str, windows: usize| {
        let mut found = 0;
        described(&["-DHAND_OVER"], text, |kernel, all| {
            assert_eq!(endless(kernel, all), Default::default());
            let service = kernel.regions.iter().position(|region| region.name.contains("interrupt line"));
            let service = &all[service.expect("it is entered")];
            assert_eq!(service.undecided.len(), windows);
            let deciding = all.iter().filter(|_| windows > 0).filter_map(|one| one.unserved.as_ref()?.switch_cycles);
            found = service.wcet_cycles.expect("a bound") + deciding.max().unwrap_or(0);
            // One that is taken in a window, and closes that first, may take longer.
            assert!(found <= response(kernel, all).expect("there is an end to it").interrupt_cycles);
            let said = statements(kernel, all);
            assert_eq!(said.iter().any(|text| text.ends_with("woken returns a thread then")), windows == 0);
        });
        found
    };
    let woken = "serves = \"serve\"\nwoken = { function = \"woken\", none = 0xffffffff }";
    let (said, unsaid) = (description().replace("serves = \"serve\"", woken), description());
    let (said, unsaid) = (interrupt(&said, 0), interrupt(&unsaid, 1));
    assert!(said + 200 < unsaid, "{said} {unsaid}");
}

#[test]
fn a_second_window_between_an_interrupt_and_the_decision_is_refused() {
    let found = refused(&["-DWINDOW_FIRST", "-DWINDOW_TWICE"]);
    let fault = "others are let in at";
    assert!(
        found.iter().any(|text| text.contains(fault) && text.ends_with("before it is decided who runs")),
        "{found:#?}"
    );
}

#[test]
fn a_window_without_service_is_refused() {
    let found = refused(&["-DUNSERVED"]);
    assert!(
        found.iter().all(|text| text.contains("no interrupt is served in the region `interrupt window")),
        "{found:#?}"
    );
}
