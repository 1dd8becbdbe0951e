//! The whole kernel: its regions, and what a booted image does beside them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use timing_analysis::{load_machine, Code};
use timing_kernel::{Description, Kernel, Whole};
use timing_lift::Lifter;
use timing_load::Program;
use timing_report::{Assumption, Loop, Observed, Region, Report, Verdict, VERSION};

use crate::arguments::{KernelOptions, ObserveOptions, OutputOptions};
use crate::bound::{command, machines, root, show, whole as form};

/// Bounds every region and shows the report. Returns the exit status.
pub fn kernel(options: &KernelOptions, output: &OutputOptions) -> u8 {
    with(options, |kernel, machine, mut report| {
        let began = Instant::now();
        let found = bound(kernel, machine, output);
        match found {
            Ok(found) => fill(&mut report, kernel, &found),
            Err(why) => return fail(&why),
        }
        report.analysis.seconds = began.elapsed().as_secs_f64();
        report.seconds = report.worst_response_cycles.map(|cycles| cycles as f64 / machine.clock as f64);
        timing_report::summarise(&mut report);
        show(&report, output, form)
    })
}

/// Boots images, and holds what their kernels do against the bounds. Returns the exit status: 1 if a bound is exceeded.
pub fn observe(options: &ObserveOptions) -> u8 {
    with(&options.kernel, |kernel, machine, mut report| {
        let bounds = if options.without_bounds {
            Vec::new()
        } else {
            match bound(kernel, machine, &options.output) {
                Ok(found) => {
                    let bounds = found.regions.iter().map(|region| region.wcet_cycles).collect();
                    fill(&mut report, kernel, &found);
                    bounds
                }
                Err(why) => return fail(&why),
            }
        };
        let mut all = timing_observe::Observations::default();
        for system in &options.systems {
            match trace(options, kernel, machine, system) {
                Ok(mut found) => {
                    all.passages.append(&mut found.passages);
                    for (text, count) in found.surprises {
                        *all.surprises.entry(text).or_default() += count;
                    }
                }
                Err(why) => return fail(&why),
            }
        }
        let calls = names(&options.kernel).into_iter().map(|(number, name)| (number, (name, None))).collect();
        let comparison = timing_observe::compare(kernel, &all, &bounds, &calls);
        report.observed = comparison
            .entries
            .iter()
            .map(|entry| Observed {
                name: entry.name.clone(),
                passages: entry.passages,
                cycles: entry.observed_cycles.max(entry.warm_cycles),
                bound_cycles: entry.bound_cycles.unwrap_or(0),
            })
            .collect();
        print(&comparison, &calls);
        u8::from(comparison.above > 0 || !comparison.surprises.is_empty())
    })
}

fn print(comparison: &timing_observe::Comparison, calls: &BTreeMap<u64, (String, Option<u64>)>) {
    println!(
        "{:>9} {:>10} {:>10} {:>10} {:>7} {:>7}  entry",
        "passages", "warm", "polluted", "bound", "least", "median"
    );
    for entry in &comparison.entries {
        let number = |number: Option<u64>| number.map_or_else(|| "-".to_string(), |number| number.to_string());
        let ratio = |ratio: Option<f64>| ratio.map_or_else(|| "-".to_string(), |ratio| format!("{ratio:.2}"));
        println!(
            "{:>9} {:>10} {:>10} {:>10} {:>7} {:>7}  {}{}",
            entry.passages,
            entry.warm_cycles,
            entry.observed_cycles,
            number(entry.bound_cycles),
            ratio(entry.worst_ratio),
            ratio(entry.median_ratio),
            entry.name,
            if entry.above > 0 { format!(": {} ABOVE THEIR BOUND", entry.above) } else { String::new() }
        );
    }
    let seen = calls.keys().filter(|number| comparison.calls.contains(number)).count();
    println!(
        "{} passages, {} of {} system calls, {} above their bound",
        comparison.passages,
        seen,
        calls.len(),
        comparison.above
    );
    let missing: Vec<&str> = calls
        .iter()
        .filter(|(number, _)| !comparison.calls.contains(number))
        .map(|(_, (name, _))| name.as_str())
        .collect();
    if !missing.is_empty() {
        println!("never made: {}", missing.join(", "));
    }
    for (text, count) in &comparison.surprises {
        println!("against kernel/timing.toml: {text}, {count} times");
    }
}

fn trace(
    options: &ObserveOptions,
    kernel: &Kernel<'_>,
    machine: &timing_machine::Machine,
    system: &Path,
) -> Result<timing_observe::Observations, String> {
    let folder = std::env::temp_dir().join(format!("ashlar-observe-{}", std::process::id()));
    let run = timing_observe::Run {
        kernel: file(&options.kernel),
        system: system.to_path_buf(),
        processors: options.cpus,
        memory_mib: options.memory,
        entries: options.entries,
        timeout: Duration::from_secs(options.timeout),
        counted: options.cpus == 1,
        folder: folder.clone(),
    };
    let description = kernel.description;
    let base = description.memory.first().map_or(0, |memory| memory.first.wrapping_sub(memory.physical));
    let program = kernel.lifter.program();
    let found = timing_observe::trace(&run, program, &description.entries.system_call, base)
        .and_then(|files| timing_observe::observe(kernel, machine, &files));
    let _ = std::fs::remove_dir_all(&folder);
    found.map_err(|error| format!("{}: {error}", system.display()))
}

fn bound(kernel: &Kernel<'_>, machine: &timing_machine::Machine, output: &OutputOptions) -> Result<Whole, String> {
    let count = kernel.regions.len();
    let mut progress = |number: usize| {
        if !output.quiet {
            eprintln!("[{}/{count}] {}", number + 1, kernel.regions[number].name);
        }
    };
    timing_kernel::whole(kernel, machine, &mut progress).map_err(|errors| lines(&errors))
}

/// What was found, in the form of reports.
fn fill(report: &mut Report, kernel: &Kernel<'_>, found: &Whole) {
    let mut regions: Vec<Region> = kernel
        .regions
        .iter()
        .zip(&found.regions)
        .map(|(region, analysed)| Region {
            name: region.name.clone(),
            kind: region.kind.name().to_string(),
            wcet_cycles: analysed.wcet_cycles,
            start: Some(kernel.lifter.program().describe(region.start)),
            dominated_by: analysed.dominated_by().map(|(name, cycles)| format!("{name}, {cycles} cycles")),
            stack_bytes: None,
        })
        .collect();
    regions.sort_by_key(|region| (std::cmp::Reverse(region.wcet_cycles.unwrap_or(u64::MAX)), region.name.clone()));
    report.verdict =
        if regions.iter().all(|region| region.wcet_cycles.is_some()) { Verdict::Bounded } else { Verdict::Unbounded };
    report.regions = Some(regions);
    report.worst_response_cycles = found.response.as_ref().map(timing_kernel::Response::cycles);
    report.wcet_cycles = report.worst_response_cycles;
    report.stack_bytes = found.stack.as_ref().map(|stack| stack.bytes);
    let mut loops: BTreeMap<(u64, String), Loop> = BTreeMap::new();
    for one in found.regions.iter().flat_map(|region| &region.loops) {
        let entry = loops.entry((one.address, one.function.clone())).or_insert_with(|| Loop {
            function: one.function.clone(),
            address: format!("{:#x}", one.address),
            bound: Some(0),
            detail: Some(one.evidence.clone()),
            ..Loop::default()
        });
        entry.bound = entry.bound.zip(one.bound).map(|(all, one)| all.max(one));
        entry.reason = entry.reason.take().or_else(|| one.reason.clone());
    }
    report.loops = loops.into_values().collect();
    // A region without a bound is an error with its reason, never a smaller report.
    let mut reasons: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for (region, analysed) in kernel.regions.iter().zip(&found.regions) {
        for text in &analysed.errors {
            // Once for each place, not for each way to it.
            let text = text.split(" in this context").next().unwrap_or(text);
            reasons.entry(text).or_insert((0, &region.name)).0 += 1;
        }
    }
    report.errors.extend(reasons.into_iter().map(|(text, (count, first))| timing_report::Error {
        code: Code::Unbounded.name().into(),
        message: format!("{text} ({count} times, for instance in the region `{first}`)"),
        remedy: "see what its loops lack with --format json, or state a bound in kernel/timing.toml".into(),
        ..timing_report::Error::default()
    }));
    let stated = timing_kernel::statements(kernel, &found.regions);
    let stated = stated.into_iter().map(|text| format!("not validated: {text}"));
    let waiting = found.waiting.as_ref().map(|waiting| {
        let (locks, section) = (waiting.acquisitions, waiting.section_cycles);
        let four = waiting.cycles(4);
        format!(
            "no time waited for locks is in the bound: a region takes {locks} at most, and among n processors each waits for \
             n - 1 sections of at most {section} cycles; {four} cycles with 4 processors, and more where a lock is taken \
             while another is held"
        )
    });
    let none = || "no time waited for locks is in the bounds".to_string();
    let waiting = std::iter::once(waiting.unwrap_or_else(none));
    report.assumptions.extend(stated.chain(waiting).map(|text| Assumption { of: "stated".to_string(), text }));
}

fn with(options: &KernelOptions, work: impl FnOnce(&Kernel<'_>, &timing_machine::Machine, Report) -> u8) -> u8 {
    let path = file(options);
    let description = options.description.clone().unwrap_or_else(|| root().join("kernel/timing.toml"));
    let data = match std::fs::read(&path) {
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
    let loaded = match load_machine(machines().as_deref(), &options.machine, &[]) {
        Ok(loaded) => loaded,
        Err(errors) => {
            return fail(&errors.iter().map(|error| error.message.clone()).collect::<Vec<_>>().join("\n"));
        }
    };
    let lifter = match Lifter::new(&program) {
        Ok(lifter) => lifter,
        Err(cause) => return fail(&cause.to_string()),
    };
    let kernel = match Kernel::new(&lifter, &description) {
        Ok(kernel) => kernel,
        Err(errors) => return fail(&lines(&errors)),
    };
    let mut report = Report { version: VERSION, ..Report::default() };
    report.program.file = path.display().to_string();
    report.program.bytes = data.len() as u64;
    report.program.entry = "every entry of the kernel".to_string();
    report.analysis.command = command();
    let assumed = loaded.machine.assumes.iter().chain(&kernel.graph.assumptions);
    report.assumptions.extend(assumed.map(|text| Assumption { of: "program".to_string(), text: text.clone() }));
    work(&kernel, &loaded.machine, report)
}

fn file(options: &KernelOptions) -> PathBuf {
    options.file.clone().unwrap_or_else(|| root().join("build/kernel/x86_64-ticket/ashlar.elf"))
}

/// System calls by number, from the kernel's table.
fn names(options: &KernelOptions) -> Vec<(u64, String)> {
    let _ = options;
    let text = std::fs::read_to_string(root().join("kernel/abi.h")).unwrap_or_default();
    let call = |line: &str| {
        let mut words = line.strip_prefix("#define SYS_")?.split_whitespace();
        let (name, number) = (words.next()?, words.next()?);
        Some((number.trim_end_matches(['u', 'l']).parse().ok()?, name.to_lowercase()))
    };
    text.lines().filter_map(call).collect()
}

fn lines(errors: &[impl ToString]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

fn fail(why: &str) -> u8 {
    eprintln!("timing: {why}");
    2
}
