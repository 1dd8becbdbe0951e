//! The command line of `ashlar bench`.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub struct BenchOptions {
    #[command(subcommand)]
    pub what: BenchVerb,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum BenchVerb {
    /// System calls, messages, signals, interrupts and faults, in counted instructions.
    Ipc,
    /// Lock acquire and release on this machine's own processors, in cycles.
    Locks,
    /// Throughput of server and client pairs on one and two CPUs, fine locks against one big lock.
    Scaling,
    /// From reset to the first program, in counted instructions.
    Start,
    /// Linux in a guest against the same kernel directly on the emulator.
    Guests {
        /// Measure only this.
        #[arg(long)]
        part: Option<GuestPart>,
        /// Run the same guests under KVM, too, on the same emulator.
        #[arg(long)]
        kvm: bool,
    },
    /// What a second processor is worth to a guest, and to the same kernel directly on the emulator.
    GuestCpus,
    /// Messages between clients and drivers in counted instructions, and drivers of devices against Linux's.
    Drivers {
        /// Measure only this.
        #[arg(long)]
        part: Option<DriverPart>,
    },
    /// Processor time and memory that the timing analysis takes, of the kernel and of a set of small programs.
    Timing,
    /// What recording for `ashlar trace` costs, in counted instructions.
    Trace,
}

/// What of guests is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lowercase")]
pub enum GuestPart {
    /// Boot, and work without devices.
    Work,
    /// Reading and writing a disk, in order and scattered.
    Disk,
    /// A stream to the outside, which comes back.
    Network,
    /// A stream to another guest, which comes back.
    Neighbours,
    /// A tick of the clock and requests to a disk, in counted instructions, with the guest's exits.
    Requests,
    /// What one guest's floods of network, disk, console, timer and exits leave to others and to a real-time pair, in counted
    /// instructions.
    Flood,
}

/// What of drivers is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "lowercase")]
pub enum DriverPart {
    /// Messages, in counted instructions.
    Messages,
    /// Network and disk, beside a stock Linux on the same emulated devices.
    Devices,
    /// Frames of a stream, in counted instructions: two cards, interrupts by a line and by messages, with and without a switch.
    Packets,
    /// The network driver as a module of a stock Linux, beside Linux's own for the same card. Only where it is named: it needs
    /// the headers of Linux.
    Module,
}
