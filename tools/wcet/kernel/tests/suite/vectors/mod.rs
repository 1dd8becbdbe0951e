//! The response to each interrupt: what its own service takes, and only the threads that wait for it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use wcet_binary::lift::Lifter;
use wcet_binary::load::Program;
use wcet_kernel::{closed, whole, ByVector, Description, Error, Handler, Kernel, Kind, Whole};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/vectors")
}

fn description() -> String {
    std::fs::read_to_string(folder().join("timing.toml")).expect("the description")
}

/// The kernel with these macros, described so, and what is found of it.
fn with(macros: &[&str], text: &str, test: impl FnOnce(Result<(&Kernel<'_>, Whole), Vec<Error>>)) {
    let data = testing::kernel(&folder().join("kernel.S"), macros);
    let program = Program::parse(&data).expect("the kernel is an executable");
    let lifter = Lifter::new(&program).expect("its instructions are known");
    let description = Description::parse(text).expect("the description is well formed");
    let machine = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../machines/timing/x86-inorder.toml");
    let machine = wcet_hardware::machine::load(&machine).expect("the machine is sound");
    match Kernel::new(&lifter, &description) {
        Ok(kernel) => {
            let found = whole(&kernel, &machine, 2, &|_, _, _| {}).expect("understood");
            test(Ok((&kernel, found)));
        }
        Err(errors) => test(Err(errors)),
    }
}

fn of(found: &Whole, vector: u64) -> &ByVector {
    found.by_vector.iter().find(|one| one.vector == vector).expect("each vector has a response")
}

#[test]
fn each_interrupt_has_its_own_service_and_handlers() {
    with(&[], &description(), |found| {
        let (kernel, found) = found.expect("the description fits");
        let vectors: Vec<(u64, &str)> = found.by_vector.iter().map(|one| (one.vector, one.name.as_str())).collect();
        assert_eq!(vectors, [(1, "slow"), (2, "quick 0"), (3, "own"), (4, "quick 2"), (5, "open")]);
        let (slow, quick, own, open) = (of(&found, 1), of(&found, 2), of(&found, 3), of(&found, 5));
        // In a window, too, where any of them may come: the loop of fifty is no part of the others.
        assert!(slow.response.interrupt_cycles >= quick.response.interrupt_cycles + 2 * 50);
        let served = |one: &ByVector| kernel.regions[one.response.served].kind;
        assert!([slow, quick].into_iter().all(|one| matches!(served(one), Kind::Window | Kind::Idle)));
        assert_eq!(quick.response, of(&found, 4).response);
        // Who waits in the call `wait` is home soon, in `sleep` a hundred rounds later, elsewhere after two hundred.
        let handler = |one: &ByVector| one.response.handler_cycles;
        assert!(handler(quick) >= handler(slow) + 2 * 100, "{} {}", handler(quick), handler(slow));
        assert!(handler(open) >= handler(quick) + 2 * 100, "{} {}", handler(open), handler(quick));
        assert_eq!((handler(own), &own.handler, own.response.handler.len()), (0, &Handler::Kernel, 0));
        assert_eq!((&open.handler, &open.calls), (&Handler::Any, &None));
        let Handler::In(regions) = &slow.handler else { panic!("{:?}", slow.handler) };
        assert!(regions.iter().all(|one| kernel.regions[*one].kind == Kind::Resumed), "{regions:?}");
        // Until it is taken makes no difference, and no interrupt's is more than that of any.
        let all = found.response.as_ref().expect("a response");
        for one in &found.by_vector {
            assert_eq!(one.response.closed_cycles, all.closed_cycles);
            assert!(one.response.cycles() <= all.cycles());
        }
        assert_eq!(slow.response.interrupt_cycles, all.interrupt_cycles);
        assert_eq!(handler(open), all.handler_cycles);
        let said = wcet_kernel::statements(kernel, &found.regions);
        for text in [
            "threads that wait for the interrupt quick wait in the system call wait or sleep",
            "no thread waits for the interrupt own",
            "the first argument of serve is the vector of the interrupt that it serves",
            "every interrupt that a window lets in is served by serve before the next window",
        ] {
            assert!(said.iter().any(|one| one == text), "{said:#?}");
        }
    });
}

/// What follows a window in which nothing was served delays the interrupt that comes next, and is no part of a service.
#[test]
fn a_step_behind_an_empty_window_is_no_service() {
    let mut plain = 0;
    with(&[], &description(), |found| {
        plain = of(&found.expect("the description fits").1, 2).response.interrupt_cycles;
    });
    with(&["-DLONG_STEP"], &description(), |found| {
        let (_, found) = found.expect("the description fits");
        let response = &of(&found, 2).response;
        assert!(response.closed_cycles >= 2 * 300, "{response:?}");
        assert!(response.interrupt_cycles < plain + 300, "{} {plain}", response.interrupt_cycles);
    });
}

/// An interrupt by its own entry costs no more than its service in a window, and no region is without a number.
#[test]
fn entries_leave_out_what_other_vectors_do() {
    with(&[], &description(), |found| {
        let (kernel, found) = found.expect("the description fits");
        let cycles = |name: &str| {
            let number = kernel.regions.iter().position(|region| region.name == name).expect("a region");
            found.regions[number].wcet_cycles.expect("a bound")
        };
        assert!(cycles("interrupt slow") >= cycles("interrupt quick 0") + 2 * 50);
        assert!(cycles("interrupt slow") >= cycles("interrupt quick 2") + 2 * 50);
        assert!(found.regions.iter().all(|region| region.errors.is_empty()));
    });
}

/// Who is preempted does not wait for an interrupt: if all give up the processor so, it is not known where its handler waits.
#[test]
fn a_handler_does_not_wait_where_it_is_preempted() {
    let text = description().replace("ended = \"ended\"", "ended = \"ended\"\npreempts = [\"run\"]");
    let mut plain = 0;
    with(&[], &description(), |found| {
        plain = of(&found.expect("the description fits").1, 1).response.handler_cycles;
    });
    with(&[], &text, |found| {
        let (kernel, found) = found.expect("the description fits");
        let slow = of(&found, 1);
        assert_eq!(slow.handler, Handler::Any);
        assert!(slow.response.handler_cycles > plain, "{} {plain}", slow.response.handler_cycles);
        let said = wcet_kernel::statements(kernel, &found.regions);
        assert!(said.iter().any(|one| one == "who gives up the processor in run waits for no interrupt"), "{said:#?}");
    });
}

#[test]
fn a_service_that_gets_another_vector_is_refused() {
    with(&["-DWRONG_VECTOR"], &description(), |found| {
        let (kernel, found) = found.expect("the description fits");
        let number = kernel.regions.iter().position(|region| region.name == "interrupt slow").expect("a region");
        let errors = &found.regions[number].errors;
        assert!(
            errors.iter().any(|text| text.starts_with("serve: an interrupt is served here whose vector")),
            "{errors:?}"
        );
    });
}

#[test]
fn threads_cannot_wait_in_a_call_that_does_not_exist() {
    let text = description().replace("wakes = [\"wait\"]", "wakes = [\"wait\", \"dream\"]");
    with(&[], &text, |found| {
        let errors = found.err().expect("refused");
        assert_eq!(errors, [Error::NoCall { call: "dream".into(), interrupt: "slow".into() }]);
    });
}

/// Where threads make some calls only, they go on in these alone, and no thread waits in others.
#[test]
fn a_closed_system_leaves_out_what_is_not_called() {
    with(&[], &description(), |found| {
        let (kernel, found) = found.expect("the description fits");
        let of_calls = |calls: &[u64]| {
            let calls: BTreeSet<u64> = calls.iter().copied().collect();
            closed(kernel, &found.regions, &calls).expect("it is known where each region goes on")
        };
        let vectors = |all: &[ByVector]| all.iter().map(|one| one.vector).collect::<Vec<_>>();
        let handler = |all: &[ByVector], vector: u64| {
            all.iter().find(|one| one.vector == vector).expect("a response").response.handler_cycles
        };
        // `wait`, `sleep`, and numbers that stand for no call.
        let (wait, sleep, others) = (of_calls(&[1]), of_calls(&[2]), of_calls(&[7]));
        assert_eq!((vectors(&wait), vectors(&sleep)), (vec![1, 2, 4, 5], vec![2, 4, 5]));
        assert_eq!(vectors(&others), [5]);
        // Who waits in `wait` is home a hundred rounds before who waits in `sleep`, and one who does not sleep is no handler.
        assert!(handler(&sleep, 2) >= handler(&wait, 2) + 2 * 100);
        assert_eq!(handler(&wait, 2), handler(&wait, 1));
        // All of them are the open system.
        let all = of_calls(&[0, 1, 2, 3, 7]);
        assert_eq!(vectors(&all), [1, 2, 4, 5]);
        for one in &all {
            assert_eq!(one.response, of(&found, one.vector).response);
            assert!(sleep
                .iter()
                .filter(|less| less.vector == one.vector)
                .all(|less| less.response.cycles() <= one.response.cycles()));
        }
    });
}

/// Behind an alarm any thread may go on, though none has called what waits for it.
#[test]
fn an_alarm_makes_any_thread_run() {
    let text = description().replace("wakes = [\"wait\"]", "wakes = [\"wait\"], alarms = true");
    with(&[], &text, |found| {
        let (kernel, found) = found.expect("the description fits");
        let sleep =
            closed(kernel, &found.regions, &BTreeSet::from([2])).expect("it is known where each region goes on");
        assert_eq!((sleep[0].vector, &sleep[0].handler), (1, &Handler::Any));
    });
}
