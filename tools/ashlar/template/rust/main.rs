//! Takes a reading every `period_ms` (default 100) and prints the mean of the last ones, once a second.
#![no_std]
#![no_main]

use ashlar::{env, println, time, Result, Thread};
use core::time::Duration;
use sensor::Mean;

const READINGS: u64 = 10;

ashlar::entry!(main);

fn main(_thread: Thread) -> Result<()> {
    let period = Duration::from_millis(env::arg_u64("period_ms", 100));
    let mut due = time::now() + period;
    let mut mean = Mean::default();
    for number in 0.. {
        time::sleep_until(due)?;
        due += period;
        mean.add(reading(number));
        if number % READINGS == READINGS - 1 {
            println!("MEAN {} of the last {} readings", mean.value(), mean.count());
        }
    }
    Ok(())
}

/// There is no sensor in the emulator: a saw tooth from 0 to 90 stands for one.
fn reading(number: u64) -> u64 {
    number % READINGS * 10
}
