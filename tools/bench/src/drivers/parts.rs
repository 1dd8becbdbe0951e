//! Where the instructions of messages go: to the client, the driver, its run-time monitor, the kernel.
//!
//! A plugin of the emulator counts how often each instruction is executed between the stamps of the samples. Whose it is says the
//! page that it stands in, which is the kernel's or one of a program's; what belongs to the monitor say the program's debug
//! symbols, since the compiler makes the monitor's steps part of the functions around them.

use crate::results::Parts;
use gimli::{EndianRcSlice, RunTimeEndian};
use object::{Object, ObjectSection, ObjectSegment};
use output::Failure;
use project::Project;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

type Reader = EndianRcSlice<RunTimeEndian>;

/// The plugin's source: it is compiled where it is used.
const PLUGIN: &str = include_str!("../../plugin/count.c");
/// What the plugin counts, in this order, and messages of a sample.
const OPERATIONS: [(&str, u64); 5] =
    [("calibration", 1), ("stream_1", 2), ("stream_16", 32), ("stream_256", 512), ("round_trip", 1)];
/// Of a sample of the calibration.
const NOPS: f64 = 1000.0;
/// User space is below.
const USER_BITS: u32 = 47;

/// The plugin, compiled, and where it writes.
pub struct Counter {
    plugin: PathBuf,
    counts: PathBuf,
}

impl Counter {
    pub fn new(project: &Project) -> Result<Counter, Failure> {
        let folder = project.build().join("bench");
        let [source, plugin, counts] = ["count.c", "count.so", "counts"].map(|name| folder.join(name));
        let fault =
            |error: std::io::Error| Failure::unable(format!("{}: {error}", folder.display()), "check permissions");
        std::fs::create_dir_all(&folder).and_then(|()| std::fs::write(&source, PLUGIN)).map_err(fault)?;
        let _ = std::fs::remove_file(&counts);
        let compiler = Command::new("gcc")
            .args(["-O2", "-shared", "-fPIC", "-fvisibility=hidden", "-o"])
            .args([&plugin, &source])
            .output()
            .map_err(|error| Failure::unable(format!("gcc: {error}"), "run ./ashlar doctor"))?;
        if !compiler.status.success() {
            let said = String::from_utf8_lossy(&compiler.stderr).into_owned();
            return Err(Failure::unable(format!("gcc: {said}"), "run ./ashlar doctor"));
        }
        Ok(Counter { plugin, counts })
    }

    /// For the emulator.
    pub fn arguments(&self) -> Vec<String> {
        vec!["-plugin".into(), format!("{},out={}", self.plugin.display(), self.counts.display())]
    }

    /// What was counted, by operation. The programs are those of the client and the driver.
    pub fn parts(&self, client: &Path, driver: &Path) -> Result<BTreeMap<&'static str, Parts>, Failure> {
        let text = std::fs::read_to_string(&self.counts)
            .map_err(|error| Failure::Finding(format!("{}: {error}", self.counts.display())))?;
        let mut programs = Programs { client: Program::read(client)?, driver: Program::read(driver)? };
        attribute(&text, &mut |page, offset| programs.part(page, offset))
    }
}

/// A page of code where it is executed.
struct Page {
    address: u64,
    bytes: Vec<u8>,
}

/// Whose an instruction is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Client,
    Driver,
    Monitor,
    Kernel,
    /// One of the two that the benchmark takes off.
    Stamp,
}

/// Sums what the plugin wrote.
fn attribute(
    text: &str,
    part: &mut dyn FnMut(&Page, u64) -> Result<Part, Failure>,
) -> Result<BTreeMap<&'static str, Parts>, Failure> {
    let damaged = |line: &str| Failure::Finding(format!("the emulator's plugin wrote `{line:.60}`"));
    let mut pages: BTreeMap<u64, Page> = BTreeMap::new();
    let mut sums = [Parts::default(); OPERATIONS.len()];
    let mut samples = [0; OPERATIONS.len()];
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
        match (words[0], words.len()) {
            ("page", 4) => {
                let (Some(id), Ok(address), Some(bytes)) =
                    (number(1), u64::from_str_radix(words[2], 16), bytes(words[3]))
                else {
                    return Err(damaged(line));
                };
                pages.insert(id, Page { address, bytes });
            }
            ("count", 5) => {
                let (Some(operation), Some(page), Some(offset), Some(count)) =
                    (number(1), number(2).and_then(|id| pages.get(&id)), number(3), number(4))
                else {
                    return Err(damaged(line));
                };
                let Some(sum) = sums.get_mut(operation as usize) else { continue };
                match part(page, offset)? {
                    Part::Client => sum.client += count as f64,
                    Part::Driver => sum.driver += count as f64,
                    Part::Monitor => sum.monitor += count as f64,
                    Part::Kernel => sum.kernel += count as f64,
                    Part::Stamp => {}
                }
            }
            ("samples", 3) => {
                let (Some(operation), Some(count)) = (number(1), number(2)) else { return Err(damaged(line)) };
                if let Some(own) = samples.get_mut(operation as usize) {
                    *own = count;
                }
            }
            _ => return Err(damaged(line)),
        }
    }
    let mut all = BTreeMap::new();
    for (((name, messages), sum), samples) in OPERATIONS.into_iter().zip(sums).zip(samples) {
        if samples == 0 {
            return Err(Failure::Finding(format!("the emulator's plugin has seen no samples of {name}")));
        }
        let share = |count: f64| count / (samples * messages) as f64;
        let Parts { client, driver, monitor, kernel } = sum;
        all.insert(
            name,
            Parts { client: share(client), driver: share(driver), monitor: share(monitor), kernel: share(kernel) },
        );
    }
    // These samples begin and end as all others do.
    if all.remove("calibration") != Some(Parts { client: NOPS, ..Parts::default() }) {
        return Err(Failure::Finding("the emulator's plugin does not count the 1000 nops of the calibration".into()));
    }
    Ok(all)
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    let byte = |at: usize| text.get(at..at + 2).and_then(|two| u8::from_str_radix(two, 16).ok());
    (0..text.len()).step_by(2).map(byte).collect()
}

struct Programs {
    client: Program,
    driver: Program,
}

impl Programs {
    fn part(&mut self, page: &Page, offset: u64) -> Result<Part, Failure> {
        let address = page.address + offset;
        if address >> USER_BITS != 0 {
            return Ok(Part::Kernel);
        }
        let (program, own) = if self.client.has(page) {
            (&mut self.client, Part::Client)
        } else if self.driver.has(page) {
            (&mut self.driver, Part::Driver)
        } else {
            return Err(Failure::Finding(format!("the code at {:#x} is of no program of the benchmark", page.address)));
        };
        Ok(match program.special(address) {
            Some(Part::Monitor) => Part::Monitor,
            Some(part) if own == Part::Client => part,
            _ => own,
        })
    }
}

/// A program's code and debug symbols.
struct Program {
    segments: Vec<(u64, Vec<u8>)>,
    context: addr2line::Context<Reader>,
    known: BTreeMap<u64, Option<Part>>,
}

impl Program {
    fn read(path: &Path) -> Result<Program, Failure> {
        let fault = |error: String| Failure::unable(format!("{}: {error}", path.display()), "build the tree anew");
        let data = std::fs::read(path).map_err(|error| fault(error.to_string()))?;
        let file = object::File::parse(&*data).map_err(|error| fault(error.to_string()))?;
        let segments = file.segments().filter_map(|one| Some((one.address(), one.data().ok()?.to_vec()))).collect();
        let section = |id: gimli::SectionId| -> Result<Reader, gimli::Error> {
            let bytes = file.section_by_name(id.name()).and_then(|one| one.uncompressed_data().ok());
            Ok(EndianRcSlice::new(Rc::from(bytes.unwrap_or_default().as_ref()), RunTimeEndian::Little))
        };
        let context = gimli::Dwarf::load(section)
            .and_then(addr2line::Context::from_dwarf)
            .map_err(|error| fault(error.to_string()))?;
        Ok(Program { segments, context, known: BTreeMap::new() })
    }

    /// Whether the page's code is this program's: what a segment has of it is the same.
    fn has(&self, page: &Page) -> bool {
        self.segments.iter().any(|(start, data)| {
            let Some(from) = page.address.checked_sub(*start) else { return false };
            let own = data.get(from as usize..).unwrap_or_default();
            let length = own.len().min(page.bytes.len());
            length != 0 && own[..length] == page.bytes[..length]
        })
    }

    /// Whether an instruction is the monitor's or the stamp's, by the functions that it was inlined from.
    fn special(&mut self, address: u64) -> Option<Part> {
        if let Some(known) = self.known.get(&address) {
            return *known;
        }
        let mut found = None;
        if let Ok(mut frames) = self.context.find_frames(address).skip_all_loads() {
            while let Ok(Some(frame)) = frames.next() {
                let name = frame.function.as_ref().and_then(|function| function.raw_name().ok());
                found = found.or_else(|| special(name?.as_ref()));
            }
        }
        self.known.insert(address, found);
        found
    }
}

/// The steps of the monitor are `check_NAME`, from `step_NAME`, and what these are made of.
fn special(function: &str) -> Option<Part> {
    match function {
        "timestamp" => Some(Part::Stamp),
        _ if ["check_", "step_", "monitor_"].iter().any(|start| function.starts_with(start)) => Some(Part::Monitor),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{attribute, special, Part};
    use crate::results::Parts;

    const NOPS: &str = "page 1 1000 9090\ncount 0 1 0 2000\nsamples 0 2\n";

    fn part(address: u64) -> Part {
        match address {
            0x1000 => Part::Client,
            0x1001 => Part::Stamp,
            0x2000 => Part::Monitor,
            _ => Part::Kernel,
        }
    }

    fn sums(text: &str) -> Result<std::collections::BTreeMap<&'static str, Parts>, output::Failure> {
        attribute(text, &mut |page, offset| Ok(part(page.address + offset)))
    }

    #[test]
    fn shares_are_those_of_a_message() {
        let text = format!(
            "{NOPS}page 2 2000 00\ncount 3 1 0 5120\ncount 3 1 1 99\ncount 3 2 0 1024\nsamples 1 1\nsamples 2 1\n\
             samples 3 5\nsamples 4 1\n"
        );
        let parts = sums(&text).unwrap();
        assert_eq!(parts["stream_256"], Parts { client: 2.0, monitor: 0.4, ..Parts::default() });
        assert_eq!(parts.len(), 4);
    }

    #[test]
    fn what_cannot_be_is_a_finding() {
        let rest = "samples 1 1\nsamples 2 1\nsamples 3 5\nsamples 4 1\n";
        assert!(sums(&format!("{NOPS}{rest}")).is_ok());
        for text in [
            NOPS.to_string(),
            format!("{NOPS}count 0 1 0 1\n{rest}"),
            format!("{NOPS}count 0 7 0 1\n{rest}"),
            format!("{NOPS}count 1 1\n{rest}"),
            format!("{NOPS}page 3 3000 9x\n{rest}"),
        ] {
            assert!(sums(&text).is_err(), "{text}");
        }
    }

    #[test]
    fn steps_are_the_monitors() {
        assert_eq!(special("check_transmit"), Some(Part::Monitor));
        assert_eq!(special("take_transmit"), None);
    }
}
