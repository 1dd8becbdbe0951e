//! The whole kernel: its regions and their bounds.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use timing_analysis::{load_machine, Code};
use timing_kernel::{Description, Kernel, Whole};
use timing_lift::Lifter;
use timing_load::Program;
use timing_report::{Assumption, Loop, Region, Report, Verdict, VERSION};

use crate::arguments::{KernelOptions, OutputOptions};
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

pub(crate) fn bound(kernel: &Kernel<'_>, machine: &timing_machine::Machine, output: &OutputOptions) -> Result<Whole, String> {
    let count = kernel.regions.len();
    let mut progress = |number: usize| {
        if !output.quiet {
            eprintln!("[{}/{count}] {}", number + 1, kernel.regions[number].name);
        }
    };
    timing_kernel::whole(kernel, machine, &mut progress).map_err(|errors| lines(&errors))
}

/// What was found, in the form of reports.
pub(crate) fn fill(report: &mut Report, kernel: &Kernel<'_>, found: &Whole) {
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

pub(crate) fn with(options: &KernelOptions, work: impl FnOnce(&Kernel<'_>, &timing_machine::Machine, Report) -> u8) -> u8 {
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
