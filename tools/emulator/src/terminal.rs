//! The two terminals of an emulator that has no other way: it draws on one, and the other is its serial line.

use rustix::fd::OwnedFd;
use rustix::fs::{open, Mode, OFlags};
use rustix::pty::{grantpt, openpt, ptsname, unlockpt, OpenptFlags};
use rustix::termios::{tcgetattr, tcsetattr, tcsetwinsize, OptionalActions, Winsize};
use std::fs::File;
use std::io::Result;

/// Of a screen in text mode, which the emulator draws as it is.
const SIZE: Winsize = Winsize { ws_row: 26, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 };

/// A pair: this process's end, and the emulator's.
#[derive(Debug)]
pub struct Terminal {
    pub own: File,
    pub other: File,
    pub path: String,
}

impl Terminal {
    /// A new one that passes bytes on as they are.
    pub fn new() -> Result<Terminal> {
        let own: OwnedFd = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&own)?;
        unlockpt(&own)?;
        let path = ptsname(&own, Vec::new())?.to_string_lossy().into_owned();
        let other = open(&path, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty())?;
        let mut attributes = tcgetattr(&other)?;
        attributes.make_raw();
        tcsetattr(&other, OptionalActions::Now, &attributes)?;
        tcsetwinsize(&own, SIZE)?;
        Ok(Terminal { own: File::from(own), other: File::from(other), path })
    }
}
