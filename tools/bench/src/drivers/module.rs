//! Ashlar's driver of the network card as a module of a stock Linux, beside Linux's own driver of the same card.
//!
//! Both drive the card of one boot each in turn, several times, the module with its run-time monitor and without. Before that it
//! has to show that it works: a stream goes through while the machine sleeps and wakes, and while the card is taken out of its slot
//! and put in again. Which driver has the card, and whether the monitor is on, is asked of the kernel at each boot.

use super::devices::{await_line, microseconds, ratios};
use crate::measured::{self, build, processor_seconds, start, LAST_LINES};
use crate::results::{DeviceSpeeds, Figure, ProcessorTimes};
use crate::{median, rounded};
use builder::{make, Built, KernelOptions};
use emulator::{monitor, Session};
use output::table::Table;
use output::{Failure, Output};
use project::Project;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const ROUNDS: usize = 3;
/// Of the stream that has to come through, and of those that are measured.
const LIVE_MIB: u32 = 256;
const MIB: u32 = 32;
const STREAMED: &str = r"^DEVICE echo (\d+) us";
/// In which a guest switches a slot's power off, however busy the host is.
const POWER_OFF: Duration = Duration::from_secs(30);
const CARD: &str = "rtl8139,id=card0,netdev=net0,bus=port0,mac=52:54:00:12:34:56";

/// How the card is driven.
struct Way {
    /// Of the figure, and for people.
    name: &'static str,
    about: &'static str,
    /// The command that sets it up, and what Linux must say then.
    set_up: &'static str,
    is_set_up: &'static str,
}

const LINUX: Way =
    Way { name: "linux", about: "Linux's own driver", set_up: "device ready", is_set_up: "driven by 8139cp[.]" };
const MODULE: Way = Way {
    name: "module",
    about: "Ashlar's, with its monitor",
    set_up: "device module",
    is_set_up: "driven by ashlar_rtl8139 with monitor=Y[.]",
};
const UNMONITORED: Way = Way {
    name: "module_unmonitored",
    about: "Ashlar's, without",
    set_up: "device module monitor=0",
    is_set_up: "driven by ashlar_rtl8139 with monitor=N[.]",
};
const WAYS: [Way; 3] = [LINUX, MODULE, UNMONITORED];

/// Of each round: microseconds by the guest's clock, and seconds of processor time that the emulator took.
#[derive(Debug, Default)]
struct Rounds {
    clock: Vec<f64>,
    processor: Vec<f64>,
}

pub fn module(figures: &mut BTreeMap<String, Figure>, project: &Project, output: &Output) -> Result<(), Failure> {
    let progress = output.progress(2 + ROUNDS * WAYS.len());
    progress.step("building, and fetching Linux");
    let linux = linux_with_module(project, output)?;
    let [card, slot] =
        ["bench-net", "net-unplug"].map(|system| build(system, &KernelOptions::default(), project, output));
    let (card, slot) = (card?, slot?);
    progress.step("a stream through sleep, and without the card for a while");
    live(&slot, &linux, output)?;
    let mut rounds = WAYS.map(|_| Rounds::default());
    for round in 1..=ROUNDS {
        for (way, rounds) in WAYS.iter().zip(&mut rounds) {
            progress.step(&format!("{}, round {round}", way.about));
            measure(&card, &linux, way, rounds, output)?;
        }
    }
    report(figures, &rounds, output)
}

/// The kernel, and a ramdisk with the module built for it.
fn linux_with_module(project: &Project, output: &Output) -> Result<(PathBuf, PathBuf), Failure> {
    let quiet = output.only_failures();
    let say = &mut |text: &str| quiet.detail(text);
    let unable = |error: image::Error| Failure::unable(error.to_string(), error.remedy());
    let (kernel, _) = image::fetch_device_guest(&project.guest(), say).map_err(unable)?;
    let release = image::kernel_release(&kernel).map_err(unable)?;
    let headers = Path::new("/lib/modules").join(&release).join("build");
    if !headers.join("Makefile").exists() {
        let message =
            format!("the headers of Linux {release}, for which the module is built, are not in {}", headers.display());
        return Err(Failure::unable(message, format!("apt-get install linux-headers-{release}")));
    }
    make::make(project, "user/linux", &[&format!("KERNEL={}", headers.display())], &quiet)?;
    let module = project.build().join("linux/rtl8139/ashlar_rtl8139.ko");
    image::add_module(&project.guest(), &module, say).map_err(unable)
}

/// Sends a command to the shell, waits for what it prints at its end, and gives that.
fn command(session: &mut Session<'_>, line: &str, done: &str) -> Result<String, Failure> {
    session.send(0, format!("{line}\n").as_bytes());
    await_line(session, 0, done, "Linux")
}

/// Has Linux's shell set up the card, and makes sure that the driver is the one that is meant.
fn set_up(session: &mut Session<'_>, way: &Way) -> Result<(), Failure> {
    await_line(session, 0, "^GUEST-UP", "Linux")?;
    let said = command(session, way.set_up, "^DEVICE ready, driven by .*[.]")?;
    if measured::compile(way.is_set_up)?.is_match(said.as_bytes()) {
        return Ok(());
    }
    Err(Failure::Finding(format!("{}: Linux says `{said}`, not /{}/", way.about, way.is_set_up)))
}

/// A stream that is checked byte by byte goes on although the devices sleep, and although the card leaves and comes back.
fn live(built: &Built, linux: &(PathBuf, PathBuf), output: &Output) -> Result<(), Failure> {
    let socket = built.image.with_file_name(format!("monitor-{}", std::process::id()));
    let line = monitor::reachable(crate::linux::linux(built, linux, "")?, &socket);
    output.detail(&format!("+ {line}"));
    let mut session = start(&line)?;
    let obey = |line: &str| monitor::obey(&socket, line).map_err(Failure::Finding);
    set_up(&mut session, &MODULE)?;
    let sleeps = command(&mut session, &format!("device through {LIVE_MIB}"), r"^DEVICE sleeps at \d+ MiB")?;
    await_line(&mut session, 0, "^DEVICE quarter", "Linux")?;
    obey("device_del card0")?;
    let gone = await_line(&mut session, 0, r"^DEVICE gone at \d+ MiB", "Linux")?;
    await_added(&obey)?;
    await_line(&mut session, 0, "^DEVICE back", "Linux")?;
    let through = await_line(&mut session, 0, r"^DEVICE through, \d+ complaints", "Linux")?;
    if !through.contains(" 0 ") {
        let said = session.transcript(0).last_lines(LAST_LINES).join("\n");
        return Err(Failure::Finding(format!("the kernel's log has complaints\n--- last lines\n{said}")));
    }
    let mib = |said: &str| said.chars().filter(char::is_ascii_digit).collect::<String>();
    output.human(&format!(
        "{LIVE_MIB} MiB came back as sent, though the devices slept after {} MiB and the card left its slot after {}",
        mib(&sleeps),
        mib(&gone)
    ));
    Ok(())
}

/// Puts a card into the slot again. The emulator has let go of the last one when the guest has switched the slot's power off, some
/// time after it has said that the card is gone; there is no event to wait for, so it is asked until then.
fn await_added(obey: &dyn Fn(&str) -> Result<(), Failure>) -> Result<(), Failure> {
    let deadline = Instant::now() + POWER_OFF;
    loop {
        match obey(&format!("device_add {CARD}")) {
            Err(Failure::Finding(said)) if said.contains("Duplicate device ID") && Instant::now() < deadline => {
                std::thread::sleep(Duration::from_millis(100));
            }
            other => return other,
        }
    }
}

/// Boots Linux and measures a stream through one driver.
fn measure(
    built: &Built,
    linux: &(PathBuf, PathBuf),
    way: &Way,
    rounds: &mut Rounds,
    output: &Output,
) -> Result<(), Failure> {
    let line = crate::linux::linux(built, linux, "")?;
    output.detail(&format!("+ {line}"));
    let mut session = start(&line)?;
    set_up(&mut session, way)?;
    let begin = processor_seconds(&session)?;
    command(&mut session, &format!("device echo {MIB}"), STREAMED)?;
    rounds.processor.push(processor_seconds(&session)? - begin);
    let said = session.transcript(0).last_lines(usize::MAX);
    rounds.clock.push(median(&microseconds(&said, (STREAMED, 1.0))?));
    Ok(())
}

fn report(figures: &mut BTreeMap<String, Figure>, rounds: &[Rounds; 3], output: &Output) -> Result<(), Failure> {
    let mut table =
        Table::new(["driver", "KiB/s", "speed to Linux's", "of each round", "by processor time", "of each round"]);
    let kib_per_second = |times: &[f64]| f64::from(MIB) * 1024.0 * 1e6 / median(times);
    let [linux, others @ ..] = rounds;
    table.row(vec![
        LINUX.about.into(),
        format!("{:.0}", kib_per_second(&linux.clock)),
        "".into(),
        "".into(),
        "".into(),
        "".into(),
    ]);
    for (Way { name, about, .. }, own) in WAYS[1..].iter().zip(others) {
        let [ratio, ratio_least, ratio_most] = ratios(&own.clock, &linux.clock).map(rounded);
        let [processor_ratio, processor_ratio_least, processor_ratio_most] =
            ratios(&own.processor, &linux.processor).map(rounded);
        let spread = |least: f64, most: f64| format!("{least:.2} to {most:.2}");
        table.row(vec![
            (*about).into(),
            format!("{:.0}", kib_per_second(&own.clock)),
            format!("{ratio:.2}"),
            spread(ratio_least, ratio_most),
            format!("{processor_ratio:.2}"),
            spread(processor_ratio_least, processor_ratio_most),
        ]);
        let processor = Some(ProcessorTimes {
            ashlar_processor_seconds: rounded(median(&own.processor)),
            linux_processor_seconds: rounded(median(&linux.processor)),
            processor_ratio,
            processor_ratio_least,
            processor_ratio_most,
        });
        let [ashlar, linux] = [&own.clock, &linux.clock].map(|times| rounded(kib_per_second(times)));
        let speeds = DeviceSpeeds { ashlar, linux, ratio, ratio_least, ratio_most, processor };
        figures.insert((*name).into(), Figure::Device(speeds));
    }
    output.human(&table.render());
    output.human(&format!("medians of {ROUNDS} boots of each, in turn; {MIB} MiB echoed"));
    Ok(())
}
