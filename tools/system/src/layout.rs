//! Numbers that this crate shares with the kernel, in the kernel's own names: bounds of kernel/config.h and of a few
//! layers, kinds and addresses of kernel/abi.h. A test compiles the headers and compares.

pub const KIB: u64 = 1 << 10;
pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;
pub const PAGE_SIZE: u64 = 4096;

// kernel/config.h
pub const NUM_CPU: u32 = 16;
pub const NUM_PROCESS: u32 = 64;
pub const NUM_THREAD: u32 = NUM_CPU + 128;
pub const NUM_ENDPOINT: u32 = 64;
pub const NUM_NOTIFICATION: u32 = 128;
pub const NUM_BUFFER: u32 = 16;
pub const BUFFER_CAPACITY: u32 = 64;
pub const NUM_SHARE: u32 = 64;
pub const NUM_IRQ: u32 = 32;
pub const NUM_DEVICE: u32 = 64;
pub const NUM_VM: u32 = 8;
pub const NUM_GRANT: u32 = 64;
pub const NUM_CONSOLE: u32 = 24;
pub const NUM_PRIORITY: u32 = 256;
pub const NUM_FRAME: u64 = 4194304;
pub const NONE: u32 = 0xffff_ffff;

// kernel/arch/arch.h and kernel/layers/sched/sched.h
pub const NUM_IRQ_LINE: u32 = 24;
pub const SCHED_PERIOD_MAX_NS: u64 = 10_000_000_000;
pub const SCHED_BUDGET_MIN_NS: u64 = 10_000;

/// Segments of all processes together, as kernel/layers/process/process.h bounds them.
pub const NUM_SEGMENT: u32 = 512;

/// Priorities that a description may give; the kernel keeps 0 and the highest for itself.
pub const MIN_PRIORITY: u64 = 1;
pub const MAX_PRIORITY: u64 = NUM_PRIORITY as u64 - 2;

// kernel/abi.h
pub const ABI_VERSION: u32 = 3;
pub const PROGRAM_NOTE_ABI: u32 = 1;
/// As user/libc/crt0.S writes it.
pub const PROGRAM_NOTE_OWNER: &str = "Ashlar";
pub const PROT_READ: u32 = 1;
pub const PROT_WRITE: u32 = 2;
pub const PROT_EXEC: u32 = 4;
pub const GRANT_ENDPOINT: u32 = 1;
pub const GRANT_NOTIFICATION: u32 = 2;
pub const GRANT_BUFFER: u32 = 3;
pub const GRANT_SHARE: u32 = 4;
pub const GRANT_PROCESS: u32 = 5;
pub const GRANT_IRQ: u32 = 6;
pub const GRANT_MMIO: u32 = 7;
pub const GRANT_PORT: u32 = 8;
pub const GRANT_DMA: u32 = 9;
pub const GRANT_VM: u32 = 10;
pub const GRANT_CONSOLE: u32 = 11;
pub const GRANT_POWER: u32 = 12;
pub const GRANT_MESSAGE: u32 = 13;
pub const RIGHT_SEND: u32 = 1;
pub const RIGHT_RECV: u32 = 2;
pub const RIGHT_SIGNAL: u32 = 1;
pub const RIGHT_WAIT: u32 = 2;
pub const RIGHT_INSERT: u32 = 1;
pub const RIGHT_REMOVE: u32 = 2;
pub const RIGHT_OFFER: u32 = 1;
pub const RIGHT_ACCEPT: u32 = 2;
pub const RIGHT_WRITE: u32 = 4;
pub const USER_BASE: u64 = 0x0000_0000_0001_0000;
pub const USER_END: u64 = 0x0000_7000_0000_0000;
pub const ENV_VADDR: u64 = 0x0000_6000_0000_0000;
pub const MESSAGE_VADDR: u64 = 0x0000_6000_0010_0000;
pub const TRACE_RINGS: u64 = 4096;
pub const TRACE_RING_BYTES: u64 = 1048576;

/// Where mapped files begin, one after the other with an unmapped page between.
pub const FILE_VADDR: u64 = 0x0000_5000_0000_0000;
/// Where the kernel's trace is mapped.
pub const TRACE_VADDR: u64 = 0x0000_5800_0000_0000;
/// Top of the first thread's stack; the page above is never mapped.
pub const STACK_TOP: u64 = 0x0000_5fff_ffff_0000;
