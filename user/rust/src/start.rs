//! Where a program begins, and what it does when it panics.

use crate::console::Line;
use crate::error::Result;
use crate::process;
use crate::thread::Thread;
use core::fmt::Write;
use core::panic::PanicInfo;

/// The exit code of a program that panics, or whose `main` gives an error: as that of `panic` in C.
const FAILED: u16 = 125;

/// What `main` may return.
pub trait Exit {
    /// The exit code, low 16 bits; what is to be said of an error has been said.
    fn code(self) -> u16;
}

impl Exit for () {
    fn code(self) -> u16 {
        0
    }
}

impl Exit for u16 {
    fn code(self) -> u16 {
        self
    }
}

impl Exit for Result<()> {
    fn code(self) -> u16 {
        let Err(error) = self else { return 0 };
        crate::println!("error: {error}");
        FAILED
    }
}

impl Exit for core::convert::Infallible {
    fn code(self) -> u16 {
        match self {}
    }
}

/// Names the function that the process starts with, `fn main(thread: Thread)`. It may return nothing, an exit code, or a
/// [`Result<()>`](crate::Result), whose error is said on the process's first console; that is exit code 125, as is a panic,
/// which says its place there.
///
/// Once in a program, beside `#![no_std]` and `#![no_main]`.
#[macro_export]
macro_rules! entry {
    ($main:path) => {
        /// The start code, which is the same for C and Rust, calls this once, on the first thread.
        #[export_name = "main"]
        extern "C" fn start() -> i32 {
            $crate::started($main)
        }

        #[cfg(not(test))]
        #[panic_handler]
        fn panicked(info: &core::panic::PanicInfo<'_>) -> ! {
            $crate::panicked(info)
        }
    };
}

#[doc(hidden)]
pub fn started<E: Exit>(main: fn(Thread) -> E) -> i32 {
    i32::from(main(Thread::first()).code())
}

#[doc(hidden)]
pub fn panicked(info: &PanicInfo<'_>) -> ! {
    let mut line = Line::to_first_console();
    // A console takes what it can; nothing can be done about the rest.
    let _ = match info.location() {
        Some(place) => writeln!(line, "panic at {}:{}: {}", place.file(), place.line(), info.message()),
        None => writeln!(line, "panic: {}", info.message()),
    };
    line.flush();
    process::exit(FAILED)
}
