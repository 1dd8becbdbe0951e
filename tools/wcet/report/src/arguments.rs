//! Every option and argument, defined once; help comes from here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// Bounds the time of a program on a machine, from its binary alone.
///
/// Exit status: 0 if there is a bound within the budget; 1 for a finding: a missed budget, a loop without a bound, a
/// program that cannot be analysed soundly; 2 if the request could not be carried out.
#[derive(Debug, Parser)]
#[command(
    name = "ashlar timing",
    bin_name = "ashlar timing",
    version,
    max_term_width = 100,
    disable_help_subcommand = true,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub struct Arguments {
    #[command(subcommand)]
    pub verb: Option<Verb>,
    #[command(flatten)]
    pub bound: BoundOptions,
}

#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Bound the loops alone; needs no machine.
    Loops(LoopsOptions),
    /// Print functions, basic blocks and loops that entry points reach.
    Flow(FlowOptions),
    /// Boot the kernel in the emulator, trace it, and hold each passage through a region against its bound.
    Observe(ObserveOptions),
}

/// The form of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Human,
    Json,
    Html,
    /// A picture of the worst path.
    Svg,
    Csv,
    Sarif,
    /// A page of the documentation; of a kernel alone.
    Markdown,
}

#[derive(Debug, Args)]
pub struct BoundOptions {
    /// Bound a kernel from every entry and preemption point to the next; without FILE the one that `ashlar build` makes.
    #[arg(long)]
    pub kernel: bool,
    /// With --kernel: bound the responses on processors whose threads run these executables only, too: with the system calls
    /// that they make. Repeatable.
    #[arg(long = "program", value_name = "FILE", requires = "kernel")]
    pub programs: Vec<PathBuf>,
    /// The worst response of each thread of this system that has a reservation, against its deadline: a description's path or
    /// name. Status 1 if one is missed. Bounds the kernel first.
    #[arg(long, value_name = "SYSTEM", conflicts_with_all = ["kernel", "file", "budget", "explain"])]
    pub system: Option<String>,
    /// With --system: take the kernel's bounds from what `timing --kernel --format json` wrote.
    #[arg(long, value_name = "FILE", requires = "system", conflicts_with_all = ["machine", "set", "timeout"])]
    pub bounds: Option<PathBuf>,
    #[command(flatten)]
    pub program: ProgramOptions,
    /// The machine: a file's path, or a name in machines/timing/.
    #[arg(long, value_name = "NAME")]
    pub machine: Option<String>,
    /// Change a parameter of the machine file and solve anew, as in memory.latency=80; its places are in the report.
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub set: Vec<String>,
    /// Hold the bound against a time such as 50us, or against cycles as in "2000 cycles"; status 1 if it is longer.
    #[arg(long, value_name = "TIME")]
    pub budget: Option<String>,
    /// Stop refining paths after so many seconds; the bound reached by then holds.
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<f64>,
    /// Say what is known of this address or symbol.
    #[arg(long, value_name = "ADDRESS")]
    pub explain: Option<String>,
    #[command(flatten)]
    pub output: OutputOptions,
}

/// Which kernel.
#[derive(Debug, Args)]
pub struct KernelOptions {
    /// Its executable; otherwise the one that `ashlar build` makes.
    #[arg(id = "kernel-file", value_name = "FILE")]
    pub file: Option<PathBuf>,
    /// What its symbols are; otherwise kernel/timing.toml.
    #[arg(long, value_name = "FILE")]
    pub description: Option<PathBuf>,
    /// The machine: a file's path, or a name in machines/timing/.
    #[arg(long, value_name = "NAME", default_value = "x86-inorder")]
    pub machine: String,
    /// Change a parameter of the machine file, as in memory.latency=80.
    #[arg(long, value_name = "PARAMETER=VALUE")]
    pub set: Vec<String>,
}

#[derive(Debug, Args)]
pub struct ObserveOptions {
    #[command(flatten)]
    pub kernel: KernelOptions,
    /// System images to boot, as `ashlar build` writes them: build/systems/NAME/system.img. FILE=NUMBER traces so many
    /// system calls of it.
    #[arg(long = "system", value_name = "FILE", required = true)]
    pub systems: Vec<String>,
    /// Processors of the emulated machine, which take turns: every run is the same.
    #[arg(long, default_value_t = 2)]
    pub cpus: u32,
    /// Its memory in MiB.
    #[arg(long, default_value_t = 512)]
    pub memory: u64,
    /// A further argument of the emulator, as in --emulator=-device --emulator=amd-iommu.
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub emulator: Vec<String>,
    /// System calls to trace of each image for which no number is given.
    #[arg(long, default_value_t = 20_000)]
    pub entries: u64,
    /// Seconds after which an image that makes fewer is ended.
    #[arg(long, default_value_t = 60)]
    pub timeout: u64,
    /// Take the bounds of regions from what `timing --kernel --format json` wrote, instead of bounding them again.
    #[arg(long, value_name = "FILE", conflicts_with = "without_bounds")]
    pub bounds: Option<PathBuf>,
    /// Do not bound regions, only the paths that were taken.
    #[arg(long)]
    pub without_bounds: bool,
    #[command(flatten)]
    pub output: OutputOptions,
}

#[derive(Debug, Args)]
pub struct LoopsOptions {
    #[command(flatten)]
    pub program: ProgramOptions,
    /// Stop searching for bounds after so many seconds; those found by then hold.
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<f64>,
    #[command(flatten)]
    pub output: OutputOptions,
}

#[derive(Debug, Args)]
pub struct OutputOptions {
    /// Form of the result.
    #[arg(long, value_enum, default_value_t = Format::Human, value_name = "FORM")]
    pub format: Format,
    /// Write the result to this file; otherwise to standard output.
    #[arg(long, short, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// No progress.
    #[arg(long, short)]
    pub quiet: bool,
}

/// A program, and what a person states about it.
#[derive(Debug, Args)]
pub struct ProgramOptions {
    /// The executable.
    #[arg(required_unless_present_any = ["kernel", "system"])]
    pub file: Option<PathBuf>,
    /// Where control enters: a symbol, an offset as in name+0x10, or an address. By default the file's entry point.
    #[arg(long, value_name = "SYMBOL")]
    pub entry: Option<String>,
    /// Constraints on paths, each of which is validated.
    #[arg(long, value_name = "FILE")]
    pub constraints: Option<PathBuf>,
    /// Memory at the entry is as the executable has it. This is so anyway at the file's entry point.
    #[arg(long)]
    pub as_loaded: bool,
    /// Other processors, interrupts or devices may write memory at any time, apart from the stack.
    #[arg(long)]
    pub shared: bool,
    /// Memory that others write at any time, such as a DMA buffer, what an interrupt handler writes, or a page table: a symbol, or
    /// the first and last byte as in 0x1000..0x1fff.
    #[arg(long, value_name = "PLACE")]
    pub volatile: Vec<String>,
    /// Addresses that are not known may lead to registers of devices, and take as long as the slowest of these.
    #[arg(long)]
    pub devices: bool,
    /// Where the stack pointer stands at the entry. Otherwise the bound holds wherever the stack is.
    #[arg(long, value_name = "ADDRESS")]
    pub stack: Option<String>,
    /// What a register holds at the entry: a number from the first to the last, as in a0=-0x80000000..0x7fffffff for an
    /// argument of 32 bits on RV64, or RDI=0..99. Repeatable.
    #[arg(long = "register", value_name = "NAME=FIRST..LAST", allow_hyphen_values = true)]
    pub registers: Vec<String>,
    /// Nothing writes code, although it lies in writable memory.
    #[arg(long)]
    pub fixed_code: bool,
    /// How often the header of the loop that begins at this address is executed at most, for each entry of the loop. Nothing
    /// validates it; the report says so. It is used where it is less than what is inferred. Repeatable.
    #[arg(long = "loop", value_name = "ADDRESS=NUMBER")]
    pub loops: Vec<String>,
    /// How often these instructions are executed at most in the whole region, all of them together. Nothing validates it; the
    /// report says so. Repeatable.
    #[arg(long, value_name = "ADDRESS,...=NUMBER")]
    pub executes: Vec<String>,
    #[command(flatten)]
    pub stated: StatedOptions,
}

/// What a person states about control flow.
#[derive(Debug, Args)]
pub struct StatedOptions {
    /// Targets of an indirect jump, call or return.
    #[arg(long, value_name = "ADDRESS=SYMBOL,...")]
    pub targets: Vec<String>,
    /// Where the region ends: the last instruction of it on the path. It ends anyway where the entered function returns, and
    /// where control leaves for another privilege. Repeatable.
    #[arg(long, value_name = "ADDRESS")]
    pub stop: Vec<String>,
    /// How deep a function calls itself. Of each cycle of calls one function is enough. Repeatable.
    #[arg(long, value_name = "SYMBOL=DEPTH")]
    pub recursion: Vec<String>,
    /// A function that switches stacks, and where new stacks begin.
    #[arg(long, value_name = "SYMBOL=SYMBOL,...")]
    pub switch: Vec<String>,
    /// Most blocks of a function that may be copied so that a loop with several entries has one. Without it, such a
    /// loop is an error.
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub copies: usize,
}

#[derive(Debug, Args)]
pub struct FlowOptions {
    /// The executable.
    pub file: PathBuf,
    /// Where control enters: a symbol or an address. By default the file's entry point.
    #[arg(long, value_name = "SYMBOL")]
    pub entry: Vec<String>,
    #[command(flatten)]
    pub stated: StatedOptions,
    /// Print basic blocks with their instructions.
    #[arg(long)]
    pub blocks: bool,
    /// Give up after so many seconds: there is no part of a graph.
    #[arg(long, value_name = "SECONDS")]
    pub timeout: Option<f64>,
}
