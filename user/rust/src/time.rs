//! Time: the clock, and waiting for it.

use crate::calls;
use crate::error::Result;
use core::arch::asm;
use core::ops::{Add, AddAssign, Sub};
use core::time::Duration;

/// A moment: nanoseconds since the machine was started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(pub u64);

impl Time {
    /// As a deadline: wait without an end.
    pub const NEVER: Time = Time(u64::MAX);

    /// The time since `earlier`; nothing if it is later.
    pub fn since(self, earlier: Time) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    /// A moment beyond what can be counted, 584 years, is [`Time::NEVER`].
    fn add(self, duration: Duration) -> Time {
        Time(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl AddAssign<Duration> for Time {
    fn add_assign(&mut self, duration: Duration) {
        *self = *self + duration;
    }
}

impl Sub for Time {
    type Output = Duration;
    fn sub(self, earlier: Time) -> Duration {
        self.since(earlier)
    }
}

/// The time now.
#[inline(always)]
pub fn now() -> Time {
    // SAFETY: the call touches no memory.
    Time(unsafe { calls::sys_clock() })
}

/// Waits until a moment; not at all if it has passed.
///
/// # Errors
/// `CANCELLED` if the process is being ended.
#[inline(always)]
pub fn sleep_until(moment: Time) -> Result<()> {
    // SAFETY: the call touches no memory.
    unsafe { calls::sys_sleep(moment.0) }
}

/// Waits for so long. What happens at a fixed rate is better awaited with [`sleep_until`], which does not drift.
///
/// # Errors
/// As for [`sleep_until`].
pub fn sleep(duration: Duration) -> Result<()> {
    sleep_until(now() + duration)
}

/// The processor's time-stamp counter, for measuring: how fast it counts the machine says. The compiler moves no access to memory past
/// this.
#[inline(always)]
#[must_use]
pub fn timestamp() -> u64 {
    let now;
    // SAFETY: the instructions touch no memory, and programs may use them. The same ones as in user/bench/bench.h.
    unsafe { asm!("rdtsc", "shl rdx, 32", "or rax, rdx", out("rax") now, out("rdx") _, options(nostack)) };
    now
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_do_not_wrap() {
        assert_eq!(Time(5) + Duration::from_micros(1), Time(1005));
        assert_eq!(Time(5) + Duration::MAX, Time::NEVER);
        assert_eq!(Time(5) - Time(7), Duration::ZERO);
    }
}
