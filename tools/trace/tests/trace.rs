//! Rings that are read while they are written, conversion, and latencies.

mod common;

use common::{at, late, names, ASK, RECEIVE};
use trace::event::in_order;
use trace::jobs::{jobs, kept, Job};
use trace::latency::{waits, Waiter};
use trace::{chrome, Event, Layout, Reader, What};

fn layout() -> Layout {
    // Two CPUs, four events each.
    Layout { ring: 0..128, counts: 0..128, events: 4 }
}

fn counts(of: [u64; 2]) -> Vec<u8> {
    of.iter().flat_map(|count| [count.to_le_bytes().to_vec(), vec![0; 56]].concat()).collect()
}

/// A ring in which CPU 0 has recorded events 0 to `n` - 1, each a wake-up of the thread with its number.
fn ring(n: u64) -> Vec<u8> {
    let mut bytes = vec![0; 128];
    for number in 0..n {
        let at = (number % 4) as usize * 16;
        bytes[at..at + 8].copy_from_slice(&(100 + number).to_le_bytes());
        bytes[at + 8..at + 12].copy_from_slice(&2u32.to_le_bytes());
        bytes[at + 12..at + 16].copy_from_slice(&(number as u32).to_le_bytes());
    }
    bytes
}

fn threads(reader: &Reader) -> Vec<u32> {
    let thread = |event: &Event| match event.what {
        What::Wake { thread } => thread,
        _ => panic!("{event:?}"),
    };
    reader.events.iter().map(thread).collect()
}

#[test]
fn what_is_new_is_taken_once() {
    let mut reader = Reader::new(layout());
    reader.take(&counts([2, 0]), &ring(2), &counts([2, 0]));
    reader.take(&counts([3, 0]), &ring(3), &counts([3, 0]));
    assert_eq!(threads(&reader), [0, 1, 2]);
    assert_eq!((reader.lost, reader.events[2].when), (0, 102));
}

#[test]
fn what_was_overwritten_is_counted_as_lost() {
    let mut reader = Reader::new(layout());
    // Event 6 may be half written in the place of event 2.
    reader.take(&counts([6, 0]), &ring(6), &counts([6, 0]));
    assert_eq!((threads(&reader), reader.lost), (vec![3, 4, 5], 3));
}

#[test]
fn what_is_overwritten_while_it_is_read_is_not_used() {
    let mut reader = Reader::new(layout());
    // When the ring was read, events 4 and 5 had taken the places of 0 and 1, or not yet.
    reader.take(&counts([4, 0]), &ring(5), &counts([6, 0]));
    assert_eq!((threads(&reader), reader.lost), (vec![3], 3));
    reader.take(&counts([6, 0]), &ring(6), &counts([6, 0]));
    assert_eq!((threads(&reader), reader.lost), (vec![3, 4, 5], 3));
}

#[test]
fn unknown_kinds_and_short_pieces_are_no_events() {
    let mut reader = Reader::new(layout());
    let mut wrong = ring(1);
    wrong[8] = 77;
    reader.take(&counts([1, 0]), &wrong, &counts([1, 0]));
    assert_eq!((reader.events.len(), reader.lost), (0, 1));
    reader.take(&[], &[], &[]);
    assert_eq!((reader.events.len(), reader.lost), (0, 1));
}

#[test]
fn a_kernel_that_records_nothing_is_refused() {
    let elf = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert!(Layout::of(&elf, 1).unwrap_err().to_string().contains("records nothing"));
    assert!(Layout::of(b"no ELF", 1).is_err());
}

#[test]
fn numbers_have_names() {
    let names = names();
    assert_eq!((names.call(7), names.call(8)), ("wait".into(), "call 8".into()));
    assert_eq!((names.exit(1), names.exit(9)), ("io".into(), "reason 9".into()));
    assert_eq!(["timer", "disk", "line 0", "vector 99"], [56, 42, 32, 99].map(|vector| names.interrupt(vector))[..]);
    assert_eq!((names.thread(16), names.thread(0)), (Some("client"), None));
}

#[test]
fn slices_are_what_lies_between_switches() {
    let events = [
        at(1000, 0, What::Switch { thread: 16 }),
        at(1500, 0, What::Call { number: 7 }),
        at(1600, 0, What::GuestEntry { vm: 0 }),
        at(1900, 0, What::GuestExit { reason: 1 }),
        at(3000, 0, What::Switch { thread: 0 }),
        at(4000, 0, What::Switch { thread: 17 }),
        at(6000, 0, What::Interrupt { vector: 42 }),
    ];
    let late = Job { thread: 16, began: 1000, ended: 3000 };
    let trace = chrome::trace(&events, &names(), 1, 5, &[(&late, 400)]);
    let all = trace["traceEvents"].as_array().unwrap();
    let slices: Vec<(&str, f64, f64)> = all
        .iter()
        .filter(|event| event["ph"] == "X" && event["pid"] == 1)
        .map(|event| (event["name"].as_str().unwrap(), event["ts"].as_f64().unwrap(), event["dur"].as_f64().unwrap()))
        .collect();
    assert_eq!(slices, [("client", 1.0, 1.999), ("server", 4.0, 1.999), ("guest", 1.6, 0.299)]);
    assert!(all.iter().any(|event| event["args"]["exit"] == "io"));
    let moments: Vec<&str> =
        all.iter().filter(|event| event["ph"] == "i").map(|event| event["name"].as_str().unwrap()).collect();
    assert_eq!(moments, ["call wait", "interrupt disk", "deadline missed"]);
    assert_eq!(trace["otherData"]["lost"], 5);
}

#[test]
fn waits_begin_with_the_interrupt_that_wakes() {
    let events = in_order(vec![
        at(50, 1, What::Wake { thread: 17 }),
        at(10, 0, What::Interrupt { vector: 42 }),
        at(20, 0, What::Wake { thread: 16 }),
        at(35, 0, What::Switch { thread: 16 }),
        at(57, 0, What::Switch { thread: 17 }),
        // Running already, so it waits for nothing.
        at(70, 0, What::Switch { thread: 16 }),
        at(80, 0, What::Interrupt { vector: 42 }),
        at(90, 0, What::Call { number: 7 }),
        at(95, 0, What::Wake { thread: 17 }),
        at(99, 0, What::Switch { thread: 17 }),
    ]);
    let waits = waits(&events);
    let by_interrupt = &waits[&Waiter { thread: 16, vector: Some(42) }];
    assert_eq!((by_interrupt.count(), by_interrupt.longest(), by_interrupt.longest_began), (1, 25, 10));
    let by_call = &waits[&Waiter { thread: 17, vector: None }];
    assert_eq!((by_call.count(), by_call.percentile(50), by_call.longest(), by_call.longest_began), (2, 4, 7, 50));
    assert_eq!(waits.len(), 2);
}

#[test]
fn a_job_lasts_until_its_thread_waits_again() {
    let job = |began, ended| Job { thread: 16, began, ended };
    assert_eq!(jobs(&late(), &[RECEIVE]), [job(100, 120), job(200, 290)]);
}

#[test]
fn each_request_is_a_job_of_the_server_and_an_answer_is_none_of_the_client() {
    let mut events = vec![
        at(0, 0, What::Wake { thread: 17 }),
        at(5, 0, What::Switch { thread: 17 }),
        at(9, 0, What::Call { number: RECEIVE }),
        at(10, 0, What::Switch { thread: 0 }),
        at(90, 0, What::Wake { thread: 16 }),
        at(91, 0, What::Switch { thread: 16 }),
    ];
    for began in [100, 200, 300] {
        events.extend([
            at(began, 0, What::Call { number: ASK }),
            at(began + 1, 0, What::Message { receiver: 17 }),
            // A server on another processor is woken too.
            at(began + 2, 0, What::Wake { thread: 17 }),
            at(began + 3, 0, What::Switch { thread: 17 }),
            at(began + 10, 0, What::Call { number: RECEIVE }),
            at(began + 11, 0, What::Message { receiver: 16 }),
            at(began + 12, 0, What::Switch { thread: 16 }),
        ]);
    }
    let job = |began, ended| Job { thread: 17, began, ended };
    assert_eq!(jobs(&events, &[RECEIVE]), [job(0, 10), job(101, 112), job(201, 212)]);
}

#[test]
fn a_missed_deadline_says_who_had_the_processor() {
    let kept = kept(&late(), &[(16, 30), (17, 5)].into(), &[RECEIVE]);
    let [(job, others)] = &kept[&16].missed[..] else { panic!("{kept:?}") };
    assert_eq!((kept[&16].count, kept[&16].longest, job.began), (2, 90, 200));
    assert_eq!(*others, [(17, 70), (0, 5)].into());
    assert_eq!((kept[&17].count, kept[&17].missed.len()), (0, 0));
}
