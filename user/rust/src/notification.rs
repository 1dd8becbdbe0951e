//! Notifications: a word of bits that some processes set and one waits for.

use crate::abi::SYS_WAIT;
use crate::calls;
use crate::env;
use crate::error::{done, Result};
use crate::raw::raw;
use crate::time::Time;

/// The right to signal a notification: `signallers` of the description.
#[derive(Debug)]
pub struct Signaller {
    slot: u32,
}

impl Signaller {
    /// That of the notification NAME.
    ///
    /// # Errors
    /// `BAD_SLOT` if the description does not name this process as a signaller of such a notification.
    pub fn find(name: &str) -> Result<Signaller> {
        Ok(Signaller { slot: env::slot("notification.", name)? })
    }

    /// Sets the bits that the description gives this grant, and wakes one waiting thread. Never blocks.
    ///
    /// # Errors
    /// `BAD_SLOT` without the right to signal.
    #[inline(always)]
    pub fn signal(&self) -> Result<()> {
        // SAFETY: the call touches no memory.
        unsafe { calls::sys_signal(self.slot) }
    }
}

/// The right to wait for a notification: `waiter` of the description.
#[derive(Debug)]
pub struct Waiter {
    slot: u32,
}

impl Waiter {
    /// That of the notification NAME.
    ///
    /// # Errors
    /// `BAD_SLOT` if the description does not name this process as the waiter of such a notification.
    pub fn find(name: &str) -> Result<Waiter> {
        Ok(Waiter { slot: env::slot("notification.", name)? })
    }

    /// Waits until a bit is set, and takes all bits.
    ///
    /// # Errors
    /// `TIMEOUT` if none is set until the deadline ([`Time::NEVER`]: no deadline), `BAD_SLOT` without the right to wait,
    /// `CANCELLED` if the process is being ended.
    #[inline(always)]
    pub fn wait(&self, deadline: Time) -> Result<u64> {
        // SAFETY: the call touches no memory.
        let answer = unsafe { raw(SYS_WAIT, [u64::from(self.slot), deadline.0, 0, 0, 0]) };
        done(answer.status)?;
        Ok(answer.first)
    }

    /// As [`wait`](Self::wait), but signals another notification before, in one call.
    ///
    /// # Errors
    /// As for [`wait`](Self::wait); `BAD_SLOT` also without the right to signal.
    #[inline(always)]
    pub fn signal_wait(&self, signal: &Signaller, deadline: Time) -> Result<u64> {
        // SAFETY: the call touches no memory.
        let answer = unsafe { raw(SYS_WAIT, [u64::from(self.slot), deadline.0, u64::from(signal.slot) + 1, 0, 0]) };
        done(answer.status)?;
        Ok(answer.first)
    }

    /// Takes all bits without waiting; 0 if none is set.
    ///
    /// # Errors
    /// `BAD_SLOT` without the right to wait.
    #[inline(always)]
    pub fn poll(&self) -> Result<u64> {
        // SAFETY: the call touches no memory.
        unsafe { calls::sys_poll(self.slot) }
    }

    /// The bit that the end of a child or the input of a console sets, whose grant has this slot.
    pub(crate) const fn bit(slot: u32) -> u64 {
        1 << slot
    }
}
