//! The same as bench_drivers.c, in Rust, with names that begin with `rust_`. That the time-stamp counter counts instructions
//! bench_drivers.c has checked.
#![no_std]
#![no_main]

use ashlar::mailbox::{Client, Domain, Event, Mailboxes, Set};
use ashlar::protocols::ethernet::{self, Ethernet, FromDriver};
use ashlar::time::timestamp;
use ashlar::{println, Result, Thread};

ashlar::entry!(main);

const RING_CAPACITY: u32 = 1024;
const MOST: u64 = ethernet::MAX_TRANSMIT_SLOT;
const WARM_UP: usize = 8;
const ROUNDS: usize = 65;

struct Bench {
    domain: Domain,
    server: Client<Ethernet>,
    sent: Set,
    counted: Set,
}

fn main(_thread: Thread) -> Result<()> {
    let mut domain = Domain::start()?;
    let server: Client<Ethernet> = domain.connect("server_rust", RING_CAPACITY, 0)?;
    let set = |mailboxes| Set::new().with(&server, mailboxes);
    let (nothing, opened) = (set(Mailboxes::NONE), set(ethernet::OPEN_OK));
    let (sent, counted) = (set(ethernet::TRANSMIT_DONE), set(ethernet::STATISTICS));
    let link = server.take(&domain.wait(&nothing));
    assert_eq!(link, Some(Event::LinkUp));
    server.emit(ethernet::Open)?;
    domain.wait(&opened);
    let mut bench = Bench { domain, server, sent, counted };
    let overhead = measure(&mut bench, |_| Ok(()))?[0];
    for (name, count) in [("stream_1", 1), ("stream_16", 16), ("stream_256", MOST)] {
        report(name, measure(&mut bench, |bench| bench.stream(count))?, overhead, 2 * count);
    }
    report("round_trip", measure(&mut bench, Bench::round_trip)?, overhead, 1);
    println!("BENCH-DONE");
    Ok(())
}

impl Bench {
    /// Sends `count` requests and awaits their answers, which must come once each and in order.
    #[inline(always)]
    fn stream(&mut self, count: u64) -> Result<()> {
        for cookie in 0..count {
            self.server.emit(ethernet::Transmit { cookie, buffer: 0, length: 64, offload: 0 })?;
        }
        for cookie in 0..count {
            match self.server.take(&self.domain.wait(&self.sent)) {
                Some(Event::Message(FromDriver::TransmitDone(done))) if done.cookie == cookie => {}
                other => panic!("{other:?} came in the place of {cookie}"),
            }
        }
        Ok(())
    }

    #[inline(always)]
    fn round_trip(&mut self) -> Result<()> {
        self.server.emit(ethernet::GetStatistics)?;
        self.domain.wait(&self.counted);
        Ok(())
    }
}

/// What lies between two stamps, sorted.
#[inline(always)]
fn measure(bench: &mut Bench, run: impl Fn(&mut Bench) -> Result<()>) -> Result<[u64; ROUNDS]> {
    let mut samples = [0; ROUNDS];
    for round in 0..WARM_UP + ROUNDS {
        let begin = timestamp();
        run(bench)?;
        samples[round.saturating_sub(WARM_UP)] = timestamp() - begin;
    }
    samples.sort_unstable();
    Ok(samples)
}

fn report(name: &str, samples: [u64; ROUNDS], overhead: u64, messages: u64) {
    let [least, median, most] = [0, ROUNDS / 2, ROUNDS - 1].map(|at| (samples[at] - overhead) / messages);
    println!("BENCH rust_{name} {median} min {least} max {most}");
}
