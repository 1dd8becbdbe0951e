//! The kernel's calling convention for everything but messages and consoles: the registers of `sys_raw` in
//! `user/include/ashlar/syscall.h`.

use core::arch::asm;

/// What a call has left in the registers.
pub(crate) struct Answer {
    pub status: u64,
    /// rdi
    pub first: u64,
    /// rsi
    pub second: u64,
}

/// A call with up to five arguments: rdi, rsi, rdx, r10, r8.
///
/// # Safety
/// The call takes away or changes no memory that is in use by this program.
#[inline(always)]
pub(crate) unsafe fn raw(number: u64, arguments: [u64; 5]) -> Answer {
    let [a, b, w0, w1, w2] = arguments;
    let (status, first, second);
    // SAFETY: the kernel keeps every register but those named here; of memory the caller has promised.
    unsafe {
        asm!("syscall", inlateout("rax") number => status, inlateout("rdi") a => first, inlateout("rsi") b => second,
            inlateout("rdx") w0 => _, inlateout("r10") w1 => _, inlateout("r8") w2 => _,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    Answer { status, first, second }
}

/// The same for calls that take one argument: nothing is loaded into the other registers.
///
/// # Safety
/// As for `raw`.
#[inline(always)]
pub(crate) unsafe fn raw1(number: u64, a: u64) -> Answer {
    let (status, first, second);
    // SAFETY: as in `raw`.
    unsafe {
        asm!("syscall", inlateout("rax") number => status, inlateout("rdi") a => first, lateout("rsi") second,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    Answer { status, first, second }
}

/// The same for calls that take no argument.
///
/// # Safety
/// As for `raw`.
#[inline(always)]
pub(crate) unsafe fn raw0(number: u64) -> Answer {
    let (status, first, second);
    // SAFETY: as in `raw`.
    unsafe {
        asm!("syscall", inlateout("rax") number => status, lateout("rdi") first, lateout("rsi") second,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    Answer { status, first, second }
}
