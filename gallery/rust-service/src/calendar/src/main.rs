//! Answers requests at end point `calendar`; asks the driver at end point `clock_chip` for the time.
#![no_std]
#![no_main]

use ashlar::endpoint::{Message, Receiver, Sender};
use ashlar::{Result, Thread};
use calendar::{ChipTime, NOW, PING};

ashlar::entry!(main);

fn main(_thread: Thread) -> Result<()> {
    let requests = Receiver::find("calendar")?;
    let chip = Sender::find("clock_chip")?;
    let mut message = Message::default();
    requests.recv(&mut message)?;
    loop {
        match (message.count, message.word[0]) {
            (1.., PING) => {}
            (1.., NOW) => message = now(&chip)?,
            _ => message.count = 0,
        }
        requests.reply_recv(&mut message)?;
    }
}

/// The answer to `NOW`: no words if the driver does not know the time. Not inlined, so that the loop's message stays in registers.
#[inline(never)]
fn now(chip: &Sender) -> Result<Message> {
    let mut registers = Message::default();
    chip.call(&mut registers)?;
    let Some(time) = ChipTime::new(registers.words()) else { return Ok(Message::default()) };
    Ok(Message::new(&[time.year, time.month, time.day, time.weekday(), time.second_of_day()]))
}
