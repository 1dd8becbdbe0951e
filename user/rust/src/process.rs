//! This process, and the children that the description gives it.

use crate::abi::{END_EXIT, END_FAULT, END_KILLED, PROCESS_DYING, PROCESS_EMPTY, PROCESS_LOADING, PROCESS_RUNNING};
use crate::calls;
use crate::env;
use crate::error::Result;
use crate::notification::Waiter;

/// Ends this process.
pub fn exit(code: u16) -> ! {
    // SAFETY: nothing is used any more.
    unsafe { calls::sys_process_exit(u64::from(code)) }
}

/// Frames of this process's container: in use, and its quota.
///
/// # Errors
/// None is known.
pub fn quota() -> Result<(u64, u64)> {
    // SAFETY: the call touches no memory.
    unsafe { calls::sys_quota() }
}

/// A child process: one whose `parent` in the description is this process.
#[derive(Debug)]
pub struct Child {
    slot: u32,
    name: &'static str,
}

/// What a child does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// It was never created, or has ended and all that it held is returned.
    Empty(End),
    /// It is created and not started.
    Loading,
    /// It is started.
    Running,
    /// It is being ended.
    Dying,
}

/// How a child has ended last. A child that was never created seems to have exited with code 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum End {
    /// By itself, with this exit code.
    Exit(u16),
    /// By its parent.
    Killed,
    /// By an exception with this vector that no process has handled.
    Fault(u8),
}

impl Child {
    /// The child NAME.
    ///
    /// # Errors
    /// `BAD_SLOT` if the description gives this process no such child.
    pub fn find(name: &str) -> Result<Child> {
        Child::all().find(|child| child.name == name).ok_or(crate::Error::BAD_SLOT)
    }

    /// Every child, in the order of the description.
    pub fn all() -> impl Iterator<Item = Child> {
        env::slots("slot.process.").map(|(name, slot)| Child { slot, name })
    }

    /// Its name in the description.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Creates the child from the program that the description names, and starts it.
    ///
    /// # Errors
    /// `BAD_STATE` if it exists, `QUOTA` if this process cannot spare its quota or that does not hold its program,
    /// `NO_MEMORY`. What was created is ended again.
    pub fn start(&self) -> Result<()> {
        // SAFETY: the calls touch the child's memory alone, which has none of this process's but what was shared.
        unsafe {
            calls::sys_process_create(self.slot)?;
            calls::sys_process_start(self.slot, 0, 0, 0).inspect_err(|_| {
                // The start's error is the one to report.
                let _ = calls::sys_process_kill(self.slot);
            })
        }
    }

    /// Begins the end of the child and of all its children. It is over when its state is [`State::Empty`].
    ///
    /// # Errors
    /// `BAD_STATE` if it does not exist.
    pub fn kill(&self) -> Result<()> {
        // SAFETY: the call touches the child's memory alone.
        unsafe { calls::sys_process_kill(self.slot) }
    }

    /// What it does, and how it ended.
    ///
    /// # Errors
    /// None for a child that was found.
    pub fn state(&self) -> Result<State> {
        // SAFETY: the call touches no memory.
        let (state, cause) = unsafe { calls::sys_process_status(self.slot) }?;
        Ok(match state as u32 {
            PROCESS_LOADING => State::Loading,
            PROCESS_RUNNING => State::Running,
            PROCESS_DYING => State::Dying,
            other => {
                debug_assert!(other == PROCESS_EMPTY);
                State::Empty(end(cause))
            }
        })
    }

    /// The bit that its end sets in the notification that the description names for it.
    pub fn end_bit(&self) -> u64 {
        Waiter::bit(self.slot)
    }
}

fn end(cause: u64) -> End {
    match (cause & 0xff) as u32 {
        END_KILLED => End::Killed,
        END_FAULT => End::Fault((cause >> 8) as u8),
        other => {
            debug_assert!(other == END_EXIT);
            End::Exit((cause >> 8) as u16)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_an_end_is_read_as_the_kernel_writes_it() {
        assert_eq!(end(u64::from(END_EXIT) | 125 << 8), End::Exit(125));
        assert_eq!(end(u64::from(END_KILLED)), End::Killed);
        assert_eq!(end(u64::from(END_FAULT) | 14 << 8), End::Fault(14));
    }
}
