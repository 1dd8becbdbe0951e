//! What the kernel's tables say of memory, processes and threads.

use crate::memory::Memory;
use crate::table::{Rows, Table, TableError, Wanted};

/// The tables that are read.
const TABLES: [Wanted; 5] = [
    ("container", &["exists", "quota", "usage", "granted"]),
    ("process", &["state", "cause"]),
    ("thread", &["state", "wait_kind"]),
    ("sched_reservation", &["period", "budget", "left"]),
    ("pagemap", &["exists", "root"]),
];
const PAGE: u64 = 4096;

/// Of a process, as in `kernel/abi.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// Never started, or ended: `cause` tells how the last time.
    Empty,
    Loading,
    Running,
    Dying,
}

/// Of a thread, as in `kernel/layers/thread/thread.h`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Unused,
    Ready,
    Running,
    Blocked(Wait),
    /// Its reservation has no budget left in this period.
    Parked,
    Exited,
}

/// What a blocked thread waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    None,
    Sleep,
    Send,
    Receive,
    Reply,
    Notification,
    Condition,
    Process,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Process {
    pub life: Life,
    /// `END_*` of its last end.
    pub cause: u32,
    /// Pages that it has, and that it may have.
    pub pages: u64,
    pub quota: u64,
    /// Physical address of its page map's root while it has one.
    pub root: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thread {
    pub state: State,
    pub reservation: Option<Reservation>,
}

/// In nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reservation {
    pub period: u64,
    pub budget: u64,
    /// Of this period's budget.
    pub left: u64,
}

/// Everything at about one moment: the machine runs while its memory is read, so numbers of different rows may be some
/// microseconds apart.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// By number.
    pub processes: Vec<Process>,
    /// By number; the first are the processors' idle threads.
    pub threads: Vec<Thread>,
    /// Pages of all memory that processes have, and that there are for them.
    pub used: u64,
    pub all: u64,
}

/// Where the tables of one kernel lie.
#[derive(Debug)]
pub struct Kernel {
    tables: Vec<Table>,
}

impl Kernel {
    /// The kernel whose file with symbols and debugging information this is.
    pub fn of(elf: &[u8]) -> Result<Kernel, TableError> {
        Ok(Kernel { tables: Table::all(elf, &TABLES)? })
    }

    pub fn read(&self, memory: &Memory) -> Result<Snapshot, String> {
        let rows = self.tables.iter().map(|table| table.read(memory)).collect::<Result<Vec<_>, String>>()?;
        let [containers, processes, threads, reservations, pagemaps] = &rows[..] else {
            return Err("a table is missing".to_string());
        };
        let processes: Vec<Process> =
            (0..processes.count()).map(|p| process(p, processes, containers, pagemaps)).collect();
        // Behind the processes' containers stands that of the system.
        let root = processes.len();
        let taken = containers.get(root, "usage") - containers.get(root, "granted").min(containers.get(root, "usage"));
        Ok(Snapshot {
            used: taken + processes.iter().map(|process| process.pages).sum::<u64>(),
            all: containers.get(root, "quota"),
            threads: (0..threads.count()).map(|t| thread(t, threads, reservations)).collect(),
            processes,
        })
    }
}

fn process(p: usize, processes: &Rows<'_>, containers: &Rows<'_>, pagemaps: &Rows<'_>) -> Process {
    let life = match processes.get(p, "state") {
        1 => Life::Loading,
        2 => Life::Running,
        3 => Life::Dying,
        _ => Life::Empty,
    };
    let exists = containers.get(p, "exists");
    // What it has given to children is not its own.
    let pages = containers.get(p, "usage").saturating_sub(containers.get(p, "granted"));
    let cause = processes.get(p, "cause") as u32;
    let root = (pagemaps.get(p, "exists") == 1).then(|| pagemaps.get(p, "root") * PAGE);
    Process { life, cause, pages: pages * exists, quota: containers.get(p, "quota") * exists, root }
}

fn thread(t: usize, threads: &Rows<'_>, reservations: &Rows<'_>) -> Thread {
    let state = match threads.get(t, "state") {
        1 => State::Ready,
        2 => State::Running,
        3 => State::Blocked(wait(threads.get(t, "wait_kind"))),
        4 => State::Parked,
        5 => State::Exited,
        _ => State::Unused,
    };
    let period = reservations.get(t, "period");
    let reservation = (period > 0).then(|| Reservation {
        period,
        budget: reservations.get(t, "budget"),
        left: reservations.get(t, "left"),
    });
    Thread { state, reservation }
}

fn wait(kind: u64) -> Wait {
    match kind {
        1 => Wait::Sleep,
        2 => Wait::Send,
        3 => Wait::Receive,
        4 => Wait::Reply,
        5 => Wait::Notification,
        6 => Wait::Condition,
        7 => Wait::Process,
        _ => Wait::None,
    }
}
