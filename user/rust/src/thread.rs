//! Threads of this process. How many there are, on which CPU and at which priority, the description says.

use crate::abi::{MESSAGE_MAX_WORDS, MESSAGE_VADDR};
use crate::calls;
use crate::env;
use crate::error::{done, Error, Result};
use crate::memory::PAGE_SIZE;
use core::cell::Cell;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicBool, Ordering};

/// Threads that `user/libc/thread.c` has stacks for.
const MAX_THREADS: usize = 256;
/// Bits of an address that can be that of a function; the index of the thread stands above them.
const ADDRESS_BITS: u32 = 48;

/// The message page of a thread: word i of a message that has more than ten stands at index i. A call that receives
/// changes it, so it is shown as cells.
pub type Page = [Cell<u64>; MESSAGE_MAX_WORDS as usize];

/// The thread that runs. Each function that a thread starts with is given its own, which stays with this thread.
#[derive(Debug)]
pub struct Thread {
    index: u32,
    /// The message page is this thread's alone.
    stays: PhantomData<*mut ()>,
}

impl Thread {
    /// The first thread, once.
    pub(crate) fn first() -> Thread {
        Thread { index: 0, stays: PhantomData }
    }

    /// Its message page.
    #[inline(always)]
    pub fn page(&self) -> &Page {
        let address = MESSAGE_VADDR + u64::from(self.index) * PAGE_SIZE as u64;
        // SAFETY: the kernel maps the page before the thread starts, and keeps it. Only this thread refers to it, as cells; the
        // kernel writes to it only within this thread's calls, whose assembly the compiler takes to change any cell.
        unsafe { &*(address as *const Page) }
    }
}

extern "C" {
    /// Of `user/libc/thread.c`: maps a stack and starts the thread.
    fn thread_start(index: u32, function: extern "C" fn(u64), argument: u64) -> u32;
}

/// Threads that have been started. A second start would write to a stack that may be in use.
static STARTED: [AtomicBool; MAX_THREADS] = [const { AtomicBool::new(false) }; MAX_THREADS];

/// Starts the thread NAME at a function; it ends when the function returns. A thread is started once. Its stack has 16
/// pages, with unmapped ones around it.
///
/// # Errors
/// `BAD_ARGUMENT` if the description has no such thread in this process, `BAD_STATE` if it was started before, `QUOTA` or
/// `NO_MEMORY` if its stack cannot be paid.
pub fn start(name: &str, function: fn(Thread)) -> Result<()> {
    let index = env::thread(name)?;
    let started = STARTED.get(index as usize).filter(|_| index != 0).ok_or(Error::BAD_ARGUMENT)?;
    if started.swap(true, Ordering::Relaxed) {
        return Err(Error::BAD_STATE);
    }
    let argument = function as usize as u64 | u64::from(index) << ADDRESS_BITS;
    // SAFETY: the thread has not been started before, so nothing is on its stack.
    done(u64::from(unsafe { thread_start(index, begin, argument) }))
        .inspect_err(|_| started.store(false, Ordering::Relaxed))
}

extern "C" fn begin(argument: u64) {
    let address = (argument & ((1 << ADDRESS_BITS) - 1)) as usize;
    // SAFETY: `start` has put the function there, whose address has no bit above: user addresses end at 2^47.
    let function: fn(Thread) = unsafe { core::mem::transmute::<usize, fn(Thread)>(address) };
    function(Thread { index: (argument >> ADDRESS_BITS) as u32, stays: PhantomData });
}

/// Lets other ready threads of the same priority on this CPU run first.
pub fn yield_now() {
    // SAFETY: the call touches no memory. It cannot fail.
    let _ = unsafe { calls::sys_yield() };
}
