//! What was found of a kernel, in the form of reports.

use std::collections::BTreeMap;

use wcet_kernel::{Kernel, Means, Taken, Whole};
use wcet_paths::analysis::Code;
use wcet_report::{Around, Assumption, Error, Evidence, Lock, Loop, Region, Report, Verdict};

use crate::bound::root;
use crate::promises::{self, PROVED as OF_FUNCTIONS};
use crate::response_report::{response, response_loops};

/// The theorems of the whole with the axioms they rest on; `ashlar prove` compares the list with what Coq says.
const OF_THE_WHOLE: &str = "proof/assumptions.txt";
/// Below a name in the second list: it rests on no axiom.
const PROVED: &str = "Closed under the global context";

/// Functions that are named as those which dominate a region.
const NAMED: usize = 3;

/// Fills a report in.
pub(crate) fn fill(report: &mut Report, kernel: &Kernel<'_>, found: &Whole) {
    let regions = regions(kernel, found);
    report.kernel_functions = promises::functions(kernel, &regions);
    report.regions = Some(regions);
    report.worst_response_cycles = found.response.as_ref().map(wcet_kernel::Response::cycles);
    report.wcet_cycles = report.worst_response_cycles;
    let clock = report.machine.clock_hz;
    report.seconds = report.wcet_cycles.zip(clock).map(|(cycles, clock)| cycles as f64 / clock as f64);
    report.stack_bytes = found.stack.as_ref().map(|stack| stack.bytes);
    report.loops = loops(found);
    if found.response.is_some() {
        report.responses = Some(found.by_vector.iter().map(|one| response(kernel, one)).collect());
        report.response_loops = Some(response_loops(kernel, found));
    }
    if let Some((locks, Ok(locking))) = kernel.locks.as_ref().zip(found.locking.as_ref()) {
        report.locks = Some(locking.locks.iter().map(|one| lock(locks, one)).collect());
        (report.lock_wait_cycles, report.lock_processors) = (locking.response_cycles, Some(locking.processors));
    }
    report.errors.extend(without_bound(kernel, found));
    report.errors.extend(endless(kernel, found));
    report.errors.extend(theorems(kernel));
    if !report.errors.is_empty() {
        // Never a number beside an error.
        (report.wcet_cycles, report.worst_response_cycles, report.seconds) = (None, None, None);
        (report.locks, report.lock_wait_cycles, report.lock_processors) = (None, None, None);
        (report.responses, report.response_loops) = (None, None);
    }
    let complete = report.worst_response_cycles.is_some() && report.errors.is_empty();
    report.verdict = if complete { Verdict::Bounded } else { Verdict::Unbounded };
    report.analysis.complete = complete;
    let stated = wcet_kernel::statements(kernel, &found.regions);
    let tested = kernel.description.tested();
    let stated = stated.into_iter().map(|text| match tested.contains(&text) {
        true => format!("tested by `ashlar timing observe`, not shown: {text}"),
        false => format!("not validated: {text}"),
    });
    let imported = wcet_kernel::imported(kernel).into_iter().map(|text| format!("imported: {text}"));
    report.assumptions.extend(imported.map(|text| Assumption { of: "proof".to_string(), text }));
    let stated = stated.chain(waiting(found)).chain(made_of(kernel, found));
    report.assumptions.extend(stated.map(|text| Assumption { of: "stated".to_string(), text }));
}

/// What is said to follow from a theorem has to be proved.
fn theorems(kernel: &Kernel<'_>) -> Vec<Error> {
    let named = kernel.theorems();
    if named.is_empty() {
        return Vec::new();
    }
    let error = |code: Code, message: String| Error {
        code: code.name().into(),
        message,
        remedy: "correct kernel/timing.toml, or prove the theorem: ashlar prove".into(),
        ..Error::default()
    };
    let read = |path: &str| {
        let unread = |cause| format!("bounds rest on theorems, but {path} cannot be read: {cause}");
        std::fs::read_to_string(root().join(path)).map_err(unread)
    };
    let (functions, whole) = match (read(OF_FUNCTIONS), read(OF_THE_WHOLE)) {
        (Ok(functions), Ok(whole)) => (functions, whole),
        (functions, whole) => {
            let unread = functions.err().into_iter().chain(whole.err());
            return unread.map(|message| error(Code::Statement, message)).collect();
        }
    };
    let missing = named.into_iter().filter(|name| !is_proved(name, &functions, &whole));
    let text = |name| format!("bounds rest on the theorem {name}, which neither {OF_FUNCTIONS} nor {OF_THE_WHOLE} has");
    missing.map(|name| error(Code::Refuted, text(name))).collect()
}

fn is_proved(name: &str, functions: &str, whole: &str) -> bool {
    let quoted = format!("= \"{name}\"");
    let lines: Vec<&str> = whole.lines().map(str::trim).collect();
    functions.lines().any(|line| line.trim_end().ends_with(&quoted) && !line.starts_with('#'))
        || lines.windows(2).any(|pair| pair == [name, PROVED])
}

fn regions(kernel: &Kernel<'_>, found: &Whole) -> Vec<Region> {
    let one = |(region, analysed): (&wcet_kernel::Region, &wcet_kernel::Analysed)| Region {
        name: region.name.clone(),
        kind: region.kind.name().to_string(),
        wcet_cycles: analysed.wcet_cycles,
        start: Some(kernel.lifter.program().describe(region.start)),
        dominated_by: analysed.wcet_cycles.map(|cycles| dominated_by(&analysed.functions, cycles)),
        functions: analysed.functions.clone(),
        stack_bytes: wcet_kernel::stack_of(kernel, region).map(|stack| stack.bytes),
        lock_wait_cycles: None,
        locks: kernel
            .locks
            .as_ref()
            .zip(analysed.holding.as_ref())
            .map(|(locks, holding)| by_name(locks, &holding.taken)),
    };
    let mut regions: Vec<Region> = kernel.regions.iter().zip(&found.regions).map(one).collect();
    if let Some(Ok(locking)) = &found.locking {
        regions.iter_mut().zip(&locking.regions).for_each(|(region, wait)| region.lock_wait_cycles = Some(*wait));
    }
    regions.sort_by_key(|region| {
        let cycles = region.wcet_cycles.unwrap_or(u64::MAX);
        (std::cmp::Reverse(cycles), region.name.clone(), region.start.clone())
    });
    regions
}

/// The functions in which most of a region's worst path is spent, with their shares.
fn dominated_by(functions: &BTreeMap<String, u64>, cycles: u64) -> String {
    let mut most: Vec<(&String, u64)> = functions.iter().map(|(name, cycles)| (name, *cycles)).collect();
    most.sort_by_key(|(name, cycles)| (std::cmp::Reverse(*cycles), *name));
    let share = |(name, own): &(&String, u64)| {
        let share = (u128::from(*own) * 100 + u128::from(cycles / 2)) / u128::from(cycles.max(1));
        format!("{name} {share} %")
    };
    most.iter().take(NAMED).map(share).collect::<Vec<_>>().join(", ")
}

/// Each loop once, with the largest bound of all its contexts.
fn loops(found: &Whole) -> Vec<Loop> {
    let mut loops: BTreeMap<(u64, &str), Loop> = BTreeMap::new();
    for one in found.regions.iter().flat_map(|region| &region.loops) {
        let evidence = match (one.bound, one.means) {
            (Some(0), _) => Some(Evidence::Unreached),
            (_, Means::Inferred) => Some(Evidence::Inferred),
            (_, Means::ModelChecked) => Some(Evidence::ModelChecked),
            (_, Means::Imported) => Some(Evidence::Imported),
            (_, Means::Stated) => Some(Evidence::Stated),
            (_, Means::Wait) => None,
        };
        let entry = loops.entry((one.address, &one.function)).or_insert_with(|| Loop {
            function: one.function.clone(),
            address: format!("{:#x}", one.address),
            bound: Some(0),
            evidence: Some(Evidence::Unreached),
            ..Loop::default()
        });
        let before = entry.bound;
        entry.bound = before.zip(one.bound).map(|(all, one)| all.max(one));
        if one.bound.is_none() {
            entry.reason = entry.reason.take().or_else(|| one.reason.clone());
            entry.least_fact = entry.least_fact.take().or_else(|| one.least.clone());
            (entry.evidence, entry.detail) = (None, None);
        } else if entry.bound.is_some() && (one.bound > before || entry.detail.is_none()) {
            (entry.evidence, entry.detail) = (evidence, Some(one.evidence.clone()));
        }
    }
    loops.into_values().collect()
}

/// A region without a bound is an error with its reason, never a smaller report.
fn without_bound(kernel: &Kernel<'_>, found: &Whole) -> Vec<Error> {
    let mut reasons: BTreeMap<&str, (usize, &str)> = BTreeMap::new();
    for (region, analysed) in kernel.regions.iter().zip(&found.regions) {
        for text in &analysed.errors {
            // Once for each place, not for each way to it.
            let text = text.split(" in this context").next().unwrap_or(text);
            reasons.entry(text).or_insert((0, &region.name)).0 += 1;
        }
    }
    let error = |(text, (count, first)): (&str, (usize, &str))| Error {
        code: Code::Unbounded.name().into(),
        message: format!("{text} ({count} times, for instance in the region `{first}`)"),
        remedy: "see what its loops lack with --format json, or bound it in the C".into(),
        ..Error::default()
    };
    reasons.into_iter().map(error).collect()
}

fn lock(locks: &wcet_kernel::Locks, one: &wcet_kernel::Waited) -> Lock {
    Lock {
        name: locks.name(one.family).to_string(),
        members: locks.members(one.family),
        section_cycles: one.section.cycles,
        place: one.section.place.clone(),
        held_cycles: one.held_cycles,
        wait_cycles: one.wait_cycles,
        waits: one.section.waits.iter().cloned().collect(),
        around: one.around.iter().map(|(taken, section)| around(locks, taken, section)).collect(),
    }
}

fn around(locks: &wcet_kernel::Locks, taken: &Taken, section: &wcet_kernel::Section) -> Around {
    Around { section_cycles: section.cycles, place: section.place.clone(), takes: by_name(locks, taken) }
}

fn by_name(locks: &wcet_kernel::Locks, taken: &Taken) -> BTreeMap<String, u64> {
    taken.iter().map(|(family, count)| (locks.names(*family), *count)).collect()
}

/// Regions that follow each other without end.
fn endless(kernel: &Kernel<'_>, found: &Whole) -> Vec<Error> {
    let error = |message: String| Error {
        code: Code::Unbounded.name().into(),
        message,
        remedy: "open an interrupt window before it decides again".into(),
        ..Error::default()
    };
    wcet_kernel::endless(kernel, &found.regions).into_iter().map(error).collect()
}

/// What is said of the time waited for locks.
fn waiting(found: &Whole) -> Vec<String> {
    let mut said = Vec::new();
    match &found.locking {
        Some(Ok(locking)) => {
            let fewer: Vec<String> =
                locking.fewer.iter().map(|(processors, cycles)| format!("{cycles} among {processors}")).collect();
            said.push(format!(
                "the bounds are those of one processor: waits for locks add {} cycles to the response among {} processors, as \
                 many as the kernel is made for{}",
                locking.response_cycles.map_or_else(|| "an unknown number of".to_string(), |cycles| cycles.to_string()),
                locking.processors,
                fewer.iter().map(|text| format!(", {text}")).collect::<String>()
            ));
            return said;
        }
        Some(Err(reasons)) => {
            said.extend(reasons.iter().map(|reason| format!("how long locks are held is not known: {reason}")));
        }
        None => {}
    }
    let Some(waiting) = &found.waiting else {
        said.push("no time waited for locks is in the bounds".to_string());
        return said;
    };
    let (locks, section) = (waiting.acquisitions, waiting.section_cycles);
    let four = waiting.cycles(4);
    said.push(format!(
        "no time waited for locks is in the bound: a region takes {locks} at most, and among n processors each waits for \
         n - 1 sections of at most {section} cycles; {four} cycles with 4 processors, and more where a lock is taken \
         while another is held"
    ));
    said
}

/// What the response is made of, and what the deepest stack.
fn made_of(kernel: &Kernel<'_>, found: &Whole) -> Vec<String> {
    let mut said = Vec::new();
    if let Some(response) = &found.response {
        let names = |regions: &[usize]| {
            let names: Vec<String> = regions.iter().map(|one| format!("`{}`", kernel.regions[*one].name)).collect();
            names.join(", then ")
        };
        said.push(format!(
            "the response is made of {} cycles until interrupts are open, in {}; {} of the interrupt, in {}; and {} until the \
             handler is in its program, in {}, or {} if it comes to no window on its way: no thread switches to another behind \
             a switch without a window between, which is checked",
            response.closed_cycles,
            names(&response.closed),
            response.interrupt_cycles,
            names(&response.window.into_iter().chain([response.served]).chain(response.decided).collect::<Vec<_>>()),
            response.handler_cycles,
            names(&response.handler),
            response.direct_cycles
        ));
        said.extend(response.guest.iter().map(|(cycles, regions)| {
            format!(
                "left out above: an interrupt that comes between the last question before a guest is entered and that entry is \
                 kept out until the region behind the guest's exit ends: up to {cycles} cycles until interrupts are open, in {}",
                names(regions)
            )
        }));
    }
    if let Some(stack) = &found.stack {
        let (bytes, page) = (stack.bytes, kernel.description.stacks.bytes);
        said.push(format!("the deepest stack has {bytes} of {page} bytes: {}", stack.chain.join(" > ")));
    }
    said
}
