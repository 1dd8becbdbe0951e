//! What a booted image does, beside the bounds of its regions and of the paths that it takes.

use diagnostics::input_file::{self, MOST_DATA};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wcet_kernel::Kernel;
use wcet_oracle::observe::{Comparison, Observer, Ratios};
use wcet_report::{Observed, Report};

use crate::bound::{root, whole, write};
use crate::kernel::{bound, fail, file, fill, with};
use wcet_report::arguments::{Format, ObserveOptions};

/// Boots images, and holds what their kernels do against the bounds. Returns the exit status: 1 if a bound is exceeded, or if
/// something was done that the analysis rules out.
pub fn observe(options: &ObserveOptions) -> u8 {
    let systems = match systems(&options.systems, options.entries) {
        Ok(systems) => systems,
        Err(why) => return fail(&why),
    };
    with(&options.kernel, |kernel, machine, mut report| {
        let bounds = match (&options.bounds, options.without_bounds) {
            (_, true) => Ok(Bounds { regions: vec![None; kernel.regions.len()], loops: BTreeMap::new() }),
            (Some(path), _) => read(kernel, path),
            (None, _) => bound(kernel, machine, &options.output).map(|found| {
                fill(&mut report, kernel, &found);
                let regions = found.regions.iter().map(|region| region.wcet_cycles).collect();
                Bounds { regions, loops: loops(&report) }
            }),
        };
        let bounds = match bounds {
            Ok(bounds) => bounds,
            Err(why) => return fail(&why),
        };
        let calls = names();
        let mut observer = Observer::new(kernel, machine, calls.clone(), bounds.loops);
        for (file, entries) in &systems {
            if !options.output.quiet {
                eprintln!("{}, {entries} system calls", file.display());
            }
            if let Err(why) = trace(options, kernel, file, *entries, &mut observer) {
                return fail(&why);
            }
        }
        let quiet = options.output.quiet;
        let observations = observer.finish(&mut |number, of| {
            if !quiet && number % 100 == 0 {
                eprintln!("[{number}/{of}] paths");
            }
        });
        let comparison = wcet_oracle::observe::compare(kernel, &observations, &bounds.regions, &calls);
        let text = match shown(&comparison, report, options.output.format) {
            Ok(text) => text,
            Err(why) => return fail(&why),
        };
        if let Err(why) = write(&text, options.output.output.as_deref()) {
            return fail(&why);
        }
        let contradicted = comparison.statements.iter().any(|one| one.contradicted > 0);
        let wrong = comparison.above + comparison.above_path > 0 || !comparison.surprises.is_empty() || contradicted;
        u8::from(wrong)
    })
}

fn shown(comparison: &Comparison, mut report: Report, format: Format) -> Result<String, String> {
    match format {
        Format::Human => Ok(human(comparison)),
        Format::Json => {
            serde_json::to_string_pretty(comparison).map(|text| text + "\n").map_err(|cause| cause.to_string())
        }
        Format::Html | Format::Svg | Format::Csv | Format::Sarif | Format::Markdown => {
            let entries = comparison.entries.iter().map(|entry| Observed {
                name: entry.name.clone(),
                passages: entry.passages,
                cycles: entry.observed_cycles.max(entry.warm_cycles),
                bound_cycles: entry.bound_cycles.or(entry.path_bound_cycles).unwrap_or(0),
            });
            report.observed = entries.collect();
            wcet_report::summarise(&mut report);
            whole(&report, format)
        }
    }
}

fn human(comparison: &Comparison) -> String {
    let mut out = String::new();
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_string(), |number| number.to_string());
    let of = |ratios: Option<Ratios>, which: fn(Ratios) -> f64| {
        ratios.map_or_else(|| "-".to_string(), |ratios| format!("{:.2}", which(ratios)))
    };
    let _ = writeln!(
        out,
        "Longest passages in cycles, with caches as they were left and full of other written lines; bound/observed of the \
         whole region, and of the paths that were taken.\n"
    );
    let _ = writeln!(
        out,
        "{:>8} {:>9} {:>9} {:>9} {:>7} {:>7} {:>7} {:>6} {:>9} {:>6} {:>6} {:>6}  entry",
        "passages", "warm", "polluted", "bound", "least", "median", "most", "paths", "bound", "least", "median", "most"
    );
    for entry in &comparison.entries {
        let (ratio, path) = (entry.ratio, entry.path_ratio);
        let _ = write!(
            out,
            "{:>8} {:>9} {:>9} {:>9} {:>7} {:>7} {:>7} {:>6} {:>9} {:>6} {:>6} {:>6}  {}",
            entry.passages,
            entry.warm_cycles,
            entry.observed_cycles,
            number(entry.bound_cycles),
            of(ratio, |ratios| ratios.least),
            of(ratio, |ratios| ratios.median),
            of(ratio, |ratios| ratios.most),
            entry.paths,
            number(entry.path_bound_cycles),
            of(path, |ratios| ratios.least),
            of(path, |ratios| ratios.median),
            of(path, |ratios| ratios.most),
            entry.name,
        );
        for (above, of) in [(entry.above, "THEIR REGION"), (entry.above_path, "THEIR PATH")] {
            if above > 0 {
                let _ = write!(out, ": {above} ABOVE THE BOUND OF {of}");
            }
        }
        out.push('\n');
    }
    let _ = writeln!(
        out,
        "\n{} passages by {} paths; {} of {} system calls\n{} held against the bound of their region, {} above it\n{} held \
         against the bound of their path, {} above it",
        comparison.passages,
        comparison.paths,
        comparison.calls.len(),
        comparison.calls.len() + comparison.missing.len(),
        comparison.held,
        comparison.above,
        comparison.held_path,
        comparison.above_path
    );
    for (what, ratios) in [("messages", comparison.messages), ("interrupts", comparison.interrupts)] {
        if let Some(Ratios { least, median, most }) = ratios {
            let _ = writeln!(out, "paths of {what}: bound/observed {least:.2} to {most:.2}, median {median:.2}");
        }
    }
    if !comparison.missing.is_empty() {
        let _ = writeln!(out, "never made: {}", comparison.missing.join(", "));
    }
    for (text, count) in &comparison.without_bound {
        let _ = writeln!(out, "{count} paths without a bound: {text}");
    }
    let _ = writeln!(
        out,
        "\nWhat bounds rest on, held against what happened:\n\n{:>10} {:>12}  statement",
        "checked", "contradicted"
    );
    for one in &comparison.statements {
        let _ = writeln!(out, "{:>10} {:>12}  {}", one.checked, one.contradicted, one.statement);
        for example in &one.examples {
            let _ = writeln!(out, "{:>10} {:>12}  - CONTRADICTED: {example}", "", "");
        }
    }
    let _ = writeln!(
        out,
        "\n{} accesses may go to any memory that is no device, as far as the analysis knows",
        comparison.anywhere
    );
    for (text, count) in &comparison.surprises {
        let _ = writeln!(out, "ruled out by the analysis, but seen {count} times: {text}");
    }
    out
}

/// The images that are to be booted, each with how many system calls of it are traced; or what is wrong with them, all at once.
fn systems(named: &[String], entries: u64) -> Result<Vec<(PathBuf, u64)>, String> {
    let numbered = |system: &String| match system.rsplit_once('=').map(|(file, number)| (file, number.parse())) {
        Some((file, Ok(number))) => (PathBuf::from(file), number),
        _ => (PathBuf::from(system), entries),
    };
    let systems: Vec<_> = named.iter().map(numbered).collect();
    let missing: Vec<_> = systems.iter().filter(|(file, _)| !file.is_file()).map(|(file, _)| file.display()).collect();
    if missing.is_empty() {
        return Ok(systems);
    }
    let why = "is no file; a system image is build/systems/NAME/system.img, which `ashlar build` writes";
    Err(missing.iter().map(|file| format!("{file}: {why}")).collect::<Vec<_>>().join("\n"))
}

fn trace(
    options: &ObserveOptions,
    kernel: &Kernel<'_>,
    system: &Path,
    entries: u64,
    observer: &mut Observer<'_, '_>,
) -> Result<(), String> {
    let folder = std::env::temp_dir().join(format!("ashlar-observe-{}", std::process::id()));
    let run = wcet_oracle::observe::Run {
        kernel: file(&options.kernel),
        system: system.to_path_buf(),
        processors: options.cpus,
        memory_mib: options.memory,
        arguments: options.emulator.clone(),
        entries,
        timeout: Duration::from_secs(options.timeout),
        folder: folder.clone(),
    };
    let description = kernel.description;
    let base = description.memory.first().map_or(0, |memory| memory.first.wrapping_sub(memory.physical));
    let program = kernel.lifter.program();
    let own = description.own.as_ref().map(|own| own.processor.symbol.as_str());
    let found = wcet_oracle::observe::trace(&run, program, &description.entries.system_call, own, base)
        .and_then(|files| observer.take(&files));
    let _ = std::fs::remove_dir_all(&folder);
    found.map_err(|error| format!("{}: {error}", system.display()))
}

/// Bounds of regions, by their index, and of loops, by the addresses of their headers.
struct Bounds {
    regions: Vec<Option<u64>>,
    loops: BTreeMap<u64, u64>,
}

fn loops(report: &Report) -> BTreeMap<u64, u64> {
    let bound = |one: &wcet_report::Loop| {
        let address = u64::from_str_radix(one.address.trim_start_matches("0x"), 16).ok()?;
        Some((address, one.bound?))
    };
    report.loops.iter().filter_map(bound).collect()
}

/// Bounds from a report.
fn read(kernel: &Kernel<'_>, path: &Path) -> Result<Bounds, String> {
    let fault = |cause: String| format!("{}: {cause}; write it: ashlar timing --kernel --format json", path.display());
    let text = input_file::bytes(path, MOST_DATA).map_err(|cause| fault(cause.to_string()))?;
    let report: Report = serde_json::from_slice(&text).map_err(|cause| fault(cause.to_string()))?;
    let loops = loops(&report);
    let regions = report.regions.ok_or_else(|| fault("it has no regions".to_string()))?;
    let bounds: BTreeMap<&str, Option<u64>> =
        regions.iter().map(|region| (region.name.as_str(), region.wcet_cycles)).collect();
    let bound =
        |name: &str| bounds.get(name).copied().ok_or_else(|| fault(format!("it is about another kernel: no {name}")));
    let regions: Result<Vec<_>, String> = kernel.regions.iter().map(|region| bound(&region.name)).collect();
    Ok(Bounds { regions: regions?, loops })
}

/// System calls by number, from the kernel's table.
fn names() -> BTreeMap<u64, String> {
    let text = std::fs::read_to_string(root().join("kernel/syscall_numbers.h")).unwrap_or_default();
    let call = |line: &str| {
        let mut words = line.strip_prefix("#define SYS_")?.split_whitespace();
        let (name, number) = (words.next()?, words.next()?);
        Some((number.trim_end_matches(['u', 'l']).parse().ok()?, name.to_lowercase()))
    };
    text.lines().filter_map(call).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_images_that_are_no_files_are_named() {
        let here = env!("CARGO_MANIFEST_DIR");
        let manifest = format!("{here}/Cargo.toml");
        let why =
            systems(&[format!("{here}=7"), format!("{manifest}=8"), "absent".into()], 9).expect_err("two are none");
        let lines: Vec<_> = why.lines().collect();
        assert!(
            lines.len() == 2 && lines[0].starts_with(&format!("{here}: ")) && lines[1].starts_with("absent: "),
            "{why}"
        );
        let found = systems(&[format!("{manifest}=8"), manifest.clone()], 9).expect("both are files");
        assert_eq!(found, [(PathBuf::from(&manifest), 8), (PathBuf::from(&manifest), 9)]);
    }
}
