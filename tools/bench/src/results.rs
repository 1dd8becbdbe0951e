//! What `ashlar bench` prints with `--format json`.

use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// `ashlar bench`, by benchmark.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum BenchResult {
    /// `guests`: by workload; floods as `flood_` and what is flooded.
    Guests(BTreeMap<String, GuestFigure>),
    /// `guest-cpus`: Linux directly on the emulator, and in a guest.
    GuestCpus(BTreeMap<&'static str, SecondProcessor>),
    /// `timing`: of the kernel, and of the set of programs.
    Timing(BTreeMap<&'static str, AnalysisCost>),
    /// `scaling`: by lock, and by bytes of payload; `user` and `null` share nothing and tell what can be reached.
    Scaling(BTreeMap<&'static str, BTreeMap<String, Scaling>>),
    /// `start`: by machine.
    Start(BTreeMap<&'static str, StartCounts>),
    /// `locks`: cycles of one acquire and release, by lock and number of CPUs.
    Locks(BTreeMap<String, BTreeMap<String, f64>>),
    /// `trace`: by operation of `ipc`.
    Trace(BTreeMap<&'static str, RecordingCost>),
    /// `ipc` and `drivers`: by name.
    Figures(BTreeMap<String, Figure>),
}

/// Instructions of an operation on the ordinary kernel and on one that records.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RecordingCost {
    pub off: u64,
    pub on: u64,
}

#[derive(Debug, Clone, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Figure {
    /// Instructions, the median.
    Instructions(u64),
    /// Of `calibration_ok`: whether instructions were counted at all.
    Calibration(bool),
    /// Of `NAME_parts`: where the instructions go, per message.
    Parts(Parts),
    /// For 1, 2, ... clients: instructions of a message and messages a second, by kind of exchange.
    Clients {
        instructions: BTreeMap<&'static str, Vec<u64>>,
        messages_a_second: BTreeMap<&'static str, Vec<u64>>,
    },
    Device(DeviceSpeeds),
    Packets(PacketCounts),
}

/// Instructions of a message.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
pub struct Parts {
    /// The client's program and its library.
    pub client: f64,
    /// The driver's, but for the monitor.
    pub driver: f64,
    /// The run-time monitor, in the driver's process.
    pub monitor: f64,
    pub kernel: f64,
}

/// Of one frame of a stream, sent or received.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct PacketCounts {
    /// Frames that were counted.
    pub frames: f64,
    /// Instructions of all processes and of the kernel.
    pub instructions: f64,
    /// By process: instructions of its own and of the kernel for it.
    pub parts: BTreeMap<String, f64>,
    pub interrupts: f64,
}

/// A device under Ashlar's driver and under Linux's.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct DeviceSpeeds {
    /// KiB a second, or microseconds of a round trip.
    pub ashlar: f64,
    pub linux: f64,
    /// Ashlar's speed to Linux's: by the medians, and the least and the greatest of a round.
    pub ratio: f64,
    pub ratio_least: f64,
    pub ratio_most: f64,
    #[serde(flatten)]
    pub processor: Option<ProcessorTimes>,
}

/// The same by processor time, where it is long enough to be measured.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct ProcessorTimes {
    pub ashlar_processor_seconds: f64,
    pub linux_processor_seconds: f64,
    pub processor_ratio: f64,
    pub processor_ratio_least: f64,
    pub processor_ratio_most: f64,
}

/// Units of work in equal windows of time: of `user` 1000 steps, of `null` calls, else round trips of a client and its server.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Scaling {
    /// On one CPU, the other one idle.
    pub alone: u64,
    /// On both CPUs, summed.
    pub together: u64,
    pub speedup: f64,
}

/// Instructions until a program runs.
#[derive(Debug, Serialize, JsonSchema)]
pub struct StartCounts {
    pub reset: u64,
    /// Of these, those of the kernel.
    pub kernel: u64,
}

#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum GuestFigure {
    Times(GuestTimes),
    Counts(GuestCounts),
    Flood(FloodFigures),
}

/// While one guest floods something: what others got, by guest, and the real-time pair.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub struct FloodFigures {
    /// Requests of 4 KiB.
    pub disk: BTreeMap<String, Throughput>,
    /// Answers of one guest to another, and back.
    pub network: BTreeMap<String, Throughput>,
    /// Not there for what guests alone say.
    pub real_time: Option<Pulse>,
}

/// Pieces of work in equal stretches of time.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Throughput {
    /// While no guest floods.
    pub alone: u64,
    pub flooded: u64,
    /// What its share lets it expect.
    pub promised: u64,
    /// Whether it got nine tenths of that.
    pub kept: bool,
}

/// Of the real-time pair, in instructions from the moment that a job is due.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Pulse {
    pub worst_wake_up: u64,
    pub worst_answer: u64,
    /// That `timing --system` gives, an instruction a cycle.
    pub bound: u64,
    pub jobs: u64,
    pub kept: bool,
}

/// Of one tick of a guest's clock, or one request to its disk.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GuestCounts {
    pub exits: f64,
    /// Instructions of the guest itself.
    pub guest: f64,
    /// By process: instructions of its own and of the kernel for it. The process that is called as the guest is its monitor.
    pub parts: BTreeMap<String, f64>,
}

/// Milliseconds of a workload: wall time, and processor time of the emulator, which depends less on what else runs. What was not
/// measured is null.
#[derive(Debug, Serialize, JsonSchema)]
pub struct GuestTimes {
    /// Linux directly on the emulator.
    pub bare: Option<f64>,
    pub guest: f64,
    pub ratio: Option<f64>,
    pub bare_processor: Option<f64>,
    pub guest_processor: f64,
    pub ratio_processor: Option<f64>,
    /// The same guest under KVM.
    pub kvm: Option<f64>,
    pub ratio_kvm: Option<f64>,
    pub guest_to_kvm: Option<f64>,
    pub kvm_processor: Option<f64>,
    pub ratio_kvm_processor: Option<f64>,
    pub guest_to_kvm_processor: Option<f64>,
    /// Three guests at once: the slowest.
    pub three: Option<f64>,
    pub ratio_three: Option<f64>,
}

/// Milliseconds of a workload of two processes, with one processor and with two.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SecondProcessor {
    pub one: f64,
    pub two: f64,
    pub speedup: f64,
}

/// What an analysis took, and how much it bounded.
#[derive(Debug, Serialize, JsonSchema)]
pub struct AnalysisCost {
    /// Regions of the kernel, or programs.
    pub parts: usize,
    pub parts_bounded: usize,
    pub loops: usize,
    pub loops_bounded: usize,
    pub cpu_seconds: f64,
    pub mebibytes: f64,
}
