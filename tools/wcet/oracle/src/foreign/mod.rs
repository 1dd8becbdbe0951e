//! Kernels of others: built by a script of `tests/foreign`, and bounded from each of their entries.
//!
//! **Takes** a kernel's file in `tests/foreign`: the script that builds it, the machine, the entries, and what is stated. **Returns**
//! for each entry the loops that are bounded without help, and the bound with what is stated ([`Bounded`]).
//!
//! Nothing of such a kernel is part of what is shipped: the script fetches its sources when it is asked to.

mod page;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use wcet_binary::load::Program;
use wcet_paths::analysis::{analyse, load_machine, loops, Request, Stated};
use wcet_report::Report;

pub use page::page;

/// A kernel, as its file describes it.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Foreign {
    /// Of its page.
    pub heading: String,
    pub title: String,
    /// From where to where its regions reach.
    pub extent: String,
    /// The script beside the file. Given a folder it leaves `kernel.elf` there.
    pub build: String,
    /// A name in `machines/timing`.
    pub machine: String,
    /// Seconds after which no more bounds of loops are sought for an entry, and its own is not improved further.
    pub timeout: u64,
    pub entry: Vec<Entry>,
    #[serde(default)]
    pub end: Vec<End>,
    #[serde(default)]
    pub recursion: Vec<Recursion>,
    #[serde(default, rename = "loop")]
    pub loops: Vec<Loop>,
    #[serde(default)]
    pub executes: Vec<Executes>,
    /// What the page says behind its table of entries.
    #[serde(default)]
    pub remarks: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    pub symbol: String,
    /// What its region is restricted to: two entries may begin at one symbol.
    #[serde(default)]
    pub only: Option<String>,
    /// What others published of it, in microseconds.
    pub published: Option<String>,
    /// Seconds for its bound, where what is stated of it takes longer to be used than the kernel's `timeout`.
    pub timeout: Option<u64>,
}

/// Where a region ends, beyond what the binary says.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct End {
    pub symbol: String,
    /// The entries that it is stated of, by their names; of all if there are none.
    #[serde(default)]
    pub entries: Vec<String>,
    pub because: String,
}

/// How deep a function calls itself.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recursion {
    pub symbol: String,
    pub depth: u32,
    pub because: String,
}

/// How often the header of a loop is executed for each entry of it, at most.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Loop {
    /// Its first instruction: a symbol with an offset.
    pub place: String,
    pub at_most: u64,
    pub because: String,
}

/// How often instructions are executed in a region at most, all of them together.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Executes {
    /// The entries that it is stated of, by their names.
    pub entries: Vec<String>,
    pub places: Vec<String>,
    pub at_most: u64,
    pub because: String,
}

impl Entry {
    /// Its name among the entries of its kernel.
    pub fn name(&self) -> String {
        match &self.only {
            Some(only) => format!("{}, {only}", self.symbol),
            None => self.symbol.clone(),
        }
    }
}

/// What was found of an entry.
#[derive(Debug)]
pub struct Bounded {
    pub entry: String,
    /// With no loop stated.
    pub unaided: Report,
    /// With the loops that are stated and are among its own.
    pub aided: Report,
}

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{0}: {1}")]
    File(PathBuf, String),
    #[error("{0} failed: {1}")]
    Build(PathBuf, String),
}

/// The kernels that there are.
pub const KERNELS: [&str; 2] = ["sel4-omap3", "freertos-cm3"];

/// The folder of foreign kernels.
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../tests/foreign")
}

/// The page about the kernel of this name.
pub fn page_file(name: &str) -> PathBuf {
    let page = if name == KERNELS[0] { "timing-foreign".to_string() } else { format!("timing-{name}") };
    directory().join("../../docs/src/reference").join(format!("{page}.md"))
}

/// The kernel of this name.
pub fn read(name: &str) -> Result<Foreign, Error> {
    let path = directory().join(format!("{name}.toml"));
    let wrong = |error: String| Error::File(path.clone(), error);
    let text = std::fs::read_to_string(&path).map_err(|error| wrong(error.to_string()))?;
    let kernel: Foreign = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let names: Vec<String> = kernel.entry.iter().map(Entry::name).collect();
    let ends = kernel.end.iter().flat_map(|one| &one.entries);
    match kernel.executes.iter().flat_map(|one| &one.entries).chain(ends).find(|name| !names.contains(name)) {
        Some(name) => Err(wrong(format!("there is no entry `{name}`"))),
        None => Ok(kernel),
    }
}

/// Builds the kernel, and returns its executable.
pub fn build(name: &str, kernel: &Foreign) -> Result<PathBuf, Error> {
    let script = directory().join(&kernel.build);
    let folder = directory().join("../../build/foreign").join(name);
    let failed = |error: String| Error::Build(script.clone(), error);
    let status = Command::new(&script).arg(&folder).status().map_err(|error| failed(error.to_string()))?;
    match status.success() {
        true => Ok(folder.join("kernel.elf")),
        false => Err(failed(status.to_string())),
    }
}

/// Bounds these entries of the kernel; `told` is called before each.
pub fn bound(kernel: &Foreign, file: &Path, entries: &[&Entry], told: &dyn Fn(&str)) -> Result<Vec<Bounded>, Error> {
    let data = data(file)?;
    let program = program(&data, file)?;
    let stated: Vec<(String, &Loop)> =
        kernel.loops.iter().filter_map(|one| Some((address(&program, &one.place)?, one))).collect();
    let machines = directory().join("../../machines/timing");
    let machine = load_machine(Some(&machines), &kernel.machine, &[]).map_err(|faults| {
        let faults: Vec<String> = faults.into_iter().map(|fault| fault.message).collect();
        Error::File(machines.join(&kernel.machine), faults.join("; "))
    })?;
    let one = |entry: &Entry| {
        let name = entry.name();
        told(&name);
        let ends = kernel.end.iter().filter(|one| one.entries.is_empty() || one.entries.contains(&name));
        let mut request = Request {
            file: "kernel.elf".into(),
            data: data.clone(),
            entry: Some(entry.symbol.clone()),
            machine: Some(machine.clone()),
            stated: Stated {
                stops: ends.map(|one| one.symbol.clone()).collect(),
                recursion: kernel.recursion.iter().map(|one| format!("{}={}", one.symbol, one.depth)).collect(),
                fixed_code: true,
                ..Stated::default()
            },
            timeout: Some(Duration::from_secs(kernel.timeout)),
            ..Request::default()
        };
        let unaided = loops(&request, &mut |_, _, _| {});
        let met = |address: &String| unaided.loops.iter().any(|one| one.address == *address);
        let among = stated.iter().filter(|(address, _)| met(address));
        request.stated.loops = among.map(|(address, one)| format!("{address}={}", one.at_most)).collect();
        let concerned = kernel.executes.iter().filter(|one| one.entries.contains(&name));
        request.stated.executes = concerned.map(|one| format!("{}={}", one.places.join(","), one.at_most)).collect();
        request.timeout = Some(Duration::from_secs(entry.timeout.unwrap_or(kernel.timeout)));
        Bounded { entry: name, unaided, aided: analyse(&request, &mut |_, _, _| {}) }
    };
    Ok(entries.iter().map(|entry| one(entry)).collect())
}

/// The address of a place, as reports write it.
fn address(program: &Program, place: &str) -> Option<String> {
    let found = wcet_paths::analysis::addresses(program, &[place.to_string()]).ok()?;
    found.first().map(|address| format!("{address:#x}"))
}

/// Loops that are stated and begin in none of the entries, as their places are written.
pub fn unknown<'a>(kernel: &'a Foreign, file: &Path, found: &[Bounded]) -> Result<Vec<&'a str>, Error> {
    let program = program(&data(file)?, file)?;
    let met = |place: &str| {
        let address = address(&program, place);
        found.iter().flat_map(|one| &one.unaided.loops).any(|one| Some(&one.address) == address.as_ref())
    };
    Ok(kernel.loops.iter().map(|one| one.place.as_str()).filter(|place| !met(place)).collect())
}

fn data(file: &Path) -> Result<Vec<u8>, Error> {
    std::fs::read(file).map_err(|error| Error::File(file.to_path_buf(), error.to_string()))
}

fn program(data: &[u8], file: &Path) -> Result<Program, Error> {
    Program::parse(data).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
        Error::File(file.to_path_buf(), errors.join("; "))
    })
}
