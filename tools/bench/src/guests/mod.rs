//! `bench guests`: Linux in a guest against the same Linux directly on the emulator and, if asked for, under KVM on it.
//!
//! One run measures all in turn: other load on the machine slows all. The machine has one processor, but for three guests at once.

mod counted;
mod flood;
mod measure;
mod places;

use crate::measured::build;
use crate::options::GuestPart;
use crate::results::{BenchResult, GuestFigure, GuestTimes};
use crate::{median, rounded};
use builder::KernelOptions;
pub use measure::{measure, Times};
use output::table::Table;
use output::{Failure, Output};
pub use places::{bare, guest};
use project::Project;
use std::collections::BTreeMap;

const ROUNDS: usize = 3;
/// Three guests at once, on a CPU each, do the work without devices, too.
const THREE: &str = "bench-guests";

/// What a directly running Linux needs to be compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bare {
    /// The guest's own kernel.
    SameKernel,
    /// A kernel with drivers for the devices, and this on its command line.
    Devices(&'static str),
    /// It has no neighbour.
    None,
}

/// Workloads that are measured in one boot.
struct Part {
    part: GuestPart,
    system: &'static str,
    workloads: &'static [&'static str],
    bare: Bare,
    /// What the command `kvm` is told (tools/image/guest/command/kvm).
    kvm: &'static str,
}

const PARTS: [Part; 4] = [
    Part {
        part: GuestPart::Work,
        system: "bench-guest",
        workloads: &[measure::BOOT, "sha256", "untar", "fork", "pipe"],
        bare: Bare::SameKernel,
        kvm: "alone",
    },
    Part {
        part: GuestPart::Disk,
        system: "bench-guest-disk",
        workloads: &["disk_write", "disk_read", "disk_write_scattered", "disk_read_scattered"],
        bare: Bare::Devices(""),
        kvm: "disk",
    },
    Part {
        part: GuestPart::Network,
        system: "bench-guest-network",
        workloads: &["stream"],
        bare: Bare::Devices("ashlar.name=bare ashlar.hosts=bare:10.0.2.20,gateway:10.0.2.2"),
        kvm: "network",
    },
    Part {
        part: GuestPart::Neighbours,
        system: "bench-guests-network",
        workloads: &["stream_to_guest"],
        bare: Bare::None,
        kvm: "pair",
    },
];

/// What was measured of a part; nothing in the places where it does not run.
#[derive(Debug, Default)]
struct Samples {
    bare: Times,
    guest: Times,
    kvm: Times,
    three: Times,
}

pub fn guests(only: Option<GuestPart>, with_kvm: bool, project: &Project, output: &Output) -> Result<(), Failure> {
    let is_asked_for = |part| only.is_none_or(|only| only == part);
    let counts =
        is_asked_for(GuestPart::Requests).then(|| counted::counted(project, output)).transpose()?.unwrap_or_default();
    let parts: Vec<&Part> = PARTS.iter().filter(|part| is_asked_for(part.part)).collect();
    let mut all = BTreeMap::new();
    for part in &parts {
        let samples = measure_part(part, with_kvm, project, output)?;
        all.extend(part.workloads.iter().map(|name| (*name, times(name, &samples))));
    }
    if !parts.is_empty() {
        report(parts.iter().flat_map(|part| part.workloads), &all, output);
    }
    let floods =
        is_asked_for(GuestPart::Flood).then(|| flood::floods(project, output)).transpose()?.unwrap_or_default();
    let is_kept = flood::verdict(&floods);
    let times = all.into_iter().map(|(name, times)| (name.to_string(), GuestFigure::Times(times)));
    let counts = counts.into_iter().map(|(name, counts)| (name.to_string(), GuestFigure::Counts(counts)));
    let floods = floods.into_iter().map(|(name, figures)| (format!("flood_{name}"), GuestFigure::Flood(figures)));
    output.json(&BenchResult::Guests(times.chain(counts).chain(floods).collect()));
    is_kept
}

fn measure_part(part: &Part, with_kvm: bool, project: &Project, output: &Output) -> Result<Samples, Failure> {
    let build = |system| build(system, &KernelOptions::default(), project, output);
    let built = build(part.system)?;
    let bare = match part.bare {
        Bare::SameKernel => Some(places::bare("bare", project, &built, 1)?),
        Bare::Devices(line) => Some(places::bare_devices("bare", &built, line, project, output)?),
        Bare::None => None,
    };
    let guest = places::guest("guest", &built)?;
    let kvm = with_kvm.then(|| places::kvm(part.kvm, &built, project, output)).transpose()?;
    let three =
        (part.part == GuestPart::Work).then(|| places::guest("three guests at once", &build(THREE)?)).transpose()?;
    let workloads = &part.workloads[usize::from(part.workloads[0] == measure::BOOT)..];
    let mut samples = Samples::default();
    let places = 1 + usize::from(bare.is_some()) + usize::from(kvm.is_some());
    let progress = output.progress(places * ROUNDS + usize::from(three.is_some()));
    for round in 1..=ROUNDS {
        let Samples { bare: bare_times, guest: guest_times, kvm: kvm_times, .. } = &mut samples;
        let in_turn = [(bare.as_ref(), bare_times), (Some(&guest), guest_times), (kvm.as_ref(), kvm_times)];
        for (place, times) in in_turn {
            let Some(place) = place else { continue };
            progress.step(&format!("{}, {}, round {round}", part.system, place.name));
            measure(place, workloads, times, output)?;
        }
    }
    if let Some(three) = &three {
        progress.step(three.name);
        measure(three, workloads, &mut samples.three, output)?;
    }
    Ok(samples)
}

fn times(name: &str, samples: &Samples) -> GuestTimes {
    let wall = |times: &Times| times.wall.get(name).map(|values| median(values));
    let processor = |times: &Times| times.processor.get(name).map(|values| median(values));
    let ratio = |one: Option<f64>, to: Option<f64>| Some(rounded(one? / to?));
    let Samples { bare, guest, kvm, three } = samples;
    GuestTimes {
        bare: wall(bare).map(rounded),
        guest: wall(guest).map_or(f64::NAN, rounded),
        ratio: ratio(wall(guest), wall(bare)),
        bare_processor: processor(bare).map(rounded),
        guest_processor: processor(guest).map_or(f64::NAN, rounded),
        ratio_processor: ratio(processor(guest), processor(bare)),
        kvm: wall(kvm).map(rounded),
        ratio_kvm: ratio(wall(kvm), wall(bare)),
        guest_to_kvm: ratio(wall(guest), wall(kvm)),
        kvm_processor: processor(kvm).map(rounded),
        ratio_kvm_processor: ratio(processor(kvm), processor(bare)),
        guest_to_kvm_processor: ratio(processor(guest), processor(kvm)),
        three: wall(three).map(rounded),
        ratio_three: ratio(wall(three), wall(bare)),
    }
}

fn report<'a>(
    order: impl Iterator<Item = &'a &'static str>,
    all: &BTreeMap<&'static str, GuestTimes>,
    output: &Output,
) {
    let mut wall =
        Table::new(["wall time, ms", "bare", "guest", "ratio", "KVM", "ratio", "guest to KVM", "3 guests", "ratio"]);
    let mut processor = Table::new(["processor time, ms", "bare", "guest", "ratio", "KVM", "ratio", "guest to KVM"]);
    let number = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.0}"));
    let ratio = |value: Option<f64>| value.map_or_else(String::new, |value| format!("{value:.2}"));
    for name in order {
        let it = &all[name];
        wall.row(vec![
            name.to_string(),
            number(it.bare),
            number(Some(it.guest)),
            ratio(it.ratio),
            number(it.kvm),
            ratio(it.ratio_kvm),
            ratio(it.guest_to_kvm),
            number(it.three),
            ratio(it.ratio_three),
        ]);
        processor.row(vec![
            name.to_string(),
            number(it.bare_processor),
            number(Some(it.guest_processor)),
            ratio(it.ratio_processor),
            number(it.kvm_processor),
            ratio(it.ratio_kvm_processor),
            ratio(it.guest_to_kvm_processor),
        ]);
    }
    output.human(&wall.render());
    output.human(&processor.render());
    output.human(&format!("medians of {ROUNDS} rounds; three guests: the slowest of them, one round"));
}
