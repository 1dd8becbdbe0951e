//! Answers requests at end point `calendar`; asks the clock chip's driver for the time, by the protocol `clock`.
#![no_std]
#![no_main]

use ashlar::endpoint::{Message, Receiver};
use ashlar::mailbox::{Client, Domain, Event, Messages, Set};
use ashlar::time::now;
use ashlar::{Result, Thread};
use calendar::{ChipTime, NOW, PING};
use core::time::Duration;
use protocols::clock::{self, Clock, FromDriver};

ashlar::entry!(main);

/// Of the rings of the link: the least that there is.
const CAPACITY: u32 = 64;
/// How long a request waits for a driver that has ended to be started again.
const PATIENCE: Duration = Duration::from_secs(1);

fn main(_thread: Thread) -> Result<()> {
    let requests = Receiver::find("calendar")?;
    let mut chip = Chip::connect("clock_chip")?;
    let mut message = Message::default();
    requests.recv(&mut message)?;
    loop {
        match (message.count, message.word[0]) {
            (1.., PING) => {}
            (1.., NOW) => message = chip.answer()?,
            _ => message.count = 0,
        }
        requests.reply_recv(&mut message)?;
    }
}

/// The link to the driver.
struct Chip {
    domain: Domain,
    driver: Client<Clock>,
    answers: Set,
    /// An answer is owed: the protocol has one question at a time.
    is_asked: bool,
}

impl Chip {
    fn connect(driver: &str) -> Result<Chip> {
        let mut domain = Domain::start()?;
        let driver = domain.connect(driver, CAPACITY, 0)?;
        let answers = Set::new().with(&driver, FromDriver::ALL);
        Ok(Chip { domain, driver, answers, is_asked: false })
    }

    /// The answer to `NOW`: no words if the driver does not know the time. Not inlined, so that the loop's message stays in
    /// registers.
    #[inline(never)]
    fn answer(&mut self) -> Result<Message> {
        let Some(time) = self.time()? else { return Ok(Message::default()) };
        Ok(Message::new(&[time.year, time.month, time.day, time.weekday(), time.second_of_day()]))
    }

    fn time(&mut self) -> Result<Option<ChipTime>> {
        let deadline = now() + PATIENCE;
        self.ask()?;
        while let Some(mail) = self.domain.wait_until(&self.answers, deadline) {
            match self.driver.take(&mail) {
                Some(Event::Message(FromDriver::Time(is))) => {
                    self.is_asked = false;
                    let registers = [is.second, is.minute, is.hour, is.day, is.month, is.year];
                    return Ok(ChipTime::new(&registers.map(u64::from)));
                }
                Some(Event::Message(FromDriver::Failed)) => {
                    self.is_asked = false;
                    return Ok(None);
                }
                // A new driver does not know what its predecessor was asked.
                Some(Event::LinkLost) => self.is_asked = false,
                Some(Event::LinkUp) => {
                    self.is_asked = false;
                    self.ask()?;
                }
                None => {}
            }
        }
        Ok(None)
    }

    fn ask(&mut self) -> Result<()> {
        if !self.is_asked {
            self.driver.emit(clock::Read)?;
            self.is_asked = true;
        }
        Ok(())
    }
}
