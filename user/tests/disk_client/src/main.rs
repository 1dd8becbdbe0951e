//! A client of a disk's driver, in Rust: writes a part of the disk with several requests at a time, flushes it, reads it back and
//! compares. What was under way when the driver was lost, because it was killed or the disk failed, is done again.
//!
//! Arguments: `driver`; `rounds`, how often all of it is done (default 1).
#![no_std]
#![no_main]

use ashlar::mailbox::{Client, Domain, Event, Messages, Set};
use ashlar::protocols::sata::{self, FromDriver, Sata};
use ashlar::time::{now, sleep};
use ashlar::{env, println, Error, Result, Thread};
use core::time::Duration;

ashlar::entry!(main);

/// Requests at a time, and bytes of each.
const DEPTH: u64 = 8;
const BYTES: usize = 65536;
const NUM_REQUEST: u64 = 64;
/// Where the disk's answer to IDENTIFY goes.
const IDENTITY: usize = DEPTH as usize * BYTES;
const DATA_PAGES: u32 = (IDENTITY / 4096) as u32 + 1;
const CAPACITY: u32 = 64;
const PAUSE: Duration = Duration::from_millis(10);
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Writing,
    Flushing,
    Reading,
    Closing,
}

struct Work {
    disk: Client<Sata>,
    phase: Phase,
    round: u64,
    rounds: u64,
    sector_size: u32,
    /// The disk takes requests.
    is_active: bool,
    /// Requests of this phase that were sent, and those that were answered.
    sent: u64,
    done: u64,
    /// Which one each cookie stands for.
    asked: [Option<u64>; DEPTH as usize],
    lost: u32,
}

fn main(_thread: Thread) -> Result<()> {
    let mut domain = Domain::start()?;
    let driver = env::arg("driver").ok_or(Error::BAD_ARGUMENT)?;
    let disk: Client<Sata> = domain.connect(driver, CAPACITY, DATA_PAGES)?;
    let refused = disk.emit(sata::Write { cookie: DEPTH, sector: 0, count: 0, buffer: 0, force: 0 });
    assert_eq!(refused, Err(Error::BAD_ARGUMENT));
    assert_eq!(domain.connect::<Sata>(driver, CAPACITY, DATA_PAGES).err(), Some(Error::BAD_STATE));
    assert_eq!(domain.connect_at::<Sata>(7, "unknown", CAPACITY, 0).err(), Some(Error::BAD_SLOT));
    assert_eq!(domain.connect_at::<Sata>(7, driver, 100, 0).err(), Some(Error::BAD_ARGUMENT));
    let all = Set::new().with(&disk, FromDriver::ALL);
    let mut work = Work {
        disk,
        phase: Phase::Writing,
        round: 1,
        rounds: env::arg_u64("rounds", 1),
        sector_size: 512,
        is_active: false,
        sent: 0,
        done: 0,
        asked: [None; DEPTH as usize],
        lost: 0,
    };
    while work.phase != Phase::Closing || work.is_active {
        let Some(mail) = domain.wait_until(&all, now() + PATIENCE) else { panic!("the disk says nothing") };
        if let Some(event) = work.disk.take(&mail) {
            work.take(&domain, event)?;
            work.go_on(&domain)?;
        }
    }
    println!("DISK done, {} rounds, lost {} times", work.round, work.lost);
    Ok(())
}

impl Work {
    fn take(&mut self, domain: &Domain, event: Event<FromDriver>) -> Result<()> {
        match event {
            Event::LinkUp => self.disk.emit(sata::Start),
            Event::LinkLost => {
                self.lost += 1;
                self.lose_all()
            }
            Event::Message(message) => self.hear(domain, message),
        }
    }

    fn hear(&mut self, domain: &Domain, message: FromDriver) -> Result<()> {
        match message {
            FromDriver::StartFail(_) => {
                sleep(PAUSE)?;
                self.disk.emit(sata::Start)
            }
            FromDriver::Plugged => self.disk.emit(sata::Reset),
            FromDriver::ResetOk(_) => self.disk.emit(sata::Identify { buffer: IDENTITY as u32 }),
            FromDriver::IdentifyOk(ok) => {
                self.sector_size = ok.sector_size;
                self.disk.emit(sata::Configure { depth: ok.depth, write_cache: 1 })
            }
            FromDriver::ConfigureOk => {
                self.is_active = true;
                Ok(())
            }
            FromDriver::ResetFail(_) | FromDriver::IdentifyFail(_) | FromDriver::ConfigureFail(_) => {
                sleep(PAUSE)?;
                self.disk.emit(sata::Reset)
            }
            FromDriver::Done(done) => {
                self.finish(domain, done.cookie);
                Ok(())
            }
            FromDriver::FlushOk => {
                self.begin(Phase::Reading);
                Ok(())
            }
            FromDriver::StopOk => {
                self.is_active = false;
                Ok(())
            }
            FromDriver::StartOk(_) => Ok(()),
            other => panic!("{other:?} was not expected"),
        }
    }

    fn begin(&mut self, phase: Phase) {
        (self.phase, self.sent, self.done, self.asked) = (phase, 0, 0, [None; DEPTH as usize]);
    }

    /// Nothing of what was asked will be answered. What was not flushed may be gone.
    fn lose_all(&mut self) -> Result<()> {
        self.is_active = false;
        self.begin(if self.phase == Phase::Reading { Phase::Reading } else { Phase::Writing });
        Ok(())
    }

    fn finish(&mut self, domain: &Domain, cookie: u64) {
        let request = self.asked[cookie as usize].take().unwrap_or_else(|| panic!("request {cookie} is not open"));
        self.done += 1;
        let Some(area) = self.disk.data(domain) else { return };
        let mut words = [0; BYTES / 64];
        for part in (0..BYTES).step_by(words.len()).filter(|_| self.phase == Phase::Reading) {
            area.read(cookie as usize * BYTES + part, &mut words);
            assert!(words == pattern(self.round, request, part), "request {request} is not what was written");
        }
    }

    /// Asks for what is next.
    fn go_on(&mut self, domain: &Domain) -> Result<()> {
        let Some(area) = self.disk.data(domain).filter(|_| self.is_active) else { return Ok(()) };
        let sectors = (BYTES as u32) / self.sector_size;
        while matches!(self.phase, Phase::Writing | Phase::Reading) && self.sent < NUM_REQUEST {
            let Some(cookie) = self.asked.iter().position(Option::is_none) else { return Ok(()) };
            let (sector, buffer) = (self.sent * u64::from(sectors), cookie * BYTES);
            for part in (0..BYTES).step_by(BYTES / 64) {
                let words = if self.phase == Phase::Writing { pattern(self.round, self.sent, part) } else { [0; 1024] };
                area.write(buffer + part, &words);
            }
            self.asked[cookie] = Some(self.sent);
            self.sent += 1;
            let (cookie, buffer) = (cookie as u64, buffer as u32);
            match self.phase {
                Phase::Writing => self.disk.emit(sata::Write { cookie, sector, count: sectors, buffer, force: 0 })?,
                _ => self.disk.emit(sata::Read { cookie, sector, count: sectors, buffer, force: 0 })?,
            }
        }
        if self.done < NUM_REQUEST {
            return Ok(());
        }
        match self.phase {
            Phase::Writing => {
                self.begin(Phase::Flushing);
                self.disk.emit(sata::Flush)
            }
            Phase::Reading => {
                println!("DISK {} bytes written and read back, round {}", NUM_REQUEST * BYTES as u64, self.round);
                if self.round < self.rounds {
                    self.round += 1;
                    self.begin(Phase::Writing);
                    return self.go_on(domain);
                }
                self.begin(Phase::Closing);
                self.disk.emit(sata::Stop)
            }
            Phase::Flushing | Phase::Closing => Ok(()),
        }
    }
}

/// What is written at an offset of a request in a round.
fn pattern(round: u64, request: u64, part: usize) -> [u8; 1024] {
    let mut bytes = [0; 1024];
    for (index, word) in bytes.chunks_exact_mut(8).enumerate() {
        let place = round << 48 | request << 24 | (part + index) as u64;
        word.copy_from_slice(&place.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    }
    bytes
}
