//! Frames of a stream that an echo service sends back, in counted instructions: of the client, of the driver, and of the switch if
//! one stands between them, each with what the kernel does for it.
//!
//! The kernel records who runs when, and the emulator's time advances by one nanosecond an instruction. Each system is booted
//! twice, with a short stream and with a longer one: the boot cancels out in the difference.

use crate::measured::{self, compile, start, LAST_LINES};
use crate::results::{Figure, PacketCounts};
use crate::rounded;
use builder::machine::MachineOptions;
use builder::{Built, KernelOptions};
use emulator::session::WaitError;
use output::table::Table;
use output::{Failure, Output};
use project::Project;
use recording::{names, Recording};
use regex::Regex;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use trace::event::{in_order, Event, What};
use trace::slices::slices;
use trace::Names;

/// How often the kernel's rings are read; what they hold is overwritten.
const READ_EVERY: Duration = Duration::from_millis(100);
const TIMEOUT: Duration = Duration::from_secs(300);
const TRIES: usize = 5;
/// While the processor is idle time passes as the host's does: otherwise it leaps to the client's deadlines before the echo service,
/// a program of the host, can answer.
const REAL_PAUSES: &str = "shift=0,sleep=on";
/// Processes of the systems; the driver is called as its device.
const CLIENT: &str = "net";
const BUS: &str = "bus";
const SWITCH: &str = "switch";
const MIB: [u32; 2] = [1, 5];
const DONE: &str = r"^NET done, (\d+) frames sent, (\d+) received";
const WHOLE: &str = "^ECHO .* 0 sent again";

/// A system of which the frames are counted.
struct Way {
    name: &'static str,
    about: &'static str,
    system: &'static str,
    /// Lines of its description: how they begin, and what stands there instead.
    changed: &'static [(&'static str, &'static str)],
    /// What the bus process says that the device's interrupts are; of a line it says nothing.
    interrupts: Option<&'static str>,
}

/// In the description of the bus process: messages of the capability instead of those of the table, or none.
const NO_TABLE: [(&str, &str); 4] = [
    ("devices = [\"pci_config\"", "devices = [\"pci_config\"]"),
    ("args.message_table", ""),
    ("args.message_bar", ""),
    ("args.message_window", ""),
];
const LINE: [(&str, &str); 4] = [NO_TABLE[0], ("args.message_table", "args.messages = 0"), NO_TABLE[2], NO_TABLE[3]];

const WAYS: [Way; 5] = [
    Way { name: "rtl8139", about: "RTL8139, its line", system: "bench-net", changed: &[], interrupts: None },
    Way {
        name: "rtl8139_switch",
        about: "the same, through a switch",
        system: "bench-net-switch",
        changed: &[],
        interrupts: None,
    },
    Way { name: "e1000e_line", about: "82574L, its line", system: "e1000e", changed: &LINE, interrupts: None },
    Way {
        name: "e1000e_msi",
        about: "82574L, MSI",
        system: "e1000e",
        changed: &NO_TABLE,
        interrupts: Some("messages"),
    },
    Way {
        name: "e1000e_msix",
        about: "82574L, MSI-X",
        system: "e1000e",
        changed: &[],
        interrupts: Some("messages of its table"),
    },
];

/// What one boot took.
#[derive(Debug, Default)]
struct Sums {
    frames: f64,
    parts: BTreeMap<String, f64>,
    interrupts: f64,
}

impl Sums {
    /// From the events of one processor.
    fn of(events: Vec<Event>, names: &Names, frames: f64) -> Sums {
        let events = in_order(events);
        let interrupts = events.iter().filter(|event| matches!(event.what, What::Interrupt { .. })).count() as f64;
        let mut sums = Sums { frames, interrupts, ..Sums::default() };
        for slice in slices(&events) {
            let Some(name) = names.thread(slice.thread) else { continue };
            let part = match name {
                CLIENT => "client",
                BUS | SWITCH => name,
                _ => "driver",
            };
            *sums.parts.entry(part.to_string()).or_default() += (slice.end - slice.start) as f64;
        }
        sums
    }

    /// Of each frame that this has more than `less`.
    fn beyond(&self, less: &Sums) -> Result<PacketCounts, Failure> {
        let frames = self.frames - less.frames;
        if frames <= 0.0 {
            return Err(Failure::Finding("a longer stream had no more frames".into()));
        }
        let of = |more: f64, less: f64| (more - less) / frames;
        let part = |name: &String| of(self.parts[name], less.parts.get(name).copied().unwrap_or(0.0));
        let parts: BTreeMap<String, f64> = self.parts.keys().map(|name| (name.clone(), part(name))).collect();
        Ok(PacketCounts {
            frames,
            instructions: rounded(parts.values().sum()),
            parts: parts.into_iter().map(|(name, value)| (name, rounded(value))).collect(),
            interrupts: rounded(of(self.interrupts, less.interrupts)),
        })
    }
}

pub fn packets(figures: &mut BTreeMap<String, Figure>, project: &Project, output: &Output) -> Result<(), Failure> {
    let progress = output.progress(WAYS.len());
    let mut all = Vec::new();
    for way in &WAYS {
        progress.step(way.about);
        let [less, more] = MIB.map(|mib| boot(way, mib, project, output));
        let counts = more?.beyond(&less?)?;
        figures.insert(format!("packets_{}", way.name), Figure::Packets(counts.clone()));
        all.push(counts);
    }
    show(&all, output);
    Ok(())
}

/// Boots the system with a stream of so many MiB until one comes through without loss. On a busy host the echo service, which is one
/// of its programs, may let the client wait so long that it sends again.
fn boot(way: &Way, mib: u32, project: &Project, output: &Output) -> Result<Sums, Failure> {
    for _ in 0..TRIES {
        if let Some(sums) = boot_once(way, mib, project, output)? {
            return Ok(sums);
        }
    }
    Err(Failure::Finding(format!("{}: frames were sent again in each of {TRIES} boots", way.about)))
}

/// None if frames were sent again, or the stream broke off and was begun anew.
fn boot_once(way: &Way, mib: u32, project: &Project, output: &Output) -> Result<Option<Sums>, Failure> {
    let kernel = KernelOptions { trace: true, ..KernelOptions::default() };
    let built = measured::build_file(&description(way, mib, project)?, &kernel, project, output)?;
    let names = names(&built, project)?;
    let machine = MachineOptions { cpus: Some(1), icount: true, ..MachineOptions::default() };
    let (mut recording, command) = Recording::new(&built, &machine, "bench")?;
    let command = command.setting("-icount", REAL_PAUSES);
    output.detail(&format!("+ {command}"));
    let mut session = start(&command)?;
    let client = console(&built, CLIENT)?;
    let (regex, end) = (compile(DONE)?, Instant::now() + TIMEOUT);
    let found = loop {
        match session.wait_for(client, &regex, READ_EVERY) {
            Ok(found) => break found,
            Err(WaitError::Timeout) if Instant::now() < end => recording.read_once_open(session.started())?,
            Err(error) => {
                let last = session.transcript(client).last_lines(LAST_LINES).join("\n");
                return Err(Failure::Finding(format!("/{DONE}/ has not come: {error}\n--- last lines\n{last}")));
            }
        }
    };
    recording.read_once_open(session.started())?;
    if recording.lost() > 0 {
        return Err(Failure::Finding(format!("{} recorded events are lost: the host is too busy", recording.lost())));
    }
    let said = session.transcript(client).last_lines(usize::MAX);
    let (ends, whole) = (compile("^ECHO ")?, compile(WHOLE)?);
    if said.iter().any(|line| ends.is_match(line.as_bytes()) && !whole.is_match(line.as_bytes())) {
        return Ok(None);
    }
    let bus = session.transcript(console(&built, BUS)?).last_lines(usize::MAX);
    let kind = bus.iter().find_map(|line| line.strip_prefix("BUS its interrupts are "));
    if kind != way.interrupts {
        return Err(Failure::Finding(format!("{}: its interrupts are {}", way.about, kind.unwrap_or("its line's"))));
    }
    let number = |group: usize| found.groups[group].as_ref().and_then(|text| text.parse::<f64>().ok()).unwrap_or(0.0);
    Ok(Some(Sums::of(recording.take(), &names, number(1) + number(2))))
}

fn console(built: &Built, name: &str) -> Result<usize, Failure> {
    let found = built.system.consoles.iter().position(|console| console.name == name);
    found.ok_or_else(|| Failure::unable(format!("{} has no console {name}", built.system.name), "add it"))
}

/// A copy of the system's description with another length of the stream, and the lines of `way`.
fn description(way: &Way, mib: u32, project: &Project) -> Result<PathBuf, Failure> {
    let original = project.description(way.system)?;
    let fault = |error: String| Failure::unable(format!("{}: {error}", original.display()), "");
    let mut text = std::fs::read_to_string(&original).map_err(|error| fault(error.to_string()))?;
    let bytes = format!("args.bytes = \"{mib}M\"");
    for (begins, instead) in way.changed.iter().copied().chain([("args.bytes = ", bytes.as_str())]) {
        text =
            with_line(&text, begins, instead).ok_or_else(|| fault(format!("not one line begins with `{begins}`")))?;
    }
    let folder = project.build().join("bench");
    let copy = folder.join(format!("packets-{}-{mib}.toml", way.name));
    std::fs::create_dir_all(&folder)
        .and_then(|()| std::fs::write(&copy, text))
        .map_err(|error| Failure::unable(format!("{}: {error}", copy.display()), "check permissions and free space"))?;
    Ok(copy)
}

/// The text with another line in the place of the only one that begins so.
fn with_line(text: &str, begins: &str, instead: &str) -> Option<String> {
    let line = Regex::new(&format!("(?m)^{}.*$", regex::escape(begins))).ok()?;
    match line.find_iter(text).count() {
        1 => Some(line.replace(text, regex::NoExpand(instead)).into_owned()),
        _ => None,
    }
}

fn show(all: &[PacketCounts], output: &Output) {
    let parts = ["client", "driver", SWITCH, BUS];
    let [client, driver, switch, bus] = parts;
    let mut table = Table::new(["instructions of a frame", "all", client, driver, switch, bus, "interrupts"]);
    for (way, counts) in WAYS.iter().zip(all) {
        let mut row = vec![way.about.to_string(), format!("{:.0}", counts.instructions)];
        let part = |name: &str| counts.parts.get(name).map_or(String::new(), |part| format!("{part:.0}"));
        row.extend(parts.map(part));
        row.push(format!("{:.2}", counts.interrupts));
        table.row(row);
    }
    output.human(&table.render());
    output.human("frames sent and received; each part with what the kernel does for it, and with the client's TCP");
}

#[cfg(test)]
mod tests {
    use super::{with_line, Sums};
    use std::collections::BTreeMap;
    use trace::event::{Event, What};
    use trace::Names;

    fn sums(frames: u64) -> Sums {
        let names = Names::new([(1, "net".to_string()), (2, "card".to_string())], [], "", "", "");
        let at = |when, what| Event { when, cpu: 0, what };
        let mut events = vec![at(0, What::Switch { thread: 1 })];
        for one in 0..frames {
            let when = 5000 + one * 1000;
            events.extend([
                at(when, What::Switch { thread: 2 }),
                at(when + 10, What::Interrupt { vector: 40 }),
                at(when + 300, What::Switch { thread: 9 }),
                at(when + 400, What::Switch { thread: 1 }),
            ]);
        }
        events.push(at(5000 + frames * 1000, What::Switch { thread: 9 }));
        Sums::of(events, &names, frames as f64)
    }

    #[test]
    fn the_boot_and_the_idle_thread_are_not_counted() {
        let counts = sums(30).beyond(&sums(10)).unwrap();
        assert_eq!((counts.frames, counts.instructions, counts.interrupts), (20.0, 900.0, 1.0));
        assert_eq!(counts.parts, BTreeMap::from([("client".to_string(), 600.0), ("driver".to_string(), 300.0)]));
        assert!(sums(10).beyond(&sums(10)).is_err());
    }

    #[test]
    fn a_line_stands_once() {
        assert_eq!(with_line("a = 1\nb = 2\n", "a = ", "a = $3").unwrap(), "a = $3\nb = 2\n");
        assert_eq!(with_line("a = 1\na = 2\n", "a = ", "a = 3"), None);
        assert_eq!(with_line("ba = 1\n", "a = ", "a = 3"), None);
    }
}
