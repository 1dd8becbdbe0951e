//! The threads of a system and the processor time that they are promised.

use crate::check::reservation::lends;
use crate::description::{Description, Process, Reservation};
use crate::System;

/// A thread, as response-time analysis sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadTime {
    /// Its process, and a dot and its own name unless it is the first.
    pub name: String,
    /// The table of the description in which its keys stand.
    pub table: String,
    /// The program that it runs; none if its parent loads one.
    pub program: Option<String>,
    pub cpu: u64,
    pub priority: u64,
    /// Nanoseconds; none if its time is not limited.
    pub period: Option<u64>,
    pub budget: Option<u64>,
    pub deadline: Option<u64>,
    /// Threads of its CPU without a reservation that may run on its time, as it calls them or those call each other.
    pub lends_to: Vec<usize>,
}

/// What the first thread of each process is called among its threads.
pub(crate) const FIRST_THREAD: &str = "main";

impl System {
    /// All threads, those that are started at run time among them.
    pub fn threads(&self) -> Vec<ThreadTime> {
        threads(&self.description)
    }
}

/// What the threads of `process` are called in a system: the process, and a dot and the thread's own name unless it is the first.
pub(crate) fn names(process: &Process) -> impl Iterator<Item = String> + '_ {
    let own = process.threads.iter().map(|thread| format!("{}.{}", process.name.value, thread.name.value));
    std::iter::once(process.name.value.clone()).chain(own)
}

fn threads(description: &Description) -> Vec<ThreadTime> {
    let mut all = Vec::new();
    let mut of = Vec::new();
    for process in &description.processes {
        let kind = if process.vm.is_some() { "vm" } else { "process" };
        let table = format!("{kind}.{}", process.name.value);
        let own = process.threads.iter().map(|thread| match process.vm {
            Some(_) => (table.clone(), thread.priority),
            None => (format!("{table}.thread.{}", thread.name.value), thread.priority),
        });
        let tables = std::iter::once((table.clone(), process.priority)).chain(own);
        for ((name, (table, priority)), (cpu, time)) in names(process).zip(tables).zip(process.thread_times()) {
            let reservation: Option<Reservation> = time.reservation();
            all.push(ThreadTime {
                name,
                table,
                program: process.program.as_ref().map(|program| program.value.clone()),
                cpu: cpu.value,
                priority,
                period: reservation.map(|one| one.period),
                budget: reservation.map(|one| one.budget),
                deadline: time.deadline.as_ref().map(|deadline| deadline.value),
                lends_to: Vec::new(),
            });
            of.push(process.name.value.as_str());
        }
    }
    for number in 0..all.len() {
        let Some(process) = description.process(of[number]).filter(|_| all[number].budget.is_some()) else { continue };
        let borrowers = borrowers(description, process);
        let borrows = |one: &usize| {
            borrowers.contains(&of[*one]) && all[*one].budget.is_none() && all[*one].cpu == all[number].cpu
        };
        let found = (0..all.len()).filter(borrows).collect();
        all[number].lends_to = found;
    }
    all
}

/// Processes that may run on the time of `process`, directly or through one that does.
fn borrowers<'a>(description: &'a Description, process: &'a Process) -> Vec<&'a str> {
    let (mut found, mut open) = (Vec::new(), vec![process]);
    while let Some(one) = open.pop() {
        for (receiver, _) in lends(description, one) {
            if !found.contains(&receiver.name.value.as_str()) {
                found.push(receiver.name.value.as_str());
                open.push(receiver);
            }
        }
    }
    found
}
