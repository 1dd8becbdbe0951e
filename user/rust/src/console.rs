//! Consoles: text out and in.
//!
//! [`print!`](crate::print) and [`println!`](crate::println) write to the process's first console; without one the text is
//! dropped.

use crate::abi::{SYS_CONSOLE_READ, SYS_CONSOLE_WRITE};
use crate::env;
use crate::error::{done, Error, Result};
use crate::time;
use core::arch::asm;
use core::fmt;
use core::time::Duration;

/// Bytes that one call moves.
const CHUNK: usize = 64;
/// Bytes that [`Line`] holds back.
const LINE: usize = 512;
/// Between two tries on a full ring, and tries without progress: as `console_write` in C.
const RETRY: Duration = Duration::from_millis(1);
const GIVE_UP_TRIES: u32 = 2000;

/// A console that the description gives this process.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    slot: u32,
}

impl Console {
    /// The console NAME.
    ///
    /// # Errors
    /// `BAD_SLOT` if the description gives this process no such console.
    pub fn find(name: &str) -> Result<Console> {
        Ok(Console { slot: env::slot("console.", name)? })
    }

    /// The process's first console.
    ///
    /// # Errors
    /// `BAD_SLOT` if it has none.
    pub fn first() -> Result<Console> {
        env::slots("slot.console.").next().map(|(_, slot)| Console { slot }).ok_or(Error::BAD_SLOT)
    }

    /// Writes all bytes, and returns how many. While the ring is full it waits a millisecond at a time; after two seconds
    /// without progress the rest is dropped, so that a stuck console cannot stop the process.
    pub fn write(&self, mut bytes: &[u8]) -> usize {
        let (mut written, mut tries) = (0, 0);
        while !bytes.is_empty() && tries < GIVE_UP_TRIES {
            let Ok(taken) = self.write_some(bytes) else {
                break;
            };
            (written, tries) = if taken == 0 { (written, tries + 1) } else { (written + taken, 0) };
            bytes = &bytes[taken..];
            if taken == 0 && time::sleep(RETRY).is_err() {
                break;
            }
        }
        written
    }

    /// Writes the first bytes, as many as the ring has room for and one call takes.
    fn write_some(&self, bytes: &[u8]) -> Result<usize> {
        let chunk = &bytes[..bytes.len().min(CHUNK)];
        let mut words = [0u64; CHUNK / 8];
        for (word, part) in words.iter_mut().zip(chunk.chunks(8)) {
            let mut padded = [0; 8];
            padded[..part.len()].copy_from_slice(part);
            *word = u64::from_le_bytes(padded);
        }
        let (status, taken): (u64, u64);
        // SAFETY: the kernel reads the registers and keeps all that are not named; it touches no memory.
        unsafe {
            asm!("syscall", inlateout("rax") SYS_CONSOLE_WRITE => status, inlateout("rdi") u64::from(self.slot) => taken,
                inlateout("rsi") chunk.len() as u64 => _, inlateout("rdx") words[0] => _, inlateout("r10") words[1] => _,
                inlateout("r8") words[2] => _, inlateout("r9") words[3] => _, inlateout("r12") words[4] => _,
                inlateout("r13") words[5] => _, inlateout("r14") words[6] => _, inlateout("r15") words[7] => _,
                lateout("rcx") _, lateout("r11") _, options(nostack));
        }
        done(status)?;
        Ok((taken as usize).min(chunk.len()))
    }

    /// What has been typed, at most 64 bytes, into `room`; empty if nothing has.
    ///
    /// # Errors
    /// `BAD_SLOT` if the console may not be read.
    pub fn read<'a>(&self, room: &'a mut [u8; CHUNK]) -> Result<&'a [u8]> {
        let (status, bytes): (u64, u64);
        let mut words = [0u64; CHUNK / 8];
        // SAFETY: the kernel writes the registers named here and keeps all others; it touches no memory.
        unsafe {
            asm!("syscall", inlateout("rax") SYS_CONSOLE_READ => status, inlateout("rdi") u64::from(self.slot) => bytes,
                inlateout("rsi") 0u64 => _, lateout("rdx") words[0], lateout("r10") words[1], lateout("r8") words[2],
                lateout("r9") words[3], lateout("r12") words[4], lateout("r13") words[5], lateout("r14") words[6],
                lateout("r15") words[7], lateout("rcx") _, lateout("r11") _, options(nostack));
        }
        done(status)?;
        for (part, word) in room.chunks_mut(8).zip(words) {
            part.copy_from_slice(&word.to_le_bytes());
        }
        Ok(&room[..(bytes as usize).min(CHUNK)])
    }

    /// The bit that input sets in the notification that the description names for it.
    pub fn input_bit(&self) -> u64 {
        crate::notification::Waiter::bit(self.slot)
    }
}

impl fmt::Write for Console {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write(text.as_bytes());
        Ok(())
    }
}

/// Text that is handed to a console in one go, up to 512 bytes, so that what other threads write does not stand between.
#[doc(hidden)]
pub struct Line {
    console: Option<Console>,
    text: [u8; LINE],
    length: usize,
}

impl Line {
    /// An empty one.
    pub fn to_first_console() -> Line {
        Line { console: Console::first().ok(), text: [0; LINE], length: 0 }
    }

    /// Writes what is held back.
    pub fn flush(&mut self) {
        if let Some(console) = &self.console {
            console.write(&self.text[..self.length]);
        }
        self.length = 0;
    }
}

impl fmt::Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let mut rest = text.as_bytes();
        while !rest.is_empty() {
            if self.length == LINE {
                self.flush();
            }
            let (now, later) = rest.split_at(rest.len().min(LINE - self.length));
            self.text[self.length..self.length + now.len()].copy_from_slice(now);
            self.length += now.len();
            rest = later;
        }
        Ok(())
    }
}

#[doc(hidden)]
pub fn print(text: fmt::Arguments<'_>) {
    let mut line = Line::to_first_console();
    // A value's own formatting may fail; what it has said so far is shown.
    let _ = fmt::write(&mut line, text);
    line.flush();
}

/// Writes formatted text to the process's first console.
#[macro_export]
macro_rules! print {
    ($($text:tt)*) => { $crate::console::print(core::format_args!($($text)*)) };
}

/// Writes formatted text and the end of a line to the process's first console.
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($text:literal $($more:tt)*) => { $crate::print!("{}\n", core::format_args!($text $($more)*)) };
}
