//! The whole kernel: its regions and their bounds.

use diagnostics::input_file::{self, MOST_DATA};
use std::path::PathBuf;
use std::time::Instant;

use wcet_binary::lift::Lifter;
use wcet_binary::load::Program;
use wcet_kernel::{Description, Kernel, Whole};
use wcet_paths::analysis::{judge_budget, load_machine, machine_of, parse_budget};
use wcet_report::{Assumption, Report, Verdict, VERSION};

use crate::bound::{command, machines, root, show, timeout, whole as form};
use crate::closed::closed;
pub(crate) use crate::kernel_report::fill;
use wcet_report::arguments::{BoundOptions, KernelOptions, OutputOptions};

/// Bounds every region and shows the report. Returns the exit status.
pub fn kernel(options: &BoundOptions) -> u8 {
    let refused = not_of_kernels(options);
    if !refused.is_empty() {
        return fail(&format!("a kernel's regions take no {}: leave it out with --kernel", refused.join(", ")));
    }
    let began = Instant::now();
    let mut wrong = Vec::new();
    let timeout = timeout(options.timeout, &mut wrong);
    if let Some(error) = wrong.first() {
        return fail(&format!("{}; {}", error.message, error.remedy));
    }
    let deadline = timeout.and_then(|timeout| began.checked_add(timeout));
    let kernel = KernelOptions {
        file: options.program.file.clone(),
        description: None,
        machine: options.machine.clone().unwrap_or_else(|| "x86-inorder".to_string()),
        set: options.set.clone(),
    };
    with(&kernel, |kernel, machine, mut report| {
        kernel.deadline = deadline;
        match options.budget.as_ref().map(|text| parse_budget(text, machine.clock)).transpose() {
            Ok(budget) => report.budget = budget,
            Err(errors) => {
                return fail(&errors.iter().map(|error| error.message.clone()).collect::<Vec<_>>().join("\n"))
            }
        }
        match bound(kernel, machine, &options.output) {
            Ok(found) => {
                fill(&mut report, kernel, &found);
                match closed(kernel, &found, &options.programs) {
                    Ok(closed) => report.closed = closed.filter(|_| report.errors.is_empty()),
                    Err(why) => return fail(&why),
                }
            }
            Err(why) => {
                let status = fail(&why);
                return if kernel.is_late() { 1 } else { status };
            }
        }
        if let Some(budget) = &mut report.budget {
            judge_budget(budget, report.wcet_cycles);
            if report.wcet_cycles.is_some() && !budget.met {
                report.verdict = Verdict::Late;
            }
        }
        report.analysis.seconds = began.elapsed().as_secs_f64();
        wcet_report::summarise(&mut report);
        show(&report, &options.output, form)
    })
}

/// Options given that are for programs with one entry.
fn not_of_kernels(options: &BoundOptions) -> Vec<&'static str> {
    let (program, stated) = (&options.program, &options.program.stated);
    [
        (program.entry.is_some(), "--entry"),
        (!stated.stop.is_empty(), "--stop"),
        (!program.loops.is_empty(), "--loop"),
        (!program.executes.is_empty(), "--executes"),
        (program.constraints.is_some(), "--constraints"),
        (program.as_loaded, "--as-loaded"),
        (program.shared, "--shared"),
        (program.devices, "--devices"),
        (!program.volatile.is_empty(), "--volatile"),
        (program.stack.is_some(), "--stack"),
        (!program.registers.is_empty(), "--register"),
        (program.fixed_code, "--fixed-code"),
        (!stated.targets.is_empty(), "--targets"),
        (!stated.recursion.is_empty(), "--recursion"),
        (!stated.switch.is_empty(), "--switch"),
        (stated.copies != 0, "--copies"),
        (options.explain.is_some(), "--explain"),
    ]
    .into_iter()
    .filter_map(|(given, name)| given.then_some(name))
    .collect()
}

pub(crate) fn bound(
    kernel: &Kernel<'_>,
    machine: &wcet_hardware::machine::Machine,
    output: &OutputOptions,
) -> Result<Whole, String> {
    let progress = |number: usize, count: usize, what: &str| {
        if !output.quiet {
            eprintln!("[{number}/{count}] {what}");
        }
    };
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    wcet_kernel::whole(kernel, machine, processors, &progress).map_err(|errors| lines(&errors))
}

pub(crate) fn with(
    options: &KernelOptions,
    work: impl FnOnce(&mut Kernel<'_>, &wcet_hardware::machine::Machine, Report) -> u8,
) -> u8 {
    let path = file(options);
    let description = options.description.clone().unwrap_or_else(|| root().join("kernel/timing.toml"));
    let data = match input_file::bytes(&path, MOST_DATA) {
        Ok(data) => data,
        Err(cause) => return fail(&format!("{}: {cause}; build it: ashlar build", path.display())),
    };
    let program = match Program::parse(&data) {
        Ok(program) => program,
        Err(errors) => return fail(&lines(&errors)),
    };
    let description = match Description::load(&description) {
        Ok(description) => description,
        Err(error) => return fail(&error.to_string()),
    };
    let loaded = match load_machine(machines().as_deref(), &options.machine, &options.set) {
        Ok(loaded) => loaded,
        Err(errors) => {
            return fail(&errors.iter().map(|error| error.message.clone()).collect::<Vec<_>>().join("\n"));
        }
    };
    let lifter = match Lifter::new(&program) {
        Ok(lifter) => lifter,
        Err(cause) => return fail(&cause.to_string()),
    };
    let mut kernel = match Kernel::new(&lifter, &description) {
        Ok(kernel) => kernel,
        Err(errors) => return fail(&lines(&errors)),
    };
    let mut report = Report { version: VERSION, ..Report::default() };
    report.program.file = path.display().to_string();
    report.program.bytes = data.len() as u64;
    report.program.sha256 = wcet_paths::analysis::hash(&data);
    report.program.entry = "every entry of the kernel".to_string();
    report.program.reached_functions = kernel.graph.functions.len() as _;
    report.machine = machine_of(&loaded);
    report.analysis.version = env!("CARGO_PKG_VERSION").to_string();
    report.analysis.command = command();
    let assumed = loaded.machine.assumes.iter().chain(&kernel.graph.assumptions);
    report.assumptions.extend(assumed.map(|text| Assumption { of: "program".to_string(), text: text.clone() }));
    work(&mut kernel, &loaded.machine, report)
}

pub(crate) fn file(options: &KernelOptions) -> PathBuf {
    options.file.clone().unwrap_or_else(|| root().join("build/kernel/x86_64-ticket/ashlar.elf"))
}

fn lines(errors: &[impl ToString]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

pub(crate) fn fail(why: &str) -> u8 {
    eprintln!("timing: {why}");
    2
}
